//! A bus event by event: what runs alone as the reference of a segment, and within a network.
//! Written to be read.
//!
//! Events of one instant are taken in the order of their rank ([`super::event`]).

use super::compiled::{CompiledBus, CompiledPlca};
use super::counters::{BusCounters, Line, Signal};
use super::event::{Entry, Event, Symbol};
use super::hosts::{Hosts, SegmentHosts};
use super::reception::Reception;
use super::signals::{Heard, Inputs, Sending};
use super::sublayer::Sublayer;
use crate::error::Error;
use crate::mac::access::{Access, Next};
use crate::mac::csma_cd::{CsmaCd, Sent};
use crate::segment::compiled::{NEVER, small};
use crate::segment::counters::Counters;
use crate::segment::medium::CompiledMedium;
use crate::segment::station::{Attempt, Ending, Station};
use crate::watch::Watch;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::{Counts, Phases};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A frame under way in MAC, delay line or line.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    pub(super) mac: Sent,
    /// Whether its collision was one of the sublayer.
    pub(super) is_logical: bool,
    /// Its number, and when its first bit left, if it did.
    pub(super) on_line: Option<(u32, i64)>,
    pub(super) mac_is_over: bool,
}

pub(super) struct Node {
    pub(super) mac: CsmaCd,
    pub(super) mac_carrier: bool,
    pub(super) sublayer: Sublayer,
    /// What is on its line, at the sublayer.
    pub(super) symbol: Symbol,
    pub(super) since: i64,
    /// Whether it hears its own line.
    own_carrier: bool,
    /// What it hears of each other node.
    pub(super) heard: Reception,
    /// Whether it has missed the beacon that another node sends.
    has_missed: Vec<bool>,
    pub(super) under_way: Option<UnderWay>,
    /// Whether it backs off.
    backs_off: bool,
    attempts: u32,
    pub(super) first_attempt: Option<i64>,
    /// Frames sent in the opportunity under way.
    pub(super) sent_in_opportunity: u32,
    /// Whether PLCA is to be on, and whether the node is to be silent.
    pub(super) wants: (bool, bool),
    pub(super) has: (bool, bool),
    pub(super) chance: Stream,
}

/// A bus with its hosts, and what is counted of it.
pub struct Machine<'w, H> {
    pub(super) medium: &'w CompiledMedium,
    pub(super) plca: &'w CompiledPlca,
    /// Who sends on it.
    pub hosts: H,
    pub(super) end: i64,
    pub(super) queue: BinaryHeap<Reverse<Entry>>,
    serial: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) damage: Vec<Stream>,
    /// Whether a frame is damaged, by its number less that of the first one that is kept.
    pub(super) damaged: VecDeque<bool>,
    pub(super) first_kept: u32,
    /// Attempts and signals at which they are summed up next.
    pub(super) sum_up_at: usize,
    pub(super) attempts: Vec<(Attempt, u32)>,
    pub(super) logical: Vec<Attempt>,
    pub(super) signals: Vec<Signal>,
    pub(super) line: Line,
    pub(super) counters: BusCounters,
    pub(super) on_line: usize,
}

/// Run a bus. Returns what was counted, and every attempt that reached the line, in the order of
/// their starts.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub fn run(bus: &CompiledBus, watch: &Watch) -> Result<(Counts, Vec<Attempt>), Error> {
    let mut machine = Machine::of_segment(bus, true);
    let mut poll = watch.begin(bus.segment.phases.begin_ps, bus.segment.phases.end_ps);
    while let Some((now, event)) = machine.next() {
        if !poll.goes_on(now.cast_unsigned()) {
            break;
        }
        machine.handle(now, event);
    }
    poll.check()?;
    Ok(machine.into_counts())
}

impl Node {
    fn new(medium: &CompiledMedium, plca: &CompiledPlca, station: usize, chance: Stream) -> Self {
        let node = &plca.nodes[station];
        let count = plca.nodes.len();
        Self {
            mac: CsmaCd::new(medium.gap_of(station)),
            mac_carrier: false,
            sublayer: Sublayer::new(node.parameters.clone(), node.durations, node.falls_back),
            symbol: Symbol::Silence,
            since: 0,
            own_carrier: false,
            heard: Reception::new(count),
            has_missed: vec![false; count],
            under_way: None,
            backs_off: false,
            attempts: 0,
            first_attempt: None,
            sent_in_opportunity: 0,
            wants: (false, false),
            has: (false, false),
            chance,
        }
    }

