//! What is counted.

use super::compiled::CompiledNetwork;
use super::frame::{Frame, Loss};
use crate::identity::{FlowId, NodeId, PortId};
use crate::spread::Spread;
use crate::time::{Instant, Span};
use ethermeter_traffic::Batches;
use ethermeter_traffic::histogram::Histogram;
use ethermeter_traffic::scheduler::Room;
use ethermeter_trial::Trial;
use ethermeter_trial::counts::{Balance, Delays, FlowBatch, FlowCounts, FlowVoice, PortCounts};
use ethermeter_trial::flows::Flow;
use std::ops::Range;

#[derive(Clone, Debug)]
struct FlowCounters {
    balance: Balance,
    figures: FlowCounts,
    /// Messages that arrived, by when they arrived at their source; what happens, by when it does.
    arrived: Batches<u64>,
    now: Batches<FlowBatch>,
    one_way: Histogram,
    answer_one_way: Spread,
    round_trip: Histogram,
    answer_round_trip: Spread,
    /// By receiver, if several answer.
    responder_round_trip: Vec<Histogram>,
    between: Histogram,
    voice: Option<Box<VoiceCounters>>,
}

#[derive(Clone, Debug, Default)]
struct VoiceCounters {
    figures: FlowVoice,
    voice_delay: Spread,
    sample_delay: Spread,
}

/// Running sums of a trial.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    /// The measured window.
    pub window: Range<Instant>,
    /// The longest one-way delay of each flow that is in time; none if no flow has a deadline.
    deadlines: Vec<u64>,
    flows: Vec<FlowCounters>,
    pub ports: Vec<PortCounts>,
    /// Deliveries in their order, if they are wanted: flow, message, fragment, answer, host, time.
    pub trace: Option<Vec<Delivery>>,
}

/// A frame comes to its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub struct Delivery {
    pub flow: FlowId,
    pub receiver: NodeId,
    pub answer: bool,
    pub message: u32,
    pub fragment: u16,
    pub at_ps: u64,
}

impl FlowCounters {
    /// Of a flow of the plan, or of a comparison of clocks.
    fn new(compiled: &CompiledNetwork, flow: Option<&Flow>) -> Self {
        let has_voice = flow.is_some_and(|flow| flow.voice().is_some());
        let responders = flow.map_or(0, Flow::responders);
        Self {
            balance: Balance::default(),
            figures: FlowCounts::default(),
            arrived: compiled.batches(),
            now: compiled.batches(),
            one_way: Histogram::default(),
            answer_one_way: Spread::default(),
            round_trip: Histogram::default(),
            answer_round_trip: Spread::default(),
            responder_round_trip: vec![Histogram::default(); responders],
            between: Histogram::default(),
            voice: has_voice.then(Box::default),
        }
    }

    /// The figures, of a source that offered and dropped so much in each part of the window.
    fn finish(self, supplied: Option<&Vec<(u64, u64)>>) -> FlowCounts {
        let mut batches = self.now.counted();
        for (batch, arrived) in batches.iter_mut().zip(self.arrived.counted()) {
            batch.arrived = arrived;
        }
        for (batch, part) in batches.iter_mut().zip(supplied.into_iter().flatten()) {
            (batch.offered, batch.dropped) = *part;
        }
        let sum = |pick: fn(&FlowBatch) -> u64| batches.iter().map(pick).sum();
        let delays = |count, sum_ps: fn(&FlowBatch) -> u128, histogram: &Histogram| Delays {
            count,
            sum_ps: batches.iter().map(sum_ps).sum(),
            max_ps: histogram.max_ps(),
            buckets: histogram.filled(),
        };
        let (messages, completed) = (sum(|batch| batch.messages), sum(|batch| batch.completed));
        FlowCounts {
            balance: self.balance,
            offered: sum(|batch| batch.offered),
            dropped: sum(|batch| batch.dropped),
            messages,
            frames: sum(|batch| batch.frames),
            octets: sum(|batch| batch.octets),
            data_octets: sum(|batch| batch.data_octets),
            arrived: sum(|batch| batch.arrived),
            overdue: sum(|batch| batch.overdue),
            completed,
            timed_out: sum(|batch| batch.timed_out),
            one_way: delays(messages, |batch| batch.one_way_ps, &self.one_way),
            answer_one_way: self.answer_one_way.finish(),
            round_trip: delays(completed, |batch| batch.round_trip_ps, &self.round_trip),
            answer_round_trip: self.answer_round_trip.finish(),
            responder_round_trip: self.responder_round_trip.iter().map(Histogram::filled).collect(),
            between_arrivals: delays(
                sum(|batch| batch.arrivals_between),
                |batch| batch.between_arrivals_ps,
                &self.between,
            ),
            voice: self.voice.map(|voice| voice.finish()),
            batches,
            ..self.figures
        }
    }
}

