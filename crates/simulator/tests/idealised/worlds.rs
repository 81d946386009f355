//! Trials of idealised worlds, and estimates of what comes out of them.

use ethermeter_simulator::idealised::Trial;
use ethermeter_simulator::simulate_idealised;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_trial::Counts;
use serde_json::{json, Value};

/// A slot, and a bit, in picoseconds: lengths in bits are lengths in slots.
pub const SLOT: u64 = 1_000_000;

const BATCHES: u32 = 64;
const REPLICATIONS: u64 = 32;
// Student's t at an error probability of 5e-9, two-sided, with one degree of freedom less.
const T_OF_BATCHES: f64 = 6.77;
const T_OF_REPLICATIONS: f64 = 7.99;

/// A world and the slots that it is measured for.
pub struct Stretch {
    slots: u64,
    world: Value,
}

pub fn stretch(slots: u64, world: Value) -> Stretch {
    Stretch { slots, world }
}

/// A line of a plan.
pub fn line(stations: usize, bits: u64, stretch: &Stretch) -> Value {
    let measured = stretch.slots * SLOT;
    let settles = measured / 10;
    json!({
    "id": "x", "series": "s", "replication": 0, "seed": 11, "engine": "simulation", "point": {},
    "scenario": {
        "segment": {"bit_ps": SLOT, "slot_bits": 1, "gap_bits": 0, "gap_part1_bits": 0, "preamble_bits": 0, "jam_bits": 0,
                    "delay_ps": [[0]]},
        "groups": [{"name": "user", "places": vec![0; stations], "frames": {"kind": "fixed", "bits": bits},
            "arrivals": {"kind": "saturated"}, "generator": null, "queue_frames": null,
            "service": {"kind": "constant", "ps": 0}, "backoff": {"rule": "exponential", "limit": 10}, "attempt_limit": 16,
            "after_attempt_limit": "resume", "after_late_collision": "backoff"}],
        "phases": {"begin_ps": 0, "stop_ps": settles + measured, "measure_from_ps": settles, "measure_to_ps": settles + measured,
                   "end_ps": settles + measured, "spread_ps": 0},
        "batches": BATCHES,
        "idealised": stretch.world,
    }})
}

/// Stations that always have a frame of `bits`, `service_ps` after the last.
pub fn saturated(stations: usize, bits: u64, service_ps: u64, stretch: &Stretch) -> Trial {
    let mut trial = Trial::from_line(&line(stations, bits, stretch).to_string()).expect("a trial");
    trial.scenario.groups[0].service = Times::Constant { ps: service_ps };
    trial
}

/// Users who think, and have a new packet in a slot with probability `generation`.
pub fn thinking(stations: usize, bits: u64, generation: f64, stretch: &Stretch) -> Trial {
    let mut trial = saturated(stations, bits, 0, stretch);
    let mean_ps = -(SLOT as f64) / (-generation).ln_1p();
    trial.scenario.groups[0].service = Times::Exponential { offset_ps: 0, mean_ps };
    trial
}

/// Stations with Poisson arrivals `mean_slots` apart and a queue.
pub fn poisson(
    stations: usize,
    bits: u64,
    mean_slots: f64,
    queue_frames: Option<u32>,
    stretch: &Stretch,
) -> Trial {
    let mut trial = saturated(stations, bits, 0, stretch);
    trial.scenario.groups[0].arrivals = Arrivals::Poisson { mean_ps: mean_slots * SLOT as f64 };
    trial.scenario.groups[0].queue_frames = queue_frames;
    trial
}

pub fn with_lengths(mut trial: Trial, bits: &[u64], weights: &[f64]) -> Trial {
    trial.scenario.groups[0].frames =
        Lengths::Mix { bits: bits.to_vec(), weights: weights.to_vec() };
    trial
}

/// Packets of `packet_ps`, users who think so many packet times in the mean, and as long a trial as
/// `packets` take.
pub fn in_picoseconds(trial: &mut Trial, packet_ps: u64, packets: u64, thinks: f64) {
    trial.scenario.segment.bit_ps = packet_ps;
    let mean_ps = thinks * packet_ps as f64;
    trial.scenario.groups[0].service = match thinks {
        t if t > 0.0 => Times::Exponential { offset_ps: 0, mean_ps },
        _ => Times::Constant { ps: 0 },
    };
    let measured = packets * packet_ps;
    let phases = &mut trial.scenario.phases;
    phases.measure_from_ps = measured / 10;
    phases.measure_to_ps = measured / 10 + measured;
    phases.stop_ps = phases.measure_to_ps;
    phases.end_ps = phases.measure_to_ps;
}

