//! Test packets as octets and back.
//!
//! Octets of the fields (RFC 8762, sections 4.2 and 4.3; SSID of RFC 8972, section 3):
//!
//! | field | sender | sender, authenticated | reflector | reflector, authenticated |
//! |---|---|---|---|---|
//! | sequence number | 0–3 | 0–3 | 0–3 | 0–3 |
//! | timestamp, error estimate | 4–11, 12–13 | 16–23, 24–25 | 4–11, 12–13 | 16–23, 24–25 |
//! | SSID | 14–15 | 26–27 | 14–15 | 26–27 |
//! | receive timestamp | | | 16–23 | 32–39 |
//! | sender's sequence number | | | 24–27 | 48–51 |
//! | sender's timestamp, error estimate | | | 28–35, 36–37 | 64–71, 72–73 |
//! | sender's TTL | | | 40 | 80 |
//! | HMAC | | 96–111 | | 96–111 |
//!
//! All others are zero. The shortest packet of TWAMP has 14 octets, its answer 41.

use super::{HMAC_OCTETS, StampKey};

/// Octets of a STAMP packet without TLVs.
pub const OPEN_OCTETS: usize = 44;
/// Octets of an authenticated STAMP packet without TLVs.
pub const AUTHENTICATED_OCTETS: usize = 112;
/// Octets of an answer of TWAMP without padding.
pub const TWAMP_ANSWER_OCTETS: usize = 41;
/// Octets that the HMAC of an authenticated packet covers.
const COVERED: usize = AUTHENTICATED_OCTETS - HMAC_OCTETS;

const NS_PER_S: u64 = 1_000_000_000;
/// Seconds from the epoch of NTP, 1900, to that of Unix (RFC 5905, section 6).
const NTP_EPOCH_S: u64 = 2_208_988_800;

/// Mode of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampMode {
    /// Unauthenticated.
    Open,
    /// With an HMAC.
    Authenticated,
}

impl StampMode {
    /// Octets of a packet without TLVs.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Open => OPEN_OCTETS,
            Self::Authenticated => AUTHENTICATED_OCTETS,
        }
    }

    /// Where the fields begin that only an answer has: receive timestamp, sender's sequence number,
    /// timestamp, error estimate, TTL.
    const fn of_answer(self) -> [usize; 5] {
        match self {
            Self::Open => [16, 24, 28, 36, 40],
            Self::Authenticated => [32, 48, 64, 72, 80],
        }
    }

    /// Where the timestamp begins; error estimate and SSID follow it.
    const fn timestamp(self) -> usize {
        match self {
            Self::Open => 4,
            Self::Authenticated => 16,
        }
    }
}

/// A timestamp as it is in a packet: 32 bits of seconds, then a fraction or nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampTimestamp(pub u64);

impl StampTimestamp {
    /// A wall clock time in the format of NTP.
    #[must_use]
    pub fn ntp(wall_ns: u64) -> Self {
        let (seconds, rest_ns) = (wall_ns / NS_PER_S, wall_ns % NS_PER_S);
        // The nearest fraction, so that reading it gives the same nanosecond.
        let fraction = ((rest_ns << 32) + NS_PER_S / 2) / NS_PER_S;
        Self(((seconds + NTP_EPOCH_S) << 32) + fraction)
    }

    /// Its wall clock time, in nanoseconds of Unix time: that of its seconds modulo 2^32 which is
    /// nearest to `near_ns`. `is_ptp`: seconds and nanoseconds (IEEE 1588), and not NTP.
    #[must_use]
    pub fn wall_ns(self, is_ptp: bool, near_ns: u64) -> u64 {
        let seconds = (self.0 >> 32) as u32;
        let low = self.0 & u64::from(u32::MAX);
        let (epoch_s, rest_ns) =
            if is_ptp { (0, low) } else { (NTP_EPOCH_S, (low * NS_PER_S + (1 << 31)) >> 32) };
        let whole_s = near_ns / NS_PER_S;
        #[allow(clippy::cast_possible_truncation)] // modulo 2^32, as the field
        let ahead_s = seconds.wrapping_sub((whole_s + epoch_s) as u32).cast_signed();
        whole_s
            .saturating_add_signed(i64::from(ahead_s))
            .saturating_mul(NS_PER_S)
            .saturating_add(rest_ns)
    }
}

