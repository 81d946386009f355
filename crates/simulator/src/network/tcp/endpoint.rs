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

mod receiver;
mod recovery;
mod sender;

use super::congestion_window::Window;
use super::retransmission_timer::RetransmissionTimer;
use super::scoreboard::{Blocks, Scoreboard};
use super::windows::Windows;
use crate::time::Instant;
use ethermeter_ethernet::units::Octets;
use ethermeter_trial::transfer::Tcp;
use std::collections::VecDeque;

/// A segment, as it goes in one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpSegment {
    /// Number of its first octet.
    pub from: Octets,
    pub octets: Octets,
    /// All before this arrived.
    pub acknowledges: Octets,
    /// Of TCP: octets before this may be sent. Of IPX: the message of these octets ends here.
    pub edge: Octets,
    /// What arrived beyond a gap, the latest first.
    pub blocks: Blocks,
}

impl TcpSegment {
    /// Octets of the option for its blocks: two to pad, kind and length, and eight a block (RFC
    /// 2018 § 3).
    pub fn block_octets(&self) -> Octets {
        Octets(match self.blocks.iter().filter(|(from, end)| from < end).count() as u64 {
            0 => 0,
            blocks => 4 + 8 * blocks,
        })
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
    flight: Octets,
    delivered: Octets,
    out: Octets,
}

/// How far the congestion window is used (RFC 7661, as Linux has it).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    is_limit: bool,
    most_flight: Octets,
    until: Octets,
}

/// One end of a connection.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is due or not by itself")]
pub(super) struct Endpoint {
    tcp: Tcp,
    measured: (Instant, Instant),
    /// Most data in a segment.
    most: Octets,
    pub counts: Sent,
    pub windows: Windows,
    /// Segments to go out.
    pub out: VecDeque<TcpSegment>,

    // Sending
    /// Octets that the application has for the other.
    queued: Octets,
    unacknowledged: Octets,
    next: Octets,
    edge: Octets,
    board: Scoreboard,
    window: Window,
    usage: Usage,
    state: State,
    reduction: Reduction,
    /// What recovery, or loss, has to reach to be over; duplicates of what was sent before say
    /// nothing of later losses (RFC 6582 § 4.1).
    recover: Option<Octets>,
    /// Without selective acknowledgements: duplicates since the last acknowledgement of new data,
    /// and the octets that they stand for.
    duplicates: u32,
    duplicate_octets: Octets,
    /// The first lost segment goes out whatever the window.
    is_urgent: bool,
    /// Whether new data were acknowledged since the last timeout.
    has_advanced: bool,
    timer: RetransmissionTimer,
    /// An octet is under way that asks whether the window is still shut.
    probing: bool,
    last_sent: Instant,

    // Receiving
    received: Octets,
    /// Beyond a gap: begin and end, in order, with gaps between.
    blocks: Vec<(Octets, Octets)>,
    /// Of these, the latest that arrived or grew first.
    recent: [(Octets, Octets); 3],
    taken: Octets,
    /// When the application has read up to where.
    reading: VecDeque<(Instant, Octets)>,
    reads_until: Instant,
    promised: Octets,
    segments: u32,
    /// Segments that will be acknowledged at once.
    quick: u32,
    must_acknowledge: bool,
    acknowledge_at: Option<Instant>,
}

