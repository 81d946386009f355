//! Collision domains: half-duplex links, joined by hubs, with one set of constants and a round trip
//! within a slot.

use crate::fault::Faults;
use crate::nodes::{Kind, Link};
use crate::scenario::Scenario;
use std::collections::BTreeMap;

/// Slot time of 10 and 100 Mb/s: 512 bits (802.3-2022 § 4.4.2).
const SLOT_OCTETS: u64 = 64;

/// An end of a link: its number, and which of its two.
type Port = (usize, usize);

/// Add the faults of all collision domains; links are a forest.
pub(super) fn check(scenario: &Scenario, faults: &mut Faults) {
    let domains = Domains::new(scenario);
    let links = &scenario.links;
    let mut taken = vec![false; 2 * links.len()];
    for first in (0..links.len()).flat_map(|link| [(link, 0), (link, 1)]) {
        if !links[first.0].half_duplex || taken[2 * first.0 + first.1] || domains.is_hub(first) {
            continue;
        }
        let mut members: Vec<Port> =
            domains.heard_from(first).into_iter().map(|(port, _)| port).chain([first]).collect();
        members.sort_unstable();
        for &member in &members {
            taken[2 * member.0 + member.1] = true;
            domains.check_member(member, first.0, faults);
        }
    }
}

/// The links at each hub, by its name.
struct Domains<'s> {
    links: &'s [Link],
    hubs: BTreeMap<&'s str, (u64, Vec<Port>)>,
}

impl<'s> Domains<'s> {
    fn new(scenario: &'s Scenario) -> Self {
        let mut hubs = BTreeMap::new();
        for node in &scenario.nodes {
            if let Kind::Hub(hub) = node.kind {
                hubs.insert(node.name.as_str(), (hub.delay_ps, Vec::new()));
            }
        }
        for (number, link) in scenario.links.iter().enumerate() {
            for (side, end) in link.ends.iter().enumerate() {
                if let Some((_, ports)) = hubs.get_mut(end.node.as_str()) {
                    ports.push((number, side));
                }
            }
        }
        Self { links: &scenario.links, hubs }
    }

    fn node(&self, (link, side): Port) -> &str {
        &self.links[link].ends[side].node
    }

    fn is_hub(&self, port: Port) -> bool {
        self.hubs.contains_key(self.node(port))
    }

    /// Ports that hear what `port` sends on its half-duplex link, and how much later.
    fn heard_from(&self, port: Port) -> Vec<(Port, u64)> {
        let mut heard = Vec::new();
        let mut waiting = vec![(port, 0)];
        while let Some(((link, side), before)) = waiting.pop() {
            let after = before + self.links[link].delay_ps;
            let peer = (link, 1 - side);
            match self.hubs.get(self.node(peer)) {
                Some((delay_ps, ports)) => {
                    let others = ports.iter().filter(|port| **port != peer);
                    waiting.extend(others.map(|port| (*port, after + delay_ps)));
                }
                None => heard.push((peer, after)),
            }
        }
        heard
    }

    fn check_member(&self, member: Port, first: usize, faults: &mut Faults) {
        let (link, other) = (&self.links[first], &self.links[member.0]);
        let constants = |l: &Link| (l.ps_per_octet, l.preamble_octets, l.gap_octets);
        if constants(other) != constants(link)
            || link.gap_octets == 0
            || !link.ps_per_octet.is_multiple_of(8)
        {
            faults.add(
                &format!("links[{}]", member.0),
                "all links of a collision domain must have one rate (with an octet of a multiple of 8 ps), one preamble and one gap (not 0)",
            );
        }
        let slot_ps = SLOT_OCTETS * link.ps_per_octet;
        let heard = self.heard_from(member);
        let far_ps = heard.iter().map(|(_, after_ps)| *after_ps).max().unwrap_or(0);
        if 2 * far_ps > slot_ps {
            let key = format!("links[{}].delay_ps", member.0);
            let allowed = format!(
                "the round trip within a collision domain must be at most a slot of 512 bits, {slot_ps} ps"
            );
            faults.add_value(&key, 2 * far_ps, allowed);
        }
    }
}
