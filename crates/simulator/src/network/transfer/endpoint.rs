//! One end of a connection of TCP: what it sends, and what it does with what comes.
//!
//! Fast retransmission and recovery after RFC 5681 and 6582, or with selective acknowledgements
//! after RFC 2018 and 6675; proportional rate reduction (RFC 6937), limited transmit (RFC 3042),
//! the retransmission timer after RFC 6298, delayed acknowledgements and silly windows after RFC
//! 1122 § 4.2.3. Where these leave a choice it is Linux's: the timer begins anew with each
//! acknowledgement of new data, during recovery too. A connection stands from the beginning and
//! never ends; octets are numbered from 0. Left out: tail loss probes and reordering (RFC 8985),
//! undoing of reductions (RFC 3522, 5682), data that acknowledge selectively (only segments without
//! data do).
//!
//! ```text
//!                 three duplicates, or as much selectively acknowledged
//!   ┌──► Open ───────────────────────────────────────────────────────► Recovery
//!   │     │ timer                                                timer │    │
//!   │     └───────────────────────► Loss ◄─────────────────────────────┘    │
//!   └──── all is acknowledged that had been sent by then ◄──────────────────┘
//! ```

mod receiving;
mod recovery;

use super::congestion::Window;
use super::scoreboard::{Blocks, Scoreboard};
use super::windows::Windows;
use ethermeter_trial::transfer::Tcp;
use std::collections::VecDeque;

/// A segment, as it goes in one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Number of its first octet.
    pub from: u64,
    pub octets: u64,
    /// All before this arrived.
    pub acknowledges: u64,
    /// Octets before this may be sent.
    pub edge: u64,
    /// What arrived beyond a gap, the latest first.
    pub blocks: Blocks,
}

impl Segment {
    /// Octets of the option for its blocks: two to pad, kind and length, and eight a block (RFC
    /// 2018 § 3).
    pub fn block_octets(&self) -> u64 {
        match self.blocks.iter().filter(|(from, end)| from < end).count() as u64 {
            0 => 0,
            blocks => 4 + 8 * blocks,
        }
    }
}

/// What an end did within the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub segments: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub fast_retransmissions: u64,
    pub acknowledgements: u64,
}

/// Longest timeout, RFC 6298 § 2.5.
const LONGEST_TIMEOUT_PS: u64 = 60_000_000_000_000;
/// What the sender is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// A loss is repaired that acknowledgements told of.
    Recovery,
    /// The retransmission timer expired, and not all is acknowledged that had been sent by then.
    Loss,
}

/// Proportional rate reduction (RFC 6937 § 3), in octets.
#[derive(Clone, Copy, Debug, Default)]
struct Reduction {
    /// Under way when recovery began.
    flight: u64,
    delivered: u64,
    out: u64,
}

/// How far the congestion window is used (RFC 7661, as Linux has it).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    is_limit: bool,
    most_flight: u64,
    until: u64,
}

/// One end of a connection.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is due or not by itself")]
pub(super) struct Endpoint {
    tcp: Tcp,
    measured: (u64, u64),
    /// Most data in a segment.
    most: u64,
    pub counts: Sent,
    pub windows: Windows,
    /// Segments to go out.
    pub out: VecDeque<Segment>,

    // Sending
    /// Octets that the application has for the other.
    queued: u64,
    unacknowledged: u64,
    next: u64,
    edge: u64,
    board: Scoreboard,
    window: Window,
    usage: Usage,
    state: State,
    reduction: Reduction,
    /// What recovery, or loss, has to reach to be over; duplicates of what was sent before say
    /// nothing of later losses (RFC 6582 § 4.1).
    recover: Option<u64>,
    /// Without selective acknowledgements: duplicates since the last acknowledgement of new data,
    /// and the octets that they stand for.
    duplicates: u32,
    duplicate_octets: u64,
    /// The first lost segment goes out whatever the window.
    is_urgent: bool,
    /// Whether new data were acknowledged since the last timeout.
    has_advanced: bool,
    round_trip: Option<(u64, u64)>,
    timeout: u64,
    retransmit_at: Option<u64>,
    /// An octet is under way that asks whether the window is still shut.
    probing: bool,
    last_sent: u64,

