//! Transfers over random networks, by each implementation.

use crate::common::network::{link, Shape};
use crate::common::transfer::{host, of, run, stream, transfer, trial, FAST};
use crate::common::{MS, S, US};
use ethermeter_trial::Trial;
use proptest::prelude::*;
use serde_json::{json, Value};

impl Shape {
    fn end_host(&mut self, name: &str) -> Value {
        if self.one_in(3) {
            return host(name);
        }
        let cpu = json!({"name": "cpu", "resource": "cpu", "fixed_ps": self.below(20 * US), "ps_per_octet": self.below(20_000)});
        let mut nic = json!({"name": "nic", "ps_per_octet": self.below(9000), "delay_ps": self.below(2 * US)});
        let send = nic.clone();
        if self.one_in(2) {
            nic["queue_frames"] = json!(2 + self.below(6));
        }
        json!({"name": name, "kind": {"host": {"send": [cpu, send], "receive": [nic, cpu]}}})
    }

    fn tcp(&mut self) -> Value {
        let mut tcp = json!({"mtu_octets": 576 + self.below(925), "window_octets": 3000 + self.below(60_000),
            "acknowledge": {"segments": 1 + self.below(3), "ps": 1 + self.below(2 * MS)}, "nagle": self.one_in(2),
            "least_timeout_ps": 2 * MS, "timeout_margin_ps": self.below(2) * 2 * MS, "first_timeout_ps": 5 * MS,
            "initial_segments": 1 + self.below(5), "congestion": if self.one_in(2) { "reno" } else { "cubic" }});
        for key in ["sack", "prr", "limited_transmit", "byte_counting", "hystart"] {
            tcp[key] = json!(self.one_in(2));
        }
        tcp["acknowledge"]["quick"] = json!(self.below(2) * 16);
        if self.one_in(2) {
            tcp["recovery"] = json!("reno");
        }
        if self.one_in(3) {
            tcp["read_ps_per_octet"] = json!(self.below(200_000));
        }
        if self.one_in(3) {
            tcp["send_buffer_octets"] = json!(2000 + self.below(20_000));
        }
        tcp
    }

    fn job(&mut self) -> Value {
        let octets = 1 + self.below(100_000);
        if self.one_in(2) {
            return stream(octets);
        }
        let times = |ps: u64| json!({"kind": "uniform", "low_ps": 0, "high_ps": ps});
        json!({"file": {"direction": if self.one_in(2) { "read" } else { "write" }, "octets": octets, "block_octets": 1 + self.below(9000),
            "request_octets": 1 + self.below(100), "answer_octets": 1 + self.below(100), "client": times(self.below(50 * US)),
            "server": times(self.below(50 * US)), "ahead": 1 + self.below(3)}})
    }

    /// Hosts on a few switches, transfers between them, and other traffic for a while.
    fn transfers(&mut self) -> Trial {
        let (inner, leaves) = (1 + self.below(3), 2 + self.below(4));
        let (mut nodes, mut links) = (Vec::new(), Vec::new());
        for i in 0..inner {
            let mut switch = json!({"learning": "known"});
            if self.one_in(2) {
                switch["queue_frames"] = json!(2 + self.below(10));
            }
            if self.one_in(3) {
                switch["overlap_octets"] = json!(14);
            }
            nodes.push(json!({"name": format!("s{i}"), "kind": {"switch": switch}}));
            if i > 0 {
                links.push((format!("s{i}"), format!("s{}", self.below(i))));
            }
        }
        for i in 0..leaves {
            nodes.push(self.end_host(&format!("h{i}")));
            links.push((format!("h{i}"), format!("s{}", self.below(inner))));
        }
        let in_step = self.one_in(3);
        let links: Vec<Value> = links
            .into_iter()
            .map(|(a, b)| {
                let rate = [8000, 8000, FAST][usize::try_from(self.below(3)).expect("small")];
                if in_step {
                    link(&a, &b, 8000, 0)
                } else {
                    link(&a, &b, rate, self.below(300 * US))
                }
            })
            .collect();
        let mut flows: Vec<Value> = (0..=self.below(4))
            .map(|_| {
                let from = self.below(leaves);
                let to = (from + 1 + self.below(leaves - 1)) % leaves;
                transfer(&format!("h{from}"), &format!("h{to}"), &self.job(), &self.tcp())
            })
            .collect();
        if self.one_in(2) {
            flows.push(json!({"name": "load", "from": "h0", "to": ["h1"], "frames": {"kind": "fixed", "bits": 8 * (64 + self.below(1400))},
                "arrivals": {"kind": "poisson", "mean_ps": 1e8}}));
        }
        let phases = json!({"begin_ps": 0, "stop_ps": 500 * S, "measure_from_ps": 0, "measure_to_ps": 500 * S, "end_ps": 500 * S,
            "spread_ps": if in_step { 0 } else { MS }});
        let mut trial = trial(&nodes, &links, &flows, &phases);
        trial.seed = self.below(1 << 30);
        // Other traffic would go on for ever.
        if trial.scenario.flows.iter().any(|flow| flow.transfer.is_none()) {
            let phases = &mut trial.scenario.phases;
            (phases.stop_ps, phases.measure_to_ps, phases.end_ps) = (300 * MS, 300 * MS, 500 * MS);
        }
        trial
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn both_implementations_send_the_same_segments_and_every_octet_comes_in_the_end(seed: u64) {
        let trial = Shape(seed).transfers();
        let outcome = run(&trial);
        if trial.scenario.phases.end_ps < 500 * S {
            return Ok(());
        }
        for (flow, found) in trial.scenario.flows.iter().zip(&outcome.flows) {
            let job = serde_json::to_value(&flow.transfer.as_ref().expect("a transfer").job).expect("JSON");
            let octets = job.pointer("/stream/octets").or_else(|| job.pointer("/file/octets")).expect("octets").as_u64().expect("a number");
            prop_assert!(of(found).whole_ps.is_some(), "{:?}", of(found));
            prop_assert_eq!(of(found).octets, octets);
            prop_assert_eq!(found.balance.in_flight, 0);
        }
    }
}