impl Endpoint {
    pub fn new(tcp: Tcp, measured: (Instant, Instant)) -> Self {
        let most = Octets(tcp.segment_octets());
        let window = Window::new(&tcp, most);
        let mut windows = Windows::default();
        windows.note(Instant::ZERO, window.octets);
        Self {
            tcp,
            measured,
            most,
            counts: Sent::default(),
            windows,
            out: VecDeque::new(),
            queued: Octets::ZERO,
            unacknowledged: Octets::ZERO,
            next: Octets::ZERO,
            edge: Octets(tcp.window_octets),
            board: Scoreboard::default(),
            window,
            usage: Usage::default(),
            state: State::Open,
            reduction: Reduction::default(),
            recover: None,
            duplicates: 0,
            duplicate_octets: Octets::ZERO,
            is_urgent: false,
            has_advanced: true,
            timer: RetransmissionTimer::new(&tcp),
            probing: false,
            last_sent: Instant::ZERO,
            received: Octets::ZERO,
            blocks: Vec::new(),
            recent: [(Octets::ZERO, Octets::ZERO); 3],
            taken: Octets::ZERO,
            reading: VecDeque::new(),
            reads_until: Instant::ZERO,
            promised: Octets(tcp.window_octets),
            segments: 0,
            quick: tcp.acknowledge.quick,
            must_acknowledge: false,
            acknowledge_at: None,
        }
    }

    /// Octets that the application has read.
    pub fn taken(&self) -> Octets {
        self.taken
    }

    /// When it next has something to do by itself.
    pub fn wakes(&self) -> Option<Instant> {
        let read = self.reading.front().map(|(at, _)| *at);
        [self.timer.expires, self.acknowledge_at, read].into_iter().flatten().min()
    }

    /// The application has more for the other.
    pub fn write(&mut self, now: Instant, octets: Octets) {
        self.queued = self.queued.saturating_add(octets);
        self.push(now);
    }

    /// The application writes no more than what is in the send buffer.
    pub fn close(&mut self) {
        self.queued = self.writable().max(self.next);
    }

    fn writable(&self) -> Octets {
        let room = Octets(self.tcp.send_buffer_octets.unwrap_or(u64::MAX));
        self.queued.min(self.unacknowledged.saturating_add(room))
    }

    /// Do what is due.
    pub fn wake(&mut self, now: Instant) {
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
        if self.timer.expires.is_some_and(|at| at <= now) {
            self.time_out(now);
        }
    }

    /// A segment comes. Whether it brings something new.
    pub fn receive(&mut self, now: Instant, segment: &TcpSegment) -> bool {
        let edge = self.edge;
        self.edge = edge.max(segment.edge);
        if std::mem::take(&mut self.probing) && segment.acknowledges <= self.unacknowledged {
            // There was no room for what asked.
            self.next = self.unacknowledged;
            self.board.clear(self.next);
            self.timer.stop();
        }
        if self.next > self.unacknowledged || segment.acknowledges > self.unacknowledged {
            let is_duplicate = segment.acknowledges == self.unacknowledged
                && segment.octets == Octets::ZERO
                && segment.edge == edge;
            self.hear(now, segment, is_duplicate);
        }
        let is_new = segment.octets > Octets::ZERO && self.take(now, segment);
        if self.tcp.sack && self.must_acknowledge && !self.blocks.is_empty() {
            self.acknowledge(now); // data would not tell what arrived
        }
        self.push(now);
        if self.must_acknowledge {
            self.acknowledge(now);
        }
        is_new
    }

    /// Room for what arrives.
    fn window_octets(&self) -> Octets {
        Octets(self.tcp.window_octets)
    }

    fn counted(&self, now: Instant) -> u64 {
        u64::from(self.measured.0 <= now && now < self.measured.1)
    }

    fn put_out(&mut self, from: Octets, octets: Octets) {
        let open = self.taken + self.window_octets();
        // RFC 1122 § 4.2.3.3: the window opens by a segment or half of it, or not at all.
        if open - self.promised >= self.most.min(self.window_octets().half()) {
            self.promised = open;
        }
        let blocks = if octets == Octets::ZERO { self.blocks() } else { Blocks::default() };
        self.out.push_back(TcpSegment {
            from,
            octets,
            acknowledges: self.received,
            edge: self.promised,
            blocks,
        });
        (self.segments, self.must_acknowledge, self.acknowledge_at) = (0, false, None);
    }
}

