//! The calls of the protocol; the rule book admits each first.
//!
//! Renewals of leases need the lock of the agent's state, and must not wait for the system. So that
//! lock is held for decisions only, by threads that run before roles. Whatever may wait (opening and
//! closing of ports, interfaces, routes) is done without it, on threads of its own.

use crate::activity::ActivityCounters;
use crate::attest::{self, Notary, random};
use crate::calls::{Agent, StampedRequest, other_protocol};
use crate::protocol::{
    CollectRequest, HelloReply, HelloRequest, LeaseReply, LeaseRequest, PROTOCOL, PrepareRequest,
    ProgressReport, ProgressRequest, Role, SignedGrant, SignedRenewal, Stamped, StartRequest,
    StopRequest,
};
use crate::result::ArtificialClock;
use crate::role_plans::{RoleContext, RoleReader, UnpermittedRole, endpoint};
use crate::time::{RealTime, sleep, unix_time};
use ethermeter_net::pacing::PriorityGuard;
use ethermeter_net::plca::{PlcaFacts, plca};
use ethermeter_net::route::RouteChanges;
use ethermeter_net::{SkewedClock, Timeline};
use ethermeter_station::AgentReport;
use ethermeter_station::consent::{
    Ceilings, ClockReading, Grant, GrantRequest, LeaseRenewal, MOST_CHALLENGES, RenewalChallenge,
    RequestStamp, RuleBook,
};
use ethermeter_station::experiment::{
    Experiment, GrantedFlow, OpenedRole, OpeningMark, WatchedPath, check_path,
};
use ethermeter_station::interfaces::{PacketPath, interfaces, is_there};
use ethermeter_station::refusal::{ConsentRule, Refusal};
use ethermeter_trial::roles::ExperimentPhases;
use ring::digest::{SHA256, digest};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Status};

/// How long what was counted by an experiment without a coordinator is kept.
const KEPT_NS: u64 = 30_000_000_000;
/// How long after the last lease of its senders an experiment that never began can be collected.
const COLLECTED_WITHIN_NS: u64 = 1_000_000_000;
/// How often the watch looks at leases.
const WATCH_NS: u64 = 50_000_000;
/// A start may be so far ahead.
const START_AHEAD_NS: u64 = 10_000_000_000;
/// Period of progress reports.
const PROGRESS: Duration = Duration::from_millis(250);
/// How often a collection looks whether a port is still being opened.
const OPENING: Duration = Duration::from_millis(10);
/// Longest name of a flow.
const LONGEST_NAME: usize = 64;

struct ServiceState {
    rules: RuleBook,
    experiments: BTreeMap<u64, Experiment>,
    lapsed_ns: BTreeMap<u64, u64>,
}

impl ServiceState {
    /// Forget an experiment; the caller joins its threads outside of the lock.
    fn take(&mut self, number: u64, now_ns: u64) -> Option<Experiment> {
        self.rules.end(number, now_ns);
        self.lapsed_ns.remove(&number);
        self.experiments.remove(&number)
    }

    /// Stop what has lost its lease; forget what lost it long ago, or, if room is needed for
    /// another, as soon as its roles have ended. The caller closes what is forgotten outside of the
    /// lock.
    #[must_use]
    fn sweep(&mut self, now_ns: u64, needs_room: bool) -> Vec<Experiment> {
        let mut gone = Vec::new();
        for (&number, experiment) in &self.experiments {
            experiment.look_at_leases(now_ns);
            if experiment.lease().is_overdue_at(now_ns) {
                let since_ns = *self.lapsed_ns.entry(number).or_insert(now_ns);
                let is_old = needs_room || now_ns.saturating_sub(since_ns) > KEPT_NS;
                // A sender may go on until its last lease ends, and its rate is kept for it so
                // long. `collect` waits for that end, and finds one that has not begun a little
                // later.
                let late_ns = if experiment.has_begun() { 0 } else { COLLECTED_WITHIN_NS };
                let kept_until_ns = experiment.renewed_until_ns().saturating_add(late_ns);
                // What is being opened belongs to it, so that there is room for no other.
                let is_over = experiment.running() == 0
                    && !experiment.is_opening()
                    && now_ns >= kept_until_ns;
                if is_over && (is_old || !experiment.has_begun()) {
                    gone.push(number);
                }
            }
        }
        gone.into_iter().filter_map(|number| self.take(number, now_ns)).collect()
    }

