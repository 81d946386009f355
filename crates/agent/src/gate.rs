//! The last door before the network: nothing passes that the permit does not name.

use crate::consent::Permit;
use crate::leash::RoleLeash;
use ethermeter_ethernet::frame::{FCS, HEADER, IPV4_HEADER, IPV6_HEADER, SHORTEST, UDP_HEADER};
use ethermeter_ethernet::{Carrier, Octets};
use ethermeter_live::port::tcp::TcpInfo;
use ethermeter_live::port::{Address, Arrival, Port, PortCounters, Wait};
use ethermeter_live::{Error, Timeline};
use std::sync::atomic::{AtomicU64, Ordering};

const NS_PER_S: u64 = 1_000_000_000;
/// A flow may be ahead of its rate by what this time carries, so that a batch is not cut into
/// single frames.
const BURST_NS: u64 = 2_000_000;

/// A token bucket: it begins empty, so from its beginning on it never lets more through than the
/// rate times that time; and over any other time not more than that and one burst of 2 ms or one
/// frame.
#[derive(Debug)]
pub struct Allowance {
    per_s: u64,
    /// Parts of 1e-9 of what is counted, at most those of a burst; below zero after a charge for
    /// what has been sent already.
    left: i128,
    most: i128,
    since_ns: u64,
}

