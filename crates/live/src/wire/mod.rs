//! What is on the wire: the mark that every frame of ours carries, and raw frames around it.
//!
//! Two views of each, after the manner of smoltcp: a checked *window* over octets, which may hold
//! nonsense that is well-formed, and a small *value* that can only hold what makes sense. Reading
//! never panics, whatever the octets.

mod frame;
mod mark;

pub use frame::{Addresses, FrameWindow, Mac, HEADER_OCTETS};
pub use mark::{
    Kind, Mark, MarkWindow, Speech, Turn, MARK_OCTETS, SEQUENCE_LIMIT, SPEECH_OCTETS, TURN_OCTETS,
};

use ethermeter_ethernet::{Carrier, Octets};

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

/// Octets of the shortest frame, destination address to FCS, that can carry a mark.
#[must_use]
pub const fn shortest_frame(carrier: Carrier) -> Octets {
    carrier.frame_of(Octets(MARK_OCTETS as u64))
}

fn octets_at<const N: usize>(octets: &[u8], at: usize) -> [u8; N] {
    octets[at..at + N].try_into().expect("a slice of its own length")
}

fn check_octets(octets: &[u8], needed: usize) -> Result<(), WireError> {
    if octets.len() < needed {
        return Err(WireError::TooShort { octets: octets.len(), needed });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_frame_of_ethernet_has_room_for_a_mark_raw_and_over_ipv4() {
        assert_eq!(shortest_frame(Carrier::Raw), Octets(64));
        assert_eq!(shortest_frame(Carrier::UdpOverIpv4), Octets(64));
        // 14 + 40 + 8 + 4 octets around it leave none of the 64 over
        assert_eq!(shortest_frame(Carrier::UdpOverIpv6), Octets(84));
    }
}
