//! Ports on shared media: each is a node of a [`crate::medium`]. A frame sent without collision comes
//! to all other ports of the medium.

use super::next_events::AFTER_ALL;
use super::{Copy, Engine, Event};
use crate::identity::{CopyId, PortId, StationId};
use crate::medium::signals::FrameNumber;
use crate::network::cards::{Cards, OnMedia, Outcome, loss_of_damaged};
use crate::network::compiled::{CompiledNetwork, Segment};
use crate::network::frame::Loss;
use crate::network::hosts::Hosts;
use crate::shared::SharedMedium;
use crate::time::Instant;
use crate::watch::Poll;

/// A shared medium of ports.
pub(super) type PortMedium<'p> = SharedMedium<'p, Cards<'p, CopyId, CopyId>>;

/// Every shared medium.
pub(super) fn media<'p>(compiled: &'p CompiledNetwork) -> Vec<PortMedium<'p>> {
    let medium = |segment: &'p Segment| {
        let Segment { medium, plca, .. } = segment;
        let cards = Cards::new(compiled, segment);
        let streams = (compiled.seed, segment.first_draw);
        SharedMedium::new(medium, plca.as_ref(), &compiled.phases, streams, cards)
    };
    compiled.segments.iter().map(medium).collect()
}

impl Engine<'_> {
    /// A port on a shared medium takes up a frame.
    pub(super) fn offer(&mut self, now: Instant, port: PortId, copy: CopyId) {
        let (number, station) = self.compiled.segment_of[port].expect("a port on a medium");
        let Copy { frame, ready, route, .. } = self.copies[copy];
        let is_sender = self.compiled.nodes[frame.from].send == Some(route);
        // A host's own frames wait in their source, too, as those of stations do.
        let is_first = frame.hops == 0 && frame.attempt == 0;
        let arrived = if is_sender && is_first { frame.born } else { ready };
        let medium = &mut self.media[number as usize];
        medium.hosts_mut().take_up(station, (copy, frame.octets), now, arrived);
        medium.offer(now, station);
        self.look_at_medium(number as usize);
    }

    /// A frame comes to a port on a shared medium, whether that has room for it or not.
    pub(super) fn count_arrival(&mut self, now: Instant, port: PortId) {
        if self.counters.within(now) {
            let (number, station) = self.compiled.segment_of[port].expect("a port on a medium");
            self.media[number as usize].hosts_mut().count_arrival(station);
        }
    }

    /// See when a medium has its next event.
    pub(super) fn look_at_medium(&mut self, number: usize) {
        let mut next = self.media[number].next_rank();
        if !self.compiled.segments[number].is_of_links {
            next = next.map(|(at, _)| (at, AFTER_ALL));
        }
        self.of_media.set(number, next);
    }

    /// Take the next events of a medium, until ports hear of one, or something else comes first.
    pub(super) fn run_medium(&mut self, number: usize, poll: &mut Poll) {
        let others = self.of_media.second_at();
        let until = self.queue.next_at().unwrap_or(Instant::NEVER).min(others).min(self.end);
        let medium = &mut self.media[number];
        loop {
            medium.step();
            let has_outcome = medium.hosts().outcome_at().is_some();
            let Some(at) = medium.next_at().filter(|&at| at < until && !has_outcome) else { break };
            if !poll.goes_on(at) {
                break;
            }
            self.events += 1;
        }
        while let Some(outcome) = self.media[number].hosts_mut().next_outcome(Instant::NEVER) {
            self.follow_card(number, outcome);
        }
        self.look_at_medium(number);
    }

    fn follow_card(&mut self, number: usize, outcome: Outcome<CopyId>) {
        let segment = &self.compiled.segments[number];
        match outcome {
            Outcome::Sent { station, number: frame, copy, start, end: now } => {
                let port = segment.port(station);
                let octets = self.copies[copy].frame.octets;
                self.counters.port_sent(port, octets, start, now);
                self.depart(now, port, copy);
                self.share(number, station, frame, copy);
                self.serve(now, port.wire());
            }
            Outcome::GivenUp { station, copy, at: now } => {
                let port = segment.port(station);
                self.depart(now, port, copy);
                self.copies[copy].charge = None; // given back as it left
                self.lose(now, copy, Loss::Attempts);
                self.serve(now, port.wire());
            }
            Outcome::Heard { station, number: frame, at, is_right } => {
                self.hear(number, station, frame, at, is_right);
            }
        }
    }

    /// The port has done with its frame.
    fn depart(&mut self, now: Instant, port: PortId, copy: CopyId) {
        let it = self.copies[copy];
        self.pass(&it.frame, (it.route, it.hop), now, now);
        self.leave_medium(now, port);
    }

    /// A frame is on its way to all other ports of its medium.
    fn share(&mut self, number: usize, station: StationId, frame: FrameNumber, id: CopyId) {
        let Copy { frame: content, route, ready, .. } = self.copies[id];
        self.end(id);
        let segment = &self.compiled.segments[number];
        let Some(more) = segment.stations().checked_sub(2) else {
            return self.counters.lost(&content, Loss::Filtered);
        };
        self.counters.copied(&content, u64::from(more));
        let mut copies = self.media[number].hosts_mut().no_copies();
        for other in StationId::first(segment.stations() as usize).filter(|&other| other != station)
        {
            let mut content = content;
            self.compiled.copied_to(&mut content, segment.port(other));
            copies[other] = Some(self.copy(content, route, ready, ready, None));
        }
        self.media[number].hosts_mut().share(frame, copies);
    }

    /// A port hears the end of a frame; nothing comes of one that collided.
    fn hear(
        &mut self,
        number: usize,
        station: StationId,
        frame: FrameNumber,
        now: Instant,
        is_right: bool,
    ) {
        let Some(id) = self.media[number].hosts_mut().take_heard(station, frame) else { return };
        let port = self.compiled.segments[number].port(station);
        let content = self.copies[id].frame;
        if is_right {
            let it = &mut self.copies[id];
            (it.ready, it.complete) = (now, now);
            let reception = self.compiled.reception(port);
            let first = self.compiled.routes[reception].first;
            let lane = self.junctions.lane(self.compiled, reception, first);
            self.schedule(now, Event::Reach { copy: id, port, lane });
        } else {
            let loss = loss_of_damaged(self.compiled, &self.applications, &content, port);
            self.lose(now, id, loss);
        }
    }

    /// What was counted on shared media and of their stations; what belongs to their ports is put
    /// there.
    pub(super) fn finish_media(&mut self) -> OnMedia {
        let mut on_media = OnMedia::default();
        let media = std::mem::take(&mut self.media);
        for (segment, mut medium) in self.compiled.segments.iter().zip(media) {
            // Frames on the line at the end are carried to theirs, and take their channel time.
            while medium.next_at().is_some() {
                medium.step();
            }
            on_media.add(segment, medium.finish(), &mut self.counters);
        }
        on_media
    }
}

