//! What strangers, and coordinators gone wrong, may throw at an agent: nothing makes it fall or
//! grow.

use crate::common::{
    connect, credentials, flow, make_certificates, measure, paced, test, Agent, Scratch, LIMIT, MS,
};
use crate::common::hand::HELLO;
use ethermeter_agent::calls::AgentClient;
use serde_json::{Value, json};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use bytes::{Buf, BufMut};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status};

/// Bodies of calls as they are, whether they make sense or not.
#[derive(Clone, Copy, Default)]
struct Octets;

impl Codec for Octets {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Octets {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Octets {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut octets = vec![0; buffer.remaining()];
        buffer.copy_to_slice(&mut octets);
        Ok(Some(octets))
    }
}

/// Numbers near the edges, and any.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(u64::from(u32::MAX)),
        0u64..100_000,
        any::<u64>()
    ]
}

/// Rates and times that operators allow, mostly.
fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 1u64..1_000_000, 1 => number()]
}

fn address() -> impl Strategy<Value = String> {
    prop_oneof![6 => Just("127.0.0.1".to_owned()), 1 => text()]
}

/// A new experiment every so many calls, for those that have ended do not begin again.
const CALLS_OF_EXPERIMENT: u64 = 64;
static CALLS_MADE: AtomicU64 = AtomicU64::new(1);

fn experiment() -> u64 {
    EXPERIMENT + CALLS_MADE.load(Ordering::Relaxed) / CALLS_OF_EXPERIMENT
}

/// A number for what has room for 16 bits, mostly.
fn half() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0u64..65_536, 1 => number()]
}

fn text() -> impl Strategy<Value = String> {
    let known = [
        "",
        "f",
        "127.0.0.1",
        "::1",
        "224.0.0.1",
        "255.255.255.255",
        "10.0.0.1",
        "lo",
        "sleeping",
        "spinning",
    ];
    prop_oneof![3 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,20}"]
}

fn one_of(list: &[Value]) -> impl Strategy<Value = Value> + use<> {
    proptest::sample::select(list.to_vec())
}

fn transport() -> impl Strategy<Value = (Value, Value, Option<u64>)> {
    let kinds = ["udp", "udp", "udp", "udp", "tcp", "tcp", "xdp", "packet"].map(Value::from);
    let casts = ["unicast", "unicast", "unicast", "multicast", "broadcast", ""].map(Value::from);
    let priority = prop_oneof![9 => 0..8u64, 1 => number()];
    (one_of(&kinds), one_of(&casts), proptest::option::of(priority))
}

/// A grant with what proves it: one that could be, or none at all.
fn signed() -> impl Strategy<Value = Value> {
    let grant = (address(), address(), transport(), half(), rate(), number()).prop_map(
        |(sender, address, (kind, cast, priority), port, rate, until)| {
            json!({
                "experiment": experiment(), "session": until, "number": port, "sender": sender, "address": address, "network": format!("{address}/{}", port % 33), "interface": "lo", "kind": kind, "cast": cast, "priority": priority, "port": port,
                "mac": null, "rate_bps": rate, "rate_frames_per_s": rate, "longest_frame_octets": port % 2000,
                "duration_ns": rate, "until_unix_s": until,
            })
        },
    );
    let grant = prop_oneof![6 => grant, 1 => Just(json!({}))];
    let proof = || one_of(&["", "AAAA", "MEUCIQ==", "no base 64"].map(Value::from));
    (grant, proof(), proof())
        .prop_map(|(grant, signature, certificate)| json!({"grant": grant, "signature": signature, "certificate": certificate}))
        .boxed()
}

/// A receiver's renewal that could be, or none at all.
fn renewal() -> impl Strategy<Value = Value> {
    let numbers = proptest::collection::vec(number(), 0..5);
    let renewal = (number(), number(), number(), number(), numbers).prop_map(|(session, run, nonce, valid, grants)| {
        let answer = json!({"run": run, "nonce": nonce, "valid_ns": valid, "grants": grants});
        json!({"session": session, "answers": [answer]})
    });
    let renewal = prop_oneof![6 => renewal, 1 => Just(json!([]))];
    (renewal, one_of(&["", "AAAA"].map(Value::from)))
        .prop_map(|(renewal, signature)| json!({"renewal": renewal, "signature": signature}))
}

