//! A network as a plan writes it (docs/formats.md), and what is wrong with its values. What is
//! wrong with its shape: [`super::compiled`].

use crate::scenario::{read_line, Error};
use ethermeter_trial::clocks::Comparing;
use ethermeter_trial::flows::Flow;
use ethermeter_trial::nodes::{Link, Node};
use ethermeter_trial::{Fault, Phases, LONGEST_PS};
use serde::{Deserialize, Serialize};

/// Most parts of a measured window.
const MOST_BATCHES: u32 = 1000;

/// One line of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Seed of every draw.
    pub seed: u64,
    /// What to simulate.
    pub scenario: Scenario,
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

/// A network, who sends what over it, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Nodes and links.
    pub network: Network,
    /// Applications.
    pub flows: Vec<Flow>,
    /// When what happens.
    pub phases: Phases,
    /// Equal parts of the measured window.
    #[serde(default = "usual_batches")]
    pub batches: u32,
}

/// Of plans that do not say.
fn usual_batches() -> u32 {
    20
}

/// Nodes and links: a forest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Hosts, switches, routers, hubs.
    pub nodes: Vec<Node>,
    /// Cables.
    pub links: Vec<Link>,
    /// Whether receivers of streams compare clocks with their senders, where one of the two has a
    /// clock.
    #[serde(default)]
    pub clocks: Comparing,
}

/// The phases in order, and within 213 days.
pub(super) fn check_phases(phases: &Phases) -> Result<(), Fault> {
    let p = phases;
    let ordered = p.begin_ps <= p.stop_ps
        && p.stop_ps <= p.end_ps
        && p.begin_ps <= p.measure_from_ps
        && p.measure_from_ps < p.measure_to_ps
        && p.measure_to_ps <= p.end_ps
        && p.end_ps <= 1 << 62
        && p.spread_ps <= LONGEST_PS;
    if ordered {
        return Ok(());
    }
    Err(Fault::new("phases", "must be ordered begin ≤ stop ≤ end and begin ≤ measure_from < measure_to ≤ end, with a spread of at most 1000 s").got(format!("{p:?}")))
}

/// No more parts of the measured window than it has picoseconds.
pub(super) fn check_batches(batches: u32, phases: &Phases) -> Result<(), Fault> {
    let most = (phases.measure_to_ps - phases.measure_from_ps).min(u64::from(MOST_BATCHES));
    if batches > 0 && u64::from(batches) <= most {
        return Ok(());
    }
    Err(Fault::new("batches", format!("must be from 1 to {most}")).got(batches))
}
