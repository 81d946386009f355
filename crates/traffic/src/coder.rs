//! A coder: samples at a steady rate, the packets that a file asks of it, and the account of what
//! became of its samples.

use crate::calls::{Call, Upcoming};
use crate::lengths::MOST_PACKET_BUFFERS;
use crate::random::Stream;
use crate::window::Window;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Talk and silence in turn, both of exponential length (after Brady 1968, whose measured lengths
/// are nearly so).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Spurts {
    /// Mean time of talk.
    pub talk_mean_ps: f64,
    /// Mean time of silence between.
    pub silence_mean_ps: f64,
}

impl Spurts {
    /// Share of time in which there is talk.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.talk_mean_ps / (self.talk_mean_ps + self.silence_mean_ps)
    }
}

/// A coder and its frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoiceSpec {
    /// Bits of a sample.
    pub sample_bits: u64,
    /// Time from one to the next.
    pub sample_ps: u64,
    /// Without it, talk is continuous.
    pub spurts: Option<Spurts>,
    /// Bits of a frame other than samples.
    pub overhead_bits: u64,
    /// Length at which a frame is ready, overhead included.
    pub min_bits: u64,
    /// Length beyond which it does not grow, overhead included.
    pub max_bits: u64,
    /// Packets of one length, `min_bits` and `max_bits`; without it, one that grows.
    pub fixed: Option<FixedPackets>,
}

/// Packets of one length that wait for each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedPackets {
    /// Packets for which there is room, the one that fills and the one that is sent included.
    pub buffers: u32,
    /// Age of a packet's oldest sample beyond which the packet is not sent.
    pub discard_after_ps: Option<u64>,
}

impl VoiceSpec {
    /// Samples with which a frame is ready.
    pub(crate) fn least(&self) -> u64 {
        self.min_bits.saturating_sub(self.overhead_bits).div_ceil(self.sample_bits).max(1)
    }

    /// Samples for which there is room.
    pub(crate) fn room(&self) -> u64 {
        self.max_bits.saturating_sub(self.overhead_bits) / self.sample_bits
    }

    /// Length of a frame of `samples`.
    pub(crate) fn bits(&self, samples: u64) -> u64 {
        (self.overhead_bits + samples * self.sample_bits).max(self.min_bits)
    }

    /// Its fault, if any.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if self.least() > self.room() {
            return Some(format!(
                "max_bits must hold the samples of min_bits, {} of {} bits beside {} of overhead, got {}",
                self.least(),
                self.sample_bits,
                self.overhead_bits,
                self.max_bits
            ));
        }
        self.fixed.and_then(|fixed| self.fixed_fault(fixed))
    }

    fn fixed_fault(&self, fixed: FixedPackets) -> Option<String> {
        let buffers = fixed.buffers;
        if !(2..=MOST_PACKET_BUFFERS).contains(&buffers) {
            let given = if buffers == 0 { "none".into() } else { buffers.to_string() };
            return Some(format!(
                "must have from 2 to {MOST_PACKET_BUFFERS} buffers, with discard_after too, got {given}"
            ));
        }
        if self.min_bits != self.max_bits {
            return Some(format!(
                "must have least equal to most with buffers, whose packets have one length, got {} and {} bits",
                self.min_bits, self.max_bits
            ));
        }
        let fills_ps = (self.least() - 1) * self.sample_ps;
        let after_ps = fixed.discard_after_ps.filter(|after_ps| *after_ps <= fills_ps)?;
        Some(format!(
            "must have discard_after longer than a packet fills, {fills_ps} ps, got {after_ps}"
        ))
    }
}

/// Makes samples in order, from its next one on. Copied to look ahead.
#[derive(Clone, Debug)]
pub(crate) struct Coder {
    period_ps: u64,
    spurts: Option<Spurts>,
    chance: Stream,
    /// When the next sample comes.
    pub(crate) next_ps: u64,
    /// When the talk ends in which it comes.
    talk_until_ps: u64,
    /// When the call ends in which it comes.
    call_until_ps: u64,
    calls: Upcoming,
}

impl Coder {
    pub(crate) fn new(spec: &VoiceSpec, begin_ps: u64, chance: Stream) -> Self {
        let mut coder = Self::idle(spec, chance, Upcoming::default());
        coder.begin(Call { from_ps: begin_ps, until_ps: u64::MAX });
        coder
    }

    /// A coder that makes samples in calls only.
    pub(crate) fn in_calls(spec: &VoiceSpec, chance: Stream, calls: Upcoming) -> Self {
        let mut coder = Self::idle(spec, chance, calls);
        if let Some(call) = coder.calls.take() {
            coder.begin(call);
        }
        coder
    }

    /// A coder without a call.
    fn idle(spec: &VoiceSpec, chance: Stream, calls: Upcoming) -> Self {
        Self {
            period_ps: spec.sample_ps,
            spurts: spec.spurts,
            chance,
            next_ps: u64::MAX,
            talk_until_ps: u64::MAX,
            call_until_ps: u64::MAX,
            calls,
        }
    }

