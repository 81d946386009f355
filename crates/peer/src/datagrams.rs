//! UDP sockets with the kernel's timestamps and the hop limit of arrivals.

use crate::Error;
use ethermeter_net::time::{NS_PER_S, Timeline};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

/// Hop limit of what is sent (RFC 8762, section 4.2.1).
const HOPS: i32 = 255;

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedDatagram {
    /// Octets of the datagram in the buffer, cut to the buffer's length.
    pub octets: usize,
    /// Sender of the datagram.
    pub from: SocketAddr,
    /// When the kernel saw it, by the wall clock; when it was read if the kernel gave no time.
    pub wall_ns: u64,
    /// Hop limit on arrival, if the kernel reported it.
    pub hops: Option<u8>,
}

/// A UDP socket.
pub(crate) struct DatagramSocket {
    socket: UdpSocket,
    control: Vec<u8>,
}

impl DatagramSocket {
    /// Open a socket at an address, with a peer if one is given.
    pub fn open(local: SocketAddr, peer: Option<SocketAddr>) -> Result<Self, Error> {
        let socket = UdpSocket::bind(local).map_err(Error::system("binding a UDP socket"))?;
        if let Some(peer) = peer {
            socket.connect(peer).map_err(Error::system("connecting a UDP socket"))?;
        }
        socket.set_nonblocking(true).map_err(Error::system("preparing a UDP socket"))?;
        let prepared = || Error::system("preparing a UDP socket");
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(prepared())?;
        if local.is_ipv4() {
            setsockopt(&socket, sockopt::Ipv4Ttl, &HOPS).map_err(prepared())?;
            setsockopt(&socket, sockopt::Ipv4RecvTtl, &true).map_err(prepared())?;
        } else {
            setsockopt(&socket, sockopt::Ipv6Ttl, &HOPS).map_err(prepared())?;
            setsockopt(&socket, sockopt::Ipv6RecvHopLimit, &true).map_err(prepared())?;
        }
        Ok(Self { socket, control: nix::cmsg_space!(TimeSpec, libc_int, libc_int) })
    }

    /// Own address of the socket.
    pub fn local(&self) -> Result<SocketAddr, Error> {
        self.socket.local_addr().map_err(Error::system("asking for a socket's address"))
    }

    /// Wait until something can be read, at most for `left_ns`.
    pub fn wait(&self, left_ns: u64) {
        let seconds = i64::try_from(left_ns / NS_PER_S).unwrap_or(i64::MAX);
        let rest = i64::try_from(left_ns % NS_PER_S).expect("below a thousand million");
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        // Whatever ends it, the caller looks.
        let _ = nix::poll::ppoll(&mut fds, Some(TimeSpec::new(seconds, rest)), None);
    }

    /// Read a datagram, if there is one.
    pub fn receive(
        &mut self,
        buffer: &mut [u8],
        time: &impl Timeline,
    ) -> Result<Option<ReceivedDatagram>, Error> {
        let read_ns = time.wall_ns();
        let fd = self.socket.as_raw_fd();
        let mut slices = [IoSliceMut::new(buffer)];
        let received = recvmsg::<SockaddrStorage>(
            fd,
            &mut slices,
            Some(&mut self.control),
            MsgFlags::MSG_DONTWAIT,
        );
        let message = match received {
            Ok(message) => message,
            // A refusal by a router or by the peer is no datagram: it counts as a loss.
            Err(
                Errno::EAGAIN
                | Errno::EINTR
                | Errno::ECONNREFUSED
                | Errno::EHOSTUNREACH
                | Errno::ENETUNREACH,
            ) => return Ok(None),
            Err(error) => return Err(Error::system("receiving datagrams")(error)),
        };
        let Some(from) = message.address.as_ref().and_then(address) else { return Ok(None) };
        let (mut stamped_ns, mut hops) = (read_ns, None);
        for control in message.cmsgs().map_err(Error::system("receiving datagrams"))? {
            match control {
                ControlMessageOwned::ScmTimestampns(time) => {
                    stamped_ns =
                        time.tv_sec().cast_unsigned() * NS_PER_S + time.tv_nsec().cast_unsigned();
                }
                ControlMessageOwned::Ipv4Ttl(limit) | ControlMessageOwned::Ipv6HopLimit(limit) => {
                    hops = u8::try_from(limit).ok();
                }
                _ => {}
            }
        }
        Ok(Some(ReceivedDatagram { octets: message.bytes, from, wall_ns: stamped_ns, hops }))
    }

    /// Send a datagram to the socket's peer; returns whether the kernel took it.
    pub fn send(&self, octets: &[u8]) -> Result<bool, Error> {
        is_sent(self.socket.send(octets))
    }

    /// Send a datagram to an address; returns whether the kernel took it.
    pub fn send_to(&self, octets: &[u8], to: SocketAddr) -> Result<bool, Error> {
        is_sent(self.socket.send_to(octets, to))
    }
}

#[allow(non_camel_case_types)]
type libc_int = i32;

fn is_sent(sent: io::Result<usize>) -> Result<bool, Error> {
    match sent {
        Ok(_) => Ok(true),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock
                    | io::ErrorKind::Interrupted
                    | io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable
                    | io::ErrorKind::PermissionDenied
            ) || error.raw_os_error() == Some(Errno::ENOBUFS as i32) =>
        {
            Ok(false)
        }
        Err(error) => Err(Error::system("sending a datagram")(error)),
    }
}

fn address(name: &SockaddrStorage) -> Option<SocketAddr> {
    name.as_sockaddr_in()
        .map(|name| SocketAddr::V4(SocketAddrV4::from(*name)))
        .or_else(|| name.as_sockaddr_in6().map(|name| SocketAddr::V6(SocketAddrV6::from(*name))))
}
