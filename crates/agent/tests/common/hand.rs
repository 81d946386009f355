//! A coordinator by hand.

use super::{Agent, MS, connect, phases};
use ethermeter_agent::protocol::agent_client::AgentClient;
use ethermeter_agent::protocol::{
    Challenge, GrantRequest, HelloReply, HelloRequest, LeaseReply, LeaseRequest, Phases,
    PrepareRequest, Role, SignedRenewal, Stamp, role,
};
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_live::{HostTime, Timeline};
use ethermeter_station::consent::{ChallengeAnswer, LeaseRenewal};
use std::path::Path;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// A coordinator by hand, on the agent's own host, whose clock it therefore shares.
pub struct Hand {
    pub client: AgentClient<Channel>,
    pub hello: HelloReply,
    counter: u64,
}

pub const EXPERIMENT: u64 = 0xE3E3;

impl Hand {
    pub async fn at(agent: &Agent, certificates: Option<&Path>) -> Self {
        let mut client = AgentClient::new(connect(agent, certificates).await);
        let hello = client.hello(HelloRequest::default()).await.expect("an answer").into_inner();
        Self { client, hello, counter: 0 }
    }

    #[allow(clippy::unnecessary_wraps)] // as messages have it
    pub fn stamp(&mut self) -> Option<Stamp> {
        self.counter += 1;
        let session = self.hello.session;
        Some(Stamp {
            session,
            experiment: EXPERIMENT,
            counter: self.counter,
            made_ns: HostTime.now_ns(),
        })
    }

    /// Renew the lease, and answer the agent's challenges in the name of receivers that sign
    /// nothing.
    pub async fn lease(&mut self) -> LeaseReply {
        let request = LeaseRequest { stamp: self.stamp(), ..LeaseRequest::default() };
        let reply = self.client.lease(request).await.expect("renewed").into_inner();
        let renewals = reply.challenges.iter().map(unsigned).collect();
        let request = LeaseRequest { stamp: self.stamp(), renewals, ..LeaseRequest::default() };
        self.client.lease(request).await.expect("renewed").into_inner()
    }

    pub fn grant_request(&mut self) -> GrantRequest {
        GrantRequest {
            stamp: self.stamp(),
            sender: "127.0.0.1".into(),
            address: "127.0.0.1".into(),
            port: 0,
            rate_bps: 10_000_000,
            rate_frames_per_s: 10_000,
            duration_ns: 30_000 * MS,
            flow: "f".into(),
            longest_frame_octets: 64,
            room_frame_octets: 0,
            kind: "udp".into(),
            cast: "unicast".into(),
            priority: None,
            interface: String::new(),
        }
    }

    pub fn prepare_request(&mut self, role: role::Role) -> PrepareRequest {
        let all = phases(29_000);
        let ns = |key: &str| all[key].as_u64().expect("a time");
        PrepareRequest {
            stamp: self.stamp(),
            phases: Some(Phases {
                settle_ns: ns("settle_ns"),
                transmit_ns: ns("transmit_ns"),
                measure_from_ns: ns("measure_from_ns"),
                measure_to_ns: ns("measure_to_ns"),
                drain_ns: ns("drain_ns"),
                batches: 0,
            }),
            roles: vec![Role {
                flow: "f".into(),
                kind: "udp".into(),
                cast: "unicast".into(),
                priority: None,
                interface: String::new(),
                stream: 0,
                congestion: String::new(),
                role: Some(role),
            }],
        }
    }
}

/// A renewal of all that a challenge asks for, without a signature.
pub fn unsigned(challenge: &Challenge) -> SignedRenewal {
    let Challenge { session, run, nonce, grants } = challenge.clone();
    let renewal = LeaseRenewal {
        session,
        answers: vec![ChallengeAnswer { run, nonce, valid_ns: u64::MAX, grants }],
    };
    SignedRenewal { renewal: serde_json::to_vec(&renewal).expect("numbers"), signature: Vec::new() }
}

pub fn refused(outcome: Result<impl std::fmt::Debug, Status>, rule: &str) {
    let status = outcome.expect_err("must be refused");
    assert_eq!(status.code(), Code::PermissionDenied, "{status}");
    assert!(status.message().starts_with(&format!("rule {rule}: ")), "{status}");
}
