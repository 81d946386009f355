//! What peers and strangers may send: nothing makes a reflector answer more than it got, or a
//! client fail other than by an error within its time.

#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::time::{HostTime, Timeline};
use ethermeter_peer::Error;
use ethermeter_peer::iperf3::client::Iperf3Test;
use ethermeter_peer::iperf3::messages::EndResults;
use ethermeter_peer::stamp::StampKey;
use ethermeter_peer::stamp::packet::{ReflectorPacket, SenderPacket, StampMode, sign};
use ethermeter_peer::stamp::reflector::{Reflector, ReflectorRules, RequestArrival};
use ethermeter_peer::stamp::tlv;
use ethermeter_peer::task::perform;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn reflector(key: Option<&[u8]>) -> Reflector {
    let rules = ReflectorRules {
        allowed: serde_json::from_str(r#"["0.0.0.0/0", "::/0"]"#).expect("networks"),
        rate_packets_per_s: 1_000_000,
        is_stateless: false,
    };
    Reflector::new(rules, key.map(|key| StampKey::new(key).expect("a key")), 0).expect("rules")
}

fn arrival() -> RequestArrival {
    RequestArrival {
        from: "192.0.2.7:4000".parse().expect("an address"),
        wall_ns: 1,
        hops: None,
        now_ns: 1_000_000_000,
        clock_error_ns: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_reflector_keeps_the_length_of_any_octets(mut packet in prop::collection::vec(any::<u8>(), 0..300)) {
        let before = packet.len();
        let is_answered = reflector(None).answer(&mut packet, &arrival(), || 2);
        prop_assert_eq!(packet.len(), before);
        prop_assert!(!is_answered || before >= 41);
    }

    #[test]
    fn authentic_packets_with_any_tlvs_are_answered(extension in prop::collection::vec(any::<u8>(), 0..200)) {
        let key = StampKey::new(b"secret").expect("a key");
        let mut packet = vec![0; 112];
        packet[25] = 1; // the multiplier of the error estimate
        packet.extend(&extension);
        sign(&key, &mut packet);
        prop_assert!(reflector(Some(b"secret")).answer(&mut packet, &arrival(), || 2));
        prop_assert_eq!(packet.len(), 112 + extension.len());
    }

    #[test]
    fn tlvs_of_any_octets_end(extension in prop::collection::vec(any::<u8>(), 0..200)) {
        let whole: usize = tlv::positions(&extension).map(|position| position.octets.map_or(0, |octets| octets + 4)).sum();
        prop_assert!(whole <= extension.len());
    }

    #[test]
    fn packets_of_any_octets_are_read_or_not(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        for mode in [StampMode::Open, StampMode::Authenticated] {
            prop_assert_eq!(SenderPacket::read(mode, &octets).is_some(), octets.len() >= if mode == StampMode::Open { 14 } else { 112 });
            if let Some(answer) = ReflectorPacket::read(mode, &octets) {
                let _ = answer.received.wall_ns(answer.error.is_ptp(), u64::MAX);
                let _ = answer.timestamp.wall_ns(answer.error.is_ptp(), 0);
            }
        }
    }

    #[test]
    fn results_of_any_text_are_read_or_refused(text in "[0-9a-z\\[\\]{}:,\".-]{0,200}", octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = EndResults::read(text.as_bytes(), 1);
        prop_assert!(EndResults::read(&octets, 1).is_err());
    }

    #[test]
    fn tasks_of_any_text_are_refused(text in "[0-9a-z\\[\\]{}:,\".-]{0,200}") {
        prop_assert!(perform(&text, None, &HostTime, &AtomicBool::new(false)).is_err());
    }
}

/// Be a server that does something with a connection, and return the client's error.
fn against(serve: impl FnOnce(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = listener.local_addr().expect("bound");
    let serving = std::thread::spawn(move || serve(listener.accept().expect("a client").0));
    let error = test(to).perform(&HostTime, &AtomicBool::new(false)).expect_err("a broken server");
    serving.join().expect("no panic");
    error.to_string()
}

fn test(to: SocketAddr) -> Iperf3Test {
    let text = format!(
        r#"{{"to": "{to}", "protocol": "tcp", "direction": "up", "streams": 1, "duration_ns": 200000000,
        "interval_ns": 50000000, "octets": 1000, "rate_bps": 0, "patience_ns": 300000000}}"#
    );
    serde_json::from_str(&text).expect("a test")
}

/// An address of the loopback where nothing listens.
fn unused() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    listener.local_addr().expect("bound")
}

