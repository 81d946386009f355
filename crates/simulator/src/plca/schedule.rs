//! The cycle of a regular bus, in picoseconds: the order of its opportunities, and by how much the
//! nodes hear them later than one another.
//!
//! A bus is regular if every node takes part in PLCA as configured by the clause, and every signal
//! is heard by all before the next begins; then what the machines of the clause do follows from the
//! begin of each opportunity, and [`super::cycles`] calculates it.

use super::compiled::{CompiledBus, CompiledPlca, Node};
use super::timers::Timer;
use crate::identity::{PositionId, StationId};
use crate::medium::compiled::CompiledMedium;
use crate::time::Span;
use ethermeter_ethernet::units::Bits;

/// Cycles of a regular bus.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Opportunities of a cycle.
    pub opportunities: usize,
    /// The node that sends beacons.
    pub coordinator: StationId,
    /// `to_timer`.
    pub opportunity: Span,
    /// `beacon_timer`.
    pub beacon: Span,
    /// Delay line.
    pub hold: Span,
    /// `pending_timer`.
    pub pending: Span,
    /// `commit_timer`.
    pub commit: Span,
    /// From the end of what a node sends to the begin of its next opportunity.
    pub release: Span,
    /// From what a node sends to carrier at another, propagation aside.
    pub carrier_on: Span,
    /// From the end of what a node sends to the end of carrier at another, propagation aside.
    pub carrier_off: Span,
    /// Preamble of a frame.
    pub preamble: Span,
    /// Jam of the MAC.
    pub jam: Span,
    /// What follows a frame on the line.
    pub delimiter: Span,
    /// The gap of the MAC.
    pub gap: Span,
    /// Its second part.
    pub gap_part2: Span,
    /// Length of a cycle without frames.
    pub empty_cycle: Span,
    /// A length that no cycle exceeds, from the end of a beacon to the end of the next.
    pub longest_cycle: Span,
    /// The largest propagation.
    pub reach: Span,
    /// By opportunity: its owner.
    owners: Vec<Option<StationId>>,
    /// By node: its opportunities.
    pub ids: Vec<Vec<usize>>,
    /// By node: frames that may follow the first of an opportunity.
    pub burst_counts: Vec<u32>,
    /// By node: `burst_timer`.
    pub bursts: Vec<Span>,
    /// Propagation, row by row; from a node to itself 0.
    delays: Vec<Span>,
}

impl Schedule {
    /// The cycles of a bus, if it is regular.
    #[must_use]
    pub fn new(bus: &CompiledBus) -> Option<Self> {
        let lengths = |node| bus.segment.group(node).flow.frames.range_bits();
        Self::on(&bus.segment.medium, &bus.plca, lengths)
    }

    /// The same of a medium with PLCA, whose nodes have frames of at least and at most so many bits.
    pub(crate) fn on(
        medium: &CompiledMedium,
        plca: &CompiledPlca,
        lengths: impl Fn(StationId) -> (u64, u64),
    ) -> Option<Self> {
        let nodes = &plca.nodes;
        let with_beacons = |node: &Node| node.parameters.ids.contains(&0);
        let coordinator = StationId::new(nodes.iter().position(with_beacons)?);
        let first = &nodes[coordinator];
        let opportunities = usize::from(first.parameters.node_count);
        let opportunity = first.durations[Timer::Opportunity as usize];
        let is_like_first =
            |node: &Node| node.durations[Timer::Opportunity as usize] == opportunity;
        let is_on = medium.switches.iter().all(|switches| !switches.access.is_empty());
        let is_standard = !medium.jams_at_once && !plca.gap_after_backoff;
        let has_waits = medium.gaps.iter().any(|gap| gap.length != medium.gap);
        let is_usual = nodes.iter().all(is_like_first)
            && is_on
            && !has_waits
            && is_standard
            && medium.has_one_jam();
        if !is_usual || opportunities > 254 {
            return None;
        }
        let duration = |timer: Timer| first.durations[timer as usize];
        let beacon = duration(Timer::Beacon);
        let phy = &medium.phy;
        let release = phy.transmit + phy.carrier_off;
        let mut schedule = Self {
            opportunities,
            coordinator,
            opportunity,
            beacon,
            hold: duration(Timer::Hold),
            pending: duration(Timer::Pending),
            commit: duration(Timer::Commit),
            release,
            carrier_on: phy.transmit + phy.carrier_on,
            carrier_off: release,
            preamble: medium.preamble,
            jam: medium.jam,
            delimiter: phy.end_delimiter,
            gap: medium.gap,
            gap_part2: medium.gap - medium.gap_part1,
            empty_cycle: opportunity * opportunities as u64 + beacon + release,
            longest_cycle: Span::ZERO,
            reach: medium.max_delay,
            owners: owners(nodes, opportunities)?,
            ids: nodes
                .iter()
                .map(|node| node.parameters.ids.iter().map(|&id| usize::from(id)).collect())
                .collect(),
            burst_counts: nodes.iter().map(|n| u32::from(n.parameters.burst_count)).collect(),
            bursts: nodes.iter().map(|n| n.durations[Timer::Burst as usize]).collect(),
            delays: delays(medium),
        };
        let lengths = |node| {
            let (least, most) = lengths(node);
            [least, most].map(|bits| medium.packet_time(Bits(bits)))
        };
        schedule.longest_cycle = schedule.bound(|node| lengths(node)[1]);
        let shortest = StationId::first(nodes.len()).map(|node| lengths(node)[0]).min()?;
        let late = phy.carrier_on - phy.carrier_off;
        schedule.is_orderly(shortest, late).then_some(schedule)
    }

