//! Role plans, read from the protocol and permitted by the rules.

use crate::attest::{self, AttestedGrant, Notary};
use crate::description::{check_credit, check_spread, longest_octets, no_coder};
use crate::protocol::{self as wire, role::Role as WireRole};
use crate::time::unix_time;
use ethermeter_live::interface::mtu;
use ethermeter_live::port::tcp::set_congestion;
use ethermeter_live::roles::ReceiveMode;
use ethermeter_station::consent::{
    Cast, ClockReading, Consent, FlowTransport, Grant, PortKind, Reachability, RuleBook,
    SendRequest,
};
use ethermeter_station::experiment::{
    Experiment, ExperimentPhases, LONGEST_BLOCK_OCTETS, LocalEndpoint, PermittedSender, RolePlan,
    RoleTask, clocks, longest_frame_octets, read_file, read_responses, read_source,
};
use ethermeter_station::interfaces::{PacketPath, attachment_of, reach};
use ethermeter_station::refusal::{ConsentRule, Refusal, refuse};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU32;

/// Reads role plans; grants are verified by the notary.
pub(crate) struct RoleReader<'a> {
    pub notary: Option<&'a Notary>,
}

impl RoleReader<'_> {
    /// What is to be permitted by the grants of all receivers.
    fn permit_request(
        &self,
        context: &RoleContext<'_>,
        endpoint: &LocalEndpoint,
        wanted: WantedRates,
        grants: Vec<wire::SignedGrant>,
    ) -> Result<PermitRequest, Refusal> {
        let now = unix_time();
        let (mut consents, mut certificates) =
            (Vec::with_capacity(grants.len()), Vec::with_capacity(grants.len()));
        for wire::SignedGrant { grant, signature, certificate } in grants {
            let signed = AttestedGrant { grant, signature, certificate };
            let (grant, proof) = attest::read(&signed, self.notary, now)?;
            let reach = reach(endpoint.local, grant.address);
            consents.push(Consent { grant, proof, reach });
            certificates.push(signed.certificate);
        }
        let Some(target) = consents.first().and_then(|consent| consent.grant.target()) else {
            return refuse(ConsentRule::ConsentMissing, context.flow, "a receiver's grant");
        };
        let send_request = SendRequest {
            transport: endpoint.transport,
            sender: endpoint.local,
            target,
            rate_bps: wanted.rate_bps,
            rate_frames_per_s: wanted.rate_frames_per_s,
            longest_frame_octets: wanted.longest_frame_octets,
            duration_ns: context.phases.duration_ns(),
            attachment: endpoint.attachment.clone(),
            interface: endpoint.interface.clone(),
        };
        Ok(PermitRequest { send_request, consents, certificates })
    }

    #[expect(clippy::too_many_lines, reason = "one arm a kind of role")]
    /// Read a role; it is still to be permitted.
    pub fn read(
        &self,
        context: &RoleContext<'_>,
        role_message: wire::Role,
    ) -> Result<UnpermittedRole, Refusal> {
        let wire::Role { flow, kind, cast, priority, interface, stream, role, congestion } =
            role_message;
        let transport = FlowTransport::read(&kind, &cast, priority)?;
        let stream = u16::try_from(stream).or_else(|_| {
            refuse(ConsentRule::Description, format!("stream {stream}"), "0 to 65535")
        })?;
        let granted = context.granted.get(context.flow).copied();
        // Where the flow was granted, which is where it is received.
        let own = || {
            let refused = || Refusal::new(ConsentRule::ConsentMissing, context.flow, GRANTED_HERE);
            Ok(endpoint(transport, granted.ok_or_else(refused)?, &interface))
        };
        let sender = |text: &str| Ok(endpoint(transport, address(text)?, &interface));
        let rates = |rate_bps, rate_frames_per_s, longest_frame_octets| WantedRates {
            rate_bps,
            rate_frames_per_s,
            longest_frame_octets,
        };
        let by_tcp = |what: &str| match transport.kind {
            PortKind::Tcp => Ok(()),
            _ => refuse(ConsentRule::Description, transport, format_args!("{what} by tcp")),
        };
        let permit = |endpoint: &LocalEndpoint, rates, grants| {
            self.permit_request(context, endpoint, rates, grants)
        };
        let (task, endpoint, wanted) = match role {
            None => return refuse(ConsentRule::Description, "no role", ROLES),
            Some(WireRole::Send(role)) => {
                let endpoint = sender(&role.address)?;
                let source = Box::new(read_source(&role.source_json)?);
                let longest = longest_octets(&source.frames);
                let rates = rates(role.rate_bps, role.rate_frames_per_s, longest);
                let wanted = permit(&endpoint, rates, role.grants)?;
                let wire::Send {
                    seed,
                    station,
                    real_time,
                    shares_processors,
                    credit_frames,
                    spread_ps,
                    ..
                } = role;
                let credit = NonZeroU32::new(credit_frames);
                if credit.is_some() {
                    check_credit(transport, credit_frames)?;
                }
                check_spread(spread_ps)?;
                let task = RoleTask::Send {
                    source,
                    seed,
                    station,
                    real_time,
                    shares_processors,
                    credit,
                    spread_ps,
                };
                (task, endpoint, Some(wanted))
            }
            Some(WireRole::Clock(role)) => {
                let endpoint = own()?;
                let rates = rates(role.rate_bps, role.rate_frames_per_s, clocks::FRAME_OCTETS);
                let wanted = permit(&endpoint, rates, role.grants)?;
                (RoleTask::Clock, endpoint, Some(wanted))
            }
            Some(WireRole::BulkSender(role)) => {
                let endpoint = sender(&role.address)?;
                let block_octets = role.block_octets as usize;
                let is_block = (1..=LONGEST_BLOCK_OCTETS).contains(&block_octets);
                if transport.kind != PortKind::Tcp || !is_block {
                    let value = format!("{block_octets} octets by {transport}");
                    let allowed = format!("blocks of 1 to {LONGEST_BLOCK_OCTETS} octets by tcp");
                    return refuse(ConsentRule::Description, value, allowed);
                }
                let rates = rates(role.rate_bps, role.rate_frames_per_s, IN_BULK);
                let wanted = permit(&endpoint, rates, role.grants)?;
                let octets = Some(role.octets).filter(|&octets| octets > 0);
                (RoleTask::SendBulk { octets, block_octets }, endpoint, Some(wanted))
            }
            Some(WireRole::BulkReceiver(_)) => {
                by_tcp("octets in bulk")?;
                (RoleTask::ReceiveBulk, own()?, None)
            }
            Some(WireRole::Sink(role)) => {
                let clock = Some(role.clock).filter(|name| !name.is_empty());
                (RoleTask::Sink { attention: attention(&role.attention)?, clock }, own()?, None)
            }
            Some(WireRole::Requester(role)) => {
                let endpoint = own()?;
                let source = Box::new(read_source(&role.source_json)?);
                if matches!(source.arrivals, Arrivals::Coder { .. }) {
                    return Err(no_coder());
                }
                let longest = longest_frame_octets(&endpoint, &source.frames)?;
                let rates = rates(role.rate_bps, role.rate_frames_per_s, longest);
                let attention = attention(&role.attention)?;
                let wanted = permit(&endpoint, rates, role.grants)?;
                let consents = wanted.consents.iter().filter(|_| transport.is_group());
                let responders = consents.map(|consent| consent.grant.station()).collect();
                let wire::Requester { timeout_ns, seed, station, .. } = role;
                let draws = (seed, station);
                let task = RoleTask::Request { source, draws, timeout_ns, responders, attention };
                (task, endpoint, Some(wanted))
            }
            Some(WireRole::Responder(role)) => {
                // Responses go to one station, also those to what arrived at a group.
                let unicast = FlowTransport { cast: Cast::Unicast, ..transport };
                let endpoint = LocalEndpoint { transport: unicast, ..own()? };
                let responses = match role.responses_json.as_str() {
                    "" => None,
                    text => Some(Box::new(read_responses(text, role.seed, role.station)?)),
                };
                // Without lengths of their own, responses are as long as requests, up to this.
                let as_requests = Lengths::Fixed { bits: u64::from(role.longest_frame_octets) * 8 };
                let frames = responses.as_ref().and_then(|responses| responses.frames.as_ref());
                let longest = longest_frame_octets(&endpoint, frames.unwrap_or(&as_requests))?;
                let rates = rates(role.rate_bps, role.rate_frames_per_s, longest);
                let attention = attention(&role.attention)?;
                let wanted = permit(&endpoint, rates, role.grant.into_iter().collect())?;
                (RoleTask::Respond { responses, attention }, endpoint, Some(wanted))
            }
            Some(WireRole::Client(role)) => {
                by_tcp("a file")?;
                let (endpoint, file) = (own()?, Box::new(read_file(&role.file_json)?));
                let rates = rates(role.rate_bps, role.rate_frames_per_s, IN_BULK);
                let wanted = permit(&endpoint, rates, role.grants)?;
                (
                    RoleTask::Client { file, draws: (role.seed, role.station) },
                    endpoint,
                    Some(wanted),
                )
            }
            Some(WireRole::Server(role)) => {
                by_tcp("a file")?;
                let (endpoint, file) = (own()?, Box::new(read_file(&role.file_json)?));
                let rates = rates(role.rate_bps, role.rate_frames_per_s, IN_BULK);
                let wanted = permit(&endpoint, rates, role.grant.into_iter().collect())?;
                (
                    RoleTask::Server { file, draws: (role.seed, role.station) },
                    endpoint,
                    Some(wanted),
                )
            }
        };
        let congestion = Some(congestion).filter(|name| !name.is_empty());
        if let Some(name) = &congestion {
            check_congestion(name, transport)?;
        }
        let plan = RolePlan { flow, stream, endpoint, task, permitted: None, congestion };
        Ok(UnpermittedRole { plan, wanted })
    }
}

