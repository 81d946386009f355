//! What a station does in an experiment, on real ports.

use super::clocks;
use super::connection::finish;
use super::endpoint::{LocalEndpoint, OpenedEndpoint, StationPort};
use super::file::{Draws, request_blocks, serve_blocks};
use super::policed_port::{PolicedPort, SendConditions};
use super::schedule::ExperimentSchedule;
use super::transfer::{BulkPlan, receive_bulk, send_bulk};
use crate::consent::{Permit, Policer, ReceiverLease, longest_payload};
use crate::interfaces::PacketPath;
use crate::refusal::{ConsentRule, Refusal};
use crate::report::{PortUse, RoleCounts, RoleReport, RoleTotals, SinkReport};
use ethermeter_live::clock::SharedRelation;
use ethermeter_live::pacing::{Pacer, PriorityGuard, ThreadPriority};
use ethermeter_live::port::credited::{CreditedPort, InterfaceNotes};
use ethermeter_live::port::tcp::{TcpPort, congestion, set_congestion};
use ethermeter_live::port::tcp_info::TcpInfo;
use ethermeter_live::port::{NetworkPort, StationAddress};
use ethermeter_live::roles::{
    ReceiveMode, RequestPlan, RequestTraffic, ResponsePlan, ResponseTraffic, SendPlan,
    SenderClockRelation, SenderCounts, SinkPlan, VoicePlan, request, respond, send, sink, talk,
};
use ethermeter_live::{Error, Timeline};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::voice::VoiceSpec;
use ethermeter_traffic::{Shaping, SourceSpec, Trace};
use ethermeter_trial::transfer::File;
use serde::Deserialize;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

/// A role's task.
#[derive(Debug)]
pub enum RoleTask {
    /// Send what a source offers.
    Send {
        /// What is offered.
        source: Box<SourceSpec>,
        /// The experiment's seed.
        seed: u64,
        /// The station's number, which with the seed determines every draw.
        station: u32,
        /// Whether to ask for real-time priority.
        real_time: bool,
        /// Whether many such senders share few processors, so that none spins for long.
        shares_processors: bool,
        /// Most frames ahead of an emulated medium, which gives credit.
        credit: Option<NonZeroU32>,
        /// The source begins at a draw below this after the transmission.
        spread_ps: u64,
    },
    /// Count what arrives.
    Sink {
        /// How it waits.
        attention: ReceiveMode,
        /// The flow that finds out how the sender's clock relates to ours; without, they are taken
        /// for equal.
        clock: Option<String>,
    },
    /// Find out how another station's clock relates to ours.
    Clock,
    /// Send requests and time their responses.
    Request {
        /// Requests, as a source offers them.
        source: Box<SourceSpec>,
        /// Seed and station of their draws.
        draws: Draws,
        /// A response that takes longer is lost.
        timeout_ns: u64,
        /// Stations of a group that respond; empty of a single station.
        responders: Vec<StationAddress>,
        /// How it waits.
        attention: ReceiveMode,
    },
    /// Write octets in bulk.
    SendBulk {
        /// Octets in all; as many as go without.
        octets: Option<u64>,
        /// Octets a call.
        block_octets: usize,
    },
    /// Read octets in bulk.
    ReceiveBulk,
    /// Request the blocks of a file.
    Client {
        /// The file.
        file: Box<File>,
        /// Seed and station of the client's draws.
        draws: Draws,
    },
    /// Answer with the blocks of a file.
    Server {
        /// The file.
        file: Box<File>,
        /// Seed and station of the server's draws.
        draws: Draws,
    },
    /// Respond to one requester.
    Respond {
        /// How long answers are and when they come; as long as their requests and at once without.
        responses: Option<Box<ResponseTraffic>>,
        /// How it waits.
        attention: ReceiveMode,
    },
}

