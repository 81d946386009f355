//! Errors before a test begins.

use std::net::SocketAddr;

/// A test could not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The description is wrong; one line a fault.
    #[error("{0}")]
    Description(String),
    /// An agent cannot be reached.
    #[error("agent {agent} at {control}: {what}")]
    Unreachable {
        /// Which.
        agent: String,
        /// Where.
        control: SocketAddr,
        /// Why.
        what: String,
    },
    /// The operating system refused.
    #[error("starting a coordinator: {0}")]
    System(#[from] std::io::Error),
    /// An agent refused, or failed, before the test began.
    #[error("agent {agent}, {doing}: {what}")]
    Refused {
        /// Which.
        agent: String,
        /// What was asked of it.
        doing: &'static str,
        /// Why: of a refusal, its rule, the value and what is allowed.
        what: String,
    },
}
