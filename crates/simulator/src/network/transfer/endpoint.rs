//! One end of a connection of TCP: what it sends, and what it does with what comes.
//!
//! Slow start, congestion avoidance, fast retransmission and recovery after RFC 5681 and 6582, the retransmission timer after RFC 6298,
//! delayed acknowledgements and silly windows after RFC 1122 § 4.2.3. A connection stands from the beginning and never ends; octets are
//! numbered from 0. Left out: limited transmit (RFC 3042), selective acknowledgements, timestamps as clocks.

use super::scenario::{Recovery, Tcp};
use std::collections::{BTreeMap, VecDeque};

/// A segment, as it goes in one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Number of its first octet.
    pub from: u64,
    pub octets: u64,
    /// All before this came.
    pub acknowledges: u64,
    /// Octets before this may be sent.
    pub edge: u64,
}

/// What an end did within the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub segments: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub fast_retransmissions: u64,
    pub acknowledgements: u64,
}

/// Congestion windows over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows {
    points: Vec<(u64, u64)>,
    apart: u64,
}

/// Most points that are kept of a congestion window.
const MOST_POINTS: usize = 2048;

impl Windows {
    fn note(&mut self, now: u64, octets: u64) {
        match self.points.last_mut() {
            Some(last) if last.1 == octets => return,
            Some(last) if now - last.0 < self.apart || now == last.0 => {
                last.1 = octets;
                return;
            }
            _ => self.points.push((now, octets)),
        }
        if self.points.len() == MOST_POINTS {
            self.points = self.points.iter().copied().step_by(2).collect();
            let span = now - self.points[0].0;
            self.apart = (2 * self.apart).max(span / MOST_POINTS as u64);
        }
    }

    pub fn finish(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.points)
    }
}

/// Longest timeout, RFC 6298 § 2.5.
const LONGEST_TIMEOUT_PS: u64 = 60_000_000_000_000;
const DUPLICATES: u32 = 3;

/// What fast recovery is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mending {
    Nothing,
    /// The first lost segment was sent again.
    First,
    /// It was acknowledged, but not all that had been sent by then.
    Others,
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Endpoint {
    tcp: Tcp,
    measured: (u64, u64),
    /// Most data in a segment.
    most: u64,
    initial: u64,
    pub counts: Counts,
    pub windows: Windows,
    /// Segments to go out.
    pub out: VecDeque<Segment>,

    // Sending
    /// Octets that the application has for the other.
    queued: u64,
    unacknowledged: u64,
    next: u64,
    highest: u64,
    edge: u64,
    congestion: u64,
    threshold: u64,
    duplicates: u32,
    mending: Mending,
    /// Duplicates of what was sent before this are from before a timeout or a recovery.
    recover: Option<u64>,
    /// The segment of which the round trip is measured: its end, and when it was sent.
    timed: Option<(u64, u64)>,
    round_trip: Option<(u64, u64)>,
    timeout: u64,
    /// What a timeout halved the threshold for.
    halved_for: Option<u64>,
    retransmit_at: Option<u64>,
    /// An octet is under way that asks whether the window is still shut.
    probing: bool,
    last_sent: u64,

    // Receiving
    received: u64,
    /// Beyond a gap: begin and end.
    pieces: BTreeMap<u64, u64>,
    taken: u64,
    /// When the application has read up to where.
    reading: VecDeque<(u64, u64)>,
    reads_until: u64,
    promised: u64,
    segments: u32,
    must_acknowledge: bool,
    acknowledge_at: Option<u64>,
}

impl Endpoint {
    pub fn new(tcp: Tcp, measured: (u64, u64)) -> Self {
        let most = tcp.segment_octets();
        // RFC 5681 § 3.1, equation 1.
        let segments =
            tcp.initial_segments.map_or(if most > 2190 { 2 } else { 3 + u64::from(most <= 1095) }, u64::from);
        let initial = segments * most;
        let mut windows = Windows::default();
        windows.note(0, initial);
        Self {
            tcp,
            measured,
            most,
            initial,
            counts: Counts::default(),
            windows,
            out: VecDeque::new(),
            queued: 0,
            unacknowledged: 0,
            next: 0,
            highest: 0,
            edge: tcp.window_octets,
            congestion: initial,
            threshold: u64::MAX,
            duplicates: 0,
            mending: Mending::Nothing,
            recover: None,
            timed: None,
            round_trip: None,
            timeout: tcp.first_timeout_ps,
            halved_for: None,
            retransmit_at: None,
            probing: false,
            last_sent: 0,
            received: 0,
            pieces: BTreeMap::new(),
            taken: 0,
            reading: VecDeque::new(),
            reads_until: 0,
            promised: tcp.window_octets,
            segments: 0,
            must_acknowledge: false,
            acknowledge_at: None,
        }
    }

