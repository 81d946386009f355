//! One direction of a wire whose queue has traffic classes.
//!
//! Which frame comes next is decided when the wire is free, so it is not known at the arrival of a
//! frame when it leaves. The decision is made as late as it can be: a frame is due at the end of
//! the wire no sooner than the shortest frame takes, and until then frames are taken into account
//! that arrived before the decision but were noticed after it.

use crate::direction::{DirectionProperties, LossState};
use ethermeter_ethernet::Octets;
use ethermeter_ethernet::frame::{GAP, PREAMBLE, SHORTEST, TAG_TYPE};
use ethermeter_traffic::classes::{Class, ClassCounts};
use ethermeter_traffic::scheduler::{Classes, Next, Room, Scheduler, Waiting};
use std::collections::VecDeque;

/// What becomes of a frame whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedFrame {
    /// The frame's last bit arrives at the other end at this time, in picoseconds.
    Leaves(u64),
    /// It is lost on its way.
    Lost,
}

/// One direction of a wire at work.
#[derive(Debug)]
pub struct ClassedDirection {
    properties: DirectionProperties,
    losses: LossState,
    classes: Classes,
    scheduler: Scheduler<()>,
    /// Octets of the frames that wait, by class: end to end in one ring, with their lengths.
    frames: Vec<(VecDeque<u8>, VecDeque<usize>)>,
    /// Up to when is decided.
    decided_ps: u64,
    /// When the frame being sent has left.
    end_ps: Option<u64>,
    /// When the wire is free.
    free_ps: u64,
    /// When the next decision is due, if one is.
    due_ps: Option<u64>,
}

impl ClassedDirection {
    /// An idle one, with room for `queue_octets` of each class that has none of its own; `number`
    /// tells its losses from those of other directions with the same seed.
    #[must_use]
    pub fn new(properties: DirectionProperties, classes: &[Class], number: u32) -> Self {
        let room = Room { frames: u64::MAX, octets: properties.queue_octets };
        let compiled = Classes::new(classes, room);
        Self {
            losses: LossState::new(&properties, number),
            scheduler: Scheduler::new(&compiled),
            frames: classes.iter().map(|_| Default::default()).collect(),
            classes: compiled,
            properties,
            decided_ps: 0,
            end_ps: None,
            free_ps: 0,
            due_ps: None,
        }
    }

    /// A frame of this priority arrives, in pieces; whether there was room. Decisions before it
    /// must have been made ([`Self::advance`]).
    ///
    /// Returns how long ago the latest decision was that it should have been part of, too.
    pub fn offer(
        &mut self,
        arrived_ps: u64,
        priority: u8,
        chunks: &[&[u8]],
        frame: Octets,
    ) -> (bool, u64) {
        let overtaken_ps = self.decided_ps.saturating_sub(arrived_ps);
        let now_ps = arrived_ps.max(self.decided_ps);
        let class = self.classes.class_of(priority);
        let waiting = Waiting {
            item: (),
            octets: u32::try_from(frame.0).unwrap_or(u32::MAX),
            volume: PREAMBLE.0 + frame.0 + GAP.0,
            begin: now_ps,
        };
        if !self.scheduler.push(&self.classes, class, now_ps, waiting) {
            return (false, overtaken_ps);
        }
        let (octets, lengths) = &mut self.frames[class];
        let before = octets.len();
        for chunk in chunks {
            octets.extend(*chunk);
        }
        lengths.push_back(octets.len() - before);
        let earliest_ps = now_ps.max(self.free_ps);
        self.due_ps = Some(self.due_ps.map_or(earliest_ps, |due_ps| due_ps.min(earliest_ps)));
        (true, overtaken_ps)
    }

    /// Make all decisions up to this time; `take` is given each frame whose turn came, in two
    /// pieces.
    pub fn advance(&mut self, until_ps: u64, mut take: impl FnMut(ServedFrame, &[u8], &[u8])) {
        while let Some(due_ps) = self.due_ps.filter(|&due_ps| due_ps <= until_ps) {
            self.leave(due_ps);
            match self.scheduler.next(&self.classes, due_ps) {
                Next::Send(class) => self.send(class, due_ps, &mut take),
                Next::At(later_ps) => self.due_ps = Some(later_ps),
                Next::Nothing => self.due_ps = None,
            }
        }
        self.leave(until_ps);
        self.decided_ps = self.decided_ps.max(until_ps);
    }

    /// When decisions are to be made: as late as a frame can still leave in time.
    #[must_use]
    pub fn wake_ps(&self) -> Option<u64> {
        self.due_ps.map(|due_ps| due_ps + self.slack_ps())
    }

    /// How long after it is due a decision can be made.
    #[must_use]
    pub fn slack_ps(&self) -> u64 {
        self.properties.ps_for(Octets(PREAMBLE.0 + SHORTEST.0))
    }

