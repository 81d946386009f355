//! A network as a plan writes it (docs/formats.md), and what is wrong with its values. What is
//! wrong with its shape: [`super::plant`].

use super::clocks::scenario::{ClockSpec, Comparing};
use super::transfer::scenario::Transfer;
use crate::scenario::{fault, read_line, Error, Phases};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::source::Generator;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::voice::VoiceSpec;
use ethermeter_traffic::SourceSpec;
use serde::{Deserialize, Serialize};

/// Longest time that a value may be, 1000 s.
pub(super) const LONGEST_PS: u64 = 1_000_000_000_000_000;

/// Most parts of a measured window.
const MOST_BATCHES: u32 = 1000;

/// One line of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Seed of every draw.
    pub seed: u64,
    /// What to simulate.
    pub scenario: Scenario,
}

impl Trial {
    /// Read a line of a plan.
    ///
    /// # Errors
    /// If it is not JSON of the right shape, or not for this engine.
    pub fn from_line(line: &str) -> Result<Self, Error> {
        let (seed, scenario) = read_line(line)?;
        Ok(Self { seed, scenario })
    }
}

/// A network, who sends what over it, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Nodes and links.
    pub network: Network,
    /// Applications.
    pub flows: Vec<Flow>,
    /// When what happens.
    pub phases: Phases,
    /// Equal parts of the measured window.
    #[serde(default = "usual_batches")]
    pub batches: u32,
}

/// Of plans that do not say.
fn usual_batches() -> u32 {
    20
}

/// Nodes and links: a forest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Hosts, switches, routers, hubs.
    pub nodes: Vec<Node>,
    /// Cables.
    pub links: Vec<Link>,
    /// Whether receivers of streams compare clocks with their senders, where one of the two has a
    /// clock.
    #[serde(default)]
    pub clocks: Comparing,
}

/// A named node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Unique.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[allow(clippy::large_enum_variant)] // a thousand of them at most
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// The end of a link, with applications.
    Host(Host),
    /// Forwards by addresses that it learns.
    Switch(Switch),
    /// Forwards between networks, at a cost for each frame.
    Router(Router),
    /// Joins half-duplex links into one collision domain.
    Hub(Hub),
}

/// A host: what a frame passes between application and wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Stages from the application to the wire.
    #[serde(default)]
    pub send: Vec<Stage>,
    /// Stages from the wire to the application.
    #[serde(default)]
    pub receive: Vec<Stage>,
    /// Messages that an application may have between its call and the end of the wire.
    #[serde(default)]
    pub ring: Option<u32>,
    /// Octets after which the first receiving stage may begin; all of the frame without.
    #[serde(default)]
    pub overlap_octets: Option<u64>,
    /// Memory for frames that are received, until the application has them, and flow control.
    #[serde(default)]
    pub buffer: Option<Buffer>,
    /// Its clock; one that is never wrong without.
    #[serde(default)]
    pub clock: Option<ClockSpec>,
}

/// Something that frames pass one by one, first come, first served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// For people.
    pub name: String,
    /// Stages of one node with the same resource wait for each other; a stage has its own without.
    #[serde(default)]
    pub resource: Option<String>,
    /// Time for each frame.
    #[serde(default)]
    pub fixed_ps: u64,
    /// Time for each octet of the frame.
    #[serde(default)]
    pub ps_per_octet: u64,
    /// Octets more than the frame's (or fewer: a bus does not carry the check sequence).
    #[serde(default)]
    pub extra_octets: i64,
    /// Time for each burst of so many octets, begun ones included.
    #[serde(default)]
    pub burst: Option<Burst>,
    /// Octets after which the next stage may begin; it cannot end before this one. All of the frame
    /// without.
    #[serde(default)]
    pub overlap_octets: Option<u64>,
    /// Time until the next stage has it, in which this one is free again.
    #[serde(default)]
    pub delay_ps: u64,
    /// Room, the frame in service included; what finds it full is dropped. Unlimited without.
    #[serde(default)]
    pub queue_frames: Option<u32>,
    /// Frames that have passed wait for each other: an interrupt for several.
    #[serde(default)]
    pub coalesce: Option<Coalesce>,
}

