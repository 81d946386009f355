//! What is offered to an idealised world: by the stations of the groups, or by a population without
//! end.

use super::counters::Frame;
use crate::segment::compiled::{CompiledSegment, NEVER, small};
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
    next: Vec<i64>,
    kinds: Vec<Kind>,
    length_chance: Vec<Stream>,
    begin: i64,
    slot: i64,
    stop: i64,
    soonest: Option<(i64, usize)>,
}

impl<'w> Supplies<'w> {
    /// All supplies, with the first frame of each to come.
    pub fn new(compiled: &'w CompiledSegment, slot: i64) -> Self {
        let phases = &compiled.phases;
        let mut supplies = Self {
            compiled,
            next: vec![NEVER; compiled.stations()],
            kinds: Vec::with_capacity(compiled.stations()),
            length_chance: Vec::with_capacity(compiled.stations()),
            begin: phases.begin_ps.cast_signed(),
            slot,
            stop: phases.stop_ps.cast_signed(),
            soonest: None,
        };
        for station in 0..compiled.stations() {
            let stream = |purpose| Stream::new(compiled.seed, small(station), purpose);
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
            supplies.next[station] = supplies.there(first_ps.cast_signed());
        }
        supplies
    }

    /// How many stations there are.
    pub fn stations(&self) -> usize {
        self.next.len()
    }

    /// When a frame that comes at `time` is there.
    #[inline]
    fn there(&self, time: i64) -> i64 {
        match time {
            _ if time >= self.stop => NEVER,
            _ if self.slot == 1 => time,
            _ => self.begin + ((time - self.begin) / self.slot + 1) * self.slot,
        }
    }

    /// When the next frame of a station is there; [`NEVER`] while its user does not think, and
    /// after the stop.
    #[inline]
    pub fn next(&self, station: usize) -> i64 {
        self.next[station]
    }

    /// When the next frame of all is there, and at which station.
    #[inline]
    pub fn soonest(&mut self) -> (i64, usize) {
        let next = &self.next;
        *self.soonest.get_or_insert_with(|| {
            let least = next.iter().copied().min().expect("at least one station");
            (least, next.iter().position(|&time| time == least).expect("the least is one of them"))
        })
    }

    /// Take the next frame of a station. Returns when it arrived.
    #[inline]
    pub fn take(&mut self, station: usize) -> i64 {
        let taken = self.next[station];
        self.next[station] = NEVER;
        if let Kind::Arriving(times) = &mut self.kinds[station] {
            times.take_ps();
            let mut next = times.peek_ps().cast_signed();
            while self.slot > 1 && next < taken {
                times.take_ps(); // the same slot: the same frame
                next = times.peek_ps().cast_signed();
            }
            self.next[station] = self.there(next);
        }
        self.soonest = None;
        taken
    }

    /// From `from` on, the user of a station has nothing to send, and thinks. A source with its own
    /// times does not mind.
    #[inline]
    pub fn think(&mut self, station: usize, from: i64) {
        if let Kind::Thinking { service, chance } = &mut self.kinds[station] {
            self.next[station] = {
                let time = from + service.draw(chance).cast_signed();
                self.there(time)
            };
            self.soonest = None;
        }
    }

    /// The length of the next frame of a station.
    #[inline]
    pub fn bits(&mut self, station: usize) -> u64 {
        self.compiled.group(station).flow.frames.draw(&mut self.length_chance[station])
    }
}

/// A population without end: one Poisson stream of frames, each of a station chosen at random, for
/// the counters.
pub(super) struct Crowd<'w> {
    compiled: &'w CompiledSegment,
    times: ArrivalTimes,
    assignment: Stream,
    length_chance: Vec<Stream>,
    stop: i64,
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
            length_chance: (0..compiled.stations())
                .map(|station| Stream::new(compiled.seed, small(station), Purpose::Length))
                .collect(),
            stop: compiled.phases.stop_ps.cast_signed(),
        }
    }

    /// When the next frame comes, or [`NEVER`].
    #[inline]
    pub fn next(&self) -> i64 {
        let next = self.times.peek_ps().cast_signed();
        if next < self.stop { next } else { NEVER }
    }

    /// Take the next frame. Its length is drawn when it is sent.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below the number of stations
    pub fn take(&mut self) -> Frame {
        let arrived = self.times.take_ps().cast_signed();
        let station = self.assignment.below(self.length_chance.len() as u64) as u32;
        Frame { station, arrived, taken_up: arrived, bits: 0, attempts: 0 }
    }

    /// The length of the next frame of a station.
    #[inline]
    pub fn bits(&mut self, station: u32) -> u64 {
        self.compiled
            .group(station as usize)
            .flow
            .frames
            .draw(&mut self.length_chance[station as usize])
    }
}
