//! What a test is, as people and programs write it: JSON in, checked whole, every fault at once.

use crate::result::Receivers;
use ethermeter_ethernet::{Carrier, Octets, frame};
use ethermeter_live::wire::{MARK_OCTETS, SPEECH_OCTETS, shortest_frame};
use ethermeter_station::consent::{Cast, FlowTransport, HIGHEST_PRIORITY, PortKind};
use ethermeter_station::experiment::{
    ExperimentPhases, LONGEST_BLOCK_OCTETS, read_file, read_responses, read_source,
};
use ethermeter_station::refusal::{ConsentRule, Refusal, refuse};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// A test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestDescription {
    /// With a station's number it determines every draw.
    pub(crate) seed: u64,
    pub(crate) agents: Vec<AgentEntry>,
    pub(crate) phases: ExperimentPhases,
    pub(crate) flows: Vec<FlowDescription>,
    #[serde(default)]
    pub(crate) clocks: ClockComparison,
}

/// When the clocks of senders of streams are compared with those of their receivers on the data
/// path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockComparison {
    /// Where they are not one.
    #[default]
    Compared,
    /// Even where they are one.
    AlwaysCompared,
    /// Never; delays between hosts mean nothing then.
    NotCompared,
}

/// An agent and where it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentEntry {
    pub name: String,
    pub control: SocketAddr,
    /// Address of the station for what is measured.
    pub address: IpAddr,
    /// The interface that flows use, for raw frames and groups in particular; that of the address
    /// without.
    #[serde(default)]
    pub interface: Option<String>,
}

/// Frames from one agent to another, or to several.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowDescription {
    pub name: String,
    pub from: String,
    pub to: Receivers,
    /// To how many stations each frame goes.
    #[serde(default)]
    pub cast: Cast,
    /// With which priority, 0 to 7, if any. Frames of raw ports are tagged then: four octets
    /// longer, as `traffic` says.
    #[serde(default)]
    pub priority: Option<u8>,
    /// By which port frames go.
    pub port: PortKind,
    /// The port's number at the receiver; any free one without.
    #[serde(default)]
    pub number: u16,
    /// What consent is asked for: bits per second, frames from destination address to FCS. Nothing
    /// faster is sent.
    pub most_bps: u64,
    /// Most frames per second of what is sent.
    pub most_frames_per_s: u64,
    /// Most bits per second that go back, which the sender grants: answers, or a server's octets.
    /// As much as there without.
    #[serde(default)]
    pub most_response_bps: Option<u64>,
    /// Most frames per second that go back.
    #[serde(default)]
    pub most_response_frames_per_s: Option<u64>,
    pub traffic: FlowTraffic,
    #[serde(default)]
    pub attention: ReceiverAttention,
    /// Congestion control at both ends of a TCP connection; the hosts' own without.
    #[serde(default)]
    pub congestion: Option<String>,
}

/// How a receiver waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiverAttention {
    /// It asks again and again.
    Spinning,
    /// It sleeps until something comes.
    #[default]
    Sleeping,
    /// It lets frames gather.
    Collecting,
}

impl ReceiverAttention {
    pub fn word(self) -> &'static str {
        match self {
            Self::Spinning => "spinning",
            Self::Sleeping => "sleeping",
            Self::Collecting => "collecting",
        }
    }
}

/// What a flow does.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FlowTraffic {
    /// A stream of what a source offers.
    Stream {
        /// Frame lengths, as in a plan.
        frames: Value,
        /// When frames come, as in a plan.
        arrivals: Value,
        /// Token bucket of the source or its shaper.
        #[serde(default)]
        shaping: Option<Value>,
        /// Messages of the trace that it replays.
        #[serde(default)]
        trace: Option<Value>,
        /// Whether the sender asks for real-time priority.
        #[serde(default)]
        real_time: bool,
        /// Whether many such senders share few processors, so that none spins for long.
        #[serde(default)]
        shares_processors: bool,
        /// Most frames between the sender's call and the end of their transmission, where an
        /// emulated medium gives credit.
        #[serde(default)]
        credit_frames: Option<u32>,
        /// The source begins at a draw below this after the transmission.
        #[serde(default)]
        spread_ps: u64,
    },
    Transfer {
        /// Octets in all; as many as go within the transmission without.
        #[serde(default)]
        octets: Option<u64>,
        /// Octets a call.
        #[serde(default = "common_block")]
        block_octets: u32,
    },
    /// Requests and their answers, one after the other.
    Exchange {
        /// Lengths of requests, as in a plan.
        frames: Value,
        /// When requests come, as in a plan; one that comes while another is without its answers
        /// waits for them.
        arrivals: Value,
        /// Token bucket of the shaper.
        #[serde(default)]
        shaping: Option<Value>,
        /// Messages of the trace that it replays.
        #[serde(default)]
        trace: Option<Value>,
        /// An answer that takes longer is lost.
        timeout_ns: u64,
        /// How long answers are and when they come.
        #[serde(default)]
        response: FlowResponse,
    },
    /// A file block by block, over TCP: `from` is the client, `to` the server.
    File {
        /// As in a plan.
        file: Value,
    },
}

