//! Coordinators that do not keep to the rules, and strangers at the control port.

use crate::common::hand::{EXPERIMENT, Hand, forged, grant_request, prepare_request, refused, unsigned};
use crate::common::{
    credentials, flow, make_certificates, measure, paced, run, test, wait_for, Agent, Scratch,
    LIMIT, MS, PROGRAM,
};
use ethermeter_agent::protocol::{
    LeaseRequest, PrepareRequest, Stamped, StopRequest,
};
use ethermeter_station::consent::{FlowTransport, Grant, GrantRequest, RequestStamp};
use ethermeter_trial::roles::{MessageStream, ReceiveMode, RoleTask};
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::{HostTime, Timeline};
use crate::common::quiet::in_quiet_window;
use serde_json::json;
use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Builder;

fn sending() -> RoleTask {
    let mut traffic = paced();
    traffic.as_object_mut().expect("a stream").remove("kind");
    let stream: MessageStream = serde_json::from_value(traffic).expect("a stream");
    RoleTask::Send(Box::new(stream))
}

/// Send to a socket by a grant that nobody but this test has written.
fn sending_to(sink: &UdpSocket) -> PrepareRequest {
    let port = sink.local_addr().expect("an address").port();
    prepare_request(sending(), vec![forged(port)])
}

/// Renew the lease five times and then no more; what came, and when it was last renewed.
async fn renew_for_a_second() -> (JoinHandle<(u64, u64)>, u64) {
    let agent = Agent::spawn(&[]);
    let sink = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let mut hand = Hand::at(&agent, None).await;
    hand.call(sending_to(&sink)).await.expect("prepared");
    hand.lease().await;
    hand.start_in(500).await.expect("started");
    let listening = listen(sink);
    let mut renewed_ns = 0;
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        hand.lease().await;
        renewed_ns = HostTime.now_ns();
    }
    drop(hand);
    wait_for("silence", LIMIT, || !agent.has_roles());
    (listening, renewed_ns)
}

/// Count what comes until nothing has for three seconds: how many frames, and when the last came.
fn listen(sink: UdpSocket) -> JoinHandle<(u64, u64)> {
    std::thread::spawn(move || {
        sink.set_read_timeout(Some(Duration::from_secs(3))).expect("a timeout");
        let (mut frames, mut last_ns, mut buffer) = (0, 0, [0; 100]);
        while sink.recv(&mut buffer).is_ok() {
            frames += 1;
            last_ns = HostTime.now_ns();
        }
        (frames, last_ns)
    })
}

/// Say again and again what a receiver has said once; what came, and when that was.
async fn repeat_a_renewal() -> (JoinHandle<(u64, u64)>, u64) {
    let agent = Agent::spawn(&[]);
    let sink = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let mut hand = Hand::at(&agent, None).await;
    hand.call(sending_to(&sink)).await.expect("prepared");
    refused(hand.start_in(500).await, "consent-renewal");
    hand.lease().await;
    hand.start_in(500).await.expect("started");
    let listening = listen(sink);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let kept = hand.lease().await.challenges;
    let renewed_ns = HostTime.now_ns();
    // The coordinator is there, and says again and again what the receiver has said once.
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let renewals = kept.iter().map(unsigned).collect();
        let request = LeaseRequest { renewals, ..LeaseRequest::default() };
        hand.call(request).await.expect("renewed");
    }
    (listening, renewed_ns)
}

fn silent_within_a_second<F>(renew: impl Fn() -> F)
where
    F: Future<Output = (JoinHandle<(u64, u64)>, u64)>,
{
    // A lease lasts 0.7 s.
    let waited_ns = in_quiet_window(Duration::from_millis(200), || {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (listening, renewed_ns) = runtime.block_on(renew());
        let (frames, last_ns) = listening.join().expect("a listener");
        assert!(frames > 0);
        last_ns.saturating_sub(renewed_ns)
    });
    assert!(waited_ns.unwrap_or(0) < 1000 * MS, "{waited_ns:?} ns after");
}

