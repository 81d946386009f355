//! Voice in packets of one length, as most protocols have it: while a packet waits or is sent,
//! samples fill the next buffer.
//!
//! ```text
//! coder ── a sample every sample_ps ──► buffer that fills (none free: the sample is lost)
//!                                          │ full
//!                                          ▼
//!                          packets that wait, the oldest first ──► transmitter
//!                                          │ too old when it could leave
//!                                          ▼
//!                                      discarded
//! ```
//!
//! A packet stays in its buffer until it has left or is discarded. Samples that find no buffer free
//! are lost; the next packet begins with the first sample after one became free. What a spurt leaves
//! is a packet when the next sample fails to come, padded.

use crate::coder::{Coder, FixedPackets, Samples, VoiceFrame, VoiceSpec, counted};
use crate::window::Window;
use std::collections::VecDeque;
use std::ops::Range;

/// A packet, full or not.
#[derive(Clone, Debug)]
struct Packet {
    /// When its first sample was made.
    oldest_ps: u64,
    /// When it could be sent first.
    whole_ps: u64,
    /// Numbers of its samples.
    samples: Range<u64>,
}

/// The voice of one station with packets of one length.
#[derive(Clone, Debug)]
pub struct PacketBuffers {
    spec: VoiceSpec,
    fixed: FixedPackets,
    window: Window,
    /// Samples in the buffers are made already: its next one is later.
    coder: Coder,
    /// Samples made.
    index: u64,
    /// Packets that are whole; the first one may be so in the future, since its samples have a
    /// buffer whatever happens until then.
    whole: VecDeque<Packet>,
    filling: Option<Packet>,
    measured: Range<u64>,
    samples: Samples,
}

impl PacketBuffers {
    pub(crate) fn new(spec: VoiceSpec, fixed: FixedPackets, coder: Coder, window: Window) -> Self {
        let measured = coder.measured(window);
        let samples = Samples { made: measured.end - measured.start, ..Samples::default() };
        let (whole, filling) = (VecDeque::new(), None);
        let mut new =
            Self { spec, fixed, window, coder, index: 0, whole, filling, measured, samples };
        new.fill_first();
        new
    }

    pub(crate) fn wanted_ps(&self) -> Option<u64> {
        let wanted_ps = self.whole.front()?.whole_ps;
        (wanted_ps < self.window.stop_ps).then_some(wanted_ps)
    }

    pub(crate) fn first_ps(&self) -> u64 {
        self.whole.front().map_or(self.coder.next_ps, |packet| packet.oldest_ps)
    }

    pub(crate) fn bits(&self) -> u64 {
        self.spec.min_bits
    }

    /// The first packet has left its buffer.
    pub(crate) fn deliver(&mut self, ended_ps: u64) -> VoiceFrame {
        let packet = self.remove(ended_ps);
        let inside = counted(packet.samples.clone(), &self.measured);
        if ended_ps < self.window.measure_to_ps {
            self.samples.delivered += inside;
        }
        VoiceFrame {
            bits: self.spec.min_bits,
            samples: packet.samples.end - packet.samples.start,
            counted: inside,
            oldest_ps: packet.oldest_ps,
        }
    }

    /// The first packet could leave now: discard it if it is too old. Whether it was.
    pub(crate) fn discard_late(&mut self, now_ps: u64) -> bool {
        let Some(after_ps) = self.fixed.discard_after_ps else { return false };
        let is_late = |packet: &Packet| now_ps.saturating_sub(packet.oldest_ps) > after_ps;
        if !self.whole.front().is_some_and(is_late) {
            return false;
        }
        let packet = self.remove(now_ps);
        if now_ps < self.window.measure_to_ps {
            self.samples.lost += counted(packet.samples, &self.measured);
        }
        true
    }

    /// What is neither delivered nor lost by the end of the window is in the buffers then.
    pub(crate) fn finish(&mut self) -> Samples {
        self.fill_before(self.window.measure_to_ps);
        let Samples { made, delivered, lost, .. } = self.samples;
        Samples { buffered: made - delivered - lost, ..self.samples }
    }