/// Read the cookie and answer with some octets, then wait for the client to leave.
fn answering(octets: Vec<u8>) -> impl FnOnce(TcpStream) + Send {
    move |mut stream| {
        let mut cookie = [0; 37];
        stream.read_exact(&mut cookie).expect("a cookie");
        let _ = stream.write_all(&octets);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
}

#[test]
fn servers_that_hang_close_or_talk_nonsense_are_named() {
    assert!(against(answering(vec![])).contains("sent nothing for 300 ms"));
    assert!(against(answering(vec![77])).contains("77, which is no state"));
    assert!(against(answering(vec![14])).contains("out of order"));
    assert!(against(answering(vec![0xfe, 0, 0, 0, 5, 0, 0, 0, 0])).contains("error 5"));
    let error =
        test(unused()).perform(&HostTime, &AtomicBool::new(false)).expect_err("nobody listens");
    assert!(error.to_string().contains("refuses connections"), "{error}");
}

/// Be a server that does the same with each connection, and return the client's last error.
fn against_each_try(serve: impl Fn(TcpStream) + Send + 'static) -> Error {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = listener.local_addr().expect("bound");
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    // It ends with the process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::Relaxed);
            serve(stream.expect("a client"));
        }
    });
    let error = test(to)
        .perform(&HostTime, &AtomicBool::new(false))
        .expect_err("a server that has no test");
    assert!(tries.load(Ordering::Relaxed) >= 2);
    error
}

#[test]
fn a_busy_server_is_tried_again_and_then_named() {
    let error = against_each_try(|stream| answering(vec![0xff])(stream));
    assert!(matches!(error, Error::Busy), "{error}");
}

#[test]
fn a_server_that_drops_clients_is_tried_again_and_then_named() {
    // As a listener that is closed: nothing was read.
    let error = against_each_try(drop);
    assert!(error.to_string().contains("closed the connection"), "{error}");
}

#[test]
fn a_server_that_opens_its_listener_again_is_tried_again() {
    let to = unused();
    std::thread::spawn(move || {
        HostTime.sleep_until(HostTime.now_ns() + 150_000_000);
        let listener = TcpListener::bind(to).expect("a port that was free before");
        answering(vec![0xfe, 0, 0, 0, 5, 0, 0, 0, 0])(listener.accept().expect("a client").0);
    });
    let error =
        test(to).perform(&HostTime, &AtomicBool::new(false)).expect_err("an error of the server");
    assert!(error.to_string().contains("error 5"), "{error}");
}

/// Play a server up to the results, and answer with some octets.
fn with_results(octets: Vec<u8>) -> impl FnOnce(TcpListener) + Send {
    move |listener| {
        let (mut control, _) = listener.accept().expect("a client");
        let mut room = vec![0; 4096];
        control.read_exact(&mut room[..37]).expect("a cookie");
        control.write_all(&[9]).expect("a client");
        control.read_exact(&mut room[..4]).expect("a length");
        let length = u32::from_be_bytes([room[0], room[1], room[2], room[3]]) as usize;
        control.read_exact(&mut room[..length]).expect("parameters");
        control.write_all(&[10]).expect("a client");
        let (mut data, _) = listener.accept().expect("a stream");
        control.write_all(&[1, 2]).expect("a client");
        let reading = std::thread::spawn(move || {
            let mut sink = vec![0; 1 << 16];
            while data.read(&mut sink).is_ok_and(|octets| octets > 0) {}
        });
        control.read_exact(&mut room[..1]).expect("the end");
        control.write_all(&[13]).expect("a client");
        control.read_exact(&mut room[..4]).expect("a length");
        let _ = control.write_all(&octets);
        let mut rest = Vec::new();
        let _ = control.read_to_end(&mut rest);
        reading.join().expect("no panic");
    }
}

#[test]
fn results_of_any_length_cost_no_more_than_the_limit() {
    for (octets, expected) in [
        (vec![0xff, 0xff, 0xff, 0xff, b'{'], "4294967295 octets of JSON"),
        (vec![0, 0, 0, 0], "0 octets of JSON"),
        (vec![0, 0, 0, 2, b'{', b'}'], "missing field"),
        (vec![0, 0, 1, 0, b'{'], "sent nothing"),
        ([vec![0, 1, 0, 0], vec![b'['; 65_536]].concat(), "results of the server"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let to = listener.local_addr().expect("bound");
        let serving = std::thread::spawn(move || with_results(octets)(listener));
        let error =
            test(to).perform(&HostTime, &AtomicBool::new(false)).expect_err("broken results");
        assert!(error.to_string().contains(expected), "{error}");
        serving.join().expect("no panic");
    }
}

#[test]
fn a_stopped_client_ends_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = listener.local_addr().expect("bound");
    let measurement = test(to).perform(&HostTime, &AtomicBool::new(true));
    assert!(matches!(measurement, Err(Error::Stopped)), "{measurement:?}");
}
