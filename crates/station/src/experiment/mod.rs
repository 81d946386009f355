//! An experiment on one host: its ports, its roles, its results.
//!
//! ```text
//! granting ── prepare ──► prepared ── start ──► running ── all roles have ended ──► ended
//!    each grant opens a port, `prepare` those of roles: one opening at a time
//!     each of them ── stop, or the lease lapses ──► ended
//! ```
//!
//! The lease begins when the first opening ends: the coordinator renews it from the first reply on.
//!
//! A role that sends ends, too, when one of its receivers no longer renews its grant, or the way
//! to it is another one.

mod bulk;
pub mod clocks;
mod connection;
mod endpoint;
mod file;
#[cfg(test)]
mod hostile_coordinator;
#[cfg(test)]
mod made_time;
#[cfg(test)]
mod noting_port;
mod opening;
mod policed_port;
mod role;
mod sampler;
mod schedule;
mod series;
mod transfer;

pub use endpoint::LocalEndpoint;
use opening::OpenReceiver;
pub use opening::{OpenedPort, OpenedRole, OpeningMark, PortOpening, RoleOpening, check_path};
pub use role::{PermittedSender, RolePlan};

use self::policed_port::SendProgress;
use self::schedule::ExperimentSchedule;
use crate::consent::{
    ChallengeAnswer, FlowAttachment, FlowTransport, Grant, IssuedGrants, Lease, LeaseRenewal,
    ReceiverLease, ReceiverLeases, RenewalChallenge, RoleLease,
};
use crate::interfaces::PacketPath;
use crate::refusal::{ConsentRule, Refusal, require};
use crate::report::{AgentReport, HostReport, RoleReport};
use ethermeter_net::{SkewedClock, Timeline};
use ethermeter_trial::roles::{ExperimentPhases, RoleTask};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::{Builder, JoinHandle};

enum ExperimentState {
    Granting,
    Prepared(Vec<OpenedRole>, ExperimentPhases),
    Running(RunningRoles),
}

/// Roles at work, and the sampler of the host.
struct RunningRoles {
    /// Each with its report if it panics.
    roles: Vec<(RoleReport, JoinHandle<RoleReport>)>,
    sampler: Option<JoinHandle<HostReport>>,
    leases: Vec<Arc<RoleLease>>,
    /// Of each role that sends.
    paths: Vec<WatchedPath>,
    /// The ends of the transmission and of the drain.
    transmitted_ns: u64,
    until_ns: u64,
}

/// The path of a role's frames, and what ends the role.
#[derive(Clone)]
pub struct WatchedPath {
    lease: Arc<RoleLease>,
    path: PacketPath,
}

impl WatchedPath {
    /// End the role if its frames would go another way than they were granted.
    pub fn check(&self) {
        if !self.lease.is_stopped() && self.path.fault().is_some() {
            self.lease.stray();
        }
    }
}

/// A flow that was granted here.
#[derive(Clone, Copy, Debug)]
pub struct GrantedFlow {
    /// Own address that it comes to.
    pub address: IpAddr,
    /// How it comes.
    pub transport: FlowTransport,
}

/// One experiment.
pub struct Experiment {
    number: u64,
    own_clock: SkewedClock,
    lease: Arc<Lease>,
    progress: Arc<SendProgress>,
    receivers: BTreeMap<String, OpenReceiver>,
    issued: IssuedGrants,
    receiver_leases: ReceiverLeases,
    state: ExperimentState,
    /// Of the opening in flight.
    opening: Weak<()>,
}

impl Experiment {
    /// One with nothing in it yet; receivers of its roles know it by `run`, which is unguessable.
    /// Frames show the time of `own_clock`.
    #[must_use]
    pub fn new(number: u64, run: u64, own_clock: SkewedClock) -> Self {
        Self {
            number,
            own_clock,
            lease: Arc::new(Lease::unbegun()),
            progress: Arc::default(),
            receivers: BTreeMap::new(),
            issued: IssuedGrants::default(),
            receiver_leases: ReceiverLeases::new(run),
            state: ExperimentState::Granting,
            opening: Weak::new(),
        }
    }

