//! A medium that is captured: what is in the file is what its stations counted.

#![expect(clippy::disallowed_methods, reason = "the writer is a thread, for which tests wait")]

use super::*;
use crate::medium::EmulatedMedium;
use ethermeter_capture::CaptureReader;
use ethermeter_capture::explain::explain;
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::HostTime;
use ethermeter_simulator::shared::SharedSegment;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Seek};
use std::net::Shutdown;

const US: u64 = 1_000_000;
const STATIONS: usize = 5;

/// Saturated stations, `step_ps` apart, at 10 Mb/s.
fn bus(has_plca: bool, step_ps: u64) -> SharedSegment {
    bus_with(has_plca, step_ps, &json!({"rule": "exponential", "limit": 10}))
}

/// The same; the last station has another backoff.
fn bus_with(has_plca: bool, step_ps: u64, backoff: &Value) -> SharedSegment {
    let csma_cd = json!({"slot_bits": 512, "gap_bits": 96, "gap_part1_bits": 64,
        "preamble_bits": 64, "jam_bits": 32});
    let mac = if has_plca {
        json!({"plca": {"csma_cd": csma_cd, "end_delimiter_bits": 8, "beacon_bits": 20,
            "beacon_detection_bits": 22, "invalid_beacon_bits": 40, "delay_line_bits": 396,
            "pending_bits": 512, "commit_bits": 288, "status_bits": 130_090}})
    } else {
        json!({"csma_cd": csma_cd})
    };
    let numbers = || 0..STATIONS;
    let nodes: Vec<Value> =
        numbers().map(|at| json!({"name": format!("h{at}"), "kind": {"host": {}}})).collect();
    let station = |at: usize| {
        let mut station = json!({"node": format!("h{at}"), "points": [at]});
        if at + 1 == STATIONS {
            station["backoff"] = backoff.clone();
        }
        if has_plca {
            station["plca"] = json!({"ids": [[at]], "node_count": STATIONS,
                "opportunity_bits": 32, "burst_bits": 128});
        }
        station
    };
    let row = |a: usize| numbers().map(|b| a.abs_diff(b) as u64 * step_ps).collect::<Vec<_>>();
    let flow = |at: usize| {
        json!({"name": format!("f{at}"), "from": format!("h{at}"),
            "arrivals": {"kind": "saturated"}, "frames": {"kind": "fixed", "bits": 512}})
    };
    let end = 1_000_000 * US;
    let scenario = json!({"nodes": nodes, "flows": numbers().map(flow).collect::<Vec<_>>(),
        "media": [{"name": "bus", "bit_ps": 100_000, "mac": mac,
            "delay_ps": numbers().map(row).collect::<Vec<_>>(),
            "stations": numbers().map(station).collect::<Vec<_>>()}],
        "phases": {"begin_ps": 0, "stop_ps": end, "measure_from_ps": 0, "measure_to_ps": end,
            "end_ps": end, "spread_ps": 0}});
    let trial = json!({"id": "x", "seed": 7, "scenario": scenario});
    SharedSegment::new(&serde_json::from_value(trial).expect("a trial")).expect("a segment")
}

fn options(most_frames: Option<u64>, most_octets: u64) -> CaptureOptions {
    let names = (1..=STATIONS).map(|number| format!("station-{number}")).collect();
    CaptureOptions { segment: 0, names, snap_octets: 128, most_octets, most_frames }
}

/// When the next buffer is due.
fn due_ns(capture: &MediumCapture) -> u64 {
    capture.handed_over_ns + HAND_OVER_NS + 1
}

/// Where a capture goes, and the end of its client.
fn begun(options: CaptureOptions) -> (MediumCapture, File, BufReader<UnixStream>) {
    let path = std::env::temp_dir().join(format!(
        "ethermeter-capture-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let mut new = File::options();
    let file = new.read(true).write(true).create(true).truncate(true).open(&path).expect("a file");
    std::fs::remove_file(&path).expect("its name");
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    theirs.set_nonblocking(true).expect("a socket");
    let other = file.try_clone().expect("a descriptor");
    let capture = MediumCapture::begin(options, file, theirs, HostTime).expect("a thread");
    let mut client = BufReader::new(ours);
    assert_eq!(line(&mut client), json!({}));
    (capture, other, client)
}

fn line(client: &mut BufReader<UnixStream>) -> Value {
    let mut line = String::new();
    client.read_line(&mut line).expect("an answer");
    serde_json::from_str(&line).expect("JSON")
}

fn octets(mut file: File) -> Vec<u8> {
    let mut octets = Vec::new();
    file.rewind().expect("a file");
    file.read_to_end(&mut octets).expect("a file");
    octets
}

/// Let every station send 64-octet frames for some time of the medium, and return frames and
/// collisions of each.
fn played(bus: &SharedSegment, capture: &mut MediumCapture, time_ms: u64) -> Vec<(u64, u64)> {
    let mut medium = EmulatedMedium::new(bus, false).expect("real hosts");
    drop(medium.record(capture.recorder(capture.begun_ns)));
    for station in 0..u32::try_from(STATIONS).expect("few") {
        let mut frame = [0xFF; 60];
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, u8::try_from(station).expect("few")]);
        for _ in 0..3000 {
            medium.offer(0, station, &[&frame]);
        }
    }
    for step in 1..=time_ms {
        medium.advance(step * 1000 * US);
        let recorder = medium.recorder().expect("it is captured");
        let now_ns = due_ns(capture);
        capture.exchange(&mut recorder.buffer, now_ns);
        while medium.next_delivery().is_some() {
            medium.forget();
        }
        std::thread::sleep(Duration::from_micros(200)); // for the writer, as in real time
    }
    let counted = (0..medium.stations()).map(|station| medium.station(station).0);
    let counted = counted.map(|totals| (totals.frames, totals.collisions)).collect();
    let (.., recorder) = medium.finish_recorded();
    capture.take_back(recorder.expect("it is captured"));
    counted
}

