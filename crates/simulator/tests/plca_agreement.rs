//! A bus of 10BASE-T1S cycle by cycle gives the same attempts and the same counts as event by event.
//!
//! Times are multiples of a bit time on purpose, so that simultaneous events are common.

use crate::common::{replayed, Bus, MS, US};
use ethermeter_simulator::plca::compiled::CompiledBus;
use ethermeter_simulator::{plca, Watch};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::coder::Spurts;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::medium::{AfterAttemptLimit, Mac};
use ethermeter_trial::plca::Interval;
use ethermeter_trial::scenario::Implementation;
use ethermeter_trial::Trial;

const BIT: u64 = 100_000;

/// Run a bus by both; the number of cycles that were calculated.
fn agree(trial: &Trial) -> u64 {
    let Mac::Plca(constants) = &trial.scenario.media[0].mac else { unreachable!("a bus") };
    let bus = CompiledBus::new(trial, constants).expect("a bus");
    let watch = Watch::default();
    let (expected, attempts) = plca::reference::run(&bus, &watch, true).expect("a run");
    let fast = plca::fast::run(&bus, &watch, true).expect("a run");
    let seed = trial.seed;
    for (number, (found, expected)) in fast.attempts.iter().zip(&attempts).enumerate() {
        assert_eq!(found, expected, "seed {seed}, attempt {number}");
    }
    assert_eq!(fast.attempts.len(), attempts.len(), "seed {seed}");
    let [found, wanted] = [&fast.counts, &expected].map(|c| c.media[0].plca.clone().expect("a bus"));
    assert_eq!(found.nodes, wanted.nodes, "seed {seed}");
    assert_eq!(found.time_ps, wanted.time_ps, "seed {seed}");
    assert_eq!(found, wanted, "seed {seed}");
    assert_eq!(fast.counts, expected, "seed {seed}");
    fast.cycles
}

/// Draws that a bus is made of.
struct Dice(Stream);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).expect("few")].clone()
    }
}

#[allow(clippy::cast_precision_loss)]
fn arrivals(dice: &mut Dice) -> Arrivals {
    let mean_us = dice.pick(&[150, 700, 3000, 20_000]) + dice.below(500);
    match dice.below(6) {
        0 | 1 => Arrivals::Saturated {},
        5 => {
            let add = |sum: &mut u64, gap: u64| {
                *sum += gap;
                Some(*sum)
            };
            let gaps = (0..20).map(|_| dice.pick(&[0, 1000 * BIT, mean_us * US / 2, mean_us * US]));
            let mut times: Vec<u64> = gaps.scan(0, add).collect();
            times.push(times[19] + 1000 * BIT);
            let repeat = times[20] - times[0] + dice.below(1000) * BIT;
            let offset_ps = dice.one_in(2).then(|| dice.below(1000) * BIT);
            replayed(&times, (&[], 1), (Some(repeat), offset_ps, dice.pick(&[1.0, 0.7, 2.0])))
        }
        2 => Arrivals::Poisson { mean_ps: (mean_us * US) as f64 },
        3 => {
            let phase_ps = dice.one_in(2).then(|| dice.below(1000) * BIT);
            Arrivals::Regular { period_ps: mean_us * US, phase_ps, jitter_ps: None }
        }
        _ => Arrivals::OnOff {
            period_ps: mean_us * US / 8,
            on_mean_ps: (mean_us * US) as f64,
            off_mean_ps: (3 * mean_us * US) as f64,
        },
    }
}

fn lengths(dice: &mut Dice) -> Lengths {
    let bits = 8 * dice.pick(&[64, 64, 65, 100, 512, 1518]);
    match dice.below(4) {
        0 => Lengths::Mix { bits: vec![512, bits, 800], weights: vec![3.0, 1.0, 2.0] },
        _ => Lengths::Fixed { bits },
    }
}

