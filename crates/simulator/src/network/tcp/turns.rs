//! One end of a connection of IPX whose ends take turns, as those of the `NetWare` Core Protocol do.
//!
//! ```text
//!  asks                                    answers
//!   ├─ burst of packets of a message ───────► the message goes on: an acknowledgement
//!   │◄──────────────────────────────────────┤ it is whole: the application's answer, in bursts
//!   ├─ acknowledgement, or next message ────►
//!   timer: the burst once more, or the acknowledgement
//! ```
//!
//! Only the end that asks has a timer; the other one repeats its last burst when something comes
//! that has come before. So each packet is repeated once for each repeated request.

use super::endpoint::{Sent, TcpSegment};
use super::scoreboard::Blocks;
use crate::time::{Instant, Span};
use ethermeter_ethernet::units::Octets;
use ethermeter_trial::transfer::{IPX_HEADER_OCTETS, Ipx};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Turns {
    measured: (Instant, Instant),
    /// Most data in a packet, and in a burst.
    most: Octets,
    burst: Octets,
    timeout: Span,
    /// Whether it is the end that asks.
    asks: bool,
    /// Whether messages are answered by messages; else the last burst is acknowledged, too.
    is_answered: bool,
    pub counts: Sent,
    /// Packets to go out.
    pub out: VecDeque<TcpSegment>,

    /// Where messages end that were written and are not acknowledged to their end.
    messages: VecDeque<Octets>,
    queued: Octets,
    unacknowledged: Octets,
    /// End of the last burst that went out.
    next: Octets,

    received: Octets,
    /// Where the message begins that comes.
    begun: Octets,
    /// Whether an answer is missing.
    awaits: bool,
    expires: Option<Instant>,
}

impl Turns {
    pub fn new(ipx: Ipx, measured: (Instant, Instant), asks: bool, is_answered: bool) -> Self {
        let most = Octets(ipx.mtu_octets - IPX_HEADER_OCTETS);
        Self {
            measured,
            most,
            burst: Octets(most.0 * u64::from(ipx.burst)),
            timeout: Span::from_ps(ipx.timeout_ps),
            asks,
            is_answered,
            counts: Sent::default(),
            out: VecDeque::new(),
            messages: VecDeque::new(),
            queued: Octets::ZERO,
            unacknowledged: Octets::ZERO,
            next: Octets::ZERO,
            received: Octets::ZERO,
            begun: Octets::ZERO,
            awaits: false,
            expires: None,
        }
    }

    /// Octets that the application has read: all that came in order.
    pub fn taken(&self) -> Octets {
        self.received
    }

    pub fn wakes(&self) -> Option<Instant> {
        self.expires
    }

    pub fn write(&mut self, now: Instant, octets: Octets) {
        self.queued = self.queued.saturating_add(octets);
        self.messages.push_back(self.queued);
        self.awaits = self.asks && self.is_answered;
        if !self.is_outstanding() {
            self.send_burst(now);
        }
    }

    /// The application writes no more than what is under way.
    pub fn close(&mut self) {
        self.queued = self.next;
        self.messages.retain(|end| *end <= self.next);
        if self.is_outstanding() && self.messages.is_empty() {
            self.messages.push_back(self.next);
        }
    }

    pub fn wake(&mut self, now: Instant) {
        if self.expires.take_if(|at| *at <= now).is_none() {
            return;
        }
        self.counts.timeouts += self.counted(now);
        self.repeat(now);
    }

