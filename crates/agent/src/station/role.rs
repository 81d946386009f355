//! What a station does in an experiment, on real ports.

use super::clocks;
use super::connection::finish;
use super::door::{Door, Opened, Place};
use super::file::{answer_with_blocks, ask_for_blocks, Draws, File};
use super::transfer::{accept_all, give, GivePlan};
use super::{account, Phases};
use crate::consent::Permit;
use crate::gate::{longest_payload, Conditions, Gate, Seen, Toll};
use crate::leash::{ReceiverLease, RoleLeash};
use crate::refusal::{Refusal, Rule};
use ethermeter_live::clock::Ongoing;
use ethermeter_live::pacing::{Pacer, PriorityGuard};
use ethermeter_live::port::tcp::{congestion, set_congestion, TcpInfo, TcpPort};
use ethermeter_live::port::{Address, Port};
use ethermeter_live::roles::{
    ask, echo, send, sink, talk, Answers, AskPlan, Attention, EchoPlan, Requests, SendPlan,
    SendersClock, SinkPlan, TalkPlan,
};
use ethermeter_live::{Error, Face, HostTime, Timeline};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::voice::VoiceSpec;
use ethermeter_traffic::SourceSpec;
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// When and under what an experiment runs.
#[derive(Clone)]
pub(super) struct Schedule {
    pub experiment: u64,
    pub begin_ns: u64,
    pub phases: Phases,
    pub leash: Arc<RoleLeash>,
    pub seen: Arc<Seen>,
    /// The time that is put on the wire.
    pub face: Face,
    /// What is known of others' clocks, by the flow that finds it out.
    pub clocks: Arc<BTreeMap<String, Arc<Ongoing>>>,
}

impl Schedule {
    pub fn transmit_ns(&self) -> u64 {
        self.begin_ns.saturating_add(self.phases.settle_ns)
    }

    pub fn until_ns(&self) -> u64 {
        self.begin_ns.saturating_add(self.phases.duration_ns())
    }

    /// The mark on frames has room for so much of the experiment's number.
    #[allow(clippy::cast_possible_truncation)] // the low 16 bits are meant
    fn mark(&self) -> u16 {
        self.experiment as u16
    }
}

/// A role's task.
#[derive(Debug)]
pub enum Task {
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
    },
    /// Count what arrives.
    Sink {
        /// How it waits.
        attention: Attention,
        /// The flow that finds out how the sender's clock relates to ours; without, they are taken
        /// for equal.
        clock: Option<String>,
    },
    /// Find out how another station's clock relates to ours.
    Clock,
    /// Ask and time the answers.
    Ask {
        /// Requests, as a source offers them.
        source: Box<SourceSpec>,
        /// Who draws them.
        draws: Draws,
        /// An answer that takes longer is lost.
        patience_ns: u64,
        /// Stations of a group that answer; none of one station.
        answerers: Vec<Address>,
        /// How it waits.
        attention: Attention,
    },
    /// Write octets in bulk.
    Give {
        /// Octets in all; as many as go without.
        octets: Option<u64>,
        /// Octets a call.
        block_octets: usize,
    },
    /// Read octets in bulk.
    Take,
    /// Ask for the blocks of a file.
    Client {
        /// The file.
        file: Box<File>,
        /// Who draws the client's times.
        draws: Draws,
    },
    /// Answer with the blocks of a file.
    Server {
        /// The file.
        file: Box<File>,
        /// Who draws the server's times.
        draws: Draws,
    },
    /// Answer one asker.
    Echo {
        /// How long answers are and when they come; as long as their requests and at once without.
        answers: Option<Box<Answers>>,
        /// How it waits.
        attention: Attention,
    },
}

impl Task {
    /// Whether it uses the port that was opened for the flow when it was granted.
    #[must_use]
    pub fn receives(&self) -> bool {
        !matches!(self, Self::Send { .. } | Self::Give { .. })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Send { .. } => "send",
            Self::Sink { .. } => "sink",
            Self::Ask { .. } => "ask",
            Self::Echo { .. } => "echo",
            Self::Give { .. } => "give",
            Self::Take => "take",
            Self::Clock => "clock",
            Self::Client { .. } => "client",
            Self::Server { .. } => "server",
        }
    }
}

/// What a role may send, and the leases on which that depends: one of each receiver.
pub type Permitted = (Permit, Vec<Arc<ReceiverLease>>);

/// A role: a task in a flow.
#[derive(Debug)]
pub struct RolePlan {
    /// The flow.
    pub flow: String,
    /// Its number in the mark of frames.
    pub stream: u16,
    /// Where it is.
    pub place: Place,
    /// The task.
    pub task: Task,
    /// What it may send, and where; `None` of a role that only receives.
    pub permitted: Option<Permitted>,
    /// Congestion control of its connection; the host's own without.
    pub congestion: Option<String>,
}

/// The traffic of a sending station, as in a plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceText {
    frames: Lengths,
    arrivals: Arrivals,
}

