//! A session of test packets, and what came back.

use super::packet::{
    ErrorEstimate, ReflectorPacket, SenderPacket, StampMode, StampTimestamp, is_authentic, sign,
};
use super::port::{PacketArrival, PacketPort};
use super::{HMAC_OCTETS, LONGEST, StampKey, tlv};
use crate::Error;
use ethermeter_net::clock::{Exchange, Relation};
use ethermeter_net::time::{NS_PER_S, Timeline, wall_clock_error_ns};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Longest session.
const LONGEST_NS: u64 = 3600 * NS_PER_S;
/// Most packets of a session, whose times are kept.
const MOST_PACKETS: u64 = 1_000_000;

/// A session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StampSession {
    /// The reflector.
    pub to: SocketAddr,
    /// Packets.
    pub packets: u64,
    /// Time from one to the next.
    pub interval_ns: u64,
    /// An answer that takes longer is lost.
    pub timeout_ns: u64,
    /// Octets of a packet, TLVs included; the shortest of its mode without.
    #[serde(default)]
    pub octets: Option<usize>,
    /// Whether packets have TLVs, and an HMAC over them where there is a key; without, they are
    /// those of RFC 8762, with zeros to their length.
    #[serde(default)]
    pub has_tlvs: bool,
    /// Number of the session (RFC 8972, section 3); 0 for none.
    #[serde(default)]
    pub ssid: u16,
    /// Without an answer to the first packets for so long, it ends.
    #[serde(rename = "patience_ns", default)]
    pub first_answer_timeout_ns: Option<u64>,
}

/// Four times of an answered packet, in nanoseconds: sent and returned by this host's wall clock,
/// received and answered by the reflector's, all relative to `epoch_ns` of the session.
pub type Times = [i64; 4];

/// What came back of a session.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StampMeasurement {
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that the system did not send.
    pub unsent: u64,
    /// Octets of each.
    pub octets: u64,
    /// Wall clock time to which times are relative.
    pub epoch_ns: u64,
    /// Sequence number of each answered packet, in the order of answers.
    pub sequence: Vec<u32>,
    /// Sequence numbers of their answers.
    pub reflector_sequence: Vec<u32>,
    /// Four times of each answered packet.
    pub times_ns: Vec<Times>,
    /// Hop limit with which packets reached the reflector, as it says; 0 if it says none.
    pub sender_ttl: Vec<u8>,
    /// Hop limit with which answers arrived.
    pub hops: Vec<Option<u8>>,
    /// Answers to a packet that had been answered.
    pub duplicates: u64,
    /// Answers after the timeout.
    pub late: u64,
    /// Packets that are no answer to one of this session.
    pub foreign: u64,
    /// Answers with a wrong HMAC.
    pub not_authentic: u64,
    /// Whether this host's clock is synchronised, and its largest error.
    pub own_error_ns: Option<u64>,
    /// Whether the reflector's clock is synchronised by all of its answers, and its largest error.
    pub reflector_error_ns: Option<u64>,
    /// Flags of TLVs in the last answer: type and flags.
    pub tlvs: Vec<(u8, u8)>,
    /// The reflector's clock compared with this host's; `None` with too few answers.
    pub clock: Option<SenderClock>,
}

/// Relation of the reflector's clock to this host's, in the middle of the session.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SenderClock {
    /// How far the reflector's is ahead.
    pub offset_ns: f64,
    /// Largest error of that.
    pub uncertainty_ns: f64,
    /// How much it gains each nanosecond.
    pub drift: f64,
    /// Wall clock time of the middle, relative to the epoch.
    pub at_ns: i64,
    /// Exchanges that contradict the line beyond their bounds.
    pub contradictions: usize,
}

impl StampSession {
    fn check(&self, mode: StampMode) -> Result<usize, Error> {
        Error::unless_within("packets", self.packets, 1, MOST_PACKETS)?;
        Error::unless_within("interval_ns", self.interval_ns, 10_000, 60 * NS_PER_S)?;
        Error::unless_within("timeout_ns", self.timeout_ns, 1_000_000, 60 * NS_PER_S)?;
        Error::unless_within(
            "length of the session (ns)",
            self.packets * self.interval_ns,
            1,
            LONGEST_NS,
        )?;
        let least = mode.octets() + if self.has_tlvs { tlv_octets(mode) } else { 0 };
        let octets = self.octets.unwrap_or(least);
        Error::unless_within("octets", octets as u64, least as u64, LONGEST as u64)?;
        if self.has_tlvs && octets > least && octets < least + tlv::HEADER {
            let allowed = format!("{least}, or {} to {LONGEST}", least + tlv::HEADER);
            return Err(Error::range("octets", octets, allowed));
        }
        Ok(octets)
    }

