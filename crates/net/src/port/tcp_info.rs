//! Statistics that the kernel keeps of a TCP connection.

use super::system::read_option;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::net::TcpStream;

/// TCP's statistics of a connection, kept by the kernel (`TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TcpInfo {
    /// Smoothed round trip time, in microseconds.
    pub round_trip_us: u32,
    /// Mean deviation of the round-trip time, in microseconds.
    pub round_trip_deviation_us: u32,
    /// Congestion window, in segments.
    pub congestion_window: u32,
    /// Slow start threshold, in segments.
    pub slow_start_threshold: u32,
    /// Octets of a segment's payload.
    pub segment_octets: u32,
    /// Segments that were sent again, ever.
    pub sent_again: u32,
    /// Octets of payload that the other end has acknowledged.
    pub acknowledged_octets: u64,
    /// Rate at which payload was delivered last, in octets per second.
    pub delivery_octets_per_s: u64,
    /// Shortest round trip time of the last minutes, in microseconds.
    pub least_round_trip_us: u32,
    /// Time in which there was something to send, in microseconds.
    pub busy_us: u64,
    /// Part of it in which the other end had no room, in microseconds.
    pub receiver_limited_us: u64,
    /// Part of it in which the own end had no room to hold what is not yet acknowledged, in
    /// microseconds.
    pub buffer_limited_us: u64,
    /// Octets of payload that were sent, those sent again included.
    pub sent_octets: u64,
    /// Octets of payload that were sent again.
    pub sent_again_octets: u64,
    /// Whether both ends agreed on selective acknowledgements (RFC 2018).
    pub is_selective: bool,
}

/// `TCPI_OPT_SACK` of `linux/tcp.h`.
const SELECTIVE: u8 = 2;

/// `struct tcp_info` of `linux/tcp.h`, as far as it is read here. Older kernels fill less of it;
/// the rest is 0.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct KernelInfo {
    states: [u8; 5],
    options: u8,
    scales: [u8; 2],
    timeouts_and_sizes: [u32; 2],
    sending_segment_octets: u32,
    receiving_segment_octets: u32,
    segments: [u32; 5],
    times: [u32; 4],
    path_mtu: u32,
    receiving_threshold: u32,
    round_trip_us: u32,
    round_trip_deviation_us: u32,
    slow_start_threshold: u32,
    congestion_window: u32,
    advertised_segment_octets: u32,
    reordering: u32,
    receiving: [u32; 2],
    sent_again: u32,
    pacing_octets_per_s: [u64; 2],
    acknowledged_octets: u64,
    received_octets: u64,
    segments_out_and_in: [u32; 2],
    unsent_octets: u32,
    least_round_trip_us: u32,
    data_segments_in_and_out: [u32; 2],
    delivery_octets_per_s: u64,
    busy_us: u64,
    receiver_limited_us: u64,
    buffer_limited_us: u64,
    delivered: [u32; 2],
    sent_octets: u64,
    sent_again_octets: u64,
}

impl TcpInfo {
    /// TCP's statistics of a connection.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn of(stream: &TcpStream) -> Result<Self, Error> {
        let zero = KernelInfo::default();
        let info = read_option(
            stream,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            zero,
            "asking TCP about a connection",
        )?;
        Ok(Self {
            round_trip_us: info.round_trip_us,
            round_trip_deviation_us: info.round_trip_deviation_us,
            congestion_window: info.congestion_window,
            slow_start_threshold: info.slow_start_threshold,
            segment_octets: info.sending_segment_octets,
            sent_again: info.sent_again,
            acknowledged_octets: info.acknowledged_octets,
            delivery_octets_per_s: info.delivery_octets_per_s,
            least_round_trip_us: info.least_round_trip_us,
            busy_us: info.busy_us,
            receiver_limited_us: info.receiver_limited_us,
            buffer_limited_us: info.buffer_limited_us,
            sent_octets: info.sent_octets,
            sent_again_octets: info.sent_again_octets,
            is_selective: info.options & SELECTIVE != 0,
        })
    }
}
