//! Reports: what an agent reports of its host and roles.
//!
//! Agents send an [`AgentReport`] as JSON. Its keys are described in docs/reference/agent-tests.md.
//! Times of a role are in nanoseconds since the beginning of the transmission.

use ethermeter_net::counters::{HostSample, InterfaceCounters, QueueCounters, UdpCounters};
use ethermeter_net::port::PortCounters;
use ethermeter_net::port::tcp_info::TcpInfo;
use ethermeter_net::port::xdp::XdpMode;
use ethermeter_net::provenance::HostFacts;
use ethermeter_net::roles::{RequesterCounts, ResponderCounts, SenderCounts, SinkCounts};
use ethermeter_net::time::CLOCK_STEP_NS;
use ethermeter_traffic::Distribution;
use ethermeter_traffic::clock::rounds::ClockEstimate;
use serde::{Deserialize, Serialize};

/// Report of an agent about one experiment.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentReport {
    /// Why the experiment ended: `complete`, `stopped`, `lease`, `receiver`, `route` or `never
    /// begun`.
    pub ended: String,
    /// Roles of the agent.
    pub roles: Vec<RoleReport>,
    /// When it was collected, by the host's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_ns: Option<u64>,
    /// What the host did.
    #[serde(flatten)]
    pub host: HostReport,
}

/// Report of what a host did during an experiment.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostReport {
    /// Counters at the edges of the phases.
    pub host: Vec<HostEdge>,
    /// Processors of the host in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_series: Option<HostSeries>,
    /// Facts of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<HostFacts>,
}

/// Counters of a host at an edge of the phases, or why they could not be read.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostEdge {
    /// The edge: `begin`, `measure_from`, `measure_to` or `end`.
    pub at: String,
    #[serde(flatten)]
    pub counters: Option<HostCounters>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Counters of a host, since its start.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostCounters {
    /// When they were read, by the host's clock.
    pub taken_ns: u64,
    /// Processors, interrupts, memory.
    pub host: HostSample,
    /// Interfaces.
    pub interfaces: Vec<InterfaceCounters>,
    /// UDP.
    pub udp: UdpCounters,
    /// Queues before interfaces.
    pub queues: Vec<QueueCounters>,
}

/// Rows at regular times, by column.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "{C}Series"))]
pub struct ReportSeries<C> {
    /// Time between rows.
    pub every_ns: u64,
    pub at_ns: Vec<i64>,
    pub columns: C,
}

/// Counters of a host over time, and what reading them cost.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSeries {
    #[serde(flatten)]
    pub course: ReportSeries<HostColumns>,
    pub cost: SamplingCost,
}

/// What reading counters cost.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SamplingCost {
    pub samples: u64,
    /// Time of a processor that it took.
    pub processor_ns: u64,
    /// Times that they could not be read.
    pub failed: u64,
}

/// Counters of a host since its start; those of processors in ticks of 10 ms, by processor.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostColumns {
    pub user: Vec<Vec<u64>>,
    pub system: Vec<Vec<u64>>,
    pub interrupts_time: Vec<Vec<u64>>,
    pub soft_interrupts_time: Vec<Vec<u64>>,
    pub steal: Vec<Vec<u64>>,
    pub idle: Vec<Vec<u64>>,
    pub context_switches: Vec<u64>,
    pub interrupts: Vec<u64>,
    pub soft_interrupts: Vec<u64>,
    pub backlog_dropped: Vec<u64>,
    pub backlog_squeezed: Vec<u64>,
    pub memory_available_octets: Vec<u64>,
}

/// Report of a role.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoleReport {
    /// Flow of the role.
    pub flow: String,
    /// Name of the role.
    pub role: String,
    /// What it counted, if it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<RoleCounts>,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When a receiver's lease lapsed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_lapsed_ns: Option<i64>,
}

impl RoleReport {
    /// Whether the wall clock of its host was set while its port was open.
    #[must_use]
    pub fn is_clock_stepped(&self) -> bool {
        let port = self.counted.as_ref().and_then(|counted| counted.port.port);
        port.is_some_and(|port| port.clock_stepped_ns > CLOCK_STEP_NS)
    }

    /// Whether consent limited the role: more of its frames waited for consent than for room in its
    /// port, and more than one in a hundred.
    #[must_use]
    pub fn is_limited_by_consent(&self) -> bool {
        self.counted.as_ref().is_some_and(|counted| {
            let (held_back, refused) =
                (counted.port.held_back.unwrap_or(0), counted.port.refused.unwrap_or(0));
            held_back > refused && 100 * held_back > counted.of.sent()
        })
    }
}