    // Receiving
    received: u64,
    /// Beyond a gap: begin and end, in order, with gaps between.
    pieces: Vec<(u64, u64)>,
    /// Of these, the latest that arrived or grew first.
    recent: [(u64, u64); 3],
    taken: u64,
    /// When the application has read up to where.
    reading: VecDeque<(u64, u64)>,
    reads_until: u64,
    promised: u64,
    segments: u32,
    /// Segments that will be acknowledged at once.
    quick: u32,
    must_acknowledge: bool,
    acknowledge_at: Option<u64>,
}

impl Endpoint {
    pub fn new(tcp: Tcp, measured: (u64, u64)) -> Self {
        let most = tcp.segment_octets();
        let window = Window::new(&tcp, most);
        let mut windows = Windows::default();
        windows.note(0, window.octets);
        Self {
            tcp,
            measured,
            most,
            counts: Sent::default(),
            windows,
            out: VecDeque::new(),
            queued: 0,
            unacknowledged: 0,
            next: 0,
            edge: tcp.window_octets,
            board: Scoreboard::default(),
            window,
            usage: Usage::default(),
            state: State::Open,
            reduction: Reduction::default(),
            recover: None,
            duplicates: 0,
            duplicate_octets: 0,
            is_urgent: false,
            has_advanced: true,
            round_trip: None,
            timeout: tcp.first_timeout_ps,
            retransmit_at: None,
            probing: false,
            last_sent: 0,
            received: 0,
            pieces: Vec::new(),
            recent: [(0, 0); 3],
            taken: 0,
            reading: VecDeque::new(),
            reads_until: 0,
            promised: tcp.window_octets,
            segments: 0,
            quick: tcp.acknowledge.quick,
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
        self.queued = self.writable().max(self.next);
    }

    fn writable(&self) -> u64 {
        self.queued.min(
            self.unacknowledged.saturating_add(self.tcp.send_buffer_octets.unwrap_or(u64::MAX)),
        )
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
            self.next = self.unacknowledged;
            self.board.clear(self.next);
            self.retransmit_at = None;
        }
        if self.next > self.unacknowledged || segment.acknowledges > self.unacknowledged {
            let is_duplicate = segment.acknowledges == self.unacknowledged
                && segment.octets == 0
                && segment.edge == edge;
            self.hear(now, segment, is_duplicate);
        }
        let is_new = segment.octets > 0 && self.take(now, segment);
        if self.tcp.sack && self.must_acknowledge && !self.pieces.is_empty() {
            self.acknowledge(now); // data would not tell what arrived
        }
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

    /// Octets that were sent and not acknowledged.
    fn outstanding(&self) -> u64 {
        self.next - self.unacknowledged
    }

    /// Octets that are still in the network, as far as acknowledgements tell (RFC 6675 § 4,
    /// `pipe`).
    fn pipe(&self) -> u64 {
        let is_counted = self.state != State::Open || self.tcp.limited_transmit;
        let gone = if is_counted { self.board.gone() + self.duplicate_octets } else { 0 };
        self.outstanding().saturating_sub(gone)
    }

    /// Send what may be sent: what was lost, then what is new.
    fn push(&mut self, now: u64) {
        if self.outstanding() == 0 {
            self.resume(now);
        }
        let mut pipe = self.pipe();
        let mut has_sent = false;
        while let Some((from, octets)) = self.board.next_lost() {
            if pipe + octets > self.window.octets && !std::mem::take(&mut self.is_urgent) {
                break;
            }
            self.is_urgent = false;
            if from == self.unacknowledged {
                self.retransmit_at = Some(now + self.timeout);
            }
            self.counts.retransmitted += self.counted(now);
            self.board.repeat(now, self.tcp.sack);
            self.transmit(now, from, octets);
            pipe += octets;
            has_sent = true;
        }
        if !self.board.has_lost() {
            loop {
                let waiting = self.writable().saturating_sub(self.next);
                let room = self.window.octets.saturating_sub(pipe);
                let octets =
                    waiting.min(self.edge.saturating_sub(self.next)).min(room).min(self.most);
                if octets == 0 || !self.is_worth_sending(octets) {
                    break;
                }
                self.send_new(now, octets);
                pipe += octets;
                has_sent = true;
            }
        }
        let is_limit = pipe + self.most > self.window.octets;
        if has_sent || is_limit {
            self.note_usage(is_limit);
        }
        if self.retransmit_at.is_none() && (self.outstanding() > 0 || self.writable() > self.next) {
            // With nothing under way it asks whether the window has opened.
            self.retransmit_at = Some(now + self.timeout);
        }
    }

    /// Nothing was under way for a while.
    fn resume(&mut self, now: u64) {
        let initial = u64::from(self.tcp.initial_segments) * self.most;
        if now - self.last_sent > self.timeout && self.window.octets > initial {
            // RFC 5681 § 4.1: after a pause it is not known what the network can take at once.
            self.window.octets = initial;
            self.windows.note(now, initial);
        }
    }

    fn note_usage(&mut self, is_limit: bool) {
        let (usage, flight) = (&mut self.usage, self.next - self.unacknowledged);
        if is_limit
            || self.unacknowledged >= usage.until
            || (!usage.is_limit && flight > usage.most_flight)
        {
            *usage = Usage { is_limit, most_flight: flight, until: self.next };
        }
    }

    /// RFC 1122 § 4.2.3.4, with Nagle's rule (RFC 896) or without.
    fn is_worth_sending(&self, octets: u64) -> bool {
        let is_last = self.next + octets == self.queued;
        let is_quiet = self.next == self.unacknowledged;
        octets == self.most
            || (is_last && (is_quiet || !self.tcp.nagle))
            || 2 * octets >= self.tcp.window_octets
    }

    fn send_new(&mut self, now: u64, octets: u64) {
        if self.outstanding() == 0 {
            self.retransmit_at = Some(now + self.timeout);
            self.window.rest(now - self.last_sent);
        }
        self.board.send(self.next + octets, now);
        self.transmit(now, self.next, octets);
        self.next += octets;
    }

    fn transmit(&mut self, now: u64, from: u64, octets: u64) {
        self.counts.segments += self.counted(now);
        self.reduction.out += octets;
        self.last_sent = now;
        if self.received > 0 {
            self.quick = 0; // who answers acknowledges with its answers
        }
        self.put_out(from, octets);
    }

    fn put_out(&mut self, from: u64, octets: u64) {
        let open = self.taken + self.tcp.window_octets;
        // RFC 1122 § 4.2.3.3: the window opens by a segment or half of it, or not at all.
        if open - self.promised >= self.most.min(self.tcp.window_octets / 2) {
            self.promised = open;
        }
        let blocks = if octets == 0 { self.blocks() } else { Blocks::default() };
        self.out.push_back(Segment {
            from,
            octets,
            acknowledges: self.received,
            edge: self.promised,
            blocks,
        });
        (self.segments, self.must_acknowledge, self.acknowledge_at) = (0, false, None);
    }

    /// The window is shut, or nearly: ask whether it still is (RFC 1122 § 4.2.2.17).
    fn probe(&mut self, now: u64) {
        let room = self.edge.saturating_sub(self.unacknowledged).max(1);
        let octets = room.min(self.writable() - self.unacknowledged).min(self.most);
        if octets == 0 {
            return;
        }
        if self.outstanding() > 0 {
            self.counts.retransmitted += self.counted(now);
        }
        self.probing = true;
        self.next = self.unacknowledged;
        self.board.clear(self.next);
        self.send_new(now, octets);
    }
}

#[allow(clippy::cast_possible_truncation)] // octets of tests are few
#[cfg(test)]
mod tests {
    use super::*;
    use ethermeter_traffic::{Purpose, Stream};
    use proptest::prelude::*;

