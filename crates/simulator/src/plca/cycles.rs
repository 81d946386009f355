//! Cycles of a regular bus, opportunity by opportunity; empty ones are skipped in bulk.
//!
//! Between two signals the line is silent, and each node begins its opportunities at times that
//! follow from the end of the signal before. So a node needs no event: what its MAC does follows
//! from the time when its frame is ready and from the last frame on the line, and whether it uses
//! an opportunity from that. The order of events that fall together is that of
//! [`mod@super::reference`].

mod search;
pub(crate) mod stepped;

use super::access::PlcaAccess;
use super::agenda::{Agenda, Subset};
use super::counters::BusCounters;
use super::schedule::Schedule;
use super::turn::{LastFrame, Phase, Turn};
use crate::identity::StationId;
use crate::mac::transmitter::Ending;
use crate::medium::Medium;
use crate::medium::access::Counters as _;
use crate::medium::compiled::whole;
use crate::medium::hosts::Hosts;
use crate::medium::line::Kind;
use crate::medium::signals::FrameNumber;
use crate::time::{Instant, Span};
use crate::watch::Poll;
use ethermeter_ethernet::units::Bits;

/// Silence: what followed the last signal.
#[derive(Clone, Copy, Debug)]
struct Silence {
    /// Sender of the signal.
    from: StationId,
    /// When the sender itself begins the next opportunity.
    since: Instant,
    /// The next opportunity.
    next: usize,
    /// When the next beacon ends, if the line stays silent.
    beacon_end: Instant,
}

impl Silence {
    fn new(schedule: &Schedule, from: StationId, since: Instant, next: usize) -> Self {
        let rest = schedule.opportunity * (schedule.opportunities - next) as u64;
        let beacon = since + schedule.delay(from, schedule.coordinator) + rest;
        Self { from, since, next, beacon_end: beacon + schedule.beacon }
    }

    /// After a beacon.
    fn after(schedule: &Schedule, beacon_end: Instant) -> Self {
        Self::new(schedule, schedule.coordinator, beacon_end + schedule.release, 0)
    }
}

/// An opportunity that is used.
#[derive(Clone, Copy, Debug)]
struct Used {
    /// Beacons before it.
    cycles: u64,
    opportunity: usize,
    node: StationId,
    /// When it begins at the node.
    begin: Instant,
}

impl Used {
    #[inline]
    fn is_before(&self, other: &Self) -> bool {
        (self.cycles, self.opportunity) < (other.cycles, other.opportunity)
    }
}

/// What is on the line in an opportunity, after its begin.
struct Signal {
    sender: StationId,
    begin: Instant,
    /// The line is held without another frame coming, from then on.
    held_from: Option<Instant>,
    /// When the line falls silent.
    end: Instant,
}

/// A frame that is sent: when its MAC begins it, when it begins on the line, and when it ends.
#[derive(Clone, Copy, Debug)]
struct Sent {
    mac: Instant,
    start: Instant,
    end: Instant,
}

/// The medium of a bus, which has its hosts and what is counted.
type Bus<'w, H> = Medium<'w, PlcaAccess, H>;

/// Cycles of a regular bus.
pub struct Cycles<'s> {
    schedule: &'s Schedule,
    /// Nodes.
    turns: Vec<Turn>,
    /// When an idle node may begin something; [`Instant::NEVER`] for the others.
    listening: Agenda,
    /// The others that do not use their opportunities before [`Turn::pending`].
    pending: Subset,
    /// The opportunities of those that use them now.
    due: Subset,
    /// The last frame.
    last: LastFrame,
    silence: Silence,
    /// Frames of the opportunity under way.
    frames: Vec<(Instant, Instant)>,
    /// Beacons since the first.
    passed: u64,
    /// Channel time, by [`Kind`].
    taken: [Span; 5],
    used: Vec<u64>,
    missed: Vec<u64>,
    /// Length of the frame whose probability to be whole is known, and that probability.
    whole: (Bits, f64),
}

#[expect(clippy::inline_always, reason = "a bus alone is a tenth slower with calls to them")]
impl<'s> Cycles<'s> {
    /// A bus at the end of a beacon.
    #[must_use]
    pub fn new(
        schedule: &'s Schedule,
        turns: Vec<Turn>,
        last: LastFrame,
        beacon_end: Instant,
    ) -> Self {
        let nodes = turns.len();
        let mut new = Self {
            listening: Agenda::new(nodes),
            pending: Subset::none_of(nodes),
            due: Subset::none_of(schedule.opportunities),
            last,
            silence: Silence::after(schedule, beacon_end),
            frames: Vec::with_capacity(256),
            passed: 0,
            taken: [Span::ZERO; 5],
            used: vec![0; nodes],
            missed: vec![0; nodes],
            whole: (Bits(0), 1.0),
            turns,
            schedule,
        };
        for node in StationId::first(nodes) {
            new.index(node);
        }
        new
    }

