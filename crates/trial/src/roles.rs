//! What hosts do in a test between them: the traffic of its flows, and the role that each host plays
//! in one.
//!
//! Where roles send to, how fast and for how long is in grants, not here.

use crate::transfer::File;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::coder::VoiceSpec;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Shaping, SourceSpec, Trace};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Phases of an experiment, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExperimentPhases {
    /// Silence before the transmission; receivers listen.
    pub settle_ns: u64,
    /// How long frames are offered.
    pub transmit_ns: u64,
    /// Begin of the measured window, since the beginning of the transmission.
    pub measure_from_ns: u64,
    /// End of the measured window; what arrives then is not measured.
    pub measure_to_ns: u64,
    /// How long receivers still listen afterwards.
    pub drain_ns: u64,
    /// Batches of the measured window.
    #[serde(default = "one")]
    pub batches: u32,
}

/// Maximum number of batches, as in a simulation.
const MOST_BATCHES: u32 = 1000;

fn one() -> u32 {
    1
}

impl ExperimentPhases {
    /// From the beginning to the end of the drain.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.settle_ns.saturating_add(self.transmit_ns).saturating_add(self.drain_ns)
    }

    /// How long it is measured, in picoseconds.
    #[must_use]
    pub fn measured_ps(&self) -> u64 {
        self.measure_to_ns.saturating_sub(self.measure_from_ns).saturating_mul(1000)
    }

    /// What is wrong with them, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let Self { transmit_ns, measure_from_ns, measure_to_ns, batches, .. } = self;
        let is_fine = measure_from_ns < measure_to_ns && measure_to_ns <= transmit_ns;
        let of_window = (!is_fine).then(|| {
            format!("measured from {measure_from_ns} to {measure_to_ns} ns: must be a time within the {transmit_ns} ns of the transmission")
        });
        let of_batches = (!(1..=MOST_BATCHES).contains(batches))
            .then(|| format!("batches = {batches}: must be from 1 to {MOST_BATCHES}"));
        let faults: Vec<String> = of_window.into_iter().chain(of_batches).collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }
}

/// What a flow does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FlowTraffic {
    /// Messages without responses.
    Stream(Box<MessageStream>),
    /// Octets over TCP.
    Transfer(BulkTransfer),
    /// Requests and their responses, one after the other.
    Exchange(Box<Exchange>),
    /// A file, block by block, over TCP. The flow's sender is the client, its receiver the server.
    File(Box<FileTransfer>),
}

/// Messages that a source offers to a station, as in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MessageSource {
    /// Lengths of the messages' frames, destination address to FCS.
    pub frames: Lengths,
    /// When they come.
    pub arrivals: Arrivals,
    /// Token bucket of the source or its shaper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaping: Option<Shaping>,
    /// Messages of the trace that it replays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceMessages>,
}

/// Messages of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TraceMessages {
    /// Time from each message to the next; before them, that of the first.
    pub gaps_ps: Vec<u64>,
    /// Index of the length of each message among those of the flow; empty if lengths are drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<u16>,
}

/// Messages without responses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MessageStream {
    /// What the sender is offered.
    pub source: MessageSource,
    /// Whether the sender asks for real-time priority.
    #[serde(default)]
    pub real_time: bool,
    /// Whether many such senders share few processors, so that none spins for long.
    #[serde(default)]
    pub shares_processors: bool,
    /// Most frames between the sender's call and the end of their transmission, where an emulated
    /// medium says when that is.
    #[serde(default)]
    pub credit_frames: Option<u32>,
    /// The source begins at a draw below this after the transmission.
    #[serde(default)]
    pub spread_ps: u64,
}

/// Octets over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkTransfer {
    /// Octets in all; as many as go within the transmission without.
    #[serde(default)]
    pub octets: Option<u64>,
    /// Octets a call.
    #[serde(default = "common_block")]
    pub block_octets: u32,
}

fn common_block() -> u32 {
    1 << 16
}

