//! The experimental Ethernet emulated: packets of coders in real frames, turnaround times and load
//! registers, against a simulation of the same trial, to the picosecond.

use ethermeter_net::wire::{
    FrameWindow, FrameHeader, MarkKind, MacAddress, Mark, VoiceMark, HEADER_OCTETS, MARK_OCTETS,
};
use ethermeter_relay::medium::EmulatedMedium;
use ethermeter_simulator::shared::SharedSegment;
use ethermeter_simulator::mac::transmitter::{Attempt, Ending};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_trial::counts::StationVoice;
use ethermeter_trial::{Counts, Trial};
use proptest::prelude::*;
use serde_json::{json, Value};

const US: u64 = 1_000_000;
const MS: u64 = 1000 * US;
const LENGTH: u64 = 300 * MS;
/// When the measured window begins.
const FROM: u64 = 100 * MS;
/// When the medium begins, in the hosts' time.
const BEGAN_NS: u64 = 7_000_000_123;
const FCS_OCTETS: usize = 4;

/// What a station sends: frames and arrivals, as in a plan.
#[derive(Clone, Debug)]
struct Traffic {
    frames: Value,
    arrivals: Value,
    service: Value,
}

fn voice(octets: (u64, u64), sample_us: u64, spurts: &Value, service_us: u64) -> Traffic {
    Traffic {
        frames: json!({"kind": "samples", "overhead_bits": 0, "min_bits": 8 * octets.0,
            "max_bits": 8 * octets.1}),
        arrivals: json!({"kind": "coder", "sample_bits": 16, "sample_ps": sample_us * US,
            "spurts": spurts}),
        service: json!({"kind": "uniform", "low_ps": 0, "high_ps": service_us * US}),
    }
}

fn data(octets: u64, arrivals: Value) -> Traffic {
    let frames = json!({"kind": "fixed", "bits": 8 * octets});
    Traffic { frames, arrivals, service: json!({"kind": "constant", "ps": 0}) }
}

/// Stations of 3 Mb/s at up to three attachment points.
fn trial(seed: u64, turnaround_ps: u64, ticks: bool, stations: &[Traffic]) -> Trial {
    let csma_cd = json!({"slot_bits": 112, "gap_bits": u64::from(turnaround_ps == 0),
        "gap_part1_bits": 0, "preamble_bits": 1, "jam_bits": 8, "turnaround_ps": turnaround_ps});
    let name = |at: usize| format!("h{at}");
    let station = |at: usize| {
        json!({"node": name(at), "points": [at % 3], "clock_error_ppb": 50_000,
            "after_attempt_limit": "resume",
            "backoff": {"rule": "load-register", "bits": 8, "clock_ps": 170_000, "ticks": ticks}})
    };
    let flow = |(at, of): (usize, &Traffic)| {
        json!({"name": format!("f{at}"), "from": name(at), "frames": of.frames,
            "arrivals": of.arrivals, "service": of.service})
    };
    let count = stations.len();
    let medium = json!({"name": "cable", "bit_ps": 340_000, "mac": {"csma_cd": csma_cd},
        "delay_ps": [[0, 1_375_000, 2_750_000], [1_375_000, 0, 1_375_000], [2_750_000, 1_375_000, 0]],
        "stations": (0..count).map(station).collect::<Vec<_>>()});
    let phases = json!({"begin_ps": 10 * MS, "stop_ps": LENGTH, "measure_from_ps": FROM,
        "measure_to_ps": LENGTH - 20 * MS, "end_ps": LENGTH, "spread_ps": 20 * MS});
    let nodes: Vec<Value> =
        (0..count).map(|at| json!({"name": name(at), "kind": {"host": {}}})).collect();
    let scenario = json!({"nodes": nodes, "media": [medium], "phases": phases,
        "flows": stations.iter().enumerate().map(flow).collect::<Vec<_>>()});
    serde_json::from_value(json!({"id": "x", "seed": seed, "scenario": scenario})).expect("a trial")
}

/// A message of a stream from a station to all, of so many bits.
fn message(station: u32, sequence: u64, bits: u64) -> Vec<u8> {
    let mut frame = vec![0xAA; usize::try_from(bits / 8).expect("a frame") - FCS_OCTETS];
    let source = MacAddress([2, 0, 0, 0, 0, u8::try_from(station).expect("few")]);
    FrameHeader { destination: MacAddress::BROADCAST, source, priority: None }.emit(&mut frame);
    let stream = u16::try_from(station).expect("few");
    Mark { kind: MarkKind::Stream, experiment: 3, stream, sequence, sent_ns: 0 }
        .emit(&mut frame[HEADER_OCTETS..]);
    frame
}

/// What hosts hear: of each message once, its length, its mark and what it holds.
type Heard = Vec<(usize, Mark, Option<VoiceMark>)>;

