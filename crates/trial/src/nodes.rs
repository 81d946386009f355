//! Nodes and the links between them.

use crate::clocks::ClockSpec;
use crate::fault::{Checked, Faults};
use crate::limits::{LONGEST_PS, MOST_QUEUED};
pub use ethermeter_traffic::classes::Class;
use ethermeter_trial_macros::table;
use serde::{Deserialize, Serialize};

/// A node: anything with links, or attached to a medium.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Name, unique among the nodes.
    pub name: String,
    /// Hosts that this node stands for, all alike; more than 1 only on a medium.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = 1)))]
    pub count: u32,
    /// Kind of node, with its settings.
    #[file(key = "")]
    pub kind: Kind,
}

fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde wants it
fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Kind of node.
#[allow(clippy::large_enum_variant)] // a thousand of them at most
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// A node with applications.
    #[file(key = "")]
    Host(Host),
    /// Forwards frames by the addresses that it knows or learns.
    #[file(key = "")]
    Switch(Switch),
    /// Forwards packets between networks, at a cost for each.
    #[file(key = "")]
    Router(Router),
    /// Joins half-duplex links into one collision domain.
    #[file(key = "")]
    Hub(Hub),
}

/// A host: the stages between application and link.
#[table]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Stages from the application to the link.
    #[serde(default)]
    pub send: Vec<Stage>,
    /// Stages from the link to the application.
    #[serde(default)]
    pub receive: Vec<Stage>,
    /// Transmit ring: messages that may be between the application's call and the end of their
    /// transmission; 256 if absent.
    #[serde(default)]
    #[file(least = 1, most = 1_000_000)]
    pub ring: Option<u32>,
    /// Octets of a frame after which the first receiving stage may begin, at most 65536; the whole
    /// frame if absent.
    #[serde(default)]
    #[file(key = "overlap", unit = "size", least = 0, most = 65_536)]
    pub overlap_octets: Option<u64>,
    /// Receive buffer and flow control; unlimited if absent.
    #[serde(default)]
    pub buffer: Option<Buffer>,
    /// Its clock; a perfect one if absent.
    #[serde(default)]
    pub clock: Option<ClockSpec>,
    /// Classes of the queue of its port, highest first; one queue for all frames if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
}

/// A server that frames pass one by one, first come, first served.
#[table(together)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Name for messages.
    pub name: String,
    /// Resource that it occupies, shared with other stages of the node; its own if absent.
    #[serde(default)]
    pub resource: Option<String>,
    /// Time for each frame in picoseconds, at most 10¹² (1 s).
    #[serde(default)]
    #[file(key = "fixed", unit = "time", least = 0, most = 1_000_000_000_000)]
    pub fixed_ps: u64,
    /// Time for each octet of the frame in picoseconds, at most 10⁹.
    #[serde(default)]
    #[file(key = "per_byte", unit = "time", least = 0, most = 1_000_000_000)]
    pub ps_per_octet: u64,
    /// Octets carried besides the frame's, −64 to 65536; negative where, for example, a bus does not
    /// carry the check sequence.
    #[serde(default)]
    #[file(key = "extra", unit = "size", least = -64, most = 65_536)]
    pub extra_octets: i64,
    /// Cost of bursts; none if absent.
    #[serde(default)]
    pub burst: Option<Burst>,
    /// Octets of a frame after which the next stage may begin, at most 65536; it cannot end before
    /// this one. The whole frame if absent.
    #[serde(default)]
    #[file(key = "overlap", unit = "size", least = 0, most = 65_536)]
    pub overlap_octets: Option<u64>,
    /// Delay to the next stage in picoseconds, at most 10¹²; this stage is free meanwhile.
    #[serde(default)]
    #[file(key = "delay", unit = "time", least = 0, most = 1_000_000_000_000)]
    pub delay_ps: u64,
    /// Queue limit in frames from 1, the frame in service included; frames that find it full are
    /// dropped. Unlimited if absent.
    #[serde(default)]
    #[file(key = "queue", unit = "room", least = 1, most = MOST_QUEUED)]
    pub queue_frames: Option<u32>,
    /// Interrupt coalescing: frames that have passed wait for each other. None if absent.
    #[serde(default)]
    pub coalesce: Option<Coalesce>,
}

/// Interrupt coalescing: when waiting frames go on.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Coalesce {
    /// As soon as this many frames wait, from 1.
    #[file(least = 1, most = 1_000_000)]
    pub frames: u32,
    /// Or this long after the first, in picoseconds, 1 to 10¹².
    #[file(key = "time", unit = "time", least = 1, most = 1_000_000_000_000)]
    pub ps: u64,
}

/// Transfers in bursts.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Longest burst in octets, from 1.
    #[file(key = "size", unit = "size", least = 1, most = 100_000_000)]
    pub octets: u64,
    /// Time for each burst, a partial one included, in picoseconds, at most 10¹².
    #[file(key = "time", unit = "time", least = 0, most = 1_000_000_000_000)]
    pub ps: u64,
}

/// Receive buffer of a port. A frame occupies it from its last bit in until its last bit out, or
/// until the application has it.
#[table(together)]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Size in octets, 64 to 2⁴⁰; frames that do not fit are dropped.
    #[file(key = "size", unit = "size", least = 64, most = 100_000_000)]
    pub octets: u64,
    /// Flow control by PAUSE frames (802.3-2022 annex 31B); none if absent.
    #[serde(default)]
    pub pause: Option<Pause>,
}

