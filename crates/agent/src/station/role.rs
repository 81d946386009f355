//! What a station does in an experiment, on real ports.

use super::door::{Door, Place};
use super::{account, Phases};
use crate::consent::Permit;
use crate::gate::{Conditions, Gate, Seen};
use crate::leash::Leash;
use crate::refusal::{Refusal, Rule};
use ethermeter_live::pacing::{Pacer, PriorityGuard};
use ethermeter_live::port::{Address, Port};
use ethermeter_live::roles::{ask, echo, send, sink, AskPlan, Attention, EchoPlan, SendPlan, SinkPlan};
use ethermeter_live::{Error, Face, HostTime, Timeline};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::SourceSpec;
use serde::Deserialize;
use serde_json::{json, Value};
use std::sync::Arc;

/// When and under what an experiment runs.
#[derive(Clone)]
pub(super) struct Schedule {
    pub experiment: u64,
    pub begin_ns: u64,
    pub phases: Phases,
    pub leash: Arc<Leash>,
    pub seen: Arc<Seen>,
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
#[derive(Clone, Debug)]
pub enum Task {
    /// Send what a source offers.
    Send {
        /// What may be sent, and where.
        permit: Permit,
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
    },
    /// Ask and time the answers.
    Ask {
        /// What may be sent, and where.
        permit: Permit,
        /// Octets of a request's frame.
        frame_octets: u32,
        /// Least time between requests.
        interval_ns: u64,
        /// An answer that takes longer is lost.
        patience_ns: u64,
        /// Stations of a group that answer; none of one station.
        answerers: Vec<Address>,
        /// How it waits.
        attention: Attention,
    },
    /// Answer one asker.
    Echo {
        /// What may be sent, and where: the asker.
        permit: Permit,
        /// How it waits.
        attention: Attention,
    },
}

impl Task {
    /// Whether it uses the port that was opened for the flow when it was granted.
    #[must_use]
    pub fn receives(&self) -> bool {
        !matches!(self, Self::Send { .. })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Send { .. } => "send",
            Self::Sink { .. } => "sink",
            Self::Ask { .. } => "ask",
            Self::Echo { .. } => "echo",
        }
    }

    fn permit(&self) -> Option<Permit> {
        match self {
            Self::Send { permit, .. } | Self::Ask { permit, .. } | Self::Echo { permit, .. } => Some(*permit),
            Self::Sink { .. } => None,
        }
    }
}

/// A role: a task in a flow.
#[derive(Clone, Debug)]
pub struct RolePlan {
    /// The flow.
    pub flow: String,
    /// Its number in the mark of frames.
    pub stream: u16,
    /// Where it is.
    pub place: Place,
    /// The task.
    pub task: Task,
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
    let fault = |what: String| Refusal::new(Rule::Description, what, "frames and arrivals as in a plan");
    let SourceText { frames, arrivals } = serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
    match frames.fault().or_else(|| arrivals.fault()) {
        Some(what) => Err(fault(what)),
        None => {
            Ok(SourceSpec { frames, arrivals, generator: None, queue_frames: None, service: Times::Constant { ps: 0 } })
        }
    }
}

impl RolePlan {
    /// The door of a role that does not use the one opened when the flow was granted.
    pub(super) fn open(&self) -> Result<Door, Refusal> {
        let Task::Send { permit, source, .. } = &self.task else {
            return Err(Refusal::new(Rule::ConsentMissing, &self.flow, "a flow that was granted here"));
        };
        let (_, most_bits) = source.frames.range_bits();
        let longest_payload = self.place.payload_octets(most_bits).ok_or_else(|| {
            Refusal::new(Rule::Description, format!("frames of {most_bits} bits"), "whole octets with room for a mark")
        })?;
        self.place.to_send(permit.target, longest_payload)
    }

