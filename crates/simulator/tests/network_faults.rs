//! Networks that are refused, each by the path of its key.

use crate::common::network::{
    balances, half, host, hub, link, pausing, phases, regular, saturated, stream, switch, trial,
};
use crate::common::{simulate, MS, US};
use ethermeter_trial::Trial;
use serde_json::{json, Value};

fn refusal(nodes: &[Value], links: &[Value], flows: &[Value]) -> String {
    simulate(&trial(1, nodes, links, flows, &phases(MS))).expect_err("a contradiction").to_string()
}

#[test]
fn loops_are_refused_by_name() {
    let nodes = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch("s", &json!({})),
        switch("t", &json!({})),
        switch("u", &json!({})),
    ];
    let links = [
        link("a", "s", 8000, 0),
        link("s", "t", 8000, 0),
        link("t", "u", 8000, 0),
        link("b", "t", 8000, 0),
        link("u", "s", 8000, 0),
    ];
    let message = refusal(&nodes, &links, &[stream("a", "b", 64, &saturated())]);
    assert!(
        message.starts_with("links[4].ends: closes a loop between \"u\" and \"s\""),
        "{message}"
    );
}

#[test]
fn every_fault_names_its_key_and_what_was_allowed() {
    let nodes = || vec![host("a", &json!({})), host("b", &json!({})), switch("s", &json!({}))];
    let links = || vec![link("a", "s", 8000, 0), link("b", "s", 8000, 0)];
    let flow = || stream("a", "b", 64, &saturated());
    let change = |nodes: &[Value], links: &[Value], flow: Value, expected: &str| {
        let message = refusal(nodes, links, &[flow]);
        assert!(message.starts_with(expected) && message.contains("must"), "{message}");
    };
    change(&nodes(), &[link("a", "s", 8000, 0)], flow(), "nodes[1]: ");
    change(&nodes(), &[link("a", "x", 8000, 0)], flow(), "links[0].ends[1].node: ");
    change(
        &nodes(),
        &[link("a", "s", 0, 0), link("b", "s", 8000, 0)],
        flow(),
        "links[0].ps_per_octet: ",
    );
    change(&[host("a", &json!({})), host("a", &json!({}))], &[], flow(), "nodes[1].name: ");
    change(&nodes(), &links(), stream("a", "a", 64, &saturated()), "flows[0].to[0]: ");
    change(&nodes(), &links(), stream("s", "b", 64, &saturated()), "flows[0].from: ");
    change(&nodes(), &links(), stream("a", "b", 64, &regular(0)), "flows[0].arrivals: ");
    let mut odd = flow();
    odd["frames"] = json!({"kind": "fixed", "bits": 513});
    change(&nodes(), &links(), odd, "flows[0].frames: ");
    let small = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch("s", &json!({"buffer": pausing(2100, 2000, 1000)})),
    ];
    change(&small, &links(), flow(), "nodes[2].kind.switch.buffer.octets: ");
    let busy = [
        host("a", &json!({})),
        host("b", &json!({})),
        switch(
            "s",
            &json!({"buffer": {"octets": 9000, "pause": {"high_octets": 4000, "low_octets": 10, "quanta": 1}}}),
        ),
    ];
    change(&busy, &links(), flow(), "nodes[2].kind.switch.buffer.pause.quanta: ");
    change(
        &nodes(),
        &[half("a", "s", 800_000, 30_000_000), link("b", "s", 8000, 0)],
        flow(),
        "links[0].delay_ps: ",
    );
    change(
        &[host("a", &json!({})), host("b", &json!({})), hub("s")],
        &links(),
        flow(),
        "links[0].half_duplex: ",
    );
}

#[test]
fn a_measured_window_has_from_one_to_a_thousand_batches_and_none_shorter_than_a_picosecond() {
    let nodes = [host("a", &json!({})), host("b", &json!({}))];
    let mut trial = trial(
        1,
        &nodes,
        &[link("a", "b", 8000, 0)],
        &[stream("a", "b", 64, &saturated())],
        &phases(MS),
    );
    assert_eq!(trial.scenario.batches, 20, "of plans that do not say");
    for (batches, length, most) in [(0, MS, 1000), (1001, MS, 1000), (8, 7, 7)] {
        (trial.scenario.batches, trial.scenario.phases.measure_to_ps) = (batches, length);
        let message = simulate(&trial).expect_err("a wrong number").to_string();
        assert_eq!(message, format!("batches: must be from 1 to {most}, got {batches}"));
    }
    (trial.scenario.batches, trial.scenario.phases.measure_to_ps) = (7, 7);
    assert_eq!(simulate(&trial).expect("a valid trial").flows[0].batches.len(), 7);
}

#[test]
fn the_example_of_the_formats_is_a_trial() {
    let text = include_str!("../../../docs/reference/network-trials.md");
    let begin = text.find("{\"nodes\": [\n").expect("an example");
    let end = begin + text[begin..].find("```").expect("its end");
    let scenario: Value = serde_json::from_str(&text[begin..end]).expect("JSON");
    let [fast, reference] = ["fast", "reference"].map(|implementation| {
        let settings = json!({"implementation": implementation});
        let trial = json!({"id": "x", "seed": 1, "scenario": scenario, "settings": settings});
        let trial = Trial::from_json(&trial.to_string()).expect("a trial");
        simulate(&trial).expect("a valid trial")
    });
    assert_eq!((&fast.flows, &fast.ports), (&reference.flows, &reference.ports));
    balances(&fast);
    assert!(fast.flows[0].completed > 10);
}

#[test]
fn unknown_keys_are_refused() {
    let read = |more: &str| {
        let phases = phases(1);
        Trial::from_json(&format!(
            "{{\"id\": \"x\", \"seed\": 1, \"scenario\": {{\"nodes\": [], \"links\": [], \"flows\": [], \"phases\": {phases}{more}}}}}"
        ))
    };
    assert!(read("").is_ok());
    assert_eq!(read(", \"batches\": 3").expect("a trial").scenario.batches, 3);
    let message = read(", \"batch\": 3").expect_err("an unknown key").to_string();
    assert!(message.contains("unknown field `batch`"), "{message}");
}

#[test]
fn a_phase_of_a_whole_period_or_of_nothing_but_a_regular_source_is_refused() {
    let nodes = [host("a", &json!({})), host("b", &json!({}))];
    let with = |arrivals: Value| {
        json!({"id": "x", "seed": 1, "scenario": {"nodes": &nodes, "links": [link("a", "b", 8000, 0)],
        "flows": [stream("a", "b", 64, &arrivals)], "phases": phases(MS)}})
    };
    let whole: Trial =
        serde_json::from_value(with(json!({"kind": "regular", "period_ps": US, "phase_ps": US})))
            .expect("the right shape");
    let fault = simulate(&whole).expect_err("a phase of a whole period").to_string();
    assert!(
        fault.contains("flows[0].arrivals: phase_ps must be below period_ps, 1000000, got 1000000"),
        "{fault}"
    );
    let poisson = json!({"kind": "poisson", "mean_ps": 1e9, "phase_ps": 0});
    assert!(serde_json::from_value::<Trial>(with(poisson)).is_err());
}