#[test]
fn frames_and_collisions_of_every_station_are_those_that_it_counted() {
    for (has_plca, step_ps) in [(false, 300_000), (false, 5_000_000), (true, 60_000)] {
        let bus = bus(has_plca, step_ps);
        let (mut capture, file, mut client) = begun(options(None, u64::MAX));
        let counted = played(&bus, &mut capture, 200);
        client.get_ref().shutdown(Shutdown::Write).expect("a socket");
        let begin = std::time::Instant::now();
        while !capture.is_over() && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        capture.end().wait();
        let account = line(&mut client);
        let (frames, collisions): (u64, u64) =
            counted.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        assert!(frames > 1000 && collisions > 50, "{frames} {collisions}");
        assert_eq!(account["dropped"], 0);
        assert_eq!(account["ended"], "requested");
        assert_eq!(account["frames"], frames + collisions);
        assert_eq!(account["collisions"], collisions);
        let octets = octets(file);
        assert_eq!(account["file_octets"], octets.len());
        let mut captured = vec![(0, 0); STATIONS];
        let mut reader = CaptureReader::new(&octets[..]).expect("a capture");
        let (mut latest, mut backward) = (0, 0);
        while let Some(packet) = reader.read_packet().expect("a whole capture") {
            let counts = &mut captured[packet.interface as usize];
            if packet.errors.is_any() {
                counts.1 += 1;
                assert!(packet.data.len() < 60);
            } else {
                counts.0 += 1;
                assert_eq!((packet.original, packet.data.len()), (60, 60));
                assert_eq!(u32::from(packet.data[11]), packet.interface);
            }
            let at = packet.time_ns.expect("a time");
            backward += u64::from(at < latest);
            latest = latest.max(at);
        }
        assert_eq!(captured, counted);
        // A logical collision begins in the MAC, while another station is on the line.
        assert!(has_plca || backward == 0);
        let explained = explain(&octets[..], |_| true).expect("a capture");
        assert_eq!((explained.packets, explained.damaged), (frames, collisions));
    }
}

#[test]
fn the_waits_of_every_station_are_those_of_its_backoff() {
    for step_ps in [300_000, 5_000_000] {
        let bus = bus_with(false, step_ps, &json!({"rule": "linear", "limit": 10}));
        let (mut capture, file, mut client) = begun(options(None, u64::MAX));
        let counted = played(&bus, &mut capture, 900);
        capture.end().wait();
        assert_eq!(line(&mut client)["dropped"], 0);
        let explained = explain(&octets(file)[..], |_| true).expect("a capture");
        assert_eq!(explained.interfaces[4], "station-5");
        let segment = explained.segment.expect("attempts");
        assert_eq!((segment.bit_ps, segment.has_logical), (100_000, false));
        let mut largest = Vec::new();
        for (station, &(frames, collisions)) in segment.stations.iter().zip(&counted) {
            assert_eq!((station.attempts, station.collisions), (frames + collisions, collisions));
            // On 20 us a station may start before it has heard short collisions far away.
            let most = if step_ps > 1_000_000 { station.collisions / 20 } else { 0 };
            assert!(station.unexplained <= most && station.left_out == 0);
            let waits: u64 = station.waits.values().sum();
            // Each collision is followed by an attempt, but the last one, and those of frames given up.
            let ended = waits + station.unexplained + station.given_up.values().sum::<u64>();
            assert!(waits > 50 && (ended..=ended + 1).contains(&collisions), "{waits}");
            largest.push(station.waits.keys().map(|&(n, least, _)| (least, n)).collect::<Vec<_>>());
        }
        let exponential = largest[..4].iter().flatten();
        assert!(exponential.clone().all(|&(least, n)| least < 1 << n.min(10)));
        assert!(exponential.clone().any(|&(least, n)| least > n.min(10)), "no linear backoff");
        assert!(largest[4].iter().all(|&(least, n)| least <= n.min(10)));
    }
}

