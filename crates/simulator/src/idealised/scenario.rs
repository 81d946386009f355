//! A trial of an idealised world as a plan writes it (docs/formats.md), and what is wrong with it.

use crate::scenario::{fault, read_line, Error, Group, Phases, Scenario, Segment};
use crate::world::{check_range, World, LONGEST_DELAY_PS};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

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

/// Carrier sense in slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slotted {
    /// A slot; packets take whole ones.
    pub slot_ps: u64,
    /// Slots that a collision keeps the medium busy; those of the packet and one more are a medium
    /// without collision detection.
    pub collision_slots: u64,
    /// What a frame does that finds the medium busy.
    pub persistence: Persistence,
    /// Whether the last busy slot is sensed as idle; for a non-persistent population only.
    pub idle: Option<Idle>,
    /// Who offers frames.
    pub population: Population,
}

/// What a frame does that finds the medium busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Persistence {
    /// It goes, to sense the medium again another time.
    Non,
    /// It waits, and starts in each idle slot with this probability.
    Persistent(f64),
}

impl Serialize for Persistence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Non => serializer.serialize_str("non"),
            Self::Persistent(probability) => serializer.serialize_f64(*probability),
        }
    }
}

impl<'de> Deserialize<'de> for Persistence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NonOrNumber;
        impl Visitor<'_> for NonOrNumber {
            type Value = Persistence;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("persistence: \"non\" or a probability above 0 and at most 1")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Persistence, E> {
                match text {
                    "non" => Ok(Persistence::Non),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Persistence, E> {
                Ok(Persistence::Persistent(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Persistence, E> {
                match number {
                    1 => Ok(Persistence::Persistent(1.0)),
                    _ => Err(E::invalid_value(de::Unexpected::Unsigned(number), &self)),
                }
            }
        }
        deserializer.deserialize_any(NonOrNumber)
    }
}

/// Whether the last slot of a busy period is sensed as idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// Yes: what comes in it starts in the next slot.
    SameSlot,
    /// No: every idle period has a slot at least.
    WholeSlot,
}

/// Who offers frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Population {
    /// One Poisson stream of attempts, old and new together.
    Infinite(Infinite),
    /// The stations of the groups.
    Finite(Finite),
}

/// A population without end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Infinite {
    /// Frames that sense or start, mean of a slot.
    pub attempts_per_slot: f64,
}

/// The stations, each with a frame at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finite {
    /// Probability that a waiting frame senses the medium in an idle slot.
    pub retransmission: f64,
    /// What a new frame does.
    pub first: First,
}

/// What a new frame does that comes in an idle slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum First {
    /// It starts in the next slot.
    Immediate,
    /// It waits, as after a collision.
    Delayed,
}

/// Contention in slots that begin with the silence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adaptive {
    /// A slot of contention.
    pub slot_ps: u64,
    /// Silence after a packet before the slots begin.
    pub clear_ps: u64,
    /// Who sends in a slot.
    pub policy: Policy,
    /// When a frame starts that finds nobody else.
    pub empty: Empty,
}

/// Who sends in a slot of contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Each of n waiting frames with probability 1/n.
    OneOfWaiting,
    /// All in the first slot; from then on one alone with probability 1/e.
    OneOverE,
    /// Each station after its own backoff, as its group says.
    BinaryExponential,
}

/// When a frame starts that finds nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Empty {
    /// When it comes.
    AtOnce,
    /// With the slot after the one in which it comes.
    NextSlot,
}

/// Carrier sense without slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unslotted {
    /// One-way propagation between any two stations.
    pub propagation_ps: u64,
    /// What a frame does that finds the medium busy.
    pub access: Access,
}

/// What a frame does that finds the medium busy, and how long collisions are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// It senses again after a while.
    NonPersistent(NonPersistent),
    /// It starts with the silence.
    OnePersistent(OnePersistent),
}

/// Sensing again after exponential times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NonPersistent {
    /// How long a collision keeps the medium busy, from its first start.
    pub collision_ps: u64,
    /// Mean time between the looks that a waiting frame takes.
    pub sensing_mean_ps: f64,
}

