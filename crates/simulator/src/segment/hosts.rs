//! The stations of a segment as hosts of its medium, and what is counted of them.

use super::compiled::CompiledSegment;
use super::counters::Counters;
use super::station::Station;
use crate::identity::StationId;
use crate::mac::transmitter::Attempt;
use crate::medium::Medium;
use crate::medium::access::Access;
use crate::medium::hosts::Hosts;
use crate::medium::signals::FrameNumber;
use crate::time::{Instant, Span};
use ethermeter_trial::Counts;

/// The stations of a segment, and what is counted of them.
pub(crate) struct SegmentHosts<'w> {
    pub(crate) segment: &'w CompiledSegment,
    pub(crate) stations: Vec<Station>,
    pub(crate) totals: Counters,
}

#[expect(
    clippy::inline_always,
    reason = "each frame of a bus goes through here: a tenth of its speed"
)]
impl Hosts for SegmentHosts<'_> {
    #[inline(always)]
    fn packet_time(&self, station: StationId, start: Instant) -> Span {
        self.stations[station].packet_time(self.segment, start)
    }

    fn withdraw(&mut self, station: StationId, now: Instant) -> Option<Instant> {
        self.stations[station].withdraw(now)
    }

    #[inline(always)]
    fn deliver(
        &mut self,
        station: StationId,
        _: FrameNumber,
        start: Instant,
        end: Instant,
    ) -> (Attempt, Instant) {
        self.stations[station].deliver(start, end)
    }

    #[inline(always)]
    fn collide(
        &mut self,
        station: StationId,
        start: Instant,
        end: Instant,
        late: bool,
    ) -> (Attempt, Instant) {
        self.stations[station].collide(start, end, late)
    }

    fn receive(&mut self, _: StationId, _: FrameNumber, _: Instant, _: bool) {} // their flows have no receiver

    #[inline(always)]
    fn record(&mut self, attempt: &Attempt) {
        self.totals.record(attempt);
    }

    #[inline(always)]
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
            counts.media[0].time_ps = medium;
            counts.media[0].plca = plca;
        }
        (counts, trace)
    }
}
