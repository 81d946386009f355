//! The socket that receives, and the ring that the kernel fills.

use super::options::{PacketOptions, RingKind};
use super::socket::{bind, raw_socket};
use crate::Error;
use crate::port::ring::{BlockFrame, BlockRing, FrameRing, ring_counts};
use crate::port::system::{nanoseconds, set_packet_option, stamping_clock};
use crate::port::{ReceivedPayload, StationAddress};
use crate::time::WallClock;
use crate::wire::{FrameWindow, TAGGED_HEADER_OCTETS};
use ethermeter_ethernet::frame::LOCAL_EXPERIMENTAL_1;
use socket2::Socket;
use std::convert::Infallible;
use std::ops::ControlFlow;

/// The socket that receives, and its ring.
pub(super) struct PacketReceiver {
    socket: Socket,
    ring: Filled,
    wall: WallClock,
    dropped: u64,
}

enum Filled {
    Frames(FrameRing),
    Blocks(BlockRing),
}

impl PacketReceiver {
    pub(super) fn open(options: &PacketOptions, index: u32) -> Result<Self, Error> {
        let socket = raw_socket()?;
        let version = match options.ring {
            RingKind::Frames => libc::tpacket_versions::TPACKET_V2,
            RingKind::Blocks => libc::tpacket_versions::TPACKET_V3,
        };
        set_packet_option(
            &socket,
            libc::PACKET_VERSION,
            &(version as i32),
            "choosing a kind of ring",
        )?;
        set_packet_option(&socket, libc::PACKET_IGNORE_OUTGOING, &1i32, "ignoring what goes out")?;
        let ring = match options.ring {
            RingKind::Frames => {
                let longest_octets = TAGGED_HEADER_OCTETS + options.longest_payload;
                Filled::Frames(FrameRing::new(&socket, RING_OCTETS, BLOCK_OCTETS, longest_octets)?)
            }
            RingKind::Blocks => {
                let blocks = RING_OCTETS / BLOCK_OCTETS;
                Filled::Blocks(BlockRing::new(&socket, blocks, BLOCK_OCTETS, RETIRE_MS)?)
            }
        };
        if let Some(group) = options.group {
            let mut mr_address = [0; 8];
            mr_address[..6].copy_from_slice(&group.0);
            let membership = libc::packet_mreq {
                mr_ifindex: i32::try_from(index).expect("an index"),
                mr_type: u16::try_from(libc::PACKET_MR_MULTICAST).expect("a kind"),
                mr_alen: 6,
                mr_address,
            };
            set_packet_option(
                &socket,
                libc::PACKET_ADD_MEMBERSHIP,
                &membership,
                "joining a group",
            )?;
        }
        // Only now, so that the ring is there before the first frame.
        bind(&socket, index, LOCAL_EXPERIMENTAL_1)?;
        Ok(Self { socket, ring, wall: stamping_clock(), dropped: 0 })
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    #[inline]
    pub(super) fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        unexpected: &mut u64,
        mut take: F,
    ) -> usize {
        let wall = self.wall;
        let mut handed_on = 0;
        let mut hand_on = |frame: &[u8], octets: u32, seconds: u32, nanos: u32| {
            let stamp_ns = nanoseconds(i64::from(seconds), i64::from(nanos));
            let stamped_ns = Some(wall.monotonic_ns(stamp_ns));
            match FrameWindow::checked(frame) {
                Ok(window) if frame.len() == octets as usize => {
                    let from = StationAddress::Mac(window.header().source);
                    take(&ReceivedPayload {
                        payload: window.payload(),
                        from,
                        stamped_ns,
                        hop_limit: None,
                    });
                    handed_on += 1;
                }
                // Cut, or not ours.
                _ => *unexpected += 1,
            }
        };
        match &mut self.ring {
            Filled::Frames(ring) => {
                // Once around at most, so that a fast sender does not keep us here.
                ring.take(ring.slots(), |head, frame| {
                    hand_on(frame, head.tp_len, head.tp_sec, head.tp_nsec);
                    ControlFlow::Continue(())
                });
            }
            Filled::Blocks(ring) => {
                let Ok(_) = ring.take(|BlockFrame { head, frame, .. }| -> Result<(), Infallible> {
                    hand_on(frame, head.tp_len, head.tp_sec, head.tp_nsec);
                    Ok(())
                });
            }
        }
        handed_on
    }

    /// By how much the wall clock was set since the ring was opened.
    pub(super) fn clock_stepped_ns(&self) -> u64 {
        stamping_clock().stepped_ns(self.wall)
    }

    /// Frames that found the ring full, ever.
    pub(super) fn dropped(&mut self) -> Result<u64, Error> {
        self.dropped += ring_counts(&self.socket)?.1;
        Ok(self.dropped)
    }
}

const RING_OCTETS: usize = 8 << 20;
const BLOCK_OCTETS: usize = 1 << 18;
const RETIRE_MS: u32 = 1;