    /// Make samples in this call, from a random phase on.
    pub(crate) fn begin(&mut self, call: Call) {
        let talk_from_ps = self.answer(call);
        self.talk(talk_from_ps);
    }

    /// Draw the phase of the samples of a call. When its talk begins.
    fn answer(&mut self, call: Call) -> u64 {
        self.call_until_ps = call.until_ps;
        self.next_ps = call.from_ps + self.chance.below(self.period_ps);
        let Some(spurts) = self.spurts else { return call.from_ps };
        // Begin in talk or silence with the probabilities of the long run.
        if self.chance.unit() <= spurts.share() {
            call.from_ps
        } else {
            call.from_ps + self.chance.exponential_ps(spurts.silence_mean_ps)
        }
    }

    /// Talk from `from_ps` on; what is drawn may end before the next sample, and a call before that.
    fn talk(&mut self, from_ps: u64) {
        let mut from_ps = from_ps;
        loop {
            if from_ps > self.next_ps {
                self.next_ps += (from_ps - self.next_ps).div_ceil(self.period_ps) * self.period_ps;
            }
            if self.next_ps >= self.call_until_ps {
                let Some(call) = self.calls.take() else {
                    (self.next_ps, self.talk_until_ps) = (u64::MAX, u64::MAX);
                    return;
                };
                from_ps = self.answer(call);
                continue;
            }
            let Some(spurts) = self.spurts else {
                self.talk_until_ps = self.call_until_ps;
                return;
            };
            let silent_ps = from_ps + self.chance.exponential_ps(spurts.talk_mean_ps);
            self.talk_until_ps = silent_ps.min(self.call_until_ps);
            if self.next_ps < self.talk_until_ps {
                return;
            }
            from_ps = silent_ps + self.chance.exponential_ps(spurts.silence_mean_ps);
        }
    }

    /// Samples of the current talk that come before `until_ps`, its end at the latest.
    pub(crate) fn in_talk_before(&self, until_ps: u64) -> u64 {
        until_ps.min(self.talk_until_ps).saturating_sub(self.next_ps).div_ceil(self.period_ps)
    }

    /// When `samples` have come; if the talk ends before, when the first fails to come.
    pub(crate) fn gathered_ps(&self, samples: u64) -> u64 {
        self.next_ps + (samples - 1).min(self.in_talk_before(u64::MAX)) * self.period_ps
    }

    /// Advance by `samples` of the current talk.
    fn advance(&mut self, samples: u64) {
        self.next_ps += samples * self.period_ps;
        if self.next_ps >= self.talk_until_ps {
            let silent_ps =
                self.spurts.map_or(0, |spurts| self.chance.exponential_ps(spurts.silence_mean_ps));
            self.talk(self.talk_until_ps + silent_ps);
        }
    }

    /// Make all samples that come before `until_ps`. Returns how many.
    pub(crate) fn make_before(&mut self, until_ps: u64) -> u64 {
        let mut made = 0;
        while self.next_ps < until_ps {
            let here = self.in_talk_before(until_ps);
            self.advance(here);
            made += here;
        }
        made
    }

    /// Make all samples that come before `until_ps`. When the last of them comes, if any does.
    pub(crate) fn pass(&mut self, until_ps: u64) -> Option<u64> {
        let mut last_ps = None;
        while self.next_ps < until_ps {
            let here = self.in_talk_before(until_ps);
            last_ps = Some(self.next_ps + (here - 1) * self.period_ps);
            self.advance(here);
        }
        last_ps
    }

    /// How many samples come before the measured window, and before its end.
    pub(crate) fn measured(&self, window: Window) -> Range<u64> {
        let before = |at_ps: u64| self.clone().make_before(at_ps.min(window.stop_ps));
        before(window.measure_from_ps)..before(window.measure_to_ps)
    }

    /// Make `samples`.
    pub(crate) fn make(&mut self, samples: u64) {
        let mut left = samples;
        while left > 0 {
            let here = self.in_talk_before(u64::MAX).min(left);
            self.advance(here);
            left -= here;
        }
    }
}

/// How many samples of these numbers were made within the measured window, which has those of
/// `measured`.
pub(crate) fn counted(numbers: Range<u64>, measured: &Range<u64>) -> u64 {
    numbers.end.min(measured.end).saturating_sub(numbers.start.max(measured.start))
}

/// The fate of the samples made within the measured window, by its end.
///
/// `made` = `delivered` + `lost` + `buffered`, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Made by the coder within the window.
    pub made: u64,
    /// Of these, in a frame whose transmission ended before the end of the window.
    pub delivered: u64,
    /// Of these, replaced by a newer one before the end of the window, because the buffer was full.
    pub lost: u64,
    /// Of these, in the buffer at the end of the window, also of a frame in transmission.
    pub buffered: u64,
}

/// A voice frame that was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoiceFrame {
    /// Its length, destination address to FCS.
    pub bits: u64,
    /// Samples in it.
    pub samples: u64,
    /// Of these, made within the measured window.
    pub counted: u64,
    /// When the oldest of them was made.
    pub oldest_ps: u64,
}
