//! What is granted and what is permitted.

use super::network::IpNetwork;
use super::spent::GrantId;
use super::transport::{Cast, FlowTransport, PortKind};
use ethermeter_net::port::StationAddress;
use ethermeter_net::route::PacketRoute;
use ethermeter_net::wire::MacAddress;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// What a receiver is asked to grant to one sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// The flow.
    pub flow: String,
    /// By which kind of port, to how many.
    pub transport: FlowTransport,
    /// Address of the sender.
    pub sender: IpAddr,
    /// Own address of the receiver.
    pub address: IpAddr,
    /// The interface that is to have that address; any one without.
    #[serde(default)]
    pub interface: Option<String>,
    /// Port to receive at; 0: any free one.
    #[serde(default)]
    pub port: u16,
    /// Up to how many bits per second, of frames from destination address to FCS.
    pub rate_bps: u64,
    /// Up to how many frames per second.
    pub rate_frames_per_s: u64,
    /// Octets of the longest frame; 0 of octets in bulk, which TCP makes segments of.
    pub longest_frame_octets: u32,
    /// Octets of the longest frame of the opposite direction, for which the port has room, too.
    #[serde(default)]
    pub room_frame_octets: u32,
    /// For how long, from the beginning to the end of the drain.
    pub duration_ns: u64,
}

/// What a sender would like to send by the grants of its receivers, as fast as they all allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendRequest {
    /// By which kind of port, to how many.
    pub transport: FlowTransport,
    /// Where the sender is.
    pub sender: IpAddr,
    /// Where frames go: a receiver, or the experiment's group.
    pub target: StationAddress,
    /// Octets of the longest frame; 0 of octets in bulk, which TCP makes segments of.
    pub longest_frame_octets: u32,
    /// For how long, from the beginning to the end of the drain.
    pub duration_ns: u64,
    /// Where this host has the own address; `None` if it has not, or twice.
    pub attachment: Option<FlowAttachment>,
    /// The interface that was asked for by name, if any.
    pub interface: Option<String>,
}

/// An interface. Its name may be given to another one; its index and its Ethernet address tell
/// which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceIdentity {
    /// Name of the interface.
    pub name: String,
    /// Index of the interface on this host.
    pub index: u32,
    /// Ethernet address of the interface; that of a loopback interface is all zeros.
    pub mac: Option<MacAddress>,
    /// Whether nothing leaves the host by it.
    pub is_loopback: bool,
}

/// Where an end of a flow is: an own address, and the one interface that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowAttachment {
    /// The address.
    pub address: IpAddr,
    /// What is reached from it without a router.
    pub network: IpNetwork,
    /// The interface.
    pub interface: InterfaceIdentity,
}

/// How packets of a sender reach the address of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reachability {
    /// Route of the packets.
    pub route: PacketRoute,
    /// The Ethernet address that they are sent to, if that is known.
    pub neighbour: Option<MacAddress>,
}

/// A receiver's grant, as its sender has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// The grant.
    pub grant: Grant,
    /// What proves it.
    pub proof: Proof,
    /// How its address is reached; `None` if it is not.
    pub reach: Option<Reachability>,
}

/// A receiver's consent to one sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The experiment.
    pub experiment: u64,
    /// The receiver's process.
    pub session: u64,
    /// Number of the grant among those of that process.
    pub number: u64,
    /// The only sender.
    pub sender: IpAddr,
    /// Address of the receiver that grants; the signature proves it.
    pub address: IpAddr,
    /// What the receiver reaches from there without a router.
    pub network: IpNetwork,
    /// The name of the interface that has the address.
    pub interface: String,
    /// Ethernet address of the interface, if it has one.
    pub mac: Option<MacAddress>,
    /// By which kind of port.
    pub kind: PortKind,
    /// Whether to this station only or to the experiment's group, which it listens to.
    pub cast: Cast,
    /// With which priority, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// To which port; 0 of raw frames.
    pub port: u16,
    /// Up to how many bits per second.
    pub rate_bps: u64,
    /// Up to how many frames per second.
    pub rate_frames_per_s: u64,
    /// Octets of the longest frame; 0 of octets in bulk, which TCP makes segments of, and then of
    /// nothing else.
    pub longest_frame_octets: u32,
    /// For how long.
    pub duration_ns: u64,
    /// Expiry if nothing has begun, by the wall clock, since 1970.
    pub until_unix_s: u64,
}

impl Grant {
    /// Identity of the grant among all grants.
    #[must_use]
    pub fn id(&self) -> GrantId {
        GrantId { receiver: self.address, session: self.session, number: self.number }
    }

    /// How frames go.
    #[must_use]
    pub fn transport(&self) -> FlowTransport {
        FlowTransport { kind: self.kind, cast: self.cast, priority: self.priority }
    }

    /// Destination this grant permits, the receiver itself or the experiment's group; `None` if it
    /// permits none.
    #[must_use]
    pub fn target(&self) -> Option<StationAddress> {
        if self.cast != Cast::Unicast {
            return self.transport().group(self.experiment, self.address.is_ipv4(), self.port);
        }
        if self.kind.is_raw() {
            return self.mac.filter(|mac| !mac.is_group()).map(StationAddress::Mac);
        }
        Some(StationAddress::Socket(SocketAddr::new(self.address, self.port)))
    }

    /// Address of the granting station as a sender of frames.
    #[must_use]
    pub fn station(&self) -> StationAddress {
        match self.mac.filter(|_| self.kind.is_raw()) {
            Some(mac) => StationAddress::Mac(mac),
            None => StationAddress::Socket(SocketAddr::new(self.address, self.port)),
        }
    }
}

/// Proof of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Signed with the key of a certificate of our authority that names the address.
    Signed,
    /// Not signed: only believed of the loopback interface, by an agent without TLS.
    None,
}

/// What a sender may do by a grant, or by those of all receivers of a group. It is not to be
/// copied: each grant permits one port to send, once.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    /// The only destination that may be sent to.
    pub target: StationAddress,
    /// At most so many bits per second.
    pub rate_bps: u64,
    /// At most so many frames per second.
    pub rate_frames_per_s: u64,
    /// No frame longer than this, in octets; no frames but TCP's own segments with 0.
    pub longest_frame_octets: u32,
    /// For at most so long.
    pub duration_ns: u64,
    /// Beginning before this, by the own monotonic clock: when the first of the grants expires.
    pub begin_before_ns: u64,
}

/// The time, by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// By the own monotonic clock.
    pub now_ns: u64,
    /// By the wall clock, since 1970.
    pub unix_s: u64,
}

/// Lifetime of an unused grant.
pub const GRANT_S: u64 = 60;

/// Rates, as of one flow or as the sum of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rates {
    pub bps: u64,
    pub frames_per_s: u64,
}

impl Rates {
    /// The least of some grants.
    pub fn least_of(consents: &[Consent]) -> Self {
        let least = |rate: fn(&Grant) -> u64| {
            consents.iter().map(|consent| rate(&consent.grant)).min().unwrap_or(0)
        };
        Self {
            bps: least(|grant| grant.rate_bps),
            frames_per_s: least(|grant| grant.rate_frames_per_s),
        }
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            bps: self.bps.saturating_add(other.bps),
            frames_per_s: self.frames_per_s.saturating_add(other.frames_per_s),
        }
    }
}
