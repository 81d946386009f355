//! UDP over IPv4 or IPv6, many datagrams a call: unicast, multicast, broadcast.
//!
//! One datagram is one frame as long as it fits one (1472 octets of payload over IPv4 on a common
//! Ethernet); longer ones are cut up by IP, and only their lengths are ours. They are cut for the
//! own interface, whatever messages of routers say of paths: any host can send these, and shorter
//! pieces would be more frames than counted. No segmentation offload is asked for, so what is
//! counted here is what goes to the interface.

use super::messages::Messages;
use super::packet::interface_index;
use super::system::{
    Hindrance, dropped_at_socket, held_octets, hindrance, prioritise, set_option, stamp_arrivals,
    stamping_clock, wait_readable,
};
use super::{NetworkPort, PortCounters, ReceiveWait, ReceivedPayload, StationAddress};
use crate::Error;
use crate::time::WallClock;
use ethermeter_ethernet::Carrier;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockAddr, Socket, Type};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// What a UDP port is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpOptions {
    /// Where it listens and sends from.
    pub local: SocketAddr,
    /// The only interface it uses; needed for groups.
    pub interface: Option<String>,
    /// The only station it talks to: faster than any.
    pub peer: Option<SocketAddr>,
    /// The group it listens to.
    pub group: Option<IpAddr>,
    /// Whether it may send to everybody.
    pub broadcast: bool,
    /// Priority of what is sent, 0 to 7: the class selector of IP packets (RFC 2474), and the
    /// priority in queues of the host. The system's own without.
    pub priority: Option<u8>,
    /// Hop limit of what is sent, as probes of a path have it: arrivals come with theirs, and
    /// messages of routers about earlier datagrams are ignored, for any host can send these. The
    /// system's own without.
    pub hop_limit: Option<u8>,
    /// Whether arrivals are stamped by the kernel. Those of the first moment may come without, for
    /// it begins to stamp a little later.
    pub stamps: bool,
    /// Octets of the longest payload.
    pub longest_payload: usize,
    /// Datagrams a call.
    pub batch: usize,
    /// Octets of memory asked for, for datagrams waiting to be sent and to be read.
    pub room_octets: usize,
}

impl UdpOptions {
    /// A port at `local` with what suits most uses.
    #[must_use]
    pub fn at(local: SocketAddr) -> Self {
        Self {
            local,
            interface: None,
            peer: None,
            group: None,
            broadcast: false,
            priority: None,
            hop_limit: None,
            stamps: false,
            longest_payload: 1472,
            batch: 64,
            room_octets: 4 << 20,
        }
    }

    /// Octets of memory asked for, for datagrams waiting to be sent. Where IP cuts them up, that is
    /// less than the queues before a wire have room for: a full one drops single pieces, and the
    /// wire carries the other fragments for nothing.
    fn room_to_send(&self) -> usize {
        if self.longest_payload <= LONGEST_UNCUT {
            return self.room_octets;
        }
        // The kernel doubles it, and counts some 2300 octets for a piece of 1500. All pieces of one
        // datagram must fit.
        self.room_octets.min(ROOM_FOR_PIECES.max(self.longest_payload))
    }
}

const LONGEST_UNCUT: usize = 1472; // 1500 - 20 - 8
const ROOM_FOR_PIECES: usize = 32 << 10;
const LONGEST_DATAGRAM: usize = 65_507; // 65535 - 20 - 8 (RFC 791, RFC 768)
const MOST_BATCH: usize = 1024; // UIO_MAXIOV

/// A UDP socket with its buffers.
pub struct UdpPort {
    socket: Socket,
    outgoing: Messages,
    incoming: Messages,
    name: Option<SockAddr>,
    target: Option<SocketAddr>,
    connected: bool,
    stamps: Option<WallClock>,
    tells_hop_limits: bool,
    longest_payload: usize,
    over_ipv4: bool,
    wait_ms: u16,
    counters: PortCounters,
}

/// A sender that finds no room waits this long before it looks at its stop flag.
const LONGEST_BLOCK: Duration = Duration::from_millis(50);

