//! Nodes and the links between them.

use crate::clocks::ClockSpec;
use crate::fault::{Checked, Faults};
use crate::limits::{LONGEST_PS, MOST_QUEUED};
pub use ethermeter_traffic::classes::Class;
use ethermeter_traffic::times::Times;
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
    /// Stages from the application to the link, at most 64.
    #[serde(default)]
    #[file(items = 64)]
    pub send: Vec<Stage>,
    /// Stages from the link to the application, at most 64.
    #[serde(default)]
    #[file(items = 64)]
    pub receive: Vec<Stage>,
    /// Largest number of a flow's messages between their call and the end of their transmission;
    /// 256 if absent.
    #[serde(default)]
    #[file(least = 1, most = 1_000_000)]
    pub ring: Option<u32>,
    /// Octets on the wire, without preamble, after which the first stage may begin; all of the
    /// frame if absent.
    #[serde(default)]
    #[file(key = "overlap", unit = "size", least = 0, most = 65_536)]
    pub overlap_octets: Option<u64>,
    /// Memory of each port for frames that it receives; unlimited if absent.
    #[serde(default)]
    pub buffer: Option<Buffer>,
    /// Clock of the host, for simulations only; true time if absent. A stream has clock metrics if
    /// one of its ends has a clock.
    #[serde(default)]
    pub clock: Option<ClockSpec>,
    /// Traffic classes of each output port, as in `network.classes`; those of its model or of the
    /// network if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// Defect of a host: it sends each broadcast frame that it receives again, as a broadcast, for
    /// simulations only; none if absent. At most `ring` of these frames wait in the host, more are
    /// lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebroadcast: Option<Rebroadcast>,
}

/// How a host sends broadcast frames again.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rebroadcast {
    /// Hop count after which a frame is not sent again; no end if absent. Each host that sends a
    /// frame again adds one.
    #[serde(default)]
    #[file(least = 1, most = 255)]
    pub hops: Option<u8>,
}

/// A server that frames pass one by one, first come, first served.
#[table(together)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Name of the stage.
    #[file(unit = "name")]
    pub name: String,
    /// Resource that the stage occupies during a service; stages of one node with the same resource
    /// exclude each other. Not with `queue`.
    #[serde(default)]
    #[file(unit = "name")]
    pub resource: Option<String>,
    /// Service time for each frame, at most 1 s.
    #[serde(default)]
    #[file(key = "fixed", unit = "time", least = 0, most = 1_000_000_000_000)]
    pub fixed_ps: u64,
    /// Service time for each octet of the frame, destination address to FCS; at most 1 ms.
    #[serde(default)]
    #[file(key = "per_byte", unit = "time", least = 0, most = 1_000_000_000)]
    pub ps_per_octet: u64,
    /// Octets added to the length of the frame; negative, such as "-4 B", where the stage carries
    /// no check sequence.
    #[serde(default)]
    #[file(key = "extra", unit = "size", least = -64, most = 65_536)]
    pub extra_octets: i64,
    /// Service time for bursts; none if absent.
    #[serde(default)]
    pub burst: Option<Burst>,
    /// Octets after which the next stage may begin; all of the frame if absent. Not with
    /// `coalesce`.
    #[serde(default)]
    #[file(key = "overlap", unit = "size", least = 0, most = 65_536)]
    pub overlap_octets: Option<u64>,
    /// Time from the end of the service to the next stage, at most 1 s; the stage is free
    /// meanwhile.
    #[serde(default)]
    #[file(key = "delay", unit = "time", least = 0, most = 1_000_000_000_000)]
    pub delay_ps: u64,
    /// Time after a service in which the stage takes no other frame, without delaying the one that
    /// it served; at most 1 s.
    #[serde(default)]
    #[file(key = "recovery", unit = "time", least = 0, most = 1_000_000_000_000)]
    pub recovery_ps: u64,
    /// Random or occasional service time beside the others; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random: Option<Random>,
    /// Room of the queue in frames, the one in service included; neither in `send` nor with
    /// `resource`.
    #[serde(default)]
    #[file(key = "queue", unit = "room", least = 1, most = MOST_QUEUED)]
    pub queue_frames: Option<u32>,
    /// Coalescing of served frames, as by one interrupt for several; none if absent. Not with
    /// `overlap`.
    #[serde(default)]
    pub coalesce: Option<Coalesce>,
}