#[cfg(test)]
mod tests {
    use crate::common::network::{Shape, half, host, hub, phases, saturated, stream, trial};
    use crate::common::{IEEE_10, MS, US};
    use crate::network::compiled::CompiledNetwork;
    use crate::watch::Watch;
    use ethermeter_trial::{Counts, Trial};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const BIT: u64 = 100_000;

    fn compiled(trial: &Trial) -> CompiledNetwork {
        CompiledNetwork::new(trial).expect("a valid trial")
    }

    fn run(compiled: &CompiledNetwork, trial: &Trial) -> Counts {
        super::super::run(compiled, trial, &Watch::default(), false)
            .expect("it is not stopped")
            .counts
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// A medium without PLCA, and a hub whose links are as long, differ in draws only.
        #[test]
        fn a_medium_is_a_hub(seed: u64, hosts in 2..6usize, loads: u64, far in 1..8_000_000u64) {
            let mut shape = Shape(loads);
            let names: Vec<String> = (0..hosts).map(|number| format!("h{number}")).collect();
            let ways: Vec<u64> = (0..hosts).map(|_| shape.below(far)).collect();
            let flow = |name: &String| {
                let others: Vec<&String> = names.iter().filter(|other| *other != name).collect();
                let to = shape.pick(&others);
                let octets = 64 + shape.below(1400);
                let arrivals = if shape.one_in(3) {
                    saturated()
                } else {
                    json!({"kind": "poisson", "mean_ps": (100 + shape.below(4000)) * US})
                };
                stream(name, to, octets, &arrivals)
            };
            let flows: Vec<Value> = names.iter().map(flow).collect();
            let mut nodes: Vec<Value> = names.iter().map(|name| host(name, &json!({}))).collect();
            let times = phases(100 * MS);
            let delay = |a: usize, b: usize| if a == b { 0 } else { ways[a] + ways[b] };
            let row = |a| (0..hosts).map(|b| delay(a, b)).collect::<Vec<_>>();
            let station =
                |(point, name): (usize, &String)| json!({"node": name, "points": [point]});
            let medium = json!({"name": "bus", "bit_ps": BIT, "mac": {"csma_cd": IEEE_10},
                "delay_ps": (0..hosts).map(row).collect::<Vec<_>>(),
                "stations": names.iter().enumerate().map(station).collect::<Vec<_>>()});
            let mut with_medium = trial(seed, &nodes, &[], &flows, &times);
            with_medium.scenario.media.push(serde_json::from_value(medium).expect("a medium"));
            nodes.push(hub("hub"));
            let links: Vec<Value> =
                names.iter().zip(&ways).map(|(name, &way)| half(name, "hub", 8 * BIT, way)).collect();
            let with_hub = trial(seed, &nodes, &links, &flows, &times);
            let (mut medium, hub) = (compiled(&with_medium), compiled(&with_hub));
            let at_hub = run(&hub, &with_hub);
            medium.segments[0].first_draw = hub.segments[0].first_draw;
            medium.segments[0].transmitters.clone_from(&hub.segments[0].transmitters);
            let on_medium = run(&medium, &with_medium);
            prop_assert_eq!(&on_medium.flows, &at_hub.flows);
            prop_assert_eq!(&on_medium.ports[..], &at_hub.ports[..]);
        }
    }
}
