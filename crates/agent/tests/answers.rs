//! Exchanges whose answers are not their requests', files asked for block by block, and
//! coordinators that would turn answers into a flood.

use crate::common::hand::{forged, grant_request, prepare_request, refused, Hand, EXPERIMENT};
use crate::common::{exchange, flow, measure, test, Agent, Scratch, MS};
use ethermeter_agent::protocol::{PrepareRequest, SignedGrant, StartRequest};
use ethermeter_station::consent::GrantRequest;
use ethermeter_trial::roles::{ReceiveMode, Responses, RoleTask};
use ethermeter_net::wire::{MarkKind, Mark};
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::{HostTime, Timeline};
use serde_json::{json, Value};
use std::net::UdpSocket;
use std::time::Duration;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn fixed(octets: u64) -> Value {
    json!({"kind": "fixed", "bits": octets * 8})
}

fn constant(ps: u64) -> Value {
    json!({"kind": "constant", "ps": ps})
}

/// The shortest of requests, one a millisecond.
fn asking(octets: u64, response: &Value) -> Value {
    let mut traffic = exchange();
    traffic["source"]["frames"] = fixed(octets);
    traffic["response"] = response.clone();
    traffic
}

fn by(port: &str, mut flow: Value) -> Value {
    flow["port"] = json!(port);
    flow
}

#[test]
fn answers_are_as_long_as_is_said_by_udp_and_tcp_and_both_ways_about() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let flows = [
        flow("long", &asking(76, &json!({"frames": fixed(1518)}))),
        flow("short", &asking(1518, &json!({"frames": fixed(76)}))),
        by("tcp", flow("stream", &asking(80, &json!({"frames": fixed(3000)})))),
    ];
    let measured = measure("lengths", &test(&[&a, &b], 300, &flows), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    for name in ["long", "short", "stream"] {
        let flow = &measured.result["flows"][name];
        let (requester, echoed) = (&flow["sending"]["counted"], &flow["receiving"]["counted"]);
        assert!(number(&requester["complete"]) > 0, "{name}: {requester} {echoed}");
        assert_eq!(
            number(&requester["answered"]) + number(&requester["lost"]),
            number(&requester["requests"]),
            "{name}"
        );
        assert_eq!(number(&echoed["answered"]), number(&echoed["port"]["taken"]), "{name}");
    }
}

#[test]
fn an_answer_is_thought_about_and_the_next_request_waits() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let traffic = asking(76, &json!({"think": constant(5_000 * MS)})); // 5 ms
    let measured = measure("think", &test(&[&a, &b], 500, &[flow("ask", &traffic)]), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    let requester = &measured.result["flows"]["ask"]["sending"]["counted"];
    let requests = number(&requester["requests"]);
    assert!((1..=100).contains(&requests), "{requester}");
    assert!(number(&requester["fastest_ns"]) >= 5 * MS);
    // A request arrived each millisecond: most were not sent by the end, and the others had waited.
    assert!((499..=501).contains(&(requests + number(&requester["queued"]))), "{requester}");
    assert!(number(&requester["since_arrival"]["quantiles_ps"]["1"]) >= (4 * requests + 1) * 1000 * MS);
}

