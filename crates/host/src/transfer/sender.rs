//! The end that sends.

use super::sockets::{
    CALL_OCTETS, LONGEST_CALL, LONGEST_NS, MOST_CONNECTIONS, REQUEST, SocketOptions, TIMEOUT_NS,
    work,
};
use crate::joined;
use ethermeter_net::Error;
use ethermeter_net::port::bulk::{BulkResult, BulkStream};
use ethermeter_net::port::tcp_info::TcpInfo;
use ethermeter_net::time::Timeline;
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What the sending end does.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferSender {
    /// Where the receiver listens.
    pub address: SocketAddr,
    /// Connections, at most 64.
    pub connections: u32,
    /// Options of the sender's sockets.
    #[serde(default)]
    pub sockets: SocketOptions,
    /// Where the octets come from.
    pub source: TransferSource,
    /// Octets that are taken from the source and written at a time, at most 16 MiB; with a
    /// turn-around, those that are asked for.
    pub block_octets: u32,
    /// Wait for the receiver's application to ask, and so long from there, before each block;
    /// without, nothing is waited for.
    #[serde(default)]
    pub turn_around_ns: Option<u64>,
    /// Processor time for each octet, in picoseconds.
    #[serde(default)]
    pub work_ps_per_octet: u64,
    /// Octets of all connections together; without, until the time is over or the receiver hangs
    /// up.
    #[serde(default)]
    pub octets: Option<u64>,
    /// At most so long, at most 120 s.
    pub duration_ns: u64,
}

/// Where octets come from.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TransferSource {
    /// The octets are in memory.
    Memory,
    /// A device that gives so many bits a second: a block is there when its last bit is.
    Slow {
        /// Of all connections together.
        bits_per_s: u64,
    },
    /// A file, from its beginning again when it ends.
    File {
        /// Path of the file.
        path: PathBuf,
    },
}

/// What was sent.
#[derive(Debug, Serialize)]
pub struct SentTransfer {
    /// Octets that the system took.
    pub octets: u64,
    /// Processor time of all connections' threads; what the system does for them elsewhere is not
    /// in it.
    pub worked_ns: u64,
    /// From the first connection's being there to the end.
    pub lasted_ns: u64,
    /// TCP's account of each connection at its end.
    pub connections: Vec<TcpInfo>,
}

/// Send a transfer.
///
/// # Errors
/// If a number is out of range, the system refuses, or no receiver listens within 5 s.
pub fn send(sender: &TransferSender, time: &(impl Timeline + Sync)) -> Result<SentTransfer, Error> {
    Error::unless_within(
        "connections",
        u64::from(sender.connections),
        1,
        u64::from(MOST_CONNECTIONS),
    )?;
    Error::unless_within("block_octets", u64::from(sender.block_octets), 1, 16 << 20)?;
    Error::unless_within("duration_ns", sender.duration_ns, 1, LONGEST_NS)?;
    if let TransferSource::Slow { bits_per_s } = sender.source {
        Error::unless_within("bits_per_s", bits_per_s, 1000, 1_000_000_000_000)?;
    }
    let mut streams = Vec::new();
    for _ in 0..sender.connections {
        streams.push(connected(sender, time)?);
    }
    let begun_ns = time.now_ns();
    let of_connections = std::thread::scope(|scope| {
        let threads: Vec<_> = (0u64..)
            .zip(&streams)
            .map(|(number, stream)| {
                scope.spawn(move || one_connection(sender, stream, number, begun_ns, time))
            })
            .collect();
        threads.into_iter().map(|thread| joined(thread)).collect::<Result<Vec<_>, Error>>()
    })?;
    let lasted_ns = time.now_ns() - begun_ns;
    let connections = streams.iter().map(BulkStream::info).collect::<Result<_, _>>()?;
    let (octets, worked_ns) = of_connections
        .iter()
        .fold((0, 0), |sum, connection| (sum.0 + connection.0, sum.1 + connection.1));
    Ok(SentTransfer { octets, worked_ns, lasted_ns, connections })
}

fn connected(sender: &TransferSender, time: &impl Timeline) -> Result<BulkStream, Error> {
    let until_ns = time.now_ns() + TIMEOUT_NS;
    loop {
        let preparing = || Error::system("preparing a connection");
        let socket =
            Socket::new(Domain::for_address(sender.address), Type::STREAM, Some(Protocol::TCP))
                .map_err(preparing())?;
        sender.sockets.apply(&socket)?;
        match socket.connect_timeout(&sender.address.into(), Duration::from_nanos(TIMEOUT_NS)) {
            Ok(()) => {
                socket.set_tcp_nodelay(true).map_err(preparing())?;
                return BulkStream::over(socket.into(), Some(LONGEST_CALL));
            }
            // The receiver may not have begun to listen.
            Err(error)
                if error.kind() == io::ErrorKind::ConnectionRefused && time.now_ns() < until_ns =>
            {
                time.sleep_until(time.now_ns() + 2_000_000);
            }
            Err(source) => return Err(Error::System { doing: "connecting", source }),
        }
    }
}

