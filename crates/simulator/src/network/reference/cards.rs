//! The cards of ports on shared media: each holds a frame until the medium has carried it.

use crate::identity::{CopyId, StationId};
use crate::mac::transmitter::{Attempt, Ending, Transmitter};
use crate::medium::hosts::Hosts;
use crate::medium::signals::FrameNumber;
use crate::network::compiled::{CompiledNetwork, Segment};
use crate::segment::compiled::small;
use crate::segment::counters::Counters;
use crate::shared::SharedMedium;
use crate::time::{Instant, Span};
use ethermeter_ethernet::units::Octets;
use ethermeter_trial::counts::{MediumCounts, StationCounts};
use std::collections::VecDeque;

/// A shared medium of ports.
pub(super) type PortMedium<'p> = SharedMedium<'p, Cards<'p>>;

/// What a card tells its port.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    /// Its frame was sent.
    Sent { station: StationId, number: FrameNumber, copy: CopyId, start: Instant, end: Instant },
    /// Its frame is given up.
    GivenUp { station: StationId, copy: CopyId, at: Instant },
    /// It has heard a frame to its end, and whether all of it was right.
    Heard { station: StationId, number: FrameNumber, at: Instant, is_right: bool },
}

/// A card, and what is counted of it.
#[derive(Debug)]
struct Card {
    transmitter: Transmitter,
    /// The copy that it sends.
    copy: Option<CopyId>,
    /// Frames that came to its port within the window, dropped ones included.
    offered: u64,
    /// The longest access delay of a frame that it sent within the window.
    access_most: Span,
}

/// The cards of the ports on a medium.
pub(super) struct Cards<'p> {
    segment: &'p Segment,
    /// The measured window.
    window: (Instant, Instant),
    end: Instant,
    each: Vec<Card>,
    totals: Counters,
    outcomes: VecDeque<Outcome>,
    /// Frames on their way: number, how many stations have not heard it yet, and their copies.
    on_way: VecDeque<(FrameNumber, u32, Vec<Option<CopyId>>)>,
    /// Rooms for copies that all stations have heard.
    spare: Vec<Vec<Option<CopyId>>>,
}

impl<'p> Cards<'p> {
    fn new(compiled: &CompiledNetwork, segment: &'p Segment) -> Self {
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
        (copy, octets): (CopyId, u32),
        since: Instant,
        arrived: Instant,
    ) {
        let card = &mut self.each[station];
        card.copy = Some(copy);
        card.transmitter.take_up(since, arrived, Octets(octets.into()).bits());
    }

    /// Whether a card has told something that its port does not know yet.
    pub fn has_outcome(&self) -> bool {
        !self.outcomes.is_empty()
    }

    /// What a card has told, if its port does not know it yet.
    pub fn next_outcome(&mut self) -> Option<Outcome> {
        self.outcomes.pop_front()
    }

    /// Room for a copy of each station, without any.
    pub fn no_copies(&mut self) -> Vec<Option<CopyId>> {
        let mut copies = self.spare.pop().unwrap_or_default();
        copies.resize(self.each.len(), None);
        copies
    }

    /// The frame `number` is on its way to all stations that have a copy of it.
    pub fn share(&mut self, number: FrameNumber, copies: Vec<Option<CopyId>>) {
        self.on_way.push_back((number, small(copies.len() - 1), copies));
    }

    /// The copy of a frame that a station has heard to its end; none of one that collided.
    pub fn take_heard(&mut self, station: StationId, number: FrameNumber) -> Option<CopyId> {
        let (_, left, copies) = self.on_way.iter_mut().find(|(of, ..)| *of == number)?;
        let copy = copies[station].take()?;
        *left -= 1;
        while self.on_way.front().is_some_and(|&(_, left, _)| left == 0) {
            self.spare.extend(self.on_way.pop_front().map(|(.., copies)| copies));
        }
        Some(copy)
    }

    /// What was counted of the medium and of the cards, but what ports dropped, and the longest
    /// access delay of each card, when nothing more happens.
    pub fn finish(self) -> (MediumCounts, StationCounts, Vec<Span>) {
        let held = StationId::first(self.each.len()).zip(&self.each);
        let held: Vec<_> =
            held.filter_map(|(at, card)| Some((at, card.transmitter.holding_since()?))).collect();
        let (medium, mut stations) = self.totals.of_medium(self.end, &held);
        stations.offered = self.each.iter().map(|card| card.offered).collect();
        stations.offered_load = vec![f64::NAN; self.each.len()];
        (medium, stations, self.each.iter().map(|card| card.access_most).collect())
    }

    /// A card has no frame any more. The copy of it.
    fn release(&mut self, station: StationId) -> CopyId {
        let card = &mut self.each[station];
        card.transmitter.release();
        card.copy.take().expect("a station that sends holds a frame")
    }
}

impl Hosts for Cards<'_> {
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
            self.outcomes.push_back(Outcome::GivenUp { station, copy, at: end });
            Instant::NEVER
        });
        (attempt, ready)
    }

    fn receive(&mut self, station: StationId, number: FrameNumber, now: Instant, is_right: bool) {
        self.outcomes.push_back(Outcome::Heard { station, number, at: now, is_right });
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

/// Every shared medium.
pub(super) fn media<'p>(compiled: &'p CompiledNetwork) -> Vec<PortMedium<'p>> {
    let medium = |segment: &'p Segment| {
        let Segment { medium, plca, .. } = segment;
        let cards = Cards::new(compiled, segment);
        let streams = (compiled.seed, segment.first_draw);
        SharedMedium::new(medium, plca.as_ref(), &compiled.phases, streams, cards)
    };
    compiled.segments.iter().map(medium).collect()
}
