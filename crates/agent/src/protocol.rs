//! The calls of a coordinator to an agent: requests and replies. Times are nanoseconds of the agent's
//! own monotonic clock unless their names say otherwise.
//!
//! gRPC carries the calls ([`crate::calls`]); each body is one JSON text.

use crate::activity::ActivityCounters;
use crate::result::ArtificialClock;
use ethermeter_net::plca::PlcaFacts;
use ethermeter_station::AgentReport;
use ethermeter_station::consent::{
    Ceilings, Grant, GrantRequest, LeaseRenewal, RenewalChallenge, RequestStamp,
};
use ethermeter_trial::roles::{Draws, ExperimentPhases, RoleTask};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Version of the protocol. Versions up to 8 wrote bodies as protocol buffers.
pub const PROTOCOL: u32 = 9;

/// A request that has one reply.
pub trait Call: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Name of the call.
    const NAME: &'static str;
    /// The reply.
    type Reply: Serialize + DeserializeOwned + Send + Sync + 'static;
}

macro_rules! calls {
    ($($request:ty => $reply:ty: $name:literal;)*) => {
        $(impl Call for $request {
            const NAME: &'static str = $name;
            type Reply = $reply;
        })*
    };
}

calls! {
    HelloRequest => HelloReply: "Hello";
    Stamped<GrantRequest> => SignedGrant: "Grant";
    Stamped<PrepareRequest> => (): "Prepare";
    Stamped<StartRequest> => (): "Start";
    Stamped<LeaseRequest> => LeaseReply: "Lease";
    Stamped<StopRequest> => (): "Stop";
    Stamped<CollectRequest> => AgentReport: "Collect";
    // Again and again.
    Stamped<ProgressRequest> => ProgressReport: "Progress";
}

/// A request that is fresh and one of a kind by its stamp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamped<T> {
    /// What makes it so.
    pub stamp: RequestStamp,
    /// What is requested.
    pub request: T,
}

/// Identity and clock of the agent are requested. Keys of later protocols are passed over, so that
/// the version is compared first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloRequest {
    /// Version of the protocol of the coordinator, which must be that of the agent.
    pub protocol: u32,
    /// Also PLCA of the interfaces, for which drivers may take a while.
    #[serde(default)]
    pub reads_plca: bool,
    /// Also counters of what the host does.
    #[serde(default)]
    pub reads_activity: bool,
}

/// Identity and clock of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HelloReply {
    /// Version of the agent.
    pub version: String,
    /// Name of its host.
    pub host: String,
    /// Kernel of its host.
    pub kernel: String,
    /// Identifies the clock: agents with the same share it.
    pub boot: String,
    /// The agent's process.
    pub session: u64,
    /// Its clock.
    pub now_ns: u64,
    /// Addresses by interface.
    pub interfaces: BTreeMap<String, Vec<IpAddr>>,
    /// PLCA of the interfaces that have it, if it was to be read.
    pub plca: BTreeMap<String, PlcaFacts>,
    /// Ceilings of its operator.
    pub ceilings: Ceilings,
    /// Artificial offset and drift of the times on frames, if they have any; for tests.
    pub artificial_clock: Option<ArtificialClock>,
    /// What the host does, if it was to be read; agents that do not know the request leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<ActivityCounters>,
}

/// A grant, and what proves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedGrant {
    /// The grant. Its text by `serde_json` is what was signed.
    pub grant: Grant,
    /// The signature, ASN.1, by the key of the certificate; empty without TLS.
    #[serde(with = "base64_text")]
    pub signature: Vec<u8>,
    /// The certificate, DER; empty without TLS.
    #[serde(with = "base64_text")]
    pub certificate: Vec<u8>,
}

/// A renewal of grants, and what proves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedRenewal {
    /// The renewal. Its text by `serde_json` is what was signed.
    pub renewal: LeaseRenewal,
    /// By the key of the certificate that has signed the grants; empty without TLS.
    #[serde(with = "base64_text")]
    pub signature: Vec<u8>,
}

/// Take up roles of an experiment and open their ports; nothing is sent yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrepareRequest {
    /// Phases of the experiment.
    pub phases: ExperimentPhases,
    /// The roles.
    pub roles: Vec<Role>,
}

/// A role in a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The flow.
    pub flow: String,
    /// Number of the flow in the mark of frames.
    pub stream: u16,
    /// The interface that is to have the own address; any one without.
    pub interface: Option<String>,
    /// Congestion control of a TCP connection; the host's own without.
    pub congestion: Option<String>,
    /// What determines its draws.
    pub draws: Draws,
    /// The task.
    pub task: RoleTask,
    /// Of every receiver of what it sends: from where, where to and how, how fast and for how long.
    /// Empty of a role that only receives, where the flow was granted.
    pub grants: Vec<SignedGrant>,
}

/// Begin at a scheduled instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartRequest {
    /// The instant.
    pub begin_ns: u64,
}

/// Progress, four times a second until the experiment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgressRequest {}

/// Progress of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgressReport {
    /// Roles that have not ended.
    pub running: u32,
    /// Frames, or pieces of octets in bulk, sent so far.
    pub sent_frames: u64,
    /// The same, received.
    pub received_frames: u64,
    /// Why all roles have ended, once they have: complete, stopped, lease, receiver (one no longer
    /// renews its grant), or route.
    pub ended: Option<String>,
}

/// Renew the lease, which begins with the first reply to a grant or a preparation; without it the
/// agent falls silent. The same call carries challenges of senders to receivers, and renewals of
/// receivers to senders: without these, a sender falls silent, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// For the agent as a receiver, at most 1024.
    pub challenges: Vec<RenewalChallenge>,
    /// For the agent as a sender, at most 1024.
    pub renewals: Vec<SignedRenewal>,
}

/// A lease was renewed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseReply {
    /// Until when.
    pub until_ns: u64,
    /// Of the agent as a sender, one for each receiver's process.
    pub challenges: Vec<RenewalChallenge>,
    /// Of the agent as a receiver: the answer to all challenges.
    pub renewal: Option<SignedRenewal>,
    /// Whether all grants that it sends by are renewed.
    pub is_renewed: bool,
}

/// End the roles now; what was counted stays until it is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopRequest {}

/// Return the results and forget the experiment, which is stopped if it still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectRequest {}

/// Octets as text: base 64 (RFC 4648, section 4).
mod base64_text {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(octets: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&base64::display::Base64Display::new(octets, &BASE64_STANDARD))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text.as_bytes()).map_err(D::Error::custom)
    }
}