    /// The experiment for which ports were opened, with the rules.
    fn after_opening(&mut self, number: u64) -> Result<(&mut RuleBook, &mut Experiment), Status> {
        let Self { rules, experiments, .. } = self;
        let experiment = experiments.get_mut(&number).filter(|experiment| !experiment.is_stopped());
        let experiment = experiment.ok_or_else(|| {
            status(&Refusal::new(
                ConsentRule::Ended,
                format_args!("experiment {number:016x}, which has ended meanwhile"),
                "an experiment that goes on while its ports are opened",
            ))
        })?;
        Ok((rules, experiment))
    }
}

/// Close the ports of experiments, on a thread of its own: that may wait for the system.
fn close(experiments: Vec<Experiment>) {
    if !experiments.is_empty() {
        // Without a thread they are closed here.
        let closing = move || drop(experiments);
        let _ = std::thread::Builder::new().name("close".into()).spawn(closing);
    }
}

/// Do what may wait for the system, on a thread of its own at ordinary priority.
async fn apart<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Status> {
    let acting = tokio::task::spawn_blocking(act).await;
    acting.map_err(|error| Status::internal(error.to_string()))?.map_err(|refusal| status(&refusal))
}

/// Answer a call, whether or not the caller waits for the answer: what it opens is entered, or
/// closed.
async fn to_the_end<T: Send + 'static>(
    call: impl Future<Output = Result<T, Status>> + Send + 'static,
) -> Result<T, Status> {
    tokio::spawn(call).await.map_err(|error| Status::internal(error.to_string()))?
}

/// An agent.
#[derive(Clone)]
pub struct AgentService {
    books: Arc<Mutex<ServiceState>>,
    notary: Option<Arc<Notary>>,
    session: u64,
    own_clock: SkewedClock,
    time: RealTime,
}

impl AgentService {
    /// One under an operator's ceilings; without a notary it is one without TLS, and keeps to
    /// loopback addresses. Its frames show the time of `own_clock`.
    pub fn new(
        ceilings: Ceilings,
        notary: Option<Notary>,
        own_clock: SkewedClock,
        time: RealTime,
    ) -> Self {
        let session = random();
        let rules = RuleBook::new(ceilings, session, notary.is_none());
        let books =
            ServiceState { rules, experiments: BTreeMap::new(), lapsed_ns: BTreeMap::new() };
        Self {
            books: Arc::new(Mutex::new(books)),
            notary: notary.map(Arc::new),
            session,
            own_clock,
            time,
        }
    }

    fn books(&self) -> MutexGuard<'_, ServiceState> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Look at leases for ever; on a thread of its own, so that no call can hold it up.
    pub fn watch(&self) -> ! {
        let _priority = PriorityGuard::above_roles_where_allowed();
        loop {
            let now_ns = self.time.now_ns();
            let ended = self.books().sweep(now_ns, false);
            close(ended);
            self.time.sleep_until(now_ns + WATCH_NS);
        }
    }

    /// Look at the ways of frames whenever interfaces, addresses, routes or neighbours change, and
    /// now and then, for ever; on a thread of its own.
    pub fn watch_paths(&self) -> ! {
        // A thread that takes the lock runs before roles: renewals of leases wait for it.
        let _priority = PriorityGuard::above_roles_where_allowed();
        let mut changes = RouteChanges::new().ok();
        loop {
            match &mut changes {
                Some(changes) => changes.wait(),
                None => self.time.sleep_until(self.time.now_ns() + WATCH_NS),
            }
            let paths: Vec<WatchedPath> =
                self.books().experiments.values().flat_map(Experiment::paths).collect();
            paths.iter().for_each(WatchedPath::check);
        }
    }

    /// Stop all experiments and wait until their roles have ended.
    pub fn shut_down(&self) {
        let experiments: Vec<Experiment> = {
            let mut books = self.books();
            let numbers: Vec<u64> = books.experiments.keys().copied().collect();
            numbers
                .into_iter()
                .filter_map(|number| books.take(number, self.time.now_ns()))
                .collect()
        };
        for experiment in &experiments {
            experiment.stop();
        }
        for experiment in experiments {
            drop(experiment.collect(&self.time));
        }
    }

