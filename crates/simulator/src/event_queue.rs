//! The events of a simulation, in the order in which they are taken.

use crate::time::Instant;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An event whose order among those of one instant is known.
pub trait Ranked {
    /// Its rank among the events of an instant, at most 15: the lowest is taken first.
    fn rank(&self) -> u8;

    /// What comes first among events of one rank, such as a port, at most a million, or `u32::MAX`
    /// for the last; those of one identity are taken in the order in which they were scheduled.
    fn identity(&self) -> u32 {
        0
    }
}

const RANK_BITS: u32 = 4;
const IDENTITY_BITS: u32 = 20;
const SERIAL_BITS: u32 = u64::BITS - RANK_BITS - IDENTITY_BITS;
/// Identities from this one on are one: they come last.
const LAST_IDENTITY: u32 = (1 << IDENTITY_BITS) - 1;

/// What orders events of an instant: rank, identity and serial number, so packed that one comparison
/// does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order(u64);

impl Order {
    /// The rank.
    #[inline]
    #[must_use]
    pub fn rank(self) -> u8 {
        (self.0 >> (IDENTITY_BITS + SERIAL_BITS)) as u8
    }

    /// The same of an event that was scheduled so many later.
    #[inline]
    #[must_use]
    pub fn after(self, events: u32) -> Self {
        Self(self.0 + u64::from(events))
    }
}

/// An event at its time.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: Instant,
    order: Order,
    event: E,
}

impl<E: Ranked> Ord for Entry<E> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| (entry.at, entry.order);
        key(self).cmp(&key(other))
    }
}

impl<E: Ranked> PartialOrd for Entry<E> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E: Ranked> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E: Ranked> Eq for Entry<E> {}

/// Events by time, rank, identity, and the order in which they were scheduled.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    serial: u64,
}

impl<E: Ranked + Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), serial: 0 }
    }
}

impl<E: Ranked + Copy> EventQueue<E> {
    /// Let an event happen at a time.
    #[inline]
    pub fn schedule(&mut self, at: Instant, event: E) {
        let order = self.reserve(event, 1);
        self.schedule_as(at, order, event);
    }

    /// The same in an order that was reserved.
    #[inline]
    pub(crate) fn schedule_as(&mut self, at: Instant, order: Order, event: E) {
        self.heap.push(Reverse(Entry { at, order, event }));
    }

    /// What orders an event that is kept elsewhere, and others like it, so many in all.
    #[inline]
    pub(crate) fn reserve(&mut self, event: E, events: usize) -> Order {
        let first = self.serial + 1;
        self.serial += events as u64;
        debug_assert!(event.rank() < 1 << RANK_BITS && self.serial < 1 << SERIAL_BITS);
        let identity = event.identity().min(LAST_IDENTITY);
        let order = (u64::from(event.rank()) << IDENTITY_BITS | u64::from(identity)) << SERIAL_BITS;
        Order(order | first)
    }

    /// When the first event is, and what orders it.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Instant, Order)> {
        self.heap.peek().map(|Reverse(entry)| (entry.at, entry.order))
    }

    /// The first event, with its time.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<(Instant, E)> {
        self.heap.peek().map(|Reverse(entry)| (entry.at, entry.event))
    }

    /// When the first event is.
    #[inline]
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// When the first event is, and its rank.
    #[inline]
    #[must_use]
    pub fn next_rank(&self) -> Option<(Instant, u8)> {
        self.next().map(|(at, order)| (at, order.rank()))
    }

    /// Take the first event, with its time.
    #[inline]
    pub fn take(&mut self) -> Option<(Instant, E)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }

    /// All events with their times, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Instant, E)> + '_ {
        self.heap.iter().map(|Reverse(entry)| (entry.at, entry.event))
    }

    /// Keep the events of which this holds.
    pub fn retain(&mut self, mut holds: impl FnMut(E) -> bool) {
        self.heap.retain(|Reverse(entry)| holds(entry.event));
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing happens any more.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Event(u8, u32, char);

    impl Ranked for Event {
        fn rank(&self) -> u8 {
            self.0
        }

        fn identity(&self) -> u32 {
            self.1
        }
    }

    #[test]
    fn events_come_by_time_rank_identity_and_the_order_in_which_they_were_scheduled() {
        let mut queue = EventQueue::default();
        for (at, event) in [
            (7, Event(0, 0, 'f')),
            (5, Event(2, 0, 'e')),
            (5, Event(1, 9, 'd')),
            (5, Event(1, 3, 'b')),
            (5, Event(1, 3, 'c')),
            (4, Event(9, 9, 'a')),
        ] {
            queue.schedule(Instant::from_ps(at), event);
        }
        let taken: String = std::iter::from_fn(|| queue.take()).map(|(_, event)| event.2).collect();
        assert_eq!(taken, "abcdef");
    }
}
