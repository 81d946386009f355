//! Data over a TCP connection.

use crate::fault::Faults;
use crate::limits::LONGEST_PS;
use ethermeter_ethernet::frame::{OVERHEAD, SHORTEST};
use ethermeter_traffic::times::Times;
use ethermeter_trial_macros::table;
use serde::{Deserialize, Serialize};

/// Data over a connection of TCP.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// What the applications do.
    #[file(key = "")]
    pub job: Job,
    /// How both ends do it.
    pub tcp: Tcp,
}

/// What the applications of a transfer do.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Job {
    /// Octets in one direction, as fast as possible.
    Stream {
        /// Octets to send; until the trial's stop if absent.
        #[file(key = "size", unit = "size", least = 1, most = MOST_FILE_OCTETS)]
        #[serde(default)]
        octets: Option<u64>,
    },
    /// A file block by block, each by a request and a response.
    File(File),
}

/// A file that one host reads from, or writes to, another.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Direction of the blocks.
    pub direction: Direction,
    /// Length of the file in octets, 1 to 2⁵⁰; unlimited if absent.
    #[serde(default)]
    #[file(key = "size", unit = "size", least = 1, most = MOST_FILE_OCTETS)]
    pub octets: Option<u64>,
    /// Length of a block in octets, 1 to 2³⁰; the last one may be shorter.
    #[file(key = "block", unit = "size", least = 1, most = MOST_OCTETS)]
    pub block_octets: u64,
    /// Length of a request without block in octets, 1 to 2³⁰.
    #[file(key = "request", unit = "size", least = 1, most = MOST_OCTETS)]
    pub request_octets: u64,
    /// Length of a response without block in octets, 1 to 2³⁰.
    #[file(key = "answer", unit = "size", least = 1, most = MOST_OCTETS)]
    pub answer_octets: u64,
    /// Time of the client between a response and the next request, one at a time.
    pub client: Times,
    /// Time of the server between a request and its response, one at a time.
    pub server: Times,
    /// Outstanding requests, 1 to 10⁶.
    #[serde(default = "one")]
    #[file(least = 1, most = 1_000_000)]
    pub ahead: u32,
}

/// Direction of the blocks of a file.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To the flow's `from`, in responses.
    Read,
    /// From the flow's `from`, in requests.
    Write,
}

/// TCP at both ends of a connection.
#[table(together)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub struct Tcp {
    /// Longest IP packet in octets, at most 65535.
    #[serde(default = "ethernet_mtu")]
    #[file(key = "mtu", unit = "size", least = 68, most = 65_535)]
    pub mtu_octets: u64,
    /// TCP options of every segment in octets, at most 40: 12 with timestamps.
    #[serde(default)]
    #[file(key = "options", unit = "size", least = 0, most = 40)]
    pub option_octets: u64,
    /// Receive buffer in octets, the largest window: from a segment to 2³⁰.
    #[file(key = "window", unit = "size", least = 1, most = MOST_OCTETS)]
    pub window_octets: u64,
    /// Send buffer in octets, from a segment to 2³⁰; unlimited if absent.
    #[serde(default)]
    #[file(key = "send_buffer", unit = "size", least = 1, most = MOST_OCTETS)]
    pub send_buffer_octets: Option<u64>,
    /// Initial congestion window in segments, 1 to 1000.
    #[serde(default = "ten")]
    #[file(least = 1, most = 1_000)]
    pub initial_segments: u32,
    /// Congestion control.
    #[serde(default)]
    pub congestion: Congestion,
    /// `HyStart`: whether `Cubic` ends slow start when acknowledgements show a queue.
    #[serde(default = "yes")]
    pub hystart: bool,
    /// Whether the window grows by what is acknowledged, instead of by acknowledgements (RFC 3465,
    /// without its limit).
    #[serde(default = "yes")]
    pub byte_counting: bool,
    /// Selective acknowledgements (RFC 2018).
    #[serde(default = "yes")]
    pub sack: bool,
    /// Fast recovery without `sack`.
    #[serde(default)]
    pub recovery: Recovery,
    /// Proportional rate reduction (RFC 6937).
    #[serde(default = "yes")]
    pub prr: bool,
    /// Limited transmit: the first two duplicate acknowledgements release a segment each (RFC 3042).
    #[serde(default = "yes")]
    pub limited_transmit: bool,
    /// Nagle's algorithm: a last, short segment waits for the acknowledgement of all before it
    /// (RFC 1122 § 4.2.3.4).
    #[serde(default = "yes")]
    pub nagle: bool,
    /// Delayed acknowledgements.
    #[serde(default)]
    pub acknowledge: Acknowledge,
    /// Shortest retransmission timeout in picoseconds, 1 to 10¹⁵.
    #[serde(default = "a_fifth_of_a_second")]
    #[file(key = "least_timeout", unit = "time", least = 1, most = LONGEST_PS)]
    pub least_timeout_ps: u64,
    /// Least difference of timeout and smoothed round-trip time in picoseconds, at most 10¹⁵.
    #[serde(default = "a_fifth_of_a_second")]
    #[file(key = "timeout_margin", unit = "time", least = 0, most = LONGEST_PS)]
    pub timeout_margin_ps: u64,
    /// Timeout before a round trip is measured, in picoseconds, 1 to 10¹⁵.
    #[serde(default = "a_second")]
    #[file(key = "first_timeout", unit = "time", least = 1, most = LONGEST_PS)]
    pub first_timeout_ps: u64,
    /// Time in which the application reads an octet, in picoseconds, at most 10⁹.
    #[serde(default)]
    #[file(key = "read_per_byte", unit = "time", least = 0, most = 1_000_000_000)]
    pub read_ps_per_octet: u64,
}

