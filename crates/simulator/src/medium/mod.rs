//! A shared medium event by event: segment, half-duplex link, hub and bus. Written to be read.
//!
//! Each node has an [`access`]: its MAC, and what may stand between MAC and line. What it puts on
//! the line is a [`signals::Symbol`], which every other node hears after the propagation between the
//! two. Events of one instant are taken in the order of their rank ([`event`]).
//!
//! - [`compiled`]: positions, propagation, the constants of the MAC and of the PHYs.
//! - [`hosts`]: who sends on it. `reception`: what a node hears of the others; [`signals`] are what
//!   its access sees of that.
//! - `ended`: what has ended, summed up while the medium goes on, so that it keeps no more in a long
//!   trial than in a short one; [`line`](mod@line) is its channel time.
//! - `waves`: its events, of which a signal on its way is one.
//! - `contention`: the same medium contention by contention, where its frames come from a network.

pub mod access;
pub mod compiled;
pub(crate) mod contention;
mod ended;
pub mod event;
pub mod hosts;
pub mod line;
mod reception;
pub mod signals;
pub(crate) mod waves;

use crate::error::Error;
use crate::identity::StationId;
use crate::mac::access::{Access as _, Next};
use crate::mac::backoff::Draws;
use crate::mac::jam::Transmission;
use crate::mac::transmitter::{Attempt, Ending};
use crate::segment::compiled::small;
use crate::time::{Instant, Span};
use crate::watch::Poll;
use access::{Access, Change, Counters};
use compiled::CompiledMedium;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::Phases;
use event::Event;
use hosts::Hosts;
use line::{Line, Signal};
use reception::Reception;
use signals::{FrameNumber, Heard, Inputs, Sending, Symbol};
use std::collections::VecDeque;
use waves::Events;

/// Attempts and signals that a medium keeps until it sums up those that have ended.
pub(crate) const MOST_KEPT: usize = 256;

/// A frame under way in MAC, delay line or line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    pub(crate) mac: Transmission,
    /// Whether its collision was one of the sublayer.
    pub(crate) is_logical: bool,
    /// Its number, and when its first bit left, if it did.
    pub(crate) on_line: Option<(FrameNumber, Instant)>,
    pub(crate) mac_is_over: bool,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a signal or a state of its own")]
pub(crate) struct Node<A> {
    pub(crate) access: A,
    /// Whether its MAC hears carrier.
    pub(crate) mac_carrier: bool,
    /// What is on its line, at the sublayer.
    pub(crate) symbol: Symbol,
    pub(crate) since: Instant,
    /// Whether it hears its own line.
    own_carrier: bool,
    /// What it hears of each other node.
    pub(crate) heard: Reception,
    /// Whether it hears its own signal come back from an open or shorted cable.
    echoes: bool,
    pub(crate) under_way: Option<UnderWay>,
    /// Whether it backs off.
    backs_off: bool,
    attempts: u32,
    pub(crate) first_attempt: Option<Instant>,
    /// Whether its access is to be on, and whether the node is to be silent.
    pub(crate) wants: (bool, bool),
    /// Whether they are.
    pub(crate) has: (bool, bool),
    /// How many other nodes keep the line busy for it, whatever is on it.
    held: u32,
}

/// Rank of the end of an instant.
const CLOSING: u8 = 8;

/// What is looked at when all of an instant has happened, where carrier joins.
#[derive(Debug, Default)]
struct Closing {
    at: Instant,
    /// Stations at which carrier may be over.
    silent: Vec<StationId>,
    /// Stations at which signals may overlap.
    overlapping: Vec<StationId>,
}

/// A medium with its hosts, and what is counted of it.
pub struct Medium<'w, A: Access, H> {
    pub(crate) compiled: &'w CompiledMedium,
    /// Who sends on it.
    pub hosts: H,
    pub(crate) end: Instant,
    pub(crate) queue: Events<A::Timer>,
    closing: Closing,
    pub(crate) nodes: Vec<Node<A>>,
    pub(crate) damage: Vec<Stream>,
    /// Whether a frame is damaged, by its number less that of the first one that is kept.
    pub(crate) damaged: VecDeque<bool>,
    pub(crate) first_kept: FrameNumber,
    /// Attempts and signals at which they are summed up next.
    pub(crate) sum_up_at: usize,
    pub(crate) attempts: Vec<(Attempt, FrameNumber)>,
    pub(crate) logical: Vec<Attempt>,
    pub(crate) signals: Vec<Signal>,
    pub(crate) line: Line,
    pub(crate) counters: A::Counters,
    pub(crate) on_line: usize,
    /// Sender and end of the last frame or jam on the line.
    pub(crate) last_frame: Option<(StationId, Instant)>,
}

