//! A network event by event. Written to be read, and the only one that knows PAUSE, memory of
//! ports, shared media, and interrupts for several frames.
//!
//! Each resource has a queue. A frame *arrives* at a stage, waits, is served, has *left* when its
//! last bit has, and the resource is *free* again after the gap. Events of one instant are taken in
//! the order of their rank: what leaves makes room for what arrives.

mod event;
mod memory;
mod next_events;
mod segment;

use super::Traced;
use super::applications::Applications;
use super::chances::Chances;
use super::compiled::{CompiledNetwork, Last};
use super::counters::Counters;
use super::frame::{Frame, Loss};
use super::hosts::Hosts;
use super::junctions::Junctions;
use super::learning_table::{Forwarding, Tables};
use crate::error::Error;
use crate::event_queue::EventQueue;
use crate::identity::{
    ChargeId, CopyId, FlowId, NodeId, PortId, ReceiverId, ResourceId, RouteId, StageId,
};
use crate::time::{Instant, Span};
use crate::watch::{Poll, Watch};
use ethermeter_traffic::scheduler::{Next, Room, Scheduler, Waiting};
use ethermeter_trial::Trial;
use event::{AFTER_LINKS, Event};
use next_events::{AFTER_ALL, NextEvents};
use std::collections::VecDeque;

/// A copy of a frame, and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub frame: Frame,
    pub route: RouteId,
    pub hop: u32,
    pub ready: Instant,
    pub complete: Instant,
    /// By how much the stage where it is takes longer.
    more: Span,
    /// The memory that it holds.
    pub charge: Option<ChargeId>,
    alive: bool,
}

/// Memory of a port that copies of one frame hold together.
#[derive(Clone, Copy, Debug)]
struct Charge {
    port: PortId,
    octets: u64,
    copies: u32,
}

#[derive(Clone, Debug, Default)]
struct Memory {
    used: u64,
    /// How often silence was asked for, if it is wanted now.
    asked: Option<u64>,
    times: u64,
    /// Whether its ports keep half-duplex links busy.
    holds: bool,
}

#[derive(Clone, Copy, Debug)]
struct Served {
    octets: u64,
    charge: Option<ChargeId>,
}

#[derive(Clone, Debug, Default)]
struct Server {
    waiting: VecDeque<CopyId>,
    frames: u64,
    octets: u64,
    busy: bool,
    serving: Option<Served>,
    paused_until: Instant,
    urgent: Option<u16>,
    /// Of a port with traffic classes, instead of `waiting`, `frames` and `octets`.
    scheduler: Option<Scheduler<CopyId>>,
}

impl Server {
    fn new(compiled: &CompiledNetwork, resource: ResourceId) -> Self {
        let classes = compiled.classes.get(resource.index()).and_then(Option::as_ref);
        Self { scheduler: classes.map(Scheduler::new), ..Self::default() }
    }
}

/// Copies that wait for each other after a stage.
#[derive(Clone, Debug, Default)]
struct Batch {
    number: u64,
    copies: Vec<CopyId>,
}

/// All of the state.
pub(super) struct Engine<'p> {
    pub compiled: &'p CompiledNetwork,
    applications: Applications,
    pub counters: Counters,
    tables: Tables,
    chances: Chances,
    /// For the order of what comes in one instant.
    junctions: Junctions,
    queue: EventQueue<Event>,
    pub copies: Vec<Copy>,
    spare: Vec<CopyId>,
    charges: Vec<Charge>,
    spare_charges: Vec<ChargeId>,
    servers: Vec<Server>,
    batches: Vec<Batch>,
    memories: Vec<Memory>,
    media: Vec<segment::PortMedium<'p>>,
    /// When each medium has its next event.
    of_media: NextEvents,
    /// When each flow's transfer is next woken.
    wakes: Vec<Instant>,
    events: u64,
    /// When the simulation ends.
    end: Instant,
}