    pub fn receive(&mut self, now: Instant, packet: &TcpSegment) -> bool {
        let was_outstanding = self.is_outstanding();
        let advances = was_outstanding && packet.acknowledges >= self.next;
        if advances {
            self.unacknowledged = self.next;
            if self.messages.front() == Some(&self.next) {
                self.messages.pop_front();
            }
            if !self.awaits {
                self.expires = None;
            }
        }
        let is_new = packet.octets > Octets::ZERO && packet.from == self.received;
        let came = packet.from + packet.octets;
        if is_new {
            self.received = came;
            if came == packet.edge {
                self.begun = came;
                (self.awaits, self.expires) = (false, None);
                if !self.is_answered {
                    self.acknowledge(now);
                }
            } else if (came - self.begun).0.is_multiple_of(self.burst.0) {
                self.acknowledge(now);
            }
        } else if !self.asks && !advances && self.ends_a_turn(packet) {
            self.repeat(now);
        }
        if advances && !self.messages.is_empty() {
            self.send_burst(now);
        }
        is_new
    }

    /// Whether the other end waits after a packet that has come before.
    fn ends_a_turn(&self, packet: &TcpSegment) -> bool {
        let came = packet.from + packet.octets;
        packet.octets == Octets::ZERO || came == self.received
    }

    fn is_outstanding(&self) -> bool {
        self.next > self.unacknowledged
    }

    fn counted(&self, now: Instant) -> u64 {
        u64::from(self.measured.0 <= now && now < self.measured.1)
    }

    /// The last turn once more: the burst that is not acknowledged, or the acknowledgement.
    fn repeat(&mut self, now: Instant) {
        if self.is_outstanding() {
            let before = self.counts.segments;
            self.send_burst(now);
            self.counts.retransmitted += self.counts.segments - before;
        } else {
            self.acknowledge(now);
        }
    }

    /// The burst that begins where nothing is acknowledged.
    fn send_burst(&mut self, now: Instant) {
        let Some(&message) = self.messages.front() else { return };
        let end = (self.unacknowledged + self.burst).min(message);
        let mut from = self.unacknowledged;
        while from < end {
            let octets = self.most.min(end - from);
            self.put_out(from, octets, message);
            self.counts.segments += self.counted(now);
            from += octets;
        }
        self.next = end;
        self.expires = self.asks.then(|| now + self.timeout);
    }

    fn acknowledge(&mut self, now: Instant) {
        self.put_out(self.next, Octets::ZERO, self.next);
        self.counts.acknowledgements += self.counted(now);
        self.expires = self.awaits.then(|| now + self.timeout);
    }

