//! What is on the wire: the mark that every frame of ours carries, and raw frames around it.
//!
//! Two views of each, after the manner of smoltcp: a checked *window* over octets, which may hold
//! nonsense that is well-formed, and a small *value* that can only hold what makes sense. Reading
//! never panics, whatever the octets.

pub mod credit;
mod frame;
mod mark;
mod octets;

pub use frame::{FrameHeader, FrameWindow, HEADER_OCTETS, MacAddress, TAGGED_HEADER_OCTETS};
pub use mark::{
    MARK_OCTETS, Mark, MarkKind, MarkWindow, ResponderTimes, SEQUENCE_LIMIT, SPEECH_OCTETS,
    TURN_OCTETS, VoiceMark,
};
pub use octets::WireError;

use ethermeter_ethernet::{Carrier, Octets};

/// Octets of the shortest frame, destination address to FCS, that can carry a mark.
#[must_use]
pub const fn shortest_frame(carrier: Carrier) -> Octets {
    carrier.frame_of(Octets(MARK_OCTETS as u64))
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
