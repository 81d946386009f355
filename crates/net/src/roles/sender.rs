//! Send what a source offers, when it offers it.

use crate::pacing::{Achieved, Pacer, Pacing, PacingCounts, PacingTrial, Rests};
use crate::port::NetworkPort;
use crate::port::credited::CreditCounts;
use crate::time::{NS_PER_S, PS_PER_NS, Timeline};
use crate::wire::{MARK_OCTETS, Mark, MarkKind};
use crate::{Error, SkewedClock};
use ethermeter_ethernet::Octets;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::packets::HostSamples;
use ethermeter_traffic::{Distribution, Offer, Purpose, Source, SourceSpec, Stream, Window};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// What is to be sent.
#[derive(Clone, Debug)]
pub struct SendPlan<'a> {
    /// The experiment.
    pub experiment: u16,
    /// The stream.
    pub stream: u16,
    /// What the station offers; lengths are those of frames, destination address to FCS.
    pub source: &'a SourceSpec,
    /// Seed of the experiment.
    pub seed: u64,
    /// Number of the station, which with the seed determines every draw.
    pub station: u32,
    /// When it begins, in the host's time.
    pub begin_ns: u64,
    /// For how long it offers frames.
    pub duration_ns: u64,
    /// The source begins at a draw below this after the beginning.
    pub spread_ps: u64,
    /// Most frames it sends.
    pub most_frames: u64,
    /// How it waits.
    pub pacer: Pacer,
}

/// Counts of the sender of a stream. Times are since the beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SenderCounts {
    /// Frames that the kernel took. Their sequence numbers are 0 to one less.
    pub frames: u64,
    /// Octets of their payloads, marks included.
    pub payload_octets: u64,
    /// Frames that were offered and that the kernel never took: the sender was stopped, or its port
    /// took nothing for a second after the end.
    pub unsent: u64,
    /// When the first was handed to the kernel.
    pub first_ns: Option<u64>,
    /// When the last had been.
    pub last_ns: Option<u64>,
    /// How far from the times of their arrivals frames were handed over; empty of saturated
    /// sources, which have none.
    pub pacing: PacingCounts,
    /// Rests between times close together; not of voice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rests: Option<Rests>,
    /// Trial of both rests before the transmission, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<PacingTrial>,
    /// Waits for credit, where an emulated medium gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit: Option<CreditCounts>,
    /// Samples of a coder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<VoiceSenderCounts>,
}

/// Samples of a coder at their sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VoiceSenderCounts {
    /// Samples in packets.
    pub samples: u64,
    /// Most samples of a packet.
    pub most_samples: u64,
    /// Packets that had to wait for those before them.
    pub waited: u64,
    /// From a packet's being wanted to its being handed over, of all of them.
    pub wait: Distribution,
    /// In the measured window.
    pub measured: VoiceSenderWindow,
}

/// Samples that a coder made in the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VoiceSenderWindow {
    /// Packets whose oldest sample is one of these.
    pub packets: u64,
    /// The samples; those handed over are `sent`.
    #[serde(flatten)]
    pub samples: HostSamples,
}

/// After a refusal, the time until the next attempt: some frames' worth, so that a full queue does
/// not cost all of a processor.
const AFTER_REFUSAL_NS: u64 = 20_000;
/// A port that takes nothing for so long after the end is given up.
const TIMEOUT_NS: u64 = NS_PER_S;

