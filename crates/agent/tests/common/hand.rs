//! A coordinator by hand.

use super::{Agent, MS, connect, phases};
use ethermeter_agent::calls::AgentClient;
use ethermeter_agent::protocol::{
    Call, HelloReply, HelloRequest, LeaseReply, LeaseRequest, PROTOCOL, PrepareRequest, Role,
    SignedGrant, SignedRenewal, Stamped, StartRequest,
};
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::{HostTime, Timeline};
use ethermeter_station::consent::{
    Cast, ChallengeAnswer, FlowTransport, Grant, GrantRequest, LeaseRenewal, PortKind,
    RenewalChallenge, RequestStamp,
};
use ethermeter_trial::roles::{Draws, RoleTask};
use std::path::Path;
use tonic::{Code, Status};

/// A coordinator by hand, on the agent's own host, whose clock it therefore shares.
pub struct Hand {
    pub client: AgentClient,
    pub hello: HelloReply,
    counter: u64,
}

pub const EXPERIMENT: u64 = 0xE3E3;

/// A reply that is no longer than this is of no interest here.
const LONGEST_REPLY: usize = 1 << 24;

pub const HELLO: HelloRequest =
    HelloRequest { protocol: PROTOCOL, reads_plca: false, reads_activity: false };

impl Hand {
    pub async fn at(agent: &Agent, certificates: Option<&Path>) -> Self {
        let mut client = AgentClient::new(connect(agent, certificates).await, LONGEST_REPLY);
        let hello = client.call(HELLO).await.expect("an answer");
        Self { client, hello, counter: 0 }
    }

    pub fn stamp(&mut self) -> RequestStamp {
        self.counter += 1;
        RequestStamp {
            session: self.hello.session,
            experiment: EXPERIMENT,
            counter: self.counter,
            made_ns: HostTime.now_ns(),
        }
    }

    /// Make a call with the next stamp.
    pub async fn call<T>(&mut self, request: T) -> Result<<Stamped<T> as Call>::Reply, Status>
    where
        Stamped<T>: Call,
    {
        let stamp = self.stamp();
        self.client.call(Stamped { stamp, request }).await
    }

    /// Renew the lease, and answer the agent's challenges in the name of receivers that sign
    /// nothing.
    pub async fn lease(&mut self) -> LeaseReply {
        let reply = self.call(LeaseRequest::default()).await.expect("renewed");
        let renewals = reply.challenges.iter().map(unsigned).collect();
        self.call(LeaseRequest { renewals, ..LeaseRequest::default() }).await.expect("renewed")
    }

    /// Begin in so many milliseconds.
    pub async fn start_in(&mut self, lead_ms: u64) -> Result<(), Status> {
        self.call(StartRequest { begin_ns: HostTime.now_ns() + lead_ms * MS }).await
    }
}

pub fn grant_request() -> GrantRequest {
    GrantRequest {
        flow: "f".into(),
        transport: FlowTransport::default(),
        sender: [127, 0, 0, 1].into(),
        address: [127, 0, 0, 1].into(),
        interface: None,
        port: 0,
        rate_bps: 10_000_000,
        rate_frames_per_s: 10_000,
        longest_frame_octets: 64,
        room_frame_octets: 0,
        duration_ns: 30_000 * MS,
    }
}

/// A grant that nobody but a test has written, for frames of 64 octets to a port of this host.
pub fn forged(port: u16) -> SignedGrant {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let grant = Grant {
        experiment: EXPERIMENT,
        session: 1,
        number: 1,
        sender: [127, 0, 0, 1].into(),
        address: [127, 0, 0, 1].into(),
        network: "127.0.0.1/8".parse().expect("a network"),
        interface: "lo".into(),
        mac: None,
        kind: PortKind::Udp,
        cast: Cast::Unicast,
        priority: None,
        port,
        rate_bps: 10_000_000,
        rate_frames_per_s: 10_000,
        longest_frame_octets: 64,
        duration_ns: 30_000 * MS,
        until_unix_s: now.expect("after 1970").as_secs() + 30,
    };
    SignedGrant { grant, signature: Vec::new(), certificate: Vec::new() }
}

/// One role of half a minute.
pub fn prepare_request(task: RoleTask, grants: Vec<SignedGrant>) -> PrepareRequest {
    let role = Role {
        flow: "f".into(),
        stream: 0,
        interface: None,
        congestion: None,
        draws: Draws { seed: 1, station: 1 },
        task,
        grants,
    };
    let phases = serde_json::from_value(phases(29_000)).expect("phases");
    PrepareRequest { phases, roles: vec![role] }
}

/// A renewal of all that a challenge asks for, without a signature.
pub fn unsigned(challenge: &RenewalChallenge) -> SignedRenewal {
    let RenewalChallenge { session, run, nonce, grants } = challenge.clone();
    let answers = vec![ChallengeAnswer { run, nonce, valid_ns: u64::MAX, grants }];
    SignedRenewal { renewal: LeaseRenewal { session, answers }, signature: Vec::new() }
}

pub fn refused(outcome: Result<impl std::fmt::Debug, Status>, rule: &str) {
    let status = outcome.expect_err("must be refused");
    assert_eq!(status.code(), Code::PermissionDenied, "{status}");
    assert!(status.message().starts_with(&format!("rule {rule}: ")), "{status}");
}
