//! What is counted of opportunities, beside what [`crate::segment::counters`] counts
//! of stations.

use super::control::Opportunity;
use crate::medium::access::Counters;
use crate::segment::station::Attempt;
use crate::spread::Spread;
use ethermeter_trial::Phases;
use ethermeter_trial::counts::{PlcaCounts, PlcaNodeCounts};

/// Sums over a bus, of events within the window.
#[derive(Clone, Debug)]
pub struct BusCounters {
    from: i64,
    to: i64,
    /// Begin of the cycle under way, by coordinator.
    begun: Vec<Option<i64>>,
    cycle: Spread,
    access: Spread,
    opportunities: u64,
    nodes: PlcaNodeCounts,
    ok_since: Vec<Option<i64>>,
}

impl BusCounters {
    /// Nothing counted yet.
    #[must_use]
    pub fn new(stations: usize, from: i64, to: i64) -> Self {
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
        let (from, to) = (phases.measure_from_ps, phases.measure_to_ps);
        Self::new(stations, from.cast_signed(), to.cast_signed())
    }

    fn counts(&self, now: i64) -> bool {
        self.from <= now && now < self.to
    }

    /// A coordinator begins that many beacons, one or more, the others a period after the one before
    /// them. Either all of them lie within the window or none.
    #[inline]
    pub fn begin_cycles(&mut self, station: usize, first: i64, period: i64, count: i64) {
        self.begin_cycle(station, first);
        if count > 1 {
            if self.counts(first) {
                self.cycle.record_many(period.cast_unsigned(), (count - 1).cast_unsigned());
            }
            self.begun[station] = Some(first + (count - 1) * period);
        }
    }

    /// Opportunities of cycles that began then are over: how many, and of each node those that were
    /// used and missed, and all.
    pub fn end_opportunities(
        &mut self,
        begun: i64,
        passed: u64,
        by_node: impl Iterator<Item = (u64, u64, u64)>,
    ) {
        if !self.counts(begun) {
            return;
        }
        self.opportunities += passed;
        for (station, (used, missed, all)) in by_node.enumerate() {
            self.nodes.used[station] += used;
            self.nodes.missed[station] += missed;
            self.nodes.yielded[station] += all - used - missed;
        }
    }

    /// A coordinator ceases to be one.
    pub fn end_cycles(&mut self, station: usize) {
        self.begun[station] = None;
    }

    /// An opportunity is over, by the count of a coordinator.
    pub fn pass_opportunity(&mut self, now: i64) {
        self.opportunities += u64::from(self.counts(now));
    }

    /// An own opportunity of a node is over.
    pub fn end_opportunity(&mut self, station: usize, opportunity: Opportunity, now: i64) {
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
    pub fn lose_beacon(&mut self, station: usize, now: i64) {
        self.nodes.beacons_lost[station] += u64::from(self.counts(now));
    }

    /// Cycles that were counted so far.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycle.count()
    }

    /// Own opportunities of a node so far: used, yielded, missed.
    #[must_use]
    pub fn opportunities_of(&self, station: usize) -> [u64; 3] {
        [&self.nodes.used, &self.nodes.yielded, &self.nodes.missed].map(|counts| counts[station])
    }

    /// The status of a node, now.
    pub fn set_status(&mut self, station: usize, is_ok: bool, now: i64) {
        if is_ok == self.ok_since[station].is_some() {
            return;
        }
        self.nodes.status_changes[station] += u64::from(self.counts(now));
        match self.ok_since[station].take() {
            None => self.ok_since[station] = Some(now),
            Some(since) => self.add_ok(station, since, now),
        }
    }

    fn add_ok(&mut self, station: usize, since: i64, until: i64) {
        let time = until.clamp(self.from, self.to) - since.clamp(self.from, self.to);
        self.nodes.ok_ps[station] += time.cast_unsigned();
    }
}

impl Counters for BusCounters {
    fn begin_cycle(&mut self, station: usize, now: i64) {
        if let Some(begun) = self.begun[station].replace(now).filter(|_| self.counts(now)) {
            self.cycle.record((now - begun).cast_unsigned());
        }
    }

    #[inline]
    fn deliver(&mut self, station: usize, delivered: &Attempt, first: i64, is_burst: bool) {
        if !self.counts(delivered.end) {
            return;
        }
        let access = (delivered.start - delivered.taken_up).cast_unsigned();
        let from_attempt = (delivered.start - first).cast_unsigned();
        self.access.record(from_attempt);
        let nodes = &mut self.nodes;
        nodes.burst_frames[station] += u64::from(is_burst);
        nodes.access_max_ps[station] = nodes.access_max_ps[station].max(access);
        nodes.attempt_max_ps[station] = nodes.attempt_max_ps[station].max(from_attempt);
    }

    fn collide(&mut self, station: usize, now: i64) {
        self.nodes.logical_collisions[station] += u64::from(self.counts(now));
    }

    fn finish(mut self, time_ps: [u64; 3]) -> Option<PlcaCounts> {
        for station in 0..self.ok_since.len() {
            if let Some(since) = self.ok_since[station] {
                self.add_ok(station, since, self.to);
            }
        }
        Some(PlcaCounts {
            time_ps,
            cycle: self.cycle.finish(),
            access_from_attempt: self.access.finish(),
            opportunities: self.opportunities,
            nodes: self.nodes,
        })
    }
}