/// The opportunities of each node, and how many a cycle has.
fn opportunities(nodes: usize, dice: &mut Dice) -> (Vec<Vec<u8>>, u8) {
    let spare = dice.pick(&[0, 0, 1, 5]);
    let mut ids: Vec<Vec<u8>> = vec![Vec::new(); nodes];
    let mut free: Vec<u8> = (0..u8::try_from(nodes + spare).expect("few")).collect();
    let is_in_order = dice.one_in(3);
    for of_node in &mut ids {
        let index = if is_in_order { 0 } else { dice.below(free.len() as u64) };
        of_node.push(free.remove(usize::try_from(index).expect("few")));
    }
    if let Some(index) = free.iter().position(|&id| id == 0) {
        ids[0].push(free.remove(index));
    }
    for id in free {
        if dice.one_in(2) {
            let node = dice.below(nodes as u64);
            ids[usize::try_from(node).expect("few")].push(id);
        }
    }
    let count = u8::try_from(nodes + spare).expect("few");
    (ids, count)
}

/// A bus of any kind whose nodes are configured as they should be.
fn regular(nodes: u32, dice: &mut Dice) -> Bus {
    let (ids, count) = opportunities(nodes as usize, dice);
    let (burst, burst_bits) =
        (dice.pick(&[0, 0, 1, 3, 20]), dice.pick(&[128, 128, 100, 96, 60, 8, 0]));
    let opportunity_bits = dice.pick(&[32, 32, 24, 50, 200]);
    let (load, length) = (arrivals(dice), lengths(dice));
    let is_uniform = dice.one_in(3);
    let has_one_point = dice.one_in(2);
    let service = dice.pick(&[0, 0, 96, 500, 5000]) * BIT;
    let mut bus = Bus::of(nodes).with(|number, stations, flow| {
        let of_node = stations.plca.as_mut().expect("PLCA");
        of_node.ids = vec![ids[number].clone()];
        (of_node.node_count, of_node.opportunity_bits) = (count, opportunity_bits);
        of_node.burst_count = if is_uniform { burst } else { dice.pick(&[0, burst]) };
        of_node.burst_bits = if is_uniform { burst_bits } else { dice.pick(&[128, burst_bits]) };
        stations.points = vec![if has_one_point { 0 } else { u32::try_from(number).expect("few") }];
        flow.arrivals = if is_uniform { load.clone() } else { arrivals(dice) };
        flow.frames = if is_uniform { length.clone() } else { lengths(dice) };
        flow.service = match dice.below(3) {
            0 => Times::Constant { ps: service },
            1 => Times::Uniform { low_ps: 0, high_ps: service + BIT },
            _ => Times::Constant { ps: 0 },
        };
        if flow.arrivals != (Arrivals::Saturated {}) && dice.one_in(2) {
            flow.queue_frames = Some(u32::try_from(1 + dice.below(5)).expect("few"));
        }
        if dice.one_in(4) {
            stations.attempt_limit = u32::try_from(1 + dice.below(3)).expect("few");
            stations.after_attempt_limit =
                dice.pick(&[AfterAttemptLimit::Discard, AfterAttemptLimit::Resume]);
        }
        if dice.one_in(20) {
            let spurts = Spurts { talk_mean_ps: 5e9, silence_mean_ps: 8e9 };
            flow.frames = Lengths::Samples { overhead_bits: 464, min_bits: 512, max_bits: 12_144, buffers: None, discard_after_ps: None };
            flow.arrivals = Arrivals::Coder {
                sample_bits: 8,
                sample_ps: 125 * US,
                spurts: dice.one_in(2).then_some(spurts),
            };
            flow.queue_frames = None;
            stations.after_attempt_limit = AfterAttemptLimit::Resume;
            flow.service = Times::Constant { ps: 0 };
        }
    });
    let step = dice.pick(&[0, 1, 100, 100, 777, 20_000]);
    let step = step.min(12 * BIT / u64::from(nodes));
    bus.delay_ps = line(nodes, step, dice.pick(&[0, 0, 100, BIT]));
    bus.plca.end_delimiter_bits = dice.pick(&[8, 8, 8, 0, 40]);
    (bus.plca.transmit_ps, bus.plca.carrier_on_ps, bus.plca.carrier_off_ps) = dice.pick(&[
        (0, 0, 0),
        (0, 0, 0),
        (200_000, 400_000, 700_000),
        (300_000, 500_000, 500_000),
        (BIT, 3 * BIT, BIT),
        (0, 0, 5 * BIT),
    ]);
    bus.plca.bit_error_rate = dice.pick(&[0.0, 0.0, 1e-4]);
    bus.plca.beacon_loss = dice.pick(&[0.0, 0.0, 0.0, 0.001, 0.1]);
    bus.plca.delay_line_bits = dice.pick(&[396, 396, 400, 64, 1]);
    bus.plca.pending_bits = dice.pick(&[512, 512, 480, 300]);
    bus.plca.csma_cd.gap_part1_bits = dice.pick(&[64, 64, 0, 96, 48]);
    bus.length_ps = dice.pick(&[20, 60]) * MS;
    bus
}

