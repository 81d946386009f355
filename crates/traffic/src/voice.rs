//! Voice: a coder makes samples at a steady rate, and they gather in a packet buffer until they can
//! be sent.
//!
//! ```text
//! coder ── a sample every sample_ps ──► buffer (full: the oldest sample makes room, and is lost) ──► transmitter
//! ```
//!
//! The frame is the buffer: when it has reached `min_bits` it is ready; it continues
//! to grow while the station contends and while it transmits, up to `max_bits`. When the
//! transmission has succeeded the buffer is empty and a new cycle begins. The result of attempts
//! in between does not change it (Gonsalves 1982, section 3.3). The length of a frame therefore
//! follows from its start.
//!
//! Packets of one length in several buffers are in `buffers`.
//!
//! With talk spurts the coder is silent in between: its clock runs on, but its samples are not
//! kept. A frame that was begun is then sent when the first sample fails to come, padded to
//! `min_bits` (an assumption: the study has no spurts).

use crate::buffers::PacketBuffers;
use crate::coder::{Coder, Samples, VoiceFrame, VoiceSpec, counted};
use crate::random::Stream;
use crate::window::Window;
use std::ops::Range;

/// The voice of one station: its coder and its packets.
#[derive(Clone, Debug)]
pub enum Voice {
    /// One packet, which grows until it has left.
    Growing(GrowingPacket),
    /// Packets of one length, which wait for each other.
    Fixed(PacketBuffers),
}

impl Voice {
    /// Buffers that are empty, and a coder that begins with the window.
    #[must_use]
    pub fn new(spec: VoiceSpec, chance: Stream, window: Window) -> Self {
        Self::of(spec, Coder::new(&spec, window.begin_ps, chance), window)
    }

    /// Buffers that are empty, and a coder.
    pub(crate) fn of(spec: VoiceSpec, coder: Coder, window: Window) -> Self {
        match spec.fixed {
            None => Self::Growing(GrowingPacket::new(spec, coder, window)),
            Some(fixed) => Self::Fixed(PacketBuffers::new(spec, fixed, coder, window)),
        }
    }

    /// When the next packet is ready to be sent; `None` if that does not happen before the coder
    /// stops.
    #[must_use]
    pub fn wanted_ps(&self) -> Option<u64> {
        match self {
            Self::Growing(packet) => packet.wanted_ps(),
            Self::Fixed(packets) => packets.wanted_ps(),
        }
    }

    /// When the first sample of the next packet is made, or would be if the coder did not stop.
    #[must_use]
    pub fn first_ps(&self) -> u64 {
        match self {
            Self::Growing(packet) => packet.first_ps(),
            Self::Fixed(packets) => packets.first_ps(),
        }
    }

    /// Length of the frame whose first bit leaves at `start_ps`, after `preamble_ps` of preamble
    /// and with `bit_ps` a bit.
    #[must_use]
    pub fn bits_at(&self, start_ps: u64, preamble_ps: u64, bit_ps: u64) -> u64 {
        match self {
            Self::Growing(packet) => packet.bits_at(start_ps, preamble_ps, bit_ps),
            Self::Fixed(packets) => packets.bits(),
        }
    }

    /// The contents of the frame whose transmission has ended. Its buffer is empty now.
    pub fn deliver(&mut self, ended_ps: u64) -> VoiceFrame {
        match self {
            Self::Growing(packet) => packet.deliver(ended_ps),
            Self::Fixed(packets) => packets.deliver(ended_ps),
        }
    }

    /// Discard the packet that could begin to leave at `now_ps`, if it is too old. Whether it was.
    pub fn discard_late(&mut self, now_ps: u64) -> bool {
        match self {
            Self::Growing(_) => false,
            Self::Fixed(packets) => packets.discard_late(now_ps),
        }
    }

    /// The fate of the samples of the measured window, if nothing more happens.
    pub fn finish(&mut self) -> Samples {
        match self {
            Self::Growing(packet) => packet.finish(),
            Self::Fixed(packets) => packets.finish(),
        }
    }
}

