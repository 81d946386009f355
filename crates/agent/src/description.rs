//! What a test is, as people and programs write it: JSON in, checked whole, every fault at once.

use crate::consent::{Cast, PortKind, Way};
use crate::station::{read_source, Phases, LONGEST_BLOCK_OCTETS};
use ethermeter_ethernet::Octets;
use ethermeter_live::wire::{MARK_OCTETS, SPEECH_OCTETS};
use ethermeter_traffic::voice::VoiceSpec;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// A test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Its seed: with a station's number it determines every draw.
    pub seed: u64,
    /// The agents.
    pub agents: Vec<AgentEntry>,
    /// When what happens.
    pub phases: Phases,
    /// What is sent from whom to whom.
    pub flows: Vec<Flow>,
    /// When clocks are compared on the data path.
    #[serde(default)]
    pub clocks: Clocks,
}

/// When the clocks of senders of streams are compared with those of their receivers on the data path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clocks {
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
    /// Its name in this test.
    pub name: String,
    /// Where it listens to coordinators.
    pub control: SocketAddr,
    /// Its station's address for what is measured.
    pub address: IpAddr,
    /// The interface that flows use, for raw frames and groups in particular; that of the address without.
    #[serde(default)]
    pub interface: Option<String>,
}

/// Frames from one agent to another, or to several.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Who sends, or asks.
    pub from: String,
    /// Who receives, or answers.
    pub to: Receivers,
    /// To how many stations each frame goes.
    #[serde(default)]
    pub cast: Cast,
    /// By which port frames go.
    pub port: PortKind,
    /// The port's number at the receiver; any free one without.
    #[serde(default)]
    pub number: u16,
    /// What consent is asked for: bits per second, frames from destination address to FCS. Nothing faster is sent.
    pub most_bps: u64,
    /// The same in frames per second.
    pub most_frames_per_s: u64,
    /// What is done.
    pub traffic: Traffic,
    /// How the receiver waits.
    #[serde(default)]
    pub attention: Attention,
}

/// Names of the agents that receive: one, or a list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Receivers {
    /// One.
    One(String),
    /// Those who listen to a group.
    Many(Vec<String>),
}

impl Receivers {
    /// Their names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

/// How a receiver waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attention {
    /// It asks again and again.
    Spinning,
    /// It sleeps until something comes.
    #[default]
    Sleeping,
    /// It lets frames gather.
    Collecting,
}

impl Attention {
    /// Its word in the protocol.
    #[must_use]
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
pub enum Traffic {
    /// A stream of what a source offers.
    Stream {
        /// Frame lengths, as in a plan.
        frames: Value,
        /// When frames come, as in a plan.
        arrivals: Value,
        /// Whether the sender asks for real-time priority.
        #[serde(default)]
        real_time: bool,
    },
    /// Octets in bulk, over TCP.
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
        /// Octets of a frame, both ways.
        frame_octets: u32,
        /// Least time from one request to the next.
        #[serde(default)]
        interval_ns: u64,
        /// An answer that takes longer is lost.
        patience_ns: u64,
    },
}

fn common_block() -> u32 {
    1 << 16
}

impl Flow {
    /// By which kind of port, to how many.
    #[must_use]
    pub fn way(&self) -> Way {
        Way { kind: self.port, cast: self.cast }
    }

    /// Octets of its longest frame.
    #[must_use]
    pub fn longest_frame_octets(&self) -> u32 {
        match &self.traffic {
            Traffic::Exchange { frame_octets, .. } => *frame_octets,
            Traffic::Transfer { .. } => 0,
            Traffic::Stream { .. } => self
                .source_text()
                .and_then(|text| read_source(&text).ok())
                .and_then(|source| u32::try_from(source.frames.range_bits().1.div_ceil(8)).ok())
                .unwrap_or(u32::MAX),
        }
    }

    /// Octets of the shortest frame that holds a mark, and of the longest that its port has room for: a datagram of UDP counts as one frame, though IP may cut it up.
    fn frame_octets(&self) -> std::ops::RangeInclusive<u32> {
        let longest = match self.port {
            PortKind::Udp | PortKind::Tcp => 65_553,
            PortKind::Packet => 9018,
            PortKind::Xdp => 1518,
        };
        SHORTEST..=longest
    }

