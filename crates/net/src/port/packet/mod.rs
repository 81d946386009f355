//! Raw frames of our `EtherType` through `AF_PACKET` sockets.
//!
//! Sending and receiving have a socket each: the one that sends is bound to no protocol, so that
//! nothing queues up behind it. What arrives is read from a ring that the kernel fills: in frames,
//! each of which can be seen at once, or in blocks, which cost less a frame but are handed over
//! only when they are full or a millisecond old.

mod options;
mod receiver;
mod sender;
mod socket;

pub use options::{PacketOptions, RingKind};
pub(super) use socket::shortest_octets;
pub use socket::{bind, interface_index, raw_socket};

use super::system::{held_octets, set_priority, wait_readable};
use super::{NetworkPort, PortCounters, ReceiveWait, ReceivedPayload, StationAddress};
use crate::Error;
use crate::wire::{FrameHeader, MacAddress};
use ethermeter_ethernet::Carrier;
use receiver::PacketReceiver;
use sender::PacketSender;
use socket::own_address;
use std::time::Duration;

/// A pair of packet sockets with their buffers.
pub struct PacketPort {
    sender: PacketSender,
    receiver: PacketReceiver,
    header: FrameHeader,
    longest_payload: usize,
    batch: usize,
    counters: PortCounters,
}

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
        let sender = PacketSender::open(options, index)?;
        let source = own_address(sender.socket())?;
        let header =
            FrameHeader { destination: options.destination, source, priority: options.priority };
        if let Some(priority) = options.priority {
            set_priority(sender.socket(), priority)?;
        }
        let mut port = Self {
            sender,
            receiver: PacketReceiver::open(options, index)?,
            header,
            longest_payload: options.longest_payload,
            batch: options.batch,
            counters: PortCounters::default(),
        };
        port.sender.write_headers(port.header);
        Ok(port)
    }

    /// The address that frames are sent from.
    #[must_use]
    pub fn own_address(&self) -> MacAddress {
        self.header.source
    }
}

impl NetworkPort for PacketPort {
    fn carrier(&self) -> Carrier {
        self.header.carrier()
    }

    fn longest_payload(&self) -> usize {
        self.longest_payload
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn aim(&mut self, at: StationAddress) -> Result<(), Error> {
        match at {
            StationAddress::Mac(destination) => {
                if destination != self.header.destination {
                    self.header.destination = destination;
                    self.sender.write_headers(self.header);
                }
                Ok(())
            }
            StationAddress::Socket(other) => {
                Err(Error::refused("address", other, "an Ethernet address"))
            }
        }
    }

    #[inline]
    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        let count = count.min(self.batch);
        let (longest, header) = (self.longest_payload, self.header.octets());
        let shortest = shortest_octets(self.header.carrier());
        let sent = self.sender.send(count, |index, frame| {
            let octets = header + fill(index, &mut frame[header..header + longest]);
            octets.max(shortest)
        });
        match sent {
            Ok(taken) => {
                self.counters.taken += taken as u64;
                self.counters.found_full += u64::from(taken == 0);
                Ok(taken)
            }
            Err(error) => self.counters.count_hindrance(error, "sending raw frames").map(|()| 0),
        }
    }

    #[inline]
    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        wait: ReceiveWait,
        mut take: F,
    ) -> Result<usize, Error> {
        let mut handed_on = self.receiver.receive(&mut self.counters.unexpected, &mut take);
        if let (0, ReceiveWait::Milliseconds(milliseconds)) = (handed_on, wait) {
            wait_readable(self.receiver.socket(), Duration::from_millis(milliseconds.into()));
            handed_on = self.receiver.receive(&mut self.counters.unexpected, &mut take);
        }
        self.counters.handed_on += handed_on as u64;
        Ok(handed_on)
    }

    #[inline]
    fn is_clear(&mut self) -> Result<bool, Error> {
        self.sender.flush();
        Ok(held_octets(self.sender.socket())? == 0)
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.sender.flush();
        self.counters.dropped_at_socket = self.receiver.dropped()?;
        self.counters.clock_stepped_ns = self.receiver.clock_stepped_ns();
        Ok(self.counters)
    }
}
