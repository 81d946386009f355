//! A trial of an idealised world as a plan writes it (docs/formats.md), and what is wrong with it.

use crate::scenario::{read_line, Error, Group, Scenario, Segment};
use crate::segment::compiled::{CompiledSegment, LONGEST_DELAY_PS};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_trial::fault::check_range;
use ethermeter_trial::idealised::{
    Access, Adaptive, Idle, Persistence, Policy, Polling, Population, Slotted, Unslotted,
};
use ethermeter_trial::{Fault, Phases};
use serde::{Deserialize, Serialize};

const LONGEST_BACKOFF_PS: u128 = 1_000_000_000_000_000_000; // far from overflow
const MOST_SLOTS: u64 = 1_000_000_000_000; // hours of work, and far from overflow

/// A trial whose medium access is that of a theory.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Seed of every draw.
    pub seed: u64,
    /// Stations, phases, and the duration of a bit.
    pub scenario: Scenario,
    /// How the stations share the medium.
    pub idealised: Idealised,
}

/// A scenario with one key more.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    segment: Segment,
    groups: Vec<Group>,
    phases: Phases,
    batches: u32,
    idealised: Idealised,
}

impl Trial {
    /// Read a line of a plan.
    ///
    /// # Errors
    /// If it is not JSON of the right shape, or not for this engine.
    pub fn from_line(line: &str) -> Result<Self, Error> {
        let (seed, Keys { segment, groups, phases, batches, idealised }) = read_line(line)?;
        Ok(Self { seed, scenario: Scenario { segment, groups, phases, batches }, idealised })
    }
}

/// A medium access that a theory assumes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "world", rename_all = "kebab-case")]
pub enum Idealised {
    /// Carrier sense in slots of one propagation time (Tobagi and Hunt 1980; Tasaka 1986).
    Slotted(Slotted),
    /// Contention in slots that begin with the silence (Metcalfe and Boggs 1976; Almes and Lazowska
    /// 1979; Lam 1980).
    Adaptive(Adaptive),
    /// Carrier sense without slots, all stations at one distance (Coyle and Liu 1983; Takagi and
    /// Kleinrock 1985).
    Unslotted(Unslotted),
    /// Cyclic service of queues (the token rings of Bux 1981).
    Polling(Polling),
}

impl Idealised {
    /// What is wrong with it in this compiled, if anything.
    pub(super) fn check(&self, compiled: &CompiledSegment, segment: &Segment) -> Result<(), Fault> {
        for (key, bits) in
            [("preamble_bits", segment.preamble_bits), ("gap_bits", segment.gap_bits)]
        {
            if bits > 0 {
                return Err(Fault::new(
                    format!("segment.{key}"),
                    "must be 0 in an idealised world",
                )
                .got(bits));
            }
        }
        match self {
            Self::Slotted(slotted) => check_slotted(slotted, compiled),
            Self::Adaptive(adaptive) => check_adaptive(adaptive, compiled),
            Self::Unslotted(unslotted) => check_unslotted(unslotted, compiled),
            Self::Polling(polling) => check_polling(polling, compiled),
        }
    }
}

fn check_slotted(slotted: &Slotted, compiled: &CompiledSegment) -> Result<(), Fault> {
    check_slot(slotted.slot_ps, compiled)?;
    check_range("idealised.collision_slots", slotted.collision_slots, 1, 1_000_000)?;
    check_whole_slots(slotted.slot_ps, compiled)?;
    match (slotted.persistence, slotted.idle) {
        (Persistence::Non, None) => {
            return Err(Fault::new(
                "idealised.idle",
                "must be \"same-slot\" or \"whole-slot\" where persistence is \"non\"",
            ));
        }
        (Persistence::Persistent(_), Some(_)) => {
            return Err(Fault::new(
                "idealised.idle",
                "must be null where persistence is a probability",
            ));
        }
        (Persistence::Persistent(probability), None) => {
            check_probability("idealised.persistence", probability)?;
        }
        (Persistence::Non, Some(_)) => {}
    }
    match &slotted.population {
        Population::Infinite(infinite) => {
            let g = infinite.attempts_per_slot;
            if !(1e-9..=1e3).contains(&g) {
                let key = "idealised.population.infinite.attempts_per_slot";
                return Err(Fault::new(key, "must be from 1e-9 to 1000").got(g));
            }
            let key = "idealised.population.infinite.attempts_per_slot: time between attempts";
            #[allow(clippy::cast_precision_loss)] // a mean
            check_mean(key, slotted.slot_ps as f64 / g)?;
            check_no_arrivals(compiled)
        }
        Population::Finite(finite) => {
            check_probability("idealised.population.finite.retransmission", finite.retransmission)?;
            if slotted.idle != Some(Idle::WholeSlot) {
                let what =
                    "a finite population is non-persistent, with idle periods of whole slots";
                return Err(Fault::new("idealised.population.finite", what));
            }
            check_no_generator(compiled)
        }
    }
}

fn check_adaptive(adaptive: &Adaptive, compiled: &CompiledSegment) -> Result<(), Fault> {
    check_slot(adaptive.slot_ps, compiled)?;
    check_range("idealised.clear_ps", adaptive.clear_ps, 0, LONGEST_DELAY_PS)?;
    match adaptive.policy {
        Policy::BinaryExponential => check_backoff(adaptive.slot_ps, compiled),
        Policy::OneOfWaiting | Policy::OneOverE => check_no_generator(compiled),
    }
}

