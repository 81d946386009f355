//! Data over a TCP connection.

use crate::fault::{Fault, check_range};
use ethermeter_ethernet::frame::{OVERHEAD, SHORTEST};
use ethermeter_traffic::times::{LONGEST_PS, Times};
use serde::{Deserialize, Serialize};

/// Data over a connection of TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// What the applications do.
    pub job: Job,
    /// How both ends do it.
    pub tcp: Tcp,
}

/// What the applications of a transfer do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Job {
    /// Octets in one direction, as fast as possible.
    Stream {
        /// Octets to send, 1 to 2⁵⁰; until the trial's stop if absent.
        #[serde(default)]
        octets: Option<u64>,
    },
    /// A file block by block, each by a request and a response.
    File(File),
}

/// A file that one host reads from, or writes to, another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Direction of the blocks.
    pub direction: Direction,
    /// Length of the file in octets, 1 to 2⁵⁰; unlimited if absent.
    #[serde(default)]
    pub octets: Option<u64>,
    /// Length of a block in octets, 1 to 2³⁰; the last one may be shorter.
    pub block_octets: u64,
    /// Length of a request without block in octets, 1 to 2³⁰.
    pub request_octets: u64,
    /// Length of a response without block in octets, 1 to 2³⁰.
    pub answer_octets: u64,
    /// Time of the client between a response and the next request, one at a time.
    pub client: Times,
    /// Time of the server between a request and its response, one at a time.
    pub server: Times,
    /// Outstanding requests, 1 to 10⁶.
    #[serde(default = "one")]
    pub ahead: u32,
}

/// Direction of the blocks of a file.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub struct Tcp {
    /// Longest IP packet in octets, at most 65535.
    #[serde(default = "ethernet_mtu")]
    pub mtu_octets: u64,
    /// TCP options of every segment in octets, at most 40: 12 with timestamps.
    #[serde(default)]
    pub option_octets: u64,
    /// Receive buffer in octets, the largest window: from a segment to 2³⁰.
    pub window_octets: u64,
    /// Send buffer in octets, from a segment to 2³⁰; unlimited if absent.
    #[serde(default)]
    pub send_buffer_octets: Option<u64>,
    /// Initial congestion window in segments, 1 to 1000.
    #[serde(default = "ten")]
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
    pub least_timeout_ps: u64,
    /// Least difference of timeout and smoothed round-trip time in picoseconds, at most 10¹⁵.
    #[serde(default = "a_fifth_of_a_second")]
    pub timeout_margin_ps: u64,
    /// Timeout before a round trip is measured, in picoseconds, 1 to 10¹⁵.
    #[serde(default = "a_second")]
    pub first_timeout_ps: u64,
    /// Time in which the application reads an octet, in picoseconds, at most 10⁹.
    #[serde(default)]
    pub read_ps_per_octet: u64,
}

/// Congestion control: how the window grows, and what a loss leaves of it.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Acknowledge {
    /// Segments that are acknowledged at once, 1 to 10⁶.
    pub segments: u32,
    /// Longest delay of an acknowledgement in picoseconds, 1 to 10¹⁵.
    pub ps: u64,
    /// Segments at the beginning that are acknowledged without delay, until data are sent.
    #[serde(default)]
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

/// Beyond all windows: 2^30, the largest that can be scaled to (RFC 7323 § 2.3).
const MOST_OCTETS: u64 = 1 << 30;

impl Tcp {
    /// Most data in a segment, in octets.
    #[must_use]
    pub fn segment_octets(&self) -> u64 {
        self.mtu_octets - HEADER_OCTETS - self.option_octets
    }

    fn check(&self, key: &str) -> Result<(), Fault> {
        let ranges = [
            ("option_octets", self.option_octets, 0, 40),
            ("mtu_octets", self.mtu_octets, 68.max(HEADER_OCTETS + self.option_octets + 1), 65_535),
            ("window_octets", self.window_octets, 1, MOST_OCTETS),
            ("acknowledge.segments", self.acknowledge.segments.into(), 1, 1_000_000),
            ("acknowledge.ps", self.acknowledge.ps, 1, LONGEST_PS),
            ("least_timeout_ps", self.least_timeout_ps, 1, LONGEST_PS),
            ("first_timeout_ps", self.first_timeout_ps, 1, LONGEST_PS),
            ("timeout_margin_ps", self.timeout_margin_ps, 0, LONGEST_PS),
            ("initial_segments", self.initial_segments.into(), 1, 1000),
            ("acknowledge.quick", self.acknowledge.quick.into(), 0, 1_000_000),
            ("read_ps_per_octet", self.read_ps_per_octet, 0, 1_000_000_000),
        ];
        check_ranges(key, &ranges)?;
        let octets = self.segment_octets();
        if self.window_octets < octets
            || self.send_buffer_octets.is_some_and(|room| room < octets || room > MOST_OCTETS)
        {
            return Err(Fault::new(format!("{key}.window_octets"), format!("must be, as must send_buffer_octets, from a segment's {octets} to {MOST_OCTETS}")).got(format!("{} and {:?}", self.window_octets, self.send_buffer_octets)));
        }
        Ok(())
    }
}

impl Transfer {
    /// Length of its longest frame in octets.
    #[must_use]
    pub fn longest_frame(&self) -> u64 {
        (self.tcp.mtu_octets + OVERHEAD.0).max(SHORTEST.0)
    }

    /// Check the values; `key` is the path of this table.
    ///
    /// # Errors
    /// With the first value that is out of range.
    pub fn check(&self, key: &str) -> Result<(), Fault> {
        self.tcp.check(&format!("{key}.tcp"))?;
        let most = 1 << 50;
        let file = match &self.job {
            Job::Stream { octets } => {
                return check_ranges(
                    &format!("{key}.job.stream"),
                    &[("octets", octets.unwrap_or(1), 1, most)],
                );
            }
            Job::File(file) => file,
        };
        let key = format!("{key}.job.file");
        check_ranges(
            &key,
            &[
                ("octets", file.octets.unwrap_or(1), 1, most),
                ("block_octets", file.block_octets, 1, MOST_OCTETS),
                ("request_octets", file.request_octets, 1, MOST_OCTETS),
                ("answer_octets", file.answer_octets, 1, MOST_OCTETS),
                ("ahead", file.ahead.into(), 1, 1_000_000),
            ],
        )?;
        for (name, times) in [("client", &file.client), ("server", &file.server)] {
            if let Some(what) = times.fault() {
                return Err(Fault::new(format!("{key}.{name}"), what));
            }
        }
        Ok(())
    }
}

fn check_ranges(key: &str, ranges: &[(&str, u64, u64, u64)]) -> Result<(), Fault> {
    ranges.iter().try_for_each(|&(name, value, least, most)| {
        check_range(&format!("{key}.{name}"), value, least, most)
    })
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