    /// Run until the end of the last beacon from which on a cycle may not be over at `limit`, or of
    /// the last one of `beacons`. Returns it, or `None` if it was stopped.
    pub(super) fn run<H: Hosts>(
        &mut self,
        medium: &mut Bus<'_, H>,
        limit: Instant,
        beacons: u64,
        poll: &mut Poll<'_>,
    ) -> Option<Instant> {
        let latest = limit - self.schedule.longest_cycle;
        let period = self.schedule.empty_cycle;
        loop {
            if !poll.goes_on(self.silence.since) {
                return None;
            }
            let next = self.silence.beacon_end;
            // Most often it is before all that comes later.
            let limit = if next <= latest && beacons == u64::MAX { latest } else { Instant::PAST };
            let is_within =
                |used: &Used| used.cycles == 0 || used.begin + self.schedule.reach * 2 <= limit;
            if let Some(used) = self.look().filter(is_within) {
                self.use_later(medium, used);
                continue;
            }
            if limit > Instant::PAST
                && let Some(used) = self.search(limit)
                && used.begin + self.schedule.reach * 2 <= limit
            {
                self.use_later(medium, used);
                continue;
            }
            // Beacons up to the last one, and its end, if the line stays silent.
            let within = if next > latest { 1 } else { (latest - next).periods(period) + 2 };
            let most = within.min(beacons - self.passed);
            let end = next + period * (most - 1);
            match self.search(end) {
                Some(used) if used.cycles < most => self.use_later(medium, used),
                _ => {
                    self.pass(&mut medium.counters, most);
                    self.settle(medium, end);
                    return Some(end);
                }
            }
        }
    }

    /// Count the opportunities since the first beacon, which began at `begun`. Returns the nodes, the
    /// last frame, how many beacons followed, and channel time by [`Kind`].
    #[must_use]
    pub fn finish(
        self,
        counters: &mut BusCounters,
        begun: Instant,
    ) -> (Vec<Turn>, LastFrame, u64, [Span; 5]) {
        let schedule = self.schedule;
        let cycles = self.passed;
        let all = schedule.ids.iter().map(|ids| cycles * ids.len() as u64);
        let of_nodes = self.used.iter().zip(&self.missed).zip(all);
        let of_nodes = of_nodes.map(|((&used, &missed), all)| (used, missed, all));
        let passed = cycles * schedule.opportunities as u64;
        counters.end_opportunities(begun, passed, of_nodes);
        (self.turns, self.last, self.passed, self.taken)
    }

    /// When the MAC of an idle node begins its frame, if the line stays silent.
    #[inline]
    fn start_of(&self, node: StationId) -> Instant {
        self.turns[node].ready.max(self.gap_of(node).0)
    }

    /// When the gap of an idle node ends, and whether it follows an own transmission.
    #[inline]
    fn gap_of(&self, node: StationId) -> (Instant, bool) {
        self.last.gap_of(node, self.schedule)
    }

    /// When an opportunity of this cycle begins at a node, if the line stays silent.
    #[inline]
    fn begin_of(&self, node: StationId, opportunity: usize) -> Instant {
        let Silence { from, since, next, .. } = self.silence;
        let schedule = self.schedule;
        since + schedule.delay(from, node) + schedule.opportunity * (opportunity - next) as u64
    }

    /// Enter a node into the set of those that wait for the same.
    #[inline]
    fn index(&mut self, node: StationId) {
        let Turn { phase, ready, .. } = self.turns[node];
        if phase == Phase::Idle {
            self.listening.set(node, ready);
        } else {
            self.pending.insert(node.index());
        }
    }

    /// When the sublayer of an idle node takes its frame into the delay line, if the line stays
    /// silent.
    #[inline]
    fn held_since(&self, node: StationId) -> Instant {
        self.start_of(node).max(self.turns[node].idle_from)
    }

    /// Let beacons go by, with nothing between them.
    #[inline]
    fn pass(&mut self, counters: &mut BusCounters, beacons: u64) {
        let schedule = self.schedule;
        let first = self.silence.beacon_end;
        let period = schedule.empty_cycle;
        let begin = first - schedule.beacon;
        counters.begin_cycles(schedule.coordinator, begin, period, beacons);
        self.taken[Kind::Beacon as usize] += schedule.beacon * beacons;
        self.passed += beacons;
        self.silence = Silence::after(schedule, first + period * (beacons - 1));
    }