/// Counts of a role and of its port.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoleCounts {
    #[serde(flatten)]
    pub port: PortUse,
    #[serde(flatten)]
    pub of: RoleTotals,
}

/// Counts of a role's port.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PortUse {
    /// Frames, or writes of a connection, that waited for consent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back: Option<u64>,
    /// Frames, or writes, that waited for room: in the queue of the interface, or of the
    /// connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// Counters of a port of frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<PortCounters>,
    /// How a port of frames works.
    pub mode: Option<PortMode>,
    /// Congestion control of a TCP connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Whether a TCP connection has selective acknowledgements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
}

/// How a port works, beyond its counters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum PortMode {
    Xdp(XdpMode),
    Tcp(TcpInfo),
}

/// Counts of a role, by the role.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each has the counts of its name")]
pub enum RoleTotals {
    Sender(Box<SenderCounts>),
    Sink(Box<SinkReport>),
    Requester(Box<RequesterCounts>),
    Responder(Box<ResponderCounts>),
    Clock(Box<ClockCounts>),
    BulkSender(Box<BulkSenderCounts>),
    BulkReceiver(Box<BulkReceiverCounts>),
    Client(Box<ClientCounts>),
    Server(Box<ServerCounts>),
}

impl RoleTotals {
    /// Frames that the role sent, or writes of a connection.
    #[must_use]
    pub fn sent(&self) -> u64 {
        match self {
            Self::Sender(counts) => counts.frames,
            Self::Requester(counts) => counts.requests,
            Self::Responder(counts) => counts.answered,
            Self::Clock(counts) => counts.counts.requests,
            Self::BulkSender(counts) => counts.writes,
            Self::Client(counts) => counts.connection.writes,
            Self::Server(counts) => counts.connection.writes,
            Self::Sink(_) | Self::BulkReceiver(_) => 0,
        }
    }
}

/// Counts of the receiver of a stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SinkReport {
    /// The counts.
    #[serde(flatten)]
    pub counts: SinkCounts,
    /// Flow that compares the clocks, if one does.
    pub clock: Option<String>,
}

/// Counts of a comparison of clocks, and its estimate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockCounts {
    pub counts: ExchangeCounts,
    /// Relation of the sender's clock to the receiver's.
    pub relation: Option<ClockEstimate>,
}

/// Exchanges of times.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExchangeCounts {
    pub requests: u64,
    pub answered: u64,
    pub lost: u64,
    /// Exchanges that are kept.
    pub exchanges: usize,
}

/// TCP's statistics over time at an end of a connection, as in `TcpInfo`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TcpColumns {
    /// Octets that the role has written.
    pub octets: Vec<u64>,
    pub round_trip_us: Vec<u64>,
    pub round_trip_deviation_us: Vec<u64>,
    pub least_round_trip_us: Vec<u64>,
    pub congestion_window: Vec<u64>,
    pub slow_start_threshold: Vec<u64>,
    pub segment_octets: Vec<u64>,
    pub sent_again: Vec<u64>,
    pub acknowledged_octets: Vec<u64>,
    pub delivery_octets_per_s: Vec<u64>,
    pub busy_us: Vec<u64>,
    pub receiver_limited_us: Vec<u64>,
    pub buffer_limited_us: Vec<u64>,
    pub sent_octets: Vec<u64>,
    pub sent_again_octets: Vec<u64>,
}

/// Counts of a sender of octets in bulk.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BulkSenderCounts {
    pub octets: u64,
    pub first_ns: Option<i64>,
    /// When the last had been.
    pub last_ns: Option<i64>,
    pub acknowledged_ns: Option<i64>,
    /// Whether all were.
    pub acknowledged: bool,
    /// Whether the receiver closed the connection.
    pub closed_by_other: bool,
    pub permitted_octets_per_s: u64,
    /// Writes that found no room.
    pub found_full: u64,
    /// Writes that found some.
    #[serde(default)]
    pub writes: u64,
    pub tcp: ReportSeries<TcpColumns>,
}

/// Counts of a receiver of octets in bulk.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BulkReceiverCounts {
    pub octets: u64,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    /// What ended it: `closed`, `reset` or `time`.
    pub ended_by: String,
    pub measured: BulkWindow,
    pub progress: ReportSeries<OctetColumns>,
}

/// Octets in bulk that were read in the measured window.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BulkWindow {
    pub octets: u64,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    /// Rate from the first read to the last.
    pub data_rate_bps: Option<f64>,
    /// Octets by batch.
    pub batches: Vec<u64>,
}

/// Octets by row.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OctetColumns {
    pub octets: Vec<u64>,
}

