//! Laws over random networks, and each implementation against the other.

use crate::common::network::{
    assert_same, balances, fixed, host, pausing, regular, run, saturated, switch, trial, Shape,
    TRACE,
};
use crate::common::{MS, S, US};
use crate::common::network::traces;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_trial::counts::FlowBatch;
use ethermeter_trial::flows::Shaper;
use ethermeter_trial::Trial;
use proptest::prelude::*;
use serde_json::{json, Value};

impl Shape {
    fn stage(&mut self, name: &str) -> Value {
        let mut stage = json!({"name": name, "fixed_ps": self.below(3 * US), "ps_per_octet": self.below(9000), "delay_ps": self.below(2 * US)});
        if self.one_in(4) {
            stage["overlap_octets"] = json!(self.below(100));
        }
        if self.one_in(4) {
            stage["burst"] = json!({"octets": 100 + self.below(300), "ps": self.below(500_000)});
        }
        if self.one_in(4) {
            stage["recovery_ps"] = json!(self.below(2 * US));
        }
        if self.one_in(4) {
            let time = json!({"kind": "uniform", "low_ps": 0, "high_ps": self.below(4 * US)});
            stage["random"] = json!({"one_in": 1 + self.below(5), "time": time});
        }
        stage
    }

    fn host(&mut self) -> Value {
        let mut host = json!({"ring": 1 + self.below(6)});
        if self.one_in(2) {
            let bus = json!({"name": "bus", "resource": "bus", "ps_per_octet": 1000 + self.below(8000), "extra_octets": -4});
            let mut receive = self.stage("receive");
            if self.one_in(3) {
                receive["queue_frames"] = json!(1 + self.below(5));
            }
            host["send"] = json!([self.stage("software"), bus]);
            host["receive"] = json!([bus, receive]);
        }
        if self.one_in(5) {
            host["overlap_octets"] = json!(self.below(200));
        }
        host
    }

    fn switch(&mut self) -> Value {
        let fabric = match self.below(4) {
            0 => json!({"shared": self.stage("backplane")}),
            1 => {
                json!({"crossbar": {"local": self.stage("local"), "inward": self.stage("inward"), "outward": self.stage("outward")}})
            }
            _ => json!("ideal"),
        };
        let learning = if self.one_in(2) {
            json!({"learns": {"age_ps": 1 + self.below(2 * MS), "addresses": 1 + self.below(12)}})
        } else {
            json!("known")
        };
        let mut switch = json!({"learning": learning, "fabric": fabric});
        if self.one_in(2) {
            switch["queue_frames"] = json!(1 + self.below(10));
        }
        if self.one_in(3) {
            switch["queue_octets"] = json!(2000 + self.below(20_000));
        }
        if self.one_in(3) {
            switch["overlap_octets"] = json!(6 + self.below(60));
        }
        if self.one_in(3) {
            switch["ingress"] = self.stage("ingress");
        }
        if self.one_in(3) {
            switch["flood"] = self.stage("flood");
            if self.one_in(2) {
                switch["flood"]["queue_frames"] = json!(1 + self.below(6));
            }
        }
        switch
    }

    fn cast(&mut self) -> Value {
        self.pick(&["unicast", "multicast", "broadcast"]).into()
    }

    fn arrivals(&mut self) -> Value {
        match self.below(6) {
            0 => saturated(),
            // Replays the trace of all trials here.
            #[allow(clippy::cast_precision_loss)]
            5 => {
                let mut arrivals = json!({"kind": "trace", "sha256": TRACE, "messages": 6, "mean_ps": 1e8,
                    "scv": 1.0, "envelope": [], "repeat_ps": 500 * US + self.below(50 * US)});
                if self.one_in(2) {
                    arrivals["offset_ps"] = json!(self.below(400) * US);
                }
                if self.one_in(3) {
                    arrivals["speed"] = json!(0.5 + self.below(8) as f64 / 2.0);
                }
                arrivals
            }
            1 => regular(20 * US + self.below(200 * US)),
            // Of one phase and one of two periods: senders meet.
            4 => {
                json!({"kind": "regular", "period_ps": (20 + self.below(2) * 20) * US, "phase_ps": self.below(2) * 5 * US})
            }
            2 => {
                json!({"kind": "on_off", "period_ps": 30 * US, "on_mean_ps": 3e8, "off_mean_ps": 5e8})
            }
            #[allow(clippy::cast_precision_loss)]
            _ => json!({"kind": "poisson", "mean_ps": (20 * US + self.below(200 * US)) as f64}),
        }
    }

