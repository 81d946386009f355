//! Raw frames of our `EtherType` through `AF_PACKET` sockets.
//!
//! Sending and receiving have a socket each: the one that sends is bound to no protocol, so that nothing queues up behind it. What arrives is read from a
//! ring that the kernel fills: in frames, each of which can be seen at once, or in blocks, which cost less a frame but are handed over only
//! when they are full or a millisecond old.

use super::ring::Region;
use super::system::{hindrance, nanoseconds, read_option, set_option, Hindrance, Messages};
use super::{Address, Arrival, Port, PortCounters, Wait};
use crate::time::WallClock;
use crate::wire::{Addresses, FrameWindow, Mac, HEADER_OCTETS};
use crate::Error;
use ethermeter_ethernet::frame::{FCS, LOCAL_EXPERIMENTAL_1, SHORTEST};
use ethermeter_ethernet::Carrier;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, Socket, Type};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

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
    /// Whether frames go to the interface directly, past its queue: faster, but a shaped queue does not see them.
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
    sender: Socket,
    outgoing: Messages,
    receiver: Receiver,
    addresses: Addresses,
    longest_payload: usize,
    counters: PortCounters,
}

const LONGEST_BLOCK: Duration = Duration::from_millis(50);
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
            return Err(Error::refused("longest payload", options.longest_payload, "1 to 9000 octets"));
        }
        if !(1..=1024).contains(&options.batch) {
            return Err(Error::refused("batch", options.batch, "1 to 1024 frames"));
        }
        let index = interface_index(&options.interface)?;
        let opening = || Error::system("preparing a packet socket");
        let sender = raw_socket()?;
        sender.set_send_buffer_size(options.room_octets).map_err(opening())?;
        sender.set_write_timeout(Some(LONGEST_BLOCK)).map_err(opening())?;
        if options.past_queue {
            set_option(&sender, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32, "sending past the queue")?;
        }
        bind(&sender, index, 0)?;
        let source = own_address(&sender)?;
        let addresses = Addresses { destination: options.destination, source };
        let mut port = Self {
            sender,
            outgoing: Messages::new(options.batch, (HEADER_OCTETS + options.longest_payload).max(SHORTEST_OCTETS))?,
            receiver: Receiver::open(options, index)?,
            addresses,
            longest_payload: options.longest_payload,
            counters: PortCounters::default(),
        };
        port.write_headers();
        Ok(port)
    }

    /// The address that frames are sent from.
    #[must_use]
    pub fn own_address(&self) -> Mac {
        self.addresses.source
    }

    fn write_headers(&mut self) {
        for index in 0..self.outgoing.count() {
            self.addresses.emit(self.outgoing.buffer(index));
        }
    }
}

/// The index of an interface.
pub(super) fn interface_index(name: &str) -> Result<u32, Error> {
    nix::net::if_::if_nametoindex(name)
        .map_err(|error| Error::System { doing: "finding an interface", source: error.into() })
}

fn raw_socket() -> Result<Socket, Error> {
    Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0))).map_err(Error::system("opening a packet socket"))
}

/// Bind to an interface and a protocol; 0 receives nothing.
fn bind(socket: &Socket, index: u32, protocol: u16) -> Result<(), Error> {
    let mut storage = SockAddrStorage::zeroed();
    let octets = libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).expect("addresses are small");
    #[expect(unsafe_code, reason = "packet addresses are not known to the safe wrapper")]
    // SAFETY: the storage is large enough for every address, zeroed, and is filled as its family says.
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
    let address = socket.local_addr().map_err(Error::system("asking for an interface's address"))?;
    #[expect(unsafe_code, reason = "packet addresses are not known to the safe wrapper")]
    // SAFETY: the storage behind the pointer is large enough for every address, and a packet socket has one of this kind.
    let packet = unsafe { address.as_ptr().cast::<libc::sockaddr_ll>().read_unaligned() };
    match packet.sll_halen {
        6 => Ok(Mac(*packet.sll_addr.first_chunk().expect("8 octets are more than 6"))),
        octets => Err(Error::refused("interface", format!("one with addresses of {octets} octets"), "an Ethernet")),
    }
}