/// A role that was read, and what it would like to send.
pub(crate) struct UnpermittedRole {
    plan: RolePlan,
    /// `None` of a role that only receives.
    wanted: Option<PermitRequest>,
}

impl UnpermittedRole {
    /// The role with its permit.
    pub fn permit(
        self,
        rules: &mut RuleBook,
        experiment: &mut Experiment,
        moment: ClockReading,
    ) -> Result<RolePlan, Refusal> {
        let permitted =
            self.wanted.map(|wanted| wanted.permit(rules, experiment, moment)).transpose()?;
        Ok(RolePlan { permitted, ..self.plan })
    }
}

/// What a role would like to send, with the grants of all its receivers.
struct PermitRequest {
    send_request: SendRequest,
    consents: Vec<Consent>,
    /// Of each grant.
    certificates: Vec<Vec<u8>>,
}

impl PermitRequest {
    fn permit(
        self,
        rules: &mut RuleBook,
        experiment: &mut Experiment,
        moment: ClockReading,
    ) -> Result<PermittedSender, Refusal> {
        let Self { send_request, consents, certificates } = self;
        let permit = rules.permit(experiment.number(), &send_request, &consents, moment)?;
        let Some(attachment) = send_request.attachment else {
            unreachable!("what is permitted has a place")
        };
        let leases = consents
            .iter()
            .zip(&certificates)
            .map(|(consent, certificate)| experiment.lease_of(&consent.grant, certificate));
        let leases = leases.collect::<Result<_, _>>()?;
        let reached: Vec<(Grant, Reachability)> = consents
            .into_iter()
            .filter_map(|Consent { grant, reach, .. }| Some((grant, reach?)))
            .collect();
        Ok(PermittedSender { permit, leases, path: PacketPath::new(attachment, &reached) })
    }
}

