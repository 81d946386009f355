//! Runs one test between agents: grants, roles, a common start, the results.
//!
//! ```text
//! connect ─► grants of receivers ─► roles ─► renewals ─► start at one instant ─► follow ─► stop ─►
//! collect
//!                 └───── leases are renewed all the time, grants by their receivers ───────┘
//! ```
//!
//! Connections and leases have a thread of their own, so that nothing else that the coordinator does
//! keeps a lease from being renewed.
//!
//! However the test ends, every agent that was reached is stopped and its results are collected.
//! If the coordinator is lost, its leases lapse and the agents fall silent.

mod connections;
mod link;
mod outcome;
mod renewals;
mod roles;

use crate::attest::{Credentials, random};
use crate::description::{AgentEntry, TestDescription};
use crate::listen::stop_requested;
use crate::result::{HostAnswer, HostDescription, TestResult};
use crate::time::{RealTime, sleep};
use ethermeter_net::Timeline;
pub use link::TestError;

use connections::ConnectionThread;
use link::{AgentConnection, TIMEOUT};
use outcome::TestEnd;
use renewals::RenewalRelay;
use roles::arrange;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Builder;

/// From the order to begin to the beginning: enough for all agents to hear of it.
const LEAD_NS: u64 = 250_000_000;
/// So much more for each agent: many on one machine hear of it one after the other.
const LEAD_OF_AGENT_NS: u64 = 25_000_000;
/// How often it is looked whether all grants are renewed.
const LOOK: Duration = Duration::from_millis(2);
/// Agents may be so late with the end of their roles.
const OVERTIME: Duration = Duration::from_secs(5);

/// How far a test is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestStage {
    /// Agents are looked for.
    Connecting,
    /// Receivers are asked, roles are handed out.
    Arranging,
    /// It is known when agents begin; they hear of it next. It comes again, with another time,
    /// where `tell` took so long that they would not hear of it before.
    Running {
        /// When, by this host's time.
        begin_ns: u64,
    },
    /// What was counted is fetched.
    Collecting,
}

/// Run a test, or as much of it as there is until `end` is ready; then all agents are stopped and
/// their counts are kept. `tell` is called when a stage begins, which then waits for it.
///
/// # Errors
/// If the test never began: the description is wrong, an agent cannot be reached, or refuses.
pub async fn run(
    test: &str,
    credentials: Option<&Credentials>,
    end: impl Future<Output = ()>,
    tell: impl AsyncFn(TestStage),
) -> Result<TestResult, TestError> {
    let time = RealTime::default();
    tell(TestStage::Connecting).await;
    let test = TestDescription::parse(test).map_err(TestError::Description)?;
    let experiment = random();
    let connections = ConnectionThread::begin()?;
    let mut links = Vec::with_capacity(test.agents.len());
    let mut end = std::pin::pin!(end);
    for entry in &test.agents {
        let (entry, credentials) = (entry.clone(), credentials.cloned());
        let connecting = connections.run(async move {
            AgentConnection::connect(&entry, credentials.as_ref(), experiment, time).await
        });
        links.push(tokio::select! {
            link = connecting => link??,
            () = &mut end => return Ok(outcome::never_begun(&test, experiment)),
        });
    }
    tell(TestStage::Arranging).await;
    let links: Arc<[AgentConnection]> = links.into();
    let renewals = Arc::new(RenewalRelay::among(links.iter().map(|link| link.hello.session)));
    let losing = connections.run(lose_one(Arc::clone(&links), Arc::clone(&renewals)));
    let ending = tokio::select! {
        ending = async {
            let arranged = match arrange(&test, &links, &renewals).await {
                Ok(()) => introduce(&links, &renewals).await,
                Err(error) => Err(error),
            };
            match arranged {
                Ok(()) => conduct(&test, &links, &tell, time).await,
                Err(error) => TestEnd::Failed(error),
            }
        } => ending,
        lost = losing => match lost {
            Ok((agent, what)) => TestEnd::AgentLost { agent, what },
            Err(error) => TestEnd::Failed(error.into()),
        },
        () = &mut end => TestEnd::Stopped,
    };
    tell(TestStage::Collecting).await;
    if !matches!(ending, TestEnd::Complete) {
        together(links.iter().map(AgentConnection::stop)).await;
    }
    // An agent that is lost is asked too: its roles may have ended for another reason than its own
    // end.
    let collected = together(links.iter().map(AgentConnection::collect)).await;
    if let TestEnd::Failed(error) = ending {
        return Err(error);
    }
    Ok(outcome::of(&test, experiment, &links, &ending, collected))
}

/// As [`run`], for callers without a runtime of their own: `should_stop` is called every 50 ms.
///
/// # Errors
/// As [`run`], and if the system refuses a runtime.
pub fn run_blocking(
    test: &str,
    credentials: Option<&Credentials>,
    should_stop: impl Fn() -> bool,
    tell: impl AsyncFn(TestStage),
) -> Result<TestResult, TestError> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(test, credentials, stop_requested(should_stop), tell))
}

