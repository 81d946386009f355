//! The port of an end of STAMP: one datagram a call, with stamps and hop limits.

use crate::Error;
use ethermeter_net::Error as PortError;
use ethermeter_net::port::udp::{UdpOptions, UdpPort};
use ethermeter_net::port::{NetworkPort, ReceiveWait, StationAddress};
use ethermeter_net::time::Timeline;
use std::io::ErrorKind;
use std::net::SocketAddr;

/// Hop limit of what is sent (RFC 8762, section 4.2.1).
const HOP_LIMIT: u8 = 255;
/// Octets of the longest datagram: packets that are too long are to be counted.
const LONGEST_DATAGRAM: usize = 65_507;

/// A packet that arrived; its octets are elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketArrival {
    /// Sender of the packet.
    pub from: SocketAddr,
    /// When the kernel saw it, by the wall clock; when it was read if the kernel gave no time.
    pub wall_ns: u64,
    /// Hop limit on arrival, if the kernel reported it.
    pub hops: Option<u8>,
}

/// A UDP port of test packets.
pub(super) struct PacketPort(UdpPort);

impl PacketPort {
    /// Open a port at an address, with a peer if one is given.
    pub fn open(local: SocketAddr, peer: Option<SocketAddr>) -> Result<Self, Error> {
        let options = UdpOptions {
            peer,
            hop_limit: Some(HOP_LIMIT),
            stamps: true,
            longest_payload: LONGEST_DATAGRAM,
            batch: 1,
            ..UdpOptions::at(local)
        };
        Ok(Self(UdpPort::open(&options)?))
    }

    /// Own address of the port.
    pub fn local(&self) -> Result<SocketAddr, Error> {
        Ok(self.0.local()?)
    }

    /// Wait until a packet can be read, or about so long.
    pub fn wait(&self, wait_ns: u64) {
        self.0.wait(wait_ns);
    }

    /// Read a packet, if there is one, into `room`.
    pub fn receive(
        &mut self,
        room: &mut Vec<u8>,
        time: &impl Timeline,
    ) -> Result<Option<PacketArrival>, Error> {
        let mut arrived = None;
        let received = self.0.receive(ReceiveWait::No, |packet| {
            room.clear();
            room.extend_from_slice(packet.payload);
            arrived = Some((packet.from, packet.stamped_ns, packet.hop_limit));
        });
        unless_refused(received)?;
        let Some((StationAddress::Socket(from), stamped_ns, hops)) = arrived else {
            return Ok(None);
        };
        let stamped = stamped_ns.zip(self.0.stamping()).map(|(ns, wall)| wall.wall_ns(ns));
        let wall_ns = stamped.unwrap_or_else(|| time.wall_ns());
        Ok(Some(PacketArrival { from, wall_ns, hops }))
    }

    /// Send a packet to the port's peer; returns whether the system took it.
    pub fn send(&mut self, packet: &[u8]) -> Result<bool, Error> {
        unless_refused(self.0.send_one(packet))
    }

    /// Send a packet to an address; returns whether the system took it.
    pub fn send_to(&mut self, packet: &[u8], to: SocketAddr) -> Result<bool, Error> {
        self.0.aim(StationAddress::Socket(to))?;
        self.send(packet)
    }
}

/// What a call moved: nothing if a router, the peer or a filter refuses packets, which counts as a
/// loss.
fn unless_refused<T: Default>(moved: Result<T, PortError>) -> Result<T, Error> {
    match moved {
        Err(PortError::System { source, .. })
            if matches!(
                source.kind(),
                ErrorKind::HostUnreachable
                    | ErrorKind::NetworkUnreachable
                    | ErrorKind::PermissionDenied
            ) =>
        {
            Ok(T::default())
        }
        moved => Ok(moved?),
    }
}