    fn inputs(&self) -> Inputs {
        let others = self.heard.signals() > 0;
        let carrier = others || self.own_carrier;
        // While it sends it receives nothing.
        let heard = if self.own_carrier { Heard::Nothing } else { self.heard.received() };
        Inputs {
            carrier,
            others,
            collision: others && self.symbol != Symbol::Silence,
            heard,
            mac_sends: self.mac_sends(),
        }
    }

    /// Whether PLCA is to be switched, or the node to fall silent or not, and nothing is under way.
    fn is_to_switch(&self) -> bool {
        self.wants != self.has
            && !self.mac_sends()
            && self.sublayer.output(self.inputs()) == Sending::Nothing
    }

    fn mac_sends(&self) -> bool {
        self.under_way.is_some_and(|frame| !frame.mac_is_over)
    }
}

impl<'w> Machine<'w, SegmentHosts<'w>> {
    /// A segment before its first event. `tracing` keeps every attempt.
    pub(super) fn of_segment(bus: &'w CompiledBus, tracing: bool) -> Self {
        let segment = &bus.segment;
        let (stations, first) = Station::all(segment);
        let hosts = SegmentHosts { segment, stations, totals: Counters::new(segment, tracing) };
        let mut machine =
            Self::new(&segment.medium, &bus.plca, &segment.phases, (segment.seed, 0), hosts);
        for (station, ready) in first.into_iter().enumerate() {
            machine.schedule(ready, Event::Ready { station: small(station) });
        }
        machine
    }

    /// What was counted, and the attempts that were kept.
    pub(super) fn into_counts(self) -> (Counts, Vec<Attempt>) {
        let (mut hosts, medium, plca) = self.finish();
        let (mut counts, trace) = hosts.totals.finish(hosts.segment, &mut hosts.stations);
        counts.medium.time_ps = medium;
        counts.medium.plca = Some(plca);
        (counts, trace)
    }
}

impl<'w, H: Hosts> Machine<'w, H> {
    /// A bus before its first event. Streams of draws have the numbers of stations from `first` on.
    pub fn new(
        medium: &'w CompiledMedium,
        plca: &'w CompiledPlca,
        phases: &Phases,
        (seed, first): (u64, u32),
        hosts: H,
    ) -> Self {
        let (from, to) = (phases.measure_from_ps.cast_signed(), phases.measure_to_ps.cast_signed());
        let count = plca.nodes.len();
        let stream = |station, purpose| Stream::new(seed, first + small(station), purpose);
        let node = |station| Node::new(medium, plca, station, stream(station, Purpose::Beacon));
        let mut machine = Self {
            medium,
            plca,
            hosts,
            end: phases.end_ps.cast_signed(),
            queue: BinaryHeap::new(),
            serial: 0,
            nodes: (0..count).map(node).collect(),
            damage: (0..count).map(|station| stream(station, Purpose::Loss)).collect(),
            damaged: VecDeque::new(),
            first_kept: 0,
            sum_up_at: super::ended::MOST_KEPT,
            attempts: Vec::new(),
            logical: Vec::new(),
            signals: Vec::new(),
            line: Line::new(from, to, if plca.is_used() { 0 } else { medium.gap }),
            counters: BusCounters::new(count, from, to),
            on_line: 0,
        };
        for (station, node) in plca.nodes.iter().enumerate() {
            for &(at, _) in node.switches.iter().chain(&node.silences) {
                machine.schedule(at, Event::Switch { station: small(station) });
            }
        }
        machine
    }

    /// Cycles of the measured window so far: from a beacon to the next one.
    pub fn cycles(&self) -> u64 {
        self.counters.cycles()
    }

    /// Whether the PLCA status of a node is OK, and its own opportunities in the measured window so
    /// far: used, yielded, missed.
    pub fn turns_of(&self, station: u32) -> (bool, [u64; 3]) {
        let is_ok = self.nodes[station as usize].sublayer.is_ok();
        (is_ok, self.counters.opportunities_of(station as usize))
    }

    /// When its next event is.
    pub fn next_at(&self) -> Option<i64> {
        self.queue.peek().map(|Reverse(entry)| entry.at)
    }

    /// A station has a frame.
    pub fn make_ready(&mut self, now: i64, station: u32) {
        self.schedule(now, Event::Ready { station });
    }

    /// Whether nothing is on the line or on its way to a station.
    #[cfg(test)]
    pub(super) fn is_quiet(&self) -> bool {
        let is_silent = |node: &Node| node.symbol == Symbol::Silence && node.heard.signals() == 0;
        let is_heard = |entry: &Reverse<Entry>| matches!(entry.0.event, Event::Hear { .. });
        self.nodes.iter().all(is_silent) && !self.queue.iter().any(is_heard)
    }

