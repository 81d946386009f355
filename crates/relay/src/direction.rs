//! One direction of a wire.
//!
//! ```text
//!    arrived       handled       begin            sent          free
//!  ────┼── device ────┼── waits ────┼── preamble, frame ──┼── gap ──┼──
//!                                                         └─ propagation ─┼─ leaves
//! ```

use ethermeter_ethernet::Octets;
use ethermeter_ethernet::frame::{GAP, PREAMBLE, charged};
use ethermeter_ethernet::units::PS_PER_S;
use ethermeter_traffic::{Coin, Purpose, Stream};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Which frames are lost on their way. A lost frame takes its time of the wire all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum LossRule {
    /// No frame is lost.
    #[default]
    None,
    /// Each frame is lost with this probability, whatever becomes of the others.
    Chance {
        /// Above 0 and at most 1.
        probability: f64,
    },
    /// Every n-th frame is lost.
    Every {
        /// n; at least 1.
        frames: u64,
    },
}

/// What one direction of a wire is.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DirectionProperties {
    /// Line rate in bit/s. Without one, bits take no time, and frames pass the queue of the
    /// interface by which they leave, which may have a rate.
    pub rate_bps: Option<u64>,
    /// Propagation delay in ns.
    pub delay_ns: u64,
    /// Room for frames that wait for the wire, each with preamble and gap.
    pub queue_octets: u64,
    /// Which frames are lost.
    #[serde(default)]
    pub loss: LossRule,
    /// Seed of the losses.
    #[serde(default)]
    pub seed: u64,
    /// What a device before the wire takes for each frame, one after the other, in ns.
    #[serde(default)]
    pub frame_ns: u64,
    /// Frames under way at most, from their arrival until they leave, those that wait included; no
    /// limit without.
    #[serde(default)]
    pub room_frames: Option<u64>,
}

impl DirectionProperties {
    /// How long `octets` last on the wire, to the nearest picosecond; 0 without a rate.
    ///
    /// # Panics
    /// If that is beyond 213 days.
    #[must_use]
    pub fn ps_for(&self, octets: Octets) -> u64 {
        let Some(rate_bps) = self.rate_bps.map(u128::from) else { return 0 };
        let bits = u128::from(octets.bits().0);
        u64::try_from((bits * u128::from(PS_PER_S) + rate_bps / 2) / rate_bps)
            .expect("a frame takes no 213 days")
    }
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFate {
    /// The frame's last bit arrives at the other end at this time.
    Leaves {
        /// In picoseconds.
        at_ps: u64,
    },
    /// It is lost on its way.
    Lost,
    /// Too much was waiting already.
    NoRoom,
}

/// What decides which frames are lost.
#[derive(Debug)]
pub(crate) enum LossState {
    None,
    Chance { coin: Coin, chance: Stream, spared: u64 },
    Every { frames: u64, since: u64 },
}

impl LossState {
    pub(crate) fn new(properties: &DirectionProperties, number: u32) -> Self {
        match properties.loss {
            LossRule::None => Self::None,
            LossRule::Chance { probability } => {
                let coin = Coin::new(probability);
                let mut chance = Stream::new(properties.seed, number, Purpose::Loss);
                let spared = coin.tails(&mut chance);
                Self::Chance { coin, chance, spared }
            }
            LossRule::Every { frames } => Self::Every { frames, since: 0 },
        }
    }

    /// Whether the next frame is lost.
    pub(crate) fn take_next(&mut self) -> bool {
        match self {
            Self::None => false,
            Self::Chance { coin, chance, spared } => {
                if let Some(fewer) = spared.checked_sub(1) {
                    *spared = fewer;
                    return false;
                }
                *spared = coin.tails(chance);
                true
            }
            Self::Every { frames, since } => {
                *since = (*since + 1) % *frames;
                *since == 0
            }
        }
    }
}

/// One direction of a wire at work.
#[derive(Debug)]
pub struct SingleDirection {
    properties: DirectionProperties,
    losses: LossState,
    free_ps: u64,
    /// When the device is done with all frames that it has taken; without one, the latest arrival.
    handled_ps: u64,
    /// When each frame that waits will begin, and what it takes of the queue.
    waiting: VecDeque<(u64, u64)>,
    waiting_octets: u64,
    /// When each frame under way leaves, or would if it were not lost; empty where their number has
    /// no limit.
    under_way: VecDeque<u64>,
}

impl SingleDirection {
    /// An idle one; `number` tells its losses from those of other directions with the same seed.
    #[must_use]
    pub fn new(properties: DirectionProperties, number: u32) -> Self {
        let losses = LossState::new(&properties, number);
        Self {
            properties,
            losses,
            free_ps: 0,
            handled_ps: 0,
            waiting: VecDeque::new(),
            waiting_octets: 0,
            under_way: VecDeque::new(),
        }
    }

