//! Why a trial has no result.

use ethermeter_trial::Fault;
use thiserror::Error;

/// Why a trial has no result.
#[derive(Debug, Error)]
pub enum Error {
    /// A value is out of its range or contradicts another.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The trial was stopped by [`crate::Watch::stop`].
    #[error("stopped")]
    Stopped,
}