impl RoleTask {
    /// Whether it uses the port that was opened for the flow when it was granted.
    #[must_use]
    pub fn receives(&self) -> bool {
        !matches!(self, Self::Send { .. } | Self::SendBulk { .. })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Send { .. } => "sender",
            Self::Sink { .. } => "sink",
            Self::Request { .. } => "requester",
            Self::Respond { .. } => "responder",
            Self::SendBulk { .. } => "bulk-sender",
            Self::ReceiveBulk => "bulk-receiver",
            Self::Clock => "clock",
            Self::Client { .. } => "client",
            Self::Server { .. } => "server",
        }
    }
}

/// What a role may send, and on what that depends.
#[derive(Debug)]
pub struct PermittedSender {
    /// What it may send, and where to.
    pub permit: Permit,
    /// A lease of each receiver.
    pub leases: Vec<Arc<ReceiverLease>>,
    /// The way to the receivers.
    pub path: PacketPath,
}

/// A role: a task in a flow.
#[derive(Debug)]
pub struct RolePlan {
    /// The flow.
    pub flow: String,
    /// Number of the flow in the mark of frames.
    pub stream: u16,
    /// Where it is.
    pub endpoint: LocalEndpoint,
    /// The task.
    pub task: RoleTask,
    /// What it may send, and where; `None` of a role that only receives.
    pub permitted: Option<PermittedSender>,
    /// Congestion control of its connection; the host's own without.
    pub congestion: Option<String>,
}

/// The traffic of a sending station, as in a plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceText {
    frames: Lengths,
    arrivals: Arrivals,
    #[serde(default)]
    shaping: Option<Shaping>,
    #[serde(default)]
    trace: Option<TraceText>,
}

/// The messages of a trace.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TraceText {
    /// Time from each message to the next; before them, that of the first.
    gaps_ps: Vec<u64>,
    /// Index of the length of each in `frames`; empty if lengths are drawn.
    #[serde(default)]
    kinds: Vec<u16>,
}

impl TraceText {
    fn read(self, lengths: usize) -> Result<Trace, String> {
        let add = |sum: &mut u64, gap_ps: u64| {
            *sum = sum.saturating_add(gap_ps);
            Some(*sum)
        };
        let times_ps = self.gaps_ps.into_iter().scan(0, add).collect();
        Trace::new(times_ps, self.kinds, lengths)
    }
}

/// Least mean time between messages, samples, or changes between on and off. A source counts what
/// it offers one by one, in less time than this, so that no coordinator makes a host count for
/// longer than it has granted. No host sends frames as fast.
const LEAST_MEAN_PS: f64 = 10_000.0;

/// Read what a station offers: `frames` and `arrivals`, as in the plan of a simulated station,
/// `shaping`, the token bucket of its source or its shaper, and the messages of its `trace`.
///
/// # Errors
/// By [`ConsentRule::Description`].
pub fn read_source(text: &str) -> Result<SourceSpec, Refusal> {
    let fault = |what: String| {
        Refusal::new(ConsentRule::Description, what, "frames and arrivals as in a plan")
    };
    let SourceText { frames, mut arrivals, shaping, trace } =
        serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
    if let Some(what) = frames.fault().or_else(|| arrivals.fault()) {
        return Err(fault(what));
    }
    if let Some(mean_ps) = arrivals.least_mean_ps().filter(|&ps| ps < LEAST_MEAN_PS) {
        return Err(fault(format!(
            "arrivals: mean times must be at least {LEAST_MEAN_PS} ps, got {mean_ps} ps"
        )));
    }
    if let Some(trace) = trace {
        let lengths = frames.given_bits().len();
        if arrivals.missing_trace().is_none() {
            return Err(fault("trace: must not be given without arrivals of a trace".into()));
        }
        let given = trace.read(lengths).and_then(|trace| arrivals.give(&Arc::new(trace), lengths));
        given.map_err(|what| fault(format!("trace: {what}")))?;
    }
    if arrivals.missing_trace().is_some() {
        return Err(fault("trace: must be given with arrivals of a trace".into()));
    }
    let is_bucket = matches!(arrivals, Arrivals::TokenBucket { .. });
    let has_coder = matches!(arrivals, Arrivals::Coder { .. });
    match &shaping {
        Some(shaping) => {
            if let Some(what) = shaping.fault(&frames) {
                return Err(fault(format!("shaping: {what}")));
            }
            if has_coder {
                return Err(fault("shaping: must not be given with a coder".into()));
            }
        }
        None if is_bucket => {
            return Err(fault("shaping: must be given with token_bucket arrivals".into()));
        }
        None => {}
    }
    let source = SourceSpec {
        frames,
        arrivals,
        generator: None,
        queue_frames: None,
        service: Times::Constant { ps: 0 },
        shaping,
    };
    let has_samples = matches!(source.frames, Lengths::Samples { .. });
    match source.voice() {
        Some(voice) => match voice.fault().or_else(|| voice_fault(&voice)) {
            Some(what) => Err(fault(what)),
            None => Ok(source),
        },
        None if has_coder || has_samples => Err(fault(
            "frames and arrivals: frames are samples with a coder, and with nothing else".into(),
        )),
        None => Ok(source),
    }
}