/// What is said of a world that must not run.
pub fn refused(world: Value) -> String {
    let line = line(3, 20, &stretch(1000, world)).to_string();
    let result = Trial::from_line(&line).and_then(|trial| simulate_idealised(&trial));
    result.expect_err("must be refused").to_string()
}

/// A mean, and how far it may be off by chance.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub mean: f64,
    pub half_width: f64,
}

impl Estimate {
    pub fn plus(self, constant: f64) -> Self {
        Self { mean: self.mean + constant, ..self }
    }

    pub fn times(self, factor: f64) -> Self {
        Self { mean: self.mean * factor, half_width: self.half_width * factor }
    }
}

/// A simulated value agrees with a theory's, which may be rounded.
pub fn agree(simulated: Estimate, theory: f64, rounding: f64, point: &str) {
    let Estimate { mean, half_width } = simulated;
    println!(
        "{point}: {mean:.6} +- {half_width:.6}, theory {theory:.6}, off {:.5}%",
        (mean / theory - 1.0) * 100.0
    );
    assert!(
        (mean - theory).abs() <= half_width + rounding,
        "{point}: {mean} +- {half_width}, theory {theory}"
    );
    assert!(half_width < 0.05 * theory, "{point}: {mean} +- {half_width} says too little");
}

/// The ratio of two sums over batches; its error from what each batch has beyond the common ratio.
fn ratio(batches: &[(f64, f64)], factor: f64) -> Estimate {
    let n = batches.len() as f64;
    let (above, below) =
        batches.iter().fold((0.0, 0.0), |sum, batch| (sum.0 + batch.0, sum.1 + batch.1));
    let mean = above / below;
    let square: f64 = batches.iter().map(|batch| (batch.0 - mean * batch.1).powi(2)).sum();
    Estimate { mean, half_width: factor * (square * n / (n - 1.0)).sqrt() / below }
}

fn by_batch<T: Copy>(outcome: &Counts, values: &[T], number: fn(T) -> f64) -> Vec<f64> {
    values
        .chunks(outcome.stations.frames.len())
        .map(|batch| batch.iter().map(|&value| number(value)).sum())
        .collect()
}

/// The share of time in which a packet that succeeds is sent.
pub fn utilisation(outcome: &Counts) -> Estimate {
    let charged = by_batch(outcome, &outcome.stations.batches.charged_ps, |ps| ps as f64);
    let length = outcome.window_ps as f64 / charged.len() as f64;
    ratio(&charged.into_iter().map(|ps| (ps, length)).collect::<Vec<_>>(), T_OF_BATCHES)
}

/// Mean time from taking up a frame to the end of its last bit, in slots.
pub fn delay(outcome: &Counts) -> Estimate {
    let sums = by_batch(outcome, &outcome.stations.batches.delay_ps, |ps| ps as f64 / SLOT as f64);
    let frames = by_batch(outcome, &outcome.stations.batches.frames, f64::from);
    ratio(&sums.into_iter().zip(frames).collect::<Vec<_>>(), T_OF_BATCHES)
}

/// A ratio of two sums, over replications.
pub fn replicated(trial: &Trial, of: fn(&Counts) -> (f64, f64)) -> Estimate {
    let run = |seed: u64| {
        of(&simulate_idealised(&Trial { seed, ..trial.clone() }).expect("a valid trial"))
    };
    ratio(&(0..REPLICATIONS).map(run).collect::<Vec<_>>(), T_OF_REPLICATIONS)
}

/// Time from arrival to start in slots, and frames: for the mean wait.
pub fn wait(outcome: &Counts) -> (f64, f64) {
    let response = outcome.stations.response_ps.iter().sum::<u64>() as f64 / SLOT as f64;
    let sent = outcome.stations.bits.iter().sum::<u64>() as f64;
    (response - sent, outcome.stations.frames.iter().sum::<u64>() as f64)
}

/// Frames dropped, and offered: for the share that is lost.
pub fn lost_share(outcome: &Counts) -> (f64, f64) {
    let sum = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
    (sum(&outcome.stations.dropped), sum(&outcome.stations.offered))
}
