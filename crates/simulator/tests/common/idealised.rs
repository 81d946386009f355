//! Trials of idealised MACs, and estimates from their counts.
// Counts become reals, and JSON is written where it is used.
#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
#![allow(clippy::cast_sign_loss, clippy::needless_pass_by_value)]

use super::{Group, IEEE_10, segment, simulate};
use ethermeter_simulator::mac::transmitter::Attempt;
use ethermeter_simulator::plan::Plan;
use ethermeter_simulator::{Error, Watch};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_trial::medium::Mac;
use ethermeter_trial::{Counts, Trial};
use serde_json::{Value, json};

/// A slot, and a bit, in picoseconds: lengths in bits are lengths in slots.
pub const SLOT: u64 = 1_000_000;

const BATCHES: u32 = 64;
const REPLICATIONS: u64 = 32;
// Student's t at an error probability of 5e-9, two-sided, with one degree of freedom less.
const T_OF_BATCHES: f64 = 6.77;
const T_OF_REPLICATIONS: f64 = 7.99;

/// A MAC and the slots that it is measured for.
pub struct Stretch {
    slots: u64,
    mac: Value,
}

/// The counts and the attempts of a trial, in the order of their starts.
pub fn run(trial: &Trial, watch: &Watch, tracing: bool) -> Result<(Counts, Vec<Attempt>), Error> {
    let run = Plan::new(trial, None)?.run(watch, tracing)?;
    Ok((run.counts, run.attempts))
}

pub fn stretch(slots: u64, mac: Value) -> Stretch {
    Stretch { slots, mac }
}

/// A trial as JSON.
pub fn trial(stations: usize, bits: u64, stretch: &Stretch) -> Value {
    let measured = stretch.slots * SLOT;
    let settles = measured / 10;
    let group = Group::saturated(vec![0; stations], bits);
    let mac = Mac::CsmaCd(IEEE_10);
    let mut trial = segment(SLOT, mac, vec![vec![0]], &[group], settles + measured);
    (trial.seed, trial.scenario.batches) = (11, BATCHES);
    trial.scenario.phases.measure_from_ps = settles;
    let mut trial = serde_json::to_value(trial).expect("a trial");
    trial["scenario"]["media"][0]["mac"] = stretch.mac.clone();
    trial
}

/// Stations that always have a frame of `bits`, `service_ps` after the last.
pub fn saturated(stations: usize, bits: u64, service_ps: u64, stretch: &Stretch) -> Trial {
    let mut trial: Trial = serde_json::from_value(trial(stations, bits, stretch)).expect("a trial");
    trial.scenario.flows[0].service = Times::Constant { ps: service_ps };
    trial
}

/// Users who think, and have a new packet in a slot with probability `generation`.
pub fn thinking(stations: usize, bits: u64, generation: f64, stretch: &Stretch) -> Trial {
    let mut trial = saturated(stations, bits, 0, stretch);
    let mean_ps = -(SLOT as f64) / (-generation).ln_1p();
    trial.scenario.flows[0].service = Times::Exponential { offset_ps: 0, mean_ps };
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
    trial.scenario.flows[0].arrivals = Arrivals::Poisson { mean_ps: mean_slots * SLOT as f64 };
    trial.scenario.flows[0].queue_frames = queue_frames;
    trial
}

pub fn with_lengths(mut trial: Trial, bits: &[u64], weights: &[f64]) -> Trial {
    trial.scenario.flows[0].frames =
        Lengths::Mix { bits: bits.to_vec(), weights: weights.to_vec() };
    trial
}

/// Packets of `packet_ps`, users who think so many packet times in the mean, and as long a trial as
/// `packets` take.
pub fn in_picoseconds(trial: &mut Trial, packet_ps: u64, packets: u64, thinks: f64) {
    trial.scenario.media[0].bit_ps = packet_ps;
    let mean_ps = thinks * packet_ps as f64;
    trial.scenario.flows[0].service = match thinks {
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

/// The fault of a MAC that is refused.
pub fn refused(mac: Value) -> String {
    read_and_run(&trial(3, 20, &stretch(1000, mac)).to_string())
        .expect_err("must be refused")
        .to_string()
}

/// Counts of a trial, given as text.
pub fn read_and_run(text: &str) -> Result<Counts, Error> {
    simulate(&Trial::from_json(text)?)
}

/// Counts of a trial without a fault.
pub fn outcome(trial: &Trial) -> Counts {
    simulate(trial).expect("a valid trial")
}

pub fn slotted(collision_slots: u64, persistence: Value, idle: Value, population: Value) -> Value {
    json!({"slotted": {"slot_ps": SLOT, "collision_slots": collision_slots, "persistence": persistence, "idle": idle,
           "population": population}})
}

pub fn infinite(g: f64) -> Value {
    json!({"infinite": {"attempts_per_slot": g}})
}

pub fn finite(retransmission: f64, first: &str) -> Value {
    json!({"finite": {"retransmission": retransmission, "first": first}})
}

pub fn adaptive(slot_bits: u64, clear_bits: u64, policy: &str, empty: &str) -> Value {
    json!({"adaptive": {"slot_ps": slot_bits * SLOT, "clear_ps": clear_bits * SLOT, "policy": policy, "empty": empty}})
}

pub const PACKET: f64 = 1e8; // picoseconds, of which even a thousandth of the time between attempts has some

pub fn coyle_liu(propagation: f64, collision: f64, sensing_rate: f64) -> Value {
    json!({"unslotted": {"propagation_ps": (propagation * PACKET) as u64, "access": {"non-persistent":
        {"collision_ps": (collision * PACKET) as u64, "sensing_mean_ps": PACKET / sensing_rate}}}})
}

pub fn takagi_kleinrock(propagation: f64, abort: f64, unnoticed: bool, load: Option<f64>) -> Value {
    json!({"unslotted": {"propagation_ps": (propagation * PACKET) as u64, "access": {"one-persistent":
        {"abort_ps": (abort * PACKET) as u64, "simultaneous_starts_unnoticed": unnoticed,
         "infinite_mean_ps": load.map(|g| PACKET / g)}}}})
}

/// Users whose packets take [`PACKET`] ps and who think so long in the mean, in packet times.
pub fn unslotted(users: usize, thinks: f64, packets: u64, world: Value) -> Trial {
    let mut trial = saturated(users, 1, 0, &stretch(packets, world));
    in_picoseconds(&mut trial, PACKET as u64, packets, thinks);
    trial
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
    let run = |seed: u64| of(&outcome(&Trial { seed, ..trial.clone() }));
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