/// What of a coder's packets cannot be sent.
fn voice_fault(voice: &VoiceSpec) -> Option<String> {
    let VoiceSpec { sample_bits, overhead_bits, min_bits, .. } = voice;
    let is_whole = [sample_bits, overhead_bits, min_bits].iter().all(|bits| bits.is_multiple_of(8));
    (!is_whole).then(|| {
        format!("sample_bits, overhead_bits and min_bits must be whole octets, got {sample_bits}, {overhead_bits} and {min_bits}")
    })
}

impl RolePlan {
    /// What a role opens that does not use what was opened when the flow was granted.
    pub(super) fn open(&self, time: &impl Timeline) -> Result<OpenedEndpoint, Refusal> {
        match (&self.task, &self.permitted) {
            (RoleTask::Send { source, .. }, Some(PermittedSender { permit, .. })) => {
                let (_, most_bits) = source.frames.range_bits();
                let longest_payload = self.endpoint.payload_octets(most_bits).ok_or_else(|| {
                    let value = format!("frames of {most_bits} bits");
                    Refusal::new(
                        ConsentRule::Description,
                        value,
                        "whole octets with room for a mark",
                    )
                })?;
                self.endpoint.to_send(permit.target, longest_payload, time)
            }
            (RoleTask::SendBulk { block_octets, .. }, Some(PermittedSender { permit, .. })) => {
                self.endpoint.to_send(permit.target, *block_octets, time)
            }
            _ => Err(Refusal::new(
                ConsentRule::ConsentMissing,
                &self.flow,
                "a flow that was granted here",
            )),
        }
    }

    /// What was opened when the flow was granted to `sender` at `granted`, made fit for this role.
    pub(super) fn fit(
        &self,
        opened: OpenedEndpoint,
        granted: &LocalEndpoint,
        sender: Option<IpAddr>,
    ) -> Result<OpenedEndpoint, Refusal> {
        match (&self.task, opened, sender) {
            (RoleTask::Request { .. }, OpenedEndpoint::StationPort(port), _)
                if self.endpoint.transport.is_group() =>
            {
                port.aimed_at_group().map(OpenedEndpoint::StationPort)
            }
            (RoleTask::Respond { .. }, OpenedEndpoint::StationPort(port), _)
                if granted.transport.is_group() =>
            {
                port.answering(granted).map(OpenedEndpoint::StationPort)
            }
            (
                RoleTask::Respond { .. }
                | RoleTask::Sink { .. }
                | RoleTask::ReceiveBulk
                | RoleTask::Server { .. },
                OpenedEndpoint::End(end),
                Some(sender),
            ) => Ok(OpenedEndpoint::End(end.accepting(sender))),
            (_, opened, _) => Ok(opened),
        }
    }

