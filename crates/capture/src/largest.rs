//! The largest of what is finished, listed; of the others their sums.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Connections, and flows, that are described one by one.
pub const MOST_LISTED: usize = 1000;

/// Something that is finished, or that the capture ended in the middle of.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    /// Its number among all of its kind, in the order of their first packets, from 1 on.
    pub number: u64,
    /// Number of its first packet in the file, from 1 on.
    pub first_packet: u64,
    /// Whether it was evicted.
    pub is_evicted: bool,
    /// What it is.
    pub what: T,
}

/// Sums of the unlisted ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// How many.
    pub count: u64,
    /// Their packets.
    pub packets: u64,
    /// Their octets of payload.
    pub octets: u64,
}

/// The largest of what is finished.
#[derive(Debug)]
pub(crate) struct Largest<T> {
    heap: BinaryHeap<Ranked<T>>,
    rest: Rest,
    evicted: u64,
}

#[derive(Debug)]
struct Ranked<T> {
    rank: Reverse<(u64, Reverse<u64>)>,
    packets: u64,
    listed: Box<Listed<T>>,
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<T> Eq for Ranked<T> {}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl<T> Default for Largest<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), rest: Rest::default(), evicted: 0 }
    }
}

impl<T> Largest<T> {
    /// Add something finished, of so many packets and octets of payload.
    pub(crate) fn add(&mut self, listed: Listed<T>, packets: u64, octets: u64) {
        self.evicted += u64::from(listed.is_evicted);
        self.heap.push(Ranked {
            rank: Reverse((octets, Reverse(listed.number))),
            packets,
            listed: Box::new(listed),
        });
        if self.heap.len() > MOST_LISTED
            && let Some(least) = self.heap.pop()
        {
            self.rest.count += 1;
            self.rest.packets += least.packets;
            self.rest.octets += least.rank.0.0;
        }
    }

    /// From the largest to the smallest; of the same size, the first first.
    pub(crate) fn sorted(self) -> (Vec<Listed<T>>, Rest, u64) {
        let listed = self.heap.into_sorted_vec().into_iter().map(|ranked| *ranked.listed).collect();
        (listed, self.rest, self.evicted)
    }
}
