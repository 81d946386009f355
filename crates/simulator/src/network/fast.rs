//! A network with an event only where ways meet.
//!
//! What serves first come, first served, and has one feeder, knows when a frame leaves as soon as
//! the feeder does: max(ready, free) + time. So frames are followed along their route at once, up
//! to a *junction*: a resource with several feeders, or the lookup of a switch, where order
//! matters. There they wait in *lanes*, one from each feeder, in which times only grow. The least
//! of the lanes' first frames goes on; a tournament of lanes finds it. Room is known from a ring of
//! the times at which frames leave.
//!
//! A port with traffic classes has a queue of each, and a lane for its next decision: when its wire
//! is free, or when a frame may begin ([`ethermeter_traffic::scheduler`]).
//!
//! A port on a shared medium has a queue; the medium has a lane for what is decided on it next
//! ([`media`]).
//!
//! PAUSE, memory of ports and interrupts for several frames make departures depend on what comes
//! later; such networks are the reference's. So are those whose hosts send requests or broadcasts
//! again, for these enter a route when others come in.

mod media;
mod tournament;

use super::Traced;
use super::applications::Applications;
use super::chances::Chances;
use super::compiled::{CompiledNetwork, ENDLESS, Last, NONE, Port, Role};
use super::counters::Counters;
use super::frame::{Frame, Loss};
use super::hosts::Hosts;
use super::junctions::Junctions;
use super::learning_table::{Forwarding, Tables};
use crate::error::Error;
use crate::identity::{FlowId, PortId, ReceiverId, RouteId};
use crate::time::{Instant, Span};
use crate::watch::{Poll, Watch};
use ethermeter_traffic::scheduler::{Next, Room, Scheduler, Waiting};
use ethermeter_trial::Trial;
use ethermeter_trial::flows::Flow;
use std::collections::VecDeque;
use tournament::Tournament;

#[derive(Clone, Copy, Debug)]
struct Item {
    frame: Frame,
    route: RouteId,
    hop: u32,
    ready: Instant,
    complete: Instant,
}

/// When a resource is free, and when those that are in it leave.
#[derive(Clone, Debug, Default)]
struct Server {
    free: Instant,
    watched: bool,
    leaving: VecDeque<(Instant, u32)>,
    octets: u64,
}

/// A port with traffic classes.
#[derive(Debug)]
struct Scheduled {
    port: PortId,
    scheduler: Scheduler<Item>,
    /// When the last bit of the frame that is being sent is out; it may have left since.
    end: Option<Instant>,
    free: Instant,
}

/// Instead of the number of a port with classes: it is on a shared medium.
const ON_MEDIUM: u32 = NONE - 1;

/// Lanes by what is in them, in this order.
#[derive(Clone, Copy, Debug)]
struct Lanes {
    /// Of media of half-duplex links; those before are decisions of ports with classes.
    links: u32,
    /// Of each port on a shared medium that waits for its frame.
    cards: u32,
    junctions: u32,
    lookups: u32,
    /// Of each flow's segments to its receiver, and back.
    segments: u32,
    sends: u32,
    answers: u32,
    time_outs: u32,
    transfers: u32,
    /// Of other shared media.
    media: u32,
    all: u32,
}

impl Scheduled {
    /// Let the frame that was sent leave, if it has by now.
    fn settle(&mut self, now: Instant) {
        if self.end.is_some_and(|end| end <= now) {
            self.end = None;
            self.scheduler.left();
        }
    }
}

struct Fast<'p> {
    compiled: &'p CompiledNetwork,
    end: Instant,
    applications: Applications,
    counters: Counters,
    tables: Tables,
    chances: Chances,
    tournament: Tournament,
    lanes: Lanes,
    /// Junctions' lanes, then those of lookups and of segments.
    waiting: Vec<VecDeque<Item>>,
    /// The lane of each hop whose resource is a junction, or [`NONE`].
    lane_of: Vec<u32>,
    /// The lane of each port's lookups, and the ports in the order of their lanes.
    lookup_of: Vec<u32>,
    ports: Vec<PortId>,
    servers: Vec<Server>,
    /// Ports with traffic classes, in the order of their lanes, and the number of each port there.
    scheduled: Vec<Scheduled>,
    scheduled_of: Vec<u32>,
    answers: Vec<VecDeque<Instant>>,
    time_outs: Vec<VecDeque<(Instant, u32)>>,
    /// Shared media, and the ports on them.
    media: media::Media<'p>,
    events: u64,
}

