//! One host's part of a test: what it may send, and the roles that send and receive real frames.
//!
//! No network of control is known here: `ethermeter-agent` brings requests, grants and renewals.
//! [`consent`], `lease` and `policer` decide without a network or a clock.
//!
//! - [`consent`]: the rules that a host checks before it sends anything, with the operator's
//!   ceilings.
//! - [`refusal`]: why a request is refused: the rule, the value, what is allowed.
//! - `lease`: the lease without which a host falls silent.
//! - `policer`: the last check before the network; nothing passes that consent does not name.
//! - `token_bucket`: rates, and what a payload costs.
//! - [`interfaces`]: the host's interfaces.
//! - [`experiment`]: an experiment on one host: its ports, its roles, its results.
//! - `result`: reports of hosts and results of tests.

pub mod consent;
pub mod experiment;
pub mod interfaces;
mod lease;
mod policer;
pub mod refusal;
mod report;
mod token_bucket;

pub use lease::RENEWAL_NS;
pub use report::{AgentReport, HostCounters, RoleReport, RoleTotals, SinkReport};
pub use token_bucket::TokenBucket;
