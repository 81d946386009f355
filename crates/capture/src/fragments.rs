//! IP packets in fragments: one packet each, once all of its fragments were captured.

use crate::noted::What;
use crate::packet::{Fragment, MOST_PAYLOAD};
use crate::recent::Recent;
use std::net::IpAddr;

/// Packets whose fragments are awaited at a time; of more, the one that was met longest ago goes.
const MOST_PENDING: usize = 1024;
/// A receiver gives up a packet whose fragments are not there after this time (Linux; RFC 8200,
/// section 4.5, has 60 s); then identifications may be used again.
const PATIENCE_NS: i64 = 30_000_000_000;

/// What the fragments of a packet have in common (RFC 791, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    addresses: (IpAddr, IpAddr),
    identification: u32,
    protocol: u8,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    since_ns: i64,
    /// Octets of contents that arrived.
    arrived: u64,
    /// Octets of all, from the last fragment.
    whole: Option<u64>,
    /// The first fragment, and its octets.
    first: Option<(What, u32)>,
}

/// Packets whose fragments are put together.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    pending: Recent<Key, Pending>,
    whole: u64,
    incomplete: u64,
}

impl Fragments {
    /// Take in a fragment, captured at `now_ns`; `what` is known of the first. Returns the packet
    /// with which it is complete.
    pub(crate) fn join(
        &mut self,
        now_ns: i64,
        addresses: (IpAddr, IpAddr),
        fragment: &Fragment,
        what: What,
    ) -> Option<What> {
        let Fragment { identification, protocol, offset, octets, has_more } = *fragment;
        let key = Key { addresses, identification, protocol };
        let hash = self.pending.hash(&key);
        let new = Pending { since_ns: now_ns, arrived: 0, whole: None, first: None };
        let pending = self.pending.meet(&key, hash, || new);
        if now_ns.saturating_sub(pending.since_ns) > PATIENCE_NS {
            *pending = new;
            self.incomplete += 1;
        }
        pending.arrived += u64::from(octets);
        if !has_more {
            pending.whole = Some(u64::from(offset) + u64::from(octets));
        }
        if offset == 0 {
            pending.first = Some((what, octets));
        }
        let (first, whole, arrived) = (pending.first, pending.whole, pending.arrived);
        if self.pending.len() > MOST_PENDING && self.pending.take_oldest().is_some() {
            self.incomplete += 1;
        }
        let ((what, in_first), whole) = (first?, whole?);
        if arrived < whole {
            return None;
        }
        self.pending.take(&key, hash);
        self.whole += 1;
        let others = u32::try_from(whole.saturating_sub(u64::from(in_first))).unwrap_or(u32::MAX);
        let of_all = |payload: u32| payload.saturating_add(others).min(MOST_PAYLOAD);
        Some(match what {
            What::Segment(pair, is_low, tcp, payload) => {
                What::Segment(pair, is_low, tcp, of_all(payload))
            }
            What::Datagram(key, number, payload) => What::Datagram(key, number, of_all(payload)),
            What::Other(other) => What::Other(other),
        })
    }

    /// How many packets were put together, and how many lack fragments.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.whole, self.incomplete + self.pending.len() as u64)
    }
}
