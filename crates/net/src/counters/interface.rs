//! Counters of interfaces and of UDP.

use super::text::{numbers, read};
use crate::Error;
use serde::{Deserialize, Serialize};

/// What an interface has counted since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterfaceCounters {
    /// Name of the interface.
    pub name: String,
    /// Frames received.
    pub received_frames: u64,
    /// Octets of the received frames, as the driver counts them: destination address to before the
    /// FCS on virtual interfaces.
    pub received_octets: u64,
    /// Frames that arrived and were dropped, damaged or found no room: `drop`, `errs` and `fifo`.
    pub received_dropped: u64,
    /// Frames sent.
    pub sent_frames: u64,
    /// Octets of the sent frames.
    pub sent_octets: u64,
    /// Frames that were to be sent and were not: `drop`, `errs` and `fifo`.
    pub sent_dropped: u64,
}

/// The interfaces of this namespace.
///
/// # Errors
/// If the kernel does not report it.
pub fn interfaces() -> Result<Vec<InterfaceCounters>, Error> {
    Ok(parse_interfaces(&read("/proc/thread-self/net/dev")?))
}

fn parse_interfaces(text: &str) -> Vec<InterfaceCounters> {
    let line = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        let counts: Vec<u64> = numbers(counts).collect();
        let [
            received_octets,
            received_frames,
            errors,
            dropped,
            fifo,
            _,
            _,
            _,
            sent_octets,
            sent_frames,
            sent_errors,
            sent_dropped,
            sent_fifo,
            ..,
        ] = counts[..]
        else {
            return None;
        };
        Some(InterfaceCounters {
            name: name.trim().to_owned(),
            received_frames,
            received_octets,
            received_dropped: sum([errors, dropped, fifo]),
            sent_frames,
            sent_octets,
            sent_dropped: sum([sent_errors, sent_dropped, sent_fifo]),
        })
    };
    text.lines().filter_map(line).collect()
}

fn sum(counts: [u64; 3]) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// What UDP over IPv4 has counted in this namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UdpCounters {
    /// Datagrams delivered to sockets.
    pub received: u64,
    /// Datagrams for ports without a listener.
    pub no_port: u64,
    /// Datagrams that a socket had no room for.
    pub no_room: u64,
    /// Datagrams with a wrong checksum.
    pub damaged: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that the sender's own queue refused.
    pub not_sent: u64,
}

/// UDP's counters of this namespace.
///
/// # Errors
/// If the kernel does not report it.
pub fn udp() -> Result<UdpCounters, Error> {
    Ok(parse_udp(&read("/proc/thread-self/net/snmp")?))
}

/// A line of names, then one of numbers; what is not there is 0.
fn parse_udp(text: &str) -> UdpCounters {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, counts) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let mut counters = UdpCounters::default();
    for (name, count) in names.split_ascii_whitespace().zip(numbers(counts)) {
        match name {
            "InDatagrams" => counters.received = count,
            "NoPorts" => counters.no_port = count,
            "RcvbufErrors" => counters.no_room = count,
            "InCsumErrors" => counters.damaged = count,
            "OutDatagrams" => counters.sent = count,
            "SndbufErrors" => counters.not_sent = count,
            _ => {}
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  123456     789    0    0    0     0          0         0   123456     789    0    0    0     0       0          0
 veth0: 1000       10    1    2    3     0          0         7   2000       20    4    5    6     0       0          0
";

    #[test]
    fn interfaces_are_read_as_the_kernel_writes_them() {
        let veth = InterfaceCounters {
            name: "veth0".into(),
            received_frames: 10,
            received_octets: 1000,
            received_dropped: 6,
            sent_frames: 20,
            sent_octets: 2000,
            sent_dropped: 15,
        };
        let parsed = parse_interfaces(DEV);
        assert_eq!((parsed.len(), parsed.last()), (2, Some(&veth)));
    }

    #[test]
    fn udp_is_read_by_the_names_of_its_columns() {
        let text = "Ip: Forwarding\nIp: 1\nUdp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors\n\
                    Udp: 100 1 9 200 3 4 2\n";
        let expected = UdpCounters {
            received: 100,
            no_port: 1,
            no_room: 3,
            damaged: 2,
            sent: 200,
            not_sent: 4,
        };
        assert_eq!(parse_udp(text), expected);
    }

    #[test]
    fn the_loopback_interface_is_there() {
        assert!(interfaces().expect("counters").iter().any(|interface| interface.name == "lo"));
        udp().expect("counters");
    }

    proptest! {
        #[test]
        fn no_text_makes_parsing_panic(text in "(\\PC{0,9}|Udp: |[0-9]{1,22}|[ :\n]){0,60}") {
            parse_interfaces(&text);
            parse_udp(&text);
        }
    }
}