/// Starting with the silence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnePersistent {
    /// From hearing a collision to the end of the transmission.
    pub abort_ps: u64,
    /// Stations that start in one instant do not notice that they collide, unless another one
    /// starts within the propagation time.
    pub simultaneous_starts_unnoticed: bool,
    /// Mean time between the frames of a population without end; null: the stations of the groups,
    /// a frame each.
    pub infinite_mean_ps: Option<f64>,
}

/// Cyclic service of queues.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Polling {
    /// From leaving a station to reaching the next.
    pub walk_ps: u64,
    /// How much a station sends at a visit.
    pub discipline: Discipline,
}

/// How much a station sends at a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// All it has, and all that comes meanwhile.
    Exhaustive,
    /// What it had when the visit began.
    Gated,
    /// One frame at most.
    Limited,
}

impl Idealised {
    /// What is wrong with it in this world, if anything.
    pub(super) fn check(&self, world: &World, segment: &Segment) -> Result<(), Error> {
        for (key, bits) in
            [("preamble_bits", segment.preamble_bits), ("gap_bits", segment.gap_bits)]
        {
            if bits > 0 {
                return Err(fault(
                    format!("segment.{key}"),
                    format!("must be 0 in an idealised world, got {bits}"),
                ));
            }
        }
        match self {
            Self::Slotted(slotted) => slotted.check(world),
            Self::Adaptive(adaptive) => adaptive.check(world),
            Self::Unslotted(unslotted) => unslotted.check(world),
            Self::Polling(polling) => polling.check(world),
        }
    }
}

impl Slotted {
    fn check(&self, world: &World) -> Result<(), Error> {
        check_slot(self.slot_ps, world)?;
        check_range("idealised.collision_slots", self.collision_slots, 1, 1_000_000)?;
        check_whole_slots(self.slot_ps, world)?;
        match (self.persistence, self.idle) {
            (Persistence::Non, None) => {
                return Err(fault(
                    "idealised.idle",
                    "must be \"same-slot\" or \"whole-slot\" where persistence is \"non\"",
                ));
            }
            (Persistence::Persistent(_), Some(_)) => {
                return Err(fault(
                    "idealised.idle",
                    "must be null where persistence is a probability",
                ));
            }
            (Persistence::Persistent(probability), None) => {
                check_probability("idealised.persistence", probability)?
            }
            (Persistence::Non, Some(_)) => {}
        }
        match &self.population {
            Population::Infinite(infinite) => {
                let g = infinite.attempts_per_slot;
                if !(1e-9..=1e3).contains(&g) {
                    let key = "idealised.population.infinite.attempts_per_slot";
                    return Err(fault(key, format!("must be from 1e-9 to 1000, got {g}")));
                }
                let key = "idealised.population.infinite.attempts_per_slot: time between attempts";
                #[allow(clippy::cast_precision_loss)] // a mean
                check_mean(key, self.slot_ps as f64 / g)?;
                check_no_arrivals(world)
            }
            Population::Finite(finite) => {
                check_probability(
                    "idealised.population.finite.retransmission",
                    finite.retransmission,
                )?;
                if self.idle != Some(Idle::WholeSlot) {
                    let what =
                        "a finite population is non-persistent, with idle periods of whole slots";
                    return Err(fault("idealised.population.finite", what));
                }
                check_no_generator(world)
            }
        }
    }
}

impl Adaptive {
    fn check(&self, world: &World) -> Result<(), Error> {
        check_slot(self.slot_ps, world)?;
        check_range("idealised.clear_ps", self.clear_ps, 0, LONGEST_DELAY_PS)?;
        match self.policy {
            Policy::BinaryExponential => check_backoff(self.slot_ps, world),
            Policy::OneOfWaiting | Policy::OneOverE => check_no_generator(world),
        }
    }
}

impl Unslotted {
    fn check(&self, world: &World) -> Result<(), Error> {
        check_range("idealised.propagation_ps", self.propagation_ps, 1, LONGEST_DELAY_PS)?;
        match &self.access {
            Access::NonPersistent(access) => {
                let key = "idealised.access.non-persistent";
                check_range(
                    &format!("{key}.collision_ps"),
                    access.collision_ps,
                    self.propagation_ps,
                    LONGEST_DELAY_PS,
                )?;
                check_mean(&format!("{key}.sensing_mean_ps"), access.sensing_mean_ps)?;
                check_no_generator(world)
            }
            Access::OnePersistent(access) => {
                let key = "idealised.access.one-persistent";
                check_range(&format!("{key}.abort_ps"), access.abort_ps, 0, LONGEST_DELAY_PS)?;
                if let Some(mean_ps) = access.infinite_mean_ps {
                    check_mean(&format!("{key}.infinite_mean_ps"), mean_ps)?;
                }
                check_no_generator(world)?;
                check_no_arrivals(world)
            }
        }
    }
}

