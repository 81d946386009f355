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
//! What frames of a transfer, or of requests that are sent again, bring about at a host depends on
//! what else has happened by then. So they wait in lanes before it.
//!
//! PAUSE, memory of ports and interrupts for several frames make departures depend on what comes
//! later; such networks are the reference's. So are those whose hosts send broadcasts again, for
//! these enter a route when others come in, and requests that are sent again to a group or answered
//! to one, whose copies overtake each other.

mod media;
mod server;
mod steps;
mod tournament;

use super::Traced;
use super::applications::Applications;
use super::chances::Chances;
use super::compiled::{CompiledNetwork, ENDLESS, NONE, Port, Role};
use super::counters::{Counters, count_held, count_sent};
use super::frame::{Frame, Loss};
use super::hosts::Hosts;
use super::junctions::Junctions;
use super::learning_table::{Forwarding, Tables};
use crate::error::Error;
use crate::identity::{FlowId, NodeId, PortId, ReceiverId, RouteId};
use crate::time::{Instant, Span};
use crate::watch::{Poll, Watch};
use ethermeter_traffic::scheduler::{Next, Room, Scheduler, Waiting};
use ethermeter_trial::Trial;
use ethermeter_trial::flows::{Address, Flow, Response};
use server::Server;
use std::collections::VecDeque;
use steps::{Stage, Start, Step, Steps};
use tournament::Tournament;

