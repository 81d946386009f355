//! The last door before the network: nothing passes that the permit does not name.

use crate::consent::Permit;
use crate::leash::Leash;
use ethermeter_ethernet::{Carrier, Octets};
use ethermeter_live::port::{Address, Arrival, Port, PortCounters, Wait};
use ethermeter_live::{Error, Timeline};
use std::sync::atomic::{AtomicU64, Ordering};

const NS_PER_S: u64 = 1_000_000_000;
/// A flow may be ahead of its rate by what this time carries, so that a batch is not cut into single frames.
const BURST_NS: u64 = 2_000_000;

/// A rate as an allowance that grows with time and is used up by frames: it never lets more through, over any time, than the rate times that time and one
/// burst of 2 ms or one frame.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    per_s: u64,
    /// Parts of 1e-9 of what is counted, at most those of a burst.
    left: u128,
    most: u128,
    since_ns: u64,
}

impl Allowance {
    /// An allowance of `per_s` from `now_ns` on, with room for one item of `largest`.
    #[must_use]
    pub fn new(per_s: u64, largest: u64, now_ns: u64) -> Self {
        let burst = u128::from(per_s) * u128::from(BURST_NS);
        let most = burst.max(u128::from(largest) * u128::from(NS_PER_S));
        Self { per_s, left: most, most, since_ns: now_ns }
    }

    /// How much is left at `now_ns`.
    #[inline]
    pub fn left_at(&mut self, now_ns: u64) -> u64 {
        let grown = u128::from(now_ns.saturating_sub(self.since_ns)) * u128::from(self.per_s);
        self.left = self.most.min(self.left + grown);
        self.since_ns = self.since_ns.max(now_ns);
        u64::try_from(self.left / u128::from(NS_PER_S)).unwrap_or(u64::MAX)
    }

    /// Use some up: at most what is left.
    #[inline]
    pub fn take(&mut self, amount: u64) {
        self.left = self.left.saturating_sub(u128::from(amount) * u128::from(NS_PER_S));
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
    /// What may be sent; nothing without.
    pub permit: Option<Permit>,
    /// When the permit's duration begins.
    pub begin_ns: u64,
    /// What ends it all.
    pub leash: &'a Leash,
    /// The time.
    pub time: &'a T,
    /// Where to count.
    pub seen: &'a Seen,
}

/// A port that sends only what its permit allows.
pub struct Gate<'a, P, T> {
    port: P,
    conditions: Conditions<'a, T>,
    frames: Allowance,
    bits: Allowance,
    longest_bits: u64,
    held_back: u64,
}

impl<'a, P: Port, T: Timeline> Gate<'a, P, T> {
    /// A gate before `port`, which has been aimed at the permit's target.
    ///
    /// # Errors
    /// If the port cannot be aimed there.
    pub fn new(mut port: P, conditions: Conditions<'a, T>) -> Result<Self, Error> {
        let longest_bits = frame_bits(port.carrier(), port.longest_payload());
        let (bps, frames_per_s) =
            conditions.permit.map_or((0, 0), |permit| (permit.rate_bps, permit.rate_frames_per_s));
        if let Some(permit) = conditions.permit {
            port.aim(permit.target)?;
        }
        Ok(Self {
            port,
            frames: Allowance::new(frames_per_s, 1, conditions.begin_ns),
            bits: Allowance::new(bps, longest_bits, conditions.begin_ns),
            longest_bits,
            conditions,
            held_back: 0,
        })
    }

    /// How often frames had to wait because of the permit's rates.
    #[must_use]
    pub fn held_back(&self) -> u64 {
        self.held_back
    }

    /// Frames that may go out now.
    fn room(&mut self, now_ns: u64) -> usize {
        let Conditions { permit: Some(permit), begin_ns, leash, .. } = self.conditions else { return 0 };
        if leash.is_silent_at(now_ns) || now_ns < begin_ns || now_ns - begin_ns >= permit.duration_ns {
            return 0;
        }
        let by_bits = self.bits.left_at(now_ns) / self.longest_bits;
        let room = self.frames.left_at(now_ns).min(by_bits);
        self.held_back += u64::from(room == 0);
        usize::try_from(room).unwrap_or(usize::MAX)
    }
}

fn frame_bits(carrier: Carrier, payload_octets: usize) -> u64 {
    carrier.frame_of(Octets(payload_octets as u64)).bits().0
}

