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
    /// The other end has closed the connection: nothing more will come or go. Of a call that
    /// receives, all that arrived has been handed on.
    #[error("the other end has closed the connection")]
    Closed,
    /// Something asked for cannot be.
    #[error("{what} = {value}: {allowed}")]
    Refused {
        /// What was given.
        what: &'static str,
        /// Value of the setting.
        value: String,
        /// What is allowed instead.
        allowed: String,
    },
}

impl Error {
    /// The last error of the operating system, met while `doing` something.
    pub(crate) fn last(doing: &'static str) -> Self {
        Self::System { doing, source: io::Error::last_os_error() }
    }

    /// What the operating system answered while `doing` something, as an error.
    pub fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { doing, source: error.into() }
    }

    /// The refusal of a value.
    pub fn refused(
        what: &'static str,
        value: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Refused { what, value: value.to_string(), allowed: allowed.into() }
    }

    /// Check that a value lies within bounds, both included.
    ///
    /// # Errors
    /// If it does not.
    pub fn unless_within(
        what: &'static str,
        value: u64,
        least: u64,
        most: u64,
    ) -> Result<(), Self> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(Self::refused(what, value, format!("{least} to {most}")))
    }
}