/// How receivers answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowResponse {
    /// Lengths of answers, as in a plan; as long as their requests without.
    #[serde(default)]
    pub frames: Option<Value>,
    /// From a request's coming, or the answer before, to the answer, as in a plan; at once without.
    #[serde(default)]
    pub think: Option<Value>,
}

impl FlowResponse {
    /// As the protocol has it; empty of answers as long as their requests and at once.
    pub fn text(&self) -> String {
        let parts = [("frames", &self.frames), ("think", &self.think)];
        let given: serde_json::Map<String, Value> = parts
            .into_iter()
            .filter_map(|(name, part)| Some((name.to_owned(), part.clone()?)))
            .collect();
        if given.is_empty() { String::new() } else { Value::Object(given).to_string() }
    }

    /// What is wrong with it, by the agents' own rules.
    fn read(&self) -> Result<Option<Lengths>, Refusal> {
        match self.text().as_str() {
            "" => Ok(None),
            text => Ok(read_responses(text, 0, 0)?.frames),
        }
    }
}

impl FlowTraffic {
    /// How receivers answer, as the protocol has it.
    pub fn responses_text(&self) -> String {
        match self {
            Self::Exchange { response, .. } => response.text(),
            Self::Stream { .. } | Self::Transfer { .. } | Self::File { .. } => String::new(),
        }
    }
}

fn common_block() -> u32 {
    1 << 16
}

impl FlowDescription {
    /// By which kind of port, to how many.
    pub fn transport(&self) -> FlowTransport {
        FlowTransport { kind: self.port, cast: self.cast, priority: self.priority }
    }

    /// Octets of its longest frame; 0 of octets in bulk.
    pub fn longest_frame_octets(&self) -> u32 {
        match self.source_text().map(|text| read_source(&text)) {
            None => 0,
            Some(source) => source.map_or(u32::MAX, |source| longest_octets(&source.frames)),
        }
    }

    /// Octets of the longest answer's frame; 0 of octets in bulk.
    pub fn longest_response_octets(&self) -> u32 {
        match &self.traffic {
            FlowTraffic::Exchange { response, .. } => match response.read() {
                Ok(Some(frames)) => longest_octets(&frames),
                Ok(None) => self.longest_frame_octets(),
                Err(_) => u32::MAX,
            },
            FlowTraffic::Stream { .. }
            | FlowTraffic::Transfer { .. }
            | FlowTraffic::File { .. } => 0,
        }
    }

    /// What goes back may take of bits and frames per second.
    pub fn most_back(&self) -> (u64, u64) {
        let frames_per_s = self.most_response_frames_per_s.unwrap_or(self.most_frames_per_s);
        (self.most_response_bps.unwrap_or(self.most_bps), frames_per_s)
    }

    /// Octets of the shortest frame that holds a mark, and of the longest that its port has room
    /// for, tags included: a datagram of UDP counts as one frame, though IP may cut it up.
    fn frame_octets(&self, is_ipv4: bool) -> RangeInclusive<u32> {
        let carrier = self.transport().carrier(is_ipv4);
        // A tag is no part of what the MTU limits (802.3-2022 § 3.2.7).
        let tag = if carrier == Carrier::TaggedRaw { frame::TAG.0 } else { 0 };
        let octets = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let longest = u64::from(self.port.traits().longest_frame_octets) + tag;
        octets(shortest_frame(carrier).0)..=octets(longest)
    }

