//! Provenance of measurements: facts of the host.

use crate::interface::InterfaceFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

/// Facts of a host; unknown ones are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostFacts {
    /// Release and build of the kernel.
    pub kernel: String,
    /// Model of the first processor.
    pub processor: Option<String>,
    /// Processors that are online.
    pub processors: usize,
    /// How processors choose their frequency, each once; none where the host cannot say, as most
    /// virtual ones.
    pub governors: Vec<String>,
    /// Settings of the kernel, by name.
    pub settings: BTreeMap<String, String>,
    /// Interfaces, by name.
    pub interfaces: BTreeMap<String, InterfaceFacts>,
}

/// Settings under `/proc/sys` that change what can be sent, received or timed.
const SETTINGS: [&str; 24] = [
    "kernel/sched_rt_runtime_us",
    "net/core/busy_poll",
    "net/core/busy_read",
    "net/core/default_qdisc",
    "net/core/dev_weight",
    "net/core/netdev_budget",
    "net/core/netdev_budget_usecs",
    "net/core/netdev_max_backlog",
    "net/core/optmem_max",
    "net/core/rmem_default",
    "net/core/rmem_max",
    "net/core/wmem_default",
    "net/core/wmem_max",
    "net/ipv4/ip_no_pmtu_disc",
    "net/ipv4/ipfrag_high_thresh",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_ecn",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_sack",
    "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_timestamps",
    "net/ipv4/tcp_window_scaling",
    "net/ipv4/tcp_wmem",
    "net/ipv4/udp_rmem_min",
];
/// Settings of the system under `/sys/devices/system`.
const SYSTEM: [&str; 5] = [
    "clocksource/clocksource0/current_clocksource",
    "cpu/cpuidle/current_driver",
    "cpu/isolated",
    "cpu/nohz_full",
    "cpu/smt/active",
];
/// Processors whose governors are asked for.
const MOST_PROCESSORS: usize = 1024;

/// The text of a file without its ends, if there is one.
fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

impl HostFacts {
    /// Ask the host, and those of its interfaces that are named.
    #[must_use]
    pub fn gathered(interfaces: impl IntoIterator<Item = String>) -> Self {
        let release = line("/proc/sys/kernel/osrelease").unwrap_or_default();
        let build = line("/proc/sys/kernel/version").unwrap_or_default();
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let governor =
            |number| line(&format!("/sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor"));
        let mut governors: Vec<String> = (0..MOST_PROCESSORS).map_while(governor).collect();
        governors.sort();
        governors.dedup();
        let settings = SETTINGS.iter().map(|&name| (name, format!("/proc/sys/{name}")));
        let system = SYSTEM.iter().map(|&name| (name, format!("/sys/devices/system/{name}")));
        Self {
            kernel: format!("{release} {build}"),
            processor: value_of(&processors, "model name"),
            processors: processors.lines().filter(|text| text.starts_with("processor")).count(),
            governors,
            settings: settings
                .chain(system)
                .filter_map(|(name, path)| Some((name.to_owned(), line(&path)?)))
                .collect(),
            interfaces: interfaces
                .into_iter()
                .filter_map(|name| InterfaceFacts::of(&name).ok().map(|facts| (name, facts)))
                .collect(),
        }
    }
}

/// The value of the first line `key : value`.
fn value_of(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_says_what_it_is() {
        let facts = HostFacts::gathered(["lo".to_owned(), "no-such-one".to_owned()]);
        assert!(!facts.kernel.trim().is_empty() && facts.processors > 0);
        assert!(facts.settings.contains_key("kernel/sched_rt_runtime_us"), "{:?}", facts.settings);
        let names: Vec<&String> = facts.interfaces.keys().collect();
        assert_eq!(names, ["lo"]);
    }

    #[test]
    fn a_value_is_that_of_the_first_line_with_its_key() {
        let text = "processor : 0\nmodel name\t: Some model: 3\nmodel name : other\nno colon\n";
        assert_eq!(value_of(text, "model name"), Some("Some model: 3".into()));
        assert_eq!(value_of(text, "model"), None);
    }
}