impl UdpPort {
    /// Open it.
    ///
    /// # Errors
    /// If an option is out of range, or the system refuses.
    pub fn open(options: &UdpOptions) -> Result<Self, Error> {
        if !(1..=LONGEST_DATAGRAM).contains(&options.longest_payload) {
            return Err(Error::refused(
                "longest payload",
                options.longest_payload,
                "1 to 65507 octets",
            ));
        }
        if !(1..=MOST_BATCH).contains(&options.batch) {
            return Err(Error::refused("batch", options.batch, "1 to 1024 datagrams"));
        }
        let socket =
            Socket::new(Domain::for_address(options.local), Type::DGRAM, Some(Protocol::UDP))
                .map_err(Error::system("opening a UDP socket"))?;
        prepare(&socket, options)?;
        let mut port = Self {
            outgoing: Messages::new(options.batch, options.longest_payload)?,
            incoming: Messages::new(options.batch, options.longest_payload)?,
            name: None,
            target: None,
            connected: options.peer.is_some(),
            stamps: options.stamps.then(stamping_clock),
            tells_hop_limits: options.hop_limit.is_some(),
            longest_payload: options.longest_payload,
            over_ipv4: options.local.is_ipv4(),
            wait_ms: 0,
            counters: PortCounters::default(),
            socket,
        };
        if let Some(peer) = options.peer {
            port.socket
                .connect(&SockAddr::from(peer))
                .map_err(Error::system("connecting a UDP socket"))?;
            port.target = Some(peer);
        }
        Ok(port)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the operating system does not report it.
    pub fn local(&self) -> Result<SocketAddr, Error> {
        let address =
            self.socket.local_addr().map_err(Error::system("asking for a socket's address"))?;
        address
            .as_socket()
            .ok_or_else(|| Error::refused("address", "of another kind", "an IP address"))
    }

    /// Use one interface only from now on.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn keep_to(&self, interface: &str) -> Result<(), Error> {
        self.socket
            .bind_device(Some(interface.as_bytes()))
            .map_err(Error::system("binding to an interface"))
    }

    /// Let frames to everybody go out.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn allow_broadcast(&self) -> Result<(), Error> {
        self.socket.set_broadcast(true).map_err(Error::system("allowing frames to everybody"))
    }

    /// The clocks by which arrivals are stamped, as they were when the port was opened; `None`
    /// without stamps.
    #[must_use]
    pub fn stamping(&self) -> Option<WallClock> {
        self.stamps
    }

    /// Wait until a datagram can be read, or about so long.
    pub fn wait(&self, wait_ns: u64) {
        wait_readable(&self.socket, Duration::from_nanos(wait_ns));
    }

    /// Send one datagram; returns whether the kernel took it. Its octets are copied.
    ///
    /// # Errors
    /// Those of [`NetworkPort::send`].
    ///
    /// # Panics
    /// If the datagram is longer than the port's longest payload.
    pub fn send_one(&mut self, datagram: &[u8]) -> Result<bool, Error> {
        let sent = self.send(1, |_, room| {
            room[..datagram.len()].copy_from_slice(datagram);
            datagram.len()
        });
        Ok(sent? > 0)
    }

    /// Let a blocking call wait so long for the first datagram.
    fn set_wait(&mut self, milliseconds: u16) -> Result<(), Error> {
        if self.wait_ms != milliseconds {
            self.socket
                .set_read_timeout(Some(Duration::from_millis(u64::from(milliseconds.max(1)))))
                .map_err(Error::system("setting how long to wait"))?;
            self.wait_ms = milliseconds;
        }
        Ok(())
    }
}

/// Without this, a frame that the own queue drops counts as sent.
const ERRORS: &str = "asking for errors of sending";
const CUT: &str = "choosing where datagrams are cut";
const HOPS: &str = "asking for hop limits of arrivals";

