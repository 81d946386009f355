//! A trial as a plan writes it (docs/formats.md), and what is wrong with it.

use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::source::Generator;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::voice::VoiceSpec;
use ethermeter_traffic::SourceSpec;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Backoff};
use ethermeter_trial::{Fault, Phases};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a trial cannot be simulated.
#[derive(Debug, Error)]
pub enum Error {
    /// The text is not a trial.
    #[error("not a trial: {0}")]
    Text(#[from] serde_json::Error),
    /// A value is out of its range or contradicts another.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The trial was stopped by [`crate::Watch::stop`].
    #[error("stopped")]
    Stopped,
}

/// One line of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Seed of every draw.
    pub seed: u64,
    /// What to simulate.
    pub scenario: Scenario,
}

/// A line of a plan with the keys that only people and the analysis read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<S> {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "series")]
    _series: String,
    #[serde(rename = "replication")]
    _replication: u64,
    seed: u64,
    engine: String,
    #[serde(rename = "point")]
    _point: IgnoredAny,
    scenario: S,
}

/// The seed and the scenario of a line of a plan.
pub(crate) fn read_line<S: DeserializeOwned>(line: &str) -> Result<(u64, S), Error> {
    let line: Line<S> = serde_json::from_str(line)?;
    if line.engine != "simulation" {
        let allowed = "must be \"simulation\"";
        return Err(Fault::new("engine", allowed).got(format!("{:?}", line.engine)).into());
    }
    Ok((line.seed, line.scenario))
}

impl Trial {
    /// Read a line of a plan.
    ///
    /// # Errors
    /// If it is not JSON of the right shape, or not for this engine.
    pub fn from_line(line: &str) -> Result<Self, Error> {
        let (seed, scenario) = read_line(line)?;
        Ok(Self { seed, scenario })
    }
}

/// A segment, its stations and the phases of the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The shared medium.
    pub segment: Segment,
    /// Stations, numbered through the groups in order.
    pub groups: Vec<Group>,
    /// When what happens.
    pub phases: Phases,
    /// Equal parts of the measured window.
    pub batches: u32,
}

/// A shared medium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Duration of a bit.
    pub bit_ps: u64,
    /// Slot time.
    pub slot_bits: u64,
    /// Inter-frame gap.
    pub gap_bits: u64,
    /// First part of the gap, in which carrier restarts it.
    pub gap_part1_bits: u64,
    /// Preamble and delimiter.
    pub preamble_bits: u64,
    /// Jam.
    pub jam_bits: u64,
    /// From a station's decision to start to its first bit; what arrives meanwhile it does not
    /// hear.
    #[serde(default)]
    pub turnaround_ps: u64,
    /// One-way propagation between places; the diagonal is between two stations at the same place.
    pub delay_ps: Vec<Vec<u64>>,
}

/// Stations that are alike but for their places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// For people.
    pub name: String,
    /// A place for each station.
    pub places: Vec<u32>,
    /// Frame lengths.
    pub frames: Lengths,
    /// When frames come.
    pub arrivals: Arrivals,
    /// The process behind a saturated source.
    pub generator: Option<Generator>,
    /// Room in the queue, the frame being sent included.
    pub queue_frames: Option<u32>,
    /// How much too fast or too slow a host's clock goes at most, in parts of 10⁹: a uniform time
    /// of either sign for each. Its coder and the ticks and readings of its load register follow
    /// that clock.
    #[serde(default)]
    pub clock_error_ppb: u64,
    /// What a station listens for beyond the gap before it may start: carrier in any part of gap
    /// and wait makes it begin anew.
    #[serde(default)]
    pub priority_wait_ps: u64,
    /// Host time between frames.
    pub service: Times,
    /// How long to wait after a collision.
    pub backoff: Backoff,
    /// Transmissions tried before the frame is given up, the first included.
    pub attempt_limit: u32,
    /// What follows then.
    pub after_attempt_limit: AfterAttemptLimit,
    /// What follows a collision after the slot time.
    pub after_late_collision: AfterLateCollision,
}

impl Group {
    /// What a station offers.
    #[must_use]
    pub fn source_spec(&self) -> SourceSpec {
        SourceSpec {
            frames: self.frames.clone(),
            arrivals: self.arrivals.clone(),
            generator: self.generator.clone(),
            queue_frames: self.queue_frames,
            service: self.service.clone(),
        }
    }

    /// Its coder and frames, if it sends voice.
    #[must_use]
    pub fn voice(&self) -> Option<VoiceSpec> {
        self.source_spec().voice()
    }

    /// Whether it sends voice.
    #[must_use]
    pub fn is_voice(&self) -> bool {
        matches!(self.arrivals, Arrivals::Coder { .. })
    }
}
