//! Role plans, read from the protocol and permitted by the rules.

use crate::attest::{self, Notary, Signed};
use crate::description::no_coder;
use crate::protocol::{self as wire, role::Role as WireRole};
use ethermeter_live::port::tcp::set_congestion;
use ethermeter_live::port::Address;
use ethermeter_live::roles::Attention;
use ethermeter_live::{HostTime, Timeline};
use ethermeter_station::consent::{
    Cast, Grant, Moment, PortKind, Proof, RuleBook, Transport, Wish,
};
use ethermeter_station::experiment::{
    clocks, longest_frame_octets, read_file, read_responses, read_source, Endpoint, Experiment,
    Permitted, Phases, RolePlan, Task, LONGEST_BLOCK_OCTETS,
};
use ethermeter_station::interfaces::interface_of;
use ethermeter_station::refusal::{Refusal, Rule};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use rustls_pki_types::UnixTime;
use socket2::{Domain, Socket, Type};
use std::net::IpAddr;

/// Reads role plans; grants are verified by the notary.
pub(crate) struct RoleReader<'a> {
    pub notary: Option<&'a Notary>,
}

impl RoleReader<'_> {
    /// The permit by the grants of all receivers, and these grants.
    fn permit(
        &self,
        context: &Context<'_>,
        books: &mut RoleBooks<'_>,
        endpoint: &Endpoint,
        wanted: WantedRates,
        grants: Vec<wire::SignedGrant>,
    ) -> Result<(Permitted, Vec<Grant>), Refusal> {
        let now = UnixTime::now();
        let (mut consents, mut certificates) =
            (Vec::with_capacity(grants.len()), Vec::with_capacity(grants.len()));
        for wire::SignedGrant { grant, signature, certificate } in grants {
            let signed = Signed { grant, signature, certificate };
            consents.push(attest::read(&signed, self.notary, now)?);
            certificates.push(signed.certificate);
        }
        let Some(target) = consents.first().and_then(|(grant, _)| grant.target()) else {
            return Err(Refusal::new(Rule::ConsentMissing, context.flow, "a receiver's yes"));
        };
        let wish = Wish {
            transport: endpoint.transport,
            sender: endpoint.local,
            target,
            rate_bps: wanted.rate_bps,
            rate_frames_per_s: wanted.rate_frames_per_s,
            longest_frame_octets: wanted.longest_frame_octets,
            duration_ns: context.phases.duration_ns(),
            interface: endpoint.for_rules(),
        };
        let moment = Moment { now_ns: HostTime.now_ns(), unix_s: now.as_secs() };
        let permit = books.rules.permit(context.experiment, &wish, &consents, moment)?;
        let grants: Vec<Grant> =
            consents.into_iter().map(|(grant, _): (Grant, Proof)| grant).collect();
        let leases = grants
            .iter()
            .zip(&certificates)
            .map(|(grant, certificate)| books.experiment.lease_of(grant, certificate));
        let leases = leases.collect::<Result<_, _>>()?;
        Ok(((permit, leases), grants))
    }

    #[expect(clippy::too_many_lines, reason = "one arm a kind of role")]
    pub fn plan(
        &self,
        context: &Context<'_>,
        books: &mut RoleBooks<'_>,
        asked: wire::Role,
    ) -> Result<RolePlan, Refusal> {
        let wire::Role { flow, kind, cast, interface, stream, role, congestion } = asked;
        let transport = Transport::read(&kind, &cast)?;
        let stream = u16::try_from(stream).map_err(|_| {
            Refusal::new(
                Rule::Description,
                format!("stream {stream}"),
                format!("0 to {}", u16::MAX),
            )
        })?;
        let granted = books.experiment.granted(context.flow).map(|grant| grant.address);
        let own = || {
            granted.ok_or_else(|| {
                Refusal::new(Rule::ConsentMissing, context.flow, "a flow that was granted here")
            })
        };
        let endpoint_at = |address| endpoint(transport, address, &interface);
        let (task, endpoint, permitted) = match role {
            None => {
                return Err(Refusal::new(
                    Rule::Description,
                    "no role",
                    "send, sink, requester, responder, bulk sender, bulk receiver, clock, client or server",
                ))
            }
            Some(WireRole::Send(role)) => {
                let endpoint = endpoint_at(address(&role.address)?);
                let source = Box::new(read_source(&role.source_json)?);
                let longest =
                    u32::try_from(source.frames.range_bits().1.div_ceil(8)).unwrap_or(u32::MAX);
                let wanted = wanted_rates(role.rate_bps, role.rate_frames_per_s, longest);
                let wire::Send { seed, station, real_time, grants, .. } = role;
                let (permitted, _) = self.permit(context, books, &endpoint, wanted, grants)?;
                (Task::Send { source, seed, station, real_time }, endpoint, Some(permitted))
            }
            Some(WireRole::Clock(role)) => {
                let endpoint = endpoint_at(own()?);
                let wanted = wanted_rates(role.rate_bps, role.rate_frames_per_s, clocks::FRAME_OCTETS);
                let (permitted, _) = self.permit(context, books, &endpoint, wanted, role.grants)?;
                (Task::Clock, endpoint, Some(permitted))
            }
            Some(WireRole::BulkSender(role)) => {
                let endpoint = endpoint_at(address(&role.address)?);
                let wire::BulkSender {
                    grants, octets, block_octets, rate_bps, rate_frames_per_s, ..
                } = role;
                let block_octets = block_octets as usize;
                if transport.kind != PortKind::Tcp || !(1..=LONGEST_BLOCK_OCTETS).contains(&block_octets)
                {
                    let allowed = format!("blocks of 1 to {LONGEST_BLOCK_OCTETS} octets by tcp");
                    return Err(Refusal::new(
                        Rule::Description,
                        format!("{block_octets} octets by {transport}"),
                        allowed,
                    ));
                }
                let wanted = wanted_rates(rate_bps, rate_frames_per_s, IN_BULK);
                let (permitted, _) = self.permit(context, books, &endpoint, wanted, grants)?;
                let octets = Some(octets).filter(|&octets| octets > 0);
                (Task::SendBulk { octets, block_octets }, endpoint, Some(permitted))
            }
            Some(WireRole::BulkReceiver(_)) => {
                if transport.kind != PortKind::Tcp {
                    return Err(Refusal::new(Rule::Description, transport, "octets in bulk by tcp"));
                }
                (Task::ReceiveBulk, endpoint_at(own()?), None)
            }
            Some(WireRole::Sink(role)) => {
                let clock = Some(role.clock).filter(|name| !name.is_empty());
                (
                    Task::Sink { attention: attention(&role.attention)?, clock },
                    endpoint_at(own()?),
                    None,
                )
            }
            Some(WireRole::Requester(role)) => {
                let endpoint = endpoint_at(own()?);
                let source = Box::new(read_source(&role.source_json)?);
                if matches!(source.arrivals, Arrivals::Coder { .. }) {
                    return Err(no_coder());
                }
                let longest = longest_frame_octets(&endpoint, &source.frames)?;
                let wanted = wanted_rates(role.rate_bps, role.rate_frames_per_s, longest);
                let attention = attention(&role.attention)?;
                let (permitted, grants) =
                    self.permit(context, books, &endpoint, wanted, role.grants)?;
                let responders: Vec<Address> = if transport.is_group() {
                    grants.iter().map(Grant::station).collect()
                } else {
                    Vec::new()
                };
                let wire::Requester { timeout_ns, seed, station, .. } = role;
                let task =
                    Task::Request { source, draws: (seed, station), timeout_ns, responders, attention };
                (task, endpoint, Some(permitted))
            }
            Some(WireRole::Responder(role)) => {
                // Responses go to one station, also those to what came to a group.
                let endpoint = Endpoint { transport: Transport { cast: Cast::Unicast, ..transport }, ..endpoint_at(own()?) };
                let (task, permitted) = self.responder(context, books, &endpoint, role)?;
                (task, endpoint, Some(permitted))
            }
            Some(WireRole::Client(role)) => {
                let endpoint = by_tcp(endpoint_at(own()?))?;
                let file = Box::new(read_file(&role.file_json)?);
                let wanted = wanted_rates(role.rate_bps, role.rate_frames_per_s, IN_BULK);
                let (permitted, _) = self.permit(context, books, &endpoint, wanted, role.grants)?;
                (Task::Client { file, draws: (role.seed, role.station) }, endpoint, Some(permitted))
            }
            Some(WireRole::Server(role)) => {
                let endpoint = by_tcp(endpoint_at(own()?))?;
                let file = Box::new(read_file(&role.file_json)?);
                let wanted = wanted_rates(role.rate_bps, role.rate_frames_per_s, IN_BULK);
                let grants = role.grant.into_iter().collect();
                let (permitted, _) = self.permit(context, books, &endpoint, wanted, grants)?;
                (Task::Server { file, draws: (role.seed, role.station) }, endpoint, Some(permitted))
            }
        };
        let congestion = Some(congestion).filter(|name| !name.is_empty());
        if let Some(name) = &congestion {
            check_congestion(name, transport)?;
        }
        Ok(RolePlan { flow, stream, endpoint, task, permitted, congestion })
    }

    fn responder(
        &self,
        context: &Context<'_>,
        books: &mut RoleBooks<'_>,
        endpoint: &Endpoint,
        role: wire::Responder,
    ) -> Result<(Task, Permitted), Refusal> {
        let answers = match role.responses_json.as_str() {
            "" => None,
            text => Some(Box::new(read_responses(text, role.seed, role.station)?)),
        };
        // Without lengths of their own, answers are as long as requests, and no longer than is said
        // here.
        let as_said = Lengths::Fixed { bits: u64::from(role.longest_frame_octets) * 8 };
        let frames = answers.as_ref().and_then(|answers| answers.frames.as_ref());
        let longest = longest_frame_octets(endpoint, frames.unwrap_or(&as_said))?;
        let wanted = wanted_rates(role.rate_bps, role.rate_frames_per_s, longest);
        let attention = attention(&role.attention)?;
        let (permitted, _) =
            self.permit(context, books, endpoint, wanted, role.grant.into_iter().collect())?;
        Ok((Task::Respond { answers, attention }, permitted))
    }
}

