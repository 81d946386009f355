//! Connections whose peers have not yet authenticated: how many may be pending, and which is closed
//! to make room. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};

/// Connections that may wait at once …
pub const MOST_PENDING: usize = 128;
/// … and those of one address.
pub const MOST_OF_ONE: usize = 16;

/// Connections that wait, by where they come from, the oldest first.
#[derive(Debug, Default)]
pub struct Pending {
    by_origin: BTreeMap<IpAddr, VecDeque<u64>>,
    count: usize,
    next: u64,
}

impl Pending {
    /// A connection has come from `address`: its number, and that of the one that has to go for it,
    /// if any. An address that has as many as one may have makes room itself; when there are as
    /// many as may be at all, the address with most of them does. So addresses with few connections
    /// are never put off by those with many.
    pub fn admit(&mut self, address: IpAddr) -> (u64, Option<u64>) {
        let origin = origin(address);
        let own = self.by_origin.get(&origin).map_or(0, VecDeque::len);
        let loser = if own >= MOST_OF_ONE {
            Some(origin)
        } else if self.count >= MOST_PENDING {
            self.by_origin
                .iter()
                .max_by_key(|(_, numbers)| numbers.len())
                .map(|(origin, _)| *origin)
        } else {
            None
        };
        let oldest = loser.and_then(|origin| self.by_origin.get(&origin)?.front().copied());
        if let Some(oldest) = oldest {
            self.leave(oldest);
        }
        let number = self.next;
        self.next += 1;
        self.count += 1;
        self.by_origin.entry(origin).or_default().push_back(number);
        (number, oldest)
    }

    /// A connection waits no more; nothing changes if it had to go already.
    pub fn leave(&mut self, number: u64) {
        let mut emptied = None;
        for (origin, numbers) in &mut self.by_origin {
            if let Ok(place) = numbers.binary_search(&number) {
                numbers.remove(place);
                self.count -= 1;
                emptied = numbers.is_empty().then_some(*origin);
                break;
            }
        }
        if let Some(origin) = emptied {
            self.by_origin.remove(&origin);
        }
    }
}

/// What counts as one address: one of IPv4, and of IPv6 the 64 bits of a network, for a host has
/// all the rest to itself.
fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn an_address_with_many_connections_makes_room_for_its_own_and_not_others_for_it() {
        let mut pending = Pending::default();
        let (quiet, _) = pending.admit(ip("10.0.0.1"));
        let gone: Vec<u64> = (0..1000).filter_map(|_| pending.admit(ip("10.0.0.2")).1).collect();
        assert_eq!(gone.len(), 1000 - MOST_OF_ONE);
        assert!(!gone.contains(&quiet) && gone.is_sorted(), "the oldest goes first");
    }

    #[test]
    fn when_all_is_taken_the_address_with_most_makes_room() {
        let mut pending = Pending::default();
        let (quiet, _) = pending.admit(ip("10.0.0.1"));
        for last in 2..=200u8 {
            for _ in 0..2 {
                let (_, gone) = pending.admit(IpAddr::from([10, 0, 1, last]));
                assert_ne!(gone, Some(quiet));
            }
        }
        assert_eq!(pending.count, MOST_PENDING);
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let mut pending = Pending::default();
        let gone = (0..100u128)
            .filter_map(|host| pending.admit(Ipv6Addr::from_bits((0xfd00 << 112) | host).into()).1);
        assert_eq!(gone.count(), 100 - MOST_OF_ONE);
        assert_eq!(pending.admit(ip("fd01::1")).1, None);
        assert_eq!(origin(ip("::ffff:10.0.0.1")), ip("10.0.0.1"));
    }

    proptest! {
        #[test]
        fn no_more_are_pending_than_may_be_and_all_are_counted(steps in proptest::collection::vec((0u8..40, any::<bool>(), any::<prop::sample::Index>()), 1..600)) {
            let mut pending = Pending::default();
            let mut there: Vec<u64> = Vec::new();
            for (last, is_leaving, which) in steps {
                if is_leaving && !there.is_empty() {
                    let number = there.remove(which.index(there.len()));
                    pending.leave(number);
                    pending.leave(number);
                } else {
                    let (number, gone) = pending.admit(IpAddr::from([10, 0, 0, last]));
                    there.retain(|other| Some(*other) != gone);
                    there.push(number);
                }
                prop_assert_eq!(pending.count, there.len());
                prop_assert!(there.len() <= MOST_PENDING);
                prop_assert!(pending.by_origin.values().all(|numbers| (1..=MOST_OF_ONE).contains(&numbers.len())));
            }
        }
    }
}
