//! Data over a connection of TCP or IPX between two hosts: an application of its own, whose
//! acknowledgements are frames like all others.
//!
//! ```text
//! stream:  from ── octets ──────────────────────────────────► to
//! file:    from ── request, with a block if it writes ──────► to
//!               ◄── answer, with a block if it reads ──────── to      each works on one block at a time
//! ```
//!
//! - `end`: one end of the connection. `turns`: one of IPX. `endpoint`: one of TCP. `scoreboard`: what it has under way. `congestion`: its
//!   window. `windows`: this over time.

mod congestion_window;
mod end;
mod endpoint;
mod retransmission_timer;
mod scoreboard;
mod turns;
mod windows;

use super::compiled::CompiledNetwork;
use super::counters::Counters;
use super::frame::Frame;
use crate::identity::{AddressId, FlowId, NodeId};
use crate::spread::Spread;
use crate::time::{Instant, Span};
use end::End;
use endpoint::TcpSegment;
use ethermeter_ethernet::frame::{OVERHEAD, SHORTEST};
use ethermeter_ethernet::units::Octets;
use ethermeter_traffic::file::{FileClient, FileServer};
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::counts::{EndCounts, TransferCounts};
use ethermeter_trial::transfer::{Direction, File, Job, Transfer};
use std::collections::VecDeque;

/// One of the two hosts.
#[derive(Debug)]
struct Side {
    host: NodeId,
    peer: NodeId,
    destination: AddressId,
    end: End,
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

/// The applications of a file at the two ends.
#[derive(Debug)]
struct FileApplications {
    client: FileClient,
    server: FileServer,
    direction: Direction,
}

/// A connection, and what uses it.
#[derive(Debug)]
pub(super) struct Connection {
    flow: FlowId,
    begins: Option<Instant>,
    begun: Instant,
    stops: Option<Instant>,
    sides: [Side; 2],
    octets: Option<Octets>,
    file: Option<FileApplications>,
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
        let is_file = matches!(transfer.job, Job::File(_));
        let side = |host, peer, asks| Side {
            host,
            peer,
            destination: compiled.next_address(host, peer),
            end: End::new(transfer, measured, asks, is_file),
            first: 0,
            under_way: VecDeque::new(),
            watched: VecDeque::new(),
            watched_upto: Octets::ZERO,
            octet: compiled.timings[compiled.nodes[host].ports[0].stage()].per_octet,
            delays: Spread::default(),
            last: None,
        };
        let (octets, file) = match &transfer.job {
            Job::Stream { octets } => (octets.map(Octets), None),
            Job::File(file) => {
                let draws = [flow.number(), receiver];
                (file.octets.map(Octets), Some(FileApplications::new(file, compiled.seed, draws)))
            }
        };
        Self {
            flow,
            begins: (begins < stops).then_some(begins),
            begun: begins,
            stops: Some(stops),
            sides: [side(from, to, true), side(to, from, false)],
            octets,
            file,
            moved: Octets::ZERO,
            moved_measured: Octets::ZERO,
            whole: None,
            header_octets: End::header_octets(transfer) + OVERHEAD,
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
        let done = self.file.iter().flat_map(|file| [file.client.next_ps(), file.server.next_ps()]);
        let done = done.flatten().map(Instant::from_ps);
        ends.chain(done).chain(self.begins).chain(self.stops).min()
    }

    /// Do what is due; what goes out waits in `take_frame`.
    pub fn wake(&mut self, now: Instant, counters: &mut Counters) {
        if self.stops.is_some_and(|at| at <= now) {
            self.stops = None;
            match &mut self.file {
                None => self.sides[0].end.close(),
                Some(file) => file.client.stop(),
            }
        }
        if self.begins.take_if(|at| *at <= now).is_some() {
            match &self.file {
                None => self.sides[0].end.write(now, self.octets.unwrap_or(Octets(u64::MAX >> 2))),
                Some(_) => self.request(now),
            }
        }
        for side in &mut self.sides {
            side.end.wake(now);
        }
        while let Some(octets) = self.file.as_mut().and_then(|file| file.server.answer(now.ps())) {
            self.sides[1].end.write(now, Octets(octets));
        }
        if self.begins.is_none() {
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
        if let Some(file) = &mut self.file {
            let [client, server] = [0, 1].map(|side| self.sides[side].end.taken());
            while file.server.take(server.0, now.ps()) {}
            while let Some(block) = file.client.take(client.0, now.ps()) {
                counters.completed(self.flow, Instant::from_ps(block.requested_ps), now);
                self.moved += Octets(block.octets);
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

    /// Write the requests that are due.
    fn request(&mut self, now: Instant) {
        while let Some(octets) = self.file.as_mut().and_then(|file| file.client.request(now.ps())) {
            self.sides[0].end.write(now, Octets(octets));
        }
    }

    /// The next frame to go out, if there is one, and its host.
    pub fn take_frame(&mut self, now: Instant) -> Option<(NodeId, Frame)> {
        let index = self.sides.iter().position(|side| side.end.has_segment())?;
        let side = &mut self.sides[index];
        let segment = side.end.take_segment()?;
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
            hops: 0,
            attempt: 0,
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
        // The end that sends the data of the transfer: these are acknowledged to it.
        let sends = self.file.as_ref().is_some_and(|file| file.direction == Direction::Read);
        let is_of_data = 1 - from == usize::from(sends);
        let side = &mut self.sides[1 - from];
        let began = (now - side.octet * u64::from(frame.octets)).max(Instant::ZERO);
        while let Some(&(upto, sent)) = side.watched.front()
            && upto <= acknowledges
        {
            side.watched.pop_front();
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
            let counts = side.end.counts();
            EndCounts {
                segments: counts.segments,
                retransmitted: counts.retransmitted,
                timeouts: counts.timeouts,
                fast_retransmissions: counts.fast_retransmissions,
                acknowledgements: counts.acknowledgements,
                acknowledgement_delay: side.delays.finish(),
                windows: side.end.finish_windows(),
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

impl FileApplications {
    /// Of a file, with the numbers of who draws for the client and for the server.
    fn new(file: &File, seed: u64, draws: [u32; 2]) -> Self {
        let [client, server] = draws.map(|number| Stream::new(seed, number, Purpose::Service));
        Self {
            client: FileClient::new(file.blocks(), file.ahead, &file.client, client),
            server: FileServer::new(file.blocks(), &file.server, server),
            direction: file.direction,
        }
    }
}
