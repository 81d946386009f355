//! The medium access that theories assume.

use crate::fault::{Checked, Faults};
use ethermeter_trial_macros::table;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Carrier sense in slots.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Slotted {
    /// Slot in picoseconds; packets take whole slots.
    pub slot_ps: u64,
    /// Slots that a collision keeps the medium busy, 1 to 10⁶; without collision detection those of
    /// the packet and one more.
    pub collision_slots: u64,
    /// What a frame does that finds the medium busy.
    pub persistence: Persistence,
    /// Whether the last busy slot is sensed as idle; null unless `persistence` is `non`.
    pub idle: Option<Idle>,
    /// Population that offers frames.
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

impl Checked for Persistence {
    fn check(&self, _: &mut Faults) {}
}

impl Serialize for Persistence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Non => serializer.serialize_str("non"),
            Self::Persistent(probability) => serializer.serialize_f64(*probability),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Persistence {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Persistence".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "What a frame does that finds the medium busy: \"non\", it senses the medium again another time; or it waits, and starts in each idle slot with this probability, above 0 and at most 1.",
            "anyOf": [{"const": "non"}, {"type": "number"}]
        })
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
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// Yes: what comes in it starts in the next slot.
    SameSlot,
    /// No: every idle period has a slot at least.
    WholeSlot,
}

/// Population that offers frames.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Population {
    /// One Poisson stream of attempts, old and new together.
    Infinite(Infinite),
    /// The stations of the groups.
    Finite(Finite),
}

/// An infinite population.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Infinite {
    /// Mean number of frames that sense or start in a slot, 10⁻⁹ to 1000.
    pub attempts_per_slot: f64,
}

/// The stations, each with a frame at a time.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Finite {
    /// Probability that a waiting frame senses the medium in an idle slot, 10⁻¹² to 1.
    pub retransmission: f64,
    /// What a new frame does in an idle slot.
    pub first: First,
}

/// What a new frame does that comes in an idle slot.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum First {
    /// It starts in the next slot.
    Immediate,
    /// It waits, as after a collision.
    Delayed,
}

/// Contention in slots that begin with the silence.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Adaptive {
    /// Contention slot in picoseconds.
    pub slot_ps: u64,
    /// Silence in picoseconds after a packet before the slots begin, at most 10¹².
    pub clear_ps: u64,
    /// Which stations send in a slot.
    pub policy: Policy,
    /// When a frame starts that finds the medium idle.
    pub empty: Empty,
}

/// Which stations send in a contention slot.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Each of n waiting frames with probability 1/n.
    OneOfWaiting,
    /// All in the first slot; from then on one alone with probability 1/e.
    OneOverE,
    /// Each station after its own backoff, as its group says.
    BinaryExponential,
}

/// When a frame starts that finds the medium idle.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Empty {
    /// When it arrives.
    AtOnce,
    /// With the slot after the one in which it arrives.
    NextSlot,
}

/// Carrier sense without slots.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Unslotted {
    /// One-way propagation between any two stations in picoseconds, 1 to 10¹².
    pub propagation_ps: u64,
    /// What a frame does that finds the medium busy.
    pub access: Access,
}

/// What a frame does that finds the medium busy, and how long collisions are.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// It senses again after a while.
    NonPersistent(NonPersistent),
    /// It starts with the silence.
    OnePersistent(OnePersistent),
}

/// Sensing again after exponential times.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NonPersistent {
    /// Time in picoseconds that a collision keeps the medium busy, from its first start.
    pub collision_ps: u64,
    /// Mean time in picoseconds between the times at which a waiting frame senses the medium.
    pub sensing_mean_ps: f64,
}

/// Starting with the silence.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OnePersistent {
    /// Time in picoseconds from hearing a collision to the end of the transmission.
    pub abort_ps: u64,
    /// Stations that start in one instant do not notice that they collide, unless another one
    /// starts within the propagation time.
    pub simultaneous_starts_unnoticed: bool,
    /// Mean time in picoseconds between the frames of an infinite population; null for the stations
    /// of the medium, with one frame each.
    pub infinite_mean_ps: Option<f64>,
}

/// Cyclic service of queues.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Polling {
    /// Walk time in picoseconds from a station to the next, 1 to 10¹².
    pub walk_ps: u64,
    /// How much a station sends at a visit.
    pub discipline: Discipline,
}

/// How much a station sends at a visit.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// All its frames, and all that arrive meanwhile.
    Exhaustive,
    /// The frames that it had when the visit began.
    Gated,
    /// One frame at most.
    Limited,
}
