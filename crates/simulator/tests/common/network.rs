//! Networks as JSON, and what must hold of their counts.

use super::simulate;
use ethermeter_simulator::network::Delivery;
use ethermeter_simulator::plan::{Plan, Run};
use ethermeter_simulator::{Error, Watch};
use ethermeter_traffic::{Trace, Traces};
use ethermeter_trial::counts::Delays;
use ethermeter_trial::{Counts, Trial};
use serde_json::{Value, json};
use std::sync::Arc;

/// A trial that is measured from its begin to its end.
pub fn phases(length: u64) -> Value {
    serde_json::to_value(super::whole(length)).expect("phases")
}

pub fn trial(
    seed: u64,
    nodes: &[Value],
    links: &[Value],
    flows: &[Value],
    phases: &Value,
) -> Trial {
    let scenario = json!({"nodes": nodes, "links": links, "flows": flows, "phases": phases});
    let trial = json!({"id": "x", "seed": seed, "scenario": scenario});
    let mut trial: Trial = serde_json::from_value(trial).expect("a trial of the right shape");
    trial.give(&known()).expect("the only trace that trials here replay");
    trial
}

/// Digest of the only trace that trials here replay.
pub const TRACE: &str = "00000000000000000000000000000000000000000000000000000000000000aa";

/// Six messages in 500 us, the second at the time of the first, with three lengths.
pub fn known() -> Traces {
    let times = [5, 5, 100, 130, 400, 505].map(|time_us| time_us * super::US);
    let trace = Trace::new(times.to_vec(), vec![0, 2, 1, 0, 2, 1], 3).expect("a trace");
    [(TRACE.to_owned(), Arc::new(trace))].into()
}

pub fn host(name: &str, host: &Value) -> Value {
    json!({"name": name, "kind": {"host": host}})
}

pub fn switch(name: &str, switch: &Value) -> Value {
    let mut switch = switch.clone();
    if switch.get("learning").is_none() {
        switch["learning"] = json!("known");
    }
    json!({"name": name, "kind": {"switch": switch}})
}

pub fn link(a: &str, b: &str, ps_per_octet: u64, delay_ps: u64) -> Value {
    json!({"ends": [{"node": a}, {"node": b}], "ps_per_octet": ps_per_octet, "delay_ps": delay_ps})
}

pub fn half(a: &str, b: &str, ps_per_octet: u64, delay_ps: u64) -> Value {
    let mut link = link(a, b, ps_per_octet, delay_ps);
    link["half_duplex"] = json!(true);
    link
}

pub fn hub(name: &str) -> Value {
    json!({"name": name, "kind": {"hub": {}}})
}

pub fn fixed(octets: u64) -> Value {
    json!({"kind": "fixed", "bits": octets * 8})
}

pub fn stream(from: &str, to: &str, octets: u64, arrivals: &Value) -> Value {
    json!({"name": format!("{from} to {to}"), "from": from, "to": [to], "frames": fixed(octets),
        "arrivals": arrivals})
}

pub fn saturated() -> Value {
    json!({"kind": "saturated"})
}

pub fn regular(period_ps: u64) -> Value {
    json!({"kind": "regular", "period_ps": period_ps})
}

pub fn ping_pong(from: &str, to: &str, request: u64, response: u64) -> Value {
    json!({"name": "ping", "from": from, "to": [to], "frames": fixed(request),
        "arrivals": saturated(),
        "response": {"frames": fixed(response), "think": {"kind": "constant", "ps": 0}}})
}

/// A buffer with flow control.
pub fn pausing(octets: u64, high: u64, low: u64) -> Value {
    json!({"octets": octets,
        "pause": {"high_octets": high, "low_octets": low, "quanta": 65535}})
}

/// What was counted in a network, with every delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    pub counts: Counts,
    pub trace: Vec<Delivery>,
}

impl std::ops::Deref for Traced {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        &self.counts
    }
}

/// What both implementations make of a network; only the reference, if the fast one does not know
/// what the network has.
pub fn traces(trial: &Trial) -> Result<(Traced, Option<Traced>), Error> {
    let traced = |run: Run| Traced { counts: run.counts, trace: run.deliveries };
    let (plan, watch) = (Plan::new(trial, None)?, Watch::default());
    let fast = plan.try_run(&watch, true)?;
    Ok((traced(plan.run_reference(&watch, true)?), fast.map(traced)))
}