/// The socket that receives, and its ring.
struct Receiver {
    socket: Socket,
    region: Region,
    ring: Ring,
    slots: usize,
    slot_octets: usize,
    next: usize,
    wall: WallClock,
    dropped: u64,
}

impl Receiver {
    fn open(options: &PacketOptions, index: u32) -> Result<Self, Error> {
        let socket = raw_socket()?;
        let version = match options.ring {
            Ring::Frames => libc::tpacket_versions::TPACKET_V2,
            Ring::Blocks => libc::tpacket_versions::TPACKET_V3,
        };
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &(version as i32), "choosing a kind of ring")?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32, "ignoring what goes out")?;
        let (slots, slot_octets) = match options.ring {
            Ring::Frames => request_frames(&socket, options.longest_payload)?,
            Ring::Blocks => request_blocks(&socket)?,
        };
        let region = Region::mapped(Some((socket.as_raw_fd(), 0)), slots * slot_octets)?;
        if let Some(group) = options.group {
            let mut mr_address = [0; 8];
            mr_address[..6].copy_from_slice(&group.0);
            let membership = libc::packet_mreq {
                mr_ifindex: i32::try_from(index).expect("an index"),
                mr_type: u16::try_from(libc::PACKET_MR_MULTICAST).expect("a kind"),
                mr_alen: 6,
                mr_address,
            };
            set_option(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership, "joining a group")?;
        }
        // Only now, so that the ring is there before the first frame.
        bind(&socket, index, LOCAL_EXPERIMENTAL_1)?;
        let wall = WallClock::compared();
        Ok(Self { socket, region, ring: options.ring, slots, slot_octets, next: 0, wall, dropped: 0 })
    }

    #[inline]
    fn receive<F: FnMut(&Arrival<'_>)>(&mut self, strange: &mut u64, mut take: F) -> usize {
        match self.ring {
            Ring::Frames => self.receive_frames(strange, &mut take),
            Ring::Blocks => self.receive_blocks(strange, &mut take),
        }
    }

    #[inline]
    fn receive_frames<F: FnMut(&Arrival<'_>)>(&mut self, strange: &mut u64, take: &mut F) -> usize {
        let mut handed_on = 0;
        // Once around at most, so that a fast sender does not keep us here.
        for _ in 0..self.slots {
            let at = self.next * self.slot_octets;
            if self.region.word(at).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                break;
            }
            let head: libc::tpacket2_hdr = self.region.read(at);
            let stamp_ns = nanoseconds(i64::from(head.tp_sec), i64::from(head.tp_nsec));
            let frame = self.region.octets(at + usize::from(head.tp_mac), head.tp_snaplen as usize);
            handed_on += hand_on(frame, head.tp_len, self.wall.monotonic_ns(stamp_ns), strange, take);
            self.region.word(at).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        handed_on
    }

    #[inline]
    fn receive_blocks<F: FnMut(&Arrival<'_>)>(&mut self, strange: &mut u64, take: &mut F) -> usize {
        const STATUS_AT: usize = std::mem::offset_of!(libc::tpacket_block_desc, hdr);
        let mut handed_on = 0;
        for _ in 0..self.slots {
            let block_at = self.next * self.slot_octets;
            if self.region.word(block_at + STATUS_AT).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                break;
            }
            let block: libc::tpacket_hdr_v1 = self.region.read(block_at + STATUS_AT);
            let mut at = block_at + block.offset_to_first_pkt as usize;
            for _ in 0..block.num_pkts {
                let head: libc::tpacket3_hdr = self.region.read(at);
                let stamp_ns = nanoseconds(i64::from(head.tp_sec), i64::from(head.tp_nsec));
                let frame = self.region.octets(at + usize::from(head.tp_mac), head.tp_snaplen as usize);
                handed_on += hand_on(frame, head.tp_len, self.wall.monotonic_ns(stamp_ns), strange, take);
                at += head.tp_next_offset as usize;
            }
            self.region.word(block_at + STATUS_AT).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        handed_on
    }

    fn wait(&self, milliseconds: u16) {
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        // Whatever ends it, the ring is looked at.
        let _ = nix::poll::poll(&mut fds, PollTimeout::from(milliseconds));
    }

    /// Frames that found the ring full, ever.
    fn dropped(&mut self) -> Result<u64, Error> {
        let zero = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        // Reading sets the kernel's count to zero. A ring of frames gives the first two numbers only.
        let since =
            read_option(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, zero, "reading a ring's drops")?;
        self.dropped += u64::from(since.tp_drops);
        Ok(self.dropped)
    }
}

