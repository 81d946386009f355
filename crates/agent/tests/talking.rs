//! Voice between real agents over the loopback interface, and what of it is refused.

use crate::common::{flow, measure, test, Agent};
use serde_json::{json, Value};

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// 64 kb/s in packets of 10 ms at least, 92 octets beside them.
fn voice() -> Value {
    let frames =
        json!({"kind": "samples", "overhead_bits": 736, "min_bits": 1376, "max_bits": 9696});
    let arrivals =
        json!({"kind": "coder", "sample_bits": 8, "sample_ps": 125_000_000, "spurts": null});
    let source = json!({"frames": frames, "arrivals": arrivals});
    json!({"kind": "stream", "real_time": false, "source": source})
}

fn every_sample_of_a_coder_is_told_by_its_sender_and_its_receiver(address: &str) {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let mut test = test(&[&a, &b], 500, &[flow("talk", &voice())]);
    for agent in test["agents"].as_array_mut().expect("two") {
        agent["address"] = json!(address);
    }
    let measured = measure("voice", &test, &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    check_samples(&measured.result["flows"]["talk"]);
}

/// Every sample is accounted for, and none is lost in the network.
fn check_samples(flow: &Value) {
    let (sender, receiver) = (
        &flow["sending"]["counted"]["voice"],
        &flow["receiving"]["counted"]["streams"][0]["voice"],
    );
    let (sent, came) = (&sender["measured"], &receiver["measured"]);
    assert_eq!(
        number(&sent["made"]),
        number(&sent["sent"]) + number(&sent["lost"]) + number(&sent["left"])
    );
    // Samples of 125 us in a window of 250 ms.
    assert_eq!(number(&sent["made"]), 2000);
    assert_eq!(flow["sent"], flow["received"]);
    assert_eq!(
        (&sender["samples"], &sent["sent"], &sent["packets"]),
        (&receiver["samples"], &came["samples"], &came["packets"])
    );
    assert_eq!(came["voice_delay"]["total"], came["packets"]);
    assert_eq!(came["sample_delay"]["total"], came["samples"]);
    // No packet has fewer than 80 samples, and the oldest waits for the others.
    assert!(number(&flow["sent"]) * 80 <= number(&sender["samples"]));
    assert!(number(&came["voice_delay"]["quantiles_ps"]["0.01"]) >= 79 * 125_000_000);
    let pacing = &flow["sending"]["counted"]["pacing"];
    assert_eq!(number(&pacing["frames"]) + number(&sender["waited"]), number(&flow["sent"]));
    // A sender that gets no processor while the longest packet gathers, for 140 ms, loses samples.
    let latest_ps = number(&pacing["lateness"]["quantiles_ps"]["1"]);
    assert!(number(&sent["lost"]) == 0 || latest_ps > 100_000_000_000, "{flow}");
}

#[test]
fn every_sample_is_told_over_ipv4() {
    every_sample_of_a_coder_is_told_by_its_sender_and_its_receiver("127.0.0.1");
}

#[test]
fn every_sample_is_told_over_ipv6() {
    every_sample_of_a_coder_is_told_by_its_sender_and_its_receiver("::1");
}

#[test]
fn what_cannot_be_voice_is_told_before_anything_is_asked_for() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let with = |key: &str, part: &str, value: Value| {
        let mut voice = voice();
        voice["source"][key][part] = value;
        voice
    };
    let mut regular = voice();
    regular["source"]["arrivals"] = json!({"kind": "regular", "period_ps": 1_000_000_000});
    let faulty = [
        (voice(), "tcp", "must be \"udp\" or \"packet\" with a coder"),
        (voice(), "xdp", "must be \"udp\" or \"packet\" with a coder"),
        (with("frames", "min_bits", json!(592)), "udp", "min_bits of 600 at least"),
        (with("frames", "max_bits", json!(800_000)), "packet", "max_bits of 72144 at most"),
        (with("frames", "overhead_bits", json!(737)), "udp", "whole octets"),
        (with("arrivals", "sample_bits", json!(4)), "udp", "whole octets"),
        (regular, "udp", "frames are samples with a coder"),
    ];
    for (traffic, port, expected) in faulty {
        let mut flow = flow("talk", &traffic);
        flow["port"] = json!(port);
        let measured = measure("faulty-voice", &test(&[&a, &b], 100, &[flow]), &[]);
        assert_eq!(measured.code, Some(2), "{expected}");
        assert!(measured.printed.contains(expected), "{expected}: {}", measured.printed);
    }
}