    /// Bring all nodes to a time up to which the line is silent.
    fn settle<H: Hosts>(&mut self, medium: &mut Bus<'_, H>, now: Instant) {
        for node in StationId::first(self.turns.len()) {
            if self.turns[node].phase == Phase::Idle {
                let until = self.held_since(node) + self.schedule.hold;
                if until < now {
                    self.collide(node, self.start_of(node), until);
                }
            }
            let turn = &self.turns[node];
            if turn.phase == Phase::Jams && turn.jam_end < now {
                self.back_off(medium, node);
            }
        }
    }

    /// The sublayer of an idle node signals a collision to its MAC, which began its frame at `start`.
    #[inline]
    fn collide(&mut self, node: StationId, start: Instant, collision: Instant) {
        let schedule = self.schedule;
        let turn = &mut self.turns[node];
        turn.phase = Phase::Jams;
        turn.start = start;
        turn.collision = collision;
        turn.jam_end = collision.max(start + schedule.preamble) + schedule.jam;
        turn.pending = turn.jam_end + schedule.pending;
        turn.first_attempt.get_or_insert(start);
        self.pending.insert(node.index());
        self.listening.set(node, Instant::NEVER);
    }

    /// The jam of a node is over.
    #[inline]
    fn back_off<H: Hosts>(&mut self, medium: &mut Bus<'_, H>, node: StationId) {
        let turn = &mut self.turns[node];
        medium.counters.collide(node, turn.jam_end);
        let (attempt, ready) = medium.hosts.collide(node, turn.start, turn.jam_end, false);
        medium.hosts.record_logical(&attempt);
        if attempt.ending == Ending::Discarded {
            turn.first_attempt = None;
        }
        turn.phase = Phase::BacksOff;
        turn.ready = ready.min(Instant::NEVER);
    }

    /// An opportunity is used after the beacons before it.
    #[inline]
    fn use_later<H: Hosts>(&mut self, medium: &mut Bus<'_, H>, used: Used) {
        if used.cycles > 0 {
            self.pass(&mut medium.counters, used.cycles);
        }
        self.use_opportunity(medium, used);
    }

    /// A node sends in its opportunity, or only holds the line.
    fn use_opportunity<H: Hosts>(&mut self, medium: &mut Bus<'_, H>, used: Used) {
        self.take_turn(&used);
        let signal = self.send(medium, used.node, used.begin);
        if self.frames.is_empty() {
            self.missed[used.node] += 1;
        } else {
            self.used[used.node] += 1;
        }
        self.listen(&signal);
        self.fall_silent(&signal, used.opportunity);
        self.index(used.node);
    }

    /// The opportunity of a node begins, and it waits no more.
    #[inline(always)]
    fn take_turn(&mut self, used: &Used) {
        if self.due.contains(used.opportunity) {
            self.schedule.ids[used.node].iter().for_each(|&id| self.due.remove(id));
        } else {
            self.pending.remove(used.node.index());
        }
        self.frames.clear();
    }

    /// Silence follows a signal.
    #[inline(always)]
    fn fall_silent(&mut self, signal: &Signal, opportunity: usize) {
        let node = signal.sender;
        if let Some(&(_, end)) = self.frames.last() {
            self.last = LastFrame { sender: node, end, latency: self.latency(signal) };
        }
        let since = signal.end + self.schedule.release;
        self.turns[node].phase = Phase::Idle;
        self.turns[node].idle_from = since;
        self.silence = Silence::new(self.schedule, node, since, opportunity + 1);
    }

    /// After which time others hear the end of the last frame of a signal.
    #[inline]
    fn latency(&self, signal: &Signal) -> Span {
        self.schedule.heard_after(signal.held_from.is_some())
    }

    /// The first frame that a node sends in an opportunity, or the signal without one.
    #[inline]
    fn first_frame<H: Hosts>(
        &mut self,
        medium: &mut Bus<'_, H>,
        node: StationId,
        begin: Instant,
    ) -> Result<Sent, Signal> {
        if self.turns[node].phase == Phase::Idle {
            let held = begin - self.held_since(node);
            let mac = self.start_of(node);
            let end = mac + medium.hosts.packet_time(node, mac) + held;
            return Ok(Sent { mac, start: begin, end });
        }
        if self.turns[node].phase == Phase::Jams {
            self.back_off(medium, node);
        }
        let start = self.turns[node].ready.max(begin + self.schedule.gap);
        let held_until = begin + self.schedule.commit;
        self.taken[Kind::Commit as usize] += start.min(held_until) - begin;
        if start > held_until {
            let held_from = Some(begin);
            return Err(Signal { sender: node, begin, held_from, end: held_until });
        }
        Ok(Sent { mac: start, start, end: start + medium.hosts.packet_time(node, start) })
    }

