//! Result of a test, from the reports of its agents.

use super::link::{AgentConnection, TestError};
use crate::description::{FlowDescription, TestDescription};
use crate::result::{
    AgentResult, Caution, FlowReceivers, FlowResult, HostDescription, LostAgent, ReceiverResult,
    SenderClockState, StreamLosses, TestOutcome, TestResult, TransferOctets,
};
use ethermeter_net::loss::PathCounters;
use ethermeter_station::consent::Cast;
use ethermeter_station::{AgentReport, HostCounters, RoleReport, RoleTotals, SinkReport};
use ethermeter_trial::roles::FlowTraffic;
use std::collections::{BTreeMap, BTreeSet};

/// How a test ended.
pub(super) enum TestEnd {
    Complete,
    Stopped,
    AgentLost { agent: usize, what: String },
    Failed(TestError),
}

/// Of a test that was ended before its agents were reached.
pub(super) fn never_begun(test: &TestDescription, experiment: u64) -> TestResult {
    TestResult {
        outcome: TestOutcome::Stopped,
        lost: None,
        experiment: format!("{experiment:016x}"),
        seed: test.seed,
        phases: test.phases,
        agents: BTreeMap::new(),
        flows: BTreeMap::new(),
    }
}

pub(super) fn of_host(link: &AgentConnection) -> HostDescription {
    let hello = &link.hello;
    HostDescription {
        control: link.entry.control,
        version: hello.version.clone(),
        host: hello.host.clone(),
        kernel: hello.kernel.clone(),
        boot: hello.boot.clone(),
        clock: link.clock,
        artificial_clock: hello.artificial_clock,
        plca: hello.plca.clone(),
        interfaces: hello.interfaces.clone(),
        ceilings: Some(hello.ceilings.clone()),
        activity: None,
    }
}

