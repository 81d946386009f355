//! Role plans, read from the protocol and permitted by the rules.

use crate::attest::{self, Notary, Signed};
use crate::description::{check_credit, check_spread, longest_octets, no_coder};
use crate::protocol::{self as wire, role::Role as WireRole};
use crate::time::unix_time;
use ethermeter_live::interface::mtu;
use ethermeter_live::port::tcp::set_congestion;
use ethermeter_live::roles::Attention;
use ethermeter_live::{HostTime, Timeline};
use ethermeter_station::consent::{
    Cast, Consent, Grant, Moment, PortKind, Reach, RuleBook, Transport, Wish,
};
use ethermeter_station::experiment::{
    Endpoint, Experiment, LONGEST_BLOCK_OCTETS, Permitted, Phases, RolePlan, Task, clocks,
    longest_frame_octets, read_file, read_responses, read_source,
};
use ethermeter_station::interfaces::{Way, place_of, reach};
use ethermeter_station::refusal::{Refusal, Rule, refuse};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use socket2::{Domain, Socket, Type};
use std::net::IpAddr;
use std::num::NonZeroU32;

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
        let now = unix_time();
        let (mut consents, mut certificates) =
            (Vec::with_capacity(grants.len()), Vec::with_capacity(grants.len()));
        for wire::SignedGrant { grant, signature, certificate } in grants {
            let signed = Signed { grant, signature, certificate };
            let (grant, proof) = attest::read(&signed, self.notary, now)?;
            let reach = reach(endpoint.local, grant.address);
            consents.push(Consent { grant, proof, reach });
            certificates.push(signed.certificate);
        }
        let Some(target) = consents.first().and_then(|consent| consent.grant.target()) else {
            return refuse(Rule::ConsentMissing, context.flow, "a receiver's grant");
        };
        let wish = Wish {
            transport: endpoint.transport,
            sender: endpoint.local,
            target,
            rate_bps: wanted.rate_bps,
            rate_frames_per_s: wanted.rate_frames_per_s,
            longest_frame_octets: wanted.longest_frame_octets,
            duration_ns: context.phases.duration_ns(),
            place: endpoint.place.clone(),
            interface: endpoint.interface.clone(),
        };
        let moment = Moment { now_ns: HostTime.now_ns(), unix_s: now.as_secs() };
        let permit = books.rules.permit(context.experiment, &wish, &consents, moment)?;
        let Some(place) = wish.place else { unreachable!("what is permitted has a place") };
        let reached: Vec<(Grant, Reach)> = consents
            .into_iter()
            .filter_map(|Consent { grant, reach, .. }| Some((grant, reach?)))
            .collect();
        let way = Way::new(place, &reached);
        let grants: Vec<Grant> = reached.into_iter().map(|(grant, _)| grant).collect();
        let leases = grants
            .iter()
            .zip(&certificates)
            .map(|(grant, certificate)| books.experiment.lease_of(grant, certificate));
        let leases = leases.collect::<Result<_, _>>()?;
        Ok((Permitted { permit, leases, way }, grants))
    }

    #[expect(clippy::too_many_lines, reason = "one arm a kind of role")]
    pub fn plan(
        &self,
        context: &Context<'_>,
        books: &mut RoleBooks<'_>,
        asked: wire::Role,
    ) -> Result<RolePlan, Refusal> {
        let wire::Role { flow, kind, cast, priority, interface, stream, role, congestion } = asked;
        let transport = Transport::read(&kind, &cast, priority)?;
        let stream = u16::try_from(stream)
            .or_else(|_| refuse(Rule::Description, format!("stream {stream}"), "0 to 65535"))?;
        let granted = books.experiment.granted(context.flow).map(|grant| grant.address);
        // Where the flow was granted, which is where it is received.
        let own = || {
            let refused = || Refusal::new(Rule::ConsentMissing, context.flow, GRANTED_HERE);
            Ok(endpoint(transport, granted.ok_or_else(refused)?, &interface))
        };
        let sender = |text: &str| Ok(endpoint(transport, address(text)?, &interface));
        let wanted = |rate_bps, rate_frames_per_s, longest_frame_octets| WantedRates {
            rate_bps,
            rate_frames_per_s,
            longest_frame_octets,
        };
        let by_tcp = |what: &str| match transport.kind {
            PortKind::Tcp => Ok(()),
            _ => refuse(Rule::Description, transport, format_args!("{what} by tcp")),
        };
        let mut permit = |endpoint: &Endpoint, wanted, grants| {
            self.permit(context, books, endpoint, wanted, grants)
        };
        let (task, endpoint, permitted) = match role {
            None => return refuse(Rule::Description, "no role", ROLES),
            Some(WireRole::Send(role)) => {
                let endpoint = sender(&role.address)?;
                let source = Box::new(read_source(&role.source_json)?);
                let longest = longest_octets(&source.frames);
                let wanted = wanted(role.rate_bps, role.rate_frames_per_s, longest);
                let (permitted, _) = permit(&endpoint, wanted, role.grants)?;
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
                let task = Task::Send {
                    source,
                    seed,
                    station,
                    real_time,
                    shares_processors,
                    credit,
                    spread_ps,
                };
                (task, endpoint, Some(permitted))
            }
            Some(WireRole::Clock(role)) => {
                let endpoint = own()?;
                let wanted = wanted(role.rate_bps, role.rate_frames_per_s, clocks::FRAME_OCTETS);
                let (permitted, _) = permit(&endpoint, wanted, role.grants)?;
                (Task::Clock, endpoint, Some(permitted))
            }
            Some(WireRole::BulkSender(role)) => {
                let endpoint = sender(&role.address)?;
                let block_octets = role.block_octets as usize;
                let is_block = (1..=LONGEST_BLOCK_OCTETS).contains(&block_octets);
                if transport.kind != PortKind::Tcp || !is_block {
                    let value = format!("{block_octets} octets by {transport}");
                    let allowed = format!("blocks of 1 to {LONGEST_BLOCK_OCTETS} octets by tcp");
                    return refuse(Rule::Description, value, allowed);
                }
                let wanted = wanted(role.rate_bps, role.rate_frames_per_s, IN_BULK);
                let (permitted, _) = permit(&endpoint, wanted, role.grants)?;
                let octets = Some(role.octets).filter(|&octets| octets > 0);
                (Task::SendBulk { octets, block_octets }, endpoint, Some(permitted))
            }
            Some(WireRole::BulkReceiver(_)) => {
                by_tcp("octets in bulk")?;
                (Task::ReceiveBulk, own()?, None)
            }
            Some(WireRole::Sink(role)) => {
                let clock = Some(role.clock).filter(|name| !name.is_empty());
                (Task::Sink { attention: attention(&role.attention)?, clock }, own()?, None)
            }
            Some(WireRole::Requester(role)) => {
                let endpoint = own()?;
                let source = Box::new(read_source(&role.source_json)?);
                if matches!(source.arrivals, Arrivals::Coder { .. }) {
                    return Err(no_coder());
                }
                let longest = longest_frame_octets(&endpoint, &source.frames)?;
                let wanted = wanted(role.rate_bps, role.rate_frames_per_s, longest);
                let attention = attention(&role.attention)?;
                let (permitted, grants) = permit(&endpoint, wanted, role.grants)?;
                let grants = grants.iter().filter(|_| transport.is_group());
                let responders = grants.map(Grant::station).collect();
                let wire::Requester { timeout_ns, seed, station, .. } = role;
                let draws = (seed, station);
                let task = Task::Request { source, draws, timeout_ns, responders, attention };
                (task, endpoint, Some(permitted))
            }
            Some(WireRole::Responder(role)) => {
                // Responses go to one station, also those to what arrived at a group.
                let unicast = Transport { cast: Cast::Unicast, ..transport };
                let endpoint = Endpoint { transport: unicast, ..own()? };
                let responses = match role.responses_json.as_str() {
                    "" => None,
                    text => Some(Box::new(read_responses(text, role.seed, role.station)?)),
                };
                // Without lengths of their own, responses are as long as requests, up to this.
                let as_requests = Lengths::Fixed { bits: u64::from(role.longest_frame_octets) * 8 };
                let frames = responses.as_ref().and_then(|responses| responses.frames.as_ref());
                let longest = longest_frame_octets(&endpoint, frames.unwrap_or(&as_requests))?;
                let wanted = wanted(role.rate_bps, role.rate_frames_per_s, longest);
                let attention = attention(&role.attention)?;
                let (permitted, _) = permit(&endpoint, wanted, role.grant.into_iter().collect())?;
                (Task::Respond { responses, attention }, endpoint, Some(permitted))
            }
            Some(WireRole::Client(role)) => {
                by_tcp("a file")?;
                let (endpoint, file) = (own()?, Box::new(read_file(&role.file_json)?));
                let wanted = wanted(role.rate_bps, role.rate_frames_per_s, IN_BULK);
                let (permitted, _) = permit(&endpoint, wanted, role.grants)?;
                (Task::Client { file, draws: (role.seed, role.station) }, endpoint, Some(permitted))
            }
            Some(WireRole::Server(role)) => {
                by_tcp("a file")?;
                let (endpoint, file) = (own()?, Box::new(read_file(&role.file_json)?));
                let wanted = wanted(role.rate_bps, role.rate_frames_per_s, IN_BULK);
                let (permitted, _) = permit(&endpoint, wanted, role.grant.into_iter().collect())?;
                (Task::Server { file, draws: (role.seed, role.station) }, endpoint, Some(permitted))
            }
        };
        let congestion = Some(congestion).filter(|name| !name.is_empty());
        if let Some(name) = &congestion {
            check_congestion(name, transport)?;
        }
        Ok(RolePlan { flow, stream, endpoint, task, permitted, congestion })
    }
}