    fn remove(&mut self, now_ps: u64) -> Packet {
        self.fill_before(now_ps);
        let packet = self.whole.pop_front().expect("a packet that is sent is whole");
        self.fill_first();
        packet
    }

    /// Make all samples that come before `until_ps`.
    fn fill_before(&mut self, until_ps: u64) {
        while self.coder.next_ps < until_ps.min(self.window.stop_ps) {
            self.take_sample();
        }
    }

    /// Make the samples of the first packet.
    fn fill_first(&mut self) {
        while self.whole.is_empty() && self.coder.next_ps < self.window.stop_ps {
            self.take_sample();
        }
    }

    fn take_sample(&mut self) {
        let (at_ps, number) = (self.coder.next_ps, self.index);
        self.coder.make(1);
        self.index += 1;
        if self.filling.is_none() && self.whole.len() >= self.fixed.buffers as usize {
            self.samples.lost += counted(number..number + 1, &self.measured);
            return;
        }
        let packet = self.filling.get_or_insert(Packet {
            oldest_ps: at_ps,
            whole_ps: at_ps,
            samples: number..number,
        });
        packet.samples.end = number + 1;
        let next_ps = at_ps + self.spec.sample_ps;
        if packet.samples.end - packet.samples.start == self.spec.least() {
            packet.whole_ps = at_ps;
        } else if self.coder.next_ps != next_ps {
            packet.whole_ps = next_ps; // the talk is over, and a sample fails to come
        } else {
            return;
        }
        self.whole.extend(self.filling.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::Spurts;
    use crate::random::{Purpose, Stream};
    use crate::voice::Voice;

    const US: u64 = 1_000_000;
    const SAMPLE_PS: u64 = 100 * US;
    const SPEC: VoiceSpec = VoiceSpec {
        sample_bits: 16,
        sample_ps: SAMPLE_PS,
        spurts: None,
        overhead_bits: 48,
        min_bits: 48 + 4 * 16,
        max_bits: 48 + 4 * 16,
        fixed: Some(FixedPackets { buffers: 2, discard_after_ps: None }),
    };
    const WINDOW: Window = Window {
        begin_ps: 0,
        stop_ps: 900_000 * US,
        measure_from_ps: 0,
        measure_to_ps: 700_000 * US,
    };

    fn stream(seed: u64) -> Stream {
        Stream::new(seed, 0, Purpose::Arrival)
    }

    #[test]
    fn the_second_buffer_fills_while_the_first_waits_and_what_follows_is_lost() {
        let mut voice = Voice::new(SPEC, stream(1), WINDOW);
        let first_ps = voice.first_ps();
        assert_eq!(voice.wanted_ps(), Some(first_ps + 3 * SAMPLE_PS));
        assert_eq!(voice.bits_at(first_ps + 90 * SAMPLE_PS, 0, 1), 112);
        // Samples 0 to 3 wait, 4 to 7 fill the second buffer, 8 to 10 find none.
        let frame = voice.deliver(first_ps + 10 * SAMPLE_PS + 1);
        assert_eq!(frame, VoiceFrame { bits: 112, samples: 4, counted: 4, oldest_ps: first_ps });
        // The next packet has been whole for long; the one after it begins with sample 11.
        assert_eq!(voice.first_ps(), first_ps + 4 * SAMPLE_PS);
        assert_eq!(voice.wanted_ps(), Some(first_ps + 7 * SAMPLE_PS));
        let frame = voice.deliver(first_ps + 12 * SAMPLE_PS);
        assert_eq!((frame.samples, frame.oldest_ps), (4, first_ps + 4 * SAMPLE_PS));
        assert_eq!(voice.first_ps(), first_ps + 11 * SAMPLE_PS);
        assert_eq!(voice.wanted_ps(), Some(first_ps + 14 * SAMPLE_PS));
        let samples = voice.finish();
        // Of those after, two packets fill, and the rest is lost at the end of the window.
        let made = samples.made;
        assert_eq!((samples.delivered, samples.buffered), (8, 8));
        assert_eq!(samples.lost, made - 16);
    }

    #[test]
    fn a_packet_older_than_the_deadline_is_discarded_when_it_could_leave() {
        let fixed = FixedPackets { buffers: 2, discard_after_ps: Some(5 * SAMPLE_PS) };
        let mut voice = Voice::new(VoiceSpec { fixed: Some(fixed), ..SPEC }, stream(2), WINDOW);
        let first_ps = voice.first_ps();
        assert!(!voice.discard_late(first_ps + 5 * SAMPLE_PS));
        assert!(voice.discard_late(first_ps + 5 * SAMPLE_PS + 1));
        // The packet of samples 4 to 7 is not whole yet.
        assert_eq!(voice.wanted_ps(), Some(first_ps + 7 * SAMPLE_PS));
        assert!(!voice.discard_late(first_ps + 7 * SAMPLE_PS));
        assert_eq!(voice.deliver(first_ps + 8 * SAMPLE_PS).oldest_ps, first_ps + 4 * SAMPLE_PS);
        assert_eq!(voice.finish().delivered, 4);
    }

    /// What the buffers do, sample by sample, with instants of chance at which packets leave.
    #[test]
    fn every_sample_is_delivered_lost_or_in_a_buffer() {
        let spurts = Spurts { talk_mean_ps: 1.5e9, silence_mean_ps: 0.7e9 };
        for (seed, spurts, buffers) in [(1, None, 2), (2, Some(spurts), 2), (3, Some(spurts), 5)] {
            let fixed = FixedPackets { buffers, discard_after_ps: Some(9 * SAMPLE_PS) };
            let spec = VoiceSpec { spurts, fixed: Some(fixed), ..SPEC };
            let window = Window { measure_from_ps: 30_000 * US, ..WINDOW };
            let mut voice = Voice::new(spec, stream(seed), window);
            let mut chance = Stream::new(seed, 9, Purpose::Service);
            let (mut now_ps, mut delivered, mut discarded) = (0, 0, 0);
            let mut last_ps = None;
            while let Some(wanted_ps) = voice.wanted_ps() {
                now_ps = wanted_ps.max(now_ps) + 1 + chance.below(8 * SAMPLE_PS);
                if now_ps >= window.measure_to_ps {
                    break;
                }
                if voice.discard_late(now_ps) {
                    discarded += 1;
                    continue;
                }
                let frame = voice.deliver(now_ps);
                assert!((1..=4).contains(&frame.samples));
                assert!(now_ps - frame.oldest_ps <= 9 * SAMPLE_PS);
                assert!(last_ps < Some(frame.oldest_ps), "in the order of their samples");
                last_ps = Some(frame.oldest_ps);
                delivered += frame.counted;
            }
            let samples = voice.finish();
            assert!(discarded > 10);
            assert_eq!(samples.delivered, delivered);
            assert_eq!(samples.made, samples.delivered + samples.lost + samples.buffered);
            assert!(samples.buffered <= u64::from(buffers) * 4);
        }
    }

    #[test]
    fn more_than_one_buffer_and_one_length_are_needed() {
        let fault = |spec: VoiceSpec| spec.fault().expect("it is refused");
        let with = |buffers, after_ps| {
            let fixed = FixedPackets { buffers, discard_after_ps: after_ps };
            VoiceSpec { fixed: Some(fixed), ..SPEC }
        };
        assert_eq!(SPEC.fault(), None);
        assert!(fault(with(1, None)).contains("from 2 to 1000 buffers"));
        assert!(fault(with(0, Some(1))).contains("got none"));
        assert!(fault(VoiceSpec { max_bits: 8192, ..SPEC }).contains("one length"));
        assert!(fault(with(2, Some(3 * SAMPLE_PS))).contains("longer than a packet fills"));
        assert_eq!(with(2, Some(3 * SAMPLE_PS + 1)).fault(), None);
    }
}
