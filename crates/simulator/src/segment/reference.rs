//! A segment event by event: what [`super::fast`] is compared with. It runs on every MAC that has a
//! machine, and with functions in Python.

use super::compiled::CompiledSegment;
use super::counters::Counters;
use super::hosts::SegmentHosts;
use super::station::Station;
use crate::error::Error;
use crate::identity::StationId;
use crate::mac::machine;
use crate::mac::transmitter::Attempt;
use crate::medium::Medium;
use crate::medium::access::Direct;
use crate::time::Instant;
use crate::watch::Watch;
use ethermeter_trial::Counts;
use ethermeter_trial::medium::Mac;

/// Run a segment on which nothing is heard and no gap is owed, with its stations and when each is
/// ready. `tracing` keeps every attempt.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub(crate) fn go_on(
    segment: &CompiledSegment,
    mac: &Mac,
    watch: &Watch,
    (stations, ready): (Vec<Station>, Vec<Instant>),
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let access = |station| Direct(machine(mac, segment.gap_of(station)));
    let accesses = StationId::first(stations.len()).map(access).collect();
    let hosts = SegmentHosts { segment, stations, totals: Counters::new(segment, tracing) };
    let streams = (segment.seed, 0);
    let mut medium = Medium::new(&segment.medium, accesses, (), &segment.phases, streams, hosts);
    medium.make_all_ready(ready);
    medium.run(&mut watch.begin(&segment.phases))?;
    Ok(medium.into_counts())
}
