//! A TCP connection as it is seen from where it was captured.
//!
//! Two ends, each with what it sent. A segment that carries payload (or SYN or FIN) is kept until
//! it is acknowledged; the meaning of the acknowledgement depends on where the capture was made:
//! near the sender the time between them is nearly the round trip, near the receiver it is the
//! receiver's own delay (the data-to-ACK delay of Fritz 1999).
//!
//! Rules
//! - *again*: a segment that begins before the highest number that this end sent. It was **sent
//!   again** if all of it had been captured before; else it fills a hole, and was sent again if its
//!   timestamp (RFC 7323) is later than that of the segment with the highest number, and **late**,
//!   out of order on its way, if it is earlier. Without timestamps: late if it comes
//!   sooner after the highest number than the handshake took (3 ms if there was none) and does not
//!   end at the highest number, unless two duplicate acknowledgements asked for it within 20 ms.
//!   This last rule is Wireshark's, and a guess.
//! - *needless*: sent again though all of it was acknowledged before, or reported as a duplicate by
//!   the receiver (duplicate SACK, RFC 2883).
//! - *hole*: a segment begins beyond the highest number: what is between was not captured, or is
//!   still to come.
//! - *duplicate acknowledgement* (RFC 5681, section 2): no payload, no SYN, FIN or RST, number and
//!   window as before, the window not zero, while something is under way.
//! - *zero window*: a segment without SYN, FIN or RST that announces a window of 0. *Probe*: one
//!   octet beyond a window of 0.
//! - *keep-alive*: at most one octet, and that the last before the highest number, without SYN, FIN
//!   or RST.
//! - a sample of the *data-to-ACK delay*: from a segment to the first acknowledgement that covers
//!   all of it; none of one that was sent again, since it might be of either (Karn and Partridge
//!   1987), nor of one that waited for what was sent again after it. A sample of the *round trip*:
//!   those whose acknowledgement ends where the segment does.
//!
//! Numbers are unwrapped to 64 bits whose lower half is what the header has, and nothing is ever
//! before 2^33 - 2^31.

mod half;

use crate::ahead::prefetch;
use crate::delays::DelayHistogram;
use crate::limits::{Announcement, Limits, NewData};
use crate::packet::TcpHeader;
use crate::series::SliceSeries;
use std::collections::VecDeque;

/// Segments of one end that may be under way; of more, the oldest are forgotten and counted.
pub const MOST_OUTSTANDING: usize = 16_384;
/// Holes in what one end sent that are remembered; of more, the lowest are forgotten.
pub const MOST_HOLES: usize = 256;

/// Payload of a full segment on an Ethernet, where the handshake was not captured.
const ETHERNET_SEGMENT: u32 = 1460;
/// What the timestamps option takes of each segment (RFC 7323, appendix A).
const TIMESTAMPS_OCTETS: u32 = 12;
/// Acknowledgements that make a train: what a timer is late by, and what several segments at once
/// take, is small beside its four gaps.
const TRAIN: usize = 5;
/// Nothing for so long is a pause.
const PAUSE_NS: i64 = 1_000_000_000;

/// A segment that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct UnacknowledgedSegment {
    start: u64,
    end: u64,
    sent_ns: i64,
    has_payload: bool,
    /// When any octet of it was sent again: an acknowledgement may belong to either.
    again_ns: Option<i64>,
}

/// What it is that a segment begins before the highest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackwardSegment {
    /// It was sent again.
    Resent,
    /// It was captured after one that was sent later.
    Late,
}

/// The evidence for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It was captured before: certain.
    Seen,
    /// The segment's timestamp: certain, unless something on the path writes timestamps.
    Timestamp,
    /// How soon it arrived: a guess.
    Timing,
}