#[test]
fn a_sink_sees_nothing_more_than_a_second_after_the_last_renewal() {
    silent_within_a_second(renew_for_a_second);
}

#[test]
fn a_sink_sees_nothing_more_than_a_second_after_its_own_last_renewal() {
    silent_within_a_second(repeat_a_renewal);
}

#[tokio::test]
async fn a_grant_is_for_one_role_of_one_run() {
    let agent = Agent::spawn(&[]);
    let sink = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let mut hand = Hand::at(&agent, None).await;
    let mut request = sending_to(&sink);
    let again = request.roles[0].clone();
    request.roles.push(again);
    refused(hand.call(request).await, "consent-spent");
    // The first of the two roles has spent it.
    refused(hand.call(sending_to(&sink)).await, "consent-spent");
}

#[tokio::test]
async fn the_operator_has_the_last_word_on_priorities() {
    let agent = Agent::spawn(&[]);
    let mut hand = Hand::at(&agent, None).await;
    let with = |priority| GrantRequest {
        transport: FlowTransport { priority: Some(priority), ..FlowTransport::default() },
        ..grant_request()
    };
    // The ceiling is 5 unless the operator says otherwise, also to what others have granted.
    refused(hand.call(with(6)).await, "priority");
    refused(hand.call(with(8)).await, "description");
    let mut request = sending_to(&UdpSocket::bind("127.0.0.1:0").expect("a port"));
    request.roles[0].grants[0].grant.priority = Some(6);
    refused(hand.call(request).await, "priority");
}

#[tokio::test]
async fn a_port_is_granted_with_the_priority_that_was_asked_for() {
    let agent = Agent::spawn(&[]);
    let mut hand = Hand::at(&agent, None).await;
    let transport = FlowTransport { priority: Some(5), ..FlowTransport::default() };
    let granted = hand.call(GrantRequest { transport, ..grant_request() }).await.expect("granted");
    assert_eq!(granted.grant.priority, Some(5));
}

#[tokio::test]
async fn an_experiment_that_was_stopped_and_never_collected_makes_room_for_others() {
    let agent = Agent::spawn(&[]);
    let mut hand = Hand::at(&agent, None).await;
    hand.call(grant_request()).await.expect("granted");
    hand.call(StopRequest {}).await.expect("stopped");
    let stamp = RequestStamp { experiment: EXPERIMENT + 1, ..hand.stamp() };
    let request = Stamped { stamp, request: grant_request() };
    refused(hand.client.call(request.clone()).await, "tests-at-once");
    tokio::time::sleep(Duration::from_millis(800)).await;
    let stamp = RequestStamp { made_ns: HostTime.now_ns(), ..stamp };
    hand.client.call(Stamped { stamp, ..request }).await.expect("there is room");
}

#[tokio::test]
async fn an_agent_whose_lease_was_never_renewed_does_not_begin() {
    let agent = Agent::spawn(&[]);
    let sink = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let mut hand = Hand::at(&agent, None).await;
    hand.call(sending_to(&sink)).await.expect("prepared");
    hand.lease().await;
    hand.start_in(1500).await.expect("started");
    sink.set_read_timeout(Some(Duration::from_secs(3))).expect("a timeout");
    assert!(sink.recv(&mut [0; 100]).is_err(), "nothing was to come");
}

#[tokio::test]
async fn a_request_that_comes_again_is_refused() {
    let agent = Agent::spawn(&[]);
    let mut hand = Hand::at(&agent, None).await;
    let stamp = hand.stamp();
    let request = |stamp| Stamped { stamp, request: grant_request() };
    hand.client.call(request(stamp)).await.expect("granted");
    refused(hand.client.call(request(stamp)).await, "replay");
    let session = hand.hello.session;
    let other = RequestStamp { session: session ^ 1, ..stamp };
    refused(hand.client.call(request(other)).await, "session");
    let late = RequestStamp { made_ns: 0, counter: 9, ..stamp };
    refused(hand.client.call(request(late)).await, "clock");
}

