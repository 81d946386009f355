//! The calls of the protocol; the rule book admits each first.

use crate::PROTOCOL;
use crate::attest::{self, AttestedGrant, Notary, random};
use crate::protocol as wire;
use crate::protocol::agent_server::Agent;
use crate::role_plans::{RoleBooks, RoleContext, RoleReader, address, endpoint};
use crate::time::{sleep, unix_time};
use ethermeter_live::plca::plca;
use ethermeter_live::route::RouteChanges;
use ethermeter_live::{HostTime, SkewedClock, Timeline};
use ethermeter_station::consent::{
    Ceilings, FlowTransport, LeaseRenewal, MOST_CHALLENGES, RenewalChallenge, RequestStamp,
    RuleBook, SendRequest,
};
use ethermeter_station::experiment::{Experiment, ExperimentPhases};
use ethermeter_station::interfaces::interfaces;
use ethermeter_station::refusal::{ConsentRule, Refusal};
use ring::digest::{SHA256, digest};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

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
    /// another, as soon as its roles have ended.
    fn sweep(&mut self, now_ns: u64, needs_room: bool) {
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
                let is_over = experiment.running() == 0 && now_ns >= kept_until_ns;
                if is_over && (is_old || !experiment.has_begun()) {
                    gone.push(number);
                }
            }
        }
        for number in gone {
            drop(self.take(number, now_ns));
        }
    }
}

/// An agent.
#[derive(Clone)]
pub struct AgentService {
    books: Arc<Mutex<ServiceState>>,
    notary: Option<Arc<Notary>>,
    session: u64,
    own_clock: SkewedClock,
}

impl AgentService {
    /// One under an operator's ceilings; without a notary it is one without TLS, and keeps to
    /// loopback addresses. Its frames show the time of `own_clock`.
    pub fn new(ceilings: Ceilings, notary: Option<Notary>, own_clock: SkewedClock) -> Self {
        let session = random();
        let rules = RuleBook::new(ceilings, session, notary.is_none());
        let books =
            ServiceState { rules, experiments: BTreeMap::new(), lapsed_ns: BTreeMap::new() };
        Self {
            books: Arc::new(Mutex::new(books)),
            notary: notary.map(Arc::new),
            session,
            own_clock,
        }
    }

    fn books(&self) -> MutexGuard<'_, ServiceState> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Look at leases for ever; on a thread of its own, so that no call can hold it up.
    pub fn watch(&self) -> ! {
        loop {
            let now_ns = HostTime.now_ns();
            self.books().sweep(now_ns, false);
            HostTime.sleep_until(now_ns + WATCH_NS);
        }
    }

    /// Look at the ways of frames whenever interfaces, addresses, routes or neighbours change, and
    /// now and then, for ever; on a thread of its own.
    pub fn watch_paths(&self) -> ! {
        let mut changes = RouteChanges::new().ok();
        loop {
            match &mut changes {
                Some(changes) => changes.wait(),
                None => HostTime.sleep_until(HostTime.now_ns() + WATCH_NS),
            }
            for experiment in self.books().experiments.values() {
                experiment.check_paths();
            }
        }
    }

    /// Stop all experiments and wait until their roles have ended.
    pub fn shut_down(&self) {
        let experiments: Vec<Experiment> = {
            let mut books = self.books();
            let numbers: Vec<u64> = books.experiments.keys().copied().collect();
            numbers.into_iter().filter_map(|number| books.take(number, HostTime.now_ns())).collect()
        };
        for experiment in &experiments {
            experiment.stop();
        }
        for experiment in experiments {
            drop(experiment.collect());
        }
    }

    /// Admit a request, then do what it asks with its experiment.
    fn with<T>(
        &self,
        caller: &str,
        stamp: &RequestStamp,
        act: impl FnOnce(&mut RuleBook, &mut Experiment, u64) -> Result<T, Refusal>,
    ) -> Result<T, Status> {
        let now_ns = HostTime.now_ns();
        let books = &mut *self.books();
        books.rules.admit(stamp, caller, now_ns).map_err(|refusal| status(&refusal))?;
        let Some(experiment) = books.experiments.get_mut(&stamp.experiment) else {
            return Err(Status::internal("an experiment that is known and not there"));
        };
        act(&mut books.rules, experiment, now_ns).map_err(|refusal| status(&refusal))
    }

