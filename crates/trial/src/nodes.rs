//! Nodes and the links between them.

use crate::clocks::ClockSpec;
use crate::fault::Fault;
pub use ethermeter_traffic::classes::Class;
use serde::{Deserialize, Serialize};

/// A node: anything with links, or attached to a medium.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// A node with applications.
    Host(Host),
    /// Forwards frames by the addresses that it knows or learns.
    Switch(Switch),
    /// Forwards packets between networks, at a cost for each.
    Router(Router),
    /// Joins half-duplex links into one collision domain.
    Hub(Hub),
}

/// A host: the stages between application and link.
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
    pub ring: Option<u32>,
    /// Octets of a frame after which the first receiving stage may begin, at most 65536; the whole
    /// frame if absent.
    #[serde(default)]
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
    pub fixed_ps: u64,
    /// Time for each octet of the frame in picoseconds, at most 10⁹.
    #[serde(default)]
    pub ps_per_octet: u64,
    /// Octets carried besides the frame's, −64 to 65536; negative where, for example, a bus does not
    /// carry the check sequence.
    #[serde(default)]
    pub extra_octets: i64,
    /// Cost of bursts; none if absent.
    #[serde(default)]
    pub burst: Option<Burst>,
    /// Octets of a frame after which the next stage may begin, at most 65536; it cannot end before
    /// this one. The whole frame if absent.
    #[serde(default)]
    pub overlap_octets: Option<u64>,
    /// Delay to the next stage in picoseconds, at most 10¹²; this stage is free meanwhile.
    #[serde(default)]
    pub delay_ps: u64,
    /// Queue limit in frames from 1, the frame in service included; frames that find it full are
    /// dropped. Unlimited if absent.
    #[serde(default)]
    pub queue_frames: Option<u32>,
    /// Interrupt coalescing: frames that have passed wait for each other. None if absent.
    #[serde(default)]
    pub coalesce: Option<Coalesce>,
}

/// Interrupt coalescing: when waiting frames go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Coalesce {
    /// As soon as this many frames wait, from 1.
    pub frames: u32,
    /// Or this long after the first, in picoseconds, 1 to 10¹².
    pub ps: u64,
}

/// Transfers in bursts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Longest burst in octets, from 1.
    pub octets: u64,
    /// Time for each burst, a partial one included, in picoseconds, at most 10¹².
    pub ps: u64,
}

/// Receive buffer of a port. A frame occupies it from its last bit in until its last bit out, or
/// until the application has it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Size in octets, 64 to 2⁴⁰; frames that do not fit are dropped.
    pub octets: u64,
    /// Flow control by PAUSE frames (802.3-2022 annex 31B); none if absent.
    #[serde(default)]
    pub pause: Option<Pause>,
}

/// Flow control: when a port sends PAUSE frames to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Fill level in octets above which it pauses the peer.
    pub high_octets: u64,
    /// Fill level in octets at which it lets the peer go on.
    pub low_octets: u64,
    /// Pause time in units of 512 bit times, from 1; repeated at half of it.
    pub quanta: u16,
}

/// A switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Address learning.
    pub learning: Learning,
    /// Octets of a frame after which it may be forwarded (cut-through), at most 65536; the whole
    /// frame (store and forward) if absent.
    #[serde(default)]
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
    pub queue_frames: Option<u32>,
    /// Queue limit of each output port in octets; unlimited if absent.
    #[serde(default)]
    pub queue_octets: Option<u64>,
    /// Receive buffer of each port, and flow control; unlimited if absent.
    #[serde(default)]
    pub buffer: Option<Buffer>,
    /// Classes of the queue of each output port, highest first; one queue for all frames if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
}

/// Address learning of a switch.
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
        age_ps: u64,
        /// Size of the address table.
        addresses: u32,
    },
}

/// What connects the ports of a switch.
#[allow(clippy::large_enum_variant)] // one a switch
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// Stage that all frames pass.
    pub forward: Stage,
    /// Queue limit of each output port in frames, the frame being sent included; unlimited if
    /// absent.
    #[serde(default)]
    pub queue_frames: Option<u32>,
    /// Classes of the queue of each output port, highest first; one queue for all frames if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
}

