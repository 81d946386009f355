//! The rings through which an `AF_XDP` socket and its user pass each other the places of frames.

use super::super::ring::MappedRegion;
use super::super::system::{read_option, set_option};
use crate::Error;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

/// Which ring of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// To the kernel: places for frames that come in.
    Fill,
    /// From the kernel: places of frames that have gone out.
    Completion,
    /// From the kernel: frames received.
    Receive,
    /// To the kernel: frames that are to go out.
    Send,
}

/// A ring of entries `T`, of which we are either the only producer or the only consumer.
pub(super) struct XdpRing<T> {
    region: MappedRegion,
    offsets: libc::xdp_ring_offset,
    entries: u32,
    /// Our own position; the other's is read when it matters.
    own: u32,
    other: u32,
    entry: std::marker::PhantomData<T>,
}

impl<T: Copy> XdpRing<T> {
    /// Make a ring of `entries`, a power of two.
    pub(super) fn new(socket: &impl AsRawFd, which: Which, entries: u32) -> Result<Self, Error> {
        let name = match which {
            Which::Fill => libc::XDP_UMEM_FILL_RING,
            Which::Completion => libc::XDP_UMEM_COMPLETION_RING,
            Which::Receive => libc::XDP_RX_RING,
            Which::Send => libc::XDP_TX_RING,
        };
        set_option(socket, libc::SOL_XDP, name, &entries, "making a ring")?;
        let zero = || libc::xdp_ring_offset { producer: 0, consumer: 0, desc: 0, flags: 0 };
        let zero = libc::xdp_mmap_offsets { rx: zero(), tx: zero(), fr: zero(), cr: zero() };
        let all = read_option(
            socket,
            libc::SOL_XDP,
            libc::XDP_MMAP_OFFSETS,
            zero,
            "asking where rings are",
        )?;
        let (offsets, at) = match which {
            Which::Fill => (all.fr, page_offset(libc::XDP_UMEM_PGOFF_FILL_RING)),
            Which::Completion => (all.cr, page_offset(libc::XDP_UMEM_PGOFF_COMPLETION_RING)),
            Which::Receive => (all.rx, libc::XDP_PGOFF_RX_RING),
            Which::Send => (all.tx, libc::XDP_PGOFF_TX_RING),
        };
        let octets = index_of(offsets.desc) + entries as usize * size_of::<T>();
        let region = MappedRegion::mapped(Some((socket.as_raw_fd(), at)), octets)?;
        Ok(Self { region, offsets, entries, own: 0, other: 0, entry: std::marker::PhantomData })
    }

    fn entry_at(&self, position: u32) -> usize {
        index_of(self.offsets.desc) + (position & (self.entries - 1)) as usize * size_of::<T>()
    }

    /// As producer: entries that can be put in now.
    #[inline]
    pub(super) fn room(&mut self) -> u32 {
        self.other = self.region.word(index_of(self.offsets.consumer)).load(Ordering::Acquire);
        self.entries - self.own.wrapping_sub(self.other)
    }

    /// As producer: put an entry in, not yet to be seen. There must be room.
    #[inline]
    pub(super) fn put(&mut self, entry: T) {
        self.region.write(self.entry_at(self.own), entry);
        self.own = self.own.wrapping_add(1);
    }

    /// As producer: show what was put in.
    #[inline]
    pub(super) fn show(&self) {
        self.region.word(index_of(self.offsets.producer)).store(self.own, Ordering::Release);
    }

    /// As producer: entries that were shown and not yet taken.
    #[inline]
    pub(super) fn unsent(&mut self) -> u32 {
        self.entries - self.room()
    }

    /// As consumer: the next entry, if there is one.
    #[inline]
    pub(super) fn take(&mut self) -> Option<T> {
        if self.own == self.other {
            self.other = self.region.word(index_of(self.offsets.producer)).load(Ordering::Acquire);
            if self.own == self.other {
                return None;
            }
        }
        let entry = self.region.read(self.entry_at(self.own));
        self.own = self.own.wrapping_add(1);
        Some(entry)
    }

    /// As consumer: give the places of what was taken back to the producer.
    #[inline]
    pub(super) fn release(&self) {
        self.region.word(index_of(self.offsets.consumer)).store(self.own, Ordering::Release);
    }
}

fn index_of(offset: u64) -> usize {
    usize::try_from(offset).expect("an offset within memory")
}

fn page_offset(offset: u64) -> i64 {
    i64::try_from(offset).expect("a constant of the kernel's")
}