impl<A: Access> Node<A> {
    fn new(access: A, nodes: usize) -> Self {
        Self {
            access,
            mac_carrier: false,
            symbol: Symbol::Silence,
            since: Instant::ZERO,
            own_carrier: false,
            heard: Reception::new(nodes),
            echoes: false,
            under_way: None,
            backs_off: false,
            attempts: 0,
            first_attempt: None,
            wants: (false, false),
            has: (false, false),
            held: 0,
        }
    }

    /// Whether its MAC defers because of another node that keeps the line busy. It ends first what it
    /// sends.
    fn is_held(&self) -> bool {
        self.held > 0 && self.under_way.is_none()
    }

    fn inputs(&self) -> Inputs {
        let others = self.heard.signals() > 0 || self.echoes;
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

    /// Whether the access is to be switched, or the node to fall silent or not, and nothing is under way.
    #[inline]
    fn is_to_switch(&self) -> bool {
        self.wants != self.has
            && !self.mac_sends()
            && self.access.output(self.inputs()) == Sending::Nothing
    }

    /// What it sends, as far as it hears it.
    fn own_signal(&self) -> Option<Symbol> {
        Some(self.symbol).filter(|&symbol| self.own_carrier && symbol != Symbol::Silence)
    }

    /// How many signals are at it, its own included.
    fn signals(&self) -> u32 {
        self.heard.signals() + u32::from(self.own_signal().is_some())
    }

    fn mac_sends(&self) -> bool {
        self.under_way.is_some_and(|frame| !frame.mac_is_over)
    }
}

impl<'w, A: Access, H: Hosts> Medium<'w, A, H> {
    /// A medium before its first event, with the access of each node. Streams of draws have the
    /// numbers of stations from `first` on.
    pub fn new(
        medium: &'w CompiledMedium,
        accesses: Vec<A>,
        counters: A::Counters,
        phases: &Phases,
        (seed, first): Draws,
        hosts: H,
    ) -> Self {
        let (from, to) =
            (Instant::from_ps(phases.measure_from_ps), Instant::from_ps(phases.measure_to_ps));
        let count = accesses.len();
        let stream = |station| Stream::new(seed, first + small(station), Purpose::Loss);
        let mut new = Self {
            compiled: medium,
            hosts,
            end: Instant::from_ps(phases.end_ps),
            queue: Events::new(count),
            closing: Closing::default(),
            nodes: accesses.into_iter().map(|access| Node::new(access, count)).collect(),
            damage: (0..count).map(stream).collect(),
            damaged: VecDeque::new(),
            first_kept: FrameNumber::default(),
            sum_up_at: MOST_KEPT,
            attempts: Vec::new(),
            logical: Vec::new(),
            signals: Vec::new(),
            line: Line::new(from, to, medium.owed_after_signals()),
            counters,
            on_line: 0,
            last_frame: None,
        };
        for (station, of) in StationId::first(count).zip(&medium.switches) {
            for &(at, _) in of.access.iter().chain(&of.silent) {
                new.schedule(at, Event::Switch { station });
            }
        }
        if let Some(fault) = &medium.cable_fault {
            for station in StationId::first(count) {
                new.schedule(fault.from, Event::CableFault { station });
                new.schedule(fault.to, Event::CableFault { station });
            }
        }
        new
    }

    /// When the next event is, until the end of the test and of the frames on the line then.
    pub fn next_at(&self) -> Option<Instant> {
        let next = if self.is_closing() { Some(self.closing.at) } else { self.queue.next_at() };
        next.filter(|&at| at < self.end || self.on_line > 0)
    }

    /// The same, and the rank of the event.
    pub(crate) fn next_rank(&self) -> Option<(Instant, u8)> {
        let at = self.next_at()?;
        Some(self.queue.next_rank().filter(|next| next.0 == at).unwrap_or((at, CLOSING)))
    }