    /// The next event, until the end of the test and of the frames on the line then.
    pub(super) fn next(&mut self) -> Option<(i64, Event)> {
        let Reverse(Entry { at: now, event, .. }) = self.queue.pop()?;
        let is_over = now >= self.end && self.on_line == 0;
        (!is_over).then_some((now, event))
    }

    pub(super) fn schedule(&mut self, at: i64, event: Event) {
        if at < NEVER {
            self.serial += 1;
            self.queue.push(Reverse(Entry::new(at, self.serial, event)));
        }
    }

    pub(super) fn handle(&mut self, now: i64, event: Event) {
        self.catch_up(now, event.follows_opportunities(), event.station());
        match event {
            Event::Ready { station } => {
                let node = &mut self.nodes[station as usize];
                let owes_gap = std::mem::take(&mut node.backs_off) && self.plca.gap_after_backoff;
                let next = if owes_gap { node.mac.ready_after_gap() } else { node.mac.ready() };
                self.follow(now, station, next);
                self.settle(now, station);
            }
            Event::GapOver { station, number } => {
                let next = self.nodes[station as usize].mac.timer_over(number);
                self.follow(now, station, next);
                self.settle(now, station);
            }
            Event::FirstBit { station } => {
                self.send(now, station);
                self.settle(now, station);
            }
            Event::TimerOver { station, timer, number } => {
                if self.nodes[station as usize].sublayer.end_timer(timer, number) {
                    self.settle(now, station);
                }
            }
            Event::Hear { station, from, symbol } => self.hear(now, station, from, symbol),
            Event::DelimiterOver { station } => {
                let node = &mut self.nodes[station as usize];
                let next = node.sublayer.output(node.inputs());
                self.put(now, station, next);
                self.settle(now, station);
            }
            Event::MacOver { station, version } => self.end_mac(now, station, version),
            Event::Switch { station } => {
                let of = &self.plca.nodes[station as usize];
                let latest = |changes: &[(i64, bool)]| {
                    changes.iter().take_while(|(at, _)| *at <= now).last().is_some_and(|c| c.1)
                };
                self.nodes[station as usize].wants =
                    (latest(&of.switches) && !latest(&of.silences), latest(&of.silences));
                self.settle(now, station);
            }
        }
    }

    fn follow(&mut self, now: i64, station: u32, next: Next) {
        match next {
            Next::Nothing => {}
            Next::Timer { number, after } => {
                self.schedule(now + after, Event::GapOver { station, number });
            }
            Next::Start => {
                self.nodes[station as usize].mac.start();
                if self.medium.turnaround == 0 {
                    return self.send(now, station);
                }
                self.schedule(now + self.medium.turnaround, Event::FirstBit { station });
            }
        }
    }

    /// The first bit of the MAC's frame leaves.
    fn send(&mut self, now: i64, station: u32) {
        if now >= self.end {
            return; // the test is over; the frame stays where it is
        }
        let end = now + self.hosts.packet_time(station, now);
        let node = &mut self.nodes[station as usize];
        let _ = node.mac.send(0); // the sublayer tells of collisions
        node.first_attempt.get_or_insert(now);
        node.attempts += 1;
        let mac = Sent::new(station, now, end);
        node.under_way =
            Some(UnderWay { mac, is_logical: false, on_line: None, mac_is_over: false });
        let version = self.version(station);
        self.schedule(end, Event::MacOver { station, version });
    }

    /// Versions of ends count through all attempts of a station.
    pub(super) fn version(&self, station: u32) -> u32 {
        let node = &self.nodes[station as usize];
        node.attempts.wrapping_mul(2) + node.under_way.map_or(0, |frame| frame.mac.version)
    }

    /// Bring sublayer, MAC and line of a node to rest.
    fn settle(&mut self, now: i64, station: u32) {
        loop {
            let node = &mut self.nodes[station as usize];
            let inputs = node.inputs();
            if node.is_to_switch() {
                node.has = node.wants;
                node.sublayer.enable(node.has.0);
            }
            node.sublayer.settle(now, inputs);
            self.count(now, station);
            self.collide_mac(now, station, inputs);
            self.tell_mac(now, station, inputs);
            while let Some(started) = self.nodes[station as usize].sublayer.take_started() {
                let (timer, number) = (started.timer, started.number);
                self.schedule(now + started.after, Event::TimerOver { station, timer, number });
            }
            let node = &self.nodes[station as usize];
            let output = node.sublayer.output(node.inputs());
            if node.symbol != Symbol::End {
                self.put(now, station, output);
            }
            let node = &self.nodes[station as usize];
            if node.inputs() == inputs && !node.is_to_switch() {
                return;
            }
        }
    }

