//! Attempts of stations on a segment, by the comments of a capture of an emulated one, and for how
//! many slots each station backed off after its collisions.
//!
//! ```text
//!  collision        jam ends                     start of the next attempt
//!  ───────────────────┤····· r slots of backoff ·····├──► r is known: nothing was deferred
//!
//!  ───────────────────┤····· r slots ·····▒▒▒▒▒▒▒▒▒▒▒▒├─gap─►
//!                                         another frame: r lies from its begin to the start
//! ```
//!
//! A station whose backoff ends while it hears another station, or owes a gap, starts when that is
//! over; its wait is then a range. In both cases the range of r follows from what the others did and
//! from when the station started, not from the law of its backoff.

use crate::file::Packet;
use ethermeter_ethernet::frame::{FCS, SHORTEST};
use ethermeter_ethernet::timing::IEEE_10;
use std::collections::BTreeMap;

/// Bits of these durations are tried: at 10 and 100 Mb/s the constants of 802.3 are the same.
const BITS_PS: [i64; 2] = [100_000, 10_000];
/// Instants are known to this part of a slot: a capture has whole octets of a collided frame.
const TOLERANCE: i64 = 32;
/// Different waits that are kept of a station.
const MOST_WAITS: usize = 1 << 16;
/// Stations of a segment: no standard has more.
const MOST_STATIONS: usize = 1024;

/// Attempts of a station.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StationAttempts {
    /// Attempts on the line.
    pub attempts: u64,
    /// Of these, collided ones.
    pub collisions: u64,
    /// Frames given up, by the number of their attempts.
    pub given_up: BTreeMap<u32, u64>,
    /// Waits between an attempt that collided and the next one: how many collisions the frame had
    /// had, the least and the most slots that the backoff can have lasted, and how often.
    pub waits: BTreeMap<(u32, u32, u32), u64>,
    /// Waits that are neither whole slots nor end with a gap.
    pub unexplained: u64,
    /// Waits beyond those that are kept.
    pub left_out: u64,
}

/// Attempts on a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentAttempts {
    /// Duration of a bit in picoseconds, with which most waits are whole slots.
    pub bit_ps: u64,
    /// Bits of a slot.
    pub slot_bits: u64,
    /// Whether MACs got collision signals of PLCA, after which they do not back off in slots.
    pub has_logical: bool,
    /// By interface of the file.
    pub stations: Vec<StationAttempts>,
}

/// What a comment says of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttemptComment {
    /// The frame left its card.
    Sent { number: u32 },
    /// It collided; the line was busy for so long, in tenths of a microsecond.
    Collided { number: u32, busy_tenths: i64, is_last: bool },
    /// A collision signal, with nothing on the line.
    Logical,
}

impl AttemptComment {
    fn parse(comment: &str) -> Option<Self> {
        if comment.starts_with("logical collision") {
            return Some(Self::Logical);
        }
        let (before, after) = comment.split_once("attempt ")?;
        let (number, rest) = after.split_once(", ")?;
        let number = number.parse().ok()?;
        if before.is_empty() || before == "damaged on the line, " {
            return rest.starts_with("waited ").then_some(Self::Sent { number });
        }
        if !before.trim_start_matches("late ").starts_with("collision of station") {
            return None;
        }
        let (busy, rest) = rest.split_once(" us; ")?;
        let (whole, tenth) = busy.split_once('.')?;
        let (whole, tenth): (i64, i64) = (whole.parse().ok()?, tenth.parse().ok()?);
        let busy_tenths = whole.checked_mul(10)?.checked_add(tenth)?;
        Some(Self::Collided { number, busy_tenths, is_last: rest.contains("; given up") })
    }
}

/// A station that waits after a collision.
#[derive(Clone, Copy, Debug)]
struct Backoff {
    collisions: u32,
    jam_end: i64,
}

#[derive(Clone, Debug, Default)]
struct Station {
    found: StationAttempts,
    backoff: Option<Backoff>,
}

/// The attempts as they are with bits of one duration; times in picoseconds.
#[derive(Clone, Debug)]
struct Timeline {
    bit: i64,
    stations: Vec<Station>,
    /// When the line was busy before that, before, and is now: transmissions that overlap are one.
    earlier: Option<(i64, i64)>,
    before: Option<(i64, i64)>,
    now: Option<(i64, i64)>,
}

impl Timeline {
    fn bits(&self, bits: u64) -> i64 {
        self.bit.saturating_mul(bits.cast_signed())
    }