/// Error estimate of a timestamp (RFC 8762, section 4.2.1; RFC 4656, section 4.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorEstimate(pub u16);

impl ErrorEstimate {
    /// Estimate of a clock in the format of NTP: synchronised with a largest error, or not.
    #[must_use]
    pub fn of(error_ns: Option<u64>) -> Self {
        let Some(error_ns) = error_ns else {
            // Not synchronised: nothing is known, and the multiplier must not be 0.
            return Self(0x3fff);
        };
        let parts = (u128::from(error_ns) << 32).div_ceil(u128::from(NS_PER_S)).max(1);
        let scale = (0..64).find(|scale| parts.div_ceil(1 << scale) <= 255).unwrap_or(63);
        let multiplier = u16::try_from(parts.div_ceil(1 << scale)).unwrap_or(255);
        Self(0x8000 | (scale << 8) | multiplier)
    }

    /// Whether the clock is synchronised to UTC by its owner's word.
    #[must_use]
    pub const fn is_synchronised(self) -> bool {
        self.0 & 0x8000 != 0
    }

    /// Whether timestamps have the format of PTP.
    #[must_use]
    pub const fn is_ptp(self) -> bool {
        self.0 & 0x4000 != 0
    }

    /// The largest error in nanoseconds; `None` if the multiplier is 0, which is not allowed.
    #[must_use]
    pub fn error_ns(self) -> Option<u64> {
        let (scale, multiplier) = ((self.0 >> 8) & 0x3f, self.0 & 0xff);
        let ns = ((u128::from(multiplier) * u128::from(NS_PER_S)) << scale) >> 32;
        (multiplier != 0).then(|| u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// What a sender writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderPacket {
    /// Sequence number, from 0.
    pub sequence: u32,
    /// When it was sent, by the sender's clock.
    pub timestamp: StampTimestamp,
    /// The clock's error.
    pub error: ErrorEstimate,
    /// Session of the sender; 0 for none.
    pub ssid: u16,
}

/// What a reflector writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReflectorPacket {
    /// Sequence number of the reflector, or that of the request.
    pub sequence: u32,
    /// When it was sent, by the reflector's clock.
    pub timestamp: StampTimestamp,
    /// The clock's error.
    pub error: ErrorEstimate,
    /// Session of the sender; 0 for none.
    pub ssid: u16,
    /// When the request arrived, by the reflector's clock.
    pub received: StampTimestamp,
    /// Sequence number of the request.
    pub sender_sequence: u32,
    /// Timestamp of the request.
    pub sender_timestamp: StampTimestamp,
    /// Error estimate of the request.
    pub sender_error: ErrorEstimate,
    /// Hop limit with which the request arrived; 0 if the reflector does not know it.
    pub sender_ttl: u8,
}

impl SenderPacket {
    /// Write the first octets of a packet: the whole base packet, or fewer of TWAMP's.
    pub fn write(&self, mode: StampMode, room: &mut [u8]) {
        let at = mode.timestamp();
        room[..mode.octets()].fill(0);
        room[..4].copy_from_slice(&self.sequence.to_be_bytes());
        room[at..at + 8].copy_from_slice(&self.timestamp.0.to_be_bytes());
        room[at + 8..at + 10].copy_from_slice(&self.error.0.to_be_bytes());
        room[at + 10..at + 12].copy_from_slice(&self.ssid.to_be_bytes());
    }

