//! The rule book of one agent: what it allows, and what it has allowed.

use super::ceilings::Ceilings;
use super::fresh::{RequestFreshness, RequestLane, RequestStamp};
use super::grant::{
    ClockReading, Consent, FlowAttachment, GRANT_S, Grant, GrantRequest, InterfaceIdentity, Permit,
    Proof, Rates, Reachability, SendRequest,
};
use super::spent::{GrantId, SpentGrants};
use super::transport::FlowTransport;
use crate::refusal::{ConsentRule, Refusal, require};
use ethermeter_net::port::StationAddress;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

const LEAST_PORT: u16 = 1024;

/// What one agent allows, and what it has allowed.
#[derive(Debug)]
pub struct RuleBook {
    ceilings: Ceilings,
    is_plain: bool,
    session: u64,
    fresh: RequestFreshness,
    booked: BTreeMap<u64, BookedExperiment>,
    /// Grants given so far.
    issued: u64,
    spent: SpentGrants,
}

/// What a running experiment has been allowed, so that the ceilings hold for all of them together.
#[derive(Clone, Debug, Default)]
struct BookedExperiment {
    roles: usize,
    incoming: Rates,
    outgoing: Rates,
    /// Groups that are sent to, and the receivers that have granted it.
    groups: Vec<(StationAddress, BTreeSet<IpAddr>)>,
}

/// What the operator's ceilings are compared with, of a request.
struct CheckedFlow<'a> {
    transport: FlowTransport,
    duration_ns: u64,
    /// Where this host has the own address, if anywhere.
    attachment: Option<&'a FlowAttachment>,
    /// The interface that was asked for by name, if any.
    interface: Option<&'a str>,
}

impl RuleBook {
    /// The rules of the process `session`. An agent that `is_plain` has no TLS.
    #[must_use]
    pub fn new(ceilings: Ceilings, session: u64, is_plain: bool) -> Self {
        let (fresh, spent) = (RequestFreshness::new(session), SpentGrants::default());
        Self { ceilings, is_plain, session, fresh, booked: BTreeMap::new(), issued: 0, spent }
    }

    /// The operator's ceilings.
    #[must_use]
    pub fn ceilings(&self) -> &Ceilings {
        &self.ceilings
    }

    /// Whether a request that may begin an experiment is fresh, and there is room for it.
    ///
    /// # Errors
    /// By [`ConsentRule::Session`], [`ConsentRule::Clock`], [`ConsentRule::Replay`],
    /// [`ConsentRule::Ended`], [`ConsentRule::Owner`], [`ConsentRule::TestsAtOnce`].
    pub fn admit_beginning(
        &mut self,
        stamp: &RequestStamp,
        caller: &str,
        now_ns: u64,
    ) -> Result<(), Refusal> {
        self.fresh.check(stamp, now_ns)?;
        if !self.fresh.knows(stamp.experiment) {
            let most = self.ceilings.tests_at_once;
            let running = self.fresh.running();
            require(
                running < most,
                ConsentRule::TestsAtOnce,
                format_args!("experiment {}", running + 1),
                format_args!("{most} at once"),
            )?;
        }
        self.fresh.take(stamp, RequestLane::Calls, caller)
    }

    /// Whether a request of a running experiment is fresh.
    ///
    /// # Errors
    /// As [`RuleBook::admit_beginning`], and by [`ConsentRule::Unknown`].
    pub fn admit(
        &mut self,
        stamp: &RequestStamp,
        caller: &str,
        now_ns: u64,
    ) -> Result<(), Refusal> {
        self.admit_in(RequestLane::Calls, stamp, caller, now_ns)
    }

    /// Whether a renewal of a running experiment's lease is fresh: among renewals, which are
    /// counted apart from other requests.
    ///
    /// # Errors
    /// As [`RuleBook::admit`].
    pub fn admit_lease(
        &mut self,
        stamp: &RequestStamp,
        caller: &str,
        now_ns: u64,
    ) -> Result<(), Refusal> {
        self.admit_in(RequestLane::Leases, stamp, caller, now_ns)
    }

    fn admit_in(
        &mut self,
        lane: RequestLane,
        stamp: &RequestStamp,
        caller: &str,
        now_ns: u64,
    ) -> Result<(), Refusal> {
        self.fresh.check(stamp, now_ns)?;
        let is_known = self.fresh.knows(stamp.experiment);
        require(
            is_known,
            ConsentRule::Unknown,
            format_args!("experiment {:016x}", stamp.experiment),
            "an experiment that has begun here",
        )?;
        self.fresh.take(stamp, lane, caller)
    }

