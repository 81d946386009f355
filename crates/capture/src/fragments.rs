//! IP packets in fragments: one packet each, once all of its fragments were captured.

use crate::packet::{IpFragment, MOST_PAYLOAD};
use crate::recent::RecentTable;
use crate::summary::PacketKind;
use std::net::IpAddr;

/// Packets whose fragments are awaited at a time; of more, the one that was met longest ago goes.
const MOST_PENDING: usize = 1024;
/// A receiver gives up a packet whose fragments are not there after this time (Linux; RFC 8200,
/// section 4.5, has 60 s); then identifications may be used again.
const REASSEMBLY_TIMEOUT_NS: i64 = 30_000_000_000;

/// What the fragments of a packet have in common (RFC 791, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FragmentKey {
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
    complete: Option<u64>,
    /// The first fragment, and its octets.
    first: Option<(PacketKind, u32)>,
}

/// Packets whose fragments are put together.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    pending: RecentTable<FragmentKey, Pending>,
    complete: u64,
    incomplete: u64,
}

impl Reassembly {
    /// Take in a fragment, captured at `now_ns`; `kind` is known of the first. Returns the packet
    /// with which it is complete.
    pub(crate) fn join(
        &mut self,
        now_ns: i64,
        addresses: (IpAddr, IpAddr),
        fragment: &IpFragment,
        kind: PacketKind,
    ) -> Option<PacketKind> {
        let IpFragment { identification, protocol, offset, octets, has_more } = *fragment;
        let key = FragmentKey { addresses, identification, protocol };
        let hash = self.pending.hash(&key);
        let new = Pending { since_ns: now_ns, arrived: 0, complete: None, first: None };
        let pending = self.pending.meet(&key, hash, || new);
        if now_ns.saturating_sub(pending.since_ns) > REASSEMBLY_TIMEOUT_NS {
            *pending = new;
            self.incomplete += 1;
        }
        pending.arrived += u64::from(octets);
        if !has_more {
            pending.complete = Some(u64::from(offset) + u64::from(octets));
        }
        if offset == 0 {
            pending.first = Some((kind, octets));
        }
        let (first, complete, arrived) = (pending.first, pending.complete, pending.arrived);
        if self.pending.len() > MOST_PENDING && self.pending.take_oldest().is_some() {
            self.incomplete += 1;
        }
        let ((kind, in_first), complete) = (first?, complete?);
        if arrived < complete {
            return None;
        }
        self.pending.take(&key, hash);
        self.complete += 1;
        let rest = u32::try_from(complete.saturating_sub(u64::from(in_first))).unwrap_or(u32::MAX);
        let of_all = |payload: u32| payload.saturating_add(rest).min(MOST_PAYLOAD);
        Some(match kind {
            PacketKind::Segment(pair, is_low, tcp, payload) => {
                PacketKind::Segment(pair, is_low, tcp, of_all(payload))
            }
            PacketKind::Datagram(key, number, payload) => {
                PacketKind::Datagram(key, number, of_all(payload))
            }
            PacketKind::Other(other) => PacketKind::Other(other),
        })
    }

    /// How many packets were put together, and how many lack fragments.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.complete, self.incomplete + self.pending.len() as u64)
    }
}
