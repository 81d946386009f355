//! An emulated segment against a simulation of the same trial: with the same arrivals it has the
//! same attempts, counts and deliveries, to the picosecond.

use ethermeter_relay::medium::EmulatedMedium;
use ethermeter_simulator::shared::SharedSegment;
use ethermeter_simulator::mac::transmitter::{Attempt, Ending};
use ethermeter_simulator::plan::Plan;
use ethermeter_simulator::Watch;
use ethermeter_traffic::times::Times;
use ethermeter_trial::{Counts, Trial};
use proptest::prelude::*;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

const BIT: u64 = 100_000;
const US: u64 = 1_000_000;
const MS: u64 = 1000 * US;

fn csma_cd() -> Value {
    json!({"slot_bits": 512, "gap_bits": 96, "gap_part1_bits": 64, "preamble_bits": 64,
        "jam_bits": 32})
}

fn clause_148() -> Value {
    json!({"plca": {"csma_cd": csma_cd(), "end_delimiter_bits": 8, "beacon_bits": 20,
        "beacon_detection_bits": 22, "invalid_beacon_bits": 40, "delay_line_bits": 396,
        "pending_bits": 512, "commit_bits": 288, "status_bits": 130_090}})
}

fn rare() -> Value {
    json!({"kind": "poisson", "mean_ps": 1e15})
}

/// Stations in a line, `step_ps` apart, each with its own frame length and arrivals.
fn trial(seed: u64, mac: &Value, step_ps: u64, stations: &[(u64, Value)], length_ps: u64) -> Trial {
    let count = stations.len();
    let delay = |a: usize, b: usize| a.abs_diff(b) as u64 * step_ps;
    let row = |a| (0..count).map(|b| delay(a, b)).collect::<Vec<_>>();
    let nodes: Vec<Value> =
        (0..count).map(|at| json!({"name": format!("h{at}"), "kind": {"host": {}}})).collect();
    let has_plca = mac.get("plca").is_some();
    let of_medium = |at: usize| {
        let mut station = json!({"node": format!("h{at}"), "points": [at]});
        if has_plca {
            station["plca"] = json!({"ids": [[at]], "node_count": count, "opportunity_bits": 32,
                "burst_bits": 128});
        }
        station
    };
    let flow = |(at, (octets, arrivals)): (usize, &(u64, Value))| {
        json!({"name": format!("f{at}"), "from": format!("h{at}"), "arrivals": arrivals,
            "frames": {"kind": "fixed", "bits": 8 * octets}})
    };
    let medium = json!({"name": "bus", "bit_ps": BIT, "mac": mac,
        "delay_ps": (0..count).map(row).collect::<Vec<_>>(),
        "stations": (0..count).map(of_medium).collect::<Vec<_>>()});
    let phases = json!({"begin_ps": 0, "stop_ps": length_ps, "measure_from_ps": length_ps / 10,
        "measure_to_ps": length_ps, "end_ps": length_ps, "spread_ps": 50 * US});
    let scenario = json!({"nodes": nodes, "media": [medium], "phases": phases,
        "flows": stations.iter().enumerate().map(flow).collect::<Vec<_>>()});
    serde_json::from_value(json!({"id": "x", "seed": seed, "scenario": scenario})).expect("a trial")
}

/// What a simulation of the trial has, event by event.
pub fn simulated(trial: &Trial) -> (Counts, Vec<Attempt>) {
    let plan = Plan::new(trial, None).expect("a valid trial");
    let run = plan.run_reference(&Watch::default(), true).expect("a run");
    (run.counts, run.attempts)
}

/// A frame of so many bits, check sequence included, from a station to all.
fn frame(station: u32, bits: u64) -> Vec<u8> {
    let mut octets = vec![0xFF; usize::try_from(bits / 8).expect("a frame") - 4];
    octets[6..12].copy_from_slice(&[2, 0, 0, 0, 0, u8::try_from(station).expect("few")]);
    octets
}

