//! Messages of netlink: a header, a body that depends on their kind, and attributes within it.

use crate::Error;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};
use std::os::fd::{AsRawFd, OwnedFd};

/// Octets of a message's header (`nlmsghdr`).
pub(crate) const HEADER_OCTETS: usize = 16;
const KIND_MASK: u16 = 0x3FFF; // the two highest bits of an attribute's kind are flags
const ANSWER_OCTETS: usize = 1 << 17;
/// An answer is of this kernel and comes at once; none within this time is an error.
const PATIENCE_S: i64 = 2;

/// The octets of an interface's name.
///
/// # Errors
/// If no interface can have it.
pub(crate) fn name_octets(interface: &str) -> Result<&[u8], Error> {
    let name = interface.as_bytes();
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains(&0) {
        let allowed = format!("expected a name of 1 to {} octets", libc::IFNAMSIZ - 1);
        return Err(Error::refused("interface", format!("{interface:?}"), allowed));
    }
    Ok(name)
}

/// A socket to the kernel.
pub(crate) struct Netlink {
    socket: OwnedFd,
    doing: &'static str,
    answer: Vec<u8>,
}

impl Netlink {
    /// One that is opened for `doing`, as its errors say.
    pub fn open(protocol: SockProtocol, doing: &'static str) -> Result<Self, Error> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)
            .map_err(Error::system(doing))?;
        setsockopt(&socket, ReceiveTimeout, &TimeVal::seconds(PATIENCE_S))
            .map_err(Error::system(doing))?;
        Ok(Self { socket, doing, answer: vec![0; ANSWER_OCTETS] })
    }

    /// Hear what the kernel tells these groups.
    pub fn listen(&self, groups: u32) -> Result<(), Error> {
        bind(self.socket.as_raw_fd(), &NetlinkAddr::new(0, groups))
            .map_err(Error::system(self.doing))
    }

    pub fn send(&self, request: &[u8]) -> Result<(), Error> {
        send(self.socket.as_raw_fd(), request, MsgFlags::empty())
            .map_err(Error::system(self.doing))?;
        Ok(())
    }

    /// Throw away what has come.
    pub fn drain(&mut self) {
        while recv(self.socket.as_raw_fd(), &mut self.answer, MsgFlags::MSG_DONTWAIT).is_ok() {}
    }

    /// The next messages of an answer.
    pub fn receive(&mut self) -> Result<&[u8], Error> {
        let octets = recv(self.socket.as_raw_fd(), &mut self.answer, MsgFlags::empty())
            .map_err(Error::system(self.doing))?;
        Ok(&self.answer[..octets])
    }
}

/// A request of this kind, besides `NLM_F_REQUEST` with these flags.
pub(crate) fn request(kind: u16, flags: i32, body: &[u8]) -> Vec<u8> {
    let octets = u32::try_from(HEADER_OCTETS + body.len()).expect("a short request");
    let flags = u16::try_from(libc::NLM_F_REQUEST | flags).expect("flags of 16 bits");
    let mut request = octets.to_ne_bytes().to_vec();
    request.extend(kind.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.resize(HEADER_OCTETS, 0); // sequence and sender
    request.extend(body);
    request
}

/// The kind and the body of each message.
pub(crate) fn messages(mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = word(octets, 0).zip(half(octets, 4))?;
        let body = octets.get(HEADER_OCTETS..length as usize)?;
        octets = octets.get((length as usize).next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, body))
    })
}

/// The number of the error that the body of an `NLMSG_ERROR` has; 0 of a mere acknowledgement.
pub(crate) fn error_of(body: &[u8]) -> i32 {
    word(body, 0).map_or(0, |code| code.cast_signed().wrapping_neg())
}

/// Attributes: their length with this header, their kind, their value, padding to four octets.
pub(crate) fn attributes(mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = half(octets, 0).zip(half(octets, 2))?;
        let value = octets.get(4..usize::from(length))?;
        octets = octets.get(usize::from(length).next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind & KIND_MASK, value))
    })
}

/// An attribute with its padding.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).expect("a short value");
    let mut octets = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    octets.extend_from_slice(value);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

pub(crate) fn word(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|octets| u32::from_ne_bytes(*octets))
}

pub(crate) fn half(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk().map(|octets| u16::from_ne_bytes(*octets))
}