    /// Some so slow that packets are the shortest, some faster than any wire.
    fn voice(&mut self, from: &str, to: &str) -> Value {
        let (overhead, least, room) = (18 + self.below(20), 1 + self.below(200), self.below(1000));
        let sample = 1 + self.below(10);
        let spurts = self.one_in(2).then(|| json!({"talk_mean_ps": 4e8, "silence_mean_ps": 2e8}));
        let mut flow = json!({"name": "voice", "from": from, "to": [to],
            "arrivals": {"kind": "coder", "sample_bits": 8 * sample, "sample_ps": 100_000 + self.below(10 * US), "spurts": spurts},
            "frames": {"kind": "samples", "overhead_bits": 8 * overhead, "min_bits": 8 * (overhead + least),
                "max_bits": 8 * (overhead + least + sample + room)}});
        if self.one_in(2) {
            flow["framing"] = json!({"udp": {"mtu_octets": 1500}});
        }
        if self.one_in(3) {
            flow["service"] = json!({"kind": "exponential", "offset_ps": 0, "mean_ps": 3e7});
        }
        flow
    }

    pub fn flow(&mut self, hosts: &[String]) -> Value {
        let from = self.pick(hosts);
        let others: Vec<String> = hosts.iter().filter(|name| **name != from).cloned().collect();
        if self.one_in(3) {
            let to = self.pick(&others);
            return self.voice(&from, &to);
        }
        let mut flow = json!({"name": "flow", "from": from, "to": [self.pick(&others)], "frames": {"kind": "mix",
            "bits": [512, 8 * (64 + self.below(1455)), 12144], "weights": [1.0, 1.0, 0.5]}, "arrivals": self.arrivals()});
        if self.one_in(4) {
            flow["address"] = self.pick(&[json!("multicast"), json!("broadcast")]);
            flow["to"] =
                json!(others[..=usize::try_from(self.below(others.len() as u64)).expect("small")]);
        }
        if self.one_in(4) {
            flow["framing"] = json!({"udp": {"mtu_octets": 300 + self.below(1201)}});
        }
        if self.one_in(3) {
            let think = json!({"kind": "uniform", "low_ps": 0, "high_ps": 20 * US});
            flow["response"] = json!({"frames": fixed(64 + self.below(1455)), "think": think, "timeout_ps": 200 * US + self.below(MS), "address": self.cast()});
            let is_unicast = flow.get("address").is_none() && flow["response"]["address"] == "unicast";
            if is_unicast && !self.one_in(3) {
                flow["response"]["retransmit"] = json!({"after_ps": 50 * US + self.below(400 * US),
                    "factor": 1 + self.below(3), "keep": self.one_in(2)});
            }
            if self.one_in(4) {
                flow["response"]["timeout_ps"] = json!(null);
            }
        }
        flow
    }

    /// Classes of a port: some shaped, perhaps below a strict one, the others strict or with quanta.
    fn classes(&mut self, rate_bps: u64) -> Value {
        let count = 1 + self.below(5);
        let first = self.below(2);
        let shaped = if self.one_in(2) { self.below(count - first + 1) } else { 0 };
        let mut classes: Vec<Value> = (0..count).map(|_| json!({"priorities": []})).collect();
        for priority in 0..8 {
            let class = if priority < count { priority } else { self.below(count) };
            let class = usize::try_from(class).expect("few");
            classes[class]["priorities"].as_array_mut().expect("a list").push(json!(priority));
        }
        let has_quanta = self.one_in(2);
        for (number, class) in (0..).zip(&mut classes) {
            if (first..first + shaped).contains(&number) {
                class["idle_slope_bps"] = json!(1 + self.below(rate_bps / shaped - 1));
            } else if has_quanta && number >= first + shaped {
                class["quantum_octets"] = json!(1 + self.below(4000));
            }
            if self.one_in(3) {
                class["queue_frames"] = json!(1 + self.below(10));
            }
        }
        json!(classes)
    }

    /// The same network with classes at some nodes, and flows of all priorities.
    fn with_classes(&mut self, trial: &Trial) -> Trial {
        use ethermeter_trial::nodes::Kind;
        let mut trial = trial.clone();
        for node in &mut trial.scenario.nodes {
            let links = trial.scenario.links.iter();
            let own = links.filter(|link| link.ends.iter().any(|end| end.node == node.name));
            let slowest = own.map(|link| link.ps_per_octet).max().expect("a node has a link");
            if self.one_in(4) {
                continue;
            }
            let classes = self.classes(8_000_000_000_000 / slowest);
            let classes = serde_json::from_value(classes).expect("classes");
            match &mut node.kind {
                Kind::Host(host) => host.classes = classes,
                Kind::Switch(switch) => switch.classes = classes,
                Kind::Router(router) => router.classes = classes,
                Kind::Hub(_) => {}
            }
        }
        for flow in &mut trial.scenario.flows {
            flow.priority = (!self.one_in(4)).then(|| u8::try_from(self.below(8)).expect("small"));
        }
        trial
    }

