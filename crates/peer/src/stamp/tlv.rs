//! TLVs after a test packet (RFC 8972, section 4): one octet of flags, one of type, two of length,
//! then the value.

use super::{HMAC_OCTETS, StampKey};

/// Octets before a value.
pub const HEADER: usize = 4;
/// Flag of a TLV that the reflector does not know; set by senders.
pub const UNRECOGNISED: u8 = 0x80;
/// Flag of a TLV whose length is wrong.
pub const MALFORMED: u8 = 0x40;
/// Flag of a TLV whose HMAC is wrong.
pub const NOT_AUTHENTIC: u8 = 0x20;

/// Types that are known here.
pub mod kind {
    /// Padding (section 4.1).
    pub const PADDING: u8 = 1;
    /// Sources of synchronisation and methods of timestamping (section 4.3).
    pub const TIMESTAMPS: u8 = 3;
    /// Numbers of packets sent and received (section 4.5).
    pub const COUNTERS: u8 = 5;
    /// HMAC of all TLVs before it (section 4.8).
    pub const HMAC: u8 = 8;
}

/// Synchronisation and timestamping of an end, as types of TLV 3 (RFC 8972, section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamping {
    /// Source of synchronisation: 1 NTP, 5 local free-running clock.
    pub source: u8,
    /// Method: 2 software on this host.
    pub method: u8,
}

impl Timestamping {
    /// That of this program, by whether the kernel's clock is synchronised.
    #[must_use]
    pub const fn own(is_synchronised: bool) -> Self {
        Self { source: if is_synchronised { 1 } else { 5 }, method: 2 }
    }
}

/// What a reflector writes into TLVs.
#[derive(Clone, Copy, Debug)]
pub struct ReflectorFacts {
    /// Clock of the reflector.
    pub timestamping: Timestamping,
    /// Packets of the session that it has received, this one included.
    pub received: u32,
    /// Packets of the session that it has sent, before this one.
    pub sent: u32,
}

/// A TLV within a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlvPosition {
    /// First octet of the TLV.
    pub at: usize,
    /// Type of the TLV.
    pub kind: u8,
    /// Octets of its value; `None` if they reach beyond the packet.
    pub octets: Option<usize>,
}

/// TLVs of what follows a base packet, in order; the last one may be cut.
pub fn positions(extension: &[u8]) -> impl Iterator<Item = TlvPosition> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &extension[at..];
        if rest.is_empty() {
            return None;
        }
        let here = at;
        if rest.len() < HEADER {
            at = extension.len();
            return Some(TlvPosition {
                at: here,
                kind: rest.get(1).copied().unwrap_or(0),
                octets: None,
            });
        }
        let octets = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        let is_whole = octets <= rest.len() - HEADER;
        at = if is_whole { at + HEADER + octets } else { extension.len() };
        Some(TlvPosition { at: here, kind: rest[1], octets: is_whole.then_some(octets) })
    })
}

/// Write a TLV as senders do, with a value of zeros; returns its octets.
///
/// # Panics
/// If there is no room.
pub fn write(room: &mut [u8], kind: u8, octets: usize) -> usize {
    let length = u16::try_from(octets).expect("at most a packet");
    room[..HEADER].copy_from_slice(&[UNRECOGNISED, kind, 0, 0]);
    room[2..HEADER].copy_from_slice(&length.to_be_bytes());
    room[HEADER..HEADER + octets].fill(0);
    HEADER + octets
}

/// Write the TLV of the HMAC after others, for a packet with this sequence number; returns its
/// octets.
///
/// # Panics
/// If there is no room.
pub fn write_hmac(key: &StampKey, sequence: u32, extension: &mut [u8], at: usize) -> usize {
    let octets = write(&mut extension[at..], kind::HMAC, HMAC_OCTETS);
    let (before, rest) = extension.split_at_mut(at);
    key.sign(&[&sequence.to_be_bytes(), before], &mut rest[HEADER..]);
    octets
}

/// Whether the TLV of the HMAC is the last one and right, for a packet with this sequence number;
/// `None` if there is none.
#[must_use]
pub fn hmac_verifies(key: &StampKey, sequence: u32, extension: &[u8]) -> Option<bool> {
    let position = positions(extension).find(|position| position.kind == kind::HMAC)?;
    let is_last = position.octets == Some(HMAC_OCTETS)
        && position.at + HEADER + HMAC_OCTETS == extension.len();
    Some(
        is_last
            && key.verifies(
                &[&sequence.to_be_bytes(), &extension[..position.at]],
                &extension[position.at + HEADER..],
            ),
    )
}