#[allow(clippy::cast_possible_truncation)] // octets of tests are few
#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;
    use ethermeter_traffic::{Purpose, Stream};
    use proptest::prelude::*;

    /// Two ends, and a path between them that takes 10 us and loses segments by chance.
    struct Path {
        ends: [Endpoint; 2],
        under_way: VecDeque<(Instant, usize, TcpSegment)>,
        chance: Stream,
        /// Of 256.
        losses: u64,
        /// What arrived at each end: as many octets from the first on, and what is beyond a gap.
        came: [Vec<bool>; 2],
    }

    impl Path {
        const DELAY: Span = Span::from_ps(10_000_000);

        fn send(&mut self, now: Instant) {
            for from in 0..2 {
                while let Some(segment) = self.ends[from].out.pop_front() {
                    let end = &self.ends[from];
                    assert!(
                        segment.from + segment.octets <= end.queued && segment.octets <= end.most
                    );
                    assert!(end.board.gone() <= end.outstanding());
                    for (begin, end) in segment.blocks {
                        let blocks = segment.acknowledges.0 + u64::from(begin)
                            ..segment.acknowledges.0 + u64::from(end);
                        assert!(
                            blocks.clone().all(|octet| self.came[from][octet as usize]),
                            "{blocks:?} did not come"
                        );
                    }
                    if self.chance.below(256) >= self.losses {
                        self.under_way.push_back((now + Self::DELAY, 1 - from, segment));
                    }
                }
            }
        }

        fn receive(&mut self, now: Instant, to: usize, segment: &TcpSegment) {
            let is_new = self.ends[to].receive(now, segment);
            let octets = segment.from.0 as usize..(segment.from + segment.octets).0 as usize;
            let was_there = self.came[to][octets.clone()].iter().all(|&came| came);
            assert!(!is_new || !was_there, "new although it was there");
            if is_new {
                self.came[to][octets].fill(true);
            }
            let whole = self.came[to].iter().take_while(|&&came| came).count();
            assert_eq!(self.ends[to].received.0, whole as u64, "what came without a gap");
        }

        /// Until nothing more happens.
        fn run(&mut self) {
            let mut now = Instant::ZERO;
            loop {
                self.send(now);
                let wakes = self.ends.iter().filter_map(Endpoint::wakes).min();
                let comes = self.under_way.front().map(|first| first.0);
                let Some(next) = wakes.into_iter().chain(comes).min() else { return };
                assert!(next >= now && next.ps() < 3_600_000_000_000_000, "an hour is too long");
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
                "congestion": if cubic { "cubic" } else { "reno" }, "sack": sack, "recovery": if new_reno { "new-reno" } else { "reno" }, "prr": prr,
                "limited_transmit": limited, "byte_counting": counting, "hystart": hystart, "nagle": nagle, "read_ps_per_octet": read,
                "least_timeout_ps": 100_000_000, "timeout_margin_ps": 50_000_000, "first_timeout_ps": 100_000_000,
                "acknowledge": {"segments": 2, "ps": 50_000_000, "quick": initial},
            })).expect("keys of tcp");
            let ends = [0, 1].map(|_| Endpoint::new(tcp, (Instant::ZERO, Instant::NEVER)));
            let came = [1, 0].map(|from: usize| vec![false; octets[from] as usize]);
            let mut path = Path { ends, under_way: VecDeque::new(), chance: Stream::new(seed, 0, Purpose::Loss), losses, came };
            for (end, &octets) in path.ends.iter_mut().zip(&octets) {
                end.write(Instant::ZERO, Octets(octets));
            }
            path.run();
            for (end, &octets) in path.ends.iter().zip(&octets) {
                prop_assert_eq!((end.unacknowledged.0, end.next.0, end.board.gone().0, end.queued.0), (octets, octets, 0, octets));
            }
            prop_assert_eq!((path.ends[0].taken.0, path.ends[1].taken.0), (octets[1], octets[0]));
            if losses == 0 {
                let counts = path.ends.each_ref().map(|end| (end.counts.timeouts, end.counts.fast_retransmissions));
                prop_assert!(sack || counts.iter().all(|counts| counts.1 == 0), "{:?}", counts);
            }
        }
    }
}
