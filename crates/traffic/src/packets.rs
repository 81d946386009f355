//! Voice in packets: a host sends the gathered samples, with at most one packet between its call and
//! the end of its transmission.
//!
//! ```text
//! coder ── a sample every sample_ps ──► buffer (full: the oldest sample makes room, and is lost) ── call ──► packet ──► wire
//! ```
//!
//! A packet is ready when `min_bits` have gathered and the one before has left; until then samples
//! gather, up to `max_bits`. Packets therefore grow on a wire that is slow, busy or paused. Unlike the frame of a station on a segment ([`crate::voice`]), a
//! packet that was called grows no more, and its samples are out of the buffer. Spurts are as
//! there: what one leaves short is wanted when the next sample fails to come, and is padded.

use crate::coder::{Coder, VoiceSpec, counted};
use crate::random::Stream;
use crate::window::Window;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A packet of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoicePacket {
    /// Its length: of the frame, or of the data of UDP, as the lengths of its coder are.
    pub bits: u64,
    /// Samples in it.
    pub samples: u64,
    /// Of these, made within the measured window.
    pub counted: u64,
    /// When the oldest of them was made.
    pub oldest_ps: u64,
}

/// The fate of the samples made within the measured window, at their host:
/// `made` = `sent` + `lost` + `left`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSamples {
    /// Made by the coder within the window.
    pub made: u64,
    /// Of these, in packets with which the host has called.
    pub sent: u64,
    /// Of these, replaced by newer ones, because the buffer was full.
    pub lost: u64,
    /// Of these, still in the buffer at the end.
    pub left: u64,
}

/// The voice of one host: its coder and its buffer.
#[derive(Clone, Debug)]
pub struct Packets {
    spec: VoiceSpec,
    window: Window,
    /// As it was when the buffer was last empty.
    coder: Coder,
    /// Samples made before that.
    index: u64,
    /// Numbers of the samples made within the measured window.
    measured: Range<u64>,
    samples: HostSamples,
}

impl Packets {
    /// A buffer that is empty, and a coder that begins with the window. The same draws make the
    /// same samples as in [`crate::voice::Voice`].
    #[must_use]
    pub fn new(spec: VoiceSpec, chance: Stream, window: Window) -> Self {
        let coder = Coder::new(&spec, window.begin_ps, chance);
        let measured = coder.measured(window);
        let samples = HostSamples { made: measured.end - measured.start, ..HostSamples::default() };
        Self { spec, window, coder, index: 0, measured, samples }
    }

    /// When a packet is ready; `None` if that does not happen before the coder stops.
    #[must_use]
    pub fn wanted_ps(&self) -> Option<u64> {
        let wanted_ps = self.coder.gathered_ps(self.spec.least());
        (wanted_ps < self.window.stop_ps).then_some(wanted_ps)
    }

    /// The host sends at `at_ps`, when a packet is ready or later, all samples made by then, that
    /// instant included. The buffer is empty now.
    pub fn call(&mut self, at_ps: u64) -> VoicePacket {
        let mut next = self.coder.clone();
        let made = next.make_before((at_ps + 1).min(self.window.stop_ps));
        let (samples, lost) = self.kept(made);
        self.coder.make(lost);
        let oldest_ps = self.coder.next_ps;
        let inside = counted(self.index + lost..self.index + made, &self.measured);
        self.samples.lost += counted(self.index..self.index + lost, &self.measured);
        self.samples.sent += inside;
        self.coder = next;
        self.index += made;
        VoicePacket { bits: self.spec.bits(samples), samples, counted: inside, oldest_ps }
    }

    /// The fate of the samples of the measured window, if nothing happens from `end_ps` on.
    #[must_use]
    pub fn finish(&self, end_ps: u64) -> HostSamples {
        let made = self.coder.clone().make_before(end_ps.min(self.window.stop_ps));
        let (_, lost) = self.kept(made);
        let mut samples = self.samples;
        samples.lost += counted(self.index..self.index + lost, &self.measured);
        samples.left = counted(self.index + lost..self.index + made, &self.measured);
        samples
    }

