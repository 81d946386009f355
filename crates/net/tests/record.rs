//! Recordings of the loopback interface: every frame is there, or counted. Needs the right to open
//! packet sockets.

use ethermeter_capture::CaptureReader;
use ethermeter_net::port::tap::{Tap, TapOptions};
use ethermeter_net::record::{RecordingCounts, Recording};
use ethermeter_net::time::NS_PER_S;
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::{Error, HostTime, Timeline};
use std::io::{ErrorKind, Result, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex};

/// Ethernet, IPv4 and UDP headers.
const HEADERS: usize = 14 + 20 + 8;

/// Memory that the test can read when the recorder has written to it.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, octets: &[u8]) -> Result<usize> {
        self.0.lock().expect("nobody panics while writing").extend(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Record `octets` from `a` to `b` and back, `count` of each; other addresses send, too. Nothing if
/// this user may not.
fn recorded(
    count: usize,
    octets: usize,
    snap_octets: u32,
    most_octets: u64,
    net: u8,
) -> Option<(RecordingCounts, Vec<u8>)> {
    let address = |host| Ipv4Addr::new(127, 88, net, host);
    let sockets = [1, 2, 3]
        .map(|host| UdpSocket::bind((address(host), 0)).expect("loopback addresses are ours"));
    let to = |at: usize| sockets[at].local_addr().expect("bound");
    let options = TapOptions {
        interface: "lo".to_owned(),
        snap_octets,
        ring_octets: 8 << 20,
        only: Some((address(1), 24)),
    };
    let memory = Memory::default();
    let begun = Recording::begin(options, Box::new(memory.clone()), most_octets, HostTime, || Ok(()));
    let recording = match begun {
        Err(Error::System { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            eprintln!("not tried: packet sockets need root");
            return None;
        }
        begun => begun.expect("an interface that every host has"),
    };
    let mut received = vec![0; octets];
    for _ in 0..count {
        // The last is between others; one that leaves the network of the address is not wanted
        // either.
        for (from, at) in [(0, 1), (1, 0), (1, 2)] {
            sockets[from].send_to(&vec![7; octets], to(at)).expect("loopback has room");
            sockets[at].recv(&mut received).expect("it was sent");
        }
    }
    let account = recording.finish().expect("memory takes all");
    let file = memory.0.lock().expect("nobody panics while writing").clone();
    Some((account, file))
}

fn frames(file: &[u8]) -> Vec<(i64, u32, usize)> {
    let mut capture = CaptureReader::new(file).expect("a capture");
    let mut packets = Vec::new();
    while let Some(packet) = capture.read_packet().expect("a whole capture") {
        packets.push((packet.time_ns.expect("stamped"), packet.original, packet.data.len()));
    }
    packets
}

#[test]
fn every_frame_of_an_address_is_recorded_once_with_its_time_and_length_and_of_others_none() {
    let Some((account, file)) = recorded(500, 300, 128, 1 << 30, 1) else { return };
    let packets = frames(&file);
    assert_eq!((account.frames, account.dropped, account.beyond_size), (1000, 0, 0));
    assert_eq!(account.file_octets, file.len() as u64);
    assert_eq!(packets.len(), 1000);
    let (begun_ns, ended_ns) = (account.begun_ns.cast_signed(), account.ended_ns.cast_signed());
    for (time_ns, original, kept) in packets {
        assert_eq!((original as usize, kept), (HEADERS + 300, 128));
        assert!(begun_ns <= time_ns && time_ns <= ended_ns, "{begun_ns} {time_ns} {ended_ns}");
    }
}

#[test]
fn a_capture_is_no_larger_than_it_may_be_and_counts_what_it_has_no_room_for() {
    let most_octets = 10_000;
    let Some((account, file)) = recorded(200, 50, 64, most_octets, 2) else { return };
    assert_eq!(account.frames + account.beyond_size, 400);
    assert!(account.beyond_size > 0 && account.dropped == 0, "{account:?}");
    assert_eq!(frames(&file).len() as u64, account.frames);
    // One more frame of 64 octets, which takes 44 more in the file, would have had no room.
    let octets = file.len() as u64;
    assert!(octets <= most_octets && octets + 64 + 44 > most_octets, "{octets}");
}

#[test]
fn what_cannot_be_recorded_is_said_at_once() {
    let options = |interface: &str, snap_octets| TapOptions {
        interface: interface.to_owned(),
        snap_octets,
        ring_octets: 8 << 20,
        only: None,
    };
    let begin = |options, first: fn() -> Result<()>| {
        Recording::begin(options, Box::new(Memory::default()), 1 << 20, HostTime, first)
    };
    for (interface, snap_octets, why) in
        [("no-such-one", 128, "finding an interface"), ("lo", 63, "64 to 65536")]
    {
        let error = begin(options(interface, snap_octets), || Ok(())).expect_err("it cannot be");
        assert!(error.to_string().contains(why), "{error}");
    }
    let error = begin(options("lo", 128), || Err(std::io::Error::other("no such namespace")))
        .expect_err("refused");
    assert!(error.to_string().contains("no such namespace"), "{error}");
}

#[test]
fn what_a_full_ring_has_no_room_for_is_counted_as_dropped() {
    const FRAMES: u64 = 5000;
    let addresses = [1, 2].map(|host| Ipv4Addr::new(127, 88, 3, host));
    let options = TapOptions {
        interface: "lo".to_owned(),
        snap_octets: 128,
        ring_octets: 1 << 17, // less than that many frames of 128 octets
        only: Some((addresses[0], 24)),
    };
    let mut tap = match Tap::open(&options) {
        Err(Error::System { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            eprintln!("not tried: packet sockets need root");
            return;
        }
        opened => opened.expect("an interface that every host has"),
    };
    let [from, at] = addresses
        .map(|address| UdpSocket::bind((address, 0)).expect("loopback addresses are ours"));
    let to = at.local_addr().expect("bound");
    let mut received = [0; 200];
    for _ in 0..FRAMES {
        from.send_to(&received.clone(), to).expect("loopback has room");
        at.recv(&mut received).expect("it was sent");
    }
    tap.shut().expect("a filter");
    from.send_to(&received, to).expect("loopback has room"); // after it was shut
    let mut delivered = 0;
    let until_ns = HostTime.now_ns() + 300 * NS_PER_S;
    let counters = loop {
        delivered += tap.take(|_| Ok(())).expect("nothing that fails");
        let counters = tap.counters().expect("a socket");
        if delivered + counters.dropped == counters.accepted {
            break counters;
        }
        assert!(HostTime.now_ns() < until_ns, "{delivered} taken, {counters:?}");
        tap.wait(5);
    };
    assert_eq!(counters.accepted, FRAMES);
    // One block holds them, whatever the kernel puts around each: 48 octets and an address at
    // least.
    assert!(delivered > 0 && delivered * (128 + 48) <= 1 << 17, "{delivered}");
    assert_eq!(counters.dropped, FRAMES - delivered);
}