impl Allowance {
    /// An allowance of `per_s` from `now_ns` on, with room for one item of `largest`.
    #[must_use]
    pub fn new(per_s: u64, largest: u64, now_ns: u64) -> Self {
        let burst = i128::from(per_s) * i128::from(BURST_NS);
        let most = burst.max(i128::from(largest) * i128::from(NS_PER_S));
        Self { per_s, left: 0, most, since_ns: now_ns }
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

/// The account of one permit: what may pass now, charged with all that has passed. A permit has one
/// account, which one door holds, so the sum over all doors is what was granted.
#[derive(Debug)]
pub struct Toll {
    permit: Permit,
    begin_ns: u64,
    carrier: Carrier,
    /// Octets of the longest packet: those of the interface, fewer where TCP has found a path with
    /// less room.
    mtu: u64,
    frames: Allowance,
    bits: Allowance,
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

/// Octets of TCP's usual option, a time, with its padding (RFC 7323).
const TCP_TIME_OCTETS: u64 = 12;
/// Where nothing is known of an interface, its packets are taken for those of a common Ethernet.
const COMMON_MTU: u32 = 1500;

/// Frames and their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Frames.
    pub frames: u64,
    /// Their bits, destination address to FCS.
    pub bits: u64,
}

impl Charge {
    /// What a payload is on a wire: one frame, or as many as IP cuts a datagram into, or TCP what
    /// it is given.
    #[must_use]
    pub fn of(carrier: Carrier, payload_octets: u64, mtu: u64) -> Self {
        let around = HEADER.0 + FCS.0;
        let pieces = |octets: u64, room: u64, header: u64| {
            let (whole, rest) = (octets / room, octets % room);
            let frame = |data: u64| (around + header + data).max(SHORTEST.0);
            let last = if rest > 0 || whole == 0 { frame(rest) } else { 0 };
            Self { frames: whole + u64::from(last > 0), bits: 8 * (whole * frame(room) + last) }
        };
        // Pieces of a datagram begin at multiples of eight octets (RFC 791, RFC 8200); IPv6 names
        // them in a header of eight.
        let fragment = |header: u64| (mtu.saturating_sub(header) & !7).max(8);
        match carrier {
            Carrier::Raw => pieces(payload_octets, u64::MAX, 0),
            Carrier::UdpOverIpv4 if IPV4_HEADER.0 + UDP_HEADER.0 + payload_octets > mtu => {
                pieces(UDP_HEADER.0 + payload_octets, fragment(IPV4_HEADER.0), IPV4_HEADER.0)
            }
            Carrier::UdpOverIpv6 if IPV6_HEADER.0 + UDP_HEADER.0 + payload_octets > mtu => pieces(
                UDP_HEADER.0 + payload_octets,
                fragment(IPV6_HEADER.0 + 8),
                IPV6_HEADER.0 + 8,
            ),
            Carrier::UdpOverIpv4 | Carrier::UdpOverIpv6 => {
                Self { frames: 1, bits: carrier.frame_of(Octets(payload_octets)).bits().0 }
            }
            Carrier::TcpOverIpv4 | Carrier::TcpOverIpv6 => pieces(
                payload_octets,
                segment_octets(carrier, mtu),
                carrier.overhead().0 - around + TCP_TIME_OCTETS,
            ),
        }
    }
}

/// Octets of payload of a full TCP segment.
fn segment_octets(carrier: Carrier, mtu: u64) -> u64 {
    let header = carrier.overhead().0 - HEADER.0 - FCS.0 + TCP_TIME_OCTETS;
    mtu.saturating_sub(header).max(1)
}

impl Toll {
    /// Of `permit` from `begin_ns` on, for payloads of up to `longest_payload` octets.
    #[must_use]
    pub fn new(
        permit: Permit,
        carrier: Carrier,
        longest_payload: usize,
        mtu: Option<u32>,
        begin_ns: u64,
    ) -> Self {
        let mtu = u64::from(mtu.unwrap_or(COMMON_MTU));
        let largest = Charge::of(carrier, longest_payload as u64, mtu);
        Self {
            carrier,
            mtu,
            begin_ns,
            frames: Allowance::new(permit.rate_frames_per_s, largest.frames, begin_ns),
            bits: Allowance::new(permit.rate_bps, largest.bits, begin_ns),
            permit,
            sent_again: (0, 0),
            look_ns: 0,
        }
    }

    /// The same for full TCP segments.
    #[must_use]
    pub fn of_segments(permit: Permit, carrier: Carrier, mtu: Option<u32>, begin_ns: u64) -> Self {
        let segment = segment_octets(carrier, u64::from(mtu.unwrap_or(COMMON_MTU)));
        Self::new(permit, carrier, usize::try_from(segment).unwrap_or(usize::MAX), mtu, begin_ns)
    }

    /// What is permitted.
    #[must_use]
    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Whether the permit's time has begun and is not over.
    #[inline]
    #[must_use]
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
    #[must_use]
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
        let largest = Charge::of(self.carrier, longest_payload as u64, self.mtu);
        (self.bits.left_at(now_ns) / largest.bits).min(self.frames.left_at(now_ns) / largest.frames)
    }

    /// Charge a payload that has passed.
    #[inline]
    pub fn take(&mut self, payload_octets: usize) {
        let charge = Charge::of(self.carrier, payload_octets as u64, self.mtu);
        self.frames.take(charge.frames);
        self.bits.take(charge.bits);
    }

    /// Octets of payload of a full TCP segment.
    #[must_use]
    pub fn segment_octets(&self) -> u64 {
        segment_octets(self.carrier, self.mtu)
    }

    /// Octets of payload in full segments that are within the permit's rates, per second.
    #[must_use]
    pub fn payload_octets_per_s(&self) -> u64 {
        let segment = self.segment_octets();
        let charge = Charge::of(self.carrier, segment, self.mtu);
        let by_bits = u128::from(self.bits.per_s) * u128::from(segment) / u128::from(charge.bits);
        u64::try_from(by_bits).unwrap_or(u64::MAX).min(self.frames.per_s.saturating_mul(segment))
    }
}

/// What others may see of a role while it runs.
#[derive(Debug, Default)]
pub struct Seen {
    /// Frames sent.
    pub sent: AtomicU64,
    /// Frames that arrived.
    pub received: AtomicU64,
}

/// What a gate is for.
pub struct Conditions<'a, T> {
    /// What ends it all.
    pub leash: &'a RoleLeash,
    /// The time.
    pub time: &'a T,
    /// Where to count.
    pub seen: &'a Seen,
}

/// A port that sends only what its permit allows.
pub struct Gate<'a, P, T> {
    port: P,
    conditions: Conditions<'a, T>,
    toll: Option<Toll>,
    longest_payload: usize,
    held_back: u64,
}

impl<'a, P: Port, T: Timeline> Gate<'a, P, T> {
    /// A gate before `port` that lets through what `toll` allows; nothing without. The port is
    /// aimed at the permit's target.
    ///
    /// # Errors
    /// If the port cannot be aimed there.
    pub fn new(
        mut port: P,
        toll: Option<Toll>,
        conditions: Conditions<'a, T>,
    ) -> Result<Self, Error> {
        // A port may have more room, for what arrives.
        let permitted =
            toll.as_ref().map_or(0, |toll| longest_payload(port.carrier(), toll.permit()));
        let longest_payload = port.longest_payload().min(permitted);
        if let Some(toll) = &toll {
            port.aim(toll.permit().target)?;
        }
        Ok(Self { port, toll, longest_payload, conditions, held_back: 0 })
    }

