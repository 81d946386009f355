//! What a reflector answers, without a socket or a clock.
//!
//! An answer goes to an address that the operator allowed, within the operator's rate, and has as
//! many octets as its request.

use super::packet::{
    ErrorEstimate, ReflectorPacket, SenderPacket, StampMode, StampTimestamp, TWAMP_ANSWER_OCTETS,
    is_authentic, sign,
};
use super::tlv::{self, ReflectorFacts, Timestamping};
use super::{LONGEST, StampKey};
use crate::Error;
use ethermeter_station::consent::{IpNetwork, TokenBucket};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Sessions whose packets are counted; the one that was silent for longest makes room for another.
pub const MOST_SESSIONS: usize = 1024;

/// What the operator allows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReflectorRules {
    /// Networks whose addresses are answered.
    pub allowed: Vec<IpNetwork>,
    /// Answers a second, at most.
    pub rate_packets_per_s: u64,
    /// Whether an answer has the request's sequence number, and no session is remembered.
    #[serde(default)]
    pub is_stateless: bool,
}

/// What came, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReflectorCounts {
    /// Packets that arrived.
    pub received: u64,
    /// Packets that were answered.
    pub answered: u64,
    /// Packets from addresses that are not allowed.
    pub not_allowed: u64,
    /// Packets beyond the rate.
    pub beyond_rate: u64,
    /// Packets shorter than their answer, longer than a frame holds, or with an error estimate
    /// that is not allowed.
    pub malformed: u64,
    /// Packets with a wrong HMAC, or without one.
    pub not_authentic: u64,
    /// Answers that the system did not send.
    pub unsent: u64,
}

/// A request's arrival.
#[derive(Clone, Copy, Debug)]
pub struct RequestArrival {
    /// The sender.
    pub from: SocketAddr,
    /// When it arrived, by the wall clock.
    pub wall_ns: u64,
    /// Hop limit of the request on arrival, if it is known.
    pub hops: Option<u8>,
    /// The host's time, for the rate.
    pub now_ns: u64,
    /// Largest error of the wall clock, if it is synchronised.
    pub clock_error_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ReflectorSession {
    received: u32,
    sent: u32,
    last_ns: u64,
}

/// A reflector.
pub struct Reflector {
    rules: ReflectorRules,
    key: Option<StampKey>,
    bucket: TokenBucket,
    sessions: BTreeMap<(SocketAddr, u16), ReflectorSession>,
    counts: ReflectorCounts,
}

impl Reflector {
    /// A reflector by its operator's rules; with a key it answers authenticated packets only.
    ///
    /// # Errors
    /// If the rate is out of range.
    pub fn new(rules: ReflectorRules, key: Option<StampKey>, now_ns: u64) -> Result<Self, Error> {
        Error::unless_within("rate", rules.rate_packets_per_s, 1, 1_000_000)?;
        // Senders send in bursts: what a tenth of a second brings may be answered at once.
        let burst = (rules.rate_packets_per_s / 10).max(1);
        let bucket = TokenBucket::new(rules.rate_packets_per_s, burst, now_ns);
        Ok(Self {
            rules,
            key,
            bucket,
            sessions: BTreeMap::new(),
            counts: ReflectorCounts::default(),
        })
    }

    /// Counts so far.
    #[must_use]
    pub fn counts(&self) -> &ReflectorCounts {
        &self.counts
    }

    /// Count an answer that the system did not send.
    pub fn count_unsent(&mut self) {
        self.counts.answered -= 1;
        self.counts.unsent += 1;
    }

