//! What has ended on a bus, counted while it goes on: what it keeps does not grow with time.

use super::control::Opportunity;
use super::counters::{Kind, Signal};
use super::event::Symbol;
use super::hosts::Hosts;
use super::reference::{Machine, Node};
use crate::segment::compiled::small;
use crate::segment::station::{Attempt, Ending};
use ethermeter_trial::counts::PlcaCounts;

/// Attempts and signals that a bus keeps until it sums up those that have ended.
pub(super) const MOST_KEPT: usize = 256;

impl<H: Hosts> Machine<'_, H> {
    /// Take its next event.
    pub fn step(&mut self) {
        let Some((now, event)) = self.next() else { return };
        self.handle(now, event);
        if self.attempts.len() + self.logical.len() + self.signals.len() >= self.sum_up_at {
            self.sum_up_until(now);
        }
    }

    /// Count the opportunities in which nothing happened at a station. They have no events.
    pub(super) fn catch_up(&mut self, now: i64, is_included: bool, station: u32) {
        let index = station as usize;
        let node = &mut self.nodes[index];
        let Some(passed) = node.sublayer.catch_up(now, is_included) else { return };
        let control = &node.sublayer.control;
        let is_coordinator = control.is_coordinator();
        let mut end = passed.end;
        for opportunity in passed.first..passed.first + passed.count {
            if control.owns(opportunity) {
                self.counters.end_opportunity(index, Opportunity::Yielded, end);
                node.sent_in_opportunity = 0;
            }
            if is_coordinator {
                self.counters.pass_opportunity(end);
            }
            end += passed.duration;
        }
    }

    /// Sum up what has ended and been heard by all nodes at `now`, as far as nothing that began
    /// earlier is still under way.
    pub fn sum_up_until(&mut self, now: i64) {
        let is_sending = |node: &&Node| node.symbol != Symbol::Silence;
        let under_way = self.nodes.iter().filter(is_sending).map(|node| node.since).min();
        let bus = self.plca;
        let heard =
            now - self.medium.max_delay - bus.transmit - bus.carrier_on.max(bus.carrier_off);
        let begun = under_way.unwrap_or(now);
        self.signals.sort_unstable();
        let ended = self.signals.partition_point(|signal| signal.start < begun);
        self.attempts.sort_by_key(|(a, _)| (a.start, a.station));
        let is_over = |(a, _): &(Attempt, u32)| a.start < begun && a.end < heard;
        let over = self.attempts.iter().take_while(|attempt| is_over(attempt)).count();
        self.record(ended, over);
        // Numbers rise with the time at which frames begin.
        let on_line = |node: &Node| node.under_way.and_then(|frame| frame.on_line).map(|(n, _)| n);
        let kept = self.attempts.iter().map(|&(_, number)| number);
        let kept = kept.chain(self.nodes.iter().filter_map(on_line));
        let kept = kept.map(|number| number.wrapping_sub(self.first_kept)).min();
        let gone = kept.map_or(self.damaged.len(), |number| number as usize);
        self.damaged.drain(..gone);
        self.first_kept = self.first_kept.wrapping_add(small(gone));
        self.sum_up_at = MOST_KEPT + self.attempts.len() + self.signals.len();
    }

    /// Sum up everything. Nothing that begins later may have begun before its end.
    pub(super) fn sum_up(&mut self) {
        self.signals.sort_unstable();
        self.attempts.sort_by_key(|(a, _)| (a.start, a.station));
        self.record(self.signals.len(), self.attempts.len());
        self.first_kept = self.first_kept.wrapping_add(small(self.damaged.len()));
        self.damaged.clear();
        self.sum_up_at = MOST_KEPT;
    }

    /// Record the first signals and attempts, and all logical collisions.
    fn record(&mut self, signals: usize, attempts: usize) {
        for signal in self.signals.drain(..signals) {
            self.line.record(signal);
        }
        for (mut attempt, number) in self.attempts.drain(..attempts) {
            let is_delivered = attempt.ending == Ending::Delivered;
            let number = number.wrapping_sub(self.first_kept) as usize;
            attempt.damaged = is_delivered && self.damaged[number];
            self.hosts.record(&attempt);
        }
        for attempt in self.logical.drain(..) {
            self.hosts.record_logical(&attempt);
        }
    }

    pub(super) fn note_signal(&mut self, now: i64, station: u32, symbol: Symbol) {
        let start = self.nodes[station as usize].since;
        let mut note = |start, end, kind| self.signals.push(Signal { start, end, kind });
        match symbol {
            Symbol::Silence => {}
            Symbol::Beacon => note(start, now, Kind::Beacon),
            Symbol::Commit => note(start, now, Kind::Commit),
            Symbol::End => note(start, now, Kind::Preamble),
            Symbol::Data(_) => {
                let is_delivered =
                    self.attempts.last().is_some_and(|(a, _)| a.ending == Ending::Delivered);
                if is_delivered {
                    let frame = (start + self.medium.preamble).min(now);
                    note(start, frame, Kind::Preamble);
                    note(frame, now, Kind::Frame);
                } else {
                    note(start, now, Kind::Collision);
                }
            }
        }
    }

    /// Its hosts, channel time as of [`ethermeter_trial::counts::MediumCounts`], and what was
    /// counted of cycles and opportunities.
    pub fn finish(mut self) -> (H, [u64; 5], PlcaCounts) {
        for station in 0..small(self.nodes.len()) {
            self.catch_up(self.end, false, station);
            let symbol = self.nodes[station as usize].symbol;
            self.note_signal(self.end, station, symbol);
        }
        self.sum_up();
        let (medium, plca) = self.line.finish();
        (self.hosts, medium, self.counters.finish(plca))
    }
}