    /// Of `samples` since the buffer was last empty, those in it, and those that were replaced.
    fn kept(&self, made: u64) -> (u64, u64) {
        let kept = made.min(self.spec.room());
        (kept, made - kept)
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
        overhead_bits: 96,
        min_bits: 96 + 4 * 16,
        max_bits: 96 + 10 * 16,
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

    #[test]
    fn a_packet_is_wanted_with_its_last_sample_and_has_all_that_came_until_the_call() {
        let mut packets = Packets::new(SPEC, stream(1), WINDOW);
        let first_ps = packets.coder.next_ps;
        let wanted_ps = packets.wanted_ps().expect("it talks");
        assert_eq!(wanted_ps, first_ps + 3 * SPEC.sample_ps);
        assert_eq!(packets.clone().call(wanted_ps).samples, 4);
        // Fifteen samples have come, the last with the call; the five oldest made room.
        let packet = packets.call(first_ps + 14 * SPEC.sample_ps);
        assert_eq!(
            packet,
            VoicePacket {
                bits: 256,
                samples: 10,
                counted: 0,
                oldest_ps: first_ps + 5 * SPEC.sample_ps
            }
        );
        // The next cycle begins with the call.
        assert_eq!(packets.wanted_ps(), Some(first_ps + 18 * SPEC.sample_ps));
    }

    #[test]
    fn a_host_does_what_a_queue_that_drops_its_oldest_does() {
        let spurts = Spurts { talk_mean_ps: 1.5e9, silence_mean_ps: 0.7e9 };
        for (seed, spurts) in [(1, None), (2, Some(spurts)), (3, Some(spurts)), (4, None)] {
            let spec = VoiceSpec { spurts, ..SPEC };
            let mut packets = Packets::new(spec, stream(seed), WINDOW);
            let mut coder = Coder::new(&spec, WINDOW.begin_ps, stream(seed));
            let mut coming = || {
                let at_ps = coder.next_ps;
                coder.make(1);
                at_ps
            };
            let inside = |at_ps: u64| {
                u64::from((WINDOW.measure_from_ps..WINDOW.measure_to_ps).contains(&at_ps))
            };
            let mut chance = Stream::new(seed, 9, Purpose::Service);
            let (mut queue, mut next_ps) = (VecDeque::new(), coming());
            let mut expected = HostSamples::default();
            let mut gather =
                |queue: &mut VecDeque<u64>, until_ps: u64, expected: &mut HostSamples| {
                    while next_ps <= until_ps && next_ps < WINDOW.stop_ps {
                        expected.made += inside(next_ps);
                        queue.push_back(next_ps);
                        if queue.len() > 10 {
                            expected.lost += inside(queue.pop_front().expect("eleven"));
                        }
                        next_ps = coming();
                    }
                };
            let mut left_ps = 0;
            while let Some(wanted_ps) = packets.wanted_ps() {
                let called_ps = wanted_ps.max(left_ps);
                gather(&mut queue, called_ps, &mut expected);
                let packet = packets.call(called_ps);
                assert_eq!((packet.samples, packet.oldest_ps), (queue.len() as u64, queue[0]));
                assert_eq!(packet.counted, queue.iter().map(|&s| inside(s)).sum::<u64>());
                expected.sent += packet.counted;
                queue.clear();
                let long_ps =
                    if chance.below(2) == 0 { spec.sample_ps } else { 20 * spec.sample_ps };
                left_ps = called_ps + chance.below(long_ps);
            }
            gather(&mut queue, WINDOW.stop_ps, &mut expected);
            expected.left = queue.iter().map(|&s| inside(s)).sum();
            assert_eq!(packets.finish(u64::MAX), expected);
            assert!(expected.lost > 0, "some samples were lost");
            assert_eq!(expected.made, expected.sent + expected.lost + expected.left);
        }
    }

    #[test]
    fn uncalled_samples_are_left_or_lost() {
        let packets = Packets::new(SPEC, stream(1), WINDOW);
        // 670 ms of samples every 0.1 ms; the newest ten are older than the stop.
        assert_eq!(
            packets.finish(u64::MAX),
            HostSamples { made: 6700, sent: 0, lost: 6700, left: 0 }
        );
        let left = packets.finish(WINDOW.measure_to_ps);
        assert_eq!(left, HostSamples { made: 6700, sent: 0, lost: 6690, left: 10 });
    }
}