    /// The frames that a node sends in an opportunity.
    fn send<H: Hosts>(
        &mut self,
        medium: &mut Bus<'_, H>,
        node: StationId,
        begin: Instant,
    ) -> Signal {
        let schedule = self.schedule;
        let (gap, delimiter) = (schedule.gap, schedule.delimiter);
        let mut sent = match self.first_frame(medium, node, begin) {
            Ok(first) => first,
            Err(signal) => return signal,
        };
        let burst = schedule.bursts[node];
        let mut held_from = None;
        for number in 0..=schedule.burst_counts[node] {
            self.deliver(medium, node, sent, number > 0);
            if number == schedule.burst_counts[node] {
                break;
            }
            let next = self.turns[node].ready.max(sent.end + gap);
            if next > sent.end + burst {
                // Without a delimiter others hear it held, however short.
                let is_held = burst > delimiter || delimiter == Span::ZERO;
                held_from = is_held.then_some(sent.end + delimiter);
                break;
            }
            self.taken[Kind::Commit as usize] += next - (sent.end + delimiter);
            let end = next + medium.hosts.packet_time(node, next);
            sent = Sent { mac: next, start: next, end };
        }
        let silent_from = sent.end + if held_from.is_some() { burst } else { delimiter };
        self.taken[Kind::Commit as usize] += silent_from - (sent.end + delimiter);
        Signal { sender: node, begin, held_from, end: silent_from }
    }

    /// A frame goes out.
    #[inline]
    fn deliver<H: Hosts>(
        &mut self,
        medium: &mut Bus<'_, H>,
        node: StationId,
        Sent { mac, start, end }: Sent,
        is_burst: bool,
    ) {
        self.frames.push((start, end));
        let turn = &mut self.turns[node];
        let first = turn.first_attempt.take().unwrap_or(mac);
        let number = FrameNumber::default();
        let (mut attempt, ready) = medium.hosts.deliver(node, number, start, end);
        turn.ready = ready;
        medium.counters.deliver(node, &attempt, first, is_burst);
        let bit_error_rate = medium.compiled.phy.bit_error_rate;
        if bit_error_rate > 0.0 {
            if self.whole.0 != attempt.length {
                self.whole = (attempt.length, whole(bit_error_rate, attempt.length));
            }
            attempt.damaged = medium.damage[node].unit() >= self.whole.1;
        }
        medium.hosts.record(&attempt);
        let preamble = self.schedule.preamble.min(end - start);
        self.taken[Kind::Preamble as usize] += preamble + self.schedule.delimiter;
        self.taken[Kind::Frame as usize] += end - start - preamble;
    }

    /// Let the idle nodes hear a signal.
    #[inline(always)]
    fn listen(&mut self, signal: &Signal) {
        let schedule = self.schedule;
        let bound = signal.end + schedule.reach + schedule.carrier_on.max(schedule.carrier_off);
        for block in 0..self.listening.blocks() {
            for node in self.listening.until(block, bound) {
                if node != signal.sender
                    && let Some((start, collision)) = self.collision(node, signal)
                {
                    self.collide(node, start, collision);
                }
            }
        }
    }

    /// The collision that the sublayer of an idle node signals to its MAC because of a signal, if any:
    /// when the MAC began its frame, and when it collides.
    fn collision(&self, node: StationId, signal: &Signal) -> Option<(Instant, Instant)> {
        let (schedule, delimiter) = (self.schedule, self.schedule.delimiter);
        let turn = &self.turns[node];
        let delay = schedule.delay(signal.sender, node);
        let begins = delay + schedule.carrier_on;
        let (mut gap_end, mut is_own) = self.gap_of(node);
        // A frame in the delay line collides with what is received, and so does one that the MAC
        // begins meanwhile.
        let collision = |start: Instant, receives: Instant| {
            if start < receives {
                (start.max(turn.idle_from) + schedule.hold).min(receives)
            } else {
                start
            }
        };
        let mut receives = signal.begin + begins;
        for (number, &(start_of_frame, end_of_frame)) in self.frames.iter().enumerate() {
            let start = turn.ready.max(gap_end);
            let carrier = start_of_frame + begins;
            if start <= carrier {
                return Some((start, collision(start, receives)));
            }
            // The second part of a gap, and one after an own transmission, go on.
            let goes_on = is_own || carrier >= gap_end - schedule.gap_part2;
            if gap_end > carrier && goes_on && turn.ready <= gap_end {
                return Some((gap_end, gap_end));
            }
            let is_last = number + 1 == self.frames.len();
            let latency = if is_last { self.latency(signal) } else { schedule.carrier_on };
            gap_end = end_of_frame + delay + latency + schedule.gap;
            is_own = false;
            receives = end_of_frame + delimiter + begins;
        }
        let held_from = signal.held_from? + begins;
        let start = turn.ready.max(gap_end);
        let ends = signal.end + delay + schedule.carrier_off;
        (start <= ends).then(|| (start, collision(start, held_from)))
    }
}