/// Requests and their responses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The requests. One that comes while another is without its responses waits for them.
    pub source: MessageSource,
    /// A response that takes longer is lost.
    pub timeout_ns: u64,
    /// How receivers respond.
    #[serde(default)]
    pub response: Responses,
}

/// How receivers respond.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Responses {
    /// Lengths of responses' frames, destination address to FCS; as long as their requests without.
    #[serde(default)]
    pub frames: Option<Lengths>,
    /// From a request's arrival, or the response before, to the response: one is thought about at a
    /// time. At once without.
    #[serde(default)]
    pub think: Times,
}

/// A file that a client and a server transfer block by block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FileTransfer {
    /// The file.
    pub file: File,
}

/// How a role waits for what arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReceiveMode {
    /// It asks again and again: fastest, and takes a whole processor.
    Spinning,
    /// It sleeps until something comes.
    #[default]
    Sleeping,
    /// It sleeps for a while, then takes what has come meanwhile: cheapest for all, since no
    /// process is woken for each frame. Times of arrival are then right only if the kernel stamps
    /// them. Roles that answer sleep instead.
    Collecting,
}

/// What determines every draw of a role: those of a simulated station with the same are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draws {
    /// Seed of the experiment.
    pub seed: u64,
    /// Number of the station.
    pub station: u32,
}

/// What a host does in a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RoleTask {
    /// Send what a source offers.
    Send(Box<MessageStream>),
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
        /// The requests.
        exchange: Box<Exchange>,
        /// How it waits.
        attention: ReceiveMode,
    },
    /// Respond to one requester.
    Respond {
        /// How long responses are and when they come.
        response: Box<Responses>,
        /// How it waits.
        attention: ReceiveMode,
    },
    /// Write octets in bulk.
    SendBulk(BulkTransfer),
    /// Read octets in bulk.
    ReceiveBulk,
    /// Request the blocks of a file.
    Client(Box<FileTransfer>),
    /// Answer with the blocks of a file.
    Server(Box<FileTransfer>),
}

impl RoleTask {
    /// Whether it uses the port that was opened for the flow when it was granted.
    #[must_use]
    pub fn receives(&self) -> bool {
        !matches!(self, Self::Send(_) | Self::SendBulk(_))
    }

    /// Whether it sends, for which a receiver has to grant it the right.
    #[must_use]
    pub fn sends(&self) -> bool {
        !matches!(self, Self::Sink { .. } | Self::ReceiveBulk)
    }

    /// The word for it in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Send(_) => "sender",
            Self::Sink { .. } => "sink",
            Self::Request { .. } => "requester",
            Self::Respond { .. } => "responder",
            Self::SendBulk(_) => "bulk-sender",
            Self::ReceiveBulk => "bulk-receiver",
            Self::Clock => "clock",
            Self::Client(_) => "client",
            Self::Server(_) => "server",
        }
    }
}

/// Least mean time between messages, samples, or changes between on and off. A source counts what
/// it offers one by one, in less time than this, so that no coordinator makes a host count for
/// longer than it has granted. No host sends frames as fast.
const LEAST_MEAN_PS: f64 = 10_000.0;

