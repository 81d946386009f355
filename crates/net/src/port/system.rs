//! What ports need of sockets beyond what safe wrappers offer: options, waiting, stamps.

use crate::Error;
#[expect(clippy::disallowed_types, reason = "the kernel stamps by the machine's clocks")]
use crate::time::HostTime;
use crate::time::{NS_PER_S, WallClock};
use nix::poll::{PollFd, PollFlags};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

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
    if status == 0 { Ok(()) } else { Err(Error::last(doing)) }
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

/// Give what a socket sends a priority, 0 to 7, in the queues of the host.
///
/// # Errors
/// If the system refuses, as it does priority 7 without the right to administer the network.
pub(super) fn set_priority(socket: &impl AsRawFd, priority: u8) -> Result<(), Error> {
    let doing = "giving a socket a priority (7 needs CAP_NET_ADMIN or CAP_NET_RAW)";
    set_option(socket, libc::SOL_SOCKET, libc::SO_PRIORITY, &i32::from(priority), doing)
}

/// Give the IP packets that a socket sends a priority, 0 to 7: in the queues of the host, and as
/// their class selector (RFC 2474, section 4.2.2), which are the highest three bits of the traffic
/// class.
///
/// # Errors
/// If the system refuses, as it does priority 7 without the right to administer the network.
pub fn prioritise(socket: &impl AsRawFd, is_ipv4: bool, priority: u8) -> Result<(), Error> {
    let class = i32::from(priority) << 5;
    let (level, name) = if is_ipv4 {
        (libc::IPPROTO_IP, libc::IP_TOS)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
    };
    set_option(socket, level, name, &class, "setting the traffic class of IP packets")?;
    set_priority(socket, priority) // after the class, which changes it
}

/// Wait until something can be read from a socket, or about so long. Whatever ends it, the caller
/// looks; returns whether the socket has an error.
pub(super) fn wait_readable(socket: &impl AsFd, wait: Duration) -> bool {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    let _ = nix::poll::ppoll(&mut fds, Some(TimeSpec::from(wait)), None);
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
    if status == 0 { Ok(value) } else { Err(Error::last(doing)) }
}

/// Octets that a socket has sent and the kernel still holds. Of a TCP connection: those that are
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

/// The clocks by which the kernel stamps what arrives, compared just now.
#[must_use]
pub fn stamping_clock() -> WallClock {
    WallClock::compared(&HostTime)
}

/// A time of the kernel's in nanoseconds.
#[must_use]
#[inline]
pub fn nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
    seconds.cast_unsigned() * NS_PER_S + nanoseconds.cast_unsigned()
}