impl Polling {
    fn check(&self, world: &World) -> Result<(), Error> {
        check_range("idealised.walk_ps", self.walk_ps, 1, LONGEST_DELAY_PS)?;
        for (index, group) in world.groups.iter().enumerate() {
            if group.arrivals == (Arrivals::Saturated {}) {
                let what = "must not be saturated: polling serves queues";
                return Err(fault(format!("groups[{index}].arrivals"), what));
            }
            if let Some(room) = group.queue_frames {
                let what = format!("must be null: polling serves queues without limit, got {room}");
                return Err(fault(format!("groups[{index}].queue_frames"), what));
            }
        }
        Ok(())
    }
}

fn check_slot(slot_ps: u64, world: &World) -> Result<(), Error> {
    let least = (world.phases.end_ps / MOST_SLOTS).max(1);
    check_range("idealised.slot_ps", slot_ps, least, LONGEST_DELAY_PS)
}

fn check_backoff(slot_ps: u64, world: &World) -> Result<(), Error> {
    let longest = |group: &Group| u128::from(group.backoff.range(u32::MAX)) * u128::from(slot_ps);
    match world.groups.iter().position(|group| longest(group) > LONGEST_BACKOFF_PS) {
        None => Ok(()),
        Some(index) => {
            let ps = longest(&world.groups[index]);
            let what =
                format!("must not last longer than {LONGEST_BACKOFF_PS} ps, got slots of {slot_ps} ps for {ps} ps");
            Err(fault(format!("groups[{index}].backoff"), what))
        }
    }
}

fn check_probability(key: &str, value: f64) -> Result<(), Error> {
    if (1e-12..=1.0).contains(&value) {
        return Ok(());
    }
    Err(fault(key, format!("must be a probability from 1e-12 to 1, got {value}")))
}

fn check_mean(key: &str, mean_ps: f64) -> Result<(), Error> {
    if (1.0..=1e15).contains(&mean_ps) {
        return Ok(());
    }
    Err(fault(key, format!("must be from 1 ps to 1000 s, got {mean_ps}")))
}

fn check_whole_slots(slot_ps: u64, world: &World) -> Result<(), Error> {
    for (index, group) in world.groups.iter().enumerate() {
        let lengths = match &group.frames {
            Lengths::Fixed { bits } => std::slice::from_ref(bits),
            Lengths::Mix { bits, .. } => bits,
            Lengths::Samples { .. } => unreachable!("no idealised world has voice"),
        };
        let packet_ps = |bits: u64| bits * world.bit.cast_unsigned(); // a length is at most 1 GB, and a bit 1 ms
        if let Some(bits) = lengths.iter().find(|&&bits| packet_ps(bits) % slot_ps != 0) {
            let what = format!(
                "must take whole slots of {slot_ps} ps, got {bits} bits of {} ps",
                world.bit
            );
            return Err(fault(format!("groups[{index}].frames"), what));
        }
    }
    Ok(())
}

/// The population without end offers all there is; the groups say only how long frames are and how
/// many share the account.
fn check_no_arrivals(world: &World) -> Result<(), Error> {
    match world.groups.iter().position(|group| group.arrivals != Arrivals::Saturated {}) {
        None => Ok(()),
        Some(index) => {
            Err(fault(format!("groups[{index}].arrivals"), "must be saturated in this world"))
        }
    }
}

/// No theory has frames that grow.
pub(super) fn check_no_voice(world: &World) -> Result<(), Error> {
    match world.groups.iter().position(Group::is_voice) {
        None => Ok(()),
        Some(index) => Err(fault(
            format!("groups[{index}].arrivals"),
            "must not be of a coder in an idealised world",
        )),
    }
}

fn check_no_generator(world: &World) -> Result<(), Error> {
    match world.groups.iter().position(|group| group.generator.is_some()) {
        None => Ok(()),
        Some(index) => {
            Err(fault(format!("groups[{index}].generator"), "must be null in this world"))
        }
    }
}
