//! One station of a segment: its source, and the transmitter that takes up what it offers, the next
//! frame a service time after the one before.
//!
//! Both implementations of medium access use it, so that they differ in medium access only.

use super::compiled::CompiledSegment;
use crate::custom::{Custom, Rule};
use crate::identity::StationId;
use crate::mac::backoff::Retries;
use crate::mac::transmitter::{Attempt, Ending, Transmitter};
use crate::time::{Instant, Span};
use ethermeter_ethernet::units::Bits;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::coder::Samples;
use ethermeter_traffic::generator::GeneratorTimes;
use ethermeter_traffic::{Offer, Purpose, Source, Stream};

/// What the source of a station offered within the measured window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Supplied {
    /// Frames.
    pub offered: u64,
    /// Of these, dropped.
    pub dropped: u64,
    /// The fate of its samples, if it is of voice.
    pub samples: Option<Samples>,
    /// Bits offered, of a source of the caller's own.
    pub custom_bits: Option<f64>,
    /// What its buffers did, if it has a generator.
    pub generator: Option<GeneratorTimes>,
}

impl Supplied {
    /// What a source offered, when nothing more happens.
    pub fn by(source: &mut Source) -> Self {
        let (offered, dropped) = source.finish();
        let (custom_bits, generator) = (source.custom_bits(), source.finish_generator());
        Self { offered, dropped, samples: source.finish_voice(), custom_bits, generator }
    }
}

/// What a station does between and after its attempts.
#[derive(Clone, Debug)]
pub struct Station {
    source: Source,
    transmitter: Transmitter,
    /// Its frames grow until they are over.
    is_voice: bool,
}

impl Station {
    /// All stations of a compiled segment, each with the time of its first attempt, or [`Instant::NEVER`].
    #[must_use]
    pub fn all(compiled: &CompiledSegment) -> (Vec<Self>, Vec<Instant>) {
        Self::all_with(compiled, None)
    }

    /// The same, with rules of the caller's own.
    #[must_use]
    pub fn all_with(
        compiled: &CompiledSegment,
        custom: Option<&dyn Custom>,
    ) -> (Vec<Self>, Vec<Instant>) {
        StationId::first(compiled.stations())
            .map(|index| Self::new(compiled, index, custom))
            .unzip()
    }

    /// The source of a station and its transmitter, by the draws and the clock of the trial.
    #[must_use]
    pub fn supply(compiled: &CompiledSegment, index: StationId) -> (Source, Transmitter) {
        Self::supply_with(compiled, index, None)
    }

    fn supply_with(
        compiled: &CompiledSegment,
        index: StationId,
        custom: Option<&dyn Custom>,
    ) -> (Source, Transmitter) {
        let (seed, station) = (compiled.seed, index.number());
        let (stations, slot) = (&compiled.group(index).stations, compiled.slot);
        let begin_ps = compiled.phases.begin_ps
            + Stream::new(seed, station, Purpose::Begin).below(compiled.phases.spread_ps);
        let spec = compiled.source_spec(index);
        let window = compiled.window(begin_ps);
        let source = match (&spec.arrivals, compiled.calls_of(index)) {
            (_, Some(calls)) => {
                let window = compiled.window(compiled.phases.begin_ps);
                Source::in_calls(&spec, seed, station, window, calls)
            }
            (Arrivals::Python { function }, None) => {
                let custom = custom.expect("CompiledSegment::new refuses it");
                let chance = Stream::new(seed, station, Purpose::Arrival);
                let frames =
                    custom.source(&Rule { function, station }, spec.frames.range_bits(), chance);
                Source::custom(&spec, seed, station, window, frames)
            }
            _ => Source::new(&spec, seed, station, window),
        };
        let retries = Retries::new(stations, slot, (seed, station), custom);
        (source, Transmitter::new(index, stations, retries))
    }

