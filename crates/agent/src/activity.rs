//! What a host does besides a test: counters at two instants, and what they say together.

use ethermeter_net::Error;
use ethermeter_net::counters::{
    HostSample, InterfaceCounters, ProcessorTimes, TaskLoad, interfaces,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time between the two instants: a hundred ticks, in which processors count their time.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

/// Counters of a host at an instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActivityCounters {
    /// When they were read, by the clock of the agent.
    pub taken_ns: u64,
    /// Processors.
    pub host: HostSample,
    /// Tasks.
    pub tasks: TaskLoad,
    /// Interfaces of the agent's namespace.
    pub interfaces: Vec<InterfaceCounters>,
    /// Tests that the agent takes part in.
    pub tests: u64,
}

/// Activity of a host over about a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostActivity {
    /// Time over which shares and rates are means.
    pub window_ns: u64,
    /// Share of the time of all processors in which they were not idle, CPU steal included.
    pub processor_share: f64,
    /// Tasks that ran, wanted to run, or waited for a disk: mean over about a minute.
    pub load_average: f64,
    /// Tasks besides the agent's that ran or wanted to run at both ends of the window: the lesser.
    pub tasks_runnable: u64,
    /// Tests that the agent takes part in: the greater of both ends.
    pub tests: u64,
    /// Octets received and sent, by interface, in bits per second.
    pub traffic_bps: BTreeMap<String, f64>,
}

impl ActivityCounters {
    /// Read them.
    ///
    /// # Errors
    /// If the kernel does not report them.
    pub(crate) fn now(taken_ns: u64, tests: u64) -> Result<Self, Error> {
        let (host, tasks, interfaces) = (HostSample::now()?, TaskLoad::now()?, interfaces()?);
        Ok(Self { taken_ns, host, tasks, interfaces, tests })
    }

    /// Activity from here to `later`; `None` without time in between.
    pub(crate) fn until(&self, later: &Self) -> Option<HostActivity> {
        let window_ns =
            later.taken_ns.checked_sub(self.taken_ns).filter(|&window_ns| window_ns > 0)?;
        let (busy, idle) = self.host.processors.iter().zip(&later.host.processors).fold(
            (0, 0),
            |(busy, idle), (before, after)| {
                let idle_more = after.idle.saturating_sub(before.idle);
                (busy + busy_ticks(after).saturating_sub(busy_ticks(before)), idle + idle_more)
            },
        );
        let octets = |of: &InterfaceCounters| of.received_octets.saturating_add(of.sent_octets);
        let before: BTreeMap<&str, u64> =
            self.interfaces.iter().map(|of| (of.name.as_str(), octets(of))).collect();
        let traffic_bps = later.interfaces.iter().filter_map(|of| {
            let more = octets(of).saturating_sub(*before.get(of.name.as_str())?);
            Some((of.name.clone(), as_float(more) * 8.0 / (as_float(window_ns) / 1e9)))
        });
        Some(HostActivity {
            window_ns,
            processor_share: as_float(busy) / as_float((busy + idle).max(1)),
            load_average: later.tasks.average,
            // One is the agent, which reads them.
            tasks_runnable: self.tasks.runnable.min(later.tasks.runnable).saturating_sub(1),
            tests: self.tests.max(later.tests),
            traffic_bps: traffic_bps.collect(),
        })
    }
}

fn busy_ticks(times: &ProcessorTimes) -> u64 {
    let ProcessorTimes { user, system, interrupts, soft_interrupts, steal, idle: _ } = *times;
    [user, system, interrupts, soft_interrupts, steal].into_iter().fold(0, u64::saturating_add)
}

#[allow(clippy::cast_precision_loss, reason = "counts of a second")]
fn as_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(
        taken_ns: u64,
        busy: u64,
        idle: u64,
        octets: u64,
        runnable: u64,
    ) -> ActivityCounters {
        let processor = ProcessorTimes { user: busy, steal: 7, idle, ..ProcessorTimes::default() };
        let host = HostSample { processors: vec![processor; 2], ..HostSample::default() };
        let interface = InterfaceCounters {
            name: "eth0".into(),
            received_octets: octets,
            sent_octets: 2 * octets,
            ..InterfaceCounters::default()
        };
        let tasks = TaskLoad { average: 0.25, runnable };
        ActivityCounters { taken_ns, host, tasks, interfaces: vec![interface], tests: 0 }
    }

    #[test]
    fn shares_and_rates_are_those_between_the_instants() {
        // In 2 s, of two processors: 40 ticks busy and 160 idle each; 500 + 1000 octets.
        let early = counters(1_000_000_000, 100, 1000, 3000, 4);
        let late = counters(3_000_000_000, 140, 1160, 3500, 2);
        let activity = early.until(&late).expect("time in between");
        assert_eq!(activity.window_ns, 2_000_000_000);
        assert!((activity.processor_share - 0.2).abs() < 1e-12);
        assert_eq!(activity.tasks_runnable, 1);
        assert!((activity.load_average - 0.25).abs() < 1e-12);
        assert!((activity.traffic_bps["eth0"] - 6000.0).abs() < 1e-9);
        assert_eq!(late.until(&early), None);
    }

    #[test]
    fn counters_that_begin_anew_count_nothing() {
        let early = counters(1, 100, 1000, 3000, 1);
        let late = counters(2_000_000_000, 0, 0, 0, 1);
        let activity = early.until(&late).expect("time in between");
        assert!(
            activity.processor_share.abs() < 1e-12 && activity.traffic_bps["eth0"].abs() < 1e-9
        );
    }
}