    /// Send the session's packets and await their answers, in one thread.
    ///
    /// # Errors
    /// If a number is out of range, the system refuses, or `should_stop`.
    pub fn perform(
        &self,
        key: Option<&[u8]>,
        time: &impl Timeline,
        should_stop: impl Fn() -> bool,
    ) -> Result<StampMeasurement, Error> {
        let key = key.map(StampKey::new).transpose()?;
        let mode = if key.is_some() { StampMode::Authenticated } else { StampMode::Open };
        let octets = self.check(mode)?;
        let local = match self.to.ip() {
            IpAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            IpAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let mut port = PacketPort::open(local, Some(self.to))?;
        let mut account = SessionCounts::new(self, mode, octets, key, time.wall_ns());
        let mut packet = vec![0; octets];
        let mut room = Vec::new();
        let begin_ns = time.now_ns();
        let last_ns = begin_ns + (self.packets - 1) * self.interval_ns;
        let end_ns = last_ns + self.timeout_ns;
        let mut next = 0;
        loop {
            let now_ns = time.now_ns();
            if should_stop() {
                return Err(Error::Stopped);
            }
            let is_silent = account.measurement.sequence.is_empty()
                && self
                    .first_answer_timeout_ns
                    .is_some_and(|timeout_ns| now_ns > begin_ns + timeout_ns);
            if now_ns >= end_ns || is_silent || account.is_complete() {
                break;
            }
            let mut due_ns = end_ns;
            if next < self.packets {
                due_ns = begin_ns + next * self.interval_ns;
                if now_ns >= due_ns {
                    account.write(&mut packet, time.wall_ns());
                    let is_sent = port.send(&packet)?;
                    account.count_sent(is_sent);
                    next += 1;
                    continue;
                }
            }
            port.wait((due_ns - now_ns).min(NS_PER_S / 20));
            while let Some(arrived) = port.receive(&mut room, time)? {
                account.count(&room, &arrived);
            }
        }
        Ok(account.closed())
    }
}

/// Octets of the TLVs of a packet: counters, timestamping and, in authenticated mode, the HMAC.
fn tlv_octets(mode: StampMode) -> usize {
    let hmac = if mode == StampMode::Authenticated { tlv::HEADER + HMAC_OCTETS } else { 0 };
    tlv::HEADER + 12 + tlv::HEADER + 4 + hmac
}

/// A session's packets and answers, without a socket.
struct SessionCounts<'a> {
    session: &'a StampSession,
    mode: StampMode,
    key: Option<StampKey>,
    /// Time of sending of each packet; 0 of those that were not sent.
    sent_ns: Vec<u64>,
    is_answered: Vec<bool>,
    exchanges: Vec<Exchange>,
    are_synchronised: bool,
    measurement: StampMeasurement,
}

impl<'a> SessionCounts<'a> {
    fn new(
        session: &'a StampSession,
        mode: StampMode,
        octets: usize,
        key: Option<StampKey>,
        epoch_ns: u64,
    ) -> Self {
        let packets = usize::try_from(session.packets).expect("at most a million");
        Self {
            session,
            mode,
            key,
            sent_ns: Vec::with_capacity(packets),
            is_answered: vec![false; packets],
            exchanges: Vec::with_capacity(packets),
            are_synchronised: true,
            measurement: StampMeasurement {
                octets: octets as u64,
                epoch_ns,
                own_error_ns: wall_clock_error_ns(),
                ..StampMeasurement::default()
            },
        }
    }

    /// Write the next packet, which is sent at `sent_ns` of the wall clock.
    fn write(&mut self, packet: &mut [u8], sent_ns: u64) {
        let sequence = u32::try_from(self.sent_ns.len()).expect("at most a million");
        let base = self.mode.octets();
        if self.session.has_tlvs {
            self.write_tlvs(&mut packet[base..], sequence);
        }
        let request = SenderPacket {
            sequence,
            timestamp: StampTimestamp::ntp(sent_ns),
            error: ErrorEstimate::of(self.measurement.own_error_ns),
            ssid: self.session.ssid,
        };
        request.write(self.mode, packet);
        if let Some(key) = &self.key {
            sign(key, packet);
        }
        self.sent_ns.push(sent_ns);
    }