    /// Run to the end of the test and of the frames on the line then.
    ///
    /// # Errors
    /// [`Error::Stopped`] if it was stopped.
    pub(crate) fn run(&mut self, poll: &mut Poll) -> Result<(), Error> {
        while let Some(now) = self.next_at() {
            if !poll.goes_on(now) || !self.step() {
                break;
            }
        }
        poll.check()
    }

    /// Each station has its first frame at its time.
    pub(crate) fn make_all_ready(&mut self, ready: Vec<Instant>) {
        for (station, ready) in StationId::first(ready.len()).zip(ready) {
            self.make_ready(ready, station);
        }
    }

    /// A station has a frame.
    pub fn make_ready(&mut self, now: Instant, station: StationId) {
        self.schedule(now, Event::Ready { station });
    }

    /// A station has a frame now. It is at the MAC at once if nothing else happens in this instant.
    pub(crate) fn offer(&mut self, now: Instant, station: StationId) {
        if self.next_at().is_none_or(|at| at > now) && now < self.end {
            self.handle(now, Event::Ready { station });
        } else {
            self.make_ready(now, station);
        }
    }

    /// Another node keeps the line busy for a station, or no longer does.
    pub(crate) fn hold(&mut self, now: Instant, station: StationId, is_held: bool) {
        let held = &mut self.nodes[station].held;
        *held = if is_held { *held + 1 } else { *held - 1 };
        if self.next_at().is_none_or(|at| at > now) && now < self.end {
            self.handle(now, Event::Switch { station });
        } else {
            self.schedule(now, Event::Switch { station });
        }
    }

    /// Whether nothing is on the line or on its way to a station.
    #[cfg(test)]
    pub(crate) fn is_quiet(&self) -> bool {
        let is_silent =
            |node: &Node<A>| node.symbol == Symbol::Silence && node.heard.signals() == 0;
        let is_heard = |(_, event)| matches!(event, Event::Hear { .. });
        self.nodes.iter().all(is_silent) && !self.queue.iter().any(is_heard)
    }

    /// Whether something was left to the end of an instant.
    fn is_closing(&self) -> bool {
        A::JOINS && !(self.closing.silent.is_empty() && self.closing.overlapping.is_empty())
    }

    /// If all of an instant has happened, look at what was left to its end. Whether that was so.
    pub(crate) fn close(&mut self) -> bool {
        if !self.is_closing() || self.queue.next_at() == Some(self.closing.at) {
            return false;
        }
        let now = self.closing.at;
        for index in 0..self.closing.silent.len() {
            self.settle(now, self.closing.silent[index]);
        }
        self.closing.silent.clear();
        self.damage_overlaps();
        true
    }

    /// Damage what overlaps at the end of an instant.
    fn damage_overlaps(&mut self) {
        while let Some(station) = self.closing.overlapping.pop() {
            self.damage_overlapping(station);
        }
    }

    /// The next event, until the end of the test and of the frames on the line then.
    pub(crate) fn next(&mut self) -> Option<(Instant, Event<A::Timer>)> {
        self.next_at()?;
        self.queue.take()
    }

    pub(crate) fn schedule(&mut self, at: Instant, event: Event<A::Timer>) {
        if !at.is_never() {
            self.queue.schedule(at, event);
        }
    }

    pub(crate) fn handle(&mut self, now: Instant, event: Event<A::Timer>) {
        self.catch_up(now, event.follows_opportunities(), event.station());
        match event {
            Event::Ready { station } => {
                let node = &mut self.nodes[station];
                let next = if std::mem::take(&mut node.backs_off) {
                    node.access.ready_after_backoff()
                } else {
                    node.access.mac().ready()
                };
                self.move_on(now, station, next);
            }
            Event::GapOver { station, number } => {
                let next = self.nodes[station].access.mac().timer_over(number);
                self.move_on(now, station, next);
            }
            Event::FirstBit { station } => {
                self.send(now, station);
                self.settle(now, station);
            }
            Event::TimerOver { station, timer, number } => {
                if self.nodes[station].access.end_timer(timer, number) {
                    self.settle(now, station);
                }
            }
            Event::Hear { station, from, symbol } => self.hear(now, station, from, symbol),
            Event::DelimiterOver { station } => {
                let node = &mut self.nodes[station];
                let next = node.access.output(node.inputs());
                self.put(now, station, next);
                self.settle(now, station);
            }
            Event::MacOver { station, version } => self.end_mac(now, station, version),
            Event::Switch { station } => {
                let of = &self.compiled.switches[station];
                let latest = |changes: &[(Instant, bool)]| {
                    changes.iter().take_while(|(at, _)| *at <= now).last().is_some_and(|c| c.1)
                };
                self.nodes[station].wants =
                    (latest(&of.access) && !latest(&of.silent), latest(&of.silent));
                self.settle(now, station);
            }
            Event::CableFault { station } => self.reflect(now, station),
            Event::Echo { station, is_on } => {
                self.nodes[station].echoes = is_on;
                self.hear_change(now, station, !is_on);
            }
        }
    }