fn a_task() -> impl Strategy<Value = Value> {
    let fixed = json!({"kind": "fixed", "bits": 512});
    let saturated = json!({"frames": fixed, "arrivals": {"kind": "saturated"}});
    let regular = json!({"frames": fixed, "arrivals": {"kind": "regular", "period_ps": 1_000_000}});
    let sources = [saturated.clone(), saturated, regular, json!({}), json!([[[[]]]])];
    let think = json!({"kind": "exponential", "offset_ps": 0, "mean_ps": 1e9});
    let responses = [json!({}), json!({"think": think}), json!({"frames": fixed}), json!([])];
    let file = json!({"direction": "read", "block_octets": 9, "request_octets": 1, "answer_octets": 1});
    let files = [file.clone(), file, json!({}), json!([[[[]]]])];
    let attention = || one_of(&["sleeping", "spinning", "sleeping", ""].map(Value::from));
    let source = one_of(&sources);
    (source, one_of(&responses), one_of(&files), attention(), number(), number(), text(), 0..9)
        .prop_map(|(source, response, file, attention, one, other, text, task)| match task {
            0 => json!({"send": {"source": source, "credit_frames": one % 5000, "spread_ps": other}}),
            1 => json!({"sink": {"attention": attention, "clock": text}}),
            2 => json!({"request": {"exchange": {"source": source, "timeout_ns": one, "response": response}, "attention": attention}}),
            3 => json!({"respond": {"response": response, "attention": attention}}),
            4 => json!({"send_bulk": {"octets": one, "block_octets": other}}),
            5 => json!({"client": {"file": file}}),
            6 => json!({"server": {"file": file}}),
            7 => json!("clock"),
            _ => json!("receive_bulk"),
        })
        .boxed()
}

fn a_role() -> impl Strategy<Value = Value> {
    let grants = proptest::collection::vec(signed(), 0..3);
    let name = || proptest::option::weighted(0.2, text());
    (text(), half(), name(), name(), number(), a_task(), grants).prop_map(
        |(flow, stream, interface, congestion, seed, task, grants)| {
            json!({
                "flow": flow, "stream": stream, "interface": interface, "congestion": congestion,
                "draws": {"seed": seed, "station": 0}, "task": task, "grants": grants,
            })
        },
    )
}

const EXPERIMENT: u64 = 0xF022;

/// Stamps of a coordinator that mostly knows what it does.
fn stamp(session: u64) -> impl Strategy<Value = Value> {
    // Each later than the one before, for a replay is refused before anything else is looked at.
    let good = prop_oneof![19 => Just(None), 1 => number().prop_map(Some)].prop_map(move |other| {
        let counter = CALLS_MADE.fetch_add(1, Ordering::Relaxed);
        json!({"session": session, "experiment": other.unwrap_or_else(experiment), "counter": counter, "made_ns": now_ns()})
    });
    let any_stamp = (number(), number(), number(), number()).prop_map(
        |(session, experiment, counter, made_ns)| json!({"session": session, "experiment": experiment, "counter": counter, "made_ns": made_ns}),
    );
    prop_oneof![18 => good, 1 => any_stamp, 1 => Just(Value::Null)]
}

fn now_ns() -> u64 {
    ethermeter_net::Timeline::now_ns(&ethermeter_net::HostTime)
}

/// A call: its name and its body.
fn call(session: u64) -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let grant = (
        (address(), address(), prop_oneof![4 => Just(0), 1 => half()]),
        (rate(), rate(), rate()),
        (text(), 0u64..2000, 0u64..2000),
        transport(),
        proptest::option::weighted(0.2, text()),
    )
        .prop_map(
            |(
                (sender, address, port),
                (rate_bps, rate_frames_per_s, duration_ns),
                (flow, longest, room),
                (kind, cast, priority),
                interface,
            )| {
                json!({
                    "flow": flow, "transport": {"kind": kind, "cast": cast, "priority": priority},
                    "sender": sender, "address": address, "interface": interface, "port": port,
                    "rate_bps": rate_bps, "rate_frames_per_s": rate_frames_per_s,
                    "longest_frame_octets": longest, "room_frame_octets": room, "duration_ns": duration_ns,
                })
            },
        );
    let phases = (number(), number(), number(), number(), number(), 0u64..2000).prop_map(
        |(settle_ns, transmit_ns, from_ns, to_ns, drain_ns, batches)| {
            json!({
                "settle_ns": settle_ns, "transmit_ns": transmit_ns, "measure_from_ns": from_ns,
                "measure_to_ns": to_ns, "drain_ns": drain_ns, "batches": batches,
            })
        },
    );
    let fitting = json!({
        "settle_ns": 0, "transmit_ns": 1000, "measure_from_ns": 0, "measure_to_ns": 1000, "drain_ns": 0,
    });
    let phases = prop_oneof![1 => phases, 1 => Just(fitting)];
    let prepare = (phases, proptest::collection::vec(a_role(), 0..4))
        .prop_map(|(phases, roles)| json!({"phases": phases, "roles": roles}));
    let start = number().prop_map(|begin_ns| json!({"begin_ns": begin_ns}));
    let challenge = (number(), number(), number(), proptest::collection::vec(number(), 0..5))
        .prop_map(move |(other, run, nonce, grants)| {
            let session = if other % 2 == 0 { session } else { other };
            json!({"session": session, "run": run, "nonce": nonce, "grants": grants})
        });
    let challenges = proptest::collection::vec(challenge, 0..5);
    let lease = (challenges, proptest::collection::vec(renewal(), 0..3))
        .prop_map(|(challenges, renewals)| json!({"challenges": challenges, "renewals": renewals}));
    let noise = proptest::collection::vec(any::<u8>(), 0..300);
    let stamped = move |name, request: BoxedStrategy<Value>| {
        (stamp(session), request)
            .prop_map(move |(stamp, request)| {
                (name, json!({"stamp": stamp, "request": request}).to_string().into_bytes())
            })
            .boxed()
    };
    let empty = || Just(json!({})).boxed();
    let whole = prop_oneof![
        4 => stamped("Grant", grant.boxed()),
        4 => stamped("Prepare", prepare.boxed()),
        1 => stamped("Start", start.boxed()),
        2 => stamped("Lease", lease.boxed()),
        1 => stamped("Progress", empty()),
        1 => stamped("Stop", empty()),
        1 => stamped("Collect", empty()),
        1 => noise.prop_map(|body| ("Hello", body)).boxed(),
    ];
    // Some are cut, some have an octet changed.
    (whole, 0u8..4, any::<proptest::sample::Index>(), any::<u8>()).prop_map(
        |((name, mut body), fate, place, octet)| {
            if !body.is_empty() {
                let at = place.index(body.len());
                match fate {
                    0 => body.truncate(at),
                    1 => body[at] ^= octet,
                    _ => {}
                }
            }
            (name, body)
        },
    )
}

