//! Packets that a capture has more than once: taken on several interfaces (a bond, a bridge,
//! "any"), or from a mirror port that shows both directions.
//!
//! A *copy* has the octets of a packet that was captured shortly before: the same addresses,
//! identification, length, and contents as far as they are compared. Who sends something again
//! gives it another identification (RFC 791, section 3.2); where there is none (IPv6, or 0), the
//! time between both must be shorter than any sender takes. A source that gives different packets
//! the same identification gives none. A copy is *elsewhere* if its interface, or its time to live,
//! differs.
//!
//! ```text
//!                                                  elsewhere      the same interface
//! with an identification                           ELSEWHERE_NS   IDENTIFIED_NS
//! without: TCP with payload, SYN or FIN            BARE_NS        AT_ONCE_NS, SOON_NS if common
//! without: UDP, and TCP that only acknowledges     BARE_NS        never, SOON_NS if common
//! ```
//!
//! Copies are *common* in a capture if of every four packets of the first two rows one or more came
//! again within those times, or within a millisecond.

use crate::ahead::prefetch;

/// Packets that are remembered; each takes the place of one before it.
const SLOTS: usize = 1 << 14;
/// Both sides of a router's queue may be seconds apart.
const ELSEWHERE_NS: i64 = 5_000_000_000;
/// Below the least retransmission timeout of any system (200 ms of Linux): a sender may keep the
/// identification (RFC 1122, section 3.2.1.5).
const IDENTIFIED_NS: i64 = 100_000_000;
/// See the table above.
const BARE_NS: i64 = 10_000_000;
/// Below what any sender takes to learn of a loss.
const AT_ONCE_NS: i64 = 10_000;
/// What few senders take.
const SOON_NS: i64 = 1_000_000;
/// Interfaces that a packet passes. What comes more often is sent so.
const MOST_COPIES: u8 = 8;
/// Copies among the others from which they are common: one in so many, and so many in all.
const COMMON: u64 = 4;
const FEWEST: u64 = 8;

/// Sources whose last identification is remembered.
const SOURCES: usize = 1 << 10;

/// How a packet is recognised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprint {
    /// Hash of its source.
    pub(crate) source: u32,
    /// Identification of the packet, 0 if it has none.
    pub(crate) identification: u32,
    /// Hash of what a copy has in common with it.
    pub(crate) hash: u64,
    /// Interface on which it was captured.
    pub(crate) interface: u32,
    /// Time to live of the packet.
    pub(crate) hops: u8,
    /// It is a fragment: those of a packet have its identification.
    pub(crate) is_fragment: bool,
    /// It is a TCP segment with payload, SYN or FIN.
    pub(crate) has_contents: bool,
}

/// Rows of the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identification {
    Identified,
    Contents,
    Bare,
}

/// The last packet of a source that was no copy.
#[derive(Clone, Copy, Debug, Default)]
struct CopySource {
    address: u32,
    identification: u32,
    hash: u64,
    /// The one before it had the same identification.
    is_constant: bool,
}