/// What a segment meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent findings
pub struct SegmentMeaning {
    /// It begins before the highest number, and is no keep-alive.
    pub again: Option<(BackwardSegment, Evidence)>,
    /// All of it was acknowledged before.
    pub is_needless: bool,
    /// It begins beyond the highest number.
    pub follows_hole: bool,
    /// It is a duplicate acknowledgement.
    pub is_duplicate_ack: bool,
    /// It would be one, but nothing is under way.
    pub is_repeated_ack: bool,
    /// It announces no window.
    pub is_zero_window: bool,
    /// It is a keep-alive.
    pub is_keep_alive: bool,
    /// It is a probe of a zero window.
    pub is_probe: bool,
    /// Since the first segment whose end it acknowledges exactly.
    pub acknowledges_after_ns: Option<i64>,
    /// That segment was sent again.
    pub is_ambiguous: bool,
    /// It ends the handshake, which took so long.
    pub handshake_ns: Option<i64>,
}

/// What one end of a connection sent, and the acknowledgements of it.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct ConnectionEnd {
    /// Segments, those without payload too.
    pub segments: u64,
    /// Of these, SYNs.
    pub syns: u64,
    /// Of these, resets.
    pub resets: u64,
    /// Packets of this end that the capture has once more, and that count nowhere else.
    pub copies: u64,
    /// Segments with payload.
    pub data_segments: u64,
    /// Octets of payload of the first of these.
    pub first_payload: u32,
    /// Octets of payload, those that were sent again too.
    pub octets: u64,
    /// Octets of payload that were sent again.
    pub resent_octets: u64,
    /// Segments that were sent again.
    pub resent: u64,
    /// Of these, classified by their timing only.
    pub resent_guessed: u64,
    /// Of these, those whose octets had all been acknowledged before.
    pub needless: u64,
    /// Duplicates that the receiver reported.
    pub reported_duplicate: u64,
    /// Segments that were captured after a later one.
    pub late: u64,
    /// Times that a segment began beyond the highest number.
    pub holes: u64,
    /// Octets that were acknowledged without having been captured.
    pub uncaptured_octets: u64,
    /// Duplicate acknowledgements from this end.
    pub duplicate_acks: u64,
    /// Segments from this end that announced no window.
    pub zero_windows: u64,
    /// Probes of the other end's zero window.
    pub probes: u64,
    /// Keep-alives.
    pub keep_alives: u64,
    /// Segments from this end that only acknowledge: no payload, no SYN, FIN or RST.
    pub bare_acks: u64,
    /// Acknowledgements from this end that covered segments with payload.
    pub covering_acks: u64,
    /// Segments with payload that these covered.
    pub covered_segments: u64,
    /// Most segments that one of these covered.
    pub most_covered: u64,
    /// Largest number of octets under way from this end at once, seen from the capture point.
    pub most_in_flight: u64,
    /// Smallest and largest window that this end announced, in octets, SYN, FIN and RST left out.
    pub windows: Option<(u64, u64)>,
    /// Maximum segment size that this end announced, if any.
    pub wanted_segment: Option<u16>,
    /// Largest payload of a segment; more than fits a frame if the capture was made where the
    /// interface still had to cut it.
    pub largest_payload: u32,
    /// From a segment of this end with payload to the acknowledgement that covers it.
    pub ack_delay: DelayHistogram,
    /// Likewise, where the acknowledgement ends with the segment; SYN and FIN too.
    pub round_trip: DelayHistogram,
    /// The last round trip before each time that losses began.
    pub loss_round_trip: DelayHistogram,
    /// Times per octet between acknowledgements that arrived close together, in ps: the path is at
    /// least as fast.
    pub trains: DelayHistogram,
    /// Of these, those of segments that had waited in a queue: of the slowest link on the path.
    pub spacing: DelayHistogram,
    /// The first window that this end announced, in octets: of its SYN, which is not scaled, if
    /// that was captured.
    pub first_window: Option<u64>,
    /// What happened when.
    pub series: SliceSeries,
    /// Segments that were forgotten before they were acknowledged.
    pub forgotten: u64,
    /// It has closed its side.
    pub has_closed: bool,
    /// It has reset the connection.
    pub has_reset: bool,
    offered_shift: Option<u8>,
    first: Option<u64>,
    has_sent: bool,
    highest: u64,
    highest_ns: i64,
    highest_timestamp: Option<u32>,
    /// Up to where the other end has acknowledged what this one sent.
    acknowledged: u64,
    holes_at: VecDeque<(u64, u64)>,
    /// Below this, holes may have been forgotten.
    known_from: u64,
    outstanding: VecDeque<UnacknowledgedSegment>,
    // What this end announced last as a receiver.
    last_ack: Option<u64>,
    last_ack_ns: i64,
    last_window: Option<u16>,
    duplicates_in_a_row: u32,
    /// Acknowledgements of this end's data, one after the other without a loss: when, and up to
    /// which number.
    train: [(i64, u64); TRAIN],
    trained: usize,
    edge: Option<u64>,
    has_timestamps: bool,
    /// The latest timestamp of this end (RFC 7323), and when it was first captured.
    stamp: Option<(u32, i64)>,
    /// From a timestamp of the other end to its echo from this end, the least.
    echo_ns: Option<u64>,
    /// The latest sample of `round_trip`.
    last_round_trip_ns: Option<u64>,
}