    /// Let a node hear its own signal come back, where the cable sends it back.
    fn reflect(&mut self, now: Instant, station: StationId) {
        let Some(fault) = &self.compiled.cable_fault else { return };
        let is_on = fault.reflects(now) && self.nodes[station].symbol != Symbol::Silence;
        self.schedule(now + fault.echoes[station.index()], Event::Echo { station, is_on });
    }

    /// Do what a MAC does next, and what follows from it at its node.
    fn move_on(&mut self, now: Instant, station: StationId, next: Next) {
        self.follow(now, station, next);
        if A::is_moved_by(next) {
            self.settle(now, station);
        }
    }

    fn follow(&mut self, now: Instant, station: StationId, next: Next) {
        match next {
            Next::Nothing => {}
            Next::Timer { number, after } => {
                self.schedule(now + after, Event::GapOver { station, number });
            }
            Next::Start if self.nodes[station].is_held() && self.nodes[station].mac_carrier => {
                // The gap's second part is over, in which the MAC watches no carrier.
                let mac = self.nodes[station].access.mac();
                mac.withdraw();
                let next = mac.ready();
                debug_assert_eq!(next, Next::Nothing, "a MAC that hears carrier defers");
            }
            Next::Start => {
                if let Some(ready) = self.hosts.withdraw(station, now) {
                    let node = &mut self.nodes[station];
                    node.access.mac().withdraw();
                    node.first_attempt = None;
                    return self.schedule(ready, Event::Ready { station });
                }
                self.nodes[station].access.mac().start();
                if self.compiled.turnaround == Span::ZERO {
                    return self.send(now, station);
                }
                self.schedule(now + self.compiled.turnaround, Event::FirstBit { station });
            }
        }
    }

    /// The first bit of the MAC's frame leaves.
    fn send(&mut self, now: Instant, station: StationId) {
        if now >= self.end {
            return; // the test is over; the frame stays where it is
        }
        let end = now + self.hosts.packet_time(station, now);
        let node = &mut self.nodes[station];
        let collides = node.access.mac().send(0) && A::MAC_HEARS;
        node.first_attempt.get_or_insert(now);
        node.attempts += 1;
        let mac = Transmission::new(station, now, end);
        node.under_way =
            Some(UnderWay { mac, is_logical: false, on_line: None, mac_is_over: false });
        let version = self.version(station);
        self.schedule(end, Event::MacOver { station, version });
        if collides {
            self.collide(now, station);
        }
    }

    /// Versions of ends count through all attempts of a station.
    pub(crate) fn version(&self, station: StationId) -> u32 {
        let node = &self.nodes[station];
        node.attempts.wrapping_mul(2) + node.under_way.map_or(0, |frame| frame.mac.version)
    }

    /// Bring sublayer, MAC and line of a node to rest.
    fn settle(&mut self, now: Instant, station: StationId) {
        loop {
            let node = &mut self.nodes[station];
            let inputs = node.inputs();
            if node.is_to_switch() {
                node.has = node.wants;
                node.access.enable(node.has.0);
            }
            node.access.settle(now, inputs);
            node.access.count(station, now, &mut self.line, &mut self.counters);
            if inputs.mac_sends && node.access.mac_collision(inputs) {
                self.collide(now, station);
            }
            self.tell_mac(now, station, inputs);
            while let Some(started) = self.nodes[station].access.take_started() {
                let (timer, number) = (started.timer, started.number);
                self.schedule(now + started.after, Event::TimerOver { station, timer, number });
            }
            let node = &self.nodes[station];
            let mut after = node.inputs();
            let output = node.access.output(after);
            let is_same = matches!(
                (output, node.symbol),
                (Sending::Nothing, Symbol::Silence)
                    | (Sending::Data, Symbol::Data(_))
                    | (_, Symbol::End)
            );
            if !is_same {
                self.put(now, station, output);
                after = self.nodes[station].inputs();
            }
            if A::is_at_rest(inputs, after) && !self.nodes[station].is_to_switch() {
                return;
            }
        }
    }

