//! Raw frames of our `EtherType` through `AF_XDP` sockets: past the kernel's network stack, all
//! other frames left to it.
//!
//! Frames lie in memory that is shared with the kernel, and only their places are passed. Whether
//! the driver reads them there itself or the kernel copies them is for the driver to say;
//! [`XdpPort::mode`] has it. On virtual Ethernet they are copied. There are no stamps of the
//! kernel.

mod program;
mod rings;

pub use program::Attachment;

use super::packet::{interface_index, shortest_octets};
use super::ring::MappedRegion;
use super::system::{Hindrance, hindrance, read_option, set_option, set_priority, wait_readable};
use super::{NetworkPort, PortCounters, ReceiveWait, ReceivedPayload, StationAddress};
use crate::Error;
use crate::time::Timeline;
use crate::wire::{FrameHeader, FrameWindow, MacAddress};
use ethermeter_ethernet::Carrier;
use program::Redirection;
use rings::{Which, XdpRing};
use serde::{Deserialize, Serialize};
use socket2::{Domain, SockAddr, SockAddrStorage, Socket, Type};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// What an `AF_XDP` port is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdpOptions {
    /// The interface.
    pub interface: String,
    /// The address of that interface, which frames come from.
    pub source: MacAddress,
    /// Where frames go.
    pub destination: MacAddress,
    /// Priority of what is sent, 0 to 7: in the tag of frames. Frames without one have no tag.
    pub priority: Option<u8>,
    /// The queue of the interface; frames that come in at another are left to the kernel.
    pub queue: u32,
    /// Whether frames are received: that attaches a program to the interface.
    pub receives: bool,
    /// Frames a call.
    pub batch: usize,
}

impl XdpOptions {
    /// A port on `interface` with what suits most uses.
    #[must_use]
    pub fn on(interface: &str, source: MacAddress, destination: MacAddress) -> Self {
        Self {
            interface: interface.to_owned(),
            source,
            destination,
            priority: None,
            queue: 0,
            receives: true,
            batch: 64,
        }
    }
}

/// How a port works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct XdpMode {
    /// Whether the kernel copies frames.
    pub copies: bool,
    /// Where the program that redirects frames runs, if there is one.
    pub attachment: Option<Attachment>,
}

/// An `AF_XDP` socket with its memory.
pub struct XdpPort {
    // Detached first, so that no frame is redirected to a socket that is about to go.
    redirection: Option<Redirection>,
    socket: Socket,
    memory: MappedRegion,
    fill: XdpRing<u64>,
    completion: XdpRing<u64>,
    receive: XdpRing<libc::xdp_desc>,
    send: XdpRing<libc::xdp_desc>,
    /// Slots that can be sent from.
    free: Vec<u64>,
    header: FrameHeader,
    batch: usize,
    copies: bool,
    counters: PortCounters,
}

const SLOT_OCTETS: u32 = 2048;
/// Slots for each direction, and entries of each ring.
const SLOTS: u32 = 4096;
/// A common Ethernet's; the kernel needs 256 octets of a slot for itself.
const LONGEST_PAYLOAD: usize = 1500;
const MEMORY_OCTETS: usize = 2 * SLOTS as usize * SLOT_OCTETS as usize;
/// How many frames the kernel copies and sends a call: `XDP_MAX_TX_SKB_BUDGET` of `linux/if_xdp.h`,
/// and the least it takes.
const MAX_TX_SKB_BUDGET: i32 = 9;
const LEAST_BUDGET: u32 = 32;
const CLOSING_LOOKS: u32 = 200; // two seconds
const BETWEEN_LOOKS_NS: u64 = 10_000_000;