/// A connection.
#[derive(Clone, Debug, Default)]
pub struct TcpConnection {
    /// What each end sent; the first is the one of the first segment, unless that answers a SYN.
    pub halves: [ConnectionEnd; 2],
    /// From SYN over its answer to the third segment of the handshake, if all three were captured.
    pub handshake_ns: Option<i64>,
    /// From SYN to its answer, likewise; this and what follows is how far the ends are away.
    pub answer_ns: Option<i64>,
    /// From SYN to the reset that refused it.
    pub refused_ns: Option<i64>,
    /// Where its time went.
    pub limits: Limits,
    /// When the first and the last segment were captured.
    pub times_ns: Option<(i64, i64)>,
    /// Pauses of a second and more: how many, their sum, and the longest.
    pub pauses: (u64, u64, u64),
    /// Whether both ends offered to scale windows; unknown unless both SYNs were captured.
    pub is_scaled: Option<bool>,
    has_cut_syn: bool,
    syn_ns: Option<i64>,
    syn_ack_ns: Option<i64>,
    syns: [Option<u32>; 2],
}

impl TcpConnection {
    /// Take in a segment that end `from` (0 or 1) sent, captured at `now_ns`, less than 2^62 from
    /// 0, with `payload` octets.
    pub fn segment(
        &mut self,
        from: usize,
        now_ns: i64,
        tcp: &TcpHeader,
        payload: u32,
    ) -> SegmentMeaning {
        let (first_ns, last_ns) = self.times_ns.unwrap_or((now_ns, now_ns));
        self.times_ns = Some((first_ns, last_ns.max(now_ns)));
        if now_ns - last_ns >= PAUSE_NS {
            let pause = now_ns.abs_diff(last_ns);
            self.pauses =
                (self.pauses.0 + 1, self.pauses.1.saturating_add(pause), self.pauses.2.max(pause));
        }
        let after_ns = now_ns.max(first_ns).abs_diff(first_ns);
        let mut finding = SegmentMeaning::default();
        self.negotiate(from, now_ns, tcp, payload, &mut finding);
        let handshake_ns = self.handshake_ns;
        let [first, second] = &mut self.halves;
        let (own, other) = if from == 0 { (first, second) } else { (second, first) };
        let length = payload + u32::from(tcp.syn) + u32::from(tcp.fin);
        let start = own.position(tcp.sequence);
        let is_plain = !tcp.syn && !tcp.fin && !tcp.rst;
        own.segments += 1;
        own.syns += u64::from(tcp.syn);
        own.resets += u64::from(tcp.rst);
        if is_plain && length == 0 {
            own.begin_at(start);
        }
        own.has_closed |= tcp.fin;
        own.has_reset |= tcp.rst;
        own.bare_acks += u64::from(length == 0 && is_plain);
        if let Some((stamp, echoed)) = tcp.timestamps {
            own.has_timestamps = true;
            own.echo(other, now_ns, stamp, echoed);
        }
        if let Some(most) = tcp.largest_segment.filter(|_| tcp.syn) {
            own.wanted_segment = Some(most);
        }
        finding.is_probe = payload == 1
            && start == own.highest
            && other.last_window == Some(0)
            && !tcp.syn
            && !tcp.rst;
        finding.is_keep_alive = payload <= 1 && start + 1 == own.highest && is_plain;
        if finding.is_probe || (finding.is_keep_alive && other.last_window == Some(0)) {
            self.limits.probe(from);
        }
        let news = tcp
            .ack
            .then(|| own.acknowledge(other, (now_ns, after_ns), tcp, (start, length), &mut finding))
            .flatten();
        if is_plain && tcp.window == 0 && !finding.is_probe {
            finding.is_zero_window = true;
            own.zero_windows += 1;
        }
        own.probes += u64::from(finding.is_probe);
        own.keep_alives += u64::from(finding.is_keep_alive);
        if !tcp.rst {
            own.announce(tcp, self.is_scaled);
        }
        own.last_window = Some(tcp.window);
        if let Some(delay_ns) = news {
            let is_known = self.is_scaled.is_some() || tcp.window == 0;
            let edge = own.edge.filter(|_| is_known).unwrap_or(u64::MAX);
            let acknowledged = other.acknowledged;
            let news = Announcement { at_ns: now_ns, acknowledged, edge, delay_ns };
            self.limits.announce(1 - from, news);
            other.note_announced(after_ns, own.edge.filter(|_| self.is_scaled.is_some()));
        }
        let is_news = length > 0 && !finding.is_keep_alive && !finding.is_probe;
        if length > 0 && !tcp.rst && !finding.is_probe {
            own.send(
                (now_ns, after_ns),
                tcp,
                (start, length, payload),
                other,
                handshake_ns,
                &mut finding,
            );
        }
        if is_news || tcp.rst {
            let sent = NewData {
                end: start + u64::from(length),
                payload,
                is_syn: tcp.syn,
                is_resent: matches!(finding.again, Some((BackwardSegment::Resent, _))),
                segment: self.segment_octets(from),
                away_ns: self.away_ns(from).unwrap_or(0),
                least_ns: self.halves[from].round_trip.least_ns().unwrap_or(0),
            };
            if self.limits.send(from, now_ns, &sent) {
                self.halves[from].lose();
            }
            let flight = u32::try_from(self.limits.flight(from)).unwrap_or(u32::MAX);
            let slice = self.halves[from].series.at(after_ns);
            slice.flight = slice.flight.max(flight);
        }
        finding
    }