/// Arrivals of a simulation, by time.
fn arrivals(attempts: &[Attempt]) -> Vec<(u64, u32, u64)> {
    let of = |a: &Attempt| (a.arrived.ps(), a.station.number(), a.length.0);
    let mut sorted: Vec<_> = attempts.iter().map(of).collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_same_arrivals_give_the_same_attempts(
        seed: u64,
        has_plca: bool,
        step_ps in 1..900_000u64,
        loads in proptest::collection::vec((64..1519u64, proptest::option::of(300..6000u64)), 2..7),
        chunk_us in 1..2000u64,
    ) {
        let of = |&(octets, every_us): &(u64, Option<u64>)| {
            let poisson = |us| json!({"kind": "poisson", "mean_ps": us * US});
            (octets, every_us.map_or_else(|| json!({"kind": "saturated"}), poisson))
        };
        let stations: Vec<(u64, Value)> = loads.iter().map(of).collect();
        let mac = if has_plca { clause_148() } else { json!({"csma_cd": csma_cd()}) };
        let trial = trial(seed, &mac, step_ps, &stations, 60 * MS);
        let bus = SharedSegment::new(&trial).expect("a segment");
        let (counts, attempts) = simulated(&trial);
        let mut medium = EmulatedMedium::new(&bus, true).expect("real hosts");
        let mut all = arrivals(&attempts);
        let (mut deliveries, mut until_ps) = (0, 0);
        while until_ps < 60 * MS {
            until_ps = (until_ps + chunk_us * US).min(60 * MS);
            // Stamps are known when they are decided on, in no order of the stations.
            let (mut known, later): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|&(at, ..)| at < until_ps);
            all = later;
            known.sort_by_key(|&(at, station, _)| (station, at));
            for (at, station, bits) in known {
                let octets = frame(station, bits);
                let (head, rest) = octets.split_at(13);
                medium.offer(at, station, &[head, rest]);
            }
            medium.advance(until_ps);
            while let Some((delivery, octets)) = medium.next_delivery() {
                prop_assert!(delivery.at_ps < until_ps);
                prop_assert_ne!(u32::from(octets[11]), delivery.station);
                deliveries += 1;
                medium.forget();
            }
        }
        medium.advance(65 * MS); // what is on the line at the end is sent
        prop_assert_eq!(medium.violations, 0);
        let sent = attempts.iter().filter(|a| a.ending == Ending::Delivered).count();
        let damaged = attempts.iter().filter(|a| a.damaged).count();
        let others = loads.len() - 1;
        // The last ones may not have been heard by all when the trial ended.
        prop_assert!(deliveries <= sent * others);
        prop_assert!(deliveries + others * (damaged + loads.len()) >= sent * others);
        let (emulated, emulated_attempts) = medium.finish();
        let differs = emulated_attempts.iter().zip(&attempts).find(|(a, b)| a != b);
        prop_assert!(differs.is_none(), "{:?}", differs);
        prop_assert_eq!(emulated_attempts.len(), attempts.len());
        prop_assert_eq!(&emulated.stations.frames, &counts.stations.frames);
        prop_assert_eq!(&emulated.stations.delay_ps, &counts.stations.delay_ps);
        if !has_plca {
            // A frame that met only logical collisions by the end is no attempt on the line, so
            // that it is not among the arrivals here.
            prop_assert_eq!(&emulated.stations.collisions, &counts.stations.collisions);
        }
    }
}

fn idle(seed: u64, stations: usize) -> Trial {
    let stations = vec![(64, rare()); stations];
    trial(seed, &json!({"csma_cd": csma_cd()}), US, &stations, 60 * MS)
}

#[test]
fn a_frame_goes_to_the_addressed_once_it_was_heard_of() {
    let bus = SharedSegment::new(&idle(1, 3)).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, false).expect("real hosts");
    let address = |station: u8| [2, 0, 0, 0, 0, station];
    let mut send = |at_us: u64, from: u8, to: [u8; 6]| {
        let octets = [&to[..], &address(from), &[0; 48]].concat();
        medium.offer(at_us * US, u32::from(from), &[&octets]);
        medium.advance((at_us + 500) * US);
        let mut reached = Vec::new();
        while let Some((delivery, _)) = medium.next_delivery() {
            reached.push((delivery.station, delivery.at_ps - at_us * US));
            medium.forget();
        }
        reached
    };
    // 8 octets of preamble and 64 of frame at 10 Mb/s, and 1 µs of cable from station to station.
    let frame_ps = 72 * 8 * BIT;
    assert_eq!(send(0, 0, address(1)), [(1, frame_ps + US), (2, frame_ps + 2 * US)]); // 1 was not heard
    assert_eq!(send(1000, 1, address(0)), [(0, frame_ps + US)]);
    assert_eq!(send(2000, 0, address(1)), [(1, frame_ps + US)]);
    assert_eq!(send(3000, 0, [0xFF; 6]), [(1, frame_ps + US), (2, frame_ps + 2 * US)]);
}

#[test]
fn a_frame_for_an_address_whose_station_is_known_goes_there_alone_before_it_was_heard() {
    let bus = SharedSegment::new(&idle(1, 3)).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, false).expect("real hosts");
    medium.attach([2, 0, 0, 0, 0, 1], 1);
    let octets = [&[2, 0, 0, 0, 0, 1][..], &[2, 0, 0, 0, 0, 0], &[0; 48]].concat();
    medium.offer(0, 0, &[&octets]);
    medium.advance(500 * US);
    assert_eq!(medium.next_delivery().map(|(delivery, _)| delivery.station), Some(1));
    medium.forget();
    assert!(medium.next_delivery().is_none());
}

