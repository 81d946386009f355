//! Data over a connection of TCP between two hosts: an application of its own, whose
//! acknowledgements are frames like all others.
//!
//! ```text
//! stream:  from ── octets ──────────────────────────────────► to
//! file:    from ── request, with a block if it writes ──────► to
//!               ◄── answer, with a block if it reads ──────── to      each works on one block at a time
//! ```
//!
//! - `endpoint`: one end of the connection. `scoreboard`: what it has under way. `congestion`: its
//!   window. `windows`: this over time.

mod congestion_window;
mod endpoint;
mod retransmission_timer;
mod scoreboard;
mod windows;

use super::compiled::CompiledNetwork;
use super::counters::Counters;
use super::frame::Frame;
use crate::identity::{AddressId, FlowId, NodeId};
use crate::spread::Spread;
use crate::time::{Instant, Span};
use endpoint::{Endpoint, TcpSegment};
use ethermeter_ethernet::frame::{OVERHEAD, SHORTEST};
use ethermeter_ethernet::units::Octets;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::counts::{EndCounts, TransferCounts};
use ethermeter_trial::transfer::{Direction, File, HEADER_OCTETS, Job, Transfer};
use std::collections::VecDeque;

/// One of the two hosts.
#[derive(Debug)]
struct Side {
    host: NodeId,
    peer: NodeId,
    destination: AddressId,
    end: Endpoint,
    /// Number of the first frame of these, which are in the order of their coming: frames of one
    /// flow cannot overtake each other.
    first: u32,
    under_way: VecDeque<TcpSegment>,
    /// Data that have gone out by the wire for the first time: up to where, and when their frame
    /// began; for who watches the wire.
    watched: VecDeque<(Octets, Instant)>,
    watched_upto: Octets,
    /// Duration of an octet on the wire of its host.
    octet: Span,
    delays: Spread,
    last: Option<Instant>,
}

/// Work of one application, one item at a time.
#[derive(Debug, Default)]
struct Worker {
    until: Instant,
    /// When each item is done.
    done: VecDeque<Instant>,
}

impl Worker {
    fn take_up(&mut self, now: Instant, ps: Span) {
        self.until = self.until.max(now).saturating_add(ps);
        self.done.push_back(self.until);
    }

    fn is_done(&mut self, now: Instant) -> bool {
        pop_if(&mut self.done, |at| *at <= now).is_some()
    }
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Operation {
    begun: Instant,
    block: Octets,
    /// Up to where the other has to read for the request, or the answer, to be whole.
    end: Octets,
}

/// What the applications of a file are doing.
#[derive(Debug)]
struct Filing {
    file: File,
    left: Octets,
    client: Worker,
    client_chance: Stream,
    server: Worker,
    server_chance: Stream,
    requests: VecDeque<Operation>,
    /// Requests that arrived, of which the server's worker has not done all.
    served: VecDeque<Operation>,
    answers: VecDeque<Operation>,
}

/// A connection, and what uses it.
#[derive(Debug)]
pub(super) struct Connection {
    flow: FlowId,
    begins: Option<Instant>,
    begun: Instant,
    stops: Option<Instant>,
    is_stopped: bool,
    sides: [Side; 2],
    octets: Option<Octets>,
    filing: Option<Filing>,
    moved: Octets,
    moved_measured: Octets,
    whole: Option<Span>,
    header_octets: Octets,
    /// Octets of the tag of a frame.
    tag_octets: Octets,
}

impl Connection {
    /// A connection of `flow` between the nodes `from` and `to`, which begins at `begins`;
    /// `receiver` is who draws for the server.
    pub fn new(
        compiled: &CompiledNetwork,
        transfer: &Transfer,
        (flow, receiver): (FlowId, u32),
        (from, to): (NodeId, NodeId),
        begins: Instant,
    ) -> Self {
        let phases = compiled.phases;
        let measured =
            (Instant::from_ps(phases.measure_from_ps), Instant::from_ps(phases.measure_to_ps));
        let stops = Instant::from_ps(phases.stop_ps);
        let side = |host, peer| Side {
            host,
            peer,
            destination: compiled.next_address(host, peer),
            end: Endpoint::new(transfer.tcp, measured),
            first: 0,
            under_way: VecDeque::new(),
            watched: VecDeque::new(),
            watched_upto: Octets::ZERO,
            octet: compiled.timings[compiled.nodes[host].ports[0].stage()].per_octet,
            delays: Spread::default(),
            last: None,
        };
        let (octets, filing) = match &transfer.job {
            Job::Stream { octets } => (octets.map(Octets), None),
            Job::File(file) => {
                (file.octets.map(Octets), Some(Filing::new(file, compiled.seed, flow, receiver)))
            }
        };
        Self {
            flow,
            begins: (begins < stops).then_some(begins),
            begun: begins,
            stops: Some(stops),
            is_stopped: false,
            sides: [side(from, to), side(to, from)],
            octets,
            filing,
            moved: Octets::ZERO,
            moved_measured: Octets::ZERO,
            whole: None,
            header_octets: Octets(HEADER_OCTETS + transfer.tcp.option_octets) + OVERHEAD,
            tag_octets: Octets::ZERO,
        }
    }