impl MessageSource {
    /// The source, with its trace.
    ///
    /// # Errors
    /// With what does not go together, or is out of range.
    pub fn spec(&self) -> Result<SourceSpec, String> {
        let Self { frames, shaping, trace, .. } = self;
        let mut arrivals = self.arrivals.clone();
        if let Some(what) = frames.fault().or_else(|| arrivals.fault()) {
            return Err(what);
        }
        if let Some(mean_ps) = arrivals.least_mean_ps().filter(|&ps| ps < LEAST_MEAN_PS) {
            return Err(format!(
                "arrivals: mean times must be at least {LEAST_MEAN_PS} ps, got {mean_ps} ps"
            ));
        }
        if let Some(trace) = trace {
            let lengths = frames.given_bits().len();
            if arrivals.missing_trace().is_none() {
                return Err("trace: must not be given without arrivals of a trace".into());
            }
            let given =
                trace.read(lengths).and_then(|trace| arrivals.give(&Arc::new(trace), lengths));
            given.map_err(|what| format!("trace: {what}"))?;
        }
        if arrivals.missing_trace().is_some() {
            return Err("trace: must be given with arrivals of a trace".into());
        }
        let has_coder = matches!(arrivals, Arrivals::Coder { .. });
        match shaping {
            Some(shaping) => {
                if let Some(what) = shaping.fault(frames) {
                    return Err(format!("shaping: {what}"));
                }
                if has_coder {
                    return Err("shaping: must not be given with a coder".into());
                }
            }
            None if matches!(arrivals, Arrivals::TokenBucket { .. }) => {
                return Err("shaping: must be given with token_bucket arrivals".into());
            }
            None => {}
        }
        let spec = SourceSpec {
            frames: frames.clone(),
            arrivals,
            generator: None,
            queue_frames: None,
            service: Times::default(),
            shaping: shaping.clone(),
        };
        match spec.voice() {
            Some(voice) => match voice.fault().or_else(|| voice_fault(&voice)) {
                Some(what) => Err(what),
                None => Ok(spec),
            },
            None if has_coder || matches!(frames, Lengths::Samples { .. }) => {
                Err("frames and arrivals: frames are samples with a coder, and with nothing else"
                    .into())
            }
            None => Ok(spec),
        }
    }
}

/// What of a coder's packets cannot be sent.
fn voice_fault(voice: &VoiceSpec) -> Option<String> {
    if voice.fixed.is_some() {
        return Some("frames: must have no buffers: a host sends packets that grow".into());
    }
    let VoiceSpec { sample_bits, overhead_bits, min_bits, .. } = voice;
    let is_whole = [sample_bits, overhead_bits, min_bits].iter().all(|bits| bits.is_multiple_of(8));
    (!is_whole).then(|| {
        format!("sample_bits, overhead_bits and min_bits must be whole octets, got {sample_bits}, {overhead_bits} and {min_bits}")
    })
}

impl TraceMessages {
    fn read(&self, lengths: usize) -> Result<Trace, String> {
        let add = |sum: &mut u64, gap_ps: &u64| {
            *sum = sum.saturating_add(*gap_ps);
            Some(*sum)
        };
        let times_ps = self.gaps_ps.iter().scan(0, add).collect();
        Trace::new(times_ps, self.kinds.clone(), lengths)
    }
}

/// Octets a call in a transfer, at most.
pub const LONGEST_BLOCK_OCTETS: u32 = 1 << 20;
/// Requests of a file that may be without an answer, at most: what an agent keeps of each takes
/// memory.
const MOST_AHEAD: u32 = 4096;
/// Octets of a block, a request or an answer of a file, at most.
const MOST_OCTETS: u64 = 1 << 40;

impl BulkTransfer {
    /// What is wrong with it, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let is_fine =
            (1..=LONGEST_BLOCK_OCTETS).contains(&self.block_octets) && self.octets != Some(0);
        let allowed = format!("at least 1 octet, in blocks of 1 to {LONGEST_BLOCK_OCTETS}");
        (!is_fine).then(|| format!("must have {allowed}"))
    }
}

impl FileTransfer {
    /// What of the file is beyond the limits of hosts, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let file = &self.file;
        for (name, octets) in [
            ("octets", file.octets.unwrap_or(1)),
            ("block_octets", file.block_octets),
            ("request_octets", file.request_octets),
            ("answer_octets", file.answer_octets),
        ] {
            if !(1..=MOST_OCTETS).contains(&octets) {
                return Some(format!("{name} must be from 1 to {MOST_OCTETS}, got {octets}"));
            }
        }
        if !(1..=MOST_AHEAD).contains(&file.ahead) {
            return Some(format!("ahead must be from 1 to {MOST_AHEAD}, got {}", file.ahead));
        }
        file.client.fault().or_else(|| file.server.fault())
    }
}

