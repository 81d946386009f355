//! Policing of what an agent sends: a permit with its token buckets. Nothing passes that the permit
//! does not name.

use super::grant::Permit;
use super::token_bucket::{FrameCharge, TCP_TIME_OCTETS, TokenBucket, segment_octets};
use ethermeter_ethernet::frame::{FCS, HEADER};
use ethermeter_ethernet::{Carrier, Octets};
use ethermeter_net::port::tcp_info::TcpInfo;

/// The token buckets of one permit, charged with all that has passed. A permit has one policer,
/// which one port holds, so the sum over all ports is what was granted.
#[derive(Debug)]
pub struct Policer {
    permit: Permit,
    begin_ns: u64,
    carrier: Carrier,
    /// Octets of the longest packet: those of the interface, fewer where TCP has found a path with
    /// less room.
    mtu: u64,
    frames: TokenBucket,
    bits: TokenBucket,
    /// Of TCP: segments and octets that it had sent again when it was last asked, and when to ask
    /// next.
    sent_again: (u64, u64),
    look_ns: u64,
}

/// How often TCP is asked what it has sent again.
const LOOK_NS: u64 = 1_000_000;
/// The first segment of a connection has twenty octets of options, eight more than others (RFC
/// 7323).
const OPENING_AS_PAYLOAD: usize = 8;

/// Where nothing is known of an interface, its packets are taken for those of a common Ethernet.
const COMMON_MTU: u32 = 1500;

impl Policer {
    /// Of `permit` from `begin_ns` on, for payloads of up to `longest_payload` octets.
    pub fn new(
        permit: Permit,
        carrier: Carrier,
        longest_payload: usize,
        mtu: Option<u32>,
        begin_ns: u64,
    ) -> Self {
        let mtu = u64::from(mtu.unwrap_or(COMMON_MTU));
        let largest = FrameCharge::of(carrier, longest_payload as u64, mtu);
        Self {
            carrier,
            mtu,
            begin_ns,
            frames: TokenBucket::new(permit.rate_frames_per_s, largest.frames, begin_ns),
            bits: TokenBucket::new(permit.rate_bps, largest.bits, begin_ns),
            permit,
            sent_again: (0, 0),
            look_ns: if carrier.is_tcp() { 0 } else { u64::MAX },
        }
    }

    /// A policer of full TCP segments.
    pub fn of_segments(permit: Permit, carrier: Carrier, mtu: Option<u32>, begin_ns: u64) -> Self {
        let segment = segment_octets(carrier, u64::from(mtu.unwrap_or(COMMON_MTU)));
        Self::new(permit, carrier, usize::try_from(segment).unwrap_or(usize::MAX), mtu, begin_ns)
    }

    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Whether the permit's time has begun and is not over.
    #[inline]
    pub fn is_in_time(&self, now_ns: u64) -> bool {
        now_ns >= self.begin_ns && now_ns - self.begin_ns < self.permit.duration_ns
    }

    /// Whether a connection may be opened at `now_ns`; if so, the attempt is charged.
    pub fn take_opening(&mut self, now_ns: u64) -> bool {
        let has_room = self.room(OPENING_AS_PAYLOAD, now_ns) > 0;
        if has_room {
            self.take(OPENING_AS_PAYLOAD);
        }
        has_room
    }

