//! Token buckets, and the frames that a payload becomes, which are charged to them.

use ethermeter_ethernet::frame::{FCS, HEADER, IPV4_HEADER, IPV6_HEADER, SHORTEST, UDP_HEADER};
use ethermeter_ethernet::{Carrier, Octets};

const NS_PER_S: u64 = 1_000_000_000;
/// A flow may be ahead of its rate by what this time carries, so that a batch is not cut into
/// single frames.
const BURST_NS: u64 = 2_000_000;

/// A token bucket: it begins empty, so from its beginning on it never lets more through than the
/// rate times that time; and over any other time not more than that and one burst of 2 ms or one
/// frame.
#[derive(Debug)]
pub struct TokenBucket {
    per_s: u64,
    /// Parts of 1e-9 of what is counted, at most those of a burst; below zero after a charge for
    /// what has been sent already.
    left: i128,
    most: i128,
    since_ns: u64,
}

impl TokenBucket {
    /// A bucket filled at `per_s` from `now_ns` on, with room for one item of `largest`.
    #[must_use]
    pub fn new(per_s: u64, largest: u64, now_ns: u64) -> Self {
        let burst = i128::from(per_s) * i128::from(BURST_NS);
        let most = burst.max(i128::from(largest) * i128::from(NS_PER_S));
        Self { per_s, left: 0, most, since_ns: now_ns }
    }

    /// The rate at which it is filled.
    #[must_use]
    pub fn per_s(&self) -> u64 {
        self.per_s
    }

    /// How much is left at `now_ns`.
    #[inline]
    pub fn left_at(&mut self, now_ns: u64) -> u64 {
        let grown = i128::from(now_ns.saturating_sub(self.since_ns)) * i128::from(self.per_s);
        self.left = self.most.min(self.left + grown);
        self.since_ns = self.since_ns.max(now_ns);
        u64::try_from(self.left.max(0) / i128::from(NS_PER_S)).unwrap_or(u64::MAX)
    }

    /// Use some up. What is more than is left has to grow again before anything else passes.
    #[inline]
    pub fn take(&mut self, amount: u64) {
        self.left -= i128::from(amount) * i128::from(NS_PER_S);
    }
}

/// Octets of TCP's usual option, a time, with its padding (RFC 7323).
pub(crate) const TCP_TIME_OCTETS: u64 = 12;

/// Frames and their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameCharge {
    pub frames: u64,
    /// Bits of the frames, destination address to FCS.
    pub bits: u64,
}

impl FrameCharge {
    /// What a payload is on a wire: one frame, or as many as IP cuts a datagram into, or TCP what
    /// it is given.
    pub fn of(carrier: Carrier, payload_octets: u64, mtu: u64) -> Self {
        let around = HEADER.0 + FCS.0;
        let charge_of_parts = |octets: u64, room: u64, header: u64| {
            let (full_frames, rest) = (octets / room, octets % room);
            let frame = |data: u64| (around + header).saturating_add(data).max(SHORTEST.0);
            let last = if rest > 0 || full_frames == 0 { frame(rest) } else { 0 };
            Self {
                frames: full_frames + u64::from(last > 0),
                bits: 8 * (full_frames * frame(room) + last),
            }
        };
        // Pieces of a datagram begin at multiples of eight octets (RFC 791, RFC 8200); IPv6 names
        // them in a header of eight.
        let fragment = |header: u64| (mtu.saturating_sub(header) & !7).max(8);
        match carrier {
            Carrier::Raw => charge_of_parts(payload_octets, u64::MAX, 0),
            Carrier::UdpOverIpv4 if IPV4_HEADER.0 + UDP_HEADER.0 + payload_octets > mtu => {
                charge_of_parts(
                    UDP_HEADER.0 + payload_octets,
                    fragment(IPV4_HEADER.0),
                    IPV4_HEADER.0,
                )
            }
            Carrier::UdpOverIpv6 if IPV6_HEADER.0 + UDP_HEADER.0 + payload_octets > mtu => {
                charge_of_parts(
                    UDP_HEADER.0 + payload_octets,
                    fragment(IPV6_HEADER.0 + 8),
                    IPV6_HEADER.0 + 8,
                )
            }
            Carrier::TaggedRaw | Carrier::UdpOverIpv4 | Carrier::UdpOverIpv6 => {
                Self { frames: 1, bits: carrier.frame_of(Octets(payload_octets)).bits().0 }
            }
            Carrier::TcpOverIpv4 | Carrier::TcpOverIpv6 => charge_of_parts(
                payload_octets,
                segment_octets(carrier, mtu),
                carrier.overhead().0 - around + TCP_TIME_OCTETS,
            ),
        }
    }
}

