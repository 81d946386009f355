//! Grants and roles of a test, requested of its agents and handed out to them.

use super::link::{AgentConnection, TestError};
use super::renewals::RenewalRelay;
use crate::description::{
    CLOCK_FLOW, ClockComparison, FlowDescription, FlowTraffic, TestDescription,
};
use crate::protocol::{self as wire, role::Role as WireRole};
use ethermeter_station::consent::{Cast, FlowTransport};
use ethermeter_station::experiment::clocks;
use std::net::IpAddr;

/// The grant that a flow needs of each receiver.
struct GrantRequest<'a> {
    flow: &'a str,
    transport: FlowTransport,
    number: u16,
    rate_bps: u64,
    rate_frames_per_s: u64,
    longest_frame_octets: u32,
    /// Longest frame of the opposite direction, by the same port.
    room_frame_octets: u32,
    duration_ns: u64,
}

impl GrantRequest<'_> {
    /// Request a grant for `sender` from the agent of `link`.
    async fn request(
        &self,
        link: &AgentConnection,
        sender: IpAddr,
    ) -> Result<wire::SignedGrant, TestError> {
        let request = wire::GrantRequest {
            stamp: None,
            sender: sender.to_string(),
            address: link.entry.address.to_string(),
            port: self.number.into(),
            rate_bps: self.rate_bps,
            rate_frames_per_s: self.rate_frames_per_s,
            duration_ns: self.duration_ns,
            flow: self.flow.to_owned(),
            longest_frame_octets: self.longest_frame_octets,
            room_frame_octets: self.room_frame_octets,
            kind: self.transport.kind.word().into(),
            cast: self.transport.cast.word().into(),
            priority: self.transport.priority.map(u32::from),
            interface: link.entry.interface.clone().unwrap_or_default(),
        };
        let wire::GrantReply { grant, signature, certificate } = link.grant(request).await?;
        Ok(wire::SignedGrant { grant, signature, certificate })
    }

    /// A role in the flow at the agent of `link`.
    fn role(
        &self,
        link: &AgentConnection,
        stream: u16,
        congestion: &str,
        role: WireRole,
    ) -> wire::Role {
        wire::Role {
            flow: self.flow.to_owned(),
            kind: self.transport.kind.word().into(),
            cast: self.transport.cast.word().into(),
            priority: self.transport.priority.map(u32::from),
            interface: link.entry.interface.clone().unwrap_or_default(),
            stream: stream.into(),
            congestion: congestion.to_owned(),
            role: Some(role),
        }
    }
}

/// Request the grants of all flows, and prepare their roles at all agents.
pub(super) async fn arrange(
    test: &TestDescription,
    links: &[AgentConnection],
    renewals: &RenewalRelay,
) -> Result<(), TestError> {
    let mut roles: Vec<Vec<wire::Role>> = links.iter().map(|_| Vec::new()).collect();
    let pairs = clock_pairs(test, links);
    for (number, &(from, to)) in pairs.iter().enumerate() {
        arrange_clock(test, links, &clock_flow(number), from, to, &mut roles).await?;
    }
    for (number, flow) in test.flows.iter().enumerate() {
        let number = u16::try_from(number).expect("fewer flows");
        FlowRoles::new(test, links, flow, number).arrange(&pairs, &mut roles).await?;
    }
    for (index, (link, roles)) in links.iter().zip(roles).enumerate() {
        let phases = Some(test.phases.into());
        link.prepare(wire::PrepareRequest { stamp: None, phases, roles }, index, renewals).await?;
    }
    Ok(())
}