/// Run a network, if it has nothing that only the reference knows.
pub(crate) fn run(
    compiled: &CompiledNetwork,
    trial: &Trial,
    watch: &Watch,
    tracing: bool,
) -> Option<Result<Traced, Error>> {
    let later = compiled.ports.iter().any(|port| port.buffer.is_some());
    if later || compiled.timings.iter().any(|timing| timing.coalesce.is_some()) {
        return None;
    }
    let retransmits =
        |flow: &Flow| flow.response.as_ref().is_some_and(|it| it.retransmit.is_some());
    if compiled.has_rebroadcast() || trial.scenario.flows.iter().any(retransmits) {
        return None;
    }
    let Junctions { mut lane_of, lanes: junctions, ordered: true } = Junctions::new(compiled)
    else {
        return None;
    };
    let mut scheduled = Vec::new();
    let on_medium = |port: &Port| if port.half_duplex { ON_MEDIUM } else { NONE };
    let mut scheduled_of: Vec<u32> = compiled.ports.iter().map(on_medium).collect();
    for (port, classes) in PortId::first(compiled.ports.len()).zip(&compiled.classes) {
        if let Some(classes) = classes {
            scheduled_of[port] = u32::try_from(scheduled.len()).expect("few ports");
            let queue = Scheduler::new(classes);
            scheduled.push(Scheduled { port, scheduler: queue, end: None, free: Instant::ZERO });
        }
    }
    let decisions = u32::try_from(scheduled.len()).expect("few ports");
    let media = media::Media::new(compiled);
    let cards = decisions + media.of_links();
    let first_junction = cards + media.card_count();
    lane_of.iter_mut().filter(|lane| **lane != NONE).for_each(|lane| *lane += first_junction);
    let junctions = first_junction + junctions;
    let applications = Applications::new(compiled, trial);
    let flows = applications.flow_count();
    let responses = || trial.scenario.flows.iter().filter_map(|flow| flow.response.as_ref());
    // Lanes that are always empty are not needed.
    let receivers = responses().next().map_or(0, |_| applications.receiver_count());
    let timed = responses().find(|response| response.timeout_ps.is_some()).map_or(0, |_| flows);
    let mut lookup_of = vec![NONE; compiled.ports.len()];
    let mut ports = Vec::new();
    for (id, port) in PortId::first(compiled.ports.len()).zip(&compiled.ports) {
        if matches!(compiled.nodes[port.node].role, Role::Switch(_) | Role::Router) {
            lookup_of[id] = junctions + u32::try_from(ports.len()).expect("few ports");
            ports.push(id);
        }
    }
    let transfers = applications.waking_count();
    let segments = junctions + u32::try_from(ports.len()).expect("few ports");
    let sends = segments + 2 * transfers;
    let others = sends + flows + receivers + timed + transfers;
    let lanes = Lanes {
        links: decisions,
        cards,
        junctions: first_junction,
        lookups: junctions,
        segments,
        sends,
        answers: sends + flows,
        time_outs: sends + flows + receivers,
        transfers: sends + flows + receivers + timed,
        media: others,
        all: others + media.of_stations(),
    };
    let server = |(resource, room): (usize, &Room)| Server {
        watched: resource < compiled.ports.len() || *room != ENDLESS,
        ..Server::default()
    };
    let mut fast = Fast {
        compiled,
        end: Instant::from_ps(compiled.phases.end_ps),
        counters: Counters::new(compiled, trial, applications.comparison_count(), tracing),
        tables: Tables::new(compiled),
        chances: Chances::new(compiled),
        tournament: Tournament::new(lanes.all as usize),
        lanes,
        waiting: vec![VecDeque::new(); sends as usize],
        lane_of,
        servers: compiled.rooms.iter().enumerate().map(server).collect(),
        answers: vec![VecDeque::new(); receivers as usize],
        time_outs: vec![VecDeque::new(); timed as usize],
        lookup_of,
        ports,
        scheduled,
        scheduled_of,
        media,
        events: 0,
        applications,
    };
    fast.begin();
    let mut poll = watch.begin(&compiled.phases);
    fast.run(&mut poll);
    Some(poll.check().map(|()| fast.finish()))
}

