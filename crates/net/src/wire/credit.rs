//! Credit notes: what an emulated medium tells a host of the frames in its card.
//!
//! An Ethernet frame of `EtherType` 88B6 to the host; its payload, big-endian: 0xE3, the version in
//! the high half of an octet, then three numbers of 64 bits: when the medium began, frames that
//! have arrived at the card since then, and how many of them have left it.

use super::frame::HEADER_OCTETS;
use super::octets::octets_at;
use ethermeter_ethernet::frame::LOCAL_EXPERIMENTAL_2;

/// Octets of a frame with a note, without its check sequence: the shortest there is.
pub const NOTE_FRAME_OCTETS: usize = 60;
const MAGIC: [u8; 2] = [0xE3, 1 << 4];
/// Octets of a note.
const NOTE_OCTETS: usize = 26;
/// Locally administered; no host has it.
const FROM: [u8; 6] = [2, 0, 0, 0, 0xFF, 0xFF];

/// What a medium tells a host. The counts only grow, so that a note that is lost is made good by
/// the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditNote {
    /// When the medium began, in the host's time. One that begins anew counts from 0.
    pub began_ns: u64,
    /// Frames of the host that have arrived at its card since then.
    pub arrived: u64,
    /// Of these, those that have left it: sent, given up or dropped.
    pub finished: u64,
}

impl CreditNote {
    /// The frame of this note to a host.
    #[must_use]
    pub fn frame(&self, to: [u8; 6]) -> [u8; NOTE_FRAME_OCTETS] {
        let mut frame = [0; NOTE_FRAME_OCTETS];
        frame[..6].copy_from_slice(&to);
        frame[6..12].copy_from_slice(&FROM);
        frame[12..14].copy_from_slice(&LOCAL_EXPERIMENTAL_2.to_be_bytes());
        let note = &mut frame[HEADER_OCTETS..];
        note[..2].copy_from_slice(&MAGIC);
        for (at, number) in [(2, self.began_ns), (10, self.arrived), (18, self.finished)] {
            note[at..at + 8].copy_from_slice(&number.to_be_bytes());
        }
        frame
    }

    /// The note in a frame, if it is one.
    #[must_use]
    pub fn read(frame: &[u8]) -> Option<Self> {
        let note = frame.get(HEADER_OCTETS..).filter(|note| note.len() >= NOTE_OCTETS)?;
        let is_note = frame[12..14] == LOCAL_EXPERIMENTAL_2.to_be_bytes() && note[..2] == MAGIC;
        let number = |at| u64::from_be_bytes(octets_at(note, at));
        is_note.then(|| Self { began_ns: number(2), arrived: number(10), finished: number(18) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let note = CreditNote { began_ns: 1 << 60, arrived: 17, finished: 16 };
        let frame = note.frame([2, 0, 0, 0, 0, 7]);
        assert_eq!(frame[..16], [2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 255, 255, 0x88, 0xB6, 0xE3, 0x10]);
        assert_eq!(CreditNote::read(&frame), Some(note));
    }

    #[test]
    fn other_frames_are_no_notes() {
        let frame = CreditNote { began_ns: 1, arrived: 2, finished: 3 }.frame([2; 6]);
        assert_eq!(CreditNote::read(&frame[..39]), None);
        for at in [12, 13, 14, 15] {
            let mut other = frame;
            other[at] ^= 1;
            assert_eq!(CreditNote::read(&other), None);
        }
    }
}
