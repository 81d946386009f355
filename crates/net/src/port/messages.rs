//! Batches of messages in one call of the system.

use super::PortCounters;
use super::ring::MappedRegion;
use super::system::{Hindrance, hindrance, nanoseconds};
use crate::Error;
use crate::time::WallClock;
use socket2::SockAddr;
use std::io;
use std::os::fd::RawFd;

const CONTROL_OCTETS: usize = 128;
/// Slots begin at multiples of a cache line.
const LINE: usize = 64;

/// Buffers and headers for many messages in one call.
pub(super) struct Messages {
    buffers: MappedRegion,
    stride: usize,
    slices: Box<[libc::iovec]>,
    names: Box<[libc::sockaddr_storage]>,
    controls: Box<[[u64; CONTROL_OCTETS / 8]]>, // of words, for the headers in them must be aligned
    headers: Box<[libc::mmsghdr]>,
}

// SAFETY: the pointers in `slices` and `headers` are written anew before each call that uses them,
// and point into what this structure owns.
#[expect(unsafe_code, reason = "structures of the kernel's hold pointers")]
unsafe impl Send for Messages {}

#[expect(unsafe_code, reason = "structures of the kernel's have no constructors")]
fn zeroed<T>() -> T {
    // SAFETY: used for structures of the kernel's only, integers and pointers, for which zero is a
    // value.
    unsafe { std::mem::zeroed() }
}

impl Messages {
    /// Room for `count` messages of `longest` octets.
    pub(super) fn new(count: usize, longest: usize) -> Result<Self, Error> {
        let stride = longest.next_multiple_of(LINE);
        let slice = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Ok(Self {
            buffers: MappedRegion::mapped(None, stride * count)?,
            stride,
            slices: vec![slice; count].into(),
            names: vec![zeroed(); count].into(),
            controls: vec![[0; CONTROL_OCTETS / 8]; count].into(),
            headers: vec![zeroed(); count].into(),
        })
    }

    pub(super) fn count(&self) -> usize {
        self.headers.len()
    }

    /// The buffer of message `index`.
    #[inline]
    pub(super) fn buffer(&mut self, index: usize) -> &mut [u8] {
        self.buffers.octets_mut(index * self.stride, self.stride)
    }

    /// How many octets of message `index` are to be sent.
    #[inline]
    pub(super) fn set_octets(&mut self, index: usize, octets: usize) {
        assert!(octets <= self.stride, "a message longer than its buffer");
        self.slices[index].iov_len = octets;
    }

