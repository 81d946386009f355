//! Leases go on whatever else an agent or a coordinator does.

use crate::common::hand::{Hand, forged, grant_request, refused};
use crate::common::{Agent, LIMIT, MS, Measuring, flow, paced, phases, test, wait_for};
use ethermeter_agent::calls::{Agent as Calls, AgentServer, StampedRequest};
use ethermeter_agent::coordinator;
use ethermeter_agent::protocol::{
    CollectRequest, HelloReply, HelloRequest, LeaseReply, LeaseRequest, PrepareRequest,
    ProgressReport, ProgressRequest, SignedGrant, Stamped, StartRequest, StopRequest,
};
use ethermeter_station::AgentReport;
use ethermeter_station::consent::{Ceilings, GrantRequest, RequestStamp};
use ethermeter_net::pacing::{PriorityGuard, ThreadPriority};
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::{HostTime, Timeline};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::Server;
use tonic::Status;

/// A policy of `sched(7)`, as a number.
const SCHED_OTHER: i32 = 0;
const SCHED_FIFO: i32 = 1;

#[test]
fn threads_that_keep_leases_run_before_roles_and_all_others_at_ordinary_priority() {
    let is_allowed =
        PriorityGuard::above_roles_where_allowed().priority() == ThreadPriority::Fifo;
    let keeping = if is_allowed { (SCHED_FIFO, 2) } else { (SCHED_OTHER, 0) };
    let agents = [Agent::spawn(&[]), Agent::spawn(&[])];
    let described = test(&[&agents[0], &agents[1]], 3000, &[flow("paced", &paced())]);
    let measuring = Measuring::begin("priorities", &described, &[]);
    wait_for("roles", LIMIT, || agents.iter().all(Agent::has_roles));
    // Until it runs for the first time, a thread has the name of the process.
    let are_named = |agent: &Agent| {
        agent.priorities().iter().filter(|(name, ..)| name == "ethermeter-agen").count() == 1
    };
    wait_for("names of threads", LIMIT, || agents.iter().all(are_named));
    for agent in &agents {
        let threads = agent.priorities();
        for (name, policy, priority) in &threads {
            let keeps = ["ethermeter-agen", "watch", "ways"].contains(&name.as_str());
            let expected = if keeps { keeping } else { (SCHED_OTHER, 0) };
            assert_eq!((*policy, *priority), expected, "{name} among {threads:?}");
        }
        assert!(threads.len() > 4, "{threads:?}");
    }
    assert_eq!(measuring.finish().code, Some(0));
}

#[tokio::test]
async fn calls_that_are_given_up_leave_nothing_behind() {
    let agent = Agent::spawn(&[]);
    let before = agent.descriptors();
    let mut hand = Hand::at(&agent, None).await;
    for index in 0..200u64 {
        let request = GrantRequest { flow: format!("f{index}"), ..grant_request() };
        let request = Stamped { stamp: hand.stamp(), request };
        let mut client = hand.client.clone();
        let granting = tokio::spawn(async move { client.call(request).await });
        tokio::time::sleep(Duration::from_micros(50 * (index % 20))).await;
        granting.abort();
    }
    // The coordinator goes away: leases lapse, ports are closed, and there is room for another.
    drop(hand);
    tokio::time::sleep(Duration::from_secs(2)).await;
    wait_for("closed ports", LIMIT, || agent.descriptors() <= before + 1);
    let mut other = Hand::at(&agent, None).await;
    let stamp = other.stamp();
    let stamp = RequestStamp { experiment: stamp.experiment + 1, ..stamp };
    let request = Stamped { stamp, request: grant_request() };
    other.client.call(request).await.expect("there is room");
}

#[tokio::test]
async fn a_renewal_that_comes_again_is_refused_and_none_waits_for_a_call() {
    let agent = Agent::spawn(&[]);
    let mut hand = Hand::at(&agent, None).await;
    let first = hand.stamp();
    for _ in 0..3 {
        hand.stamp();
    }
    hand.call(grant_request()).await.expect("granted");
    // Its counter is below that of the call.
    let request = Stamped { stamp: first, request: LeaseRequest::default() };
    hand.client.call(request.clone()).await.expect("renewed");
    refused(hand.client.call(request).await, "replay");
    refused(hand.client.call(Stamped { stamp: first, request: StopRequest {} }).await, "replay");
}

/// What a slow agent has seen: times of replies to grants, and of renewals with their counters.
#[derive(Default)]
struct Seen {
    granted_ns: Vec<u64>,
    renewals: Vec<(u64, u64)>,
}

/// An agent that takes a second for its first grant and two for the second, which it refuses.
#[derive(Clone, Default)]
struct SlowAgent(Arc<Mutex<Seen>>);

