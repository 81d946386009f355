//! TCP connections of flows, which end when their role does.
//!
//! A socket is bound when a flow is granted, so that its number can be signed. The receiver listens
//! on it, the requester connects from it, once the experiment has begun. What a connection still
//! holds is thrown away when it is closed before its time: an agent that is to be silent sends
//! nothing more out of its buffers.

use super::schedule::ExperimentSchedule;
use crate::consent::Policer;
use crate::refusal::{ConsentRule, Refusal};
use ethermeter_net::port::StationAddress;
use ethermeter_net::port::system::prioritise;
use ethermeter_net::port::tcp::{set_pace, set_persistence, unacknowledged_octets};
use ethermeter_net::port::tcp_info::TcpInfo;
use ethermeter_net::{Error, Timeline};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

/// A socket that will be one end of a connection.
pub struct ConnectionSocket {
    socket: Socket,
    /// The only host that may connect; without, this end connects.
    from: Option<IpAddr>,
    /// Octets of the longest message.
    pub longest_payload: usize,
    priority: Option<u8>,
}

/// How long is waited for the other end before the stop flag is looked at again.
const LOOK_MS: u16 = 20;
/// After a refusal, the time to the next attempt: the other end may not listen yet.
const AFTER_REFUSAL_NS: u64 = 10_000_000;
/// Where the permit's rates have no room for an attempt, the time to the next look.
const WITHOUT_ROOM_NS: u64 = 200_000;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 4;

fn no_end(source: io::Error) -> Refusal {
    Refusal::new(
        ConsentRule::Port,
        Error::System { doing: "opening a TCP socket", source },
        "an own address and a free port",
    )
}

impl ConnectionSocket {
    /// One at `local`, whose port is any free one if it is 0, bound to `interface` if one is named,
    /// for messages of up to so many octets.
    pub fn at(
        local: SocketAddr,
        interface: Option<&str>,
        longest_payload: usize,
        priority: Option<u8>,
    ) -> Result<Self, Refusal> {
        let open = || {
            let socket =
                Socket::new(Domain::for_address(local), Type::STREAM, Some(Protocol::TCP))?;
            socket.set_nonblocking(true)?;
            if let Some(interface) = interface {
                socket.bind_device(Some(interface.as_bytes()))?;
            }
            socket.bind(&SockAddr::from(local))?;
            Ok(socket)
        };
        let socket = open().map_err(no_end)?;
        if let Some(priority) = priority {
            prioritise(&socket, local.is_ipv4(), priority).map_err(|error| {
                Refusal::new(ConsentRule::Port, error, "a priority that this host allows")
            })?;
        }
        Ok(Self { socket, from: None, longest_payload, priority })
    }

    /// Send by one interface only from now on.
    pub fn keep_to(&self, interface: &str) -> Result<(), Refusal> {
        self.socket.bind_device(Some(interface.as_bytes())).map_err(no_end)
    }

    /// The number of its port.
    pub fn port(&self) -> Result<u16, Refusal> {
        let local = self.socket.local_addr().map_err(no_end)?;
        Ok(local.as_socket().map_or(0, |local| local.port()))
    }

    /// An end that will listen to `from`.
    pub fn accepting(self, from: IpAddr) -> Self {
        Self { from: Some(from), ..self }
    }

    /// Wait for the other end, or connect to it, from the beginning of the experiment to the end of
    /// its transmission; `None` if that has ended or been stopped before. Attempts to connect are
    /// charged to the role's policer. An end that is to send accepts only the permit's
    /// target.
    pub(super) fn meet(
        self,
        mut policer: Option<&mut Policer>,
        schedule: &ExperimentSchedule<impl Timeline>,
    ) -> Result<Option<TcpStream>, Error> {
        let until_ns = schedule.transmit_ns().saturating_add(schedule.phases.transmit_ns);
        let preparing = || |source| Error::System { doing: "preparing a TCP connection", source };
        let connected = match (self.from, policer.as_deref_mut()) {
            (Some(from), policer) => {
                self.socket.listen(BACKLOG).map_err(preparing())?;
                let target = policer.map(|policer| policer.permit().target);
                accept(&self.socket, from, target, schedule, until_ns)?
            }
            (None, Some(policer)) => connect(self.socket, policer, schedule, until_ns)?,
            (None, None) => None,
        };
        let Some(stream) = connected else { return Ok(None) };
        stream.set_nonblocking(false).map_err(preparing())?;
        stream.set_nodelay(true).map_err(preparing())?;
        set_persistence(&stream, false)?;
        if let Some(priority) = self.priority {
            let local = stream.local_addr().map_err(preparing())?;
            prioritise(&stream, local.is_ipv4(), priority)?;
        }
        if let Some(policer) = policer {
            policer.follow(&TcpInfo::of(&stream)?, schedule.time.now_ns());
            set_pace(&stream, policer.payload_octets_per_s().max(1))?;
        }
        Ok(Some(stream))
    }
}