#[test]
fn a_stamp_that_comes_too_late_is_a_violation_and_its_frame_arrives_now() {
    let bus = SharedSegment::new(&idle(2, 3)).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, true).expect("real hosts");
    medium.advance(1000 * US);
    medium.offer(400 * US, 1, &[&frame(1, 512)]);
    medium.offer(1001 * US, 0, &[&frame(0, 512)]);
    medium.advance(2000 * US);
    assert_eq!((medium.violations, medium.too_late.max_ps()), (1, 600 * US));
    let (_, attempts) = medium.finish();
    assert_eq!(attempts[0].arrived.ps(), 1000 * US);
}

#[test]
fn a_full_card_drops_and_nothing_else_is_lost() {
    let mut trial = idle(3, 2);
    trial.scenario.flows[0].queue_frames = Some(4);
    trial.scenario.phases.measure_from_ps = 0;
    let bus = SharedSegment::new(&trial).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, false).expect("real hosts");
    for number in 0..10 {
        medium.offer(number, 0, &[&frame(0, 512)]);
    }
    medium.advance(60 * MS);
    assert_eq!(medium.frames(), 4); // delivered, and not yet taken
    let mut deliveries = 0;
    while medium.next_delivery().is_some() {
        medium.forget();
        deliveries += 1;
    }
    assert_eq!((deliveries, medium.frames()), (4, 0));
    let (counts, _) = medium.finish();
    assert_eq!((counts.stations.offered[0], counts.stations.dropped[0]), (10, 6));
    assert_eq!(counts.stations.frames[0], 4);
}

#[test]
fn a_card_has_room_for_octets_and_keeps_its_largest_queue_and_access_delay() {
    let trial = idle(1, 2);
    let bus = SharedSegment::new(&trial).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, false).expect("real hosts");
    medium.limit(0, 2 * 1518);
    // Two of 1518 octets fill it; the third finds room again when the first has been sent.
    let packet = (64 + 8 * 1518) * BIT;
    for at_ps in [10 * MS, 10 * MS, 10 * MS, 10 * MS + packet + US] {
        medium.offer(at_ps, 0, &[&frame(0, 8 * 1518)]);
    }
    medium.advance(50 * MS);
    let (totals, _) = medium.station(0);
    assert_eq!((totals.arrived, totals.frames, totals.dropped), (4, 3, 1));
    assert_eq!((totals.queue_most, totals.queue_octets_most), (2, 2 * 1518));
    // Access begins when the frame before has left, and takes a gap.
    let gap = 96 * BIT;
    assert_eq!(totals.access_most_ps, gap);
}

#[test]
fn saturated_hosts_that_keep_ahead_have_the_attempts_of_the_simulation() {
    let stations: Vec<(u64, Value)> =
        [64, 512, 1518, 64].map(|octets| (octets, json!({"kind": "saturated"}))).to_vec();
    let mut trial = trial(7, &json!({"csma_cd": csma_cd()}), US, &stations, 60 * MS);
    trial.scenario.flows[1].service = Times::Uniform { low_ps: 0, high_ps: 200 * US };
    let bus = SharedSegment::new(&trial).expect("a segment");
    let (counts, attempts) = simulated(&trial);
    let mut medium = EmulatedMedium::new(&bus, true).expect("real hosts");
    // Each host has four frames in its card, and sends another for each that leaves.
    let send = |medium: &mut EmulatedMedium<'_>, at_ps, station: u32| {
        let bits = 8 * stations[station as usize].0;
        medium.offer(at_ps, station, &[&frame(station, bits)]);
    };
    for station in (0..4).flat_map(|station| [station; 4]) {
        send(&mut medium, 0, station);
    }
    let mut left = [0; 4];
    for until_ps in (0..=60 * MS).step_by(20_000_000) {
        medium.advance(until_ps);
        while let Some(station) = medium.next_finished() {
            let finished = medium.station(station).0.finished();
            (left[station as usize]..finished).for_each(|_| send(&mut medium, until_ps, station));
            left[station as usize] = finished;
        }
    }
    assert!((0..4).all(|station| medium.station(station).0.starved == 0));
    medium.advance(65 * MS);
    let (emulated, emulated_attempts) = medium.finish();
    assert_eq!(emulated_attempts, attempts);
    assert_eq!(emulated.stations.offered, counts.stations.offered);
    assert_eq!(emulated.media, counts.media);
}

