//! Ports on shared media: each is a node of a bus ([`crate::plca`]), with PLCA or without it. A frame
//! sent without collision comes to all other ports of the medium.

use super::cards::{Bus, Outcome};
use super::{Copy, Engine, Event};
use crate::network::compiled::{GROUP, NONE, Role};
use crate::network::frame::{Frame, Loss};
use crate::segment::compiled::small;

impl Engine<'_> {
    /// A port on a shared medium takes up a frame.
    pub(super) fn offer(&mut self, now: u64, port: u32, copy: u32) {
        let (segment, station) = self.compiled.segment_of[port as usize];
        self.contenders[port as usize].copy = copy;
        let octets = self.copies[copy as usize].frame.octets;
        let bus = &mut self.buses[segment as usize];
        let since = now.cast_signed();
        bus.hosts_mut().take_up(station, octets, since);
        bus.make_ready(since, station);
    }

    /// The next event of a bus, if it is before `at`: that of a bus comes after all others of its
    /// instant.
    pub(super) fn next_of_buses(&self, at: Option<u64>) -> Option<(u64, usize)> {
        let next =
            |(number, bus): (usize, &Bus<'_>)| Some((bus.next_at()?.cast_unsigned(), number));
        let first = self.buses.iter().enumerate().filter_map(next).min()?;
        at.is_none_or(|at| first.0 < at).then_some(first)
    }

    pub(super) fn step_bus(&mut self, number: usize) {
        self.buses[number].step();
        while let Some(outcome) = self.buses[number].hosts_mut().next_outcome() {
            self.follow_card(number, outcome);
        }
    }

    fn follow_card(&mut self, number: usize, outcome: Outcome) {
        let segment = &self.compiled.segments[number];
        match outcome {
            Outcome::Sent { station, number: frame, start, end } => {
                let port = segment.port(station);
                let copy = self.contenders[port as usize].copy;
                let octets = self.copies[copy as usize].frame.octets;
                let (start, now) = (start.cast_unsigned(), end.cast_unsigned());
                self.counters.port_sent(port, octets, start, now);
                self.depart(now, port, copy);
                self.share(number, station, frame, copy);
            }
            Outcome::GivenUp { station, at } => {
                let port = segment.port(station);
                self.give_up(at.cast_unsigned(), port);
            }
            Outcome::Heard { station, number: frame, at, is_right } => {
                self.hear(number, station, frame, at.cast_unsigned(), is_right);
            }
        }
    }

    /// A frame is on its way to all other ports of its medium.
    fn share(&mut self, number: usize, station: u32, frame: u32, id: u32) {
        let Copy { frame: content, route, ready, .. } = self.copies[id as usize];
        self.end(id);
        let segment = &self.compiled.segments[number];
        let Some(more) = segment.stations().checked_sub(2) else {
            return self.counters.lost(&content, Loss::Filtered);
        };
        self.counters.copied(&content, u64::from(more));
        let mut copies = vec![NONE; segment.stations() as usize];
        for other in (0..segment.stations()).filter(|&other| other != station) {
            let mut content = content;
            self.compiled.copied_to(&mut content, segment.port(other));
            copies[other as usize] = self.copy(content, route, ready, ready, NONE);
        }
        self.buses[number].hosts_mut().share(frame, copies);
    }

    /// A port hears the end of a frame; nothing comes of one that collided.
    fn hear(&mut self, number: usize, station: u32, frame: u32, now: u64, is_right: bool) {
        let Some(id) = self.buses[number].hosts_mut().take_heard(station, frame) else { return };
        let port = self.compiled.segments[number].port(station);
        let content = self.copies[id as usize].frame;
        if is_right {
            let it = &mut self.copies[id as usize];
            (it.ready, it.complete) = (now, now);
            self.schedule(now, Event::Reach { copy: id, port });
        } else {
            let loss = self.loss_of_damaged(&content, port);
            self.lose(now, id, loss);
        }
    }

    /// How a damaged copy ends at a port: where it would have gone no further, as any other would.
    fn loss_of_damaged(&self, frame: &Frame, port: u32) -> Loss {
        let node = self.compiled.ports[port as usize].node;
        let leads = frame.to == GROUP
            || node == frame.to
            || self.compiled.port_toward(node, frame.to) != port;
        match self.compiled.nodes[node as usize].role {
            _ if leads && self.wants(frame, node) => Loss::Damaged,
            Role::Host => Loss::Ignored,
            _ => Loss::Filtered,
        }
    }

    fn wants(&self, frame: &Frame, node: u32) -> bool {
        self.compiled.nodes[node as usize].role != Role::Host
            || self.applications.wants(frame, node)
    }

    /// What was counted on shared media belongs to their ports.
    pub(super) fn finish_buses(&mut self) {
        for (segment, bus) in self.compiled.segments.iter().zip(std::mem::take(&mut self.buses)) {
            let (cards, _, plca) = bus.finish();
            for station in 0..segment.stations() as usize {
                let port = &mut self.counters.ports[segment.port(small(station)) as usize];
                cards.count_into(station, port);
                let Some(plca) = &plca else { continue };
                port.used = plca.nodes.used[station];
                port.yielded = plca.nodes.yielded[station];
                port.missed = plca.nodes.missed[station];
                port.logical_collisions = plca.nodes.logical_collisions[station];
                port.beacons_lost = plca.nodes.beacons_lost[station];
                port.status_changes = plca.nodes.status_changes[station];
                port.ok_ps = plca.nodes.ok_ps[station];
            }
        }
    }
}