    /// Tell the MAC of carrier.
    fn tell_mac(&mut self, now: Instant, station: StationId, inputs: Inputs) {
        let node = &mut self.nodes[station];
        let is_silent = node.has.1;
        let carrier = is_silent || node.is_held() || node.access.mac_carrier(inputs);
        if carrier == node.mac_carrier {
            return;
        }
        node.mac_carrier = carrier;
        if carrier {
            if node.access.mac().carrier_on().is_some() && A::MAC_HEARS {
                self.collide(now, station);
            }
        } else {
            let next = node.access.mac().carrier_off();
            self.follow(now, station, next);
        }
    }

    /// Tell the MAC of a collision.
    fn collide(&mut self, now: Instant, station: StationId) {
        let preamble = if self.compiled.jams_at_once { Span::ZERO } else { self.compiled.preamble };
        let jam = self.compiled.jams[station];
        let node = &mut self.nodes[station];
        let is_logical = !node.access.is_connected();
        let Some(frame) = &mut node.under_way else { return };
        if !frame.mac.collide(now, preamble, jam) {
            return;
        }
        frame.is_logical = is_logical;
        let end = frame.mac.end;
        let version = self.version(station);
        self.schedule(end, Event::MacOver { station, version });
    }

    fn end_mac(&mut self, now: Instant, station: StationId, version: u32) {
        if self.nodes[station].under_way.is_none() || self.version(station) != version {
            return;
        }
        let node = &mut self.nodes[station];
        let Some(frame) = &mut node.under_way else { return };
        if frame.mac_is_over {
            return;
        }
        frame.mac_is_over = true;
        let frame = *frame;
        if frame.is_logical {
            node.under_way = None;
            self.counters.collide(station, now);
            let (attempt, ready) = self.hosts.collide(station, frame.mac.start, now, false);
            self.logical.push(attempt);
            self.back_off_or_give_up(station, &attempt);
            self.schedule(ready, Event::Ready { station });
        }
        self.settle(now, station);
        let next = self.nodes[station].access.mac().send_over();
        self.move_on(now, station, next);
        if self.nodes[station].is_held() {
            self.settle(now, station);
        }
    }

    fn back_off_or_give_up(&mut self, station: StationId, attempt: &Attempt) {
        let node = &mut self.nodes[station];
        node.backs_off = attempt.ending == Ending::Collided;
        if attempt.ending == Ending::Discarded {
            node.first_attempt = None;
        }
    }

    /// Put on the line of a node what its sublayer sends.
    fn put(&mut self, now: Instant, station: StationId, output: Sending) {
        let node = &self.nodes[station];
        let before = node.symbol;
        let symbol = match (output, before) {
            (Sending::Data, Symbol::Data(_)) => before,
            (Sending::Data, _) => Symbol::Data(self.first_kept.after(self.damaged.len())),
            (Sending::Beacon, _) => Symbol::Beacon,
            (Sending::Commit | Sending::Nothing, Symbol::Data(_))
                if self.compiled.phy.end_delimiter > Span::ZERO =>
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
            self.schedule(now + self.compiled.phy.end_delimiter, Event::DelimiterOver { station });
        }
        if symbol == Symbol::Beacon {
            self.counters.begin_cycle(station, now);
        }
        let node = &mut self.nodes[station];
        node.symbol = symbol;
        node.since = now;
        self.spread(now, station, before, symbol);
        self.reflect(now, station);
    }

    /// Let all nodes hear how a line changes.
    fn spread(&mut self, now: Instant, station: StationId, before: Symbol, symbol: Symbol) {
        let (medium, phy) = (self.compiled, &self.compiled.phy);
        let leaves = now + phy.transmit;
        let latency = if symbol == Symbol::Silence { phy.carrier_off } else { phy.carrier_on };
        let node = &mut self.nodes[station];
        if symbol == Symbol::Silence && A::JOINS && phy.is_immediate() {
            node.own_carrier = false;
        } else if symbol == Symbol::Silence {
            let own = Event::Hear { station, from: station, symbol };
            self.schedule(leaves + phy.carrier_off, own);
        } else {
            node.own_carrier = true;
            node.heard.cover();
            self.overlap(now, station);
        }
        if !self.nodes[station].access.may_miss() {
            return self.queue.spread(medium, leaves + latency, (station, symbol));
        }
        let positions = &medium.positions;
        for other in StationId::first(self.nodes.len()) {
            if other == station {
                continue;
            }
            let delay = medium.delay(positions[station], positions[other]);
            let hears = leaves + delay + latency;
            let change = Change { from: station, station: other, before, symbol, at: hears };
            if !self.nodes[other].access.misses(change, &mut self.counters) {
                self.schedule(hears, Event::Hear { station: other, from: station, symbol });
            }
        }
    }

