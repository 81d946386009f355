//! What is counted of the line and of opportunities, beside what [`crate::segment::counters`] counts
//! of stations.

use super::control::Opportunity;
use crate::segment::station::Attempt;
use crate::spread::Spread;
use ethermeter_trial::counts::{PlcaCounts, PlcaNodeCounts};

/// What takes the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A beacon.
    Beacon,
    /// A line that is held.
    Commit,
    /// The preamble of a frame that was sent to its end, or its end delimiter.
    Preamble,
    /// Such a frame.
    Frame,
    /// A frame that collided, with its jam.
    Collision,
}

/// Something on the line: from its first to its last bit at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signal {
    /// First bit.
    pub start: i64,
    /// Last bit.
    pub end: i64,
    /// What it is.
    pub kind: Kind,
}

/// Channel time of a bus: each moment of the window belongs to the signal that began first among
/// those under way; without one it is an opportunity within cycles, or idle.
#[derive(Clone, Debug, Default)]
pub struct Line {
    from: i64,
    to: i64,
    covered: i64,
    /// The gap that follows a signal; 0 with PLCA.
    owed: i64,
    gap_until: i64,
    gap: i64,
    /// By kind.
    taken: [i64; 5],
    opportunity: i64,
    /// Since when cycles go on.
    active_since: Option<i64>,
    /// When cycles went on before, as far as it is not counted yet.
    active: Vec<(i64, i64)>,
}

impl Line {
    /// Nothing counted yet. Of a bus on which nobody uses PLCA, `gap` is the gap that follows a
    /// signal; else it is 0.
    #[must_use]
    pub fn new(from: i64, to: i64, gap: i64) -> Self {
        Self { from, to, covered: from, owed: gap, ..Self::default() }
    }

    /// Cycles begin or cease.
    pub fn set_active(&mut self, now: i64, is_active: bool) {
        match (self.active_since, is_active) {
            (None, true) => self.active_since = Some(now),
            (Some(since), false) => {
                self.active.push((since, now));
                self.active_since = None;
            }
            _ => {}
        }
    }

    /// Count a signal. Signals come in the order of their starts.
    pub fn record(&mut self, signal: Signal) {
        let start = signal.start.clamp(self.covered, self.to);
        self.pass_silence(start);
        let end = signal.end.clamp(start, self.to);
        self.taken[signal.kind as usize] += end - start;
        self.covered = end;
        self.gap_until = self.gap_until.max(signal.end + self.owed);
    }

    /// Count what took the line from then on, by kind, while cycles went on. Either all of it lies
    /// within the window or nothing.
    pub fn record_cycles(&mut self, from: i64, to: i64, taken: [i64; 5]) {
        if from < self.from || to > self.to {
            return;
        }
        self.pass_silence(from);
        for (sum, time) in self.taken.iter_mut().zip(taken) {
            *sum += time;
        }
        self.opportunity += to - from - taken.iter().sum::<i64>();
        self.covered = to;
    }

    fn pass_silence(&mut self, until: i64) {
        self.gap += (self.gap_until.min(until) - self.covered).max(0);
        let silent = |&(from, to): &(i64, i64)| (to.min(until) - from.max(self.covered)).max(0);
        self.opportunity += self.active.iter().map(silent).sum::<i64>();
        self.active.retain(|&(_, to)| to > until);
        if let Some(since) = self.active_since {
            self.opportunity += (until - since.max(self.covered)).max(0);
        }
        self.covered = until;
    }

    /// The times of the medium (frame, preamble, gap, collision, idle), and those of PLCA (beacon,
    /// commit, opportunity).
    #[must_use]
    pub fn finish(mut self) -> ([u64; 5], [u64; 3]) {
        self.pass_silence(self.to);
        let [beacon, commit, preamble, frame, collision] = self.taken;
        let taken: i64 = self.taken.iter().sum();
        let idle = self.to - self.from - taken - self.gap - self.opportunity;
        (
            [frame, preamble, self.gap, collision, idle].map(i64::cast_unsigned),
            [beacon, commit, self.opportunity].map(i64::cast_unsigned),
        )
    }
}

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

    fn counts(&self, now: i64) -> bool {
        self.from <= now && now < self.to
    }

    /// A coordinator begins a beacon.
    pub fn begin_cycle(&mut self, station: usize, now: i64) {
        if let Some(begun) = self.begun[station].replace(now).filter(|_| self.counts(now)) {
            self.cycle.record((now - begun).cast_unsigned());
        }
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

    /// A frame was delivered. `first` is when the MAC began its first attempt; `is_burst` says that
    /// it followed another one.
    #[inline]
    pub fn deliver(&mut self, station: usize, delivered: &Attempt, first: i64, is_burst: bool) {
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

    /// The MAC of a node got a collision signal, and no bits collided.
    pub fn collide(&mut self, station: usize, now: i64) {
        self.nodes.logical_collisions[station] += u64::from(self.counts(now));
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

    /// What was counted, once nothing more happens.
    #[must_use]
    pub fn finish(mut self, time_ps: [u64; 3]) -> PlcaCounts {
        for station in 0..self.ok_since.len() {
            if let Some(since) = self.ok_since[station] {
                self.add_ok(station, since, self.to);
            }
        }
        PlcaCounts {
            time_ps,
            cycle: self.cycle.finish(),
            access_from_attempt: self.access.finish(),
            opportunities: self.opportunities,
            nodes: self.nodes,
        }
    }
}