/// A hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Hub {
    /// Delay from one link to another in picoseconds.
    #[serde(default)]
    pub delay_ps: u64,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The two nodes that it joins.
    pub ends: [End; 2],
    /// Duration of an octet in picoseconds, 1 to 10⁹.
    pub ps_per_octet: u64,
    /// One-way propagation in picoseconds, at most 10¹² (1 s).
    #[serde(default)]
    pub delay_ps: u64,
    /// Preamble and start-of-frame delimiter in octets, at most 65536.
    #[serde(default = "preamble_octets")]
    pub preamble_octets: u64,
    /// Inter-frame gap in octets, at most 65536.
    #[serde(default = "gap_octets")]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Name of the node.
    pub node: String,
    /// Module of the switch to which the port belongs.
    #[serde(default)]
    pub module: u32,
}

impl Stage {
    /// Check the values; `key` is the path of this table.
    ///
    /// # Errors
    /// With the first value that is out of range.
    pub fn check(&self, key: &str) -> Result<(), Fault> {
        for (name, ps) in [
            ("fixed_ps", self.fixed_ps),
            ("ps_per_octet", self.ps_per_octet),
            ("delay_ps", self.delay_ps),
        ] {
            let most = if name == "ps_per_octet" { 1_000_000_000 } else { 1_000_000_000_000 };
            if ps > most {
                return Err(
                    Fault::new(format!("{key}.{name}"), format!("must be at most {most}")).got(ps)
                );
            }
        }
        if self.overlap_octets.is_some_and(|octets| octets > 65_536) {
            return Err(Fault::new(format!("{key}.overlap_octets"), "must be at most 65536")
                .got(format!("{:?}", self.overlap_octets)));
        }
        if !(-64..=65_536).contains(&self.extra_octets) {
            return Err(Fault::new(format!("{key}.extra_octets"), "must be from -64 to 65536")
                .got(self.extra_octets));
        }
        match self.burst {
            Some(burst) if burst.octets == 0 || burst.ps > 1_000_000_000_000 => {
                return Err(Fault::new(
                    format!("{key}.burst"),
                    "must be of at least 1 octet and cost at most 1 s",
                )
                .got(format!("{burst:?}")));
            }
            _ => {}
        }
        match self.coalesce {
            Some(c)
                if c.frames == 0
                    || !(1..=1_000_000_000_000).contains(&c.ps)
                    || self.overlap_octets.is_some() =>
            {
                return Err(Fault::new(
                    format!("{key}.coalesce"),
                    "must be of at least 1 frame and from 1 ps to 1 s, and not with overlap_octets",
                )
                .got(format!("{c:?}")));
            }
            _ => {}
        }
        if self.queue_frames == Some(0) || (self.queue_frames.is_some() && self.resource.is_some())
        {
            return Err(Fault::new(
                format!("{key}.queue_frames"),
                "must be at least 1, and only where the stage has a resource of its own".to_owned(),
            ));
        }
        Ok(())
    }
}

/// Check the classes of a port; `key` is the path of their list.
///
/// # Errors
/// With the first value that is out of range, or contradicts another.
pub fn check_classes(classes: &[Class], key: &str) -> Result<(), Fault> {
    ethermeter_traffic::classes::check_classes(classes).map_err(|fault| {
        let path = fault.class.map_or(key.to_owned(), |at| format!("{key}[{at}].{}", fault.key));
        Fault { path, value: fault.value, allowed: fault.allowed }
    })
}

impl Buffer {
    /// Check the values; `key` is the path of this table.
    ///
    /// # Errors
    /// With the first value that is out of range.
    pub fn check(&self, key: &str) -> Result<(), Fault> {
        if !(64..=1 << 40).contains(&self.octets) {
            return Err(
                Fault::new(format!("{key}.octets"), "must be from 64 to 2^40").got(self.octets)
            );
        }
        let Some(pause) = self.pause else { return Ok(()) };
        if !(pause.low_octets <= pause.high_octets
            && pause.high_octets < self.octets
            && pause.quanta > 0)
        {
            return Err(Fault::new(
                format!("{key}.pause"),
                format!(
                    "must have low_octets ≤ high_octets < the buffer's {} and quanta of at least 1",
                    self.octets
                ),
            )
            .got(format!("{pause:?}")));
        }
        Ok(())
    }
}
