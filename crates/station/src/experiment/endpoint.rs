//! Endpoints of flows on this host, and the ports that are opened there.

use super::connection::ConnectionSocket;
use crate::consent::{Cast, FlowAttachment, FlowTransport, Grant, PortKind};
use crate::refusal::{ConsentRule, Refusal};
use crate::report::PortMode;
use ethermeter_ethernet::{Carrier, Octets};
use ethermeter_net::port::packet::{PacketOptions, PacketPort};
use ethermeter_net::port::tcp::TcpPort;
use ethermeter_net::port::tcp_info::TcpInfo;
use ethermeter_net::port::udp::{UdpOptions, UdpPort};
use ethermeter_net::port::xdp::{XdpOptions, XdpPort};
use ethermeter_net::port::{
    NetworkPort, PortCounters, ReceiveWait, ReceivedPayload, StationAddress,
};
use ethermeter_net::wire::{MacAddress, shortest_frame};
use ethermeter_net::{Error, Timeline};
use ethermeter_traffic::lengths::Lengths;
use std::net::{IpAddr, SocketAddr};

/// A port of any kind.
pub enum StationPort {
    /// UDP.
    Udp(Box<UdpPort>),
    /// UDP that listens to a group and sends from a port of its own.
    Answering {
        /// Listens to the group; a socket bound to a group cannot send.
        rx: Box<UdpPort>,
        /// Requests or responses.
        tx: Box<UdpPort>,
    },
    /// Raw frames through packet sockets.
    Packet(Box<PacketPort>),
    /// Raw frames through an XDP socket.
    Xdp(Box<XdpPort>),
    /// Messages over a TCP connection.
    Tcp(Box<TcpPort>),
}

/// What is open before an experiment begins.
pub enum OpenedEndpoint {
    /// A port.
    StationPort(StationPort),
    /// A socket that will be one end of a connection.
    End(ConnectionSocket),
}

/// One end of a flow on this host.
#[derive(Clone, Debug)]
pub struct LocalEndpoint {
    /// By which kind of port, to how many.
    pub transport: FlowTransport,
    /// The own address.
    pub local: IpAddr,
    /// Where that is; `None` of an address that this host has not.
    pub attachment: Option<FlowAttachment>,
    /// The interface that the coordinator has named, so that no other is to be used.
    pub interface: Option<String>,
    /// Octets of the longest IP packet of its interface, if that is known.
    pub mtu: Option<u32>,
}

/// Octets of payload of most flows.
const COMMON_PAYLOAD_OCTETS: usize = 1500;
/// Octets of the longest UDP datagram's payload over IPv4.
const LONGEST_DATAGRAM: usize = 65_507;
/// Octets of the longest payload of a raw frame that ports have room for.
const LONGEST_RAW: usize = 9000;

/// Memory for a batch of datagrams in one direction: as much as a batch of common ones takes,
/// several times over.
const BATCH_OCTETS: usize = 1 << 19;

/// Datagrams a call: as many as a policed port passes at once, fewer of long ones, so that no flow
/// takes much of an agent's memory.
fn batch_of(longest_payload: usize) -> usize {
    (BATCH_OCTETS / longest_payload.max(1)).clamp(4, 64)
}

fn no_port(error: &Error) -> Refusal {
    Refusal::new(ConsentRule::Port, error, "an own address, a free port, and the right to open it")
}

pub(super) fn no_interface() -> Refusal {
    Refusal::new(ConsentRule::Interface, "none", "one interface that has the own address")
}

impl LocalEndpoint {
    /// Octets of payload in a frame of so many bits, if they are whole and there are any.
    #[must_use]
    pub fn payload_octets(&self, frame_bits: u64) -> Option<usize> {
        let frame = Octets(frame_bits.is_multiple_of(8).then_some(frame_bits / 8)?);
        usize::try_from(self.carrier().payload_of(frame)?.0).ok()
    }