/// Hand a frame on unless it was cut or is not ours; returns how many that are.
#[inline]
fn hand_on<F: FnMut(&Arrival<'_>)>(
    frame: &[u8],
    octets: u32,
    stamped_ns: u64,
    strange: &mut u64,
    take: &mut F,
) -> usize {
    match FrameWindow::checked(frame) {
        Ok(window) if frame.len() == octets as usize => {
            let from = Address::Mac(window.addresses().source);
            take(&Arrival { payload: window.payload(), from, stamped_ns: Some(stamped_ns) });
            1
        }
        _ => {
            *strange += 1;
            0
        }
    }
}

const RING_OCTETS: usize = 8 << 20;
const BLOCK_OCTETS: usize = 1 << 18;

fn request_frames(socket: &Socket, longest_payload: usize) -> Result<(usize, usize), Error> {
    // The kernel puts its header, an address and some alignment before the frame.
    let slot_octets = (libc::TPACKET2_HDRLEN + 64 + HEADER_OCTETS + longest_payload).next_power_of_two();
    let slots = RING_OCTETS / slot_octets;
    let request = libc::tpacket_req {
        tp_block_size: number(BLOCK_OCTETS),
        tp_block_nr: number(RING_OCTETS / BLOCK_OCTETS),
        tp_frame_size: number(slot_octets),
        tp_frame_nr: number(slots),
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request, "making a ring of frames")?;
    Ok((slots, slot_octets))
}

fn request_blocks(socket: &Socket) -> Result<(usize, usize), Error> {
    const FRAME_OCTETS: usize = 1 << 11; // a measure only: frames lie as closely in a block as they can
    const RETIRE_MS: u32 = 1;
    let request = libc::tpacket_req3 {
        tp_block_size: number(BLOCK_OCTETS),
        tp_block_nr: number(RING_OCTETS / BLOCK_OCTETS),
        tp_frame_size: number(FRAME_OCTETS),
        tp_frame_nr: number(RING_OCTETS / FRAME_OCTETS),
        tp_retire_blk_tov: RETIRE_MS,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request, "making a ring of blocks")?;
    Ok((RING_OCTETS / BLOCK_OCTETS, BLOCK_OCTETS))
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
        self.outgoing.count()
    }

    fn aim(&mut self, at: Address) -> Result<(), Error> {
        match at {
            Address::Mac(destination) => {
                if destination != self.addresses.destination {
                    self.addresses.destination = destination;
                    self.write_headers();
                }
                Ok(())
            }
            Address::Socket(other) => Err(Error::refused("address", other, "an Ethernet address")),
        }
    }

    #[inline]
    fn send<F: FnMut(usize, &mut [u8]) -> usize>(&mut self, count: usize, mut fill: F) -> Result<usize, Error> {
        let count = count.min(self.outgoing.count());
        for index in 0..count {
            let room = &mut self.outgoing.buffer(index)[HEADER_OCTETS..HEADER_OCTETS + self.longest_payload];
            let octets = HEADER_OCTETS + fill(index, room);
            self.outgoing.set_octets(index, octets.max(SHORTEST_OCTETS));
        }
        match self.outgoing.send(self.sender.as_raw_fd(), count, None) {
            Ok(taken) => {
                self.counters.taken += taken as u64;
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

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.counters.dropped_at_socket = self.receiver.dropped()?;
        Ok(self.counters)
    }
}