/// A random service time.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// Of so many frames one has the time, by chance; 1 is each frame.
    #[serde(default = "each_frame")]
    #[file(least = 1, most = 1_000_000_000)]
    pub one_in: u32,
    /// Its distribution.
    pub time: Times,
}

fn each_frame() -> u32 {
    1
}

/// Interrupt coalescing: when waiting frames go on.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Coalesce {
    /// Number of waiting frames after which they continue.
    #[file(least = 1, most = 1_000_000)]
    pub frames: u32,
    /// Longest wait of the first frame; all waiting frames continue then.
    #[file(key = "time", unit = "time", least = 1, most = 1_000_000_000_000)]
    pub ps: u64,
}

/// Transfers in bursts.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Largest size of a burst.
    #[file(key = "size", unit = "size", least = 1, most = 100_000_000)]
    pub octets: u64,
    /// Time for each burst, the last incomplete one included.
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
    /// Size of the memory; a frame that finds no room is dropped.
    #[file(key = "size", unit = "size", least = 64, most = 100_000_000)]
    pub octets: u64,
    /// Flow control by PAUSE frames; none if absent.
    #[serde(default)]
    pub pause: Option<Pause>,
    /// Whether the size is that of one memory for all ports of the node; of each port if absent. Not
    /// with `pause`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Flow control at half-duplex links by carrier; none if absent. Not with `pause`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_pressure: Option<BackPressure>,
}

/// Back-pressure: when the ports of a memory keep half-duplex links busy. Whoever is at the other end
/// defers then; what the ports have to send themselves they send.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BackPressure {
    /// Occupied memory above which links are kept busy; below `size`.
    #[file(key = "high", unit = "size", least = 0, most = 100_000_000)]
    pub high_octets: u64,
    /// Occupied memory at which they are free again; at most `high`.
    #[file(key = "low", unit = "size", least = 0, most = 100_000_000)]
    pub low_octets: u64,
}

/// Flow control: when a port sends PAUSE frames to its peer.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Occupied memory above which the port asks its peer to pause; below `size`.
    #[file(key = "high", unit = "size", least = 0, most = 100_000_000)]
    pub high_octets: u64,
    /// Occupied memory at which the peer may send again; at most `high`.
    #[file(key = "low", unit = "size", least = 0, most = 100_000_000)]
    pub low_octets: u64,
    /// Duration of a pause in units of 512 bit times; the request is repeated after half of it.
    #[serde(default = "longest_pause")]
    #[file(least = 1, most = 65_535)]
    pub quanta: u16,
}

/// A switch.
#[table]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Learning of addresses. With "known" the switch knows all addresses from the start.
    #[serde(default)]
    pub learning: Learning,
    /// Octets on the wire, without preamble, after which a frame continues (cut-through); all of
    /// the frame if absent.
    #[serde(default)]
    #[file(key = "overlap", unit = "size", least = 0, most = 65_536)]
    pub overlap_octets: Option<u64>,
    /// Stage of each input port; none if absent.
    #[serde(default)]
    pub ingress: Option<Stage>,
    /// Switching fabric. "ideal" takes no time; `shared` is a backplane, `crossbar` joins modules
    /// of ports.
    #[serde(default)]
    pub fabric: Fabric,
    /// Path of frames to groups and to addresses that are not known: copies, one for each output
    /// port, pass this stage one after another instead of the fabric. Such frames hold no memory of
    /// the input port, so no PAUSE frame is sent because of them. If absent, they pass the fabric
    /// once for each output port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flood: Option<Stage>,
    /// Room of the queue of each output port in frames, the one being sent included.
    #[serde(default)]
    #[file(key = "queue", unit = "room", least = 1, most = MOST_QUEUED)]
    pub queue_frames: Option<u32>,
    /// Room of the queue of each output port in octets; unlimited if absent.
    #[serde(default)]
    #[file(key = "queue_size", unit = "size", least = 1, most = 100_000_000)]
    pub queue_octets: Option<u64>,
    /// Memory of each input port, and flow control; unlimited if absent.
    #[serde(default)]
    pub buffer: Option<Buffer>,
    /// Traffic classes of each output port, as in `network.classes`; those of its model or of the
    /// network if absent.
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
        /// Time after the last frame from an address at which the switch forgets it.
        #[file(key = "age", unit = "time", least = 1, most = LONGEST_PS)]
        age_ps: u64,
        /// Largest number of addresses that the switch knows at a time.
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
        /// Stage between two ports of one module; no stage if absent.
        local: Option<Stage>,
        /// Stage from a module to the crossbar.
        inward: Stage,
        /// Stage from the crossbar to a module.
        outward: Stage,
    },
}