    /// The owner of an opportunity, if there is such a one and it has one.
    #[inline]
    #[must_use]
    pub fn owner(&self, opportunity: usize) -> Option<StationId> {
        *self.owners.get(opportunity)?
    }

    /// Propagation between two nodes; from a node to itself 0.
    #[inline]
    #[must_use]
    pub fn delay(&self, from: StationId, to: StationId) -> Span {
        self.delays[from.index() * self.ids.len() + to.index()]
    }

    /// After which time others hear the end of a frame, propagation aside; after it the line may be
    /// held.
    #[inline]
    #[must_use]
    pub fn heard_after(&self, is_held: bool) -> Span {
        if self.delimiter > Span::ZERO || is_held { self.carrier_on } else { self.carrier_off }
    }

    /// Whether every signal is heard by all nodes before the next thing happens there; the begin of
    /// a signal may be heard so `late` after its end.
    fn is_orderly(&self, shortest: Span, late: Span) -> bool {
        let delimiter = self.delimiter;
        let is_heard = |(&burst, &count): (&Span, &u32)| {
            count == 0 || delimiter > Span::ZERO && burst <= delimiter || burst - delimiter > late
        };
        // Equation 148-1: no node begins the next opportunity before it hears that this one is used.
        self.reach * 2 + self.carrier_on < self.opportunity
            && self.reach + self.carrier_on < self.beacon
            && late < self.beacon.min(self.commit)
            && (delimiter == Span::ZERO || late < delimiter)
            && self.bursts.iter().zip(&self.burst_counts).all(is_heard)
            && self.gap < shortest
            && self.hold + delimiter + self.release < shortest
            && delimiter + self.release < self.gap
            && self.jam + self.pending > self.opportunity
    }

    /// Every opportunity with all frames that it may have, each as long as may be.
    fn bound(&self, longest: impl Fn(StationId) -> Span) -> Span {
        let of_owner = |&owner: &Option<StationId>| {
            let Some(node) = owner else { return self.opportunity };
            let held = self.gap.max(self.bursts[node]) + self.delimiter;
            let frames = u64::from(self.burst_counts[node]) + 1;
            let used = (longest(node) + held).saturating_mul(frames);
            used + self.commit + self.opportunity + self.release + self.reach * 2
        };
        let add = |sum, time| Span::ENDLESS.min(sum + time);
        let opportunities = self.owners.iter().map(of_owner).fold(Span::ZERO, add);
        add(opportunities, self.beacon + self.release + self.reach * 2)
    }
}

/// The owner of each opportunity, unless an owner has one that is out of range or not its alone.
fn owners(nodes: &[Node], opportunities: usize) -> Option<Vec<Option<StationId>>> {
    let mut owners = vec![None; opportunities];
    for (node, of_node) in StationId::first(nodes.len()).zip(nodes) {
        for &id in &of_node.parameters.ids {
            let owner = owners.get_mut(usize::from(id))?;
            if owner.replace(node).is_some() {
                return None;
            }
        }
    }
    Some(owners)
}

fn delays(medium: &CompiledMedium) -> Vec<Span> {
    let positions = &medium.positions;
    let row = |(from, &here): (usize, &PositionId)| {
        let delay = |(to, &there): (usize, &PositionId)| {
            if from == to { Span::ZERO } else { medium.delay(here, there) }
        };
        positions.iter().enumerate().map(delay).collect::<Vec<_>>()
    };
    positions.iter().enumerate().flat_map(row).collect()
}
