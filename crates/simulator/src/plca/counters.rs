//! What is counted of opportunities, beside what [`crate::segment::counters`] counts
//! of stations.

use super::control::Opportunity;
use crate::identity::StationId;
use crate::mac::transmitter::Attempt;
use crate::medium::access::Counters;
use crate::spread::Spread;
use crate::time::{Instant, Span};
use ethermeter_trial::Phases;
use ethermeter_trial::counts::{PlcaCounts, PlcaNodeCounts};

/// Sums over a bus, of events within the window.
#[derive(Clone, Debug)]
pub struct BusCounters {
    from: Instant,
    to: Instant,
    /// Begin of the cycle under way, by coordinator.
    begun: Vec<Option<Instant>>,
    cycle: Spread,
    access: Spread,
    opportunities: u64,
    nodes: PlcaNodeCounts,
    ok_since: Vec<Option<Instant>>,
}

impl BusCounters {
    /// Nothing counted yet.
    #[must_use]
    pub fn new(stations: usize, from: Instant, to: Instant) -> Self {
        let zeros = || vec![0; stations];
        Self {
            from,
            to,
            begun: vec![None; stations],
            cycle: Spread::default(),
            access: Spread::default(),
            opportunities: 0,
            nodes: PlcaNodeCounts {
                used: zeros(),
                yielded: zeros(),
                missed: zeros(),
                logical_collisions: zeros(),
                burst_frames: zeros(),
                beacons_lost: zeros(),
                status_changes: zeros(),
                ok_ps: zeros(),
                access_max_ps: zeros(),
                attempt_max_ps: zeros(),
            },
            ok_since: vec![None; stations],
        }
    }

    /// Nothing counted yet of the window of a test.
    #[must_use]
    pub fn of(stations: usize, phases: &Phases) -> Self {
        let from = Instant::from_ps(phases.measure_from_ps);
        Self::new(stations, from, Instant::from_ps(phases.measure_to_ps))
    }

    fn counts(&self, now: Instant) -> bool {
        self.from <= now && now < self.to
    }

    /// A coordinator begins that many beacons, one or more, the others a period after the one before
    /// them. Either all of them lie within the window or none.
    #[inline]
    pub fn begin_cycles(&mut self, station: StationId, first: Instant, period: Span, count: u64) {
        self.begin_cycle(station, first);
        if count > 1 {
            if self.counts(first) {
                self.cycle.record_many(period, count - 1);
            }
            self.begun[station] = Some(first + period * (count - 1));
        }
    }

    /// Opportunities of cycles that began then are over: how many, and of each node those that were
    /// used and missed, and all.
    pub fn end_opportunities(
        &mut self,
        begun: Instant,
        passed: u64,
        by_node: impl Iterator<Item = (u64, u64, u64)>,
    ) {
        if !self.counts(begun) {
            return;
        }
        self.opportunities += passed;
        for (station, (used, missed, all)) in StationId::first(self.ok_since.len()).zip(by_node) {
            self.nodes.used[station] += used;
            self.nodes.missed[station] += missed;
            self.nodes.yielded[station] += all - used - missed;
        }
    }

    /// A coordinator ceases to be one.
    pub fn end_cycles(&mut self, station: StationId) {
        self.begun[station] = None;
    }

    /// An opportunity is over, by the count of a coordinator.
    pub fn pass_opportunity(&mut self, now: Instant) {
        self.opportunities += u64::from(self.counts(now));
    }

    /// An own opportunity of a node is over.
    pub fn end_opportunity(&mut self, station: StationId, opportunity: Opportunity, now: Instant) {
        if self.counts(now) {
            let counts = match opportunity {
                Opportunity::Used => &mut self.nodes.used,
                Opportunity::Yielded => &mut self.nodes.yielded,
                Opportunity::Missed => &mut self.nodes.missed,
            };
            counts[station] += 1;
        }
    }

    /// A node did not hear a beacon.
    pub fn lose_beacon(&mut self, station: StationId, now: Instant) {
        self.nodes.beacons_lost[station] += u64::from(self.counts(now));
    }

    /// Cycles that were counted so far.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycle.count()
    }

    /// Own opportunities of a node so far: used, yielded, missed.
    #[must_use]
    pub fn opportunities_of(&self, station: StationId) -> [u64; 3] {
        [&self.nodes.used, &self.nodes.yielded, &self.nodes.missed].map(|counts| counts[station])
    }

    /// The status of a node, now.
    pub fn set_status(&mut self, station: StationId, is_ok: bool, now: Instant) {
        if is_ok == self.ok_since[station].is_some() {
            return;
        }
        self.nodes.status_changes[station] += u64::from(self.counts(now));
        match self.ok_since[station].take() {
            None => self.ok_since[station] = Some(now),
            Some(since) => self.add_ok(station, since, now),
        }
    }

    fn add_ok(&mut self, station: StationId, since: Instant, until: Instant) {
        let time = until.clamp(self.from, self.to) - since.clamp(self.from, self.to);
        self.nodes.ok_ps[station] += time.ps();
    }
}

impl Counters for BusCounters {
    fn begin_cycle(&mut self, station: StationId, now: Instant) {
        if let Some(begun) = self.begun[station].replace(now).filter(|_| self.counts(now)) {
            self.cycle.record(now - begun);
        }
    }

    #[inline]
    fn deliver(&mut self, station: StationId, delivered: &Attempt, first: Instant, is_burst: bool) {
        if !self.counts(delivered.end) {
            return;
        }
        let access = (delivered.start - delivered.taken_up).ps();
        let from_attempt = delivered.start - first;
        self.access.record(from_attempt);
        let nodes = &mut self.nodes;
        nodes.burst_frames[station] += u64::from(is_burst);
        nodes.access_max_ps[station] = nodes.access_max_ps[station].max(access);
        nodes.attempt_max_ps[station] = nodes.attempt_max_ps[station].max(from_attempt.ps());
    }

    fn collide(&mut self, station: StationId, now: Instant) {
        self.nodes.logical_collisions[station] += u64::from(self.counts(now));
    }

    fn finish(mut self, times: [Span; 3]) -> Option<PlcaCounts> {
        for station in StationId::first(self.ok_since.len()) {
            if let Some(since) = self.ok_since[station] {
                self.add_ok(station, since, self.to);
            }
        }
        Some(PlcaCounts {
            time_ps: times.map(Span::ps),
            cycle: self.cycle.finish(),
            access_from_attempt: self.access.finish(),
            opportunities: self.opportunities,
            nodes: self.nodes,
        })
    }
}
