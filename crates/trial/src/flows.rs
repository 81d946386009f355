//! Flows: what an application sends from one host to others, or onto a medium.

use crate::fault::{Checked, Fault, Faults};
use crate::limits::{LONGEST_PS, MOST_QUEUED};
use crate::transfer::Transfer;
use ethermeter_ethernet::frame::{IPV4_HEADER, OVERHEAD, SHORTEST, TAG, UDP_HEADER};
use ethermeter_traffic::admission::Calls;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::coder::VoiceSpec;
use ethermeter_traffic::generator::Generator;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Shaping, SourceSpec};
use ethermeter_trial_macros::table;
use serde::{Deserialize, Serialize};

/// A flow: what an application on one host sends to others, or onto its medium.
#[table(together)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name for messages.
    pub name: String,
    /// Name of the sending node, a host; if it stands for several, each has such a flow.
    pub from: String,
    /// Names of the receiving hosts; none on a medium.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// Addressing: "unicast" is a flow to each of the receivers, "multicast" and "broadcast" send
    /// each message to all of them.
    #[serde(default)]
    #[file(key = "cast")]
    pub address: Address,
    /// Lengths of messages; must be absent with a transfer.
    #[serde(default = "no_lengths")]
    #[file(key = "frames|data", skip)]
    pub frames: Lengths,
    /// What the length of a message means.
    #[serde(default)]
    #[file(key = "")]
    pub framing: Framing,
    /// Name of the codec of a coder: it determines how the calls are rated, not the packets.
    #[serde(default)]
    #[file(key = "arrivals.coder.codec")]
    pub codec: Option<String>,
    /// When messages come; must be absent with a transfer.
    #[serde(default = "no_arrivals")]
    #[file(skip)]
    pub arrivals: Arrivals,
    /// Process that fills the buffers of a saturated host; there is always a message if absent.
    #[serde(default)]
    pub generator: Option<Generator>,
    /// Room of the queue at the source in messages, the one being handed over included; not with
    /// saturated arrivals, a token bucket or a coder.
    #[serde(default)]
    #[file(key = "queue", unit = "room", least = 1, most = MOST_QUEUED)]
    pub queue_frames: Option<u32>,
    /// Host time between two messages.
    #[serde(default)]
    pub service: Times,
    /// Responses of the receivers; none if absent.
    #[serde(default)]
    pub response: Option<Response>,
    /// Data over TCP instead of messages; excludes `frames`, `data`, `mtu`, `arrivals`,
    /// `generator`, `queue`, `service`, `response`, `shaper` and `deadline`.
    #[serde(default)]
    pub transfer: Option<Transfer>,
    /// Priority code point of all frames of the flow, whose tag is 4 octets. If absent the frames
    /// have no tag, which counts as priority 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[file(least = 0, most = 7)]
    pub priority: Option<u8>,
    /// Token bucket in which messages wait at the host; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<Shaper>,
    /// Longest delay that a message may have, up to 1000 s: from its arrival at the source to that
    /// of its last frame at the receiver or, onto a medium, to the end of its transmission. Messages
    /// beyond it are counted, not discarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[file(key = "deadline", unit = "time", least = 1, most = LONGEST_PS)]
    pub deadline_ps: Option<u64>,
    /// Calls, in which alone it sends, for simulations of a segment only; it sends all the time if
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Calls>,
}

/// A token bucket, full at the begin of its source; messages of a flow wait for it in order.
///
/// The volume of a message is that of its frames on the wire of the sender: preambles, frames with
/// tags, and gaps.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// Rate at which the bucket fills.
    #[file(key = "rate", unit = "rate", least = 1, most = 1_000_000_000_000)]
    pub rate_bps: u64,
    /// Capacity of the bucket; at least the longest message.
    #[file(key = "burst", unit = "size", least = 1, most = 1 << 32)]
    pub burst_octets: u64,
}

// Absent values; neither is valid.
fn no_lengths() -> Lengths {
    Lengths::Fixed { bits: 0 }
}

fn no_arrivals() -> Arrivals {
    Arrivals::Regular { period_ps: 0, phase_ps: None, jitter_ps: None }
}

