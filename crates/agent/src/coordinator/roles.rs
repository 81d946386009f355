//! Grants and roles of a test, requested of its agents and handed out to them.

use super::link::{AgentConnection, TestError};
use super::renewals::RenewalRelay;
use crate::description::{CLOCK_FLOW, ClockComparison, FlowDescription, TestDescription};
use crate::protocol::{PrepareRequest, Role, SignedGrant};
use ethermeter_station::consent::{Cast, FlowTransport, GrantRequest};
use ethermeter_station::experiment::clocks;
use ethermeter_trial::roles::{Draws, FlowTraffic, ReceiveMode, Responses, RoleTask};

/// Request a grant for frames from `sender`, of the agent at `receiver`.
async fn granted(
    request: &GrantRequest,
    receiver: &AgentConnection,
    sender: &AgentConnection,
) -> Result<SignedGrant, TestError> {
    let request = GrantRequest {
        sender: sender.entry.address,
        address: receiver.entry.address,
        interface: receiver.entry.interface.clone(),
        ..request.clone()
    };
    receiver.grant(request).await
}

/// Request the grants of all flows, and prepare their roles at all agents.
pub(super) async fn arrange(
    test: &TestDescription,
    links: &[AgentConnection],
    renewals: &RenewalRelay,
) -> Result<(), TestError> {
    let mut roles: Vec<Vec<Role>> = links.iter().map(|_| Vec::new()).collect();
    let pairs = clock_pairs(test, links);
    for (number, &(from, to)) in pairs.iter().enumerate() {
        arrange_clock(test, links, &clock_flow(number), from, to, &mut roles).await?;
    }
    for (number, flow) in test.flows.iter().enumerate() {
        let number = u16::try_from(number).expect("fewer flows");
        FlowRoles::new(test, links, flow, number).arrange(&pairs, &mut roles).await?;
    }
    for (index, (link, roles)) in links.iter().zip(roles).enumerate() {
        link.prepare(PrepareRequest { phases: test.phases, roles }, index, renewals).await?;
    }
    Ok(())
}

/// Senders of streams and receivers that synchronise clocks: each pair once.
fn clock_pairs(test: &TestDescription, links: &[AgentConnection]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for flow in test.flows.iter().filter(|flow| matches!(flow.traffic, FlowTraffic::Stream(_))) {
        let from = test.index_of(&flow.from).expect("names were checked");
        for to in flow.to.names().iter().filter_map(|name| test.index_of(name)) {
            let is_wanted = match test.clocks {
                ClockComparison::Compared => !links[from].shares_clock_with(&links[to]),
                ClockComparison::AlwaysCompared => true,
                ClockComparison::NotCompared => false,
            };
            if is_wanted && !pairs.contains(&(from, to)) {
                pairs.push((from, to));
            }
        }
    }
    pairs
}

/// The flow that compares the clocks of a pair.
fn clock_flow(pair: usize) -> String {
    format!("{CLOCK_FLOW}{pair}")
}

/// Compare the clocks of a sender and a receiver: the receiver requests, the sender responds.
async fn arrange_clock(
    test: &TestDescription,
    links: &[AgentConnection],
    flow: &str,
    from: usize,
    to: usize,
    roles: &mut [Vec<Role>],
) -> Result<(), TestError> {
    let (sender, receiver) = (&links[from], &links[to]);
    let request = GrantRequest {
        flow: flow.to_owned(),
        transport: FlowTransport::default(),
        sender: sender.entry.address,
        address: receiver.entry.address,
        interface: None,
        port: 0,
        rate_bps: clocks::MOST_BPS,
        rate_frames_per_s: clocks::MOST_FRAMES_PER_S,
        longest_frame_octets: clocks::FRAME_OCTETS,
        room_frame_octets: clocks::FRAME_OCTETS,
        duration_ns: test.phases.duration_ns(),
    };
    let asks = granted(&request, sender, receiver).await?;
    let responds = granted(&request, receiver, sender).await?;
    let role = |at: &AgentConnection, task, grant| Role {
        flow: flow.to_owned(),
        stream: 0,
        interface: at.entry.interface.clone(),
        congestion: None,
        draws: Draws { seed: test.seed, station: 0 },
        task,
        grants: vec![grant],
    };
    let (response, attention) = (Box::new(Responses::default()), ReceiveMode::Sleeping);
    roles[to].push(role(receiver, RoleTask::Clock, asks));
    roles[from].push(role(sender, RoleTask::Respond { response, attention }, responds));
    Ok(())
}

/// Ports of groups: of those that no service is assigned (RFC 6335, section 6), above the system's
/// ephemeral ports.
const GROUP_PORTS: std::ops::Range<u16> = 61_000..65_535;

/// The roles of one flow.
struct FlowRoles<'a> {
    test: &'a TestDescription,
    links: &'a [AgentConnection],
    flow: &'a FlowDescription,
    /// Index of the flow in the test, which numbers the sender's random streams.
    number: u16,
    from: usize,
    receivers: Vec<usize>,
    /// The grant requested of the receivers.
    request: GrantRequest,
}

