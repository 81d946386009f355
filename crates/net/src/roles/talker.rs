//! Send what a coder makes: packets that grow while those before them wait for the wire.
//!
//! ```text
//!            wanted at its least length          the port is clear of the one before
//!  samples ────────────┼──────── it grows ─────────────┼── handed over with all samples made by then
//!                             beyond its most: the oldest are lost
//! ```
//!
//! Samples come at the times of a simulated host with the same seed and number: the code is the
//! same ([`ethermeter_traffic::packets`]).

use super::sender::{SenderCounts, VoiceSenderCounts};
use crate::pacing::{Achieved, Pacer, Pacing};
use crate::port::NetworkPort;
use crate::time::{NS_PER_S, PS_PER_NS, Timeline};
use crate::wire::{MARK_OCTETS, Mark, MarkKind, SPEECH_OCTETS, VoiceMark};
use crate::{Error, SkewedClock};
use ethermeter_ethernet::Octets;
use ethermeter_traffic::coder::VoiceSpec;
use ethermeter_traffic::packets::{Packets, VoicePacket};
use ethermeter_traffic::{Histogram, Purpose, Stream, Window};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The speech of a talker.
#[derive(Clone, Debug)]
pub struct VoicePlan<'a> {
    /// The experiment.
    pub experiment: u16,
    /// The stream.
    pub stream: u16,
    /// The coder and its packets; lengths are those of frames, destination address to FCS.
    pub voice: &'a VoiceSpec,
    /// Seed of the experiment.
    pub seed: u64,
    /// Number of the station, which with the seed determines every draw.
    pub station: u32,
    /// When it begins, in the host's time.
    pub begin_ns: u64,
    /// For how long samples are made.
    pub duration_ns: u64,
    /// Samples made then are accounted for, since the beginning.
    pub measured_ns: Range<u64>,
    /// How it waits.
    pub pacer: Pacer,
}

/// The least time between two looks at a port that is not clear …
const LOOK_NS: u64 = 50_000;
/// … and the most; between them it is this part of the time since the last packet was handed over,
/// so that what the wire is left idle is a small part of the time that a packet takes on it.
const LONGEST_LOOK_NS: u64 = 1_000_000;
const LOOK_PART: u64 = 64;
/// A port that is not clear for so long after the end is given up.
const TIMEOUT_NS: u64 = NS_PER_S;

/// Talk until the time is over or `stop` is set.
///
/// # Errors
/// If packets are not of whole octets, have no room for a mark or are longer than the port's; if
/// the port does not know when a packet has left; or if sending is impossible.
pub fn talk<P: NetworkPort, T: Timeline>(
    port: &mut P,
    time: &T,
    own_clock: SkewedClock,
    plan: &VoicePlan<'_>,
    stop: &AtomicBool,
) -> Result<SenderCounts, Error> {
    check_lengths(port, plan.voice)?;
    port.is_clear()?; // refused before anything is sent
    let ps = |ns: u64| ns.saturating_mul(PS_PER_NS);
    let window = Window {
        begin_ps: 0,
        stop_ps: ps(plan.duration_ns),
        measure_from_ps: ps(plan.measured_ns.start),
        measure_to_ps: ps(plan.measured_ns.end),
    };
    let chance = Stream::new(plan.seed, plan.station, Purpose::Arrival);
    let mut voice = Packets::new(*plan.voice, chance, window);
    let mut pacing = Pacing::new(plan.pacer, time);
    let mut talker = VoiceSender {
        port,
        time,
        own_clock,
        plan,
        stop,
        sent: SenderCounts::default(),
        talk: VoiceSenderCounts::default(),
        wait: Histogram::default(),
        achieved: Achieved::default(),
    };
    while let Some(wanted_ps) = voice.wanted_ps() {
        let due_ns = plan.begin_ns + wanted_ps.div_ceil(PS_PER_NS);
        let Some(now_ns) = pacing.wait_until(due_ns, stop) else {
            talker.sent.unsent += 1;
            break;
        };
        if !talker.hand_over(&mut voice, due_ns, now_ns)? {
            talker.sent.unsent += 1;
            break;
        }
    }
    let VoiceSender { mut sent, mut talk, wait, achieved, .. } = talker;
    talk.wait = (&wait).into();
    talk.measured.samples = voice.finish(window.stop_ps);
    sent.pacing = achieved.counts(pacing.forced_sleeps());
    sent.voice = Some(talk);
    Ok(sent)
}