fn prepare(socket: &Socket, options: &UdpOptions) -> Result<(), Error> {
    let opening = || Error::system("preparing a UDP socket");
    if let Some(interface) = &options.interface {
        socket
            .bind_device(Some(interface.as_bytes()))
            .map_err(Error::system("binding to an interface"))?;
    }
    // Several stations of one host may listen to a group. A port of one station is its own: with
    // this option, the kernel would give it to others, too.
    let is_everybody = options.local.ip() == IpAddr::V4(Ipv4Addr::BROADCAST);
    socket.set_reuse_address(options.group.is_some() || is_everybody).map_err(opening())?;
    // The kernel grants what its limit allows; what it granted shows in what is lost.
    socket.set_send_buffer_size(options.room_to_send()).map_err(opening())?;
    socket.set_recv_buffer_size(options.room_octets).map_err(opening())?;
    socket.set_write_timeout(Some(LONGEST_BLOCK)).map_err(opening())?;
    socket.set_broadcast(options.broadcast).map_err(opening())?;
    let hears_errors = options.hop_limit.is_none();
    if options.local.is_ipv4() {
        socket.set_multicast_loop_v4(false).map_err(opening())?;
        socket.set_multicast_ttl_v4(1).map_err(opening())?; // groups end at the next router
        let (level, cut) = (libc::IPPROTO_IP, libc::IP_PMTUDISC_OMIT);
        set_option(socket, level, libc::IP_RECVERR, &i32::from(hears_errors), ERRORS)?;
        set_option(socket, level, libc::IP_MTU_DISCOVER, &cut, CUT)?;
        if let Some(hops) = options.hop_limit {
            socket.set_ttl_v4(u32::from(hops)).map_err(opening())?;
            set_option(socket, level, libc::IP_RECVTTL, &1i32, HOPS)?;
        }
    } else {
        socket.set_only_v6(true).map_err(opening())?;
        socket.set_multicast_loop_v6(false).map_err(opening())?;
        socket.set_multicast_hops_v6(1).map_err(opening())?;
        let (level, cut) = (libc::IPPROTO_IPV6, libc::IPV6_PMTUDISC_OMIT);
        set_option(socket, level, libc::IPV6_RECVERR, &i32::from(hears_errors), ERRORS)?;
        set_option(socket, level, libc::IPV6_MTU_DISCOVER, &cut, CUT)?;
        if let Some(hops) = options.hop_limit {
            socket.set_unicast_hops_v6(u32::from(hops)).map_err(opening())?;
            set_option(socket, level, libc::IPV6_RECVHOPLIMIT, &1i32, HOPS)?;
        }
    }
    if let Some(priority) = options.priority {
        prioritise(socket, options.local.is_ipv4(), priority)?;
    }
    socket.bind(&SockAddr::from(options.local)).map_err(Error::system("binding a UDP socket"))?;
    if let Some(group) = options.group {
        join(socket, group, options.interface.as_deref())?;
    }
    if options.stamps {
        stamp_arrivals(socket)?;
    }
    Ok(())
}

fn join(socket: &Socket, group: IpAddr, interface: Option<&str>) -> Result<(), Error> {
    if !group.is_multicast() {
        return Err(Error::refused("group", group, "a multicast address"));
    }
    let interface = interface.ok_or_else(|| {
        Error::refused("interface", "none", "the one on which to listen to the group")
    })?;
    let index = interface_index(interface)?;
    let joined = match group {
        IpAddr::V4(group) => {
            socket.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(index))
        }
        IpAddr::V6(group) => socket.join_multicast_v6(&group, index),
    };
    joined.map_err(Error::system("joining a group"))
}

/// An address as the kernel wrote it; the unspecified address if it is of no known kind.
fn socket_address(name: &libc::sockaddr_storage) -> SocketAddr {
    #[expect(unsafe_code, reason = "reading one member of what is a union by another name")]
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says so, and the storage is large enough and aligned for all.
            let name = unsafe { &*(&raw const *name).cast::<libc::sockaddr_in>() };
            SocketAddr::from((
                Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr)),
                u16::from_be(name.sin_port),
            ))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { &*(&raw const *name).cast::<libc::sockaddr_in6>() };
            let (ip, port) = (Ipv6Addr::from(name.sin6_addr.s6_addr), u16::from_be(name.sin6_port));
            SocketAddr::V6(std::net::SocketAddrV6::new(ip, port, 0, name.sin6_scope_id))
        }
        _ => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
    }
}

impl NetworkPort for UdpPort {
    fn carrier(&self) -> Carrier {
        if self.over_ipv4 { Carrier::UdpOverIpv4 } else { Carrier::UdpOverIpv6 }
    }

    fn longest_payload(&self) -> usize {
        self.longest_payload
    }

    fn batch(&self) -> usize {
        self.outgoing.count()
    }

    fn aim(&mut self, at: StationAddress) -> Result<(), Error> {
        match at {
            StationAddress::Socket(at) if self.target == Some(at) => Ok(()),
            StationAddress::Socket(at) if at.is_ipv4() == self.over_ipv4 && !self.connected => {
                self.name = Some(SockAddr::from(at));
                self.target = Some(at);
                Ok(())
            }
            other => Err(Error::refused(
                "address",
                format!("{other:?}"),
                "an IP address of the port's version; a connected port has but one",
            )),
        }
    }

