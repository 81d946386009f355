//! PLCA by its closed forms: cycles, access delays and shares of the line, to the bit time.

use ethermeter_simulator::time::{Instant, Span};
use crate::common::{replayed, run_bus, segment, Bus, IEEE_10, MS, US};
use ethermeter_simulator::plca::compiled::CompiledBus;
use ethermeter_simulator::plan::Plan;
use ethermeter_simulator::mac::transmitter::Ending;
use ethermeter_simulator::{plca, Watch};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_trial::medium::Mac;
use ethermeter_trial::plca::Interval;
use ethermeter_trial::Trial;
use proptest::prelude::*;

const BIT: u64 = 100_000;

#[test]
fn an_empty_cycle_is_a_beacon_and_an_opportunity_for_each_node() {
    // 20 + 9 · 32 bit times: 30.8 µs for a coordinator and 8 nodes
    let counts = run_bus(&Bus::of(9).idle());
    let plca = counts.media[0].plca.as_ref().expect("a bus");
    assert_eq!(plca.cycle.max_ps, 308 * BIT);
    assert_eq!(plca.cycle.sum_ps, u128::from(plca.cycle.count) * u128::from(308 * BIT));
    // The first cycle has no beacon before it, and the last one is not over.
    let cycles = plca.opportunities / 9;
    assert!(cycles == plca.cycle.count + 1 || cycles == plca.cycle.count + 2, "{plca:?}");
}

#[test]
fn the_longest_cycle_has_a_held_line_and_a_frame_of_each_node() {
    // 20 + (N + 1) · (8 · (L + 9) + 96) bit times
    for (nodes, octets, tenths_us) in
        [(9, 64, 6140), (17, 64, 11_580), (41, 64, 27_900), (9, 1518, 110_828)]
    {
        let counts = run_bus(&Bus::of(nodes).saturated(octets));
        let plca = counts.media[0].plca.as_ref().expect("a bus");
        assert_eq!(plca.cycle.max_ps, tenths_us * BIT, "{nodes} nodes, {octets} octets");
        println!("{:?}", counts.media[0].time_ps);
        println!("{:?} {:?}", plca.time_ps, plca.nodes.used);
    }
}

