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

mod ceilings;
mod fresh;
mod grant;
mod network;
mod renewal;
mod rules;
#[cfg(test)]
mod schedules;
mod spent;
mod transport;

pub use ceilings::{Ceilings, CertificateSerial};
pub use fresh::RequestStamp;
pub use grant::{
    ClockReading, Consent, FlowAttachment, GRANT_S, Grant, GrantRequest, InterfaceIdentity, Permit,
    Proof, Reachability, SendRequest,
};
pub use network::IpNetwork;
pub use renewal::{
    ChallengeAnswer, IssuedGrants, LeaseRenewal, MOST_CHALLENGES, ReceiverLeases, RenewalChallenge,
};
pub use rules::RuleBook;
pub use spent::GrantId;
pub use transport::{Cast, FlowTransport, HIGHEST_PRIORITY, PortKind};