/// Turn the TLVs of a request, in place, into those of the answer with `answer_sequence`.
///
/// Known ones are filled in, unknown ones flagged, those of a wrong length flagged and left. If the
/// HMAC is wrong, all are flagged, and nothing else is done.
pub fn answer(
    extension: &mut [u8],
    key: Option<&StampKey>,
    sequence: u32,
    answer_sequence: u32,
    facts: &ReflectorFacts,
) {
    let is_authentic = key.and_then(|key| hmac_verifies(key, sequence, extension));
    let mut at = 0;
    while at < extension.len() {
        let Some(TlvPosition { kind, octets: Some(octets), .. }) =
            positions(&extension[at..]).next()
        else {
            extension[at] = MALFORMED;
            break;
        };
        let next = at + HEADER + octets;
        let flags = if is_authentic == Some(false) {
            NOT_AUTHENTIC
        } else {
            filled(kind, &mut extension[at + HEADER..next], facts, key.is_some())
        };
        extension[at] = flags;
        at = next;
    }
    if let (Some(true), Some(key)) = (is_authentic, key) {
        let at = extension.len() - HEADER - HMAC_OCTETS;
        let (before, rest) = extension.split_at_mut(at);
        key.sign(&[&answer_sequence.to_be_bytes(), before], &mut rest[HEADER..]);
    }
}

/// Fill in a value; returns the flags.
fn filled(kind: u8, value: &mut [u8], facts: &ReflectorFacts, has_key: bool) -> u8 {
    match (kind, value.len()) {
        (kind::PADDING, _) => 0,
        (kind::TIMESTAMPS, 4) => {
            let Timestamping { source, method } = facts.timestamping;
            // Of the arrival, then of the departure.
            value.copy_from_slice(&[source, method, source, method]);
            0
        }
        (kind::COUNTERS, 12) => {
            value[4..8].copy_from_slice(&facts.received.to_be_bytes());
            value[8..12].copy_from_slice(&facts.sent.to_be_bytes());
            0
        }
        (kind::HMAC, HMAC_OCTETS) if has_key => 0,
        (kind::HMAC, HMAC_OCTETS) => UNRECOGNISED,
        (kind::TIMESTAMPS | kind::COUNTERS | kind::HMAC, _) => MALFORMED,
        _ => UNRECOGNISED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: ReflectorFacts = ReflectorFacts {
        timestamping: Timestamping { source: 5, method: 2 },
        received: 9,
        sent: 8,
    };

    #[test]
    fn known_tlvs_are_filled_in_and_unknown_ones_flagged() {
        let mut extension = vec![0x80, 1, 0, 3, 7, 7, 7]; // padding
        extension.extend([0x80, 3, 0, 4, 0, 0, 0, 0]);
        extension.extend([0x80, 5, 0, 12, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0]);
        extension.extend([0x80, 4, 0, 4, 1, 2, 3, 4]); // class of service
        answer(&mut extension, None, 0, 0, &FACTS);
        let mut expected = vec![0, 1, 0, 3, 7, 7, 7];
        expected.extend([0, 3, 0, 4, 5, 2, 5, 2]);
        expected.extend([0, 5, 0, 12, 0, 0, 0, 10, 0, 0, 0, 9, 0, 0, 0, 8]);
        expected.extend([0x80, 4, 0, 4, 1, 2, 3, 4]);
        assert_eq!(extension, expected);
    }

    #[test]
    fn lengths_beyond_the_packet_and_wrong_ones_are_flagged() {
        let mut cut = vec![0x80, 1, 0xff, 0xff, 1, 2];
        answer(&mut cut, None, 0, 0, &FACTS);
        assert_eq!(cut, [MALFORMED, 1, 0xff, 0xff, 1, 2]);
        let mut header = vec![0x80, 1, 0];
        answer(&mut header, None, 0, 0, &FACTS);
        assert_eq!(header, [MALFORMED, 1, 0]);
        let mut wrong = vec![0x80, 3, 0, 2, 1, 2];
        answer(&mut wrong, None, 0, 0, &FACTS);
        assert_eq!(wrong, [MALFORMED, 3, 0, 2, 1, 2]);
    }

    #[test]
    fn an_hmac_covers_the_sequence_number_and_all_tlvs_before_it() {
        let key = StampKey::new(b"secret").expect("a key");
        let mut extension = [0; HEADER + 5 + HEADER + HMAC_OCTETS];
        let at = write(&mut extension, kind::PADDING, 5);
        write_hmac(&key, 77, &mut extension, at);
        assert_eq!(hmac_verifies(&key, 77, &extension), Some(true));
        assert_eq!(hmac_verifies(&key, 78, &extension), Some(false));
        let mut changed = extension;
        changed[HEADER] = 1;
        answer(&mut changed, Some(&key), 77, 3, &FACTS);
        assert_eq!((changed[0], changed[at]), (NOT_AUTHENTIC, NOT_AUTHENTIC));
        answer(&mut extension, Some(&key), 77, 3, &FACTS);
        assert_eq!((extension[0], extension[at]), (0, 0));
        assert_eq!(hmac_verifies(&key, 3, &extension), Some(true));
    }
}