    /// Number of the experiment.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether ports are being opened.
    #[must_use]
    pub fn is_opening(&self) -> bool {
        self.opening.strong_count() > 0
    }

    /// Whether it has been stopped, or its lease has lapsed.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.lease.flag().load(Ordering::Relaxed)
    }

    fn mark(&mut self, doing: &str, is_next: bool, order: &str) -> Result<OpeningMark, Refusal> {
        require(is_next, ConsentRule::Order, doing, order)?;
        let allowed = "one after the other: ports are being opened";
        require(!self.is_opening(), ConsentRule::Order, doing, allowed)?;
        Ok(OpeningMark::of(&mut self.opening))
    }

    /// Begin what ends with [`Experiment::add_port`].
    ///
    /// # Errors
    /// If roles are prepared already, or ports are being opened.
    pub fn begin_granting(&mut self) -> Result<OpeningMark, Refusal> {
        let is_next = matches!(self.state, ExperimentState::Granting);
        self.mark("a grant", is_next, "before roles are prepared")
    }

    /// Begin what ends with [`Experiment::prepare`]; returns the granted flows, too, by name.
    ///
    /// # Errors
    /// If roles are prepared already, or ports are being opened.
    pub fn begin_preparing(
        &mut self,
    ) -> Result<(OpeningMark, BTreeMap<String, GrantedFlow>), Refusal> {
        let is_next = matches!(self.state, ExperimentState::Granting);
        let mark = self.mark("roles", is_next, "once, after grants")?;
        let granted = self.receivers.iter().filter_map(|(flow, receiver)| {
            let grant = receiver.grants.first()?;
            let (address, transport) = (grant.address, grant.transport());
            Some((flow.clone(), GrantedFlow { address, transport }))
        });
        Ok((mark, granted.collect()))
    }

    /// The lease that its coordinator renews.
    #[must_use]
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// End all roles.
    pub fn stop(&self) {
        self.lease.stop();
        if let ExperimentState::Running(running) = &self.state {
            running.leases.iter().for_each(|lease| lease.stop());
        }
    }

    /// End what has lost a lease. A lease that has not begun does so now if no port is being opened:
    /// the first opening has failed.
    pub fn look_at_leases(&self, now_ns: u64) {
        if !self.is_opening() {
            self.lease.begin(now_ns);
        }
        let _ = self.lease.is_silent_at(now_ns);
        if let ExperimentState::Running(running) = &self.state {
            for lease in &running.leases {
                let _ = lease.is_silent_at(now_ns);
            }
        }
    }

    /// Paths of the roles that send, each to be watched.
    #[must_use]
    pub fn paths(&self) -> Vec<WatchedPath> {
        match &self.state {
            ExperimentState::Running(running) => running.paths.clone(),
            ExperimentState::Granting | ExperimentState::Prepared(..) => Vec::new(),
        }
    }

    /// As a receiver: where the granted addresses were.
    #[must_use]
    pub fn attachments(&self) -> Vec<FlowAttachment> {
        self.issued.attachments()
    }

    /// As a receiver: answer the challenges of senders. The attachments `gone` are no longer there.
    pub fn answers(
        &mut self,
        challenges: &[RenewalChallenge],
        gone: &[FlowAttachment],
        now_ns: u64,
    ) -> Vec<ChallengeAnswer> {
        if challenges.is_empty() || self.lease.is_silent_at(now_ns) {
            return Vec::new();
        }
        self.issued.look(|attachment| !gone.contains(attachment));
        let end_ns = match &self.state {
            ExperimentState::Running(running) => Some(running.until_ns),
            ExperimentState::Granting | ExperimentState::Prepared(..) => None,
        };
        self.issued.renew(challenges, end_ns, now_ns)
    }

    /// When the last lease ends that it has given as a receiver.
    #[must_use]
    pub fn renewed_until_ns(&self) -> u64 {
        self.issued.renewed_until_ns()
    }

    /// As a sender: the lease of `grant`, which arrived with `certificate`.
    ///
    /// # Errors
    /// If another grant of the same process arrived with another certificate.
    pub fn lease_of(
        &mut self,
        grant: &Grant,
        certificate: &[u8],
    ) -> Result<Arc<ReceiverLease>, Refusal> {
        let lease = self.receiver_leases.lease(grant.session, grant.number, certificate);
        lease.ok_or_else(|| {
            Refusal::new(
                ConsentRule::ConsentUnproven,
                grant.address,
                "one certificate for a receiver's process",
            )
        })
    }

    /// As a sender: the certificate with which the receiver's process `session` signs.
    #[must_use]
    pub fn certificate_of(&self, session: u64) -> Option<&[u8]> {
        self.receiver_leases.certificate(session)
    }

    /// As a sender: challenges to its receivers; `draw` draws unguessable numbers.
    pub fn challenges(&mut self, now_ns: u64, draw: impl FnOnce() -> u64) -> Vec<RenewalChallenge> {
        self.receiver_leases.challenges(now_ns, draw)
    }

    /// As a sender: take a proven renewal.
    pub fn renew(&self, renewal: &LeaseRenewal) {
        self.receiver_leases.renew(renewal);
    }

    /// As a sender: whether all grants of its roles are renewed.
    #[must_use]
    pub fn is_renewed(&self, now_ns: u64) -> bool {
        self.receiver_leases.hold_at(now_ns)
    }

    /// The port to be opened for what `grant` allows, with room for frames of `room_frame_octets`,
    /// too. Further senders of the flow share it.
    ///
    /// # Errors
    /// If the flow has one already that is not for this, or this host has not the address.
    pub fn port_for(
        &self,
        flow: &str,
        endpoint: LocalEndpoint,
        mut grant: Grant,
        room_frame_octets: u32,
        granted_ns: u64,
    ) -> Result<PortOpening, Refusal> {
        let attachment = endpoint.attachment.clone().ok_or_else(endpoint::no_interface)?;
        let receiver = self.receivers.get(flow);
        if let Some(receiver) = receiver {
            let is_shared = receiver.grants.iter().all(|other| {
                other.sender != grant.sender
                    && other.address == grant.address
                    && other.transport() == grant.transport()
            });
            if !is_shared || !grant.transport().can_be_shared() {
                return Err(Refusal::new(
                    ConsentRule::Description,
                    format!("flow {flow:?}"),
                    "one receiver a flow",
                ));
            }
            grant.port = receiver.grants.first().map_or(grant.port, |other| other.port);
        }
        Ok(PortOpening {
            flow: flow.to_owned(),
            endpoint,
            attachment,
            grant,
            granted_ns,
            room_frame_octets,
            is_shared: receiver.is_some(),
        })
    }

    /// Take the port that was opened for a grant; returns the grant.
    pub fn add_port(&mut self, port: OpenedPort, now_ns: u64) -> Grant {
        let OpenedPort { opening, opened } = port;
        let PortOpening { flow, endpoint, attachment, grant, granted_ns, .. } = opening;
        if let Some(opened) = opened {
            let receiver =
                OpenReceiver { opened, endpoint, grants: Vec::new(), open: Arc::default() };
            self.receivers.insert(flow.clone(), receiver);
        }
        let Some(receiver) = self.receivers.get_mut(&flow) else {
            unreachable!("a port to be shared stays there while the experiment is marked")
        };
        receiver.grants.push(grant.clone());
        self.issued.add(grant.number, &receiver.open, attachment, granted_ns);
        self.lease.begin(now_ns);
        grant
    }

    /// The ports to be opened for roles; those that were opened for grants are handed over.
    pub fn ports_of(&mut self, roles: Vec<RolePlan>) -> Vec<RoleOpening> {
        let opening = |plan: RolePlan| {
            let receiver =
                if plan.task.receives() { self.receivers.remove(&plan.flow) } else { None };
            RoleOpening { plan, receiver }
        };
        roles.into_iter().map(opening).collect()
    }

    /// Take up roles.
    pub fn prepare(&mut self, roles: Vec<OpenedRole>, phases: ExperimentPhases, now_ns: u64) {
        self.state = ExperimentState::Prepared(roles, phases);
        self.lease.begin(now_ns);
    }

    /// Begin what ends with [`Experiment::start`]; returns the paths of roles, which are to be
    /// checked before it, too.
    ///
    /// # Errors
    /// If nothing is prepared, ports are being opened, or a grant has expired or is not renewed by
    /// its receiver.
    pub fn begin_starting(
        &mut self,
        begin_ns: u64,
        now_ns: u64,
    ) -> Result<(OpeningMark, Vec<PacketPath>), Refusal> {
        let is_next = matches!(self.state, ExperimentState::Prepared(..));
        let mark = self.mark("a start", is_next, AFTER_ROLES)?;
        let ExperimentState::Prepared(roles, _) = &self.state else {
            unreachable!("what can be started is prepared")
        };
        check_permits(roles, begin_ns, now_ns)?;
        let permitted = roles.iter().filter_map(|role| role.plan.permitted.as_ref());
        Ok((mark, permitted.map(|permitted| permitted.path.clone()).collect()))
    }

    /// Begin at `begin_ns`. The paths of roles are to be checked once more after it: what watches
    /// them knows them only from now on.
    ///
    /// # Errors
    /// If nothing is prepared, a grant has expired or is not renewed by its receiver, or the system
    /// refuses a thread.
    pub fn start(
        &mut self,
        begin_ns: u64,
        time: impl Timeline + Copy + Send + 'static,
    ) -> Result<(), Refusal> {
        let ExperimentState::Prepared(roles, phases) = &mut self.state else {
            return Err(Refusal::new(ConsentRule::Order, "a start", AFTER_ROLES));
        };
        check_permits(roles, begin_ns, time.now_ns())?;
        let phases = *phases;
        let roles = std::mem::take(roles);
        let role_lease = |receivers| Arc::new(RoleLease::new(Arc::clone(&self.lease), receivers));
        let schedule = ExperimentSchedule {
            time,
            experiment: self.number,
            begin_ns,
            phases,
            lease: role_lease(Vec::new()),
            progress: Arc::clone(&self.progress),
            own_clock: self.own_clock,
            clocks: Arc::new(
                roles
                    .iter()
                    .filter(|role| matches!(role.plan.task, RoleTask::Clock))
                    .map(|role| (role.plan.flow.clone(), Arc::default()))
                    .collect(),
            ),
        };
        let sampling = schedule.clone();
        let mut leases = vec![Arc::clone(&sampling.lease)];
        let (mut bodies, mut paths) = (Vec::new(), Vec::new());
        for OpenedRole { plan, opened, open } in roles {
            let permitted = plan.permitted.as_ref();
            let receivers = permitted.map_or(Vec::new(), |permitted| permitted.leases.clone());
            let lease = role_lease(receivers);
            leases.push(Arc::clone(&lease));
            paths.extend(permitted.map(|permitted| WatchedPath {
                lease: Arc::clone(&lease),
                path: permitted.path.clone(),
            }));
            let schedule = ExperimentSchedule { lease, ..schedule.clone() };
            let panicked = plan.failed("the role's thread has panicked".into());
            let body = move || {
                let report = plan.run(opened, &schedule);
                // The port is closed: its grants are renewed no more.
                drop(open);
                report
            };
            bodies.push((panicked, body));
        }
        let (transmitted_ns, until_ns) =
            (schedule.transmit_ns().saturating_add(phases.transmit_ns), schedule.until_ns());
        let mut running = RunningRoles {
            roles: Vec::with_capacity(bodies.len()),
            sampler: None,
            leases,
            paths,
            transmitted_ns,
            until_ns,
        };
        let outcome = running.spawn(bodies, sampling);
        self.state = ExperimentState::Running(running);
        if outcome.is_err() {
            self.stop();
        }
        outcome
    }

    /// Roles that have not ended; the sampler of the host among them.
    #[must_use]
    pub fn running(&self) -> usize {
        match &self.state {
            ExperimentState::Running(RunningRoles { roles, sampler, .. }) => {
                let sampler = sampler.iter().filter(|thread| !thread.is_finished()).count();
                sampler + roles.iter().filter(|(_, thread)| !thread.is_finished()).count()
            }
            ExperimentState::Granting | ExperimentState::Prepared(..) => 0,
        }
    }

    /// Whether it has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        matches!(self.state, ExperimentState::Running(_))
    }

    /// Frames sent and received so far.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.progress.sent.load(Ordering::Relaxed), self.progress.received.load(Ordering::Relaxed))
    }

    /// Why it has ended, or will: `route` if a role ended because its frames would have gone
    /// another way, `receiver` if one ended before the transmission did because its receiver
    /// renewed no more.
    #[must_use]
    pub fn ending(&self) -> &'static str {
        if let ExperimentState::Running(RunningRoles { leases, transmitted_ns, .. }) = &self.state {
            if leases.iter().any(|lease| lease.has_strayed()) {
                return "route";
            }
            let is_early = |lapsed_ns: u64| lapsed_ns < *transmitted_ns;
            if leases.iter().any(|lease| lease.lapsed_ns().is_some_and(is_early)) {
                return "receiver";
            }
        }
        match (self.lease.has_lapsed(), self.lease.flag().load(Ordering::Relaxed)) {
            (true, _) => "lease",
            (false, true) => "stopped",
            (false, false) => "complete",
        }
    }

    /// Wait for the roles, which end at once if it has been stopped, and hand over what was
    /// counted.
    #[must_use]
    pub fn collect(self, time: &impl Timeline) -> AgentReport {
        let ended = self.ending();
        let ExperimentState::Running(RunningRoles { roles, sampler, .. }) = self.state else {
            return AgentReport {
                ended: "never begun".into(),
                roles: Vec::new(),
                collected_ns: None,
                host: HostReport::default(),
            };
        };
        let roles =
            roles.into_iter().map(|(panicked, thread)| thread.join().unwrap_or(panicked)).collect();
        let host = sampler.and_then(|thread| thread.join().ok()).unwrap_or_default();
        AgentReport { ended: ended.into(), roles, collected_ns: Some(time.now_ns()), host }
    }
}

