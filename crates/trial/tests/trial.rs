//! A trial is read as it is written, and what is wrong with it is found where it is.

use ethermeter_trial::Trial;
use ethermeter_trial::fault::{Allowed, Checked, Fault, Faults};
use ethermeter_trial::flows::Flow;
use ethermeter_trial::nodes::Kind;
use serde_json::{Value, json};

fn phases() -> Value {
    json!({"begin_ps": 0, "stop_ps": 10, "measure_from_ps": 2, "measure_to_ps": 9, "end_ps": 12,
        "spread_ps": 0})
}

fn segment() -> Value {
    json!({"id": "segment/00000", "seed": 7, "settings": {"implementation": "reference"}, "scenario": {
        "nodes": [{"name": "sun", "count": 1024, "kind": {"host": {}}}],
        "media": [{"name": "ether", "bit_ps": 100_000, "delay_ps": [[0]],
            "mac": {"csma_cd": {"slot_bits": 512, "gap_bits": 96, "gap_part1_bits": 64,
                "preamble_bits": 64, "jam_bits": 32, "turnaround_ps": 5}},
            "stations": [{"node": "sun", "points": vec![0; 1024],
                "backoff": {"rule": "load-register", "bits": 8, "clock_ps": 3, "ticks": true},
                "after_attempt_limit": "resume"}]}],
        "flows": [{"name": "sun", "from": "sun", "frames": {"kind": "fixed", "bits": 512},
            "arrivals": {"kind": "saturated"}}],
        "phases": phases(), "batches": 5}})
}

fn network() -> Value {
    json!({"id": "network/00000", "seed": 8, "scenario": {
        "nodes": [
            {"name": "a", "kind": {"host": {"send": [{"name": "bus", "fixed_ps": 3}], "clock": {"drift_ppb": -5}}}},
            {"name": "s", "kind": {"switch": {"learning": {"learns": {"age_ps": 9, "addresses": 4}},
                "fabric": {"shared": {"name": "backplane", "ps_per_octet": 2}}}}},
            {"name": "b", "kind": {"host": {}}}],
        "links": [{"ends": [{"node": "a"}, {"node": "s"}], "ps_per_octet": 8000},
            {"ends": [{"node": "s", "module": 1}, {"node": "b"}], "ps_per_octet": 8000, "half_duplex": true}],
        "flows": [
            {"name": "f", "from": "a", "to": ["b"], "frames": {"kind": "mix", "bits": [512, 12144], "weights": [1.0, 0.5]},
                "arrivals": {"kind": "poisson", "mean_ps": 1e6}, "framing": {"udp": {"mtu_octets": 1500}}},
            {"name": "t", "from": "b", "to": ["a"], "transfer": {"job": {"stream": {}}, "tcp": {"window_octets": 65536}}}],
        "clocks": "compared", "phases": phases()}})
}

fn idealised(mac: &Value) -> Value {
    let mut trial = segment();
    trial["scenario"]["media"][0]["mac"] = mac.clone();
    trial
}

fn read(value: &Value) -> Result<Trial, String> {
    Trial::from_json(&value.to_string()).map_err(|fault| fault.to_string())
}

#[test]
fn what_is_written_is_read_again() {
    let macs = [
        json!({"slotted": {"slot_ps": 5, "collision_slots": 2, "persistence": "non", "idle": "same-slot",
            "population": {"infinite": {"attempts_per_slot": 0.5}}}}),
        json!({"slotted": {"slot_ps": 5, "collision_slots": 2, "persistence": 0.25, "idle": null,
            "population": {"finite": {"retransmission": 0.5, "first": "delayed"}}}}),
        json!({"adaptive": {"slot_ps": 5, "clear_ps": 1, "policy": "one-over-e", "empty": "at-once"}}),
        json!({"unslotted": {"propagation_ps": 5, "access": {"one-persistent":
            {"abort_ps": 3, "simultaneous_starts_unnoticed": true, "infinite_mean_ps": null}}}}),
        json!({"polling": {"walk_ps": 5, "discipline": "gated"}}),
    ];
    let all = [segment(), network()].into_iter().chain(macs.iter().map(idealised));
    for value in all {
        let trial = read(&value).expect("a trial");
        assert_eq!(Trial::from_json(&trial.to_json()), Ok(trial));
    }
}

#[test]
fn stations_are_not_repeated() {
    let trial = read(&segment()).expect("a trial");
    assert!(trial.to_json().len() < 4096, "{}", trial.to_json().len());
    assert_eq!(trial.scenario.nodes[0].count, 1024);
}