    /// Do what a request for a lease asks of an experiment; the answers to challenges are still to
    /// be signed.
    fn renew(
        &self,
        experiment: &mut Experiment,
        challenges: &[RenewalChallenge],
        renewals: &[wire::SignedRenewal],
        now_ns: u64,
    ) -> Result<(wire::LeaseReply, LeaseRenewal), Refusal> {
        let until_ns = experiment.lease().renew(now_ns);
        for wire::SignedRenewal { renewal, signature } in renewals {
            let certificate_of = |session| experiment.certificate_of(session);
            if let Some(renewal) =
                attest::read_renewal(renewal, signature, self.notary.as_deref(), certificate_of)?
            {
                experiment.renew(&renewal);
            }
        }
        let answers = experiment.answers(challenges, now_ns);
        let reply = wire::LeaseReply {
            until_ns,
            challenges: experiment
                .challenges(now_ns, random)
                .into_iter()
                .map(wire_challenge)
                .collect(),
            is_renewed: experiment.is_renewed(now_ns),
            renewal: None,
        };
        Ok((reply, LeaseRenewal { session: self.session, answers }))
    }
}

fn wire_challenge(challenge: RenewalChallenge) -> wire::Challenge {
    let RenewalChallenge { session, run, nonce, grants } = challenge;
    wire::Challenge { session, run, nonce, grants }
}

fn status(refusal: &Refusal) -> Status {
    Status::permission_denied(refusal.to_string())
}

