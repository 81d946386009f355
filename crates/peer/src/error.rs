//! Errors of a measurement with a peer.

use std::io;
use std::net::SocketAddr;

/// Why a measurement with a peer, or a reflector, failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused, or a value was out of range.
    #[error(transparent)]
    Local(#[from] ethermeter_net::Error),
    /// A task that is not valid.
    #[error("task: {0}")]
    Task(#[from] serde_json::Error),
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
        move |error| ethermeter_net::Error::system(doing)(error).into()
    }

    pub(crate) fn range(
        what: &'static str,
        value: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        ethermeter_net::Error::refused(what, value, allowed).into()
    }

    /// Check that a value lies within bounds, both included.
    pub(crate) fn unless_within(
        what: &'static str,
        value: u64,
        least: u64,
        most: u64,
    ) -> Result<(), Self> {
        Ok(ethermeter_net::Error::unless_within(what, value, least, most)?)
    }
}
