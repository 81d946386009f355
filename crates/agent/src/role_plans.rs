//! Role plans, read from the protocol and permitted by the rules.

use crate::attest::{self, Notary};
use crate::description::{check_stream, longest_octets, no_coder};
use crate::protocol::{Role, SignedGrant};
use crate::time::unix_time;
use ethermeter_net::interface::mtu;
use ethermeter_net::port::tcp::set_congestion;
use ethermeter_station::consent::{
    ClockReading, Consent, FlowTransport, Grant, PortKind, Reachability, RuleBook, SendRequest,
};
use ethermeter_station::experiment::{
    Experiment, GrantedFlow, LocalEndpoint, PermittedSender, RolePlan, clocks,
};
use ethermeter_station::interfaces::{PacketPath, attachment_of, reach};
use ethermeter_station::refusal::{ConsentRule, Refusal, refuse};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_trial::roles::{ExperimentPhases, RoleTask};
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Reads role plans; grants are verified by the notary.
pub(crate) struct RoleReader<'a> {
    pub notary: Option<&'a Notary>,
}

/// What all roles of a request are prepared under.
pub(crate) struct RoleContext<'a> {
    /// Flows that were granted here, by name.
    pub granted: &'a BTreeMap<String, GrantedFlow>,
    pub phases: &'a ExperimentPhases,
}

impl RoleReader<'_> {
    /// Read a role; it is still to be permitted.
    pub fn read(&self, context: &RoleContext<'_>, role: Role) -> Result<UnpermittedRole, Refusal> {
        let Role { flow, stream, interface, congestion, draws, task, grants } = role;
        let missing = |allowed| Refusal::new(ConsentRule::ConsentMissing, &flow, allowed);
        let grant = grants.first().map(|signed| &signed.grant).filter(|_| task.sends());
        if task.sends() && grant.is_none() {
            return Err(missing("a receiver's grant"));
        }
        let granted_here = context.granted.get(&flow).filter(|_| task.receives());
        // What receives is where the flow was granted; what only sends, where a receiver says.
        let (local, transport) = match (granted_here, grant) {
            (Some(own), None) => (own.address, own.transport),
            (Some(own), Some(grant)) if own.transport.kind == grant.kind => {
                (own.address, grant.transport())
            }
            (Some(own), Some(grant)) => {
                let allowed = format_args!("by {}, as here", own.transport);
                return refuse(ConsentRule::Description, grant.transport(), allowed);
            }
            (None, Some(grant)) if !task.receives() => (grant.sender, grant.transport()),
            (None, _) => return Err(missing("a flow that was granted here")),
        };
        let endpoint = endpoint(transport, local, interface);
        let longest = longest_frame(&task, &endpoint, grant)?;
        if let Some(name) = &congestion {
            check_congestion(name, transport)?;
        }
        let mut members = Vec::new();
        if transport.is_group() {
            members = grants.iter().map(|signed| signed.grant.station()).collect();
        }
        let request = || self.permit_request(context.phases, &endpoint, longest, grants);
        let wanted = task.sends().then(request).transpose()?;
        let plan =
            RolePlan { flow, stream, endpoint, task, draws, members, permitted: None, congestion };
        Ok(UnpermittedRole { plan, wanted })
    }

    /// What is to be permitted by the grants of all receivers, of which there is one at least.
    fn permit_request(
        &self,
        phases: &ExperimentPhases,
        endpoint: &LocalEndpoint,
        longest_frame_octets: u32,
        grants: Vec<SignedGrant>,
    ) -> Result<PermitRequest, Refusal> {
        let now = unix_time();
        let (mut consents, mut certificates) =
            (Vec::with_capacity(grants.len()), Vec::with_capacity(grants.len()));
        for signed in grants {
            let proof = attest::prove(&signed, self.notary, now)?;
            let SignedGrant { grant, certificate, .. } = signed;
            let reach = reach(endpoint.local, grant.address);
            consents.push(Consent { grant, proof, reach });
            certificates.push(certificate);
        }
        let Some(target) = consents.first().and_then(|consent| consent.grant.target()) else {
            let allowed = "the address of one station, or a group that there is";
            return refuse(ConsentRule::Address, endpoint.transport, allowed);
        };
        let send_request = SendRequest {
            transport: endpoint.transport,
            sender: endpoint.local,
            target,
            longest_frame_octets,
            duration_ns: phases.duration_ns(),
            attachment: endpoint.attachment.clone(),
            interface: endpoint.interface.clone(),
        };
        Ok(PermitRequest { send_request, consents, certificates })
    }
}

/// Of octets in bulk, which TCP makes segments of: no length of frames.
const IN_BULK: u32 = 0;

/// Octets of the longest frame that a role sends by `grant`.
fn longest_frame(
    task: &RoleTask,
    endpoint: &LocalEndpoint,
    grant: Option<&Grant>,
) -> Result<u32, Refusal> {
    let fault = |what: String| Refusal::new(ConsentRule::Description, what, "what fits together");
    let unless = |found: Option<String>| found.map_or(Ok(()), |what| Err(fault(what)));
    let by_tcp = |what: &str| {
        if endpoint.transport.kind == PortKind::Tcp {
            return Ok(());
        }
        refuse(ConsentRule::Description, endpoint.transport, format_args!("{what} by tcp"))
    };
    match task {
        RoleTask::Send(stream) => {
            let spec = stream.source.spec().map_err(fault)?;
            check_stream(endpoint.transport, stream)?;
            Ok(longest_octets(&spec.frames))
        }
        RoleTask::Request { exchange, .. } => {
            let spec = exchange.source.spec().map_err(fault)?;
            if matches!(spec.arrivals, Arrivals::Coder { .. }) {
                return Err(no_coder());
            }
            endpoint.longest_frame_octets(&spec.frames)
        }
        RoleTask::Respond { response, .. } => {
            unless(response.fault())?;
            // Without lengths of their own, responses are as long as requests, up to what is
            // granted.
            let granted_octets = grant.map_or(0, |grant| grant.longest_frame_octets);
            let as_requests = Lengths::Fixed { bits: u64::from(granted_octets) * 8 };
            endpoint.longest_frame_octets(response.frames.as_ref().unwrap_or(&as_requests))
        }
        RoleTask::Clock => Ok(clocks::FRAME_OCTETS),
        RoleTask::SendBulk(transfer) => {
            unless(transfer.fault())?;
            by_tcp("octets in bulk").map(|()| IN_BULK)
        }
        RoleTask::ReceiveBulk => by_tcp("octets in bulk").map(|()| IN_BULK),
        RoleTask::Client(transfer) | RoleTask::Server(transfer) => {
            unless(transfer.fault())?;
            by_tcp("a file").map(|()| IN_BULK)
        }
        RoleTask::Sink { .. } => Ok(0),
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

/// Endpoint of flows by `transport` at the own address `local`, whose interface is to be that of this
/// name, if any is given.
pub(crate) fn endpoint(
    transport: FlowTransport,
    local: IpAddr,
    interface: Option<String>,
) -> LocalEndpoint {
    let attachment = attachment_of(local);
    let mtu = attachment.as_ref().and_then(|attachment| mtu(&attachment.interface.name).ok());
    LocalEndpoint { transport, local, attachment, interface, mtu }
}

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
