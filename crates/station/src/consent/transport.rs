//! Transport of a flow: kind of port, and unicast, multicast or broadcast.
//!
//! A group cannot consent and other hosts may hear it, so its address cannot be chosen: it follows
//! from the experiment's number, ends at the next router, and has no other use.

use crate::refusal::{ConsentRule, Refusal};
use ethermeter_ethernet::Carrier;
pub use ethermeter_net::port::PortKind;
use ethermeter_net::port::StationAddress;
use ethermeter_net::wire::MacAddress;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Kind of destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cast {
    /// To one.
    #[default]
    Unicast,
    /// To the experiment's group.
    Multicast,
    /// To all on the segment.
    Broadcast,
}

/// Highest priority that there is (802.1Q-2022 § 6.9.3).
pub const HIGHEST_PRIORITY: u8 = 7;

/// A kind of port, a kind of address, and a priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowTransport {
    /// By which kind of port.
    pub kind: PortKind,
    /// To how many.
    pub cast: Cast,
    /// With which priority, 0 to 7; without one, frames have no tag and packets no class.
    #[serde(default)]
    pub priority: Option<u8>,
}

impl Cast {
    /// Word of the transport in the protocol.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unicast => "unicast",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
        }
    }
}

impl fmt::Display for FlowTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind.word(), self.cast.word())?;
        match self.priority {
            Some(priority) => write!(formatter, " with priority {priority}"),
            None => Ok(()),
        }
    }
}

impl FlowTransport {
    /// Refuse what does not go together.
    ///
    /// # Errors
    /// By [`ConsentRule::Description`].
    pub fn check(self) -> Result<(), Refusal> {
        let refused = |fault| Refusal::new(ConsentRule::Description, self, fault);
        self.fault().map_or(Ok(()), |fault| Err(refused(fault)))
    }

