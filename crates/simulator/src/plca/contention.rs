//! A bus on which nobody uses PLCA, by the contentions of [`crate::segment::fast`].
//!
//! Attempts and draws are those of [`mod@super::reference`], and so are the counts, where
//! [`CompiledBus::is_contention`] says so.

use super::compiled::CompiledBus;
use super::counters::BusCounters;
use crate::error::Error;
use crate::identity::StationId;
use crate::mac::transmitter::{Attempt, Ending};
use crate::medium::access::Counters as _;
use crate::medium::line::{Kind, Line, Signal};
use crate::segment::counters::{Counters, Record};
use crate::segment::fast::contend;
use crate::segment::station::Station;
use crate::time::{Instant, Span};
use crate::watch::Watch;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::Counts;

/// What is counted of a bus, attempt by attempt.
struct ContentionCounters<'b> {
    bus: &'b CompiledBus,
    totals: Counters,
    line: Line,
    counters: BusCounters,
    /// When the last of the transmissions that began ends; its end delimiter is not counted yet.
    end: Instant,
    /// When the MAC of each station began the first attempt of its frame.
    first_attempts: Vec<Option<Instant>>,
    damage: Vec<Stream>,
}

/// Run a bus on which nobody uses PLCA. Returns what was counted and, when `tracing`, every attempt
/// in the order of their starts.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub fn run(
    bus: &CompiledBus,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let segment = &bus.segment;
    let mut counters = ContentionCounters::new(bus, tracing);
    let (mut stations, first) = Station::all(segment);
    let mut poll = watch.begin(&segment.phases);
    contend(&bus.contention(), &mut stations, &first, &mut counters, &mut poll);
    poll.check()?;
    Ok(counters.finish(&mut stations))
}

impl<'b> ContentionCounters<'b> {
    fn new(bus: &'b CompiledBus, tracing: bool) -> Self {
        let segment = &bus.segment;
        let phases = &segment.phases;
        let from = Instant::from_ps(phases.measure_from_ps);
        let to = Instant::from_ps(phases.measure_to_ps);
        let stations = segment.stations();
        let damage =
            |station: StationId| Stream::new(segment.seed, station.number(), Purpose::Loss);
        Self {
            bus,
            totals: Counters::new(segment, tracing),
            line: Line::new(from, to, segment.gap),
            counters: BusCounters::new(stations, from, to),
            end: Instant::ZERO,
            first_attempts: vec![None; stations],
            damage: StationId::first(stations).map(damage).collect(),
        }
    }

    #[inline]
    fn note(&mut self, start: Instant, end: Instant, kind: Kind) {
        self.line.record(Signal { start, end, kind });
    }

    /// Transmissions that overlap have one end delimiter in common: it follows the last of them.
    #[inline]
    fn end_before(&mut self, start: Instant) {
        if self.end > Instant::ZERO && start >= self.end {
            self.note(self.end, self.end + self.bus.segment.phy.end_delimiter, Kind::Preamble);
        }
    }

    /// Count what the line and its node do. Returns whether its frame has wrong bits.
    #[inline]
    fn take(&mut self, attempt: &Attempt) -> bool {
        let &Attempt { station, start, end, .. } = attempt;
        self.end_before(start);
        self.end = self.end.max(end);
        if attempt.ending != Ending::Delivered {
            self.note(start, end, Kind::Collision);
            let first = &mut self.first_attempts[station];
            first.get_or_insert(start);
            first.take_if(|_| attempt.ending == Ending::Discarded);
            return false;
        }
        let frame = (start + self.bus.segment.preamble).min(end);
        self.note(start, frame, Kind::Preamble);
        self.note(frame, end, Kind::Frame);
        let first = self.first_attempts[station].take().unwrap_or(start);
        self.counters.deliver(station, attempt, first, false);
        self.bus.segment.phy.damages(attempt.length, &mut self.damage[station])
    }

    fn finish(mut self, stations: &mut [Station]) -> (Counts, Vec<Attempt>) {
        self.end_before(Instant::NEVER);
        let (mut counts, trace) = self.totals.finish(&self.bus.segment, stations);
        let (medium, plca) = self.line.finish();
        counts.media[0].time_ps = medium.map(Span::ps);
        counts.media[0].plca = self.counters.finish(plca);
        (counts, trace)
    }
}

impl Record for ContentionCounters<'_> {
    #[inline]
    fn record(&mut self, attempt: &Attempt) {
        let damaged = self.take(attempt) || attempt.damaged;
        self.totals.record(&Attempt { damaged, ..*attempt });
    }

    #[inline]
    fn record_frame(&mut self, attempt: &Attempt) {
        let damaged = self.take(attempt) || attempt.damaged;
        self.totals.record_frame(&Attempt { damaged, ..*attempt });
    }

    #[inline]
    fn record_collision(&mut self, attempts: &[Attempt]) {
        for attempt in attempts {
            let _ = self.take(attempt); // a jam is no frame
        }
        self.totals.record_collision(attempts);
    }
}