#[derive(Clone, Copy, Debug)]
struct Item {
    frame: Frame,
    step: u32,
    ready: Instant,
    complete: Instant,
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
    /// Of each flow's frames to its receiver, and back, where they go by time.
    deliveries: u32,
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
    steps: &'p Steps,
    end: Instant,
    applications: Applications,
    counters: Counters,
    tables: Tables,
    chances: Chances,
    tournament: Tournament,
    lanes: Lanes,
    /// Junctions' lanes, then those of lookups and of deliveries.
    waiting: Vec<VecDeque<Item>>,
    /// The ports that look up, in the order of their lanes.
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
    let is_sent_again_to_group = |flow: &Flow| {
        let answers = flow.response.as_ref().filter(|it| it.retransmit.is_some());
        let is_to_group = |it: &Response| it.address != Address::Unicast;
        answers.is_some_and(|it| flow.address != Address::Unicast || is_to_group(it))
    };
    if compiled.has_rebroadcast() || trial.scenario.flows.iter().any(is_sent_again_to_group) {
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
    let is_timed = |it: &&Response| it.timeout_ps.is_some() || it.retransmit.is_some();
    let timed = responses().find(is_timed).map_or(0, |_| flows);
    let mut lookup_of = vec![NONE; compiled.ports.len()];
    let mut ports = Vec::new();
    for (id, port) in PortId::first(compiled.ports.len()).zip(&compiled.ports) {
        if matches!(compiled.nodes[port.node].role, Role::Switch(_) | Role::Router) {
            lookup_of[id] = junctions + u32::try_from(ports.len()).expect("few ports");
            ports.push(id);
        }
    }
    let transfers = applications.waking_count();
    let deliveries = junctions + u32::try_from(ports.len()).expect("few ports");
    let sends = deliveries + 2 * applications.by_time_count();
    let others = sends + flows + receivers + timed + transfers;
    let lanes = Lanes {
        links: decisions,
        cards,
        junctions: first_junction,
        lookups: junctions,
        deliveries,
        sends,
        answers: sends + flows,
        time_outs: sends + flows + receivers,
        transfers: sends + flows + receivers + timed,
        media: others,
        all: others + media.of_stations(),
    };
    let server = |(resource, room): (usize, &Room)| {
        Server::new(resource < compiled.ports.len() || *room != ENDLESS, *room)
    };
    let steps = Steps::new(compiled, &lane_of, &lookup_of);
    let mut fast = Fast {
        compiled,
        steps: &steps,
        end: Instant::from_ps(compiled.phases.end_ps),
        counters: Counters::new(compiled, trial, applications.comparison_count(), tracing),
        tables: Tables::new(compiled),
        chances: Chances::new(compiled),
        tournament: Tournament::new(lanes.all as usize),
        lanes,
        waiting: vec![VecDeque::new(); sends as usize],
        servers: compiled.rooms.iter().enumerate().map(server).collect(),
        answers: vec![VecDeque::new(); receivers as usize],
        time_outs: vec![VecDeque::new(); timed as usize],
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
                let mut item = self.take(lane);
                if lane < self.lanes.lookups || lane >= self.lanes.deliveries {
                    self.follow(&mut item, true);
                } else {
                    self.look_up(&mut item, self.ports[(lane - self.lanes.lookups) as usize]);
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
        let item = waiting[0];
        waiting.pop_front();
        let next = waiting.front().map_or(Instant::NEVER, |item| item.ready);
        self.tournament.set(lane, next);
        item
    }

    #[inline]
    fn wait(&mut self, lane: u32, item: &Item) {
        let waiting = &mut self.waiting[lane as usize];
        debug_assert!(
            waiting.back().is_none_or(|last| last.ready <= item.ready),
            "a lane keeps its order"
        );
        let first = waiting.is_empty();
        let ready = item.ready;
        waiting.push_back(*item);
        if first {
            self.tournament.set(lane, ready);
        }
    }

    // Frames

    /// Follow a frame to the next junction, or to its end. `admitted`: it comes from the lane of
    /// the stage where it is.
    fn follow(&mut self, item: &mut Item, mut admitted: bool) {
        let steps = self.steps;
        loop {
            if item.ready >= self.end {
                return self.counters.in_flight(&item.frame);
            }
            match steps.at(item.step) {
                Step::Stage(stage) => {
                    if stage.lane != NONE && !admitted {
                        return self.wait(stage.lane, item);
                    }
                    admitted = false;
                    if !self.serve(stage, item) {
                        return;
                    }
                }
                Step::Port(first) => item.step = *first,
                Step::Card(host, first) => {
                    item.step = *first;
                    if !self.take_in(item, *host) {
                        return;
                    }
                }
                Step::Hub => unreachable!("hubs' ports look nothing up"),
                Step::Lookup(lane) => return self.wait(*lane, item),
                Step::Host(_) if !admitted && self.applications.goes_by_time(item.frame.flow) => {
                    return self.hand_over(item);
                }
                Step::Host(_) if item.complete >= self.end => {
                    return self.counters.in_flight(&item.frame);
                }
                Step::Host(host) => return self.deliver(item.complete, &item.frame, *host),
            }
        }
    }

    /// A frame comes to the card of a host. Whether that takes it in.
    #[inline]
    fn take_in(&mut self, item: &Item, host: NodeId) -> bool {
        let wants = self.applications.wants(&item.frame, host);
        if wants {
            self.applications.seen(&item.frame, item.complete, &mut self.counters);
        } else {
            self.counters.lost(&item.frame, Loss::Ignored);
        }
        wants
    }

    /// What a frame brings about at its host goes by the order of time.
    #[cold]
    fn hand_over(&mut self, item: &mut Item) {
        item.ready = item.complete;
        let back = u32::from(item.frame.answer.is_some());
        self.wait(self.lanes.deliveries + 2 * item.frame.flow.number() + back, item);
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
    fn serve(&mut self, stage: &Stage, item: &mut Item) -> bool {
        if stage.has_queue {
            let port = stage.port.expect("only ports have queues");
            self.wait_at_port(*item, port);
            return false;
        }
        let octets = item.frame.octets;
        let server = &mut self.servers[stage.timing.resource];
        let window = self.counters.window.clone();
        let mut counts = stage.port.map(|port| &mut self.counters.ports[port]);
        if server.watched {
            let held = server.held_with(octets, item.ready);
            if !server.has_room(held) {
                if let Some(counts) = counts {
                    counts.dropped += u64::from(window.contains(&item.ready));
                }
                self.counters.lost(&item.frame, Loss::Queue);
                return false;
            }
            if let Some(counts) = &mut counts {
                count_held(counts, held);
            }
        }
        let longer;
        let mut timing = &stage.timing;
        if timing.random.is_some() {
            longer = timing.longer(self.chances.draw(timing));
            timing = &longer;
        }
        let (start, end) = timing.serve(octets, item.ready, item.complete, server.free);
        let free = end.saturating_add(timing.gap);
        server.free = free;
        if server.watched {
            server.hold(octets, end);
        }
        if let Some(counts) = counts.filter(|_| end < self.end) {
            count_sent(counts, &window, octets, start, end);
        }
        self.leave(&item.frame, stage.is_first.then_some(free), stage.is_last.then_some(end));
        (item.ready, item.complete) = timing.pass_on(octets, start, end);
        item.step += 1;
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
        let timing = &self.steps.stage(item.step).timing;
        let waiting = Waiting {
            item,
            octets,
            volume: compiled.volume(it.port, octets).0,
            begin: timing.serve(octets, now, item.complete, Instant::ZERO).0.ps(),
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
        let stage = self.steps.stage(item.step);
        let timing = &stage.timing;
        let (start, end) = timing.serve(octets, item.ready, item.complete, now);
        let free = end.saturating_add(timing.gap);
        it.scheduler.pop(classes, class, now.ps(), free.ps());
        (it.end, it.free) = (Some(end), free);
        let is_empty = it.scheduler.waiting().next().is_none();
        self.tournament.set(number, if is_empty { Instant::NEVER } else { free });
        if end < self.end {
            self.counters.port_sent(port, octets, start, end);
        }
        self.leave(&item.frame, stage.is_first.then_some(free), stage.is_last.then_some(end));
        (item.ready, item.complete) = timing.pass_on(octets, start, end);
        item.step += 1;
        self.follow(&mut item, false);
    }

    fn look_up(&mut self, item: &mut Item, port: PortId) {
        let compiled = self.compiled;
        let at = &compiled.ports[port];
        let place = (at.node, port);
        let forwarding = self.tables.lookup(compiled, place, &mut item.frame, item.ready);
        let node = &compiled.nodes[at.node];
        let count = node.ports.len();
        match forwarding {
            Forwarding::Port(out) => {
                let first = at.local as usize * count;
                let route = node.forward[first + compiled.ports[out].local as usize];
                self.forward(item, route);
            }
            Forwarding::Flood if count > 1 => {
                self.counters.copied(&item.frame, count as u64 - 2);
                compiled.flooding(port).0.for_each(|route| self.forward(&mut item.clone(), route));
            }
            Forwarding::Flood | Forwarding::Drop => {
                self.counters.lost(&item.frame, Loss::Filtered);
            }
        }
    }

    /// A frame, or a copy of it, goes this route out of a switch or router.
    #[inline]
    fn forward(&mut self, item: &mut Item, route: RouteId) {
        self.compiled.copied(&mut item.frame, route);
        let Start { step, is_at_card } = self.steps.start(route);
        item.step = step;
        self.follow(item, is_at_card);
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
            self.tables.flooded(),
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
        // The wait is shorter again after a request that was answered at once.
        let earlier = times.partition_point(|time| time.0 <= at);
        times.insert(earlier, (at, message));
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
        let Start { step, is_at_card } = self.steps.start(route);
        self.follow(&mut Item { frame, step, ready: now, complete: now }, is_at_card);
    }
}