#[test]
fn a_capture_ends_with_its_frames_and_what_comes_beyond_its_size_is_counted() {
    let bus = bus(false, 300_000);
    let (mut capture, file, mut client) = begun(options(Some(100), u64::MAX));
    played(&bus, &mut capture, 200);
    assert!(capture.is_over());
    capture.end().wait();
    let account = line(&mut client);
    assert_eq!((&account["frames"], &account["ended"]), (&json!(100), &json!("frames")));
    assert_eq!(explain(&octets(file)[..], |_| true).expect("a capture").dropped.by_system, Some(0));

    let (mut capture, file, mut client) = begun(options(None, 10_000));
    let counted = played(&bus, &mut capture, 200);
    capture.end().wait();
    let account = line(&mut client);
    assert_eq!(account["ended"], "relay");
    let octets = octets(file);
    assert!(octets.len() <= 10_000 && octets.len() > 9_000, "{}", octets.len());
    let all: u64 = counted.iter().map(|(frames, collisions)| frames + collisions).sum();
    let number = |key: &str| account[key].as_u64().expect("a count");
    assert_eq!(number("frames") + number("beyond_size"), all);
}

#[test]
fn without_an_empty_buffer_frames_are_dropped_and_counted_and_nothing_waits() {
    let bus = bus(false, 300_000);
    let mut medium = EmulatedMedium::new(&bus, false).expect("real hosts");
    let (mut capture, file, mut client) = begun(options(None, u64::MAX));
    drop(medium.record(capture.recorder(capture.begun_ns)));
    capture.empty.clear(); // as if the writer were slow
    let mut offered = 0;
    for step in 1..=1500 {
        for station in 0..5 {
            medium.offer((step - 1) * 1000 * US, station, &[&[0xFF; 60]]);
            offered += 1;
        }
        medium.advance(step * 1000 * US);
        let now_ns = due_ns(&capture);
        capture.exchange(&mut medium.recorder().expect("it is captured").buffer, now_ns);
        while medium.next_delivery().is_some() {
            medium.forget();
        }
    }
    let counted = (0..5).map(|station| medium.station(station).0);
    let all: u64 = counted.map(|station| station.frames + station.collisions).sum();
    assert!(all >= offered);
    let (.., recorder) = medium.finish_recorded();
    capture.take_back(recorder.expect("it is captured"));
    capture.end().wait();
    let account = line(&mut client);
    let number = |key: &str| account[key].as_u64().expect("a count");
    assert!(number("dropped") > 0);
    assert_eq!(number("frames") + number("dropped"), all);
    let explained = explain(&octets(file)[..], |_| true).expect("a capture");
    assert_eq!(explained.dropped.by_system, Some(number("dropped")));
}

#[test]
fn a_buffer_is_handed_over_half_full_while_the_writer_has_another() {
    let bus = bus(false, 300_000);
    let (mut capture, _file, _client) = begun(options(None, u64::MAX));
    let (queue, held) = sync_channel(BUFFERS); // as if the writer waited for its disk
    capture.full = queue;
    let counted = played(&bus, &mut capture, 1200);
    let all: u64 = counted.iter().map(|(frames, collisions)| frames + collisions).sum();
    let most = 1 << 13; // attempts of a buffer
    let kept: Vec<usize> = held.try_iter().map(|buffer| buffer.attempts.len()).collect();
    assert!(kept.len() > 1 && kept[1..].iter().all(|&attempts| attempts > most / 2), "{kept:?}");
    let rest = capture.buffer.take().expect("it was taken back");
    assert_eq!(rest.dropped, [0; STATIONS]);
    assert_eq!(kept.iter().sum::<usize>() + rest.attempts.len(), usize::try_from(all).unwrap());
}

#[test]
fn a_client_that_is_gone_ends_its_capture() {
    let (capture, _, client) = begun(options(None, u64::MAX));
    drop(client);
    let begin = std::time::Instant::now();
    while !capture.is_over() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(capture.is_over());
    capture.end().wait();
}

#[test]
fn options_out_of_range_are_refused() {
    assert_eq!(options(None, 1).fault(STATIONS), None);
    let fault = options(None, 1).fault(STATIONS - 1).expect("more names than stations");
    assert_eq!(fault, "names: must be 1 to 4, got 5");
    let short = CaptureOptions { snap_octets: 63, ..options(None, 1) };
    let fault = short.fault(STATIONS).expect("too short");
    assert_eq!(fault, "snap_octets: must be from 64 to 65536, got 63");
}
