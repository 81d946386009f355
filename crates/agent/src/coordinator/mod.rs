//! Runs one test between agents: grants, roles, a common start, the results.
//!
//! ```text
//! connect ─► grants of receivers ─► roles ─► start at one instant ─► follow ─► stop ─► collect
//!                 └────────────── leases are renewed all the time ───────────────┘
//! ```
//!
//! Whatever happens on the way, every agent that was reached is stopped and what it has counted is collected. A coordinator that cannot do that any more
//! is missed by the agents, which fall silent.

mod link;
mod outcome;

use crate::attest::Credentials;
use crate::consent::{Cast, Way};
use crate::description::{AgentEntry, Flow, Test, Traffic};
use crate::protocol::{self as wire, role::Role as WireRole};
use crate::service::random;
use crate::station::Phases;
use ethermeter_live::{HostTime, Timeline};
use link::Link;
use serde_json::Value;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

/// Why there is no result at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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
    /// The system has no means to talk to anybody.
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

/// How a test ended.
enum Ending {
    Complete,
    Stopped,
    AgentLost { agent: usize, what: String },
    Failed(Error),
}

/// From the order to begin to the beginning: enough for all agents to hear of it.
const LEAD_NS: u64 = 300_000_000;
/// Agents may be so late with the end of their roles.
const OVERTIME: Duration = Duration::from_secs(5);

/// Run a test, or as much of it as there is until `end` is ready; then all agents are stopped and what they have counted is kept.
///
/// The result has an `outcome`: `complete`, `stopped`, or `agent-lost`.
///
/// # Errors
/// If the test never began: the description is wrong, an agent cannot be reached, or refuses.
pub async fn run(test: &str, credentials: Option<&Credentials>, end: impl Future<Output = ()>) -> Result<Value, Error> {
    let test = Test::parse(test).map_err(Error::Description)?;
    let experiment = random();
    let mut links = Vec::with_capacity(test.agents.len());
    let mut end = std::pin::pin!(end);
    for entry in &test.agents {
        links.push(tokio::select! {
            link = Link::connect(entry, credentials, experiment) => link?,
            () = &mut end => return Ok(outcome::never_begun(&test, experiment)),
        });
    }
    let ending = tokio::select! {
        ending = async {
            match arrange(&test, &links).await {
                Ok(()) => conduct(&test, &links).await,
                Err(error) => Ending::Failed(error),
            }
        } => ending,
        (agent, what) = lose_one(&links) => Ending::AgentLost { agent, what },
        () = &mut end => Ending::Stopped,
    };
    if !matches!(ending, Ending::Complete) {
        together(links.iter().map(Link::stop)).await;
    }
    // An agent that is lost is asked too: its roles may have ended for another reason than its own end.
    let collected = together(links.iter().map(Link::collect)).await;
    if let Ending::Failed(error) = ending {
        return Err(error);
    }
    Ok(outcome::of(&test, experiment, &links, &ending, collected))
}

/// As [`run`], for callers without a runtime of their own: `should_stop` is asked every 50 ms.
///
/// # Errors
/// As [`run`], and if the system has no means for it.
pub fn run_blocking(
    test: &str,
    credentials: Option<&Credentials>,
    mut should_stop: impl FnMut() -> bool,
) -> Result<Value, Error> {
    let end = async {
        while !should_stop() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(test, credentials, end))
}

/// What agents say of themselves, in the order of `controls`: versions, interfaces, clocks, ceilings; or why there is no answer. They are all asked at once.
pub async fn hosts(controls: &[SocketAddr], credentials: Option<&Credentials>) -> Value {
    let asked = controls.iter().map(async |&control| {
        let entry = AgentEntry { name: control.to_string(), control, address: control.ip(), interface: None };
        match Link::connect(&entry, credentials, 0).await {
            Ok(link) => outcome::of_host(&link),
            Err(error) => serde_json::json!({"control": control, "error": error.to_string()}),
        }
    });
    Value::Array(together(asked).await)
}

/// All of them at once, in their order.
async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none() {
                if let Poll::Ready(ready) = future.as_mut().poll(context) {
                    *output = Some(ready);
                }
            }
        }
        if outputs.iter().all(Option::is_some) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

