//! Ports on shared media: each has a queue, and a card that holds one frame until its medium has
//! carried it. A medium of CSMA/CD is resolved contention by contention, one of PLCA cycle by cycle.
//!
//! A contention is resolved before the end of its frame, at which the port goes on. On a medium of
//! links that is before all that comes to a port in its instant, on another one after it.

use super::{Fast, Item};
use crate::identity::{PortId, StationId};
use crate::medium::contention::Contended;
use crate::medium::signals::FrameNumber;
use crate::network::cards::{Cards, OnMedia, Outcome, loss_of_damaged};
use crate::network::compiled::{CompiledNetwork, NONE, Segment, small};
use crate::network::frame::Loss;
use crate::network::hosts::Hosts;
use crate::plca::cycles::stepped::SteppedBus;
use crate::time::{Instant, Span};
use crate::watch::Poll;
use ethermeter_traffic::scheduler::Room;
use ethermeter_trial::counts::PlcaCounts;
use std::collections::VecDeque;

type CardsOf<'p> = Cards<'p, (), Item>;

/// A shared medium of ports.
#[expect(clippy::large_enum_variant, reason = "there are few, and each is stepped often")]
enum PortMedium<'p> {
    CsmaCd(Contended<'p, CardsOf<'p>>),
    Plca(SteppedBus<'p, CardsOf<'p>>),
}

/// A port on a shared medium.
#[derive(Debug)]
struct CardPort {
    medium: u32,
    station: StationId,
    /// The frame that its card has.
    sending: Option<Item>,
    /// Frames in the order in which they came.
    waiting: VecDeque<Item>,
    /// Octets of the frames that wait and of the frame that is sent.
    octets: u64,
}

/// All shared media, and the ports on them.
pub(super) struct Media<'p> {
    each: Vec<PortMedium<'p>>,
    ports: Vec<CardPort>,
    /// The number of each port there, or [`NONE`].
    number_of: Vec<u32>,
    /// How many of them are of stations; those of links come after these.
    of_stations: u32,
}

impl<'p> Media<'p> {
    pub fn new(compiled: &'p CompiledNetwork) -> Self {
        let mut number_of = vec![NONE; compiled.ports.len()];
        let mut ports = Vec::new();
        for (medium, segment) in (0..).zip(&compiled.segments) {
            for (station, &port) in StationId::first(segment.ports.len()).zip(&segment.ports) {
                number_of[port] = small(ports.len());
                let waiting = VecDeque::new();
                ports.push(CardPort { medium, station, sending: None, waiting, octets: 0 });
            }
        }
        let of_stations = compiled.segments.iter().take_while(|of| !of.is_of_links).count();
        Self {
            each: compiled.segments.iter().map(|of| PortMedium::new(compiled, of)).collect(),
            ports,
            number_of,
            of_stations: small(of_stations),
        }
    }

    pub fn of_stations(&self) -> u32 {
        self.of_stations
    }

    pub fn of_links(&self) -> u32 {
        small(self.each.len()) - self.of_stations
    }

    pub fn card_count(&self) -> u32 {
        small(self.ports.len())
    }
}

impl<'p> PortMedium<'p> {
    fn new(compiled: &'p CompiledNetwork, segment: &'p Segment) -> Self {
        let Segment { medium, plca, schedule, is_of_links, .. } = segment;
        let cards = Cards::new(compiled, segment);
        let (phases, draws) = (&compiled.phases, (compiled.seed, segment.first_draw));
        let Some(plca) = plca else {
            return Self::CsmaCd(Contended::new(medium, phases, draws, cards, *is_of_links));
        };
        // What comes from another medium may come after what the bus decides in its instant.
        let schedule = schedule.as_ref().filter(|_| compiled.segments.len() == 1);
        Self::Plca(SteppedBus::new((medium, plca), schedule, phases, draws, cards))
    }

    /// When something happens on it, or its ports hear of something.
    fn next_at(&self) -> Option<Instant> {
        self.cards().outcome_at().or_else(|| match self {
            Self::CsmaCd(medium) => medium.next_at(),
            Self::Plca(medium) => medium.next_at(),
        })
    }

    /// After which time the other stations hear the end of a frame, propagation aside; `None` while
    /// each of them tells so itself.
    fn heard_after(&self) -> Option<Span> {
        match self {
            Self::CsmaCd(medium) => (!medium.has_events()).then_some(Span::ZERO),
            Self::Plca(medium) => medium.heard_after(),
        }
    }

    fn step(&mut self) {
        match self {
            Self::CsmaCd(medium) => medium.step(),
            Self::Plca(medium) => medium.step(),
        }
    }