/// When frames that wait for each other go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coalesce {
    /// When there are so many, …
    pub frames: u32,
    /// … or so long after the first.
    pub ps: u64,
}

/// Transfers in bursts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Longest burst.
    pub octets: u64,
    /// Cost of each.
    pub ps: u64,
}

/// Memory for what a port receives. A frame is in it from its last bit in until its last bit out,
/// or until the application has it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// What finds no room for itself is dropped.
    pub octets: u64,
    /// PAUSE frames (802.3-2022 annex 31B); none without.
    #[serde(default)]
    pub pause: Option<Pause>,
}

/// When a port asks its peer for silence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Above so much it asks, …
    pub high_octets: u64,
    /// … at so little it lets the peer go on.
    pub low_octets: u64,
    /// For how long it asks, in units of 512 bits; asked again at half of it.
    pub quanta: u16,
}

/// A switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// What it knows.
    pub learning: Learning,
    /// Octets of a frame after which it may go on; all of it without.
    #[serde(default)]
    pub overlap_octets: Option<u64>,
    /// What each port does with a frame that it receives.
    #[serde(default)]
    pub ingress: Option<Stage>,
    /// What lies between ports.
    #[serde(default)]
    pub fabric: Fabric,
    /// Room at each port out, in frames, the one being sent included.
    #[serde(default)]
    pub queue_frames: Option<u32>,
    /// The same in octets.
    #[serde(default)]
    pub queue_octets: Option<u64>,
    /// Memory of each port in, and flow control.
    #[serde(default)]
    pub buffer: Option<Buffer>,
}

/// What a switch knows of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Learning {
    /// Where everybody is, from the start.
    #[default]
    Known,
    /// Nothing at first; the source of each frame from then on.
    Learns {
        /// An address that was not heard for so long is forgotten.
        age_ps: u64,
        /// Room for so many addresses.
        addresses: u32,
    },
}

/// What lies between the ports of a switch.
#[allow(clippy::large_enum_variant)] // one a switch
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fabric {
    /// Frames come at once to the port out.
    #[default]
    Ideal,
    /// All frames pass one backplane.
    Shared(Stage),
    /// Modules of ports on a crossbar.
    Crossbar {
        /// Between ports of one module.
        local: Option<Stage>,
        /// From a module to the crossbar.
        inward: Stage,
        /// From the crossbar to a module.
        outward: Stage,
    },
}

/// A router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// What all frames pass, one by one.
    pub forward: Stage,
    /// Room at each port out, in frames, the one being sent included.
    #[serde(default)]
    pub queue_frames: Option<u32>,
}

/// A hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hub {
    /// From one link to another.
    #[serde(default)]
    pub delay_ps: u64,
}

/// A cable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it joins.
    pub ends: [End; 2],
    /// Duration of an octet.
    pub ps_per_octet: u64,
    /// One-way propagation.
    #[serde(default)]
    pub delay_ps: u64,
    /// Preamble and delimiter.
    #[serde(default = "preamble_octets")]
    pub preamble_octets: u64,
    /// Inter-frame gap.
    #[serde(default = "gap_octets")]
    pub gap_octets: u64,
    /// Whether only one end may send at a time.
    #[serde(default)]
    pub half_duplex: bool,
}

// 802.3-2022 § 3.2.1, 3.2.2: seven octets of preamble and the delimiter.
fn preamble_octets() -> u64 {
    8
}

// 802.3-2022 § 4.4.2: interPacketGap 96 bits.
fn gap_octets() -> u64 {
    12
}

