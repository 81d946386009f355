//! Raw frames of our `EtherType` through `AF_PACKET` sockets.
//!
//! Sending and receiving have a socket each: the one that sends is bound to no protocol, so that
//! nothing queues up behind it. What arrives is read from a ring that the kernel fills: in frames,
//! each of which can be seen at once, or in blocks, which cost less a frame but are handed over
//! only when they are full or a millisecond old.

mod receiver;
mod sender;

use super::system::{hindrance, is_clear, Hindrance};
use super::{Address, Arrival, Port, PortCounters, Wait};
use crate::wire::{Addresses, Mac, HEADER_OCTETS};
use crate::Error;
use ethermeter_ethernet::frame::{FCS, SHORTEST};
use ethermeter_ethernet::Carrier;
use receiver::Receiver;
use sender::Sender;
use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, Socket, Type};

/// How the kernel hands frames over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// One by one, at once (`TPACKET_V2`): for short delays.
    Frames,
    /// By the block, when it is full or a millisecond old (`TPACKET_V3`): for many frames.
    Blocks,
}

/// What a port of raw frames is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketOptions {
    /// The interface.
    pub interface: String,
    /// Where frames go.
    pub destination: Mac,
    /// A group that is listened to, too.
    pub group: Option<Mac>,
    /// Whether frames go to the interface directly, past its queue: faster, but a shaped queue does
    /// not see them.
    pub past_queue: bool,
    /// How arrivals are handed over.
    pub ring: Ring,
    /// Octets of the longest payload: what the interface's MTU allows.
    pub longest_payload: usize,
    /// Frames a call.
    pub batch: usize,
    /// Octets of memory asked for, for frames waiting to be sent.
    pub room_octets: usize,
}

impl PacketOptions {
    /// A port on `interface` with what suits most uses.
    #[must_use]
    pub fn on(interface: &str, destination: Mac) -> Self {
        Self {
            interface: interface.to_owned(),
            destination,
            group: None,
            past_queue: false,
            ring: Ring::Frames,
            longest_payload: 1500,
            batch: 64,
            room_octets: 4 << 20,
        }
    }
}

/// A pair of packet sockets with their buffers.
pub struct PacketPort {
    sender: Sender,
    receiver: Receiver,
    addresses: Addresses,
    longest_payload: usize,
    batch: usize,
    counters: PortCounters,
}

/// Frames are padded to this: the shortest without its FCS.
#[allow(clippy::cast_possible_truncation)] // 60
const SHORTEST_OCTETS: usize = (SHORTEST.0 - FCS.0) as usize;
const LONGEST_PAYLOAD: usize = 9000;

impl PacketPort {
    /// Open it. Needs the right to open packet sockets (`CAP_NET_RAW`).
    ///
    /// # Errors
    /// If an option is out of range, or the system refuses.
    pub fn open(options: &PacketOptions) -> Result<Self, Error> {
        if !(1..=LONGEST_PAYLOAD).contains(&options.longest_payload) {
            return Err(Error::refused(
                "longest payload",
                options.longest_payload,
                "1 to 9000 octets",
            ));
        }
        if !(1..=1024).contains(&options.batch) {
            return Err(Error::refused("batch", options.batch, "1 to 1024 frames"));
        }
        let index = interface_index(&options.interface)?;
        let sender = Sender::open(options, index)?;
        let source = own_address(sender.socket())?;
        let addresses = Addresses { destination: options.destination, source };
        let mut port = Self {
            sender,
            receiver: Receiver::open(options, index)?,
            addresses,
            longest_payload: options.longest_payload,
            batch: options.batch,
            counters: PortCounters::default(),
        };
        port.sender.write_headers(port.addresses);
        Ok(port)
    }

    /// The address that frames are sent from.
    #[must_use]
    pub fn own_address(&self) -> Mac {
        self.addresses.source
    }
}

/// The index of an interface.
///
/// # Errors
/// If there is none of that name.
pub fn interface_index(name: &str) -> Result<u32, Error> {
    nix::net::if_::if_nametoindex(name)
        .map_err(|error| Error::System { doing: "finding an interface", source: error.into() })
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

fn own_address(socket: &Socket) -> Result<Mac, Error> {
    let address =
        socket.local_addr().map_err(Error::system("asking for an interface's address"))?;
    #[expect(unsafe_code, reason = "packet addresses are not known to the safe wrapper")]
    // SAFETY: the storage behind the pointer is large enough for every address, and a packet socket
    // has one of this kind.
    let packet = unsafe { address.as_ptr().cast::<libc::sockaddr_ll>().read_unaligned() };
    match packet.sll_halen {
        6 => Ok(Mac(*packet.sll_addr.first_chunk().expect("8 octets are more than 6"))),
        octets => Err(Error::refused(
            "interface",
            format!("one with addresses of {octets} octets"),
            "an Ethernet",
        )),
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).expect("below the size of a ring")
}

impl Port for PacketPort {
    fn carrier(&self) -> Carrier {
        Carrier::Raw
    }

    fn longest_payload(&self) -> usize {
        self.longest_payload
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn aim(&mut self, at: Address) -> Result<(), Error> {
        match at {
            Address::Mac(destination) => {
                if destination != self.addresses.destination {
                    self.addresses.destination = destination;
                    self.sender.write_headers(self.addresses);
                }
                Ok(())
            }
            Address::Socket(other) => Err(Error::refused("address", other, "an Ethernet address")),
        }
    }

    #[inline]
    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        let count = count.min(self.batch);
        let longest = self.longest_payload;
        let sent = self.sender.send(count, |index, frame| {
            let octets =
                HEADER_OCTETS + fill(index, &mut frame[HEADER_OCTETS..HEADER_OCTETS + longest]);
            octets.max(SHORTEST_OCTETS)
        });
        match sent {
            Ok(taken) => {
                self.counters.taken += taken as u64;
                self.counters.found_full += u64::from(taken == 0);
                Ok(taken)
            }
            Err(error) => {
                match hindrance(&error) {
                    Some(Hindrance::Full) => self.counters.found_full += 1,
                    Some(Hindrance::NoBuffers) => self.counters.no_buffers += 1,
                    Some(Hindrance::Interrupted) => {}
                    Some(Hindrance::RefusedByReceiver) | None => {
                        return Err(Error::System { doing: "sending raw frames", source: error })
                    }
                }
                Ok(0)
            }
        }
    }

    #[inline]
    fn receive<F: FnMut(&Arrival<'_>)>(&mut self, wait: Wait, mut take: F) -> Result<usize, Error> {
        let mut handed_on = self.receiver.receive(&mut self.counters.strange, &mut take);
        if let (0, Wait::Milliseconds(milliseconds)) = (handed_on, wait) {
            self.receiver.wait(milliseconds);
            handed_on = self.receiver.receive(&mut self.counters.strange, &mut take);
        }
        self.counters.handed_on += handed_on as u64;
        Ok(handed_on)
    }

    #[inline]
    fn is_clear(&mut self) -> Result<bool, Error> {
        self.sender.flush();
        is_clear(self.sender.socket())
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.sender.flush();
        self.counters.dropped_at_socket = self.receiver.dropped()?;
        Ok(self.counters)
    }
}