impl Fast<'_> {
    fn run(&mut self, poll: &mut Poll) {
        loop {
            let (now, lane) = self.tournament.first();
            if now >= self.end || !poll.goes_on(now) {
                return;
            }
            self.events += 1;
            if lane < self.lanes.junctions {
                if lane < self.lanes.links {
                    self.decide(now, lane);
                } else if lane < self.lanes.cards {
                    self.run_medium(now, lane, poll);
                } else {
                    self.tournament.set(lane, Instant::NEVER);
                    self.take_up(now, lane - self.lanes.cards);
                }
            } else if lane < self.lanes.sends {
                let item = self.take(lane);
                if lane < self.lanes.lookups || lane >= self.lanes.segments {
                    self.follow(item, true);
                } else {
                    self.look_up(item, self.ports[(lane - self.lanes.lookups) as usize]);
                }
            } else if lane < self.lanes.answers {
                self.tournament.park(lane);
                self.send(now, FlowId::from(lane - self.lanes.sends));
                // As a rule the next message is known by now, and the tournament played.
                if self.tournament.is_parked(lane) {
                    self.tournament.set(lane, Instant::NEVER);
                }
            } else if lane < self.lanes.time_outs {
                let receiver = ReceiverId::from(lane - self.lanes.answers);
                let times = &mut self.answers[receiver];
                times.pop_front();
                let next = times.front().copied().unwrap_or(Instant::NEVER);
                self.tournament.set(lane, next);
                self.answer(now, receiver);
            } else if lane < self.lanes.transfers {
                let flow = FlowId::from(lane - self.lanes.time_outs);
                let times = &mut self.time_outs[flow];
                let (_, message) = times.pop_front().expect("a time that is out");
                let next = times.front().map_or(Instant::NEVER, |t| t.0);
                self.tournament.set(lane, next);
                self.time_out(now, flow, message);
            } else if lane < self.lanes.media {
                self.wake(now, FlowId::from(lane - self.lanes.transfers));
            } else {
                self.run_medium(now, lane, poll);
            }
        }
    }

    #[inline]
    fn take(&mut self, lane: u32) -> Item {
        let waiting = &mut self.waiting[lane as usize];
        let item = waiting.pop_front().expect("the lane that is first");
        let next = waiting.front().map_or(Instant::NEVER, |item| item.ready);
        self.tournament.set(lane, next);
        item
    }

    #[inline]
    fn wait(&mut self, lane: u32, item: Item) {
        let waiting = &mut self.waiting[lane as usize];
        debug_assert!(
            waiting.back().is_none_or(|last| last.ready <= item.ready),
            "a lane keeps its order"
        );
        let first = waiting.is_empty();
        let ready = item.ready;
        waiting.push_back(item);
        if first {
            self.tournament.set(lane, ready);
        }
    }

    // Frames

    /// Follow a frame to the next junction, or to its end. `admitted`: it comes from the lane of
    /// the stage where it is.
    fn follow(&mut self, mut item: Item, mut admitted: bool) {
        loop {
            if item.ready >= self.end {
                return self.counters.in_flight(&item.frame);
            }
            let route = self.compiled.routes[item.route];
            if item.hop == route.after {
                match route.last {
                    Last::Port(port) => {
                        if !self.receive(&mut item, port) {
                            return;
                        }
                    }
                    Last::Lookup(port) => return self.wait(self.lookup_of[port], item),
                    Last::Host(_)
                        if !admitted && self.applications.goes_by_time(item.frame.flow) =>
                    {
                        return self.hand_over(item);
                    }
                    Last::Host(_) if item.complete >= self.end => {
                        return self.counters.in_flight(&item.frame);
                    }
                    Last::Host(host) => return self.deliver(item.complete, &item.frame, host),
                }
                continue;
            }
            let lane = self.lane_of[item.hop as usize];
            if lane != NONE && !admitted {
                return self.wait(lane, item);
            }
            admitted = false;
            if !self.serve(&mut item) {
                return;
            }
        }
    }

    /// A frame comes to a port. Whether that takes it in.
    #[inline]
    fn receive(&mut self, item: &mut Item, port: PortId) -> bool {
        item.route = self.compiled.reception(port);
        let reception = self.compiled.routes[item.route];
        if let Last::Host(host) = reception.last {
            if !self.applications.wants(&item.frame, host) {
                self.counters.lost(&item.frame, Loss::Ignored);
                return false;
            }
            self.applications.seen(&item.frame, item.complete, &mut self.counters);
        }
        item.hop = reception.first;
        true
    }

    /// What a transfer, or a comparison of clocks, does with a frame goes by the order of time.
    #[cold]
    fn hand_over(&mut self, mut item: Item) {
        item.ready = item.complete;
        let back = u32::from(item.frame.answer.is_some());
        self.wait(self.lanes.segments + 2 * item.frame.flow.number() + back, item);
    }

    /// A frame comes to a port with classes, or to one on a shared medium.
    #[inline(never)]
    fn wait_at_port(&mut self, item: Item, port: PortId) {
        match self.scheduled_of[port] {
            ON_MEDIUM => self.come_to_card(item, port),
            number => self.enqueue(item, number),
        }
    }

    /// A frame passes a stage, unless there is no room.
    #[inline]
    fn serve(&mut self, item: &mut Item) -> bool {
        let timing = *self.compiled.timing(item.hop);
        let resource = timing.resource;
        let octets = item.frame.octets;
        let port = self.compiled.port_of(resource);
        if let Some(port) = port
            && self.scheduled_of[port] != NONE
        {
            self.wait_at_port(*item, port);
            return false;
        }
        let server = &mut self.servers[resource];
        if server.watched {
            while let Some(&(leaves, octets)) = server.leaving.front() {
                if leaves > item.ready {
                    break;
                }
                server.octets -= u64::from(octets);
                server.leaving.pop_front();
            }
            let room = self.compiled.rooms[resource];
            let frames = server.leaving.len() as u64 + 1;
            if frames > room.frames || server.octets + u64::from(octets) > room.octets {
                if let Some(port) = port {
                    self.counters.ports[port].dropped +=
                        u64::from(self.counters.within(item.ready));
                }
                self.counters.lost(&item.frame, Loss::Queue);
                return false;
            }
            if let Some(port) = port {
                let octets = server.octets + u64::from(octets);
                self.counters.held(port, Room { frames, octets });
            }
        }
        let timing = timing.longer(self.chances.draw(&timing));
        let (start, end) = timing.serve(octets, item.ready, item.complete, server.free);
        server.free = end.saturating_add(timing.gap);
        let free = server.free;
        if server.watched {
            server.leaving.push_back((end, octets));
            server.octets += u64::from(octets);
        }
        if let Some(port) = port.filter(|_| end < self.end) {
            self.counters.port_sent(port, octets, start, end);
        }
        self.pass(&item.frame, (item.route, item.hop), end, free);
        (item.ready, item.complete) = timing.pass_on(octets, start, end);
        item.hop += 1;
        true
    }

    /// A frame comes to its class at a port.
    fn enqueue(&mut self, item: Item, number: u32) {
        let compiled = self.compiled;
        let it = &mut self.scheduled[number as usize];
        let now = item.ready;
        it.settle(now);
        let classes = compiled.classes[it.port].as_ref().expect("a port with classes");
        let octets = item.frame.octets;
        let waiting = Waiting {
            item,
            octets,
            volume: compiled.volume(it.port, octets).0,
            begin: compiled
                .timing(item.hop)
                .serve(octets, now, item.complete, Instant::ZERO)
                .0
                .ps(),
        };
        let class = classes.class_of(compiled.priority(&item.frame));
        if it.scheduler.push(classes, class, now.ps(), waiting) {
            self.counters.held(it.port, it.scheduler.held());
            if it.free <= now {
                self.decide(now, number);
            } else {
                self.tournament.set(number, it.free);
            }
        } else {
            self.counters.ports[it.port].dropped += u64::from(self.counters.within(now));
            self.counters.lost(&item.frame, Loss::Queue);
        }
    }

    /// A port with classes, which is free, sends its next frame, or waits.
    fn decide(&mut self, now: Instant, number: u32) {
        let compiled = self.compiled;
        let it = &mut self.scheduled[number as usize];
        it.settle(now);
        let port = it.port;
        let classes = compiled.classes[port].as_ref().expect("a port with classes");
        let class = match it.scheduler.next(classes, now.ps()) {
            Next::Send(class) => class,
            Next::At(at) => {
                return self.tournament.set(number, Instant::saturating_from_ps(at));
            }
            Next::Nothing => return self.tournament.set(number, Instant::NEVER),
        };
        let mut item = *it.scheduler.first(class);
        let octets = item.frame.octets;
        let timing = *compiled.timing(item.hop);
        let (start, end) = timing.serve(octets, item.ready, item.complete, now);
        let free = end.saturating_add(timing.gap);
        it.scheduler.pop(classes, class, now.ps(), free.ps());
        (it.end, it.free) = (Some(end), free);
        let is_empty = it.scheduler.waiting().next().is_none();
        self.tournament.set(number, if is_empty { Instant::NEVER } else { free });
        if end < self.end {
            self.counters.port_sent(port, octets, start, end);
        }
        self.pass(&item.frame, (item.route, item.hop), end, free);
        (item.ready, item.complete) = timing.pass_on(octets, start, end);
        item.hop += 1;
        self.follow(item, false);
    }

    fn look_up(&mut self, mut item: Item, port: PortId) {
        let forwarding = self.tables.lookup(self.compiled, port, &mut item.frame, item.ready);
        let (compiled, frame) = (self.compiled, item.frame);
        let mut go = |fast: &mut Self, route: RouteId| {
            item.route = route;
            item.frame.samples = frame.samples;
            compiled.copied(&mut item.frame, item.route);
            item.hop = compiled.routes[item.route].first;
            let is_at_card = fast.is_at_card(item.hop);
            fast.follow(item, is_at_card);
        };
        let at = compiled.ports[port];
        let node = &compiled.nodes[at.node];
        let count = node.ports.len();
        match forwarding {
            Forwarding::Port(out) => {
                let first = at.local as usize * count;
                go(self, node.forward[first + compiled.ports[out].local as usize]);
            }
            Forwarding::Flood if count > 1 => {
                self.counters.copied(&frame, count as u64 - 2);
                compiled.flooding(port).0.for_each(|route| go(self, route));
            }
            Forwarding::Flood | Forwarding::Drop => self.counters.lost(&frame, Loss::Filtered),
        }
    }

    fn finish(mut self) -> Traced {
        for item in self.waiting.iter().flatten() {
            self.counters.in_flight(&item.frame);
        }
        for mut it in std::mem::take(&mut self.scheduled) {
            it.settle(self.end - Span::PICOSECOND);
            for waiting in it.scheduler.waiting() {
                self.counters.in_flight(&waiting.item.frame);
            }
            self.counters.ports[it.port].classes = it.scheduler.counts();
        }
        let on_media = self.finish_media();
        let mut traced = Traced::new(
            self.compiled,
            self.counters,
            &mut self.applications,
            self.tables.flooded,
            self.events,
        );
        on_media.give(&mut traced.counts);
        traced
    }
}

