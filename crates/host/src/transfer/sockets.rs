//! Sockets of an end of a transfer, and limits of both ends.

use ethermeter_net::Error;
use ethermeter_net::time::{NS_PER_S, Timeline};
use serde::Deserialize;
use socket2::Socket;
use std::time::Duration;

/// An end gives up on a silent peer after so long.
pub(super) const TIMEOUT_NS: u64 = 5 * NS_PER_S;
/// At most so long in one call, so that the time can be looked at.
pub(super) const LONGEST_CALL: Duration = Duration::from_millis(50);
/// Octets of a call that writes or reads, at most.
pub(super) const CALL_OCTETS: usize = 64 << 10;
/// What a receiver sends when its application wants the next block.
pub(super) const REQUEST: u8 = b'?';
pub(super) const MOST_CONNECTIONS: u32 = 64;
pub(super) const LONGEST_NS: u64 = 120 * NS_PER_S;

/// What is set of the sockets of one end; what is not is the system's choice.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SocketOptions {
    /// Room for what has come and was not read, in octets (`SO_RCVBUF`; the system doubles it for
    /// its own needs).
    pub receive_octets: Option<u32>,
    /// Room for what was written and is not acknowledged (`SO_SNDBUF`, likewise).
    pub send_octets: Option<u32>,
    /// Octets of a segment's data and options at most (`TCP_MAXSEG`).
    pub segment_octets: Option<u32>,
    /// How TCP answers loss (`TCP_CONGESTION`).
    pub congestion: Option<String>,
}

impl SocketOptions {
    /// Set them before a connection is made: afterwards the window's scale is settled.
    pub(super) fn apply(&self, socket: &Socket) -> Result<(), Error> {
        if let Some(octets) = self.receive_octets {
            socket
                .set_recv_buffer_size(octets as usize)
                .map_err(Error::system("setting SO_RCVBUF"))?;
        }
        if let Some(octets) = self.send_octets {
            socket
                .set_send_buffer_size(octets as usize)
                .map_err(Error::system("setting SO_SNDBUF"))?;
        }
        if let Some(octets) = self.segment_octets {
            socket.set_tcp_mss(octets).map_err(Error::system("setting TCP_MAXSEG"))?;
        }
        if let Some(name) = &self.congestion {
            socket
                .set_tcp_congestion(name.as_bytes())
                .map_err(Error::system("setting TCP_CONGESTION"))?;
        }
        Ok(())
    }
}

/// Work for each octet, as an application does that decodes, checks or encrypts: processor time, of
/// which others may take their part.
pub(super) fn work(octets: usize, ps_per_octet: u64, time: &impl Timeline) {
    if ps_per_octet == 0 {
        return;
    }
    let until_ns = time.worked_ns() + octets as u64 * ps_per_octet / 1000;
    while time.worked_ns() < until_ns {
        std::hint::spin_loop();
    }
}
