//! The schedule of an experiment: its phases, its beginning, what ends it.

use super::policed_port::SendProgress;
use crate::consent::RoleLease;
use ethermeter_net::clock::SharedRelation;
use ethermeter_net::{SkewedClock, Timeline};
use ethermeter_trial::roles::ExperimentPhases;
use std::collections::BTreeMap;
use std::sync::Arc;

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

#[cfg(test)]
impl<T: Timeline> ExperimentSchedule<T> {
    /// Nothing but a transmission of so long from 0 on, with a lease that begins with it and is not
    /// renewed.
    pub fn unrenewed(time: T, transmit_ns: u64) -> Self {
        let lease = crate::consent::Lease::unbegun();
        lease.begin(0);
        Self {
            time,
            experiment: 7,
            begin_ns: 0,
            phases: ExperimentPhases {
                settle_ns: 0,
                transmit_ns,
                measure_from_ns: 0,
                measure_to_ns: transmit_ns,
                drain_ns: 0,
                batches: 1,
            },
            lease: Arc::new(RoleLease::new(Arc::new(lease), Vec::new())),
            progress: Arc::default(),
            own_clock: SkewedClock { epoch_ns: 0, offset_ns: 0, drift_ns_per_s: 0 },
            clocks: Arc::default(),
        }
    }
}