fn wait_for(socket: &Socket, what: PollFlags) {
    let mut fds = [PollFd::new(socket.as_fd(), what)];
    // Whatever ends it, the socket is looked at.
    let _ = poll(&mut fds, PollTimeout::from(LOOK_MS));
}

fn accept(
    socket: &Socket,
    from: IpAddr,
    target: Option<StationAddress>,
    schedule: &ExperimentSchedule<impl Timeline>,
    until_ns: u64,
) -> Result<Option<TcpStream>, Error> {
    let is_expected = |peer: SocketAddr| {
        peer.ip() == from && target.is_none_or(|target| target == StationAddress::Socket(peer))
    };
    while !schedule.is_over_at(until_ns) {
        match socket.accept() {
            // Strangers are let go at once: closed, without a word.
            Ok((stream, peer)) if peer.as_socket().is_some_and(is_expected) => {
                return Ok(Some(stream.into()));
            }
            Ok(_) => {}
            Err(error) if is_passing(&error) => wait_for(socket, PollFlags::POLLIN),
            Err(source) => {
                return Err(Error::System { doing: "waiting for a TCP connection", source });
            }
        }
    }
    Ok(None)
}

fn connect(
    socket: Socket,
    policer: &mut Policer,
    schedule: &ExperimentSchedule<impl Timeline>,
    until_ns: u64,
) -> Result<Option<TcpStream>, Error> {
    let StationAddress::Socket(to) = policer.permit().target else { return Ok(None) };
    let connecting = |source| Error::System { doing: "connecting by TCP", source };
    if !pause_until(schedule.begin_ns, schedule) {
        return Ok(None);
    }
    let mut is_open = false;
    while !schedule.is_over_at(until_ns) {
        if !is_open && !policer.take_opening(schedule.time.now_ns()) {
            pause_until(schedule.time.now_ns() + WITHOUT_ROOM_NS, schedule);
            continue;
        }
        is_open = true;
        match socket.connect(&SockAddr::from(to)) {
            Ok(()) => return Ok(Some(socket.into())),
            Err(error) if error.raw_os_error() == Some(Errno::EISCONN as i32) => {
                return Ok(Some(socket.into()));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                is_open = false;
                pause_until(schedule.time.now_ns() + AFTER_REFUSAL_NS, schedule);
            }
            Err(error) if is_passing(&error) => wait_for(&socket, PollFlags::POLLOUT),
            Err(error) => return Err(connecting(error)),
        }
    }
    Ok(None)
}

/// Whether an error means only that the operation is not complete.
fn is_passing(error: &io::Error) -> bool {
    let passing =
        [Errno::EINPROGRESS, Errno::EALREADY, Errno::EAGAIN, Errno::EINTR, Errno::ECONNABORTED];
    error.raw_os_error().is_some_and(|code| passing.contains(&Errno::from_raw(code)))
}

/// Sleep until then; false if it was stopped before.
fn pause_until(at_ns: u64, schedule: &ExperimentSchedule<impl Timeline>) -> bool {
    loop {
        let now_ns = schedule.time.now_ns();
        if schedule.lease.is_silent_at(now_ns) || now_ns >= at_ns {
            return !schedule.lease.flag().load(Ordering::Relaxed);
        }
        schedule.time.sleep_until(at_ns.min(now_ns + u64::from(LOOK_MS) * 1_000_000));
    }
}

/// Wait until the other end has acknowledged all that was written, and then end the connection in
/// order; otherwise it ends at once when it is closed.
///
/// Returns when all was acknowledged.
pub(super) fn finish(
    stream: &TcpStream,
    schedule: &ExperimentSchedule<impl Timeline>,
) -> Result<Option<u64>, Error> {
    while !schedule.is_over() {
        if unacknowledged_octets(stream)? == 0 {
            let now_ns = schedule.time.now_ns();
            set_persistence(stream, true)?;
            let _ = stream.shutdown(std::net::Shutdown::Write); // the other end may have gone already
            return Ok(Some(now_ns));
        }
        schedule.time.sleep_until(schedule.time.now_ns() + 1_000_000);
    }
    Ok(None)
}
