//! One end of a connection: its numbers, acknowledgements and windows.

use super::{
    BackwardSegment, ConnectionEnd, Evidence, MOST_HOLES, MOST_OUTSTANDING, SegmentMeaning, TRAIN,
    UnacknowledgedSegment,
};
use crate::packet::TcpHeader;

/// Without a handshake, what comes sooner after the highest number is late.
const LATE_WITHIN_NS: i64 = 3_000_000;
/// What was asked for by duplicate acknowledgements is sent again within this time.
const FAST_WITHIN_NS: i64 = 20_000_000;
/// Octets of a train at the least: a few full segments of an Ethernet, not the shorter ones of an
/// application.
const TRAIN_OCTETS: u64 = 4000;
const ORIGIN: u64 = 1 << 33;

impl ConnectionEnd {
    /// A number in 64 bits; the first one that is met sets the origin.
    pub(super) fn position(&mut self, number: u32) -> u64 {
        if self.first.is_none() {
            let first = ORIGIN | u64::from(number);
            self.first = Some(first);
            (self.highest, self.acknowledged) = (first, first);
        }
        #[allow(clippy::cast_possible_truncation)] // the lower half is what is wanted
        let ahead = number.wrapping_sub(self.highest as u32).cast_signed();
        self.highest.saturating_add_signed(i64::from(ahead))
    }

    /// A segment that only acknowledges has the next number of this end: of one that has sent
    /// nothing else this is where it begins.
    pub(super) fn begin_at(&mut self, start: u64) {
        if !self.has_sent && start > self.highest {
            (self.first, self.highest, self.acknowledged) = (Some(start), start, start);
        }
    }

    /// Note what the other end has acknowledged and allowed, up to `edge` if that is known, in the
    /// series of this one.
    pub(super) fn note_announced(&mut self, after_ns: u64, edge: Option<u64>) {
        let acknowledged = self.relative(self.acknowledged);
        let edge = edge.map_or(0, |edge| self.relative(edge));
        let slice = self.series.at(after_ns);
        slice.acknowledged = slice.acknowledged.max(acknowledged);
        slice.edge = slice.edge.max(edge);
    }

    /// A loss of this end is noticed.
    pub(super) fn lose(&mut self) {
        if let Some(ns) = self.last_round_trip_ns {
            self.loss_round_trip.record(ns);
        }
    }

    /// This end sends its timestamp `stamp`, and echoes `echoed`: if that is the latest of the
    /// other end, it has just been there.
    pub(super) fn echo(&mut self, other: &Self, now_ns: i64, stamp: u32, echoed: u32) {
        if let Some((_, since_ns)) = other.stamp.filter(|latest| latest.0 == echoed) {
            let ns = u64::try_from(now_ns.saturating_sub(since_ns)).unwrap_or(0);
            self.echo_ns = Some(self.echo_ns.map_or(ns, |least| least.min(ns)));
        }
        if self.stamp.is_none_or(|latest| stamp.wrapping_sub(latest.0).cast_signed() > 0) {
            self.stamp = Some((stamp, now_ns));
        }
    }

    /// Octets after the first number that was met.
    pub(super) fn relative(&self, position: u64) -> u64 {
        position.saturating_sub(self.first.unwrap_or(position))
    }

    /// Octets between the first number and the highest: those that were sent once and not captured,
    /// too; SYN and FIN count one each.
    #[must_use]
    pub fn numbers(&self) -> u64 {
        self.relative(self.highest)
    }

