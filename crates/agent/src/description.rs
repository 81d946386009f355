//! What a test is, as people and programs write it: JSON in, checked whole, every fault at once.

use crate::result::Receivers;
use ethermeter_ethernet::{Carrier, Octets, frame};
use ethermeter_net::wire::{MARK_OCTETS, SPEECH_OCTETS, shortest_frame};
use ethermeter_station::consent::{Cast, FlowTransport, HIGHEST_PRIORITY, PortKind};
use ethermeter_station::refusal::{ConsentRule, Refusal, refuse};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_trial::roles::{
    ExperimentPhases, FlowTraffic, MessageSource, MessageStream, ReceiveMode,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// A test.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// To how many stations responses go: to who asked, or to the group that was asked, who asked
    /// among it.
    #[serde(default)]
    pub response_cast: Cast,
    pub traffic: FlowTraffic,
    #[serde(default)]
    pub attention: ReceiveMode,
    /// Congestion control at both ends of a TCP connection; the hosts' own without.
    #[serde(default)]
    pub congestion: Option<String>,
}

impl FlowDescription {
    /// By which kind of port, to how many.
    pub fn transport(&self) -> FlowTransport {
        FlowTransport { kind: self.port, cast: self.cast, priority: self.priority }
    }

    /// What its sender is offered; none of octets in bulk.
    fn source(&self) -> Option<&MessageSource> {
        match &self.traffic {
            FlowTraffic::Stream(stream) => Some(&stream.source),
            FlowTraffic::Exchange(exchange) => Some(&exchange.source),
            FlowTraffic::Transfer(_) | FlowTraffic::File(_) => None,
        }
    }

    /// Octets of its longest frame; 0 of octets in bulk.
    pub fn longest_frame_octets(&self) -> u32 {
        self.source().map_or(0, |source| longest_octets(&source.frames))
    }

    /// Octets of the longest response's frame; 0 of flows without responses.
    pub fn longest_response_octets(&self) -> u32 {
        let FlowTraffic::Exchange(exchange) = &self.traffic else { return 0 };
        let frames = exchange.response.frames.as_ref().unwrap_or(&exchange.source.frames);
        longest_octets(frames)
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
        let FlowTraffic::Stream(stream) = &self.traffic else { return faults };
        let voice = stream.source.spec().ok().and_then(|spec| spec.voice());
        let Some(voice) = voice else { return faults };
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
                "traffic.source.frames: must have min_bits of {} at least and max_bits of {} at most, got {} and {}",
                8 * least,
                8 * most,
                voice.min_bits,
                voice.max_bits
            ));
        }
        faults
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

/// Refuse credit that cannot be (it goes to the interface of one sender of frames), and a spread that
/// cannot be.
///
/// # Errors
/// By [`ConsentRule::Description`].
pub(crate) fn check_stream(
    transport: FlowTransport,
    stream: &MessageStream,
) -> Result<(), Refusal> {
    let &MessageStream { credit_frames, spread_ps, .. } = stream;
    let has_frames = matches!(transport.kind, PortKind::Udp | PortKind::Packet);
    let has_credit = has_frames && !transport.is_group();
    if let Some(frames) = credit_frames
        && !(has_credit && (1..=MOST_CREDIT).contains(&frames))
    {
        let value = format!("credit_frames {frames} by {transport}");
        let allowed = format!("1 to {MOST_CREDIT} by unicast udp or packet");
        return refuse(ConsentRule::Description, value, allowed);
    }
    if spread_ps > LONGEST_SPREAD_PS {
        let value = format!("spread_ps {spread_ps}");
        return refuse(ConsentRule::Description, value, format!("at most {LONGEST_SPREAD_PS}"));
    }
    Ok(())
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
            let untagged = FlowTransport { priority: None, ..flow.transport() };
            faults.extend(
                untagged.fault().map(|allowed| {
                    format!("{at}.cast = {:?}: must be {allowed}", flow.cast.word())
                }),
            );
            self.check_traffic(flow, &mut faults);
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
        if matches!(flow.traffic, FlowTraffic::Transfer(_) | FlowTraffic::File(_))
            && flow.port != PortKind::Tcp
        {
            faults.push(format!(
                "{at}.port = {:?}: must be \"tcp\" for a transfer",
                flow.port.word()
            ));
        }
        let answers_group = flow.response_cast != Cast::Unicast;
        let has_responses = matches!(flow.traffic, FlowTraffic::Exchange(_));
        if answers_group && (!has_responses || flow.response_cast != flow.cast) {
            faults.push(format!(
                "{at}.response_cast = {:?}: must be \"unicast\", or of an exchange the cast of its requests: {:?}",
                flow.response_cast.word(),
                flow.cast.word()
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
        let mut found: Vec<(&str, String)> = Vec::new();
        if let Some(source) = flow.source() {
            match source.spec() {
                Ok(spec) => check(".source", &spec.frames),
                Err(what) => found.push((".source", what)),
            }
        }
        match &flow.traffic {
            FlowTraffic::Stream(stream) => {
                let refused = check_stream(flow.transport(), stream).err();
                found.extend(refused.map(|refusal| ("", refusal.to_string())));
            }
            FlowTraffic::Exchange(exchange) => {
                if matches!(exchange.source.arrivals, Arrivals::Coder { .. }) {
                    found.push((".source", no_coder().to_string()));
                }
                match (exchange.response.fault(), &exchange.response.frames) {
                    (Some(what), _) => found.push((".response", what)),
                    (None, Some(frames)) => check(".response", frames),
                    (None, None) => {}
                }
            }
            FlowTraffic::Transfer(transfer) => {
                found.extend(transfer.fault().map(|what| ("", what)));
            }
            FlowTraffic::File(transfer) => {
                found.extend(transfer.fault().map(|what| (".file", what)));
            }
        }
        faults.extend(found.into_iter().map(|(key, what)| format!("{at}.traffic{key}: {what}")));
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
