//! The host's counters at the edges of an experiment's phases.

use super::role::Schedule;
use ethermeter_live::counters::{interfaces, queues, udp, HostSample};
use ethermeter_live::{Error, HostTime, Timeline};
use serde_json::{json, Value};

/// How long it sleeps between two looks at the stop flag.
const LOOK_NS: u64 = 20_000_000;

/// Samples before the beginning, at both ends of what is measured, and at the end, whether that comes in time or early.
pub(super) fn samples(schedule: &Schedule) -> Value {
    let transmit_ns = schedule.transmit_ns();
    let edges = [
        ("begin", schedule.begin_ns),
        ("measure_from", transmit_ns.saturating_add(schedule.phases.measure_from_ns)),
        ("measure_to", transmit_ns.saturating_add(schedule.phases.measure_to_ns)),
        ("end", schedule.until_ns()),
    ];
    let mut samples = Vec::with_capacity(edges.len());
    for (at, at_ns) in edges {
        let was_in_time = wait(at_ns, schedule);
        if was_in_time || at == "end" || samples.is_empty() {
            samples.push(sample(at).unwrap_or_else(|error| json!({"at": at, "error": error.to_string()})));
        }
    }
    Value::Array(samples)
}

fn wait(until_ns: u64, schedule: &Schedule) -> bool {
    loop {
        let now_ns = HostTime.now_ns();
        if schedule.leash.is_silent_at(now_ns) {
            return false;
        }
        if now_ns >= until_ns {
            return true;
        }
        HostTime.sleep_until(until_ns.min(now_ns + LOOK_NS));
    }
}

fn sample(at: &str) -> Result<Value, Error> {
    Ok(json!({
        "at": at,
        "taken_ns": HostTime.now_ns(),
        "host": HostSample::now()?,
        "interfaces": interfaces()?,
        "udp": udp()?,
        "queues": queues()?,
    }))
}