/// Read what a station offers: `frames` and `arrivals`, as in the plan of a simulated station.
///
/// # Errors
/// By [`Rule::Description`].
pub fn read_source(text: &str) -> Result<SourceSpec, Refusal> {
    let fault =
        |what: String| Refusal::new(Rule::Description, what, "frames and arrivals as in a plan");
    let SourceText { frames, arrivals } =
        serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
    if let Some(what) = frames.fault().or_else(|| arrivals.fault()) {
        return Err(fault(what));
    }
    let source = SourceSpec {
        frames,
        arrivals,
        generator: None,
        queue_frames: None,
        service: Times::Constant { ps: 0 },
    };
    let has_coder = matches!(source.arrivals, Arrivals::Coder { .. });
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
    pub(super) fn open(&self) -> Result<Opened, Refusal> {
        match (&self.task, &self.permitted) {
            (Task::Send { source, .. }, Some((permit, _))) => {
                let (_, most_bits) = source.frames.range_bits();
                let longest_payload = self.place.payload_octets(most_bits).ok_or_else(|| {
                    let value = format!("frames of {most_bits} bits");
                    Refusal::new(Rule::Description, value, "whole octets with room for a mark")
                })?;
                self.place.to_send(permit.target, longest_payload)
            }
            (Task::Give { block_octets, .. }, Some((permit, _))) => {
                self.place.to_send(permit.target, *block_octets)
            }
            _ => {
                Err(Refusal::new(Rule::ConsentMissing, &self.flow, "a flow that was granted here"))
            }
        }
    }

    /// What was opened when the flow was granted to `sender` at `granted`, made fit for this role.
    pub(super) fn fit(
        &self,
        opened: Opened,
        granted: &Place,
        sender: Option<IpAddr>,
    ) -> Result<Opened, Refusal> {
        match (&self.task, opened, sender) {
            (Task::Ask { .. }, Opened::Door(door), _) if self.place.way.is_group() => {
                door.aimed_at_group(granted).map(Opened::Door)
            }
            (Task::Echo { .. }, Opened::Door(door), _) if granted.way.is_group() => {
                door.answering(granted).map(Opened::Door)
            }
            (
                Task::Echo { .. } | Task::Sink { .. } | Task::Take | Task::Server { .. },
                Opened::End(end),
                Some(sender),
            ) => end.listening_to(sender).map(Opened::End),
            (_, opened, _) => Ok(opened),
        }
    }

    /// Do it; what came of it, or why nothing did.
    pub(super) fn run(mut self, opened: Opened, schedule: &Schedule) -> Value {
        let mut result = json!({"flow": self.flow, "role": self.task.name()});
        let permit = self.permitted.take().map(|(permit, _)| permit);
        match self.play(opened, permit, schedule) {
            Ok(counted) => result["counted"] = counted,
            Err(error) => result["error"] = json!(error.to_string()),
        }
        if let Some(lapsed_ns) = schedule.leash.lapsed_ns() {
            result["receiver_lapsed_ns"] =
                json!(lapsed_ns.wrapping_sub(schedule.transmit_ns()).cast_signed());
        }
        // What is left to lapse does not concern a role that has ended.
        schedule.leash.stop();
        result
    }

    fn play(
        &self,
        opened: Opened,
        permit: Option<Permit>,
        schedule: &Schedule,
    ) -> Result<Value, Error> {
        let (carrier, mtu, begin_ns) = (self.place.carrier(), self.place.mtu(), schedule.begin_ns);
        match opened {
            Opened::Door(door) => {
                let toll = permit.map(|permit| {
                    let longest = longest_payload(carrier, &permit).min(door.longest_payload());
                    Toll::new(permit, carrier, longest, mtu, begin_ns)
                });
                self.play_at(door, toll, schedule)
            }
            Opened::End(end) => {
                let longest_payload = end.longest_payload;
                let mut toll = permit.map(|permit| match &self.task {
                    Task::Client { .. } | Task::Server { .. } => {
                        Toll::of_segments(permit, carrier, mtu, begin_ns)
                    }
                    _ => Toll::new(permit, carrier, longest_payload, mtu, begin_ns),
                });
                let met = end.meet(toll.as_mut(), schedule)?;
                let Some(mut stream) = met else {
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
                let seen = &schedule.seen;
                let counted = match (&self.task, toll) {
                    (Task::Give { octets, block_octets }, Some(mut toll)) => {
                        let plan = GivePlan { octets: *octets, block_octets: *block_octets };
                        give(&mut stream, &plan, &mut toll, seen, schedule)
                    }
                    (Task::Take, _) => accept_all(&mut stream, seen, schedule),
                    (Task::Client { file, draws }, Some(mut toll)) => {
                        ask_for_blocks(&mut stream, file, *draws, &mut toll, seen, schedule)
                    }
                    (Task::Server { file, draws }, Some(mut toll)) => {
                        answer_with_blocks(&mut stream, file, *draws, &mut toll, seen, schedule)
                    }
                    (_, toll) => self.play_at(
                        Door::Tcp(Box::new(TcpPort::on(stream, longest_payload)?)),
                        toll,
                        schedule,
                    ),
                };
                counted.map(|mut counted| {
                    (counted["congestion"], counted["sack"]) =
                        (json!(congestion), json!(is_selective));
                    counted
                })
            }
        }
    }

    fn play_at(&self, door: Door, toll: Option<Toll>, schedule: &Schedule) -> Result<Value, Error> {
        let conditions =
            Conditions { leash: &schedule.leash, time: &HostTime, seen: &schedule.seen };
        let mut gate = Gate::new(door, toll, conditions)?;
        let mut counted = self.perform(&mut gate, schedule)?;
        counted["held_back"] = json!(gate.held_back());
        counted["port"] = json!(gate.counters()?);
        if let (Door::Tcp(port), Task::Send { .. } | Task::Ask { .. }) = (gate.port(), &self.task) {
            finish(port.stream(), schedule)?;
        }
        counted["mode"] = gate.port().mode();
        Ok(counted)
    }

    fn perform<T: Timeline>(
        &self,
        port: &mut Gate<'_, Door, T>,
        schedule: &Schedule,
    ) -> Result<Value, Error> {
        let (time, face, stop) = (&HostTime, schedule.face, schedule.leash.flag());
        let (transmit_ns, phases) = (schedule.transmit_ns(), schedule.phases);
        let guard = match &self.task {
            Task::Send { real_time: true, .. } => PriorityGuard::fifo_where_allowed(),
            _ => PriorityGuard::ordinary(),
        };
        match &self.task {
            Task::Send { source, seed, station, real_time, .. } => {
                let pacer = if *real_time { Pacer::punctual() } else { Pacer::default() };
                if let Some(voice) = source.voice() {
                    let plan = TalkPlan {
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
                    let talked = talk(port, time, face, &plan, stop)?;
                    return Ok(account::of_talked(
                        &talked,
                        transmit_ns,
                        real_time.then(|| guard.priority()),
                    ));
                }
                let plan = SendPlan {
                    experiment: schedule.mark(),
                    stream: self.stream,
                    source,
                    seed: *seed,
                    station: *station,
                    begin_ns: transmit_ns,
                    duration_ns: phases.transmit_ns,
                    most_frames: u64::MAX,
                    pacer,
                };
                let sent = send(port, time, face, &plan, stop)?;
                Ok(account::of_sent(&sent, transmit_ns, real_time.then(|| guard.priority())))
            }
            Task::Clock => {
                let bits = u64::from(clocks::FRAME_OCTETS) * 8;
                let payload_octets = self.place.payload_octets(bits).unwrap_or(0); // which `ask` refuses
                let plan = clocks::plan(schedule.mark(), self.stream, payload_octets);
                let nobody = Ongoing::default();
                let ongoing = schedule.clocks.get(&self.flow).map_or(&nobody, |ongoing| ongoing);
                clocks::keep(port, schedule, &plan, payload_octets, ongoing)
            }
            Task::Give { .. } | Task::Take | Task::Client { .. } | Task::Server { .. } => {
                unreachable!("octets in bulk have no port of frames")
            }
            Task::Sink { attention, clock } => {
                let plan = SinkPlan {
                    experiment: schedule.mark(),
                    first_stream: self.stream,
                    streams: 1,
                    measured_ns: transmit_ns.saturating_add(phases.measure_from_ns)
                        ..transmit_ns.saturating_add(phases.measure_to_ns),
                    batches: phases.batches,
                    until_ns: schedule.until_ns(),
                    most_frames: u64::MAX,
                    memory: 1 << 16,
                    senders_clock: match clock.as_ref().and_then(|name| schedule.clocks.get(name)) {
                        Some(ongoing) => SendersClock::Ongoing(ongoing),
                        None => SendersClock::Equal,
                    },
                    attention: *attention,
                };
                let mut counted =
                    account::of_sunk(&sink(port, time, face, &plan, stop)?, transmit_ns);
                counted["clock"] = json!(clock);
                Ok(counted)
            }
            Task::Ask {
                source, draws: (seed, station), patience_ns, answerers, attention, ..
            } => {
                let plan = AskPlan {
                    experiment: schedule.mark(),
                    stream: self.stream,
                    answerers,
                    requests: Requests::Offered { source, seed: *seed, station: *station },
                    begin_ns: transmit_ns,
                    until_ns: transmit_ns.saturating_add(phases.transmit_ns),
                    batches: phases.batches,
                    most_requests: u64::MAX,
                    patience_ns: *patience_ns,
                    exchanges: MOST_EXCHANGES,
                    attention: *attention,
                };
                Ok(account::of_asked(&ask(port, time, face, &plan, stop)?))
            }
            Task::Echo { answers, attention } => {
                let asker = port.target();
                let plan = EchoPlan {
                    experiment: schedule.mark(),
                    stream: Some(self.stream),
                    may_answer: &|from| Some(from) == asker,
                    answers: answers.as_deref(),
                    until_ns: schedule.until_ns(),
                    most_answers: u64::MAX,
                    attention: *attention,
                };
                Ok(account::of_echoed(&echo(port, time, face, &plan, stop)?))
            }
        }
    }
}

/// Exchanges of times that an asker keeps for the relation of two clocks.
const MOST_EXCHANGES: usize = 20_000;