/// Destination address of a flow.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// One host.
    #[default]
    Unicast,
    /// A group: switches flood it, interfaces of other hosts ignore it.
    Multicast,
    /// All hosts: it costs every host.
    Broadcast,
}

/// What the length of a message means.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Framing {
    /// A frame, destination address to FCS.
    #[default]
    Frame,
    /// The data of a UDP datagram, in as many IP fragments as are needed.
    #[file(key = "")]
    Udp {
        /// Longest IP packet in octets.
        #[file(key = "mtu", unit = "size", least = 68, most = 65_535)]
        mtu_octets: u64,
    },
}

/// A response to each message.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// Lengths of responses.
    #[file(key = "frames|data")]
    pub frames: Lengths,
    /// Time between a request and its response; a receiver handles one request at a time.
    #[serde(default)]
    pub think: Times,
    /// Time after which the sender continues without the missing responses. If absent, a simulation
    /// has no timeout and a measurement one of 1 s.
    #[serde(default)]
    #[file(key = "timeout", unit = "time", least = 1, most = LONGEST_PS)]
    pub timeout_ps: Option<u64>,
    /// Addressing of responses. "unicast" is to the sender of the request, "broadcast" to all
    /// hosts, "multicast" to the sender and all receivers.
    #[serde(default)]
    #[file(key = "cast")]
    pub address: Address,
    /// When the sender sends a request again, for simulations only; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmit: Option<Retransmit>,
}

/// Retransmission of requests whose responses are not there, by a protocol above Ethernet.
#[table(together)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retransmit {
    /// Time from the first transmission to the second.
    #[file(key = "after", unit = "time", least = 1, most = LONGEST_PS)]
    pub after_ps: u64,
    /// Factor by which that time grows with each further transmission; 1 is a fixed time.
    #[serde(default = "fixed")]
    #[file(least = 1, most = 16)]
    pub factor: u32,
    /// Longest time between two transmissions; at least `after`. No limit if absent.
    #[serde(default)]
    #[file(key = "longest", unit = "time", least = 1, most = LONGEST_PS)]
    pub longest_ps: Option<u64>,
    /// Largest number of transmissions of a request, the first included; it is given up at the end
    /// of the time after the last. No limit if absent.
    #[serde(default)]
    #[file(least = 1, most = 1_000_000)]
    pub tries: Option<u32>,
    /// Whether the next request begins with the time that the last one came to, until one is
    /// answered after a single transmission (Karn and Partridge 1987, section 3); else each request
    /// begins with `after`.
    #[serde(default)]
    pub keep: bool,
}

fn fixed() -> u32 {
    1
}

impl Retransmit {
    /// Time until the next transmission, after it has grown so many times.
    #[must_use]
    pub fn wait_ps(&self, steps: u32) -> u64 {
        let longest = self.longest_ps.unwrap_or(u64::MAX);
        let factor = u64::from(self.factor).saturating_pow(steps);
        self.after_ps.saturating_mul(factor).min(longest)
    }

    fn check_together(&self, faults: &mut Faults) {
        if let Some(longest_ps) = self.longest_ps
            && longest_ps < self.after_ps
        {
            let allowed = format!("must be at least after, {} ps", self.after_ps);
            faults.add_value("longest_ps", longest_ps, allowed);
        }
    }
}