    /// Frames that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.frames.iter().map(|(_, lengths)| lengths.len()).sum()
    }

    /// What was counted of each class.
    #[must_use]
    pub fn counts(&self) -> Vec<ClassCounts> {
        self.scheduler.counts()
    }

    fn leave(&mut self, now_ps: u64) {
        if self.end_ps.is_some_and(|end_ps| end_ps <= now_ps) {
            self.scheduler.left();
            self.end_ps = None;
        }
    }

    fn send(
        &mut self,
        class: usize,
        now_ps: u64,
        take: &mut impl FnMut(ServedFrame, &[u8], &[u8]),
    ) {
        let volume = self.scheduler.first_volume(class);
        let end_ps = now_ps + self.properties.ps_for(Octets(volume - GAP.0));
        self.free_ps = now_ps + self.properties.ps_for(Octets(volume));
        self.scheduler.pop(&self.classes, class, now_ps, self.free_ps);
        self.end_ps = Some(end_ps);
        self.due_ps = Some(self.free_ps);
        let turn = if self.losses.take_next() {
            ServedFrame::Lost
        } else {
            ServedFrame::Leaves(end_ps + self.properties.delay_ns * 1000)
        };
        let (octets, lengths) = &mut self.frames[class];
        let length = lengths.pop_front().expect("a frame of the class waits");
        let (first, second) = octets.as_slices();
        let of_first = length.min(first.len());
        take(turn, &first[..of_first], &second[..length - of_first]);
        octets.drain(..length);
    }
}

const IPV4_TYPE: u16 = 0x0800;
const IPV6_TYPE: u16 = 0x86DD;