    /// Two ends, and a path between them that takes 10 us and loses segments by chance.
    struct Path {
        ends: [Endpoint; 2],
        under_way: VecDeque<(u64, usize, Segment)>,
        chance: Stream,
        /// Of 256.
        losses: u64,
        /// What arrived at each end: as many octets from the first on, and what is beyond a gap.
        came: [Vec<bool>; 2],
    }

    impl Path {
        const DELAY_PS: u64 = 10_000_000;

        fn send(&mut self, now: u64) {
            for from in 0..2 {
                while let Some(segment) = self.ends[from].out.pop_front() {
                    let end = &self.ends[from];
                    assert!(
                        segment.from + segment.octets <= end.queued && segment.octets <= end.most
                    );
                    assert!(end.board.gone() <= end.outstanding());
                    for (begin, end) in segment.blocks {
                        let blocks = segment.acknowledges + u64::from(begin)
                            ..segment.acknowledges + u64::from(end);
                        assert!(
                            blocks.clone().all(|octet| self.came[from][octet as usize]),
                            "{blocks:?} did not come"
                        );
                    }
                    if self.chance.below(256) >= self.losses {
                        self.under_way.push_back((now + Self::DELAY_PS, 1 - from, segment));
                    }
                }
            }
        }

        fn receive(&mut self, now: u64, to: usize, segment: &Segment) {
            let is_new = self.ends[to].receive(now, segment);
            let octets = segment.from as usize..(segment.from + segment.octets) as usize;
            let was_there = self.came[to][octets.clone()].iter().all(|&came| came);
            assert!(!is_new || !was_there, "new although it was there");
            if is_new {
                self.came[to][octets].fill(true);
            }
            let whole = self.came[to].iter().take_while(|&&came| came).count();
            assert_eq!(self.ends[to].received, whole as u64, "what came without a gap");
        }

