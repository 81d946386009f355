//! A station's supply of frames, from source to transmitter.
//!
//! ```text
//! saturated:   host ── service ──► transmitter             the next frame is there when the host is
//! generator:   process ──► ring of buffers ── service ──► transmitter      (Boggs, Mogul, Kent 1988, figure 3)
//! arrivals:    source ──► queue (full: dropped) ── service ──► transmitter
//! voice:       coder ──► packet buffer, which is the frame ── service ──► transmitter      (Gonsalves 1982; see `voice`)
//! custom:      the caller's source ──► queue ── service ──► transmitter                    (see `custom`)
//! ```
//!
//! The transmitter takes up one frame at a time; the service time is what the host needs between
//! the end of one frame and the earliest start of the next.

use crate::arrivals::{ArrivalTimes, Arrivals};
use crate::batches::Batches;
use crate::calls::{StationCalls, Upcoming};
use crate::coder::{Coder, FixedPackets, Samples, VoiceFrame, VoiceSpec};
use crate::custom::{Arrival, CustomFrames, CustomSource};
use crate::generator::{Buffers, Generator, GeneratorTimes};
use crate::lengths::Lengths;
use crate::random::{Purpose, Stream};
use crate::times::Times;
use crate::token_bucket::{Shaper, Shaping};
use crate::voice::Voice;
use crate::window::Window;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The traffic of a station.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    /// Frame lengths.
    pub frames: Lengths,
    /// When frames come.
    pub arrivals: Arrivals,
    /// The process behind a saturated source; without it, buffers are always full.
    pub generator: Option<Generator>,
    /// Size of the queue, the frame being sent included; unlimited if `None`.
    pub queue_frames: Option<u32>,
    /// Host time between the end of a frame and the next; of voice, between the frame's
    /// smallest length and its earliest start.
    pub service: Times,
    /// The shaper, if it has one; a source of a token bucket is saturated behind it.
    pub shaping: Option<Shaping>,
}

impl SourceSpec {
    /// Its coder and its frames, if it is voice.
    #[must_use]
    pub fn voice(&self) -> Option<VoiceSpec> {
        match (&self.arrivals, &self.frames) {
            (
                &Arrivals::Coder { sample_bits, sample_ps, spurts },
                &Lengths::Samples { overhead_bits, min_bits, max_bits, buffers, discard_after_ps },
            ) => Some(VoiceSpec {
                sample_bits,
                sample_ps,
                spurts,
                overhead_bits,
                min_bits,
                max_bits,
                fixed: (buffers.is_some() || discard_after_ps.is_some())
                    .then(|| FixedPackets { buffers: buffers.unwrap_or(0), discard_after_ps }),
            }),
            _ => None,
        }
    }
}

/// A frame that the transmitter takes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// When the transmitter takes it up.
    pub ready_ps: u64,
    /// When it arrived at the queue.
    pub arrived_ps: u64,
    /// Its length, destination address to FCS; of one that grows, the least.
    pub bits: u64,
}

#[derive(Clone, Debug)]
enum Supply {
    Saturated,
    Generated(Box<Buffers>),
    /// Unlimited: nothing is stored, since the arrivals give the next frame.
    Endless {
        times: ArrivalTimes,
    },
    Bounded {
        times: ArrivalTimes,
        /// When they arrived, and which of the lengths they have, if that is known.
        waiting: VecDeque<(u64, Option<u16>)>,
        room: u32,
    },
    Voice(Box<Voice>),
    Custom(Box<Custom>),
}