/// Both implementations must balance; their outcomes must be the same where both exist.
pub fn run(trial: &Trial) -> Counts {
    let (reference, fast) = traces(trial).expect("a valid trial");
    balances(&reference);
    if let Some(fast) = fast {
        assert_same(&reference, &fast);
    }
    let outcome = simulate(trial).expect("a valid trial");
    assert_eq!((&outcome.flows, &outcome.ports), (&reference.flows, &reference.ports));
    outcome
}

#[allow(clippy::cast_precision_loss)]
pub fn mean_s(delays: &Delays) -> f64 {
    delays.sum_ps as f64 / delays.count as f64 * 1e-12
}

#[allow(clippy::cast_precision_loss)]
pub fn count(frames: u64) -> f64 {
    frames as f64
}

/// Random numbers for the shape of a network; what proptest varies is the seed.
pub struct Shape(pub u64);

impl Shape {
    pub fn below(&mut self, bound: u64) -> u64 {
        // Knuth's MMIX constants; the upper half is good enough to choose by.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).expect("small")].clone()
    }
}

pub fn assert_same(reference: &Traced, fast: &Traced) {
    let differs = reference.trace.iter().zip(&fast.trace).position(|(a, b)| a != b);
    if let Some(at) = differs {
        panic!("delivery {at}: {:?} {:?}", reference.trace[at], fast.trace[at]);
    }
    assert_eq!(reference.trace.len(), fast.trace.len());
    for (number, (a, b)) in reference.ports.iter().zip(&fast.ports).enumerate() {
        assert_eq!(a, b, "port {number}");
    }
    for (a, b) in reference.flows.iter().zip(&fast.flows) {
        assert_eq!(a, b);
    }
    assert_eq!(reference.nodes.flooded, fast.nodes.flooded);
    assert_eq!(reference.media, fast.media);
    let stations = |counts: &Counts| {
        let mut known = counts.stations.clone();
        known.offered_load.clear(); // not a number in networks
        known
    };
    assert_eq!(stations(reference), stations(fast));
    assert_eq!(reference.cautions, fast.cautions);
}

pub fn balances(outcome: &Counts) {
    for flow in &outcome.flows {
        let b = &flow.balance;
        assert_eq!(
            b.sent + b.copied,
            b.delivered + b.lost.iter().sum::<u64>() + b.in_flight,
            "{b:?}"
        );
        for delays in [&flow.one_way, &flow.round_trip, &flow.between_arrivals] {
            assert_eq!(
                delays.count,
                delays.buckets.iter().map(|bucket| bucket.2).sum::<u64>(),
                "{delays:?}"
            );
        }
        if let Some(voice) = &flow.voice {
            let host = voice.host;
            assert_eq!(host.made, host.sent + host.lost + host.left, "{voice:?}");
            assert_eq!(
                host.sent,
                voice.delivered + voice.lost.iter().sum::<u64>() + voice.under_way,
                "{voice:?}"
            );
            assert_eq!(voice.sample_delay.count, voice.delivered, "{voice:?}");
        }
    }
}

/// Hosts, each linked to `center` by what `link` makes of its name and number; host i sends frames
/// of so many octets to host (i + 1) mod n, saturated.
pub fn ring(
    hosts: u64,
    octets: u64,
    center: Value,
    link: impl Fn(&str, u64) -> Value,
    length_ps: u64,
) -> Trial {
    let name = |i: u64| format!("h{i}");
    let mut nodes: Vec<_> = (0..hosts).map(|i| host(&name(i), &json!({}))).collect();
    nodes.push(center);
    let links: Vec<_> = (0..hosts).map(|i| link(&name(i), i)).collect();
    let flow = |i: u64| {
        json!({"name": name(i), "from": name(i), "to": [name((i + 1) % hosts)],
            "frames": fixed(octets), "arrivals": saturated()})
    };
    let flows: Vec<_> = (0..hosts).map(flow).collect();
    trial(1, &nodes, &links, &flows, &phases(length_ps))
}