/// A bus with points some distance apart in a line.
fn line(nodes: u32, step_ps: u64) -> Vec<Vec<u64>> {
    let distance = |a: u32, b: u32| u64::from(a.abs_diff(b)) * step_ps;
    (0..nodes).map(|a| (0..nodes).map(|b| distance(a, b)).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Without PLCA a bus is a segment of CSMA/CD, to the picosecond.
    #[test]
    fn nodes_without_plca_are_those_of_a_segment(
        nodes in 2..7u32,
        step_ps in 1..40_000u64,
        loads in proptest::collection::vec(proptest::option::of(200..4000u64), 6),
        seed: u64,
    ) {
        let mut bus = Bus::of(nodes).with(|number, stations, flow| {
            stations.plca = None;
            stations.points = vec![u32::try_from(number).expect("few")];
            if let Some(mean_us) = loads[number % loads.len()] {
                #[allow(clippy::cast_precision_loss)]
                let mean_ps = (mean_us * US) as f64;
                flow.arrivals = Arrivals::Poisson { mean_ps };
            }
        });
        bus.plca.end_delimiter_bits = 0;
        bus.delay_ps = line(nodes, step_ps);
        let mut with = bus.trial();
        with.seed = seed;
        let mut without =
            segment(100_000, Mac::CsmaCd(IEEE_10), bus.delay_ps.clone(), &bus.groups, bus.length_ps);
        without.seed = seed;
        let compiled = CompiledBus::new(&with, &bus.plca).expect("a bus");
        let (_, found) = plca::reference::run(&compiled, &Watch::default(), true).expect("a run");
        let plan = Plan::new(&without, None).expect("a segment");
        let expected = plan.run_reference(&Watch::default(), true).expect("a run").attempts;
        prop_assert!(!expected.is_empty());
        prop_assert_eq!(found, expected);
    }
}

/// A bus of three, by hand, in bits: the coordinator C (ID 0), the follower F (ID 1) and P without
/// PLCA; two more IDs belong to nobody, so that a cycle is silent for 128 bits, longer than a gap.
/// All at one point; `e` is the end of a beacon.
///
/// - `e + 50`: C, whose opportunity has passed, begins a frame: HOLD.
/// - `e + 100`: P, silent since the gap of 96 after the beacon, begins its first frame. C collides
///   logically: its MAC ends its preamble and jams until `e + 50 + 96 = e + 146`, and is pending from
///   `e + 146 + 512 = e + 658` on.
/// - `e + 676`: P's frame is over, its delimiter at `e + 684`. P owes a gap until `e + 780`, in
///   which it watches no carrier. C sends a beacon until `e + 704`.
/// - `e + 704`: C's opportunity. It holds the line; its MAC hears silence and owes a gap until
///   `e + 800`.
/// - `e + 780`: P begins its second frame over the held line, and jams until `e + 876`.
/// - `e + 790`: F has a frame. **Neither signal can be received where they overlap** (Figure 147-7: the
///   PCS leaves COMMIT at a symbol that is neither SYNC nor SSD, and nothing but SYNC leads to a
///   frame), so that `receiving` is false since `e + 780`, the data machine of F is idle, and its MAC
///   begins at once: HOLD, for up to 396 bits.
/// - `e + 800`: C begins over P's jam, and jams until `e + 896`; its delimiter is over at `e + 904`.
/// - `e + 904`: silence. F leaves RECEIVE of the control machine, and the next opportunity is its own:
///   its frame goes out of the delay line.
///
/// Were frames received through what covers them, F would defer, owe a gap until `e + 992`, and have its
/// opportunity at `e + 1052`, after the next beacon.
#[test]
fn signals_that_overlap_are_not_received_so_that_the_next_node_takes_its_turn() {
    // The fourth beacon of a bus of four IDs without traffic: 128 bits before the first one.
    let end = 128 + 20 + 3 * (128 + 20);
    let frames = [[end + 50, 20_000], [end + 790, 20_000], [end + 100, end + 150]];
    let mut bus = Bus::of(3).with(|number, stations, flow| {
        match &mut stations.plca {
            Some(of_node) if number < 2 => of_node.node_count = 4,
            plca => *plca = None,
        }
        let times = frames[number].map(|at| at * BIT);
        flow.arrivals = replayed(&times, (&[], 1), (None, Some(0), 1.0));
    });
    // Nothing begins after this; what is on the line then is sent to its end.
    bus.length_ps = (end + 950) * BIT;
    let trial = bus.trial();
    let compiled = CompiledBus::new(&trial, &bus.plca).expect("a bus");
    let (counts, attempts) = plca::reference::run(&compiled, &Watch::default(), true).expect("a run");
    let bit = |at: Instant| at.ps() / BIT - end;
    let seen: Vec<_> = attempts
        .iter()
        .map(|a| (a.station.index(), bit(a.start), bit(a.end)))
        .collect();
    assert_eq!(seen, [(2, 100, 676), (2, 780, 876), (0, 800, 896), (1, 904, 1480)]);
    assert_eq!(attempts[3].ending, Ending::Delivered);
    let plca = counts.media[0].plca.as_ref().expect("a bus");
    assert_eq!(plca.nodes.logical_collisions[..2], [1, 0]);
}

/// The definition of the access delay: it begins when the frame before has left the line, not when
/// the MAC is free. A node alone on the bus takes its opportunity 32 to 180 bits after its MAC has
/// begun, so that the delay line gives the end of each frame so much later than the MAC.
#[test]
fn access_delays_begin_when_the_frame_before_has_left_the_line() {
    let bus = Bus::of(5).idle().with(|number, _, flow| {
        if number == 3 {
            flow.arrivals = Arrivals::Saturated {};
        }
    });
    let trial = bus.trial();
    let compiled = CompiledBus::new(&trial, &bus.plca).expect("a bus");
    let (_, attempts) = plca::reference::run(&compiled, &Watch::default(), true).expect("a run");
    let (gap, packet) = (Span::from_ps(96 * BIT), Span::from_ps((64 + 512) * BIT));
    let mut held = 0;
    for pair in attempts[4..].windows(2) {
        let (before, next) = (&pair[0], &pair[1]);
        assert_eq!((next.ending, next.attempts), (Ending::Delivered, 1));
        assert_eq!((next.taken_up, next.end - next.start), (before.end, packet));
        held += u64::from(next.start - next.taken_up > gap);
    }
    assert!(held > 1000, "{held} of {}", attempts.len());
}

/// A bus with anything wrong that may be.
fn faulty(nodes: u32, wrong: &[u32; 12], seed: u64) -> Trial {
    let at = |number: usize| u64::from(wrong[number % wrong.len()]);
    let mut bus = Bus::of(nodes).with(|number, stations, flow| {
        let of_node = stations.plca.as_mut().expect("PLCA");
        match at(number) % 8 {
            0 => of_node.ids = vec![vec![1]],
            1 => of_node.ids = vec![vec![0]],
            2 => of_node.opportunity_bits = 4,
            3 => of_node.falls_back = false,
            4 => of_node.off = vec![Interval { from_ps: 3 * MS, to_ps: (4 + at(number)) * MS }],
            5 => stations.down = vec![Interval { from_ps: 5 * MS, to_ps: (6 + at(number)) * MS }],
            _ => {}
        }
        of_node.burst_count = u8::try_from(at(number + 1) % 3).expect("few");
        if at(number + 2).is_multiple_of(5) {
            stations.plca = None;
        }
        stations.points = vec![u32::try_from(number).expect("few")];
        if at(number + 3) % 3 > 0 {
            #[allow(clippy::cast_precision_loss)]
            let mean_ps = ((at(number) + 100) * 10 * US) as f64;
            flow.arrivals = Arrivals::Poisson { mean_ps };
        }
        flow.frames = Lengths::Fixed { bits: 8 * (64 + at(number + 4) % 400) };
    });
    if at(0).is_multiple_of(2) {
        bus.plca.beacon_loss = 0.1;
    }
    if at(1).is_multiple_of(2) {
        bus.plca.bit_error_rate = 1e-4;
    }
    if at(2).is_multiple_of(2) {
        bus.plca.transmit_ps = 300_000;
        bus.plca.carrier_on_ps = 700_000;
        bus.plca.carrier_off_ps = 900_000;
    }
    bus.delay_ps = line(nodes, 1 + at(3) * 50);
    bus.length_ps = 30 * MS;
    let mut trial = bus.trial();
    trial.seed = seed;
    (trial.scenario.phases.measure_from_ps, trial.scenario.phases.measure_to_ps) =
        (2 * MS, 29 * MS);
    trial
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is wrong with a bus: its channel time is accounted for exactly, no frame is made or
    /// forgotten, and the same trial gives the same counts.
    #[test]
    fn buses_of_any_kind_keep_their_laws(
        nodes in 2..9u32,
        wrong in proptest::array::uniform12(0..1000u32),
        seed: u64,
    ) {
        let trial = faulty(nodes, &wrong, seed);
        let (counts, _) = ethermeter_simulator::simulate(&trial, &Watch::default()).expect("a bus");
        let plca = counts.media[0].plca.clone().expect("a bus");
        let window: u64 = 27 * MS;
        let times: u64 = counts.media[0].time_ps.iter().sum::<u64>() + plca.time_ps.iter().sum::<u64>();
        prop_assert_eq!(times, window);
        prop_assert!(plca.nodes.ok_ps.iter().all(|&ok| ok <= window));
        // The largest times of nodes are those of their histograms.
        let longest = |times: &[u64]| times.iter().copied().max().unwrap_or(0);
        prop_assert_eq!(longest(&plca.nodes.attempt_max_ps), plca.access_from_attempt.max_ps);
        let (from, to) = counts.media[0].access_delay.last().map_or((0, 1), |&(from, to, _)| (from, to));
        prop_assert!((from..to).contains(&longest(&plca.nodes.access_max_ps)));
        let frames: u64 = counts.media[0].attempts_per_frame.iter().sum();
        prop_assert_eq!(frames, counts.stations.frames.iter().sum::<u64>());
        let (again, _) = ethermeter_simulator::simulate(&trial, &Watch::default()).expect("a bus");
        prop_assert_eq!(counts, again);
    }
}

#[test]
fn a_bus_whose_coordinator_dies_falls_back_to_csma_cd_and_recovers() {
    // The coordinator is silent from 50 to 100 ms. Status: OK up to 13.009 ms after the last beacon.
    let bus = Bus::of(5).with(|number, stations, _| {
        if number == 0 {
            stations.down = vec![Interval { from_ps: 50 * MS, to_ps: 100 * MS }];
        }
    });
    let counts = run_bus(&bus);
    let plca = counts.media[0].plca.as_ref().expect("a bus");
    for station in 1..5 {
        // Off, on at the first beacon, off, on again.
        assert_eq!(plca.nodes.status_changes[station], 3, "{station}");
        let failed = 200 * MS - plca.nodes.ok_ps[station];
        // A follower counts up to 255 opportunities of 32 bit times after the last beacon, and at most one frame of
        // each other node lies between them. Then it stays OK for 13.009 ms.
        let counting = (255 * 3_200_000) + 4 * 1_300 * US;
        let latest = 50 * MS - 13_009 * US;
        assert!(failed >= latest - counting && failed < latest + 4 * MS, "{station}: {failed}");
    }
    // A burst is of frames in one opportunity; those of contention before it are none.
    assert_eq!(plca.nodes.burst_frames, [0; 5]);
    assert!(counts.media[0].time_ps[3] > 0, "no collision of the line while there is no coordinator");
}

/// Two stations that contend, and what their MACs do: bits of jam after a collision that is heard
/// with the first bit, and whether a gap follows a backoff.
fn pair(jams_at_once: bool, gap_after_backoff: bool) -> Bus {
    let mut bus = Bus::of(2).with(|_, stations, _| stations.plca = None);
    (bus.plca.jams_at_once, bus.plca.gap_after_backoff) = (jams_at_once, gap_after_backoff);
    bus
}

#[test]
fn a_mac_jams_after_its_preamble_or_at_once_and_may_owe_a_gap_after_a_backoff() {
    for (at_once, owes_gap) in [(false, false), (true, false), (false, true), (true, true)] {
        let (mut backoffs, mut without) = (0, 0);
        for seed in 0..200 {
            // One frame each, at once; nothing is heard between their collisions.
            let regular = Arrivals::Regular {
                period_ps: 900 * MS * 1000,
                phase_ps: Some(0),
                jitter_ps: None,
            };
            let bus = pair(at_once, owes_gap).with(|_, _, flow| flow.arrivals = regular.clone());
            let mut trial = bus.trial();
            trial.seed = seed;
            let compiled = CompiledBus::new(&trial, &bus.plca).expect("a bus");
            let (_, attempts) = plca::reference::run(&compiled, &Watch::default(), true).expect("a run");
            assert_eq!(attempts[0].end.ps(), if at_once { 32 } else { 64 + 32 } * BIT, "seed {seed}");
            let last = attempts.iter().rposition(|a| a.ending != Ending::Delivered);
            let last = &attempts[last.expect("a collision")];
            let next = attempts.iter().filter(|a| a.start > last.start);
            let first = next.min_by_key(|a| a.start).expect("a delivered frame");
            let waited = (first.start - last.end).ps();
            // Without a slot: the end delimiter of the jam and the gap.
            let owed = if owes_gap { 96 * BIT } else { 0 };
            let has_backed_off = waited != (8 + 96) * BIT;
            if has_backed_off {
                assert_eq!((waited - owed) % (512 * BIT), 0, "seed {seed}: {waited}");
            }
            backoffs += u32::from(has_backed_off);
            without += u32::from(!has_backed_off);
        }
        assert!(backoffs > 20 && without > 20, "{backoffs} {without}");
    }
}
