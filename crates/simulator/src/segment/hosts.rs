//! The stations of a segment as hosts of its medium, and what is counted of them.

use super::compiled::CompiledSegment;
use super::counters::Counters;
use super::station::{Attempt, Station};
use crate::medium::Medium;
use crate::medium::access::Access;
use crate::medium::hosts::Hosts;
use ethermeter_trial::Counts;

/// The stations of a segment, and what is counted of them.
pub(crate) struct SegmentHosts<'w> {
    pub(crate) segment: &'w CompiledSegment,
    pub(crate) stations: Vec<Station>,
    pub(crate) totals: Counters,
}

impl Hosts for SegmentHosts<'_> {
    fn packet_time(&self, station: u32, start: i64) -> i64 {
        self.stations[station as usize].packet_time(self.segment, start)
    }

    fn deliver(&mut self, station: u32, _: u32, start: i64, end: i64) -> (Attempt, i64) {
        self.stations[station as usize].deliver(start, end)
    }

    fn collide(&mut self, station: u32, start: i64, end: i64, late: bool) -> (Attempt, i64) {
        self.stations[station as usize].collide(start, end, late)
    }

    fn receive(&mut self, _: u32, _: u32, _: i64, _: bool) {} // their flows have no receiver

    fn record(&mut self, attempt: &Attempt) {
        self.totals.record(attempt);
    }

    fn record_logical(&mut self, attempt: &Attempt) {
        self.totals.record_logical(attempt);
    }
}

impl<A: Access> Medium<'_, A, SegmentHosts<'_>> {
    /// What was counted, and the attempts that were kept, when nothing more happens.
    pub(crate) fn into_counts(self) -> (Counts, Vec<Attempt>) {
        let (mut hosts, medium, plca) = self.finish();
        let (mut counts, trace) = hosts.totals.finish(hosts.segment, &mut hosts.stations);
        if plca.is_some() {
            counts.medium.time_ps = medium;
            counts.medium.plca = plca;
        }
        (counts, trace)
    }
}
