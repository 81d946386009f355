//! Runs one test between agents: grants, roles, a common start, the results.
//!
//! ```text
//! connect ─► grants of receivers ─► roles ─► renewals ─► start at one instant ─► follow ─► stop ─► collect
//!                 └───── leases are renewed all the time, grants by their receivers ───────┘
//! ```
//!
//! Whatever happens on the way, every agent that was reached is stopped and what it has counted is
//! collected. A coordinator that cannot do that any more is missed by the agents, which fall
//! silent.

mod answering;
mod link;
mod outcome;
mod renewals;

use crate::attest::Credentials;
use crate::consent::{Cast, Way};
use crate::description::{AgentEntry, Clocks, Flow, Test, Traffic, CLOCK_FLOW};
use crate::protocol::{self as wire, role::Role as WireRole};
use crate::service::random;
use crate::station::{clocks, Phases};
use answering::Answered;
use ethermeter_live::{HostTime, Timeline};
use link::{Link, PATIENCE};
use renewals::Renewals;
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
/// How often it is looked whether all grants are renewed.
const LOOK: Duration = Duration::from_millis(2);
/// Agents may be so late with the end of their roles.
const OVERTIME: Duration = Duration::from_secs(5);

/// How far a test is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Agents are looked for.
    Connecting,
    /// Receivers are asked, roles are handed out.
    Arranging,
    /// The agents have been told when to begin, which is now or within a third of a second.
    Running,
    /// What was counted is fetched.
    Collecting,
}

/// Run a test, or as much of it as there is until `end` is ready; then all agents are stopped and
/// what they have counted is kept.
///
/// The result has an `outcome`: `complete`, `stopped`, or `agent-lost`.
///
/// # Errors
/// If the test never began: the description is wrong, an agent cannot be reached, or refuses.
pub async fn run(
    test: &str,
    credentials: Option<&Credentials>,
    end: impl Future<Output = ()>,
) -> Result<Value, Error> {
    run_telling(test, credentials, end, |_| ()).await
}

/// As [`run`], and each stage is told when it begins.
///
/// # Errors
/// As [`run`].
pub async fn run_telling(
    test: &str,
    credentials: Option<&Credentials>,
    end: impl Future<Output = ()>,
    tell: impl Fn(Stage),
) -> Result<Value, Error> {
    tell(Stage::Connecting);
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
    tell(Stage::Arranging);
    let renewals = Renewals::among(links.iter().map(|link| link.hello.session));
    let ending = tokio::select! {
        ending = async {
            let arranged = match arrange(&test, &links, &renewals).await {
                Ok(()) => introduce(&links, &renewals).await,
                Err(error) => Err(error),
            };
            match arranged {
                Ok(()) => conduct(&test, &links, &tell).await,
                Err(error) => Ending::Failed(error),
            }
        } => ending,
        (agent, what) = lose_one(&links, &renewals) => Ending::AgentLost { agent, what },
        () = &mut end => Ending::Stopped,
    };
    tell(Stage::Collecting);
    if !matches!(ending, Ending::Complete) {
        together(links.iter().map(Link::stop)).await;
    }
    // An agent that is lost is asked too: its roles may have ended for another reason than its own
    // end.
    let collected = together(links.iter().map(Link::collect)).await;
    if let Ending::Failed(error) = ending {
        return Err(error);
    }
    Ok(outcome::of(&test, experiment, &links, &ending, collected))
}

/// As [`run_telling`], for callers without a runtime of their own: `should_stop` is asked every 50
/// ms.
///
/// # Errors
/// As [`run`], and if the system has no means for it.
pub fn run_blocking(
    test: &str,
    credentials: Option<&Credentials>,
    should_stop: impl FnMut() -> bool,
    tell: impl Fn(Stage),
) -> Result<Value, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run_telling(test, credentials, asked(should_stop), tell))
}

/// As [`hosts`], for callers without a runtime of their own; nothing if it was to stop, which is
/// asked every 50 ms.
///
/// # Errors
/// If the system has no means for it.
pub fn hosts_blocking(
    controls: &[SocketAddr],
    credentials: Option<&Credentials>,
    should_stop: impl FnMut() -> bool,
) -> Result<Option<Value>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async {
        tokio::select! {
            hosts = hosts(controls, credentials) => Some(hosts),
            () = asked(should_stop) => None,
        }
    }))
}