    /// A frame, destination address to FCS, arrives. A time before that of the frame before it is
    /// taken for the same.
    pub fn offer(&mut self, arrived_ps: u64, frame: Octets) -> WireFate {
        if !self.has_room(arrived_ps) {
            return WireFate::NoRoom;
        }
        let handled_ps = arrived_ps.max(self.handled_ps) + self.properties.frame_ns * 1000;
        self.handled_ps = handled_ps;
        while let Some(&(_, octets)) =
            self.waiting.front().filter(|(begin_ps, _)| *begin_ps <= handled_ps)
        {
            self.waiting.pop_front();
            self.waiting_octets -= octets;
        }
        let begin_ps = handled_ps.max(self.free_ps);
        if begin_ps > handled_ps {
            let octets = charged(frame).0;
            if self.waiting_octets + octets > self.properties.queue_octets {
                return WireFate::NoRoom;
            }
            self.waiting.push_back((begin_ps, octets));
            self.waiting_octets += octets;
        }
        let sent_ps = begin_ps + self.properties.ps_for(Octets(PREAMBLE.0 + frame.0));
        self.free_ps = begin_ps + self.properties.ps_for(Octets(PREAMBLE.0 + frame.0 + GAP.0));
        let at_ps = sent_ps + self.properties.delay_ns * 1000;
        if self.properties.room_frames.is_some() {
            self.under_way.push_back(at_ps);
        }
        if self.losses.take_next() { WireFate::Lost } else { WireFate::Leaves { at_ps } }
    }