#[test]
fn the_fault_of_a_key_has_its_path() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str, &str); 5] = [
        (
            |v| v["scenario"]["nodes"][0]["kind"]["host"]["sned"] = json!([]),
            "nodes[0].kind.host.sned",
            "unknown field `sned`",
        ),
        (
            |v| v["scenario"]["nodes"][0]["kind"]["host"]["send"][0]["fixed_ps"] = json!(-1),
            "nodes[0].kind.host.send[0].fixed_ps",
            "invalid value: integer `-1`, expected u64",
        ),
        (
            |v| v["scenario"]["links"][1]["ends"][0]["module"] = json!("x"),
            "links[1].ends[0].module",
            "invalid type: string \"x\", expected u32",
        ),
        (
            |v| {
                v["scenario"]["flows"][1]["transfer"]["tcp"]
                    .as_object_mut()
                    .expect("a table")
                    .clear();
            },
            "flows[1].transfer.tcp",
            "missing field `window_octets`",
        ),
        (|v| v["sead"] = json!(1), "sead", "unknown field `sead`"),
    ];
    for (change, path, allowed) in cases {
        let mut value = network();
        change(&mut value);
        let fault = Trial::from_json(&value.to_string()).expect_err("a fault");
        assert_eq!(fault.path, path);
        assert!(fault.allowed.to_string().starts_with(allowed), "{}", fault.allowed);
    }
}

#[test]
fn what_is_no_json_is_a_fault() {
    for text in ["", "{", "[]", "{} x"] {
        assert!(Trial::from_json(text).is_err(), "{text}");
    }
}

/// All faults of a value.
fn faults(value: &impl Checked) -> Vec<Fault> {
    let mut faults = Faults::default();
    value.check(&mut faults);
    faults.into_vec()
}

#[test]
fn a_value_beyond_its_limit_is_a_fault_with_path_value_and_range() {
    let mut trial = read(&network()).expect("a trial");
    let Kind::Host(host) = &mut trial.scenario.nodes[0].kind else { panic!("a host") };
    host.send[0].fixed_ps = 2_000_000_000_000;
    let fault = trial.scenario.sound().expect_err("longer than a second");
    assert_eq!(
        fault.to_string(),
        "nodes[0].kind.host.send[0].fixed_ps: must be from 0 to 1000000000000, got 2000000000000"
    );
    assert_eq!(fault.value.as_deref(), Some("2000000000000"));
    assert_eq!(fault.allowed, Allowed::Range(0, 1_000_000_000_000));

    let trial = read(&network()).expect("a trial");
    let Kind::Host(host) = &trial.scenario.nodes[0].kind else { panic!("a host") };
    let mut clock = host.clock.expect("given");
    assert_eq!(faults(&clock), []);
    clock.drift_ppb = 1_000_001;
    assert_eq!(faults(&clock)[0].path, "drift_ppb");

    let mut flow: Flow = trial.scenario.flows[0].clone();
    assert_eq!(faults(&flow), []);
    flow.queue_frames = Some(0);
    assert_eq!(faults(&flow)[0].path, "queue_frames");
}

#[test]
fn all_faults_of_a_scenario_are_found_together() {
    let mut trial = read(&network()).expect("a trial");
    trial.scenario.batches = 7;
    assert_eq!(trial.scenario.faults(), []);
    trial.scenario.batches = 0;
    trial.scenario.nodes[2].name = "a".to_owned();
    trial.scenario.links[0].gap_octets = 65_537;
    trial.scenario.links[1].ps_per_octet = 0;
    trial.scenario.flows[0].queue_frames = Some(0);
    trial.scenario.flows[0].priority = Some(8);
    trial.scenario.flows[1].to = vec!["s".to_owned(), "nobody".to_owned()];
    let paths: Vec<String> =
        trial.scenario.faults().iter().map(|fault| fault.path.to_string()).collect();
    for path in [
        "batches",
        "nodes[2].name",
        "links[0].gap_octets",
        "links[1].ps_per_octet",
        "flows[0].queue_frames",
        "flows[0].priority",
        "flows[1].to",
        "flows[1].to[0]",
        "flows[1].to[1]",
    ] {
        assert!(paths.iter().any(|each| each == path), "{path} among {paths:?}");
    }
    assert_eq!(trial.scenario.sound(), Err(trial.scenario.faults().remove(0)));
}

#[test]
fn a_loop_a_second_link_of_a_host_and_a_slow_pause_are_found_where_they_are() {
    let of = |change: fn(&mut Value)| {
        let mut value = network();
        change(&mut value);
        let faults = read(&value).expect("a trial").scenario.faults();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let looped = of(|v| {
        let again = v["scenario"]["links"][0].clone();
        v["scenario"]["links"].as_array_mut().expect("links").push(again);
    });
    assert!(looped.contains("links[2].ends: closes a loop between"), "{looped}");
    assert!(looped.contains("nodes[0]: a host must have one link, got 2"), "{looped}");
    let paused = of(|v| {
        v["scenario"]["nodes"][0]["kind"]["host"]["buffer"] = json!({"octets": 9000, "pause": {"high_octets": 8000, "low_octets": 8001, "quanta": 1}});
    });
    assert!(paused.contains("nodes[0].kind.host.buffer.pause.low_octets: must be at most high"));
    assert!(!paused.contains("quanta"), "compared only once in order: {paused}");
    let late = of(|v| {
        v["scenario"]["nodes"][0]["kind"]["host"]["buffer"] =
            json!({"octets": 9000, "pause": {"high_octets": 8000, "low_octets": 1, "quanta": 1}});
    });
    assert!(late.contains("nodes[0].kind.host.buffer.octets: must be at least"), "{late}");
    assert!(late.contains("nodes[0].kind.host.buffer.pause.quanta: must be at least"), "{late}");
}