    /// Whether TCP is to be asked again what it has sent again.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.look_ns
    }

    /// Charge what TCP has sent again, and cut payloads into segments as it does.
    pub fn follow(&mut self, info: &TcpInfo, now_ns: u64) {
        self.look_ns = now_ns.saturating_add(LOOK_NS);
        let around = self.carrier.overhead().0 + TCP_TIME_OCTETS;
        let (segments, octets) = (u64::from(info.sent_again), info.sent_again_octets);
        let frames = segments.saturating_sub(self.sent_again.0);
        self.frames.take(frames);
        self.bits.take(8 * (octets.saturating_sub(self.sent_again.1) + frames * around));
        self.sent_again = (segments, octets);
        if info.segment_octets > 0 {
            self.mtu = self.mtu.min(u64::from(info.segment_octets) + around - HEADER.0 - FCS.0);
        }
    }

    /// How many payloads of up to so many octets may pass at `now_ns`.
    #[inline]
    pub fn room(&mut self, longest_payload: usize, now_ns: u64) -> u64 {
        if !self.is_in_time(now_ns) {
            return 0;
        }
        let largest = FrameCharge::of(self.carrier, longest_payload as u64, self.mtu);
        (self.bits.left_at(now_ns) / largest.bits).min(self.frames.left_at(now_ns) / largest.frames)
    }

    /// Charge a payload that has passed.
    #[inline]
    pub fn take(&mut self, payload_octets: usize) {
        let charge = FrameCharge::of(self.carrier, payload_octets as u64, self.mtu);
        self.frames.take(charge.frames);
        self.bits.take(charge.bits);
    }

    /// The frames of a payload of so many octets.
    pub fn frames_of(&self) -> impl Fn(usize) -> u64 + use<> {
        let (carrier, mtu) = (self.carrier, self.mtu);
        move |payload_octets| FrameCharge::of(carrier, payload_octets as u64, mtu).frames
    }

    /// Octets of payload of a full TCP segment.
    pub fn segment_octets(&self) -> u64 {
        segment_octets(self.carrier, self.mtu)
    }

    /// Octets of payload in full segments that are within the permit's rates, per second.
    pub fn payload_octets_per_s(&self) -> u64 {
        let segment = self.segment_octets();
        let charge = FrameCharge::of(self.carrier, segment, self.mtu);
        let by_bits = u128::from(self.bits.per_s()) * u128::from(segment) / u128::from(charge.bits);
        u64::try_from(by_bits).unwrap_or(u64::MAX).min(self.frames.per_s().saturating_mul(segment))
    }
}

/// Octets of the longest payload that a permit allows.
pub fn longest_payload(carrier: Carrier, permit: &Permit) -> usize {
    let permitted = carrier
        .payload_of(Octets(permit.longest_frame_octets.into()))
        .map_or(0, |payload| payload.0);
    usize::try_from(permitted).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ethermeter_net::port::StationAddress;
    use std::net::{Ipv4Addr, SocketAddr};

    const MS: u64 = 1_000_000;

    #[test]
    fn what_tcp_sends_again_is_charged_and_its_segments_are_as_long_as_the_path_allows() {
        let info = |sent_again, sent_again_octets, segment_octets| TcpInfo {
            sent_again,
            sent_again_octets,
            segment_octets,
            ..TcpInfo::default()
        };
        let bulk = Permit {
            target: StationAddress::Socket(SocketAddr::from((Ipv4Addr::LOCALHOST, 5000))),
            rate_bps: 8_000_000,
            rate_frames_per_s: 1_000_000,
            longest_frame_octets: 0,
            duration_ns: 500 * MS,
            begin_before_ns: u64::MAX,
        };
        let mut policer = Policer::of_segments(bulk, Carrier::TcpOverIpv4, None, 0);
        let (now_ns, segment) = (100 * MS, 1448);
        assert_eq!(policer.room(segment, now_ns), 1); // 8 Mb/s carry 1.3 full frames in 2 ms
        policer.follow(&info(10, 14_480, 1448), now_ns);
        // Ten frames of 1518 octets are 121 440 bits; the bucket had 16 000.
        let due_ns = now_ns + (121_440 - 16_000 + 12_144) / 8 * 1000;
        assert_eq!((policer.room(segment, due_ns - 1), policer.room(segment, due_ns)), (0, 1));
        policer.follow(&info(10, 14_480, 500), due_ns);
        assert_eq!(policer.segment_octets(), 500);
        let before = policer.frames.left_at(due_ns);
        policer.take(1448);
        assert_eq!(before - policer.frames.left_at(due_ns), 3);
    }
}