    /// Octets of the longest of frames that carry a mark each, at this endpoint.
    ///
    /// # Errors
    /// By [`ConsentRule::Description`], if one has no room for a mark or is not of whole octets, or
    /// they are a coder's.
    pub fn longest_frame_octets(&self, frames: &Lengths) -> Result<u32, Refusal> {
        let all = match frames {
            Lengths::Fixed { bits } => std::slice::from_ref(bits),
            Lengths::Mix { bits, .. } => bits,
            Lengths::Samples { .. } => {
                return Err(Refusal::new(
                    ConsentRule::Description,
                    "samples of a coder",
                    "requests and answers of fixed or mixed lengths",
                ));
            }
        };
        let longest =
            all.iter().map(|bits| u32::try_from(bits / 8).unwrap_or(u32::MAX)).max().unwrap_or(0);
        let shortest = shortest_frame(self.carrier()).bits().0;
        match all.iter().find(|&&bits| bits % 8 != 0 || bits < shortest) {
            Some(bits) => {
                let allowed =
                    format!("whole octets, {shortest} bits at least: each frame carries a mark");
                Err(Refusal::new(
                    ConsentRule::Description,
                    format!("a frame of {bits} bits"),
                    allowed,
                ))
            }
            None => Ok(longest),
        }
    }

    /// What frames carry their payloads in.
    #[must_use]
    pub fn carrier(&self) -> Carrier {
        self.transport.carrier(self.local.is_ipv4())
    }

    /// The name of the interface that has the own address.
    ///
    /// # Errors
    /// If there is none.
    pub fn interface_name(&self) -> Result<&str, Refusal> {
        self.attachment
            .as_ref()
            .map(|attachment| attachment.interface.name.as_str())
            .ok_or_else(no_interface)
    }

    fn mac(&self) -> Result<MacAddress, Refusal> {
        self.attachment
            .as_ref()
            .and_then(|attachment| attachment.interface.mac)
            .ok_or_else(no_interface)
    }

    /// Address of frames to this endpoint: the experiment's group, or this station.
    ///
    /// # Errors
    /// If there is no such group, or no address for raw frames.
    pub fn target(&self, experiment: u64, port: u16) -> Result<StationAddress, Refusal> {
        if self.transport.is_group() {
            let group = self.transport.group(experiment, self.local.is_ipv4(), port);
            return group.ok_or_else(|| {
                Refusal::new(ConsentRule::Address, self.transport, "a group that there is")
            });
        }
        if self.transport.kind.is_raw() {
            return self.mac().map(StationAddress::Mac);
        }
        Ok(StationAddress::Socket(SocketAddr::new(self.local, port)))
    }

    /// Room for the longest payload of frames of up to `frame_octets`, within what ports of this
    /// kind can.
    fn room(&self, frame_octets: u32) -> usize {
        let most = if self.transport.kind.is_raw() { LONGEST_RAW } else { LONGEST_DATAGRAM };
        match frame_octets {
            0 => COMMON_PAYLOAD_OCTETS,
            // At least the padding of the shortest frame, so that a padded frame is not taken for a
            // longer one.
            octets => self
                .payload_octets(u64::from(octets) * 8)
                .map_or(COMMON_PAYLOAD_OCTETS, |room| room.clamp(64, most)),
        }
    }

    fn end(&self, port: u16, longest_payload: usize) -> Result<ConnectionSocket, Refusal> {
        let (at, name) = (SocketAddr::new(self.local, port), self.interface.as_deref());
        ConnectionSocket::at(at, name, longest_payload, self.transport.priority)
    }

    /// Options of a socket of datagrams at `local`.
    fn udp(&self, local: SocketAddr, longest_payload: usize) -> Result<UdpOptions, Refusal> {
        let is_bound = self.interface.is_some() || self.transport.is_group();
        Ok(UdpOptions {
            interface: is_bound.then(|| self.interface_name().map(str::to_owned)).transpose()?,
            longest_payload,
            batch: batch_of(longest_payload),
            priority: self.transport.priority,
            ..UdpOptions::at(local)
        })
    }

