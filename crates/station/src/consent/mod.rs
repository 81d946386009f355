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
mod spent;
mod transport;

pub use ceilings::{Ceilings, Serial};
pub use fresh::Stamp;
pub use grant::{Consent, GRANT_S, Grant, Interface, Moment, Permit, Place, Proof, Reach, Wish};
pub use network::Network;
pub use renewal::{Answer, Challenge, IssuedGrants, MOST_CHALLENGES, ReceiverLeases, Renewal};
pub use rules::RuleBook;
pub use spent::GrantId;
pub use transport::{Cast, HIGHEST_PRIORITY, PortKind, Transport};