impl Supply {
    /// Frames that arrive at a queue with so much room.
    fn of(times: ArrivalTimes, room: Option<u32>) -> Self {
        match room {
            None => Self::Endless { times },
            Some(room) => {
                Self::Bounded { times, waiting: VecDeque::with_capacity(room as usize), room }
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Custom {
    frames: CustomFrames,
    /// Length of all frames offered within the measured window.
    offered_bits: f64,
}

/// The supply of one station.
#[derive(Clone, Debug)]
pub struct Source {
    frames: Lengths,
    service: Times,
    length_chance: Stream,
    service_chance: Stream,
    window: Window,
    supply: Supply,
    shaper: Option<Box<Shaper>>,
    offered: u64,
    dropped: u64,
    /// The same in batches of the measured window, if that is wanted.
    batches: Option<Box<Batches<(u64, u64)>>>,
}

impl Source {
    /// The supply of `station` under `seed`.
    #[must_use]
    pub fn new(spec: &SourceSpec, seed: u64, station: u32, window: Window) -> Self {
        let stream = |purpose| Stream::new(seed, station, purpose);
        let supply = match (spec.voice(), &spec.arrivals, &spec.generator) {
            (Some(voice), _, _) => {
                Supply::Voice(Box::new(Voice::new(voice, stream(Purpose::Arrival), window)))
            }
            (None, Arrivals::Saturated {} | Arrivals::TokenBucket { .. }, None) => {
                Supply::Saturated
            }
            (None, Arrivals::Saturated {}, Some(generator)) => {
                let chance = stream(Purpose::Generation);
                Supply::Generated(Box::new(Buffers::new(generator.clone(), chance, window)))
            }
            (None, arrivals, _) => {
                let times = ArrivalTimes::new(arrivals, window.begin_ps, stream(Purpose::Arrival));
                Supply::of(times, spec.queue_frames)
            }
        };
        Self {
            frames: spec.frames.clone(),
            service: spec.service.clone(),
            length_chance: stream(Purpose::Length),
            service_chance: stream(Purpose::Service),
            window,
            supply,
            shaper: spec
                .shaping
                .as_ref()
                .map(|shaping| Box::new(Shaper::new(shaping, window.begin_ps))),
            offered: 0,
            dropped: 0,
            batches: None,
        }
    }

    /// The supply of `station` that is active in calls only; its kind of source suits them
    /// ([`crate::admission::Calls::suit`]).
    #[must_use]
    pub fn in_calls(
        spec: &SourceSpec,
        seed: u64,
        station: u32,
        window: Window,
        of: &StationCalls,
    ) -> Self {
        let (chance, calls) =
            (Stream::new(seed, station, Purpose::Arrival), Upcoming::new(&of.calls));
        let supply = if let Some(voice) = spec.voice() {
            let coder = Coder::in_calls(&voice, chance, calls);
            Supply::Voice(Box::new(Voice::of(voice, coder, window)))
        } else {
            let times = ArrivalTimes::in_calls(&spec.arrivals, chance, calls);
            Supply::of(times, spec.queue_frames)
        };
        Self { supply, ..Self::new(spec, seed, station, window) }
    }

    /// The supply of `station` whose frames come from a source of the caller's own, instead of the
    /// arrivals of `spec`. Not counted in batches.
    #[must_use]
    pub fn custom(
        spec: &SourceSpec,
        seed: u64,
        station: u32,
        window: Window,
        source: Arc<Mutex<dyn CustomSource>>,
    ) -> Self {
        let frames = CustomFrames::new(source, window.begin_ps, spec.queue_frames);
        let supply = Supply::Custom(Box::new(Custom { frames, offered_bits: 0.0 }));
        Self { supply, ..Self::new(spec, seed, station, window) }
    }

    /// Count offered and dropped frames in batches of the measured window, too; to be called
    /// before the first frame. Frames are then asked for with [`Source::first_in_batches`] and
    /// [`Source::next_in_batches`]: without batches there is no cost.
    ///
    /// # Panics
    /// If there is no batch.
    pub fn count_in_batches(&mut self, count: u32) {
        self.batches = Some(Box::new(Batches::new(
            self.window.measure_from_ps,
            self.window.measure_to_ps,
            count,
        )));
    }

    /// As [`Source::first`].
    pub fn first_in_batches(&mut self) -> Option<Offer> {
        let offer = self.first();
        self.count_taken(offer)
    }

    /// As [`Source::next`].
    #[inline]
    pub fn next_in_batches(&mut self, ended_ps: u64) -> Option<Offer> {
        let offer = self.next(ended_ps);
        self.count_taken(offer)
    }

    /// A frame of a bounded queue is counted when it comes there, every other when it is taken up.
    #[inline]
    fn count_taken(&mut self, offer: Option<Offer>) -> Option<Offer> {
        let offer = offer?;
        if !matches!(self.supply, Supply::Bounded { .. }) {
            count_in_batch(&mut self.batches, offer.arrived_ps, false);
        }
        Some(offer)
    }

    /// The first frame, if there is one.
    pub fn first(&mut self) -> Option<Offer> {
        self.take(None, self.window.begin_ps)
    }

    /// The next frame after one that left the transmitter at `ended_ps`, if there is one.
    #[expect(
        clippy::inline_always,
        reason = "what is returned through memory and copied at once waits: a tenth of a frame"
    )]
    #[inline(always)]
    pub fn next(&mut self, ended_ps: u64) -> Option<Offer> {
        let free_ps = ended_ps + self.service.draw(&mut self.service_chance);
        if matches!(self.supply, Supply::Saturated) && self.shaper.is_none() {
            if free_ps >= self.window.stop_ps {
                return None;
            }
            self.count_offer(free_ps);
            return Some(Offer {
                ready_ps: free_ps,
                arrived_ps: free_ps,
                bits: self.frames.draw(&mut self.length_chance),
            });
        }
        self.take(Some(ended_ps), free_ps)
    }

    /// When the host hands the same frame over again that it got back at `ended_ps`. Voice, whose
    /// buffer goes on meanwhile: at once.
    pub fn handed_over_again_ps(&mut self, ended_ps: u64) -> u64 {
        if matches!(self.supply, Supply::Voice(_)) {
            return ended_ps;
        }
        ended_ps + self.service.draw(&mut self.service_chance)
    }

    /// The station's voice, if that is what it offers.
    #[inline]
    #[must_use]
    pub fn voice(&self) -> Option<&Voice> {
        match &self.supply {
            Supply::Voice(voice) => Some(voice),
            _ => None,
        }
    }

    /// The contents of the frame of a voice station, sent until `ended_ps`. Its buffer is empty
    /// now.
    ///
    /// # Panics
    /// If it is no voice station.
    pub fn deliver_voice(&mut self, ended_ps: u64) -> VoiceFrame {
        match &mut self.supply {
            Supply::Voice(voice) => voice.deliver(ended_ps),
            _ => unreachable!("only voice grows"),
        }
    }

    /// Discard the packet of a voice station that could begin to leave at `now_ps`, if it is too old.
    /// Whether it was.
    pub fn discard_late_voice(&mut self, now_ps: u64) -> bool {
        match &mut self.supply {
            Supply::Voice(voice) => voice.discard_late(now_ps),
            _ => false,
        }
    }

    /// The fate of the samples made within the measured window, if nothing more happens; `None`
    /// if it is no voice station.
    pub fn finish_voice(&mut self) -> Option<Samples> {
        match &mut self.supply {
            Supply::Voice(voice) => Some(voice.finish()),
            _ => None,
        }
    }

    /// What the buffers of a generator did within the measured window, when nothing more happens;
    /// `None` without one.
    #[must_use]
    pub fn finish_generator(&self) -> Option<GeneratorTimes> {
        match &self.supply {
            Supply::Generated(buffers) => Some(buffers.as_ref().clone().finish()),
            _ => None,
        }
    }

    /// Bits offered within the measured window, of a custom source; to be called after
    /// [`Source::finish`].
    #[must_use]
    pub fn custom_bits(&self) -> Option<f64> {
        match &self.supply {
            Supply::Custom(custom) => Some(custom.offered_bits),
            _ => None,
        }
    }

    /// Frames offered and frames dropped within the measured window, when nothing more happens.
    pub fn finish(&mut self) -> (u64, u64) {
        let until_ps = self.window.measure_to_ps.min(self.window.stop_ps);
        self.admit_before(until_ps);
        while let Supply::Endless { times } = &mut self.supply {
            if times.peek_ps() >= until_ps {
                break;
            }
            let arrived_ps = times.take_ps();
            self.count_offer(arrived_ps);
            count_in_batch(&mut self.batches, arrived_ps, false);
        }
        while let Some(frame) = self.next_custom(until_ps) {
            self.count_custom(frame);
        }
        (self.offered, self.dropped)
    }

    /// The same in each batch of the window; empty without batches.
    pub fn finish_in_batches(&mut self) -> Vec<(u64, u64)> {
        self.finish();
        self.batches.as_ref().map_or_else(Vec::new, |batches| batches.counted())
    }

    #[inline]
    fn count_offer(&mut self, at_ps: u64) {
        self.offered +=
            u64::from(self.window.measure_from_ps <= at_ps && at_ps < self.window.measure_to_ps);
    }

    fn take(&mut self, ended_ps: Option<u64>, free_ps: u64) -> Option<Offer> {
        let (ready_ps, arrived_ps, kind) = match &mut self.supply {
            Supply::Saturated => (free_ps, free_ps, None),
            Supply::Generated(buffers) => {
                if ended_ps.is_some() {
                    buffers.free(free_ps);
                }
                let filled_ps = buffers.take();
                (filled_ps.max(free_ps), filled_ps, None)
            }
            Supply::Endless { times } => {
                if times.peek_ps() >= self.window.stop_ps {
                    return None;
                }
                let arrived_ps = times.take_ps();
                (arrived_ps.max(free_ps), arrived_ps, times.taken_kind())
            }
            Supply::Bounded { .. } => return self.take_bounded(ended_ps, free_ps),
            Supply::Voice(_) => return self.take_voice(ended_ps, free_ps),
            Supply::Custom(_) => return self.take_custom(ended_ps, free_ps),
        };
        if arrived_ps >= self.window.stop_ps {
            return None;
        }
        let bits = self.frames.next(kind, &mut self.length_chance);
        let offer = Offer { ready_ps, arrived_ps, bits };
        let offer = self.shaped(offer)?;
        self.count_offer(offer.arrived_ps);
        Some(offer)
    }

    /// A message as its shaper, if any, releases it. A saturated source makes it then, unless it
    /// has stopped.
    #[inline]
    fn shaped(&mut self, offer: Offer) -> Option<Offer> {
        let Some(shaper) = &mut self.shaper else { return Some(offer) };
        let ready_ps = shaper.release(offer.bits, offer.ready_ps);
        if !matches!(self.supply, Supply::Saturated) {
            return Some(Offer { ready_ps, ..offer });
        }
        (ready_ps < self.window.stop_ps).then_some(Offer {
            ready_ps,
            arrived_ps: ready_ps,
            ..offer
        })
    }

    fn take_voice(&mut self, ended_ps: Option<u64>, free_ps: u64) -> Option<Offer> {
        let service_ps = match ended_ps {
            Some(ended_ps) => free_ps - ended_ps,
            None => self.service.draw(&mut self.service_chance),
        };
        let Supply::Voice(voice) = &self.supply else { unreachable!("only voice") };
        let (wanted_ps, arrived_ps) = (voice.wanted_ps()?, voice.first_ps());
        self.count_offer(wanted_ps);
        // A packet of several may have been whole before the one before it ended.
        let handed_over_ps = wanted_ps.max(ended_ps.unwrap_or(0));
        Some(Offer {
            ready_ps: handed_over_ps + service_ps,
            arrived_ps,
            bits: self.frames.draw(&mut self.length_chance),
        })
    }

    fn take_bounded(&mut self, ended_ps: Option<u64>, free_ps: u64) -> Option<Offer> {
        if let Some(ended_ps) = ended_ps {
            // Frames that arrived before this one left found it in the queue.
            self.admit_before(ended_ps);
        }
        let Supply::Bounded { times, waiting, .. } = &mut self.supply else {
            unreachable!("only bounded queues")
        };
        let (arrived_ps, kind) = if let Some(first) = waiting.pop_front() {
            first
        } else {
            if times.peek_ps() >= self.window.stop_ps {
                return None;
            }
            let first = (times.take_ps(), times.taken_kind());
            self.count_offer(first.0);
            count_in_batch(&mut self.batches, first.0, false);
            first
        };
        let bits = self.frames.next(kind, &mut self.length_chance);
        self.shaped(Offer { ready_ps: arrived_ps.max(free_ps), arrived_ps, bits })
    }

    #[cold]
    #[inline(never)]
    fn take_custom(&mut self, ended_ps: Option<u64>, free_ps: u64) -> Option<Offer> {
        if let Some(ended_ps) = ended_ps {
            self.admit_before(ended_ps);
        }
        let Supply::Custom(custom) = &mut self.supply else { unreachable!("only custom sources") };
        let frame = if let Some(frame) = custom.frames.first_waiting() {
            frame
        } else {
            let frame = self.next_custom(self.window.stop_ps)?;
            self.count_custom(frame);
            frame
        };
        let bits = frame.bits.unwrap_or_else(|| self.frames.draw(&mut self.length_chance));
        self.shaped(Offer { ready_ps: frame.at_ps.max(free_ps), arrived_ps: frame.at_ps, bits })
    }

    fn next_custom(&mut self, until_ps: u64) -> Option<Arrival> {
        match &mut self.supply {
            Supply::Custom(custom) => custom.frames.take_before(until_ps),
            _ => None,
        }
    }

    /// Count a frame of a custom source as offered, with the mean length if its own is not drawn
    /// yet.
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    fn count_custom(&mut self, frame: Arrival) {
        let counted = self.window.measure_from_ps..self.window.measure_to_ps;
        if !counted.contains(&frame.at_ps) {
            return;
        }
        self.offered += 1;
        let bits = frame.bits.map_or_else(|| self.frames.mean_bits(), |bits| bits as f64);
        if let Supply::Custom(custom) = &mut self.supply {
            custom.offered_bits += bits;
        }
    }

    /// Let frames of a custom source that arrive before `until_ps` into its queue, if that is
    /// bounded.
    #[cold]
    #[inline(never)]
    fn admit_custom_before(&mut self, until_ps: u64) {
        let counted = self.window.measure_from_ps..self.window.measure_to_ps;
        while let Some(frame) = self.next_custom(until_ps) {
            self.count_custom(frame);
            let Supply::Custom(custom) = &mut self.supply else { unreachable!("it gave a frame") };
            if !custom.frames.admit(frame) {
                self.dropped += u64::from(counted.contains(&frame.at_ps));
            }
        }
    }

    /// Let frames that arrive before `until_ps` into a bounded queue, in which one frame is being
    /// sent.
    fn admit_before(&mut self, until_ps: u64) {
        let until_ps = until_ps.min(self.window.stop_ps);
        if matches!(&self.supply, Supply::Custom(custom) if custom.frames.room.is_some()) {
            return self.admit_custom_before(until_ps);
        }
        let counted = self.window.measure_from_ps..self.window.measure_to_ps;
        let Supply::Bounded { times, waiting, room } = &mut self.supply else { return };
        while times.peek_ps() < until_ps {
            let arrived_ps = times.take_ps();
            self.offered += u64::from(counted.contains(&arrived_ps));
            let has_room = waiting.len() + 1 < *room as usize;
            if has_room {
                waiting.push_back((arrived_ps, times.taken_kind()));
            } else {
                self.dropped += u64::from(counted.contains(&arrived_ps));
            }
            count_in_batch(&mut self.batches, arrived_ps, !has_room);
        }
    }
}

#[inline]
fn count_in_batch(
    batches: &mut Option<Box<Batches<(u64, u64)>>>,
    arrived_ps: u64,
    is_dropped: bool,
) {
    if let Some(counts) = batches.as_mut().and_then(|batches| batches.at(arrived_ps)) {
        counts.0 += 1;
        counts.1 += u64::from(is_dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;
    const WINDOW: Window = Window {
        begin_ps: 10 * US,
        stop_ps: 10_000 * US,
        measure_from_ps: 0,
        measure_to_ps: 10_000 * US,
    };

    fn spec() -> SourceSpec {
        SourceSpec {
            frames: Lengths::Fixed { bits: 544 },
            arrivals: Arrivals::Saturated {},
            generator: None,
            queue_frames: None,
            service: Times::Constant { ps: 20 * US },
            shaping: None,
        }
    }

    #[test]
    fn a_saturated_host_is_ready_one_service_time_after_each_frame() {
        let mut source = Source::new(&spec(), 1, 0, WINDOW);
        assert_eq!(source.first().map(|o| o.ready_ps), Some(10 * US));
        assert_eq!(source.next(100 * US).map(|o| o.ready_ps), Some(120 * US));
        assert_eq!(source.next(9_990 * US), None);
    }

    #[test]
    fn a_slow_generator_limits_the_rate_and_a_ring_of_buffers_lets_it_work_ahead() {
        let generator = Generator { buffers: 2, time: Times::Constant { ps: 50 * US } };
        let mut source =
            Source::new(&SourceSpec { generator: Some(generator), ..spec() }, 1, 0, WINDOW);
        // Filled at 60 and, the second buffer, at 110; the third waits for the first buffer, free
        // at 200 + 20.
        assert_eq!(source.first().map(|o| o.ready_ps), Some(60 * US));
        assert_eq!(
            source.next(200 * US).map(|o| (o.arrived_ps, o.ready_ps)),
            Some((110 * US, 220 * US))
        );
        assert_eq!(
            source.next(230 * US).map(|o| (o.arrived_ps, o.ready_ps)),
            Some((270 * US, 270 * US))
        );
    }

    #[test]
    fn a_full_queue_drops_what_comes_while_it_is_full() {
        let arrivals = Arrivals::Regular { period_ps: 100 * US, phase_ps: None, jitter_ps: None };
        let mut source =
            Source::new(&SourceSpec { arrivals, queue_frames: Some(2), ..spec() }, 1, 0, WINDOW);
        let first = source.first().expect("a frame");
        // Sent for 450 us: four arrive meanwhile, one finds room.
        let second = source.next(first.arrived_ps + 450 * US).expect("a frame");
        assert_eq!(second.arrived_ps, first.arrived_ps + 100 * US);
        assert_eq!(second.ready_ps, first.arrived_ps + 470 * US);
        let (offered, dropped) = source.finish();
        // From here on no frame leaves: one more finds room, the rest of all that were offered does
        // not.
        assert_eq!(offered - dropped, 3);
    }

    #[test]
    fn what_is_offered_and_dropped_in_the_batches_of_the_window_is_what_shorter_windows_count() {
        let window = Window { measure_from_ps: 1000 * US, measure_to_ps: 8000 * US, ..WINDOW };
        let poisson = Arrivals::Poisson { mean_ps: 25e6 };
        for arrivals in [
            Arrivals::Saturated {},
            Arrivals::Regular { period_ps: 100 * US, phase_ps: None, jitter_ps: None },
            poisson,
        ] {
            for queue_frames in [None, Some(3)] {
                let spec = SourceSpec { arrivals: arrivals.clone(), queue_frames, ..spec() };
                let counted = |window: Window, batches: u32| {
                    let mut source = Source::new(&spec, 1, 0, window);
                    source.count_in_batches(batches);
                    let mut next = source.first_in_batches();
                    while let Some(offer) = next {
                        next = source.next_in_batches(offer.ready_ps + 54_400_000);
                    }
                    (source.finish(), source.finish_in_batches())
                };
                let (whole, batches) = counted(window, 7);
                for (k, batch) in (1..).zip(&batches) {
                    let only = Window {
                        measure_from_ps: k * 1000 * US,
                        measure_to_ps: (k + 1) * 1000 * US,
                        ..window
                    };
                    assert_eq!(counted(only, 1), (*batch, vec![*batch]));
                    assert!(batch.0 > 0);
                }
                let sum =
                    batches.iter().fold((0, 0), |sum, batch| (sum.0 + batch.0, sum.1 + batch.1));
                assert_eq!(whole, sum);
            }
        }
    }

    #[test]
    fn an_unlimited_queue_offers_all_and_drops_none() {
        let arrivals = Arrivals::Regular { period_ps: 100 * US, phase_ps: None, jitter_ps: None };
        let mut source = Source::new(&SourceSpec { arrivals, ..spec() }, 1, 0, WINDOW);
        let first = source.first().expect("a frame");
        let second = source.next(first.arrived_ps + 450 * US).expect("a frame");
        assert_eq!(second.arrived_ps, first.arrived_ps + 100 * US);
        let (offered, dropped) = source.finish();
        // 9990 us from begin to stop hold 99 or 100 arrivals, as the phase falls.
        assert!((99..=100).contains(&offered), "{offered}");
        assert_eq!(dropped, 0);
    }
}