    /// Turn a request into its answer, in place; returns whether it is to be sent. `send_ns` is
    /// asked last for the time of sending by the wall clock.
    pub fn answer(
        &mut self,
        packet: &mut [u8],
        arrival: &RequestArrival,
        send_ns: impl FnOnce() -> u64,
    ) -> bool {
        self.counts.received += 1;
        if !self.rules.allowed.iter().any(|network| network.contains(arrival.from.ip())) {
            self.counts.not_allowed += 1;
            return false;
        }
        let mode = if self.key.is_some() { StampMode::Authenticated } else { StampMode::Open };
        // An answer is never longer than its request.
        let is_answerable = (TWAMP_ANSWER_OCTETS..=LONGEST).contains(&packet.len());
        let Some(request) = SenderPacket::read(mode, packet).filter(|_| is_answerable) else {
            self.counts.malformed += 1;
            return false;
        };
        if self.key.as_ref().is_some_and(|key| !is_authentic(key, packet)) {
            self.counts.not_authentic += 1;
            return false;
        }
        if request.error.error_ns().is_none() {
            self.counts.malformed += 1;
            return false;
        }
        if self.bucket.left_at(arrival.now_ns) == 0 {
            self.counts.beyond_rate += 1;
            return false;
        }
        self.bucket.take(1);
        let (sequence, facts) = self.counted(&request, arrival);
        let base = mode.octets().min(packet.len());
        let (base, extension) = packet.split_at_mut(base);
        tlv::answer(extension, self.key.as_ref(), request.sequence, sequence, &facts);
        let answer = ReflectorPacket {
            sequence,
            timestamp: StampTimestamp::ntp(send_ns()),
            error: ErrorEstimate::of(arrival.clock_error_ns),
            ssid: request.ssid,
            received: StampTimestamp::ntp(arrival.wall_ns),
            sender_sequence: request.sequence,
            sender_timestamp: request.timestamp,
            sender_error: request.error,
            sender_ttl: arrival.hops.unwrap_or(0),
        };
        answer.write(mode, base);
        if let Some(key) = &self.key {
            sign(key, packet);
        }
        self.counts.answered += 1;
        true
    }