    fn put_out(&mut self, from: Octets, octets: Octets, edge: Octets) {
        let (acknowledges, blocks) = (self.received, Blocks::default());
        self.out.push_back(TcpSegment { from, octets, acknowledges, edge, blocks });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ethermeter_traffic::{Purpose, Stream};
    use proptest::prelude::*;

    const DELAY: Span = Span::from_ps(10_000_000);

    /// Two ends, what they exchange, and a path that takes 10 us and loses packets by chance.
    struct Path {
        ends: [Turns; 2],
        under_way: VecDeque<(Instant, usize, TcpSegment)>,
        chance: Stream,
        /// Of 256.
        losses: u64,
        packets: u64,
    }

    impl Path {
        fn new(ipx: Ipx, is_answered: bool, seed: u64, losses: u64) -> Self {
            let measured = (Instant::ZERO, Instant::NEVER);
            Self {
                ends: [true, false].map(|asks| Turns::new(ipx, measured, asks, is_answered)),
                under_way: VecDeque::new(),
                chance: Stream::new(seed, 0, Purpose::Loss),
                losses,
                packets: 0,
            }
        }

        /// Until nothing more happens, or the first end has read so much: when.
        fn run(
            &mut self,
            mut now: Instant,
            (asked, upto): (Octets, Octets),
            answer: u64,
        ) -> Instant {
            let mut is_answered = false;
            loop {
                if self.ends[1].taken() == asked
                    && answer > 0
                    && !std::mem::replace(&mut is_answered, true)
                {
                    self.ends[1].write(now, Octets(answer));
                }
                for from in 0..2 {
                    while let Some(packet) = self.ends[from].out.pop_front() {
                        assert!(packet.octets <= self.ends[from].most);
                        self.packets += 1;
                        if self.chance.below(256) >= self.losses {
                            self.under_way.push_back((now + DELAY, 1 - from, packet));
                        }
                    }
                }
                let wakes = self.ends[0].wakes();
                assert_eq!(self.ends[1].wakes(), None, "who answers has no timer");
                let comes = self.under_way.front().map(|first| first.0);
                let Some(next) = wakes.into_iter().chain(comes).min() else { return now };
                assert!(next >= now && next.ps() < 3_600_000_000_000_000, "an hour is too long");
                now = next;
                if comes == Some(now) {
                    let (_, to, packet) = self.under_way.pop_front().expect("the first");
                    self.ends[to].receive(now, &packet);
                } else {
                    self.ends[0].wake(now);
                }
                if answer > 0 && self.ends[0].taken() == upto {
                    return now;
                }
            }
        }
    }

    fn ipx(mtu_octets: u64, burst: u32) -> Ipx {
        Ipx { mtu_octets, burst, timeout_ps: 1_000_000_000 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn every_message_is_answered_whatever_is_lost(
            seed: u64,
            losses in 0u64..100,
            messages in proptest::collection::vec((1u64..5_000, 1u64..5_000), 1..8),
            burst in 1u32..5,
        ) {
            let mut path = Path::new(ipx(530, burst), true, seed, losses);
            let (mut now, mut asked, mut came) = (Instant::ZERO, Octets::ZERO, Octets::ZERO);
            for (request, answer) in messages {
                (asked, came) = (asked + Octets(request), came + Octets(answer));
                path.ends[0].write(now, Octets(request));
                now = path.run(now, (asked, came), answer);
                prop_assert_eq!((path.ends[0].taken(), path.ends[1].taken()), (came, asked));
            }
            let repeated = path.ends.each_ref().map(|end| end.counts.retransmitted);
            prop_assert!(losses > 0 || repeated == [0, 0]);
        }

        #[test]
        fn a_stream_comes_whole_whatever_is_lost(
            seed: u64, losses in 0u64..100, octets in 1u64..20_000, burst in 1u32..5,
        ) {
            let mut path = Path::new(ipx(530, burst), false, seed, losses);
            path.ends[0].write(Instant::ZERO, Octets(octets));
            path.run(Instant::ZERO, (Octets(octets), Octets::ZERO), 0);
            prop_assert_eq!(path.ends[1].taken(), Octets(octets));
            prop_assert!(!path.ends[0].is_outstanding());
        }
    }

    #[test]
    fn a_block_in_bursts_takes_a_turn_for_each() {
        // A request, and an answer of 4096 octets in packets of 1470: three. With bursts of one,
        // request and two acknowledgements go, and the answer's three packets come: six ways. In
        // one burst it is two ways, and no acknowledgement.
        let after = |burst| {
            let mut path = Path::new(ipx(1500, burst), true, 1, 0);
            path.ends[0].write(Instant::ZERO, Octets(64));
            let now = path.run(Instant::ZERO, (Octets(64), Octets(4096)), 4096);
            (now.ps() / DELAY.ps(), path.packets, path.ends[0].counts.acknowledgements)
        };
        assert_eq!(after(1), (6, 6, 2));
        assert_eq!(after(2), (4, 5, 1));
        assert_eq!(after(3), (2, 4, 0));
    }

    #[test]
    fn a_lost_request_is_repeated_after_the_timeout() {
        let mut path = Path::new(ipx(1500, 1), true, 1, 0);
        path.ends[0].write(Instant::ZERO, Octets(64));
        path.ends[0].out.clear();
        let now = path.run(Instant::ZERO, (Octets(64), Octets(100)), 100);
        assert_eq!(now, Instant::from_ps(1_000_000_000) + DELAY * 2);
        assert_eq!((path.ends[0].counts.timeouts, path.ends[0].counts.retransmitted), (1, 1));
    }
}