/// As [`hosts`], for callers without a runtime of their own; `None` if `should_stop`, called every
/// 50 ms, returned true.
///
/// # Errors
/// If the system refuses a runtime.
pub fn hosts_blocking(
    controls: &[SocketAddr],
    credentials: Option<&Credentials>,
    reads_activity: bool,
    should_stop: impl Fn() -> bool,
) -> Result<Option<Vec<HostAnswer>>, TestError> {
    Ok(Builder::new_current_thread().enable_all().build()?.block_on(async {
        tokio::select! {
            hosts = hosts(controls, credentials, reads_activity) => Some(hosts),
            () = stop_requested(should_stop) => None,
        }
    }))
}

/// Descriptions of agents, in the order of `controls`: versions, interfaces with
/// their PLCA, clocks, ceilings; with `reads_activity`, which takes a second, also what the hosts do;
/// or why there is no answer. They are all asked at once.
pub async fn hosts(
    controls: &[SocketAddr],
    credentials: Option<&Credentials>,
    reads_activity: bool,
) -> Vec<HostAnswer> {
    let answers = controls.iter().map(async |&control| {
        let entry = AgentEntry {
            name: control.to_string(),
            control,
            address: control.ip(),
            interface: None,
        };
        let description = async {
            let link = AgentConnection::connect(&entry, credentials, 0, RealTime::default());
            let link = link.await?.with_plca().await?;
            let activity = if reads_activity { link.activity().await? } else { None };
            Ok::<_, TestError>(HostDescription { activity, ..outcome::of_host(&link) })
        };
        match description.await {
            Ok(description) => HostAnswer::Description(Box::new(description)),
            Err(error) => HostAnswer::Unreached { control, error: error.to_string() },
        }
    });
    together(answers).await
}

/// All of them at once, in their order.
async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

/// Renew all leases until an agent is lost; which, and why.
async fn lose_one(links: Arc<[AgentConnection]>, renewals: Arc<RenewalRelay>) -> (usize, String) {
    let leases =
        links.iter().enumerate().map(|(index, link)| Box::pin(link.keep_lease(index, &renewals)));
    let mut leases: Vec<_> = leases.collect();
    std::future::poll_fn(|context| {
        for (index, lease) in leases.iter_mut().enumerate() {
            if let Poll::Ready(what) = lease.as_mut().poll(context) {
                return Poll::Ready((index, what));
            }
        }
        Poll::Pending
    })
    .await
}

/// Wait until the receivers have renewed their grants for the first time; the leases carry what
/// that takes.
async fn introduce(links: &[AgentConnection], renewals: &RenewalRelay) -> Result<(), TestError> {
    let all = async {
        while renewals.first_missing().is_some() {
            sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(TIMEOUT, all).await.is_ok() {
        return Ok(());
    }
    let agent =
        renewals.first_missing().map_or_else(String::new, |index| links[index].entry.name.clone());
    let reason = format!("receivers have not renewed their grants within {} s", TIMEOUT.as_secs());
    Err(TestError::Refused { agent, doing: "lease", what: reason })
}

/// Start all at one instant and follow them until all have ended.
async fn conduct(
    test: &TestDescription,
    links: &[AgentConnection],
    tell: &impl AsyncFn(TestStage),
    time: RealTime,
) -> TestEnd {
    let mut lead_ns = LEAD_NS + LEAD_OF_AGENT_NS * links.len() as u64;
    // An emulated medium between the agents begins with them, so it hears the time first. If that
    // took so long that the agents would hear too late, all get a later time.
    let begin_ns = loop {
        let begin_ns = time.now_ns() + lead_ns;
        tell(TestStage::Running { begin_ns }).await;
        if time.now_ns() + lead_ns / 2 < begin_ns {
            break begin_ns;
        }
        lead_ns *= 2;
    };
    for outcome in together(links.iter().map(|link| link.start(begin_ns))).await {
        if let Err(error) = outcome {
            return TestEnd::Failed(error);
        }
    }
    let lasting =
        Duration::from_nanos(lead_ns.saturating_add(test.phases.duration_ns())) + OVERTIME;
    let followed =
        together(links.iter().map(|link| tokio::time::timeout(lasting, follow(link)))).await;
    for (agent, followed) in followed.into_iter().enumerate() {
        let reason = match followed {
            Ok(Ok(ended)) if ended == "complete" => continue,
            Ok(Ok(ended)) if ended == "receiver" => {
                "a receiver of its roles no longer renewed its grant".into()
            }
            Ok(Ok(ended)) if ended == "route" => {
                "its frames would have gone another way than its receivers granted".into()
            }
            Ok(Ok(ended)) => format!("its roles ended by {ended}"),
            Ok(Err(error)) => error.to_string(),
            Err(_) => {
                format!("its roles did not end within {} s of their time", OVERTIME.as_secs())
            }
        };
        return TestEnd::AgentLost { agent, what: reason };
    }
    TestEnd::Complete
}

/// Follow an agent's roles until they have ended; why they did. A stream that breaks is no end: the
/// lease shows whether the agent is lost.
async fn follow(link: &AgentConnection) -> Result<String, TestError> {
    loop {
        let mut reports = link.progress().await?;
        while let Ok(Some(report)) = reports.message().await {
            if let Some(ended) = report.ended {
                return Ok(ended);
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
}