    /// Count a packet in its session; returns the sequence number of the answer, and facts for
    /// TLVs.
    fn counted(
        &mut self,
        request: &SenderPacket,
        arrival: &RequestArrival,
    ) -> (u32, ReflectorFacts) {
        let timestamping = Timestamping::own(arrival.clock_error_ns.is_some());
        if self.rules.is_stateless {
            return (request.sequence, ReflectorFacts { timestamping, received: 0, sent: 0 });
        }
        let name = (arrival.from, request.ssid);
        if self.sessions.len() >= MOST_SESSIONS && !self.sessions.contains_key(&name) {
            let oldest = self.sessions.iter().min_by_key(|(_, session)| session.last_ns);
            if let Some((&oldest, _)) = oldest {
                self.sessions.remove(&oldest);
            }
        }
        let session = self.sessions.entry(name).or_default();
        session.received = session.received.wrapping_add(1);
        session.last_ns = arrival.now_ns;
        let sequence = session.sent;
        session.sent = session.sent.wrapping_add(1);
        (sequence, ReflectorFacts { timestamping, received: session.received, sent: sequence })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamp::packet::{AUTHENTICATED_OCTETS, OPEN_OCTETS};

    fn reflector(key: Option<&[u8]>, rate_packets_per_s: u64) -> Reflector {
        let rules = ReflectorRules {
            allowed: serde_json::from_str(r#"["192.0.2.0/24"]"#).expect("networks"),
            rate_packets_per_s,
            is_stateless: false,
        };
        Reflector::new(rules, key.map(|key| StampKey::new(key).expect("a key")), 0).expect("rules")
    }

    fn arrival(now_ns: u64) -> RequestArrival {
        RequestArrival {
            from: "192.0.2.7:4000".parse().expect("an address"),
            wall_ns: 1_000_000_005,
            hops: Some(251),
            now_ns,
            clock_error_ns: Some(2_000_000),
        }
    }

    fn request(sequence: u32, mode: StampMode) -> Vec<u8> {
        let request = SenderPacket {
            sequence,
            timestamp: StampTimestamp::ntp(1_000_000_000),
            error: ErrorEstimate::of(None),
            ssid: 5,
        };
        let mut packet = vec![0; mode.octets()];
        request.write(mode, &mut packet);
        packet
    }

    #[test]
    fn an_answer_has_the_request_and_both_of_its_own_times() {
        let mut reflector = reflector(None, 1000);
        for (number, sequence) in [7, 9].into_iter().enumerate() {
            let mut packet = request(sequence, StampMode::Open);
            let at = arrival(10_000_000 * (number as u64 + 1));
            assert!(reflector.answer(&mut packet, &at, || 1_000_000_042));
            let answer = ReflectorPacket::read(StampMode::Open, &packet).expect("an answer");
            assert_eq!(packet.len(), OPEN_OCTETS);
            assert_eq!((answer.sequence as usize, answer.sender_sequence), (number, sequence));
            assert_eq!(answer.received, StampTimestamp::ntp(1_000_000_005));
            assert_eq!(answer.timestamp, StampTimestamp::ntp(1_000_000_042));
            assert_eq!(answer.sender_timestamp, StampTimestamp::ntp(1_000_000_000));
            assert_eq!((answer.sender_ttl, answer.ssid), (251, 5));
            assert!(answer.error.is_synchronised() && !answer.sender_error.is_synchronised());
        }
    }

    #[test]
    fn packets_shorter_than_their_answer_get_none() {
        let mut reflector = reflector(None, 1000);
        for (octets, is_answered) in [(0, false), (14, false), (40, false), (41, true), (44, true)]
        {
            let mut packet = request(0, StampMode::Open);
            packet.resize(octets, 0);
            let at = arrival(1_000_000_000);
            assert_eq!(reflector.answer(&mut packet, &at, || 0), is_answered, "{octets} octets");
            assert_eq!(packet.len(), octets);
        }
        assert_eq!(reflector.counts().malformed, 3);
    }

    #[test]
    fn strangers_and_wrong_keys_get_no_answer() {
        let mut reflector = reflector(Some(b"secret"), 1000);
        let mut packet = request(0, StampMode::Authenticated);
        assert!(!reflector.answer(&mut packet.clone(), &arrival(1_000_000_000), || 0));
        sign(&StampKey::new(b"other").expect("a key"), &mut packet);
        assert!(!reflector.answer(&mut packet.clone(), &arrival(1_000_000_000), || 0));
        sign(&StampKey::new(b"secret").expect("a key"), &mut packet);
        let stranger = RequestArrival {
            from: "192.0.3.7:4000".parse().expect("an address"),
            ..arrival(1_000_000_000)
        };
        assert!(!reflector.answer(&mut packet.clone(), &stranger, || 0));
        assert!(reflector.answer(&mut packet, &arrival(1_000_000_000), || 0));
        assert!(is_authentic(&StampKey::new(b"secret").expect("a key"), &packet));
        assert_eq!(packet.len(), AUTHENTICATED_OCTETS);
        let counts = reflector.counts();
        assert_eq!((counts.not_authentic, counts.not_allowed, counts.answered), (2, 1, 1));
    }

    #[test]
    fn answers_keep_to_the_rate() {
        let mut reflector = reflector(None, 100);
        let offered = 5000; // in 5 s
        let answered = (0..offered)
            .filter(|number| {
                let at = arrival(number * 1_000_000);
                reflector.answer(&mut request(0, StampMode::Open), &at, || 0)
            })
            .count();
        assert!((498..=500).contains(&answered), "{answered}");
        assert_eq!(reflector.counts().beyond_rate, offered - answered as u64);
    }

    #[test]
    fn sessions_are_bounded() {
        let mut reflector = reflector(None, 1_000_000);
        for port in 1..=3000u16 {
            let from = SocketAddr::from(([192, 0, 2, 7], port));
            let at = RequestArrival { from, ..arrival(u64::from(port) * 1_000_000) };
            assert!(reflector.answer(&mut request(0, StampMode::Open), &at, || 0));
        }
        assert_eq!(reflector.sessions.len(), MOST_SESSIONS);
    }
}
