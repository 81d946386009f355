//! One direction of a wire at work: its queue, the frames on their way, and what happened.

use crate::account::{DirectionCounts, DirectionReport};
use crate::classed::{ClassedDirection, ServedFrame, priority_of};
use crate::direction::{DirectionProperties, SingleDirection, WireFate};
use crate::ends::{self, ReceivedFrame};
use crate::transit::Transit;
use ethermeter_ethernet::Octets;
use ethermeter_ethernet::frame::FCS;
use ethermeter_traffic::classes::Class;
use socket2::Socket;

/// One direction with all that belongs to it; that of number i comes in at end i and leaves by end
/// i with the last bit turned.
pub(crate) struct WireDirection {
    queue: DirectionQueue,
    transit: Transit,
    pub account: DirectionCounts,
}

/// What waits for a wire.
enum DirectionQueue {
    /// First come, first served.
    Single(SingleDirection),
    /// By traffic class.
    Classed(Box<ClassedDirection>),
}

impl WireDirection {
    /// The direction of this number in the order of the plan.
    pub fn new(properties: DirectionProperties, classes: &[Class], number: u32) -> Self {
        let queue = if classes.is_empty() {
            DirectionQueue::Single(SingleDirection::new(properties, number))
        } else {
            DirectionQueue::Classed(Box::new(ClassedDirection::new(properties, classes, number)))
        };
        Self { queue, transit: Transit::default(), account: DirectionCounts::default() }
    }

    /// Take a frame that arrived then.
    pub fn take(&mut self, arrived: &ReceivedFrame<'_>, arrived_ps: u64, longest_octets: u32) {
        self.account.came += 1;
        let dropped = &mut self.account.dropped;
        let frame = Octets(arrived.octets as u64 + FCS.0);
        if frame.0 > u64::from(longest_octets) + arrived.tag.map_or(0, |tag| tag.len() as u64) {
            dropped.too_long += 1;
            return;
        }
        if !arrived.is_finished {
            dropped.unfinished += 1;
            return;
        }
        let tag = arrived.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
        let chunks = [arrived.head, tag, arrived.rest, arrived.padding];
        match &mut self.queue {
            DirectionQueue::Single(direction) => match direction.offer(arrived_ps, frame) {
                WireFate::Leaves { at_ps } => self.transit.push(at_ps, &chunks),
                WireFate::Lost => dropped.lost += 1,
                WireFate::NoRoom => dropped.queue += 1,
            },
            DirectionQueue::Classed(classed) => {
                let until_ps = arrived_ps.saturating_sub(1);
                advance(classed, &mut self.transit, &mut dropped.lost, until_ps);
                let priority = priority_of(arrived.tag, arrived.rest);
                let (has_room, overtaken_ps) = classed.offer(arrived_ps, priority, &chunks, frame);
                dropped.queue += u64::from(!has_room);
                if overtaken_ps > 0 {
                    self.account.lateness.record(overtaken_ps);
                }
            }
        }
    }

    /// Make the decisions that can wait no longer.
    pub fn decide(&mut self, now_ps: u64) {
        let DirectionQueue::Classed(classed) = &mut self.queue else { return };
        let until_ps = now_ps.saturating_sub(classed.slack_ps());
        advance(classed, &mut self.transit, &mut self.account.dropped.lost, until_ps);
    }

    /// When something is to be done next: a frame sent, or a decision made.
    pub fn next_ps(&self) -> Option<u64> {
        let decision_ps = match &self.queue {
            DirectionQueue::Single(_) => None,
            DirectionQueue::Classed(classed) => classed.wake_ps(),
        };
        [self.transit.next_ps(), decision_ps].into_iter().flatten().min()
    }

    /// What was counted so far of the direction that comes in at an end.
    pub fn report(&self, names: &[String], end: usize) -> DirectionReport {
        let (waiting, classes) = match &self.queue {
            DirectionQueue::Single(_) => (0, Vec::new()),
            DirectionQueue::Classed(classed) => (classed.waiting(), classed.counts()),
        };
        let under_way = self.transit.frames() + waiting;
        self.account.report(&names[end], &names[end ^ 1], under_way, classes)
    }

    /// Send the next frame if it is due at `now_ps`.
    pub fn send_due(&mut self, socket: &Socket, now_ps: u64) {
        if let Some(due_ps) = self.transit.next_ps().filter(|&due_ps| due_ps <= now_ps) {
            self.send(socket, now_ps - due_ps);
        }
    }

    fn send(&mut self, socket: &Socket, late_ps: u64) {
        let Some(frame) = self.transit.next_frame() else { return };
        if ends::send(socket, frame) {
            self.account.left += 1;
            self.account.octets += (frame.0.len() + frame.1.len()) as u64 + FCS.0;
            self.account.lateness.record(late_ps);
        } else {
            self.account.dropped.refused += 1;
        }
        self.transit.pop();
    }
}

/// Make the decisions of a queue up to a time.
fn advance(classed: &mut ClassedDirection, transit: &mut Transit, lost: &mut u64, until_ps: u64) {
    classed.advance(until_ps, |turn, first, second| match turn {
        ServedFrame::Leaves(at_ps) => transit.push(at_ps, &[first, second]),
        ServedFrame::Lost => *lost += 1,
    });
}