/// An end of a cable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Name of the node.
    pub node: String,
    /// Module of the switch that has the port.
    #[serde(default)]
    pub module: u32,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// For people.
    pub name: String,
    /// Host that begins.
    pub from: String,
    /// Hosts for which it is.
    pub to: Vec<String>,
    /// How those are addressed.
    #[serde(default)]
    pub address: Address,
    /// Lengths of messages; of a transfer not given.
    #[serde(default = "no_lengths")]
    pub frames: Lengths,
    /// What a length means.
    #[serde(default)]
    pub framing: Framing,
    /// Of a coder, what people call it: its packets do not depend on it, how they are rated does.
    #[serde(default)]
    pub codec: Option<String>,
    /// When messages come; of a transfer not given.
    #[serde(default = "no_arrivals")]
    pub arrivals: Arrivals,
    /// The process behind a saturated source.
    #[serde(default)]
    pub generator: Option<Generator>,
    /// Room for messages, the one being handed over included.
    #[serde(default)]
    pub queue_frames: Option<u32>,
    /// Host time between messages.
    #[serde(default = "none")]
    pub service: Times,
    /// What each receiver answers; nothing without.
    #[serde(default)]
    pub response: Option<Response>,
    /// Data over TCP in place of messages.
    #[serde(default)]
    pub transfer: Option<Transfer>,
}

fn none() -> Times {
    Times::Constant { ps: 0 }
}

// What is not given, in a form that nobody gives: neither is valid.
fn no_lengths() -> Lengths {
    Lengths::Fixed { bits: 0 }
}

fn no_arrivals() -> Arrivals {
    Arrivals::Regular { period_ps: 0, phase_ps: None }
}

/// How receivers are addressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// One host.
    #[default]
    Unicast,
    /// A group: switches send it everywhere, interfaces of others ignore it.
    Multicast,
    /// Everybody: it costs every host, whoever wants it.
    Broadcast,
}

/// What the length of a message means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Framing {
    /// A frame, destination address to FCS.
    #[default]
    Frame,
    /// The data of a UDP datagram, in as many IP fragments as are needed.
    Udp {
        /// Longest IP packet.
        mtu_octets: u64,
    },
}

/// An answer to each message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// Its length.
    pub frames: Lengths,
    /// From the message's coming, or the last answer's leaving the process, to the answer.
    pub think: Times,
    /// The sender waits no longer for answers.
    #[serde(default)]
    pub timeout_ps: Option<u64>,
}

impl Flow {
    /// What its source offers.
    #[must_use]
    pub fn source_spec(&self) -> SourceSpec {
        // A transfer's is never asked.
        let arrivals =
            if self.transfer.is_some() { Arrivals::Saturated {} } else { self.arrivals.clone() };
        SourceSpec {
            frames: self.frames.clone(),
            arrivals,
            generator: self.generator.clone(),
            queue_frames: self.queue_frames,
            service: self.service.clone(),
        }
    }

    /// Its coder and the lengths of its packets, if it is voice.
    #[must_use]
    pub fn voice(&self) -> Option<VoiceSpec> {
        self.source_spec().voice()
    }

    /// Frames of a message of `octets`: their lengths, destination address to FCS, how much of it
    /// is padding, and whether it is the last.
    pub(super) fn frames_of(&self, octets: u64, mut each: impl FnMut(u32, u8, bool)) {
        frames_of(self.framing, octets, &mut each);
    }

    /// A transfer has nothing that messages have.
    fn check_transfer(&self, transfer: &Transfer, key: &str) -> Result<(), Error> {
        let others = [
            ("frames", self.frames == no_lengths()),
            ("arrivals", self.arrivals == no_arrivals()),
            ("generator", self.generator.is_none()),
            ("queue_frames", self.queue_frames.is_none()),
            ("service", self.service == none()),
            ("framing", self.framing == Framing::Frame),
            ("codec", self.codec.is_none()),
            ("response", self.response.is_none()),
            ("address", self.address == Address::Unicast),
        ];
        if let Some((name, _)) = others.iter().find(|(_, is_absent)| !is_absent) {
            return Err(fault(format!("{key}.{name}"), "must not be given with transfer"));
        }
        transfer.check(&format!("{key}.transfer"))
    }

    /// Data in a message whose frames have `octets` together, `padding` in the last of its
    /// `pieces`: of UDP, or of its frame.
    #[inline]
    pub(super) fn data_of(&self, octets: u64, pieces: u16, padding: u8) -> u64 {
        let around = match self.framing {
            Framing::Frame => FRAME_OCTETS,
            Framing::Udp { .. } => {
                u64::from(pieces) * (FRAME_OCTETS + IP_HEADER) + UDP_HEADER + u64::from(padding)
            }
        };
        octets.saturating_sub(around)
    }

