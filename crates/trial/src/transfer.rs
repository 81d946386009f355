//! Data over a connection of TCP or IPX.

use crate::fault::Faults;
use crate::limits::LONGEST_PS;
use ethermeter_ethernet::frame::{OVERHEAD, SHORTEST};
use ethermeter_traffic::file::Blocks;
use ethermeter_traffic::times::Times;
use ethermeter_trial_macros::table;
use serde::{Deserialize, Serialize};

/// Data over a connection; exactly one of `tcp` and `ipx` is set.
#[table(together)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// What the applications do.
    #[file(key = "")]
    pub job: Job,
    /// How both ends do it over TCP.
    #[serde(default)]
    pub tcp: Option<Tcp>,
    /// How both ends do it over IPX, in turns.
    #[serde(default)]
    pub ipx: Option<Ipx>,
}

/// What the applications of a transfer do.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Job {
    /// Octets in one direction, as fast as possible.
    Stream {
        /// Number of octets; without end if absent.
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
    /// Direction of the blocks: "read" sends them in answers, to the flow's `from`; "write" sends
    /// them in requests, from it.
    pub direction: Direction,
    /// Size of the file; without end if absent.
    #[serde(default)]
    #[file(key = "size", unit = "size", least = 1, most = MOST_FILE_OCTETS)]
    pub octets: Option<u64>,
    /// Size of a block; the last one may be shorter.
    #[file(key = "block", unit = "size", least = 1, most = MOST_OCTETS)]
    pub block_octets: u64,
    /// Size of a request, without a block.
    #[file(key = "request", unit = "size", least = 1, most = MOST_OCTETS)]
    pub request_octets: u64,
    /// Size of an answer, without a block.
    #[file(key = "answer", unit = "size", least = 1, most = MOST_OCTETS)]
    pub answer_octets: u64,
    /// Time of the client between a complete answer and the next request; it handles one answer at
    /// a time.
    #[serde(default)]
    pub client: Times,
    /// Time of the server between a complete request and its answer; it handles one request at a
    /// time.
    #[serde(default)]
    pub server: Times,
    /// Largest number of outstanding requests.
    #[serde(default = "one")]
    #[file(least = 1, most = 1_000_000)]
    pub ahead: u32,
}

impl File {
    /// Its blocks.
    #[must_use]
    pub fn blocks(&self) -> Blocks {
        Blocks {
            left_octets: self.octets.unwrap_or(u64::MAX),
            block_octets: self.block_octets,
            around_octets: (self.request_octets, self.answer_octets),
            is_read: self.direction == Direction::Read,
        }
    }
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
    /// Longest IP packet, 68 B to 65535 B.
    #[serde(default = "ethernet_mtu")]
    #[file(key = "mtu", unit = "size", least = 68, most = 65_535)]
    pub mtu_octets: u64,
    /// Options in the TCP header of every segment, at most 40 B; 12 B with timestamps.
    #[serde(default)]
    #[file(key = "options", unit = "size", least = 0, most = 40)]
    pub option_octets: u64,
    /// Receive buffer: octets received and not yet read.
    #[file(key = "window", unit = "size", least = 1, most = MOST_OCTETS)]
    pub window_octets: u64,
    /// Send buffer: octets written and not yet acknowledged; unlimited if absent.
    #[serde(default)]
    #[file(key = "send_buffer", unit = "size", least = 1, most = MOST_OCTETS)]
    pub send_buffer_octets: Option<u64>,
    /// First congestion window in segments. If absent: 10 with the stack "linux", 2 with
    /// "rfc-2581".
    #[serde(default = "ten")]
    #[file(least = 1, most = 1_000)]
    pub initial_segments: u32,
    /// Congestion control: "reno" (RFC 5681) or "cubic" (RFC 9438). If absent: "cubic" with the
    /// stack "linux", "reno" with "rfc-2581".
    #[serde(default)]
    pub congestion: Congestion,
    /// Whether CUBIC ends slow start when round-trip times grow or acknowledgements come in a
    /// train. If absent: true with the stack "linux", false with "rfc-2581".
    #[serde(default = "yes")]
    pub hystart: bool,
    /// Whether the congestion window grows by octets acknowledged (RFC 3465), not by
    /// acknowledgements. If absent: true with the stack "linux", false with "rfc-2581".
    #[serde(default = "yes")]
    pub byte_counting: bool,
    /// Whether selective acknowledgements are used (RFC 2018). If absent: true with the stack
    /// "linux", false with "rfc-2581".
    #[serde(default = "yes")]
    pub sack: bool,
    /// End of a recovery without `sack`: with "new-reno" when all data sent before it are
    /// acknowledged (RFC 6582), with "reno" at the first new acknowledgement. If absent: "new-reno"
    /// with the stack "linux", "reno" with "rfc-2581".
    #[serde(default)]
    pub recovery: Recovery,
    /// Whether a recovery reduces the congestion window in proportion to delivered data (RFC 6937),
    /// not at once. If absent: true with the stack "linux", false with "rfc-2581".
    #[serde(default = "yes")]
    pub prr: bool,
    /// Whether the first two duplicate acknowledgements release a new segment each (RFC 3042). If
    /// absent: true with the stack "linux", false with "rfc-2581".
    #[serde(default = "yes")]
    pub limited_transmit: bool,
    /// Whether a short last segment waits for the acknowledgement of all data before it.
    #[serde(default = "yes")]
    pub nagle: bool,
    /// Acknowledgement of data that arrive in order. If absent: { segments = 2, time = "40 ms",
    /// quick = 16 } with the stack "linux", { segments = 2, time = "200 ms" } with "rfc-2581".
    #[serde(default)]
    pub acknowledge: Acknowledge,
    /// Shortest retransmission timeout. If absent: 200 ms with the stack "linux", 1 s with
    /// "rfc-2581".
    #[serde(default = "a_fifth_of_a_second")]
    #[file(key = "least_timeout", unit = "time", least = 1, most = LONGEST_PS)]
    pub least_timeout_ps: u64,
    /// Smallest difference between the retransmission timeout and the smoothed round-trip time. If
    /// absent: 200 ms with the stack "linux", 0 s with "rfc-2581".
    #[serde(default = "a_fifth_of_a_second")]
    #[file(key = "timeout_margin", unit = "time", least = 0, most = LONGEST_PS)]
    pub timeout_margin_ps: u64,
    /// Retransmission timeout before the first measured round-trip time.
    #[serde(default = "a_second")]
    #[file(key = "first_timeout", unit = "time", least = 1, most = LONGEST_PS)]
    pub first_timeout_ps: u64,
    /// Time in which the application reads an octet, at most 1 ms.
    #[serde(default)]
    #[file(key = "read_per_byte", unit = "time", least = 0, most = 1_000_000_000)]
    pub read_ps_per_octet: u64,
}