    /// The experiment has ended and will not begin again.
    pub fn end(&mut self, experiment: u64, now_ns: u64) {
        self.fresh.end(experiment, now_ns);
        self.booked.remove(&experiment);
    }

    /// As a receiver whose own address has this `attachment`, if it has one: grant a request. The
    /// port in the grant is still the requested one.
    ///
    /// # Errors
    /// By the operator's ceilings, because no single interface has the address, or because frames
    /// cannot go there.
    pub fn grant(
        &mut self,
        experiment: u64,
        request: &GrantRequest,
        attachment: Option<&FlowAttachment>,
        now_unix_s: u64,
    ) -> Result<Grant, Refusal> {
        let rates = Rates { bps: request.rate_bps, frames_per_s: request.rate_frames_per_s };
        let flow = CheckedFlow {
            transport: request.transport,
            duration_ns: request.duration_ns,
            attachment,
            interface: request.interface.as_deref(),
        };
        self.check_flow(&flow, rates, self.booked(|booked| booked.incoming))?;
        self.check_stations(request.address, request.sender)?;
        let attachment = self.check_attachment(&flow, request.address)?;
        let port = if request.transport.kind.is_raw() { 0 } else { request.port };
        require(
            port == 0 || is_free(request.transport, port),
            ConsentRule::Port,
            port,
            format_args!("0, or {}", free_ports(request.transport)),
        )?;
        let grant = Grant {
            experiment,
            session: self.session,
            number: self.issued + 1,
            sender: request.sender,
            address: request.address,
            network: attachment.network,
            interface: attachment.interface.name.clone(),
            mac: attachment.interface.mac,
            kind: request.transport.kind,
            cast: request.transport.cast,
            priority: request.transport.priority,
            port,
            rate_bps: request.rate_bps,
            rate_frames_per_s: request.rate_frames_per_s,
            longest_frame_octets: request.longest_frame_octets,
            duration_ns: request.duration_ns,
            until_unix_s: now_unix_s.saturating_add(GRANT_S),
        };
        target_of(&grant)?;
        self.book(experiment, |booked| booked.incoming = booked.incoming.and(rates))?;
        self.issued += 1;
        Ok(grant)
    }

    /// As a sender: permit a wish, given the grant of every receiver; of a group there may
    /// be several. The grants are spent by it.
    ///
    /// # Errors
    /// By the own operator's ceilings, or because a grant is not for this, or has been used.
    pub fn permit(
        &mut self,
        experiment: u64,
        request: &SendRequest,
        consents: &[Consent],
        moment: ClockReading,
    ) -> Result<Permit, Refusal> {
        if consents.is_empty() {
            return Err(Refusal::new(
                ConsentRule::ConsentMissing,
                request.target,
                "a station that granted it in this experiment",
            ));
        }
        for Consent { grant, proof, .. } in consents {
            self.check_consent(experiment, request, grant, *proof, moment.unix_s)?;
        }
        let rates = Rates::least_of(consents);
        let flow = CheckedFlow {
            transport: request.transport,
            duration_ns: request.duration_ns,
            attachment: request.attachment.as_ref(),
            interface: request.interface.as_deref(),
        };
        self.check_flow(&flow, rates, self.booked(|booked| booked.outgoing))?;
        let attachment = self.check_attachment(&flow, request.sender)?;
        consents.iter().try_for_each(|consent| check_reach(attachment, request, consent))?;
        let grants = || consents.iter().map(|consent| &consent.grant);
        let receivers: BTreeSet<IpAddr> = grants().map(|grant| grant.address).collect();
        self.check_group(experiment, request, &receivers)?;
        let ids: Vec<GrantId> = grants().map(Grant::id).collect();
        self.spent.check(&ids, moment.now_ns)?;
        let lifetimes_s = grants().map(|grant| grant.until_unix_s.saturating_sub(moment.unix_s));
        let lifetime_ns = lifetimes_s.min().unwrap_or(0).saturating_mul(1_000_000_000);
        self.book(experiment, |booked| {
            booked.outgoing = booked.outgoing.and(rates);
            if request.transport.is_group() {
                booked.groups.push((request.target, receivers));
            }
        })?;
        // No grant is accepted that lives longer; one that the wall clock makes live again, by a
        // step back, is still known.
        self.spent.spend(&ids, moment.now_ns.saturating_add(2 * GRANT_S * 1_000_000_000));
        Ok(Permit {
            target: request.target,
            rate_bps: rates.bps,
            rate_frames_per_s: rates.frames_per_s,
            longest_frame_octets: request.longest_frame_octets,
            duration_ns: request.duration_ns,
            begin_before_ns: moment.now_ns.saturating_add(lifetime_ns),
        })
    }

