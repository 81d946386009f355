//! Grants and roles of a test, handed out to its agents.

use super::clock_pairs::ClockPairs;
use super::error::Error;
use super::grants::{request_grant, Wanted};
use super::link::Link;
use super::renewals::Renewals;
use super::request_response::RequestResponse;
use crate::description::{Flow, Test, Traffic};
use crate::protocol::{self as wire, role::Role as WireRole};
use ethermeter_station::consent::Cast;
use ethermeter_station::experiment::Phases;

/// The port's number that a flow's receivers are asked for. All of a group need the same, which the
/// flow's index in the test decides where the test gives no port.
fn port_number(flow: &Flow, stream: u16) -> u16 {
    let is_free = flow.number == 0 && flow.cast != Cast::Unicast && !flow.port.is_raw();
    if is_free {
        GROUP_PORTS.start + stream % (GROUP_PORTS.end - GROUP_PORTS.start)
    } else {
        flow.number
    }
}

/// Ports of groups: below the system's ephemeral ports.
const GROUP_PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Grants and roles of all agents.
pub(super) async fn arrange(test: &Test, links: &[Link], renewals: &Renewals) -> Result<(), Error> {
    let duration_ns = test.phases.duration_ns();
    let mut roles: Vec<Vec<wire::Role>> = links.iter().map(|_| Vec::new()).collect();
    let index = |name: &str| test.index_of(name).expect("names were checked");
    let pairs = ClockPairs::of(test, links);
    pairs.arrange(test, links, &mut roles).await?;
    for (number, flow) in test.flows.iter().enumerate() {
        let stream = u16::try_from(number).expect("fewer flows");
        let transport = flow.transport();
        let from = index(&flow.from);
        let from_address = links[from].entry.address;
        let receivers: Vec<usize> = flow.to.names().iter().map(|name| index(name)).collect();
        let (rate_bps, rate_frames_per_s) = (flow.most_bps, flow.most_frames_per_s);
        let attention = flow.attention.word().to_owned();
        let wanted = Wanted {
            flow: &flow.name,
            transport,
            number: port_number(flow, stream),
            rate_bps,
            rate_frames_per_s,
            longest_frame_octets: flow.longest_frame_octets(),
            room_frame_octets: flow.longest_response_octets(),
            duration_ns,
        };
        let mut grants = Vec::with_capacity(receivers.len());
        for &to in &receivers {
            grants.push(request_grant(&links[to], &wanted, from_address).await?);
        }
        let role = |agent: usize, role: WireRole| wire::Role {
            flow: flow.name.clone(),
            kind: transport.kind.word().into(),
            cast: transport.cast.word().into(),
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
                let give = wire::BulkSender {
                    grants,
                    address: from_address.to_string(),
                    octets: octets.unwrap_or(0),
                    block_octets: *block_octets,
                    rate_bps,
                    rate_frames_per_s,
                };
                roles[from].push(role(from, WireRole::BulkSender(give)));
                for &to in &receivers {
                    roles[to].push(role(to, WireRole::BulkReceiver(wire::BulkReceiver {})));
                }
            }
            Traffic::Exchange { .. } | Traffic::File { .. } => {
                let answered = RequestResponse {
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
    for (index, (link, roles)) in links.iter().zip(roles).enumerate() {
        link.prepare(wire::PrepareRequest { stamp: None, phases, roles }, index, renewals).await?;
    }
    Ok(())
}

fn wire_phases(phases: &Phases) -> wire::Phases {
    let Phases { settle_ns, transmit_ns, measure_from_ns, measure_to_ns, drain_ns, batches } =
        *phases;
    wire::Phases { settle_ns, transmit_ns, measure_from_ns, measure_to_ns, drain_ns, batches }
}