/// The rules and the experiment in which roles are entered.
pub(crate) struct RoleBooks<'a> {
    pub rules: &'a mut RuleBook,
    pub experiment: &'a mut Experiment,
}

/// Endpoint of flows by `transport` at the own `address`; on the interface `name`, or
/// on that of the address if it is empty.
pub(crate) fn endpoint(transport: Transport, address: IpAddr, name: &str) -> Endpoint {
    let interface = interface_of(name, address);
    Endpoint {
        transport,
        local: address,
        is_named: !name.is_empty(),
        mac: interface.as_ref().and_then(|interface| interface.mac),
        interface,
    }
}

/// What all roles of a request are prepared under.
pub(crate) struct Context<'a> {
    pub experiment: u64,
    pub flow: &'a str,
    pub phases: &'a Phases,
}

/// What a role would like to send.
#[derive(Clone, Copy)]
struct WantedRates {
    rate_bps: u64,
    rate_frames_per_s: u64,
    /// 0 of octets in bulk.
    longest_frame_octets: u32,
}

/// Of octets in bulk, which TCP makes segments of: no length of frames.
const IN_BULK: u32 = 0;

fn wanted_rates(rate_bps: u64, rate_frames_per_s: u64, longest_frame_octets: u32) -> WantedRates {
    WantedRates { rate_bps, rate_frames_per_s, longest_frame_octets }
}