    fn count(&mut self, now: i64, station: u32) {
        let index = station as usize;
        let node = &mut self.nodes[index];
        while let Some(ended) = node.sublayer.take_ended() {
            self.counters.end_opportunity(index, ended, now);
            node.sent_in_opportunity = 0;
        }
        for _ in 0..node.sublayer.take_passed() {
            self.counters.pass_opportunity(now);
        }
        self.counters.set_status(index, node.sublayer.is_ok(), now);
        if node.sublayer.is_coordinator() {
            self.line.set_active(now, node.sublayer.is_active());
            if !node.sublayer.is_active() {
                self.counters.end_cycles(index);
            }
        }
    }

    /// Tell the MAC of carrier.
    fn tell_mac(&mut self, now: i64, station: u32, inputs: Inputs) {
        let node = &mut self.nodes[station as usize];
        let is_silent = node.has.1;
        let carrier = is_silent || node.sublayer.mac_carrier(inputs);
        if carrier == node.mac_carrier {
            return;
        }
        node.mac_carrier = carrier;
        if carrier {
            let _ = node.mac.carrier_on(); // the sublayer tells of collisions
        } else {
            let next = node.mac.carrier_off();
            self.follow(now, station, next);
        }
    }

    /// Tell the MAC of a collision.
    fn collide_mac(&mut self, now: i64, station: u32, inputs: Inputs) {
        let preamble = if self.plca.jams_at_once { 0 } else { self.medium.preamble };
        let jam = self.medium.jam;
        let node = &mut self.nodes[station as usize];
        if !inputs.mac_sends || !node.sublayer.mac_collision(inputs) {
            return;
        }
        let is_logical = !node.sublayer.is_connected();
        let Some(frame) = &mut node.under_way else { return };
        if !frame.mac.collide(now, preamble, jam) {
            return;
        }
        frame.is_logical = is_logical;
        let end = frame.mac.end;
        let version = self.version(station);
        self.schedule(end, Event::MacOver { station, version });
    }

    fn end_mac(&mut self, now: i64, station: u32, version: u32) {
        if self.nodes[station as usize].under_way.is_none() || self.version(station) != version {
            return;
        }
        let node = &mut self.nodes[station as usize];
        let Some(frame) = &mut node.under_way else { return };
        if frame.mac_is_over {
            return;
        }
        frame.mac_is_over = true;
        let frame = *frame;
        if frame.is_logical {
            node.under_way = None;
            self.counters.collide(station as usize, now);
            let (attempt, ready) = self.hosts.collide(station, frame.mac.start, now, false);
            self.logical.push(attempt);
            self.back_off_or_give_up(station, &attempt);
            self.schedule(ready, Event::Ready { station });
        }
        self.settle(now, station);
        let next = self.nodes[station as usize].mac.send_over();
        self.follow(now, station, next);
        self.settle(now, station);
    }

    fn back_off_or_give_up(&mut self, station: u32, attempt: &Attempt) {
        let node = &mut self.nodes[station as usize];
        node.backs_off = attempt.ending == Ending::Collided;
        if attempt.ending == Ending::Discarded {
            node.first_attempt = None;
        }
    }

    /// Put on the line of a node what its sublayer sends.
    fn put(&mut self, now: i64, station: u32, output: Sending) {
        let node = &self.nodes[station as usize];
        let before = node.symbol;
        let symbol = match (output, before) {
            (Sending::Data, Symbol::Data(_)) => before,
            (Sending::Data, _) => {
                Symbol::Data(self.first_kept.wrapping_add(small(self.damaged.len())))
            }
            (Sending::Beacon, _) => Symbol::Beacon,
            (Sending::Commit | Sending::Nothing, Symbol::Data(_))
                if self.plca.end_delimiter > 0 =>
            {
                Symbol::End
            }
            (Sending::Commit, _) => Symbol::Commit,
            (Sending::Nothing, _) => Symbol::Silence,
        };
        if symbol == before {
            return;
        }
        if let Symbol::Data(_) = before {
            self.end_frame(now, station);
        }
        self.note_signal(now, station, before);
        if let Symbol::Data(number) = symbol {
            self.begin_frame(now, station, number);
        }
        if symbol == Symbol::End {
            self.schedule(now + self.plca.end_delimiter, Event::DelimiterOver { station });
        }
        if symbol == Symbol::Beacon {
            self.counters.begin_cycle(station as usize, now);
        }
        let node = &mut self.nodes[station as usize];
        node.symbol = symbol;
        node.since = now;
        self.spread(now, station, before, symbol);
    }

