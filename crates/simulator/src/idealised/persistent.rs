//! Carrier sense without slots, 1-persistent (Takagi and Kleinrock 1985).
//!
//! A busy period begins with one frame, or with all that waited for the silence. All are at
//! distance a of each other; a station that starts within a of the first start has not heard it;
//! one that comes later waits for the end of the period. A station that hears a collision stops b
//! later.
//!
//! ```text
//! one start, alone         packet, a                     delivered
//! one start, rival at Z    Z + a heard, b, a             the first sends Z + a + b, its rivals until a + b
//! several at once          a heard, b, a                 unless `simultaneous_starts_unnoticed`: then as one start, never delivered
//! ```
//!
//! Afterwards all that took part are idle again: their frames are gone, and come anew.

use super::counters::{Frame, FrameCounters};
use super::supply::{Crowd, Supplies};
use crate::error::Error;
use crate::identity::StationId;
use crate::mac::transmitter::{Attempt, Ending};
use crate::segment::compiled::CompiledSegment;
use crate::time::{Instant, Span};
use crate::watch::{Poll, Watch};
use ethermeter_trial::Counts;
use ethermeter_trial::idealised::OnePersistent;

/// A frame and its start.
type Start = (Instant, Frame);

/// Who offers frames, and when the next busy period begins.
trait Population {
    /// The frames that start the next period and those that start before they hear it, in the order
    /// of their starts; none: it is over. The medium has been idle since `idle_from`.
    fn start(
        &mut self,
        idle_from: Instant,
        propagation: Span,
        counters: &mut FrameCounters,
        starting: &mut Vec<Start>,
    );

    /// The period is over, and those that took part are idle.
    fn rest(&mut self, idle_from: Instant, starting: &[Start], counters: &mut FrameCounters);
}

/// Simulate a compiled segment.
pub(super) fn run(
    compiled: &CompiledSegment,
    propagation: Span,
    access: OnePersistent,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let counters = FrameCounters::new(compiled, tracing);
    let mut poll = watch.begin(&compiled.phases);
    let Some(mean_ps) = access.infinite_mean_ps else {
        return run_with(
            Users { supplies: Supplies::new(compiled, Span::PICOSECOND) },
            compiled,
            propagation,
            access,
            counters,
            &mut poll,
        );
    };
    let crowd = Waiting { crowd: Crowd::new(compiled, mean_ps), waiting: Vec::new() };
    let (mut counts, trace) = run_with(crowd, compiled, propagation, access, counters, &mut poll)?;
    counts.stations.offered_load.fill(mean_packet_ps(compiled) / mean_ps / count(compiled));
    Ok((counts, trace))
}

fn run_with(
    mut population: impl Population,
    compiled: &CompiledSegment,
    propagation: Span,
    access: OnePersistent,
    mut counters: FrameCounters,
    poll: &mut Poll,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let end = Instant::from_ps(compiled.phases.end_ps);
    let mut idle_from = Instant::from_ps(compiled.phases.begin_ps);
    let mut starting: Vec<Start> = Vec::new();
    loop {
        starting.clear();
        population.start(idle_from, propagation, &mut counters, &mut starting);
        if starting.first().is_none_or(|&(start, _)| start >= end || !poll.goes_on(start)) {
            poll.check()?;
            return Ok(counters.finish(starting.iter().map(|(_, frame)| frame)));
        }
        idle_from = send(&mut starting, propagation, access, &mut counters);
        population.rest(idle_from, &starting, &mut counters);
    }
}

/// Send the frames of one busy period. Returns when the medium is idle again.
fn send(
    starting: &mut [Start],
    propagation: Span,
    access: OnePersistent,
    counters: &mut FrameCounters,
) -> Instant {
    let abort = Span::from_ps(access.abort_ps);
    let first = starting[0].0;
    let unnoticed = access.simultaneous_starts_unnoticed;
    if let [(start, frame)] = starting {
        return counters.deliver(frame, *start) + propagation;
    }
    let rival = starting.iter().map(|&(start, _)| start).find(|&start| start > first);
    let several = starting[1].0 == first;
    let rivals_stop = first + propagation + abort;
    let (first_stop, idle_from) = match rival {
        None if unnoticed => {
            let longest = starting
                .iter()
                .map(|(_, frame)| counters.packet(frame.length))
                .max()
                .expect("two or more");
            (first + longest, first + longest + propagation)
        }
        Some(rival) if unnoticed || !several => {
            (rival + propagation + abort, rival + propagation * 2 + abort)
        }
        _ => (rivals_stop, rivals_stop + propagation),
    };
    for (start, frame) in starting {
        let stop = if *start == first { first_stop } else { rivals_stop };
        counters.fail(frame, *start, stop, Ending::Discarded);
    }
    counters.collide();
    idle_from
}

/// A population without end, and those of it that wait for silence.
struct Waiting<'w> {
    crowd: Crowd<'w>,
    waiting: Vec<Start>,
}

impl Waiting<'_> {
    fn take(&mut self, counters: &mut FrameCounters) -> Frame {
        let mut frame = self.crowd.take();
        counters.offer(frame.station, frame.arrived);
        frame.length = self.crowd.length(frame.station);
        frame
    }
}

impl Population for Waiting<'_> {
    fn start(
        &mut self,
        idle_from: Instant,
        propagation: Span,
        counters: &mut FrameCounters,
        starting: &mut Vec<Start>,
    ) {
        std::mem::swap(starting, &mut self.waiting);
        if starting.is_empty() && self.crowd.next() == Instant::NEVER {
            return;
        }
        let first = if starting.is_empty() { self.crowd.next() } else { idle_from };
        while self.crowd.next() < first + propagation {
            let frame = self.take(counters);
            starting.push((frame.arrived, frame));
        }
    }

    fn rest(&mut self, idle_from: Instant, _: &[Start], counters: &mut FrameCounters) {
        while self.crowd.next() < idle_from {
            let frame = self.take(counters);
            self.waiting.push((idle_from, frame));
        }
    }
}

/// Stations, each with one frame, whose users think from the end of a period in which they took
/// part.
struct Users<'w> {
    supplies: Supplies<'w>,
}

impl Population for Users<'_> {
    fn start(
        &mut self,
        idle_from: Instant,
        propagation: Span,
        counters: &mut FrameCounters,
        starting: &mut Vec<Start>,
    ) {
        let first = self.supplies.soonest().0.max(idle_from);
        for station in StationId::first(self.supplies.stations()) {
            let arrived = self.supplies.next(station);
            if arrived < first + propagation && !arrived.is_never() {
                self.supplies.take(station);
                counters.offer(station, arrived);
                let length = self.supplies.length(station);
                let frame = Frame { station, arrived, taken_up: arrived, length, attempts: 0 };
                starting.push((arrived.max(first), frame));
            }
        }
        starting.sort_unstable_by_key(|&(start, frame)| (start, frame.station));
    }

    fn rest(&mut self, idle_from: Instant, starting: &[Start], _: &mut FrameCounters) {
        for (_, frame) in starting {
            self.supplies.think(frame.station, idle_from);
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn count(compiled: &CompiledSegment) -> f64 {
    compiled.stations() as f64
}

#[allow(clippy::cast_precision_loss)]
fn mean_packet_ps(compiled: &CompiledSegment) -> f64 {
    let bits: f64 = StationId::first(compiled.stations())
        .map(|station| compiled.group(station).flow.frames.mean_bits())
        .sum();
    bits / count(compiled) * compiled.bit.to_f64()
}