    /// Admit a request, then do what it asks with its experiment.
    fn with<T>(
        &self,
        caller: &str,
        stamp: &RequestStamp,
        act: impl FnOnce(&mut Experiment, u64) -> Result<T, Refusal>,
    ) -> Result<T, Status> {
        let now_ns = self.time.now_ns();
        let books = &mut *self.books();
        books.rules.admit(stamp, caller, now_ns).map_err(|refusal| status(&refusal))?;
        let experiment = books.experiments.get_mut(&stamp.experiment).ok_or_else(not_there)?;
        act(experiment, now_ns).map_err(|refusal| status(&refusal))
    }

    /// Admit a request that may begin an experiment, then begin with what it asks.
    fn with_beginning<T>(
        &self,
        caller: &str,
        stamp: &RequestStamp,
        begin: impl FnOnce(&mut Experiment) -> Result<T, Refusal>,
    ) -> Result<T, Status> {
        let now_ns = self.time.now_ns();
        let books = &mut *self.books();
        close(books.sweep(now_ns, !books.experiments.contains_key(&stamp.experiment)));
        books.rules.admit_beginning(stamp, caller, now_ns).map_err(|refusal| status(&refusal))?;
        let experiment = books
            .experiments
            .entry(stamp.experiment)
            .or_insert_with(|| Experiment::new(stamp.experiment, random(), self.own_clock));
        begin(experiment).map_err(|refusal| status(&refusal))
    }

    /// Renew the lease of an experiment, and take the renewals of its receivers; returns until when.
    fn renew(
        &self,
        experiment: &mut Experiment,
        renewals: &[SignedRenewal],
        now_ns: u64,
    ) -> Result<u64, Refusal> {
        let until_ns = experiment.lease().renew(now_ns);
        for signed in renewals {
            let certificate_of = |session| experiment.certificate_of(session);
            if attest::prove_renewal(signed, self.notary.as_deref(), certificate_of)? {
                experiment.renew(&signed.renewal);
            }
        }
        Ok(until_ns)
    }

    /// Open the port that a grant of an experiment is requested for, and enter it; returns the grant.
    /// `mark` keeps the experiment for it.
    async fn open_port(
        self,
        number: u64,
        request: GrantRequest,
        mark: OpeningMark,
    ) -> Result<Grant, Status> {
        let at = move || {
            let GrantRequest { transport, address, interface, .. } = &request;
            Ok((endpoint(*transport, *address, interface.clone()), request))
        };
        let (endpoint, request) = apart(at).await?;
        let opening = {
            let mut books = self.books();
            let (rules, experiment) = books.after_opening(number)?;
            let attachment = endpoint.attachment.as_ref();
            let grant = rules.grant(number, &request, attachment, unix_time().as_secs());
            grant.and_then(|grant| {
                let (room_octets, now_ns) = (request.room_frame_octets, self.time.now_ns());
                experiment.port_for(&request.flow, endpoint, grant, room_octets, now_ns)
            })
        };
        let opening = opening.map_err(|refusal| status(&refusal))?;
        let time = self.time;
        let port = apart(move || opening.open(&time)).await?;
        let mut books = self.books();
        let (_, experiment) = books.after_opening(number)?;
        let grant = experiment.add_port(port, self.time.now_ns());
        drop(mark);
        Ok(grant)
    }

    /// Read roles, have them permitted, and open their ports. `mark` keeps the experiment for it.
    async fn open_roles(
        self,
        number: u64,
        phases: ExperimentPhases,
        requested: Vec<Role>,
        granted: BTreeMap<String, GrantedFlow>,
        mark: OpeningMark,
    ) -> Result<(), Status> {
        let notary = self.notary.clone();
        let read = move || {
            if let Some(fault) = phases.fault() {
                return Err(Refusal::new(ConsentRule::Description, fault, "phases that fit"));
            }
            let reader = RoleReader { notary: notary.as_deref() };
            let context = RoleContext { granted: &granted, phases: &phases };
            let read = |role: Role| reader.read(&context, role);
            requested.into_iter().map(read).collect::<Result<Vec<_>, _>>()
        };
        let unpermitted = apart(read).await?;
        let openings = {
            let mut books = self.books();
            let (rules, experiment) = books.after_opening(number)?;
            let moment = ClockReading { now_ns: self.time.now_ns(), unix_s: unix_time().as_secs() };
            let permit = |role: UnpermittedRole| role.permit(rules, experiment, moment);
            let plans = unpermitted.into_iter().map(permit).collect::<Result<Vec<_>, _>>();
            experiment.ports_of(plans.map_err(|refusal| status(&refusal))?)
        };
        let time = self.time;
        let opened = move || openings.into_iter().map(|opening| opening.open(&time)).collect();
        let opened: Result<Vec<OpenedRole>, Status> = apart(opened).await;
        let mut books = self.books();
        let (_, experiment) = books.after_opening(number)?;
        match opened {
            Ok(roles) => experiment.prepare(roles, phases, self.time.now_ns()),
            Err(refusal) => {
                // The permits are gone: there is no second attempt.
                experiment.stop();
                return Err(refusal);
            }
        }
        drop(mark);
        Ok(())
    }