    /// A coder and packets of its samples, which go in one frame each to one host.
    fn check_voice(&self, key: &str) -> Result<(), Error> {
        let at = |what: &str| format!("{key}.{what}");
        let Some(voice) = self.voice() else {
            return Err(fault(
                at("arrivals"),
                "must be of kind coder where frames are samples or codec is given, and frames samples with a coder",
            ));
        };
        let others = [
            ("generator", self.generator.is_none()),
            ("queue_frames", self.queue_frames.is_none()),
            ("response", self.response.is_none()),
        ];
        if let Some((name, _)) = others.iter().find(|(_, is_absent)| !is_absent) {
            return Err(fault(at(name), "must not be given with a coder"));
        }
        if self.address != Address::Unicast {
            return Err(fault(
                at("address"),
                format!("must be unicast with a coder, got {:?}", self.address),
            ));
        }
        if let Some(what) = self.frames.fault().or_else(|| voice.fault()) {
            return Err(fault(at("frames"), what));
        }
        let (least, most) = match self.framing {
            Framing::Frame => (FRAME_OCTETS, MOST_OCTETS),
            Framing::Udp { mtu_octets } => {
                (0, MOST_OCTETS.min(mtu_octets.saturating_sub(IP_HEADER + UDP_HEADER)))
            }
        };
        let bits = [voice.overhead_bits, voice.min_bits, voice.max_bits];
        if bits.iter().any(|bits| bits % 8 != 0)
            || voice.overhead_bits < 8 * least
            || voice.max_bits > 8 * most
        {
            return Err(fault(
                at("frames"),
                format!(
                    "must be whole octets, overhead_bits at least {} and max_bits at most {} so that a packet goes in one frame, got {:?}",
                    8 * least,
                    8 * most,
                    self.frames
                ),
            ));
        }
        if voice.sample_bits % 8 != 0 {
            return Err(fault(
                at("arrivals"),
                format!("must have sample_bits of whole octets, got {}", voice.sample_bits),
            ));
        }
        Ok(())
    }

    pub(super) fn check(&self, key: &str) -> Result<(), Error> {
        let at = |what: &str| format!("{key}.{what}");
        if let Some(transfer) = &self.transfer {
            return self.check_transfer(transfer, key);
        }
        for (name, is_given) in
            [("frames", self.frames != no_lengths()), ("arrivals", self.arrivals != no_arrivals())]
        {
            if !is_given {
                return Err(fault(
                    at(name),
                    "must be given, and not be 0, where there is no transfer",
                ));
            }
        }
        if let Framing::Udp { mtu_octets } = self.framing {
            if !(68..=65_535).contains(&mtu_octets) {
                return Err(fault(
                    at("framing.udp.mtu_octets"),
                    format!("must be from 68 to 65535, got {mtu_octets}"),
                ));
            }
        }
        let has_coder = matches!(self.arrivals, Arrivals::Coder { .. });
        if has_coder || matches!(self.frames, Lengths::Samples { .. }) || self.codec.is_some() {
            self.check_voice(key)?;
        } else {
            check_lengths(&self.frames, &at("frames"))?;
        }
        for (name, wrong) in
            [("arrivals", self.arrivals.fault()), ("service", self.service.fault())]
        {
            if let Some(what) = wrong {
                return Err(fault(at(name), what));
            }
        }
        if let Some(generator) = &self.generator {
            if self.arrivals != (Arrivals::Saturated {})
                || !(1..=1_000_000).contains(&generator.buffers)
            {
                return Err(fault(
                    at("generator"),
                    "needs saturated arrivals and from 1 to 1000000 buffers",
                ));
            }
            if let Some(what) = generator.time.fault() {
                return Err(fault(at("generator.time"), what));
            }
        }
        if let Some(room) = self.queue_frames {
            if self.arrivals == (Arrivals::Saturated {}) || !(1..=1_000_000).contains(&room) {
                return Err(fault(
                    at("queue_frames"),
                    format!(
                        "must be from 1 to 1000000, and not with saturated arrivals, got {room}"
                    ),
                ));
            }
        }
        let Some(response) = &self.response else { return Ok(()) };
        check_lengths(&response.frames, &at("response.frames"))?;
        if let Some(what) = response.think.fault() {
            return Err(fault(at("response.think"), what));
        }
        match response.timeout_ps {
            Some(ps) if !(1..=LONGEST_PS).contains(&ps) => Err(fault(
                at("response.timeout_ps"),
                format!("must be from 1 ps to 1000 s, got {ps}"),
            )),
            _ => Ok(()),
        }
    }
}

