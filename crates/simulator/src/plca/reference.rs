//! A bus event by event: what [`super::fast`] is compared with, and what it runs where the bus is
//! not regular.

use super::access::PlcaAccess;
use super::compiled::CompiledBus;
use super::counters::BusCounters;
use crate::error::Error;
use crate::mac::transmitter::Attempt;
use crate::medium::Medium;
use crate::segment::counters::Counters;
use crate::segment::hosts::SegmentHosts;
use crate::segment::station::Station;
use crate::watch::Watch;
use ethermeter_trial::Counts;

/// A bus with the stations of a segment.
pub(super) type Machine<'w> = Medium<'w, PlcaAccess, SegmentHosts<'w>>;

/// Run a bus. Returns what was counted, and with `tracing` every attempt that reached the line, in
/// the order of their starts.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub fn run(
    bus: &CompiledBus,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let mut machine = machine(bus, tracing);
    let phases = &bus.segment.phases;
    machine.run(&mut watch.begin(phases))?;
    Ok(machine.into_counts())
}

/// A bus before its first event. `tracing` keeps every attempt.
pub(super) fn machine(bus: &CompiledBus, tracing: bool) -> Machine<'_> {
    let segment = &bus.segment;
    let (stations, ready) = Station::all(segment);
    let hosts = SegmentHosts { segment, stations, totals: Counters::new(segment, tracing) };
    let streams = (segment.seed, 0);
    let accesses = PlcaAccess::all(&segment.medium, &bus.plca, streams);
    let counters = BusCounters::of(accesses.len(), &segment.phases);
    let mut machine =
        Medium::new(&segment.medium, accesses, counters, &segment.phases, streams, hosts);
    machine.make_all_ready(ready);
    machine
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::{Bus, MS};
    use crate::medium::MOST_KEPT;
    use crate::time::Instant;
    use ethermeter_trial::medium::Mac;

    /// Step a bus to its end; it keeps little all the time, and counts the same.
    fn keeps_little(bus: &Bus) {
        let trial = bus.trial();
        let Mac::Plca(constants) = &trial.scenario.media[0].mac else { unreachable!("a bus") };
        let bus = CompiledBus::new(&trial, constants).expect("a bus");
        let end = Instant::from_ps(bus.segment.phases.end_ps);
        let mut machine = machine(&bus, true);
        let mut most = [0; 3];
        while machine.next_at().is_some_and(|at| at < end || machine.on_line > 0) {
            machine.step();
            let ended = machine.attempts.len() + machine.logical.len() + machine.signals.len();
            for (most, now) in
                most.iter_mut().zip([ended, machine.damaged.len(), machine.queue.len()])
            {
                *most = now.max(*most);
            }
        }
        let nodes = bus.plca.nodes.len();
        // A node has some timers that run or were stopped, and what is on its way to it.
        let allowed = [2 * MOST_KEPT, MOST_KEPT, 32 * nodes];
        assert!(most.iter().zip(&allowed).all(|(most, allowed)| most <= allowed), "{most:?}");
        let expected = run(&bus, &Watch::default(), true).expect("a run");
        assert_eq!(machine.into_counts(), expected);
    }

    #[test]
    fn a_bus_that_goes_on_for_long_keeps_no_more_whether_idle_or_saturated() {
        let delays = |bus: Bus, nodes: u64| Bus {
            delay_ps: (0..nodes)
                .map(|a| (0..nodes).map(|b| a.abs_diff(b) * 1000).collect())
                .collect(),
            ..bus
        };
        keeps_little(&Bus { length_ps: 500 * MS, ..Bus::of(24).idle() });
        keeps_little(&Bus { length_ps: 500 * MS, ..Bus::of(8) });
        let apart = |bus: Bus| {
            bus.with(|at, stations, _| stations.points = vec![u32::try_from(at).expect("few")])
        };
        keeps_little(&Bus { length_ps: 500 * MS, ..apart(delays(Bus::of(24), 24)) });
    }
}