        /// Until nothing more happens.
        fn run(&mut self) -> u64 {
            let mut now = 0;
            loop {
                self.send(now);
                let wakes = self.ends.iter().filter_map(Endpoint::wakes).min();
                let comes = self.under_way.front().map(|first| first.0);
                let Some(next) = wakes.into_iter().chain(comes).min() else { return now };
                assert!(next >= now && next < 3_600_000_000_000_000, "an hour is too long");
                now = next;
                if comes == Some(now) {
                    let (_, to, segment) = self.under_way.pop_front().expect("the first");
                    self.receive(now, to, &segment);
                } else {
                    self.ends.iter_mut().for_each(|end| end.wake(now));
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn every_octet_comes_once_and_in_order_whatever_is_lost(
            seed: u64,
            losses in 0u64..100,
            octets in proptest::collection::vec(0u64..40_000, 2),
            (cubic, sack, new_reno, prr) in any::<(bool, bool, bool, bool)>(),
            (limited, counting, hystart, nagle) in any::<(bool, bool, bool, bool)>(),
            (window, buffer, read, initial) in (1_000u64..40_000, proptest::option::of(1_000u64..20_000), 0u64..2000, 1u32..12),
        ) {
            let tcp: Tcp = serde_json::from_value(serde_json::json!({
                "mtu_octets": 540, "window_octets": window, "send_buffer_octets": buffer, "initial_segments": initial,
                "congestion": if cubic { "cubic" } else { "reno" }, "sack": sack, "recovery": if new_reno { "new_reno" } else { "reno" }, "prr": prr,
                "limited_transmit": limited, "byte_counting": counting, "hystart": hystart, "nagle": nagle, "read_ps_per_octet": read,
                "least_timeout_ps": 100_000_000, "timeout_margin_ps": 50_000_000, "first_timeout_ps": 100_000_000,
                "acknowledge": {"segments": 2, "ps": 50_000_000, "quick": initial},
            })).expect("keys of tcp");
            let ends = [0, 1].map(|_| Endpoint::new(tcp, (0, u64::MAX)));
            let came = [1, 0].map(|from: usize| vec![false; octets[from] as usize]);
            let mut path = Path { ends, under_way: VecDeque::new(), chance: Stream::new(seed, 0, Purpose::Loss), losses, came };
            for (end, &octets) in path.ends.iter_mut().zip(&octets) {
                end.write(0, octets);
            }
            path.run();
            for (end, &octets) in path.ends.iter().zip(&octets) {
                prop_assert_eq!((end.unacknowledged, end.next, end.board.gone(), end.queued), (octets, octets, 0, octets));
            }
            prop_assert_eq!((path.ends[0].taken, path.ends[1].taken), (octets[1], octets[0]));
            if losses == 0 {
                let counts = path.ends.each_ref().map(|end| (end.counts.timeouts, end.counts.fast_retransmissions));
                prop_assert!(sack || counts.iter().all(|counts| counts.1 == 0), "{:?}", counts);
            }
        }
    }

    /// RFC 6298 § 2: first `RTO = R + 4 R/2`; then `RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|`, `SRTT =
    /// 7/8 SRTT + 1/8 R'`, and `RTO = SRTT + 4 RTTVAR`.
    #[test]
    fn a_timeout_is_a_smooth_round_trip_and_four_deviations() {
        const MS: u64 = 1_000_000_000;
        let tcp: Tcp = serde_json::from_value(serde_json::json!({
            "window_octets": 65_535, "least_timeout_ps": MS, "timeout_margin_ps": 0,
        }))
        .expect("keys of tcp");
        let mut end = Endpoint::new(tcp, (0, u64::MAX));
        end.measure(100 * MS);
        assert_eq!(end.timeout, 300 * MS);
        end.measure(180 * MS);
        assert_eq!(end.timeout, (110 + (3 * 50 + 80)) * MS);
    }
}