    /// The same with a tag of so many octets in every frame.
    pub fn tagged(self, octets: u32) -> Self {
        Self { tag_octets: Octets(octets.into()), ..self }
    }

    /// When it next has something to do by itself.
    pub fn wakes(&self) -> Option<Instant> {
        let ends = self.sides.iter().filter_map(|side| side.end.wakes());
        let work = self.filing.iter().flat_map(|filing| [&filing.client, &filing.server]);
        let done = work.filter_map(|worker| worker.done.front().copied());
        ends.chain(done).chain(self.begins).chain(self.stops).min()
    }

    /// Do what is due; what goes out waits in `take_frame`.
    pub fn wake(&mut self, now: Instant, counters: &mut Counters) {
        if self.stops.is_some_and(|at| at <= now) {
            (self.stops, self.is_stopped) = (None, true);
            if self.filing.is_none() {
                self.sides[0].end.close();
            }
        }
        if self.begins.is_some_and(|at| at <= now) {
            self.begins = None;
            match &self.filing {
                None => self.sides[0].end.write(now, self.octets.unwrap_or(Octets(u64::MAX >> 2))),
                Some(filing) => (0..filing.file.ahead).for_each(|_| self.request(now)),
            }
        }
        for side in &mut self.sides {
            side.end.wake(now);
        }
        while self.filing.as_mut().is_some_and(|filing| filing.server.is_done(now)) {
            self.answer(now);
        }
        while self.filing.as_mut().is_some_and(|filing| filing.client.is_done(now)) {
            self.request(now);
        }
        self.follow(now, counters);
    }

    /// A frame comes to an application; what goes out waits in `take_frame`.
    #[cold] // not within what frames of other flows pass
    pub fn deliver(&mut self, frame: &Frame, now: Instant, counters: &mut Counters) {
        let from = usize::from(frame.answer.is_some());
        let Some(segment) = self.sides[from].arrive(frame.message) else { return };
        if self.sides[1 - from].end.receive(now, &segment) {
            let (octets, data) = (u64::from(frame.octets), segment.octets.0);
            match from {
                0 => counters.received(frame, octets, data, now, &mut self.sides[0].last),
                _ => counters.answered(self.flow, octets, frame.born, now),
            }
        }
        self.follow(now, counters);
    }

    /// What the applications do with what they have read.
    fn follow(&mut self, now: Instant, counters: &mut Counters) {
        let before = self.moved;
        if let Some(filing) = &mut self.filing {
            let [client, server] = [0, 1].map(|side| self.sides[side].end.taken());
            while let Some(operation) =
                pop_if(&mut filing.requests, |operation| operation.end <= server)
            {
                let work = filing.file.server.draw(&mut filing.server_chance);
                filing.server.take_up(now, Span::from_ps(work));
                filing.served.push_back(operation);
            }
            while let Some(operation) =
                pop_if(&mut filing.answers, |operation| operation.end <= client)
            {
                let work = filing.file.client.draw(&mut filing.client_chance);
                filing.client.take_up(now, Span::from_ps(work));
                counters.completed(self.flow, operation.begun, now);
                self.moved += operation.block;
            }
        } else {
            self.moved = self.sides[1].end.taken();
        }
        if counters.within(now) {
            self.moved_measured += self.moved - before;
            counters.moved(self.flow, (self.moved - before).0, now);
        }
        if self.whole.is_none() && self.octets == Some(self.moved) {
            self.whole = Some(now - self.begun);
        }
    }

    fn request(&mut self, now: Instant) {
        let Some(filing) = &mut self.filing else { return };
        if self.is_stopped || filing.left == Octets::ZERO {
            return;
        }
        let block = Octets(filing.file.block_octets).min(filing.left);
        filing.left -= block;
        let octets = Octets(filing.file.request_octets)
            + if filing.file.direction == Direction::Write { block } else { Octets::ZERO };
        let end = self.sides[0].end.queued() + octets;
        filing.requests.push_back(Operation { begun: now, block, end });
        self.sides[0].end.write(now, octets);
    }

    fn answer(&mut self, now: Instant) {
        let Some(filing) = &mut self.filing else { return };
        let mut operation = filing.served.pop_front().expect("a request that is served");
        let octets = Octets(filing.file.answer_octets)
            + if filing.file.direction == Direction::Read { operation.block } else { Octets::ZERO };
        operation.end = self.sides[1].end.queued() + octets;
        filing.answers.push_back(operation);
        self.sides[1].end.write(now, octets);
    }