    /// Send the first `to` messages, to `name` unless the socket knows; returns how many the kernel
    /// took.
    #[expect(unsafe_code, reason = "sendmmsg has no safe wrapper that does not allocate")]
    pub(super) fn send(
        &mut self,
        fd: RawFd,
        to: usize,
        name: Option<&SockAddr>,
    ) -> io::Result<usize> {
        // Sending only reads the name; the structure is that of receiving too.
        let (name, name_octets) =
            name.map_or((std::ptr::null_mut(), 0), |name| (name.as_ptr().cast_mut(), name.len()));
        for index in 0..to {
            self.slices[index].iov_base = self.buffers.at::<u8>(index * self.stride).cast();
            let header = &mut self.headers[index].msg_hdr;
            header.msg_iov = &raw mut self.slices[index];
            header.msg_iovlen = 1;
            header.msg_name = name.cast();
            header.msg_namelen = name_octets;
        }
        let count = u32::try_from(to).expect("a small batch");
        // SAFETY: the first `to` headers were just filled with pointers to what lives through the
        // call.
        let sent = unsafe { libc::sendmmsg(fd, self.headers.as_mut_ptr(), count, 0) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Receive; returns how many messages there are.
    #[expect(unsafe_code, reason = "recvmmsg has no safe wrapper that does not allocate")]
    pub(super) fn receive(
        &mut self,
        fd: RawFd,
        flags: i32,
        with_control: bool,
    ) -> io::Result<usize> {
        for index in 0..self.headers.len() {
            self.slices[index].iov_base = self.buffers.at::<u8>(index * self.stride).cast();
            self.slices[index].iov_len = self.stride;
            let header = &mut self.headers[index].msg_hdr;
            header.msg_iov = &raw mut self.slices[index];
            header.msg_iovlen = 1;
            header.msg_name = (&raw mut self.names[index]).cast();
            header.msg_namelen = NAME_OCTETS;
            if with_control {
                header.msg_control = (&raw mut self.controls[index]).cast();
                header.msg_controllen = CONTROL_OCTETS;
            }
        }
        let count = u32::try_from(self.headers.len()).expect("a small batch");
        // SAFETY: all headers were just filled with pointers to what lives through the call, with
        // their true sizes.
        let received = unsafe {
            libc::recvmmsg(fd, self.headers.as_mut_ptr(), count, flags, std::ptr::null_mut())
        };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }

    /// What was received as message `index`: its octets, or `None` if it was cut.
    #[inline]
    pub(super) fn received(&self, index: usize) -> Option<&[u8]> {
        let header = &self.headers[index];
        let octets = (header.msg_len as usize).min(self.stride);
        (header.msg_hdr.msg_flags & libc::MSG_TRUNC == 0)
            .then(|| self.buffers.octets(index * self.stride, octets))
    }

    /// Sender of message `index`.
    #[inline]
    pub(super) fn name(&self, index: usize) -> &libc::sockaddr_storage {
        &self.names[index]
    }

    /// When the kernel saw message `index`, in monotonic time.
    #[inline]
    pub(super) fn stamped_ns(&self, index: usize, wall: WallClock) -> Option<u64> {
        // A message of this kind holds three times; the first is that of software.
        let stamp: libc::timespec =
            self.control(index, &[(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING)])?;
        Some(wall.monotonic_ns(nanoseconds(stamp.tv_sec, stamp.tv_nsec)))
    }

    /// Hop limit of message `index` on arrival.
    pub(super) fn hop_limit(&self, index: usize) -> Option<u8> {
        const KINDS: [(i32, i32); 2] =
            [(libc::IPPROTO_IP, libc::IP_TTL), (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT)];
        u8::try_from(self.control::<libc::c_int>(index, &KINDS)?).ok()
    }

    /// The first control message of message `index` that is of one of these levels and kinds, if it
    /// has so many octets.
    #[inline]
    #[expect(unsafe_code, reason = "walking over control messages")]
    fn control<T: Copy>(&self, index: usize, kinds: &[(i32, i32)]) -> Option<T> {
        let header = &raw const self.headers[index].msg_hdr;
        // SAFETY: the kernel has written the control messages and their length, which these macros
        // stay within.
        let mut control = unsafe { libc::CMSG_FIRSTHDR(header) };
        while !control.is_null() {
            // SAFETY: not null, so within the control buffer.
            let (kind, octets) = unsafe {
                (((*control).cmsg_level, (*control).cmsg_type), (*control).cmsg_len as usize)
            };
            // SAFETY: computes a number.
            let least = unsafe { libc::CMSG_LEN(u32::try_from(size_of::<T>()).ok()?) } as usize;
            if kinds.contains(&kind) && octets >= least {
                // SAFETY: the message holds a value, a structure of integers of the kernel's.
                return Some(unsafe { libc::CMSG_DATA(control).cast::<T>().read_unaligned() });
            }
            // SAFETY: as above.
            control = unsafe { libc::CMSG_NXTHDR(header, control) };
        }
        None
    }
}

/// Octets of a name.
#[allow(clippy::cast_possible_truncation)] // 128
pub(super) const NAME_OCTETS: u32 = size_of::<libc::sockaddr_storage>() as u32;

impl PortCounters {
    /// Count why sending failed; an error that does not pass is returned.
    pub(super) fn count_hindrance(
        &mut self,
        error: io::Error,
        doing: &'static str,
    ) -> Result<(), Error> {
        match hindrance(&error) {
            Some(Hindrance::Full) => self.found_full += 1,
            Some(Hindrance::NoBuffers) => self.no_buffers += 1,
            Some(Hindrance::RefusedByReceiver) => self.failed += 1,
            Some(Hindrance::Interrupted) => {}
            None => return Err(Error::System { doing, source: error }),
        }
        Ok(())
    }
}