    /// Let all nodes hear how a line changes.
    fn spread(&mut self, now: i64, station: u32, before: Symbol, symbol: Symbol) {
        let (medium, bus) = (self.medium, self.plca);
        let leaves = now + bus.transmit;
        let latency = if symbol == Symbol::Silence { bus.carrier_off } else { bus.carrier_on };
        if symbol == Symbol::Silence {
            let own = Event::Hear { station, from: station, symbol };
            self.schedule(leaves + bus.carrier_off, own);
        } else {
            let node = &mut self.nodes[station as usize];
            node.own_carrier = true;
            node.heard.cover();
            self.damage_overlapping(station);
        }
        let positions = &medium.positions;
        for other in 0..small(self.nodes.len()) {
            if other == station {
                continue;
            }
            let delay = medium.delay(positions[station as usize], positions[other as usize]);
            let hears = leaves + delay + latency;
            let node = &mut self.nodes[other as usize];
            let missed = &mut node.has_missed[station as usize];
            if symbol == Symbol::Beacon && bus.beacon_loss > 0.0 {
                *missed = node.chance.unit() < bus.beacon_loss;
                if *missed {
                    self.counters.lose_beacon(other as usize, hears);
                }
            }
            let is_missed = *missed && (symbol == Symbol::Beacon || before == Symbol::Beacon);
            if !is_missed {
                self.schedule(hears, Event::Hear { station: other, from: station, symbol });
            }
        }
    }

    fn hear(&mut self, now: i64, station: u32, from: u32, symbol: Symbol) {
        let node = &mut self.nodes[station as usize];
        if station == from {
            node.own_carrier = node.symbol != Symbol::Silence;
        } else if let Symbol::Data(number) = node.heard.hear(from, symbol, node.own_carrier) {
            let is_right =
                !self.damaged[number.wrapping_sub(self.first_kept) as usize] && !node.has.1;
            self.hosts.receive(station, number, now, is_right);
        }
        self.damage_overlapping(station);
        self.settle(now, station);
    }

    /// Frames that a node hears, or sends, together with something else are damaged.
    fn damage_overlapping(&mut self, station: u32) {
        let node = &self.nodes[station as usize];
        let own = Some(node.symbol).filter(|&s| node.own_carrier && s != Symbol::Silence);
        if node.heard.signals() + u32::from(own.is_some()) < 2 {
            return;
        }
        for &symbol in node.heard.symbols().iter().chain(&own) {
            if let Symbol::Data(number) = symbol {
                self.damaged[number.wrapping_sub(self.first_kept) as usize] = true;
            }
        }
    }

    fn begin_frame(&mut self, now: i64, station: u32, number: u32) {
        let node = &mut self.nodes[station as usize];
        let frame = node.under_way.as_mut().expect("data comes from the MAC");
        // A frame whose begin was held back when the node fell back is sent without it.
        let is_whole = node.sublayer.is_transmitting() || frame.mac.start == now;
        frame.on_line = Some((number, now));
        self.damaged.push_back(!is_whole);
        self.on_line += 1;
    }

    /// The last bit of a frame or jam leaves.
    fn end_frame(&mut self, now: i64, station: u32) {
        self.on_line -= 1;
        let node = &mut self.nodes[station as usize];
        let frame = node.under_way.take().expect("it is on the line");
        let (number, start) = frame.on_line.expect("it is on the line");
        let (attempt, ready) = match frame.mac.collision {
            None => self.hosts.deliver(station, number, start, now),
            Some(heard) => {
                let late = frame.mac.is_late(heard, self.medium.slot);
                self.hosts.collide(station, start, now, late)
            }
        };
        if attempt.ending == Ending::Delivered {
            let first = node.first_attempt.take().unwrap_or(start);
            node.sent_in_opportunity += u32::from(node.sublayer.takes_turns());
            let is_burst = node.sent_in_opportunity > 1;
            self.counters.deliver(station as usize, &attempt, first, is_burst);
            self.damaged[number.wrapping_sub(self.first_kept) as usize] |=
                self.plca.damages(attempt.bits, &mut self.damage[station as usize]);
        } else {
            self.back_off_or_give_up(station, &attempt);
        }
        self.attempts.push((attempt, number));
        self.schedule(ready, Event::Ready { station });
    }
}