/// Messages over IPX, whose ends take turns.
///
/// As those of the `NetWare` Core Protocol do: a burst of packets, then an acknowledgement, or the
/// answer in its place.
#[table]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ipx {
    /// Longest IPX packet, 31 B to 65535 B.
    #[serde(default = "ethernet_mtu")]
    #[file(key = "mtu", unit = "size", least = 31, most = 65_535)]
    pub mtu_octets: u64,
    /// Packets that follow each other before the other end's turn.
    #[serde(default = "one")]
    #[file(least = 1, most = 1_000)]
    pub burst: u32,
    /// Time after which the end that asks repeats what was not answered.
    #[serde(default = "a_second")]
    #[file(key = "timeout", unit = "time", least = 1, most = LONGEST_PS)]
    pub timeout_ps: u64,
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
#[serde(rename_all = "kebab-case")]
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
    /// Number of segments that are acknowledged together.
    #[file(least = 1, most = 1_000_000)]
    pub segments: u32,
    /// Longest delay of an acknowledgement after the first segment that it acknowledges.
    #[file(key = "time", unit = "time", least = 1, most = LONGEST_PS)]
    pub ps: u64,
    /// Number of segments that are acknowledged at once at the start, until the host sends data.
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
/// The header of IPX (Novell, IPX Router Specification, 1992).
pub const IPX_HEADER_OCTETS: u64 = 30;

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
    /// Longest packet in octets.
    ///
    /// # Panics
    /// If it has no protocol, which the check of a trial refuses.
    #[must_use]
    pub fn mtu_octets(&self) -> u64 {
        let tcp = self.tcp.map(|tcp| tcp.mtu_octets);
        tcp.or(self.ipx.map(|ipx| ipx.mtu_octets)).expect("checked")
    }

    /// Length of its longest frame in octets.
    #[must_use]
    pub fn longest_frame(&self) -> u64 {
        (self.mtu_octets() + OVERHEAD.0).max(SHORTEST.0)
    }

    fn check_together(&self, faults: &mut Faults) {
        if self.tcp.is_some() == self.ipx.is_some() {
            faults.add("tcp", "exactly one of tcp and ipx must be given");
        }
        if let (Some(_), Job::File(File { ahead: 2.., .. })) = (&self.ipx, &self.job) {
            faults.add("job.file.ahead", "must be 1 with ipx, whose ends take turns");
        }
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