/// Nodes at points in a line, each a step from the next and `at_point` apart at the same.
fn line(nodes: u32, step: u64, at_point: u64) -> Vec<Vec<u64>> {
    let delay = |a: u32, b: u32| at_point + u64::from(a.abs_diff(b)) * step;
    (0..nodes).map(|a| (0..nodes).map(|b| delay(a, b)).collect()).collect()
}

/// Something that goes wrong, and where the window lies.
fn disturb(mut bus: Bus, faults: u64, dice: &mut Dice) -> Bus {
    let length = bus.length_ps;
    let groups = bus.groups.len() as u64;
    for _ in 0..faults {
        let stations = &mut bus.groups[usize::try_from(dice.below(groups)).expect("few")].stations;
        let from_ps = dice.below(length / BIT) * BIT;
        let to_ps = from_ps + (1 + dice.below(length / 4 / BIT)) * BIT;
        let interval = vec![Interval { from_ps, to_ps }];
        let of_node = stations.plca.as_mut();
        match (dice.below(7), of_node) {
            (0 | 1, _) => stations.down = interval,
            (2 | 3, Some(of_node)) => of_node.off = interval,
            (4, Some(of_node)) => {
                of_node.ids = vec![vec![u8::try_from(dice.below(4)).expect("few")]];
            }
            (5, Some(of_node)) => of_node.opportunity_bits = dice.pick(&[4, 31, 33]),
            _ if dice.one_in(2) => stations.plca = None,
            _ => stations.priority_wait_ps = 5 * BIT,
        }
    }
    bus
}

fn trial(bus: &Bus, seed: u64, dice: &mut Dice) -> Trial {
    let mut trial = bus.trial();
    trial.seed = seed;
    let phases = &mut trial.scenario.phases;
    if dice.one_in(2) {
        phases.measure_from_ps = dice.below(bus.length_ps / 3);
        phases.measure_to_ps = bus.length_ps - dice.below(bus.length_ps / 3);
    }
    if dice.one_in(3) {
        phases.stop_ps = bus.length_ps - dice.below(bus.length_ps / 2);
    }
    if dice.one_in(3) {
        phases.spread_ps = dice.below(5 * MS);
    }
    trial
}

/// Buses of these seeds agree; the share of them of which cycles were calculated.
#[allow(clippy::cast_precision_loss)]
fn share_calculated(seeds: std::ops::Range<u64>, most_nodes: &[u64], faults: u64) -> f64 {
    let count = seeds.end - seeds.start;
    let is_calculated = |seed: &u64| {
        let mut dice = Dice(Stream::new(*seed, 0, Purpose::Begin));
        let most = dice.pick(most_nodes);
        let nodes = u32::try_from(1 + dice.below(most)).expect("few");
        let mut bus = regular(nodes, &mut dice);
        if faults > 0 {
            let faults = 1 + dice.below(faults);
            bus = disturb(bus, faults, &mut dice);
        }
        agree(&trial(&bus, *seed, &mut dice)) > 0
    };
    seeds.filter(is_calculated).count() as f64 / count as f64
}