    /// This end acknowledges what the other one sent. Something that the other end did not know
    /// gives the time since the data, if certain.
    #[allow(clippy::option_option)] // whether there is news, and whether it has a time
    pub(super) fn acknowledge(
        &mut self,
        other: &mut Self,
        (now_ns, after_ns): (i64, u64),
        tcp: &TcpHeader,
        (start, length): (u64, u32),
        finding: &mut SegmentMeaning,
    ) -> Option<Option<u64>> {
        let number = other.position(tcp.acknowledgment);
        let is_new = number > other.acknowledged;
        let is_plain = !tcp.syn && !tcp.fin && !tcp.rst;
        let is_same = self.last_ack == Some(number) && self.last_window == Some(tcp.window);
        if is_same && !is_new && is_plain && length == 0 && tcp.window != 0 && start == self.highest
        {
            if other.highest > other.acknowledged {
                finding.is_duplicate_ack = true;
                other.trained = 0;
                self.duplicate_acks += 1;
                self.duplicates_in_a_row += 1;
            } else {
                finding.is_repeated_ack = true;
            }
        }
        if self.last_ack != Some(number) {
            self.duplicates_in_a_row = 0;
        }
        if tcp.duplicate.is_some() {
            other.reported_duplicate += 1;
        }
        let is_opened = self.last_window != Some(tcp.window);
        (self.last_ack, self.last_ack_ns) = (Some(number), now_ns);
        if !is_new {
            return is_opened.then_some(None);
        }
        if number > other.highest {
            other.uncaptured_octets = other.uncaptured_octets.saturating_add(if other.has_sent {
                number - other.highest
            } else {
                0
            });
            other.highest = number;
        }
        other.acknowledged = number;
        while other.holes_at.front().is_some_and(|hole| hole.1 <= number) {
            other.holes_at.pop_front();
        }
        // The others that this covers waited for what was sent again after them.
        let covers = other.outstanding.iter().take_while(|kept| kept.end <= number);
        let again_ns = covers.filter_map(|kept| kept.again_ns).max();
        let (mut covered, mut last_delay, mut round_trip) = (0, None, None);
        while let Some(first) =
            other.outstanding.front().copied().filter(|first| first.end <= number)
        {
            other.outstanding.pop_front();
            covered += u64::from(first.has_payload);
            let delay_ns = now_ns - first.sent_ns;
            let delay = u64::try_from(delay_ns).unwrap_or(0);
            if first.end == number {
                finding.acknowledges_after_ns = Some(delay_ns);
                finding.is_ambiguous = first.again_ns.is_some();
            }
            if first.again_ns.is_some() || again_ns.is_some_and(|again_ns| again_ns > first.sent_ns)
            {
                continue;
            }
            last_delay = Some(delay);
            if first.end == number {
                other.round_trip.record(delay);
                (round_trip, other.last_round_trip_ns) = (Some(delay), Some(delay));
            }
            if first.has_payload {
                other.ack_delay.record(delay);
                let slice = other.series.at(after_ns);
                slice.delays += 1;
                slice.delay_sum_ns = slice.delay_sum_ns.saturating_add(delay);
                slice.delay_most_ns = slice.delay_most_ns.max(delay);
            }
        }
        match (last_delay, self.round_trip.least_ns(), other.round_trip.least_ns()) {
            (None, ..) => other.trained = 0,
            (Some(_), Some(one_ns), Some(other_ns)) => {
                let waited_ns = round_trip.map_or(0, |ns| ns.saturating_sub(other_ns));
                other.space(now_ns, number, (one_ns, other_ns), waited_ns);
            }
            _ => {}
        }
        self.covering_acks += u64::from(covered > 0);
        self.covered_segments += covered;
        self.most_covered = self.most_covered.max(covered);
        Some(last_delay)
    }

    /// All up to `number` was acknowledged at `now_ns`, `path_ns` being the least time to the other
    /// end and back, of the last segment `waited_ns` longer. Record the time per octet of a train
    /// that is shorter than half of what both ends are away, so that its segments left one after
    /// the other.
    ///
    /// It is the link's if the last segment waited half as long as the train took: it stood in the
    /// queue of a link behind the others. Segments that leave at the pace of the acknowledgements
    /// before them find that queue empty, and tell of no link. Near the other end no queue is
    /// seen: no train is so much shorter than the path to it.
    fn space(&mut self, now_ns: i64, number: u64, (own_ns, path_ns): (u64, u64), waited_ns: u64) {
        if self.trained == TRAIN {
            self.train.copy_within(1.., 0);
            self.trained -= 1;
        }
        self.train[self.trained] = (now_ns, number);
        self.trained += 1;
        let (first_ns, first) = self.train[0];
        let (lasted_ns, octets) = (
            u64::try_from(now_ns.saturating_sub(first_ns)).unwrap_or(0),
            number.saturating_sub(first),
        );
        let is_train = self.trained == TRAIN && octets >= TRAIN_OCTETS && lasted_ns > 0;
        if !is_train || lasted_ns > own_ns.saturating_add(path_ns) / 2 {
            return;
        }
        let ps = lasted_ns.saturating_mul(1000) / octets;
        self.trains.record(ps);
        if lasted_ns <= path_ns / 2 && waited_ns >= lasted_ns / 2 {
            self.spacing.record(ps);
        }
    }