    fn hear(&mut self, now: Instant, station: StationId, from: StationId, symbol: Symbol) {
        if let Symbol::Data(number) = self.take_in(station, from, symbol) {
            let is_silent = self.nodes[station].has.1;
            let is_right = !self.damaged[number.since(self.first_kept)] && !is_silent;
            self.hosts.receive(station, number, now, is_right);
        }
        self.hear_change(now, station, symbol == Symbol::Silence);
    }

    /// What is heard at a station has changed; of one signal it is the end.
    fn hear_change(&mut self, now: Instant, station: StationId, is_end: bool) {
        self.overlap(now, station);
        if A::JOINS && is_end && self.queue.next_at() == Some(now) {
            self.closing.at = now;
            return self.closing.silent.push(station);
        }
        self.settle(now, station);
    }

    /// The signal of a node changes at a station. Returns what was heard of it before.
    pub(crate) fn take_in(
        &mut self,
        station: StationId,
        from: StationId,
        symbol: Symbol,
    ) -> Symbol {
        let node = &mut self.nodes[station];
        if station == from {
            node.own_carrier = node.symbol != Symbol::Silence;
            return Symbol::Silence;
        }
        node.heard.hear(from, symbol, node.own_carrier)
    }

    /// Damage what overlaps at a node. Where carrier joins, it is looked at when all of the instant
    /// has happened: signals that only touch do not overlap.
    pub(crate) fn overlap(&mut self, now: Instant, station: StationId) {
        if A::JOINS && self.queue.next_at() == Some(now) {
            if self.nodes[station].signals() > 1 {
                self.closing.at = now;
                self.closing.overlapping.push(station);
            }
            return;
        }
        self.damage_overlapping(station);
    }

    /// Frames that a node hears, or sends, together with something else are damaged.
    pub(crate) fn damage_overlapping(&mut self, station: StationId) {
        let node = &self.nodes[station];
        if node.signals() < 2 {
            return;
        }
        for &symbol in node.heard.symbols().iter().chain(&node.own_signal()) {
            if let Symbol::Data(number) = symbol {
                self.damaged[number.since(self.first_kept)] = true;
            }
        }
    }

    fn begin_frame(&mut self, now: Instant, station: StationId, number: FrameNumber) {
        let node = &mut self.nodes[station];
        let frame = node.under_way.as_mut().expect("data comes from the MAC");
        // A frame whose begin was held back when the node fell back is sent without it.
        let is_whole = node.access.is_transmitting() || frame.mac.start == now;
        frame.on_line = Some((number, now));
        self.damaged.push_back(!is_whole);
        self.on_line += 1;
    }

    /// The last bit of a frame or jam leaves.
    fn end_frame(&mut self, now: Instant, station: StationId) {
        self.on_line -= 1;
        self.last_frame = Some((station, now));
        let node = &mut self.nodes[station];
        let frame = node.under_way.take().expect("it is on the line");
        let (number, start) = frame.on_line.expect("it is on the line");
        let (attempt, ready) = match frame.mac.collision {
            None => self.hosts.deliver(station, number, start, now),
            Some(heard) => {
                let late = frame.mac.is_late(heard, self.compiled.slot);
                self.hosts.collide(station, start, now, late)
            }
        };
        if attempt.ending == Ending::Delivered {
            let first = node.first_attempt.take().unwrap_or(start);
            let is_burst = node.access.deliver();
            self.counters.deliver(station, &attempt, first, is_burst);
            self.damaged[number.since(self.first_kept)] |=
                self.compiled.phy.damages(attempt.length, &mut self.damage[station]);
        } else {
            self.back_off_or_give_up(station, &attempt);
        }
        self.attempts.push((attempt, number));
        self.schedule(ready, Event::Ready { station });
    }
}
