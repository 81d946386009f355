//! Take what arrives and count it.

use crate::clock::{CachedRelation, Relation, SharedRelation};
use crate::port::{NetworkPort, ReceiveWait, ReceivedPayload};
use crate::skewed_clock::between_ns;
use crate::time::{PS_PER_NS, Timeline};
use crate::wire::{Mark, MarkKind, VoiceMark};
use crate::{Error, SkewedClock};
use ethermeter_traffic::{Account, Arrived, Batches, Distribution, Histogram, Sequence};
use ethermeter_trial::roles::ReceiveMode;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is to be counted.
#[derive(Clone, Debug)]
pub struct SinkPlan<'a> {
    /// The experiment; frames of others are only counted as unexpected.
    pub experiment: u16,
    /// The beginning since which times are counted, in the host's time.
    pub begin_ns: u64,
    /// The number of the first stream that is counted.
    pub first_stream: u16,
    /// So many streams are counted.
    pub streams: u16,
    /// What lies within counts for rates and delays, in the host's time. Sequence numbers count
    /// always.
    pub measured_ns: Range<u64>,
    /// Equal parts of that time, at least 1, in which the same is counted.
    pub batches: u32,
    /// When it ends, in the host's time.
    pub until_ns: u64,
    /// After so many frames it ends too.
    pub most_frames: u64,
    /// Numbers below the highest of a stream that are remembered.
    pub memory: usize,
    /// How the sender's clock relates to ours.
    pub senders_clock: SenderClockRelation<'a>,
    /// How it waits.
    pub attention: ReceiveMode,
}

/// How a sender's clock relates to ours.
#[derive(Clone, Copy, Debug, Default)]
pub enum SenderClockRelation<'a> {
    /// The clocks are taken for equal.
    #[default]
    Equal,
    /// The clocks are related like this.
    Related(&'a Relation),
    /// As is known when a frame arrives; frames that arrive before anything is known have no
    /// delay.
    Ongoing(&'a SharedRelation),
}

/// Frames of a stream at their receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamCounts {
    /// What became of its numbers up to the highest that arrived.
    #[serde(flatten)]
    pub sequence: Account,
    /// In the measured window.
    pub measured: StreamWindow,
    /// Samples of a coder.
    pub voice: Option<VoiceCounts>,
}

/// Frames of a stream that arrived for the first time, and within the measured window. Times are
/// since the beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamWindow {
    /// Frames.
    pub frames: u64,
    /// Octets of their payloads.
    pub payload_octets: u64,
    /// When the first of them arrived.
    pub first_ns: Option<i64>,
    /// When the last of them arrived.
    pub last_ns: Option<i64>,
    /// Rate of payload from the first to the last, which do not count twice: the first frame's
    /// octets arrived in the time before it. `None` if there were not two.
    pub goodput_bps: Option<f64>,
    /// One-way delay.
    pub delay: Distribution,
    /// Frames that arrived before they were sent, by the clocks. They are not in `delay`.
    pub before_sent: u64,
    /// Frames that arrived before the relation of the clocks was known. They are not in `delay`.
    pub unrelated: u64,
    /// Times between arrivals.
    pub spacing: Distribution,
    /// By batch.
    pub batches: Vec<StreamBatch>,
}

/// Frames of a stream, by the batch of the measured window in which they arrived. The counts of all
/// batches add up to those of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamBatch {
    /// Frames that arrived for the first time.
    pub frames: u64,
    /// Octets of the frames' payloads.
    pub payload_octets: u64,
    /// Frames of the batch whose delays are known.
    pub delays: u64,
    /// The sum of these delays, in nanoseconds. It stays at the most there is room for, as only
    /// clocks without synchronisation can bring about.
    pub delay_ns: u64,
    /// Frames before which one arrived within the measured time.
    pub spacings: u64,
    /// The sum of the times since then, in nanoseconds; stamps out of order count as less than
    /// none, so that all together reach from the first arrival to the last.
    pub spacing_ns: i64,
}

/// Samples of a coder at their receiver, in packets that arrived for the first time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VoiceCounts {
    /// Packets.
    pub packets: u64,
    /// Samples of the packets.
    pub samples: u64,
    /// Samples made in the measured window.
    pub measured: VoiceWindow,
}

/// Samples that arrived and were made in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VoiceWindow {
    /// Packets whose oldest sample is one of these.
    pub packets: u64,
    /// Samples.
    pub samples: u64,
    /// From the making of such a packet's oldest sample to its arrival.
    pub voice_delay: Distribution,
    /// Delay of every sample, each as old as the oldest of its packet.
    pub sample_delay: Distribution,
}