    fn packet(
        &self,
        destination: MacAddress,
        group: Option<MacAddress>,
        longest_payload: usize,
    ) -> Result<StationPort, Refusal> {
        let options = PacketOptions {
            group,
            longest_payload,
            priority: self.transport.priority,
            ..PacketOptions::on(self.interface_name()?, destination)
        };
        Ok(StationPort::Packet(Box::new(
            PacketPort::open(&options).map_err(|error| no_port(&error))?,
        )))
    }

    fn xdp(
        &self,
        destination: MacAddress,
        receives: bool,
        time: &impl Timeline,
    ) -> Result<StationPort, Refusal> {
        let options = XdpOptions {
            receives,
            priority: self.transport.priority,
            ..XdpOptions::on(self.interface_name()?, self.mac()?, destination)
        };
        let port = XdpPort::open(&options, time).map_err(|error| no_port(&error))?;
        Ok(StationPort::Xdp(Box::new(port)))
    }

    /// Open a port for frames that arrive by `grant`, with room for those of `room_frame_octets`,
    /// too, and write its port's number there.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn to_receive(
        &self,
        grant: &mut Grant,
        room_frame_octets: u32,
        time: &impl Timeline,
    ) -> Result<OpenedEndpoint, Refusal> {
        let room = self.room(grant.longest_frame_octets.max(room_frame_octets));
        let no_destination = MacAddress([0; 6]);
        match self.transport.kind {
            PortKind::Udp => {
                let group =
                    self.transport.group(grant.experiment, self.local.is_ipv4(), grant.port);
                let own = SocketAddr::new(self.local, grant.port);
                let local = match group {
                    Some(StationAddress::Socket(group)) => group,
                    _ => own,
                };
                let options = UdpOptions {
                    group: (self.transport.cast == Cast::Multicast).then(|| local.ip()),
                    stamps: true,
                    ..self.udp(local, room)?
                };
                let port = UdpPort::open(&options).map_err(|error| no_port(&error))?;
                grant.port = port.local().map_err(|error| no_port(&error))?.port();
                Ok(OpenedEndpoint::StationPort(StationPort::Udp(Box::new(port))))
            }
            PortKind::Tcp => {
                let end = self.end(grant.port, room)?;
                grant.port = end.port()?;
                Ok(OpenedEndpoint::End(end))
            }
            PortKind::Packet => {
                let group = match self.transport.group(grant.experiment, true, 0) {
                    Some(StationAddress::Mac(group)) if group != MacAddress::BROADCAST => {
                        Some(group)
                    }
                    _ => None,
                };
                self.packet(no_destination, group, room).map(OpenedEndpoint::StationPort)
            }
            PortKind::Xdp => self.xdp(no_destination, true, time).map(OpenedEndpoint::StationPort),
        }
    }

    /// Open a port from which frames of up to `longest_payload` octets go to `target`.
    ///
    /// # Errors
    /// If the system refuses, or the target is of another kind than the port.
    pub fn to_send(
        &self,
        target: StationAddress,
        longest_payload: usize,
        time: &impl Timeline,
    ) -> Result<OpenedEndpoint, Refusal> {
        match (self.transport.kind, target) {
            (PortKind::Udp, StationAddress::Socket(peer)) => {
                let options = UdpOptions {
                    peer: Some(peer),
                    broadcast: self.transport.cast == Cast::Broadcast,
                    ..self.udp(SocketAddr::new(self.local, 0), longest_payload)?
                };
                let port = UdpPort::open(&options).map_err(|error| no_port(&error))?;
                Ok(OpenedEndpoint::StationPort(StationPort::Udp(Box::new(port))))
            }
            (PortKind::Tcp, StationAddress::Socket(_)) => {
                Ok(OpenedEndpoint::End(self.end(0, longest_payload)?))
            }
            (PortKind::Packet, StationAddress::Mac(destination)) => self
                .packet(destination, None, longest_payload.max(64))
                .map(OpenedEndpoint::StationPort),
            (PortKind::Xdp, StationAddress::Mac(destination)) => {
                self.xdp(destination, false, time).map(OpenedEndpoint::StationPort)
            }
            (kind, target) => Err(Refusal::new(
                ConsentRule::Description,
                format!("{target} by {}", kind.word()),
                "an address of the kind of the port",
            )),
        }
    }
}

