//! Cycles of a regular bus, opportunity by opportunity; empty ones are skipped in bulk.
//!
//! Between two signals the line is silent, and each node begins its opportunities at times that
//! follow from the end of the signal before. So a node needs no event: what its MAC does follows
//! from the time when its frame is ready and from the last frame on the line, and whether it uses
//! an opportunity from that. The order of events that fall together is that of
//! [`mod@super::reference`].

mod search;

use super::agenda::{Agenda, Subset};
use super::compiled::CompiledBus;
use super::counters::BusCounters;
use super::schedule::Schedule;
use super::turn::{LastFrame, Phase, Turn};
use crate::identity::StationId;
use crate::mac::transmitter::Ending;
use crate::medium::access::Counters as _;
use crate::medium::compiled::whole;
use crate::medium::line::Kind;
use crate::segment::counters::Counters;
use crate::segment::station::Station;
use crate::time::{Instant, Span};
use crate::watch::Poll;
use ethermeter_ethernet::units::Bits;
use ethermeter_traffic::Stream;

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

/// The bus that cycles run on, and its counters.
pub struct Context<'a> {
    /// The bus.
    pub bus: &'a CompiledBus,
    /// Its cycles.
    pub schedule: &'a Schedule,
    /// Stations, one a node.
    pub stations: &'a mut [Station],
    /// What is counted of attempts.
    pub totals: &'a mut Counters,
    /// What is counted of the bus.
    pub counters: &'a mut BusCounters,
    /// By station: whether its frames are damaged.
    pub damage: &'a mut [Stream],
}

/// Cycles of a regular bus.
pub struct Cycles<'a> {
    context: Context<'a>,
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

