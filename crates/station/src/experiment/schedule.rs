//! The schedule of an experiment: its phases, its beginning, what ends it.

use super::policed_port::SendProgress;
use crate::consent::RoleLease;
use ethermeter_live::clock::SharedRelation;
use ethermeter_live::{SkewedClock, Timeline};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Phases of an experiment, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExperimentPhases {
    /// Silence before the transmission; receivers listen.
    pub settle_ns: u64,
    /// How long frames are offered.
    pub transmit_ns: u64,
    /// Begin of the measured window, since the beginning of the transmission.
    pub measure_from_ns: u64,
    /// End of the measured window; what arrives then is not measured.
    pub measure_to_ns: u64,
    /// How long receivers still listen afterwards.
    pub drain_ns: u64,
    /// Batches of the measured window.
    #[serde(default = "one")]
    pub batches: u32,
}

/// Maximum number of batches, as in a simulation.
const MOST_BATCHES: u32 = 1000;

fn one() -> u32 {
    1
}

impl ExperimentPhases {
    /// From the beginning to the end of the drain.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.settle_ns.saturating_add(self.transmit_ns).saturating_add(self.drain_ns)
    }

    /// How long it is measured, in picoseconds.
    pub(super) fn measured_ps(&self) -> u64 {
        self.measure_to_ns.saturating_sub(self.measure_from_ns).saturating_mul(1000)
    }

    /// What is wrong with them, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let Self { transmit_ns, measure_from_ns, measure_to_ns, batches, .. } = self;
        let is_fine = measure_from_ns < measure_to_ns && measure_to_ns <= transmit_ns;
        let of_window = (!is_fine).then(|| {
            format!("measured from {measure_from_ns} to {measure_to_ns} ns: must be a time within the {transmit_ns} ns of the transmission")
        });
        let of_batches = (!(1..=MOST_BATCHES).contains(batches))
            .then(|| format!("batches = {batches}: must be from 1 to {MOST_BATCHES}"));
        let faults: Vec<String> = of_window.into_iter().chain(of_batches).collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }
}

/// A time of the host as a time since `begin_ns`.
pub(super) fn since(at_ns: Option<u64>, begin_ns: u64) -> Option<i64> {
    at_ns.map(|at_ns| at_ns.wrapping_sub(begin_ns).cast_signed())
}

/// Schedule of an experiment, and what its roles share.
#[derive(Clone)]
pub(super) struct ExperimentSchedule<T> {
    /// What tells its roles the time.
    pub time: T,
    pub experiment: u64,
    pub begin_ns: u64,
    pub phases: ExperimentPhases,
    pub lease: Arc<RoleLease>,
    pub progress: Arc<SendProgress>,
    /// The time that is put on the wire.
    pub own_clock: SkewedClock,
    /// What is known of others' clocks, by the flow that finds it out.
    pub clocks: Arc<BTreeMap<String, Arc<SharedRelation>>>,
}

impl<T: Timeline> ExperimentSchedule<T> {
    pub fn transmit_ns(&self) -> u64 {
        self.begin_ns.saturating_add(self.phases.settle_ns)
    }

    pub fn until_ns(&self) -> u64 {
        self.begin_ns.saturating_add(self.phases.duration_ns())
    }

    /// Whether the lease has lapsed, or it is `until_ns` or later.
    pub fn is_over_at(&self, until_ns: u64) -> bool {
        let now_ns = self.time.now_ns();
        self.lease.is_silent_at(now_ns) || now_ns >= until_ns
    }

    /// Whether the lease has lapsed, or the experiment has reached its end.
    pub fn is_over(&self) -> bool {
        self.is_over_at(self.until_ns())
    }

    /// The mark on frames has room for so much of the experiment's number.
    #[allow(clippy::cast_possible_truncation)] // the low 16 bits are meant
    pub fn mark(&self) -> u16 {
        self.experiment as u16
    }
}
