//! Connections whose peers have not yet authenticated: how many may be pending, and which is closed
//! to make room. Pure.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};

/// Connections that may wait at once: two of each host of a network of 254, so that one of them
/// with a single connection never has to go.
pub const MOST_PENDING: usize = 512;
/// Most connections of one address that may wait.
pub const MOST_OF_ONE: usize = 16;

/// Connections that wait, by where they come from, the oldest first.
#[derive(Debug, Default)]
pub struct PendingConnections {
    by_origin: BTreeMap<IpAddr, VecDeque<u64>>,
    count: usize,
    next: u64,
}

impl PendingConnections {
    /// A connection has come from `address`: its number, and that of the one that has to go for it,
    /// if any. An address that has as many as one may have makes room itself; when there are as
    /// many as may be at all, the address with most of them does, and of several such the one that
    /// has waited longest. So addresses with few connections are never put off by those with many,
    /// and of those with as many none is worse off.
    pub fn admit(&mut self, address: IpAddr) -> (u64, Option<u64>) {
        let origin = origin(address);
        let own = self.by_origin.get(&origin).map_or(0, VecDeque::len);
        let loser = if own >= MOST_OF_ONE {
            Some(origin)
        } else if self.count >= MOST_PENDING {
            self.by_origin
                .iter()
                .max_by_key(|(_, numbers)| (numbers.len(), Reverse(numbers.front().copied())))
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
            if let Ok(index) = numbers.binary_search(&number) {
                numbers.remove(index);
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
        let mut pending = PendingConnections::default();
        let (quiet, _) = pending.admit(ip("10.0.0.1"));
        let gone: Vec<u64> = (0..1000).filter_map(|_| pending.admit(ip("10.0.0.2")).1).collect();
        assert_eq!(gone.len(), 1000 - MOST_OF_ONE);
        assert!(!gone.contains(&quiet) && gone.is_sorted(), "the oldest goes first");
    }

    #[test]
    fn when_all_is_taken_the_address_with_most_makes_room() {
        let mut pending = PendingConnections::default();
        let (quiet, _) = pending.admit(ip("10.0.0.130"));
        // Three of each of 230 strangers at the lowest and highest addresses, over and over.
        for last in (1..=115u8).chain(140..=254).cycle().take(10 * MOST_PENDING) {
            for _ in 0..3 {
                let (_, gone) = pending.admit(IpAddr::from([10, 0, 0, last]));
                assert_ne!(gone, Some(quiet));
            }
        }
        assert_eq!(pending.count, MOST_PENDING);
    }

    #[test]
    fn of_addresses_with_as_many_connections_the_one_that_has_waited_longest_makes_room() {
        // Strangers at more addresses than may wait come over and over. One that comes among them,
        // at the lowest or the highest address, waits as long as they do.
        let stranger = |at: u32| IpAddr::from((0x0A01_0000 + at).to_be_bytes());
        for own in ["10.0.0.1", "10.2.0.1"] {
            let mut pending = PendingConnections::default();
            let mut strangers = (0..1024).cycle().map(stranger);
            for stranger in strangers.by_ref().take(3 * MOST_PENDING) {
                pending.admit(stranger);
            }
            let (number, _) = pending.admit(ip(own));
            let after = strangers.take_while(|stranger| pending.admit(*stranger).1 != Some(number));
            assert_eq!(after.count(), MOST_PENDING - 1, "{own}");
        }
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let mut pending = PendingConnections::default();
        let gone = (0..100u128)
            .filter_map(|host| pending.admit(Ipv6Addr::from_bits((0xfd00 << 112) | host).into()).1);
        assert_eq!(gone.count(), 100 - MOST_OF_ONE);
        assert_eq!(pending.admit(ip("fd01::1")).1, None);
        assert_eq!(origin(ip("::ffff:10.0.0.1")), ip("10.0.0.1"));
    }

    proptest! {
        #[test]
        fn no_more_are_pending_than_may_be_and_all_are_counted(steps in proptest::collection::vec((0u8..40, any::<bool>(), any::<prop::sample::Index>()), 1..600)) {
            let mut pending = PendingConnections::default();
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
