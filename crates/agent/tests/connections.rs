//! TCP flows between agents on the loopback interface.

use crate::common::{exchange, flow, measure, paced, saturated, silence_after_a_kill, test, Agent};
use crate::common::quiet::in_quiet_window;
use serde_json::{json, Value};
use std::time::Duration;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn by_tcp(name: &str, traffic: &Value) -> Value {
    let mut flow = flow(name, traffic);
    flow["port"] = json!("tcp");
    flow
}

fn back(mut flow: Value) -> Value {
    flow["from"] = json!("b");
    flow["to"] = json!("a");
    flow
}

#[test]
fn octets_in_bulk_go_both_ways_at_once_within_the_consent() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let flows = [
        by_tcp("there", &json!({"kind": "transfer"})),
        back(by_tcp("back", &json!({"kind": "transfer", "block_octets": 5000}))),
    ];
    let measured = measure("bulk", &test(&[&a, &b], 500, &flows), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    for name in ["there", "back"] {
        let flow = &measured.result["flows"][name];
        let (given, taken) = (&flow["sending"]["counted"], &flow["receiving"]["counted"]);
        let octets = number(&given["octets"]);
        assert_eq!(
            (number(&taken["octets"]), &given["acknowledged"]),
            (octets, &json!(true)),
            "{flow}"
        );
        assert_eq!(
            (number(&flow["sent_octets"]), number(&flow["received_octets"])),
            (octets, octets)
        );
        // Half a second and a burst of 2 ms, or one segment as long as the loopback interface's
        // MTU; headers come on top.
        let most = 50_000_000 / 8 * 502 / 1000 + 65_536;
        assert!(octets > 0 && octets <= most, "{octets} of {most}");
        let columns = &given["tcp"]["columns"];
        let samples = given["tcp"]["at_ns"].as_array().expect("times").len();
        for name in [
            "round_trip_us",
            "congestion_window",
            "sent_again",
            "receiver_limited_us",
            "buffer_limited_us",
        ] {
            assert_eq!(columns[name].as_array().map(Vec::len), Some(samples), "{name}");
        }
        let acknowledged =
            columns["acknowledged_octets"].as_array().and_then(|column| column.last()).map(number);
        // The kernel may count the connection's own beginning and end.
        assert!(
            acknowledged.is_some_and(|all| (octets..=octets + 2).contains(&all)),
            "{acknowledged:?} {octets}"
        );
    }
}

#[test]
fn a_transfer_of_so_many_octets_ends_when_all_have_come() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let traffic = json!({"kind": "transfer", "octets": 100_001, "block_octets": 1000});
    let measured = measure("file", &test(&[&a, &b], 500, &[by_tcp("file", &traffic)]), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    let flow = &measured.result["flows"]["file"];
    assert_eq!(number(&flow["received_octets"]), 100_001);
    assert_eq!(flow["receiving"]["counted"]["ended_by"], "closed");
    let given = &flow["sending"]["counted"];
    // 50 Mb/s for 100 kB in segments: 16 ms at least.
    assert!(number(&given["acknowledged_ns"]) >= number(&given["last_ns"]), "{given}");
    assert!(number(&given["last_ns"]) - number(&given["first_ns"]) > 12_000_000, "{given}");
}

#[test]
fn messages_and_exchanges_go_over_a_connection_like_frames() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let mut description = exchange();
    description["source"]["frames"]["bits"] = json!(8 * 100);
    let mut messages = paced();
    messages["source"]["frames"]["bits"] = json!(8 * 200);
    let flows =
        [by_tcp("messages", &messages), by_tcp("full", &saturated()), by_tcp("ask", &description)];
    let measured = measure("messages", &test(&[&a, &b], 300, &flows), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    let flows = &measured.result["flows"];
    for name in ["messages", "full"] {
        let flow = &flows[name];
        assert_eq!(number(&flow["sent"]), number(&flow["received"]), "TCP loses nothing: {flow}");
        assert!(flow["sending"]["counted"]["mode"]["congestion_window"].is_u64(), "{flow}");
    }
    assert_eq!(number(&flows["messages"]["sent"]), 300);
    let description = &flows["ask"]["sending"]["counted"];
    assert!(number(&description["answered"]) > 0 && number(&description["lost"]) == 0, "{description}");
}

