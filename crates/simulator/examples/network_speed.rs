//! Delivered packets per second of one processor: eight hosts at full load through a switch that
//! learns.

use ethermeter_simulator::network::{simulate, simulate_reference, Trial};
use serde_json::json;

const S: u64 = 1_000_000_000_000;

/// Host i sends to host (i + 1) mod n, saturated, `octets` a frame, gigabit links.
fn trial(hosts: u64, octets: u64, length_ps: u64) -> Trial {
    let name = |i: u64| format!("h{i}");
    let mut nodes: Vec<_> =
        (0..hosts).map(|i| json!({"name": name(i), "kind": {"host": {}}})).collect();
    let learns = json!({"learns": {"age_ps": 300 * S, "addresses": 8192}});
    nodes.push(
        json!({"name": "switch", "kind": {"switch": {"learning": learns, "queue_frames": 1000}}}),
    );
    let link = |i: u64| json!({"ends": [{"node": name(i)}, {"node": "switch"}], "ps_per_octet": 8000, "delay_ps": 500_000 + 137 * i});
    let flow = |i: u64| {
        json!({"name": name(i), "from": name(i), "to": [name((i + 1) % hosts)],
            "frames": {"kind": "fixed", "bits": octets * 8}, "arrivals": {"kind": "saturated"}})
    };
    let phases = json!({"begin_ps": 0, "stop_ps": length_ps, "measure_from_ps": 0, "measure_to_ps": length_ps,
        "end_ps": length_ps, "spread_ps": 0});
    serde_json::from_value(json!({"seed": 1, "scenario": {
        "network": {"nodes": nodes, "links": (0..hosts).map(link).collect::<Vec<_>>()},
        "flows": (0..hosts).map(flow).collect::<Vec<_>>(), "phases": phases}}))
    .expect("a trial")
}

/// Processor time of this process, which other load on the machine inflates less than the time of
/// day.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds") * 1e-9
}

#[allow(clippy::cast_precision_loss)]
fn main() {
    println!(
        "{:>6} {:>6} {:>12} {:>10} {:>18} {:>14}",
        "ports", "octets", "packets", "Mpacket/s", "Mpacket/s (plain)", "port load"
    );
    for (hosts, octets) in [(2, 64), (8, 64), (8, 1518), (24, 64)] {
        let length = S * octets / 64 / hosts;
        let trial = trial(hosts, octets, length);
        let rate = |run: &dyn Fn(&Trial) -> (u64, f64), times: u32| {
            let mut best = (0, 0.0f64, 0.0);
            for _ in 0..times {
                let begun = cpu_seconds();
                let (packets, load) = run(&trial);
                let rate = packets as f64 / (cpu_seconds() - begun);
                if rate > best.1 {
                    best = (packets, rate, load);
                }
            }
            best
        };
        let figures = |outcome: ethermeter_trial::Counts| {
            let load = outcome.ports.iter().map(|port| port.busy_ps).max().unwrap_or(0) as f64
                / outcome.window_ps as f64;
            (outcome.flows.iter().map(|flow| flow.messages).sum::<u64>(), load)
        };
        let (packets, fast, load) =
            rate(&|trial| figures(simulate(trial).expect("a valid trial")), 5);
        let (_, plain, _) =
            rate(&|trial| figures(simulate_reference(trial).expect("a valid trial")), 1);
        println!(
            "{hosts:>6} {octets:>6} {packets:>12} {:>10.2} {:>18.2} {load:>14.4}",
            fast / 1e6,
            plain / 1e6
        );
    }
}