    /// What is wrong with it as voice.
    fn voice_faults(&self, voice: &VoiceSpec, test: &Test) -> Vec<String> {
        let mut faults = Vec::new();
        if !matches!(self.port, PortKind::Udp | PortKind::Packet) {
            faults.push(format!(
                "port = {:?}: must be \"udp\" or \"packet\" with a coder, for of others nobody can tell when a packet has left",
                self.port.word()
            ));
        }
        if self.cast != Cast::Unicast {
            faults.push(format!("cast = {:?}: must be \"unicast\" with a coder", self.cast.word()));
        }
        let is_ipv4 = test.place_of(&self.from).is_none_or(|place| test.agents[place].address.is_ipv4());
        let carrier = self.port.carrier(is_ipv4);
        let least = carrier.frame_of(Octets((MARK_OCTETS + SPEECH_OCTETS) as u64)).0;
        let most = u64::from(*self.frame_octets().end());
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

    /// Its source, as the protocol has it; none of an exchange.
    #[must_use]
    pub fn source_text(&self) -> Option<String> {
        match &self.traffic {
            Traffic::Stream { frames, arrivals, .. } => {
                Some(serde_json::json!({"frames": frames, "arrivals": arrivals}).to_string())
            }
            Traffic::Exchange { .. } | Traffic::Transfer { .. } => None,
        }
    }
}

/// Octets of the shortest frame that holds a mark.
const SHORTEST: u32 = 64;
/// How names of flows begin that compare clocks.
pub const CLOCK_FLOW: &str = "clock ";
/// Longest name of an agent or a flow.
const LONGEST_NAME: usize = 64;

impl Test {
    /// Read and check a test.
    ///
    /// # Errors
    /// With every fault, one a line: what, its value, what is allowed.
    pub fn parse(json: &str) -> Result<Self, String> {
        let test: Self = serde_json::from_str(json).map_err(|error| format!("test: {error}"))?;
        let faults = test.faults();
        if faults.is_empty() {
            Ok(test)
        } else {
            Err(faults.join("\n"))
        }
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
        let mut xdp = BTreeSet::new();
        for flow in &self.flows {
            let at = format!("flows.{}", flow.name);
            check_name(&flow.name, "flows", &mut flows, &mut faults);
            if flow.name.starts_with(CLOCK_FLOW) {
                faults.push(format!("{at}.name: must not begin with {CLOCK_FLOW:?}, as flows do that compare clocks"));
            }
            self.check_ends(flow, &names, &mut faults);
            if flow.port == PortKind::Xdp {
                for name in flow.to.names().iter().chain([&flow.from]).filter(|&name| !xdp.insert(name.clone())) {
                    faults.push(format!(
                        "{at}.port = \"xdp\": must be the only flow of {name} with it, for a queue has one XDP socket"
                    ));
                }
            }
            faults.extend(
                flow.way().fault().map(|allowed| format!("{at}.cast = {:?}: must be {allowed}", flow.cast.word())),
            );
            let source = flow.source_text().map(|text| read_source(&text));
            if let Some(Err(refusal)) = source {
                faults.push(format!("{at}.traffic: {refusal}"));
            } else if let Some(voice) = source.and_then(Result::ok).and_then(|source| source.voice()) {
                faults.extend(flow.voice_faults(&voice, self).into_iter().map(|fault| format!("{at}.{fault}")));
            } else if let Traffic::Transfer { octets, block_octets } = &flow.traffic {
                if flow.port != PortKind::Tcp {
                    faults.push(format!("{at}.port = {:?}: must be \"tcp\" for a transfer", flow.port.word()));
                }
                if !(1..=LONGEST_BLOCK_OCTETS).contains(&(*block_octets as usize)) || *octets == Some(0) {
                    faults.push(format!(
                        "{at}.traffic: must have at least 1 octet, in blocks of 1 to {LONGEST_BLOCK_OCTETS}"
                    ));
                }
            } else if !flow.frame_octets().contains(&flow.longest_frame_octets()) {
                let (least, most) = flow.frame_octets().into_inner();
                faults.push(format!("{at}.traffic: frames must be of {least} to {most} octets"));
            }
        }
        faults
    }

    /// What is wrong with who sends and who receives.
    fn check_ends(&self, flow: &Flow, names: &BTreeSet<&str>, faults: &mut Vec<String>) {
        let at = format!("flows.{}", flow.name);
        let receivers = flow.to.names();
        for (key, name) in [("from", &flow.from)].into_iter().chain(receivers.iter().map(|name| ("to", name))) {
            if !names.contains(name.as_str()) {
                faults.push(format!("{at}.{key} = {name:?}: must be the name of an agent"));
            }
        }
        if receivers.contains(&flow.from) {
            faults.push(format!("{at}.to = {:?}: must be another agent than its sender", flow.from));
        }
        let is_number_fine = if flow.cast == Cast::Unicast { receivers.len() == 1 } else { !receivers.is_empty() };
        if !is_number_fine {
            let allowed = "one agent of unicast, and at least one of multicast and broadcast";
            faults.push(format!("{at}.to: {} agents; must be {allowed}", receivers.len()));
        }
        let agent = |name: &String| self.agents.iter().find(|agent| agent.name == *name);
        let addresses: Vec<IpAddr> =
            [&flow.from].into_iter().chain(receivers).filter_map(agent).map(|agent| agent.address).collect();
        let Some(first) = addresses.first() else { return };
        if let Some(other) = addresses.iter().find(|other| other.is_ipv4() != first.is_ipv4()) {
            faults.push(format!("{at}: {first} and {other} must be of one version of IP"));
        }
        if flow.cast != Cast::Unicast {
            let others: BTreeSet<&IpAddr> = addresses.iter().skip(1).collect();
            if others.len() + 1 < addresses.len() {
                faults.push(format!("{at}.to: receivers of a group must have addresses of their own"));
            }
            if flow.cast == Cast::Broadcast && !flow.port.is_raw() && !first.is_ipv4() {
                faults.push(format!(
                    "{at}.cast = \"broadcast\": must be multicast or raw frames, for IPv6 has no broadcast"
                ));
            }
        }
    }

    /// An agent's place in the list.
    #[must_use]
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.agents.iter().position(|agent| agent.name == name)
    }
}

fn check_name<'a>(name: &'a str, of: &str, names: &mut BTreeSet<&'a str>, faults: &mut Vec<String>) {
    if name.is_empty() || name.len() > LONGEST_NAME {
        faults.push(format!("{of}.name = {name:?}: must have 1 to {LONGEST_NAME} octets"));
    }
    if !names.insert(name) {
        faults.push(format!("{of}.name = {name:?}: must be there only once"));
    }
}