/// One packet of samples, which grows until it has left.
///
/// A sample that is made in the instant in which a transmission ends comes too late for it and
/// begins the next cycle.
#[derive(Clone, Debug)]
pub struct GrowingPacket {
    spec: VoiceSpec,
    window: Window,
    /// As it was when the buffer was last empty.
    coder: Coder,
    /// Samples made before that.
    index: u64,
    /// Numbers of the samples made within the measured window.
    measured: Range<u64>,
    /// Whether their fate by its end is known.
    is_closed: bool,
    samples: Samples,
}

impl GrowingPacket {
    /// A buffer that is empty.
    fn new(spec: VoiceSpec, coder: Coder, window: Window) -> Self {
        let measured = coder.measured(window);
        let samples = Samples { made: measured.end - measured.start, ..Samples::default() };
        Self { spec, window, coder, index: 0, measured, is_closed: false, samples }
    }

    /// When the buffer is ready to be sent; `None` if that does not happen before the coder stops.
    fn wanted_ps(&self) -> Option<u64> {
        let wanted_ps = self.coder.gathered_ps(self.spec.least());
        (wanted_ps < self.window.stop_ps).then_some(wanted_ps)
    }

    /// When the first sample is made since the buffer was last empty, or would be if the coder did
    /// not stop.
    fn first_ps(&self) -> u64 {
        self.coder.next_ps
    }

    /// Samples made before `at_ps` since the buffer was last empty.
    fn made_before(&self, at_ps: u64) -> u64 {
        self.coder.clone().make_before(at_ps.min(self.window.stop_ps))
    }

    /// Length of the frame whose first bit leaves at `start_ps`, after `preamble_ps` of preamble
    /// and with `bit_ps` a bit.
    ///
    /// It holds every sample that is made before its last bit has left.
    fn bits_at(&self, start_ps: u64, preamble_ps: u64, bit_ps: u64) -> u64 {
        let mut bits = self.bits_before(start_ps);
        loop {
            let grown = self.bits_before(start_ps + preamble_ps + bits * bit_ps);
            if grown == bits {
                return bits;
            }
            bits = grown;
        }
    }

    fn bits_before(&self, at_ps: u64) -> u64 {
        self.spec.bits(self.made_before(at_ps).min(self.spec.room()))
    }

    /// The contents of the frame whose transmission has ended. The buffer is empty now.
    fn deliver(&mut self, ended_ps: u64) -> VoiceFrame {
        let mut next = self.coder.clone();
        let made = next.make_before(ended_ps.min(self.window.stop_ps));
        let samples = made.min(self.spec.room());
        let lost = made - samples;
        self.coder.make(lost);
        let inside = counted(self.index + lost..self.index + made, &self.measured);
        let frame = VoiceFrame {
            bits: self.spec.bits(samples),
            samples,
            counted: inside,
            oldest_ps: self.coder.next_ps,
        };
        if ended_ps < self.window.measure_to_ps {
            self.samples.lost += counted(self.index..self.index + lost, &self.measured);
            self.samples.delivered += inside;
            self.coder = next;
            self.index += made;
        } else {
            self.close(next, made);
        }
        frame
    }

    /// The fate of the samples of the measured window, if nothing more happens.
    fn finish(&mut self) -> Samples {
        self.close(self.coder.clone(), 0);
        self.samples
    }