/// Counts of the receiver of streams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SinkCounts {
    /// By stream.
    pub streams: Vec<StreamCounts>,
    /// Frames of other experiments, streams or kinds.
    pub unexpected: u64,
    /// Frames without a mark.
    pub unmarked: u64,
    /// The longest time between two reads of the port while it was not asked to wait.
    pub longest_absence_ns: u64,
}

/// A stream while it comes.
#[derive(Clone)]
struct StreamState {
    sequence: Sequence,
    window: StreamWindow,
    delay: Histogram,
    spacing: Histogram,
    batches: Batches<StreamBatch>,
    speech: VoiceCounts,
    voice_delay: Histogram,
    sample_delay: Histogram,
}

/// What comes, while it does.
struct StreamStates {
    streams: Vec<StreamState>,
    counts: SinkCounts,
}

/// How long a collecting sink lets frames gather: 150 of the shortest at 1 Gb/s, which every socket
/// has room for.
const COLLECTING_NS: u64 = 100_000;
/// After so long without a frame it waits for the next.
const QUIET_NS: u64 = 10_000_000;

/// Count until the time is over, the frames are, `stop` is set, or the connection is closed.
///
/// Nothing is stored that grows with the number of frames.
///
/// # Errors
/// If receiving is impossible.
pub fn sink<P: NetworkPort, T: Timeline>(
    port: &mut P,
    time: &T,
    own_clock: SkewedClock,
    plan: &SinkPlan<'_>,
    stop: &AtomicBool,
) -> Result<SinkCounts, Error> {
    let mut sunk = StreamStates::nothing(plan);
    let mut relation = CachedRelation::default();
    let mut frames = 0;
    let mut left_ns = time.now_ns();
    let mut last_ns = None; // when something was there last
    while frames < plan.most_frames && !stop.load(Ordering::Relaxed) {
        // Looked at once before waiting and once after: what comes together has one time unless the
        // kernel stamps it.
        let before_ns = time.now_ns();
        if before_ns >= plan.until_ns {
            break;
        }
        sunk.counts.longest_absence_ns = sunk.counts.longest_absence_ns.max(before_ns - left_ns);
        let mut arrived_ns = None;
        let is_collecting = plan.attention == ReceiveMode::Collecting
            && last_ns.is_some_and(|ns| before_ns < ns + QUIET_NS);
        let wait = if is_collecting { ReceiveWait::No } else { plan.attention.into() };
        let received = port.receive(wait, |arrival| {
            let now_ns = *arrived_ns.get_or_insert_with(|| {
                if let SenderClockRelation::Ongoing(ongoing) = plan.senders_clock {
                    ongoing.refresh(&mut relation);
                }
                time.now_ns()
            });
            sunk.take(arrival, arrival.stamped_ns.unwrap_or(now_ns), own_clock, plan, &relation);
        });
        let read = match received {
            Err(Error::Closed) => break,
            received => received?,
        };
        frames += read as u64;
        left_ns = arrived_ns.unwrap_or_else(|| time.now_ns());
        last_ns = arrived_ns.or(last_ns);
        if is_collecting && read < port.batch() {
            time.sleep_until(left_ns + COLLECTING_NS);
            left_ns = time.now_ns();
        }
    }
    Ok(sunk.counted())
}

impl StreamStates {
    fn nothing(plan: &SinkPlan<'_>) -> Self {
        let length_ps =
            plan.measured_ns.end.saturating_sub(plan.measured_ns.start).saturating_mul(PS_PER_NS);
        let stream = StreamState {
            sequence: Sequence::new(0, plan.memory),
            window: StreamWindow::default(),
            delay: Histogram::default(),
            spacing: Histogram::default(),
            batches: Batches::new(0, length_ps, plan.batches),
            speech: VoiceCounts::default(),
            voice_delay: Histogram::default(),
            sample_delay: Histogram::default(),
        };
        let streams = vec![stream; usize::from(plan.streams)];
        Self { streams, counts: SinkCounts::default() }
    }

    fn counted(self) -> SinkCounts {
        let streams = self.streams.into_iter().map(StreamState::counted).collect();
        SinkCounts { streams, ..self.counts }
    }