impl VoiceCounters {
    fn record(&mut self, frame: &Frame, is_of_window: bool, now: Instant) {
        let samples = u64::from(frame.samples);
        self.figures.delivered += samples;
        self.sample_delay.record_many(now - frame.born, samples);
        if is_of_window {
            self.voice_delay.record(now - frame.born);
        }
    }

    fn finish(self) -> FlowVoice {
        let (voice_delay, sample_delay) = (self.voice_delay.finish(), self.sample_delay.finish());
        FlowVoice { voice_delay, sample_delay, ..self.figures }
    }
}

impl Counters {
    pub fn new(compiled: &CompiledNetwork, trial: &Trial, comparisons: u32, tracing: bool) -> Self {
        let flows = trial.scenario.flows.iter().map(|flow| FlowCounters::new(compiled, Some(flow)));
        let deadline = |flow: &Flow| flow.deadline_ps.unwrap_or(u64::MAX);
        let deadlines = trial.scenario.flows.iter().map(deadline).collect::<Vec<_>>();
        Self {
            window: Instant::from_ps(compiled.phases.measure_from_ps)
                ..Instant::from_ps(compiled.phases.measure_to_ps),
            deadlines: if deadlines.iter().any(|&ps| ps < u64::MAX) { deadlines } else { vec![] },
            flows: flows
                .chain((0..comparisons).map(|_| FlowCounters::new(compiled, None)))
                .collect(),
            ports: vec![PortCounts::default(); compiled.ports.len()],
            trace: tracing.then(Vec::new),
        }
    }

    #[inline]
    pub fn within(&self, at: Instant) -> bool {
        self.window.contains(&at)
    }

    #[inline]
    pub fn sent(&mut self, frame: &Frame) {
        self.flows[frame.flow].balance.sent += 1;
    }

    #[inline]
    pub fn copied(&mut self, frame: &Frame, more: u64) {
        self.flows[frame.flow].balance.copied += more;
    }

    #[inline]
    pub fn delivered(&mut self, frame: &Frame) {
        self.flows[frame.flow].balance.delivered += 1;
    }

    #[inline]
    pub fn lost(&mut self, frame: &Frame, loss: Loss) {
        let it = &mut self.flows[frame.flow];
        it.balance.lost[loss as usize] += 1;
        if let Some(voice) = &mut it.voice {
            voice.figures.lost[loss as usize] += u64::from(frame.samples);
        }
    }

    #[inline]
    pub fn in_flight(&mut self, frame: &Frame) {
        let it = &mut self.flows[frame.flow];
        it.balance.in_flight += 1;
        if let Some(voice) = &mut it.voice {
            voice.figures.under_way += u64::from(frame.samples);
        }
    }

    #[inline]
    pub fn trace(&mut self, frame: &Frame, host: NodeId, now: Instant) {
        if let Some(trace) = &mut self.trace {
            let Frame { flow, message, fragment, .. } = *frame;
            trace.push(Delivery {
                flow,
                receiver: host,
                answer: frame.answer.is_some(),
                message,
                fragment,
                at_ps: now.ps(),
            });
        }
    }

    /// A whole message comes with its last `frame` to a receiver, whose `last` arrived then, if it
    /// did within the measured window.
    #[inline]
    pub fn received(
        &mut self,
        frame: &Frame,
        octets: u64,
        data_octets: u64,
        now: Instant,
        last: &mut Option<Instant>,
    ) {
        let it = &mut self.flows[frame.flow];
        let arrived = it.arrived.at(frame.born.ps());
        if let Some(voice) = &mut it.voice {
            voice.record(frame, arrived.is_some(), now);
        }
        if let Some(arrived) = arrived {
            *arrived += 1;
        }
        let Some(batch) = it.now.at(now.ps()) else { return };
        let delay = (now - frame.born).ps();
        batch.messages += 1;
        if self.deadlines.get(frame.flow.index()).is_some_and(|&deadline| delay > deadline) {
            batch.overdue += 1;
        }
        batch.frames += u64::from(frame.fragments);
        batch.octets += octets;
        batch.data_octets += data_octets;
        batch.one_way_ps += u128::from(delay);
        it.one_way.record(delay);
        if let Some(last) = last.replace(now) {
            batch.arrivals_between += 1;
            batch.between_arrivals_ps += u128::from((now - last).ps());
            it.between.record((now - last).ps());
        }
    }

