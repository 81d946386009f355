//! The host's interfaces and their addresses, and the ways from them to other hosts.

use crate::consent::{FlowAttachment, Grant, InterfaceIdentity, IpNetwork, Reachability};
use ethermeter_net::interface::name_of;
use ethermeter_net::port::packet::interface_index;
use ethermeter_net::route::{neighbour, route, solicit};
use ethermeter_net::wire::MacAddress;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostInterface {
    /// Name of the interface.
    pub name: String,
    /// IP addresses of the interface, each with what is reached from it without a router.
    pub networks: Vec<IpNetwork>,
    /// Ethernet address of the interface; that of a loopback interface is all zeros.
    pub mac: Option<MacAddress>,
    /// Whether nothing leaves the host by it.
    pub is_loopback: bool,
}

impl HostInterface {
    /// IP addresses of the interface.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.networks.iter().map(IpNetwork::address)
    }

    /// The network of one of its addresses. All of 127.0.0.0/8 are addresses of the loopback
    /// interface.
    fn network_of(&self, address: IpAddr) -> Option<IpNetwork> {
        let own = self.networks.iter().find(|network| network.address() == address).copied();
        let is_loopback = matches!(address, IpAddr::V4(address) if address.is_loopback());
        let loopback = IpNetwork::of(Ipv4Addr::LOCALHOST.into(), 8);
        own.or((is_loopback && self.is_loopback).then_some(loopback))
    }
}

/// Interfaces in the order of their names; empty if the operating system does not list them.
#[must_use]
pub fn interfaces() -> Vec<HostInterface> {
    let mut interfaces: BTreeMap<String, HostInterface> = BTreeMap::new();
    for entry in nix::ifaddrs::getifaddrs().into_iter().flatten() {
        let interface = interfaces.entry(entry.interface_name.clone()).or_default();
        interface.name = entry.interface_name;
        interface.is_loopback = entry.flags.contains(InterfaceFlags::IFF_LOOPBACK);
        let Some(address) = entry.address else { continue };
        if let Some(ip) = ip_of(&address) {
            let bits = entry.netmask.as_ref().and_then(ip_of).map_or(128, ones);
            interface.networks.push(IpNetwork::of(ip, bits));
        }
        if let Some(mac) = address.as_link_addr().and_then(nix::sys::socket::LinkAddr::addr) {
            interface.mac = Some(MacAddress(mac));
        }
    }
    interfaces.into_values().collect()
}

fn ip_of(address: &SockaddrStorage) -> Option<IpAddr> {
    address
        .as_sockaddr_in()
        .map(|address| IpAddr::V4(address.ip()))
        .or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

fn ones(mask: IpAddr) -> u8 {
    let ones = match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    u8::try_from(ones).expect("up to 128")
}

/// Where this host has `address`; `None` if it has not, or on several interfaces.
#[must_use]
pub fn attachment_of(address: IpAddr) -> Option<FlowAttachment> {
    let mut matches = interfaces().into_iter().filter_map(|interface| {
        let network = interface.network_of(address)?;
        let HostInterface { name, mac, is_loopback, .. } = interface;
        let index = interface_index(&name).ok()?;
        Some(FlowAttachment {
            address,
            network,
            interface: InterfaceIdentity { name, index, mac, is_loopback },
        })
    });
    matches.next().filter(|_| matches.next().is_none())
}

/// Whether `attachment` is still there: the same interface has the address.
#[must_use]
pub fn is_there(attachment: &FlowAttachment) -> bool {
    attachment_of(attachment.address).is_some_and(|now| {
        (now.interface.index, now.interface.mac)
            == (attachment.interface.index, attachment.interface.mac)
    })
}

/// How packets from `sender` reach `address`; `None` if they do not. Where the station that answers
/// for the address is not known, the kernel begins to look for it.
#[must_use]
pub fn reach(sender: IpAddr, address: IpAddr) -> Option<Reachability> {
    let route = route(sender, address).ok()?;
    if route.is_local || route.has_gateway {
        return Some(Reachability { route, neighbour: None });
    }
    let neighbour = neighbour(route.interface, address).ok()?;
    if neighbour.is_none() {
        solicit(route.interface, address);
    }
    Some(Reachability { route, neighbour })
}

/// The way of frames from here to all stations that granted them, as it was when it was permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketPath {
    attachment: FlowAttachment,
    to: Vec<(IpAddr, Option<MacAddress>, Reachability)>,
}

impl PacketPath {
    /// From `attachment` to those who gave these grants.
    #[must_use]
    pub fn new(attachment: FlowAttachment, grants: &[(Grant, Reachability)]) -> Self {
        let to = grants.iter().map(|(grant, reach)| (grant.address, grant.mac, *reach)).collect();
        Self { attachment, to }
    }

    /// The name that the interface has now by which frames leave.
    ///
    /// # Errors
    /// If it has gone.
    pub fn interface(&self) -> Result<String, ethermeter_net::Error> {
        let leaves_by = self.to.first().map(|(.., reach)| reach.route.interface);
        name_of(leaves_by.unwrap_or(self.attachment.interface.index))
    }

    /// What of it is no more as it was.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let FlowAttachment { address: own, interface, .. } = &self.attachment;
        if !is_there(&self.attachment)
            || name_of(interface.index).ok().as_ref() != Some(&interface.name)
        {
            return Some(format!("{own} is no more on {}, where it was", interface.name));
        }
        self.to.iter().find_map(|(address, granted, before)| {
            let Some(now) = reach(*own, *address) else {
                return Some(format!("no route to {address} any more"));
            };
            if now.route != before.route {
                return Some(format!("packets to {address} leave by another way"));
            }
            let other = now.neighbour.filter(|mac| granted.is_some_and(|granted| granted != *mac));
            other.map(|mac| format!("{mac} answers for {address}, and did not grant"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_loopback_interface_has_all_of_its_addresses_and_no_other() {
        for address in ["127.0.0.1", "127.9.9.9", "::1"] {
            let attachment = attachment_of(ip(address)).expect("a loopback interface");
            assert!(
                attachment.interface.is_loopback && attachment.interface.name == "lo",
                "{attachment:?}"
            );
            assert_eq!(attachment.interface.mac, Some(MacAddress([0; 6])));
            assert!(is_there(&attachment));
        }
        assert_eq!(attachment_of(ip("192.0.2.1")), None);
    }

    #[test]
    fn a_place_is_no_more_there_when_its_interface_is_another() {
        let attachment = attachment_of(ip("127.0.0.1")).expect("a loopback interface");
        let interface = InterfaceIdentity {
            index: attachment.interface.index + 1,
            ..attachment.interface.clone()
        };
        assert!(!is_there(&FlowAttachment { interface, ..attachment.clone() }));
        let interface =
            InterfaceIdentity { mac: Some(MacAddress([2; 6])), ..attachment.interface.clone() };
        assert!(!is_there(&FlowAttachment { interface, ..attachment }));
    }

    #[test]
    fn a_way_on_this_host_holds_as_long_as_it_is_the_same() {
        let (own, other) = (ip("127.0.0.1"), ip("127.0.0.2"));
        let attachment = attachment_of(own).expect("a loopback interface");
        let path =
            |reach| PacketPath { attachment: attachment.clone(), to: vec![(other, None, reach)] };
        let reach = reach(own, other).expect("a route");
        assert_eq!(path(reach).fault(), None);
        let mut changed = reach;
        changed.route.has_gateway = true;
        assert!(path(changed).fault().is_some_and(|fault| fault.contains("another way")));
    }
}