/// Flow control: when a port sends PAUSE frames to its peer.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Fill level in octets above which it pauses the peer.
    #[file(key = "high", unit = "size", least = 0, most = 100_000_000)]
    pub high_octets: u64,
    /// Fill level in octets at which it lets the peer go on.
    #[file(key = "low", unit = "size", least = 0, most = 100_000_000)]
    pub low_octets: u64,
    /// Pause time in units of 512 bit times, from 1; repeated at half of it.
    #[file(least = 1, most = 65_535)]
    pub quanta: u16,
}

/// A switch.
#[table]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Address learning.
    pub learning: Learning,
    /// Octets of a frame after which it may be forwarded (cut-through), at most 65536; the whole
    /// frame (store and forward) if absent.
    #[serde(default)]
    #[file(key = "overlap", unit = "size", least = 0, most = 65_536)]
    pub overlap_octets: Option<u64>,
    /// Stage of each port for received frames; none if absent.
    #[serde(default)]
    pub ingress: Option<Stage>,
    /// What connects its ports.
    #[serde(default)]
    pub fabric: Fabric,
    /// Queue limit of each output port in frames, the frame being sent included; unlimited if
    /// absent.
    #[serde(default)]
    #[file(key = "queue", unit = "room", least = 1, most = MOST_QUEUED)]
    pub queue_frames: Option<u32>,
    /// Queue limit of each output port in octets; unlimited if absent.
    #[serde(default)]
    #[file(key = "queue_size", unit = "size", least = 1, most = 100_000_000)]
    pub queue_octets: Option<u64>,
    /// Receive buffer of each port, and flow control; unlimited if absent.
    #[serde(default)]
    pub buffer: Option<Buffer>,
    /// Classes of the queue of each output port, highest first; one queue for all frames if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
}

/// Address learning of a switch.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Learning {
    /// All addresses are known from the start.
    #[default]
    Known,
    /// The table is empty at first; it learns the source address of each frame.
    Learns {
        /// Ageing time in picoseconds.
        #[file(key = "age", unit = "time", least = 1, most = LONGEST_PS)]
        age_ps: u64,
        /// Size of the address table.
        #[file(least = 1, most = 10_000_000)]
        addresses: u32,
    },
}

/// What connects the ports of a switch.
#[allow(clippy::large_enum_variant)] // one a switch
#[table]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fabric {
    /// Frames reach the output port at once.
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
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// Stage that all frames pass.
    pub forward: Stage,
    /// Queue limit of each output port in frames, the frame being sent included; unlimited if
    /// absent.
    #[serde(default)]
    #[file(key = "queue", unit = "room", least = 1, most = MOST_QUEUED)]
    pub queue_frames: Option<u32>,
    /// Classes of the queue of each output port, highest first; one queue for all frames if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
}

/// A hub.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Hub {
    /// Delay from one link to another in picoseconds.
    #[serde(default)]
    #[file(key = "delay", unit = "time", least = 0, most = 1_000_000_000_000)]
    pub delay_ps: u64,
}

/// A link between two nodes.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The two nodes that it joins.
    pub ends: [End; 2],
    /// Duration of an octet in picoseconds, 1 to 10⁹.
    #[file(key = "rate", unit = "octet time", least = 1, most = 1_000_000_000)]
    pub ps_per_octet: u64,
    /// One-way propagation in picoseconds, at most 10¹² (1 s).
    #[serde(default)]
    #[file(key = "delay|length", unit = "time", least = 0, most = 1_000_000_000_000)]
    pub delay_ps: u64,
    /// Preamble and start-of-frame delimiter in octets, at most 65536.
    #[serde(default = "preamble_octets")]
    #[file(key = "preamble", unit = "size", least = 0, most = 65_536)]
    pub preamble_octets: u64,
    /// Inter-frame gap in octets, at most 65536.
    #[serde(default = "gap_octets")]
    #[file(key = "gap", unit = "size", least = 0, most = 65_536)]
    pub gap_octets: u64,
    /// Whether the link is half-duplex, with CSMA/CD; links of a hub must be.
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

/// An end of a link.
#[table]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Name of the node.
    #[file(key = "")]
    pub node: String,
    /// Module of the switch to which the port belongs.
    #[serde(default)]
    #[file(key = "", least = 0, most = 1_000)]
    pub module: u32,
}

impl Stage {
    fn check_together(&self, faults: &mut Faults) {
        if self.queue_frames.is_some() && self.resource.is_some() {
            let allowed = "must not be given for a stage with a resource, which others share";
            faults.add("queue_frames", allowed);
        }
        if self.coalesce.is_some() && self.overlap_octets.is_some() {
            faults.add("coalesce", "must not be given with overlap");
        }
    }
}

impl Buffer {
    fn check_together(&self, faults: &mut Faults) {
        let Some(pause) = self.pause else { return };
        if pause.low_octets > pause.high_octets {
            let allowed = format!("must be at most high, {} B", pause.high_octets);
            faults.add_value("pause.low_octets", pause.low_octets, allowed);
        }
        if pause.high_octets >= self.octets {
            let allowed = format!("must be below the size of the buffer, {} B", self.octets);
            faults.add_value("pause.high_octets", pause.high_octets, allowed);
        }
    }
}

impl Checked for Class {
    /// Classes are checked with the others of their port.
    fn check(&self, _: &mut Faults) {}
}
