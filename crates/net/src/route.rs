//! How packets leave this host: the interface towards an address, the station that answers for it,
//! and when either changes.

use crate::Error;
use crate::netlink::{Netlink, attribute, attributes, error_of, messages, request, word};
use crate::wire::MacAddress;
use nix::sys::socket::SockProtocol;
use std::io;
use std::net::IpAddr;

/// The way of packets to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRoute {
    /// Index of the interface that they leave by.
    pub interface: u32,
    /// Whether they stay on this host.
    pub is_local: bool,
    /// Whether they go to a router, and not to the address itself.
    pub has_gateway: bool,
}

const ROUTE: &str = "asking for a route";
const NEIGHBOUR: &str = "asking for a neighbour";
const CHANGES: &str = "waiting for changes of routes and neighbours";
/// Octets of `rtmsg` and of `ndmsg`.
const BODY_OCTETS: usize = 12;

fn family_and_octets(address: IpAddr) -> (u8, Vec<u8>) {
    let (family, octets) = match address {
        IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
    };
    (u8::try_from(family).expect("a family"), octets)
}

/// The way of packets from the own address `from` to `to`, of the same version of IP.
///
/// # Errors
/// If there is none, or the kernel does not report it.
pub fn route(from: IpAddr, to: IpAddr) -> Result<PacketRoute, Error> {
    let ((family, to), (_, from)) = (family_and_octets(to), family_and_octets(from));
    let bits = if to.len() == 4 { 32 } else { 128 };
    let mut body = vec![0; BODY_OCTETS];
    (body[0], body[1], body[2]) = (family, bits, bits);
    body.extend(attribute(libc::RTA_DST, &to));
    body.extend(attribute(libc::RTA_SRC, &from));
    let answer = answered(ROUTE, libc::RTM_GETROUTE, &body, libc::RTM_NEWROUTE)?;
    let kind = answer.get(7).copied(); // rtm_type
    let mut route =
        PacketRoute { interface: 0, is_local: kind == Some(libc::RTN_LOCAL), has_gateway: false };
    for (kind, value) in attributes(answer.get(BODY_OCTETS..).unwrap_or(&[])) {
        match kind {
            libc::RTA_OIF => route.interface = word(value, 0).unwrap_or(0),
            libc::RTA_GATEWAY | libc::RTA_VIA => route.has_gateway = true,
            _ => {}
        }
    }
    Ok(route)
}

/// The Ethernet address to which an interface sends packets for `address`; `None` if it does not
/// know one.
///
/// # Errors
/// If the kernel does not report it.
pub fn neighbour(interface: u32, address: IpAddr) -> Result<Option<MacAddress>, Error> {
    let (family, octets) = family_and_octets(address);
    let mut body = vec![0; BODY_OCTETS];
    body[0] = family;
    body[4..8].copy_from_slice(&interface.to_ne_bytes());
    body.extend(attribute(libc::NDA_DST, &octets));
    let answer = match answered(NEIGHBOUR, libc::RTM_GETNEIGH, &body, libc::RTM_NEWNEIGH) {
        Ok(answer) => answer,
        Err(Error::System { source, .. }) if source.raw_os_error() == Some(libc::ENOENT) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut neighbour = attributes(answer.get(BODY_OCTETS..).unwrap_or(&[]));
    let link_address = neighbour.find(|(kind, _)| *kind == libc::NDA_LLADDR);
    Ok(link_address.and_then(|(_, value)| value.first_chunk().copied()).map(MacAddress))
}

/// Have the kernel find out which station answers for `address`, without a packet to it. Needs the
/// right to administer the network; without it nothing happens.
pub fn solicit(interface: u32, address: IpAddr) {
    let (family, octets) = family_and_octets(address);
    let mut body = vec![0; BODY_OCTETS];
    body[0] = family;
    body[4..8].copy_from_slice(&interface.to_ne_bytes());
    body[10] = libc::NTF_USE;
    body.extend(attribute(libc::NDA_DST, &octets));
    let message = request(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE, &body);
    if let Ok(netlink) = Netlink::open(SockProtocol::NetlinkRoute, NEIGHBOUR) {
        let _ = netlink.send(&message);
    }
}

/// The body of the answer of kind `expected` to a request of this kind.
fn answered(doing: &'static str, kind: u16, body: &[u8], expected: u16) -> Result<Vec<u8>, Error> {
    let mut netlink = Netlink::open(SockProtocol::NetlinkRoute, doing)?;
    netlink.send(&request(kind, 0, body))?;
    for (kind, body) in messages(netlink.receive()?) {
        if kind == expected {
            return Ok(body.to_vec());
        }
        if i32::from(kind) == libc::NLMSG_ERROR {
            let source = io::Error::from_raw_os_error(error_of(body));
            return Err(Error::System { doing, source });
        }
    }
    Err(Error::System { doing, source: io::ErrorKind::InvalidData.into() })
}

/// Changes of interfaces, addresses, routes and neighbours of this host.
pub struct RouteChanges(Netlink);

impl RouteChanges {
    /// From now on.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new() -> Result<Self, Error> {
        let groups = libc::RTMGRP_LINK
            | libc::RTMGRP_NEIGH
            | libc::RTMGRP_IPV4_IFADDR
            | libc::RTMGRP_IPV4_ROUTE
            | libc::RTMGRP_IPV6_IFADDR
            | libc::RTMGRP_IPV6_ROUTE;
        let netlink = Netlink::open(SockProtocol::NetlinkRoute, CHANGES)?;
        netlink.listen(groups.cast_unsigned())?;
        Ok(Self(netlink))
    }

    /// Wait for the next, and no longer than two seconds. Changes that were too many to be told
    /// count as one.
    pub fn wait(&mut self) {
        let _ = self.0.receive();
        self.0.drain();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn loopback_addresses_are_local_and_have_no_neighbour() {
        let lo = crate::port::packet::interface_index("lo").expect("a loopback interface");
        for (from, to) in [("127.0.0.1", "127.9.9.9"), ("::1", "::1")] {
            let loopback_route = route(ip(from), ip(to)).expect("a route");
            assert_eq!(
                loopback_route,
                PacketRoute { interface: lo, is_local: true, has_gateway: false }
            );
        }
        assert_eq!(neighbour(lo, ip("127.0.0.1")).expect("an answer"), None);
    }

    #[test]
    fn an_address_that_is_not_our_own_has_no_route() {
        // TEST-NET-1 (RFC 5737) is nobody's.
        assert!(route(ip("192.0.2.1"), ip("127.0.0.1")).is_err());
    }
}