    fn new(
        compiled: &CompiledSegment,
        index: StationId,
        custom: Option<&dyn Custom>,
    ) -> (Self, Instant) {
        let (mut source, transmitter) = Self::supply_with(compiled, index, custom);
        let first = source.first();
        let mut new = Self { source, transmitter, is_voice: compiled.is_voice(index) };
        let ready = new.take_up(first);
        (new, ready)
    }

    /// Length of the frame in the transmitter; of voice, the least.
    #[inline]
    #[must_use]
    pub fn length(&self) -> Bits {
        self.transmitter.length()
    }

    /// How long the preamble and the frame in the transmitter take, if the first bit leaves at
    /// `start`.
    #[inline]
    #[must_use]
    pub fn packet_time(&self, compiled: &CompiledSegment, start: Instant) -> Span {
        if self.is_voice {
            return self.grown_packet_time(compiled, start);
        }
        compiled.packet_time(self.length())
    }

    fn grown_packet_time(&self, compiled: &CompiledSegment, start: Instant) -> Span {
        compiled.grown_packet_time(self.source.voice().expect("only voice grows"), start)
    }

    /// When the frame in the transmitter was taken up, if there is one.
    #[must_use]
    pub fn holding_since(&self) -> Option<Instant> {
        self.transmitter.holding_since()
    }

    /// The attempt from `start` to `end` succeeded. Returns it, and when the station is ready for
    /// its next one.
    #[inline]
    pub fn deliver(&mut self, start: Instant, end: Instant) -> (Attempt, Instant) {
        if self.is_voice {
            return self.deliver_voice(start, end);
        }
        self.deliver_frame(start, end)
    }

    /// The same, of a station that does not send voice.
    #[expect(
        clippy::inline_always,
        reason = "what is returned through memory and copied at once waits: a tenth of a frame"
    )]
    #[inline(always)]
    pub fn deliver_frame(&mut self, start: Instant, end: Instant) -> (Attempt, Instant) {
        let attempt = self.transmitter.deliver(start, end);
        (attempt, self.take_up_next(end))
    }

    fn deliver_voice(&mut self, start: Instant, end: Instant) -> (Attempt, Instant) {
        let frame = self.source.deliver_voice(end.ps());
        let attempt = self.transmitter.deliver_voice(start, end, &frame);
        (attempt, self.take_up_next(end))
    }

    /// It could begin to send. If its packet is too old, when it is ready for the next one.
    pub fn withdraw(&mut self, now: Instant) -> Option<Instant> {
        (self.is_voice && self.source.discard_late_voice(now.ps())).then(|| self.take_up_next(now))
    }

    /// The attempt from `start` to `end`, the end of its jam, collided. Returns it, and when the
    /// station is ready for its next one.
    #[inline]
    pub fn collide(&mut self, start: Instant, end: Instant, late: bool) -> (Attempt, Instant) {
        let (attempt, again) = self.transmitter.collide(start, end, late);
        let ready = again.unwrap_or_else(|| match attempt.ending {
            Ending::Resumed => Instant::from_ps(self.source.handed_over_again_ps(end.ps())),
            _ => self.take_up_after_discarded(end),
        });
        (attempt, ready)
    }

    /// Apart, since few frames are discarded.
    #[inline(never)]
    fn take_up_after_discarded(&mut self, end: Instant) -> Instant {
        self.take_up_next(end)
    }

    /// What its source offered, when nothing more happens.
    pub fn finish(&mut self) -> Supplied {
        Supplied::by(&mut self.source)
    }

    /// The frame before ended at `end`; take up the next one. When the station is ready with it.
    #[inline]
    fn take_up_next(&mut self, end: Instant) -> Instant {
        let next = self.source.next(end.ps());
        self.take_up(next)
    }

    #[inline]
    fn take_up(&mut self, offer: Option<Offer>) -> Instant {
        let Some(offer) = offer else {
            self.transmitter.release();
            return Instant::NEVER;
        };
        let ready = Instant::from_ps(offer.ready_ps);
        self.transmitter.take_up(ready, Instant::from_ps(offer.arrived_ps), Bits(offer.bits));
        ready
    }
}