fn check_lengths(lengths: &Lengths, key: &str) -> Result<(), Error> {
    if let Some(what) = lengths.fault() {
        return Err(fault(key, what));
    }
    let bits = match lengths {
        Lengths::Fixed { bits } => std::slice::from_ref(bits),
        Lengths::Mix { bits, .. } => bits,
        Lengths::Samples { .. } => {
            return Err(fault(
                key,
                "must be fixed or mix here: samples are what a coder's packets have",
            ))
        }
    };
    if let Some(odd) = bits.iter().find(|bits| **bits % 8 != 0 || **bits > 8 * MOST_OCTETS) {
        return Err(fault(key, format!("must be whole octets, at most 65507, got {odd} bits")));
    }
    Ok(())
}

/// Data of the longest datagram, and the longest frame.
const MOST_OCTETS: u64 = 65_507;
/// Octets around the data of the shortest frame: addresses, type, check sequence; 802.3-2022 § 3.2.
const FRAME_OCTETS: u64 = 18;
const SHORTEST_FRAME: u64 = 64;
const IP_HEADER: u64 = 20;
const UDP_HEADER: u64 = 8;

/// Cut a message into frames: length, how much of it is padding, and whether it is the last.
fn frames_of(framing: Framing, octets: u64, each: &mut impl FnMut(u32, u8, bool)) {
    let length = |octets: u64| u32::try_from(octets).expect("below 65536 and headers");
    match framing {
        Framing::Frame => each(length(octets), 0, true),
        Framing::Udp { mtu_octets } => {
            let mut padded = |octets: u64, is_last: bool| {
                let padding = SHORTEST_FRAME.saturating_sub(octets);
                each(
                    length(octets + padding),
                    u8::try_from(padding).expect("less than a shortest frame"),
                    is_last,
                );
            };
            let mut left = octets + UDP_HEADER;
            let most = mtu_octets - IP_HEADER;
            while left > most {
                // Offsets of fragments count in units of 8 octets (RFC 791).
                let piece = most / 8 * 8;
                padded(piece + IP_HEADER + FRAME_OCTETS, false);
                left -= piece;
            }
            padded(left + IP_HEADER + FRAME_OCTETS, true);
        }
    }
}

impl Stage {
    pub(super) fn check(&self, key: &str) -> Result<(), Error> {
        for (name, ps) in [
            ("fixed_ps", self.fixed_ps),
            ("ps_per_octet", self.ps_per_octet),
            ("delay_ps", self.delay_ps),
        ] {
            let most = if name == "ps_per_octet" { 1_000_000_000 } else { 1_000_000_000_000 };
            if ps > most {
                return Err(fault(
                    format!("{key}.{name}"),
                    format!("must be at most {most}, got {ps}"),
                ));
            }
        }
        if self.overlap_octets.is_some_and(|octets| octets > 65_536) {
            return Err(fault(
                format!("{key}.overlap_octets"),
                format!("must be at most 65536, got {:?}", self.overlap_octets),
            ));
        }
        if !(-64..=65_536).contains(&self.extra_octets) {
            return Err(fault(
                format!("{key}.extra_octets"),
                format!("must be from -64 to 65536, got {}", self.extra_octets),
            ));
        }
        match self.burst {
            Some(burst) if burst.octets == 0 || burst.ps > 1_000_000_000_000 => {
                return Err(fault(
                    format!("{key}.burst"),
                    format!("must be of at least 1 octet and cost at most 1 s, got {burst:?}"),
                ));
            }
            _ => {}
        }
        match self.coalesce {
            Some(c)
                if c.frames == 0
                    || !(1..=1_000_000_000_000).contains(&c.ps)
                    || self.overlap_octets.is_some() =>
            {
                return Err(fault(
                    format!("{key}.coalesce"),
                    format!("must be of at least 1 frame and from 1 ps to 1 s, and not with overlap_octets, got {c:?}"),
                ));
            }
            _ => {}
        }
        if self.queue_frames == Some(0) || (self.queue_frames.is_some() && self.resource.is_some())
        {
            return Err(fault(
                format!("{key}.queue_frames"),
                "must be at least 1, and only where the stage has a resource of its own".to_owned(),
            ));
        }
        Ok(())
    }
}