#[cfg(test)]
mod tests {
    use super::super::compiled::CompiledBus;
    use super::super::fall_back::common::{Bus, MS};
    use super::super::reference::run;
    use super::*;
    use crate::Watch;
    use ethermeter_trial::medium::Mac;

    /// Step a bus to its end; it keeps little all the time, and counts the same.
    fn keeps_little(bus: &Bus) {
        let trial = bus.trial();
        let Mac::Plca(constants) = &trial.scenario.media[0].mac else { unreachable!("a bus") };
        let bus = CompiledBus::new(&trial, constants).expect("a bus");
        let end = bus.segment.phases.end_ps.cast_signed();
        let mut machine = Machine::of_segment(&bus, true);
        let mut most = [0; 3];
        while machine.next_at().is_some_and(|at| at < end || machine.on_line > 0) {
            machine.step();
            let ended = machine.attempts.len() + machine.logical.len() + machine.signals.len();
            for (most, now) in
                most.iter_mut().zip([ended, machine.damaged.len(), machine.queue.len()])
            {
                *most = now.max(*most);
            }
        }
        let nodes = bus.plca.nodes.len();
        // A node has some timers that run or were stopped, and what is on its way to it.
        let allowed = [2 * MOST_KEPT, MOST_KEPT, 32 * nodes];
        assert!(most.iter().zip(&allowed).all(|(most, allowed)| most <= allowed), "{most:?}");
        let expected = run(&bus, &Watch::default()).expect("a run");
        assert_eq!(machine.into_counts(), expected);
    }

    #[test]
    fn a_bus_that_goes_on_for_long_keeps_no_more_whether_idle_or_saturated() {
        let delays = |bus: Bus, nodes: u64| Bus {
            delay_ps: (0..nodes)
                .map(|a| (0..nodes).map(|b| a.abs_diff(b) * 1000).collect())
                .collect(),
            ..bus
        };
        keeps_little(&Bus { length_ps: 500 * MS, ..Bus::of(24).idle() });
        keeps_little(&Bus { length_ps: 500 * MS, ..Bus::of(8) });
        let apart = |bus: Bus| {
            bus.with(|at, stations, _| stations.points = vec![u32::try_from(at).expect("few")])
        };
        keeps_little(&Bus { length_ps: 500 * MS, ..apart(delays(Bus::of(24), 24)) });
    }
}