    /// The next frame to go out, if there is one, and its host.
    pub fn take_frame(&mut self, now: Instant) -> Option<(NodeId, Frame)> {
        let index = self.sides.iter().position(|side| !side.end.out.is_empty())?;
        let side = &mut self.sides[index];
        let segment = side.end.out.pop_front()?;
        let number = side
            .first
            .wrapping_add(u32::try_from(side.under_way.len()).expect("few frames under way"));
        side.under_way.push_back(segment);
        let octets = (segment.octets + segment.block_octets() + self.header_octets).max(SHORTEST)
            + self.tag_octets;
        let frame = Frame {
            flow: self.flow,
            from: side.host,
            to: Some(side.peer),
            source: AddressId::from(side.host.number()),
            destination: Some(side.destination),
            octets: u32::try_from(octets.0).expect("below 65536 and headers"),
            message: number,
            fragments: 1,
            fragment: 0,
            answer: (index == 1).then_some(0),
            broadcast: false,
            padding: 0,
            samples: 0,
            born: now,
        };
        Some((side.host, frame))
    }

    /// The last bit of a frame leaves the wire of its host at `end`.
    #[cold]
    pub fn departed(&mut self, frame: &Frame, end: Instant) {
        let side = &mut self.sides[usize::from(frame.answer.is_some())];
        let Some((upto, octets)) =
            side.record(frame.message).map(|it| (it.from + it.octets, it.octets))
        else {
            return;
        };
        if octets > Octets::ZERO && upto > side.watched_upto {
            side.watched_upto = upto;
            side.watched
                .push_back((upto, (end - side.octet * u64::from(frame.octets)).max(Instant::ZERO)));
        }
    }

    /// The last bit of a frame comes to the wire's end at its host at `now`.
    #[cold]
    pub fn seen(&mut self, frame: &Frame, now: Instant, counters: &mut Counters) {
        let from = usize::from(frame.answer.is_some());
        let Some(acknowledges) = self.sides[from].record(frame.message).map(|it| it.acknowledges)
        else {
            return;
        };
        // Who sends what is transferred: its data are acknowledged to it.
        let sends =
            self.filing.as_ref().is_some_and(|filing| filing.file.direction == Direction::Read);
        let is_of_data = 1 - from == usize::from(sends);
        let side = &mut self.sides[1 - from];
        let began = (now - side.octet * u64::from(frame.octets)).max(Instant::ZERO);
        while let Some((_, sent)) = pop_if(&mut side.watched, |(upto, _)| *upto <= acknowledges) {
            if counters.within(now) {
                side.delays.record(began - sent);
                if is_of_data {
                    counters.acknowledged(self.flow, began - sent, now);
                }
            }
        }
    }

    /// The figures, when nothing more happens.
    pub fn finish(&mut self) -> TransferCounts {
        let ends = self.sides.each_mut().map(|side| {
            let counts = side.end.counts;
            EndCounts {
                segments: counts.segments,
                retransmitted: counts.retransmitted,
                timeouts: counts.timeouts,
                fast_retransmissions: counts.fast_retransmissions,
                acknowledgements: counts.acknowledgements,
                acknowledgement_delay: side.delays.finish(),
                windows: side.end.windows.finish(),
            }
        });
        TransferCounts { octets: self.moved_measured.0, whole_ps: self.whole.map(Span::ps), ends }
    }
}

impl Side {
    fn record(&self, number: u32) -> Option<&TcpSegment> {
        self.under_way.get(number.wrapping_sub(self.first) as usize)
    }

    /// A frame comes: those before it were lost.
    fn arrive(&mut self, number: u32) -> Option<TcpSegment> {
        self.record(number)?;
        while self.first != number {
            self.under_way.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        self.first = self.first.wrapping_add(1);
        self.under_way.pop_front()
    }
}

impl Filing {
    fn new(file: &File, seed: u64, flow: FlowId, receiver: u32) -> Self {
        Self {
            file: file.clone(),
            left: Octets(file.octets.unwrap_or(u64::MAX)),
            client: Worker::default(),
            client_chance: Stream::new(seed, flow.number(), Purpose::Service),
            server: Worker::default(),
            server_chance: Stream::new(seed, receiver, Purpose::Service),
            requests: VecDeque::new(),
            served: VecDeque::new(),
            answers: VecDeque::new(),
        }
    }
}

/// The first of a queue, if it is so.
fn pop_if<T>(queue: &mut VecDeque<T>, is_so: impl Fn(&T) -> bool) -> Option<T> {
    if is_so(queue.front()?) {
        return queue.pop_front();
    }
    None
}