/// Run a network.
pub(crate) fn run(
    compiled: &CompiledNetwork,
    trial: &Trial,
    watch: &Watch,
    tracing: bool,
) -> Result<Traced, Error> {
    let applications = Applications::new(compiled, trial);
    let mut engine = Engine {
        compiled,
        counters: Counters::new(compiled, trial, applications.comparison_count(), tracing),
        tables: Tables::new(compiled),
        chances: Chances::new(compiled),
        junctions: Junctions::new(compiled),
        queue: EventQueue::default(),
        copies: Vec::new(),
        spare: Vec::new(),
        charges: Vec::new(),
        spare_charges: Vec::new(),
        servers: ResourceId::first(compiled.rooms.len())
            .map(|resource| Server::new(compiled, resource))
            .collect(),
        batches: vec![Batch::default(); compiled.timings.len()],
        memories: vec![Memory::default(); compiled.ports.len()],
        media: segment::media(compiled),
        of_media: NextEvents::new(compiled.segments.len()),
        wakes: vec![Instant::NEVER; applications.waking_count() as usize],
        events: 0,
        end: Instant::from_ps(compiled.phases.end_ps),
        applications,
    };
    engine.begin();
    for medium in 0..compiled.segments.len() {
        engine.look_at_medium(medium);
    }
    let mut poll = watch.begin(&compiled.phases);
    engine.run(&mut poll);
    poll.check()?;
    Ok(engine.finish())
}

