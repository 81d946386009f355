//! The two ends of a transfer over TCP, each a host whose stages can be set: buffers, segments,
//! source, turn-around, work for each octet.
//!
//! What is measured is what the receiving application has got. Neither end runs beyond its time.

mod receiver;
mod sender;

pub use receiver::{receive, Received, Receiving};
pub use sender::{send, Sender, Sent, Source};

use crate::Error;
use ethermeter_live::time::{worked_ns, NS_PER_S};
use serde::Deserialize;
use socket2::Socket;
use std::time::Duration;

/// An end gives up on a silent peer after so long.
const TIMEOUT: Duration = Duration::from_secs(5);
/// At most so long in one call, so that the time can be looked at.
const LONGEST_BLOCK: Duration = Duration::from_millis(50);
/// Octets of a call that writes or reads, at most.
const CALL_OCTETS: usize = 64 << 10;
/// What a receiver sends when its application wants the next block.
const REQUEST: u8 = b'?';
const MOST_CONNECTIONS: u32 = 64;
const LONGEST_NS: u64 = 120 * NS_PER_S;

/// What is set of the sockets of one end; what is not is the system's choice.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sockets {
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

impl Sockets {
    /// Set them before a connection is made: afterwards the window's scale is settled.
    fn apply(&self, socket: &Socket) -> Result<(), Error> {
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
fn work(octets: usize, ps_per_octet: u64) {
    if ps_per_octet == 0 {
        return;
    }
    let until_ns = worked_ns() + octets as u64 * ps_per_octet / 1000;
    while worked_ns() < until_ns {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};

    fn free_address() -> SocketAddr {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback").local_addr().expect("bound")
    }

    fn receiving(address: SocketAddr) -> Receiving {
        Receiving {
            address,
            connections: 1,
            sockets: Sockets::default(),
            block_octets: None,
            work_ps_per_octet: 0,
            settle_ns: 20_000_000,
            window_ns: Some(200_000_000),
        }
    }

    fn sending(address: SocketAddr) -> Sender {
        Sender {
            address,
            connections: 1,
            sockets: Sockets::default(),
            source: Source::Memory,
            block_octets: 64 << 10,
            turn_around_ns: None,
            work_ps_per_octet: 0,
            octets: None,
            duration_ns: 400_000_000,
        }
    }

    fn transferred(receiving: &Receiving, sending: &Sender) -> (Received, Sent) {
        std::thread::scope(|scope| {
            let sink = scope.spawn(|| receive(receiving).expect("loopback"));
            let sent = send(sending).expect("loopback");
            (sink.join().expect("no panic"), sent)
        })
    }

    #[test]
    fn every_octet_of_a_transfer_of_known_size_comes() {
        let address = free_address();
        let (received, sent) = transferred(
            &Receiving { connections: 3, settle_ns: 0, window_ns: None, ..receiving(address) },
            &Sender { connections: 3, octets: Some(1_000_003), ..sending(address) },
        );
        assert_eq!(received.octets, 1_000_003);
        assert_eq!(sent.octets, 1_000_003);
    }

    #[test]
    fn a_slow_source_gives_no_more_than_its_rate() {
        let address = free_address();
        let (received, _) = transferred(
            &receiving(address),
            &Sender {
                source: Source::Slow { bits_per_s: 8_000_000 },
                block_octets: 4096,
                ..sending(address)
            },
        );
        // A block more than the rate gives can come into the window.
        assert!(received.octets <= 200_000 + 4096, "{received:?}");
        assert!(received.octets > 0);
    }

    #[test]
    fn turn_arounds_allow_a_block_each() {
        let address = free_address();
        let (received, _) = transferred(
            &Receiving { block_octets: Some(10_000), ..receiving(address) },
            &Sender { block_octets: 10_000, turn_around_ns: Some(20_000_000), ..sending(address) },
        );
        // In 200 ms begin at most 11 turn-arounds of 20 ms.
        assert!(received.octets <= 110_000, "{received:?}");
        assert!(received.octets > 0);
    }

    #[test]
    fn work_takes_processor_time() {
        let before_ns = worked_ns();
        work(1000, 5_000_000);
        assert!(worked_ns() - before_ns >= 5_000_000);
    }
}