    /// The door that was opened when the flow was granted at `granted`, made fit for this role.
    pub(super) fn fit(&self, door: Door, granted: &Place) -> Result<Door, Refusal> {
        match &self.task {
            Task::Ask { .. } if self.place.way.is_group() => door.to_group(granted),
            Task::Echo { .. } if granted.way.is_group() => door.answering(granted),
            _ => Ok(door),
        }
    }

    /// Do it; what came of it, or why nothing did.
    pub(super) fn run(&self, port: Door, schedule: &Schedule) -> Value {
        let mut result = json!({"flow": self.flow, "role": self.task.name()});
        match self.play(port, schedule) {
            Ok(counted) => result["counted"] = counted,
            Err(error) => result["error"] = json!(error.to_string()),
        }
        result
    }

    fn play(&self, port: Door, schedule: &Schedule) -> Result<Value, Error> {
        let conditions = Conditions {
            permit: self.task.permit(),
            begin_ns: schedule.begin_ns,
            leash: &schedule.leash,
            time: &HostTime,
            seen: &schedule.seen,
        };
        let mode = port.mode();
        let mut gate = Gate::new(port, conditions)?;
        let mut counted = self.perform(&mut gate, schedule)?;
        counted["held_back"] = json!(gate.held_back());
        counted["port"] = json!(gate.counters()?);
        counted["mode"] = mode;
        Ok(counted)
    }

    fn perform<T: Timeline>(&self, port: &mut Gate<'_, Door, T>, schedule: &Schedule) -> Result<Value, Error> {
        let (time, face, stop) = (&HostTime, Face::of_epoch(0), schedule.leash.flag());
        let (transmit_ns, phases) = (schedule.transmit_ns(), schedule.phases);
        match &self.task {
            Task::Send { source, seed, station, real_time, .. } => {
                let plan = SendPlan {
                    experiment: schedule.mark(),
                    stream: self.stream,
                    source,
                    seed: *seed,
                    station: *station,
                    begin_ns: transmit_ns,
                    duration_ns: phases.transmit_ns,
                    most_frames: u64::MAX,
                    pacer: Pacer::default(),
                };
                let priority = real_time.then(PriorityGuard::fifo_where_allowed);
                let sent = send(port, time, face, &plan, stop)?;
                Ok(account::of_sent(&sent, transmit_ns, priority.map(|guard| guard.priority())))
            }
            Task::Sink { attention } => {
                let plan = SinkPlan {
                    experiment: schedule.mark(),
                    first_stream: self.stream,
                    streams: 1,
                    measured_ns: transmit_ns.saturating_add(phases.measure_from_ns)
                        ..transmit_ns.saturating_add(phases.measure_to_ns),
                    until_ns: schedule.until_ns(),
                    most_frames: u64::MAX,
                    memory: 1 << 16,
                    senders_clock: None,
                    attention: *attention,
                };
                Ok(account::of_sunk(&sink(port, time, face, &plan, stop)?, transmit_ns))
            }
            Task::Ask { frame_octets, interval_ns, patience_ns, answerers, attention, .. } => {
                let bits = u64::from(*frame_octets) * 8;
                let plan = AskPlan {
                    experiment: schedule.mark(),
                    stream: self.stream,
                    answerers,
                    payload_octets: self.place.payload_octets(bits).unwrap_or(0), // which `ask` refuses
                    begin_ns: transmit_ns,
                    until_ns: transmit_ns.saturating_add(phases.transmit_ns),
                    requests: u64::MAX,
                    interval_ns: *interval_ns,
                    patience_ns: *patience_ns,
                    exchanges: MOST_EXCHANGES,
                    attention: *attention,
                };
                Ok(account::of_asked(&ask(port, time, face, &plan, stop)?))
            }
            Task::Echo { permit, attention } => {
                let asker = permit.target;
                let plan = EchoPlan {
                    experiment: schedule.mark(),
                    stream: Some(self.stream),
                    may_answer: &|from| from == asker,
                    payload_octets: None,
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