fn stamp(stamp: Option<wire::Stamp>) -> Result<RequestStamp, Status> {
    let wire::Stamp { session, experiment, counter, made_ns } =
        stamp.ok_or_else(|| Status::invalid_argument("the stamp is missing"))?;
    Ok(RequestStamp { session, experiment, counter, made_ns })
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

/// PLCA of the interfaces that have it, as JSON, by name.
fn plcas() -> BTreeMap<String, String> {
    let addresses = interfaces().into_iter().filter_map(|interface| {
        let facts = plca(&interface.name).ok().flatten()?;
        Some((interface.name, serde_json::to_string(&facts).ok()?))
    });
    addresses.collect()
}

#[tonic::async_trait]
impl Agent for AgentService {
    async fn hello(
        &self,
        request: Request<wire::HelloRequest>,
    ) -> Result<Response<wire::HelloReply>, Status> {
        let plcas = if request.get_ref().reads_plca {
            let reading = tokio::task::spawn_blocking(plcas).await;
            reading.map_err(|error| Status::internal(error.to_string()))?
        } else {
            BTreeMap::new()
        };
        let interfaces = interfaces().into_iter().map(|interface| wire::Interface {
            addresses: interface.addresses().map(|address| address.to_string()).collect(),
            plca_json: plcas.get(&interface.name).cloned().unwrap_or_default(),
            name: interface.name,
        });
        let ceilings = serde_json::to_string(self.books().rules.ceilings());
        Ok(Response::new(wire::HelloReply {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").into(),
            host: read_line("/proc/sys/kernel/hostname"),
            kernel: read_line("/proc/sys/kernel/osrelease"),
            boot: boot(),
            session: self.session,
            interfaces: interfaces.collect(),
            ceilings_json: ceilings.map_err(|error| Status::internal(error.to_string()))?,
            now_ns: HostTime.now_ns(),
            clock_offset_ns: self.own_clock.offset_ns,
            clock_drift_ppb: self.own_clock.drift_ns_per_s,
        }))
    }

    async fn grant(
        &self,
        request: Request<wire::GrantRequest>,
    ) -> Result<Response<wire::GrantReply>, Status> {
        let caller = caller(&request);
        let request = request.into_inner();
        let stamp = stamp(request.stamp)?;
        let refused = |refusal: Refusal| status(&refusal);
        let sender = address(&request.sender).map_err(refused)?;
        let own = address(&request.address).map_err(refused)?;
        let port = u16::try_from(request.port);
        let port =
            port.map_err(|_| status(&Refusal::new(ConsentRule::Port, request.port, "0 to 65535")))?;
        if request.flow.len() > LONGEST_NAME {
            let length = format!("a name of {} octets", request.flow.len());
            return Err(status(&Refusal::new(
                ConsentRule::Description,
                length,
                format!("{LONGEST_NAME} octets"),
            )));
        }
        let transport =
            FlowTransport::read(&request.kind, &request.cast, request.priority).map_err(refused)?;
        let endpoint = endpoint(transport, own, &request.interface);
        let send_request = SendRequest {
            transport,
            sender,
            target: endpoint.target(stamp.experiment, port).map_err(refused)?,
            rate_bps: request.rate_bps,
            rate_frames_per_s: request.rate_frames_per_s,
            longest_frame_octets: request.longest_frame_octets,
            duration_ns: request.duration_ns,
            attachment: endpoint.attachment.clone(),
            interface: endpoint.interface.clone(),
        };
        let now_ns = HostTime.now_ns();
        let mut grant = {
            let books = &mut *self.books();
            books.sweep(now_ns, !books.experiments.contains_key(&stamp.experiment));
            books.rules.admit_beginning(&stamp, &caller, now_ns).map_err(refused)?;
            let experiment = books.experiments.entry(stamp.experiment).or_insert_with(|| {
                Experiment::new(stamp.experiment, random(), self.own_clock, now_ns)
            });
            let grant =
                books.rules.grant(stamp.experiment, own, &send_request, unix_time().as_secs());
            let opened = grant.and_then(|mut grant| {
                experiment.open(
                    &request.flow,
                    &endpoint,
                    &mut grant,
                    request.room_frame_octets,
                    now_ns,
                )?;
                Ok(grant)
            });
            opened.map_err(refused)?
        };
        grant.until_unix_s =
            grant.until_unix_s.min(unix_time().as_secs() + ethermeter_station::consent::GRANT_S);
        let text =
            serde_json::to_vec(&grant).map_err(|error| Status::internal(error.to_string()))?;
        let signed = match &self.notary {
            Some(notary) => notary.sign(text).map_err(Status::internal)?,
            None => AttestedGrant { grant: text, ..AttestedGrant::default() },
        };
        let AttestedGrant { grant, signature, certificate } = signed;
        Ok(Response::new(wire::GrantReply { grant, signature, certificate }))
    }

    async fn prepare(
        &self,
        request: Request<wire::PrepareRequest>,
    ) -> Result<Response<wire::PrepareReply>, Status> {
        let caller = caller(&request);
        let request = request.into_inner();
        let stamp = stamp(request.stamp)?;
        let phases =
            request.phases.ok_or_else(|| Status::invalid_argument("the phases are missing"))?;
        let phases = ExperimentPhases::from(phases);
        let now_ns = HostTime.now_ns();
        {
            // A station that only sends has not been asked for a grant: its experiment begins here.
            let books = &mut *self.books();
            if !books.experiments.contains_key(&stamp.experiment) {
                books.sweep(now_ns, true);
                // The request itself is admitted below; this one before it only makes room.
                let before = RequestStamp { counter: 0, ..stamp };
                books
                    .rules
                    .admit_beginning(&before, &caller, now_ns)
                    .map_err(|refusal| status(&refusal))?;
                let experiment =
                    Experiment::new(stamp.experiment, random(), self.own_clock, now_ns);
                books.experiments.insert(stamp.experiment, experiment);
            }
        }
        self.with(&caller, &stamp, |rules, experiment, _| {
            if let Some(fault) = phases.fault() {
                return Err(Refusal::new(ConsentRule::Description, fault, "phases that fit"));
            }
            let reader = RoleReader { notary: self.notary.as_deref() };
            let mut roles = Vec::with_capacity(request.roles.len().min(LONGEST_NAME));
            for role in request.roles {
                let flow = role.flow.clone();
                let context =
                    RoleContext { experiment: stamp.experiment, flow: &flow, phases: &phases };
                roles.push(reader.plan(&context, &mut RoleBooks { rules, experiment }, role)?);
            }
            experiment.prepare(roles, phases)
        })?;
        Ok(Response::new(wire::PrepareReply {}))
    }

    async fn start(
        &self,
        request: Request<wire::StartRequest>,
    ) -> Result<Response<wire::StartReply>, Status> {
        let caller = caller(&request);
        let wire::StartRequest { stamp: stamp_message, begin_ns } = request.into_inner();
        self.with(&caller, &stamp(stamp_message)?, |_, experiment, now_ns| {
            let latest_ns = now_ns.saturating_add(START_AHEAD_NS);
            if !(now_ns..=latest_ns).contains(&begin_ns) {
                let allowed = format!("{now_ns} to {latest_ns} ns");
                return Err(Refusal::new(
                    ConsentRule::Clock,
                    format!("a beginning at {begin_ns} ns"),
                    allowed,
                ));
            }
            experiment.start(begin_ns, now_ns)
        })?;
        Ok(Response::new(wire::StartReply {}))
    }

    type ProgressStream = ReceiverStream<Result<wire::ProgressReport, Status>>;

    async fn progress(
        &self,
        request: Request<wire::ProgressRequest>,
    ) -> Result<Response<Self::ProgressStream>, Status> {
        let caller = caller(&request);
        let stamp = stamp(request.into_inner().stamp)?;
        self.with(&caller, &stamp, |_, _, _| Ok(()))?;
        let (report_sender, reports) = mpsc::channel(1);
        let service = self.clone();
        tokio::spawn(async move {
            loop {
                let report = service.books().experiments.get(&stamp.experiment).map(report);
                let Some(report) = report else { break };
                let has_ended = !report.ended.is_empty();
                if report_sender.send(Ok(report)).await.is_err() || has_ended {
                    break;
                }
                sleep(PROGRESS).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(reports)))
    }

    async fn lease(
        &self,
        request: Request<wire::LeaseRequest>,
    ) -> Result<Response<wire::LeaseReply>, Status> {
        let caller = caller(&request);
        let wire::LeaseRequest { stamp: stamp_message, challenges, renewals } =
            request.into_inner();
        let stamp = stamp(stamp_message)?;
        let most = MOST_CHALLENGES;
        let is_short = |count: usize| count <= most;
        let are_short = challenges.iter().all(|challenge| is_short(challenge.grants.len()));
        if !is_short(challenges.len()) || !is_short(renewals.len()) || !are_short {
            let allowed = format!("{most} challenges, grants in each, and renewals");
            return Err(status(&Refusal::new(ConsentRule::Description, "a longer list", allowed)));
        }
        let session = self.session;
        let ours = challenges.into_iter().filter(|challenge| challenge.session == session);
        let challenges: Vec<RenewalChallenge> = ours
            .map(|wire::Challenge { session, run, nonce, grants }| RenewalChallenge {
                session,
                run,
                nonce,
                grants,
            })
            .collect();
        let (mut reply, renewal) = self.with(&caller, &stamp, |_, experiment, now_ns| {
            self.renew(experiment, &challenges, &renewals, now_ns)
        })?;
        if !renewal.answers.is_empty() {
            let renewal = serde_json::to_vec(&renewal)
                .map_err(|error| Status::internal(error.to_string()))?;
            let signature = match &self.notary {
                Some(notary) => notary.sign_renewal(&renewal).map_err(Status::internal)?,
                None => Vec::new(),
            };
            reply.renewal = Some(wire::SignedRenewal { renewal, signature });
        }
        Ok(Response::new(reply))
    }

    async fn stop(
        &self,
        request: Request<wire::StopRequest>,
    ) -> Result<Response<wire::StopReply>, Status> {
        let caller = caller(&request);
        let stamp = stamp(request.into_inner().stamp)?;
        self.with(&caller, &stamp, |_, experiment, _| {
            experiment.stop();
            Ok(())
        })?;
        Ok(Response::new(wire::StopReply {}))
    }

    async fn collect(
        &self,
        request: Request<wire::CollectRequest>,
    ) -> Result<Response<wire::CollectReply>, Status> {
        let caller = caller(&request);
        let stamp = stamp(request.into_inner().stamp)?;
        let renewed_until_ns = self.with(&caller, &stamp, |_, experiment, _| {
            // Roles that have ended are not changed by this; those that have not, end.
            if experiment.running() > 0 || !experiment.has_begun() {
                experiment.stop();
            }
            Ok(experiment.renewed_until_ns())
        })?;
        // A sender may go on until the last lease that it has been given ends. Until then its rate
        // is kept for it, so that what others are granted does not come on top.
        let left_ns = renewed_until_ns.saturating_sub(HostTime.now_ns());
        sleep(Duration::from_nanos(left_ns)).await;
        let experiment = self.books().take(stamp.experiment, HostTime.now_ns());
        let experiment = experiment
            .ok_or_else(|| Status::internal("an experiment that is known and not there"))?;
        let report = tokio::task::spawn_blocking(move || experiment.collect()).await;
        let report = report.map_err(|error| Status::internal(error.to_string()))?;
        let result_json =
            serde_json::to_string(&report).map_err(|error| Status::internal(error.to_string()))?;
        Ok(Response::new(wire::CollectReply { result_json }))
    }
}

fn report(experiment: &Experiment) -> wire::ProgressReport {
    let (sent_frames, received_frames) = experiment.progress();
    let running = experiment.running();
    let has_ended = running == 0 && (experiment.has_begun() || experiment.ending() != "complete");
    wire::ProgressReport {
        running: u32::try_from(running).unwrap_or(u32::MAX),
        sent_frames,
        received_frames,
        ended: if has_ended { experiment.ending().into() } else { String::new() },
        now_ns: HostTime.now_ns(),
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
