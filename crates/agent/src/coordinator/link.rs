//! One agent, as its coordinator sees it.

use super::renewals::RenewalRelay;
use crate::activity::{ActivityCounters, HostActivity, WINDOW};
use crate::attest::Credentials;
use crate::calls::AgentClient;
use crate::description::AgentEntry;
use crate::listen::{LONGEST_RESULT, error_chain};
use crate::protocol::{
    Call, CollectRequest, HelloReply, HelloRequest, PROTOCOL, PrepareRequest, ProgressReport,
    ProgressRequest, SignedGrant, Stamped, StartRequest, StopRequest,
};
use crate::result::CoordinatorClock;
use crate::service::boot;
use crate::time::{RealTime, sleep};
use ethermeter_net::Timeline;
use ethermeter_station::AgentReport;
use ethermeter_station::consent::{GrantRequest, RENEWAL_NS, RequestStamp};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status, Streaming};

/// A test could not begin.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// The description is wrong; one line a fault.
    #[error("{0}")]
    Description(String),
    /// An agent cannot be reached.
    #[error("agent {agent} at {control}: {what}")]
    Unreachable {
        /// Which.
        agent: String,
        /// Where.
        control: SocketAddr,
        /// Why.
        what: String,
    },
    /// The operating system refused.
    #[error("starting a coordinator: {0}")]
    System(#[from] std::io::Error),
    /// An agent refused, or failed, before the test began.
    #[error("agent {agent}, {doing}: {what}")]
    Refused {
        /// Which.
        agent: String,
        /// What was asked of it.
        doing: &'static str,
        /// Why: of a refusal, its rule, the value and what is allowed.
        what: String,
    },
}

/// A call that takes longer has failed.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// A renewal of a lease that takes longer has failed.
const LEASE_TIMEOUT: Duration = Duration::from_millis(500);
/// So many leases in a row that fail mean that the agent is lost; by then it has fallen silent.
const MOST_FAILED_LEASES: u32 = 5;
/// Exchanges, of which the fastest gives the offset of the agent's clock.
const HELLOS: usize = 9;

/// The request that takes no time.
const HELLO: HelloRequest =
    HelloRequest { protocol: PROTOCOL, reads_plca: false, reads_activity: false };

/// A connection to an agent.
pub(super) struct AgentConnection {
    pub entry: AgentEntry,
    pub hello: HelloReply,
    /// The agent's clock, by the fastest of some calls.
    pub clock: CoordinatorClock,
    experiment: u64,
    client: AgentClient,
    /// Counter of the last stamped call. Calls are made one after the other, so that they arrive in
    /// the order of their counters; but renewals of leases have their own counter, and wait for no
    /// call.
    calls: Mutex<u64>,
    /// Whether the agent has replied to the first call, with which its lease begins.
    has_begun: AtomicBool,
    /// Time of the coordinator.
    pub time: RealTime,
}

impl AgentConnection {
    /// Connect, and compare clocks.
    pub async fn connect(
        entry: &AgentEntry,
        credentials: Option<&Credentials>,
        experiment: u64,
        time: RealTime,
    ) -> Result<Self, TestError> {
        let failed = |what: String| TestError::Unreachable {
            agent: entry.name.clone(),
            control: entry.control,
            what,
        };
        let scheme = if credentials.is_some() { "https" } else { "http" };
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", entry.control))
            .map_err(|error| failed(error_chain(&error)))?
            .connect_timeout(TIMEOUT)
            .http2_keep_alive_interval(Duration::from_secs(1))
            .keep_alive_timeout(Duration::from_secs(3))
            .tcp_nodelay(true);
        if let Some(credentials) = credentials {
            let tls = ClientTlsConfig::new()
                .ca_certificate(Certificate::from_pem(&credentials.authority))
                .identity(Identity::from_pem(&credentials.certificate, &credentials.key))
                .domain_name(entry.control.ip().to_string());
            endpoint = endpoint.tls_config(tls).map_err(|error| failed(error_chain(&error)))?;
        }
        let channel = endpoint.connect().await.map_err(|error| failed(error_chain(&error)))?;
        let mut client = AgentClient::new(channel, LONGEST_RESULT);
        let mut best: Option<(u64, i64, HelloReply)> = None;
        for _ in 0..HELLOS {
            let before_ns = time.now_ns();
            let hello = in_time(client.call(HELLO)).await;
            let hello = hello.map_err(|status| failed(reason_of(&status)))?;
            let round_ns = time.now_ns() - before_ns;
            let offset_ns = hello.now_ns.wrapping_sub(before_ns + round_ns / 2).cast_signed();
            if best.as_ref().is_none_or(|(fastest_ns, ..)| round_ns < *fastest_ns) {
                best = Some((round_ns, offset_ns, hello));
            }
        }
        let Some((round_ns, offset_ns, hello)) = best else {
            unreachable!("there were some calls")
        };
        let compared = CoordinatorClock { offset_ns, uncertainty_ns: round_ns.div_ceil(2) };
        let clock = if hello.boot == boot() { compared.of_one_boot() } else { compared };
        let (calls, has_begun) = (Mutex::new(0), AtomicBool::new(false));
        let entry = entry.clone();
        Ok(Self { entry, hello, clock, experiment, client, calls, has_begun, time })
    }

    /// Have PLCA of the interfaces read, too. Drivers may take a while for it, so that the clock is
    /// not compared by this call.
    pub async fn with_plca(mut self) -> Result<Self, TestError> {
        self.hello.plca = self.hello(HelloRequest { reads_plca: true, ..HELLO }).await?.plca;
        Ok(self)
    }