#[test]
fn buses_as_they_should_be_agree() {
    assert!(share_calculated(0..1200, &[4, 4, 8, 13, 40], 0) > 0.8);
}

#[test]
fn buses_with_faults_agree() {
    assert!(share_calculated(10_000..11_200, &[8], 3) > 0.3);
}

/// A fault does not end it: only the cycles near the fault, the begin and the end are run event by
/// event.
#[test]
fn most_cycles_of_a_bus_are_calculated_before_and_after_a_fault() {
    let bus = Bus::of(8).with(|number, stations, _| {
        if number == 3 {
            let interval =
                |from_ms: u64| Interval { from_ps: from_ms * MS, to_ps: (from_ms + 1) * MS };
            stations.down = vec![interval(60), interval(120)];
        }
    });
    let trial = bus.trial();
    let counts = ethermeter_simulator::simulate(&trial, &Watch::default()).expect("a bus").0;
    let all = counts.media[0].plca.as_ref().expect("a bus").cycle.count;
    let calculated = agree(&trial);
    // Of 200 ms there are four borders, each up to a longest cycle and two more of them wide, and
    // two silences of 1 ms; a cycle takes at most 0.614 ms.
    assert!(calculated > all * 19 / 20 && calculated < all, "{calculated} of {all}");
}

/// Run a bus without PLCA by its contentions and event by event; attempts on the line.
fn contend(trial: &Trial) -> usize {
    let Mac::Plca(constants) = &trial.scenario.media[0].mac else { unreachable!("a bus") };
    let bus = CompiledBus::new(trial, constants).expect("a bus");
    let watch = Watch::default();
    let seed = trial.seed;
    assert!(bus.is_contention(), "seed {seed}");
    let (expected, attempts) = plca::reference::run(&bus, &watch, true).expect("a run");
    let (found, trace) = plca::contention::run(&bus, &watch, true).expect("a run");
    for (number, (found, expected)) in trace.iter().zip(&attempts).enumerate() {
        assert_eq!(found, expected, "seed {seed}, attempt {number}");
    }
    assert_eq!(trace.len(), attempts.len(), "seed {seed}");
    let [plca, wanted] = [&found, &expected].map(|c| c.media[0].plca.clone().expect("a bus"));
    assert_eq!(plca, wanted, "seed {seed}");
    assert_eq!(found.media[0].time_ps, expected.media[0].time_ps, "seed {seed}");
    assert_eq!(found, expected, "seed {seed}");
    let (counts, ran) = ethermeter_simulator::simulate(trial, &watch).expect("a run");
    assert_eq!((counts, ran), (found, Implementation::Fast), "seed {seed}");
    attempts.len()
}

/// Nobody uses PLCA: end delimiters, wrong bits, windows and times of one bit are those of the other
/// tests; delays are up to those at which a collision is heard as late as the end of a jam.
#[test]
fn buses_without_plca_agree() {
    let mut attempts = 0;
    for seed in 20_000..20_600 {
        let mut dice = Dice(Stream::new(seed, 0, Purpose::Begin));
        let most = dice.pick(&[2, 4, 8, 13, 40]);
        let nodes = u32::try_from(1 + dice.below(most)).expect("few");
        let mut bus = regular(nodes, &mut dice).with(|_, stations, _| stations.plca = None);
        let widest = 48 * BIT / u64::from(nodes);
        bus.delay_ps = line(nodes, dice.pick(&[0, 1, 777, BIT, widest]).min(widest), 0);
        (bus.plca.transmit_ps, bus.plca.carrier_on_ps, bus.plca.carrier_off_ps) = (0, 0, 0);
        attempts += contend(&trial(&bus, seed, &mut dice));
    }
    assert!(attempts > 100_000, "{attempts}");
}
