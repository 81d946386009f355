//! What is offered to an idealised world: by the stations of the groups, or by a population without
//! end.

use super::counters::Frame;
use crate::identity::StationId;
use crate::segment::compiled::CompiledSegment;
use crate::time::{Instant, Span};
use ethermeter_ethernet::units::Bits;
use ethermeter_traffic::arrivals::{ArrivalTimes, Arrivals};
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Purpose, Stream};

/// The station number of draws that belong to the medium.
pub(super) const MEDIUM: u32 = u32::MAX;

/// When frames come: from a source with its own times, or from a user who thinks after each frame.
enum Kind {
    Arriving(ArrivalTimes),
    Thinking { service: Times, chance: Stream },
}

/// The supplies of all stations.
///
/// A frame that comes in a slot is there at its end, and two of a station in one slot are one. In
/// continuous time a slot is a picosecond, and a frame is there when it comes.
pub(super) struct Supplies<'w> {
    compiled: &'w CompiledSegment,
    next: Vec<Instant>,
    kinds: Vec<Kind>,
    length_chance: Vec<Stream>,
    begin: Instant,
    slot: Span,
    stop: Instant,
    soonest: Option<(Instant, StationId)>,
}

impl<'w> Supplies<'w> {
    /// All supplies, with the first frame of each to come.
    pub fn new(compiled: &'w CompiledSegment, slot: Span) -> Self {
        let phases = &compiled.phases;
        let mut supplies = Self {
            compiled,
            next: vec![Instant::NEVER; compiled.stations()],
            kinds: Vec::with_capacity(compiled.stations()),
            length_chance: Vec::with_capacity(compiled.stations()),
            begin: Instant::from_ps(phases.begin_ps),
            slot,
            stop: Instant::from_ps(phases.stop_ps),
            soonest: None,
        };
        for station in StationId::first(compiled.stations()) {
            let stream = |purpose| Stream::new(compiled.seed, station.number(), purpose);
            let group = compiled.group(station);
            let begin_ps = phases.begin_ps + stream(Purpose::Begin).below(phases.spread_ps);
            let kind = match &group.flow.arrivals {
                Arrivals::Saturated {} => Kind::Thinking {
                    service: group.flow.service.clone(),
                    chance: stream(Purpose::Service),
                },
                arrivals => {
                    Kind::Arriving(ArrivalTimes::new(arrivals, begin_ps, stream(Purpose::Arrival)))
                }
            };
            let first_ps = match &kind {
                Kind::Arriving(times) => times.peek_ps(),
                Kind::Thinking { .. } => begin_ps,
            };
            supplies.kinds.push(kind);
            supplies.length_chance.push(stream(Purpose::Length));
            supplies.next[station] = supplies.there(Instant::from_ps(first_ps));
        }
        supplies
    }

    /// How many stations there are.
    pub fn stations(&self) -> usize {
        self.next.len()
    }

    /// When a frame that comes at `time` is there.
    #[inline]
    fn there(&self, time: Instant) -> Instant {
        match time {
            _ if time >= self.stop => Instant::NEVER,
            _ if self.slot == Span::PICOSECOND => time,
            _ => self.begin + self.slot * ((time - self.begin).periods(self.slot) + 1),
        }
    }

    /// When the next frame of a station is there; [`Instant::NEVER`] while its user does not think, and
    /// after the stop.
    #[inline]
    pub fn next(&self, station: StationId) -> Instant {
        self.next[station]
    }

    /// When the next frame of all is there, and at which station.
    #[inline]
    pub fn soonest(&mut self) -> (Instant, StationId) {
        let next = &self.next;
        *self.soonest.get_or_insert_with(|| {
            let least = next.iter().copied().min().expect("at least one station");
            let station = next.iter().position(|&time| time == least);
            (least, StationId::new(station.expect("the least is one of them")))
        })
    }

    /// Take the next frame of a station. Returns when it arrived.
    #[inline]
    pub fn take(&mut self, station: StationId) -> Instant {
        let taken = self.next[station];
        self.next[station] = Instant::NEVER;
        if let Kind::Arriving(times) = &mut self.kinds[station] {
            times.take_ps();
            let mut next = Instant::from_ps(times.peek_ps());
            while self.slot > Span::PICOSECOND && next < taken {
                times.take_ps(); // the same slot: the same frame
                next = Instant::from_ps(times.peek_ps());
            }
            self.next[station] = self.there(next);
        }
        self.soonest = None;
        taken
    }

    /// From `from` on, the user of a station has nothing to send, and thinks. A source with its own
    /// times does not mind.
    #[inline]
    pub fn think(&mut self, station: StationId, from: Instant) {
        if let Kind::Thinking { service, chance } = &mut self.kinds[station] {
            self.next[station] = {
                let time = from + Span::from_ps(service.draw(chance));
                self.there(time)
            };
            self.soonest = None;
        }
    }

    /// The length of the next frame of a station.
    #[inline]
    pub fn length(&mut self, station: StationId) -> Bits {
        Bits(self.compiled.group(station).flow.frames.draw(&mut self.length_chance[station]))
    }
}

/// A population without end: one Poisson stream of frames, each of a station chosen at random, for
/// the counters.
pub(super) struct Crowd<'w> {
    compiled: &'w CompiledSegment,
    times: ArrivalTimes,
    assignment: Stream,
    length_chance: Vec<Stream>,
    stop: Instant,
}

impl<'w> Crowd<'w> {
    /// A population whose frames come `mean_ps` apart in the mean.
    pub fn new(compiled: &'w CompiledSegment, mean_ps: f64) -> Self {
        let chance = Stream::new(compiled.seed, MEDIUM, Purpose::Arrival);
        Self {
            compiled,
            times: ArrivalTimes::new(
                &Arrivals::Poisson { mean_ps },
                compiled.phases.begin_ps,
                chance,
            ),
            assignment: Stream::new(compiled.seed, MEDIUM, Purpose::Assignment),
            length_chance: StationId::first(compiled.stations())
                .map(|station| Stream::new(compiled.seed, station.number(), Purpose::Length))
                .collect(),
            stop: Instant::from_ps(compiled.phases.stop_ps),
        }
    }

    /// When the next frame comes, or [`Instant::NEVER`].
    #[inline]
    pub fn next(&self) -> Instant {
        let next = Instant::from_ps(self.times.peek_ps());
        if next < self.stop { next } else { Instant::NEVER }
    }

    /// Take the next frame. Its length is drawn when it is sent.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below the number of stations
    pub fn take(&mut self) -> Frame {
        let arrived = Instant::from_ps(self.times.take_ps());
        let station = self.assignment.below(self.length_chance.len() as u64) as u32;
        let station = StationId::from(station);
        Frame { station, arrived, taken_up: arrived, length: Bits(0), attempts: 0 }
    }

    /// The length of the next frame of a station.
    #[inline]
    pub fn length(&mut self, station: StationId) -> Bits {
        Bits(self.compiled.group(station).flow.frames.draw(&mut self.length_chance[station]))
    }
}