    /// Report of a role that counted nothing, by `error`.
    pub(super) fn failed(&self, error: String) -> RoleReport {
        RoleReport {
            flow: self.flow.clone(),
            role: self.task.name().into(),
            counted: None,
            error: Some(error),
            receiver_lapsed_ns: None,
        }
    }

    /// Do it; what became of it, or why nothing did.
    pub(super) fn run(
        mut self,
        opened: OpenedEndpoint,
        schedule: &ExperimentSchedule<impl Timeline>,
    ) -> RoleReport {
        let permit = self.permitted.take().map(|permitted| permitted.permit);
        let mut report = match self.play(opened, permit, schedule) {
            Ok(counted) => {
                let (flow, role) = (self.flow.clone(), self.task.name().into());
                let counted = Some(counted);
                RoleReport { flow, role, counted, error: None, receiver_lapsed_ns: None }
            }
            Err(error) => self.failed(error.to_string()),
        };
        report.receiver_lapsed_ns = schedule
            .lease
            .lapsed_ns()
            .map(|lapsed_ns| lapsed_ns.wrapping_sub(schedule.transmit_ns()).cast_signed());
        // What is left to lapse does not concern a role that has ended.
        schedule.lease.stop();
        report
    }

    fn play(
        &self,
        opened: OpenedEndpoint,
        permit: Option<Permit>,
        schedule: &ExperimentSchedule<impl Timeline>,
    ) -> Result<RoleCounts, Error> {
        let (carrier, mtu, begin_ns) =
            (self.endpoint.carrier(), self.endpoint.mtu, schedule.begin_ns);
        match opened {
            OpenedEndpoint::StationPort(port) => {
                let policer = permit.map(|permit| {
                    let longest = longest_payload(carrier, &permit).min(port.longest_payload());
                    Policer::new(permit, carrier, longest, mtu, begin_ns)
                });
                self.play_at(port, policer, schedule)
            }
            OpenedEndpoint::End(end) => {
                let longest_payload = end.longest_payload;
                let mut policer = permit.map(|permit| match &self.task {
                    RoleTask::Client { .. } | RoleTask::Server { .. } => {
                        Policer::of_segments(permit, carrier, mtu, begin_ns)
                    }
                    _ => Policer::new(permit, carrier, longest_payload, mtu, begin_ns),
                });
                let connected = end.meet(policer.as_mut(), schedule)?;
                let Some(mut stream) = connected else {
                    return Err(Error::System {
                        doing: "waiting for the other end of a TCP connection",
                        source: std::io::ErrorKind::TimedOut.into(),
                    });
                };
                if let Some(name) = &self.congestion {
                    set_congestion(&stream, name)?;
                }
                let (congestion, is_selective) =
                    (congestion(&stream)?, TcpInfo::of(&stream)?.is_selective);
                let progress = &schedule.progress;
                let counted = match (&self.task, policer) {
                    (RoleTask::SendBulk { octets, block_octets }, Some(mut policer)) => {
                        let plan = BulkPlan { octets: *octets, block_octets: *block_octets };
                        send_bulk(&mut stream, &plan, &mut policer, progress, schedule)
                    }
                    (RoleTask::ReceiveBulk, _) => receive_bulk(&mut stream, progress, schedule),
                    (RoleTask::Client { file, draws }, Some(mut policer)) => {
                        request_blocks(&mut stream, file, *draws, &mut policer, progress, schedule)
                    }
                    (RoleTask::Server { file, draws }, Some(mut policer)) => {
                        serve_blocks(&mut stream, file, *draws, &mut policer, progress, schedule)
                    }
                    (_, policer) => self.play_at(
                        StationPort::Tcp(Box::new(TcpPort::on(stream, longest_payload)?)),
                        policer,
                        schedule,
                    ),
                };
                counted.map(|mut counted| {
                    (counted.port.congestion, counted.port.sack) =
                        (Some(congestion), Some(is_selective));
                    counted
                })
            }
        }
    }