    #[inline]
    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        let count = count.min(self.outgoing.count());
        for index in 0..count {
            let octets = fill(index, &mut self.outgoing.buffer(index)[..self.longest_payload]);
            self.outgoing.set_octets(index, octets);
        }
        match self.outgoing.send(self.socket.as_raw_fd(), count, self.name.as_ref()) {
            Ok(taken) => {
                self.counters.taken += taken as u64;
                Ok(taken)
            }
            Err(error) => self.counters.count_hindrance(error, "sending datagrams").map(|()| 0),
        }
    }

    #[inline]
    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        wait: ReceiveWait,
        mut take: F,
    ) -> Result<usize, Error> {
        let flags = match wait {
            ReceiveWait::No => libc::MSG_DONTWAIT,
            ReceiveWait::Milliseconds(milliseconds) => {
                self.set_wait(milliseconds)?;
                libc::MSG_WAITFORONE
            }
        };
        let with_control = self.stamps.is_some() || self.tells_hop_limits;
        let received = match self.incoming.receive(self.socket.as_raw_fd(), flags, with_control) {
            Ok(received) => received,
            Err(error) => match hindrance(&error) {
                // A report of an earlier datagram of this host's.
                Some(Hindrance::RefusedByReceiver) => {
                    self.counters.failed += 1;
                    0
                }
                Some(_) => 0,
                None => {
                    return Err(Error::System { doing: "receiving datagrams", source: error });
                }
            },
        };
        let mut handed_on = 0;
        for index in 0..received {
            let Some(payload) = self.incoming.received(index) else {
                self.counters.unexpected += 1;
                continue;
            };
            let stamped_ns = self.stamps.and_then(|wall| self.incoming.stamped_ns(index, wall));
            take(&ReceivedPayload {
                payload,
                from: StationAddress::Socket(socket_address(self.incoming.name(index))),
                stamped_ns,
                hop_limit: self.tells_hop_limits.then(|| self.incoming.hop_limit(index)).flatten(),
            });
            handed_on += 1;
        }
        self.counters.handed_on += handed_on as u64;
        Ok(handed_on)
    }

    #[inline]
    fn is_clear(&mut self) -> Result<bool, Error> {
        Ok(held_octets(&self.socket)? == 0)
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.counters.dropped_at_socket = dropped_at_socket(&self.socket)?;
        self.counters.clock_stepped_ns =
            self.stamps.map_or(0, |opened| stamping_clock().stepped_ns(opened));
        Ok(self.counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
    use crate::{HostTime, Timeline};

    fn loopback(local: &str) -> UdpOptions {
        UdpOptions { stamps: true, ..UdpOptions::at(local.parse().expect("an address")) }
    }

    fn exchange(local: &str) {
        let mut sink = UdpPort::open(&loopback(local)).expect("a port");
        let at = sink.local().expect("an address");
        let mut sender = UdpPort::open(&loopback(local)).expect("a port");
        sender.aim(StationAddress::Socket(at)).expect("an address of the same version");
        let from = StationAddress::Socket(sender.local().expect("an address"));
        let sent = sender.send(3, |index, room| {
            room[..20].fill(u8::try_from(index).expect("small"));
            18 + index
        });
        assert_eq!(sent.expect("room for three"), 3);
        let mut received = Vec::new();
        while received.len() < 3 {
            let wait = ReceiveWait::Milliseconds(1000);
            sink.receive(wait, |arrival| {
                assert_eq!(arrival.from, from);
                received.push(arrival.payload.to_vec());
            })
            .expect("an open port");
        }
        assert_eq!(received, [vec![0; 18], vec![1; 19], vec![2; 20]]);
        assert_eq!(sink.counters().expect("counters").handed_on, 3);
        assert_eq!(
            sink.receive(ReceiveWait::No, |_| unreachable!("all were read")).expect("an open port"),
            0
        );
    }

    #[test]
    fn datagrams_arrive_as_they_were_sent_over_ipv4() {
        exchange("127.0.0.1:0");
    }

    #[test]
    fn datagrams_arrive_as_they_were_sent_over_ipv6() {
        exchange("[::1]:0");
    }

    #[test]
    fn stamps_lie_between_sending_and_reading() {
        let mut sink = UdpPort::open(&loopback("127.0.0.1:0")).expect("a port");
        let peer = Some(sink.local().expect("an address"));
        let mut sender =
            UdpPort::open(&UdpOptions { peer, ..loopback("127.0.0.1:0") }).expect("a port");
        let mut stamped = 0;
        // The comparison of the clocks is good to far below 10 us.
        let slack_ns = 10_000;
        for _ in 0..100_000 {
            let before_ns = HostTime.now_ns();
            assert_eq!(sender.send(1, |_, _| 18).expect("loopback takes all"), 1);
            sink.receive(ReceiveWait::Milliseconds(1000), |arrival| {
                if let Some(ns) = arrival.stamped_ns {
                    assert!((before_ns - slack_ns..HostTime.now_ns() + slack_ns).contains(&ns));
                    stamped += 1;
                }
            })
            .expect("an open port");
            if stamped == 10 {
                return;
            }
        }
        panic!("of 100000 datagrams {stamped} were stamped");
    }

    #[test]
    fn a_hop_limit_is_sent_and_told_to_those_that_ask_for_it() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            for asks in [None, Some(64)] {
                let mut sink = UdpPort::open(&UdpOptions { hop_limit: asks, ..loopback(local) })
                    .expect("a port");
                let peer = Some(sink.local().expect("an address"));
                let options = UdpOptions { hop_limit: Some(251), peer, ..loopback(local) };
                let mut sender = UdpPort::open(&options).expect("a port");
                assert_eq!(sender.send(1, |_, _| 18).expect("loopback takes all"), 1);
                let mut told = None;
                sink.wait(1_000_000_000);
                sink.receive(ReceiveWait::No, |arrival| told = arrival.hop_limit)
                    .expect("an open port");
                assert_eq!(told, asks.map(|_| 251), "{local}");
            }
        }
    }

    #[test]
    fn a_datagram_that_its_receiver_refused_has_failed() {
        let gone = UdpPort::open(&loopback("127.0.0.1:0")).expect("a port");
        let peer = Some(gone.local().expect("an address"));
        drop(gone);
        for hop_limit in [None, Some(255)] {
            let options = UdpOptions { peer, hop_limit, ..loopback("127.0.0.1:0") };
            let mut sender = UdpPort::open(&options).expect("a port");
            assert_eq!(sender.send(1, |_, _| 18).expect("loopback takes all"), 1);
            let wait = ReceiveWait::Milliseconds(1000);
            assert_eq!(sender.receive(wait, |_| unreachable!("nobody sends")).expect("a port"), 0);
            assert_eq!(sender.counters().expect("counters").failed, 1);
        }
    }

    #[test]
    fn a_port_of_one_station_is_given_to_nobody_else() {
        let first = UdpPort::open(&loopback("127.0.0.1:0")).expect("a port");
        let address_in_use = first.local().expect("an address");
        assert!(
            UdpPort::open(&UdpOptions::at(address_in_use)).is_err(),
            "{address_in_use} is taken"
        );
    }

    #[test]
    fn what_a_full_socket_drops_is_counted() {
        let mut sink = UdpPort::open(&UdpOptions { room_octets: 4096, ..loopback("127.0.0.1:0") })
            .expect("a port");
        let peer = Some(sink.local().expect("an address"));
        let mut sender =
            UdpPort::open(&UdpOptions { peer, ..loopback("127.0.0.1:0") }).expect("a port");
        let mut sent = 0;
        for _ in 0..20 {
            sent += sender.send(64, |_, _| 1000).expect("loopback takes all");
        }
        let mut received = 0;
        while sink.receive(ReceiveWait::Milliseconds(50), |_| received += 1).expect("an open port")
            > 0
        {}
        let dropped = sink.counters().expect("counters").dropped_at_socket;
        assert!(dropped > 0);
        assert_eq!(received + dropped, sent as u64);
    }

    #[test]
    fn a_datagram_longer_than_the_port_is_strange_not_cut() {
        let mut sink =
            UdpPort::open(&UdpOptions { longest_payload: 64, ..loopback("127.0.0.1:0") })
                .expect("a port");
        let peer = Some(sink.local().expect("an address"));
        let mut sender =
            UdpPort::open(&UdpOptions { peer, ..loopback("127.0.0.1:0") }).expect("a port");
        assert_eq!(sender.send(2, |index, _| 64 + 36 * index).expect("loopback takes all"), 2);
        let mut received = Vec::new();
        sink.receive(ReceiveWait::Milliseconds(1000), |arrival| {
            received.push(arrival.payload.len());
        })
        .expect("an open port");
        assert_eq!((received, sink.counters().expect("counters").unexpected), (vec![64], 1));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let refused =
            |options: UdpOptions| UdpPort::open(&options).err().expect("refused").to_string();
        let base = loopback("127.0.0.1:0");
        assert!(refused(UdpOptions { batch: 0, ..base.clone() }).contains("1 to 1024"));
        assert!(refused(UdpOptions { longest_payload: 70_000, ..base.clone() }).contains("65507"));
        let group = Some("10.0.0.1".parse().expect("an address"));
        assert!(refused(UdpOptions { group, ..base }).contains("multicast"));
    }
}