/// Counts of an end of a connection on which a file goes block by block.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionCounts {
    pub written_octets: u64,
    pub read_octets: u64,
    /// Octets that were still to be written.
    pub unwritten_octets: u64,
    /// Whether all written ones were acknowledged.
    pub acknowledged: bool,
    pub permitted_octets_per_s: u64,
    /// Writes that found room.
    #[serde(default)]
    pub writes: u64,
    pub tcp: ReportSeries<TcpColumns>,
}

/// Counts of a client of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientCounts {
    #[serde(flatten)]
    pub connection: ConnectionCounts,
    /// Octets of complete blocks.
    pub octets: u64,
    /// Complete blocks.
    pub blocks: u64,
    /// Requests without an answer at the end.
    pub unanswered: usize,
    /// When the first request was written.
    pub first_ns: Option<i64>,
    pub completion_ns: Option<i64>,
    /// What ended it: `complete`, `closed` or `time`.
    pub ended_by: String,
    pub measured: BlockWindow,
}

/// Blocks that were complete in the measured window.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockWindow {
    pub octets: u64,
    pub blocks: u64,
    /// From writing a request to having read its answer.
    pub round_trip: Distribution,
    pub batches: Vec<BlockBatch>,
}

/// Blocks of a file, by the batch in which they were complete.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockBatch {
    pub octets: u64,
    pub blocks: u64,
    /// Sum of their round trips.
    pub round_trip_ns: u64,
}

/// Counts of a server of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerCounts {
    #[serde(flatten)]
    pub connection: ConnectionCounts,
    pub requests: u64,
    pub answers: u64,
    /// What ended it: `closed` or `time`.
    pub ended_by: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_step_of_the_wall_clock_is_more_than_an_inaccuracy_of_its_comparison() {
        for (clock_stepped_ns, is_stepped) in [(0, false), (100_000, false), (100_001, true)] {
            let port = PortCounters { clock_stepped_ns, ..PortCounters::default() };
            let empty = json!({"total": 0, "quantiles_ps": {}, "buckets": []});
            let pacing = json!({"frames": 0, "share_on_time": null, "worst_ns": 0,
                                "lateness": empty, "forced_sleeps": 0, "real_time": null});
            let counted = json!({
                "role": "responder", "requests": 1, "request_octets": 58, "answered": 1,
                "unsent": 0, "not_allowed": 0, "unexpected": 0, "unanswered": 0, "pacing": pacing,
                "held_back": 0, "port": port, "mode": null,
            });
            let report = json!({"flow": "ping", "role": "responder", "counted": counted});
            let report: RoleReport = serde_json::from_value(report).expect("a report");
            assert_eq!(report.is_clock_stepped(), is_stepped);
            assert!(matches!(report.counted.expect("counts").of, RoleTotals::Responder(_)));
        }
    }

    #[test]
    fn consent_limits_a_role_if_more_frames_waited_for_it_than_for_room_and_one_in_a_hundred() {
        for (held_back, refused, is_limited) in [
            // A path of 20 Mb/s under ceilings of 200.
            (14, 26_000, false),
            (26_000, 14, true),
            (14, 0, false),
            (267, 0, true),
            (0, 0, false),
        ] {
            let empty = json!({"total": 0, "quantiles_ps": {}, "buckets": []});
            let pacing = json!({"frames": 0, "share_on_time": null, "worst_ns": 0,
                                "lateness": empty, "forced_sleeps": 0, "real_time": null});
            let counted = json!({
                "role": "sender", "frames": 26_689, "payload_octets": 0, "unsent": 0,
                "first_ns": null, "last_ns": null, "pacing": pacing,
                "held_back": held_back, "refused": refused, "mode": null,
            });
            let report = json!({"flow": "up", "role": "sender", "counted": counted});
            let report: RoleReport = serde_json::from_value(report).expect("a report");
            assert_eq!(report.is_limited_by_consent(), is_limited, "{held_back} {refused}");
        }
    }

    #[test]
    fn numbers_that_are_not_known_come_back_as_they_went() {
        let relation = ethermeter_net::roles::RequesterClock {
            offset_ns: 1.5,
            uncertainty_ns: f64::NAN,
            drift: 0.0,
            contradictions: 2,
        };
        let text = serde_json::to_string(&relation).expect("JSON");
        let read: ethermeter_net::roles::RequesterClock =
            serde_json::from_str(&text).expect("the same");
        assert!(read.uncertainty_ns.is_nan());
        assert_eq!((read.offset_ns, read.contradictions), (1.5, 2));
    }
}
