//! The socket that sends: through its queue with many frames a call, or past it through a ring that
//! the kernel empties.
//!
//! Only the first reports when a queue refuses a frame, which a ring would then send out of its
//! turn; past the queue nothing refuses.

use super::options::PacketOptions;
use super::socket::{bind, raw_socket, shortest_octets};
use crate::Error;
use crate::port::messages::Messages;
use crate::port::ring::{MappedRegion, number};
use crate::port::system::{hindrance, set_packet_option};
use crate::wire::{FrameHeader, TAGGED_HEADER_OCTETS};
use ethermeter_ethernet::Carrier;
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

const LONGEST_BLOCK: Duration = Duration::from_millis(50);

/// One of two methods to send.
pub(super) enum PacketSender {
    Calls { socket: Socket, outgoing: Messages },
    Ring(SendRing),
}

/// A ring of frames to send (`TPACKET_V2`).
pub(super) struct SendRing {
    socket: Socket,
    region: MappedRegion,
    slots: usize,
    slot_octets: usize,
    next: usize,
}

/// Fewest slots of a ring; a batch may need more. All of them together should stay in a processor's
/// second-level cache: with 1024 slots of 2048 octets on one of 2 MiB a frame took 4% more time
/// than with 256.
const FEWEST_SLOTS: usize = 256;
/// Where a slot's offload header begins: behind the ring's header, without the address that follows
/// it when receiving.
const OFFLOAD_AT: usize = libc::TPACKET2_HDRLEN - size_of::<libc::sockaddr_ll>();
/// Octets of that header (`struct virtio_net_hdr`).
const OFFLOAD_OCTETS: usize = 10;
/// Offset in a slot of the number of octets that the kernel copies into its buffer.
const COPIED_AT: usize = OFFLOAD_AT + 2;
/// Where a frame begins in its slot.
const FRAME_AT: usize = OFFLOAD_AT + OFFLOAD_OCTETS;
const LENGTH_AT: usize = std::mem::offset_of!(libc::tpacket2_hdr, tp_len);
/// Frames up to this length are copied whole. Of longer ones the kernel copies the Ethernet header
/// and refers to the slot for the rest, which on virtual Ethernet costs a page for each frame.
const COPIED_WHOLE: usize = 256;

impl PacketSender {
    /// A socket bound to no protocol, so that nothing queues up behind it.
    pub(super) fn open(options: &PacketOptions, index: u32) -> Result<Self, Error> {
        let preparing = || Error::system("preparing a packet socket");
        let socket = raw_socket()?;
        socket.set_send_buffer_size(options.room_octets).map_err(preparing())?;
        socket.set_write_timeout(Some(LONGEST_BLOCK)).map_err(preparing())?;
        let longest = (TAGGED_HEADER_OCTETS + options.longest_payload)
            .max(shortest_octets(Carrier::TaggedRaw));
        if !options.past_queue {
            bind(&socket, index, 0)?;
            return Ok(Self::Calls { socket, outgoing: Messages::new(options.batch, longest)? });
        }
        set_packet_option(&socket, libc::PACKET_QDISC_BYPASS, &1i32, "sending past the queue")?;
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        set_packet_option(&socket, libc::PACKET_VERSION, &version, "choosing a kind of ring")?;
        set_packet_option(&socket, libc::PACKET_VNET_HDR, &1i32, "sending with offload headers")?;
        let slots = options.batch.max(FEWEST_SLOTS).next_power_of_two();
        let slot_octets = (FRAME_AT + longest).next_power_of_two().max(1 << 11);
        let block_octets = slot_octets.max(1 << 16);
        let request = libc::tpacket_req {
            tp_block_size: number(block_octets),
            tp_block_nr: number(slots * slot_octets / block_octets),
            tp_frame_size: number(slot_octets),
            tp_frame_nr: number(slots),
        };
        set_packet_option(&socket, libc::PACKET_TX_RING, &request, "making a ring to send from")?;
        let region = MappedRegion::mapped(Some((socket.as_raw_fd(), 0)), slots * slot_octets)?;
        bind(&socket, index, 0)?;
        Ok(Self::Ring(SendRing { socket, region, slots, slot_octets, next: 0 }))
    }

    pub(super) fn socket(&self) -> &Socket {
        match self {
            Self::Calls { socket, .. } | Self::Ring(SendRing { socket, .. }) => socket,
        }
    }

    /// Headers stay where they are while payloads change.
    pub(super) fn write_headers(&mut self, header: FrameHeader) {
        match self {
            Self::Calls { outgoing, .. } => {
                for index in 0..outgoing.count() {
                    header.emit(outgoing.buffer(index));
                }
            }
            Self::Ring(ring) => {
                for slot in 0..ring.slots {
                    let at = slot * ring.slot_octets + FRAME_AT;
                    header.emit(ring.region.octets_mut(at, header.octets()));
                }
            }
        }
    }

    /// Send up to `count` frames, which `fill` completes, returning their octets; returns how many
    /// were taken.
    #[inline]
    pub(super) fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> io::Result<usize> {
        match self {
            Self::Calls { socket, outgoing } => {
                for index in 0..count {
                    let octets = fill(index, outgoing.buffer(index));
                    outgoing.set_octets(index, octets);
                }
                outgoing.send(socket.as_raw_fd(), count, None)
            }
            Self::Ring(ring) => ring.send(count, fill),
        }
    }

    /// Let what lies in the ring go out, as far as it can now.
    pub(super) fn flush(&mut self) {
        if let Self::Ring(ring) = self {
            // Whatever hinders it, it hinders the next frames too, and is reported then.
            let _: io::Result<()> = ring.kick();
        }
    }
}

impl SendRing {
    /// Frames that are taken lie in the ring; what the kernel cannot send at once goes with a later
    /// call.
    #[inline]
    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> io::Result<usize> {
        let mut sent = 0;
        while sent < count {
            let at = self.next * self.slot_octets;
            if self.region.word(at).load(Ordering::Acquire) != libc::TP_STATUS_AVAILABLE {
                break;
            }
            let octets =
                fill(sent, self.region.octets_mut(at + FRAME_AT, self.slot_octets - FRAME_AT));
            let copied = if octets <= COPIED_WHOLE { octets } else { 0 };
            self.region.write(at + COPIED_AT, u16::try_from(copied).expect("a short frame"));
            self.region.write(at + LENGTH_AT, number(OFFLOAD_OCTETS + octets));
            self.region.word(at).store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
            sent += 1;
        }
        match self.kick() {
            // A passing error is reported when nothing is taken; until then, frames are in the ring
            // all the same.
            Err(error) if sent == 0 || hindrance(&error).is_none() => Err(error),
            _ => Ok(sent),
        }
    }

    #[inline]
    fn kick(&mut self) -> io::Result<()> {
        self.socket.send_with_flags(&[], libc::MSG_DONTWAIT).map(|_| ())
    }
}
