//! Memory that is shared with the kernel, and the rings of slots and of blocks that it fills with
//! frames.

use super::system::{read_option, set_packet_option};
use crate::Error;
use socket2::Socket;
use std::ops::ControlFlow;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A mapping, unmapped when dropped.
///
/// It is used only through pointers into it, for what the kernel may do to it at the same time is
/// nothing that a reference to all of it could bear.
#[derive(Debug)]
pub(super) struct MappedRegion {
    start: NonNull<u8>,
    octets: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread, and has one owner.
#[expect(unsafe_code, reason = "a pointer is not Send by itself")]
unsafe impl Send for MappedRegion {}

impl MappedRegion {
    /// Memory of a socket's ring, or of no socket with `None`.
    ///
    /// # Errors
    /// If the system refuses.
    ///
    /// # Panics
    /// Never: mappings are not at 0.
    #[expect(unsafe_code, reason = "mapping memory")]
    pub(super) fn mapped(socket: Option<(RawFd, i64)>, octets: usize) -> Result<Self, Error> {
        let (fd, offset, kind) = match socket {
            Some((fd, offset)) => (fd, offset, libc::MAP_SHARED),
            None => (-1, 0, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS),
        };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                octets,
                protection,
                kind | libc::MAP_POPULATE,
                fd,
                offset,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(Error::last("mapping memory"));
        }
        Ok(Self { start: NonNull::new(start.cast()).expect("mappings are not at 0"), octets })
    }

    /// A pointer to a `T` at `at`.
    ///
    /// # Panics
    /// If it would not lie within the region, or be misaligned: the kernel's offsets are wrong
    /// then.
    #[inline]
    #[expect(unsafe_code, reason = "arithmetic of pointers")]
    pub(super) fn at<T>(&self, at: usize) -> *mut T {
        assert!(at <= self.octets && size_of::<T>() <= self.octets - at, "beyond shared memory");
        // SAFETY: within the mapping, as just checked.
        let pointer = unsafe { self.start.as_ptr().add(at) }.cast::<T>();
        assert!(pointer.is_aligned(), "misaligned in shared memory");
        pointer
    }

    /// A word that the kernel writes too.
    ///
    /// # Panics
    /// If it would not lie within the region, or be misaligned.
    #[must_use]
    #[inline]
    #[expect(unsafe_code, reason = "a reference into shared memory")]
    pub(super) fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: within the mapping and aligned, as `at` checks; alive as long as `self`; only
        // ever used atomically.
        unsafe { AtomicU32::from_ptr(self.at(at)) }
    }

    /// Copy of a plain structure of the kernel's that it does not write at the moment.
    ///
    /// # Panics
    /// If it would not lie within the region, or be misaligned.
    #[must_use]
    #[inline]
    #[expect(unsafe_code, reason = "reading shared memory")]
    pub(super) fn read<T: Copy>(&self, at: usize) -> T {
        // SAFETY: within the mapping and aligned, as `at` checks; the structures of the kernel hold
        // integers, for which all octets are values.
        unsafe { self.at::<T>(at).read_volatile() }
    }

    /// Write a plain structure that the kernel does not read at the moment.
    #[inline]
    #[expect(unsafe_code, reason = "writing shared memory")]
    pub(super) fn write<T: Copy>(&self, at: usize, value: T) {
        // SAFETY: within the mapping and aligned, as `at` checks.
        unsafe { self.at::<T>(at).write_volatile(value) }
    }

    /// Octets that the kernel does not write at the moment.
    ///
    /// # Panics
    /// If they would not lie within the region.
    #[must_use]
    #[inline]
    #[expect(unsafe_code, reason = "a slice of shared memory")]
    pub(super) fn octets(&self, at: usize, octets: usize) -> &[u8] {
        assert!(at <= self.octets && octets <= self.octets - at, "beyond shared memory");
        // SAFETY: within the mapping, as just checked; ours until we give the slot back.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), octets) }
    }

    /// Octets that are not in use, to write to.
    #[inline]
    #[expect(unsafe_code, reason = "a slice of shared memory")]
    pub(super) fn octets_mut(&mut self, at: usize, octets: usize) -> &mut [u8] {
        assert!(at <= self.octets && octets <= self.octets - at, "beyond shared memory");
        // SAFETY: within the mapping, as just checked; ours until we give the slot to the kernel;
        // `&mut self` keeps other slices away.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), octets) }
    }
}

impl Drop for MappedRegion {
    #[expect(unsafe_code, reason = "unmapping memory")]
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; every slice into it borrowed `self` and is gone.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.octets) };
    }
}

/// A ring of slots, each of which the kernel fills with a frame (`TPACKET_V2`).
pub struct FrameRing {
    region: MappedRegion,
    slots: usize,
    slot_octets: usize,
    next: usize,
}

impl FrameRing {
    /// Make a ring of slots for frames of at most `longest_octets`; `ring_octets` is a multiple of
    /// `block_octets`, and both are powers of two.
    ///
    /// # Errors
    /// If the system refuses.
    ///
    /// # Panics
    /// If a length has more than 32 bits.
    pub fn new(
        socket: &Socket,
        ring_octets: usize,
        block_octets: usize,
        longest_octets: usize,
    ) -> Result<Self, Error> {
        // The kernel puts its header, an address and some alignment before the frame.
        let slot_octets = (libc::TPACKET2_HDRLEN + 64 + longest_octets).next_power_of_two();
        let slots = ring_octets / slot_octets;
        let request = libc::tpacket_req {
            tp_block_size: number(block_octets),
            tp_block_nr: number(ring_octets / block_octets),
            tp_frame_size: number(slot_octets),
            tp_frame_nr: number(slots),
        };
        set_packet_option(socket, libc::PACKET_RX_RING, &request, "making a ring of frames")?;
        let region = MappedRegion::mapped(Some((socket.as_raw_fd(), 0)), ring_octets)?;
        Ok(Self { region, slots, slot_octets, next: 0 })
    }