    /// The only address that it sends to; `None` if it sends nothing.
    #[must_use]
    pub fn target(&self) -> Option<Address> {
        self.toll.as_ref().map(|toll| toll.permit().target)
    }

    /// The port behind it.
    pub fn port(&self) -> &P {
        &self.port
    }

    /// How often frames had to wait because of the permit's rates.
    #[must_use]
    pub fn held_back(&self) -> u64 {
        self.held_back
    }

    /// Frames that may go out now.
    fn room(&mut self, now_ns: u64) -> Result<usize, Error> {
        let Some(toll) = &mut self.toll else { return Ok(0) };
        if self.longest_payload == 0
            || self.conditions.leash.is_silent_at(now_ns)
            || !toll.is_in_time(now_ns)
        {
            return Ok(0);
        }
        if toll.is_due(now_ns) {
            match self.port.tcp()? {
                Some(info) => toll.follow(&info, now_ns),
                None => toll.look_ns = u64::MAX,
            }
        }
        let room = toll.room(self.longest_payload, now_ns);
        self.held_back += u64::from(room == 0);
        Ok(usize::try_from(room).unwrap_or(usize::MAX))
    }
}

/// Octets of the longest payload that a permit allows.
#[must_use]
pub fn longest_payload(carrier: Carrier, permit: &Permit) -> usize {
    let permitted = carrier
        .payload_of(Octets(permit.longest_frame_octets.into()))
        .map_or(0, |payload| payload.0);
    usize::try_from(permitted).unwrap_or(usize::MAX)
}