    /// This end sends `length` numbers from `start` on, of which `payload` are octets.
    pub(super) fn send(
        &mut self,
        (now_ns, after_ns): (i64, u64),
        tcp: &TcpHeader,
        (start, length, payload): (u64, u32, u32),
        other: &Self,
        handshake_ns: Option<i64>,
        finding: &mut SegmentMeaning,
    ) {
        self.octets += u64::from(payload);
        if self.data_segments == 0 {
            self.first_payload = payload;
        }
        self.data_segments += u64::from(payload > 0);
        self.largest_payload = self.largest_payload.max(payload);
        let end = start + u64::from(length);
        let mut segment = UnacknowledgedSegment {
            start,
            end,
            sent_ns: now_ns,
            has_payload: payload > 0,
            again_ns: None,
        };
        if !self.has_sent {
            self.highest = self.highest.max(start);
            self.known_from = start;
        }
        if start > self.highest && self.has_sent {
            finding.follows_hole = true;
            self.holes += 1;
            if self.holes_at.len() == MOST_HOLES {
                self.known_from = self.holes_at.pop_front().map_or(self.known_from, |hole| hole.1);
            }
            self.holes_at.push_back((self.highest, start));
        } else if start < self.highest && self.has_sent && !finding.is_keep_alive {
            finding.is_needless = end <= self.acknowledged;
            // One octet of a probe, and then what it begins.
            if !(payload > 1 && start + 1 == self.highest) {
                finding.again = Some(self.again(now_ns, tcp, (start, end), other, handshake_ns));
            }
            if matches!(finding.again, Some((BackwardSegment::Resent, _))) {
                let most = self.highest.min(end) - start;
                self.resent_octets += most.min(u64::from(payload));
                segment.again_ns = Some(now_ns);
                self.confuse(start, end, now_ns);
            }
            self.fill(start, end);
        }
        let slice = self.series.at(after_ns);
        slice.packets = slice.packets.saturating_add(1);
        slice.octets += u64::from(payload);
        match finding.again {
            Some((BackwardSegment::Resent, basis)) => {
                self.resent += 1;
                self.resent_guessed += u64::from(basis == Evidence::Timing);
                self.needless += u64::from(finding.is_needless);
                slice.resent = slice.resent.saturating_add(1);
            }
            Some((BackwardSegment::Late, _)) => self.late += 1,
            None => {}
        }
        if end > self.highest || !self.has_sent {
            self.highest = end;
            self.highest_ns = now_ns;
            self.highest_timestamp = tcp.timestamps.map(|both| both.0);
        }
        self.has_sent = true;
        let relative = self.relative(self.highest);
        let slice = self.series.at(after_ns);
        slice.sent = slice.sent.max(relative);
        if end > self.acknowledged {
            self.keep(segment);
        }
        if other.last_ack.is_some() {
            self.most_in_flight =
                self.most_in_flight.max(self.highest - self.acknowledged.min(self.highest));
        }
    }