fn runner() -> TestRunner {
    // The same in each run: a fault that is found is found again.
    TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn works(agent: &Agent, options: &[String]) {
    let other = Agent::spawn(options);
    let of_coordinator = |option: &&String| !option.contains("ceilings");
    let coordinator: Vec<String> = options
        .iter()
        .filter(of_coordinator)
        .map(|option| option.replace("/127.0.0.1.", "/coordinator."))
        .collect();
    let measured =
        measure("fuzzed", &test(&[agent, &other], 100, &[flow("paced", &paced())]), &coordinator);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
}

const CALLS: usize = 1500;
/// What an agent may hold more than before: its buffers for some ports, some experiments that have
/// not been collected; not what grows with the calls.
const MOST_GROWTH: u64 = 48 << 20;

async fn call_at_random(mut agent: Agent, certificates: Option<&Path>, options: &[String]) {
    let channel = connect(&agent, certificates).await;
    let mut client = Grpc::new(channel);
    let mut first = AgentClient::new(connect(&agent, certificates).await, 1 << 20);
    let hello = first.call(HELLO).await.expect("an answer");
    let (mut runner, calls) = (runner(), call(hello.session));
    let (mut answered, mut refused) = (0, 0);
    let mut before = 0;
    for number in 0..CALLS {
        let (name, body) = calls.new_tree(&mut runner).expect("a call").current();
        let path =
            PathAndQuery::try_from(format!("/ethermeter.Agent/{name}")).expect("a path");
        client.ready().await.expect("a connection");
        let request = Request::new(body);
        let answer = tokio::time::timeout(LIMIT, client.server_streaming(request, path, Octets));
        match answer.await.expect("an answer in time") {
            Ok(_) => answered += 1,
            Err(status) if status.code() == Code::PermissionDenied => {
                assert!(status.message().starts_with("rule "), "{name}: {status}");
                refused += 1;
            }
            Err(status) => {
                // A body that is none, or a stamp that is missing; never a fault within.
                let expected = [Code::Internal, Code::InvalidArgument, Code::Unknown];
                assert!(expected.contains(&status.code()), "{name}: {status}");
                assert!(!status.message().contains("panick"), "{name}: {status}");
            }
        }
        if number == CALLS / 3 {
            before = agent.resident_octets();
        }
    }
    assert!(agent.is_alive());
    assert!(
        answered > 30 && refused > 200,
        "{answered} answered, {refused} refused: too few to mean anything"
    );
    let grown = agent.resident_octets().saturating_sub(before);
    assert!(grown < MOST_GROWTH, "{grown} octets more");
    drop(client);
    // The last of the experiments lapses before another one can begin.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let options = options.to_vec();
    tokio::task::spawn_blocking(move || works(&agent, &options)).await.expect("a test that works");
}

/// Options of an operator who allows many experiments at once, so that one that has not been
/// collected does not keep others out.
fn with_room(scratch: &Scratch, mut options: Vec<String>) -> Vec<String> {
    let file = scratch.write("ceilings.toml", "tests_at_once = 1000").display().to_string();
    options.extend(["--ceilings".to_owned(), file]);
    options
}

#[tokio::test]
async fn calls_at_random_are_refused_or_answered_by_an_agent_on_loopback() {
    let scratch = Scratch::new("fuzzed-plain");
    let options = with_room(&scratch, vec![]);
    call_at_random(Agent::spawn(&options), None, &options).await;
}

#[tokio::test]
async fn calls_at_random_are_refused_or_answered_by_an_agent_with_certificates() {
    let scratch = Scratch::new("fuzzed");
    make_certificates(&scratch.0);
    let options = with_room(&scratch, credentials(&scratch.0, "127.0.0.1"));
    call_at_random(Agent::spawn(&options), Some(&scratch.0), &options).await;
}

/// A frame of HTTP/2 with any head and any body.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let stated = prop_oneof![4 => Just(None), 1 => (0u32..1 << 24).prop_map(Some)];
    let body = proptest::collection::vec(any::<u8>(), 0..100);
    (
        stated,
        prop_oneof![4 => 0u8..10, 1 => any::<u8>()],
        any::<u8>(),
        prop_oneof![0u32..5, any::<u32>()],
        body,
    )
        .prop_map(|(stated, kind, flags, stream, body)| {
            let octets = stated.unwrap_or(u32::try_from(body.len()).expect("a short body"));
            [&octets.to_be_bytes()[1..], &[kind, flags], &stream.to_be_bytes(), &body].concat()
        })
}