    fn negotiate(
        &mut self,
        from: usize,
        now_ns: i64,
        tcp: &TcpHeader,
        payload: u32,
        finding: &mut SegmentMeaning,
    ) {
        if tcp.syn {
            self.syns[from] = Some(tcp.sequence);
            self.has_cut_syn |= tcp.has_cut_options;
            self.halves[from].offered_shift = tcp.window_shift;
            // Both must offer it (RFC 7323, section 1.3).
            if self.syns.iter().all(Option::is_some) && !self.has_cut_syn {
                self.is_scaled = Some(self.halves.iter().all(|half| half.offered_shift.is_some()));
            }
            if !tcp.ack {
                self.syn_ns = Some(now_ns);
            } else if let Some(syn_ns) = self.syn_ns {
                self.syn_ack_ns = Some(now_ns);
                self.answer_ns = self.answer_ns.or(Some(now_ns - syn_ns));
            }
        } else if let (Some(syn_ns), None, true) = (self.syn_ns, self.syn_ack_ns, tcp.rst) {
            // The end that began may reset, too, when it gives up.
            if self.syns[from].is_none() {
                self.refused_ns = self.refused_ns.or(Some(now_ns - syn_ns));
            }
        } else if let (Some(syn_ns), Some(_), None) =
            (self.syn_ns, self.syn_ack_ns, self.handshake_ns)
        {
            let answers = self.syns[1 - from]
                .is_some_and(|syn| tcp.ack && tcp.acknowledgment == syn.wrapping_add(1));
            if answers && payload == 0 && !tcp.fin && !tcp.rst {
                self.handshake_ns = Some(now_ns - syn_ns);
                finding.handshake_ns = self.handshake_ns;
            }
        }
    }

