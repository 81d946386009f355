//! Delivered packets per second of one processor: hosts at full load on shared media of a network. These
//! are a hub, half-duplex links to a switch, a segment and a bus of 10BASE-T1S.
//!
//! Arguments are names of centers; without any, all are measured.

#[path = "../tests/common/mod.rs"]
mod common;

use common::network::{fixed, half, host, hub, ring, saturated, switch, trial};
use common::{IEEE_10, S, clause_148, cpu_seconds, simulate};
use ethermeter_trial::Trial;
use serde_json::{Value, json};

/// Hosts with half-duplex links of 100 Mb/s to a hub or a switch.
fn linked(has_hub: bool, hosts: u64, octets: u64, length_ps: u64) -> Trial {
    let center = if has_hub { hub("center") } else { switch("center", &json!({})) };
    ring(hosts, octets, center, |host, _| half(host, "center", 80_000, 250_000), length_ps)
}

/// Hosts on one medium of 10 Mb/s; host i sends to the next one. It has 20 m of cable to that on a
/// segment, and 1 m on a bus, so that 40 nodes fulfil equation 148-1.
fn on_medium(has_plca: bool, hosts: u64, octets: u64, length_ps: u64) -> Trial {
    let name = |i: u64| format!("h{i}");
    let nodes: Vec<Value> = (0..hosts).map(|i| host(&name(i), &json!({}))).collect();
    let flow = |i: u64| {
        json!({"name": name(i), "from": name(i), "to": [name((i + 1) % hosts)],
            "frames": fixed(octets), "arrivals": saturated()})
    };
    let flows: Vec<Value> = (0..hosts).map(flow).collect();
    let station = |i: u64| {
        let mut station = json!({"node": name(i), "points": [i]});
        if has_plca {
            station["plca"] = json!({"ids": [[i]], "node_count": hosts, "opportunity_bits": 32,
                "burst_bits": 128});
        }
        station
    };
    let hop_ps = if has_plca { 5_000 } else { 100_000 };
    let row = |a: u64| (0..hosts).map(|b| a.abs_diff(b) * hop_ps).collect::<Vec<_>>();
    let mac = if has_plca { json!({"plca": clause_148()}) } else { json!({"csma_cd": IEEE_10}) };
    let medium = json!({"name": "bus", "bit_ps": 100_000, "mac": mac,
        "delay_ps": (0..hosts).map(row).collect::<Vec<_>>(),
        "stations": (0..hosts).map(station).collect::<Vec<_>>()});
    let mut trial = trial(1, &nodes, &[], &flows, &common::network::phases(length_ps));
    trial.scenario.media.push(serde_json::from_value(medium).expect("a medium"));
    trial
}

#[allow(clippy::cast_precision_loss)]
fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "{:>8} {:>6} {:>6} {:>12} {:>10}",
        "center", "hosts", "octets", "packets", "Mpacket/s"
    );
    for (center, hosts, octets) in [
        ("hub", 2, 64),
        ("hub", 4, 64),
        ("hub", 4, 1518),
        ("hub", 24, 64),
        ("switch", 2, 64),
        ("switch", 8, 64),
        ("switch", 8, 1518),
        ("switch", 24, 64),
        ("segment", 4, 64),
        ("segment", 24, 64),
        ("segment", 24, 1518),
        ("bus", 8, 64),
        ("bus", 40, 64),
    ] {
        if !only.is_empty() && !only.iter().any(|name| name == center) {
            continue;
        }
        let length_ps = 8 * S * octets / 64 / hosts.max(4);
        let trial = match center {
            "hub" | "switch" => linked(center == "hub", hosts, octets, length_ps),
            _ => on_medium(center == "bus", hosts, octets, 4 * length_ps),
        };
        let mut best = 0.0f64;
        let mut packets = 0;
        for _ in 0..5 {
            let begun = cpu_seconds();
            let counts = simulate(&trial).expect("a valid trial");
            packets = counts.flows.iter().map(|flow| flow.messages).sum::<u64>();
            best = best.max(packets as f64 / (cpu_seconds() - begun));
        }
        println!("{center:>8} {hosts:>6} {octets:>6} {packets:>12} {:>10.3}", best / 1e6);
    }
}