impl Hosts for Fast<'_> {
    #[inline]
    fn parts(&mut self) -> (&CompiledNetwork, &mut Applications, &mut Counters) {
        (self.compiled, &mut self.applications, &mut self.counters)
    }

    #[inline]
    fn schedule_send(&mut self, flow: FlowId, at: Instant) {
        self.tournament.set(self.lanes.sends + flow.number(), at);
    }

    fn schedule_answer(&mut self, receiver: ReceiverId, at: Instant) {
        let times = &mut self.answers[receiver];
        times.push_back(at);
        let first = times[0];
        self.tournament.set(self.lanes.answers + receiver.number(), first);
    }

    fn schedule_time_out(&mut self, flow: FlowId, message: u32, at: Instant) {
        let times = &mut self.time_outs[flow];
        times.push_back((at, message));
        let next = times[0].0;
        self.tournament.set(self.lanes.time_outs + flow.number(), next);
    }

    fn schedule_wake(&mut self, flow: FlowId) {
        let next = self.applications.wakes(flow).unwrap_or(Instant::NEVER);
        self.tournament.set(self.lanes.transfers + flow.number(), next);
    }

    #[inline]
    fn put_in(&mut self, now: Instant, route: RouteId, frame: Frame) {
        self.counters.sent(&frame);
        let hop = self.compiled.routes[route].first;
        let is_at_card = self.is_at_card(hop);
        self.follow(Item { frame, route, hop, ready: now, complete: now }, is_at_card);
    }
}
