//! Clocks that differ, on the loopback interface.

use crate::common::{flow, measure, paced, run, test, Agent};
use serde_json::{json, Value};

/// The sender's clock is behind, and falls back further, so that delays by clocks that are taken
/// for equal are a quarter of a second at the least.
const OFFSET_NS: i64 = -250_000_000;

fn agents() -> (Agent, Agent) {
    let options = [
        "--clock-offset".to_owned(),
        OFFSET_NS.to_string(),
        "--clock-drift".to_owned(),
        "-100000".to_owned(),
    ];
    (Agent::spawn(&options), Agent::spawn(&[]))
}

fn flow_with(clocks: &str, agents: &(Agent, Agent)) -> Value {
    let mut test = test(&[&agents.0, &agents.1], 300, &[flow("paced", &paced())]);
    test["clocks"] = json!(clocks);
    let measured = measure("clocks", &test, &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    assert_eq!(measured.result["agents"]["a"]["artificial_clock"]["offset_ns"], OFFSET_NS);
    assert!(measured.result["agents"]["b"]["artificial_clock"].is_null());
    measured.result["flows"]["paced"].clone()
}

fn is_uncertain(flow: &Value) -> bool {
    flow["cautions"].as_array().expect("a list").contains(&json!("clock-uncertain"))
}

#[test]
fn clocks_that_differ_are_compared_unless_told_otherwise_and_delays_say_how_certain_they_are() {
    let agents = agents();
    let flow = flow_with("compared", &agents);
    let (clock, measured) =
        (&flow["clock"], &flow["receiving"]["counted"]["streams"][0]["measured"]);
    assert!(!is_uncertain(&flow), "{clock}");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    let gained = number(&clock["offset_ns"]) + 250e6;
    // A ten-thousandth of the time since the host's start, which is what drifts; it is up since
    // before this test.
    assert!(
        gained < 0.0
            && (number(&clock["drift"]) + 1e-4).abs() <= number(&clock["drift_uncertainty"]),
        "{clock}"
    );
    assert!(number(&clock["delay_uncertainty_ns"]) >= number(&clock["uncertainty_ns"]), "{clock}");
    // A frame arrives before it was sent if the relation is wrong by more than the loopback's few
    // microseconds, as it is where processors are late to answer.
    let count = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} is no count"));
    assert_eq!(
        count(&measured["before_sent"]) + count(&measured["delay"]["total"]),
        count(&measured["frames"]),
        "{measured}"
    );
    let median_ps = measured["delay"]["quantiles_ps"]["0.5"].as_u64();
    assert!(
        median_ps.is_none_or(|ps| ps < 125_000_000_000) && measured["unrelated"] == 0,
        "{measured}"
    );

    let flow = flow_with("not_compared", &agents);
    assert!(is_uncertain(&flow) && flow["clock"] == json!({"shared": false}), "{flow}");
    let measured = &flow["receiving"]["counted"]["streams"][0]["measured"];
    assert_eq!(
        (&measured["delay"]["total"], &measured["before_sent"]),
        (&measured["frames"], &json!(0))
    );
    let least_ps = measured["delay"]["quantiles_ps"]["0.01"].as_u64();
    assert!(least_ps > Some(240_000_000_000), "{measured}");
}

#[test]
fn clocks_that_are_one_are_not_compared_unless_told_so() {
    let agents = (Agent::spawn(&[]), Agent::spawn(&[]));
    for clocks in ["compared", "always_compared"] {
        let mut test = test(&[&agents.0, &agents.1], 300, &[flow("paced", &paced())]);
        test["clocks"] = json!(clocks);
        let measured = measure("one-clock", &test, &[]);
        assert_eq!(measured.code, Some(0), "{}", measured.printed);
        let flow = &measured.result["flows"]["paced"];
        if clocks == "compared" {
            assert_eq!(flow["clock"], json!({"shared": true}));
        } else {
            let (ahead, uncertainty) =
                (flow["clock"]["offset_ns"].as_f64(), flow["clock"]["uncertainty_ns"].as_f64());
            assert!(
                ahead.is_some_and(|ahead| Some(ahead.abs()) <= uncertainty),
                "{}",
                flow["clock"]
            );
        }
        assert!(!is_uncertain(flow), "{flow}");
    }
}

#[test]
fn artificial_clocks_and_reserved_names_out_of_range_are_told() {
    for (option, value) in [
        ("--clock-offset", "3600000000001"),
        ("--clock-drift", "fast"),
        ("--clock-drift", "-1000001"),
    ] {
        let output = run(&["--listen", "127.0.0.1:0", option, value]);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains(&format!("{value}: must be a whole number from -")), "{printed}");
    }
    let (a, b) = agents();
    let measured = measure("reserved", &test(&[&a, &b], 100, &[flow("clock 0", &paced())]), &[]);
    assert_eq!(measured.code, Some(2));
    assert!(measured.printed.contains("must not begin with \"clock \""), "{}", measured.printed);
}
