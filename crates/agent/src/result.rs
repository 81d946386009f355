//! Results of tests, which the coordinator makes of the reports of agents;
//! docs/reference/agent-tests.md describes their keys.

use crate::activity::HostActivity;
use ethermeter_net::loss::PathLosses;
use ethermeter_net::plca::PlcaFacts;
use ethermeter_station::consent::{Cast, Ceilings, PortKind};
use ethermeter_station::{AgentReport, RoleReport};
use ethermeter_traffic::clock::rounds::ClockEstimate;
use ethermeter_trial::roles::ExperimentPhases;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

/// Result of a test.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestResult {
    /// How it ended.
    pub outcome: TestOutcome,
    /// The agent that was lost, if one was.
    pub lost: Option<LostAgent>,
    /// Number of the experiment, in hexadecimal.
    pub experiment: String,
    /// Seed of the test.
    pub seed: u64,
    /// Phases of the test.
    pub phases: ExperimentPhases,
    /// Agents by name.
    pub agents: BTreeMap<String, AgentResult>,
    /// Flows by name.
    pub flows: BTreeMap<String, FlowResult>,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TestOutcome {
    /// At its time.
    Complete,
    /// It was stopped.
    Stopped,
    /// An agent was lost.
    AgentLost,
}

/// An agent that was lost.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostAgent {
    /// Name of the agent.
    pub agent: String,
    /// What is known of the cause.
    pub what: String,
}

/// Description of an agent and its host, or the error in its place.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum HostAnswer {
    /// The description.
    Description(Box<HostDescription>),
    /// It does not answer.
    Unreached {
        /// Address that did not answer.
        control: SocketAddr,
        /// Why.
        error: String,
    },
}

/// Description of an agent and its host.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostDescription {
    /// Where it listens to coordinators.
    pub control: SocketAddr,
    /// Version of the agent.
    pub version: String,
    /// Name of its host.
    pub host: String,
    /// Kernel of its host.
    pub kernel: String,
    /// Boot of that; hosts of one boot are one machine.
    pub boot: String,
    /// Clock of the agent, compared with the coordinator's.
    pub clock: CoordinatorClock,
    /// Artificial offset and drift of its clock, if it has any.
    pub artificial_clock: Option<ArtificialClock>,
    /// Addresses by interface.
    pub interfaces: BTreeMap<String, Vec<IpAddr>>,
    /// PLCA of the interfaces that have it, where it was read.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub plca: BTreeMap<String, PlcaFacts>,
    /// Ceilings of the agent's operator.
    pub ceilings: Option<Ceilings>,
    /// What the host does, where it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<HostActivity>,
}

/// An agent's clock, compared with the coordinator's.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoordinatorClock {
    /// How far it is ahead.
    pub offset_ns: i64,
    /// Largest error of that.
    pub uncertainty_ns: u64,
}

impl CoordinatorClock {
    /// The comparison of clocks of one boot. They are one clock, unless a namespace of times sets
    /// them apart, by more than the error.
    #[must_use]
    pub fn of_one_boot(self) -> Self {
        let is_one = self.offset_ns.unsigned_abs() <= self.uncertainty_ns;
        if is_one { Self { offset_ns: 0, uncertainty_ns: 0 } } else { self }
    }

    /// What it shows at a time of the coordinator.
    #[must_use]
    pub fn at_ns(self, own_ns: u64) -> u64 {
        own_ns.saturating_add_signed(self.offset_ns)
    }
}

/// Artificial offset and drift of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArtificialClock {
    /// Offset.
    pub offset_ns: i64,
    /// Drift, in thousand-millionths.
    pub drift_ppb: i64,
}

/// An agent, and its report if it could be collected.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentResult {
    /// Description of the host.
    #[serde(flatten)]
    pub host: HostDescription,
    /// Address of the agent's station.
    pub address: IpAddr,
    /// Report of the agent.
    #[serde(rename = "result", skip_serializing_if = "Option::is_none")]
    pub report: Option<AgentReport>,
    /// The error in place of the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it was lost, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl AgentResult {
    /// Report of its role in a flow.
    #[must_use]
    pub fn role(&self, flow: &str) -> Option<&RoleReport> {
        self.report.as_ref()?.roles.iter().find(|role| role.flow == flow)
    }
}

/// Result of a flow, from the reports of its agents.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowResult {
    /// The sender.
    pub from: String,
    /// The receivers.
    pub to: Receivers,
    /// The port.
    #[serde(default)]
    pub port: PortKind,
    /// Kind of destination.
    #[serde(default)]
    pub cast: Cast,
    /// Report of the sender.
    pub sending: Option<RoleReport>,
    /// What became of it.
    #[serde(flatten)]
    pub received: FlowReceivers,
    /// Cautions.
    pub cautions: BTreeSet<Caution>,
}

/// Names of the agents that receive: one, or a list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Receivers {
    /// One.
    One(String),
    /// The receivers of a group.
    Many(Vec<String>),
}

impl Receivers {
    /// Names of the receivers.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

/// A reason to look at a flow's values before they are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Caution {
    /// The wall clock of a host was set meanwhile: time stamps of the kernel are wrong.
    ClockStepped,
    /// The relation of the clocks is not as certain as is stated.
    ClockUncertain,
    /// Consent held it back.
    ConsentLimited,
}

/// Receivers of a flow.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FlowReceivers {
    /// By one.
    One(Box<ReceiverResult>),
    /// By each of a group.
    Group {
        /// Results by the name of the receiver.
        receivers: BTreeMap<String, ReceiverResult>,
    },
}

/// Result of one receiver of a flow; what is not known is left out.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReceiverResult {
    /// Report of the receiver.
    pub receiving: Option<RoleReport>,
    /// The sender's clock; of streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<SenderClockState>,
    /// Frames of a stream.
    #[serde(flatten)]
    pub stream: Option<StreamLosses>,
    /// Octets of a transfer.
    #[serde(flatten)]
    pub transfer: Option<TransferOctets>,
    /// Octets of a file's complete blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub octets: Option<u64>,
}

/// Frames of a stream, and where the missing ones were lost.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamLosses {
    /// Frames sent.
    pub sent: u64,
    /// Frames received.
    pub received: u64,
    /// Where the others were lost.
    pub losses: PathLosses,
    /// Whether both hosts are one machine.
    pub hosts_are_one: bool,
}

/// Octets of a transfer.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferOctets {
    /// Written.
    pub sent_octets: u64,
    /// Read.
    pub received_octets: u64,
}

/// How a sender's clock relates to its receiver's.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SenderClockState {
    /// The clocks were synchronised by exchanges of times.
    Synchronised(ClockEstimate),
    /// The clocks were not synchronised.
    NotSynchronised {
        /// Whether they are one clock.
        shared: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_one_boot_are_one_unless_they_are_set_apart() {
        // As agents on a busy machine were compared: 2.6 ms, with an error of 3.1 ms at most.
        let slow = CoordinatorClock { offset_ns: -2_592_537, uncertainty_ns: 3_092_919 };
        assert_eq!(slow.of_one_boot().at_ns(5_000_000), 5_000_000);
        let apart = CoordinatorClock { offset_ns: -3_600_000_000_000, uncertainty_ns: 50_000 };
        assert_eq!(apart.of_one_boot().at_ns(3_600_000_000_007), 7);
    }
}