/// The attempts of an emulated segment: hosts with coders and saturated ones have all their frames
/// ahead, those of the others come when they do in the simulation.
fn emulated(trial: &Trial, simulated: &[Attempt]) -> (Counts, Vec<Attempt>, Heard) {
    let bus = SharedSegment::new(trial).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, true).expect("real hosts");
    medium.begin_at(BEGAN_NS);
    for (station, flow) in (0..).zip(&trial.scenario.flows) {
        let of_station = simulated.iter().filter(|a| a.station.number() == station);
        let mut stamps: Vec<(u64, u64)> =
            of_station.map(|a| (a.arrived.ps(), a.length.0)).collect();
        let (_, most_bits) = flow.frames.range_bits();
        match flow.arrivals {
            Arrivals::Poisson { .. } => {
                stamps.sort_unstable();
                stamps.dedup();
            }
            _ => stamps = vec![(0, most_bits); stamps.len() + 5],
        }
        for (sequence, (at, bits)) in (0..).zip(stamps) {
            medium.offer(at, station, &[&message(station, sequence, bits)]);
        }
    }
    let mut deliveries = Heard::new();
    let mut until = 0;
    while until < LENGTH + 10 * MS {
        until += 700 * US;
        medium.advance(until);
        while let Some((delivery, octets)) = medium.next_delivery() {
            let window = FrameWindow::checked(octets).expect("a message");
            let from = u32::from(window.header().source.0[5]);
            // Of all that hear it, one that is not its sender.
            if delivery.station == u32::from(from == 0) {
                let mark = Mark::read(window.payload()).expect("a mark");
                let speech = VoiceMark::read(window.payload()).ok();
                deliveries.push((octets.len() + FCS_OCTETS, mark, speech));
            }
            medium.forget();
        }
    }
    assert_eq!(medium.violations, 0);
    assert!((0..medium.stations()).all(|station| medium.station(station).0.starved == 0));
    let (counts, attempts) = medium.finish();
    (counts, attempts, deliveries)
}

/// Check that an emulated segment does what a simulated one does, and that hosts hear of each
/// packet what it holds.
fn agree(trial: &Trial) -> (Counts, Heard) {
    let (counts, simulated) = crate::medium::simulated(trial);
    let (emulated_counts, attempts, deliveries) = emulated(trial, &simulated);
    let differs = attempts.iter().zip(&simulated).find(|(a, b)| a != b);
    assert!(differs.is_none(), "{differs:?}");
    assert_eq!(attempts.len(), simulated.len());
    assert_eq!(emulated_counts.stations.frames, counts.stations.frames);
    assert_eq!(emulated_counts.stations.collisions, counts.stations.collisions);
    assert_eq!(emulated_counts.stations.delay_ps, counts.stations.delay_ps);
    assert_eq!(emulated_counts.media, counts.media);
    assert_eq!(emulated_counts.stations.voice, counts.stations.voice);
    for (station, flow) in (0..).zip(&trial.scenario.flows) {
        if flow.voice().is_some() {
            hear_each_packet(station, &attempts, &deliveries);
        }
    }
    (emulated_counts, deliveries)
}