fn check_lengths<P: NetworkPort>(port: &P, voice: &VoiceSpec) -> Result<(), Error> {
    if let Some(fault) = voice.fault() {
        return Err(Error::refused("packets of samples", format!("{voice:?}"), fault));
    }
    if !voice.sample_bits.is_multiple_of(8) || !voice.overhead_bits.is_multiple_of(8) {
        let value =
            format!("samples of {} bits beside {} bits", voice.sample_bits, voice.overhead_bits);
        return Err(Error::refused(
            "packets of samples",
            value,
            "samples and what is beside them in whole octets",
        ));
    }
    let carrier = port.carrier();
    let shortest = carrier.frame_of(Octets((MARK_OCTETS + SPEECH_OCTETS) as u64));
    let longest = carrier.frame_of(Octets(port.longest_payload() as u64));
    for bits in [voice.min_bits, voice.max_bits] {
        if !bits.is_multiple_of(8) || bits < shortest.bits().0 || bits > longest.bits().0 {
            let allowed = format!("whole octets from {} to {} a frame", shortest.0, longest.0);
            return Err(Error::refused("frame bits", bits, allowed));
        }
    }
    let most_samples = voice.max_bits.saturating_sub(voice.overhead_bits) / voice.sample_bits;
    if most_samples > u64::from(u16::MAX) {
        return Err(Error::refused(
            "samples of a packet",
            most_samples,
            format!("at most {}", u16::MAX),
        ));
    }
    Ok(())
}

struct VoiceSender<'a, P, T> {
    port: &'a mut P,
    time: &'a T,
    own_clock: SkewedClock,
    plan: &'a VoicePlan<'a>,
    stop: &'a AtomicBool,
    sent: SenderCounts,
    talk: VoiceSenderCounts,
    wait: Histogram,
    achieved: Achieved,
}

impl<P: NetworkPort, T: Timeline> VoiceSender<'_, P, T> {
    /// Wait until the port is clear and hand over what has gathered by then, wanted since `due_ns`;
    /// false if that has to end before.
    fn hand_over(&mut self, voice: &mut Packets, due_ns: u64, now_ns: u64) -> Result<bool, Error> {
        let mut now_ns = now_ns;
        let mut has_waited = false;
        loop {
            if self.port.is_clear()? && self.try_packet(voice, now_ns)? {
                if has_waited {
                    self.talk.waited += 1;
                } else {
                    self.achieved.record(due_ns, now_ns);
                }
                self.wait.record(now_ns.saturating_sub(due_ns) * PS_PER_NS);
                return Ok(true);
            }
            let end_ns = self.plan.begin_ns.saturating_add(self.plan.duration_ns);
            if self.stop.load(Ordering::Relaxed) || now_ns > end_ns.saturating_add(TIMEOUT_NS) {
                return Ok(false);
            }
            has_waited = true;
            let last_ns = self.sent.last_ns.map_or(now_ns, |ns| ns + self.plan.begin_ns);
            let since_ns = now_ns.saturating_sub(last_ns);
            self.time.sleep_until(now_ns + (since_ns / LOOK_PART).clamp(LOOK_NS, LONGEST_LOOK_NS));
            now_ns = self.time.now_ns();
        }
    }

    /// Offer the kernel a packet of the samples made until `now_ns`; whether it took it. If not,
    /// they go on gathering.
    fn try_packet(&mut self, voice: &mut Packets, now_ns: u64) -> Result<bool, Error> {
        let (begin_ns, sent, talk) = (self.plan.begin_ns, &mut self.sent, &mut self.talk);
        let mut after = voice.clone();
        let VoicePacket { bits, samples, counted, oldest_ps } =
            after.call((now_ns - begin_ns) * PS_PER_NS);
        let count = |samples: u64| u16::try_from(samples).expect("lengths were checked");
        let oldest_ns = oldest_ps / PS_PER_NS;
        let speech = VoiceMark {
            made_ns: self.own_clock.reading_at(begin_ns + oldest_ns),
            samples: count(samples),
            measured: count(counted),
            is_oldest_measured: self.plan.measured_ns.contains(&oldest_ns),
        };
        let mark = Mark {
            kind: MarkKind::Voice,
            experiment: self.plan.experiment,
            stream: self.plan.stream,
            sequence: sent.frames,
            sent_ns: self.own_clock.reading_at(now_ns),
        };
        #[allow(clippy::cast_possible_truncation)] // lengths were checked against the port's
        let octets = (bits / 8 - self.port.carrier().overhead().0) as usize;
        let sent_frames = self.port.send(1, |_, room| {
            mark.emit(room);
            speech.emit(room);
            octets
        })?;
        if sent_frames == 0 {
            return Ok(false);
        }
        *voice = after;
        sent.frames += 1;
        sent.payload_octets += octets as u64;
        talk.samples += samples;
        talk.measured.packets += u64::from(speech.is_oldest_measured);
        talk.most_samples = talk.most_samples.max(samples);
        let since_ns = now_ns.saturating_sub(begin_ns);
        sent.first_ns.get_or_insert(since_ns);
        sent.last_ns = Some(since_ns);
        Ok(true)
    }
}
