//! The host's interfaces and their addresses.

use crate::consent::Interface;
use ethermeter_live::wire::Mac;
use nix::net::if_::InterfaceFlags;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostInterface {
    /// Its name.
    pub name: String,
    /// Its IP addresses.
    pub addresses: Vec<IpAddr>,
    /// Its Ethernet address; that of a loopback interface is all zeros.
    pub mac: Option<Mac>,
    /// Whether nothing leaves the host by it.
    pub is_loopback: bool,
    /// Octets of its longest IP packet.
    pub mtu: Option<u32>,
}

impl HostInterface {
    /// As rules see it.
    #[must_use]
    pub fn for_rules(&self) -> Interface {
        Interface { name: self.name.clone(), is_loopback: self.is_loopback }
    }
}

/// Interfaces by name; empty if the operating system does not list them.
#[must_use]
pub fn interfaces() -> Vec<HostInterface> {
    let mut interfaces: BTreeMap<String, HostInterface> = BTreeMap::new();
    for entry in nix::ifaddrs::getifaddrs().into_iter().flatten() {
        let interface = interfaces.entry(entry.interface_name.clone()).or_default();
        interface.name = entry.interface_name;
        interface.is_loopback = entry.flags.contains(InterfaceFlags::IFF_LOOPBACK);
        let Some(address) = entry.address else { continue };
        let ip = address
            .as_sockaddr_in()
            .map(|address| IpAddr::V4(address.ip()))
            .or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())));
        interface.addresses.extend(ip);
        if let Some(mac) = address.as_link_addr().and_then(nix::sys::socket::LinkAddr::addr) {
            interface.mac = Some(Mac(mac));
        }
    }
    interfaces.into_values().collect()
}

/// The interface of this name or, if that is empty, with this address. All of 127.0.0.0/8 are
/// addresses of the loopback interface.
#[must_use]
pub fn interface_of(name: &str, address: IpAddr) -> Option<HostInterface> {
    let is_loopback = matches!(address, IpAddr::V4(address) if address.is_loopback());
    let mut found = interfaces().into_iter().find(|interface| {
        if name.is_empty() {
            interface.addresses.contains(&address) || (is_loopback && interface.is_loopback)
        } else {
            interface.name == name
        }
    })?;
    found.mtu = ethermeter_live::interface::mtu(&found.name).ok();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found_by_its_name_and_by_any_of_its_addresses() {
        for (name, address) in [("lo", "192.0.2.1"), ("", "127.0.0.1"), ("", "127.9.9.9")] {
            let found = interface_of(name, address.parse().expect("an address"))
                .expect("a loopback interface");
            assert!(found.is_loopback && found.name == "lo", "{found:?}");
            assert_eq!(found.mac, Some(Mac([0; 6])));
        }
        assert_eq!(interface_of("", "192.0.2.1".parse().expect("an address")), None);
    }
}