impl Buffer {
    pub(super) fn check(&self, key: &str) -> Result<(), Error> {
        if !(64..=1 << 40).contains(&self.octets) {
            return Err(fault(
                format!("{key}.octets"),
                format!("must be from 64 to 2^40, got {}", self.octets),
            ));
        }
        let Some(pause) = self.pause else { return Ok(()) };
        if !(pause.low_octets <= pause.high_octets
            && pause.high_octets < self.octets
            && pause.quanta > 0)
        {
            return Err(fault(
                format!("{key}.pause"),
                format!(
                    "must have low_octets ≤ high_octets < the buffer's {} and quanta of at least 1, got {pause:?}",
                    self.octets
                ),
            ));
        }
        Ok(())
    }
}

/// The phases in order, and within 213 days.
pub(super) fn check_phases(phases: &Phases) -> Result<(), Error> {
    let p = phases;
    let ordered = p.begin_ps <= p.stop_ps
        && p.stop_ps <= p.end_ps
        && p.begin_ps <= p.measure_from_ps
        && p.measure_from_ps < p.measure_to_ps
        && p.measure_to_ps <= p.end_ps
        && p.end_ps <= 1 << 62
        && p.spread_ps <= LONGEST_PS;
    if ordered {
        return Ok(());
    }
    Err(fault("phases", format!("must be ordered begin ≤ stop ≤ end and begin ≤ measure_from < measure_to ≤ end, with a spread of at most 1000 s, got {p:?}")))
}

/// No more parts of the measured window than it has picoseconds.
pub(super) fn check_batches(batches: u32, phases: &Phases) -> Result<(), Error> {
    let most = (phases.measure_to_ps - phases.measure_from_ps).min(u64::from(MOST_BATCHES));
    if batches > 0 && u64::from(batches) <= most {
        return Ok(());
    }
    Err(fault("batches", format!("must be from 1 to {most}, got {batches}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_thousand_octets_go_in_four_fragments() {
        // 5008 octets of UDP in packets of 1480: three full ones and 568 octets.
        let mut frames = Vec::new();
        frames_of(Framing::Udp { mtu_octets: 1500 }, 5000, &mut |octets, _, last| {
            frames.push((octets, last))
        });
        assert_eq!(frames, [(1518, false), (1518, false), (1518, false), (568 + 38, true)]);
    }

    #[test]
    fn a_datagram_that_just_fits_goes_in_one_frame() {
        let mut frames = Vec::new();
        frames_of(Framing::Udp { mtu_octets: 1500 }, 1472, &mut |octets, _, last| {
            frames.push((octets, last))
        });
        assert_eq!(frames, [(1518, true)]);
    }

    #[test]
    fn a_datagram_of_one_octet_is_padded_to_the_shortest_frame() {
        // 1 + 8 of UDP, 20 of IP, 18 of Ethernet: 47 octets.
        let mut frames = Vec::new();
        frames_of(Framing::Udp { mtu_octets: 1500 }, 1, &mut |octets, padding, last| {
            frames.push((octets, padding, last));
        });
        assert_eq!(frames, [(64, 17, true)]);
    }
}