    /// From the capture point to an end and back, the least that was seen: of the handshake, of any
    /// acknowledgement, and of any timestamp and its echo. A sender of data acknowledges little;
    /// without its echoes a handshake that a busy host answered late would stand.
    #[must_use]
    pub fn away_ns(&self, end: usize) -> Option<u64> {
        // An end answers what the other one sends.
        let acknowledged_ns = self.halves[1 - end].round_trip.least_ns();
        let echoed_ns = self.halves[end].echo_ns;
        acknowledged_ns.into_iter().chain(echoed_ns).min()
    }

    /// Octets of payload of a full segment of an end: what both ends want, else what an Ethernet
    /// carries, or less if there never was as much.
    #[must_use]
    pub fn segment_octets(&self, end: usize) -> u32 {
        let segment = self.halves.iter().filter_map(|half| half.wanted_segment).min();
        let overhead = if self.halves[end].has_timestamps { TIMESTAMPS_OCTETS } else { 0 };
        let agreed = segment.map_or(ETHERNET_SEGMENT, u32::from).saturating_sub(overhead).max(1);
        if segment.is_some() {
            return agreed;
        }
        agreed.min(self.halves[end].largest_payload.max(1))
    }

    /// Whether a SYN with this number begins another connection between the same ends.
    #[must_use]
    pub fn is_over_for(&self, from: usize, tcp: &TcpHeader) -> bool {
        tcp.syn
            && !tcp.ack
            && self.syns[from] != Some(tcp.sequence)
            && self.halves.iter().any(|half| half.segments > 0)
    }

    /// Octets of memory beyond the value itself.
    #[must_use]
    pub fn held_octets(&self) -> usize {
        self.limits.held_octets()
            + self.halves.iter().map(ConnectionEnd::held_octets).sum::<usize>()
    }

    /// Ask for the memory that a segment will need, beyond the value itself.
    pub(crate) fn prefetch_fields(&self, from: usize, now_ns: i64, tcp: &TcpHeader, payload: u32) {
        let (own, other) = (&self.halves[from], &self.halves[1 - from]);
        if payload > 0 {
            own.outstanding.back().inspect(|kept| prefetch(*kept));
            own.series.slices().last().inspect(|slice| prefetch(*slice));
            self.limits.ask_for_news(from);
        }
        #[allow(clippy::cast_possible_truncation)] // the lower half is transmitted
        if tcp.ack && tcp.acknowledgment != other.acknowledged as u32 {
            other.series.slices().last().inspect(|slice| prefetch(*slice));
            self.limits.ask_for_news(1 - from);
            // As long as it will have taken if it acknowledges the first only, or all that is under
            // way; there is more than that seldom.
            for kept in [other.outstanding.front(), other.outstanding.back()].into_iter().flatten()
            {
                let delay_ns = now_ns.saturating_sub(kept.sent_ns).max(0).cast_unsigned();
                other.ack_delay.prefetch(delay_ns);
                other.round_trip.prefetch(delay_ns);
            }
        }
    }

    /// Say whether memory is short.
    pub fn spare(&mut self, is_short: bool) {
        for half in &mut self.halves {
            half.series.spare(is_short);
        }
    }

    /// Let go of what is needed only while segments come.
    pub fn settle(&mut self) {
        for half in &mut self.halves {
            half.outstanding = VecDeque::new();
            half.holes_at = VecDeque::new();
        }
    }
}