/// Ready when `should_stop` says yes, which it is asked every 50 ms.
pub(crate) async fn asked(mut should_stop: impl FnMut() -> bool) {
    while !should_stop() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What agents say of themselves, in the order of `controls`: versions, interfaces, clocks,
/// ceilings; or why there is no answer. They are all asked at once.
pub async fn hosts(controls: &[SocketAddr], credentials: Option<&Credentials>) -> Value {
    let asked = controls.iter().map(async |&control| {
        let entry = AgentEntry {
            name: control.to_string(),
            control,
            address: control.ip(),
            interface: None,
        };
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
async fn lose_one(links: &[Link], renewals: &Renewals) -> (usize, String) {
    let leases =
        links.iter().enumerate().map(|(place, link)| Box::pin(link.keep_lease(place, renewals)));
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

fn wire_phases(phases: &Phases) -> wire::Phases {
    let Phases { settle_ns, transmit_ns, measure_from_ns, measure_to_ns, drain_ns, batches } =
        *phases;
    wire::Phases { settle_ns, transmit_ns, measure_from_ns, measure_to_ns, drain_ns, batches }
}

/// What receivers are asked to say yes to.
struct Wanted<'a> {
    flow: &'a str,
    way: Way,
    number: u16,
    rate_bps: u64,
    rate_frames_per_s: u64,
    longest_frame_octets: u32,
    /// Of what goes the other way by the same port.
    room_frame_octets: u32,
    duration_ns: u64,
}

/// Ask `link` to say yes to what is wanted, from `sender`.
async fn ask_for(
    link: &Link,
    wanted: &Wanted<'_>,
    sender: IpAddr,
) -> Result<wire::SignedGrant, Error> {
    let request = wire::GrantRequest {
        stamp: None,
        sender: sender.to_string(),
        address: link.entry.address.to_string(),
        port: wanted.number.into(),
        rate_bps: wanted.rate_bps,
        rate_frames_per_s: wanted.rate_frames_per_s,
        duration_ns: wanted.duration_ns,
        flow: wanted.flow.to_owned(),
        longest_frame_octets: wanted.longest_frame_octets,
        room_frame_octets: wanted.room_frame_octets,
        kind: wanted.way.kind.word().into(),
        cast: wanted.way.cast.word().into(),
        interface: link.entry.interface.clone().unwrap_or_default(),
    };
    let wire::GrantReply { grant, signature, certificate } = link.grant(request).await?;
    Ok(wire::SignedGrant { grant, signature, certificate })
}

/// The port's number that a flow's receivers are asked for. All of a group need the same, which the
/// flow's place in the test decides where nobody has said.
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
async fn arrange(test: &Test, links: &[Link], renewals: &Renewals) -> Result<(), Error> {
    let duration_ns = test.phases.duration_ns();
    let mut roles: Vec<Vec<wire::Role>> = links.iter().map(|_| Vec::new()).collect();
    let place = |name: &str| test.place_of(name).expect("names were checked");
    let pairs = ClockPairs::of(test, links);
    pairs.arrange(test, links, &mut roles).await?;
    for (number, flow) in test.flows.iter().enumerate() {
        let stream = u16::try_from(number).expect("fewer flows");
        let way = flow.way();
        let from = place(&flow.from);
        let from_address = links[from].entry.address;
        let receivers: Vec<usize> = flow.to.names().iter().map(|name| place(name)).collect();
        let (rate_bps, rate_frames_per_s) = (flow.most_bps, flow.most_frames_per_s);
        let attention = flow.attention.word().to_owned();
        let wanted = Wanted {
            flow: &flow.name,
            way,
            number: port_number(flow, stream),
            rate_bps,
            rate_frames_per_s,
            longest_frame_octets: flow.longest_frame_octets(),
            room_frame_octets: flow.longest_answer_octets(),
            duration_ns,
        };
        let mut grants = Vec::with_capacity(receivers.len());
        for &to in &receivers {
            grants.push(ask_for(&links[to], &wanted, from_address).await?);
        }
        let role = |agent: usize, role: WireRole| wire::Role {
            flow: flow.name.clone(),
            kind: way.kind.word().into(),
            cast: way.cast.word().into(),
            interface: links[agent].entry.interface.clone().unwrap_or_default(),
            stream: stream.into(),
            congestion: flow.congestion.clone().unwrap_or_default(),
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
                    let clock = pairs.name_of(from, to);
                    roles[to].push(role(
                        to,
                        WireRole::Sink(wire::Sink { attention: attention.clone(), clock }),
                    ));
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
            Traffic::Exchange { .. } | Traffic::File { .. } => {
                let answered = Answered {
                    test,
                    links,
                    flow,
                    number: stream,
                    from,
                    receivers: &receivers,
                    there: &wanted,
                };
                for (agent, it) in answered.roles(grants).await? {
                    roles[agent].push(role(agent, it));
                }
            }
        }
    }
    let phases = Some(wire_phases(&test.phases));
    for (place, (link, roles)) in links.iter().zip(roles).enumerate() {
        link.prepare(wire::PrepareRequest { stamp: None, phases, roles }, place, renewals).await?;
    }
    Ok(())
}

/// Wait until the receivers have renewed their grants for the first time; the leases carry what
/// that takes.
async fn introduce(links: &[Link], renewals: &Renewals) -> Result<(), Error> {
    let all = async {
        while renewals.first_missing().is_some() {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(PATIENCE, all).await.is_ok() {
        return Ok(());
    }
    let agent =
        renewals.first_missing().map_or_else(String::new, |place| links[place].entry.name.clone());
    let what = format!("receivers have not renewed their grants within {} s", PATIENCE.as_secs());
    Err(Error::Refused { agent, doing: "lease", what })
}

/// Senders of streams and receivers whose clocks are to be compared: each pair once.
struct ClockPairs(Vec<(usize, usize)>);

impl ClockPairs {
    fn of(test: &Test, links: &[Link]) -> Self {
        let mut pairs = Vec::new();
        for flow in test.flows.iter().filter(|flow| matches!(flow.traffic, Traffic::Stream { .. }))
        {
            let Some(from) = test.place_of(&flow.from) else { continue };
            for to in flow.to.names().iter().filter_map(|name| test.place_of(name)) {
                let is_wanted = match test.clocks {
                    Clocks::Compared => !links[from].shares_clock_with(&links[to]),
                    Clocks::AlwaysCompared => true,
                    Clocks::NotCompared => false,
                };
                if is_wanted && !pairs.contains(&(from, to)) {
                    pairs.push((from, to));
                }
            }
        }
        Self(pairs)
    }

    fn name(number: usize) -> String {
        format!("{CLOCK_FLOW}{number}")
    }

    /// The flow that compares the clocks of a sender and a receiver; empty if none does.
    fn name_of(&self, from: usize, to: usize) -> String {
        self.0.iter().position(|pair| *pair == (from, to)).map(Self::name).unwrap_or_default()
    }

    /// Grants and roles: the receiver asks, the sender answers.
    async fn arrange(
        &self,
        test: &Test,
        links: &[Link],
        roles: &mut [Vec<wire::Role>],
    ) -> Result<(), Error> {
        for (number, &(from, to)) in self.0.iter().enumerate() {
            let flow = Self::name(number);
            let (rate_bps, rate_frames_per_s) = (clocks::MOST_BPS, clocks::MOST_FRAMES_PER_S);
            let wanted = Wanted {
                flow: &flow,
                way: Way::default(),
                number: 0,
                rate_bps,
                rate_frames_per_s,
                longest_frame_octets: clocks::FRAME_OCTETS,
                room_frame_octets: clocks::FRAME_OCTETS,
                duration_ns: test.phases.duration_ns(),
            };
            let question = ask_for(&links[from], &wanted, links[to].entry.address).await?;
            let answer = ask_for(&links[to], &wanted, links[from].entry.address).await?;
            let role = |agent: usize, role: WireRole| wire::Role {
                flow: flow.clone(),
                kind: wanted.way.kind.word().into(),
                cast: wanted.way.cast.word().into(),
                interface: links[agent].entry.interface.clone().unwrap_or_default(),
                stream: 0,
                congestion: String::new(),
                role: Some(role),
            };
            let clock = wire::Clock { grants: vec![question], rate_bps, rate_frames_per_s };
            roles[to].push(role(to, WireRole::Clock(clock)));
            let attention = "sleeping".to_owned();
            let echo = wire::Echo {
                grant: Some(answer),
                rate_bps,
                rate_frames_per_s,
                attention,
                answers_json: String::new(),
                longest_frame_octets: clocks::FRAME_OCTETS,
                seed: test.seed,
                station: 0,
            };
            roles[from].push(role(from, WireRole::Echo(echo)));
        }
        Ok(())
    }
}

/// Start all at one instant and follow them until all have ended.
async fn conduct(test: &Test, links: &[Link], tell: &impl Fn(Stage)) -> Ending {
    let begin_ns = HostTime.now_ns() + LEAD_NS;
    for outcome in together(links.iter().map(|link| link.start(begin_ns))).await {
        if let Err(error) = outcome {
            return Ending::Failed(error);
        }
    }
    tell(Stage::Running);
    let lasting =
        Duration::from_nanos(LEAD_NS.saturating_add(test.phases.duration_ns())) + OVERTIME;
    let followed =
        together(links.iter().map(|link| tokio::time::timeout(lasting, follow(link)))).await;
    for (agent, followed) in followed.into_iter().enumerate() {
        let what = match followed {
            Ok(Ok(ended)) if ended == "complete" => continue,
            Ok(Ok(ended)) if ended == "receiver" => {
                "a receiver of its roles no longer renewed its grant".into()
            }
            Ok(Ok(ended)) => format!("its roles ended by {ended}"),
            Ok(Err(error)) => error.to_string(),
            Err(_) => {
                format!("its roles did not end within {} s of their time", OVERTIME.as_secs())
            }
        };
        return Ending::AgentLost { agent, what };
    }
    Ending::Complete
}

/// Follow an agent's roles until they have ended; why they did. A stream that breaks is no end: the
/// lease tells whether the agent is lost.
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