    #[inline]
    fn take(
        &mut self,
        arrival: &ReceivedPayload<'_>,
        arrived_ns: u64,
        own_clock: SkewedClock,
        plan: &SinkPlan<'_>,
        relation: &CachedRelation,
    ) {
        let Ok(mark) = Mark::read(arrival.payload) else {
            self.counts.unmarked += 1;
            return;
        };
        let speech =
            if mark.kind == MarkKind::Voice { VoiceMark::read(arrival.payload).ok() } else { None };
        let is_ours = mark.experiment == plan.experiment
            && (mark.kind == MarkKind::Stream || speech.is_some());
        let index = mark.stream.checked_sub(plan.first_stream).map(usize::from);
        let Some(stream) = index.and_then(|index| self.streams.get_mut(index)).filter(|_| is_ours)
        else {
            self.counts.unexpected += 1;
            return;
        };
        let arrived = stream.sequence.arrive(mark.sequence);
        let is_new = matches!(arrived, Arrived::InOrder | Arrived::Reordered);
        if !is_new {
            return;
        }
        // A time of the sender's by our clock.
        let own_ns = |reading_ns: u64| match plan.senders_clock {
            SenderClockRelation::Equal => Some(reading_ns),
            SenderClockRelation::Related(clock) => Some(clock.own_ns(reading_ns)),
            SenderClockRelation::Ongoing(_) => {
                relation.relation().map(|clock| clock.own_ns(reading_ns))
            }
        };
        let arrived = own_clock.reading_at(arrived_ns);
        if plan.measured_ns.contains(&arrived_ns) {
            let since_ps = (arrived_ns - plan.measured_ns.start).saturating_mul(PS_PER_NS);
            stream.measure(
                arrival.payload.len(),
                arrived_ns.wrapping_sub(plan.begin_ns).cast_signed(),
                since_ps,
                own_ns(mark.sent_ns).map(|sent| between_ns(sent, arrived)),
            );
        }
        if let Some(speech) = speech {
            stream.hear(speech, own_ns(speech.made_ns), arrived);
        }
    }
}

impl StreamState {
    #[inline]
    fn hear(&mut self, speech: VoiceMark, made_at: Option<u64>, arrived: u64) {
        let (counts, measured) = (&mut self.speech, u64::from(speech.measured));
        counts.packets += 1;
        counts.samples += u64::from(speech.samples);
        counts.measured.samples += measured;
        counts.measured.packets += u64::from(speech.is_oldest_measured);
        // A packet that arrived before its samples were made, by the estimate of the clocks, has no
        // delay.
        if let Some(delay_ns) =
            made_at.and_then(|made_at| u64::try_from(between_ns(made_at, arrived)).ok())
        {
            self.voice_delay
                .record_many(delay_ns * PS_PER_NS, u64::from(speech.is_oldest_measured));
            self.sample_delay.record_many(delay_ns * PS_PER_NS, measured);
        }
    }

    #[inline]
    fn measure(
        &mut self,
        payload_octets: usize,
        arrived_ns: i64,
        since_ps: u64,
        delay_ns: Option<i64>,
    ) {
        // Batches are of what 64 bits hold of picoseconds, which is 213 days.
        let mut beyond = StreamBatch::default();
        let batch = self.batches.at(since_ps).unwrap_or(&mut beyond);
        let window = &mut self.window;
        window.frames += 1;
        window.payload_octets += payload_octets as u64;
        batch.frames += 1;
        batch.payload_octets += payload_octets as u64;
        if let Some(last_ns) = window.last_ns {
            // Stamps of different processors may be out of order by a little.
            let spacing_ns = arrived_ns - last_ns;
            self.spacing.record(u64::try_from(spacing_ns).unwrap_or(0) * PS_PER_NS);
            batch.spacings += 1;
            batch.spacing_ns += spacing_ns;
        }
        match delay_ns.map(u64::try_from) {
            Some(Ok(delay_ns)) => {
                self.delay.record(delay_ns * PS_PER_NS);
                batch.delays += 1;
                batch.delay_ns = batch.delay_ns.saturating_add(delay_ns);
            }
            Some(Err(_)) => window.before_sent += 1,
            None => window.unrelated += 1,
        }
        window.first_ns.get_or_insert(arrived_ns);
        window.last_ns = Some(arrived_ns);
    }

    fn counted(self) -> StreamCounts {
        let Self { mut speech, window, .. } = self;
        speech.measured.voice_delay = (&self.voice_delay).into();
        speech.measured.sample_delay = (&self.sample_delay).into();
        StreamCounts {
            sequence: self.sequence.account(None),
            measured: StreamWindow {
                goodput_bps: goodput_bps(&window),
                delay: (&self.delay).into(),
                spacing: (&self.spacing).into(),
                batches: self.batches.counted(),
                ..window
            },
            voice: (speech.packets > 0).then_some(speech),
        }
    }
}

#[allow(clippy::cast_precision_loss)] // a rate
fn goodput_bps(window: &StreamWindow) -> Option<f64> {
    let over_ns = window.last_ns?.checked_sub(window.first_ns?).filter(|&ns| ns > 0)?;
    let octets = window.payload_octets as f64 * (1.0 - 1.0 / window.frames as f64);
    Some(octets * 8.0 * 1e9 / over_ns as f64)
}