    /// Start roles whose frames go the permitted ways. `mark` keeps the experiment for it.
    async fn start_roles(
        self,
        number: u64,
        begin_ns: u64,
        paths: Vec<PacketPath>,
        mark: OpeningMark,
    ) -> Result<(), Status> {
        apart(move || paths.iter().try_for_each(check_path)).await?;
        let watched = {
            let mut books = self.books();
            let (_, experiment) = books.after_opening(number)?;
            let started = experiment.start(begin_ns, self.time);
            started.map_err(|refusal| status(&refusal))?;
            drop(mark);
            experiment.paths()
        };
        // What has changed before the roles were there to be watched.
        apart(move || {
            watched.iter().for_each(WatchedPath::check);
            Ok(())
        })
        .await
    }
}

fn not_there() -> Status {
    Status::internal("an experiment that is known and not there")
}

fn status(refusal: &Refusal) -> Status {
    Status::permission_denied(refusal.to_string())
}

/// Who calls, the stamp, and what is requested.
fn opened<T>(request: StampedRequest<T>) -> (String, RequestStamp, T) {
    let caller = caller(&request);
    let Stamped { stamp, request } = request.into_inner();
    (caller, stamp, request)
}

/// Identity of the caller: the SHA-256 of its certificate. Without TLS all are alike.
fn caller<T>(request: &Request<T>) -> String {
    let certificates = request.peer_certs();
    match certificates.as_deref().and_then(|chain| chain.first()) {
        Some(certificate) => identity(certificate),
        None => "loopback".to_owned(),
    }
}

/// Identity of the holder of a certificate in DER.
fn identity(certificate: &[u8]) -> String {
    let hash = digest(&SHA256, certificate);
    hash.as_ref().iter().fold("certificate ".to_owned(), |text, octet| format!("{text}{octet:02x}"))
}

/// The boot of this host, which all its containers share; "unknown" if the kernel does not tell.
pub fn boot() -> String {
    read_line("/proc/sys/kernel/random/boot_id")
}

fn read_line(path: &str) -> String {
    std::fs::read_to_string(path).map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
}

/// PLCA of the interfaces that have it, by name.
fn plcas() -> BTreeMap<String, PlcaFacts> {
    let facts = |name: String| Some((name.clone(), plca(&name).ok().flatten()?));
    interfaces().into_iter().filter_map(|interface| facts(interface.name)).collect()
}

#[tonic::async_trait]
impl Agent for AgentService {
    async fn hello(&self, request: HelloRequest) -> Result<HelloReply, Status> {
        if request.protocol != PROTOCOL {
            return Err(other_protocol(request.protocol));
        }
        let plca = if request.reads_plca {
            let reading = tokio::task::spawn_blocking(plcas).await;
            reading.map_err(|error| Status::internal(error.to_string()))?
        } else {
            BTreeMap::new()
        };
        let activity = request.reads_activity.then(|| {
            let now_ns = self.time.now_ns();
            let is_under_way = |test: &&Experiment| {
                test.running() > 0 || !test.is_stopped() && !test.lease().is_overdue_at(now_ns)
            };
            let tests = self.books().experiments.values().filter(is_under_way).count();
            ActivityCounters::now(now_ns, tests as u64).ok()
        });
        let addresses = interfaces().into_iter().map(|interface| {
            let addresses = interface.addresses().collect();
            (interface.name, addresses)
        });
        let (offset_ns, drift_ppb) = (self.own_clock.offset_ns, self.own_clock.drift_ns_per_s);
        Ok(HelloReply {
            version: env!("CARGO_PKG_VERSION").into(),
            host: read_line("/proc/sys/kernel/hostname"),
            kernel: read_line("/proc/sys/kernel/osrelease"),
            boot: boot(),
            session: self.session,
            interfaces: addresses.collect(),
            plca,
            ceilings: self.books().rules.ceilings().clone(),
            artificial_clock: (offset_ns != 0 || drift_ppb != 0)
                .then_some(ArtificialClock { offset_ns, drift_ppb }),
            activity: activity.flatten(),
            now_ns: self.time.now_ns(),
        })
    }

