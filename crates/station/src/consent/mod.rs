//! The rules an agent checks before it opens a port or sends a frame. Pure: the time, the request
//! and the caller are arguments.
//!
//! ```text
//! receiver:  Grant   ─► admit (session, clock, replay, owner) ─► ceilings ─► a grant
//! sender:    Prepare ─► admit ─► ceilings ─► the receiver's grant, verified, for exactly this, not spent, on the way to it ─► a permit
//! ```
//!
//! A permit is what the sender's port holds: it lets nothing out to another address, faster, later
//! or longer. There is one for each grant, it cannot be copied, and the receiver renews the grant
//! for as long as it is used ([`IssuedGrants`], [`ReceiverLeases`]).
//!
//! - `rules`, `ceilings`, `fresh`, `spent`: whether a request is granted or permitted.
//! - `grant`, `transport`, `network`: what is granted, over what, to which addresses.
//! - `lease`, `renewal`: the leases without which a host falls silent, and how they are renewed.
//! - `policer`, `token_bucket`: what of a permit is left, and what a payload costs of it.

mod ceilings;
mod fresh;
mod grant;
mod lease;
mod network;
mod policer;
mod renewal;
mod rules;
mod spent;
mod token_bucket;
mod transport;

pub use ceilings::{Ceilings, CertificateSerial};
pub use fresh::RequestStamp;
pub use grant::{
    ClockReading, Consent, FlowAttachment, GRANT_S, Grant, GrantRequest, InterfaceIdentity, Permit,
    Proof, Reachability, SendRequest,
};
#[cfg(test)]
pub(crate) use lease::LEASE_NS;
pub use lease::RENEWAL_NS;
pub(crate) use lease::{Lease, ReceiverLease, RoleLease};
pub use network::IpNetwork;
pub(crate) use policer::{Policer, longest_payload};
pub use renewal::{
    ChallengeAnswer, IssuedGrants, LeaseRenewal, MOST_CHALLENGES, ReceiverLeases, RenewalChallenge,
};
pub use rules::RuleBook;
pub use spent::GrantId;
pub use token_bucket::TokenBucket;
pub use transport::{Cast, FlowTransport, HIGHEST_PRIORITY, PortKind};
