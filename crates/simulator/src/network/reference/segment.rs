//! Ports on shared media: each is a node of a [`crate::medium`]. A frame sent without collision comes
//! to all other ports of the medium.

use super::cards::Outcome;
use super::next_events::AFTER_ALL;
use super::{Copy, Engine, Event};
use crate::network::compiled::{GROUP, NONE, Role};
use crate::network::frame::{Frame, Loss};
use crate::segment::compiled::{NEVER, small};
use crate::watch::Poll;

impl Engine<'_> {
    /// A port on a shared medium takes up a frame.
    pub(super) fn offer(&mut self, now: u64, port: u32, copy: u32) {
        let (number, station) = self.compiled.segment_of[port as usize];
        let octets = self.copies[copy as usize].frame.octets;
        let medium = &mut self.media[number as usize];
        let since = now.cast_signed();
        medium.hosts_mut().take_up(station, copy, octets, since);
        medium.offer(since, station);
        self.look_at_medium(number as usize);
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
        let until = self.queue.next_at().unwrap_or(NEVER).min(others).min(self.end);
        let medium = &mut self.media[number];
        loop {
            medium.step();
            let has_told = medium.hosts().has_outcome();
            let Some(at) = medium.next_at().filter(|&at| at < until && !has_told) else { break };
            if !poll.goes_on(at.cast_unsigned()) {
                break;
            }
            self.events += 1;
        }
        while let Some(outcome) = self.media[number].hosts_mut().next_outcome() {
            self.follow_card(number, outcome);
        }
        self.look_at_medium(number);
    }

    fn follow_card(&mut self, number: usize, outcome: Outcome) {
        let segment = &self.compiled.segments[number];
        match outcome {
            Outcome::Sent { station, number: frame, copy, start, end } => {
                let port = segment.port(station);
                let octets = self.copies[copy as usize].frame.octets;
                let (start, now) = (start.cast_unsigned(), end.cast_unsigned());
                self.counters.port_sent(port, octets, start, now);
                self.depart(now, port, copy);
                self.share(number, station, frame, copy);
                self.serve(now, port);
            }
            Outcome::GivenUp { station, copy, at } => {
                let (port, now) = (segment.port(station), at.cast_unsigned());
                self.depart(now, port, copy);
                self.copies[copy as usize].charge = NONE; // given back as it left
                self.lose(now, copy, Loss::Attempts);
                self.serve(now, port);
            }
            Outcome::Heard { station, number: frame, at, is_right } => {
                self.hear(number, station, frame, at.cast_unsigned(), is_right);
            }
        }
    }

    /// The port has done with its frame.
    fn depart(&mut self, now: u64, port: u32, copy: u32) {
        let it = self.copies[copy as usize];
        self.on_host_route(&it, now, now);
        self.leave_medium(now, port);
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
        let mut copies = self.media[number].hosts_mut().no_copies();
        for other in (0..segment.stations()).filter(|&other| other != station) {
            let mut content = content;
            self.compiled.copied_to(&mut content, segment.port(other));
            copies[other as usize] = self.copy(content, route, ready, ready, NONE);
        }
        self.media[number].hosts_mut().share(frame, copies);
    }

    /// A port hears the end of a frame; nothing comes of one that collided.
    fn hear(&mut self, number: usize, station: u32, frame: u32, now: u64, is_right: bool) {
        let Some(id) = self.media[number].hosts_mut().take_heard(station, frame) else { return };
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
    pub(super) fn finish_media(&mut self) {
        let media = std::mem::take(&mut self.media);
        for (segment, medium) in self.compiled.segments.iter().zip(media) {
            let (cards, _, plca) = medium.finish();
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