    pub fn answered(&mut self, flow: FlowId, octets: u64, born: Instant, now: Instant) {
        if self.within(now) {
            let it = &mut self.flows[flow];
            it.figures.answers += 1;
            it.figures.answer_octets += octets;
            it.answer_one_way.record(now - born);
        }
    }

    /// The answer of the receiver with this number came in time.
    pub fn answer_came(&mut self, flow: FlowId, number: u16, born: Instant, now: Instant) {
        if self.within(now) {
            let it = &mut self.flows[flow];
            it.answer_round_trip.record(now - born);
            if let Some(histogram) = it.responder_round_trip.get_mut(usize::from(number)) {
                histogram.record((now - born).ps());
            }
        }
    }

    pub fn completed(&mut self, flow: FlowId, born: Instant, now: Instant) {
        let it = &mut self.flows[flow];
        if let Some(batch) = it.now.at(now.ps()) {
            batch.completed += 1;
            batch.round_trip_ps += u128::from((now - born).ps());
            it.round_trip.record((now - born).ps());
        }
    }

    pub fn timed_out(&mut self, flow: FlowId, now: Instant) {
        if let Some(batch) = self.flows[flow].now.at(now.ps()) {
            batch.timed_out += 1;
        }
    }

    /// A message has come to a receiver again.
    pub fn duplicated(&mut self, flow: FlowId, now: Instant) {
        self.flows[flow].figures.duplicates += u64::from(self.within(now));
    }

    /// A message is sent again.
    pub fn resent(&mut self, flow: FlowId, now: Instant) {
        self.flows[flow].figures.resent += u64::from(self.within(now));
    }

    /// Octets of a transfer have come to whom they are for.
    pub fn moved(&mut self, flow: FlowId, octets: u64, now: Instant) {
        if let Some(batch) = self.flows[flow].now.at(now.ps()) {
            batch.moved_octets += octets;
        }
    }

    /// Data of a transfer were acknowledged so long after they were sent.
    pub fn acknowledged(&mut self, flow: FlowId, delay: Span, now: Instant) {
        if let Some(batch) = self.flows[flow].now.at(now.ps()) {
            batch.acknowledged += 1;
            batch.acknowledgement_ps += u128::from(delay.ps());
        }
    }

    /// A port holds so many frames and octets.
    #[inline]
    pub fn held(&mut self, port: PortId, held: Room) {
        count_held(&mut self.ports[port], held);
    }

    /// A frame left by a port.
    #[inline]
    pub fn port_sent(&mut self, port: PortId, octets: u32, start: Instant, end: Instant) {
        count_sent(&mut self.ports[port], &self.window, octets, start, end);
    }

    /// The figures; those of comparisons of clocks come after the flows of the plan. `supplied` are
    /// messages offered and dropped by these, in each part of the measured window.
    pub fn finish(
        self,
        supplied: &[Vec<(u64, u64)>],
    ) -> (Vec<FlowCounts>, Vec<PortCounts>, Vec<Delivery>) {
        let all = supplied.iter().map(Some).chain(std::iter::repeat(None));
        let flows = self.flows.into_iter().zip(all).map(|(it, supplied)| it.finish(supplied));
        let mut trace = self.trace.unwrap_or_default();
        trace.sort_unstable_by_key(|d| (d.at_ps, *d));
        (flows.collect(), self.ports, trace)
    }
}

/// A port holds so many frames and octets.
#[inline]
pub(super) fn count_held(port: &mut PortCounts, held: Room) {
    port.queue_most = port.queue_most.max(held.frames);
    port.queue_octets_most = port.queue_octets_most.max(held.octets);
}

/// A frame left by a port; what of it is within the measured window counts.
#[inline]
pub(super) fn count_sent(
    port: &mut PortCounts,
    window: &Range<Instant>,
    octets: u32,
    start: Instant,
    end: Instant,
) {
    if window.contains(&end) {
        port.frames += 1;
        port.octets += u64::from(octets);
    }
    port.busy_ps += (end.min(window.end) - start.max(window.start)).max(Span::ZERO).ps();
}
