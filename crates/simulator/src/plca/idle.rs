//! Cycles of a bus on which no node has a frame: they are all alike, and skipped in bulk.

use super::access::PlcaAccess;
use super::compiled::CompiledBus;
use super::delay_line::State;
use super::handover::waits;
use super::schedule::Schedule;
use super::timers::Timer;
use crate::identity::StationId;
use crate::medium::event::Event;
use crate::medium::hosts::Hosts;
use crate::medium::line::Kind;
use crate::medium::{Medium, Node};
use crate::time::{Instant, Span};

/// Idle cycles of a bus.
#[derive(Clone, Debug)]
pub struct IdleCycles {
    schedule: Schedule,
    /// Edges of the measured window: a cycle within which one lies is not skipped.
    edges: [Instant; 2],
}

impl IdleCycles {
    /// The idle cycles of a bus; None if they are not all alike.
    #[must_use]
    pub fn new(bus: &CompiledBus) -> Option<Self> {
        let phases = &bus.segment.phases;
        let edges = [phases.measure_from_ps, phases.measure_to_ps].map(Instant::from_ps);
        let schedule = Schedule::new(bus).filter(|_| bus.plca.beacon_loss <= 0.0)?;
        Some(Self { schedule, edges })
    }

    /// If the next event of a bus is the end of a beacon and no node has a frame or owes a gap, skip
    /// the cycles that are over at `limit`. Returns how many; None if the bus is not idle there.
    pub fn skip<H: Hosts>(
        &self,
        machine: &mut Medium<'_, PlcaAccess, H>,
        limit: Instant,
    ) -> Option<u64> {
        let schedule = &self.schedule;
        let (now, event) = machine.queue.first()?;
        let Event::TimerOver { station, timer: Timer::Beacon, number } = event else { return None };
        let coordinator = &machine.nodes[schedule.coordinator];
        let runs = coordinator.access.sublayer.timers.running(Timer::Beacon) == Some(number);
        let begun = now - schedule.beacon;
        if station != schedule.coordinator || !runs || coordinator.since != begun {
            return None;
        }
        let mut nodes = StationId::first(machine.nodes.len()).zip(&machine.nodes);
        if !nodes.all(|(at, node)| is_idle(node) && waits(machine, schedule, at)) {
            return None;
        }
        let switched = next_switch(machine)?;
        let edge =
            self.edges.into_iter().filter(|&edge| begun < edge).min().unwrap_or(Instant::NEVER);
        let period = schedule.empty_cycle;
        let cycles = (limit.min(switched).min(edge) - now).max(Span::ZERO).periods(period);
        if cycles > 0 {
            self.pass(machine, begun, cycles);
            let over = now + period * cycles;
            machine.queue.retain(|event| matches!(event, Event::Switch { .. }));
            machine.nodes[schedule.coordinator].since = over - schedule.beacon;
            machine.schedule(over, event);
        }
        Some(cycles)
    }

    /// Count cycles from the beacon that began then.
    fn pass<H: Hosts>(&self, machine: &mut Medium<'_, PlcaAccess, H>, begun: Instant, cycles: u64) {
        let schedule = &self.schedule;
        machine.sum_up();
        let period = schedule.empty_cycle;
        machine.counters.begin_cycles(schedule.coordinator, begun + period, period, cycles);
        let of_nodes = schedule.ids.iter().map(|ids| (0, 0, cycles * ids.len() as u64));
        let passed = cycles * schedule.opportunities as u64;
        machine.counters.end_opportunities(begun, passed, of_nodes);
        let mut taken = [Span::ZERO; 5];
        taken[Kind::Beacon as usize] = schedule.beacon * cycles;
        machine.line.record_cycles(begun, begun + period * cycles, taken);
    }
}

/// Whether the MAC of a node has nothing to send and owes no gap.
fn is_idle(node: &Node<PlcaAccess>) -> bool {
    let is_silent = node.access.mac.is_silent() && !node.access.mac.is_waiting();
    is_silent && node.under_way.is_none() && node.access.sublayer.delay_line.state == State::Idle
}

/// When a node is switched next; None if a frame is ready before, or something is on its way on the
/// line. Timers that run on have no effect: nodes start them again before they ask for them.
fn next_switch<H: Hosts>(machine: &Medium<'_, PlcaAccess, H>) -> Option<Instant> {
    let mut switched = Instant::NEVER;
    for (at, event) in machine.queue.iter() {
        match event {
            Event::Switch { .. } => switched = switched.min(at),
            Event::Ready { .. }
            | Event::FirstBit { .. }
            | Event::Hear { .. }
            | Event::DelimiterOver { .. }
            | Event::CableFault { .. }
            | Event::Echo { .. } => return None,
            Event::GapOver { .. } | Event::TimerOver { .. } | Event::MacOver { .. } => {}
        }
    }
    Some(switched)
}