#[test]
fn connections_fall_silent_with_their_agents() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let flows = [by_tcp("there", &json!({"kind": "transfer"})), by_tcp("messages", &saturated())];
    let description = test(&[&a, &b], 30_000, &flows);
    let short = test(&[&a, &b], 100, &[flow("paced", &paced())]);
    // A lease lasts 0.7 s, of the second in which agents fall silent.
    let silence = in_quiet_window(Duration::from_millis(200), || {
        let silence = silence_after_a_kill("tcp-orphans", &description, [&a, &b]);
        assert_eq!(
            measure("after-tcp-orphans", &short, &[]).code,
            Some(0),
            "the agents are free again"
        );
        silence
    });
    if let Some(silence) = silence {
        assert!(silence <= Duration::from_secs(1), "{silence:?}");
    }
}

#[test]
fn both_ends_have_the_congestion_control_of_the_test_and_tell_it() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let file = json!({"kind": "file", "file": {"direction": "read", "octets": 20_000, "block_octets": 1000, "request_octets": 20,
        "answer_octets": 20, "client": {"kind": "constant", "ps": 0}, "server": {"kind": "constant", "ps": 0}, "ahead": 1}});
    let mut flows = [
        by_tcp("bulk", &json!({"kind": "transfer", "octets": 100_000})),
        by_tcp("file", &file),
        by_tcp("own", &saturated()),
    ];
    for flow in &mut flows[..2] {
        flow["congestion"] = json!("reno");
    }
    let measured = measure("congestion", &test(&[&a, &b], 300, &flows), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    let system = |setting: &str| {
        std::fs::read_to_string(format!("/proc/sys/net/ipv4/{setting}"))
            .expect("a setting")
            .trim()
            .to_owned()
    };
    for (name, expected) in [
        ("bulk", "reno".to_owned()),
        ("file", "reno".to_owned()),
        ("own", system("tcp_congestion_control")),
    ] {
        for end in ["sending", "receiving"] {
            let counted = &measured.result["flows"][name][end]["counted"];
            assert_eq!(counted["congestion"], json!(expected), "{name} {end}: {counted}");
            assert_eq!(counted["sack"], json!(system("tcp_sack") != "0"), "{name} {end}");
        }
    }
}

#[test]
fn a_congestion_control_that_a_host_does_not_have_is_refused_with_those_that_it_has() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let mut flow = by_tcp("bulk", &json!({"kind": "transfer"}));
    flow["congestion"] = json!("none-such");
    let measured = measure("no-congestion", &test(&[&a, &b], 100, &[flow]), &[]);
    assert_ne!(measured.code, Some(0), "{}", measured.result);
    assert!(
        measured.printed.contains("none-such") && measured.printed.contains("reno"),
        "{}",
        measured.printed
    );
}

#[test]
fn transfers_that_cannot_be_are_told() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let faulty = [
        (json!({"kind": "transfer", "block_octets": 0}), "tcp", "blocks of 1 to"),
        (json!({"kind": "transfer"}), "udp", "must be \"tcp\" for a transfer"),
        (
            json!({"kind": "transfer"}),
            "udp",
            "flows.f.congestion = \"reno\": must not be given with port \"udp\"",
        ),
    ];
    for (traffic, port, expected) in faulty {
        let mut flow = by_tcp("f", &traffic);
        flow["congestion"] = json!("reno");
        flow["port"] = json!(port);
        let measured = measure("faulty", &test(&[&a, &b], 100, &[flow]), &[]);
        assert_eq!(measured.code, Some(2), "{}", measured.result);
        assert!(measured.printed.contains(expected), "{}", measured.printed);
    }
}