#[test]
fn each_station_of_a_group_answers_with_its_own_length() {
    let scratch = Scratch::new("long-groups");
    let file = scratch.write("ceilings.toml", "groups = [\"multicast\"]").display().to_string();
    let agents = [(); 3].map(|()| Agent::spawn(&["--ceilings".into(), file.clone()]));
    let mut ask_flow = flow("ask", &asking(76, &json!({"frames": fixed(1400)})));
    ask_flow["to"] = json!(["b", "c"]);
    ask_flow["cast"] = json!("multicast");
    let mut description = test(&[&agents[0], &agents[1], &agents[2]], 300, &[ask_flow]);
    for (index, address) in ["127.0.0.1", "127.0.0.2", "127.0.0.3"].into_iter().enumerate() {
        description["agents"][index]["address"] = json!(address);
    }
    let measured = measure("long-groups", &description, &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    let requester = &measured.result["flows"]["ask"]["sending"]["counted"];
    assert!(number(&requester["complete"]) > 0, "{requester}");
}

#[test]
fn answers_go_no_faster_than_their_receiver_allows() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let mut ask_flow = flow("ask", &asking(76, &json!({"frames": fixed(1000)})));
    ask_flow["most_response_bps"] = json!(800_000); // a hundred of 1000 octets a second, and one asked each millisecond
    ask_flow["traffic"]["timeout_ns"] = json!(2 * MS);
    let measured = measure("slow-back", &test(&[&a, &b], 500, &[ask_flow]), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    let flow = &measured.result["flows"]["ask"];
    let answered = number(&flow["receiving"]["counted"]["answered"]);
    // From the beginning of the experiment on: its settling, the transmission, and the first one at
    // once.
    assert!(answered > 0 && answered <= (50 + 500) / 10 + 1, "{answered}");
    assert!(number(&flow["receiving"]["counted"]["held_back"]) > 0, "{flow}");
    assert_eq!(flow["cautions"], json!(["consent-limited"]));
}

fn file(direction: &str, octets: u64, ahead: u32, client_ps: u64, server_ps: u64) -> Value {
    json!({"kind": "file", "file": {
        "direction": direction, "octets": octets, "block_octets": 4096, "request_octets": 64, "answer_octets": 32,
        "client": constant(client_ps), "server": constant(server_ps), "ahead": ahead,
    }})
}

#[test]
fn a_file_is_read_and_written_block_by_block() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    // 25 blocks of 4096 and one of 100 octets; 2 ms for each at the server.
    let octets = 25 * 4096 + 100;
    let flows = [
        by("tcp", flow("read", &file("read", octets, 1, 0, 2000 * MS))),
        by("tcp", flow("write", &file("write", octets, 1, 1000 * MS, 0))),
        by("tcp", flow("ahead", &file("read", octets, 8, 0, 0))),
    ];
    let measured = measure("file", &test(&[&a, &b], 600, &flows), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    for (name, request, answer) in
        [("read", 64, 32 + 4096), ("write", 64 + 4096, 32), ("ahead", 64, 32 + 4096)]
    {
        let flow = &measured.result["flows"][name];
        let (client, server) = (&flow["sending"]["counted"], &flow["receiving"]["counted"]);
        assert_eq!(
            (number(&client["octets"]), number(&client["blocks"])),
            (octets, 26),
            "{name}: {client}"
        );
        assert_eq!((number(&server["requests"]), number(&server["answers"])), (26, 26));
        let short = |whole: u64| if whole > 4096 { 26 * whole - 4096 + 100 } else { 26 * whole };
        let (written, answered) = (number(&client["written_octets"]), number(&client["read_octets"]));
        assert_eq!((written, answered), (short(request), short(answer)), "{name}");
        assert_eq!(
            (number(&server["read_octets"]), number(&server["written_octets"])),
            (written, answered)
        );
        assert_eq!(
            (client["ended_by"].as_str(), server["ended_by"].as_str()),
            (Some("complete"), Some("closed"))
        );
    }
    // Each block waits for its time at one of the two: nothing is faster.
    let completion_ns =
        |name: &str| number(&measured.result["flows"][name]["sending"]["counted"]["completion_ns"]);
    assert!(completion_ns("read") >= 26 * 2 * MS, "{}", completion_ns("read"));
    assert!(completion_ns("write") >= 25 * MS, "{}", completion_ns("write"));
}

#[test]
fn a_file_without_end_is_asked_for_until_the_transmission_ends() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let mut endless = file("read", 1, 4, 0, 0);
    endless["file"].as_object_mut().expect("a file").remove("octets");
    let measured =
        measure("endless", &test(&[&a, &b], 300, &[by("tcp", flow("read", &endless))]), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    let flow = &measured.result["flows"]["read"];
    let client = &flow["sending"]["counted"];
    assert_eq!(
        (number(&client["unanswered"]), client["completion_ns"].is_null()),
        (0, true),
        "{client}"
    );
    assert_eq!(number(&client["octets"]), 4096 * number(&client["blocks"]));
    // What comes back is within the consent of 50 Mb/s, from the transmission on, and a burst or a
    // segment as long as the interface's.
    let most = 50_000_000 / 8 * 502 / 1000 + 65_536;
    assert!(number(&client["read_octets"]) <= most && number(&client["blocks"]) > 0, "{client}");
}

#[test]
fn what_is_no_answer_is_told_before_anything_is_asked_for() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let coder =
        json!({"kind": "coder", "sample_bits": 8, "sample_ps": 125_000_000, "spurts": null});
    let mut voice = asking(76, &json!({}));
    voice["source"]["arrivals"] = coder;
    let lone = voice.clone();
    voice["source"]["frames"] =
        json!({"kind": "samples", "overhead_bits": 368, "min_bits": 608, "max_bits": 8000});
    let mut broken = file("read", 5, 1, 0, 0);
    broken["file"]["block_octets"] = json!(0);
    let cases = [
        (
            flow("f", &asking(76, &json!({"frames": fixed(63)}))),
            "flows.f.traffic.response: frames must be of 64 to 65553 octets",
        ),
        (
            by("tcp", flow("f", &asking(80, &json!({"frames": fixed(75)})))),
            "flows.f.traffic.response: frames must be of 76 to",
        ),
        (
            by("packet", flow("f", &asking(76, &json!({"frames": fixed(9019)})))),
            "frames must be of 64 to 9018 octets",
        ),
        (
            flow(
                "f",
                &asking(76, &json!({"think": {"kind": "uniform", "low_ps": 3, "high_ps": 1}})),
            ),
            "flows.f.traffic.response: think",
        ),
        (flow("f", &voice), "a coder is refused"),
        (flow("f", &lone), "frames are samples with a coder"),
        (flow("f", &file("read", 5, 1, 0, 0)), "must be \"tcp\" for a transfer"),
        (by("tcp", flow("f", &broken)), "block_octets must be from 1"),
    ];
    for (flow, expected) in cases {
        let measured = measure("no-answer", &test(&[&a, &b], 100, &[flow]), &[]);
        assert_eq!(measured.code, Some(2), "{}", measured.result);
        assert!(measured.printed.contains(expected), "{expected}: {}", measured.printed);
    }
}