fn check_unslotted(unslotted: &Unslotted, compiled: &CompiledSegment) -> Result<(), Fault> {
    check_range("idealised.propagation_ps", unslotted.propagation_ps, 1, LONGEST_DELAY_PS)?;
    match &unslotted.access {
        Access::NonPersistent(access) => {
            let key = "idealised.access.non-persistent";
            check_range(
                &format!("{key}.collision_ps"),
                access.collision_ps,
                unslotted.propagation_ps,
                LONGEST_DELAY_PS,
            )?;
            check_mean(&format!("{key}.sensing_mean_ps"), access.sensing_mean_ps)?;
            check_no_generator(compiled)
        }
        Access::OnePersistent(access) => {
            let key = "idealised.access.one-persistent";
            check_range(&format!("{key}.abort_ps"), access.abort_ps, 0, LONGEST_DELAY_PS)?;
            if let Some(mean_ps) = access.infinite_mean_ps {
                check_mean(&format!("{key}.infinite_mean_ps"), mean_ps)?;
            }
            check_no_generator(compiled)?;
            check_no_arrivals(compiled)
        }
    }
}

fn check_polling(polling: &Polling, compiled: &CompiledSegment) -> Result<(), Fault> {
    check_range("idealised.walk_ps", polling.walk_ps, 1, LONGEST_DELAY_PS)?;
    for (index, group) in compiled.groups.iter().enumerate() {
        if group.arrivals == (Arrivals::Saturated {}) {
            let what = "must not be saturated: polling serves queues";
            return Err(Fault::new(format!("groups[{index}].arrivals"), what));
        }
        if let Some(room) = group.queue_frames {
            let what = format!("must be null: polling serves queues without limit, got {room}");
            return Err(Fault::new(format!("groups[{index}].queue_frames"), what));
        }
    }
    Ok(())
}

fn check_slot(slot_ps: u64, compiled: &CompiledSegment) -> Result<(), Fault> {
    let least = (compiled.phases.end_ps / MOST_SLOTS).max(1);
    check_range("idealised.slot_ps", slot_ps, least, LONGEST_DELAY_PS)
}

fn check_backoff(slot_ps: u64, compiled: &CompiledSegment) -> Result<(), Fault> {
    let longest = |group: &Group| u128::from(group.backoff.range(u32::MAX)) * u128::from(slot_ps);
    match compiled.groups.iter().position(|group| longest(group) > LONGEST_BACKOFF_PS) {
        None => Ok(()),
        Some(index) => {
            let ps = longest(&compiled.groups[index]);
            let what =
                format!("must not last longer than {LONGEST_BACKOFF_PS} ps, got slots of {slot_ps} ps for {ps} ps");
            Err(Fault::new(format!("groups[{index}].backoff"), what))
        }
    }
}

fn check_probability(key: &str, value: f64) -> Result<(), Fault> {
    if (1e-12..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Fault::new(key, "must be a probability from 1e-12 to 1").got(value))
}

fn check_mean(key: &str, mean_ps: f64) -> Result<(), Fault> {
    if (1.0..=1e15).contains(&mean_ps) {
        return Ok(());
    }
    Err(Fault::new(key, "must be from 1 ps to 1000 s").got(mean_ps))
}

fn check_whole_slots(slot_ps: u64, compiled: &CompiledSegment) -> Result<(), Fault> {
    for (index, group) in compiled.groups.iter().enumerate() {
        let lengths = match &group.frames {
            Lengths::Fixed { bits } => std::slice::from_ref(bits),
            Lengths::Mix { bits, .. } => bits,
            Lengths::Samples { .. } => unreachable!("no idealised world has voice"),
        };
        let packet_ps = |bits: u64| bits * compiled.bit.cast_unsigned(); // a length is at most 1 GB, and a bit 1 ms
        if let Some(bits) = lengths.iter().find(|&&bits| packet_ps(bits) % slot_ps != 0) {
            let what = format!(
                "must take whole slots of {slot_ps} ps, got {bits} bits of {} ps",
                compiled.bit
            );
            return Err(Fault::new(format!("groups[{index}].frames"), what));
        }
    }
    Ok(())
}

/// The population without end offers all there is; the groups say only how long frames are and how
/// many share the counters.
fn check_no_arrivals(compiled: &CompiledSegment) -> Result<(), Fault> {
    match compiled.groups.iter().position(|group| group.arrivals != Arrivals::Saturated {}) {
        None => Ok(()),
        Some(index) => {
            Err(Fault::new(format!("groups[{index}].arrivals"), "must be saturated in this world"))
        }
    }
}

/// No theory has frames that grow.
pub(super) fn check_no_voice(compiled: &CompiledSegment) -> Result<(), Fault> {
    match compiled.groups.iter().position(Group::is_voice) {
        None => Ok(()),
        Some(index) => Err(Fault::new(
            format!("groups[{index}].arrivals"),
            "must not be of a coder in an idealised world",
        )),
    }
}

fn check_no_generator(compiled: &CompiledSegment) -> Result<(), Fault> {
    match compiled.groups.iter().position(|group| group.generator.is_some()) {
        None => Ok(()),
        Some(index) => {
            Err(Fault::new(format!("groups[{index}].generator"), "must be null in this world"))
        }
    }
}