/// Congestion control: how the window grows, and what a loss leaves of it.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Congestion {
    /// By a segment a round trip; half of it (RFC 5681).
    Reno,
    /// By a cubic function of the time since the last loss; seven tenths (RFC 9438).
    #[default]
    Cubic,
}

/// Fast recovery.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// It ends with the first new acknowledgement (RFC 5681 § 3.2).
    Reno,
    /// It ends when all data sent before it are acknowledged (RFC 6582).
    #[default]
    NewReno,
}

/// Delayed acknowledgements of data in order.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Acknowledge {
    /// Segments that are acknowledged at once, 1 to 10⁶.
    #[file(least = 1, most = 1_000_000)]
    pub segments: u32,
    /// Longest delay of an acknowledgement in picoseconds, 1 to 10¹⁵.
    #[file(key = "time", unit = "time", least = 1, most = LONGEST_PS)]
    pub ps: u64,
    /// Segments at the beginning that are acknowledged without delay, until data are sent.
    #[serde(default)]
    #[file(least = 0, most = 1_000_000)]
    pub quick: u32,
}

impl Default for Acknowledge {
    fn default() -> Self {
        // Linux: TCP_DELACK_MIN and TCP_MAX_QUICKACKS; RFC 1122 § 4.2.3.2 asks for every second
        // segment at least, and for half a second at most.
        Self { segments: 2, ps: 40_000_000_000, quick: 16 }
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

// RFC 894.
fn ethernet_mtu() -> u64 {
    1500
}

// RFC 6928.
fn ten() -> u32 {
    10
}

// RFC 6298 § 2.1.
fn a_second() -> u64 {
    1_000_000_000_000
}

// Linux: TCP_RTO_MIN; RFC 6298 § 2.4 asks for a second.
fn a_fifth_of_a_second() -> u64 {
    200_000_000_000
}

/// Headers of IP (RFC 791) and TCP (RFC 9293) without options.
pub const HEADER_OCTETS: u64 = 40;

/// The largest window that can be scaled to (RFC 7323 § 2.3).
const MOST_OCTETS: i128 = 1 << 30;
/// Most octets of a file or a stream.
const MOST_FILE_OCTETS: i128 = 1 << 50;

impl Tcp {
    /// Most data in a segment, in octets.
    #[must_use]
    pub fn segment_octets(&self) -> u64 {
        self.mtu_octets - HEADER_OCTETS - self.option_octets
    }

    fn check_together(&self, faults: &mut Faults) {
        let headers = HEADER_OCTETS + self.option_octets;
        if self.mtu_octets <= headers {
            let allowed = format!("must be above the {headers} B of headers and options");
            return faults.add_value("mtu_octets", self.mtu_octets, allowed);
        }
        let segment = self.segment_octets();
        let buffers = [
            ("window_octets", Some(self.window_octets)),
            ("send_buffer_octets", self.send_buffer_octets),
        ];
        for (name, octets) in buffers {
            if let Some(octets) = octets.filter(|octets| *octets < segment) {
                let allowed = format!("must be at least {segment} B, a segment of the mtu");
                faults.add_value(name, octets, allowed);
            }
        }
    }
}

impl Transfer {
    /// Length of its longest frame in octets.
    #[must_use]
    pub fn longest_frame(&self) -> u64 {
        (self.tcp.mtu_octets + OVERHEAD.0).max(SHORTEST.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_take_their_room_in_a_segment() {
        let segment = |option_octets: u64| {
            let keys = serde_json::json!({"window_octets": 65_535, "option_octets": option_octets});
            serde_json::from_value::<Tcp>(keys).expect("keys of tcp").segment_octets()
        };
        // Ethernet: 1500 less 20 of IP and 20 of TCP; a timestamp takes 12 (RFC 7323, appendix A).
        assert_eq!([0, 12].map(segment), [1460, 1448]);
    }
}