const ROLES: &str =
    "send, sink, requester, responder, bulk sender, bulk receiver, clock, client or server";
const GRANTED_HERE: &str = "a flow that was granted here";

/// The rules and the experiment in which roles are entered.
pub(crate) struct RoleBooks<'a> {
    pub rules: &'a mut RuleBook,
    pub experiment: &'a mut Experiment,
}

/// Endpoint of flows by `transport` at the own `address`, whose interface is to be `name` if that is
/// not empty.
pub(crate) fn endpoint(transport: Transport, address: IpAddr, name: &str) -> Endpoint {
    let place = place_of(address);
    let mtu = place.as_ref().and_then(|place| mtu(&place.interface.name).ok());
    let interface = Some(name.to_owned()).filter(|name| !name.is_empty());
    Endpoint { transport, local: address, place, interface, mtu }
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

/// Refuse a congestion control that this host does not have, before anything is sent.
fn check_congestion(name: &str, transport: Transport) -> Result<(), Refusal> {
    if transport.kind != PortKind::Tcp {
        let value = format!("congestion {name} by {transport}");
        return refuse(Rule::Description, value, "congestion by tcp");
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

pub(crate) fn address(text: &str) -> Result<IpAddr, Refusal> {
    text.parse().map_err(|_| Refusal::new(Rule::Address, format!("{text:?}"), "an IP address"))
}

fn attention(text: &str) -> Result<Attention, Refusal> {
    match text {
        "spinning" => Ok(Attention::Spinning),
        "sleeping" => Ok(Attention::Sleeping),
        "collecting" => Ok(Attention::Collecting),
        other => refuse(
            Rule::Description,
            format!("attention {other:?}"),
            "spinning, sleeping or collecting",
        ),
    }
}

impl From<wire::Phases> for Phases {
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

impl From<Phases> for wire::Phases {
    fn from(phases: Phases) -> Self {
        let Phases { settle_ns, transmit_ns, measure_from_ns, measure_to_ns, drain_ns, batches } =
            phases;
        Self { settle_ns, transmit_ns, measure_from_ns, measure_to_ns, drain_ns, batches }
    }
}
