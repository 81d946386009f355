//! Paths: what the connections between two addresses sent together.
//!
//! Connections that share a link share its rate, and none of them shows it. Their segments together
//! do: where they leave a full link, each follows the one before it as long after as the link takes
//! for it.

use crate::delays::DelayHistogram;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Paths that are followed; connections of others belong to none.
pub const MOST_PATHS: usize = 1024;

/// Segments with payload from one address to another.
#[derive(Clone, Debug, Default)]
pub struct DirectedTraffic {
    /// How many.
    pub segments: u64,
    /// Octets of their packets, as captures count them.
    pub packet_octets: u64,
    /// Octets of payload, those that were sent again too.
    pub octets: u64,
    /// When the first and the last were captured.
    pub times_ns: Option<(i64, i64)>,
    /// Times per octet from one segment to the next of the same length, in ps.
    pub spacing: DelayHistogram,
    last_octets: u32,
}

impl DirectedTraffic {
    fn segment(&mut self, now_ns: i64, packet_octets: u32, payload: u32) {
        let (first_ns, last_ns) = self.times_ns.unwrap_or((now_ns, now_ns));
        if self.segments > 0 && packet_octets == self.last_octets && packet_octets > 0 {
            let gap_ns = now_ns.max(last_ns).abs_diff(last_ns);
            self.spacing.record(gap_ns.saturating_mul(1000) / u64::from(packet_octets));
        }
        self.times_ns = Some((first_ns, last_ns.max(now_ns)));
        self.last_octets = packet_octets;
        self.segments += 1;
        self.packet_octets += u64::from(packet_octets);
        self.octets += u64::from(payload);
    }
}

/// What two addresses sent each other.
#[derive(Clone, Debug)]
pub struct AddressPath {
    /// Both addresses, the lower one first.
    pub addresses: [IpAddr; 2],
    /// Connections between them.
    pub connections: u64,
    /// From the first address to the second, and back.
    pub directions: [DirectedTraffic; 2],
}

/// All paths.
#[derive(Debug, Default)]
pub(crate) struct AddressPaths {
    indices: BTreeMap<[IpAddr; 2], u32>,
    paths: Vec<AddressPath>,
}

impl AddressPaths {
    /// The number of the path of another connection between two addresses, the lower one first;
    /// `None` if there are too many.
    pub(crate) fn meet(&mut self, addresses: [IpAddr; 2]) -> Option<u32> {
        if let Some(index) = self.indices.get(&addresses) {
            self.paths[*index as usize].connections += 1;
            return Some(*index);
        }
        if self.paths.len() >= MOST_PATHS {
            return None;
        }
        let index = u32::try_from(self.paths.len()).ok()?;
        self.indices.insert(addresses, index);
        self.paths.push(AddressPath { addresses, connections: 1, directions: Default::default() });
        Some(index)
    }

    /// Take in a segment with payload on a path, from its lower address or not.
    pub(crate) fn segment(
        &mut self,
        path: u32,
        is_low: bool,
        now_ns: i64,
        packet_octets: u32,
        payload: u32,
    ) {
        self.paths[path as usize].directions[usize::from(!is_low)].segment(
            now_ns,
            packet_octets,
            payload,
        );
    }

    /// All of them, the one with most payload first.
    pub(crate) fn sorted(self) -> Vec<AddressPath> {
        let mut paths = self.paths;
        paths.sort_by_key(|path| {
            std::cmp::Reverse(path.directions.iter().map(|traffic| traffic.octets).sum::<u64>())
        });
        paths
    }
}
