//! A network event by event. Written to be read, and the only one that knows PAUSE, memory of
//! ports, shared media, and interrupts for several frames.
//!
//! Each resource has a queue. A frame *arrives* at a stage, waits, is served, has *left* when its
//! last bit has, and the resource is *free* again after the gap. Events of one instant are taken in
//! the order of their rank: what leaves makes room for what arrives.

mod cards;
mod event;
mod memory;
mod next_events;
mod segment;

use super::Traced;
use super::applications::{Applications, Reaction};
use super::compiled::{CompiledNetwork, Last, NONE};
use super::counters::Counters;
use super::frame::{Frame, Loss};
use super::junctions::Junctions;
use super::table::{Forwarding, Tables};
use crate::error::Error;
use crate::queue::Queue;
use crate::watch::{Poll, Watch};
use cards::PortMedium;
use ethermeter_traffic::scheduler::{Next, Room, Scheduler, Waiting};
use ethermeter_trial::Trial;
use event::{AFTER_LINKS, Event};
use next_events::{AFTER_ALL, NextEvents};
use std::collections::VecDeque;

/// A copy of a frame, and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub frame: Frame,
    pub route: u32,
    pub hop: u32,
    pub ready: u64,
    pub complete: u64,
    /// The memory that it holds.
    pub charge: u32,
    alive: bool,
}

/// Memory of a port that copies of one frame hold together.
#[derive(Clone, Copy, Debug)]
struct Charge {
    port: u32,
    octets: u64,
    copies: u32,
}

#[derive(Clone, Debug, Default)]
struct Memory {
    used: u64,
    /// How often silence was asked for, if it is wanted now.
    asked: Option<u64>,
    times: u64,
}

#[derive(Clone, Copy, Debug)]
struct Served {
    octets: u64,
    charge: u32,
}

#[derive(Clone, Debug, Default)]
struct Server {
    waiting: VecDeque<u32>,
    frames: u64,
    octets: u64,
    busy: bool,
    serving: Option<Served>,
    paused_until: u64,
    urgent: Option<u16>,
    /// Of a port with traffic classes, instead of `waiting`, `frames` and `octets`.
    scheduler: Option<Scheduler<u32>>,
}

impl Server {
    fn new(compiled: &CompiledNetwork, resource: usize) -> Self {
        let classes = compiled.classes.get(resource).and_then(Option::as_ref);
        Self { scheduler: classes.map(Scheduler::new), ..Self::default() }
    }
}

/// Copies that wait for each other after a stage.
#[derive(Clone, Debug, Default)]
struct Batch {
    number: u64,
    copies: Vec<u32>,
}

/// All of the state.
pub(super) struct Engine<'p> {
    pub compiled: &'p CompiledNetwork,
    applications: Applications,
    pub counters: Counters,
    tables: Tables,
    /// For the order of what comes in one instant.
    junctions: Junctions,
    queue: Queue<Event>,
    pub copies: Vec<Copy>,
    spare: Vec<u32>,
    charges: Vec<Charge>,
    spare_charges: Vec<u32>,
    servers: Vec<Server>,
    batches: Vec<Batch>,
    memories: Vec<Memory>,
    media: Vec<PortMedium<'p>>,
    /// When each medium has its next event.
    of_media: NextEvents,
    /// When each flow's transfer is next woken.
    wakes: Vec<u64>,
    events: u64,
    /// When the simulation ends.
    end: i64,
}

/// Run a network.
pub(super) fn run(
    compiled: &CompiledNetwork,
    trial: &Trial,
    watch: &Watch,
    tracing: bool,
) -> Result<Traced, Error> {
    let applications = Applications::new(compiled, trial);
    let stations = applications.flow_count() + applications.receiver_count();
    let mut engine = Engine {
        compiled,
        counters: Counters::new(compiled, trial, applications.comparison_count(), tracing),
        tables: Tables::new(compiled),
        junctions: Junctions::new(compiled),
        queue: Queue::default(),
        copies: Vec::new(),
        spare: Vec::new(),
        charges: Vec::new(),
        spare_charges: Vec::new(),
        servers: (0..compiled.rooms.len())
            .map(|resource| Server::new(compiled, resource))
            .collect(),
        batches: vec![Batch::default(); compiled.timings.len()],
        memories: vec![Memory::default(); compiled.ports.len()],
        media: cards::media(compiled, stations),
        of_media: NextEvents::new(compiled.segments.len()),
        wakes: vec![u64::MAX; applications.waking_count() as usize],
        events: 0,
        end: compiled.phases.end_ps.cast_signed(),
        applications,
    };
    for flow in 0..engine.applications.flow_count() {
        if let Some(at) = engine.applications.next(flow) {
            engine.schedule(at, Event::Send { flow });
        }
    }
    for flow in 0..engine.applications.waking_count() {
        engine.schedule_transfer(flow);
    }
    for medium in 0..compiled.segments.len() {
        engine.look_at_medium(medium);
    }
    let mut poll = watch.begin(compiled.phases.begin_ps, compiled.phases.end_ps);
    engine.run(&mut poll);
    poll.check()?;
    Ok(engine.finish())
}