    /// Whether all receivers of a group grant this: each receiver of a group hears all roles
    /// that send to it, so each of these needs a grant of each.
    fn check_group(
        &self,
        experiment: u64,
        request: &SendRequest,
        receivers: &BTreeSet<IpAddr>,
    ) -> Result<(), Refusal> {
        let mut groups = self.booked.get(&experiment).into_iter().flat_map(|booked| &booked.groups);
        let Some((_, others)) =
            groups.find(|(target, others)| *target == request.target && others != receivers)
        else {
            return Ok(());
        };
        let list = |receivers: &BTreeSet<IpAddr>| {
            receivers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        Err(Refusal::new(
            ConsentRule::ConsentMissing,
            format_args!("{} granted by {}", request.target, list(receivers)),
            format_args!("grants of the receivers of its other roles: {}", list(others)),
        ))
    }

    /// Whether one receiver's grant is for this.
    fn check_consent(
        &self,
        experiment: u64,
        request: &SendRequest,
        grant: &Grant,
        proof: Proof,
        now_unix_s: u64,
    ) -> Result<(), Refusal> {
        self.check_stations(request.sender, grant.address)?;
        let is_proven = proof == Proof::Signed || (self.is_plain && grant.address.is_loopback());
        require(
            is_proven,
            ConsentRule::ConsentUnproven,
            grant.address,
            "a grant signed with a certificate that names the address",
        )?;
        let (requested, granted) = (experiment, grant.experiment);
        require(
            requested == granted,
            ConsentRule::ConsentExperiment,
            format_args!("{requested:016x}"),
            format_args!("{granted:016x}"),
        )?;
        require(
            request.sender == grant.sender,
            ConsentRule::ConsentSender,
            request.sender,
            grant.sender,
        )?;
        require(
            request.transport == grant.transport(),
            ConsentRule::ConsentTarget,
            request.transport,
            grant.transport(),
        )?;
        check_target(grant, request)?;
        let needs_port = !grant.kind.is_raw();
        let is_fine = !needs_port || is_free(grant.transport(), grant.port);
        require(is_fine, ConsentRule::Port, grant.port, free_ports(grant.transport()))?;
        let (requested, granted) = (request.longest_frame_octets, grant.longest_frame_octets);
        // Octets in bulk are something else than frames of no octets.
        let is_within =
            if granted == 0 { requested == 0 } else { (1..=granted).contains(&requested) };
        let (requested, granted) = (length(requested), length(granted));
        require(is_within, ConsentRule::ConsentLength, requested, granted)?;
        let (requested, granted) = (request.duration_ns, grant.duration_ns);
        require(
            requested <= granted,
            ConsentRule::ConsentDuration,
            format_args!("{requested} ns"),
            format_args!("{granted} ns"),
        )?;
        let until = grant.until_unix_s;
        let is_valid = now_unix_s < until && until <= now_unix_s.saturating_add(2 * GRANT_S);
        require(
            is_valid,
            ConsentRule::ConsentExpired,
            format_args!("now {now_unix_s} s"),
            format_args!("before {until} s, issued in the last minute"),
        )
    }

    /// What all running experiments have been allowed in one direction.
    fn booked(&self, direction: fn(&BookedExperiment) -> Rates) -> Rates {
        self.booked.values().map(direction).fold(Rates::default(), Rates::and)
    }

    fn check_flow(
        &self,
        flow: &CheckedFlow<'_>,
        rates: Rates,
        booked: Rates,
    ) -> Result<(), Refusal> {
        self.ceilings.check_rates(rates, booked)?;
        self.ceilings.check_duration(flow.duration_ns)?;
        let name = flow.attachment.map(|attachment| attachment.interface.name.as_str());
        self.ceilings.check_interface(flow.interface.or(name))?;
        self.ceilings.check_interface(name)?;
        self.ceilings.check_cast(flow.transport)?;
        self.ceilings.check_priority(flow.transport)
    }

    /// Where the own address `own` is: on one interface, on that which was named, if one was.
    fn check_attachment<'a>(
        &self,
        flow: &CheckedFlow<'a>,
        own: IpAddr,
    ) -> Result<&'a FlowAttachment, Refusal> {
        let attachment = flow.attachment.filter(|attachment| attachment.address == own);
        let attachment = attachment.ok_or_else(|| {
            let allowed = format_args!("one interface that has {own}");
            Refusal::new(ConsentRule::Interface, "none", allowed)
        })?;
        let InterfaceIdentity { name, is_loopback, .. } = &attachment.interface;
        let is_allowed = !self.is_plain || *is_loopback;
        require(is_allowed, ConsentRule::PlainBeyondLoopback, name, "the loopback interface")?;
        let named = flow.interface.unwrap_or(name);
        require(
            named == name,
            ConsentRule::Interface,
            named,
            format_args!("{name}, which has {own}"),
        )?;
        Ok(attachment)
    }

    fn check_stations(&self, own: IpAddr, other: IpAddr) -> Result<(), Refusal> {
        for address in [own, other] {
            let is_allowed = !self.is_plain || address.is_loopback();
            require(
                is_allowed,
                ConsentRule::PlainBeyondLoopback,
                address,
                "loopback addresses, for an agent without certificates",
            )?;
            self.ceilings.check_address(address)?;
        }
        Ok(())
    }

    fn book(
        &mut self,
        experiment: u64,
        allow: impl FnOnce(&mut BookedExperiment),
    ) -> Result<(), Refusal> {
        let most = self.ceilings.roles;
        let booked = self.booked.entry(experiment).or_default();
        require(
            booked.roles < most,
            ConsentRule::Roles,
            format_args!("role {}", booked.roles + 1),
            format_args!("{most} in an experiment"),
        )?;
        booked.roles += 1;
        allow(booked);
        Ok(())
    }
}

