//! A transfer as a plan writes it (docs/formats.md), and what is wrong with its values.

use crate::network::scenario::LONGEST_PS;
use crate::scenario::{fault, Error};
use ethermeter_traffic::times::Times;
use serde::{Deserialize, Serialize};

/// Data over a connection of TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// What the applications do.
    pub job: Job,
    /// How both ends do it.
    pub tcp: Tcp,
}

/// What the applications of a transfer do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Job {
    /// Octets one way, as fast as they go.
    Stream {
        /// How many; without end until the trial's stop if not given.
        #[serde(default)]
        octets: Option<u64>,
    },
    /// A file block by block, each by a request and an answer.
    File(File),
}

/// A file that one host reads from, or writes to, another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Who has the blocks.
    pub direction: Direction,
    /// Of the file; without end if not given.
    #[serde(default)]
    pub octets: Option<u64>,
    /// Of a block; the last one may have fewer.
    pub block_octets: u64,
    /// Of a request, without a block.
    pub request_octets: u64,
    /// Of an answer, without a block.
    pub answer_octets: u64,
    /// What the client does between an answer and the next request, one at a time.
    pub client: Times,
    /// What the server does between a request and its answer, one at a time.
    pub server: Times,
    /// Requests that may be without an answer.
    #[serde(default = "one")]
    pub ahead: u32,
}

/// Which way the blocks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To the flow's `from`, in answers.
    Read,
    /// From the flow's `from`, in requests.
    Write,
}

/// What an end of a connection is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub struct Tcp {
    /// Longest IP packet.
    #[serde(default = "ethernet_mtu")]
    pub mtu_octets: u64,
    /// Of TCP's options in every segment: 12 with timestamps.
    #[serde(default)]
    pub option_octets: u64,
    /// Memory for what was received and not yet read: the largest window.
    pub window_octets: u64,
    /// Memory for what was written and not yet acknowledged; unlimited without.
    #[serde(default)]
    pub send_buffer_octets: Option<u64>,
    /// Segments that may be sent at first.
    #[serde(default = "ten")]
    pub initial_segments: u32,
    /// How the congestion window grows, and what a loss leaves of it.
    #[serde(default)]
    pub congestion: Congestion,
    /// Whether `Cubic` ends slow start when acknowledgements tell of a queue.
    #[serde(default = "yes")]
    pub hystart: bool,
    /// Whether the window grows by what is acknowledged, instead of by acknowledgements (RFC 3465,
    /// without its limit).
    #[serde(default = "yes")]
    pub byte_counting: bool,
    /// Whether receivers tell which data came out of order (RFC 2018).
    #[serde(default = "yes")]
    pub sack: bool,
    /// After three duplicate acknowledgements, without `sack`.
    #[serde(default)]
    pub recovery: Recovery,
    /// Whether the window is reduced in proportion to what is delivered (RFC 6937), instead of at
    /// once.
    #[serde(default = "yes")]
    pub prr: bool,
    /// Whether the first two duplicate acknowledgements let a segment go each (RFC 3042).
    #[serde(default = "yes")]
    pub limited_transmit: bool,
    /// Whether a last, short segment waits for acknowledgement of all before it (RFC 1122 §
    /// 4.2.3.4).
    #[serde(default = "yes")]
    pub nagle: bool,
    /// When data are acknowledged.
    #[serde(default)]
    pub acknowledge: Acknowledge,
    /// Shortest retransmission timeout.
    #[serde(default = "a_fifth_of_a_second")]
    pub least_timeout_ps: u64,
    /// What the timeout is longer than the smoothed round trip, at least.
    #[serde(default = "a_fifth_of_a_second")]
    pub timeout_margin_ps: u64,
    /// The timeout before any round trip was measured.
    #[serde(default = "a_second")]
    pub first_timeout_ps: u64,
    /// Time in which the application reads an octet.
    #[serde(default)]
    pub read_ps_per_octet: u64,
}

/// How a congestion window grows, and what a loss leaves of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Congestion {
    /// By a segment a round trip; half of it (RFC 5681).
    Reno,
    /// By a cubic function of the time since the last loss; seven tenths (RFC 9438).
    #[default]
    Cubic,
}

/// What comes after a fast retransmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// It is over with the first new acknowledgement (RFC 5681 § 3.2).
    Reno,
    /// It is over when all is acknowledged that had been sent by then (RFC 6582).
    #[default]
    NewReno,
}

/// When data are acknowledged that came in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledge {
    /// With so many segments, …
    pub segments: u32,
    /// … or so long after the first.
    pub ps: u64,
    /// As many segments at the beginning are acknowledged at once, until data are sent.
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

/// Addresses, type and check sequence, and the shortest frame; 802.3-2022 § 3.2.
pub(super) const FRAME_OCTETS: u64 = 18;
pub(super) const SHORTEST_FRAME: u64 = 64;
/// Headers of IP (RFC 791) and TCP (RFC 9293) without options.
pub(super) const HEADER_OCTETS: u64 = 40;

/// Beyond all windows: 2^30, the largest that can be scaled to (RFC 7323 § 2.3).
const MOST_OCTETS: u64 = 1 << 30;

impl Tcp {
    /// Most data in a segment.
    pub(super) fn segment_octets(&self) -> u64 {
        self.mtu_octets - HEADER_OCTETS - self.option_octets
    }

    fn check(&self, key: &str) -> Result<(), Error> {
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
            return Err(fault(
                format!("{key}.window_octets"),
                format!(
                    "must be, as must send_buffer_octets, from a segment's {octets} to {MOST_OCTETS}, got {} and {:?}",
                    self.window_octets, self.send_buffer_octets
                ),
            ));
        }
        Ok(())
    }
}

impl Transfer {
    /// Octets of its longest frame.
    pub(in crate::network) fn longest_frame(&self) -> u64 {
        (self.tcp.mtu_octets + FRAME_OCTETS).max(SHORTEST_FRAME)
    }

    pub(in crate::network) fn check(&self, key: &str) -> Result<(), Error> {
        self.tcp.check(&format!("{key}.tcp"))?;
        let most = 1 << 50;
        let file = match &self.job {
            Job::Stream { octets } => {
                return check_ranges(
                    &format!("{key}.job.stream"),
                    &[("octets", octets.unwrap_or(1), 1, most)],
                )
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
                return Err(fault(format!("{key}.{name}"), what));
            }
        }
        Ok(())
    }
}

fn check_ranges(key: &str, ranges: &[(&str, u64, u64, u64)]) -> Result<(), Error> {
    for &(name, value, least, most) in ranges {
        if !(least..=most).contains(&value) {
            return Err(fault(
                format!("{key}.{name}"),
                format!("must be from {least} to {most}, got {value}"),
            ));
        }
    }
    Ok(())
}
