//! An experiment on one host: its ports, its roles, its results.
//!
//! ```text
//! granting ── prepare ──► prepared ── start ──► running ── all roles have ended ──► ended
//!     each of them ── stop, or the lease lapses ──► ended
//! ```
//!
//! A role that sends ends, too, when one of its receivers no longer renews its grant, or the way
//! to it is another one.

mod bulk;
pub mod clocks;
mod connection;
mod endpoint;
mod file;
mod responses;
mod role;
mod sampler;
mod schedule;
mod series;
mod transfer;

pub use endpoint::LocalEndpoint;
use endpoint::OpenedEndpoint;
pub use file::read_file;
pub use responses::{longest_frame_octets, read_responses};
pub use role::{PermittedSender, RolePlan, RoleTask, read_source};
pub use schedule::ExperimentPhases;
pub use transfer::LONGEST_BLOCK_OCTETS;

use self::schedule::ExperimentSchedule;
use crate::consent::{
    ChallengeAnswer, FlowAttachment, Grant, IssuedGrants, LeaseRenewal, ReceiverLeases,
    RenewalChallenge,
};
use crate::interfaces::{PacketPath, is_there};
use crate::lease::{Lease, ReceiverLease, RoleLease};
use crate::policer::SendProgress;
use crate::refusal::{ConsentRule, Refusal, require};
use crate::report::{AgentReport, HostReport, RoleReport};
use ethermeter_live::{SkewedClock, Timeline};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{Builder, JoinHandle};

/// A port that was opened for a sender.
pub struct OpenReceiver {
    opened: OpenedEndpoint,
    endpoint: LocalEndpoint,
    /// One of each sender.
    grants: Vec<Grant>,
    /// Kept for as long as the port is open.
    open: Arc<()>,
}

enum ExperimentState {
    Granting,
    Prepared(Vec<RolePlan>, ExperimentPhases),
    Running(RunningRoles),
}

/// Roles at work, and the sampler of the host.
struct RunningRoles {
    /// Each with its report if it panics.
    roles: Vec<(RoleReport, JoinHandle<RoleReport>)>,
    sampler: Option<JoinHandle<HostReport>>,
    leases: Vec<Arc<RoleLease>>,
    /// Of each role that sends.
    paths: Vec<(Arc<RoleLease>, PacketPath)>,
    /// The ends of the transmission and of the drain.
    transmitted_ns: u64,
    until_ns: u64,
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
}