#[tokio::test]
async fn steps_in_another_order_are_refused() {
    let agent = Agent::spawn(&[]);
    let mut hand = Hand::at(&agent, None).await;
    refused(hand.start_in(100).await, "unknown");
    let sink = RoleTask::Sink { attention: ReceiveMode::Sleeping, clock: None };
    refused(hand.call(prepare_request(sink, Vec::new())).await, "consent-missing");
    refused(hand.call(prepare_request(sending(), Vec::new())).await, "consent-missing");
    hand.call(grant_request()).await.expect("granted");
    refused(hand.start_in(100).await, "order");
}

#[tokio::test]
async fn a_coordinator_cannot_grant_in_a_receivers_name() {
    let scratch = Scratch::new("forged");
    make_certificates(&scratch.0);
    let agent = Agent::spawn(&credentials(&scratch.0, "127.0.0.1"));
    let mut hand = Hand::at(&agent, Some(&scratch.0)).await;
    let send = |grant| prepare_request(sending(), vec![grant]);
    refused(hand.call(send(forged(5000))).await, "consent-unproven");
    // What the receiver has signed holds, and only as it was signed: also what the coordinator may
    // not change elsewhere, since it stands in the grant only.
    let signed = hand.call(grant_request()).await.expect("granted");
    let changes: [fn(&mut Grant); 6] = [
        |grant| grant.rate_bps = 90_000_000,
        |grant| grant.rate_frames_per_s += 1,
        |grant| grant.longest_frame_octets += 1,
        |grant| grant.duration_ns += 1,
        |grant| grant.until_unix_s += 1,
        |grant| grant.priority = Some(1),
    ];
    for change in changes {
        let mut other = signed.clone();
        change(&mut other.grant);
        assert_ne!(other, signed);
        refused(hand.call(send(other)).await, "consent-unproven");
    }
    hand.call(send(signed)).await.expect("as signed");
    // Nor can it renew in a receiver's name.
    let challenges = hand.call(LeaseRequest::default()).await.expect("renewed").challenges;
    let renewals = challenges.iter().map(unsigned).collect();
    let request = LeaseRequest { renewals, ..LeaseRequest::default() };
    refused(hand.call(request).await, "consent-unproven");
}

#[tokio::test]
async fn a_request_longer_than_the_limit_is_refused_and_the_agent_lives_on() {
    let agent = Agent::spawn(&[]);
    let mut hand = Hand::at(&agent, None).await;
    let before = agent.resident_octets();
    let named = |octets| GrantRequest { flow: "f".repeat(octets), ..grant_request() };
    for _ in 0..20 {
        hand.call(named(8 << 20)).await.expect_err("8 MB");
    }
    assert!(
        agent.resident_octets().saturating_sub(before) < 8 << 20,
        "less than one of them is kept"
    );
    refused(hand.call(named(65)).await, "description");
    hand.call(grant_request()).await.expect("granted");
}

/// Octets that look like chance, the same in each run.
fn noise(seed: u64, octets: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    })
    .take(octets)
    .collect()
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return false
            }
            Err(_) => return true,
        }
    }
}