impl XdpPort {
    /// Open it; waits up to two seconds for a queue that another socket had until now. Needs the
    /// rights to open raw sockets, to load programs and to lock memory.
    ///
    /// # Errors
    /// If an option is out of range, or the system refuses.
    pub fn open(options: &XdpOptions, time: &impl Timeline) -> Result<Self, Error> {
        if !(1..=1024).contains(&options.batch) {
            return Err(Error::refused("batch", options.batch, "1 to 1024 frames"));
        }
        let index = interface_index(&options.interface)?;
        let opening = Error::system("opening an XDP socket");
        let socket = Socket::new(Domain::from(libc::AF_XDP), Type::RAW, None).map_err(opening)?;
        socket.set_send_buffer_size(8 << 20).map_err(Error::system("preparing an XDP socket"))?;
        let memory = MappedRegion::mapped(None, MEMORY_OCTETS)?;
        let registration = libc::xdp_umem_reg {
            addr: memory.at::<u8>(0).expose_provenance() as u64,
            len: MEMORY_OCTETS as u64,
            chunk_size: SLOT_OCTETS,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        set_option(
            &socket,
            libc::SOL_XDP,
            libc::XDP_UMEM_REG,
            &registration,
            "sharing memory with the kernel",
        )?;
        if let Some(priority) = options.priority {
            set_priority(&socket, priority)?;
        }
        let mut fill = XdpRing::new(&socket, Which::Fill, SLOTS)?;
        let completion = XdpRing::new(&socket, Which::Completion, SLOTS)?;
        let receive = XdpRing::new(&socket, Which::Receive, SLOTS)?;
        let send = XdpRing::new(&socket, Which::Send, SLOTS)?;
        for slot in u64::from(SLOTS)..2 * u64::from(SLOTS) {
            fill.put(slot * u64::from(SLOT_OCTETS));
        }
        fill.show();
        let budget =
            u32::try_from(options.batch).map_or(LEAST_BUDGET, |batch| batch.max(LEAST_BUDGET));
        // Older kernels do not know it and send 32 frames a call: that costs some calls more.
        let _: Result<(), Error> =
            set_option(&socket, libc::SOL_XDP, MAX_TX_SKB_BUDGET, &budget, "setting a budget");
        bind(&socket, index, options.queue, time)?;
        let zero = libc::xdp_options { flags: 0 };
        let mode = read_option(
            &socket,
            libc::SOL_XDP,
            libc::XDP_OPTIONS,
            zero,
            "asking an XDP socket for its mode",
        )?;
        let attached = || Redirection::attached(index, options.queue, socket.as_raw_fd());
        let redirection = options.receives.then(attached).transpose()?;
        let mut port = Self {
            redirection,
            socket,
            memory,
            fill,
            completion,
            receive,
            send,
            free: (0..u64::from(SLOTS)).map(|slot| slot * u64::from(SLOT_OCTETS)).collect(),
            header: FrameHeader {
                destination: options.destination,
                source: options.source,
                priority: options.priority,
            },
            batch: options.batch,
            copies: mode.flags & libc::XDP_OPTIONS_ZEROCOPY == 0,
            counters: PortCounters::default(),
        };
        port.write_headers();
        Ok(port)
    }

    /// How it works.
    #[must_use]
    pub fn mode(&self) -> XdpMode {
        XdpMode {
            copies: self.copies,
            attachment: self.redirection.as_ref().map(|redirection| redirection.attachment),
        }
    }

    /// Headers stay where they are while payloads change.
    fn write_headers(&mut self) {
        for slot in 0..u64::from(SLOTS) {
            let at = index_of(slot * u64::from(SLOT_OCTETS));
            self.header.emit(self.memory.octets_mut(at, self.header.octets()));
        }
    }

    /// Take back the slots of frames that have gone out.
    #[inline]
    fn reclaim(&mut self) {
        while let Some(at) = self.completion.take() {
            self.free.push(at);
        }
        self.completion.release();
    }

    /// Let the kernel send what is in the ring, as far as it can now: some frames a call.
    #[inline]
    fn kick(&mut self) -> Result<(), Error> {
        let mut unsent = self.send.unsent();
        while unsent > 0 {
            let answer = self.socket.send_with_flags(&[], libc::MSG_DONTWAIT).err();
            let left = self.send.unsent();
            if let Some(error) = answer {
                match hindrance(&error) {
                    // Also returned when it has sent its share of a call and there is more.
                    Some(Hindrance::Full) if left < unsent => {}
                    Some(Hindrance::Full) => {
                        self.counters.found_full += 1;
                        return Ok(());
                    }
                    Some(Hindrance::NoBuffers) => {
                        self.counters.no_buffers += 1;
                        return Ok(());
                    }
                    Some(Hindrance::Interrupted) => {}
                    _ if error.raw_os_error() == Some(libc::EBUSY) => return Ok(()), // the driver's queue is stopped
                    _ => {
                        return Err(Error::System {
                            doing: "sending through an XDP socket",
                            source: error,
                        });
                    }
                }
            }
            unsent = left;
        }
        Ok(())
    }
}

fn bind(socket: &Socket, index: u32, queue: u32, time: &impl Timeline) -> Result<(), Error> {
    let mut storage = SockAddrStorage::zeroed();
    let octets =
        libc::socklen_t::try_from(size_of::<libc::sockaddr_xdp>()).expect("addresses are small");
    #[expect(unsafe_code, reason = "XDP addresses are not known to the safe wrapper")]
    // SAFETY: the storage is large enough for every address, zeroed, and is filled as its family
    // says.
    let address = unsafe {
        let xdp = storage.view_as::<libc::sockaddr_xdp>();
        xdp.sxdp_family = u16::try_from(libc::AF_XDP).expect("a family");
        xdp.sxdp_ifindex = index;
        xdp.sxdp_queue_id = queue;
        SockAddr::new(storage, octets)
    };
    // The kernel gives a queue back a while after its last socket was closed.
    let mut bound = socket.bind(&address);
    for _ in 0..CLOSING_LOOKS {
        match &bound {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                time.sleep_until(time.now_ns() + BETWEEN_LOOKS_NS);
            }
            _ => break,
        }
        bound = socket.bind(&address);
    }
    bound.map_err(Error::system("binding an XDP socket"))
}