impl<P: Port, T: Timeline> Port for Gate<'_, P, T> {
    fn carrier(&self) -> Carrier {
        self.port.carrier()
    }

    fn longest_payload(&self) -> usize {
        self.port.longest_payload()
    }

    fn batch(&self) -> usize {
        self.port.batch()
    }

    fn aim(&mut self, at: Address) -> Result<(), Error> {
        match self.conditions.permit {
            Some(permit) if at == permit.target => self.port.aim(at),
            permit => Err(Error::Refused {
                what: "target",
                value: format!("{at:?}"),
                allowed: permit.map_or("none".into(), |permit| permit.target.to_string()),
            }),
        }
    }

    fn send<F: FnMut(usize, &mut [u8]) -> usize>(&mut self, count: usize, mut fill: F) -> Result<usize, Error> {
        let room = self.room(self.conditions.time.now_ns()).min(count).min(self.port.batch());
        if room == 0 {
            return Ok(0);
        }
        let carrier = self.port.carrier();
        // The port may fill more than it takes: what was taken is known only afterwards, so lengths are kept up to a batch.
        let mut lengths = [0u16; 64];
        let room = room.min(lengths.len());
        let taken = self.port.send(room, |index, octets| {
            let length = fill(index, octets);
            lengths[index] = u16::try_from(length).unwrap_or(u16::MAX);
            length
        })?;
        self.frames.take(taken as u64);
        self.bits.take(lengths[..taken].iter().map(|&length| frame_bits(carrier, usize::from(length))).sum());
        self.conditions.seen.sent.fetch_add(taken as u64, Ordering::Relaxed);
        Ok(taken)
    }

    fn receive<F: FnMut(&Arrival<'_>)>(&mut self, wait: Wait, take: F) -> Result<usize, Error> {
        let taken = self.port.receive(wait, take)?;
        self.conditions.seen.received.fetch_add(taken as u64, Ordering::Relaxed);
        Ok(taken)
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.port.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ethermeter_live::port::memory::{connected, MemoryPort, Verdict};
    use proptest::prelude::*;
    use std::cell::Cell;

    struct Hand(Cell<u64>);

    impl Timeline for Hand {
        fn now_ns(&self) -> u64 {
            self.0.get()
        }

        fn sleep_until(&self, at_ns: u64) {
            self.0.set(self.0.get().max(at_ns));
        }
    }

    const PERMIT: Permit = Permit {
        target: Address::Socket(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5000)),
        rate_bps: 8_000_000,
        rate_frames_per_s: 1000,
        duration_ns: NS_PER_S / 2,
    };
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    fn with_gate(permit: Option<Permit>, test: impl FnOnce(&mut Gate<'_, MemoryPort, Hand>, &Hand, &Leash)) {
        let (port, _other) = connected(|_| Verdict::Pass, usize::MAX);
        let (leash, time, seen) = (Leash::new(0), Hand(Cell::new(0)), Seen::default());
        let conditions = Conditions { permit, begin_ns: 100, leash: &leash, time: &time, seen: &seen };
        test(&mut Gate::new(port, conditions).expect("a gate"), &time, &leash);
    }

    fn sends(gate: &mut Gate<'_, MemoryPort, Hand>) -> usize {
        gate.send(1, |_, _| 46).expect("a port")
    }

    #[test]
    fn without_a_permit_nothing_goes_out() {
        with_gate(None, |gate, time, _| {
            time.sleep_until(200);
            assert_eq!(sends(gate), 0);
            assert!(gate.aim(PERMIT.target).is_err());
        });
    }

    #[test]
    fn nothing_goes_out_before_the_beginning_or_after_the_duration() {
        with_gate(Some(PERMIT), |gate, time, _| {
            let sent = [99, 100, 99 + NS_PER_S / 2, 100 + NS_PER_S / 2].map(|at_ns| {
                time.sleep_until(at_ns);
                sends(gate)
            });
            assert_eq!(sent, [0, 1, 1, 0]);
        });
    }

    #[test]
    fn nothing_goes_to_another_address() {
        with_gate(Some(PERMIT), |gate, _, _| {
            assert!(gate.aim(PERMIT.target).is_ok());
            let other = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5001);
            assert!(gate.aim(Address::Socket(other)).is_err());
        });
    }

    #[test]
    fn nothing_goes_out_after_a_stop_or_when_the_lease_has_lapsed() {
        with_gate(Some(PERMIT), |gate, time, leash| {
            time.sleep_until(200);
            assert_eq!(sends(gate), 1);
            leash.stop();
            assert_eq!(sends(gate), 0);
        });
        with_gate(Some(Permit { duration_ns: 10 * NS_PER_S, ..PERMIT }), |gate, time, leash| {
            time.sleep_until(crate::leash::LEASE_NS);
            assert_eq!(sends(gate), 0);
            assert!(leash.has_lapsed());
        });
    }

    proptest! {
        #[test]
        fn never_more_than_the_rate_and_a_burst(
            per_s in 1u64..1 << 40, largest in 1u64..20_000, steps in proptest::collection::vec((0u64..1 << 32, 0u64..1 << 20), 1..50),
        ) {
            let mut allowance = Allowance::new(per_s, largest, 0);
            let (mut now_ns, mut taken) = (0, 0);
            for (step_ns, wanted) in steps {
                now_ns += step_ns;
                let amount = wanted.min(allowance.left_at(now_ns));
                allowance.take(amount);
                taken += u128::from(amount);
                let burst = u128::from(per_s) * u128::from(BURST_NS);
                let most = u128::from(now_ns) * u128::from(per_s) + burst.max(u128::from(largest) * u128::from(NS_PER_S));
                prop_assert!(taken * u128::from(NS_PER_S) <= most);
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
            // One second's worth, less a fraction of one that is not yet whole, and the first burst.
            prop_assert!(taken >= per_s && taken <= per_s + (per_s / 500).max(1) + 1);
        }
    }
}