impl Engine<'_> {
    fn schedule(&mut self, at: Instant, event: Event) {
        self.queue.schedule(at, event);
    }

    fn schedule_arrival(&mut self, at: Instant, copy: CopyId) {
        let Copy { route, hop, .. } = self.copies[copy];
        let lane = self.junctions.lane(self.compiled, route, hop);
        self.schedule(at, Event::Arrive { copy, lane });
    }

    fn run(&mut self, poll: &mut Poll) {
        loop {
            let ((of_medium, rank), medium) = self.of_media.first();
            let most = if rank == AFTER_ALL { AFTER_ALL } else { AFTER_LINKS - 1 };
            let next = self.queue.next_rank().filter(|&next| next <= (of_medium, most));
            let now = next.map_or(of_medium, |(at, _)| at);
            if now >= self.end || !poll.goes_on(now) {
                return;
            }
            self.events += 1;
            match next.and_then(|_| self.queue.take()) {
                Some((_, event)) => self.handle(now, event),
                None => self.run_medium(medium, poll),
            }
        }
    }

    fn handle(&mut self, now: Instant, event: Event) {
        match event {
            Event::Left { resource } => self.left(now, resource),
            Event::Free { resource } => {
                self.servers[resource].busy = false;
                self.serve(now, resource);
            }
            Event::Wake { resource } => self.serve(now, resource),
            Event::Pause { port, quanta } => self.pause(now, port, quanta),
            Event::AskAgain { port, asked } => {
                if self.memories[port].asked == Some(asked) {
                    self.ask(now, port);
                }
            }
            Event::Gather { copy, stage } => self.gather(now, copy, stage),
            Event::Interrupt { stage, batch } => {
                if self.batches[stage].number == batch {
                    self.interrupt(now, stage);
                }
            }
            Event::Reach { copy, port, .. } => self.reach_port(now, copy, port),
            Event::Arrive { copy, .. } => self.arrive(now, copy),
            Event::Send { flow } => self.send(now, flow),
            Event::Answer { receiver } => self.answer(now, receiver),
            Event::TimeOut { flow, message } => self.time_out(now, flow, message),
            Event::Transfer { flow } => {
                if self.wakes[flow] == now {
                    self.wakes[flow] = Instant::NEVER;
                    self.wake(now, flow);
                }
            }
        }
    }

    // Copies

    pub fn copy(
        &mut self,
        frame: Frame,
        route: RouteId,
        ready: Instant,
        complete: Instant,
        charge: Option<ChargeId>,
    ) -> CopyId {
        let hop = self.compiled.routes[route].first;
        let more = Span::ZERO;
        let copy = Copy { frame, route, hop, ready, complete, more, charge, alive: true };
        if let Some(id) = self.spare.pop() {
            self.copies[id] = copy;
            return id;
        }
        self.copies.push(copy);
        CopyId::new(self.copies.len() - 1)
    }

    /// A copy is no more. What memory it holds is another's, or given back by the caller.
    pub fn end(&mut self, copy: CopyId) {
        self.copies[copy].alive = false;
        self.spare.push(copy);
    }

    pub fn lose(&mut self, now: Instant, copy: CopyId, loss: Loss) {
        let Copy { frame, charge, .. } = self.copies[copy];
        self.counters.lost(&frame, loss);
        self.end(copy);
        self.release(now, charge);
    }

    // Stages

    /// A copy is at the beginning of a stage, or at the end of its route.
    fn arrive(&mut self, now: Instant, id: CopyId) {
        let Copy { frame, route, hop, complete, .. } = self.copies[id];
        let route = self.compiled.routes[route];
        if hop == route.after {
            match route.last {
                Last::Port(port) => self.reach_port(now, id, port),
                Last::Lookup(port) => self.look_up(now, id, port),
                Last::Host(_) if now < complete => self.schedule_arrival(complete, id),
                Last::Host(host) => self.reach_application(now, id, host),
            }
            return;
        }
        let resource = self.compiled.timing(hop).resource;
        let port = self.compiled.port_of(resource);
        let room = self.compiled.rooms[resource];
        let server = &mut self.servers[resource];
        let held = if server.scheduler.is_some() {
            self.enqueue(now, id, resource, port.expect("classes are of ports"))
        } else {
            let held =
                Room { frames: server.frames + 1, octets: server.octets + u64::from(frame.octets) };
            let has_room = held.frames <= room.frames && held.octets <= room.octets;
            if has_room {
                (server.frames, server.octets) = (held.frames, held.octets);
                server.waiting.push_back(id);
            }
            has_room.then_some(held)
        };
        if let Some(port) = port.filter(|&port| self.compiled.ports[port].half_duplex) {
            self.count_arrival(now, port);
        }
        let Some(held) = held else {
            if let Some(port) = port {
                self.counters.ports[port].dropped += u64::from(self.counters.within(now));
            }
            return self.lose(now, id, Loss::Queue);
        };
        if let Some(port) = port {
            self.counters.held(port, held);
        }
        self.copies[id].more = self.chances.draw(self.compiled.timing(hop));
        self.serve(now, resource);
    }

    /// A copy comes to its class at a port; what the port then holds, if there was room.
    fn enqueue(
        &mut self,
        now: Instant,
        id: CopyId,
        resource: ResourceId,
        port: PortId,
    ) -> Option<Room> {
        let Copy { frame, hop, ready, complete, .. } = self.copies[id];
        let compiled = self.compiled;
        let classes = compiled.classes[port].as_ref().expect("a port with classes");
        let scheduler = self.servers[resource].scheduler.as_mut().expect("the same");
        let waiting = Waiting {
            item: id,
            octets: frame.octets,
            volume: compiled.volume(port, frame.octets).0,
            begin: compiled.timing(hop).serve(frame.octets, ready, complete, Instant::ZERO).0.ps(),
        };
        let class = classes.class_of(compiled.priority(&frame));
        scheduler.push(classes, class, now.ps(), waiting).then(|| scheduler.held())
    }

    /// Serve the next frame, if the resource can.
    pub fn serve(&mut self, now: Instant, resource: ResourceId) {
        let port = self.compiled.port_of(resource);
        let server = &mut self.servers[resource];
        if server.busy {
            return;
        }
        if let Some(quanta) = server.urgent.take() {
            server.busy = true;
            return self.send_pause(now, port.expect("only ports ask for silence"), quanta);
        }
        let classes = self.compiled.classes.get(resource.index()).and_then(Option::as_ref);
        let next = match (&mut server.scheduler, classes) {
            (Some(scheduler), Some(classes)) => scheduler.next(classes, now.ps()),
            _ if server.waiting.is_empty() => Next::Nothing,
            _ => Next::Send(0),
        };
        let class = match next {
            Next::Nothing => return,
            _ if server.paused_until > now => {
                let at = server.paused_until;
                return self.schedule(at, Event::Wake { resource });
            }
            Next::At(at) => {
                let at = Instant::saturating_from_ps(at);
                return self.schedule(at, Event::Wake { resource });
            }
            Next::Send(class) => class,
        };
        let id = match &server.scheduler {
            Some(scheduler) => *scheduler.first(class),
            None => server.waiting[0],
        };
        let copy = self.copies[id];
        let timing = self.compiled.timing(copy.hop).longer(copy.more);
        let (start, end) = timing.serve(copy.frame.octets, copy.ready, copy.complete, now);
        if start > now {
            // It would run dry. The resource is not taken meanwhile: a PAUSE frame may pass.
            return self.schedule(start, Event::Wake { resource });
        }
        match (&mut server.scheduler, classes) {
            (Some(scheduler), Some(classes)) => {
                scheduler.pop(classes, class, now.ps(), end.saturating_add(timing.gap).ps());
            }
            _ => {
                server.waiting.pop_front();
            }
        }
        server.busy = true;
        let octets = copy.frame.octets;
        server.serving = Some(Served { octets: u64::from(octets), charge: copy.charge });
        if let Some(port) = port.filter(|&port| self.compiled.ports[port].half_duplex) {
            return self.offer(now, port, id);
        }
        let free = end.saturating_add(timing.gap);
        self.schedule(end, Event::Left { resource });
        self.schedule(free, Event::Free { resource });
        let (ready, complete) = timing.pass_on(octets, start, end);
        self.pass(&copy.frame, (copy.route, copy.hop), end, free);
        if let Some(port) = port.filter(|_| end.ps() < self.compiled.phases.end_ps) {
            self.counters.port_sent(port, octets, start, end);
        }
        let it = &mut self.copies[id];
        (it.ready, it.complete, it.hop) = (ready, complete, copy.hop + 1);
        if timing.coalesce.is_some() {
            let stage = self.compiled.hops[copy.hop as usize];
            return self.schedule(complete, Event::Gather { copy: id, stage });
        }
        self.schedule_arrival(ready, id);
    }

    fn gather(&mut self, now: Instant, copy: CopyId, stage: StageId) {
        let coalesce =
            self.compiled.timings[stage].coalesce.expect("a stage after which frames wait");
        let batch = &mut self.batches[stage];
        batch.copies.push(copy);
        let (number, count) = (batch.number, batch.copies.len());
        if count >= coalesce.frames as usize {
            self.interrupt(now, stage);
        } else if count == 1 {
            self.schedule(
                now + Span::from_ps(coalesce.ps),
                Event::Interrupt { stage, batch: number },
            );
        }
    }

    /// A batch goes on.
    fn interrupt(&mut self, now: Instant, stage: StageId) {
        let batch = &mut self.batches[stage];
        batch.number += 1;
        for id in std::mem::take(&mut batch.copies) {
            let copy = &mut self.copies[id];
            (copy.ready, copy.complete) = (now, now);
            self.arrive(now, id);
        }
    }

    fn left(&mut self, now: Instant, resource: ResourceId) {
        let port = self.compiled.port_of(resource);
        let server = &mut self.servers[resource];
        let leaving = server.serving.take().expect("what leaves was served");
        if let Some(scheduler) = &mut server.scheduler {
            scheduler.left();
        } else {
            server.frames -= 1;
            server.octets -= leaving.octets;
        }
        if port.is_some() {
            self.release(now, leaving.charge);
        }
    }

    /// The same for a port on a shared medium, which is free at once: the gap belongs to deference.
    pub fn leave_medium(&mut self, now: Instant, port: PortId) {
        self.left(now, port.wire());
        self.servers[port.wire()].busy = false;
    }

    // Ports and nodes

    /// A frame has come in at a port.
    pub fn reach_port(&mut self, now: Instant, id: CopyId, port: PortId) {
        let Copy { frame, ready, complete, .. } = self.copies[id];
        let at = self.compiled.ports[port];
        let reception = self.compiled.reception(port);
        if let Last::Host(host) = self.compiled.routes[reception].last {
            if !self.applications.wants(&frame, host) {
                self.copies[id].charge = None;
                return self.lose(now, id, Loss::Ignored);
            }
            self.applications.seen(&frame, complete, &mut self.counters);
        }
        let charge = match at.buffer {
            None => None,
            Some(buffer) => {
                let octets = u64::from(frame.octets);
                let memory = &mut self.memories[self.compiled.memory_of(port)];
                if memory.used + octets > buffer.octets {
                    self.counters.ports[port].buffer_dropped +=
                        u64::from(self.counters.within(now));
                    self.copies[id].charge = None;
                    return self.lose(now, id, Loss::Buffer);
                }
                memory.used += octets;
                let used = memory.used;
                let most = &mut self.counters.ports[port].buffer_most;
                *most = used.max(*most);
                if buffer.pause.is_some_and(|pause| used > pause.high_octets)
                    && self.memories[port].asked.is_none()
                {
                    self.ask(now, port);
                }
                if buffer.back_pressure.is_some_and(|of| used > of.high_octets) {
                    self.hold_links(now, port, true);
                }
                Some(self.charge(Charge { port, octets, copies: 1 }))
            }
        };
        let first = self.compiled.routes[reception].first;
        let it = &mut self.copies[id];
        (it.route, it.hop, it.charge) = (reception, first, charge);
        debug_assert!(ready <= now && ready <= complete);
        self.arrive(now, id);
    }

    fn look_up(&mut self, now: Instant, id: CopyId, port: PortId) {
        let Copy { mut frame, complete, charge, .. } = self.copies[id];
        let at = self.compiled.ports[port];
        let forwarding = self.tables.lookup(self.compiled, (at.node, port), &mut frame, now);
        let node = &self.compiled.nodes[at.node];
        self.end(id);
        let (out, has_path): (Vec<RouteId>, bool) = match forwarding {
            Forwarding::Drop => (Vec::new(), false),
            Forwarding::Port(out) => {
                let first = at.local as usize * node.ports.len();
                (vec![node.forward[first + self.compiled.ports[out].local as usize]], false)
            }
            Forwarding::Flood => {
                let (routes, has_path) = self.compiled.flooding(port);
                (routes.collect(), has_path)
            }
        };
        if out.is_empty() {
            self.counters.lost(&frame, Loss::Filtered);
            return self.release(now, charge);
        }
        let more = out.len() - 1;
        self.counters.copied(&frame, more as u64);
        let held = charge.filter(|_| !has_path);
        if has_path {
            self.release(now, charge);
        } else if let Some(charge) = charge {
            self.charges[charge].copies += u32::try_from(more).expect("few ports");
        }
        for route in out {
            let mut frame = frame;
            self.compiled.copied(&mut frame, route);
            let copy = self.copy(frame, route, now, complete, held);
            self.arrive(now, copy);
        }
    }

    fn reach_application(&mut self, now: Instant, id: CopyId, host: NodeId) {
        let Copy { frame, charge, .. } = self.copies[id];
        self.end(id);
        self.release(now, charge);
        self.deliver(now, &frame, host);
        self.rebroadcast(now, &frame, host);
    }

    fn finish(mut self) -> Traced {
        let on_media = self.finish_media();
        let Self { copies, counters, servers, .. } = &mut self;
        for (port, server) in counters.ports.iter_mut().zip(servers) {
            port.classes = server.scheduler.as_ref().map_or_else(Vec::new, Scheduler::counts);
        }
        for copy in copies.iter().filter(|copy| copy.alive) {
            counters.in_flight(&copy.frame);
        }
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

impl Hosts for Engine<'_> {
    fn parts(&mut self) -> (&CompiledNetwork, &mut Applications, &mut Counters) {
        (self.compiled, &mut self.applications, &mut self.counters)
    }

    fn schedule_send(&mut self, flow: FlowId, at: Instant) {
        self.schedule(at, Event::Send { flow });
    }

    fn schedule_answer(&mut self, receiver: ReceiverId, at: Instant) {
        self.schedule(at, Event::Answer { receiver });
    }

    fn schedule_time_out(&mut self, flow: FlowId, message: u32, at: Instant) {
        self.schedule(at, Event::TimeOut { flow, message });
    }

    /// Wake a transfer when it wants to be, or before: it says then when it does.
    fn schedule_wake(&mut self, flow: FlowId) {
        let Some(at) = self.applications.wakes(flow) else { return };
        if at < self.wakes[flow] {
            self.wakes[flow] = at;
            self.schedule(at, Event::Transfer { flow });
        }
    }

    fn put_in(&mut self, now: Instant, route: RouteId, frame: Frame) {
        self.counters.sent(&frame);
        let copy = self.copy(frame, route, now, now, None);
        self.arrive(now, copy);
    }
}
