//! The socket that receives, and the ring that the kernel fills.

use super::options::{PacketOptions, Ring};
use super::socket::{bind, number, raw_socket};
use crate::port::ring::Region;
use crate::port::system::{nanoseconds, read_option, set_option};
use crate::port::{Address, Arrival};
use crate::time::WallClock;
use crate::wire::{FrameWindow, HEADER_OCTETS};
use crate::Error;
use ethermeter_ethernet::frame::LOCAL_EXPERIMENTAL_1;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use socket2::Socket;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering;

/// The socket that receives, and its ring.
pub(super) struct Receiver {
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
    pub(super) fn open(options: &PacketOptions, index: u32) -> Result<Self, Error> {
        let socket = raw_socket()?;
        let version = match options.ring {
            Ring::Frames => libc::tpacket_versions::TPACKET_V2,
            Ring::Blocks => libc::tpacket_versions::TPACKET_V3,
        };
        set_option(
            &socket,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &(version as i32),
            "choosing a kind of ring",
        )?;
        set_option(
            &socket,
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            &1i32,
            "ignoring what goes out",
        )?;
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
            set_option(
                &socket,
                libc::SOL_PACKET,
                libc::PACKET_ADD_MEMBERSHIP,
                &membership,
                "joining a group",
            )?;
        }
        // Only now, so that the ring is there before the first frame.
        bind(&socket, index, LOCAL_EXPERIMENTAL_1)?;
        let wall = WallClock::compared();
        Ok(Self {
            socket,
            region,
            ring: options.ring,
            slots,
            slot_octets,
            next: 0,
            wall,
            dropped: 0,
        })
    }

    #[inline]
    pub(super) fn receive<F: FnMut(&Arrival<'_>)>(
        &mut self,
        unexpected: &mut u64,
        mut take: F,
    ) -> usize {
        match self.ring {
            Ring::Frames => self.receive_frames(unexpected, &mut take),
            Ring::Blocks => self.receive_blocks(unexpected, &mut take),
        }
    }

    #[inline]
    fn receive_frames<F: FnMut(&Arrival<'_>)>(
        &mut self,
        unexpected: &mut u64,
        take: &mut F,
    ) -> usize {
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
            handed_on +=
                hand_on(frame, head.tp_len, self.wall.monotonic_ns(stamp_ns), unexpected, take);
            self.region.word(at).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        handed_on
    }

    #[inline]
    fn receive_blocks<F: FnMut(&Arrival<'_>)>(
        &mut self,
        unexpected: &mut u64,
        take: &mut F,
    ) -> usize {
        const STATUS_AT: usize = std::mem::offset_of!(libc::tpacket_block_desc, hdr);
        let mut handed_on = 0;
        for _ in 0..self.slots {
            let block_at = self.next * self.slot_octets;
            if self.region.word(block_at + STATUS_AT).load(Ordering::Acquire) & libc::TP_STATUS_USER
                == 0
            {
                break;
            }
            let block: libc::tpacket_hdr_v1 = self.region.read(block_at + STATUS_AT);
            let mut at = block_at + block.offset_to_first_pkt as usize;
            for _ in 0..block.num_pkts {
                let head: libc::tpacket3_hdr = self.region.read(at);
                let stamp_ns = nanoseconds(i64::from(head.tp_sec), i64::from(head.tp_nsec));
                let frame =
                    self.region.octets(at + usize::from(head.tp_mac), head.tp_snaplen as usize);
                handed_on +=
                    hand_on(frame, head.tp_len, self.wall.monotonic_ns(stamp_ns), unexpected, take);
                at += head.tp_next_offset as usize;
            }
            self.region.word(block_at + STATUS_AT).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        handed_on
    }

    pub(super) fn wait(&self, milliseconds: u16) {
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        // Whatever ends it, the ring is looked at.
        let _ = nix::poll::poll(&mut fds, PollTimeout::from(milliseconds));
    }

    /// By how much the wall clock was set since the ring was opened.
    pub(super) fn clock_stepped_ns(&self) -> u64 {
        WallClock::compared().stepped_ns(self.wall)
    }

    /// Frames that found the ring full, ever.
    pub(super) fn dropped(&mut self) -> Result<u64, Error> {
        let zero = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        // Reading sets the kernel's count to zero. A ring of frames gives the first two numbers
        // only.
        let since = read_option(
            &self.socket,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            zero,
            "reading a ring's drops",
        )?;
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
    unexpected: &mut u64,
    take: &mut F,
) -> usize {
    match FrameWindow::checked(frame) {
        Ok(window) if frame.len() == octets as usize => {
            let from = Address::Mac(window.addresses().source);
            take(&Arrival { payload: window.payload(), from, stamped_ns: Some(stamped_ns) });
            1
        }
        _ => {
            *unexpected += 1;
            0
        }
    }
}

const RING_OCTETS: usize = 8 << 20;
const BLOCK_OCTETS: usize = 1 << 18;

fn request_frames(socket: &Socket, longest_payload: usize) -> Result<(usize, usize), Error> {
    // The kernel puts its header, an address and some alignment before the frame.
    let slot_octets =
        (libc::TPACKET2_HDRLEN + 64 + HEADER_OCTETS + longest_payload).next_power_of_two();
    let slots = RING_OCTETS / slot_octets;
    let request = libc::tpacket_req {
        tp_block_size: number(BLOCK_OCTETS),
        tp_block_nr: number(RING_OCTETS / BLOCK_OCTETS),
        tp_frame_size: number(slot_octets),
        tp_frame_nr: number(slots),
    };
    set_option(
        socket,
        libc::SOL_PACKET,
        libc::PACKET_RX_RING,
        &request,
        "making a ring of frames",
    )?;
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
    set_option(
        socket,
        libc::SOL_PACKET,
        libc::PACKET_RX_RING,
        &request,
        "making a ring of blocks",
    )?;
    Ok((RING_OCTETS / BLOCK_OCTETS, BLOCK_OCTETS))
}