    fn take(&mut self, station: usize, start: i64, octets: u32, comment: AttemptComment) {
        let data = start.saturating_add(self.bits(IEEE_10.preamble.0));
        let (number, end, busy_end) = match comment {
            AttemptComment::Logical => return,
            AttemptComment::Sent { number } => {
                let frame = (u64::from(octets) + FCS.0).max(SHORTEST.0) * 8;
                let end = data.saturating_add(self.bits(frame));
                (number, end, end)
            }
            AttemptComment::Collided { number, busy_tenths, .. } => {
                // The octet in which the jam began is not whole.
                let sent = u64::from(octets) * 8 + if octets > 0 { 4 } else { 0 };
                let end = data.saturating_add(self.bits(sent + IEEE_10.jam.0));
                (number, end, start.saturating_add(busy_tenths.saturating_mul(100_000)))
            }
        };
        match &mut self.now {
            Some((_, last)) if start < *last => *last = end.max(*last),
            _ => {
                self.earlier = self.before;
                self.before = self.now;
                self.now = Some((start, busy_end.max(end)));
            }
        }
        if self.stations.len() <= station {
            self.stations.resize_with(station + 1, Station::default);
        }
        let backoff = self.stations[station].backoff.take();
        let wait = backoff.filter(|backoff| number == backoff.collisions.saturating_add(1));
        let wait = wait.map(|backoff| (backoff.collisions, self.slots(backoff, start)));
        let Station { found, backoff } = &mut self.stations[station];
        found.attempts += 1;
        match wait {
            Some((collisions, Some((least, most)))) => {
                let is_full = found.waits.len() >= MOST_WAITS;
                match found.waits.get_mut(&(collisions, least, most)) {
                    Some(count) => *count += 1,
                    None if is_full => found.left_out += 1,
                    None => drop(found.waits.insert((collisions, least, most), 1)),
                }
            }
            Some((_, None)) => found.unexplained += 1,
            None => {}
        }
        if let AttemptComment::Collided { is_last, .. } = comment {
            found.collisions += 1;
            if is_last {
                *found.given_up.entry(number).or_default() += 1;
            } else {
                *backoff = Some(Backoff { collisions: number, jam_end: end });
            }
        }
    }

    /// The least and the most slots of a backoff after which a station started; `None` if that
    /// cannot be.
    fn slots(&self, backoff: Backoff, start: i64) -> Option<(u32, u32)> {
        let (slot, gap) = (self.bits(IEEE_10.slot.0), self.bits(IEEE_10.gap.0));
        let tolerance = slot / TOLERANCE;
        let since = start.saturating_sub(backoff.jam_end);
        let nearest = since.saturating_add(slot / 2).div_euclid(slot);
        let is_whole = since.saturating_sub(nearest.saturating_mul(slot)).abs() <= tolerance;
        // When the station began to hear what was over a gap before, if that is why it started: the
        // end came to it as late as the begin.
        let heard_from = |(begin, end): (i64, i64)| {
            let delay = start.saturating_sub(end).saturating_sub(gap);
            let is_possible = (-tolerance..=slot / 2 + tolerance).contains(&delay);
            is_possible.then(|| begin.saturating_add(delay.max(0)))
        };
        // A short collision far away may not have been heard before the start.
        let deferred_from =
            self.before.and_then(heard_from).or_else(|| self.earlier.and_then(heard_from));
        let (least, most) = match deferred_from {
            Some(from) => {
                let after = from.saturating_sub(backoff.jam_end).saturating_sub(tolerance);
                let least = after.saturating_add(slot - 1).div_euclid(slot).max(0);
                (least, since.saturating_add(tolerance).div_euclid(slot))
            }
            None if is_whole => (nearest, nearest),
            None => return None,
        };
        let (least, most) = (u32::try_from(least).ok()?, u32::try_from(most).ok()?);
        (least <= most).then_some((least, most))
    }

    fn unexplained(&self) -> u64 {
        self.stations.iter().map(|station| station.found.unexplained).sum()
    }
}

/// Takes in the attempts of a capture.
#[derive(Clone, Debug)]
pub(crate) struct AttemptCollector {
    timelines: [Timeline; 2],
    has_logical: bool,
    first_ns: Option<i64>,
}

impl Default for AttemptCollector {
    fn default() -> Self {
        let timeline =
            |bit| Timeline { bit, stations: Vec::new(), earlier: None, before: None, now: None };
        Self { timelines: BITS_PS.map(timeline), has_logical: false, first_ns: None }
    }
}

impl AttemptCollector {
    /// Take in a packet, if its comment says that it is an attempt.
    pub(crate) fn take(&mut self, packet: &Packet<'_>) {
        if packet.comment.is_empty() {
            return;
        }
        let (Some(comment), Some(time_ns)) =
            (AttemptComment::parse(packet.comment), packet.time_ns)
        else {
            return;
        };
        let station = packet.interface as usize;
        if station >= MOST_STATIONS {
            return;
        }
        self.has_logical |= comment == AttemptComment::Logical;
        let first_ns = *self.first_ns.get_or_insert(time_ns);
        let start = time_ns.saturating_sub(first_ns).saturating_mul(1000);
        for timeline in &mut self.timelines {
            timeline.take(station, start, packet.original, comment);
        }
    }

