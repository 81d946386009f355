//! What ports need of sockets beyond what safe wrappers offer: options, batches of messages,
//! stamps.

use super::ring::Region;
use super::PortCounters;
use crate::time::{WallClock, NS_PER_S};
use crate::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use socket2::SockAddr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// Set an option of a socket.
///
/// # Errors
/// If the system refuses.
///
/// # Panics
/// If an option were of more octets than options have.
#[expect(unsafe_code, reason = "options that no safe wrapper knows")]
pub fn set_option<T>(
    socket: &impl AsRawFd,
    level: i32,
    name: i32,
    value: &T,
    doing: &'static str,
) -> Result<(), Error> {
    let octets = libc::socklen_t::try_from(size_of::<T>()).expect("options are small");
    // SAFETY: `value` lives through the call, which reads as many octets as it has.
    let status = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const *value).cast(), octets)
    };
    if status == 0 {
        Ok(())
    } else {
        Err(Error::last(doing))
    }
}

/// Set an option of a packet socket.
///
/// # Errors
/// If the system refuses.
pub fn set_packet_option<T>(
    socket: &impl AsRawFd,
    name: i32,
    value: &T,
    doing: &'static str,
) -> Result<(), Error> {
    set_option(socket, libc::SOL_PACKET, name, value, doing)
}

/// Wait until something can be read from a socket, or about so long. Whatever ends it, the caller
/// looks; returns whether the socket has an error.
pub(super) fn wait_readable(socket: &impl AsFd, milliseconds: u16) -> bool {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    let _ = nix::poll::poll(&mut fds, PollTimeout::from(milliseconds));
    fds[0].revents().is_some_and(|events| events.contains(PollFlags::POLLERR))
}

/// Read an option of a socket into `value`; the kernel may write less of it than there is.
///
/// # Errors
/// If the system refuses.
///
/// # Panics
/// If an option were of more octets than options have.
#[expect(unsafe_code, reason = "options that no safe wrapper knows")]
pub fn read_option<T: Copy>(
    socket: &impl AsRawFd,
    level: i32,
    name: i32,
    mut value: T,
    doing: &'static str,
) -> Result<T, Error> {
    let mut octets = libc::socklen_t::try_from(size_of::<T>()).expect("options are small");
    // SAFETY: the kernel writes at most `octets` octets to `value`, a structure of integers.
    let status = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut octets)
    };
    if status == 0 {
        Ok(value)
    } else {
        Err(Error::last(doing))
    }
}

/// Octets that the kernel holds of what was sent by a socket. Of a TCP connection: those that are
/// not acknowledged. Of a datagram or packet socket: 0 when all has left the interface's queue, or
/// is lost.
///
/// The kernel counts the memory of a frame to its socket until the frame is handed to another host,
/// or to its interface's hardware and that has completed it.
#[expect(unsafe_code, reason = "a request that no safe wrapper knows")]
pub(super) fn held_octets(socket: &impl AsRawFd) -> Result<u64, Error> {
    let mut octets: libc::c_int = 0;
    // SAFETY: TIOCOUTQ, which is SIOCOUTQ of sockets, writes one integer; `octets` lives through
    // the call.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut octets) };
    if status != 0 {
        return Err(Error::last("asking what a socket holds"));
    }
    Ok(u64::try_from(octets).unwrap_or(0))
}

/// Datagrams that a socket had no room for when they arrived.
pub(super) fn dropped_at_socket(socket: &impl AsRawFd) -> Result<u64, Error> {
    const VALUES: usize = 9;
    let values = read_option(
        socket,
        libc::SOL_SOCKET,
        libc::SO_MEMINFO,
        [0u32; VALUES],
        "reading a socket's drops",
    )?;
    Ok(u64::from(values[usize::try_from(libc::SK_MEMINFO_DROPS).expect("an index")]))
}

/// Ask the kernel to stamp what arrives.
///
/// # Errors
/// If the system refuses.
pub fn stamp_arrivals(socket: &impl AsRawFd) -> Result<(), Error> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    set_option(
        socket,
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        &flags,
        "asking for stamps of arrivals",
    )
}

/// Why a call could not send just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hindrance {
    /// No room just now.
    Full,
    /// No memory, or a queue refused.
    NoBuffers,
    /// An earlier frame was refused by its receiver, and this call only reports it.
    RefusedByReceiver,
    /// It was interrupted.
    Interrupted,
}

/// What stands behind an error of sending, if it passes.
pub(super) fn hindrance(error: &io::Error) -> Option<Hindrance> {
    match error.raw_os_error()? {
        libc::EAGAIN => Some(Hindrance::Full),
        libc::ENOBUFS | libc::ENOMEM => Some(Hindrance::NoBuffers),
        libc::ECONNREFUSED => Some(Hindrance::RefusedByReceiver),
        libc::EINTR => Some(Hindrance::Interrupted),
        _ => None,
    }
}

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

const CONTROL_OCTETS: usize = 128;
/// Slots begin at multiples of a cache line.
const LINE: usize = 64;

/// Buffers and headers for many messages in one call.
pub(super) struct Messages {
    buffers: Region,
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
            buffers: Region::mapped(None, stride * count)?,
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
        let taken = unsafe { libc::sendmmsg(fd, self.headers.as_mut_ptr(), count, 0) };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
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
    #[expect(unsafe_code, reason = "walking over control messages")]
    pub(super) fn stamped_ns(&self, index: usize, wall: WallClock) -> Option<u64> {
        let header = &raw const self.headers[index].msg_hdr;
        // SAFETY: the kernel has written the control messages and their length, which these macros
        // stay within.
        let mut control = unsafe { libc::CMSG_FIRSTHDR(header) };
        while !control.is_null() {
            // SAFETY: not null, so within the control buffer.
            let (level, kind) = unsafe { ((*control).cmsg_level, (*control).cmsg_type) };
            if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPING {
                // SAFETY: a message of this kind holds three times; the first is that of software.
                let stamp =
                    unsafe { libc::CMSG_DATA(control).cast::<libc::timespec>().read_unaligned() };
                return Some(wall.monotonic_ns(nanoseconds(stamp.tv_sec, stamp.tv_nsec)));
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

/// A time of the kernel's in nanoseconds.
#[must_use]
#[inline]
pub fn nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
    seconds.cast_unsigned() * NS_PER_S + nanoseconds.cast_unsigned()
}