    fn write_tlvs(&self, extension: &mut [u8], sequence: u32) {
        let mut at = tlv::write(extension, tlv::kind::COUNTERS, 12);
        let sent = u32::try_from(self.measurement.sent + 1).expect("at most a million");
        extension[tlv::HEADER..tlv::HEADER + 4].copy_from_slice(&sent.to_be_bytes());
        at += tlv::write(&mut extension[at..], tlv::kind::TIMESTAMPS, 4);
        let hmac = if self.key.is_some() { tlv::HEADER + HMAC_OCTETS } else { 0 };
        let padding = extension.len() - at - hmac;
        if padding >= tlv::HEADER {
            at += tlv::write(&mut extension[at..], tlv::kind::PADDING, padding - tlv::HEADER);
        }
        if let Some(key) = &self.key {
            tlv::write_hmac(key, sequence, extension, at);
        }
    }

    fn count_sent(&mut self, is_sent: bool) {
        if is_sent {
            self.measurement.sent += 1;
        } else {
            self.measurement.unsent += 1;
            *self.sent_ns.last_mut().expect("a packet was written") = 0;
        }
    }

    fn is_complete(&self) -> bool {
        self.sent_ns.len() as u64 == self.session.packets
            && self.measurement.sequence.len() as u64 == self.measurement.sent
    }

    /// Count an arrival.
    fn count(&mut self, octets: &[u8], arrived: &PacketArrival) {
        let measurement = &mut self.measurement;
        let Some(answer) = ReflectorPacket::read(self.mode, octets) else {
            measurement.foreign += 1;
            return;
        };
        if self.key.as_ref().is_some_and(|key| !is_authentic(key, octets)) {
            measurement.not_authentic += 1;
            return;
        }
        let index = answer.sender_sequence as usize;
        let sent_ns = self.sent_ns.get(index).copied().unwrap_or(0);
        if sent_ns == 0 || answer.sender_timestamp != StampTimestamp::ntp(sent_ns) {
            measurement.foreign += 1;
            return;
        }
        if std::mem::replace(&mut self.is_answered[index], true) {
            measurement.duplicates += 1;
            return;
        }
        if arrived.wall_ns.saturating_sub(sent_ns) > self.session.timeout_ns {
            measurement.late += 1;
            return;
        }
        let is_ptp = answer.error.is_ptp();
        let received_ns = answer.received.wall_ns(is_ptp, sent_ns);
        let answered_ns = answer.timestamp.wall_ns(is_ptp, sent_ns);
        let since = |ns: u64| ns.wrapping_sub(measurement.epoch_ns).cast_signed();
        let times =
            [since(sent_ns), since(received_ns), since(answered_ns), since(arrived.wall_ns)];
        self.exchanges.push(Exchange {
            requested_ns: sent_ns,
            received_ns,
            answered_ns,
            returned_ns: arrived.wall_ns,
        });
        self.are_synchronised &= answer.error.is_synchronised();
        measurement.reflector_error_ns =
            measurement.reflector_error_ns.max(answer.error.error_ns());
        measurement.sequence.push(answer.sender_sequence);
        measurement.reflector_sequence.push(answer.sequence);
        measurement.times_ns.push(times);
        measurement.sender_ttl.push(answer.sender_ttl);
        measurement.hops.push(arrived.hops);
        if self.session.has_tlvs {
            let extension = octets.get(self.mode.octets()..).unwrap_or(&[]);
            measurement.tlvs = tlv::positions(extension)
                .take(8)
                .map(|position| (position.kind, extension[position.at]))
                .collect();
        }
    }

    fn closed(mut self) -> StampMeasurement {
        if !self.are_synchronised {
            self.measurement.reflector_error_ns = None;
        }
        if let (Ok(relation), Some(first), Some(last)) =
            (Relation::fitted(&self.exchanges), self.exchanges.first(), self.exchanges.last())
        {
            let middle_ns = first.requested_ns.midpoint(last.returned_ns);
            self.measurement.clock = Some(SenderClock {
                offset_ns: relation.offset_ns(middle_ns),
                uncertainty_ns: relation.uncertainty_ns(middle_ns),
                drift: relation.drift(),
                at_ns: middle_ns.wrapping_sub(self.measurement.epoch_ns).cast_signed(),
                contradictions: relation.contradictions(),
            });
        }
        self.measurement
    }
}
