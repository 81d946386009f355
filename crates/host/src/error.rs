//! What a caller can meet.

use std::io;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What it answered.
        source: io::Error,
    },
    /// A task that makes no sense.
    #[error("task: {0}")]
    Task(#[from] serde_json::Error),
    /// A number out of range.
    #[error("{what} = {value}: {allowed}")]
    Range {
        /// What was given.
        what: &'static str,
        /// Value that was given.
        value: u64,
        /// What is allowed instead.
        allowed: String,
    },
    /// No connection, or no data.
    #[error("{0}")]
    Late(&'static str),
}

impl Error {
    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
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
        Err(Self::Range { what, value, allowed: format!("{least} to {most}") })
    }
}

impl From<ethermeter_live::Error> for Error {
    fn from(error: ethermeter_live::Error) -> Self {
        match error {
            ethermeter_live::Error::System { doing, source } => Self::System { doing, source },
            other => Self::System { doing: "using a port", source: io::Error::other(other) },
        }
    }
}