/// The priority of a frame: that of its tag (802.1Q-2022 § 9.6), else the class selector of its IP
/// packet (RFC 2474, section 4.2.2), else 0. `rest` is what follows its addresses and its tag.
#[must_use]
pub fn priority_of(tag: Option<[u8; 4]>, rest: &[u8]) -> u8 {
    if let Some([_, _, control, _]) = tag {
        return control >> 5;
    }
    let &[high, low, first, second, ..] = rest else { return 0 };
    match u16::from_be_bytes([high, low]) {
        TAG_TYPE => first >> 5,
        IPV4_TYPE => second >> 5,
        IPV6_TYPE => first >> 1 & 7,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direction::{LossRule, SingleDirection, WireFate};
    use proptest::prelude::*;

    const US: u64 = 1_000_000;
    const TEN: DirectionProperties = DirectionProperties {
        rate_bps: Some(10_000_000),
        delay_ns: 3000,
        queue_octets: 1 << 20,
        loss: LossRule::None,
        seed: 1,
        frame_ns: 0,
        room_frames: None,
    };

    fn class(priorities: &[u8]) -> Class {
        Class { priorities: priorities.to_vec(), ..Class::default() }
    }

    /// Send frames, each with its arrival in microseconds, its priority and its octets; the number
    /// of each with the time at which it leaves, in order.
    fn left(wire: &mut ClassedDirection, frames: &[(u64, u8, u64)]) -> Vec<(u8, u64)> {
        let mut all = Vec::new();
        let mut note = |turn, first: &[u8], second: &[u8]| match turn {
            ServedFrame::Leaves(at_ps) => all.push(([first, second].concat()[0], at_ps)),
            ServedFrame::Lost => {}
        };
        for (number, &(at_us, priority, octets)) in (0u8..).zip(frames) {
            wire.advance((at_us * US).saturating_sub(1), &mut note);
            let frame = vec![number; usize::try_from(octets).expect("short") - 4];
            wire.offer(at_us * US, priority, &[&frame], Octets(octets));
        }
        wire.advance(u64::MAX >> 1, &mut note);
        all
    }

    #[test]
    fn a_frame_of_a_higher_class_is_next_and_none_is_interrupted() {
        // 72 octets with the preamble take 57.6 us, 84 with the gap 67.2; the delay is 3 us
        let mut wire = ClassedDirection::new(TEN, &[class(&[4, 5, 6, 7]), class(&[0, 1, 2, 3])], 0);
        let frames = [(0, 0, 64), (10, 1, 64), (20, 5, 64), (67, 7, 64)];
        let expected = [(0, 60_600_000), (2, 127_800_000), (3, 195_000_000), (1, 262_200_000)];
        assert_eq!(left(&mut wire, &frames), expected);
        let counts = wire.counts();
        assert_eq!(counts.iter().map(|class| class.frames).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn a_credit_based_shaper_keeps_its_rate() {
        // 84 octets are 672 bits; at an idle slope of 1 Mb/s a class has them back after 672 us
        let shaped = Class { idle_slope_bps: Some(1_000_000), ..class(&[7]) };
        let mut wire = ClassedDirection::new(TEN, &[shaped, class(&[0, 1, 2, 3, 4, 5, 6])], 0);
        let times: Vec<u64> =
            left(&mut wire, &[(0, 7, 64); 4]).into_iter().map(|(_, at_ps)| at_ps).collect();
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [672 * US; 3]);
    }

    #[test]
    fn room_of_a_class_counts_its_frames_one_being_sent_among_them() {
        let small = Class { queue_frames: Some(2), ..class(&[7]) };
        let mut wire = ClassedDirection::new(TEN, &[small, class(&[0, 1, 2, 3, 4, 5, 6])], 0);
        assert_eq!(left(&mut wire, &[(0, 7, 64), (1, 7, 64), (2, 7, 64), (3, 0, 64)]).len(), 3);
        assert_eq!(wire.counts()[0].dropped, 1);
    }

    #[test]
    fn priorities_are_those_of_tags_and_of_traffic_classes() {
        assert_eq!(priority_of(Some([0x81, 0, 0xA0, 0]), &[0x88, 0xB5, 0, 0]), 5);
        assert_eq!(priority_of(None, &[0x81, 0x00, 0xE0, 0]), 7);
        assert_eq!(priority_of(None, &[0x08, 0x00, 0x45, 0xC0]), 6);
        // version 6, traffic class 0xA0, a flow label
        assert_eq!(priority_of(None, &[0x86, 0xDD, 0x6A, 0x01]), 5);
        assert_eq!(priority_of(None, &[0x88, 0xB5, 0xFF, 0xFF]), 0);
        assert_eq!(priority_of(None, &[0x08]), 0);
    }

    proptest! {
        /// With one class a wire is the same as without.
        #[test]
        fn one_class_is_no_class(
            arrivals in proptest::collection::vec((0..400u64, 64..1519u64), 1..60),
        ) {
            let mut plain = SingleDirection::new(TEN, 0);
            let mut wire = ClassedDirection::new(TEN, &[class(&[0, 1, 2, 3, 4, 5, 6, 7])], 0);
            let mut now_us = 0;
            let frames: Vec<(u64, u8, u64)> = arrivals
                .into_iter()
                .map(|(gap_us, octets)| {
                    now_us += gap_us;
                    (now_us, 3, octets)
                })
                .collect();
            let expected: Vec<u64> = frames
                .iter()
                .filter_map(|&(at_us, _, octets)| match plain.offer(at_us * US, Octets(octets)) {
                    WireFate::Leaves { at_ps } => Some(at_ps),
                    _ => None,
                })
                .collect();
            let served: Vec<u64> =
                left(&mut wire, &frames).into_iter().map(|(_, at_ps)| at_ps).collect();
            prop_assert_eq!(served, expected);
        }

        /// Decisions made late, as long as a frame takes, are the same as decisions at once; frames
        /// of a class stay in order, and none is lost.
        #[test]
        fn decisions_may_wait(
            arrivals in proptest::collection::vec((0..200u64, 0..8u8, 64..1519u64), 1..60),
        ) {
            let classes = [
                Class { idle_slope_bps: Some(2_000_000), ..class(&[7]) },
                class(&[5, 6]),
                Class { quantum_octets: Some(1538), ..class(&[2, 3, 4]) },
                Class { quantum_octets: Some(300), ..class(&[0, 1]) },
            ];
            let mut now_us = 0;
            let frames: Vec<(u64, u8, u64)> = arrivals
                .into_iter()
                .map(|(gap_us, priority, octets)| {
                    now_us += gap_us;
                    (now_us, priority, octets)
                })
                .collect();
            let mut wire = ClassedDirection::new(TEN, &classes, 0);
            let at_once = left(&mut wire, &frames);
            prop_assert_eq!(at_once.len(), frames.len());
            let mut late = ClassedDirection::new(TEN, &classes, 0);
            let mut served = Vec::new();
            let mut next = frames.iter().zip(0u8..).peekable();
            // every 20 us what has come is noticed, and what can wait no longer is decided
            for now_us in (0..=now_us + 100_000).step_by(20) {
                let mut note = |turn, first: &[u8], second: &[u8]| {
                    if let ServedFrame::Leaves(at_ps) = turn {
                        served.push(([first, second].concat()[0], at_ps));
                    }
                };
                while let Some((&(at_us, priority, octets), number)) =
                    next.next_if(|((at_us, ..), _)| *at_us <= now_us)
                {
                    late.advance((at_us * US).saturating_sub(1), &mut note);
                    let frame = vec![number; usize::try_from(octets).expect("short") - 4];
                    let (_, overtaken_ps) =
                        late.offer(at_us * US, priority, &[&frame], Octets(octets));
                    prop_assert_eq!(overtaken_ps, 0);
                }
                late.advance((now_us * US).saturating_sub(late.slack_ps()), &mut note);
            }
            prop_assert_eq!(served, at_once);
        }
    }
}
