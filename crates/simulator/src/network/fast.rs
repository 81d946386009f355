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
//! PAUSE, memory of ports, half-duplex links and interrupts for several frames make departures
//! depend on what comes later; such networks are the reference's.

use super::Traced;
use super::applications::{Applications, Reaction};
use super::compiled::{CompiledNetwork, ENDLESS, Last, NONE, Role};
use super::counters::Counters;
use super::frame::{Frame, Loss};
use super::junctions::Junctions;
use super::table::{Forwarding, Tables};
use crate::error::Error;
use crate::watch::{Poll, Watch};
use ethermeter_traffic::scheduler::{Next, Room, Scheduler, Waiting};
use ethermeter_trial::Trial;
use std::collections::VecDeque;

const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Item {
    frame: Frame,
    route: u32,
    hop: u32,
    ready: u64,
    complete: u64,
}

/// Who is first: a tournament tree over the times of lanes; of equals, the lane with the lower
/// number.
#[derive(Debug)]
struct Tournament {
    leaves: usize,
    /// Time and lane of the winner of each subtree; leaves from `leaves` on.
    nodes: Vec<(u64, u32)>,
}

impl Tournament {
    fn new(lanes: usize) -> Self {
        let leaves = lanes.next_power_of_two().max(2);
        let mut nodes = vec![(NEVER, 0); 2 * leaves];
        for (lane, node) in nodes[leaves..].iter_mut().enumerate() {
            node.1 = u32::try_from(lane).expect("few lanes");
        }
        Self { leaves, nodes }
    }

    #[inline]
    fn first(&self) -> (u64, u32) {
        self.nodes[1]
    }

    /// A lane's time is over; it is set before the first lane is looked up.
    #[inline]
    fn park(&mut self, lane: u32) {
        self.nodes[self.leaves + lane as usize].0 = NEVER;
    }

    #[inline]
    fn is_parked(&self, lane: u32) -> bool {
        self.nodes[self.leaves + lane as usize].0 == NEVER
    }

    #[inline]
    fn set(&mut self, lane: u32, time: u64) {
        let mut at = self.leaves + lane as usize;
        let mut winner = (time, lane);
        self.nodes[at] = winner;
        while at > 1 {
            // The winner of the other half wins if it is earlier, or as early and to the left.
            let other = self.nodes[at ^ 1];
            let beaten = other.0 < winner.0 || (other.0 == winner.0 && at & 1 == 1);
            winner = if beaten { other } else { winner };
            at >>= 1;
            self.nodes[at] = winner;
        }
    }
}

/// When a resource is free, and when those that are in it leave.
#[derive(Clone, Debug, Default)]
struct Server {
    free: u64,
    watched: bool,
    leaving: VecDeque<(u64, u32)>,
    octets: u64,
}

/// A port with traffic classes.
#[derive(Debug)]
struct Scheduled {
    port: u32,
    scheduler: Scheduler<Item>,
    /// When the last bit of the frame that is being sent is out; it may have left since.
    end: Option<u64>,
    free: u64,
}

/// Lanes by what is in them, in this order.
#[derive(Clone, Copy, Debug)]
struct Lanes {
    /// Those before are decisions of ports with classes.
    junctions: u32,
    lookups: u32,
    /// Of each flow's segments to its receiver, and back.
    segments: u32,
    sends: u32,
    answers: u32,
    time_outs: u32,
    transfers: u32,
    all: u32,
}

impl Scheduled {
    /// Let the frame that was sent leave, if it has by now.
    fn settle(&mut self, now: u64) {
        if self.end.is_some_and(|end| end <= now) {
            self.end = None;
            self.scheduler.left();
        }
    }
}

