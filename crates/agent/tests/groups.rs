//! Flows to several receivers on the loopback interface.

use crate::common::{exchange, flow, measure, paced, test, Agent, Scratch};
use serde_json::{json, Value};

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Three agents, at addresses of their own, under ceilings that allow `groups`.
fn agents(scratch: &Scratch, groups: &str) -> [Agent; 3] {
    let file = scratch.write("ceilings.toml", &format!("groups = {groups}")).display().to_string();
    [(); 3].map(|()| Agent::spawn(&["--ceilings".into(), file.clone()]))
}

fn among(agents: &[Agent; 3], transmit_ms: u64, flows: &[Value]) -> Value {
    let [a, b, c] = agents;
    let mut test = test(&[a, b, c], transmit_ms, flows);
    for (index, address) in ["127.0.0.1", "127.0.0.2", "127.0.0.3"].into_iter().enumerate() {
        test["agents"][index]["address"] = json!(address);
    }
    test
}

fn to_both(name: &str, port: &str, cast: &str, traffic: &Value) -> Value {
    let mut flow = flow(name, traffic);
    flow["to"] = json!(["b", "c"]);
    flow["port"] = json!(port);
    flow["cast"] = json!(cast);
    flow
}

/// Both receivers have the same frames, as far as none was dropped for want of room.
fn check_group(flow: &Value, frames: u64) {
    for name in ["b", "c"] {
        let received = &flow["receivers"][name];
        assert_eq!(number(&received["sent"]), frames, "{flow}");
        assert_eq!(number(&received["received"]) + number(&received["losses"]["missing"]), frames);
        assert_eq!(number(&received["received"]), frames, "{name}: {}", received["losses"]);
    }
}