    /// Octets that the application has read.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Octets that the application has for the other, in all.
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// When it next has something to do by itself.
    pub fn wakes(&self) -> Option<u64> {
        let read = self.reading.front().map(|(at, _)| *at);
        [self.retransmit_at, self.acknowledge_at, read].into_iter().flatten().min()
    }

    /// The application has more for the other.
    pub fn write(&mut self, now: u64, octets: u64) {
        self.queued = self.queued.saturating_add(octets);
        self.push(now);
    }

    /// The application writes no more than what is in the send buffer.
    pub fn close(&mut self) {
        self.queued = self.writable().max(self.highest);
    }

    fn writable(&self) -> u64 {
        self.queued.min(self.unacknowledged.saturating_add(self.tcp.send_buffer_octets.unwrap_or(u64::MAX)))
    }

    /// Do what is due.
    pub fn wake(&mut self, now: u64) {
        while let Some(&(at, upto)) = self.reading.front() {
            if at > now {
                break;
            }
            self.reading.pop_front();
            self.taken = upto;
            self.widen(now);
        }
        if self.acknowledge_at.is_some_and(|at| at <= now) {
            self.acknowledge(now);
        }
        if self.retransmit_at.is_some_and(|at| at <= now) {
            self.time_out(now);
        }
    }

    /// A segment comes. Whether it brings something new.
    pub fn receive(&mut self, now: u64, segment: &Segment) -> bool {
        let edge = self.edge;
        self.edge = edge.max(segment.edge);
        if std::mem::take(&mut self.probing) && segment.acknowledges <= self.unacknowledged {
            // There was no room for what asked.
            (self.next, self.highest) = (self.unacknowledged, self.unacknowledged);
            (self.timed, self.retransmit_at) = (None, None);
        }
        if segment.acknowledges > self.unacknowledged {
            self.advance(now, segment.acknowledges);
        } else if segment.acknowledges == self.unacknowledged
            && self.unacknowledged < self.highest
            && segment.octets == 0
            && segment.edge == edge
        {
            self.duplicate(now);
        }
        let is_new = segment.octets > 0 && self.take(now, segment);
        self.push(now);
        if self.must_acknowledge {
            self.acknowledge(now);
        }
        is_new
    }

    // Sending

    fn counted(&self, now: u64) -> u64 {
        u64::from(self.measured.0 <= now && now < self.measured.1)
    }

    /// Send what may be sent.
    fn push(&mut self, now: u64) {
        if self.unacknowledged == self.highest && now - self.last_sent > self.timeout && self.congestion > self.initial
        {
            // RFC 5681 § 4.1: after a pause nobody knows what the network can take at once.
            self.set_congestion(now, self.initial);
        }
        loop {
            let waiting = self.writable().saturating_sub(self.next);
            let room = self.edge.min(self.unacknowledged + self.congestion).saturating_sub(self.next);
            let octets = waiting.min(room).min(self.most);
            if octets == 0 || !self.is_worth_sending(octets) {
                break;
            }
            self.transmit(now, self.next, octets);
            self.next += octets;
        }
        if self.retransmit_at.is_none() && (self.outstanding() > 0 || self.writable() > self.next) {
            // With nothing under way it asks whether the window has opened.
            self.retransmit_at = Some(now + self.timeout);
        }
    }

    /// RFC 1122 § 4.2.3.4, with Nagle's rule (RFC 896) or without.
    fn is_worth_sending(&self, octets: u64) -> bool {
        let is_last = self.next + octets == self.queued;
        let is_quiet = self.next == self.unacknowledged;
        octets == self.most
            || self.next < self.highest
            || (is_last && (is_quiet || !self.tcp.nagle))
            || 2 * octets >= self.tcp.window_octets
    }

    fn transmit(&mut self, now: u64, from: u64, octets: u64) {
        let counted = self.counted(now);
        self.counts.segments += counted;
        if self.outstanding() == 0 {
            self.retransmit_at = Some(now + self.timeout);
        }
        if from < self.highest {
            self.counts.retransmitted += counted;
        } else if self.timed.is_none() {
            self.timed = Some((from + octets, now));
        }
        self.highest = self.highest.max(from + octets);
        self.last_sent = now;
        self.put_out(from, octets);
    }