    fn play_at(
        &self,
        port: StationPort,
        policer: Option<Policer>,
        schedule: &ExperimentSchedule<impl Timeline>,
    ) -> Result<RoleCounts, Error> {
        let conditions = SendConditions {
            lease: &schedule.lease,
            time: &schedule.time,
            progress: &schedule.progress,
        };
        let mut port = PolicedPort::new(port, policer, conditions)?;
        let of = self.perform(&mut port, schedule)?;
        let mut used = PortUse {
            held_back: Some(port.held_back()),
            refused: Some(port.refused()),
            port: Some(port.counters()?),
            ..PortUse::default()
        };
        if let (StationPort::Tcp(port), RoleTask::Send { .. } | RoleTask::Request { .. }) =
            (port.port(), &self.task)
        {
            finish(port.stream(), schedule)?;
        }
        used.mode = port.port().mode();
        Ok(RoleCounts { port: used, of })
    }

    #[expect(clippy::too_many_lines, reason = "one arm a task")]
    fn perform<T: Timeline>(
        &self,
        port: &mut PolicedPort<'_, StationPort, T>,
        schedule: &ExperimentSchedule<impl Timeline>,
    ) -> Result<RoleTotals, Error> {
        let (time, own_clock, stop) = (&schedule.time, schedule.own_clock, schedule.lease.flag());
        let (transmit_ns, phases) = (schedule.transmit_ns(), schedule.phases);
        let guard = match &self.task {
            RoleTask::Send { real_time: true, .. } => PriorityGuard::fifo_where_allowed(),
            _ => PriorityGuard::ordinary(),
        };
        let has_real_time =
            |is_wanted: bool| is_wanted.then(|| guard.priority() == ThreadPriority::Fifo);
        match &self.task {
            RoleTask::Send {
                source,
                seed,
                station,
                real_time,
                shares_processors,
                credit,
                spread_ps,
            } => {
                let pacer = match (shares_processors, real_time) {
                    (true, _) => Pacer::sharing(),
                    (false, true) => Pacer::punctual(),
                    (false, false) => Pacer::default(),
                };
                if let Some(voice) = source.voice() {
                    let plan = VoicePlan {
                        experiment: schedule.mark(),
                        stream: self.stream,
                        voice: &voice,
                        seed: *seed,
                        station: *station,
                        begin_ns: transmit_ns,
                        duration_ns: phases.transmit_ns,
                        measured_ns: phases.measure_from_ns..phases.measure_to_ns,
                        pacer,
                    };
                    let mut counts = talk(port, time, own_clock, &plan, stop)?;
                    counts.pacing.real_time = has_real_time(*real_time);
                    return Ok(RoleTotals::Sender(Box::new(counts)));
                }
                let plan = SendPlan {
                    experiment: schedule.mark(),
                    stream: self.stream,
                    source,
                    seed: *seed,
                    station: *station,
                    begin_ns: transmit_ns,
                    duration_ns: phases.transmit_ns,
                    spread_ps: *spread_ps,
                    most_frames: u64::MAX,
                    pacer,
                };
                let mut counts = match credit {
                    None => send(port, time, own_clock, &plan, stop)?,
                    Some(window) => {
                        let attachment = self.endpoint.attachment.as_ref();
                        let name =
                            attachment.map_or("", |attachment| attachment.interface.name.as_str());
                        let notes = InterfaceNotes::on(name)?;
                        let frames_of = port.frames_of();
                        let mut port =
                            CreditedPort::new(port, notes, frames_of, window.get(), time);
                        let counts = send(&mut port, time, own_clock, &plan, stop)?;
                        SenderCounts { credit: Some(port.counts), ..counts }
                    }
                };
                counts.pacing.real_time = has_real_time(*real_time);
                Ok(RoleTotals::Sender(Box::new(counts)))
            }
            RoleTask::Clock => {
                let bits = u64::from(clocks::FRAME_OCTETS) * 8;
                let payload_octets = self.endpoint.payload_octets(bits).unwrap_or(0); // which `ask` refuses
                let plan = clocks::plan(schedule.mark(), self.stream, payload_octets);
                let nobody = SharedRelation::default();
                let ongoing = schedule.clocks.get(&self.flow).map_or(&nobody, |ongoing| ongoing);
                clocks::keep(port, schedule, &plan, payload_octets, ongoing)
            }
            RoleTask::SendBulk { .. }
            | RoleTask::ReceiveBulk
            | RoleTask::Client { .. }
            | RoleTask::Server { .. } => {
                unreachable!("octets in bulk have no port of frames")
            }
            RoleTask::Sink { attention, clock } => {
                let plan = SinkPlan {
                    experiment: schedule.mark(),
                    begin_ns: transmit_ns,
                    first_stream: self.stream,
                    streams: 1,
                    measured_ns: transmit_ns.saturating_add(phases.measure_from_ns)
                        ..transmit_ns.saturating_add(phases.measure_to_ns),
                    batches: phases.batches,
                    until_ns: schedule.until_ns(),
                    most_frames: u64::MAX,
                    memory: 1 << 16,
                    senders_clock: match clock.as_ref().and_then(|name| schedule.clocks.get(name)) {
                        Some(ongoing) => SenderClockRelation::Ongoing(ongoing),
                        None => SenderClockRelation::Equal,
                    },
                    attention: *attention,
                };
                let counts = sink(port, time, own_clock, &plan, stop)?;
                Ok(RoleTotals::Sink(Box::new(SinkReport { counts, clock: clock.clone() })))
            }
            RoleTask::Request {
                source,
                draws: (seed, station),
                timeout_ns,
                responders,
                attention,
                ..
            } => {
                let plan = RequestPlan {
                    experiment: schedule.mark(),
                    stream: self.stream,
                    responders,
                    requests: RequestTraffic::Offered { source, seed: *seed, station: *station },
                    begin_ns: transmit_ns,
                    until_ns: transmit_ns.saturating_add(phases.transmit_ns),
                    batches: phases.batches,
                    most_requests: u64::MAX,
                    timeout_ns: *timeout_ns,
                    exchanges: MOST_EXCHANGES,
                    attention: *attention,
                };
                Ok(RoleTotals::Requester(Box::new(request(port, time, own_clock, &plan, stop)?)))
            }
            RoleTask::Respond { responses, attention } => {
                let asker = port.target();
                let plan = ResponsePlan {
                    experiment: schedule.mark(),
                    stream: Some(self.stream),
                    may_respond_to: &|from| Some(from) == asker,
                    answers: responses.as_deref(),
                    until_ns: schedule.until_ns(),
                    most_responses: u64::MAX,
                    attention: *attention,
                };
                Ok(RoleTotals::Responder(Box::new(respond(port, time, own_clock, &plan, stop)?)))
            }
        }
    }
}