    async fn grant(&self, request: StampedRequest<GrantRequest>) -> Result<SignedGrant, Status> {
        let (caller, stamp, request) = opened(request);
        let refused = |refusal: Refusal| status(&refusal);
        if request.flow.len() > LONGEST_NAME {
            let length = format!("a name of {} octets", request.flow.len());
            let allowed = format!("{LONGEST_NAME} octets");
            return Err(refused(Refusal::new(ConsentRule::Description, length, allowed)));
        }
        request.transport.check().map_err(refused)?;
        let mark = self.with_beginning(&caller, &stamp, Experiment::begin_granting)?;
        let opening = self.clone().open_port(stamp.experiment, request, mark);
        let mut grant = to_the_end(opening).await?;
        grant.until_unix_s =
            grant.until_unix_s.min(unix_time().as_secs() + ethermeter_station::consent::GRANT_S);
        match &self.notary {
            Some(notary) => notary.sign(grant).map_err(Status::internal),
            None => Ok(SignedGrant { grant, signature: Vec::new(), certificate: Vec::new() }),
        }
    }

    async fn prepare(&self, request: StampedRequest<PrepareRequest>) -> Result<(), Status> {
        let (caller, stamp, PrepareRequest { phases, roles }) = opened(request);
        // A station that only sends has not been asked for a grant: its experiment begins here.
        let begun = self.with_beginning(&caller, &stamp, Experiment::begin_preparing);
        let (mark, granted) = begun?;
        let (number, service) = (stamp.experiment, self.clone());
        to_the_end(service.open_roles(number, phases, roles, granted, mark)).await
    }

    async fn start(&self, request: StampedRequest<StartRequest>) -> Result<(), Status> {
        let (caller, stamp, StartRequest { begin_ns }) = opened(request);
        let (mark, paths) = self.with(&caller, &stamp, |experiment, now_ns| {
            let latest_ns = now_ns.saturating_add(START_AHEAD_NS);
            if !(now_ns..=latest_ns).contains(&begin_ns) {
                let allowed = format!("{now_ns} to {latest_ns} ns");
                return Err(Refusal::new(
                    ConsentRule::Clock,
                    format!("a beginning at {begin_ns} ns"),
                    allowed,
                ));
            }
            experiment.begin_starting(begin_ns, now_ns)
        })?;
        let service = self.clone();
        to_the_end(service.start_roles(stamp.experiment, begin_ns, paths, mark)).await
    }

    async fn progress(
        &self,
        request: StampedRequest<ProgressRequest>,
    ) -> Result<ReceiverStream<Result<ProgressReport, Status>>, Status> {
        let (caller, stamp, ProgressRequest {}) = opened(request);
        self.with(&caller, &stamp, |_, _| Ok(()))?;
        let (report_sender, reports) = mpsc::channel(1);
        let service = self.clone();
        tokio::spawn(async move {
            loop {
                let report = service.books().experiments.get(&stamp.experiment).map(report);
                let Some(report) = report else { break };
                let has_ended = report.ended.is_some();
                if report_sender.send(Ok(report)).await.is_err() || has_ended {
                    break;
                }
                sleep(PROGRESS).await;
            }
        });
        Ok(ReceiverStream::new(reports))
    }