    /// Faults of a flow of voice; empty of other flows.
    fn voice_faults(&self, is_ipv4: bool) -> Vec<String> {
        let mut faults = Vec::new();
        let source = self.source_text().and_then(|text| read_source(&text).ok());
        let Some(voice) = source.and_then(|source| source.voice()) else { return faults };
        if !matches!(self.traffic, FlowTraffic::Stream { .. }) {
            return faults;
        }
        if !self.port.traits().knows_departures {
            faults.push(format!(
                "port = {:?}: must be {} with a coder, which needs to know when a packet has left",
                self.port.word(),
                PortKind::words(|traits| traits.knows_departures)
            ));
        }
        if self.cast != Cast::Unicast {
            faults.push(format!("cast = {:?}: must be \"unicast\" with a coder", self.cast.word()));
        }
        let carrier = self.transport().carrier(is_ipv4);
        let least = carrier.frame_of(Octets((MARK_OCTETS + SPEECH_OCTETS) as u64)).0;
        let most = u64::from(*self.frame_octets(is_ipv4).end());
        if voice.min_bits < 8 * least || voice.max_bits > 8 * most {
            faults.push(format!(
                "traffic.frames: must have min_bits of {} at least and max_bits of {} at most, got {} and {}",
                8 * least,
                8 * most,
                voice.min_bits,
                voice.max_bits
            ));
        }
        faults
    }

    /// The flow's source, as the protocol has it; none of octets in bulk.
    pub fn source_text(&self) -> Option<String> {
        match &self.traffic {
            FlowTraffic::Stream { frames, arrivals, shaping, trace, .. }
            | FlowTraffic::Exchange { frames, arrivals, shaping, trace, .. } => {
                let mut source = serde_json::json!({"frames": frames, "arrivals": arrivals});
                for (key, value) in [("shaping", shaping), ("trace", trace)] {
                    if let Some(value) = value {
                        source[key] = value.clone();
                    }
                }
                Some(source.to_string())
            }
            FlowTraffic::Transfer { .. } | FlowTraffic::File { .. } => None,
        }
    }
}

/// Octets of the longest of frames.
pub(crate) fn longest_octets(frames: &Lengths) -> u32 {
    u32::try_from(frames.range_bits().1.div_ceil(8)).unwrap_or(u32::MAX)
}

/// Octets of the shortest of frames.
fn shortest(frames: &Lengths) -> u32 {
    u32::try_from(frames.range_bits().0 / 8).unwrap_or(u32::MAX)
}

/// Refuse credit that cannot be: it goes to the interface of one sender of frames.
///
/// # Errors
/// By [`ConsentRule::Description`].
pub(crate) fn check_credit(transport: FlowTransport, frames: u32) -> Result<(), Refusal> {
    let has_frames = matches!(transport.kind, PortKind::Udp | PortKind::Packet);
    if has_frames && !transport.is_group() && (1..=MOST_CREDIT).contains(&frames) {
        return Ok(());
    }
    let value = format!("credit_frames {frames} by {transport}");
    let allowed = format!("1 to {MOST_CREDIT} by unicast udp or packet");
    refuse(ConsentRule::Description, value, allowed)
}

/// Refuse a spread that cannot be.
///
/// # Errors
/// By [`ConsentRule::Description`].
pub(crate) fn check_spread(spread_ps: u64) -> Result<(), Refusal> {
    if spread_ps <= LONGEST_SPREAD_PS {
        return Ok(());
    }
    let value = format!("spread_ps {spread_ps}");
    refuse(ConsentRule::Description, value, format!("at most {LONGEST_SPREAD_PS}"))
}

/// Frames that a sender may have ahead of an emulated medium.
const MOST_CREDIT: u32 = 4096;
/// Longest spread: 10 000 s.
const LONGEST_SPREAD_PS: u64 = 10_000_000_000_000_000;

/// The refusal of requests by a coder.
pub(crate) fn no_coder() -> Refusal {
    Refusal::new(
        ConsentRule::Description,
        "a coder",
        "requests that are saturated, regular, poisson or on_off",
    )
}

/// How names of flows begin that compare clocks.
pub const CLOCK_FLOW: &str = "clock ";
/// Longest name of an agent or a flow.
const LONGEST_NAME: usize = 64;