impl Experiment {
    /// One with nothing in it yet; its lease begins at `now_ns`, and receivers of its roles know it
    /// by `run`, which is unguessable. Frames show the time of `own_clock`.
    #[must_use]
    pub fn new(number: u64, run: u64, own_clock: SkewedClock, now_ns: u64) -> Self {
        Self {
            number,
            own_clock,
            lease: Arc::new(Lease::new(now_ns)),
            progress: Arc::default(),
            receivers: BTreeMap::new(),
            issued: IssuedGrants::default(),
            receiver_leases: ReceiverLeases::new(run),
            state: ExperimentState::Granting,
        }
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

    /// End what has lost a lease.
    pub fn look_at_leases(&self, now_ns: u64) {
        let _ = self.lease.is_silent_at(now_ns);
        if let ExperimentState::Running(running) = &self.state {
            for lease in &running.leases {
                let _ = lease.is_silent_at(now_ns);
            }
        }
    }

    /// End roles whose frames would go another way than they were granted.
    pub fn check_paths(&self) {
        if let ExperimentState::Running(running) = &self.state {
            let working = running.paths.iter().filter(|(lease, _)| !lease.is_stopped());
            for (lease, _) in working.filter(|(_, path)| path.fault().is_some()) {
                lease.stray();
            }
        }
    }

    /// As a receiver: answer the challenges of senders.
    pub fn answers(
        &mut self,
        challenges: &[RenewalChallenge],
        now_ns: u64,
    ) -> Vec<ChallengeAnswer> {
        if challenges.is_empty() || self.lease.is_silent_at(now_ns) {
            return Vec::new();
        }
        self.issued.look(is_there);
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

    /// Open a port for what `grant` allows, with room for frames of `room_frame_octets`, too, and
    /// write its number there. Further senders of the flow share it.
    ///
    /// # Errors
    /// If the flow has one already that is not for this, this host has not the address, or the
    /// system refuses.
    pub fn open(
        &mut self,
        flow: &str,
        endpoint: &LocalEndpoint,
        grant: &mut Grant,
        room_frame_octets: u32,
        now_ns: u64,
    ) -> Result<(), Refusal> {
        if !matches!(self.state, ExperimentState::Granting) {
            return Err(Refusal::new(ConsentRule::Order, "a grant", "before roles are prepared"));
        }
        let attachment = endpoint.attachment.clone().ok_or_else(endpoint::no_interface)?;
        if let Some(receiver) = self.receivers.get_mut(flow) {
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
            receiver.grants.push(grant.clone());
            self.issued.add(grant.number, &receiver.open, attachment, now_ns);
            return Ok(());
        }
        let opened = endpoint.to_receive(grant, room_frame_octets)?;
        check_is_there(&attachment)?;
        let receiver = OpenReceiver {
            opened,
            endpoint: endpoint.clone(),
            grants: vec![grant.clone()],
            open: Arc::default(),
        };
        self.issued.add(grant.number, &receiver.open, attachment, now_ns);
        self.receivers.insert(flow.to_owned(), receiver);
        Ok(())
    }

    /// What was granted for a flow here.
    #[must_use]
    pub fn granted(&self, flow: &str) -> Option<&Grant> {
        self.receivers.get(flow).and_then(|receiver| receiver.grants.first())
    }

    /// Take up roles.
    ///
    /// # Errors
    /// If there are some already.
    pub fn prepare(
        &mut self,
        roles: Vec<RolePlan>,
        phases: ExperimentPhases,
    ) -> Result<(), Refusal> {
        if !matches!(self.state, ExperimentState::Granting) {
            return Err(Refusal::new(ConsentRule::Order, "roles", "once, after grants"));
        }
        self.state = ExperimentState::Prepared(roles, phases);
        Ok(())
    }

    /// Begin at `begin_ns`, by `time`, which is that of the roles.
    ///
    /// # Errors
    /// If nothing is prepared, a grant has expired or is not renewed by its receiver, the way to a
    /// receiver is another one, or the system refuses a port or a thread.
    pub fn start(
        &mut self,
        begin_ns: u64,
        time: impl Timeline + Copy + Send + 'static,
    ) -> Result<(), Refusal> {
        let now_ns = time.now_ns();
        let ExperimentState::Prepared(roles, phases) = &mut self.state else {
            return Err(Refusal::new(
                ConsentRule::Order,
                "a start",
                "once, after roles are prepared",
            ));
        };
        for RolePlan { flow, permitted, .. } in roles.iter() {
            let Some(PermittedSender { permit, leases: receivers, path }) = permitted else {
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
            check_path(path)?;
        }
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
                    .filter(|plan| matches!(plan.task, RoleTask::Clock))
                    .map(|plan| (plan.flow.clone(), Arc::default()))
                    .collect(),
            ),
        };
        let sampling = schedule.clone();
        let mut leases = vec![Arc::clone(&sampling.lease)];
        let (mut bodies, mut paths) = (Vec::new(), Vec::new());
        for plan in roles {
            let permitted = plan.permitted.as_ref();
            let receivers = permitted.map_or(Vec::new(), |permitted| permitted.leases.clone());
            let path = permitted.map(|permitted| permitted.path.clone());
            let schedule = ExperimentSchedule { lease: role_lease(receivers), ..schedule.clone() };
            leases.push(Arc::clone(&schedule.lease));
            let receiver =
                if plan.task.receives() { self.receivers.remove(&plan.flow) } else { None };
            let opening = match receiver {
                Some(OpenReceiver { opened, endpoint, grants, open }) => plan
                    .fit(opened, &endpoint, grants.first().map(|grant| grant.sender))
                    .map(|opened| (opened, Some(open))),
                None => plan.open().map(|opened| (opened, None)),
            };
            let opening = opening.and_then(|opening| {
                let Some(path) = &path else { return Ok(opening) };
                opening.0.keep_to(&path.interface().map_err(|error| lost(&error))?)?;
                // What has changed while the port was opened is seen now, what changes later by
                // those who watch paths.
                check_path(path)?;
                Ok(opening)
            });
            // The permits are gone: there is no second attempt.
            let (opened, open) = opening.inspect_err(|_| self.lease.stop())?;
            paths.extend(path.map(|path| (Arc::clone(&schedule.lease), path)));
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

fn lost(fault: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(ConsentRule::Route, fault, "the way that was there when the grant was given")
}

fn check_path(path: &PacketPath) -> Result<(), Refusal> {
    path.fault().map_or(Ok(()), |fault| Err(lost(&fault)))
}

fn check_is_there(attachment: &FlowAttachment) -> Result<(), Refusal> {
    let FlowAttachment { address, interface, .. } = attachment;
    let value = format_args!("{}, which has not {address} any more", interface.name);
    require(
        is_there(attachment),
        ConsentRule::Interface,
        value,
        "the interface that has the own address",
    )
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
