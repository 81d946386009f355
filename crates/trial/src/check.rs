//! All faults of a scenario at once: ranges, names, what tables contradict of each other.
//!
//! Numbers of different tables are compared only where each of them is in its range.

mod domains;
mod network;

use crate::fault::{Checked, Fault, Faults};
use crate::flows::Flow;
use crate::medium::Medium;
use crate::scenario::{Phases, Scenario};
use std::collections::BTreeSet;

impl Scenario {
    /// All its faults, in the order of its tables; none if it is sound. What an implementation of a
    /// MAC does not support is not among them.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Faults::default();
        Checked::check(self, &mut faults);
        let is_in_range = faults.is_empty();
        check_phases(&self.phases, self.batches, &mut faults);
        check_names(self, &mut faults);
        if self.contended().is_none() {
            network::check(self, is_in_range, &mut faults);
        }
        faults.into_vec()
    }

    /// Refuse a scenario that has faults.
    ///
    /// # Errors
    /// With the first of [`Scenario::faults`].
    pub fn sound(&self) -> Result<(), Fault> {
        self.faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// The medium that all flows have as receiver; `None` where flows have receivers on it or
    /// elsewhere.
    #[must_use]
    pub fn contended(&self) -> Option<&Medium> {
        match (&self.media[..], &self.links[..]) {
            ([medium], []) if self.flows.iter().all(Flow::is_onto_medium) => Some(medium),
            _ => None,
        }
    }
}

/// Phases are in order, and no batch is shorter than a picosecond.
fn check_phases(phases: &Phases, batches: u32, faults: &mut Faults) {
    faults.within("phases", |faults| {
        let p = phases;
        if p.begin_ps > p.stop_ps || p.stop_ps > p.end_ps {
            let value = format!("{}, {}, {} ps", p.begin_ps, p.stop_ps, p.end_ps);
            faults.add_value("", value, "must be ordered begin ≤ stop ≤ end");
        }
        let is_ordered = p.begin_ps <= p.measure_from_ps
            && p.measure_from_ps < p.measure_to_ps
            && p.measure_to_ps <= p.end_ps;
        if !is_ordered {
            let value = format!("{} to {} ps", p.measure_from_ps, p.measure_to_ps);
            let allowed = "must be ordered begin ≤ measure_from < measure_to ≤ end";
            faults.add_value("", value, allowed);
        }
    });
    let window_ps = phases.measure_to_ps.saturating_sub(phases.measure_from_ps);
    if (1..1000).contains(&window_ps) && batches <= 1000 {
        faults.range("batches", batches, 1, window_ps.into());
    }
}

/// Nodes and media have names of their own.
fn check_names(scenario: &Scenario, faults: &mut Faults) {
    let mut names = BTreeSet::new();
    let nodes = scenario.nodes.iter().map(|node| &node.name);
    let media = scenario.media.iter().map(|medium| &medium.name);
    for (list, each) in [("nodes", nodes.collect::<Vec<_>>()), ("media", media.collect())] {
        for (index, name) in each.into_iter().enumerate() {
            if !names.insert(name.as_str()) {
                let key = format!("{list}[{index}].name");
                faults.add_value(&key, format!("{name:?} again"), "must be unique");
            }
        }
    }
}