impl<P: Port, T: Timeline> Port for Gate<'_, P, T> {
    fn carrier(&self) -> Carrier {
        self.port.carrier()
    }

    fn longest_payload(&self) -> usize {
        self.longest_payload
    }

    fn batch(&self) -> usize {
        self.port.batch()
    }

    fn aim(&mut self, at: Address) -> Result<(), Error> {
        match self.target() {
            Some(target) if at == target => self.port.aim(at),
            target => Err(Error::Refused {
                what: "target",
                value: format!("{at:?}"),
                allowed: target.map_or("none".into(), |target| target.to_string()),
            }),
        }
    }

    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        let room = self.room(self.conditions.time.now_ns())?.min(count).min(self.port.batch());
        let Some(toll) = self.toll.as_mut().filter(|_| room > 0) else { return Ok(0) };
        // The port may fill more than it takes: what was taken is known only afterwards, so lengths
        // are kept up to a batch.
        let mut lengths = [0u16; 64];
        let longest = self.longest_payload;
        let room = room.min(lengths.len());
        let taken = self.port.send(room, |index, octets| {
            // Whoever fills has no more room than was permitted.
            let longest = longest.min(octets.len());
            let length = fill(index, &mut octets[..longest]).min(longest);
            lengths[index] = u16::try_from(length).unwrap_or(u16::MAX);
            length
        })?;
        // A message over TCP has its length before it.
        let before =
            if matches!(toll.carrier, Carrier::TcpOverIpv4 | Carrier::TcpOverIpv6) { 4 } else { 0 };
        for &length in &lengths[..taken] {
            toll.take(usize::from(length) + before);
        }
        self.conditions.seen.sent.fetch_add(taken as u64, Ordering::Relaxed);
        Ok(taken)
    }

    fn receive<F: FnMut(&Arrival<'_>)>(&mut self, wait: Wait, take: F) -> Result<usize, Error> {
        let taken = self.port.receive(wait, take)?;
        self.conditions.seen.received.fetch_add(taken as u64, Ordering::Relaxed);
        Ok(taken)
    }

    #[inline]
    fn is_clear(&mut self) -> Result<bool, Error> {
        self.port.is_clear()
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.port.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leash::{Leash, ReceiverLease, LEASE_NS};
    use ethermeter_live::port::memory::{connected, MemoryPort, Verdict};
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::sync::Arc;

    struct Hand(Cell<u64>);

    impl Timeline for Hand {
        fn now_ns(&self) -> u64 {
            self.0.get()
        }

        fn sleep_until(&self, at_ns: u64) {
            self.0.set(self.0.get().max(at_ns));
        }
    }

    fn permit() -> Permit {
        Permit {
            target: Address::Socket(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5000)),
            rate_bps: 8_000_000,
            rate_frames_per_s: 1000,
            longest_frame_octets: 200,
            duration_ns: NS_PER_S / 2,
            begin_before_ns: u64::MAX,
        }
    }

    /// What ends the roles of a test.
    struct Ends {
        experiment: Arc<Leash>,
        receiver: Arc<ReceiverLease>,
    }

    fn with_gate(
        permit: Option<Permit>,
        test: impl FnOnce(&mut Gate<'_, MemoryPort, Hand>, &Hand, &Ends),
    ) {
        let (port, _other) = connected(|_| Verdict::Pass, usize::MAX);
        let (time, seen) = (Hand(Cell::new(0)), Seen::default());
        let ends = Ends { experiment: Arc::new(Leash::new(0)), receiver: Arc::default() };
        ends.receiver.renew_until(u64::MAX);
        let leash = RoleLeash::new(Arc::clone(&ends.experiment), vec![Arc::clone(&ends.receiver)]);
        let conditions = Conditions { leash: &leash, time: &time, seen: &seen };
        let toll = permit.map(|permit| {
            let longest = longest_payload(port.carrier(), &permit).min(port.longest_payload());
            Toll::new(permit, port.carrier(), longest, None, BEGIN_NS)
        });
        test(&mut Gate::new(port, toll, conditions).expect("a gate"), &time, &ends);
    }

    const BEGIN_NS: u64 = 100;
    /// After this, a frame of 200 octets is within 8 Mb/s and 1000 frames/s.
    const FRAME_NS: u64 = 1_000_000;

    fn sends(gate: &mut Gate<'_, MemoryPort, Hand>) -> usize {
        gate.send(1, |_, _| 46).expect("a port")
    }

    #[test]
    fn without_a_permit_nothing_goes_out() {
        with_gate(None, |gate, time, _| {
            time.sleep_until(BEGIN_NS + FRAME_NS);
            assert_eq!(sends(gate), 0);
            assert!(gate.aim(permit().target).is_err());
        });
    }

    #[test]
    fn nothing_goes_out_before_the_beginning_or_after_the_duration() {
        with_gate(Some(permit()), |gate, time, _| {
            let end_ns = BEGIN_NS + NS_PER_S / 2;
            let sent =
                [BEGIN_NS - 1, BEGIN_NS, BEGIN_NS + FRAME_NS, end_ns - 1, end_ns].map(|at_ns| {
                    time.sleep_until(at_ns);
                    sends(gate)
                });
            // The bucket is empty in the beginning.
            assert_eq!(sent, [0, 0, 1, 1, 0]);
        });
    }

    #[test]
    fn all_that_goes_out_is_within_the_rates_times_the_duration() {
        // 8 Mb/s allow 7812 frames of 64 octets in half a second, 1000 frames/s 500 of them.
        for (rate_frames_per_s, expected) in [(1000, 500), (1_000_000, 4_000_000 / 512)] {
            with_gate(Some(Permit { rate_frames_per_s, ..permit() }), |gate, time, _| {
                let mut sent = 0;
                for step in 0..60_000 {
                    time.sleep_until(BEGIN_NS + step * 10_000);
                    sent += gate.send(64, |_, _| 46).expect("a port");
                }
                assert!(sent <= expected && sent + 5 >= expected, "{sent} of {expected}");
            });
        }
    }

    #[test]
    fn nothing_goes_out_that_is_longer_than_permitted() {
        with_gate(Some(permit()), |gate, time, _| {
            time.sleep_until(BEGIN_NS + FRAME_NS);
            // A raw frame of 200 octets has 182 of payload, though the port has room for more.
            assert_eq!((gate.longest_payload(), gate.port().longest_payload()), (182, 1500));
            let mut room = 0;
            let greedy = |_: usize, octets: &mut [u8]| {
                room = octets.len();
                1400
            };
            assert_eq!(gate.send(1, greedy).expect("a port"), 1);
            assert_eq!(room, 182);
        });
        with_gate(Some(Permit { longest_frame_octets: 0, ..permit() }), |gate, time, _| {
            time.sleep_until(BEGIN_NS + FRAME_NS);
            assert_eq!(sends(gate), 0, "octets in bulk are no frames");
        });
    }

    #[test]
    fn nothing_goes_to_another_address() {
        with_gate(Some(permit()), |gate, _, _| {
            assert!(gate.aim(permit().target).is_ok());
            let other = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5001);
            assert!(gate.aim(Address::Socket(other)).is_err());
        });
    }

    #[test]
    fn nothing_goes_out_after_a_stop_or_when_a_lease_has_lapsed() {
        let long = || Permit { duration_ns: 10 * NS_PER_S, ..permit() };
        with_gate(Some(long()), |gate, time, ends| {
            time.sleep_until(BEGIN_NS + FRAME_NS);
            assert_eq!(sends(gate), 1);
            ends.experiment.stop();
            time.sleep_until(BEGIN_NS + 2 * FRAME_NS);
            assert_eq!(sends(gate), 0);
        });
        with_gate(Some(long()), |gate, time, ends| {
            time.sleep_until(LEASE_NS);
            assert_eq!(sends(gate), 0);
            assert!(ends.experiment.has_lapsed());
        });
    }

    #[test]
    fn nothing_goes_out_when_the_receiver_does_not_renew() {
        let (port, _other) = connected(|_| Verdict::Pass, usize::MAX);
        let (time, seen, receiver) =
            (Hand(Cell::new(0)), Seen::default(), Arc::new(ReceiverLease::default()));
        let leash = RoleLeash::new(Arc::new(Leash::new(0)), vec![Arc::clone(&receiver)]);
        receiver.renew_until(BEGIN_NS + 2 * FRAME_NS);
        let toll = Toll::new(permit(), Carrier::Raw, 182, None, BEGIN_NS);
        let mut gate =
            Gate::new(port, Some(toll), Conditions { leash: &leash, time: &time, seen: &seen })
                .expect("a gate");
        let sent = [1, 2, 3].map(|frames| {
            time.sleep_until(BEGIN_NS + frames * FRAME_NS);
            sends(&mut gate)
        });
        assert_eq!(sent, [1, 0, 0]);
    }

    #[test]
    fn what_tcp_sends_again_is_charged_and_its_segments_are_as_long_as_the_path_allows() {
        let info = |sent_again, sent_again_octets, segment_octets| TcpInfo {
            sent_again,
            sent_again_octets,
            segment_octets,
            ..TcpInfo::default()
        };
        let bulk = Permit { longest_frame_octets: 0, rate_frames_per_s: 1_000_000, ..permit() };
        let mut toll = Toll::of_segments(bulk, Carrier::TcpOverIpv4, None, 0);
        let (now_ns, segment) = (100 * FRAME_NS, 1448);
        assert_eq!(toll.room(segment, now_ns), 1); // 8 Mb/s carry 1.3 full frames in 2 ms
        toll.follow(&info(10, 14_480, 1448), now_ns);
        // Ten frames of 1518 octets are 121 440 bits; the bucket had 16 000.
        let due_ns = now_ns + (121_440 - 16_000 + 12_144) / 8 * 1000;
        assert_eq!((toll.room(segment, due_ns - 1), toll.room(segment, due_ns)), (0, 1));
        toll.follow(&info(10, 14_480, 500), due_ns);
        assert_eq!(toll.segment_octets(), 500);
        let before = toll.frames.left_at(due_ns);
        toll.take(1448);
        assert_eq!(before - toll.frames.left_at(due_ns), 3);
    }

    #[test]
    fn payloads_are_charged_as_the_frames_they_become() {
        let charge = |carrier, octets| {
            let Charge { frames, bits } = Charge::of(carrier, octets, 1500);
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
            let charge = Charge::of(carrier, octets, mtu);
            prop_assert!(charge.frames >= 1 && charge.bits >= charge.frames * 512);
            prop_assert!(charge.bits / 8 >= octets + 18);
        }

        #[test]
        fn never_more_than_the_rate_times_the_time(
            per_s in 1u64..1 << 40, largest in 1u64..20_000, steps in proptest::collection::vec((0u64..1 << 32, 0u64..1 << 20), 1..50),
        ) {
            let mut allowance = Allowance::new(per_s, largest, 0);
            let (mut now_ns, mut taken) = (0, 0);
            for (step_ns, wanted) in steps {
                now_ns += step_ns;
                let amount = wanted.min(allowance.left_at(now_ns));
                allowance.take(amount);
                taken += u128::from(amount);
                prop_assert!(taken * u128::from(NS_PER_S) <= u128::from(now_ns) * u128::from(per_s));
            }
        }

        #[test]
        fn a_greedy_sender_gets_the_rate(per_s in 1000u64..1 << 30) {
            let mut allowance = Allowance::new(per_s, 1, 0);
            let mut taken = 0;
            for step in 0..=1000 {
                let left = allowance.left_at(step * 1_000_000);
                allowance.take(left);
                taken += left;
            }
            // One second's worth, less a fraction of one that is not yet whole.
            prop_assert!(taken <= per_s && taken + 1 >= per_s);
        }
    }
}
