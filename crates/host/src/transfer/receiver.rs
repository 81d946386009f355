//! The end that receives, and measures.

use super::sockets::{
    CALL_OCTETS, LONGEST_CALL, LONGEST_NS, MOST_CONNECTIONS, REQUEST, SocketOptions, TIMEOUT_NS,
    work,
};
use crate::joined;
use ethermeter_net::Error;
use ethermeter_net::port::bulk::{BulkResult, BulkStream};
use ethermeter_net::time::Timeline;
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the receiving end does.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferReceiver {
    /// Where it listens.
    pub address: SocketAddr,
    /// Connections, at most 64.
    pub connections: u32,
    /// Options of the receiver's sockets.
    #[serde(default)]
    pub sockets: SocketOptions,
    /// Ask for each block of so many octets when the one before is there; without, nothing is asked
    /// for.
    #[serde(default)]
    pub block_octets: Option<u32>,
    /// Processor time for each octet, in picoseconds.
    #[serde(default)]
    pub work_ps_per_octet: u64,
    /// From the first octet to the begin of what is measured.
    pub settle_ns: u64,
    /// How long it is measured; without, to the last octet.
    pub window_ns: Option<u64>,
}

/// What arrived.
#[derive(Debug, Default, Serialize)]
pub struct ReceivedTransfer {
    /// Octets that the application read in the window.
    pub octets: u64,
    /// The window.
    pub window_ns: u64,
    /// Processor time of all connections' threads over the whole transfer; what the system does for
    /// them elsewhere is not in it.
    pub worked_ns: u64,
    /// From the first octet to the end.
    pub lasted_ns: u64,
}

/// What connections share: when the first octet of any arrived, in nanoseconds; 0 before.
struct FirstOctetTime(AtomicU64);

impl FirstOctetTime {
    fn begun_ns(&self, now_ns: u64) -> u64 {
        match self.0.compare_exchange(0, now_ns, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => now_ns,
            Err(earlier_ns) => earlier_ns,
        }
    }
}

/// Counts of one connection.
struct ConnectionTotals {
    octets: u64,
    worked_ns: u64,
    last_ns: u64,
}

/// Receive a transfer.
///
/// # Errors
/// If a number is out of range, the system refuses, or no sender connects within 5 s.
pub fn receive(
    receiving: &TransferReceiver,
    time: &(impl Timeline + Sync),
) -> Result<ReceivedTransfer, Error> {
    Error::unless_within(
        "connections",
        u64::from(receiving.connections),
        1,
        u64::from(MOST_CONNECTIONS),
    )?;
    Error::unless_within("settle_ns", receiving.settle_ns, 0, LONGEST_NS)?;
    Error::unless_within("window_ns", receiving.window_ns.unwrap_or(1), 1, LONGEST_NS)?;
    let listening = || Error::system("listening");
    let socket =
        Socket::new(Domain::for_address(receiving.address), Type::STREAM, Some(Protocol::TCP))
            .map_err(listening())?;
    socket.set_reuse_address(true).map_err(listening())?;
    receiving.sockets.apply(&socket)?;
    socket.bind(&receiving.address.into()).map_err(listening())?;
    socket.listen(64).map_err(listening())?;
    socket.set_nonblocking(true).map_err(listening())?;
    let listener = TcpListener::from(socket);
    let mut streams = Vec::new();
    for _ in 0..receiving.connections {
        streams.push(accepted(&listener, time)?);
    }
    let shared = &FirstOctetTime(AtomicU64::new(0));
    let of_connections = std::thread::scope(|scope| {
        let threads: Vec<_> = streams
            .into_iter()
            .map(|stream| scope.spawn(move || one_connection(receiving, &stream, shared, time)))
            .collect();
        threads
            .into_iter()
            .map(|thread| joined(thread))
            .collect::<Result<Vec<ConnectionTotals>, Error>>()
    })?;
    let begun_ns = shared.0.load(Ordering::Acquire);
    let last_ns =
        of_connections.iter().map(|connection| connection.last_ns).max().unwrap_or(begun_ns);
    let lasted_ns = last_ns.saturating_sub(begun_ns);
    Ok(ReceivedTransfer {
        octets: of_connections.iter().map(|connection| connection.octets).sum(),
        window_ns: receiving.window_ns.unwrap_or(lasted_ns.saturating_sub(receiving.settle_ns)),
        worked_ns: of_connections.iter().map(|connection| connection.worked_ns).sum(),
        lasted_ns,
    })
}

fn accepted(listener: &TcpListener, time: &impl Timeline) -> Result<BulkStream, Error> {
    let until_ns = time.now_ns() + TIMEOUT_NS;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nodelay(true).map_err(Error::system("preparing a connection"))?;
                return BulkStream::over(stream, Some(LONGEST_CALL));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if time.now_ns() > until_ns {
                    return Err(late("waiting for a sender", "none has connected within 5 s"));
                }
                time.sleep_until(time.now_ns() + 1_000_000);
            }
            Err(source) => return Err(Error::System { doing: "accepting a connection", source }),
        }
    }
}

fn late(doing: &'static str, text: &'static str) -> Error {
    Error::System { doing, source: io::Error::new(io::ErrorKind::TimedOut, text) }
}

fn one_connection(
    receiving: &TransferReceiver,
    stream: &BulkStream,
    shared: &FirstOctetTime,
    time: &impl Timeline,
) -> Result<ConnectionTotals, Error> {
    let began_working_ns = time.worked_ns();
    let block = receiving.block_octets.map(|octets| octets as usize);
    let mut room = vec![0; CALL_OCTETS];
    let mut counted = ConnectionTotals { octets: 0, worked_ns: 0, last_ns: 0 };
    let mut in_block = 0;
    let has_asked = || stream.write_block(&[REQUEST], |_| true).map(|octets| octets > 0);
    let mut goes_on = block.is_none() || has_asked()?;
    let mut until_ns = time.now_ns() + TIMEOUT_NS;
    while goes_on {
        let room_wanted = block.map_or(room.len(), |octets| room.len().min(octets - in_block));
        let octets = match stream.read(&mut room[..room_wanted])? {
            BulkResult::Octets(octets) => octets,
            BulkResult::Nothing if time.now_ns() < until_ns => continue,
            BulkResult::Nothing => return Err(late("receiving", "nothing has come for 5 s")),
            // The sender hangs up when its time is over, whatever is still in transit.
            BulkResult::Closed | BulkResult::Reset => break,
        };
        let begun_ns = shared.begun_ns(time.now_ns());
        // The application has got them when its work on them is done.
        work(octets, receiving.work_ps_per_octet, time);
        let now_ns = time.now_ns();
        let from_ns = begun_ns + receiving.settle_ns;
        let to_ns = receiving.window_ns.map_or(u64::MAX, |window_ns| from_ns + window_ns);
        if now_ns >= to_ns {
            break;
        }
        if now_ns >= from_ns {
            counted.octets += octets as u64;
        }
        counted.last_ns = now_ns;
        until_ns = now_ns + TIMEOUT_NS;
        in_block += octets;
        if block.is_some_and(|octets| in_block == octets) {
            in_block = 0;
            goes_on = has_asked()?;
        }
    }
    counted.worked_ns = time.worked_ns() - began_working_ns;
    Ok(counted)
}