/// Whether frames go where the grant permits: to the station that grants it, or to the
/// experiment's group.
fn check_target(grant: &Grant, request: &SendRequest) -> Result<(), Refusal> {
    let target = target_of(grant)?;
    require(request.target == target, ConsentRule::ConsentTarget, request.target, target)
}

/// Where a grant permits frames to go.
fn target_of(grant: &Grant) -> Result<StationAddress, Refusal> {
    grant.target().ok_or_else(|| {
        let allowed = "the address of one station, or a group that there is";
        Refusal::new(ConsentRule::Address, grant.transport(), allowed)
    })
}

/// Whether the way from here to the granted address is one by which frames reach that station and
/// no other.
fn check_reach(
    attachment: &FlowAttachment,
    request: &SendRequest,
    consent: &Consent,
) -> Result<(), Refusal> {
    let Consent { grant, reach, .. } = consent;
    let (FlowAttachment { interface, .. }, address) = (attachment, grant.address);
    let Some(Reachability { route, neighbour }) = reach else {
        return Err(Refusal::new(ConsentRule::Route, "none", format_args!("a route to {address}")));
    };
    let is_here = route.interface == interface.index || route.is_local;
    require(
        is_here,
        ConsentRule::Route,
        format_args!("{}, interface {}", interface.name, interface.index),
        format_args!("interface {}, by which packets to {address} leave", route.interface),
    )?;
    // Raw frames and groups know no routers, and go out by the interface whatever routes say.
    if request.transport.kind.is_raw() || request.transport.is_group() {
        let is_direct = !route.has_gateway
            && grant.network.contains(request.sender)
            && (!route.is_local || interface.is_loopback);
        let allowed =
            format_args!("a sender in the network of {}, {}", address, String::from(grant.network));
        require(is_direct, ConsentRule::Route, request.sender, allowed)?;
    }
    match (neighbour, grant.mac) {
        (Some(neighbour), Some(granted)) if !route.has_gateway && !route.is_local => require(
            *neighbour == granted,
            ConsentRule::Route,
            format_args!("{neighbour}, which answers for {address}"),
            format_args!("{granted}, which granted"),
        ),
        _ => Ok(()),
    }
}

/// Ports that no service is assigned (RFC 6335, section 6): what goes to groups and to everybody
/// reaches hosts that were not asked, and may have services.
const LEAST_FREE: u16 = 49_152;

fn least_port(transport: FlowTransport) -> u16 {
    if transport.is_group() { LEAST_FREE } else { LEAST_PORT }
}

fn is_free(transport: FlowTransport, port: u16) -> bool {
    port >= least_port(transport)
}

fn free_ports(transport: FlowTransport) -> String {
    format!("{} to 65535", least_port(transport))
}

fn length(longest_frame_octets: u32) -> String {
    match longest_frame_octets {
        0 => "octets in bulk".into(),
        octets => format!("frames of up to {octets} octets"),
    }
}

#[cfg(test)]
mod tests;