impl<'a> FlowRoles<'a> {
    fn new(
        test: &'a TestDescription,
        links: &'a [AgentConnection],
        flow: &'a FlowDescription,
        number: u16,
    ) -> Self {
        let index = |name: &String| test.index_of(name).expect("names were checked");
        // All receivers of a group need the same port, which the flow's index decides where the
        // test gives none.
        let is_free = flow.number == 0 && flow.cast != Cast::Unicast && !flow.port.is_raw();
        let group_port = GROUP_PORTS.start + number % (GROUP_PORTS.end - GROUP_PORTS.start);
        let from = index(&flow.from);
        let request = GrantRequest {
            flow: flow.name.clone(),
            transport: flow.transport(),
            sender: test.agents[from].address,
            address: test.agents[from].address,
            interface: None,
            port: if is_free { group_port } else { flow.number },
            rate_bps: flow.most_bps,
            rate_frames_per_s: flow.most_frames_per_s,
            longest_frame_octets: flow.longest_frame_octets(),
            room_frame_octets: flow.longest_response_octets(),
            duration_ns: test.phases.duration_ns(),
        };
        let receivers = flow.to.names().iter().map(index).collect();
        Self { test, links, flow, number, from, receivers, request }
    }

    async fn arrange(
        &self,
        pairs: &[(usize, usize)],
        roles: &mut [Vec<Role>],
    ) -> Result<(), TestError> {
        let sender = &self.links[self.from];
        let mut grants = Vec::with_capacity(self.receivers.len());
        for &to in &self.receivers {
            grants.push(granted(&self.request, &self.links[to], sender).await?);
        }
        let mut add = |agent: usize, station: u32, task: RoleTask, grants| {
            roles[agent].push(Role {
                flow: self.flow.name.clone(),
                stream: self.number,
                interface: self.links[agent].entry.interface.clone(),
                congestion: self.flow.congestion.clone(),
                draws: Draws { seed: self.test.seed, station },
                task,
                grants,
            });
        };
        for (&to, station) in self.receivers.iter().zip(self.first_receiver()..) {
            let clock = pairs.iter().position(|pair| *pair == (self.from, to)).map(clock_flow);
            let task = self.receiving(clock);
            let mut back = Vec::new();
            if task.sends() {
                for hears in self.hear(to) {
                    back.push(
                        granted(&self.request_back(), &self.links[hears], &self.links[to]).await?,
                    );
                }
            }
            add(to, station, task, back);
        }
        add(self.from, self.number.into(), self.sending(), grants);
        Ok(())
    }

    /// Number of the first receiver's random streams: after those of all flows, as in a simulation.
    fn first_receiver(&self) -> u32 {
        let flows = &self.test.flows;
        let before: usize =
            flows[..usize::from(self.number)].iter().map(|flow| flow.to.names().len()).sum();
        u32::try_from(flows.len() + before).expect("few receivers")
    }

    fn sending(&self) -> RoleTask {
        match &self.flow.traffic {
            FlowTraffic::Stream(stream) => RoleTask::Send(stream.clone()),
            FlowTraffic::Transfer(transfer) => RoleTask::SendBulk(*transfer),
            FlowTraffic::Exchange(exchange) => {
                RoleTask::Request { exchange: exchange.clone(), attention: self.flow.attention }
            }
            FlowTraffic::File(transfer) => RoleTask::Client(transfer.clone()),
        }
    }

    /// The task of a receiver; `clock` is the flow that compares its clock with the sender's.
    fn receiving(&self, clock: Option<String>) -> RoleTask {
        let attention = self.flow.attention;
        match &self.flow.traffic {
            FlowTraffic::Stream(_) => RoleTask::Sink { attention, clock },
            FlowTraffic::Transfer(_) => RoleTask::ReceiveBulk,
            FlowTraffic::Exchange(exchange) => {
                RoleTask::Respond { response: Box::new(exchange.response.clone()), attention }
            }
            FlowTraffic::File(transfer) => RoleTask::Server(transfer.clone()),
        }
    }

    /// Who hears what the receiver `from` sends back: the sender, and, of answers to the group, all
    /// other receivers.
    fn hear(&self, from: usize) -> impl Iterator<Item = usize> {
        let is_group = self.flow.response_cast != Cast::Unicast;
        let others = self.receivers.iter().copied().filter(move |&to| is_group && to != from);
        std::iter::once(self.from).chain(others)
    }

    /// The grant requested of each of these.
    fn request_back(&self) -> GrantRequest {
        let (rate_bps, rate_frames_per_s) = self.flow.most_back();
        let cast = self.flow.response_cast;
        GrantRequest {
            transport: FlowTransport { cast, ..self.request.transport },
            // Answers to the group come to its port: a receiver hears all of it there.
            port: if cast == Cast::Unicast { 0 } else { self.request.port },
            rate_bps,
            rate_frames_per_s,
            longest_frame_octets: self.request.room_frame_octets,
            room_frame_octets: self.request.longest_frame_octets,
            ..self.request.clone()
        }
    }
}
