//! Traffic classes of an output port, and what is counted of each.

use serde::{Deserialize, Serialize};

/// A class of traffic at an output port: a queue of its own.
///
/// Classes are served in strict priority, without preemption: the first of a port is the highest.
/// Neighbours with a quantum share their level of priority by deficit round robin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Priorities of the frames of the class; a frame without a tag has priority 0.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "maximum" = 7, "minItems" = 1, "maxItems" = 8)))]
    pub priorities: Vec<u8>,
    /// Quantum of deficit round robin among adjacent classes that have one, in octets on the wire:
    /// preamble, frame and gap. Strict priority if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-key" = "quantum", "x-unit" = "size", "minimum" = 1, "maximum" = MOST_OCTETS)))]
    pub quantum_octets: Option<u32>,
    /// Rate of the credit-based shaper; no shaper if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-key" = "idle_slope", "x-unit" = "rate", "minimum" = 1, "maximum" = MOST_SLOPE_BPS)))]
    pub idle_slope_bps: Option<u64>,
    /// Room of the queue in frames, the one being sent included; that of the node if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-key" = "queue", "minimum" = 1, "maximum" = MOST_FRAMES)))]
    pub queue_frames: Option<u32>,
    /// Room of the queue in octets; that of the node if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-key" = "queue_size", "x-unit" = "size", "minimum" = 1, "maximum" = MOST_OCTETS)))]
    pub queue_octets: Option<u64>,
}

/// Priorities of frames (802.1Q § 6.9.3: three bits).
const PRIORITIES: u8 = 8;
/// Most octets of a quantum, or of a queue.
const MOST_OCTETS: u64 = 100_000_000;
/// Most frames of a queue.
const MOST_FRAMES: u64 = 10_000_000;
/// Highest rate of a credit-based shaper, in bits per second.
const MOST_SLOPE_BPS: u64 = 1_000_000_000_000;

/// What is wrong with the classes of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFault {
    /// Number of the class; of all together if absent.
    pub class: Option<usize>,
    /// Name of the value that is out of range, or contradicts another.
    pub key: &'static str,
    /// The value, if it is one.
    pub value: Option<String>,
    /// What is allowed.
    pub allowed: String,
}

/// The faults of the classes of a port: values out of range, and what contradicts another.
#[must_use]
pub fn faults_of_classes(classes: &[Class]) -> Vec<ClassFault> {
    let mut faults = Vec::new();
    if classes.is_empty() {
        return faults;
    }
    for priority in 0..PRIORITIES {
        let count = classes.iter().flat_map(|class| &class.priorities).filter(|p| **p == priority);
        let count = count.count();
        if count != 1 {
            let allowed = format!(
                "must have each priority from 0 to 7 in exactly one class; {priority} is in {count}"
            );
            faults.push(ClassFault { class: None, key: "priorities", value: None, allowed });
        }
    }
    let has_quantum = |class: &Class| class.quantum_octets.is_some();
    for (index, class) in classes.iter().enumerate() {
        let mut add = |key, value: String, allowed: String| {
            faults.push(ClassFault { class: Some(index), key, value: Some(value), allowed });
        };
        if class.priorities.is_empty() || class.priorities.iter().any(|p| *p >= PRIORITIES) {
            let value = format!("{:?}", class.priorities);
            add("priorities", value, "must be one or more numbers from 0 to 7".to_owned());
        }
        if let Some(slope) = class.idle_slope_bps.filter(|_| has_quantum(class)) {
            let allowed = "must be in a class without quantum_octets".to_owned();
            add("idle_slope_bps", slope.to_string(), allowed);
        }
        if let Some(quantum) = class.quantum_octets {
            let begun = classes[..index].iter().position(has_quantum);
            if begun.is_some_and(|from| !classes[from..index].iter().all(has_quantum)) {
                let allowed = "must be given for neighbouring classes only".to_owned();
                add("quantum_octets", quantum.to_string(), allowed);
            }
        }
        for (key, number, most) in [
            ("quantum_octets", class.quantum_octets.map(u64::from), MOST_OCTETS),
            ("idle_slope_bps", class.idle_slope_bps, MOST_SLOPE_BPS),
            ("queue_frames", class.queue_frames.map(u64::from), MOST_FRAMES),
            ("queue_octets", class.queue_octets, MOST_OCTETS),
        ] {
            if let Some(number) = number.filter(|number| !(1..=most).contains(number)) {
                add(key, number.to_string(), format!("must be at least 1 and at most {most}"));
            }
        }
    }
    faults
}

/// What is counted of a class at a port, over the whole trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassCounts {
    /// Frames that came to the queue, those dropped included.
    pub arrived: u64,
    /// Frames sent, by their end.
    pub frames: u64,
    /// Octets of these frames, destination address to FCS.
    pub octets: u64,
    /// Frames dropped by the full queue of the class.
    pub dropped: u64,
    /// Most frames in the queue, one being sent included.
    pub queue_most: u64,
    /// Most octets in the queue, of frames from destination address to FCS.
    pub queue_octets_most: u64,
}