    /// What the host does for [`WINDOW`]; `None` if the agent does not report it.
    pub async fn activity(&self) -> Result<Option<HostActivity>, TestError> {
        let Some(early) = self.activity_counters().await? else { return Ok(None) };
        sleep(WINDOW).await;
        let late = self.activity_counters().await?;
        Ok(late.and_then(|late| early.until(&late)))
    }

    async fn activity_counters(&self) -> Result<Option<ActivityCounters>, TestError> {
        Ok(self.hello(HelloRequest { reads_activity: true, ..HELLO }).await?.activity)
    }

    async fn hello(&self, request: HelloRequest) -> Result<HelloReply, TestError> {
        in_time(self.client.clone().call(request)).await.map_err(|status| TestError::Unreachable {
            agent: self.entry.name.clone(),
            control: self.entry.control,
            what: reason_of(&status),
        })
    }

    /// Whether frames of both show the same clock: that of one host, and none of them an artificial
    /// one.
    pub fn shares_clock_with(&self, other: &Self) -> bool {
        let is_true = |link: &Self| link.hello.artificial_clock.is_none();
        self.hello.boot == other.hello.boot && is_true(self) && is_true(other)
    }

    /// A request with the stamp after `counter`.
    fn stamped<T>(&self, counter: &mut u64, request: T) -> Stamped<T> {
        *counter += 1;
        let stamp = RequestStamp {
            session: self.hello.session,
            experiment: self.experiment,
            counter: *counter,
            made_ns: self.clock.at_ns(self.time.now_ns()),
        };
        Stamped { stamp, request }
    }

    fn failed(&self, doing: &'static str) -> impl Fn(Status) -> TestError + '_ {
        move |status| TestError::Refused {
            agent: self.entry.name.clone(),
            doing,
            what: reason_of(&status),
        }
    }

    async fn call<T>(
        &self,
        doing: &'static str,
        request: T,
    ) -> Result<<Stamped<T> as Call>::Reply, TestError>
    where
        Stamped<T>: Call,
    {
        let counter = &mut *self.calls.lock().await;
        let request = self.stamped(counter, request);
        in_time(self.client.clone().call(request)).await.map_err(self.failed(doing))
    }

    pub async fn grant(&self, request: GrantRequest) -> Result<SignedGrant, TestError> {
        let grant = self.call("grant", request).await?;
        self.has_begun.store(true, Ordering::Release);
        Ok(grant)
    }

    pub async fn prepare(
        &self,
        request: PrepareRequest,
        index: usize,
        renewals: &RenewalRelay,
    ) -> Result<(), TestError> {
        self.call("prepare", request).await?;
        self.has_begun.store(true, Ordering::Release);
        renewals.expect(index);
        Ok(())
    }

    /// Begin at the own time `begin_ns`.
    pub async fn start(&self, begin_ns: u64) -> Result<(), TestError> {
        self.call("start", StartRequest { begin_ns: self.clock.at_ns(begin_ns) }).await
    }

    pub async fn stop(&self) -> Result<(), TestError> {
        self.call("stop", StopRequest {}).await
    }

    pub async fn collect(&self) -> Result<AgentReport, TestError> {
        self.call("collect", CollectRequest {}).await
    }

    pub async fn progress(&self) -> Result<Streaming<ProgressReport>, TestError> {
        let counter = &mut *self.calls.lock().await;
        let request = self.stamped(counter, ProgressRequest {});
        in_time(self.client.clone().stream(request)).await.map_err(self.failed("progress"))
    }

    /// Renew the lease for as long as it is polled, and carry what this agent, number `index` in
    /// the test, and others have for each other; ends with the reason when the agent is lost.
    pub async fn keep_lease(&self, index: usize, renewals: &RenewalRelay) -> String {
        let mut failed = 0;
        let counter = &mut 0;
        loop {
            let renewed = if self.has_begun.load(Ordering::Acquire) {
                let messages = renewals.take(index);
                let request = self.stamped(counter, messages.request.clone());
                let mut client = self.client.clone();
                let reply = tokio::time::timeout(LEASE_TIMEOUT, client.call(request)).await;
                Some(reply.map(|reply| {
                    reply.map(|reply| renewals.put(index, self.time.now_ns(), &messages, reply))
                }))
            } else {
                None
            };
            match renewed {
                None | Some(Ok(Ok(()))) => failed = 0,
                // Refused: it does not know the experiment, which will not change.
                Some(Ok(Err(status))) if status.code() == Code::PermissionDenied => {
                    return reason_of(&status);
                }
                Some(Ok(Err(status))) if failed + 1 >= MOST_FAILED_LEASES => {
                    return reason_of(&status);
                }
                Some(Err(_)) if failed + 1 >= MOST_FAILED_LEASES => return "no answer".into(),
                Some(Ok(Err(_)) | Err(_)) => failed += 1,
            }
            // Whatever wakes it first: the next renewal is due, or there is something for the
            // agent.
            let _ =
                tokio::time::timeout(Duration::from_nanos(RENEWAL_NS), renewals.ready(index)).await;
        }
    }
}

async fn in_time<T>(call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Status::deadline_exceeded(format!("no answer in {} s", TIMEOUT.as_secs()))),
    }
}

/// Text of a status: of a refusal, its message only.
fn reason_of(status: &Status) -> String {
    match status.code() {
        Code::PermissionDenied | Code::FailedPrecondition => status.message().to_owned(),
        // Agents of older protocols have none of our calls.
        Code::Unimplemented => {
            format!("protocol older than 9: must be {PROTOCOL}, that of the coordinator")
        }
        _ => error_chain(status),
    }
}