    fn put_out(&mut self, from: u64, octets: u64) {
        let open = self.taken + self.tcp.window_octets;
        // RFC 1122 § 4.2.3.3: the window opens by a segment or half of it, or not at all.
        if open - self.promised >= self.most.min(self.tcp.window_octets / 2) {
            self.promised = open;
        }
        self.out.push_back(Segment { from, octets, acknowledges: self.received, edge: self.promised });
        (self.segments, self.must_acknowledge, self.acknowledge_at) = (0, false, None);
    }

    fn set_congestion(&mut self, now: u64, octets: u64) {
        self.congestion = octets;
        self.windows.note(now, octets);
    }

    fn outstanding(&self) -> u64 {
        self.highest - self.unacknowledged
    }

    /// Send the first segment again that was not acknowledged.
    fn retransmit(&mut self, now: u64) {
        self.timed = None; // Karn: whose acknowledgement comes is not known
        let octets = self.outstanding().min(self.most);
        self.transmit(now, self.unacknowledged, octets);
        self.next = self.next.max(self.unacknowledged + octets);
    }

    /// More was acknowledged.
    fn advance(&mut self, now: u64, upto: u64) {
        let more = upto - self.unacknowledged;
        self.unacknowledged = upto;
        self.next = self.next.max(upto);
        self.highest = self.highest.max(upto);
        if let Some((end, sent)) = self.timed {
            if upto >= end {
                self.timed = None;
                self.measure(now - sent);
            }
        }
        self.duplicates = 0;
        let is_mending = self.mending != Mending::Nothing;
        if is_mending && self.recover.is_some_and(|recover| upto < recover) && self.tcp.recovery == Recovery::NewReno {
            // A partial acknowledgement (RFC 6582 § 3.2, step 3): the next segment was lost as well.
            self.retransmit(now);
            let deflated = self.congestion.saturating_sub(more) + if more >= self.most { self.most } else { 0 };
            self.set_congestion(now, deflated.max(self.most));
            if std::mem::replace(&mut self.mending, Mending::Others) == Mending::First {
                self.retransmit_at = Some(now + self.timeout);
            }
            return;
        }
        if is_mending {
            self.mending = Mending::Nothing;
            let left = match self.tcp.recovery {
                Recovery::Reno => self.threshold,
                Recovery::NewReno => self.threshold.min(self.outstanding().max(self.most) + self.most),
            };
            self.set_congestion(now, left);
        } else if self.congestion < self.tcp.window_octets {
            // Beyond the receiver's window it would change nothing.
            let growth = if self.congestion < self.threshold {
                more.min(self.most)
            } else {
                (self.most * self.most / self.congestion).max(1)
            };
            self.set_congestion(now, self.congestion + growth);
        }
        self.retransmit_at = (self.outstanding() > 0).then(|| now + self.timeout);
    }

    fn duplicate(&mut self, now: u64) {
        self.duplicates += 1;
        if self.mending != Mending::Nothing {
            self.set_congestion(now, self.congestion + self.most);
        } else if self.duplicates == DUPLICATES && self.recover.is_none_or(|recover| self.unacknowledged > recover) {
            self.threshold = (self.outstanding() / 2).max(2 * self.most);
            self.recover = Some(self.highest);
            self.mending = Mending::First;
            self.counts.fast_retransmissions += self.counted(now);
            self.retransmit(now);
            self.set_congestion(now, self.threshold + u64::from(DUPLICATES) * self.most);
            self.retransmit_at = Some(now + self.timeout);
        }
    }

    /// A round trip was measured (RFC 6298 § 2).
    fn measure(&mut self, ps: u64) {
        let (smooth, varies) = match self.round_trip {
            None => (ps, ps / 2),
            Some((smooth, varies)) => ((7 * smooth + ps) / 8, (3 * varies + smooth.abs_diff(ps)) / 4),
        };
        self.round_trip = Some((smooth, varies));
        self.timeout =
            (smooth + 4 * varies).max(self.tcp.least_timeout_ps).min(LONGEST_TIMEOUT_PS.max(self.tcp.least_timeout_ps));
    }