const AFTER_ROLES: &str = "once, after roles are prepared";

/// Whether roles may begin at `begin_ns`, and their receivers are there.
fn check_permits(roles: &[OpenedRole], begin_ns: u64, now_ns: u64) -> Result<(), Refusal> {
    for RolePlan { flow, permitted, .. } in roles.iter().map(|role| &role.plan) {
        let Some(PermittedSender { permit, leases: receivers, .. }) = permitted else {
            continue;
        };
        let before_ns = permit.begin_before_ns;
        require(
            begin_ns < before_ns,
            ConsentRule::ConsentExpired,
            format_args!("a beginning of flow {flow:?} at {begin_ns} ns"),
            format_args!("before {before_ns} ns"),
        )?;
        require(
            receivers.iter().all(|lease| lease.holds_at(now_ns)),
            ConsentRule::ConsentRenewal,
            format_args!("flow {flow:?} without its receivers' renewals"),
            "a run whose receivers have renewed their grants just now",
        )?;
    }
    Ok(())
}

impl RunningRoles {
    /// Begin the roles and the sampler, each in a thread of its own.
    fn spawn(
        &mut self,
        roles: Vec<(RoleReport, impl FnOnce() -> RoleReport + Send + 'static)>,
        schedule: ExperimentSchedule<impl Timeline + Send + 'static>,
    ) -> Result<(), Refusal> {
        let refused =
            |error| Refusal::new(ConsentRule::Roles, error, "as many threads as the system allows");
        for (panicked, body) in roles {
            let thread = Builder::new().name("role".into()).spawn(body).map_err(refused)?;
            self.roles.push((panicked, thread));
        }
        let sampler = Builder::new().name("role".into()).spawn(move || sampler::samples(&schedule));
        self.sampler = Some(sampler.map_err(refused)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::made_time::MadeTime;
    use super::*;
    use crate::consent::{Cast, FlowTransport, IpNetwork, LEASE_NS, PortKind};
    use crate::interfaces::attachment_of;

    const OWN: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn experiment() -> Experiment {
        Experiment::new(7, 1, SkewedClock { epoch_ns: 0, offset_ns: 0, drift_ns_per_s: 0 })
    }

    /// A port for a flow of UDP on the loopback interface.
    fn port(experiment: &Experiment, flow: &str) -> PortOpening {
        let grant = Grant {
            experiment: 7,
            session: 1,
            number: 1,
            sender: OWN,
            address: OWN,
            network: IpNetwork::of(OWN, 8),
            interface: "lo".into(),
            mac: None,
            kind: PortKind::Udp,
            cast: Cast::Unicast,
            priority: None,
            port: 0,
            rate_bps: 1_000_000,
            rate_frames_per_s: 1000,
            longest_frame_octets: 64,
            duration_ns: 1_000_000_000,
            until_unix_s: 0,
        };
        let endpoint = LocalEndpoint {
            transport: FlowTransport::default(),
            local: OWN,
            attachment: attachment_of(OWN),
            interface: None,
            mtu: None,
        };
        experiment.port_for(flow, endpoint, grant, 0, 0).expect("a port")
    }

    #[test]
    fn the_lease_begins_when_the_first_port_is_open() {
        let mut experiment = experiment();
        let mark = experiment.begin_granting().expect("the first");
        let opening = port(&experiment, "f");
        let late_ns = 10 * LEASE_NS;
        experiment.look_at_leases(late_ns);
        assert!(experiment.is_opening() && !experiment.is_stopped());
        let grant =
            experiment.add_port(opening.open(&MadeTime::default()).expect("a free port"), late_ns);
        drop(mark);
        assert!(grant.port > 0 && !experiment.is_opening());
        experiment.look_at_leases(late_ns + LEASE_NS - 1);
        assert!(!experiment.is_stopped());
        // A further opening does not keep a lease from lapsing.
        let mark = experiment.begin_granting().expect("the second");
        experiment.look_at_leases(late_ns + LEASE_NS);
        assert!(experiment.is_stopped() && experiment.lease().has_lapsed());
        drop(mark);
    }

    #[test]
    fn the_lease_begins_when_the_first_opening_has_failed() {
        let mut experiment = experiment();
        let mark = experiment.begin_granting().expect("the first");
        experiment.lease().renew(0);
        experiment.look_at_leases(10 * LEASE_NS);
        drop(mark);
        experiment.look_at_leases(20 * LEASE_NS);
        experiment.look_at_leases(21 * LEASE_NS - 1);
        assert!(!experiment.is_stopped());
        experiment.look_at_leases(21 * LEASE_NS);
        assert!(experiment.is_stopped());
    }

    #[test]
    fn an_experiment_opens_ports_for_one_request_at_a_time() {
        let mut experiment = experiment();
        let order = |refusal: Refusal| assert_eq!(refusal.rule, ConsentRule::Order, "{refusal}");
        let mark = experiment.begin_granting().expect("the first");
        order(experiment.begin_granting().expect_err("a second grant"));
        order(experiment.begin_preparing().expect_err("roles"));
        order(experiment.begin_starting(0, 0).expect_err("a start"));
        drop(mark);
        let (mark, granted) = experiment.begin_preparing().expect("the port is open");
        assert!(granted.is_empty());
        order(experiment.begin_granting().expect_err("a grant while roles are prepared"));
        drop(mark);
        let mark = experiment.begin_granting().expect("roles were not prepared");
        let opened = port(&experiment, "f").open(&MadeTime::default()).expect("a free port");
        experiment.add_port(opened, 0);
        drop(mark);
        let (mark, granted) = experiment.begin_preparing().expect("a role");
        assert_eq!(granted.get("f").map(|flow| flow.address), Some(OWN));
        let phases = ExperimentPhases {
            settle_ns: 0,
            transmit_ns: 1,
            measure_from_ns: 0,
            measure_to_ns: 1,
            drain_ns: 0,
            batches: 1,
        };
        experiment.prepare(Vec::new(), phases, 0);
        drop(mark);
        order(experiment.begin_granting().expect_err("a grant after roles"));
        let (mark, paths) = experiment.begin_starting(0, 0).expect("prepared");
        assert!(paths.is_empty());
        order(experiment.begin_starting(0, 0).expect_err("a second start"));
        drop(mark);
    }
}