    /// What does not go together, if anything: what would.
    #[must_use]
    pub fn fault(self) -> Option<&'static str> {
        let traits = self.kind.traits();
        match self.cast {
            _ if self.priority.is_some_and(|priority| priority > HIGHEST_PRIORITY) => {
                Some("a priority of 0 to 7")
            }
            Cast::Multicast | Cast::Broadcast if traits.is_connection => {
                Some("unicast, for a connection has two ends")
            }
            Cast::Multicast if !traits.joins_groups => {
                Some("unicast or broadcast, for this kind of port cannot join a group")
            }
            _ => None,
        }
    }

    /// Whether several senders may share one port of a receiver.
    #[must_use]
    pub fn can_be_shared(self) -> bool {
        !self.kind.traits().is_connection
    }

    /// What frames between stations of this version of IP carry their payloads in.
    #[must_use]
    pub fn carrier(self, is_ipv4: bool) -> Carrier {
        match self.kind.carrier(is_ipv4) {
            Carrier::Raw if self.priority.is_some() => Carrier::TaggedRaw,
            carrier => carrier,
        }
    }

    /// Whether it goes to a group.
    #[must_use]
    pub fn is_group(self) -> bool {
        self.cast != Cast::Unicast
    }

    /// The address of the experiment's group; `None` of unicast and of what there is no broadcast
    /// for.
    #[must_use]
    pub fn group(self, experiment: u64, is_ipv4: bool, port: u16) -> Option<StationAddress> {
        let [.., a, b, c, d] = experiment.to_be_bytes();
        let socket = |ip: IpAddr| StationAddress::Socket(SocketAddr::new(ip, port));
        match (self.kind.is_raw(), self.cast) {
            (_, Cast::Unicast) => None,
            // Group and locally administered: the two lowest bits of the first octet (802.3-2022 §
            // 3.2.3).
            (true, Cast::Multicast) => {
                Some(StationAddress::Mac(MacAddress([0x03, 0xE3, a, b, c, d])))
            }
            (true, Cast::Broadcast) => Some(StationAddress::Mac(MacAddress::BROADCAST)),
            // Of the organization-local scope (RFC 2365, section 6.2), but of its last 256
            // addresses, which are for protocols (section 9). The local scope has protocols in
            // every part: 239.255.0.1 is that of DDS, 239.255.1.1 and others are universes of
            // E1.31, 239.255.255.250 is that of SSDP.
            (false, Cast::Multicast) if is_ipv4 => {
                Some(socket(Ipv4Addr::new(239, 193, c, d).into()))
            }
            // Transient, link-local scope (RFC 4291, section 2.7).
            (false, Cast::Multicast) => {
                let [high, low] = [[a, b], [c, d]].map(u16::from_be_bytes);
                Some(socket(Ipv6Addr::new(0xFF12, 0, 0, 0, 0, 0xE3E3, high, low).into()))
            }
            (false, Cast::Broadcast) => is_ipv4.then(|| socket(Ipv4Addr::BROADCAST.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_the_experiments_own_and_end_at_the_next_router() {
        let experiment = 0x0123_4567_89AB_CDEF;
        let group = |kind, cast, is_ipv4| {
            FlowTransport { kind, cast, priority: None }
                .group(experiment, is_ipv4, 5000)
                .map(|address| address.to_string())
        };
        let cases = [
            (PortKind::Udp, Cast::Multicast, true, Some("239.193.205.239:5000")),
            (PortKind::Udp, Cast::Multicast, false, Some("[ff12::e3e3:89ab:cdef]:5000")),
            (PortKind::Udp, Cast::Broadcast, true, Some("255.255.255.255:5000")),
            (PortKind::Udp, Cast::Broadcast, false, None), // IPv6 has none
            (PortKind::Packet, Cast::Multicast, true, Some("03:e3:89:ab:cd:ef")),
            (PortKind::Xdp, Cast::Broadcast, false, Some("ff:ff:ff:ff:ff:ff")),
            (PortKind::Udp, Cast::Unicast, true, None),
            (PortKind::Packet, Cast::Unicast, true, None),
        ];
        for (kind, cast, is_ipv4, expected) in cases {
            assert_eq!(group(kind, cast, is_ipv4).as_deref(), expected, "{kind:?} {cast:?}");
        }
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for kind in PortKind::ALL {
            for cast in [Cast::Unicast, Cast::Multicast, Cast::Broadcast] {
                let transport = FlowTransport { kind, cast, priority: None };
                let text = serde_json::json!({"kind": kind.word(), "cast": cast.word()});
                assert_eq!(serde_json::from_value(text).ok(), Some(transport), "{transport}");
            }
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let transport = |kind, cast, priority| FlowTransport { kind, cast, priority };
        for (transport, expected) in [
            (transport(PortKind::Tcp, Cast::Unicast, Some(7)), None),
            (transport(PortKind::Packet, Cast::Multicast, Some(0)), None),
            (transport(PortKind::Tcp, Cast::Multicast, None), Some("a connection has two ends")),
            (transport(PortKind::Xdp, Cast::Multicast, None), Some("cannot join a group")),
            (transport(PortKind::Udp, Cast::Unicast, Some(8)), Some("a priority of 0 to 7")),
        ] {
            let refused = transport.check().err().map(|refusal| refusal.to_string());
            let is_expected = match (&refused, expected) {
                (Some(refused), Some(expected)) => refused.contains(expected),
                (refused, expected) => refused.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{transport}: {refused:?}");
        }
        for text in [r#"{"kind": "udp", "cast": "anycast"}"#, r#"{"kind": "", "cast": "unicast"}"#]
        {
            assert!(serde_json::from_str::<FlowTransport>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn raw_frames_with_a_priority_are_tagged_and_ip_packets_are_not() {
        let carrier = |kind| {
            FlowTransport { kind, priority: Some(0), ..FlowTransport::default() }.carrier(true)
        };
        assert_eq!(carrier(PortKind::Packet), Carrier::TaggedRaw);
        assert_eq!(carrier(PortKind::Xdp), Carrier::TaggedRaw);
        assert_eq!(carrier(PortKind::Udp), Carrier::UdpOverIpv4);
    }
}
