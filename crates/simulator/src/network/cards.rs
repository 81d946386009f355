//! The cards of ports on shared media: each holds a frame until the medium has carried it. It is known
//! to its engine as `C`, and a copy of it on the way to another port as `W`.

use super::applications::Applications;
use super::compiled::{CompiledNetwork, Role, Segment};
use super::counters::Counters as NetworkCounters;
use super::frame::{Frame, Loss};
use crate::identity::{PortId, StationId};
use crate::mac::transmitter::{Attempt, Ending, Transmitter};
use crate::medium::hosts::Hosts;
use crate::medium::signals::FrameNumber;
use crate::segment::compiled::small;
use crate::segment::counters::{Counters, medium_cautions};
use crate::time::{Instant, Span};
use ethermeter_ethernet::units::Octets;
use ethermeter_trial::Counts;
use ethermeter_trial::counts::{MediumCounts, PlcaCounts, StationCounts};
use std::collections::{BTreeSet, VecDeque};

/// What a card tells its port.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome<C> {
    /// Its frame was sent.
    Sent { station: StationId, number: FrameNumber, copy: C, start: Instant, end: Instant },
    /// Its frame is given up.
    GivenUp { station: StationId, copy: C, at: Instant },
    /// It has heard a frame to its end, and whether all of it was right.
    Heard { station: StationId, number: FrameNumber, at: Instant, is_right: bool },
}

impl<C> Outcome<C> {
    /// When that is.
    fn at(&self) -> Instant {
        match *self {
            Self::Sent { end: at, .. } | Self::GivenUp { at, .. } | Self::Heard { at, .. } => at,
        }
    }
}

/// A card, and what is counted of it.
#[derive(Debug)]
struct Card<C> {
    transmitter: Transmitter,
    /// The copy that it sends.
    copy: Option<C>,
    /// Frames that came to its port within the window, dropped ones included.
    offered: u64,
    /// The longest access delay of a frame that it sent within the window.
    access_most: Span,
}

/// The cards of the ports on a medium.
pub(super) struct Cards<'p, C, W> {
    segment: &'p Segment,
    /// The measured window.
    window: (Instant, Instant),
    end: Instant,
    each: Vec<Card<C>>,
    totals: Counters,
    /// What cards tell, in the order of time.
    outcomes: VecDeque<Outcome<C>>,
    /// Frames on their way: number, how many stations have not heard it yet, and their copies.
    on_way: VecDeque<(FrameNumber, u32, Vec<Option<W>>)>,
    /// Rooms for copies that all stations have heard.
    spare: Vec<Vec<Option<W>>>,
}