    /// Give token buckets to some flows.
    fn shape_flows(&mut self, trial: &mut Trial) {
        for flow in &mut trial.scenario.flows {
            if flow.voice().is_some() || !self.one_in(3) {
                continue;
            }
            let (rate_bps, burst_octets) =
                (1_000_000 << self.below(10), 20_000 + self.below(20_000));
            if flow.queue_frames.is_none() && self.one_in(2) {
                let phase_ps = Some(self.below(MS));
                flow.arrivals = Arrivals::TokenBucket { rate_bps, burst_octets, phase_ps };
            } else {
                flow.shaper = Some(Shaper { rate_bps, burst_octets });
            }
        }
    }

    /// A tree of switches and routers with hosts; each flow is between hosts. `wire` finishes a
    /// link.
    pub fn network(&mut self, routers: bool, mut wire: impl FnMut(&mut Self, &mut Value)) -> Trial {
        let (inner, leaves) = (1 + self.below(4), 2 + self.below(6));
        // Equal cables and saturated sources: many things happen in one instant.
        let in_step = self.one_in(3);
        let (mut nodes, mut links) = (Vec::new(), Vec::new());
        for i in 0..inner {
            let node = if routers && self.one_in(5) {
                json!({"name": format!("s{i}"), "kind": {"router": {"forward": self.stage("forward"), "queue_frames": 1 + self.below(20)}}})
            } else {
                switch(&format!("s{i}"), &self.switch())
            };
            nodes.push(node);
            if i > 0 {
                links.push((format!("s{i}"), format!("s{}", self.below(i))));
            }
        }
        let hosts: Vec<String> = (0..leaves).map(|i| format!("h{i}")).collect();
        for name in &hosts {
            nodes.push(host(name, &self.host()));
            links.push((name.clone(), format!("s{}", self.below(inner))));
        }
        let links: Vec<Value> = links
            .into_iter()
            .map(|(a, b)| {
                let rate = self.pick(&[800u64, 8000, 8000, 80_000]);
                let mut link = json!({"ends": [{"node": a, "module": self.below(3)}, {"node": b, "module": self.below(3)}],
                    "ps_per_octet": rate, "delay_ps": self.below(3 * US)});
                if in_step {
                    (link["ps_per_octet"], link["delay_ps"]) = (json!(8000), json!(0));
                }
                wire(self, &mut link);
                link
            })
            .collect();
        let mut flows: Vec<Value> = (0..=self.below(6)).map(|_| self.flow(&hosts)).collect();
        if in_step {
            for flow in &mut flows {
                (flow["arrivals"], flow["frames"]) = (saturated(), fixed(64));
            }
        }
        let spread = if in_step { 0 } else { US };
        let phases = json!({"begin_ps": 0, "stop_ps": 3 * MS, "measure_from_ps": MS, "measure_to_ps": 3 * MS, "end_ps": 4 * MS, "spread_ps": spread});
        trial(self.below(1 << 30), &nodes, &links, &flows, &phases)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_implementations_deliver_the_same_at_the_same_time_and_every_frame_is_accounted_for(seed: u64) {
        let trial = Shape(seed).network(true, |_, _| {});
        let (reference, fast) = traces(&trial).expect("a valid trial");
        balances(&reference);
        let fast = fast.expect("nothing that only the reference knows");
        balances(&fast);
        assert_same(&reference, &fast);
    }

    #[test]
    fn both_implementations_serve_classes_alike_and_every_frame_of_a_class_is_accounted_for(seed: u64) {
        let mut shape = Shape(seed);
        let bare = shape.network(true, |_, _| {});
        let mut trial = shape.with_classes(&bare);
        shape.shape_flows(&mut trial);
        let (reference, fast) = traces(&trial).expect("a valid trial");
        balances(&reference);
        let fast = fast.expect("nothing that only the reference knows");
        balances(&fast);
        assert_same(&reference, &fast);
        for port in &reference.ports {
            for class in &port.classes {
                prop_assert!(class.frames + class.dropped <= class.arrived);
                prop_assert!(class.arrived <= class.frames + class.dropped + class.queue_most);
            }
            if !port.classes.is_empty() {
                prop_assert!(port.classes.iter().map(|class| class.frames).sum::<u64>() >= port.frames);
            }
        }
    }

    #[test]
    fn one_class_is_one_queue(seed: u64) {
        use ethermeter_trial::nodes::Kind;
        let bare = Shape(seed).network(true, |_, _| {});
        let mut trial = bare.clone();
        let one = json!([{"priorities": [0, 1, 2, 3, 4, 5, 6, 7]}]);
        for node in &mut trial.scenario.nodes {
            let one = serde_json::from_value(one.clone()).expect("a class");
            match &mut node.kind {
                // Hosts with classes do not let streams wait for what they have sent.
                Kind::Host(_) | Kind::Hub(_) => {}
                Kind::Switch(switch) => switch.classes = one,
                Kind::Router(router) => router.classes = one,
            }
        }
        let (with, without) = (run(&trial), run(&bare));
        prop_assert_eq!(&with.flows, &without.flows);
        for (with, without) in with.ports.iter().zip(&without.ports) {
            prop_assert_eq!((with.frames, with.dropped, with.queue_most, with.queue_octets_most),
                (without.frames, without.dropped, without.queue_most, without.queue_octets_most));
        }
    }

    #[test]
    fn clocks_are_read_alike_by_both_implementations_and_change_nothing_unless_they_are_compared(seed: u64) {
        use ethermeter_trial::nodes::Kind;
        let mut shape = Shape(seed);
        let mut trial = shape.network(true, |_, _| {});
        // Silence before and after, in which times are asked for each 2 ms.
        let phases = &mut trial.scenario.phases;
        (phases.begin_ps, phases.stop_ps, phases.end_ps) = (20 * MS, 23 * MS, 30 * MS);
        (phases.measure_from_ps, phases.measure_to_ps) = (21 * MS, 24 * MS);
        let without = traces(&trial).expect("a valid trial").0;
        for node in &mut trial.scenario.nodes {
            if let (Kind::Host(host), false) = (&mut node.kind, shape.one_in(3)) {
                let clock = json!({"offset_ps": shape.below(2 * S).cast_signed() - S.cast_signed(),
                    "drift_ppb": shape.below(200_001).cast_signed() - 100_000, "drift_spread_ppb": shape.below(1000)});
                host.clock = Some(serde_json::from_value(clock).expect("a clock"));
            }
        }
        let (mut read, fast) = traces(&trial).expect("a valid trial");
        assert_same(&read, &fast.expect("nothing that only the reference knows"));
        for (flow, bare) in read.counts.flows.iter_mut().zip(&without.flows) {
            if let Some(reading) = flow.clocks.take() {
                prop_assert_eq!(reading.clock.count, bare.one_way.count);
            }
        }
        assert_same(&read, &without);
        trial.scenario.clocks = serde_json::from_value(json!("compared")).expect("a word");
        let (reference, fast) = traces(&trial).expect("a valid trial");
        let fast = fast.expect("nothing that only the reference knows");
        balances(&reference);
        assert_same(&reference, &fast);
        prop_assert_eq!(&reference.clock_pairs, &fast.clock_pairs);
        for comparison in &reference.clock_pairs {
            let b = &comparison.balance;
            prop_assert_eq!(b.sent + b.copied, b.delivered + b.lost.iter().sum::<u64>() + b.in_flight);
            prop_assert!(comparison.answered + comparison.lost + 1 >= comparison.requests);
        }
        let is_compared = |flow: &ethermeter_trial::counts::FlowCounts| flow.clocks.as_ref().is_some_and(|r| r.synchronised.is_some());
        prop_assert_eq!(reference.flows.iter().any(is_compared), !reference.clock_pairs.is_empty());
    }

    #[test]
    fn a_batch_counts_what_is_counted_if_nothing_else_is_measured(seed: u64) {
        let mut shape = Shape(seed);
        let mut trial = shape.network(true, |_, _| {});
        let batches = 1 + shape.below(6);
        trial.scenario.batches = u32::try_from(batches).expect("few");
        for flow in &mut trial.scenario.flows {
            flow.deadline_ps = flow.transfer.is_none().then(|| 1 + shape.below(1_000_000_000));
        }
        let phases = trial.scenario.phases;
        let whole = run(&trial);
        let bound = |k: u64| phases.measure_from_ps + k * (phases.measure_to_ps - phases.measure_from_ps) / batches;
        let mut sums = vec![FlowBatch::default(); whole.flows.len()];
        for k in 0..batches {
            let mut only = trial.clone();
            only.scenario.batches = 1;
            (only.scenario.phases.measure_from_ps, only.scenario.phases.measure_to_ps) = (bound(k), bound(k + 1));
            for ((flow, alone), sum) in whole.flows.iter().zip(run(&only).flows).zip(&mut sums) {
                let part = flow.batches[usize::try_from(k).expect("few")];
                // The first arrival within a window has none before it there.
                prop_assert!(part.arrivals_between >= alone.between_arrivals.count);
                let own = FlowBatch { arrivals_between: 0, between_arrivals_ps: 0, ..part };
                let expected = FlowBatch {
                    offered: alone.offered,
                    dropped: alone.dropped,
                    arrived: alone.arrived,
                    messages: alone.messages,
                    overdue: alone.overdue,
                    frames: alone.frames,
                    octets: alone.octets,
                    data_octets: alone.data_octets,
                    completed: alone.completed,
                    timed_out: alone.timed_out,
                    one_way_ps: alone.one_way.sum_ps,
                    round_trip_ps: alone.round_trip.sum_ps,
                    ..FlowBatch::default()
                };
                prop_assert_eq!(own, expected);
                sum.offered += part.offered;
                sum.messages += part.messages;
                sum.one_way_ps += part.one_way_ps;
                sum.between_arrivals_ps += part.between_arrivals_ps;
                sum.arrivals_between += part.arrivals_between;
            }
        }
        for (flow, sum) in whole.flows.iter().zip(sums) {
            prop_assert_eq!((flow.offered, flow.messages, flow.one_way.sum_ps), (sum.offered, sum.messages, sum.one_way_ps));
            let between = &flow.between_arrivals;
            prop_assert_eq!((between.count, between.sum_ps), (sum.arrivals_between, sum.between_arrivals_ps));
        }
    }

    #[test]
    fn pause_loses_no_frame_and_never_stands_still(seed: u64) {
        let mut shape = Shape(seed);
        let mut trial = shape.network(false, |_, _| {});
        // Memory with flow control everywhere, and no other limit.
        for node in &mut trial.scenario.nodes {
            use ethermeter_trial::nodes::Kind;
            let buffer = serde_json::from_value(pausing(100_000, 1 + shape.below(60_000), 0)).expect("a buffer");
            match &mut node.kind {
                Kind::Switch(switch) => {
                    (switch.queue_frames, switch.queue_octets, switch.buffer) = (None, None, Some(buffer));
                    if let Some(flood) = &mut switch.flood {
                        flood.queue_frames = None;
                    }
                }
                Kind::Host(host) => {
                    for stage in &mut host.receive {
                        stage.queue_frames = None;
                        if stage.overlap_octets.is_none() {
                            stage.coalesce = Some(serde_json::from_value(json!({"frames": 3, "ps": 40 * US})).expect("a wait"));
                        }
                    }
                    host.buffer = Some(buffer);
                }
                _ => {}
            }
        }
        // Nor are requests sent again for ever, which may be faster than they are carried.
        let responses = trial.scenario.flows.iter_mut().filter_map(|flow| flow.response.as_mut());
        for retransmit in responses.filter_map(|response| response.retransmit.as_mut()) {
            retransmit.tries = Some(3);
        }
        // Nothing new after 3 ms; what is there then has come a second later, whoever was silent.
        trial.scenario.phases.end_ps = S;
        let outcome = run(&trial);
        for flow in &outcome.flows {
            let b = &flow.balance;
            prop_assert_eq!((b.lost[0], b.lost[1], b.lost[4]), (0, 0, 0));
            prop_assert_eq!(b.in_flight, 0, "{:?}", b);
        }
    }

    #[test]
    fn every_frame_is_accounted_for_where_links_are_half_duplex(seed: u64) {
        let mut shape = Shape(seed);
        let hub_at = shape.below(6);
        let mut trial = shape.network(true, |shape, link| {
            let on_hub = (0..2).any(|end| link["ends"][end]["node"] == format!("s{hub_at}").as_str());
            if on_hub || shape.one_in(2) {
                (link["half_duplex"], link["ps_per_octet"]) = (json!(true), json!(80_000));
                link["delay_ps"] = json!(shape.below(1_000_000));
            }
        });
        for node in &mut trial.scenario.nodes {
            if node.name == format!("s{hub_at}") {
                node.kind = ethermeter_trial::nodes::Kind::Hub(ethermeter_trial::nodes::Hub::default());
            }
        }
        let outcome = run(&trial);
        prop_assert!(outcome.ports.iter().all(|port| port.late_collisions == 0));
    }
}
