//! When a card takes up the frames of its host.
//!
//! ```text
//! offered:     host ──► card, which takes up the next frame when the source of the trial offers one
//! arriving:    host ──► card, which takes up the next frame when it has come and the host's service time is over
//! ```
//!
//! Offered are the frames of saturated hosts, and packets of a coder: the card has the coder of the
//! trial, and what it takes from the host is room for the samples.

use ethermeter_simulator::identity::StationId;
use ethermeter_simulator::mac::transmitter::Transmitter;
use ethermeter_simulator::segment::compiled::CompiledSegment;
use ethermeter_simulator::segment::station::Station;
use ethermeter_simulator::segment::station::Supplied;
use ethermeter_simulator::time::{Instant, Span};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::coder::VoiceFrame;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::voice::Voice;
use ethermeter_traffic::{Offer, Purpose, Source, Stream};

/// The supply of a card.
#[derive(Debug)]
pub(crate) enum CardSupply {
    /// When its source says so; `next` is what the source offers while no frame is there.
    Offered { source: Box<Source>, next: Option<Offer> },
    /// When they have come, and not before `free`: the host's service time after the one before.
    Arriving { service: Times, chance: Stream, free: Instant, offered: u64, dropped: u64 },
}

/// How a frame is taken up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakenFrame {
    /// When the station is ready with it.
    pub ready: Instant,
    /// When it arrived at the queue; of voice, when its first sample was made.
    pub arrived: Instant,
    /// Length of the frame if it is of voice: the least.
    pub least_bits: Option<u64>,
    /// Whether it was offered before the host had sent it.
    pub is_late: bool,
}

impl CardSupply {
    /// The supply of a station, and its transmitter.
    pub fn new(segment: &CompiledSegment, station: StationId) -> (Self, Transmitter) {
        let (mut source, transmitter) = Station::supply(segment, station);
        let spec = segment.source_spec(station);
        let is_offered =
            segment.is_voice(station) || matches!(spec.arrivals, Arrivals::Saturated {});
        if is_offered {
            let next = source.first();
            return (Self::Offered { source: Box::new(source), next }, transmitter);
        }
        let chance = Stream::new(segment.seed, station.number(), Purpose::Service);
        let service = spec.service;
        (
            Self::Arriving { service, chance, free: Instant::ZERO, offered: 0, dropped: 0 },
            transmitter,
        )
    }

    /// Count a frame that has come.
    pub fn count(&mut self, is_full: bool) {
        if let Self::Arriving { offered, dropped, .. } = self {
            *offered += 1;
            *dropped += u64::from(is_full);
        }
    }

    /// Take up a frame that came at `at`, while no other is there; `None` if the source has ended.
    pub fn take(&mut self, at: Instant) -> Option<TakenFrame> {
        match self {
            Self::Arriving { free, .. } => {
                let ready = at.max(*free);
                Some(TakenFrame { ready, arrived: at, least_bits: None, is_late: false })
            }
            Self::Offered { source, next } => {
                let offer = next.take()?;
                let ready = Instant::from_ps(offer.ready_ps);
                let (is_voice, is_late) = (source.voice().is_some(), at > ready);
                // Samples are made whether there is a frame for them or not.
                let arrived =
                    if is_late && !is_voice { at } else { Instant::from_ps(offer.arrived_ps) };
                let least_bits = is_voice.then_some(offer.bits);
                Some(TakenFrame { ready: at.max(ready), arrived, least_bits, is_late })
            }
        }
    }

    /// The frame before ended at `now`.
    pub fn free(&mut self, now: Instant) {
        match self {
            Self::Arriving { service, chance, free, .. } => {
                *free = now + Span::from_ps(service.draw(chance));
            }
            Self::Offered { source, next } => *next = source.next(now.ps()),
        }
    }

    /// When the host hands the same frame over again that it got back at `now`.
    pub fn hand_over_again(&mut self, now: Instant) -> Instant {
        match self {
            Self::Offered { source, .. } => Instant::from_ps(source.handed_over_again_ps(now.ps())),
            Self::Arriving { service, chance, .. } => now + Span::from_ps(service.draw(chance)),
        }
    }

    /// The samples of its coder, if it has one.
    pub fn voice(&self) -> Option<&Voice> {
        match self {
            Self::Offered { source, .. } => source.voice(),
            Self::Arriving { .. } => None,
        }
    }

    /// What a packet of voice holds that was sent until `end`; `None` without a coder.
    pub fn deliver_voice(&mut self, end: Instant) -> Option<VoiceFrame> {
        match self {
            Self::Offered { source, .. } if source.voice().is_some() => {
                Some(source.deliver_voice(end.ps()))
            }
            _ => None,
        }
    }

    /// Discard the packet of voice that could begin to leave at `now`, if it is too old. Whether it
    /// was.
    pub fn discard_late(&mut self, now: Instant) -> bool {
        match self {
            Self::Offered { source, .. } => source.discard_late_voice(now.ps()),
            Self::Arriving { .. } => false,
        }
    }

    /// What was offered within the measured window.
    pub fn finish(self) -> Supplied {
        match self {
            Self::Offered { mut source, .. } => Supplied::by(&mut source),
            Self::Arriving { offered, dropped, .. } => {
                Supplied { offered, dropped, ..Supplied::default() }
            }
        }
    }
}