/// A router.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// Stage that all frames pass; it takes no time if absent.
    #[serde(default = "Stage::forwarding")]
    pub forward: Stage,
    /// Room of the queue of each output port in frames, the one being sent included.
    #[serde(default)]
    #[file(key = "queue", unit = "room", least = 1, most = MOST_QUEUED)]
    pub queue_frames: Option<u32>,
    /// Traffic classes of each output port, as in `network.classes`; those of its model or of the
    /// network if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
}

/// A hub.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Hub {
    /// Delay from one link to another, at most 1 s.
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
    /// Names of the two ends. One of them may be a group, each of whose hosts gets a link.
    pub ends: [End; 2],
    /// Bit rate, or time of an octet; `network.rate` if absent.
    #[file(key = "rate", unit = "octet time", least = 1, most = 1_000_000_000)]
    pub ps_per_octet: u64,
    /// One-way propagation delay, at most 1 s; instead of `length`. 0 s if both are absent.
    #[serde(default)]
    #[file(key = "delay|length", unit = "time", least = 0, most = 1_000_000_000_000)]
    pub delay_ps: u64,
    /// Preamble with start-of-frame delimiter.
    #[serde(default = "preamble_octets")]
    #[file(key = "preamble", unit = "size", least = 0, most = 65_536)]
    pub preamble_octets: u64,
    /// Inter-frame gap.
    #[serde(default = "gap_octets")]
    #[file(key = "gap", unit = "size", least = 0, most = 65_536)]
    pub gap_octets: u64,
    /// Whether only one end may send at a time. If absent, links of a hub are half-duplex and
    /// others are not.
    #[serde(default)]
    pub half_duplex: bool,
}

// 802.3-2022 annex 31B: the longest pause.
fn longest_pause() -> u16 {
    u16::MAX
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
    /// Forwarding that takes no time.
    fn forwarding() -> Self {
        Self { name: "forward".to_owned(), ..Self::default() }
    }

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
        let pause = self.pause.map(|pause| ("pause", pause.high_octets, pause.low_octets));
        let carrier = self.back_pressure.map(|of| ("back_pressure", of.high_octets, of.low_octets));
        for (key, high_octets, low_octets) in pause.into_iter().chain(carrier) {
            if low_octets > high_octets {
                let allowed = format!("must be at most high, {high_octets} B");
                faults.add_value(&format!("{key}.low_octets"), low_octets, allowed);
            }
            if high_octets >= self.octets {
                let allowed = format!("must be below the size of the buffer, {} B", self.octets);
                faults.add_value(&format!("{key}.high_octets"), high_octets, allowed);
            }
        }
        if self.pause.is_some() {
            let others = [("shared", self.shared), ("back_pressure", self.back_pressure.is_some())];
            for (key, _) in others.iter().filter(|(_, is_given)| *is_given) {
                faults.add(key, "must not be given with pause");
            }
        }
    }
}

impl Checked for Class {
    /// Classes are checked with the others of their port.
    fn check(&self, _: &mut Faults) {}
}