struct Fast<'p> {
    compiled: &'p CompiledNetwork,
    end: u64,
    applications: Applications,
    counters: Counters,
    tables: Tables,
    tournament: Tournament,
    lanes: Lanes,
    /// Junctions' lanes, then those of lookups and of segments.
    waiting: Vec<VecDeque<Item>>,
    /// The lane of each hop whose resource is a junction, or [`NONE`].
    lane_of: Vec<u32>,
    /// The lane of each port's lookups, and the ports in the order of their lanes.
    lookup_of: Vec<u32>,
    ports: Vec<u32>,
    servers: Vec<Server>,
    /// Ports with traffic classes, in the order of their lanes, and the number of each port there.
    scheduled: Vec<Scheduled>,
    scheduled_of: Vec<u32>,
    answers: Vec<VecDeque<u64>>,
    time_outs: Vec<VecDeque<(u64, u32)>>,
    events: u64,
}

/// Run a network, if it has nothing that only the reference knows.
pub(super) fn run(
    compiled: &CompiledNetwork,
    trial: &Trial,
    watch: &Watch,
    tracing: bool,
) -> Option<Result<Traced, Error>> {
    let later = compiled.ports.iter().any(|port| port.half_duplex || port.buffer.is_some());
    if later || compiled.timings.iter().any(|timing| timing.coalesce.is_some()) {
        return None;
    }
    let Junctions { mut lane_of, lanes: junctions, ordered: true } = Junctions::new(compiled)
    else {
        return None;
    };
    let mut scheduled = Vec::new();
    let mut scheduled_of = vec![NONE; compiled.ports.len()];
    for (port, classes) in (0..).zip(&compiled.classes) {
        if let Some(classes) = classes {
            scheduled_of[port as usize] = u32::try_from(scheduled.len()).expect("few ports");
            let queue = Scheduler::new(classes);
            scheduled.push(Scheduled { port, scheduler: queue, end: None, free: 0 });
        }
    }
    let decisions = u32::try_from(scheduled.len()).expect("few ports");
    lane_of.iter_mut().filter(|lane| **lane != NONE).for_each(|lane| *lane += decisions);
    let junctions = decisions + junctions;
    let applications = Applications::new(compiled, trial);
    let flows = applications.flow_count();
    let responses = || trial.scenario.flows.iter().filter_map(|flow| flow.response.as_ref());
    // Lanes that are always empty are not needed.
    let receivers = responses().next().map_or(0, |_| applications.receiver_count());
    let timed = responses().find(|response| response.timeout_ps.is_some()).map_or(0, |_| flows);
    let mut lookup_of = vec![NONE; compiled.ports.len()];
    let mut ports = Vec::new();
    for (id, port) in (0..).zip(&compiled.ports) {
        if matches!(compiled.nodes[port.node as usize].role, Role::Switch(_) | Role::Router) {
            lookup_of[id as usize] = junctions + u32::try_from(ports.len()).expect("few ports");
            ports.push(id);
        }
    }
    let transfers = applications.waking_count();
    let segments = junctions + u32::try_from(ports.len()).expect("few ports");
    let sends = segments + 2 * transfers;
    let lanes = Lanes {
        junctions: decisions,
        lookups: junctions,
        segments,
        sends,
        answers: sends + flows,
        time_outs: sends + flows + receivers,
        transfers: sends + flows + receivers + timed,
        all: sends + flows + receivers + timed + transfers,
    };
    let server = |(resource, room): (usize, &Room)| Server {
        watched: resource < compiled.ports.len() || *room != ENDLESS,
        ..Server::default()
    };
    let mut fast = Fast {
        compiled,
        end: compiled.phases.end_ps,
        counters: Counters::new(compiled, trial, applications.comparison_count(), tracing),
        tables: Tables::new(compiled),
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
        events: 0,
        applications,
    };
    for flow in 0..flows {
        fast.schedule(flow, fast.applications.next(flow));
    }
    for flow in 0..transfers {
        fast.schedule_transfer(flow);
    }
    let mut poll = watch.begin(compiled.phases.begin_ps, compiled.phases.end_ps);
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
                self.decide(now, lane);
            } else if lane < self.lanes.sends {
                let item = self.take(lane);
                if lane < self.lanes.lookups || lane >= self.lanes.segments {
                    self.follow(item, true);
                } else {
                    self.look_up(item, self.ports[(lane - self.lanes.lookups) as usize]);
                }
            } else if lane < self.lanes.answers {
                self.send(now, lane - self.lanes.sends);
            } else if lane < self.lanes.time_outs {
                self.answer(now, lane - self.lanes.answers);
            } else if lane < self.lanes.transfers {
                self.time_out(now, lane - self.lanes.time_outs);
            } else {
                let flow = lane - self.lanes.transfers;
                self.applications.wake(flow, now, &mut self.counters);
                self.transfer(now, flow);
            }
        }
    }

    #[inline]
    fn take(&mut self, lane: u32) -> Item {
        let waiting = &mut self.waiting[lane as usize];
        let item = waiting.pop_front().expect("the lane that is first");
        let next = waiting.front().map_or(NEVER, |item| item.ready);
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

    #[inline]
    fn schedule(&mut self, flow: u32, next: Option<u64>) {
        if let Some(at) = next {
            self.tournament.set(self.lanes.sends + flow, at);
        }
    }

    // Applications

    fn send(&mut self, now: u64, flow: u32) {
        let lane = self.lanes.sends + flow;
        self.tournament.park(lane);
        let route = self.compiled.nodes[self.applications.sender(flow) as usize].send;
        // A message is one frame, as a rule: the first needs no list.
        let mut first = None;
        let mut more = Vec::new();
        let wait = self.applications.send(flow, now, |frame| match first {
            None => first = Some(frame),
            Some(_) => more.push(frame),
        });
        self.schedule(flow, self.applications.next_release(flow));
        if let Some((at, message)) = wait {
            let times = &mut self.time_outs[flow as usize];
            times.push_back((at, message));
            let next = times[0].0;
            self.tournament.set(self.lanes.time_outs + flow, next);
        }
        if let Some(frame) = first {
            self.put_in(now, route, frame);
        }
        for frame in more {
            self.put_in(now, route, frame);
        }
        // As a rule the next message is known by now, and the tournament played.
        if self.tournament.is_parked(lane) {
            self.tournament.set(lane, NEVER);
        }
    }

    fn answer(&mut self, now: u64, receiver: u32) {
        let times = &mut self.answers[receiver as usize];
        times.pop_front();
        let next = times.front().copied().unwrap_or(NEVER);
        self.tournament.set(self.lanes.answers + receiver, next);
        let route = self.compiled.nodes[self.applications.host_of(receiver) as usize].send;
        let mut frames = Vec::new();
        self.applications.answer(receiver, now, |frame| frames.push(frame));
        for frame in frames {
            self.put_in(now, route, frame);
        }
    }

    fn time_out(&mut self, now: u64, flow: u32) {
        let times = &mut self.time_outs[flow as usize];
        let (_, message) = times.pop_front().expect("a time that is out");
        let next = times.front().map_or(NEVER, |t| t.0);
        self.tournament.set(self.lanes.time_outs + flow, next);
        let next = self.applications.time_out(flow, message, now, &mut self.counters);
        self.schedule(flow, next);
    }

    /// Send what a transfer, or a comparison of clocks, has to send.
    #[cold]
    fn transfer(&mut self, now: u64, flow: u32) {
        while let Some((host, frame)) = self.applications.take_frame(flow, now) {
            self.put_in(now, self.compiled.nodes[host as usize].send, frame);
        }
        self.schedule_transfer(flow);
    }

    fn schedule_transfer(&mut self, flow: u32) {
        let next = self.applications.wakes(flow).unwrap_or(NEVER);
        self.tournament.set(self.lanes.transfers + flow, next);
    }

    #[inline]
    fn put_in(&mut self, now: u64, route: u32, frame: Frame) {
        self.counters.sent(&frame);
        let hop = self.compiled.routes[route as usize].first;
        self.follow(Item { frame, route, hop, ready: now, complete: now }, false);
    }

    // Frames

    /// Follow a frame to the next junction, or to its end. `admitted`: it comes from the lane of
    /// the stage where it is.
    fn follow(&mut self, mut item: Item, mut admitted: bool) {
        loop {
            if item.ready >= self.end {
                return self.counters.in_flight(&item.frame);
            }
            let route = self.compiled.routes[item.route as usize];
            if item.hop == route.after {
                match route.last {
                    Last::Port(port) => {
                        item.route = self.compiled.ports[port as usize].reception;
                        let reception = self.compiled.routes[item.route as usize];
                        if let Last::Host(host) = reception.last {
                            if !self.applications.wants(&item.frame, host) {
                                return self.counters.lost(&item.frame, Loss::Ignored);
                            }
                            self.applications.seen(&item.frame, item.complete, &mut self.counters);
                        }
                        item.hop = reception.first;
                    }
                    Last::Lookup(port) => return self.wait(self.lookup_of[port as usize], item),
                    Last::Host(_)
                        if !admitted && self.applications.goes_by_time(item.frame.flow) =>
                    {
                        return self.hand_over(item);
                    }
                    Last::Host(host) => return self.deliver(&item, host),
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

    /// What a transfer, or a comparison of clocks, does with a frame goes by the order of time.
    #[cold]
    fn hand_over(&mut self, mut item: Item) {
        item.ready = item.complete;
        let back = u32::from(item.frame.answer.is_some());
        self.wait(self.lanes.segments + 2 * item.frame.flow + back, item);
    }

    /// A frame passes a stage, unless there is no room.
    #[inline]
    fn serve(&mut self, item: &mut Item) -> bool {
        let timing = *self.compiled.timing(item.hop);
        let resource = timing.resource as usize;
        let octets = item.frame.octets;
        let wire = resource < self.compiled.ports.len();
        if wire && self.scheduled_of[resource] != NONE {
            self.enqueue(*item, self.scheduled_of[resource]);
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
                if wire {
                    self.counters.ports[resource].dropped +=
                        u64::from(self.counters.within(item.ready));
                }
                self.counters.lost(&item.frame, Loss::Queue);
                return false;
            }
            if wire {
                let octets = server.octets + u64::from(octets);
                self.counters.held(timing.resource, Room { frames, octets });
            }
        }
        let (start, end) = timing.serve(octets, item.ready, item.complete, server.free);
        server.free = end.saturating_add(timing.gap);
        let free = server.free;
        if server.watched {
            server.leaving.push_back((end, octets));
            server.octets += u64::from(octets);
        }
        if wire && end < self.end {
            self.counters.port_sent(timing.resource, octets, start, end);
        }
        if item.route == self.compiled.nodes[item.frame.from as usize].send {
            self.on_host_route(item, end, free);
        }
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
        let classes = compiled.classes[it.port as usize].as_ref().expect("a port with classes");
        let octets = item.frame.octets;
        let waiting = Waiting {
            item,
            octets,
            volume: compiled.volume(it.port, octets),
            begin: compiled.timing(item.hop).serve(octets, now, item.complete, 0).0,
        };
        let class = classes.class_of(compiled.priority(&item.frame));
        if it.scheduler.push(classes, class, now, waiting) {
            self.counters.held(it.port, it.scheduler.held());
            if it.free <= now {
                self.decide(now, number);
            } else {
                self.tournament.set(number, it.free);
            }
        } else {
            self.counters.ports[it.port as usize].dropped += u64::from(self.counters.within(now));
            self.counters.lost(&item.frame, Loss::Queue);
        }
    }

    /// A port with classes, which is free, sends its next frame, or waits.
    fn decide(&mut self, now: u64, number: u32) {
        let compiled = self.compiled;
        let it = &mut self.scheduled[number as usize];
        it.settle(now);
        let port = it.port;
        let classes = compiled.classes[port as usize].as_ref().expect("a port with classes");
        let class = match it.scheduler.next(classes, now) {
            Next::Send(class) => class,
            Next::At(at) => return self.tournament.set(number, at),
            Next::Nothing => return self.tournament.set(number, NEVER),
        };
        let mut item = *it.scheduler.first(class);
        let octets = item.frame.octets;
        let timing = *compiled.timing(item.hop);
        let (start, end) = timing.serve(octets, item.ready, item.complete, now);
        let free = end.saturating_add(timing.gap);
        it.scheduler.pop(classes, class, now, free);
        (it.end, it.free) = (Some(end), free);
        let is_empty = it.scheduler.waiting().next().is_none();
        self.tournament.set(number, if is_empty { NEVER } else { free });
        if end < self.end {
            self.counters.port_sent(port, octets, start, end);
        }
        if item.route == compiled.nodes[item.frame.from as usize].send {
            self.on_host_route(&item, end, free);
        }
        (item.ready, item.complete) = timing.pass_on(octets, start, end);
        item.hop += 1;
        self.follow(item, false);
    }

    #[inline]
    fn on_host_route(&mut self, item: &Item, end: u64, free: u64) {
        let route = self.compiled.routes[item.route as usize];
        if item.hop == route.first {
            let next = self.applications.passed(&item.frame, free);
            self.schedule(item.frame.flow, next);
        }
        if item.hop + 1 == route.after {
            let next = self.applications.departed(&item.frame, end);
            self.schedule(item.frame.flow, next);
        }
    }

    fn look_up(&mut self, mut item: Item, port: u32) {
        let forwarding = self.tables.lookup(self.compiled, port, &mut item.frame, item.ready);
        let at = self.compiled.ports[port as usize];
        let node = &self.compiled.nodes[at.node as usize];
        let count = node.ports.len();
        let first = at.local as usize * count;
        let (compiled, frame) = (self.compiled, item.frame);
        let mut go = |fast: &mut Self, local: usize| {
            item.route = node.forward[first + local];
            item.frame.samples = frame.samples;
            compiled.copied(&mut item.frame, item.route);
            item.hop = compiled.routes[item.route as usize].first;
            fast.follow(item, false);
        };
        match forwarding {
            Forwarding::Port(out) => go(self, self.compiled.ports[out as usize].local as usize),
            Forwarding::Flood if count > 1 => {
                self.counters.copied(&frame, count as u64 - 2);
                (0..count)
                    .filter(|local| *local != at.local as usize)
                    .for_each(|local| go(self, local));
            }
            Forwarding::Flood | Forwarding::Drop => self.counters.lost(&frame, Loss::Filtered),
        }
    }

    #[inline]
    fn deliver(&mut self, item: &Item, host: u32) {
        let (frame, now) = (&item.frame, item.complete);
        if now >= self.end {
            return self.counters.in_flight(frame);
        }
        self.counters.trace(frame, host, now);
        match self.applications.deliver(frame, host, now, &mut self.counters) {
            Reaction::Nothing => {}
            Reaction::Next { flow, at } => self.schedule(flow, Some(at)),
            Reaction::Transfer => self.transfer(now, item.frame.flow),
            Reaction::Answer { receiver, at } => {
                let times = &mut self.answers[receiver as usize];
                times.push_back(at);
                let first = times[0];
                self.tournament.set(self.lanes.answers + receiver, first);
            }
        }
    }

    fn finish(mut self) -> Traced {
        for item in self.waiting.iter().flatten() {
            self.counters.in_flight(&item.frame);
        }
        for mut it in std::mem::take(&mut self.scheduled) {
            it.settle(self.end - 1);
            for waiting in it.scheduler.waiting() {
                self.counters.in_flight(&waiting.item.frame);
            }
            self.counters.ports[it.port as usize].classes = it.scheduler.counts();
        }
        Traced::new(
            self.compiled,
            self.counters,
            &mut self.applications,
            self.tables.flooded,
            self.events,
        )
    }
}