    /// Whether one more frame can be under way.
    fn has_room(&mut self, now_ps: u64) -> bool {
        let Some(room_frames) = self.properties.room_frames else { return true };
        while self.under_way.front().is_some_and(|&at_ps| at_ps <= now_ps) {
            self.under_way.pop_front();
        }
        (self.under_way.len() as u64) < room_frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: u64 = 1_000_000;
    const TEN: DirectionProperties = DirectionProperties {
        rate_bps: Some(10_000_000),
        delay_ns: 0,
        queue_octets: 150_000,
        loss: LossRule::None,
        seed: 1,
        frame_ns: 0,
        room_frames: None,
    };
    const UNPACED: DirectionProperties =
        DirectionProperties { rate_bps: None, queue_octets: 0, ..TEN };

    fn leaves(fate: WireFate) -> u64 {
        match fate {
            WireFate::Leaves { at_ps } => at_ps,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_frame_that_finds_the_wire_idle_takes_the_time_of_its_bits_and_the_delay() {
        // 8 + 64 octets at 0.8 us, 8 + 1518 likewise
        let mut wire = SingleDirection::new(DirectionProperties { delay_ns: 3000, ..TEN }, 0);
        assert_eq!(leaves(wire.offer(100 * US, Octets(64))), 100 * US + 57_600_000 + 3 * US);
        assert_eq!(leaves(wire.offer(1000 * US, Octets(1518))), 1000 * US + 1_220_800_000 + 3 * US);
    }

    #[test]
    fn a_frame_behind_another_begins_after_the_gap() {
        let mut wire = SingleDirection::new(TEN, 0);
        let of_both = [(); 2].map(|()| leaves(wire.offer(0, Octets(64))));
        assert_eq!(of_both, [57_600_000, 67_200_000 + 57_600_000]);
        // the second ends its gap at 134.4 us: a frame that comes then does not wait, one that
        // comes a picosecond before it waits that long
        let mut other = SingleDirection::new(TEN, 0);
        assert_eq!([(); 2].map(|()| leaves(other.offer(0, Octets(64)))), of_both);
        assert_eq!(leaves(wire.offer(134_400_000, Octets(64))), 134_400_000 + 57_600_000);
        assert_eq!(leaves(other.offer(134_399_999, Octets(64))), 134_400_000 + 57_600_000);
    }

    #[test]
    fn what_waits_beyond_the_queue_is_dropped_and_takes_no_time() {
        // one on the wire and two of 84 octets waiting
        let mut wire = SingleDirection::new(DirectionProperties { queue_octets: 168, ..TEN }, 0);
        let fates = [(); 4].map(|()| wire.offer(0, Octets(64)));
        assert_eq!(leaves(fates[2]), 2 * 67_200_000 + 57_600_000);
        assert_eq!(fates[3], WireFate::NoRoom);
        // when the second begins there is room for one again
        assert_eq!(wire.offer(67_199_999, Octets(64)), WireFate::NoRoom);
        assert_eq!(leaves(wire.offer(67_200_000, Octets(64))), 3 * 67_200_000 + 57_600_000);
    }

    #[test]
    fn every_third_frame_is_lost_and_takes_its_time() {
        let mut wire = SingleDirection::new(
            DirectionProperties { loss: LossRule::Every { frames: 3 }, ..TEN },
            0,
        );
        let fates = [(); 6].map(|()| wire.offer(0, Octets(64)));
        assert_eq!(
            fates.map(|fate| fate == WireFate::Lost),
            [false, false, true, false, false, true]
        );
        assert_eq!(leaves(fates[3]), 3 * 67_200_000 + 57_600_000);
    }

    #[test]
    fn losses_by_chance_are_as_frequent_as_asked_for_and_the_same_with_the_same_seed() {
        let lost = |seed, number| {
            let loss = LossRule::Chance { probability: 0.01 };
            let mut wire = SingleDirection::new(DirectionProperties { loss, seed, ..TEN }, number);
            (0..100_000u64)
                .map(|i| wire.offer(i * 100 * US, Octets(64)) == WireFate::Lost)
                .collect::<Vec<_>>()
        };
        let lost_frames = lost(1, 0);
        let count = lost_frames.iter().filter(|&&lost| lost).count();
        // binomial: mean 1000, standard deviation 31.5; five of them
        assert!((842..=1158).contains(&count), "{count}");
        assert_eq!(lost_frames, lost(1, 0));
        assert_ne!(lost_frames, lost(1, 1));
        assert_ne!(lost_frames, lost(2, 0));
    }

    #[test]
    fn certain_loss_loses_all() {
        let mut wire = SingleDirection::new(
            DirectionProperties { loss: LossRule::Chance { probability: 1.0 }, ..TEN },
            0,
        );
        assert!((0..100).all(|_| wire.offer(0, Octets(64)) == WireFate::Lost));
    }

    #[test]
    fn a_rate_that_divides_no_octet_is_kept_to_a_picosecond_a_frame() {
        // 2.94 Mb/s: 84 octets take 228 571 428.57 ps; 999 of them and the 72 octets of the last
        // 228 538 775 510 ps
        let mut wire =
            SingleDirection::new(DirectionProperties { rate_bps: Some(2_940_000), ..TEN }, 0);
        let last = (0..1000).map(|_| leaves(wire.offer(0, Octets(64)))).last().expect("a thousand");
        assert!(last.abs_diff(228_538_775_510) <= 500, "{last}");
    }

    #[test]
    fn without_a_rate_a_frame_takes_the_delay_alone_and_none_waits() {
        let mut wire = SingleDirection::new(DirectionProperties { delay_ns: 3000, ..UNPACED }, 0);
        let of_all = [64, 1518, 64].map(|octets| leaves(wire.offer(10 * US, Octets(octets))));
        assert_eq!(of_all, [13 * US; 3]);
    }

    #[test]
    fn a_device_takes_its_time_for_each_frame_before_the_delay_begins() {
        // 200 us each: two that come together leave that far apart; one that comes when the device
        // is idle, 450 us later, waits for neither
        let properties = DirectionProperties { delay_ns: 3000, frame_ns: 200_000, ..UNPACED };
        let mut wire = SingleDirection::new(properties, 0);
        let times = [0, 0, 450, 500].map(|at_us| leaves(wire.offer(at_us * US, Octets(64))) / US);
        assert_eq!(times, [203, 403, 653, 853]);
    }

    #[test]
    fn the_slower_of_device_and_wire_sets_the_rate_and_a_lone_frame_takes_both() {
        // 72 octets take 57.6 us and 84 with the gap 67.2
        let third = |frame_us: u64| {
            let properties = DirectionProperties { frame_ns: frame_us * 1000, ..TEN };
            let mut wire = SingleDirection::new(properties, 0);
            [(); 3].map(|()| leaves(wire.offer(0, Octets(64))))[2]
        };
        assert_eq!(third(50), 50 * US + 2 * 67_200_000 + 57_600_000);
        assert_eq!(third(100), 3 * 100 * US + 57_600_000);
    }

    #[test]
    fn a_frame_needs_room_before_the_wire_when_the_device_is_done_with_it() {
        // The device is done at 50, 100, 150, 200 and 250 us. The wire takes 67.2 us for each, and
        // one frame of 84 octets may wait.
        let properties = DirectionProperties { frame_ns: 50_000, queue_octets: 84, ..TEN };
        let mut wire = SingleDirection::new(properties, 0);
        let fates = [(); 5].map(|()| wire.offer(0, Octets(64)));
        let begins_ns = [50_000, 117_200, 184_400, 251_600];
        for (fate, begin_ns) in fates.into_iter().zip(begins_ns) {
            assert_eq!(leaves(fate), begin_ns * 1000 + 57_600_000);
        }
        // The fourth waits from 200 to 251.6 us.
        assert_eq!(fates[4], WireFate::NoRoom);
    }

    #[test]
    fn what_is_under_way_beyond_the_room_is_dropped_and_takes_no_time() {
        // The device is done at 10 and 20 us, and the frames leave at 110 and 120 us.
        let properties = DirectionProperties {
            delay_ns: 100_000,
            frame_ns: 10_000,
            room_frames: Some(2),
            ..UNPACED
        };
        let mut wire = SingleDirection::new(properties, 0);
        let fates = [(); 3].map(|()| wire.offer(0, Octets(64)));
        assert_eq!(leaves(fates[1]), 120 * US);
        assert_eq!(fates[2], WireFate::NoRoom);
        assert_eq!(wire.offer(110 * US - 1, Octets(64)), WireFate::NoRoom);
        assert_eq!(leaves(wire.offer(110 * US, Octets(64))), 220 * US);
    }

    #[test]
    fn lost_frames_are_under_way_until_they_would_have_left() {
        let properties = DirectionProperties {
            delay_ns: 100_000,
            room_frames: Some(1),
            loss: LossRule::Every { frames: 1 },
            ..UNPACED
        };
        let mut wire = SingleDirection::new(properties, 0);
        let fates = [0, 99, 100].map(|at_us| wire.offer(at_us * US, Octets(64)));
        assert_eq!(fates, [WireFate::Lost, WireFate::NoRoom, WireFate::Lost]);
    }

    proptest! {
        #[test]
        fn frames_leave_in_their_order_never_faster_than_the_wire_nor_before_their_bits(
            arrivals in proptest::collection::vec((0..3000u64, 64..1519u64), 1..200),
        ) {
            let mut wire = SingleDirection::new(DirectionProperties { queue_octets: 20_000, ..TEN }, 0);
            let (mut now_ps, mut before) = (0, None::<u64>);
            for (gap_us, octets) in arrivals {
                now_ps += gap_us * US;
                match wire.offer(now_ps, Octets(octets)) {
                    WireFate::Leaves { at_ps } => {
                        prop_assert!(at_ps >= now_ps + TEN.ps_for(Octets(8 + octets)));
                        // the last bits of two frames are a gap, a preamble and the second frame
                        // apart at least
                        prop_assert!(before.is_none_or(|before| at_ps >= before + TEN.ps_for(Octets(20 + octets))));
                        // and no more than the queue and one frame stand before it
                        prop_assert!(at_ps <= now_ps + TEN.ps_for(Octets(20_000 + 1538)));
                        before = Some(at_ps);
                    }
                    WireFate::NoRoom => prop_assert!(before.is_some_and(|before| before > now_ps)),
                    WireFate::Lost => prop_assert!(false),
                }
            }
        }
    }
}