/// Every packet that a station sent came with the samples that it held, of its length.
fn hear_each_packet(station: u16, attempts: &[Attempt], deliveries: &Heard) {
    let sent = attempts
        .iter()
        .filter(|a| a.station.number() == u32::from(station) && a.ending == Ending::Delivered && !a.damaged);
    let mut packets = deliveries.iter().filter(|(_, mark, _)| mark.stream == station);
    let mut sequence = None;
    for attempt in sent {
        let Some((octets, mark, speech)) = packets.next() else {
            // Sent at the very end, and not yet heard.
            assert!(attempt.end.ps() + 5 * MS > LENGTH);
            break;
        };
        assert_eq!(mark.kind, MarkKind::Voice);
        assert!(sequence.is_none_or(|before| before < mark.sequence));
        sequence = Some(mark.sequence);
        let speech = speech.expect("voice");
        assert_eq!(u32::from(speech.samples), attempt.samples);
        let made_ns = BEGAN_NS + attempt.arrived.ps() / 1000;
        assert_eq!(speech.made_ns, made_ns);
        let is_in_window = (FROM..LENGTH - 20 * MS).contains(&attempt.arrived.ps());
        assert_eq!(speech.is_oldest_measured, is_in_window);
        assert!(speech.measured <= speech.samples);
        // A mark of voice has 29 octets, and the header 14.
        let least = HEADER_OCTETS + MARK_OCTETS + 11 + FCS_OCTETS;
        assert_eq!(*octets, usize::try_from(attempt.length.0 / 8).expect("short").max(least));
    }
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let spurts = prop_oneof![
        Just(Value::Null),
        (5u32..60, 5u32..60).prop_map(|(talk_ms, silence_ms)| {
            json!({"talk_mean_ps": f64::from(talk_ms) * 1e9,
                "silence_mean_ps": f64::from(silence_ms) * 1e9})
        })
    ];
    let talkers = (32u64..100, 1u64..10, 20u64..300, spurts, 0u64..1000).prop_map(
        |(least, times, sample_us, spurts, service_us)| {
            voice((2 * least, 2 * least * times), sample_us, &spurts, service_us)
        },
    );
    let poisson = (64u64..600, 1u64..30).prop_map(|(octets, every_ms)| {
        data(octets, json!({"kind": "poisson", "mean_ps": every_ms * MS}))
    });
    prop_oneof![
        6 => talkers,
        1 => poisson,
        1 => (64u64..600).prop_map(|octets| data(octets, json!({"kind": "saturated"})))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn cards_with_coders_clocks_and_turnaround_times_do_what_simulated_stations_do(
        seed: u64,
        turnaround_us in 0..12u64,
        ticks: bool,
        stations in proptest::collection::vec(traffic(), 2..14),
    ) {
        agree(&trial(seed, turnaround_us * US, ticks, &stations));
    }
}

fn measured_samples(deliveries: &Heard) -> u64 {
    deliveries.iter().filter_map(|(_, _, speech)| *speech).map(|it| u64::from(it.measured)).sum()
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().sum()
}

#[test]
fn hosts_of_the_study_hear_the_samples_that_the_medium_delivered() {
    for (hosts, most, is_full) in [(8, 512, false), (30, 64, true)] {
        let host = voice((32, most), 152, &Value::Null, 1000);
        let (counts, deliveries) = agree(&trial(1982, 6 * US, true, &vec![host; hosts]));
        let StationVoice { samples, samples_delivered, samples_lost, samples_buffered, .. } =
            counts.stations.voice.expect("voice");
        assert_eq!(sum(&samples_lost) > 0, is_full);
        assert_eq!(
            sum(&samples),
            sum(&samples_delivered) + sum(&samples_lost) + sum(&samples_buffered)
        );
        // What was in a buffer at the end of the window is heard after it, unless it makes room.
        let samples_heard = measured_samples(&deliveries);
        assert!(samples_heard >= sum(&samples_delivered));
        assert!(samples_heard <= sum(&samples_delivered) + sum(&samples_buffered));
    }
}

#[test]
fn cards_with_packet_buffers_discard_what_simulated_stations_discard() {
    for (hosts, most) in [(8, 64), (30, 64), (30, 512)] {
        let mut host = voice((most, most), 152, &Value::Null, 38);
        host.frames["buffers"] = json!(3);
        // Longer than a packet fills: 31 and 255 samples.
        host.frames["discard_after_ps"] = json!(most * 90 * US);
        let (counts, _) = agree(&trial(1982, 10 * US, false, &vec![host; hosts]));
        let voice = counts.stations.voice.expect("voice");
        let accounted =
            sum(&voice.samples_delivered) + sum(&voice.samples_lost) + sum(&voice.samples_buffered);
        assert_eq!(sum(&voice.samples), accounted);
        assert_eq!(sum(&voice.samples_lost) > 0, hosts == 30);
    }
}

#[test]
fn a_host_without_a_frame_for_its_packet_is_starved_and_its_samples_gather() {
    let host = voice((64, 1024), 100, &Value::Null, 0);
    let trial = trial(2, 6 * US, true, &[host.clone(), host]);
    let bus = SharedSegment::new(&trial).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, true).expect("real hosts");
    medium.offer(50 * MS, 0, &[&message(0, 0, 8 * 1024)]);
    medium.advance(100 * MS);
    assert_eq!(medium.station(0).0.starved, 1);
    let (_, attempts) = medium.finish();
    let [attempt] = attempts[..] else { panic!("one frame came: {attempts:?}") };
    assert_eq!(attempt.start.ps(), 50 * MS + 6 * US);
    // All samples since the host began, which is 20 to 40 ms ago.
    assert!((200..400).contains(&attempt.samples), "{attempt:?}");
    assert!(attempt.arrived.ps() < 30 * MS + 100 * US);
}

#[test]
fn a_frame_that_is_no_message_is_cut_and_not_marked() {
    let host = voice((64, 1024), 100, &Value::Null, 0);
    let trial = trial(3, 6 * US, true, &[host.clone(), host]);
    let bus = SharedSegment::new(&trial).expect("a segment");
    let mut medium = EmulatedMedium::new(&bus, false).expect("real hosts");
    let frame = [0xFF; 500];
    medium.offer(0, 0, &[&frame]);
    medium.advance(100 * MS);
    let (_, octets) = medium.next_delivery().expect("a frame");
    assert!((60..80).contains(&octets.len()), "{}", octets.len());
    assert_eq!(octets, &frame[..octets.len()]);
}

#[test]
fn packets_that_real_frames_cannot_hold_are_refused_by_their_key() {
    for (least, most, overhead_bits, words) in [
        (32, 46, 0, "max_bits of 376 at least"),
        (64, 512, 4, "whole octets"),
        (64, 200_000, 0, "at most 65535 samples"),
    ] {
        let mut host = voice((least, most), 100, &Value::Null, 0);
        host.frames["overhead_bits"] = json!(overhead_bits);
        let trial = trial(1, 6 * US, true, &[host.clone(), host]);
        let bus = SharedSegment::new(&trial).expect("a segment");
        let fault = EmulatedMedium::new(&bus, false).err().expect("a fault").to_string();
        assert!(fault.starts_with("flows[0].frames") && fault.contains(words), "{fault}");
    }
}