    /// Carry frames on the line to their ends, and count their channel time.
    fn finish(mut self) -> (CardsOf<'p>, [u64; 5], Option<PlcaCounts>) {
        self.cards_mut().forget_outcomes();
        while self.next_at().is_some() {
            self.step();
            self.cards_mut().forget_outcomes();
        }
        match self {
            Self::CsmaCd(medium) => (medium.finish(), [0; 5], None),
            Self::Plca(medium) => medium.finish(),
        }
    }

    fn cards(&self) -> &CardsOf<'p> {
        match self {
            Self::CsmaCd(medium) => medium.hosts(),
            Self::Plca(medium) => medium.hosts(),
        }
    }

    fn cards_mut(&mut self) -> &mut CardsOf<'p> {
        match self {
            Self::CsmaCd(medium) => medium.hosts_mut(),
            Self::Plca(medium) => medium.hosts_mut(),
        }
    }
}

impl Fast<'_> {
    /// A frame comes to a port on a shared medium, whether that has room for it or not.
    pub(super) fn come_to_card(&mut self, item: Item, port: PortId) {
        let now = item.ready;
        let number = self.media.number_of[port];
        let it = &mut self.media.ports[number as usize];
        if self.counters.within(now) {
            self.media.each[it.medium as usize].cards_mut().count_arrival(it.station);
        }
        let held = Room {
            frames: it.waiting.len() as u64 + u64::from(it.sending.is_some()) + 1,
            octets: it.octets + u64::from(item.frame.octets),
        };
        let room = self.compiled.rooms[port.wire()];
        if held.frames > room.frames || held.octets > room.octets {
            self.counters.ports[port].dropped += u64::from(self.counters.within(now));
            return self.counters.lost(&item.frame, Loss::Queue);
        }
        it.octets = held.octets;
        it.waiting.push_back(item);
        self.counters.held(port, held);
        if it.sending.is_none() {
            self.take_up(now, number);
        }
    }

    /// A port on a shared medium takes up its next frame, if it can.
    pub(super) fn take_up(&mut self, now: Instant, number: u32) {
        self.take_next(now, number);
        self.look_at_medium(self.media.ports[number as usize].medium);
    }

    /// The same, where the medium is looked at later.
    fn take_next(&mut self, now: Instant, number: u32) {
        let it = &mut self.media.ports[number as usize];
        let Some(item) = it.waiting.front().filter(|_| it.sending.is_none()) else { return };
        let Item { frame, ready, .. } = item;
        let (ready, octets) = (*ready, frame.octets);
        let stage = self.steps.stage(item.step);
        let (start, _) = stage.timing.serve(octets, ready, item.complete, now);
        if start > now {
            // It would run dry.
            return self.tournament.set(self.lanes.cards + number, start);
        }
        // A host's own frames wait in their source, too, as those of stations do.
        let is_first = frame.hops == 0 && frame.attempt == 0;
        let arrived = if stage.is_of_sender && is_first { frame.born } else { ready };
        it.sending = it.waiting.pop_front();
        let station = it.station;
        let of = &mut self.media.each[it.medium as usize];
        of.cards_mut().take_up(station, ((), octets), now, arrived);
        match of {
            PortMedium::CsmaCd(medium) => medium.offer(now, station),
            PortMedium::Plca(medium) => medium.offer(now, station),
        }
    }

    fn lane_of_medium(&self, medium: u32) -> u32 {
        match medium.checked_sub(self.media.of_stations) {
            Some(number) => self.lanes.links + number,
            None => self.lanes.media + medium,
        }
    }

    fn look_at_medium(&mut self, medium: u32) {
        let next = self.media.each[medium as usize].next_at().unwrap_or(Instant::NEVER);
        let lane = self.lane_of_medium(medium);
        // Most often a frame that comes changes nothing of what is decided next.
        if next != self.tournament.time_of(lane) {
            self.tournament.set(lane, next);
        }
    }

    /// Do what is next on a medium, until its ports have heard of it, or something else comes first.
    #[inline(never)]
    pub(super) fn run_medium(&mut self, mut now: Instant, lane: u32, poll: &mut Poll) {
        let medium = if lane < self.lanes.cards {
            lane - self.lanes.links + self.media.of_stations
        } else {
            lane - self.lanes.media
        };
        loop {
            let of = &mut self.media.each[medium as usize];
            if of.cards().outcome_at().is_none() {
                of.step();
            }
            while let Some(outcome) = self.media.each[medium as usize].cards_mut().next_outcome(now)
            {
                self.follow_card(medium, outcome);
            }
            let Some(at) = self.media.each[medium as usize].next_at() else { break };
            self.tournament.set(lane, at);
            let is_first = self.tournament.first().1 == lane;
            if !is_first || at >= self.end || !poll.goes_on(at) {
                break;
            }
            self.events += 1;
            now = at;
        }
        self.look_at_medium(medium);
    }

    fn follow_card(&mut self, medium: u32, outcome: Outcome<()>) {
        let segment = &self.compiled.segments[medium as usize];
        match outcome {
            Outcome::Sent { station, number, start, end: now, .. } => {
                let port = segment.port(station);
                let item = self.depart(now, port);
                self.counters.port_sent(port, item.frame.octets, start, now);
                self.share(now, medium, station, number, &item);
                self.take_next(now, self.media.number_of[port]);
            }
            Outcome::GivenUp { station, at: now, .. } => {
                let port = segment.port(station);
                let item = self.depart(now, port);
                self.counters.lost(&item.frame, Loss::Attempts);
                self.take_next(now, self.media.number_of[port]);
            }
            Outcome::Heard { station, number, at, is_right } => {
                let cards = self.media.each[medium as usize].cards_mut();
                if let Some(copy) = cards.take_heard(station, number) {
                    self.hear(&copy, segment.port(station), at, is_right);
                }
            }
        }
    }

    /// The port has done with its frame.
    fn depart(&mut self, now: Instant, port: PortId) -> Item {
        let it = &mut self.media.ports[self.media.number_of[port] as usize];
        let item = it.sending.take().expect("a card that sends holds a frame");
        it.octets -= u64::from(item.frame.octets);
        let stage = self.steps.stage(item.step);
        self.leave(&item.frame, stage.is_first.then_some(now), stage.is_last.then_some(now));
        item
    }

    /// A frame is on its way to all other ports of its medium.
    fn share(
        &mut self,
        now: Instant,
        medium: u32,
        station: StationId,
        frame: FrameNumber,
        item: &Item,
    ) {
        let segment = &self.compiled.segments[medium as usize];
        let Some(more) = segment.stations().checked_sub(2) else {
            return self.counters.lost(&item.frame, Loss::Filtered);
        };
        self.counters.copied(&item.frame, u64::from(more));
        let others = StationId::first(segment.stations() as usize).filter(|&it| it != station);
        if let Some(after) = self.media.each[medium as usize].heard_after() {
            let (positions, from) = (&segment.medium.positions, segment.medium.positions[station]);
            let row = segment.medium.delays_from(from);
            for other in others {
                self.hear(item, segment.port(other), now + row[positions[other]] + after, true);
            }
            return;
        }
        let mut copies = self.media.each[medium as usize].cards_mut().no_copies();
        for other in others {
            copies[other] = Some(*item);
        }
        self.media.each[medium as usize].cards_mut().share(frame, copies);
    }

    /// A port hears the end of a frame at `now`.
    fn hear(&mut self, item: &Item, port: PortId, now: Instant, is_right: bool) {
        // Most stations of a medium ignore it.
        if let Some(host) = self.steps.reception(port).host
            && is_right
            && now < self.end
            && item.frame.samples == 0
            && !self.applications.wants(&item.frame, host)
        {
            return self.counters.lost(&item.frame, Loss::Ignored);
        }
        let mut item = self.copy_to(*item, port);
        if now >= self.end {
            self.counters.in_flight(&item.frame);
        } else if is_right {
            (item.ready, item.complete) = (now, now);
            let reception = self.steps.reception(port);
            item.step = reception.first;
            if reception.host.is_none_or(|host| self.take_in(&item, host)) {
                self.follow(&mut item, false);
            }
        } else {
            let loss = loss_of_damaged(self.compiled, &self.applications, &item.frame, port);
            self.counters.lost(&item.frame, loss);
        }
    }

    /// The copy of a frame that comes to a port.
    fn copy_to(&self, mut item: Item, port: PortId) -> Item {
        if item.frame.samples > 0 {
            self.compiled.copied_to(&mut item.frame, port);
        }
        item
    }

    /// What was counted on shared media and of their stations; what belongs to their ports is put
    /// there.
    pub(super) fn finish_media(&mut self) -> OnMedia {
        for it in &self.media.ports {
            let held = it.sending.iter().chain(&it.waiting);
            held.for_each(|item| self.counters.in_flight(&item.frame));
        }
        let mut on_media = OnMedia::default();
        let media = std::mem::take(&mut self.media.each);
        for (segment, medium) in self.compiled.segments.iter().zip(media) {
            for (station, item) in medium.cards().on_way() {
                let item = self.copy_to(*item, segment.port(station));
                self.counters.in_flight(&item.frame);
            }
            on_media.add(segment, medium.finish(), &mut self.counters);
        }
        on_media
    }
}