impl<'a> Cycles<'a> {
    /// A bus at the end of a beacon.
    #[must_use]
    pub fn new(
        context: Context<'a>,
        turns: Vec<Turn>,
        last: LastFrame,
        beacon_end: Instant,
    ) -> Self {
        let nodes = turns.len();
        let schedule = context.schedule;
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
            context,
        };
        for node in StationId::first(nodes) {
            new.index(node);
        }
        new
    }

    /// Run until the end of the last beacon from which on a cycle may not be over at `limit`, or of
    /// the last one of `beacons`. Returns it, or `None` if it was stopped.
    pub(super) fn run(
        &mut self,
        limit: Instant,
        beacons: u64,
        poll: &mut Poll<'_>,
    ) -> Option<Instant> {
        let latest = limit - self.context.schedule.longest_cycle;
        let period = self.context.schedule.empty_cycle;
        loop {
            if !poll.goes_on(self.silence.since) {
                return None;
            }
            if let Some(used) = self.look() {
                self.use_opportunity(used);
                continue;
            }
            let next = self.silence.beacon_end;
            if next <= latest && beacons == u64::MAX {
                // Most often it is before all that comes later.
                if let Some(used) = self.search(latest)
                    && used.begin + self.context.schedule.reach * 2 <= latest
                {
                    self.use_later(used);
                    continue;
                }
            }
            // Beacons up to the last one, and its end, if the line stays silent.
            let within = if next > latest { 1 } else { (latest - next).periods(period) + 2 };
            let most = within.min(beacons - self.passed);
            let end = next + period * (most - 1);
            match self.search(end) {
                Some(used) if used.cycles < most => self.use_later(used),
                _ => {
                    self.pass(most);
                    self.settle(end);
                    return Some(end);
                }
            }
        }
    }

    /// Count the opportunities since the first beacon, which began at `begun`. Returns the nodes, the
    /// last frame, how many beacons followed, and channel time by [`Kind`].
    #[must_use]
    pub fn finish(self, begun: Instant) -> (Vec<Turn>, LastFrame, u64, [Span; 5]) {
        let schedule = self.context.schedule;
        let cycles = self.passed;
        let all = schedule.ids.iter().map(|ids| cycles * ids.len() as u64);
        let of_nodes = self.used.iter().zip(&self.missed).zip(all);
        let of_nodes = of_nodes.map(|((&used, &missed), all)| (used, missed, all));
        let passed = cycles * schedule.opportunities as u64;
        self.context.counters.end_opportunities(begun, passed, of_nodes);
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
        self.last.gap_of(node, self.context.schedule)
    }

    /// When an opportunity of this cycle begins at a node, if the line stays silent.
    #[inline]
    fn begin_of(&self, node: StationId, opportunity: usize) -> Instant {
        let Silence { from, since, next, .. } = self.silence;
        let schedule = self.context.schedule;
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
    fn pass(&mut self, beacons: u64) {
        let schedule = self.context.schedule;
        let first = self.silence.beacon_end;
        let period = schedule.empty_cycle;
        let begin = first - schedule.beacon;
        self.context.counters.begin_cycles(schedule.coordinator, begin, period, beacons);
        self.taken[Kind::Beacon as usize] += schedule.beacon * beacons;
        self.passed += beacons;
        self.silence = Silence::after(schedule, first + period * (beacons - 1));
    }

    /// Bring all nodes to a time up to which the line is silent.
    fn settle(&mut self, now: Instant) {
        for node in StationId::first(self.turns.len()) {
            if self.turns[node].phase == Phase::Idle {
                let until = self.held_since(node) + self.context.schedule.hold;
                if until < now {
                    self.collide(node, self.start_of(node), until);
                }
            }
            let turn = &self.turns[node];
            if turn.phase == Phase::Jams && turn.jam_end < now {
                self.back_off(node);
            }
        }
    }

    /// The sublayer of an idle node signals a collision to its MAC, which began its frame at `start`.
    #[inline]
    fn collide(&mut self, node: StationId, start: Instant, collision: Instant) {
        let segment = &self.context.bus.segment;
        let turn = &mut self.turns[node];
        turn.phase = Phase::Jams;
        turn.start = start;
        turn.collision = collision;
        turn.jam_end = collision.max(start + segment.preamble) + segment.jam;
        turn.pending = turn.jam_end + self.context.schedule.pending;
        turn.first_attempt.get_or_insert(start);
        self.pending.insert(node.index());
        self.listening.set(node, Instant::NEVER);
    }

    /// The jam of a node is over.
    #[inline]
    fn back_off(&mut self, node: StationId) {
        let turn = &mut self.turns[node];
        self.context.counters.collide(node, turn.jam_end);
        let (attempt, ready) = self.context.stations[node].collide(turn.start, turn.jam_end, false);
        self.context.totals.record_logical(&attempt);
        if attempt.ending == Ending::Discarded {
            turn.first_attempt = None;
        }
        turn.phase = Phase::BacksOff;
        turn.ready = ready.min(Instant::NEVER);
    }

    /// An opportunity is used after the beacons before it.
    #[inline]
    fn use_later(&mut self, used: Used) {
        if used.cycles > 0 {
            self.pass(used.cycles);
        }
        self.use_opportunity(used);
    }

    /// A node sends in its opportunity, or only holds the line.
    fn use_opportunity(&mut self, used: Used) {
        let Used { node, begin, opportunity, .. } = used;
        if self.due.contains(opportunity) {
            self.context.schedule.ids[node].iter().for_each(|&id| self.due.remove(id));
        } else {
            self.pending.remove(node.index());
        }
        self.frames.clear();
        let signal = self.send(node, begin);
        if self.frames.is_empty() {
            self.missed[node] += 1;
        } else {
            self.used[node] += 1;
        }
        self.listen(&signal);
        if let Some(&(_, end)) = self.frames.last() {
            self.last = LastFrame { sender: node, end, latency: self.latency(&signal) };
        }
        let since = signal.end + self.context.schedule.release;
        self.turns[node].phase = Phase::Idle;
        self.turns[node].idle_from = since;
        self.index(node);
        self.silence = Silence::new(self.context.schedule, node, since, opportunity + 1);
    }

    /// After which time others hear the end of the last frame of a signal.
    #[inline]
    fn latency(&self, signal: &Signal) -> Span {
        if self.context.bus.segment.phy.end_delimiter > Span::ZERO || signal.held_from.is_some() {
            self.context.schedule.carrier_on
        } else {
            self.context.schedule.carrier_off
        }
    }

    /// The frames that a node sends in an opportunity.
    fn send(&mut self, node: StationId, begin: Instant) -> Signal {
        let (gap, delimiter) =
            (self.context.bus.segment.gap, self.context.bus.segment.phy.end_delimiter);
        let schedule = self.context.schedule;
        // The MAC's begin of a frame, its begin on the line, and its end.
        let (mut mac, mut start, mut end);
        if self.turns[node].phase == Phase::Idle {
            let held = begin - self.held_since(node);
            (mac, start) = (self.start_of(node), begin);
            end = mac + self.packet_time(node, mac) + held;
        } else {
            if self.turns[node].phase == Phase::Jams {
                self.back_off(node);
            }
            start = self.turns[node].ready.max(begin + gap);
            let held_until = begin + schedule.commit;
            self.taken[Kind::Commit as usize] += start.min(held_until) - begin;
            if start > held_until {
                let held_from = Some(begin);
                return Signal { sender: node, begin, held_from, end: held_until };
            }
            mac = start;
            end = mac + self.packet_time(node, mac);
        }
        let burst = schedule.bursts[node];
        let mut held_from = None;
        for sent in 0..=schedule.burst_counts[node] {
            self.deliver(node, mac, start, end, sent > 0);
            if sent == schedule.burst_counts[node] {
                break;
            }
            let next = self.turns[node].ready.max(end + gap);
            if next > end + burst {
                // Without a delimiter others hear it held, however short.
                let is_held = burst > delimiter || delimiter == Span::ZERO;
                held_from = is_held.then_some(end + delimiter);
                break;
            }
            self.taken[Kind::Commit as usize] += next - (end + delimiter);
            (mac, start) = (next, next);
            end = mac + self.packet_time(node, mac);
        }
        let silent_from = end + if held_from.is_some() { burst } else { delimiter };
        self.taken[Kind::Commit as usize] += silent_from - (end + delimiter);
        Signal { sender: node, begin, held_from, end: silent_from }
    }

    fn packet_time(&self, node: StationId, start: Instant) -> Span {
        self.context.stations[node].packet_time(&self.context.bus.segment, start)
    }

    /// A frame goes out whose MAC began it at `mac`.
    #[inline]
    fn deliver(
        &mut self,
        node: StationId,
        mac: Instant,
        start: Instant,
        end: Instant,
        is_burst: bool,
    ) {
        self.frames.push((start, end));
        let turn = &mut self.turns[node];
        let first = turn.first_attempt.take().unwrap_or(mac);
        let (mut attempt, ready) = self.context.stations[node].deliver(start, end);
        turn.ready = ready;
        self.context.counters.deliver(node, &attempt, first, is_burst);
        let bit_error_rate = self.context.bus.segment.phy.bit_error_rate;
        if bit_error_rate > 0.0 {
            if self.whole.0 != attempt.length {
                self.whole = (attempt.length, whole(bit_error_rate, attempt.length));
            }
            attempt.damaged = self.context.damage[node].unit() >= self.whole.1;
        }
        self.context.totals.record(&attempt);
        let preamble = self.context.bus.segment.preamble.min(end - start);
        self.taken[Kind::Preamble as usize] +=
            preamble + self.context.bus.segment.phy.end_delimiter;
        self.taken[Kind::Frame as usize] += end - start - preamble;
    }

    /// Let the idle nodes hear a signal.
    #[inline]
    fn listen(&mut self, signal: &Signal) {
        let schedule = self.context.schedule;
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
        let (schedule, delimiter) =
            (self.context.schedule, self.context.bus.segment.phy.end_delimiter);
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
            gap_end = end_of_frame + delay + latency + self.context.bus.segment.gap;
            is_own = false;
            receives = end_of_frame + delimiter + begins;
        }
        let held_from = signal.held_from? + begins;
        let start = turn.ready.max(gap_end);
        let ends = signal.end + delay + schedule.carrier_off;
        (start <= ends).then(|| (start, collision(start, held_from)))
    }
}