const ROLES: &str =
    "send, sink, requester, responder, bulk sender, bulk receiver, clock, client or server";
const GRANTED_HERE: &str = "a flow that was granted here";

/// Endpoint of flows by `transport` at the own `address`, whose interface is to be `name` if that
/// is not empty.
pub(crate) fn endpoint(transport: FlowTransport, address: IpAddr, name: &str) -> LocalEndpoint {
    let attachment = attachment_of(address);
    let mtu = attachment.as_ref().and_then(|attachment| mtu(&attachment.interface.name).ok());
    let interface = Some(name.to_owned()).filter(|name| !name.is_empty());
    LocalEndpoint { transport, local: address, attachment, interface, mtu }
}

/// What all roles of a request are prepared under.
pub(crate) struct RoleContext<'a> {
    /// The own address of each flow that was granted here.
    pub granted: &'a BTreeMap<String, IpAddr>,
    pub flow: &'a str,
    pub phases: &'a ExperimentPhases,
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

/// Refuse a congestion control that this host does not have, before anything is sent.
fn check_congestion(name: &str, transport: FlowTransport) -> Result<(), Refusal> {
    if transport.kind != PortKind::Tcp {
        let value = format!("congestion {name} by {transport}");
        return refuse(ConsentRule::Description, value, "congestion by tcp");
    }
    let refused = |error: String| {
        Refusal::new(ConsentRule::Description, error, "a congestion control of this host")
    };
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

pub(crate) fn address(text: &str) -> Result<IpAddr, Refusal> {
    text.parse()
        .map_err(|_| Refusal::new(ConsentRule::Address, format!("{text:?}"), "an IP address"))
}

fn attention(text: &str) -> Result<ReceiveMode, Refusal> {
    match text {
        "spinning" => Ok(ReceiveMode::Spinning),
        "sleeping" => Ok(ReceiveMode::Sleeping),
        "collecting" => Ok(ReceiveMode::Collecting),
        other => refuse(
            ConsentRule::Description,
            format!("attention {other:?}"),
            "spinning, sleeping or collecting",
        ),
    }
}

impl From<wire::Phases> for ExperimentPhases {
    fn from(phases: wire::Phases) -> Self {
        let wire::Phases {
            settle_ns,
            transmit_ns,
            measure_from_ns,
            measure_to_ns,
            drain_ns,
            batches,
        } = phases;
        let batches = batches.max(1); // 0: not given
        Self { settle_ns, transmit_ns, measure_from_ns, measure_to_ns, drain_ns, batches }
    }
}

impl From<ExperimentPhases> for wire::Phases {
    fn from(phases: ExperimentPhases) -> Self {
        let ExperimentPhases {
            settle_ns,
            transmit_ns,
            measure_from_ns,
            measure_to_ns,
            drain_ns,
            batches,
        } = phases;
        Self { settle_ns, transmit_ns, measure_from_ns, measure_to_ns, drain_ns, batches }
    }
}