/// What may come first on a connection: the beginning of HTTP/2, of TLS, or of neither.
fn opening() -> impl Strategy<Value = Vec<u8>> {
    let http = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    let octets = || proptest::collection::vec(any::<u8>(), 0..300);
    let hello = (0u8..5, any::<u16>(), octets()).prop_map(|(version, length, body)| {
        // A handshake's record, and in it a hello with a length of its own.
        let inner = [&[1, 0][..], &length.to_be_bytes(), &[3, 3], &body].concat();
        let outer = u16::try_from(inner.len()).expect("a short hello");
        [&[0x16, 3, version][..], &outer.to_be_bytes(), &inner].concat()
    });
    prop_oneof![4 => Just(http), 3 => hello, 1 => octets()]
}

fn throw_at(mut agent: Agent, options: &[String]) {
    let (mut runner, all) = (runner(), (opening(), proptest::collection::vec(frame(), 0..20)));
    let mut before = 0;
    for number in 0..CALLS {
        let (opening, frames) = all.new_tree(&mut runner).expect("octets").current();
        if let Ok(mut stream) = TcpStream::connect(agent.at) {
            let _ = stream.write_all(&opening); // it may be closed in the middle
            let _ = stream.write_all(&frames.concat());
        }
        if number == CALLS / 3 {
            before = agent.resident_octets();
        }
    }
    assert!(agent.is_alive());
    let grown = agent.resident_octets().saturating_sub(before);
    assert!(grown < MOST_GROWTH, "{grown} octets more");
    works(&agent, options);
}

#[test]
fn octets_at_random_do_no_harm_to_an_agent_on_loopback() {
    throw_at(Agent::spawn(&[]), &[]);
}

#[test]
fn octets_at_random_do_no_harm_to_an_agent_with_certificates() {
    let scratch = Scratch::new("thrown-at");
    make_certificates(&scratch.0);
    let options = credentials(&scratch.0, "127.0.0.1");
    throw_at(Agent::spawn(&options), &options);
}

proptest! {
    // No file of what failed: the octets are in the message.
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_text_makes_reading_a_test_panic(
        text in "(\\PC{0,5}|\\{|\\}|\\[|\\]|\"|:|,|seed|agents|flows|kind|stream|[0-9]{1,20}){0,60}", at: proptest::sample::Index, octet: u8,
    ) {
        let _ = ethermeter_agent::TestDescription::parse(&text);
        let test = serde_json::json!({
            "seed": 1, "clocks": "always_compared", "phases": {"settle_ns": MS, "transmit_ns": MS, "measure_from_ns": 0, "measure_to_ns": MS, "drain_ns": 0},
            "agents": [{"name": "a", "control": "127.0.0.1:1", "address": "127.0.0.1"}, {"name": "b", "control": "127.0.0.1:2", "address": "::1"}],
            "flows": [flow("f", &paced())],
        });
        let mut octets = test.to_string().into_bytes();
        let at = at.index(octets.len());
        octets[at] ^= octet;
        if let Ok(text) = String::from_utf8(octets) {
            let _ = ethermeter_agent::TestDescription::parse(&text);
        }
    }
}
