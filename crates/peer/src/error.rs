//! Errors of a measurement with a peer.

use std::io;
use std::net::SocketAddr;

/// Why a measurement with a peer, or a reflector, failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// A task that is not valid.
    #[error("task: {0}")]
    Task(#[from] serde_json::Error),
    /// A value out of range.
    #[error("{what} = {value}: {allowed}")]
    Range {
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: String,
        /// Allowed values.
        allowed: String,
    },
    /// The peer closed the connection.
    #[error("{0}")]
    Closed(String),
    /// The peer does not answer, refuses, or breaks the protocol.
    #[error("{0}")]
    Peer(String),
    /// Nothing listens there.
    #[error("{0}: refuses connections")]
    Refused(SocketAddr),
    /// The server has another test.
    #[error("the server is busy with another test; try again later")]
    Busy,
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
}

impl Error {
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { doing, source: error.into() }
    }

    pub(crate) fn range(
        what: &'static str,
        value: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Range { what, value: value.to_string(), allowed: allowed.into() }
    }

    /// Check that a value lies within bounds, both included.
    pub(crate) fn unless_within(
        what: &'static str,
        value: u64,
        least: u64,
        most: u64,
    ) -> Result<(), Self> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(Self::range(what, value, format!("{least} to {most}")))
    }
}

impl From<ethermeter_live::Error> for Error {
    fn from(error: ethermeter_live::Error) -> Self {
        match error {
            ethermeter_live::Error::System { doing, source } => Self::System { doing, source },
            other => Self::System { doing: "using a socket", source: io::Error::other(other) },
        }
    }
}