/// Octets that were sent, and the processor time that it took.
fn one_connection(
    sender: &TransferSender,
    stream: &BulkStream,
    number: u64,
    begun_ns: u64,
    time: &impl Timeline,
) -> Result<(u64, u64), Error> {
    let began_working_ns = time.worked_ns();
    let end_ns = begun_ns + sender.duration_ns;
    let share = |octets: u64| {
        octets / u64::from(sender.connections)
            + u64::from(number < octets % u64::from(sender.connections))
    };
    let octets_to_send = sender.octets.map_or(u64::MAX, share);
    let mut supply = BlockSupply::open(sender, begun_ns)?;
    let mut sent = 0;
    while sent < octets_to_send && time.now_ns() < end_ns {
        if let Some(turn_around_ns) = sender.turn_around_ns {
            if !is_asked(stream, end_ns, time)? {
                break;
            }
            time.sleep_until(end_ns.min(time.now_ns() + turn_around_ns));
        }
        let octets = usize::try_from(octets_to_send - sent)
            .unwrap_or(usize::MAX)
            .min(sender.block_octets as usize);
        let block = supply.block(octets, end_ns, time)?;
        let written = write_until(stream, block, sender.work_ps_per_octet, end_ns, time)?;
        sent += written as u64;
        if written < octets {
            break;
        }
    }
    // What was written still goes out; then the receiver sees the end.
    let _ = stream.stream().shutdown(std::net::Shutdown::Write);
    Ok((sent, time.worked_ns() - began_working_ns))
}

fn is_asked(stream: &BulkStream, end_ns: u64, time: &impl Timeline) -> Result<bool, Error> {
    let mut word = [0];
    while time.now_ns() < end_ns {
        match stream.read(&mut word)? {
            BulkResult::Octets(_) => return Ok(word[0] == REQUEST),
            BulkResult::Nothing => {}
            BulkResult::Closed | BulkResult::Reset => return Ok(false),
        }
    }
    Ok(false)
}

/// Octets that the system took before the time was over or the receiver hung up.
fn write_until(
    stream: &BulkStream,
    block: &[u8],
    work_ps_per_octet: u64,
    end_ns: u64,
    time: &impl Timeline,
) -> Result<usize, Error> {
    let mut written = 0;
    for chunk in block.chunks(CALL_OCTETS) {
        work(chunk.len(), work_ps_per_octet, time);
        let taken = stream.write_block(chunk, |_| time.now_ns() < end_ns)?;
        written += taken;
        if taken < chunk.len() || time.now_ns() >= end_ns {
            break;
        }
    }
    Ok(written)
}

/// A source, and a block of room for what it gives.
struct BlockSupply {
    room: Vec<u8>,
    file: Option<File>,
    /// Picoseconds that a slow source takes for an octet, of this connection.
    ps_per_octet: u128,
    given: u128,
    begun_ns: u64,
}

impl BlockSupply {
    fn open(sender: &TransferSender, begun_ns: u64) -> Result<Self, Error> {
        let room = (0..=u8::MAX).cycle().take(sender.block_octets as usize).collect();
        let file = match &sender.source {
            TransferSource::File { path } => {
                Some(File::open(path).map_err(Error::system("opening the source"))?)
            }
            _ => None,
        };
        let ps_per_octet = match sender.source {
            TransferSource::Slow { bits_per_s } => {
                8_000_000_000_000 * u128::from(sender.connections) / u128::from(bits_per_s)
            }
            _ => 0,
        };
        Ok(Self { room, file, ps_per_octet, given: 0, begun_ns })
    }

    fn block(&mut self, octets: usize, end_ns: u64, time: &impl Timeline) -> Result<&[u8], Error> {
        if self.ps_per_octet > 0 {
            // A source that was not asked goes on reading ahead by one block at most: it does not
            // catch up.
            let step_ns = ns(octets as u128 * self.ps_per_octet);
            let now_ns = time.now_ns();
            let due_ns = self.begun_ns + ns(self.given * self.ps_per_octet) + step_ns;
            if now_ns > due_ns + step_ns {
                self.begun_ns += now_ns - due_ns - step_ns;
            }
            if due_ns > end_ns {
                // The time is over before the block's last bit is there.
                time.sleep_until(end_ns);
                return Ok(&[]);
            }
            time.sleep_until(due_ns);
            self.given += octets as u128;
        }
        if let Some(file) = &mut self.file {
            let mut filled = 0;
            let mut is_begin = false;
            while filled < octets {
                match file
                    .read(&mut self.room[filled..octets])
                    .map_err(Error::system("reading the source"))?
                {
                    0 if is_begin => {
                        let empty = io::Error::new(io::ErrorKind::UnexpectedEof, "it is empty");
                        return Err(Error::System { doing: "reading the source", source: empty });
                    }
                    0 => {
                        file.seek(SeekFrom::Start(0))
                            .map_err(Error::system("reading the source"))?;
                        is_begin = true;
                    }
                    read => {
                        filled += read;
                        is_begin = false;
                    }
                }
            }
        }
        Ok(&self.room[..octets])
    }
}

fn ns(ps: u128) -> u64 {
    u64::try_from(ps / 1000).expect("at most 120 s")
}