#[tonic::async_trait]
impl Calls for SlowAgent {
    async fn hello(&self, _: HelloRequest) -> Result<HelloReply, Status> {
        Ok(HelloReply {
            version: String::new(),
            host: String::new(),
            kernel: String::new(),
            boot: "one".into(),
            session: std::ptr::from_ref(&*self.0).addr() as u64,
            now_ns: HostTime.now_ns(),
            interfaces: BTreeMap::new(),
            plca: BTreeMap::new(),
            ceilings: Ceilings::default(),
            artificial_clock: None,
            activity: None,
        })
    }

    async fn grant(&self, _: StampedRequest<GrantRequest>) -> Result<SignedGrant, Status> {
        let earlier = self.0.lock().expect("no panic").granted_ns.len() as u64;
        tokio::time::sleep(Duration::from_secs(1 + earlier)).await;
        self.0.lock().expect("no panic").granted_ns.push(HostTime.now_ns());
        match earlier {
            0 => Ok(forged(5000)),
            _ => Err(Status::permission_denied("no more")),
        }
    }

    async fn lease(&self, request: StampedRequest<LeaseRequest>) -> Result<LeaseReply, Status> {
        let counter = request.into_inner().stamp.counter;
        self.0.lock().expect("no panic").renewals.push((HostTime.now_ns(), counter));
        Ok(LeaseReply { is_renewed: true, ..LeaseReply::default() })
    }

    async fn prepare(&self, _: StampedRequest<PrepareRequest>) -> Result<(), Status> {
        Ok(())
    }

    async fn start(&self, _: StampedRequest<StartRequest>) -> Result<(), Status> {
        Ok(())
    }

    async fn progress(
        &self,
        _: StampedRequest<ProgressRequest>,
    ) -> Result<ReceiverStream<Result<ProgressReport, Status>>, Status> {
        Err(Status::unimplemented("nothing is started"))
    }

    async fn stop(&self, _: StampedRequest<StopRequest>) -> Result<(), Status> {
        Ok(())
    }

    async fn collect(&self, _: StampedRequest<CollectRequest>) -> Result<AgentReport, Status> {
        Err(Status::permission_denied("nothing is started"))
    }
}

impl SlowAgent {
    async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        let serving = Server::builder()
            .add_service(AgentServer::new(self.clone(), 1 << 20, 1 << 20))
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(serving);
        at
    }
}

#[tokio::test]
async fn a_coordinator_renews_leases_from_the_first_reply_on_also_while_a_grant_takes_seconds() {
    let (sender, receiver) = (SlowAgent::default(), SlowAgent::default());
    let entry = |name: &str, control: SocketAddr| json!({"name": name, "control": control, "address": "127.0.0.1"});
    let described = json!({
        "seed": 5,
        "agents": [entry("a", sender.listen().await), entry("b", receiver.listen().await)],
        "phases": phases(100),
        "flows": [flow("first", &paced()), flow("second", &paced())],
    });
    let end = std::future::pending();
    let outcome = coordinator::run(&described.to_string(), None, end, async |_| ()).await;
    let refusal = outcome.expect_err("the second grant is refused").to_string();
    assert!(refusal.contains("no more"), "{refusal}");
    let Seen { granted_ns, renewals } = &*receiver.0.lock().expect("no panic");
    let [first_ns, second_ns] = granted_ns[..] else { panic!("{granted_ns:?}") };
    assert!(renewals.iter().all(|(at_ns, _)| *at_ns >= first_ns), "the agent has no lease before");
    let meanwhile = renewals.iter().filter(|(at_ns, _)| *at_ns < second_ns).count();
    // Ten are due in two seconds.
    assert!(meanwhile >= 5, "{meanwhile} renewals in {} ms", (second_ns - first_ns) / MS);
    let counters: Vec<u64> = renewals.iter().map(|(_, counter)| *counter).collect();
    assert_eq!(counters, (1..=renewals.len() as u64).collect::<Vec<_>>());
    assert!(sender.0.lock().expect("no panic").renewals.is_empty(), "it has no lease at all");
}

#[tokio::test]
async fn leases_are_renewed_while_the_coordinator_does_something_else() {
    let agents = [Agent::spawn(&[]), Agent::spawn(&[])];
    let described = test(&[&agents[0], &agents[1]], 300, &[flow("paced", &paced())]).to_string();
    let end = std::future::pending();
    // What hears of the stages may keep its thread for longer than a lease lasts.
    let result = coordinator::run(&described, None, end, async |stage| {
        if matches!(stage, coordinator::TestStage::Running { .. }) {
            std::thread::sleep(Duration::from_millis(1200));
        }
    });
    let result = result.await.expect("a result");
    assert_eq!(result.outcome, ethermeter_agent::result::TestOutcome::Complete);
}
