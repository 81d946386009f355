//! Traffic classes of an output port, and what is counted of each.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A class of traffic at an output port: a queue of its own.
///
/// Classes are served in strict priority, without preemption: the first of a port is the highest.
/// Neighbours with a quantum share their level of priority by deficit round robin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Priorities (PCP of 802.1Q, 0 to 7) of its frames; a frame without a tag has priority 0. Each
    /// belongs to exactly one class of a port.
    pub priorities: Vec<u8>,
    /// Quantum of deficit round robin in octets on the wire (preamble, frame and gap), from 1;
    /// strict priority if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum_octets: Option<u32>,
    /// Rate of the credit-based shaper (802.1Q § 8.6.8.2) in bits per second, below that of the
    /// link; no shaper if absent. Classes above it may have none, such as one of network control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_slope_bps: Option<u64>,
    /// Queue limit in frames, one being sent included; that of the node if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_frames: Option<u32>,
    /// Queue limit in octets; that of the node if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_octets: Option<u64>,
}

/// Priorities of frames (802.1Q § 6.9.3: three bits).
const PRIORITIES: u8 = 8;
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

/// Check the classes of a port.
///
/// # Errors
/// With the first value that is out of range, or contradicts another.
pub fn check_classes(classes: &[Class]) -> Result<(), ClassFault> {
    if classes.is_empty() {
        return Ok(());
    }
    for priority in 0..PRIORITIES {
        let count = classes.iter().flat_map(|class| &class.priorities).filter(|p| **p == priority);
        let count = count.count();
        if count != 1 {
            let allowed = format!(
                "must have each priority from 0 to 7 in exactly one class; {priority} is in {count}"
            );
            return Err(ClassFault { class: None, key: "priorities", value: None, allowed });
        }
    }
    let has_quantum = |class: &Class| class.quantum_octets.is_some();
    for (index, class) in classes.iter().enumerate() {
        let fault = |key, value: &dyn fmt::Display, allowed: &str| ClassFault {
            class: Some(index),
            key,
            value: Some(value.to_string()),
            allowed: allowed.to_owned(),
        };
        if class.priorities.is_empty() || class.priorities.iter().any(|p| *p >= PRIORITIES) {
            let value = format!("{:?}", class.priorities);
            return Err(fault("priorities", &value, "must be one or more numbers from 0 to 7"));
        }
        if let Some(slope) = class.idle_slope_bps
            && (has_quantum(class) || !(1..=MOST_SLOPE_BPS).contains(&slope))
        {
            let allowed =
                format!("must be from 1 to {MOST_SLOPE_BPS}, in a class without quantum_octets");
            return Err(fault("idle_slope_bps", &slope, &allowed));
        }
        if let Some(quantum) = class.quantum_octets {
            let begun = classes[..index].iter().position(has_quantum);
            let has_gap = begun.is_some_and(|from| !classes[from..index].iter().all(has_quantum));
            if quantum == 0 || has_gap {
                let allowed = "must be at least 1, and given for neighbouring classes only";
                return Err(fault("quantum_octets", &quantum, allowed));
            }
        }
        for (key, is_zero) in [
            ("queue_frames", class.queue_frames == Some(0)),
            ("queue_octets", class.queue_octets == Some(0)),
        ] {
            if is_zero {
                return Err(fault(key, &0, "must be at least 1"));
            }
        }
    }
    Ok(())
}

/// What is counted of a class at a port, over the whole trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