    /// Read a packet; `None` if it is too short for its mode. In open mode 14 octets suffice, as
    /// TWAMP has them, without an SSID.
    #[must_use]
    pub fn read(mode: StampMode, octets: &[u8]) -> Option<Self> {
        let least = if mode == StampMode::Open { 14 } else { AUTHENTICATED_OCTETS };
        if octets.len() < least {
            return None;
        }
        let at = mode.timestamp();
        let has_ssid = octets.len() >= mode.octets();
        Some(Self {
            sequence: word(octets, 0),
            timestamp: StampTimestamp(long(octets, at)),
            error: ErrorEstimate(half(octets, at + 8)),
            ssid: if has_ssid { half(octets, at + 10) } else { 0 },
        })
    }
}

impl ReflectorPacket {
    /// Write an answer of `room`'s length: at least [`TWAMP_ANSWER_OCTETS`], or those of an
    /// authenticated packet. What lies beyond the base packet is left as it is.
    pub fn write(&self, mode: StampMode, room: &mut [u8]) {
        let base = mode.octets().min(room.len());
        room[..base].fill(0);
        let at = mode.timestamp();
        let [received, sequence, timestamp, error, ttl] = mode.of_answer();
        room[..4].copy_from_slice(&self.sequence.to_be_bytes());
        room[at..at + 8].copy_from_slice(&self.timestamp.0.to_be_bytes());
        room[at + 8..at + 10].copy_from_slice(&self.error.0.to_be_bytes());
        room[at + 10..at + 12].copy_from_slice(&self.ssid.to_be_bytes());
        room[received..received + 8].copy_from_slice(&self.received.0.to_be_bytes());
        room[sequence..sequence + 4].copy_from_slice(&self.sender_sequence.to_be_bytes());
        room[timestamp..timestamp + 8].copy_from_slice(&self.sender_timestamp.0.to_be_bytes());
        room[error..error + 2].copy_from_slice(&self.sender_error.0.to_be_bytes());
        room[ttl] = self.sender_ttl;
    }

    /// Read an answer; `None` if it is too short for its mode.
    #[must_use]
    pub fn read(mode: StampMode, octets: &[u8]) -> Option<Self> {
        let least =
            if mode == StampMode::Open { TWAMP_ANSWER_OCTETS } else { AUTHENTICATED_OCTETS };
        if octets.len() < least {
            return None;
        }
        let at = mode.timestamp();
        let [received, sequence, timestamp, error, ttl] = mode.of_answer();
        Some(Self {
            sequence: word(octets, 0),
            timestamp: StampTimestamp(long(octets, at)),
            error: ErrorEstimate(half(octets, at + 8)),
            ssid: half(octets, at + 10),
            received: StampTimestamp(long(octets, received)),
            sender_sequence: word(octets, sequence),
            sender_timestamp: StampTimestamp(long(octets, timestamp)),
            sender_error: ErrorEstimate(half(octets, error)),
            sender_ttl: octets[ttl],
        })
    }
}

/// Write the HMAC of an authenticated packet, whose other fields are written.
///
/// # Panics
/// If it is shorter than such a packet.
pub fn sign(key: &StampKey, packet: &mut [u8]) {
    let (covered, rest) = packet.split_at_mut(COVERED);
    key.sign(&[covered], rest);
}

/// Whether an authenticated packet has the HMAC of its key.
#[must_use]
pub fn is_authentic(key: &StampKey, packet: &[u8]) -> bool {
    packet.len() >= AUTHENTICATED_OCTETS
        && key.verifies(&[&packet[..COVERED]], &packet[COVERED..AUTHENTICATED_OCTETS])
}

fn half(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(octets[at..at + 2].try_into().expect("two octets"))
}

fn word(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets[at..at + 4].try_into().expect("four octets"))
}