/// Renew all leases until an agent is lost; which, and why.
async fn lose_one(links: &[Link]) -> (usize, String) {
    let mut leases: Vec<_> = links.iter().map(|link| Box::pin(link.keep_lease())).collect();
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

fn wire_phases(phases: &Phases) -> wire::Phases {
    let Phases { settle_ns, transmit_ns, measure_from_ns, measure_to_ns, drain_ns } = *phases;
    wire::Phases { settle_ns, transmit_ns, measure_from_ns, measure_to_ns, drain_ns }
}

/// Ask `link` to say yes to a flow's frames from `sender`.
async fn ask_for(
    link: &Link,
    flow: &Flow,
    way: Way,
    sender: IpAddr,
    number: u16,
    duration_ns: u64,
) -> Result<wire::SignedGrant, Error> {
    let request = wire::GrantRequest {
        stamp: None,
        sender: sender.to_string(),
        address: link.entry.address.to_string(),
        port: number.into(),
        rate_bps: flow.most_bps,
        rate_frames_per_s: flow.most_frames_per_s,
        duration_ns,
        flow: flow.name.clone(),
        longest_frame_octets: flow.longest_frame_octets(),
        kind: way.kind.word().into(),
        cast: way.cast.word().into(),
        interface: link.entry.interface.clone().unwrap_or_default(),
    };
    let wire::GrantReply { grant, signature, certificate } = link.grant(request).await?;
    Ok(wire::SignedGrant { grant, signature, certificate })
}

/// The port's number that a flow's receivers are asked for. All of a group need the same, which the flow's place in the test decides where nobody has said.
fn port_number(flow: &Flow, stream: u16) -> u16 {
    let is_free = flow.number == 0 && flow.cast != Cast::Unicast && !flow.port.is_raw();
    if is_free {
        GROUP_PORTS.start + stream % (GROUP_PORTS.end - GROUP_PORTS.start)
    } else {
        flow.number
    }
}

/// Ports of groups: below those that the system gives to whoever asks for any.
const GROUP_PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Grants and roles of all agents.
async fn arrange(test: &Test, links: &[Link]) -> Result<(), Error> {
    let duration_ns = test.phases.duration_ns();
    let mut roles: Vec<Vec<wire::Role>> = links.iter().map(|_| Vec::new()).collect();
    let place = |name: &str| test.place_of(name).expect("names were checked");
    for (number, flow) in test.flows.iter().enumerate() {
        let stream = u16::try_from(number).expect("fewer flows");
        let (way, back) = (flow.way(), Way { cast: Cast::Unicast, ..flow.way() });
        let from = place(&flow.from);
        let from_address = links[from].entry.address;
        let receivers: Vec<usize> = flow.to.names().iter().map(|name| place(name)).collect();
        let (rate_bps, rate_frames_per_s) = (flow.most_bps, flow.most_frames_per_s);
        let attention = flow.attention.word().to_owned();
        let mut grants = Vec::with_capacity(receivers.len());
        for &to in &receivers {
            let number = port_number(flow, stream);
            grants.push(ask_for(&links[to], flow, way, from_address, number, duration_ns).await?);
        }
        let role = |agent: usize, role: WireRole| wire::Role {
            flow: flow.name.clone(),
            kind: way.kind.word().into(),
            cast: way.cast.word().into(),
            interface: links[agent].entry.interface.clone().unwrap_or_default(),
            stream: stream.into(),
            role: Some(role),
        };
        match &flow.traffic {
            Traffic::Stream { real_time, .. } => {
                let send = wire::Send {
                    grants,
                    source_json: flow.source_text().expect("streams have one"),
                    seed: test.seed,
                    station: stream.into(),
                    address: from_address.to_string(),
                    rate_bps,
                    rate_frames_per_s,
                    real_time: *real_time,
                };
                roles[from].push(role(from, WireRole::Send(send)));
                for &to in &receivers {
                    roles[to].push(role(to, WireRole::Sink(wire::Sink { attention: attention.clone() })));
                }
            }
            Traffic::Transfer { octets, block_octets } => {
                let give = wire::Give {
                    grants,
                    address: from_address.to_string(),
                    octets: octets.unwrap_or(0),
                    block_octets: *block_octets,
                    rate_bps,
                    rate_frames_per_s,
                };
                roles[from].push(role(from, WireRole::Give(give)));
                for &to in &receivers {
                    roles[to].push(role(to, WireRole::Take(wire::Take {})));
                }
            }
            Traffic::Exchange { frame_octets, interval_ns, patience_ns } => {
                for &to in &receivers {
                    let answerer = links[to].entry.address;
                    let grant = Some(ask_for(&links[from], flow, back, answerer, 0, duration_ns).await?);
                    let echo = wire::Echo { grant, rate_bps, rate_frames_per_s, attention: attention.clone() };
                    roles[to].push(role(to, WireRole::Echo(echo)));
                }
                let ask = wire::Ask {
                    grants,
                    frame_octets: *frame_octets,
                    interval_ns: *interval_ns,
                    patience_ns: *patience_ns,
                    rate_bps,
                    rate_frames_per_s,
                    attention,
                };
                roles[from].push(role(from, WireRole::Ask(ask)));
            }
        }
    }
    let phases = Some(wire_phases(&test.phases));
    for (link, roles) in links.iter().zip(roles) {
        link.prepare(wire::PrepareRequest { stamp: None, phases, roles }).await?;
    }
    Ok(())
}

/// Start all at one instant and follow them until all have ended.
async fn conduct(test: &Test, links: &[Link]) -> Ending {
    let begin_ns = HostTime.now_ns() + LEAD_NS;
    for outcome in together(links.iter().map(|link| link.start(begin_ns))).await {
        if let Err(error) = outcome {
            return Ending::Failed(error);
        }
    }
    let lasting = Duration::from_nanos(LEAD_NS.saturating_add(test.phases.duration_ns())) + OVERTIME;
    let followed = together(links.iter().map(|link| tokio::time::timeout(lasting, follow(link)))).await;
    for (agent, followed) in followed.into_iter().enumerate() {
        let what = match followed {
            Ok(Ok(ended)) if ended == "complete" => continue,
            Ok(Ok(ended)) => format!("its roles ended by {ended}"),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("its roles did not end within {} s of their time", OVERTIME.as_secs()),
        };
        return Ending::AgentLost { agent, what };
    }
    Ending::Complete
}

/// Follow an agent's roles until they have ended; why they did. A stream that breaks is no end: the lease tells whether the agent is lost.
async fn follow(link: &Link) -> Result<String, Error> {
    loop {
        let mut reports = link.progress().await?;
        while let Ok(Some(report)) = reports.message().await {
            if !report.ended.is_empty() {
                return Ok(report.ended);
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