impl OpenedEndpoint {
    /// Prepared to send by `interface` only; raw frames are anyway.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn keep_to(&self, interface: &str) -> Result<(), Refusal> {
        match self {
            Self::StationPort(StationPort::Udp(port) | StationPort::Answering { tx: port, .. }) => {
                port.keep_to(interface).map_err(|error| no_port(&error))
            }
            Self::StationPort(_) => Ok(()),
            Self::End(end) => end.keep_to(interface),
        }
    }
}

impl StationPort {
    /// Prepared to send to a group.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn aimed_at_group(self) -> Result<Self, Refusal> {
        if let Self::Udp(port) | Self::Answering { tx: port, .. } = &self {
            port.allow_broadcast().map_err(|error| no_port(&error))?;
        }
        Ok(self)
    }

    /// Prepared to hear what comes to the group of `endpoint`, and to send from a port of its own.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn answering(self, endpoint: &LocalEndpoint) -> Result<Self, Refusal> {
        let Self::Udp(rx) = self else { return Ok(self) };
        let options = UdpOptions {
            interface: Some(endpoint.interface_name()?.to_owned()),
            longest_payload: rx.longest_payload(),
            batch: rx.batch(),
            priority: endpoint.transport.priority,
            ..UdpOptions::at(SocketAddr::new(endpoint.local, 0))
        };
        let tx = UdpPort::open(&options).map_err(|error| no_port(&error))?;
        Ok(Self::Answering { rx, tx: Box::new(tx) })
    }

    /// What is to be known of how it works, beyond its counters: an XDP socket's mode, what TCP
    /// says of a connection.
    #[must_use]
    pub fn mode(&self) -> Option<PortMode> {
        match self {
            Self::Xdp(port) => Some(PortMode::Xdp(port.mode())),
            Self::Tcp(port) => TcpInfo::of(port.stream()).ok().map(PortMode::Tcp),
            _ => None,
        }
    }
}

/// Do the same with the port of whatever kind that sends.
macro_rules! sending {
    ($any:expr, $port:ident => $act:expr) => {
        match $any {
            StationPort::Udp($port) | StationPort::Answering { tx: $port, .. } => $act,
            StationPort::Packet($port) => $act,
            StationPort::Xdp($port) => $act,
            StationPort::Tcp($port) => $act,
        }
    };
}

impl NetworkPort for StationPort {
    fn carrier(&self) -> Carrier {
        sending!(self, port => port.carrier())
    }

    fn longest_payload(&self) -> usize {
        sending!(self, port => port.longest_payload())
    }

    fn batch(&self) -> usize {
        sending!(self, port => port.batch())
    }

    fn aim(&mut self, at: StationAddress) -> Result<(), Error> {
        sending!(self, port => port.aim(at))
    }

    #[inline]
    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        fill: F,
    ) -> Result<usize, Error> {
        sending!(self, port => port.send(count, fill))
    }

    #[inline]
    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        wait: ReceiveWait,
        take: F,
    ) -> Result<usize, Error> {
        match self {
            Self::Udp(port) | Self::Answering { rx: port, .. } => port.receive(wait, take),
            Self::Packet(port) => port.receive(wait, take),
            Self::Xdp(port) => port.receive(wait, take),
            Self::Tcp(port) => port.receive(wait, take),
        }
    }

    #[inline]
    fn is_clear(&mut self) -> Result<bool, Error> {
        sending!(self, port => port.is_clear())
    }

    fn tcp(&self) -> Result<Option<TcpInfo>, Error> {
        sending!(self, port => port.tcp())
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        match self {
            Self::Udp(port) => port.counters(),
            Self::Answering { rx, tx } => {
                let (received, sent) = (rx.counters()?, tx.counters()?);
                Ok(PortCounters {
                    taken: sent.taken,
                    found_full: sent.found_full,
                    no_buffers: sent.no_buffers,
                    failed: sent.failed,
                    ..received
                })
            }
            Self::Packet(port) => port.counters(),
            Self::Xdp(port) => port.counters(),
            Self::Tcp(port) => port.counters(),
        }
    }
}