/// Refuse a congestion control that this host does not have, before anything is sent.
fn check_congestion(name: &str, transport: Transport) -> Result<(), Refusal> {
    if transport.kind != PortKind::Tcp {
        return Err(Refusal::new(
            Rule::Description,
            format!("congestion {name} by {transport}"),
            "congestion by tcp",
        ));
    }
    let refused =
        |error: String| Refusal::new(Rule::Description, error, "a congestion control of this host");
    // The kernel loads a module of this name if there is one.
    if name.len() > 15
        || !name.bytes().all(|octet| {
            octet.is_ascii_lowercase() || octet.is_ascii_digit() || b"_-".contains(&octet)
        })
    {
        return Err(refused(format!("congestion {name:?}")));
    }
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)
        .map_err(|error| refused(error.to_string()))?;
    set_congestion(&socket, name).map_err(|error| refused(error.to_string()))
}

fn by_tcp(endpoint: Endpoint) -> Result<Endpoint, Refusal> {
    match endpoint.transport.kind {
        PortKind::Tcp => Ok(endpoint),
        _ => Err(Refusal::new(Rule::Description, endpoint.transport, "a file by tcp")),
    }
}

pub(crate) fn address(text: &str) -> Result<IpAddr, Refusal> {
    text.parse().map_err(|_| Refusal::new(Rule::Address, format!("{text:?}"), "an IP address"))
}

fn attention(text: &str) -> Result<Attention, Refusal> {
    match text {
        "spinning" => Ok(Attention::Spinning),
        "sleeping" => Ok(Attention::Sleeping),
        "collecting" => Ok(Attention::Collecting),
        other => Err(Refusal::new(
            Rule::Description,
            format!("attention {other:?}"),
            "spinning, sleeping or collecting",
        )),
    }
}