fn index_of(at: u64) -> usize {
    usize::try_from(at).expect("within shared memory")
}

impl NetworkPort for XdpPort {
    fn carrier(&self) -> Carrier {
        self.header.carrier()
    }

    fn longest_payload(&self) -> usize {
        LONGEST_PAYLOAD
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn aim(&mut self, at: StationAddress) -> Result<(), Error> {
        match at {
            StationAddress::Mac(destination) => {
                if destination != self.header.destination {
                    self.header.destination = destination;
                    self.write_headers();
                }
                Ok(())
            }
            StationAddress::Socket(other) => {
                Err(Error::refused("address", other, "an Ethernet address"))
            }
        }
    }

    /// Frames that are taken lie in the ring; the kernel sends what it cannot send at once with a
    /// later call.
    #[inline]
    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        self.reclaim();
        let room = self.free.len().min(self.send.room() as usize);
        let count = count.min(self.batch).min(room);
        let header = self.header.octets();
        let shortest = shortest_octets(self.header.carrier());
        for index in 0..count {
            let at = self.free.pop().expect("as many as were counted");
            let frame = self.memory.octets_mut(index_of(at), header + LONGEST_PAYLOAD);
            let octets = (header + fill(index, &mut frame[header..])).max(shortest);
            let len = u32::try_from(octets).expect("below a slot");
            self.send.put(libc::xdp_desc { addr: at, len, options: 0 });
        }
        self.send.show();
        self.counters.found_full += u64::from(room == 0);
        self.counters.taken += count as u64;
        self.kick()?;
        Ok(count)
    }

    #[inline]
    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        wait: ReceiveWait,
        mut take: F,
    ) -> Result<usize, Error> {
        let mut handed_on = 0;
        for attempt in 0..2 {
            while let Some(entry) = self.receive.take() {
                let frame = self.memory.octets(index_of(entry.addr), entry.len as usize);
                match FrameWindow::checked(frame) {
                    Ok(window) => {
                        let from = StationAddress::Mac(window.header().source);
                        take(&ReceivedPayload {
                            payload: window.payload(),
                            from,
                            stamped_ns: None,
                            hop_limit: None,
                        });
                        handed_on += 1;
                    }
                    Err(_) => self.counters.unexpected += 1,
                }
                self.fill.put(entry.addr & !u64::from(SLOT_OCTETS - 1));
            }
            let ReceiveWait::Milliseconds(milliseconds) = wait else { break };
            if handed_on > 0 || attempt > 0 {
                break;
            }
            wait_readable(&self.socket, Duration::from_millis(milliseconds.into()));
        }
        if handed_on > 0 {
            self.receive.release();
            self.fill.show();
        }
        self.counters.handed_on += handed_on as u64;
        Ok(handed_on)
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.kick()?;
        let zero = libc::xdp_statistics {
            rx_dropped: 0,
            rx_invalid_descs: 0,
            tx_invalid_descs: 0,
            rx_ring_full: 0,
            rx_fill_ring_empty_descs: 0,
            tx_ring_empty_descs: 0,
        };
        let since = read_option(
            &self.socket,
            libc::SOL_XDP,
            libc::XDP_STATISTICS,
            zero,
            "asking an XDP socket for its drops",
        )?;
        // Frames without a slot to go to are among the dropped.
        self.counters.dropped_at_socket = since.rx_dropped + since.rx_ring_full;
        self.counters.failed = since.tx_invalid_descs;
        Ok(self.counters)
    }
}

impl Drop for XdpPort {
    fn drop(&mut self) {
        // Frames that were taken are sent if possible; there is no caller left for an error.
        let _: Result<(), Error> = self.kick();
        let _: io::Result<()> = self.socket.shutdown(std::net::Shutdown::Both);
    }
}
