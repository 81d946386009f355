//! Octets of a frame, read with checks.

/// Why octets are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Fewer octets than the fixed part has.
    #[error("{octets} octets are too few, {needed} are needed")]
    TooShort {
        /// Octets there are.
        octets: usize,
        /// Octets there must be.
        needed: usize,
    },
    /// Not one of our marks, or one of another version.
    #[error("no mark of this version: begins with {0:#06x}")]
    NoMark(u16),
    /// A kind of frame that is not defined.
    #[error("unknown kind {0} of marked frame")]
    UnknownKind(u8),
    /// Not a frame of our `EtherType`.
    #[error("EtherType {0:#06x} is not ours")]
    ForeignType(u16),
}

pub(super) fn octets_at<const N: usize>(octets: &[u8], at: usize) -> [u8; N] {
    octets[at..at + N].try_into().expect("a slice of its own length")
}

pub(super) fn check_octets(octets: &[u8], needed: usize) -> Result<(), WireError> {
    if octets.len() < needed {
        return Err(WireError::TooShort { octets: octets.len(), needed });
    }
    Ok(())
}