/// Octets of payload of a full TCP segment.
pub(crate) fn segment_octets(carrier: Carrier, mtu: u64) -> u64 {
    let header = carrier.overhead().0 - HEADER.0 - FCS.0 + TCP_TIME_OCTETS;
    mtu.saturating_sub(header).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn payloads_are_charged_as_the_frames_they_become() {
        let charge = |carrier, octets| {
            let FrameCharge { frames, bits } = FrameCharge::of(carrier, octets, 1500);
            (frames, bits / 8)
        };
        assert_eq!(charge(Carrier::Raw, 1), (1, 64));
        assert_eq!(charge(Carrier::Raw, 1500), (1, 1518));
        assert_eq!(charge(Carrier::UdpOverIpv4, 18), (1, 64));
        assert_eq!(charge(Carrier::UdpOverIpv4, 1472), (1, 1518));
        // 5008 octets in pieces of 1480, 1480, 1480 and 568, each with an IP header.
        assert_eq!(charge(Carrier::UdpOverIpv4, 5000), (4, 5008 + 4 * (18 + 20)));
        assert_eq!(charge(Carrier::UdpOverIpv4, 1473), (2, 1518 + 64)); // one octet is left for a second frame
        assert_eq!(charge(Carrier::UdpOverIpv4, 2 * 1480 - 8), (2, 2 * 1518));
        assert_eq!(charge(Carrier::UdpOverIpv6, 1452), (1, 1518));
        // 1508 octets in pieces of 1448 and 60 behind 40 of IPv6 and 8 that name the piece.
        assert_eq!(charge(Carrier::UdpOverIpv6, 1500), (2, 1508 + 2 * (18 + 48)));
        assert_eq!(charge(Carrier::TcpOverIpv4, 1448), (1, 1518));
        assert_eq!(charge(Carrier::TcpOverIpv4, 14_480), (10, 15_180));
    }

    proptest! {
        #[test]
        fn no_payload_is_charged_less_than_its_octets_and_the_least_around_them(
            octets in 0u64..70_000, mtu in 0u64..70_000, which in 0usize..5,
        ) {
            use Carrier::{Raw, TcpOverIpv4, TcpOverIpv6, UdpOverIpv4, UdpOverIpv6};
            let carrier = [Raw, UdpOverIpv4, UdpOverIpv6, TcpOverIpv4, TcpOverIpv6][which];
            let charge = FrameCharge::of(carrier, octets, mtu);
            prop_assert!(charge.frames >= 1 && charge.bits >= charge.frames * 512);
            prop_assert!(charge.bits / 8 >= octets + 18);
        }

        #[test]
        fn never_more_than_the_rate_times_the_time(
            per_s in 1u64..1 << 40, largest in 1u64..20_000, steps in proptest::collection::vec((0u64..1 << 32, 0u64..1 << 20), 1..50),
        ) {
            let mut bucket = TokenBucket::new(per_s, largest, 0);
            let (mut now_ns, mut passed) = (0, 0);
            for (step_ns, wanted) in steps {
                now_ns += step_ns;
                let amount = wanted.min(bucket.left_at(now_ns));
                bucket.take(amount);
                passed += u128::from(amount);
                prop_assert!(passed * u128::from(NS_PER_S) <= u128::from(now_ns) * u128::from(per_s));
            }
        }

        #[test]
        fn a_greedy_sender_gets_the_rate(per_s in 1000u64..1 << 30) {
            let mut bucket = TokenBucket::new(per_s, 1, 0);
            let mut passed = 0;
            for step in 0..=1000 {
                let left = bucket.left_at(step * 1_000_000);
                bucket.take(left);
                passed += left;
            }
            // One second's worth, less a fraction of one that is not yet whole.
            prop_assert!(passed <= per_s && passed + 1 >= per_s);
        }
    }
}