/// Send until the time is over, the frames are, or `stop` is set.
///
/// # Errors
/// If a length has no room for a mark or is longer than the port's, or if sending is impossible.
pub fn send<P: NetworkPort, T: Timeline>(
    port: &mut P,
    time: &T,
    own_clock: SkewedClock,
    plan: &SendPlan<'_>,
    stop: &AtomicBool,
) -> Result<SenderCounts, Error> {
    check_lengths(port, &plan.source.frames)?;
    let stop_ps = plan.duration_ns.saturating_mul(PS_PER_NS);
    let begin_ps = Stream::new(plan.seed, plan.station, Purpose::Begin).below(plan.spread_ps);
    let window = Window { begin_ps, stop_ps, measure_from_ps: 0, measure_to_ps: stop_ps };
    let mut source = Source::new(plan.source, plan.seed, plan.station, window);
    let is_shaped = plan.source.shaping.is_some();
    let is_scheduled = is_shaped || !matches!(plan.source.arrivals, Arrivals::Saturated {});
    let mut pacing = Pacing::new(plan.pacer, time);
    let mut next = source.first();
    let trial = is_scheduled.then(|| pacing.try_out(plan.begin_ns, stop)).flatten();
    let sent = SenderCounts { trial, ..SenderCounts::default() };
    let mut achieved = Achieved::default();
    let mut sender = FrameSender { port, time, own_clock, plan, stop, sent, taken_ns: 0 };
    let mut batch = Vec::with_capacity(sender.port.batch());
    while let Some(offer) = next {
        let due_ns = plan.begin_ns + offer.ready_ps.div_ceil(PS_PER_NS);
        let Some(now_ns) = pacing.wait_until(due_ns, stop) else { break };
        let elapsed_ps = (now_ns - plan.begin_ns) * PS_PER_NS;
        batch.clear();
        while let Some(offer) = next.filter(|offer| offer.ready_ps <= elapsed_ps) {
            if batch.len() == batch.capacity()
                || sender.sent.frames + batch.len() as u64 >= plan.most_frames
            {
                break;
            }
            batch.push(offer);
            next = source.next(elapsed_ps);
        }
        if batch.is_empty() {
            break;
        }
        if is_scheduled {
            for offer in &batch {
                // A message waits for its shaper and for its port, not for its sender.
                let expected_ps = if is_shaped { offer.ready_ps } else { offer.arrived_ps };
                let offered_ns = plan.begin_ns + expected_ps / PS_PER_NS;
                achieved.record(offered_ns.max(sender.taken_ns).min(now_ns), now_ns);
            }
        }
        if !sender.hand_over(&batch)? {
            break;
        }
    }
    sender.sent.pacing = achieved.counts(pacing.forced_sleeps());
    sender.sent.rests = Some(pacing.rests());
    Ok(sender.sent)
}

/// Whether every frame has room for a mark and the port has room for it.
pub(super) fn check_lengths<P: NetworkPort>(port: &P, frames: &Lengths) -> Result<(), Error> {
    let carrier = port.carrier();
    let shortest = carrier.frame_of(Octets(MARK_OCTETS as u64));
    let longest = carrier.frame_of(Octets(port.longest_payload() as u64));
    let (least_bits, most_bits) = frames.range_bits();
    for bits in [least_bits, most_bits] {
        if bits % 8 != 0 || bits < shortest.bits().0 || bits > longest.bits().0 {
            let allowed = format!("whole octets from {} to {} a frame", shortest.0, longest.0);
            return Err(Error::refused("frame bits", bits, allowed));
        }
    }
    Ok(())
}

struct FrameSender<'a, P, T> {
    port: &'a mut P,
    time: &'a T,
    own_clock: SkewedClock,
    plan: &'a SendPlan<'a>,
    stop: &'a AtomicBool,
    sent: SenderCounts,
    /// When the port last took something that it had refused.
    taken_ns: u64,
}

impl<P: NetworkPort, T: Timeline> FrameSender<'_, P, T> {
    /// Hand a batch to the kernel; false if that has to end before it has taken all.
    #[inline]
    fn hand_over(&mut self, batch: &[Offer]) -> Result<bool, Error> {
        let overhead = self.port.carrier().overhead().0;
        #[allow(clippy::cast_possible_truncation)] // lengths were checked against the port's
        let payload_octets = |offer: &Offer| (offer.bits / 8 - overhead) as usize;
        let (mut done, mut is_refused) = (0, false);
        while done < batch.len() {
            let left = &batch[done..];
            let now_ns = self.time.now_ns();
            let mut mark = Mark {
                kind: MarkKind::Stream,
                experiment: self.plan.experiment,
                stream: self.plan.stream,
                sequence: 0,
                sent_ns: self.own_clock.reading_at(now_ns),
            };
            let first = self.sent.frames;
            let sent = self.port.send(left.len(), |index, room| {
                mark.sequence = first + index as u64;
                mark.emit(room);
                payload_octets(&left[index])
            })?;
            if sent == 0 {
                let end_ns = self.plan.begin_ns.saturating_add(self.plan.duration_ns);
                if self.stop.load(Ordering::Relaxed) || now_ns > end_ns.saturating_add(TIMEOUT_NS) {
                    self.sent.unsent += left.len() as u64;
                    return Ok(false);
                }
                is_refused = true;
                self.time.sleep_until(now_ns + AFTER_REFUSAL_NS);
                continue;
            }
            if is_refused {
                self.taken_ns = self.time.now_ns();
            }
            let since_ns = now_ns.saturating_sub(self.plan.begin_ns);
            self.sent.first_ns.get_or_insert(since_ns);
            self.sent.last_ns = Some(since_ns);
            self.sent.frames += sent as u64;
            self.sent.payload_octets +=
                left[..sent].iter().map(|offer| payload_octets(offer) as u64).sum::<u64>();
            done += sent;
        }
        Ok(true)
    }
}
