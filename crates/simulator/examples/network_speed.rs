//! Delivered packets per second of one processor: hosts at full load through a switch that learns.
//! With arguments `hosts octets`: that case alone, once, on the fast implementation.

#[path = "../tests/common/mod.rs"]
mod common;

use common::network::{link, ring, switch};
use common::{S, cpu_seconds, simulate};
use ethermeter_trial::Trial;
use ethermeter_trial::scenario::Implementation;
use serde_json::json;

/// Hosts with gigabit links to a switch.
fn trial(hosts: u64, octets: u64, length_ps: u64) -> Trial {
    let learning = json!({"learns": {"age_ps": 300 * S, "addresses": 8192}});
    let center = switch("switch", &json!({"learning": learning, "queue_frames": 1000}));
    ring(hosts, octets, center, |host, i| link(host, "switch", 8000, 500_000 + 137 * i), length_ps)
}

#[allow(clippy::cast_precision_loss)]
fn main() {
    let arguments: Vec<u64> =
        std::env::args().skip(1).map(|it| it.parse().expect("a number")).collect();
    if let [hosts, octets] = arguments[..] {
        let begun = cpu_seconds();
        let counts =
            simulate(&trial(hosts, octets, S * octets / 64 / hosts)).expect("a valid trial");
        let packets = counts.flows.iter().map(|flow| flow.messages).sum::<u64>();
        return println!("{packets} packets in {:.3} s", cpu_seconds() - begun);
    }
    println!(
        "{:>6} {:>6} {:>12} {:>10} {:>18} {:>14}",
        "ports", "octets", "packets", "Mpacket/s", "Mpacket/s (plain)", "port load"
    );
    for (hosts, octets) in [(2, 64), (8, 64), (8, 1518), (24, 64)] {
        let length = S * octets / 64 / hosts;
        let trial = trial(hosts, octets, length);
        let mut by_reference = trial.clone();
        by_reference.settings.implementation = Implementation::Reference;
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
        let (_, plain, _) = rate(&|_| figures(simulate(&by_reference).expect("a valid trial")), 1);
        println!(
            "{hosts:>6} {octets:>6} {packets:>12} {:>10.2} {:>18.2} {load:>14.4}",
            fast / 1e6,
            plain / 1e6
        );
    }
}
