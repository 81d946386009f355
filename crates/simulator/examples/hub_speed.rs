//! Delivered packets per second of one processor: hosts at full load at a hub, and at a switch with
//! half-duplex links.

#[path = "../tests/common/mod.rs"]
mod common;

use common::network::{half, hub, ring, switch};
use common::{S, cpu_seconds, simulate};
use ethermeter_trial::Trial;
use serde_json::json;

/// Hosts with half-duplex links of 100 Mb/s to a hub or a switch.
fn trial(has_hub: bool, hosts: u64, octets: u64, length_ps: u64) -> Trial {
    let center = if has_hub { hub("center") } else { switch("center", &json!({})) };
    ring(hosts, octets, center, |host, _| half(host, "center", 80_000, 250_000), length_ps)
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