    /// What was found; `None` without an attempt.
    pub(crate) fn finish(self) -> Option<SegmentAttempts> {
        let has_logical = self.has_logical;
        let best = self.timelines.into_iter().min_by_key(Timeline::unexplained)?;
        let stations: Vec<StationAttempts> =
            best.stations.into_iter().map(|station| station.found).collect();
        (has_logical || !stations.is_empty()).then(|| SegmentAttempts {
            bit_ps: best.bit.cast_unsigned(),
            slot_bits: IEEE_10.slot.0,
            has_logical,
            stations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{LinkErrors, LinkType};
    use proptest::prelude::*;

    const COLLIDED: &str = "collision of stations 1 and 2, attempt 1, 9.6 us; 0 of 60 octets sent";

    fn packet(interface: u32, microseconds: f64, original: u32, comment: &str) -> Packet<'_> {
        #[allow(clippy::cast_possible_truncation)]
        let time_ns = Some((microseconds * 1000.0).round() as i64);
        let (link, errors) = (LinkType::Ethernet, LinkErrors::default());
        Packet { time_ns, link, interface, original, data: &[], errors, comment }
    }

    fn waits(packets: &[Packet<'_>]) -> Vec<Vec<(u32, u32, u32)>> {
        let mut collector = AttemptCollector::default();
        for packet in packets {
            collector.take(packet);
        }
        let found = collector.finish().expect("attempts");
        assert_eq!(found.bit_ps, 100_000);
        found.stations.iter().map(|station| station.waits.keys().copied().collect()).collect()
    }

    #[test]
    fn waits_are_slots_from_the_end_of_the_jam() {
        // The collision of both begins at 100 and their jams end at 109.6. Station 2 starts 9.6
        // after it (no slots), and is over at 119.2 + 57.6 = 176.8. Station 1 starts after 3 slots.
        let packets = [
            packet(0, 100.0, 0, COLLIDED),
            packet(1, 100.0, 0, COLLIDED),
            packet(1, 119.2, 60, "attempt 2, waited 19.200 us"),
            packet(0, 109.6 + 153.6, 60, "attempt 2, waited 163.200 us"),
        ];
        assert_eq!(waits(&packets), [vec![(1, 3, 3)], vec![(1, 0, 0)]]);
    }

    #[test]
    fn a_wait_that_ends_in_another_frame_is_a_range() {
        // As before, but station 1 starts when the frame of 119.2 to 176.8 and its gap are over: the
        // backoff ended from 119.2 to 186.4, 9.6 to 76.8 after the jam, with the first slot.
        let packets = [
            packet(0, 100.0, 0, COLLIDED),
            packet(1, 100.0, 0, COLLIDED),
            packet(1, 119.2, 60, "attempt 2, waited 19.200 us"),
            packet(0, 186.4, 60, "attempt 2, waited 86.400 us"),
        ];
        assert_eq!(waits(&packets), [vec![(1, 1, 1)], vec![(1, 0, 0)]]);
        // Of 1214 octets, 976 us: 19 slots fit into it.
        let long = [packets[0], packets[1], packet(1, 119.2, 1210, "attempt 2, waited 19.200 us")];
        let after_us = 119.2 + 6.4 + 1214.0 * 0.8 + 9.6;
        let last = packet(0, after_us, 60, "attempt 2, waited 0.000 us");
        assert_eq!(waits(&[&long[..], &[last]].concat())[0], [(1, 1, 19)]);
    }

    #[test]
    fn a_frame_that_is_given_up_ends_its_waits() {
        let given_up = "collision of station 1, attempt 16, 9.6 us; 0 of 60 octets sent; given up, waited 7.000 us";
        let mut collector = AttemptCollector::default();
        collector.take(&packet(0, 0.0, 0, given_up));
        collector.take(&packet(0, 60.8, 60, "attempt 1, waited 0.000 us"));
        let found = collector.finish().expect("attempts");
        let station = &found.stations[0];
        assert_eq!((station.attempts, station.collisions), (2, 1));
        assert_eq!(station.given_up.iter().collect::<Vec<_>>(), [(&16, &1)]);
        assert!(station.waits.is_empty() && station.unexplained == 0);
    }

    #[test]
    fn other_comments_are_none_of_attempts() {
        for comment in
            ["", "a note", "attempt", "attempt x, waited 1 us", "the last attempt 2, waited 1 us"]
        {
            let mut collector = AttemptCollector::default();
            collector.take(&packet(0, 0.0, 60, comment));
            assert_eq!(collector.finish(), None, "{comment}");
        }
    }

    proptest! {
        #[test]
        fn no_comment_makes_it_panic(
            packets in prop::collection::vec(
                ("(collision of station|attempt |late |[0-9]{1,20}|, |\\.| us; |waited |; given up|\\PC){0,9}",
                 0u32..3, any::<i64>(), any::<u32>()), 0..6)
        ) {
            let mut collector = AttemptCollector::default();
            for (comment, interface, time_ns, original) in &packets {
                let packet = packet(*interface, 0.0, *original, comment);
                collector.take(&Packet { time_ns: Some(*time_ns), ..packet });
            }
            collector.finish();
        }
    }
}