impl Flow {
    /// Whether its receiver is the medium of its host: it names no other.
    #[must_use]
    pub fn is_onto_medium(&self) -> bool {
        matches!(self.to[..], [])
    }

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
            shaping: None,
        }
    }

    /// The token bucket of its source or its shaper, behind a wire with so many octets of preamble
    /// and gap around each frame.
    ///
    /// # Errors
    /// If the longest message does not fit the bucket; `key` is the path of this table.
    pub fn shaping(&self, around_octets: u64, key: &str) -> Result<Option<Shaping>, Fault> {
        let (rate_bps, burst_octets, phase_ps, name) = match (&self.shaper, &self.arrivals) {
            (Some(of), _) => (of.rate_bps, of.burst_octets, 0, "shaper"),
            (None, &Arrivals::TokenBucket { rate_bps, burst_octets, phase_ps }) => {
                (rate_bps, burst_octets, phase_ps.unwrap_or(0), "arrivals")
            }
            _ => return Ok(None),
        };
        let volume = |bits: u64| {
            let mut octets = 0;
            self.message_framing()
                .frames_of(bits / 8, |length, _, _| octets += u64::from(length) + around_octets);
            (bits, octets)
        };
        let mut volumes: Vec<(u64, u64)> =
            self.frames.given_bits().iter().map(|&bits| volume(bits)).collect();
        volumes.sort_unstable();
        volumes.dedup();
        let shaping = Shaping { rate_bps, burst_octets, phase_ps, volumes };
        match shaping.fault(&self.frames) {
            Some(what) => Err(Fault::new(format!("{key}.{name}"), what)),
            None => Ok(Some(shaping)),
        }
    }

    /// Its receivers, if several answer each message; 0 if not.
    #[must_use]
    pub fn responders(&self) -> usize {
        if self.response.is_some() && self.to.len() > 1 { self.to.len() } else { 0 }
    }

    /// Its coder and the lengths of its packets, if it is voice.
    #[must_use]
    pub fn voice(&self) -> Option<VoiceSpec> {
        self.source_spec().voice()
    }

    /// How its messages become frames.
    #[must_use]
    pub fn message_framing(&self) -> MessageFraming {
        MessageFraming {
            framing: self.framing,
            tag_octets: self.priority.map_or(0, |_| TAG_OCTETS),
        }
    }

    /// Name and presence of what a transfer does not have.
    fn of_messages(&self) -> [(&'static str, bool); 10] {
        [
            ("frames", self.frames != no_lengths()),
            ("arrivals", self.arrivals != no_arrivals()),
            ("generator", self.generator.is_some()),
            ("queue_frames", self.queue_frames.is_some()),
            ("service", self.service != Times::default()),
            ("framing", self.framing != Framing::Frame),
            ("codec", self.codec.is_some()),
            ("response", self.response.is_some()),
            ("address", self.address != Address::Unicast),
            ("deadline_ps", self.deadline_ps.is_some()),
        ]
    }

    fn has_coder(&self) -> bool {
        matches!(self.arrivals, Arrivals::Coder { .. })
    }

    fn check_together(&self, faults: &mut Faults) {
        let has_bucket = matches!(self.arrivals, Arrivals::TokenBucket { .. });
        if self.shaper.is_some() && (has_bucket || self.has_coder() || self.transfer.is_some()) {
            let allowed = "must not be given with token_bucket arrivals, a coder or a transfer";
            faults.add("shaper", allowed);
        }
        if self.transfer.is_some() {
            for (name, _) in self.of_messages().iter().filter(|(_, is_given)| *is_given) {
                faults.add(name, "must not be given with transfer");
            }
            return;
        }
        for (name, is_given) in &self.of_messages()[..2] {
            if !is_given {
                faults.add(name, "must be given, and not be 0, where there is no transfer");
            }
        }
        self.check_source(faults);
        let has_samples = matches!(self.frames, Lengths::Samples { .. });
        if self.has_coder() || has_samples || self.codec.is_some() {
            self.check_voice(faults);
        }
    }

    /// What belongs to the source: lengths, arrivals, generator and queue.
    fn check_source(&self, faults: &mut Faults) {
        if self.frames != no_lengths() {
            faults.within("frames", |faults| self.frames.check(faults));
        }
        let is_custom = matches!(self.arrivals, Arrivals::Python { .. });
        if self.arrivals != no_arrivals()
            && !is_custom
            && let Some(what) = self.arrivals.fault()
        {
            faults.add("arrivals", what);
        }
        let is_saturated = self.arrivals == Arrivals::Saturated {};
        let has_next = is_saturated || matches!(self.arrivals, Arrivals::TokenBucket { .. });
        if self.generator.is_some() && !is_saturated && !self.has_coder() {
            faults.add("generator", "must be given with saturated arrivals only");
        }
        if let (true, Some(room)) = (has_next, self.queue_frames) {
            let allowed = "must not be given with saturated or token_bucket arrivals";
            faults.add_value("queue_frames", room, allowed);
        }
        if self.calls.is_some() && self.arrivals != no_arrivals() && !Calls::suit(&self.arrivals) {
            let allowed =
                "must be given with a coder, or regular, poisson or on_off arrivals, only";
            faults.add("calls", allowed);
        }
    }

    /// A coder and packets of its samples.
    fn check_voice(&self, faults: &mut Faults) {
        let Some(voice) = self.voice() else {
            faults.add(
                "arrivals",
                "must be of kind coder where frames are samples or codec is given, and frames samples with a coder",
            );
            return;
        };
        let others = [
            ("generator", self.generator.is_some()),
            ("queue_frames", self.queue_frames.is_some()),
            ("response", self.response.is_some()),
        ];
        for (name, _) in others.iter().filter(|(_, is_given)| *is_given) {
            faults.add(name, "must not be given with a coder");
        }
        if self.address != Address::Unicast {
            let value = format!("{:?}", self.address);
            faults.add_value("address", value, "must be unicast with a coder");
        }
        let is_in_range = self.frames.fault().is_none() && self.arrivals.fault().is_none();
        if let Some(what) = is_in_range.then(|| voice.fault()).flatten() {
            faults.add("frames", what);
        }
    }

    /// Messages between hosts go in whole octets, packets of a coder in one frame each.
    pub(crate) fn check_octets(&self, faults: &mut Faults) {
        if self.calls.is_some() {
            faults
                .add("calls", "must not be given in a network, nor where stations have receivers");
        }
        if self.transfer.is_some() {
            return;
        }
        if matches!(self.arrivals, Arrivals::Python { .. }) {
            faults.add("arrivals", "must not be a generator in Python in a network");
        }
        if let Some(voice) = self.voice() {
            return self.check_packets(&voice, faults);
        }
        check_lengths(&self.frames, "frames", faults);
        if let Some(response) = &self.response {
            check_lengths(&response.frames, "response.frames", faults);
        }
    }

    fn check_packets(&self, voice: &VoiceSpec, faults: &mut Faults) {
        if voice.fixed.is_some() {
            let allowed =
                "must have no buffers in a network: hosts of links send packets that grow";
            faults.add("frames", allowed);
        }
        let (least, most) = match self.framing {
            Framing::Frame => (OVERHEAD.0, MOST_OCTETS),
            Framing::Udp { mtu_octets } => {
                (0, MOST_OCTETS.min(mtu_octets.saturating_sub(IPV4_HEADER.0 + UDP_HEADER.0)))
            }
        };
        let bits = [voice.overhead_bits, voice.min_bits, voice.max_bits];
        if bits.iter().any(|bits| bits % 8 != 0)
            || voice.overhead_bits < 8 * least
            || voice.max_bits > 8 * most
        {
            let allowed = format!(
                "must be whole octets, overhead_bits at least {} and max_bits at most {} so that a packet goes in one frame",
                8 * least,
                8 * most
            );
            faults.add_value("frames", format!("{:?}", self.frames), allowed);
        }
        if !voice.sample_bits.is_multiple_of(8) {
            let allowed = "must have sample_bits of whole octets";
            faults.add_value("arrivals", voice.sample_bits, allowed);
        }
    }
}

