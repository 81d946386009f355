//! Delivered packets per second of one processor: hosts at full load at a hub, and at a switch with
//! half-duplex links.

#[path = "../tests/common/mod.rs"]
mod common;

use common::network::{fixed, half, host, hub, phases, saturated, switch};
use common::{S, simulate};
use ethermeter_trial::Trial;
use serde_json::json;

/// Host i sends to host (i + 1) mod n, saturated, `octets` a frame, links of 100 Mb/s.
fn trial(has_hub: bool, hosts: u64, octets: u64, length_ps: u64) -> Trial {
    let name = |i: u64| format!("h{i}");
    let mut nodes: Vec<_> = (0..hosts).map(|i| host(&name(i), &json!({}))).collect();
    nodes.push(if has_hub { hub("center") } else { switch("center", &json!({})) });
    let links: Vec<_> = (0..hosts).map(|i| half(&name(i), "center", 80_000, 250_000)).collect();
    let flow = |i: u64| {
        json!({"name": name(i), "from": name(i), "to": [name((i + 1) % hosts)],
            "frames": fixed(octets), "arrivals": saturated()})
    };
    let flows: Vec<_> = (0..hosts).map(flow).collect();
    common::network::trial(1, &nodes, &links, &flows, &phases(length_ps))
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
        "{:>8} {:>6} {:>6} {:>12} {:>10}",
        "center", "hosts", "octets", "packets", "Mpacket/s"
    );
    for (has_hub, hosts, octets) in [
        (true, 2, 64),
        (true, 4, 64),
        (true, 4, 1518),
        (true, 24, 64),
        (false, 2, 64),
        (false, 8, 64),
        (false, 8, 1518),
        (false, 24, 64),
    ] {
        let trial = trial(has_hub, hosts, octets, S * octets / 64 / hosts.max(4));
        let mut best = 0.0f64;
        let mut packets = 0;
        for _ in 0..5 {
            let begun = cpu_seconds();
            let counts = simulate(&trial).expect("a valid trial");
            packets = counts.flows.iter().map(|flow| flow.messages).sum::<u64>();
            best = best.max(packets as f64 / (cpu_seconds() - begun));
        }
        let center = if has_hub { "hub" } else { "switch" };
        println!("{center:>8} {hosts:>6} {octets:>6} {packets:>12} {:>10.3}", best / 1e6);
    }
}