fn bombard(mut agent: Agent, options: &[String]) {
    let other = Agent::spawn(options);
    let coordinator: Vec<String> =
        options.iter().map(|option| option.replace("/127.0.0.1.", "/coordinator.")).collect();
    let works = |agent: &Agent| {
        let measured = measure(
            "bombarded",
            &test(&[agent, &other], 100, &[flow("paced", &paced())]),
            &coordinator,
        );
        assert_eq!(measured.code, Some(0), "{}", measured.printed);
    };
    works(&agent);
    let before = agent.resident_octets();
    for seed in 0..300 {
        let Ok(mut stream) = TcpStream::connect(agent.at) else { continue };
        // Noise, noise after a good beginning, and frames that promise 16 MB.
        let octets = match seed % 4 {
            0 => noise(seed, 10_000),
            1 => [PREFACE, &noise(seed, 10_000)].concat(),
            2 => [PREFACE, &[0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1]].concat(),
            _ => [&[0x16, 3, 1, 0xFF, 0xFF][..], &noise(seed, 70_000)].concat(),
        };
        let _ = stream.write_all(&octets); // it may be closed in the middle
    }
    assert!(agent.is_alive());
    // Connections on which nothing happens, more than there is room for: the rest is closed at
    // once, and these soon.
    let mut idle: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(agent.at).expect("a connection")).collect();
    wait_for("connections beyond the limit are closed", LIMIT, || {
        idle.iter_mut().filter_map(|stream| is_closed(stream).then_some(())).count() >= 100 - 32
    });
    wait_for("idle connections are closed", LIMIT, || idle.iter_mut().all(is_closed));
    let grown = agent.resident_octets().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} octets more");
    works(&agent);
}

#[test]
fn noise_and_idle_connections_do_no_harm_to_an_agent_on_loopback() {
    bombard(Agent::spawn(&[]), &[]);
}

#[test]
fn noise_and_idle_connections_do_no_harm_to_an_agent_with_certificates() {
    let scratch = Scratch::new("bombarded");
    make_certificates(&scratch.0);
    let options = credentials(&scratch.0, "127.0.0.1");
    bombard(Agent::spawn(&options), &options);
}

#[test]
fn nothing_listens_beyond_loopback_without_certificates() {
    for at in ["0.0.0.0:0", "[::]:0", "192.0.2.1:4988"] {
        let output = run(&["--listen", at]);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(
            printed.contains("listen = ") && printed.contains("loopback") && output.stdout.is_empty(),
            "{printed}"
        );
    }
}

#[test]
fn wrong_options_and_files_are_told_with_what_is_allowed() {
    let scratch = Scratch::new("options");
    let path = |name: &str, text: &str| scratch.write(name, text).display().to_string();
    let ceilings = path("ceilings.toml", "rate_bps = -1");
    let garbage = path("garbage.pem", "garbage");
    let no_test = path("test.json", "{\"seed\": 1}");
    let cases: [(&[&str], &str); 8] = [
        (&[], "listen: missing"),
        (&["--listen", "here"], "listen = here: must be ADDRESS:PORT"),
        (&["--listen", "127.0.0.1:0", "--ceilings", &ceilings], "rate_bps"),
        (&["--listen", "127.0.0.1:0", "--ceilings", "/nowhere"], "/nowhere"),
        (&["--listen", "127.0.0.1:0", "--key", &garbage], "certificate, key and authority"),
        (
            &[
                "--listen",
                "127.0.0.1:0",
                "--certificate",
                &garbage,
                "--key",
                &garbage,
                "--authority",
                &garbage,
            ],
            "ethermeter-agent: ",
        ),
        (&["measure", &no_test], "agents"),
        (&["--bogus"], "bogus"),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{PROGRAM} {arguments:?}: {printed}");
        assert!(printed.contains(expected) && !printed.contains("panicked"), "{arguments:?}: {printed}");
    }
}

#[test]
fn every_fault_of_a_test_is_told_at_once() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let mut short = paced();
    short["source"]["frames"]["bits"] = json!(8);
    let mut description = test(&[&a, &b], 100, &[flow("f", &short), flow("f", &paced())]);
    description["flows"][1]["to"] = json!("c");
    description["phases"]["measure_to_ns"] = json!(1_000_000_000_000u64);
    description["phases"]["batches"] = json!(1001);
    let measured = measure("faults", &description, &[]);
    assert_eq!(measured.code, Some(2));
    for expected in [
        "phases: ",
        "batches = 1001: must be from 1 to 1000",
        "frames must be of 64 to 65553 octets",
        "only once",
        "flows.f.to = \"c\"",
    ] {
        assert!(measured.printed.contains(expected), "{expected}: {}", measured.printed);
    }
}