/// How messages of a flow become frames, each with its tag.
#[derive(Clone, Copy, Debug)]
pub struct MessageFraming {
    framing: Framing,
    /// Octets of the tag of each frame.
    pub tag_octets: u32,
}

impl MessageFraming {
    /// Whether each message is a frame.
    #[inline]
    #[must_use]
    pub fn is_of_frames(self) -> bool {
        self.framing == Framing::Frame
    }

    /// Frames of a message of `octets`: their lengths, destination address to FCS, how much of it
    /// is padding, and whether it is the last.
    pub fn frames_of(self, octets: u64, mut each: impl FnMut(u32, u8, bool)) {
        frames_of(self.framing, octets, &mut |length, padding, is_last| {
            each(length + self.tag_octets, padding, is_last);
        });
    }

    /// Data in a message whose frames have `octets` together, `padding` in the last of its
    /// `pieces`: of UDP, or of its frame.
    #[inline]
    #[must_use]
    pub fn data_of(self, octets: u64, pieces: u16, padding: u8) -> u64 {
        let around = match self.framing {
            Framing::Frame => OVERHEAD.0,
            Framing::Udp { .. } => {
                u64::from(pieces) * (OVERHEAD.0 + IPV4_HEADER.0) + UDP_HEADER.0 + u64::from(padding)
            }
        };
        let tags = u64::from(self.tag_octets) * u64::from(pieces.max(1));
        octets.saturating_sub(around + tags)
    }
}