impl TestDescription {
    /// Read and check a test.
    ///
    /// # Errors
    /// With every fault, one a line: what, its value, what is allowed.
    pub fn parse(json: &str) -> Result<Self, String> {
        let test: Self = serde_json::from_str(json).map_err(|error| format!("test: {error}"))?;
        let faults = test.faults();
        if faults.is_empty() { Ok(test) } else { Err(faults.join("\n")) }
    }

    fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = Vec::new();
        faults.extend(self.phases.fault().map(|fault| format!("phases: {fault}")));
        if self.agents.is_empty() || self.flows.is_empty() {
            faults.push("agents, flows: must be at least one of each".into());
        }
        let mut names = BTreeSet::new();
        for agent in &self.agents {
            check_name(&agent.name, "agents", &mut names, &mut faults);
        }
        let mut flows = BTreeSet::new();
        let mut unshared = BTreeSet::new();
        for flow in &self.flows {
            let at = format!("flows.{}", flow.name);
            check_name(&flow.name, "flows", &mut flows, &mut faults);
            if flow.name.starts_with(CLOCK_FLOW) {
                faults.push(format!(
                    "{at}.name: must not begin with {CLOCK_FLOW:?}, as flows do that compare clocks"
                ));
            }
            self.check_ends(flow, &names, &mut faults);
            if !flow.port.traits().is_shared {
                for name in flow
                    .to
                    .names()
                    .iter()
                    .chain([&flow.from])
                    .filter(|&name| !unshared.insert((flow.port.word(), name.clone())))
                {
                    faults.push(format!(
                        "{at}.port = {:?}: must be the only flow of {name} with it, for a queue has one such socket",
                        flow.port.word()
                    ));
                }
            }
            if let Some(priority) = flow.priority.filter(|&priority| priority > HIGHEST_PRIORITY) {
                faults.push(format!("{at}.priority = {priority}: must be 0 to {HIGHEST_PRIORITY}"));
            }
            faults.extend(
                flow.transport().fault().map(|allowed| {
                    format!("{at}.cast = {:?}: must be {allowed}", flow.cast.word())
                }),
            );
            self.check_traffic(flow, &mut faults);
            if let FlowTraffic::Stream { credit_frames, spread_ps, .. } = flow.traffic {
                let credit = credit_frames.map(|frames| check_credit(flow.transport(), frames));
                let refusals = [credit, Some(check_spread(spread_ps))].into_iter().flatten();
                let refused = refusals.filter_map(Result::err);
                faults.extend(refused.map(|refusal| format!("{at}.traffic: {refusal}")));
            }
            let from = self.index_of(&flow.from);
            let is_ipv4 = from.is_none_or(|index| self.agents[index].address.is_ipv4());
            faults.extend(
                flow.voice_faults(is_ipv4).into_iter().map(|fault| format!("{at}.{fault}")),
            );
        }
        faults
    }

    /// What is wrong with what a flow does.
    fn check_traffic(&self, flow: &FlowDescription, faults: &mut Vec<String>) {
        let at = format!("flows.{}", flow.name);
        if let Some(name) = flow.congestion.as_ref().filter(|_| flow.port != PortKind::Tcp) {
            faults.push(format!(
                "{at}.congestion = {name:?}: must not be given with port {:?}",
                flow.port.word()
            ));
        }
        if matches!(flow.traffic, FlowTraffic::Transfer { .. } | FlowTraffic::File { .. })
            && flow.port != PortKind::Tcp
        {
            faults.push(format!(
                "{at}.port = {:?}: must be \"tcp\" for a transfer",
                flow.port.word()
            ));
        }
        let mut check = |key: &str, frames: &Lengths| {
            let is_ipv4 = self.agents.iter().find(|agent| agent.name == flow.from);
            let allowed = flow.frame_octets(is_ipv4.is_none_or(|agent| agent.address.is_ipv4()));
            if !allowed.contains(&longest_octets(frames)) || !allowed.contains(&shortest(frames)) {
                let (least, most) = allowed.into_inner();
                faults
                    .push(format!("{at}.traffic{key}: frames must be of {least} to {most} octets"));
            }
        };
        let refusals = match &flow.traffic {
            FlowTraffic::Transfer { octets, block_octets } => {
                let is_fine = (1..=LONGEST_BLOCK_OCTETS).contains(&(*block_octets as usize))
                    && *octets != Some(0);
                let allowed = format!("at least 1 octet, in blocks of 1 to {LONGEST_BLOCK_OCTETS}");
                if !is_fine {
                    faults.push(format!("{at}.traffic: must have {allowed}"));
                }
                vec![]
            }
            FlowTraffic::File { file } => vec![("", read_file(&file.to_string()).map(|_| ()))],
            FlowTraffic::Stream { .. } | FlowTraffic::Exchange { .. } => {
                let source = flow.source_text().map(|text| read_source(&text)).transpose();
                let mut refusals = match source {
                    Ok(Some(source)) => {
                        check("", &source.frames);
                        let is_asked = matches!(flow.traffic, FlowTraffic::Exchange { .. });
                        let is_voice =
                            is_asked && matches!(source.arrivals, Arrivals::Coder { .. });
                        vec![("", if is_voice { Err(no_coder()) } else { Ok(()) })]
                    }
                    Ok(None) => vec![],
                    Err(refusal) => vec![("", Err(refusal))],
                };
                if let FlowTraffic::Exchange { response, .. } = &flow.traffic {
                    match response.read() {
                        Ok(Some(frames)) => check(".response", &frames),
                        Ok(None) => {}
                        Err(refusal) => refusals.push((".response", Err(refusal))),
                    }
                }
                refusals
            }
        };
        for (key, refusal) in refusals {
            faults.extend(refusal.err().map(|refusal| format!("{at}.traffic{key}: {refusal}")));
        }
    }

    /// Faults in the sender and the receivers.
    fn check_ends(&self, flow: &FlowDescription, names: &BTreeSet<&str>, faults: &mut Vec<String>) {
        let at = format!("flows.{}", flow.name);
        let receivers = flow.to.names();
        for (key, name) in
            [("from", &flow.from)].into_iter().chain(receivers.iter().map(|name| ("to", name)))
        {
            if !names.contains(name.as_str()) {
                faults.push(format!("{at}.{key} = {name:?}: must be the name of an agent"));
            }
        }
        if receivers.contains(&flow.from) {
            faults
                .push(format!("{at}.to = {:?}: must be another agent than its sender", flow.from));
        }
        let is_number_fine =
            if flow.cast == Cast::Unicast { receivers.len() == 1 } else { !receivers.is_empty() };
        if !is_number_fine {
            let allowed = "one agent of unicast, and at least one of multicast and broadcast";
            faults.push(format!("{at}.to: {} agents; must be {allowed}", receivers.len()));
        }
        let agent = |name: &String| self.agents.iter().find(|agent| agent.name == *name);
        let addresses: Vec<IpAddr> = [&flow.from]
            .into_iter()
            .chain(receivers)
            .filter_map(agent)
            .map(|agent| agent.address)
            .collect();
        let Some(first) = addresses.first() else { return };
        if let Some(other) = addresses.iter().find(|other| other.is_ipv4() != first.is_ipv4()) {
            faults.push(format!("{at}: {first} and {other} must be of one version of IP"));
        }
        if flow.cast != Cast::Unicast {
            let others: BTreeSet<&IpAddr> = addresses.iter().skip(1).collect();
            if others.len() + 1 < addresses.len() {
                faults.push(format!(
                    "{at}.to: receivers of a group must have addresses of their own"
                ));
            }
            if flow.cast == Cast::Broadcast && !flow.port.is_raw() && !first.is_ipv4() {
                faults.push(format!(
                    "{at}.cast = \"broadcast\": must be multicast or raw frames, for IPv6 has no broadcast"
                ));
            }
        }
    }

    /// Index of an agent in the list.
    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.agents.iter().position(|agent| agent.name == name)
    }
}

fn check_name<'a>(
    name: &'a str,
    of: &str,
    names: &mut BTreeSet<&'a str>,
    faults: &mut Vec<String>,
) {
    if name.is_empty() || name.len() > LONGEST_NAME {
        faults.push(format!("{of}.name = {name:?}: must have 1 to {LONGEST_NAME} octets"));
    }
    if !names.insert(name) {
        faults.push(format!("{of}.name = {name:?}: must be there only once"));
    }
}