    /// No further frame ends within the window: count the samples in the buffer at its end. `next` begins a new cycle.
    fn close(&mut self, next: Coder, made: u64) {
        if !self.is_closed {
            self.is_closed = true;
            let left = self.measured.end.saturating_sub(self.index);
            let lost = left.saturating_sub(self.spec.room());
            self.samples.lost += counted(self.index..self.index + lost, &self.measured);
            self.samples.buffered += counted(self.index + lost..self.measured.end, &self.measured);
        }
        self.coder = next;
        self.index += made;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::Spurts;
    use crate::random::Purpose;
    use std::collections::VecDeque;

    const US: u64 = 1_000_000;
    const SPEC: VoiceSpec = VoiceSpec {
        sample_bits: 16,
        sample_ps: 100 * US,
        spurts: None,
        overhead_bits: 48,
        min_bits: 48 + 4 * 16,
        max_bits: 48 + 10 * 16,
        fixed: None,
    };
    const WINDOW: Window = Window {
        begin_ps: 0,
        stop_ps: 900_000 * US,
        measure_from_ps: 30_000 * US,
        measure_to_ps: 700_000 * US,
    };

    fn stream(seed: u64) -> Stream {
        Stream::new(seed, 0, Purpose::Arrival)
    }

    /// Every sample, one by one.
    fn all_samples(spec: &VoiceSpec, seed: u64, window: Window) -> Vec<u64> {
        let mut coder = Coder::new(spec, window.begin_ps, stream(seed));
        let mut samples = Vec::new();
        while coder.next_ps < window.stop_ps {
            samples.push(coder.next_ps);
            coder.make(1);
        }
        samples
    }

    #[test]
    fn a_buffer_does_what_a_queue_that_drops_its_oldest_does() {
        let spurts = Spurts { talk_mean_ps: 1.5e9, silence_mean_ps: 0.7e9 };
        for (seed, spurts) in [(1, None), (2, Some(spurts)), (3, Some(spurts)), (4, None)] {
            let spec = VoiceSpec { spurts, ..SPEC };
            let mut voice = Voice::new(spec, stream(seed), WINDOW);
            let samples = all_samples(&spec, seed, WINDOW);
            let inside = |at_ps: u64| {
                u64::from((WINDOW.measure_from_ps..WINDOW.measure_to_ps).contains(&at_ps))
            };
            let mut chance = Stream::new(seed, 9, Purpose::Service);
            let (mut queue, mut coming) = (VecDeque::new(), samples.iter().copied().peekable());
            let mut expected =
                Samples { made: samples.iter().map(|&s| inside(s)).sum(), ..Samples::default() };
            let mut is_closed = false;
            while let Some(wanted_ps) = voice.wanted_ps() {
                let late_ps =
                    if chance.below(2) == 0 { spec.sample_ps / 2 } else { 20 * spec.sample_ps };
                let ended_ps = wanted_ps + 1 + chance.below(late_ps);
                if ended_ps >= WINDOW.measure_to_ps {
                    break;
                }
                while let Some(sample) = coming.next_if(|&s| s < ended_ps) {
                    queue.push_back(sample);
                    if queue.len() > 10 {
                        expected.lost += inside(queue.pop_front().expect("eleven"));
                    }
                }
                let counted = queue.iter().map(|&s| inside(s)).sum::<u64>();
                expected.delivered += counted;
                let frame = voice.deliver(ended_ps);
                assert_eq!((frame.samples, frame.oldest_ps), (queue.len() as u64, queue[0]));
                assert_eq!(frame.counted, counted);
                queue.clear();
                is_closed |= expected.lost > 0;
            }
            assert!(is_closed, "some samples were lost");
            while let Some(sample) = coming.next_if(|&s| s < WINDOW.measure_to_ps) {
                queue.push_back(sample);
                if queue.len() > 10 {
                    expected.lost += inside(queue.pop_front().expect("eleven"));
                }
            }
            expected.buffered = queue.iter().map(|&s| inside(s)).sum();
            assert_eq!(voice.finish(), expected);
            assert_eq!(expected.made, expected.delivered + expected.lost + expected.buffered);
            // Those in the buffer at the end of the window are in the frame that leaves then.
            assert_eq!(voice.deliver(WINDOW.measure_to_ps).counted, expected.buffered);
        }
    }

    #[test]
    fn a_frame_is_wanted_with_the_sample_that_makes_it_long_enough_and_its_delay_runs_from_the_oldest_left()
     {
        let window = Window { measure_from_ps: 0, ..WINDOW };
        let mut voice = Voice::new(SPEC, stream(1), window);
        let first_ps = voice.first_ps();
        assert!(first_ps < SPEC.sample_ps);
        assert_eq!(voice.wanted_ps(), Some(first_ps + 3 * SPEC.sample_ps));
        // Fifteen samples come before the end, the five oldest of them make room.
        let frame = voice.deliver(first_ps + 14 * SPEC.sample_ps + 1);
        let oldest_ps = first_ps + 5 * SPEC.sample_ps;
        assert_eq!(frame, VoiceFrame { bits: 208, samples: 10, counted: 10, oldest_ps });
        assert_eq!(voice.first_ps(), first_ps + 15 * SPEC.sample_ps);
    }

    #[test]
    fn a_frame_holds_exactly_the_samples_made_before_its_last_bit() {
        let spec = VoiceSpec { sample_ps: 20 * US, max_bits: 48 + 1000 * 16, ..SPEC };
        let voice = Voice::new(spec, stream(1), WINDOW);
        for (bit_ps, wait_ps) in
            [(100_000, 0), (340_000, 777_777), (600_000, 40 * US), (1_200_000, 0), (2_000_000, 0)]
        {
            let start_ps = voice.wanted_ps().expect("it talks") + wait_ps;
            let bits = voice.bits_at(start_ps, 340_000, bit_ps);
            let end_ps = start_ps + 340_000 + bits * bit_ps;
            let made = (end_ps - voice.first_ps()).div_ceil(spec.sample_ps);
            assert_eq!(bits, 48 + made.min(1000) * 16, "{bit_ps}");
        }
    }

    #[test]
    fn talk_fills_its_share_of_the_time() {
        let spurts = Spurts { talk_mean_ps: 1e9, silence_mean_ps: 1.5e9 };
        let window = Window { stop_ps: 100_000_000 * US, ..WINDOW };
        #[allow(clippy::cast_precision_loss)]
        let made = all_samples(&VoiceSpec { spurts: Some(spurts), ..SPEC }, 5, window).len() as f64;
        // 40 000 cycles of 2.5 ms. The time of talk in T has variance T · 2 (A B)² / (A + B)³
        // (alternating renewal, exponential), here 100 s · 2 · 2.25 · 1e-12 / 15.6e-9 s = 0.0288
        // s², a spread of 0.17 s, of 40 s; five of them.
        let talk_s = made * 100e-6;
        assert!((talk_s - 40.0).abs() < 5.0 * 0.17, "{talk_s}");
    }

    #[test]
    fn what_a_spurt_leaves_is_sent_when_the_next_sample_fails_to_come() {
        // Spurts so short that a frame is rarely filled.
        let spurts = Spurts { talk_mean_ps: 1e8, silence_mean_ps: 1e9 };
        let spec = VoiceSpec { spurts: Some(spurts), ..SPEC };
        let mut voice = Voice::new(spec, stream(6), WINDOW);
        let samples = all_samples(&spec, 6, WINDOW);
        let first = samples.iter().position(|&s| s == voice.first_ps()).expect("a sample");
        let steady = |i: &usize| *i == first || samples[*i] == samples[*i - 1] + spec.sample_ps;
        let spurt = (first..first + 4).take_while(steady).count();
        let last = samples[first + spurt - 1];
        let wanted_ps = voice.wanted_ps().expect("it talks");
        assert_eq!(wanted_ps, if spurt == 4 { last } else { last + spec.sample_ps });
        assert!(spurt < 4, "a short one, with this seed");
        // Padded, whatever it holds.
        assert_eq!(voice.bits_at(wanted_ps, 0, 1), spec.min_bits);
        assert_eq!(voice.deliver(wanted_ps + 1).samples, spurt as u64);
    }
}
