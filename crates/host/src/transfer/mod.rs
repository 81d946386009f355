//! The two ends of a transfer over TCP, each a host whose stages can be set: buffers, segments,
//! source, turn-around, work for each octet.
//!
//! What is measured is what the receiving application has got. Neither end runs beyond its time.

mod receiver;
mod sender;
mod sockets;

pub use receiver::{ReceivedTransfer, TransferReceiver, receive};
pub use sender::{SentTransfer, TransferSender, TransferSource, send};
pub use sockets::SocketOptions;

#[cfg(test)]
mod tests {
    use super::sockets::work;
    use super::*;
    #[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
    use ethermeter_net::{HostTime, Timeline};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};

    fn free_address() -> SocketAddr {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback").local_addr().expect("bound")
    }

    fn receiving(address: SocketAddr) -> TransferReceiver {
        TransferReceiver {
            address,
            connections: 1,
            sockets: SocketOptions::default(),
            block_octets: None,
            work_ps_per_octet: 0,
            settle_ns: 20_000_000,
            window_ns: Some(200_000_000),
        }
    }

    fn sending(address: SocketAddr) -> TransferSender {
        TransferSender {
            address,
            connections: 1,
            sockets: SocketOptions::default(),
            source: TransferSource::Memory,
            block_octets: 64 << 10,
            turn_around_ns: None,
            work_ps_per_octet: 0,
            octets: None,
            duration_ns: 400_000_000,
        }
    }

    fn transferred(
        receiving: &TransferReceiver,
        sending: &TransferSender,
    ) -> (ReceivedTransfer, SentTransfer) {
        std::thread::scope(|scope| {
            let sink = scope.spawn(|| receive(receiving, &HostTime).expect("loopback"));
            let sent = send(sending, &HostTime).expect("loopback");
            (sink.join().expect("no panic"), sent)
        })
    }

    #[test]
    fn every_octet_of_a_transfer_of_known_size_comes() {
        let address = free_address();
        let (received, sent) = transferred(
            &TransferReceiver {
                connections: 3,
                settle_ns: 0,
                window_ns: None,
                ..receiving(address)
            },
            &TransferSender { connections: 3, octets: Some(1_000_003), ..sending(address) },
        );
        assert_eq!(received.octets, 1_000_003);
        assert_eq!(sent.octets, 1_000_003);
    }

    #[test]
    fn a_slow_source_gives_no_more_than_its_rate() {
        let address = free_address();
        let (received, sent) = transferred(
            &receiving(address),
            &TransferSender {
                source: TransferSource::Slow { bits_per_s: 8_000_000 },
                block_octets: 4096,
                ..sending(address)
            },
        );
        // An octet each microsecond. The receiver's window says less of the source: what waited
        // while the receiver stalled can come into it.
        assert!(sent.octets <= sent.lasted_ns / 1000, "{sent:?}");
        assert!(received.octets <= sent.octets, "{received:?} of {sent:?}");
        assert!(received.octets > 0);
    }

    #[test]
    fn turn_arounds_allow_a_block_each() {
        let address = free_address();
        let (received, _) = transferred(
            &TransferReceiver { block_octets: Some(10_000), ..receiving(address) },
            &TransferSender {
                block_octets: 10_000,
                turn_around_ns: Some(20_000_000),
                ..sending(address)
            },
        );
        // In 200 ms begin at most 11 turn-arounds of 20 ms.
        assert!(received.octets <= 110_000, "{received:?}");
        assert!(received.octets > 0);
    }

    #[test]
    fn work_takes_processor_time() {
        let before_ns = HostTime.worked_ns();
        work(1000, 5_000_000, &HostTime);
        assert!(HostTime.worked_ns() - before_ns >= 5_000_000);
    }
}