    /// How many frames it has room for.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Hand on at most `most` frames, each with the kernel's header; returns how many. One at which
    /// `hand_on` breaks stays the next.
    #[inline]
    pub fn take(
        &mut self,
        most: usize,
        mut hand_on: impl FnMut(&libc::tpacket2_hdr, &[u8]) -> ControlFlow<()>,
    ) -> usize {
        let mut read = 0;
        while read < most {
            let at = self.next * self.slot_octets;
            if self.region.word(at).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                break;
            }
            let head: libc::tpacket2_hdr = self.region.read(at);
            let frame = self.region.octets(at + usize::from(head.tp_mac), head.tp_snaplen as usize);
            if hand_on(&head, frame).is_break() {
                break;
            }
            self.region.word(at).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
            read += 1;
        }
        read
    }
}

/// A ring of blocks that the kernel fills with frames (`TPACKET_V3`).
pub(super) struct BlockRing {
    region: MappedRegion,
    blocks: usize,
    block_octets: usize,
    next: usize,
}

/// A frame in a block, with the kernel's headers.
pub(super) struct BlockFrame<'a> {
    pub head: libc::tpacket3_hdr,
    pub from: libc::sockaddr_ll,
    pub frame: &'a [u8],
}

/// `tpacket3_hdr` rounded up as the kernel does; the address of the frame follows.
const HEAD_OCTETS: usize = size_of::<libc::tpacket3_hdr>().next_multiple_of(16);

impl BlockRing {
    /// Make a ring of `blocks`, each handed over when it is full or `retire_ms` old.
    pub fn new(
        socket: &Socket,
        blocks: usize,
        block_octets: usize,
        retire_ms: u32,
    ) -> Result<Self, Error> {
        const FRAME_OCTETS: usize = 1 << 11; // a measure only: frames lie as closely in a block as they can
        let request = libc::tpacket_req3 {
            tp_block_size: number(block_octets),
            tp_block_nr: number(blocks),
            tp_frame_size: number(FRAME_OCTETS),
            tp_frame_nr: number(blocks * block_octets / FRAME_OCTETS),
            tp_retire_blk_tov: retire_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set_packet_option(socket, libc::PACKET_RX_RING, &request, "making a ring of blocks")?;
        let region = MappedRegion::mapped(Some((socket.as_raw_fd(), 0)), blocks * block_octets)?;
        Ok(Self { region, blocks, block_octets, next: 0 })
    }

    /// Hand on the frames that are there, once around the ring at most; returns how many.
    #[inline]
    pub fn take<E>(
        &mut self,
        mut hand_on: impl FnMut(&BlockFrame<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        const STATUS_AT: usize = std::mem::offset_of!(libc::tpacket_block_desc, hdr);
        let mut read = 0;
        for _ in 0..self.blocks {
            let block_at = self.next * self.block_octets;
            let status = self.region.word(block_at + STATUS_AT);
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                break;
            }
            let block: libc::tpacket_hdr_v1 = self.region.read(block_at + STATUS_AT);
            let mut at = block_at + block.offset_to_first_pkt as usize;
            for _ in 0..block.num_pkts {
                let head: libc::tpacket3_hdr = self.region.read(at);
                let from = self.region.read(at + HEAD_OCTETS);
                let frame =
                    self.region.octets(at + usize::from(head.tp_mac), head.tp_snaplen as usize);
                let next_at = at + head.tp_next_offset as usize;
                hand_on(&BlockFrame { head, from, frame })?;
                at = next_at;
                read += 1;
            }
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.blocks;
        }
        Ok(read)
    }
}

/// Frames that passed the filter of a packet socket and, of these, frames that found its ring full,
/// since this was last asked: the kernel sets its counts to zero.
///
/// # Errors
/// If the kernel does not report it.
pub fn ring_counts(socket: &Socket) -> Result<(u64, u64), Error> {
    // A ring of frames gives the first two numbers only.
    let zero = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
    let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
    let since = read_option(socket, level, name, zero, "reading a ring's drops")?;
    Ok((since.tp_packets.into(), since.tp_drops.into()))
}

/// Two addresses, after which a VLAN tag stands.
pub const ADDRESSES_OCTETS: usize = 12;

/// The VLAN tag of a frame, which the kernel keeps apart, by the status in its header.
#[inline]
#[must_use]
pub fn vlan_tag(status: u32, tpid: u16, tci: u16) -> Option<[u8; 4]> {
    let tpid = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { tpid } else { 0x8100 };
    let ([a, b], [c, d]) = (tpid.to_be_bytes(), tci.to_be_bytes());
    (status & libc::TP_STATUS_VLAN_VALID != 0).then_some([a, b, c, d])
}

/// A number of the kernel's ring.
///
/// # Panics
/// If it is beyond the size of rings.
#[must_use]
pub(super) fn number(value: usize) -> u32 {
    u32::try_from(value).expect("below the size of a ring")
}