impl Engine<'_> {
    fn schedule(&mut self, at: u64, event: Event) {
        // An endless queue may reach beyond all time.
        self.queue.schedule(i64::try_from(at).unwrap_or(i64::MAX), event);
    }

    fn schedule_arrival(&mut self, at: u64, copy: u32) {
        let Copy { route, hop, .. } = self.copies[copy as usize];
        let lane = self.junctions.lane(self.compiled, route, hop);
        self.schedule(at, Event::Arrive { copy, lane });
    }

    fn run(&mut self, poll: &mut Poll) {
        loop {
            let ((of_medium, rank), medium) = self.of_media.first();
            let most = if rank == AFTER_ALL { AFTER_ALL } else { AFTER_LINKS - 1 };
            let next = self.queue.next_rank().filter(|&next| next <= (of_medium, most));
            let at = next.map_or(of_medium, |(at, _)| at);
            let now = at.cast_unsigned();
            if at >= self.end || !poll.goes_on(now) {
                return;
            }
            self.events += 1;
            match next.and_then(|_| self.queue.take()) {
                Some((_, event)) => self.handle(now, event),
                None => self.run_medium(medium, poll),
            }
        }
    }

    fn handle(&mut self, now: u64, event: Event) {
        match event {
            Event::Left { resource } => self.left(now, resource),
            Event::Free { resource } => {
                self.servers[resource as usize].busy = false;
                self.serve(now, resource);
            }
            Event::Wake { port } => self.serve(now, port),
            Event::Pause { port, quanta } => self.pause(now, port, quanta),
            Event::AskAgain { port, asked } => {
                if self.memories[port as usize].asked == Some(asked) {
                    self.ask(now, port);
                }
            }
            Event::Gather { copy, stage } => self.gather(now, copy, stage),
            Event::Interrupt { stage, batch } => {
                if self.batches[stage as usize].number == batch {
                    self.interrupt(now, stage);
                }
            }
            Event::Reach { copy, port } => self.reach_port(now, copy, port),
            Event::Arrive { copy, .. } => self.arrive(now, copy),
            Event::Send { flow } => self.send(now, flow),
            Event::Answer { receiver } => self.answer(now, receiver),
            Event::TimeOut { flow, message } => {
                if let Some(at) = self.applications.time_out(flow, message, now, &mut self.counters)
                {
                    self.schedule(at, Event::Send { flow });
                }
            }
            Event::Transfer { flow } => {
                if self.wakes[flow as usize] == now {
                    self.wakes[flow as usize] = u64::MAX;
                    self.applications.wake(flow, now, &mut self.counters);
                    self.transfer(now, flow);
                }
            }
        }
    }

    // Applications

    fn send(&mut self, now: u64, flow: u32) {
        let mut frames = Vec::new();
        let wait = self.applications.send(flow, now, |frame| frames.push(frame));
        self.proceed(flow, self.applications.next_release(flow));
        if let Some((at, message)) = wait {
            self.schedule(at, Event::TimeOut { flow, message });
        }
        self.put_in(now, self.applications.sender(flow), frames);
    }

    fn answer(&mut self, now: u64, receiver: u32) {
        let mut frames = Vec::new();
        self.applications.answer(receiver, now, |frame| frames.push(frame));
        self.put_in(now, self.applications.host_of(receiver), frames);
    }

    /// Send what a transfer, or a comparison of clocks, has to send.
    fn transfer(&mut self, now: u64, flow: u32) {
        while let Some((host, frame)) = self.applications.take_frame(flow, now) {
            self.put_in(now, host, vec![frame]);
        }
        self.schedule_transfer(flow);
    }

    /// Wake a transfer when it wants to be, or before: it says then when it does.
    fn schedule_transfer(&mut self, flow: u32) {
        let Some(at) = self.applications.wakes(flow) else { return };
        if at < self.wakes[flow as usize] {
            self.wakes[flow as usize] = at;
            self.schedule(at, Event::Transfer { flow });
        }
    }

    fn put_in(&mut self, now: u64, host: u32, frames: Vec<Frame>) {
        let route = self.compiled.nodes[host as usize].send;
        for frame in frames {
            self.counters.sent(&frame);
            let copy = self.copy(frame, route, now, now, NONE);
            self.arrive(now, copy);
        }
    }

    fn proceed(&mut self, flow: u32, next: Option<u64>) {
        if let Some(at) = next {
            self.schedule(at, Event::Send { flow });
        }
    }

    // Copies

    pub fn copy(
        &mut self,
        frame: Frame,
        route: u32,
        ready: u64,
        complete: u64,
        charge: u32,
    ) -> u32 {
        let hop = self.compiled.routes[route as usize].first;
        let copy = Copy { frame, route, hop, ready, complete, charge, alive: true };
        if let Some(id) = self.spare.pop() {
            self.copies[id as usize] = copy;
            return id;
        }
        self.copies.push(copy);
        u32::try_from(self.copies.len() - 1).expect("memory would be full before")
    }

    /// A copy is no more. What memory it holds is another's, or given back by the caller.
    pub fn end(&mut self, copy: u32) {
        self.copies[copy as usize].alive = false;
        self.spare.push(copy);
    }

    pub fn lose(&mut self, now: u64, copy: u32, loss: Loss) {
        let Copy { frame, charge, .. } = self.copies[copy as usize];
        self.counters.lost(&frame, loss);
        self.end(copy);
        self.release(now, charge);
    }

    // Stages

    /// A copy is at the beginning of a stage, or at the end of its route.
    fn arrive(&mut self, now: u64, id: u32) {
        let Copy { frame, route, hop, complete, .. } = self.copies[id as usize];
        let route = self.compiled.routes[route as usize];
        if hop == route.after {
            match route.last {
                Last::Port(port) => self.reach_port(now, id, port),
                Last::Lookup(port) => self.look_up(now, id, port),
                Last::Host(_) if now < complete => self.schedule_arrival(complete, id),
                Last::Host(host) => self.deliver(now, id, host),
            }
            return;
        }
        let resource = self.compiled.timing(hop).resource;
        let room = self.compiled.rooms[resource as usize];
        let server = &mut self.servers[resource as usize];
        let held = if server.scheduler.is_some() {
            self.enqueue(now, id, resource)
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
        let Some(held) = held else {
            if self.is_wire(resource) {
                self.counters.ports[resource as usize].dropped +=
                    u64::from(self.counters.within(now));
            }
            return self.lose(now, id, Loss::Queue);
        };
        if self.is_wire(resource) {
            self.counters.held(resource, held);
        }
        self.serve(now, resource);
    }

    /// A copy comes to its class at a port; what the port then holds, if there was room.
    fn enqueue(&mut self, now: u64, id: u32, port: u32) -> Option<Room> {
        let Copy { frame, hop, ready, complete, .. } = self.copies[id as usize];
        let compiled = self.compiled;
        let classes = compiled.classes[port as usize].as_ref().expect("a port with classes");
        let scheduler = self.servers[port as usize].scheduler.as_mut().expect("the same");
        let waiting = Waiting {
            item: id,
            octets: frame.octets,
            volume: compiled.volume(port, frame.octets),
            begin: compiled.timing(hop).serve(frame.octets, ready, complete, 0).0,
        };
        let class = classes.class_of(compiled.priority(&frame));
        scheduler.push(classes, class, now, waiting).then(|| scheduler.held())
    }

    fn is_wire(&self, resource: u32) -> bool {
        (resource as usize) < self.compiled.ports.len()
    }

    /// Serve the next frame, if the resource can.
    pub fn serve(&mut self, now: u64, resource: u32) {
        let server = &mut self.servers[resource as usize];
        if server.busy {
            return;
        }
        if let Some(quanta) = server.urgent.take() {
            server.busy = true;
            return self.send_pause(now, resource, quanta);
        }
        let classes = self.compiled.classes.get(resource as usize).and_then(Option::as_ref);
        let next = match (&mut server.scheduler, classes) {
            (Some(scheduler), Some(classes)) => scheduler.next(classes, now),
            _ if server.waiting.is_empty() => Next::Nothing,
            _ => Next::Send(0),
        };
        let class = match next {
            Next::Nothing => return,
            _ if server.paused_until > now => {
                let at = server.paused_until;
                return self.schedule(at, Event::Wake { port: resource });
            }
            Next::At(at) => return self.schedule(at, Event::Wake { port: resource }),
            Next::Send(class) => class,
        };
        let id = match &server.scheduler {
            Some(scheduler) => *scheduler.first(class),
            None => server.waiting[0],
        };
        let copy = self.copies[id as usize];
        let timing = *self.compiled.timing(copy.hop);
        let (start, end) = timing.serve(copy.frame.octets, copy.ready, copy.complete, now);
        if start > now {
            // It would run dry. The resource is not taken meanwhile: a PAUSE frame may pass.
            return self.schedule(start, Event::Wake { port: resource });
        }
        match (&mut server.scheduler, classes) {
            (Some(scheduler), Some(classes)) => {
                scheduler.pop(classes, class, now, end.saturating_add(timing.gap));
            }
            _ => {
                server.waiting.pop_front();
            }
        }
        server.busy = true;
        let octets = copy.frame.octets;
        server.serving = Some(Served { octets: u64::from(octets), charge: copy.charge });
        if self.is_wire(resource) && self.compiled.ports[resource as usize].half_duplex {
            return self.offer(now, resource, id);
        }
        let free = end.saturating_add(timing.gap);
        self.schedule(end, Event::Left { resource });
        self.schedule(free, Event::Free { resource });
        let (ready, complete) = timing.pass_on(octets, start, end);
        self.on_host_route(&copy, end, free);
        if self.is_wire(resource) && end < self.compiled.phases.end_ps {
            self.counters.port_sent(resource, octets, start, end);
        }
        let it = &mut self.copies[id as usize];
        (it.ready, it.complete, it.hop) = (ready, complete, copy.hop + 1);
        if timing.coalesce.is_some() {
            let stage = self.compiled.hops[copy.hop as usize];
            return self.schedule(complete, Event::Gather { copy: id, stage });
        }
        self.schedule_arrival(ready, id);
    }

    fn gather(&mut self, now: u64, copy: u32, stage: u32) {
        let coalesce = self.compiled.timings[stage as usize]
            .coalesce
            .expect("a stage after which frames wait");
        let batch = &mut self.batches[stage as usize];
        batch.copies.push(copy);
        let (number, count) = (batch.number, batch.copies.len());
        if count >= coalesce.frames as usize {
            self.interrupt(now, stage);
        } else if count == 1 {
            self.schedule(now + coalesce.ps, Event::Interrupt { stage, batch: number });
        }
    }

    /// A batch goes on.
    fn interrupt(&mut self, now: u64, stage: u32) {
        let batch = &mut self.batches[stage as usize];
        batch.number += 1;
        for id in std::mem::take(&mut batch.copies) {
            let copy = &mut self.copies[id as usize];
            (copy.ready, copy.complete) = (now, now);
            self.arrive(now, id);
        }
    }

    /// Tell an application that its frame passes the first stage, or leaves its host.
    pub fn on_host_route(&mut self, copy: &Copy, end: u64, free: u64) {
        if copy.route != self.compiled.nodes[copy.frame.from as usize].send {
            return;
        }
        let route = self.compiled.routes[copy.route as usize];
        if copy.hop == route.first {
            let next = self.applications.passed(&copy.frame, free);
            self.proceed(copy.frame.flow, next);
        }
        if copy.hop + 1 == route.after {
            let next = self.applications.departed(&copy.frame, end);
            self.proceed(copy.frame.flow, next);
        }
    }

    fn left(&mut self, now: u64, resource: u32) {
        let wire = self.is_wire(resource);
        let server = &mut self.servers[resource as usize];
        let leaving = server.serving.take().expect("what leaves was served");
        if let Some(scheduler) = &mut server.scheduler {
            scheduler.left();
        } else {
            server.frames -= 1;
            server.octets -= leaving.octets;
        }
        if wire {
            self.release(now, leaving.charge);
        }
    }

    /// The same for a port on a shared medium, which is free at once: the gap belongs to deference.
    pub fn leave_medium(&mut self, now: u64, port: u32) {
        self.left(now, port);
        self.servers[port as usize].busy = false;
    }

    // Ports and nodes

    /// A frame has come in at a port.
    pub fn reach_port(&mut self, now: u64, id: u32, port: u32) {
        let Copy { frame, ready, complete, .. } = self.copies[id as usize];
        let at = self.compiled.ports[port as usize];
        if let Last::Host(host) = self.compiled.routes[at.reception as usize].last {
            if !self.applications.wants(&frame, host) {
                self.copies[id as usize].charge = NONE;
                return self.lose(now, id, Loss::Ignored);
            }
            self.applications.seen(&frame, complete, &mut self.counters);
        }
        let charge = match at.buffer {
            None => NONE,
            Some(buffer) => {
                let octets = u64::from(frame.octets);
                let memory = &mut self.memories[port as usize];
                if memory.used + octets > buffer.octets {
                    self.counters.ports[port as usize].buffer_dropped +=
                        u64::from(self.counters.within(now));
                    self.copies[id as usize].charge = NONE;
                    return self.lose(now, id, Loss::Buffer);
                }
                memory.used += octets;
                let used = memory.used;
                let most = &mut self.counters.ports[port as usize].buffer_most;
                *most = used.max(*most);
                if buffer.pause.is_some_and(|pause| used > pause.high_octets)
                    && self.memories[port as usize].asked.is_none()
                {
                    self.ask(now, port);
                }
                self.charge(Charge { port, octets, copies: 1 })
            }
        };
        let first = self.compiled.routes[at.reception as usize].first;
        let it = &mut self.copies[id as usize];
        (it.route, it.hop, it.charge) = (at.reception, first, charge);
        debug_assert!(ready <= now && ready <= complete);
        self.arrive(now, id);
    }

    fn look_up(&mut self, now: u64, id: u32, port: u32) {
        let Copy { mut frame, complete, charge, .. } = self.copies[id as usize];
        let forwarding = self.tables.lookup(self.compiled, port, &mut frame, now);
        let at = self.compiled.ports[port as usize];
        let node = &self.compiled.nodes[at.node as usize];
        let count = node.ports.len();
        let routes = &node.forward[at.local as usize * count..][..count];
        self.end(id);
        let out: Vec<u32> = match forwarding {
            Forwarding::Drop => Vec::new(),
            Forwarding::Port(out) => vec![routes[self.compiled.ports[out as usize].local as usize]],
            Forwarding::Flood => (0..count)
                .filter(|local| *local != at.local as usize)
                .map(|local| routes[local])
                .collect(),
        };
        if out.is_empty() {
            self.counters.lost(&frame, Loss::Filtered);
            return self.release(now, charge);
        }
        let more = out.len() - 1;
        self.counters.copied(&frame, more as u64);
        if charge != NONE {
            self.charges[charge as usize].copies += u32::try_from(more).expect("few ports");
        }
        for route in out {
            let mut frame = frame;
            self.compiled.copied(&mut frame, route);
            let copy = self.copy(frame, route, now, complete, charge);
            self.arrive(now, copy);
        }
    }

    fn deliver(&mut self, now: u64, id: u32, host: u32) {
        let Copy { frame, charge, .. } = self.copies[id as usize];
        self.end(id);
        self.release(now, charge);
        self.counters.trace(&frame, host, now);
        match self.applications.deliver(&frame, host, now, &mut self.counters) {
            Reaction::Nothing => {}
            Reaction::Answer { receiver, at } => self.schedule(at, Event::Answer { receiver }),
            Reaction::Next { flow, at } => self.schedule(at, Event::Send { flow }),
            Reaction::Transfer => self.transfer(now, frame.flow),
        }
    }

    fn finish(mut self) -> Traced {
        self.finish_media();
        let Self { copies, counters, servers, .. } = &mut self;
        for (port, server) in counters.ports.iter_mut().zip(servers) {
            port.classes = server.scheduler.as_ref().map_or_else(Vec::new, Scheduler::counts);
        }
        for copy in copies.iter().filter(|copy| copy.alive) {
            counters.in_flight(&copy.frame);
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