#[test]
fn each_of_several_receivers_has_what_was_sent_once() {
    let scratch = Scratch::new("groups");
    let agents = agents(&scratch, "[\"multicast\", \"broadcast\"]");
    let flows = [
        to_both("many", "udp", "multicast", &paced()),
        to_both("all", "udp", "broadcast", &paced()),
    ];
    let measured = measure("groups", &among(&agents, 300, &flows), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    for name in ["many", "all"] {
        check_group(&measured.result["flows"][name], 300);
    }
}

#[test]
fn a_request_to_a_group_is_answered_by_each_of_its_stations() {
    let scratch = Scratch::new("ask-groups");
    let agents = agents(&scratch, "[\"multicast\", \"broadcast\"]");
    for cast in ["multicast", "broadcast"] {
        let measured = measure(
            "ask-groups",
            &among(&agents, 300, &[to_both("ask", "udp", cast, &exchange())]),
            &[],
        );
        assert_eq!(measured.code, Some(0), "{}", measured.printed);
        check_responses(&measured.result["flows"]["ask"]);
    }
}

#[test]
fn answers_to_the_group_come_to_all_of_its_stations() {
    let scratch = Scratch::new("group-answers");
    let agents = agents(&scratch, "[\"multicast\", \"broadcast\"]");
    for cast in ["multicast", "broadcast"] {
        let mut ask = to_both("ask", "udp", cast, &exchange());
        ask["response_cast"] = json!(cast);
        let measured = measure("group-answers", &among(&agents, 300, &[ask]), &[]);
        assert_eq!(measured.code, Some(0), "{}", measured.printed);
        let flow = &measured.result["flows"]["ask"];
        check_responses(flow);
        let counted = ["b", "c"].map(|name| &flow["receivers"][name]["receiving"]["counted"]);
        for (own, other) in [(counted[0], counted[1]), (counted[1], counted[0])] {
            // Each hears the other's answers, and only the requester is answered.
            assert_eq!(number(&own["heard"]), number(&other["answered"]), "{cast}: {flow}");
            assert_eq!(number(&own["not_allowed"]), 0, "{cast}: {flow}");
            assert!(number(&own["answered"]) > 0, "{cast}: {flow}");
        }
    }
}

#[test]
fn answers_to_a_group_need_the_consent_of_each_of_its_stations() {
    let scratch = Scratch::new("group-answers-refused");
    let file = |name: &str, text: &str| scratch.write(name, text).display().to_string();
    let allows = file("allows.toml", "groups = [\"multicast\"]");
    // Requests come to c from 127.0.0.1 only: it does not want to hear 127.0.0.2.
    let choosy = file("choosy.toml", "groups = [\"multicast\"]\naddresses = [\"127.0.0.1/32\", \"127.0.0.3/32\"]");
    let agents = [&allows, &allows, &choosy]
        .map(|ceilings| Agent::spawn(&["--ceilings".into(), ceilings.clone()]));
    let mut ask = to_both("ask", "udp", "multicast", &exchange());
    let unicast = measure("choosy", &among(&agents, 100, &[ask.clone()]), &[]);
    assert_eq!(unicast.code, Some(0), "{}", unicast.printed);
    ask["response_cast"] = json!("multicast");
    let measured = measure("choosy", &among(&agents, 100, &[ask]), &[]);
    assert_eq!(measured.code, Some(2), "{}", measured.result);
    assert!(measured.printed.contains("127.0.0.2"), "{}", measured.printed);
}

fn check_responses(flow: &Value) {
    let requester = &flow["sending"]["counted"];
    let requests = number(&requester["requests"]);
    assert_eq!(number(&requester["answered"]) + number(&requester["lost"]), 2 * requests, "{flow}");
    let by_station = requester["by_station"].as_array().expect("stations");
    let answered: Vec<u64> =
        by_station.iter().map(|station| number(&station["answered"])).collect();
    assert_eq!((answered.len(), answered.iter().sum::<u64>()), (2, number(&requester["answered"])));
    let complete = number(&requester["complete"]);
    assert!(complete > 0 && answered.iter().all(|&answers| answers >= complete), "{requester}");
    assert_eq!(number(&requester["group_round_trip"]["total"]), complete);
    // The last answer is never before the first.
    assert!(
        number(&requester["group_round_trip"]["quantiles_ps"]["0.5"])
            >= number(&requester["round_trip"]["quantiles_ps"]["0.01"])
    );
}

#[test]
fn an_operator_who_says_nothing_of_groups_allows_none() {
    let scratch = Scratch::new("no-groups");
    let agents = agents(&scratch, "[]");
    for (port, cast) in [("udp", "multicast"), ("udp", "broadcast"), ("packet", "broadcast")] {
        let measured =
            measure("no-groups", &among(&agents, 100, &[to_both("g", port, cast, &paced())]), &[]);
        assert_eq!(measured.code, Some(2), "{}", measured.result);
        let expected = format!("rule groups: {cast} is refused, allowed: unicast");
        assert!(measured.printed.contains(&expected), "{}", measured.printed);
    }
}

#[test]
fn what_does_not_go_together_is_told_before_anything_is_asked_for() {
    let scratch = Scratch::new("together");
    let agents = agents(&scratch, "[]");
    let mut same = among(&agents, 100, &[to_both("same", "udp", "multicast", &paced())]);
    same["agents"][2]["address"] = json!("127.0.0.2");
    let answered = |traffic: &Value, cast: &str| {
        let mut flow = to_both("f", "udp", cast, traffic);
        flow["response_cast"] = json!("multicast");
        among(&agents, 100, &[flow])
    };
    let cases = [
        (
            among(&agents, 100, &[to_both("f", "tcp", "multicast", &paced())]),
            "a connection has two ends",
        ),
        (among(&agents, 100, &[to_both("f", "xdp", "multicast", &paced())]), "cannot join a group"),
        (among(&agents, 100, &[to_both("f", "udp", "unicast", &paced())]), "one agent of unicast"),
        (same, "addresses of their own"),
        (answered(&exchange(), "unicast"), "the cast of its requests: \"unicast\""),
        (answered(&exchange(), "broadcast"), "the cast of its requests: \"broadcast\""),
        (answered(&paced(), "multicast"), "of an exchange"),
    ];
    for (test, expected) in cases {
        let measured = measure("together", &test, &[]);
        assert_eq!(measured.code, Some(2), "{}", measured.result);
        assert!(measured.printed.contains(expected), "{}", measured.printed);
    }
}
