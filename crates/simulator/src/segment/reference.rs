//! A segment event by event: what [`super::fast`] is compared with. It runs on every MAC that has a
//! machine, and with functions in Python.

use super::compiled::{CompiledSegment, small};
use super::counters::Counters;
use super::hosts::SegmentHosts;
use super::station::{Attempt, Station};
use crate::error::Error;
use crate::mac::machine;
use crate::medium::Medium;
use crate::medium::access::Direct;
use crate::watch::Watch;
use ethermeter_trial::Counts;
use ethermeter_trial::medium::Mac;

/// Run a compiled segment. Returns what was counted and every attempt in the order of their starts.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub fn run(
    compiled: &CompiledSegment,
    mac: &Mac,
    watch: &Watch,
) -> Result<(Counts, Vec<Attempt>), Error> {
    go_on(compiled, mac, watch, Station::all(compiled), true)
}

/// Run a segment on which nothing is heard and no gap is owed, with its stations and when each is
/// ready. `tracing` keeps every attempt.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub(crate) fn go_on(
    segment: &CompiledSegment,
    mac: &Mac,
    watch: &Watch,
    (stations, ready): (Vec<Station>, Vec<i64>),
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let access = |station| Direct(machine(mac, segment.gap_of(station)));
    let accesses = (0..stations.len()).map(access).collect();
    let hosts = SegmentHosts { segment, stations, totals: Counters::new(segment, tracing) };
    let streams = (segment.seed, 0);
    let mut medium = Medium::new(&segment.medium, accesses, (), &segment.phases, streams, hosts);
    medium.make_all_ready(ready);
    medium.run(&mut watch.begin(segment.phases.begin_ps, segment.phases.end_ps))?;
    Ok(medium.into_counts())
}

/// Whether two transmissions of different stations are heard at once at some station.
pub(crate) fn overlap(segment: &CompiledSegment, a: &Attempt, b: &Attempt) -> bool {
    let delay = |from: u32, to: u32| {
        let at = |station: u32| segment.positions[station as usize];
        if from == to { 0 } else { segment.delay(at(from), at(to)) }
    };
    a.station != b.station
        && (0..small(segment.stations())).any(|station| {
            let (to_a, to_b) = (delay(a.station, station), delay(b.station, station));
            b.start + to_b < a.end + to_a && a.start + to_a < b.end + to_b
        })
}
