//! Raw frames in and out of an interface.

use crate::Error;
use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, Socket, Type};
use std::io;
use std::os::fd::AsRawFd;

/// Every protocol, for receivers (`ETH_P_ALL`).
pub const EVERY: u16 = 3;
/// No protocol, for senders: nothing queues up behind the socket.
pub const NONE: u16 = 0;

/// `PACKET_IGNORE_OUTGOING` of `linux/if_packet.h`, since Linux 4.20.
const IGNORE_OUTGOING: i32 = 23;

/// A packet socket on an interface of this network namespace.
pub fn open(interface: &str, protocol: u16) -> Result<Socket, Error> {
    let opening = || Error::system("opening a packet socket");
    let index = nix::net::if_::if_nametoindex(interface).map_err(|errno| Error::System {
        doing: "finding an interface",
        source: io::Error::from(errno),
    })?;
    let socket =
        Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0))).map_err(opening())?;
    socket.bind(&address(index, protocol)).map_err(opening())?;
    Ok(socket)
}

#[expect(unsafe_code, reason = "addresses of packet sockets, which no safe wrapper makes")]
fn address(index: u32, protocol: u16) -> SockAddr {
    let link = libc::sockaddr_ll {
        sll_family: libc::sa_family_t::try_from(libc::AF_PACKET).expect("a small number"),
        sll_protocol: protocol.to_be(),
        sll_ifindex: i32::try_from(index).expect("interfaces are numbered from 1"),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: the storage is larger than any address, and aligned for each; an address is written,
    // and its length is given.
    unsafe {
        *storage.view_as::<libc::sockaddr_ll>() = link;
        SockAddr::new(
            storage,
            libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).expect("addresses are small"),
        )
    }
}

/// Let a socket not hear what its own interface sends.
#[expect(unsafe_code, reason = "an option that no safe wrapper knows")]
pub fn ignore_outgoing(socket: &Socket) -> Result<(), Error> {
    let on = 1i32;
    let octets = libc::socklen_t::try_from(size_of::<i32>()).expect("options are small");
    // SAFETY: `on` lives through the call, which reads as many octets as it has.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            IGNORE_OUTGOING,
            (&raw const on).cast(),
            octets,
        )
    };
    if status == 0 {
        return Ok(());
    }
    Err(Error::System { doing: "hearing only what comes in", source: io::Error::last_os_error() })
}
