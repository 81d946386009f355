//! Packet sockets and their addresses.

use crate::Error;
use crate::wire::MacAddress;
use ethermeter_ethernet::Carrier;
use ethermeter_ethernet::frame::FCS;
use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, Socket, Type};

/// Frames are padded to this: the shortest without its FCS.
#[allow(clippy::cast_possible_truncation)] // 60 or 64
pub(in crate::port) const fn shortest_octets(carrier: Carrier) -> usize {
    (carrier.shortest().0 - FCS.0) as usize
}

/// The index of an interface.
///
/// # Errors
/// If there is no interface of that name.
pub fn interface_index(name: &str) -> Result<u32, Error> {
    nix::net::if_::if_nametoindex(name).map_err(Error::system("finding an interface"))
}

/// A packet socket that is bound to nothing yet.
///
/// # Errors
/// If the system refuses.
pub fn raw_socket() -> Result<Socket, Error> {
    Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))
        .map_err(Error::system("opening a packet socket"))
}

/// Bind to an interface and a protocol; 0 receives nothing.
///
/// # Errors
/// If the system refuses.
///
/// # Panics
/// If the index is beyond those that interfaces have.
pub fn bind(socket: &Socket, index: u32, protocol: u16) -> Result<(), Error> {
    let mut storage = SockAddrStorage::zeroed();
    let octets =
        libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).expect("addresses are small");
    #[expect(unsafe_code, reason = "packet addresses are not known to the safe wrapper")]
    // SAFETY: the storage is large enough for every address, zeroed, and is filled as its family
    // says.
    let address = unsafe {
        let packet = storage.view_as::<libc::sockaddr_ll>();
        packet.sll_family = u16::try_from(libc::AF_PACKET).expect("a family");
        packet.sll_protocol = protocol.to_be();
        packet.sll_ifindex = i32::try_from(index).expect("an index");
        SockAddr::new(storage, octets)
    };
    socket.bind(&address).map_err(Error::system("binding a packet socket"))
}

/// The address of the interface that a socket is bound to.
pub(super) fn own_address(socket: &Socket) -> Result<MacAddress, Error> {
    let address =
        socket.local_addr().map_err(Error::system("asking for an interface's address"))?;
    #[expect(unsafe_code, reason = "packet addresses are not known to the safe wrapper")]
    // SAFETY: the storage behind the pointer is large enough for every address, and a packet socket
    // has one of this kind.
    let packet = unsafe { address.as_ptr().cast::<libc::sockaddr_ll>().read_unaligned() };
    match packet.sll_halen {
        6 => Ok(MacAddress(*packet.sll_addr.first_chunk().expect("8 octets are more than 6"))),
        octets => Err(Error::refused(
            "interface",
            format!("one with addresses of {octets} octets"),
            "an Ethernet",
        )),
    }
}