/// Of a test that began.
pub(super) fn of(
    test: &TestDescription,
    experiment: u64,
    links: &[AgentConnection],
    ending: &TestEnd,
    collected: Vec<Result<AgentReport, TestError>>,
) -> TestResult {
    let (outcome, lost) = match ending {
        TestEnd::Complete => (TestOutcome::Complete, None),
        TestEnd::Stopped => (TestOutcome::Stopped, None),
        TestEnd::AgentLost { agent, what } => (TestOutcome::AgentLost, Some((*agent, what))),
        TestEnd::Failed(_) => unreachable!("a test that did not begin has no outcome"),
    };
    let mut agents = BTreeMap::new();
    for (index, (link, collected)) in links.iter().zip(collected).enumerate() {
        let (report, error) = match collected {
            Ok(report) => (Some(report), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let lost = lost.filter(|(lost, _)| *lost == index).map(|(_, what)| what.clone());
        let (host, address) = (of_host(link), link.entry.address);
        let agent = AgentResult { host, address, report, error, lost };
        agents.insert(link.entry.name.clone(), agent);
    }
    TestResult {
        outcome,
        lost: lost.map(|(agent, what)| LostAgent {
            agent: test.agents[agent].name.clone(),
            what: what.clone(),
        }),
        experiment: format!("{experiment:016x}"),
        seed: test.seed,
        phases: test.phases,
        flows: test.flows.iter().map(|flow| (flow.name.clone(), of_flow(flow, &agents))).collect(),
        agents,
    }
}

/// Result of one flow, from its agents' reports. Of a group, each receiver has results of its own.
fn of_flow(flow: &FlowDescription, agents: &BTreeMap<String, AgentResult>) -> FlowResult {
    let from = &agents[&flow.from];
    let sending = from.role(&flow.name);
    let mut cautions = BTreeSet::new();
    let is_of_messages = matches!(flow.traffic, FlowTraffic::Stream(_) | FlowTraffic::Exchange(_));
    if is_of_messages && sending.is_some_and(RoleReport::is_limited_by_consent) {
        cautions.insert(Caution::ConsentLimited);
    }
    let mut received = |to: &String| of_receiver(flow, from, &agents[to], &mut cautions);
    let received = match flow.to.names() {
        [to] if flow.cast == Cast::Unicast => FlowReceivers::One(Box::new(received(to))),
        names => FlowReceivers::Group {
            receivers: names.iter().map(|to| (to.clone(), received(to))).collect(),
        },
    };
    FlowResult {
        from: flow.from.clone(),
        to: flow.to.clone(),
        port: flow.port,
        cast: flow.cast,
        sending: sending.cloned(),
        received,
        cautions,
    }
}

/// Result of one receiver of a flow, and where missing frames were lost.
fn of_receiver(
    flow: &FlowDescription,
    from: &AgentResult,
    to: &AgentResult,
    cautions: &mut BTreeSet<Caution>,
) -> ReceiverResult {
    let (sending, receiving) = (from.role(&flow.name), to.role(&flow.name));
    let mut outcome = ReceiverResult { receiving: receiving.cloned(), ..ReceiverResult::default() };
    if [sending, receiving].into_iter().flatten().any(RoleReport::is_clock_stepped) {
        cautions.insert(Caution::ClockStepped);
    }
    let is_limited =
        |role: Option<&RoleReport>| role.is_some_and(RoleReport::is_limited_by_consent);
    if matches!(flow.traffic, FlowTraffic::Exchange(_)) && is_limited(receiving) {
        cautions.insert(Caution::ConsentLimited); // responses waited for their receiver's consent
    }
    if matches!(flow.traffic, FlowTraffic::Stream(_)) && receiving.is_some() {
        let sink = match counts(receiving) {
            Some(RoleTotals::Sink(sink)) => Some(&**sink),
            _ => None,
        };
        let (clock, is_certain) = sender_clock(from, to, sink);
        outcome.clock = Some(clock);
        if !is_certain {
            cautions.insert(Caution::ClockUncertain);
        }
    }
    match (counts(sending), counts(receiving)) {
        (Some(RoleTotals::Client(client)), Some(RoleTotals::Server(_))) => {
            outcome.octets = Some(client.octets);
            if is_limited(sending) || is_limited(receiving) {
                cautions.insert(Caution::ConsentLimited);
            }
        }
        (Some(RoleTotals::BulkSender(sender)), Some(RoleTotals::BulkReceiver(receiver))) => {
            let (sent_octets, received_octets) = (sender.octets, receiver.octets);
            outcome.transfer = Some(TransferOctets { sent_octets, received_octets });
            #[expect(clippy::cast_precision_loss, reason = "a rate")]
            let permitted_bps = 8.0 * sender.permitted_octets_per_s as f64;
            // What is within a twentieth of what was permitted is the consent's rate and not the
            // network's, if writes waited for it.
            let is_near =
                receiver.measured.data_rate_bps.is_some_and(|bps| bps > 0.95 * permitted_bps);
            if is_near && is_limited(sending) {
                cautions.insert(Caution::ConsentLimited);
            }
        }
        (Some(RoleTotals::Sender(sender)), Some(RoleTotals::Sink(sink))) => {
            let port = receiving.and_then(|role| role.counted.as_ref()?.port.port);
            let dropped_at_socket = port.map_or(0, |port| port.dropped_at_socket);
            outcome.stream = sink.counts.streams.first().map(|stream| {
                let path = PathCounters {
                    sent: sender.frames,
                    dropped_in_queue: grown(from, dropped_in_queues),
                    dropped_at_sender: grown(from, |counters| {
                        counters.interfaces.iter().map(|interface| interface.sent_dropped).sum()
                    }),
                    dropped_in_network: 0,
                    // Of several stations on one host all together. What the kernel's backlog
                    // drops, it counts at the interface, too.
                    dropped_at_receiver: grown(to, |counters| {
                        counters.interfaces.iter().map(|interface| interface.received_dropped).sum()
                    }),
                    dropped_at_socket,
                    received: stream.sequence.received,
                };
                StreamLosses {
                    sent: path.sent,
                    received: path.received,
                    losses: path.losses(),
                    hosts_are_one: from.host.boot == to.host.boot,
                }
            });
        }
        _ => {}
    }
    outcome
}

/// Counts of a role, if it ended.
fn counts(role: Option<&RoleReport>) -> Option<&RoleTotals> {
    Some(&role?.counted.as_ref()?.of)
}

/// How the sender's clock relates to the receiver's, and whether delays between them are as certain
/// as is stated there.
fn sender_clock(
    from: &AgentResult,
    to: &AgentResult,
    sink: Option<&SinkReport>,
) -> (SenderClockState, bool) {
    let name = sink.and_then(|sink| sink.clock.as_deref()).unwrap_or_default();
    let relation = to.role(name).and_then(|role| match &role.counted.as_ref()?.of {
        RoleTotals::Clock(clock) => clock.relation.as_ref(),
        _ => None,
    });
    if let Some(relation) = relation {
        let unrelated = sink
            .and_then(|sink| sink.counts.streams.first())
            .map(|stream| stream.measured.unrelated);
        let is_certain = relation.delay_uncertainty_ns.is_some()
            && relation.contradictions == 0
            && unrelated == Some(0);
        return (SenderClockState::Synchronised(*relation), is_certain);
    }
    let shared = name.is_empty()
        && from.host.boot == to.host.boot
        && from.host.artificial_clock.is_none()
        && to.host.artificial_clock.is_none();
    (SenderClockState::NotSynchronised { shared }, shared)
}

/// Frames dropped by the queues before a host's interfaces. Queues within others are counted by
/// these.
fn dropped_in_queues(counters: &HostCounters) -> u64 {
    counters.queues.iter().filter(|queue| queue.is_root).map(|queue| queue.dropped).sum()
}

/// By how much a counter of a host has grown from its first sample to its last; 0 where it is
/// unknown.
fn grown(agent: &AgentResult, counter: impl Fn(&HostCounters) -> u64) -> u64 {
    let edges = agent.report.as_ref().map_or(&[][..], |report| &report.host.host);
    let [first, .., last] = edges else { return 0 };
    let total = |counters: &Option<HostCounters>| counters.as_ref().map_or(0, &counter);
    total(&last.counters).saturating_sub(total(&first.counters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_queue_within_another_drops_is_counted_once() {
        let queue = |kind: &str, is_root: bool, dropped: u64| {
            json!({"kind": kind, "interface": 1, "is_root": is_root, "passed": 0,
                   "passed_octets": 0, "dropped": dropped, "waiting": 0})
        };
        let interface = |sent_dropped: u64| {
            json!({"name": "eth0", "received_frames": 0, "received_octets": 0,
                   "received_dropped": 0, "sent_frames": 0, "sent_octets": 0,
                   "sent_dropped": sent_dropped})
        };
        let sample = |dropped: u64| {
            json!({
                "at": "begin", "taken_ns": 0,
                "host": ethermeter_net::counters::HostSample::default(),
                "udp": ethermeter_net::counters::UdpCounters::default(),
                "queues": [
                    queue("mq", true, 10 + dropped),
                    queue("fq_codel", false, 3 + dropped),
                    queue("clsact", false, dropped),
                ],
                "interfaces": [interface(dropped), interface(2 * dropped)],
            })
        };
        let edges = [sample(0), sample(100), sample(7)];
        let report = json!({"ended": "complete", "roles": [], "host": edges});
        let mut agent = AgentResult {
            host: HostDescription {
                control: ([127, 0, 0, 1], 4988).into(),
                version: String::new(),
                host: String::new(),
                kernel: String::new(),
                boot: String::new(),
                clock: crate::result::CoordinatorClock { offset_ns: 0, uncertainty_ns: 0 },
                artificial_clock: None,
                interfaces: BTreeMap::new(),
                plca: BTreeMap::new(),
                ceilings: None,
                activity: None,
            },
            address: [127, 0, 0, 1].into(),
            report: Some(serde_json::from_value(report).expect("a report")),
            error: None,
            lost: None,
        };
        let sent_dropped = |counters: &HostCounters| {
            counters.interfaces.iter().map(|interface| interface.sent_dropped).sum()
        };
        assert_eq!(grown(&agent, dropped_in_queues), 7);
        assert_eq!(grown(&agent, sent_dropped), 21);
        agent.report = None;
        assert_eq!(grown(&agent, dropped_in_queues), 0);
    }
}