/// Senders of streams and receivers that synchronise clocks: each pair once.
fn clock_pairs(test: &TestDescription, links: &[AgentConnection]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for flow in test.flows.iter().filter(|flow| matches!(flow.traffic, FlowTraffic::Stream { .. }))
    {
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
    roles: &mut [Vec<wire::Role>],
) -> Result<(), TestError> {
    let (rate_bps, rate_frames_per_s) = (clocks::MOST_BPS, clocks::MOST_FRAMES_PER_S);
    let grant_request = GrantRequest {
        flow,
        transport: FlowTransport::default(),
        number: 0,
        rate_bps,
        rate_frames_per_s,
        longest_frame_octets: clocks::FRAME_OCTETS,
        room_frame_octets: clocks::FRAME_OCTETS,
        duration_ns: test.phases.duration_ns(),
    };
    let request = grant_request.request(&links[from], links[to].entry.address).await?;
    let response = grant_request.request(&links[to], links[from].entry.address).await?;
    let clock = wire::Clock { grants: vec![request], rate_bps, rate_frames_per_s };
    let responder = wire::Responder {
        grant: Some(response),
        rate_bps,
        rate_frames_per_s,
        attention: "sleeping".to_owned(),
        responses_json: String::new(),
        longest_frame_octets: clocks::FRAME_OCTETS,
        seed: test.seed,
        station: 0,
    };
    roles[to].push(grant_request.role(&links[to], 0, "", WireRole::Clock(clock)));
    roles[from].push(grant_request.role(&links[from], 0, "", WireRole::Responder(responder)));
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
    grant_request: GrantRequest<'a>,
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
        let grant_request = GrantRequest {
            flow: &flow.name,
            transport: flow.transport(),
            number: if is_free { group_port } else { flow.number },
            rate_bps: flow.most_bps,
            rate_frames_per_s: flow.most_frames_per_s,
            longest_frame_octets: flow.longest_frame_octets(),
            room_frame_octets: flow.longest_response_octets(),
            duration_ns: test.phases.duration_ns(),
        };
        let receivers = flow.to.names().iter().map(index).collect();
        Self { test, links, flow, number, from: index(&flow.from), receivers, grant_request }
    }

    fn address(&self, agent: usize) -> IpAddr {
        self.links[agent].entry.address
    }

    async fn arrange(
        &self,
        pairs: &[(usize, usize)],
        roles: &mut [Vec<wire::Role>],
    ) -> Result<(), TestError> {
        let mut grants = Vec::with_capacity(self.receivers.len());
        for &to in &self.receivers {
            grants
                .push(self.grant_request.request(&self.links[to], self.address(self.from)).await?);
        }
        let congestion = self.flow.congestion.as_deref().unwrap_or_default();
        let mut add = |agent: usize, role: WireRole| {
            let role = self.grant_request.role(&self.links[agent], self.number, congestion, role);
            roles[agent].push(role);
        };
        for (&to, station) in self.receivers.iter().zip(self.first_receiver()..) {
            let pair = pairs.iter().position(|pair| *pair == (self.from, to));
            add(to, self.receiving(to, station, pair).await?);
        }
        add(self.from, self.sending(grants));
        Ok(())
    }

    /// Number of the first receiver's random streams: after those of all flows, as in a simulation.
    fn first_receiver(&self) -> u32 {
        let flows = &self.test.flows;
        let before: usize =
            flows[..usize::from(self.number)].iter().map(|flow| flow.to.names().len()).sum();
        u32::try_from(flows.len() + before).expect("few receivers")
    }

    fn sending(&self, grants: Vec<wire::SignedGrant>) -> WireRole {
        let GrantRequest { rate_bps, rate_frames_per_s, .. } = self.grant_request;
        let (seed, station) = (self.test.seed, self.number.into());
        let source_json = self.flow.source_text().unwrap_or_default();
        let address = self.address(self.from).to_string();
        match &self.flow.traffic {
            FlowTraffic::Stream {
                real_time, shares_processors, credit_frames, spread_ps, ..
            } => WireRole::Send(wire::Send {
                grants,
                source_json,
                seed,
                station,
                address,
                rate_bps,
                rate_frames_per_s,
                real_time: *real_time,
                credit_frames: credit_frames.unwrap_or(0),
                shares_processors: *shares_processors,
                spread_ps: *spread_ps,
            }),
            FlowTraffic::Transfer { octets, block_octets } => {
                WireRole::BulkSender(wire::BulkSender {
                    grants,
                    address,
                    octets: octets.unwrap_or(0),
                    block_octets: *block_octets,
                    rate_bps,
                    rate_frames_per_s,
                })
            }
            FlowTraffic::Exchange { timeout_ns, .. } => WireRole::Requester(wire::Requester {
                grants,
                timeout_ns: *timeout_ns,
                rate_bps,
                rate_frames_per_s,
                attention: self.flow.attention.word().to_owned(),
                source_json,
                seed,
                station,
            }),
            FlowTraffic::File { file } => WireRole::Client(wire::Client {
                grants,
                rate_bps,
                rate_frames_per_s,
                file_json: file.to_string(),
                seed,
                station,
            }),
        }
    }

    /// The role of a receiver, to which the sender grants its responses; `pair` is the comparison
    /// of its clock with the sender's.
    async fn receiving(
        &self,
        to: usize,
        station: u32,
        pair: Option<usize>,
    ) -> Result<WireRole, TestError> {
        let attention = self.flow.attention.word().to_owned();
        match &self.flow.traffic {
            FlowTraffic::Stream { .. } => {
                let clock = pair.map(clock_flow).unwrap_or_default();
                return Ok(WireRole::Sink(wire::Sink { attention, clock }));
            }
            FlowTraffic::Transfer { .. } => {
                return Ok(WireRole::BulkReceiver(wire::BulkReceiver {}));
            }
            FlowTraffic::Exchange { .. } | FlowTraffic::File { .. } => {}
        }
        let (rate_bps, rate_frames_per_s) = self.flow.most_back();
        let back = GrantRequest {
            transport: FlowTransport { cast: Cast::Unicast, ..self.grant_request.transport },
            number: 0,
            rate_bps,
            rate_frames_per_s,
            longest_frame_octets: self.grant_request.room_frame_octets,
            room_frame_octets: self.grant_request.longest_frame_octets,
            ..self.grant_request
        };
        let grant = Some(back.request(&self.links[self.from], self.address(to)).await?);
        let seed = self.test.seed;
        Ok(match &self.flow.traffic {
            FlowTraffic::File { file } => WireRole::Server(wire::Server {
                grant,
                rate_bps,
                rate_frames_per_s,
                file_json: file.to_string(),
                seed,
                station,
            }),
            traffic => WireRole::Responder(wire::Responder {
                grant,
                rate_bps,
                rate_frames_per_s,
                attention,
                responses_json: traffic.responses_text(),
                longest_frame_octets: back.longest_frame_octets,
                seed,
                station,
            }),
        })
    }
}
