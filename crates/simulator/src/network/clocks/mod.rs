//! What hosts' clocks show. Events have true times; what a host reads of its clock is wrong by the
//! clock's offset and drift.
//!
//! - `reading`: delays as two clocks show them. `comparison`: a receiver asks its sender for the time,
//!   as in a live test.
//!
//! Comparisons are flows of their own, numbered after those of the plan; their draws are no other
//! flow's, so that others stay as they are.

pub(super) mod clock;
mod comparison;
mod reading;

use super::compiled::CompiledNetwork;
use super::counters::Counters;
use super::frame::Frame;
use crate::identity::{FlowId, NodeId, ReceiverId};
use crate::time::Instant;
use clock::Clock;
use comparison::Comparison;
use ethermeter_trial::clocks::Comparing;
use ethermeter_trial::counts::{Balance, ClockDelays, ClockPair};
use reading::Reading;
use std::collections::BTreeSet;

/// All that is read of clocks.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Of each receiver, if its flow is read by clocks; none at all where there are no clocks.
    readings: Vec<Option<Box<Reading>>>,
    comparisons: Vec<Comparison>,
    /// Number of the first comparison's flow.
    first: u32,
    measured: (Instant, Instant),
}

impl Clocks {
    /// `streams` has for each receiver of the plan's `flows` flows, in their order, its flow,
    /// sender and host if the flow is a stream.
    pub fn new(
        compiled: &CompiledNetwork,
        comparing: Comparing,
        flows: u32,
        streams: &[Option<(FlowId, NodeId, NodeId)>],
    ) -> Self {
        let phases = compiled.phases;
        let measure_from = Instant::from_ps(phases.measure_from_ps);
        let mut all = Self {
            first: flows,
            measured: (measure_from, Instant::from_ps(phases.measure_to_ps)),
            ..Self::default()
        };
        let clock_of = |host: NodeId| compiled.nodes[host].clock;
        // Of a group, all receivers are read if one of them has a clock.
        let has_clock = |&(_, from, to): &(FlowId, NodeId, NodeId)| {
            clock_of(from).is_some() || clock_of(to).is_some()
        };
        let with_clocks: BTreeSet<FlowId> =
            streams.iter().flatten().filter(|it| has_clock(it)).map(|it| it.0).collect();
        for stream in streams {
            let read = stream.filter(|(flow, ..)| with_clocks.contains(flow));
            let reading = read.map(|(flow, from, to)| {
                let [sender, receiver] =
                    [from, to].map(|host| clock_of(host).unwrap_or(Clock::TRUE));
                let comparison = (comparing == Comparing::Compared)
                    .then(|| all.comparison_of(compiled, (from, to), (sender, receiver)));
                Box::new(Reading::new(flow, (sender, receiver), measure_from, comparison))
            });
            all.readings.push(reading);
        }
        if all.readings.iter().all(Option::is_none) {
            all.readings.clear();
        }
        all
    }

    /// The comparison of two hosts' clocks: each pair has one, however many flows are read by it.
    fn comparison_of(
        &mut self,
        compiled: &CompiledNetwork,
        pair: (NodeId, NodeId),
        clocks: (Clock, Clock),
    ) -> u32 {
        let known = self.comparisons.iter().position(|comparison| comparison.pair() == pair);
        let index = known.unwrap_or(self.comparisons.len());
        let number = u32::try_from(index).expect("few pairs");
        if known.is_none() {
            self.comparisons.push(Comparison::new(
                compiled,
                FlowId::from(self.first + number),
                pair,
                clocks,
            ));
        }
        number
    }

    /// How many flows compare clocks.
    pub fn comparison_count(&self) -> u32 {
        u32::try_from(self.comparisons.len()).expect("few pairs")
    }

    /// When a comparison's flow next does something by itself.
    pub fn wakes(&self, flow: FlowId) -> Option<Instant> {
        self.comparisons[flow.index() - self.first as usize].wakes()
    }

    /// A message that arrived at a sender at `born` comes to a receiver.
    #[inline]
    pub fn read(&mut self, receiver: ReceiverId, born: Instant, now: Instant) {
        // Most networks have no clocks.
        let Some(Some(reading)) = self.readings.get_mut(receiver.index()) else { return };
        if !(self.measured.0..self.measured.1).contains(&now) {
            return;
        }
        reading.record(born, now);
        let comparison = reading.comparison().map(|index| &mut self.comparisons[index as usize]);
        if let Some(verdict) =
            comparison.and_then(|comparison| comparison.hear(receiver, born, now))
        {
            reading.compare(&verdict);
        }
    }

    /// A comparison does what is due.
    pub fn wake(&mut self, flow: FlowId, now: Instant) {
        self.comparison(flow).wake(now);
        self.judge(flow);
    }

    /// The next frame that a comparison sends now, and its host.
    pub fn take_frame(&mut self, flow: FlowId) -> Option<(NodeId, Frame)> {
        self.comparison(flow).take_frame()
    }

    /// A frame of a comparison comes to a host; what goes out waits in `take_frame`.
    pub fn deliver(&mut self, frame: &Frame, now: Instant, counters: &mut Counters) {
        counters.delivered(frame);
        self.comparison(frame.flow).deliver(frame, now);
        self.judge(frame.flow);
    }

    fn comparison(&mut self, flow: FlowId) -> &mut Comparison {
        &mut self.comparisons[flow.index() - self.first as usize]
    }

    /// Give what a comparison says of messages to whose they are.
    fn judge(&mut self, flow: FlowId) {
        let readings = &mut self.readings;
        self.comparisons[flow.index() - self.first as usize].judge(|verdict| {
            readings[verdict.receiver].as_mut().expect("who is heard is read").compare(verdict);
        });
    }

    /// The figures of each of the plan's flows, if it was read, and of each comparison; `balances`
    /// are those of the comparisons' frames.
    pub fn finish(
        &mut self,
        balances: impl Iterator<Item = Balance>,
    ) -> (Vec<(FlowId, ClockDelays)>, Vec<ClockPair>) {
        for flow in FlowId::range(self.first as usize, self.comparisons.len()) {
            self.comparison(flow).finish();
            self.judge(flow);
        }
        let outcomes: Vec<ClockPair> = self
            .comparisons
            .iter()
            .zip(balances)
            .map(|(comparison, balance)| comparison.outcome(balance))
            .collect();
        let mut of_flows: Vec<(FlowId, ClockDelays)> = Vec::new();
        for reading in self.readings.iter().flatten() {
            let outcome = reading.outcome(&outcomes);
            match of_flows.last_mut().filter(|(flow, _)| *flow == reading.flow()) {
                Some((_, one)) => one.merge(outcome),
                None => of_flows.push((reading.flow(), outcome)),
            }
        }
        (of_flows, outcomes)
    }
}