fn long(octets: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(octets[at..at + 8].try_into().expect("eight octets"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_time_of_unix_has_its_time_of_ntp() {
        // 1 January 1970 is 2 208 988 800 s after 1 January 1900; half a second is 2^31.
        assert_eq!(StampTimestamp::ntp(500_000_000).0, (2_208_988_800 << 32) + (1 << 31));
        // In 2036 the seconds of NTP begin again.
        let later_ns = 2_100_000_000 * NS_PER_S + 7;
        assert_eq!(StampTimestamp::ntp(later_ns).wall_ns(false, later_ns - NS_PER_S), later_ns);
    }

    #[test]
    fn an_error_estimate_is_never_below_the_error() {
        // 1 ms is 4 294 967.3 parts of 2^-32 s: 132 times 2^15.
        let estimate = ErrorEstimate::of(Some(1_000_000));
        assert_eq!(estimate.0, 0x8000 | (15 << 8) | 0x84);
        assert_eq!(estimate.error_ns(), Some(1_007_080));
        let unknown = ErrorEstimate::of(None);
        assert!(!unknown.is_synchronised() && !unknown.is_ptp());
        assert_eq!(ErrorEstimate(0).error_ns(), None);
    }

    #[test]
    fn fields_lie_where_the_standard_has_them() {
        let answer = ReflectorPacket {
            sequence: 0x0102_0304,
            timestamp: StampTimestamp(0x1112_1314_1516_1718),
            error: ErrorEstimate(0x2122),
            ssid: 0x3132,
            received: StampTimestamp(0x4142_4344_4546_4748),
            sender_sequence: 0x5152_5354,
            sender_timestamp: StampTimestamp(0x6162_6364_6566_6768),
            sender_error: ErrorEstimate(0x7172),
            sender_ttl: 0x81,
        };
        let mut open = [0xff; OPEN_OCTETS];
        answer.write(StampMode::Open, &mut open);
        let mut expected = Vec::new();
        expected.extend([1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22]);
        expected.extend([0x31, 0x32, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48]);
        expected.extend([0x51, 0x52, 0x53, 0x54, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68]);
        expected.extend([0x71, 0x72, 0, 0, 0x81, 0, 0, 0]);
        assert_eq!(open.as_slice(), expected);
        let mut authenticated = [0xff; AUTHENTICATED_OCTETS];
        answer.write(StampMode::Authenticated, &mut authenticated);
        for (at, first) in [(0, 1), (16, 0x11), (24, 0x21), (26, 0x31), (32, 0x41), (48, 0x51)] {
            assert_eq!(authenticated[at], first, "octet {at}");
        }
        for (at, first) in [(64, 0x61), (72, 0x71), (80, 0x81), (4, 0), (40, 0), (81, 0), (111, 0)]
        {
            assert_eq!(authenticated[at], first, "octet {at}");
        }
    }

    #[test]
    fn a_changed_octet_is_noticed() {
        let key = StampKey::new(b"secret").expect("a key");
        let mut packet = [7; AUTHENTICATED_OCTETS + 5];
        sign(&key, &mut packet);
        assert!(is_authentic(&key, &packet));
        for at in 0..AUTHENTICATED_OCTETS {
            let mut changed = packet;
            changed[at] ^= 1;
            assert!(!is_authentic(&key, &changed), "octet {at}");
        }
        assert!(!is_authentic(&StampKey::new(b"other").expect("a key"), &packet));
        assert!(!is_authentic(&key, &packet[..AUTHENTICATED_OCTETS - 1]));
    }

    #[test]
    fn the_hmac_is_that_of_rfc_4231() {
        // Test case 2, truncated to 128 bits.
        let key = StampKey::new(b"Jefe").expect("a key");
        let mut room = [0; HMAC_OCTETS];
        key.sign(&[b"what do ya want ", b"for nothing?"], &mut room);
        assert_eq!(
            room.map(|octet| format!("{octet:02x}")).concat(),
            "5bdcc146bf60754e6a042426089575c7"
        );
    }

    proptest! {
        #[test]
        fn times_and_packets_survive_the_wire(
            wall_ns in 0..5_000_000_000 * NS_PER_S, sequence: u32, error_ns in 0..10_000_000_000u64, ssid: u16,
        ) {
            prop_assert_eq!(StampTimestamp::ntp(wall_ns).wall_ns(false, wall_ns), wall_ns);
            let error = ErrorEstimate::of(Some(error_ns));
            // Rounded up to a part in 128, and down to the next nanosecond.
            let read_ns = error.error_ns().expect("a multiplier");
            prop_assert!(read_ns >= error_ns && read_ns <= error_ns + error_ns / 127 + 1);
            let request = SenderPacket { sequence, timestamp: StampTimestamp::ntp(wall_ns), error, ssid };
            for mode in [StampMode::Open, StampMode::Authenticated] {
                let mut room = [0; AUTHENTICATED_OCTETS];
                request.write(mode, &mut room);
                prop_assert_eq!(SenderPacket::read(mode, &room[..mode.octets()]), Some(request));
            }
        }
    }
}