impl Responses {
    /// What is wrong with them, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let of_think = || self.think.fault().map(|fault| format!("think: {fault}"));
        self.frames.as_ref().and_then(Lengths::fault).or_else(of_think)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(source: &Value) -> Result<SourceSpec, String> {
        let source: Result<MessageSource, _> = serde_json::from_value(source.clone());
        source.map_err(|error| error.to_string())?.spec()
    }

    fn traced(trace: &Value) -> Result<SourceSpec, String> {
        let arrivals = json!({"kind": "trace", "sha256": "0".repeat(64), "messages": 3, "offset_ps": 0,
            "repeat_ps": 100_000, "mean_ps": 1e9, "scv": 1.0, "envelope": []});
        let frames = json!({"kind": "mix", "bits": [512, 1024], "weights": [2.0, 1.0]});
        read(&json!({"frames": frames, "arrivals": arrivals, "trace": trace}))
    }

    #[test]
    fn a_source_replays_the_trace_that_it_is_given_with_the_lengths_it_was_granted() {
        let spec =
            traced(&json!({"gaps_ps": [1, 0, 90_000], "kinds": [0, 1, 1]})).expect("a source");
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
            let fault = traced(&trace).expect_err("a fault");
            assert!(fault.contains(why), "{trace}: {fault}");
        }
    }

    #[test]
    fn a_source_that_would_take_longer_to_count_than_its_run_is_refused() {
        let read = |arrivals: &Value| {
            let frames = if arrivals["kind"] == "coder" {
                json!({"kind": "samples", "overhead_bits": 368, "min_bits": 608, "max_bits": 8000})
            } else {
                json!({"kind": "fixed", "bits": 512})
            };
            read(&json!({"frames": frames, "arrivals": arrivals}))
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
            let fault = read(&arrivals).expect_err("a fault");
            assert!(fault.contains("must be at least 10000 ps"), "{arrivals}: {fault}");
        }
        for arrivals in [
            json!({"kind": "regular", "period_ps": 10_000}),
            on_off(10_000, 1.0, 9999.0),
            json!({"kind": "coder", "sample_bits": 8, "sample_ps": 10_000, "spurts": null}),
        ] {
            read(&arrivals).expect("a source");
        }
    }

    #[test]
    fn a_file_beyond_the_limits_of_hosts_is_refused_with_what_is_allowed() {
        for (key, value) in [
            ("block_octets", "0"),
            ("octets", "0"),
            ("request_octets", "0"),
            ("ahead", "0"),
            ("ahead", "5000"),
        ] {
            let text = r#"{"file": {"direction": "write", "octets": 1, "block_octets": 1, "request_octets": 1,
                "answer_octets": 1, "ahead": 1}}"#;
            let wrong = text.replace(&format!("\"{key}\": 1"), &format!("\"{key}\": {value}"));
            let file: FileTransfer = serde_json::from_str(&wrong).expect("a file");
            let fault = file.fault().expect("a fault");
            assert!(fault.contains(key) && fault.contains(value), "{fault}");
        }
    }

    #[test]
    fn responses_are_as_long_as_requests_and_at_once_where_nothing_else_is_given() {
        let responses: Responses = serde_json::from_value(json!({})).expect("responses");
        assert_eq!(responses, Responses { frames: None, think: Times::Constant { ps: 0 } });
        for (responses, expected) in [
            (json!({"think": {"kind": "uniform", "low_ps": 5, "high_ps": 3}}), "ordered times"),
            (json!({"frames": {"kind": "mix", "bits": [800], "weights": []}}), "weights"),
        ] {
            let responses: Responses = serde_json::from_value(responses).expect("responses");
            let fault = responses.fault().expect("a fault");
            assert!(fault.contains(expected), "{fault}");
        }
        let unknown = serde_json::from_value::<Responses>(json!({"thinks": 1}));
        assert!(unknown.expect_err("refused").to_string().contains("thinks"));
    }
}