    fn time_out(&mut self, now: u64) {
        self.retransmit_at = None;
        let was = self.timeout;
        self.timeout = (2 * was).min(LONGEST_TIMEOUT_PS).max(was);
        if self.probing || self.outstanding() == 0 {
            return self.probe(now);
        }
        self.counts.timeouts += self.counted(now);
        if self.halved_for != Some(self.unacknowledged) {
            self.threshold = (self.outstanding() / 2).max(2 * self.most);
            self.halved_for = Some(self.unacknowledged);
        }
        self.recover = Some(self.highest);
        (self.mending, self.duplicates, self.timed) = (Mending::Nothing, 0, None);
        self.next = self.unacknowledged;
        self.set_congestion(now, self.most);
        self.push(now);
    }

    /// The window is shut, or nearly: ask whether it still is (RFC 1122 § 4.2.2.17).
    fn probe(&mut self, now: u64) {
        let room = self.edge.saturating_sub(self.unacknowledged).max(1);
        let octets = room.min(self.writable() - self.unacknowledged).min(self.most);
        self.probing = true;
        self.transmit(now, self.unacknowledged, octets);
        self.next = self.unacknowledged + octets;
        self.retransmit_at = Some(now + self.timeout);
    }

    // Receiving

    /// Take data in. Whether any of them are new.
    fn take(&mut self, now: u64, segment: &Segment) -> bool {
        let (from, end) = (segment.from, segment.from + segment.octets);
        if end <= self.received || end > self.promised {
            self.must_acknowledge = true; // it came before, or there is no room for it
            return false;
        }
        if from > self.received {
            self.must_acknowledge = true;
            return insert(&mut self.pieces, from, end);
        }
        self.received = end;
        let had_gap = !self.pieces.is_empty();
        while let Some((from, end)) = self.pieces.first_key_value().map(|(from, end)| (*from, *end)) {
            if from > self.received {
                break;
            }
            self.received = self.received.max(end);
            self.pieces.remove(&from);
        }
        self.segments += 1;
        // RFC 5681 § 4.2: at once what fills a gap.
        if had_gap || self.segments >= self.tcp.acknowledge.segments {
            self.must_acknowledge = true;
        } else if self.acknowledge_at.is_none() {
            self.acknowledge_at = Some(now + self.tcp.acknowledge.ps);
        }
        let before = self.reading.back().map_or(self.taken, |(_, upto)| *upto);
        self.reads_until = self.reads_until.max(now) + (self.received - before) * self.tcp.read_ps_per_octet;
        if self.reads_until == now {
            self.taken = self.received;
        } else {
            self.reading.push_back((self.reads_until, self.received));
        }
        true
    }

    fn acknowledge(&mut self, now: u64) {
        self.counts.acknowledgements += self.counted(now);
        self.put_out(self.highest, 0);
    }

    /// The application has read: say so if the window opens by two segments or half of it, as in 4.4BSD.
    fn widen(&mut self, now: u64) {
        let opened = self.taken + self.tcp.window_octets - self.promised;
        if opened >= (2 * self.most).min(self.tcp.window_octets.div_ceil(2)) {
            self.acknowledge(now);
        }
    }
}

/// Put in a piece that may overlap others. Whether any of it is new.
fn insert(pieces: &mut BTreeMap<u64, u64>, mut from: u64, mut end: u64) -> bool {
    if let Some((_, before)) = pieces.range(..=from).next_back() {
        if *before >= end {
            return false;
        }
    }
    let touching: Vec<(u64, u64)> = pieces.range(..=end).filter(|(_, e)| **e >= from).map(|(f, e)| (*f, *e)).collect();
    for (other, until) in touching {
        pieces.remove(&other);
        (from, end) = (from.min(other), end.max(until));
    }
    pieces.insert(from, end);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_touch_are_one() {
        let mut pieces = BTreeMap::new();
        assert!(insert(&mut pieces, 10, 20));
        assert!(insert(&mut pieces, 30, 40));
        assert!(!insert(&mut pieces, 12, 20));
        assert!(insert(&mut pieces, 20, 30));
        assert_eq!(pieces.into_iter().collect::<Vec<_>>(), [(10, 40)]);
    }

    #[test]
    fn windows_are_kept_to_a_bound_and_in_the_order_of_time() {
        let mut windows = Windows::default();
        for at in 0..100_000 {
            windows.note(at, at);
        }
        let points = windows.finish();
        assert!(points.len() < MOST_POINTS && points.len() > MOST_POINTS / 4, "{}", points.len());
        assert!(points.is_sorted() && points[0].0 == 0 && points[points.len() - 1].1 == 99_999);
    }
}