    async fn lease(&self, request: StampedRequest<LeaseRequest>) -> Result<LeaseReply, Status> {
        let (caller, stamp, LeaseRequest { mut challenges, renewals }) = opened(request);
        let most = MOST_CHALLENGES;
        let is_short = |count: usize| count <= most;
        let are_short = challenges.iter().all(|challenge| is_short(challenge.grants.len()));
        if !is_short(challenges.len()) || !is_short(renewals.len()) || !are_short {
            let allowed = format!("{most} challenges, grants in each, and renewals");
            return Err(status(&Refusal::new(ConsentRule::Description, "a longer list", allowed)));
        }
        let session = self.session;
        challenges.retain(|challenge: &RenewalChallenge| challenge.session == session);
        let now_ns = self.time.now_ns();
        let (until_ns, attachments) = {
            let books = &mut *self.books();
            let refused = |refusal: Refusal| status(&refusal);
            books.rules.admit_lease(&stamp, &caller, now_ns).map_err(refused)?;
            let experiment = books.experiments.get_mut(&stamp.experiment).ok_or_else(not_there)?;
            let until_ns = self.renew(experiment, &renewals, now_ns).map_err(refused)?;
            let is_asked = !challenges.is_empty();
            (until_ns, if is_asked { experiment.attachments() } else { Vec::new() })
        };
        // What asks the system waits for it, so it is done without the lock.
        let gone: Vec<_> =
            attachments.into_iter().filter(|attachment| !is_there(attachment)).collect();
        let (mut reply, renewal) = {
            let now_ns = self.time.now_ns();
            let books = &mut *self.books();
            let experiment = books.experiments.get_mut(&stamp.experiment).ok_or_else(not_there)?;
            let reply = LeaseReply {
                until_ns,
                challenges: experiment.challenges(now_ns, random),
                is_renewed: experiment.is_renewed(now_ns),
                renewal: None,
            };
            let answers = experiment.answers(&challenges, &gone, now_ns);
            (reply, LeaseRenewal { session, answers })
        };
        if !renewal.answers.is_empty() {
            reply.renewal = Some(match &self.notary {
                Some(notary) => notary.sign_renewal(renewal).map_err(Status::internal)?,
                None => SignedRenewal { renewal, signature: Vec::new() },
            });
        }
        Ok(reply)
    }

    async fn stop(&self, request: StampedRequest<StopRequest>) -> Result<(), Status> {
        let (caller, stamp, StopRequest {}) = opened(request);
        self.with(&caller, &stamp, |experiment, _| {
            experiment.stop();
            Ok(())
        })
    }

    async fn collect(
        &self,
        request: StampedRequest<CollectRequest>,
    ) -> Result<AgentReport, Status> {
        let (caller, stamp, CollectRequest {}) = opened(request);
        let renewed_until_ns = self.with(&caller, &stamp, |experiment, _| {
            // Roles that have ended are not changed by this; those that have not, end.
            if experiment.running() > 0 || !experiment.has_begun() {
                experiment.stop();
            }
            Ok(experiment.renewed_until_ns())
        })?;
        // What is being opened belongs to the experiment, so that there is room for no other.
        while self.books().experiments.get(&stamp.experiment).is_some_and(Experiment::is_opening) {
            sleep(OPENING).await;
        }
        // A sender may go on until the last lease that it has been given ends. Until then its rate
        // is kept for it, so that what others are granted does not come on top.
        let left_ns = renewed_until_ns.saturating_sub(self.time.now_ns());
        sleep(Duration::from_nanos(left_ns)).await;
        let experiment = self.books().take(stamp.experiment, self.time.now_ns());
        let experiment = experiment.ok_or_else(not_there)?;
        let time = self.time;
        let report = tokio::task::spawn_blocking(move || experiment.collect(&time)).await;
        report.map_err(|error| Status::internal(error.to_string()))
    }
}

fn report(experiment: &Experiment) -> ProgressReport {
    let (sent_frames, received_frames) = experiment.progress();
    let running = experiment.running();
    let has_ended = running == 0 && (experiment.has_begun() || experiment.ending() != "complete");
    ProgressReport {
        running: u32::try_from(running).unwrap_or(u32::MAX),
        sent_frames,
        received_frames,
        ended: has_ended.then(|| experiment.ending().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_that_differ_anywhere_are_of_different_callers() {
        let certificate = vec![0x30; 400];
        let differing = |index: usize| {
            let mut other = certificate.clone();
            other[index] ^= 1;
            other
        };
        for index in [0, 15, 200, 383, 384, 399] {
            assert_ne!(identity(&differing(index)), identity(&certificate), "octet {index}");
        }
        assert_eq!(
            identity(b"abc"),
            "certificate ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