/// A grant in the name of a requester on this host: to frames of 64 octets, a hundred a second.
fn grant_of(asker: &UdpSocket) -> SignedGrant {
    let mut grant = forged(asker.local_addr().expect("an address").port());
    (grant.grant.rate_bps, grant.grant.rate_frames_per_s) = (51_200, 100);
    grant
}

/// Respond by a grant.
fn responding(response: &Value, grant: SignedGrant) -> PrepareRequest {
    let response: Responses = serde_json::from_value(response.clone()).expect("responses");
    let (response, attention) = (Box::new(response), ReceiveMode::Sleeping);
    prepare_request(RoleTask::Respond { response, attention }, vec![grant])
}

#[tokio::test]
async fn a_coordinator_cannot_have_more_answered_than_the_asker_has_granted() {
    let agent = Agent::spawn(&[]);
    let asker = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let mut hand = Hand::at(&agent, None).await;
    hand.call(grant_request()).await.expect("granted");
    let mixed = json!({"frames": {"kind": "mix", "bits": [512, 12_144], "weights": [1.0, 0.0]}});
    for (rule, response) in [
        ("consent-length", json!({"frames": fixed(65)})),
        ("consent-length", json!({"frames": fixed(1518)})),
        ("consent-length", mixed),
        ("description", json!({"frames": {"kind": "fixed", "bits": 8}})),
    ] {
        refused(hand.call(responding(&response, grant_of(&asker))).await, rule);
    }
    let as_requests = json!({});
    let mut in_bulk = grant_of(&asker);
    in_bulk.grant.longest_frame_octets = 0;
    refused(hand.call(responding(&as_requests, in_bulk)).await, "description");
    hand.call(responding(&as_requests, grant_of(&asker))).await.expect("as allowed");
}

#[tokio::test]
async fn long_requests_at_a_high_rate_are_answered_no_longer_and_no_faster_than_the_asker_has_granted(
) {
    let agent = Agent::spawn(&[]);
    let asker = UdpSocket::bind("127.0.0.1:0").expect("a port");
    asker.set_nonblocking(true).expect("a socket that does not wait");
    let mut hand = Hand::at(&agent, None).await;
    // The port has room for long responses.
    let request =
        GrantRequest { longest_frame_octets: 1518, room_frame_octets: 1518, ..grant_request() };
    let port = hand.call(request).await.expect("granted").grant.port;
    hand.call(responding(&json!({}), grant_of(&asker))).await.expect("as allowed");
    assert!(hand.lease().await.is_renewed);
    let begin_ns = HostTime.now_ns() + 50 * MS;
    hand.call(StartRequest { begin_ns }).await.expect("started");
    let experiment = u16::try_from(EXPERIMENT & 0xFFFF).expect("16 bits");
    let (mut sent, mut answers, mut payload, mut buffer) = (0, 0, [0; 1472], [0; 2000]);
    while HostTime.now_ns() < begin_ns + 500 * MS {
        let mark = Mark { kind: MarkKind::Request, experiment, stream: 0, sequence: sent, sent_ns: 0 };
        mark.emit(&mut payload);
        sent += u64::from(asker.send_to(&payload, ("127.0.0.1", port)).is_ok());
        std::thread::sleep(Duration::from_micros(200));
        while let Ok(octets) = asker.recv(&mut buffer) {
            answers += 1;
            assert_eq!(octets, 18, "as long as the mark, which is a frame of 64");
        }
    }
    // Half a second of a hundred a second; the last may be in flight.
    assert!(sent > answers, "{sent}");
    assert!((1..=52).contains(&answers), "{answers} answers to {sent} requests");
}