#[test]
fn a_saturated_host_that_falls_behind_is_counted_and_its_frame_arrives_when_it_comes() {
    let stations = [(64, json!({"kind": "saturated"})), (64, rare())];
    let trial = trial(8, &json!({"csma_cd": csma_cd()}), US, &stations, 60 * MS);
    let bus = SharedSegment::new(&trial).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, true).expect("real hosts");
    for at_us in [1000, 2000] {
        medium.offer(at_us * US, 0, &[&frame(0, 512)]);
    }
    medium.advance(3 * MS);
    assert_eq!(medium.station(0).0.starved, 2);
    let (_, attempts) = medium.finish();
    let starts: Vec<u64> = attempts.iter().map(|attempt| attempt.start.ps()).collect();
    assert_eq!(starts, [1000, 2000].map(|us| us * US));
}

#[test]
fn the_service_time_of_a_host_follows_each_of_its_frames() {
    let mut trial = trial(9, &json!({"csma_cd": csma_cd()}), US, &[(64, rare()), (64, rare())], MS);
    trial.scenario.flows[0].service = Times::Constant { ps: 300 * US };
    let bus = SharedSegment::new(&trial).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, true).expect("real hosts");
    for at_us in [100, 110, 900] {
        medium.offer(at_us * US, 0, &[&frame(0, 512)]);
    }
    medium.advance(MS);
    let (_, attempts) = medium.finish();
    // 57.6 us of preamble and frame, then the service time; the third frame comes after it.
    let starts: Vec<u64> = attempts.iter().map(|attempt| attempt.start.ps()).collect();
    assert_eq!(starts, [100_000_000, 457_600_000, 900_000_000]);
}

/// Frames as they came from hosts of a testbed, and what became of each of them: in a line the
/// time, the station and the octets; the start of each attempt and its ending; when who heard it.
/// Times are in ps. `RECORD_VALUES=1` records what is found.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/relay.txt");

/// What becomes of frames that come at these times, from these stations, with these octets.
fn replayed(mac: &Value, step_ps: u64, frames: &[(u64, u32, u64)]) -> String {
    let trial =
        trial(3, mac, step_ps, &[64, 64, 256, 1518].map(|octets| (octets, rare())), 60 * MS);
    let bus = SharedSegment::new(&trial).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, true).expect("real hosts");
    for (number, &(at_ps, station, octets)) in (0_u16..).zip(frames) {
        let mut content = frame(station, 8 * octets);
        content[14..16].copy_from_slice(&number.to_be_bytes());
        medium.offer(at_ps, station, &[&content]);
    }
    medium.advance(90 * MS);
    let mut deliveries = vec![String::new(); frames.len()];
    while let Some((delivery, octets)) = medium.next_delivery() {
        let number = usize::from(u16::from_be_bytes([octets[14], octets[15]]));
        write!(deliveries[number], " {}@{}", delivery.station, delivery.at_ps).expect("a text");
        medium.forget();
    }
    let mut sent: BTreeMap<(u64, u32), String> = BTreeMap::new();
    for of in medium.finish().1 {
        let outcome = sent.entry((of.arrived.ps(), of.station.number())).or_default();
        let late = if of.late { " late" } else { "" };
        let damaged = if of.damaged { " damaged" } else { "" };
        write!(outcome, " {} {:?}{late}{damaged},", of.start.ps(), of.ending).expect("a text");
    }
    let line = |(&(at_ps, station, octets), deliveries): (&(u64, u32, u64), &String)| {
        let outcome = sent.get(&(at_ps, station)).map_or("", String::as_str);
        format!("{at_ps} {station} {octets}:{outcome} heard{deliveries}\n")
    };
    frames.iter().zip(&deliveries).map(line).collect()
}

#[test]
fn recorded_arrivals_have_the_recorded_outcomes() {
    let recorded = std::fs::read_to_string(RECORDED).expect("a recording");
    let frame = |line: &str| {
        let mut words = line.split(':').next()?.split(' ').map(str::parse);
        let mut next = || words.next()?.ok();
        Some((next()?, u32::try_from(next()?).ok()?, next()?))
    };
    let part = |title: &str| recorded.split_once(title).map_or("", |(_, after)| after);
    let mut text = String::new();
    let macs =
        [("CSMA/CD\n", json!({"csma_cd": csma_cd()}), US), ("PLCA\n", clause_148(), US / 50)];
    for (title, mac, step_ps) in macs {
        let frames: Vec<_> = part(title).lines().map_while(frame).collect();
        assert_eq!(frames.len(), 200);
        write!(text, "{title}{}", replayed(&mac, step_ps, &frames)).expect("a text");
    }
    if std::env::var_os("RECORD_VALUES").is_some() {
        return std::fs::write(RECORDED, &text).expect("a file");
    }
    let differs = recorded.lines().zip(text.lines()).find(|(before, now)| before != now);
    assert_eq!(differs, None);
    assert_eq!(recorded, text);
}