impl<'p, C: Copy, W: Copy> Cards<'p, C, W> {
    pub fn new(compiled: &CompiledNetwork, segment: &'p Segment) -> Self {
        let phases = &compiled.phases;
        let card = |transmitter: &Transmitter| Card {
            transmitter: transmitter.clone(),
            copy: None,
            offered: 0,
            access_most: Span::ZERO,
        };
        Self {
            segment,
            window: (
                Instant::from_ps(phases.measure_from_ps),
                Instant::from_ps(phases.measure_to_ps),
            ),
            end: Instant::from_ps(phases.end_ps),
            each: segment.transmitters.iter().map(card).collect(),
            totals: Counters::on(&segment.medium, phases, compiled.batches as usize)
                .with_queues(true),
            outcomes: VecDeque::new(),
            on_way: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// A frame comes to the port of a card within the measured window.
    pub fn count_arrival(&mut self, station: StationId) {
        self.each[station].offered += 1;
    }

    /// A card takes up a frame, which `arrived` at its port.
    pub fn take_up(
        &mut self,
        station: StationId,
        (copy, octets): (C, u32),
        since: Instant,
        arrived: Instant,
    ) {
        let card = &mut self.each[station];
        card.copy = Some(copy);
        card.transmitter.take_up(since, arrived, Octets(octets.into()).bits());
    }

    /// When a card tells something that its port does not know yet.
    #[inline]
    pub fn outcome_at(&self) -> Option<Instant> {
        self.outcomes.front().map(Outcome::at)
    }

    /// What a card tells by `now`, if its port does not know it yet.
    #[inline]
    pub fn next_outcome(&mut self, now: Instant) -> Option<Outcome<C>> {
        let is_due = self.outcomes.front().is_some_and(|outcome| outcome.at() <= now);
        if is_due { self.outcomes.pop_front() } else { None }
    }

    /// Drop what cards would tell their ports, once no port asks any more.
    pub fn forget_outcomes(&mut self) {
        self.outcomes.clear();
    }

    /// Room for a copy of each station, without any.
    pub fn no_copies(&mut self) -> Vec<Option<W>> {
        let mut copies = self.spare.pop().unwrap_or_default();
        copies.resize(self.each.len(), None);
        copies
    }

    /// The frame `number` is on its way to all stations that have a copy of it.
    pub fn share(&mut self, number: FrameNumber, copies: Vec<Option<W>>) {
        self.on_way.push_back((number, small(copies.len() - 1), copies));
    }

    /// The copy of a frame that a station has heard to its end; none of one that collided.
    pub fn take_heard(&mut self, station: StationId, number: FrameNumber) -> Option<W> {
        let (_, left, copies) = self.on_way.iter_mut().find(|(of, ..)| *of == number)?;
        let copy = copies[station].take()?;
        *left -= 1;
        while self.on_way.front().is_some_and(|&(_, left, _)| left == 0) {
            self.spare.extend(self.on_way.pop_front().map(|(.., copies)| copies));
        }
        Some(copy)
    }

    /// The copies on their way, each with the station that has not heard it yet.
    pub fn on_way(&self) -> impl Iterator<Item = (StationId, &W)> {
        let frames = self.on_way.iter();
        let all = frames.flat_map(|(.., copies)| StationId::first(copies.len()).zip(copies));
        all.filter_map(|(station, copy)| Some((station, copy.as_ref()?)))
    }

    /// What was counted of the medium and of the cards, but what ports dropped, and the longest
    /// access delay of each card, when nothing more happens.
    fn finish(self) -> (MediumCounts, StationCounts, Vec<Span>) {
        let held = StationId::first(self.each.len()).zip(&self.each);
        let held: Vec<_> =
            held.filter_map(|(at, card)| Some((at, card.transmitter.holding_since()?))).collect();
        let (medium, mut stations) = self.totals.of_medium(self.end, &held);
        stations.offered = self.each.iter().map(|card| card.offered).collect();
        stations.offered_load = vec![f64::NAN; self.each.len()];
        (medium, stations, self.each.iter().map(|card| card.access_most).collect())
    }

    /// A card has no frame any more. The copy of it.
    fn release(&mut self, station: StationId) -> C {
        let card = &mut self.each[station];
        card.transmitter.release();
        card.copy.take().expect("a station that sends holds a frame")
    }
}

impl<C: Copy, W: Copy> Hosts for Cards<'_, C, W> {
    fn packet_time(&self, station: StationId, _: Instant) -> Span {
        self.segment.medium.packet_time(self.each[station].transmitter.length())
    }

    fn deliver(
        &mut self,
        station: StationId,
        number: FrameNumber,
        start: Instant,
        end: Instant,
    ) -> (Attempt, Instant) {
        let attempt = self.each[station].transmitter.deliver(start, end);
        let copy = self.release(station);
        self.outcomes.push_back(Outcome::Sent { station, number, copy, start, end });
        (attempt, Instant::NEVER)
    }

    fn collide(
        &mut self,
        station: StationId,
        start: Instant,
        end: Instant,
        late: bool,
    ) -> (Attempt, Instant) {
        let (attempt, again) = self.each[station].transmitter.collide(start, end, late);
        let ready = again.unwrap_or_else(|| {
            if attempt.ending == Ending::Resumed {
                return end; // its port hands the frame over again at once
            }
            let copy = self.release(station);
            let earlier = self.outcomes.partition_point(|outcome| outcome.at() <= end);
            self.outcomes.insert(earlier, Outcome::GivenUp { station, copy, at: end });
            Instant::NEVER
        });
        (attempt, ready)
    }

    fn receive(&mut self, station: StationId, number: FrameNumber, now: Instant, is_right: bool) {
        self.outcomes.push_back(Outcome::Heard { station, number, at: now, is_right });
    }

    fn attempts_left(&self, station: StationId) -> u32 {
        self.each[station].transmitter.attempts_left()
    }

    fn record(&mut self, attempt: &Attempt) {
        self.totals.record_frame(attempt);
        let is_counted = self.window.0 <= attempt.end && attempt.end < self.window.1;
        if is_counted && attempt.ending == Ending::Delivered {
            let longest = &mut self.each[attempt.station].access_most;
            *longest = (attempt.start - attempt.taken_up).max(*longest);
        }
    }

    fn record_logical(&mut self, attempt: &Attempt) {
        self.totals.record_logical(attempt);
    }
}

/// What was counted on the media of the scenario.
#[derive(Default)]
pub(super) struct OnMedia {
    media: Vec<MediumCounts>,
    stations: StationCounts,
    cautions: BTreeSet<&'static str>,
}

impl OnMedia {
    /// Add a shared medium on which nothing more happens; what belongs to its ports is put there.
    pub fn add<C: Copy, W: Copy>(
        &mut self,
        segment: &Segment,
        (cards, time_ps, plca): (Cards<'_, C, W>, [u64; 5], Option<PlcaCounts>),
        counters: &mut NetworkCounters,
    ) {
        let (mut medium, mut stations, longest) = cards.finish();
        for station in StationId::first(segment.stations() as usize) {
            let port = &mut counters.ports[segment.port(station)];
            port.collisions = stations.collisions[station];
            port.late_collisions = stations.late_collisions[station];
            port.access_ps = stations.access_ps[station];
            port.access_most_ps = longest[station].ps();
            let Some(plca) = &plca else { continue };
            port.collisions -= plca.nodes.logical_collisions[station];
            port.used = plca.nodes.used[station];
            port.yielded = plca.nodes.yielded[station];
            port.missed = plca.nodes.missed[station];
            port.logical_collisions = plca.nodes.logical_collisions[station];
            port.beacons_lost = plca.nodes.beacons_lost[station];
            port.status_changes = plca.nodes.status_changes[station];
            port.ok_ps = plca.nodes.ok_ps[station];
        }
        if segment.is_of_links {
            return;
        }
        if plca.is_some() {
            (medium.time_ps, medium.plca) = (time_ps, plca);
        }
        let of_port = |&port: &PortId| counters.ports[port].dropped;
        stations.dropped = segment.ports.iter().map(of_port).collect();
        self.cautions.extend(medium_cautions(&segment.medium, &stations));
        self.stations.append(stations);
        self.media.push(medium);
    }

    /// Put it where all is that was counted.
    pub fn give(self, counts: &mut Counts) {
        counts.media = self.media;
        counts.stations = self.stations;
        counts.cautions = self.cautions.into_iter().map(Into::into).collect();
    }
}

/// How a damaged copy ends at a port: where it would have gone no further, as any other would.
pub(super) fn loss_of_damaged(
    compiled: &CompiledNetwork,
    applications: &Applications,
    frame: &Frame,
    port: PortId,
) -> Loss {
    let node = compiled.ports[port].node;
    let leads =
        frame.to.is_none_or(|to| node == to || compiled.port_toward(node, to) != Some(port));
    let is_host = compiled.nodes[node].role == Role::Host;
    match compiled.nodes[node].role {
        _ if leads && (!is_host || applications.wants(frame, node)) => Loss::Damaged,
        Role::Host => Loss::Ignored,
        _ => Loss::Filtered,
    }
}
