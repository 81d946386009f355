//! Packets of one direction without acknowledgements: UDP, and raw frames of `EtherType` 88B5; by
//! their numbers, where they carry ethermeter's mark.
//!
//! The mark is described in docs/reference/test-frames.md: octet 0 is E3, the upper half of octet 1
//! the version (1), its lower half the kind; then experiment, stream (16 bit each) and sequence
//! number (48 bit), big-endian.

use crate::ahead::prefetch;
use crate::delays::DelayHistogram;
use crate::series::SliceSeries;
use ethermeter_traffic::{Account, Sequence};

/// The local experimental `EtherType` (802-2014, table 1) that raw frames of ethermeter have.
pub const RAW: u16 = 0x88B5;
/// Numbers that are remembered to distinguish late from lost.
const MEMORY: usize = 4096;
const MARK_OCTETS: usize = 18;

/// Contents of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowMark {
    /// 0 of a stream, 1 to be answered, 2 an answer.
    pub kind: u8,
    /// The experiment.
    pub experiment: u16,
    /// The stream within it.
    pub stream: u16,
}

/// Read a mark, and the packet's number.
#[must_use]
pub fn mark(payload: &[u8]) -> Option<(FlowMark, u64)> {
    let head: &[u8; MARK_OCTETS] = payload.first_chunk()?;
    if head[0] != 0xE3 || head[1] >> 4 != 1 || head[1] & 0x0F > 2 {
        return None;
    }
    let sequence = head[6..12].iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
    let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    Some((FlowMark { kind: head[1] & 0x0F, experiment: half(2), stream: half(4) }, sequence))
}

/// Packets from one end to another.
#[derive(Clone, Debug)]
pub struct CapturedFlow {
    /// Packets.
    pub packets: u64,
    /// Octets of payload; of a raw frame that is all after its type, padding too.
    pub octets: u64,
    /// When the first and the last were captured.
    pub times_ns: (i64, i64),
    /// Between one and the next.
    pub gaps: DelayHistogram,
    /// What happened when.
    pub series: SliceSeries,
    numbers: Option<Sequence>,
}

impl CapturedFlow {
    /// A flow whose first packet is captured at `now_ns`, with its number if it has one.
    #[must_use]
    pub fn new(now_ns: i64, number: Option<u64>) -> Self {
        let numbers = number.map(|first| Sequence::new(first, MEMORY));
        Self {
            packets: 0,
            octets: 0,
            times_ns: (now_ns, now_ns),
            gaps: DelayHistogram::default(),
            series: SliceSeries::default(),
            numbers,
        }
    }

    /// Take in a packet.
    pub fn packet(&mut self, now_ns: i64, octets: u32, number: Option<u64>) {
        let (first_ns, last_ns) = self.times_ns;
        if self.packets > 0 {
            self.gaps.record(now_ns.max(last_ns).abs_diff(last_ns));
        }
        self.times_ns.1 = last_ns.max(now_ns);
        self.packets += 1;
        self.octets += u64::from(octets);
        let slice = self.series.at(now_ns.max(first_ns).abs_diff(first_ns));
        slice.packets = slice.packets.saturating_add(1);
        slice.octets += u64::from(octets);
        if let (Some(numbers), Some(number)) = (&mut self.numbers, number) {
            numbers.arrive(number);
        }
    }

    /// Ask for the memory that the next packet will need, beyond the value itself.
    pub(crate) fn prefetch_fields(&self, now_ns: i64) {
        self.gaps.prefetch(now_ns.saturating_sub(self.times_ns.1).max(0).cast_unsigned());
        self.series.slices().last().inspect(|slice| prefetch(*slice));
    }

    /// What became of its numbers, from the first that was captured to the last; nothing if it has
    /// no mark.
    #[must_use]
    pub fn account(&self) -> Option<Account> {
        self.numbers.as_ref().map(|numbers| numbers.account(None))
    }

    /// Octets of memory beyond the value itself.
    #[must_use]
    pub fn held_octets(&self) -> usize {
        self.gaps.held_octets()
            + self.series.held_octets()
            + if self.numbers.is_some() { MEMORY / 8 } else { 0 }
    }
}