impl Identification {
    /// How much later than its packet a copy comes at the most; -1 for never.
    fn within_ns(self, is_elsewhere: bool, are_common: bool) -> i64 {
        match (self, is_elsewhere) {
            (Self::Identified, true) => ELSEWHERE_NS,
            (Self::Identified, false) => IDENTIFIED_NS,
            (_, true) => BARE_NS,
            (_, false) if are_common => SOON_NS,
            (Self::Contents, false) => AT_ONCE_NS,
            (Self::Bare, false) => -1,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct CopySlot {
    hash: u64,
    time_ns: i64,
    interface: u32,
    hops: u8,
    repeated: u8,
}

/// Recognises copies.
#[derive(Debug)]
pub(crate) struct Copies {
    slots: Vec<Option<CopySlot>>,
    sources: Vec<CopySource>,
    /// Packets of the first two rows that came again, and the others.
    repeated: u64,
    single: u64,
}

impl Default for Copies {
    fn default() -> Self {
        Self {
            slots: vec![None; SLOTS],
            sources: vec![CopySource::default(); SOURCES],
            repeated: 0,
            single: 0,
        }
    }
}

impl Copies {
    /// Whether a packet that was captured at `now_ns` is a copy; it is remembered if not.
    pub(crate) fn is_copy(&mut self, fingerprint: &Fingerprint, now_ns: i64) -> bool {
        let are_common =
            self.repeated >= FEWEST && self.repeated.saturating_mul(COMMON) > self.single;
        let kind = self.kind(fingerprint);
        let slot = &mut self.slots[slot_index(fingerprint.hash)];
        let earlier = slot.as_mut().filter(|slot| slot.hash == fingerprint.hash);
        let (mut is_copy, mut is_repeated) = (false, false);
        if let Some(slot) = earlier {
            let is_elsewhere =
                slot.interface != fingerprint.interface || slot.hops != fingerprint.hops;
            let within_ns = kind.within_ns(is_elsewhere, are_common);
            let after_ns = now_ns.saturating_sub(slot.time_ns).abs();
            is_repeated = after_ns <= within_ns.max(SOON_NS);
            if is_repeated {
                slot.time_ns = now_ns;
                slot.repeated = slot.repeated.saturating_add(1);
            }
            is_copy = after_ns <= within_ns && slot.repeated <= MOST_COPIES;
        }
        if !is_repeated {
            *slot = Some(CopySlot {
                hash: fingerprint.hash,
                time_ns: now_ns,
                interface: fingerprint.interface,
                hops: fingerprint.hops,
                repeated: 0,
            });
        }
        if kind != Identification::Bare {
            self.repeated += u64::from(is_repeated);
            self.single += u64::from(!is_repeated);
        }
        is_copy
    }

    /// What recognises a packet; its source is remembered with its identification.
    fn kind(&mut self, fingerprint: &Fingerprint) -> Identification {
        if fingerprint.is_fragment {
            return Identification::Identified;
        }
        let last_packet = &mut self.sources[fingerprint.source as usize & (SOURCES - 1)];
        if last_packet.address != fingerprint.source || last_packet.hash != fingerprint.hash {
            let is_constant = last_packet.address == fingerprint.source
                && last_packet.hash != 0
                && last_packet.identification == fingerprint.identification;
            let Fingerprint { source: address, identification, hash, .. } = *fingerprint;
            *last_packet = CopySource { address, identification, hash, is_constant };
        }
        match (
            fingerprint.identification != 0 && !last_packet.is_constant,
            fingerprint.has_contents,
        ) {
            (true, _) => Identification::Identified,
            (false, true) => Identification::Contents,
            (false, false) => Identification::Bare,
        }
    }

    /// Prefetch what [`Copies::is_copy`] needs.
    pub(crate) fn prefetch(&self, fingerprint: &Fingerprint) {
        prefetch(&self.slots[slot_index(fingerprint.hash)]);
    }
}

#[allow(clippy::cast_possible_truncation)] // masked
fn slot_index(hash: u64) -> usize {
    hash as usize & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(identification: u32, has_contents: bool, interface: u32) -> Fingerprint {
        let hash = 7;
        Fingerprint {
            source: 1,
            identification,
            hash,
            interface,
            hops: 64,
            is_fragment: false,
            has_contents,
        }
    }

    /// Whether the second of two equal packets is a copy, so long after the first.
    fn is_copy(identification: u32, has_contents: bool, interface: u32, after_ns: i64) -> bool {
        let mut copies = Copies::default();
        assert!(!copies.is_copy(&print(identification, has_contents, 0), 0));
        copies.is_copy(&print(identification, has_contents, interface), after_ns)
    }

    #[test]
    fn a_copy_comes_sooner_than_a_retransmission_could() {
        for (identification, has_contents, interface, within_ns) in [
            (9, true, 0, IDENTIFIED_NS),
            (9, false, 0, IDENTIFIED_NS),
            (9, false, 1, ELSEWHERE_NS),
            (0, true, 0, AT_ONCE_NS),
            (0, true, 1, BARE_NS),
            (0, false, 1, BARE_NS),
        ] {
            assert!(is_copy(identification, has_contents, interface, within_ns), "{within_ns}");
            assert!(!is_copy(identification, has_contents, interface, within_ns + 1));
        }
        assert!(!is_copy(0, false, 0, 1), "two acknowledgements may be alike");
    }

    #[test]
    fn where_payload_is_copied_acknowledgements_are_too() {
        let mut copies = Copies::default();
        for hash in 1..100 {
            let fingerprint = Fingerprint { hash, ..print(0, true, 0) };
            assert!(!copies.is_copy(&fingerprint, 0));
            assert!(copies.is_copy(&fingerprint, 5000));
        }
        let bare = Fingerprint { hash: 1000, ..print(0, false, 0) };
        assert!(!copies.is_copy(&bare, 0));
        assert!(copies.is_copy(&bare, 5000));
    }

    #[test]
    fn what_comes_again_and_again_is_sent_so() {
        let mut copies = Copies::default();
        let repeated = (0..100).filter(|at| copies.is_copy(&print(9, false, 0), at * 1000));
        assert_eq!(repeated.count(), usize::from(MOST_COPIES));
    }

    #[test]
    fn an_identification_that_different_packets_have_tells_nothing() {
        let mut copies = Copies::default();
        for hash in 1..4 {
            assert!(!copies.is_copy(&Fingerprint { hash, ..print(9, false, 0) }, 0));
        }
        let last = Fingerprint { hash: 3, ..print(9, false, 0) };
        assert!(!copies.is_copy(&last, 5000), "a duplicate acknowledgement");
    }
}