/// Lengths of messages are whole octets.
fn check_lengths(lengths: &Lengths, key: &str, faults: &mut Faults) {
    let bits = match lengths {
        Lengths::Fixed { bits } => std::slice::from_ref(bits),
        Lengths::Mix { bits, .. } => bits,
        Lengths::Samples { .. } => {
            let allowed = "must be fixed or mix here: samples are what a coder's packets have";
            faults.add(key, allowed);
            return;
        }
    };
    if let Some(odd) = bits.iter().find(|bits| **bits % 8 != 0 || **bits > 8 * MOST_OCTETS) {
        let allowed = format!("must be whole octets, at most {MOST_OCTETS}");
        faults.add_value(key, format!("{odd} bits"), allowed);
    }
}

/// [`TAG`] as the length of a frame is counted.
#[allow(clippy::cast_possible_truncation)] // 4
const TAG_OCTETS: u32 = TAG.0 as u32;

/// Data of the longest datagram, and the longest frame, in octets.
const MOST_OCTETS: u64 = 65_507;

/// Cut a message into frames: length, how much of it is padding, and whether it is the last.
fn frames_of(framing: Framing, octets: u64, each: &mut impl FnMut(u32, u8, bool)) {
    let length = |octets: u64| u32::try_from(octets).expect("below 65536 and headers");
    match framing {
        Framing::Frame => each(length(octets), 0, true),
        Framing::Udp { mtu_octets } => {
            let mut padded = |octets: u64, is_last: bool| {
                let padding = SHORTEST.0.saturating_sub(octets);
                each(
                    length(octets + padding),
                    u8::try_from(padding).expect("less than a shortest frame"),
                    is_last,
                );
            };
            let mut left = octets + UDP_HEADER.0;
            let most = mtu_octets - IPV4_HEADER.0;
            while left > most {
                // Offsets of fragments count in units of 8 octets (RFC 791).
                let piece = most / 8 * 8;
                padded(piece + IPV4_HEADER.0 + OVERHEAD.0, false);
                left -= piece;
            }
            padded(left + IPV4_HEADER.0 + OVERHEAD.0, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_thousand_octets_go_in_four_fragments() {
        // 5008 octets of UDP in packets of 1480: three full ones and 568 octets.
        let mut frames = Vec::new();
        frames_of(Framing::Udp { mtu_octets: 1500 }, 5000, &mut |octets, _, last| {
            frames.push((octets, last));
        });
        assert_eq!(frames, [(1518, false), (1518, false), (1518, false), (568 + 38, true)]);
    }

    /// RFC 791 § 3.2: all fragments but the last hold a multiple of eight octets.
    #[test]
    fn fragments_fill_an_mtu_to_a_multiple_of_eight_octets() {
        // 1998 octets of UDP; an MTU of 1006 has room for 986, of which 984 are used.
        let mut frames = Vec::new();
        frames_of(Framing::Udp { mtu_octets: 1006 }, 1990, &mut |octets, _, last| {
            frames.push((octets, last));
        });
        assert_eq!(frames, [(984 + 38, false), (984 + 38, false), (30 + 38, true)]);
    }

    #[test]
    fn a_datagram_that_just_fits_goes_in_one_frame() {
        let mut frames = Vec::new();
        frames_of(Framing::Udp { mtu_octets: 1500 }, 1472, &mut |octets, _, last| {
            frames.push((octets, last));
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