/// Exchanges of times that a requester keeps for the relation of two clocks.
const MOST_EXCHANGES: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn source(trace: &serde_json::Value) -> Result<SourceSpec, Refusal> {
        let arrivals = json!({"kind": "trace", "sha256": "0".repeat(64), "messages": 3, "offset_ps": 0,
            "repeat_ps": 100_000, "mean_ps": 1e9, "scv": 1.0, "envelope": []});
        let frames = json!({"kind": "mix", "bits": [512, 1024], "weights": [2.0, 1.0]});
        let mut text = json!({"frames": frames, "arrivals": arrivals});
        if !trace.is_null() {
            text["trace"] = trace.clone();
        }
        read_source(&text.to_string())
    }

    #[test]
    fn a_source_replays_the_trace_that_it_is_given_with_the_lengths_it_was_granted() {
        let spec =
            source(&json!({"gaps_ps": [1, 0, 90_000], "kinds": [0, 1, 1]})).expect("a source");
        let window = ethermeter_traffic::Window {
            begin_ps: 0,
            stop_ps: 190_000,
            measure_from_ps: 0,
            measure_to_ps: 190_000,
        };
        let mut source = ethermeter_traffic::Source::new(&spec, 1, 0, window);
        let mut sent = vec![source.first().expect("a message")];
        while let Some(offer) = source.next(0) {
            sent.push(offer);
        }
        let sent: Vec<_> = sent.iter().map(|offer| (offer.arrived_ps, offer.bits)).collect();
        assert_eq!(sent, [(1, 512), (1, 1024), (90_001, 1024), (100_001, 512), (100_001, 1024)]);
    }

    #[test]
    fn a_trace_that_is_not_as_promised_is_refused() {
        for (trace, why) in [
            (json!(null), "must be given with arrivals of a trace"),
            (json!({"gaps_ps": [1, 0, 9], "kinds": [0, 1, 2]}), "lengths must be below 2, got 2"),
            (json!({"gaps_ps": [1, 0, 9], "kinds": [0, 1]}), "a length of each message"),
            (json!({"gaps_ps": [1, 9]}), "must have 3 messages, got 2"),
            (json!({"gaps_ps": [1, 0, 0]}), "must last"),
            (json!({"gaps_ps": [1, 5, 100_000]}), "repeat_ps must be at least 100005, got 100000"),
            (json!({"gaps_ps": [1, 5, u64::MAX]}), "must last"),
            (json!({"gaps_ps": [1, 5, 5], "lengths": [64, 64, 9000]}), "unknown field"),
        ] {
            let refusal = source(&trace).expect_err("a refusal").to_string();
            assert!(refusal.contains(why), "{trace}: {refusal}");
        }
    }

    #[test]
    fn a_source_that_would_take_longer_to_count_than_its_run_is_refused() {
        let read = |arrivals: &serde_json::Value| {
            let frames = if arrivals["kind"] == "coder" {
                json!({"kind": "samples", "overhead_bits": 368, "min_bits": 608, "max_bits": 8000})
            } else {
                json!({"kind": "fixed", "bits": 512})
            };
            read_source(&json!({"frames": frames, "arrivals": arrivals}).to_string())
        };
        let trace = |repeat_ps, speed| {
            json!({"kind": "trace", "sha256": "0".repeat(64), "messages": 2, "mean_ps": 1e9,
                "scv": 1.0, "envelope": [], "repeat_ps": repeat_ps, "speed": speed})
        };
        let on_off = |period_ps, on_mean_ps, off_mean_ps| {
            json!({"kind": "on_off", "period_ps": period_ps, "on_mean_ps": on_mean_ps,
                "off_mean_ps": off_mean_ps})
        };
        for arrivals in [
            json!({"kind": "regular", "period_ps": 9999}),
            json!({"kind": "poisson", "mean_ps": 9999.9}),
            on_off(1, 1e15, 1e15),
            on_off(1_000_000, 1.0, 1.0),
            json!({"kind": "coder", "sample_bits": 8, "sample_ps": 9999, "spurts": null}),
            trace(19_999_999, 1000.0),
        ] {
            let refusal = read(&arrivals).expect_err("a refusal").to_string();
            assert!(refusal.contains("must be at least 10000 ps"), "{arrivals}: {refusal}");
        }
        for arrivals in [
            json!({"kind": "regular", "period_ps": 10_000}),
            on_off(10_000, 1.0, 9999.0),
            json!({"kind": "coder", "sample_bits": 8, "sample_ps": 10_000, "spurts": null}),
        ] {
            read(&arrivals).expect("a source");
        }
    }
}