    /// Tell what was sent again from what is late.
    fn again(
        &self,
        now_ns: i64,
        tcp: &TcpHeader,
        (start, end): (u64, u64),
        other: &Self,
        handshake_ns: Option<i64>,
    ) -> (BackwardSegment, Evidence) {
        let certain_from = start.max(self.known_from).max(self.first.unwrap_or(start));
        let is_missing = self.holes_at.iter().any(|hole| hole.0 < end && certain_from < hole.1);
        if !is_missing && start >= self.known_from {
            return (BackwardSegment::Resent, Evidence::Seen);
        }
        if let (Some((own, _)), Some(highest)) = (tcp.timestamps, self.highest_timestamp) {
            match own.wrapping_sub(highest).cast_signed() {
                1.. => return (BackwardSegment::Resent, Evidence::Timestamp),
                ..=-1 => return (BackwardSegment::Late, Evidence::Timestamp),
                0 => {}
            }
        }
        let is_asked_for = other.duplicates_in_a_row >= 2
            && other.last_ack == Some(start)
            && now_ns - other.last_ack_ns < FAST_WITHIN_NS;
        let is_soon = now_ns - self.highest_ns < handshake_ns.unwrap_or(LATE_WITHIN_NS);
        let is_late = is_soon && end != self.highest && !is_asked_for && end > self.acknowledged;
        (if is_late { BackwardSegment::Late } else { BackwardSegment::Resent }, Evidence::Timing)
    }

    /// Mark outstanding segments that were sent again.
    fn confuse(&mut self, start: u64, end: u64, now_ns: i64) {
        let from = self.outstanding.partition_point(|kept| kept.end <= start);
        for kept in self.outstanding.range_mut(from..).take_while(|kept| kept.start < end) {
            kept.again_ns = Some(now_ns);
        }
    }

    /// What was missing has come.
    fn fill(&mut self, start: u64, end: u64) {
        let Some(at) = self.holes_at.iter().position(|hole| hole.0 < end && start < hole.1) else {
            return;
        };
        let hole = self.holes_at[at];
        let left = (hole.0, start.min(hole.1));
        let right = (end.max(hole.0), hole.1);
        match (left.0 < left.1, right.0 < right.1) {
            (true, true) => {
                self.holes_at[at] = left;
                if self.holes_at.len() < MOST_HOLES {
                    self.holes_at.insert(at + 1, right);
                }
            }
            (true, false) => self.holes_at[at] = left,
            (false, true) => self.holes_at[at] = right,
            (false, false) => {
                self.holes_at.remove(at);
            }
        }
        // A long segment may fill several.
        if right.0 < end && end > hole.1 {
            self.fill(hole.1, end);
        }
    }

    /// Keep a segment until it is acknowledged; in the order of the ends, and the first of those
    /// that end alike.
    fn keep(&mut self, segment: UnacknowledgedSegment) {
        if self.outstanding.len() == MOST_OUTSTANDING {
            self.outstanding.pop_front();
            self.forgotten += 1;
        }
        if self.outstanding.back().is_none_or(|last| last.end < segment.end) {
            self.outstanding.push_back(segment);
            return;
        }
        let at = self.outstanding.partition_point(|kept| kept.end < segment.end);
        if self.outstanding[at].end != segment.end {
            self.outstanding.insert(at, segment);
        }
    }

    pub(super) fn announce(&mut self, tcp: &TcpHeader, is_scaled: Option<bool>) {
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        let shift =
            if is_scaled == Some(true) && !tcp.syn { self.offered_shift.unwrap_or(0) } else { 0 };
        let octets = u64::from(tcp.window) << shift;
        self.first_window = self.first_window.or(Some(octets));
        if !tcp.fin && !tcp.syn {
            self.windows = Some(
                self.windows
                    .map_or((octets, octets), |(low, high)| (low.min(octets), high.max(octets))),
            );
        }
        if let Some(number) = self.last_ack {
            let edge = number + octets;
            self.edge = Some(edge);
        }
    }

    pub(super) fn held_octets(&self) -> usize {
        self.outstanding.capacity() * size_of::<UnacknowledgedSegment>()
            + self.holes_at.capacity() * size_of::<(u64, u64)>()
            + self.ack_delay.held_octets()
            + self.round_trip.held_octets()
            + self.loss_round_trip.held_octets()
            + self.spacing.held_octets()
            + self.trains.held_octets()
            + self.series.held_octets()
    }
}
