//! Take what arrives and count it.

use super::attention::Attention;
use crate::clock::{Known, Ongoing, Relation};
use crate::port::{Arrival, Port, Wait};
use crate::skewed_clock::between_ns;
use crate::time::{Timeline, PS_PER_NS};
use crate::wire::{Kind, Mark, Speech};
use crate::{Error, SkewedClock};
use ethermeter_traffic::{Arrived, Batches, Histogram, Sequence};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is to be counted.
#[derive(Clone, Debug)]
pub struct SinkPlan<'a> {
    /// The experiment; frames of others are only counted as strange.
    pub experiment: u16,
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
    pub senders_clock: SendersClock<'a>,
    /// How it waits.
    pub attention: Attention,
}

/// How a sender's clock relates to ours.
#[derive(Clone, Copy, Debug, Default)]
pub enum SendersClock<'a> {
    /// The clocks are taken for equal.
    #[default]
    Equal,
    /// Like this.
    Related(&'a Relation),
    /// As is known when a frame arrives; delays of frames that arrive before anything is known are
    /// not told.
    Ongoing(&'a Ongoing),
}

/// What came of one stream.
#[derive(Clone, Debug)]
pub struct StreamCounts {
    /// What became of its numbers.
    pub sequence: Sequence,
    /// Frames that came for the first time, within the measured time.
    pub frames: u64,
    /// Their payloads' octets.
    pub payload_octets: u64,
    /// When the first of them came.
    pub first_ns: Option<u64>,
    /// When the last of them came.
    pub last_ns: Option<u64>,
    /// Time from sending to arrival, in picoseconds, within the measured time.
    pub delay: Histogram,
    /// Frames that came before they were sent: the clocks' relation is not known well enough. They
    /// are not in `delay`.
    pub before_sent: u64,
    /// Frames that came when nothing was known of the sender's clock. They are not in `delay`.
    pub unrelated: u64,
    /// Time between consecutive arrivals, in picoseconds, within the measured time.
    pub spacing: Histogram,
    /// The same in each part of the measured time.
    pub batches: Batches<StreamBatch>,
    /// Of voice, the counts of samples.
    pub speech: SpeechCounts,
}

/// What came of a stream in one part of the measured time, by when it came. Added over all parts
/// each figure is that of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamBatch {
    /// Frames that came for the first time.
    pub frames: u64,
    /// Their payloads' octets.
    pub payload_octets: u64,
    /// Those of them whose delays are known.
    pub delays: u64,
    /// The sum of these delays, in nanoseconds. It stays at the most there is room for, as only
    /// clocks that nobody compares can bring about.
    pub delay_ns: u64,
    /// Frames before which one came within the measured time.
    pub spacings: u64,
    /// The sum of the times since then, in nanoseconds; stamps out of order count as less than
    /// none, so that all together reach from the first arrival to the last.
    pub spacing_ns: i64,
}

/// What came of a coder's samples, in packets that came for the first time, whenever that was.
///
/// Whatever is of the measured time is so by when samples were made, not by when they came.
#[derive(Clone, Debug, Default)]
pub struct SpeechCounts {
    /// Packets.
    pub packets: u64,
    /// Their samples.
    pub samples: u64,
    /// Of these, samples of the measured time.
    pub measured: u64,
    /// Packets whose oldest sample is one of these.
    pub measured_packets: u64,
    /// From the making of such a packet's oldest sample to its arrival, in picoseconds.
    pub voice_delay: Histogram,
    /// The same of every sample of the measured time, each as old as the oldest of its packet.
    pub sample_delay: Histogram,
}

/// What came.
#[derive(Clone, Debug)]
pub struct Sunk {
    /// By stream.
    pub streams: Vec<StreamCounts>,
    /// Frames of other experiments, streams or kinds.
    pub strange: u64,
    /// Frames without a mark.
    pub unmarked: u64,
    /// The longest time between two looks at the port while it was not asked to wait.
    pub longest_absence_ns: u64,
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
pub fn sink<P: Port, T: Timeline>(
    port: &mut P,
    time: &T,
    own_clock: SkewedClock,
    plan: &SinkPlan<'_>,
    stop: &AtomicBool,
) -> Result<Sunk, Error> {
    let mut sunk = Sunk::nothing(plan);
    let mut known = Known::default();
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
        sunk.longest_absence_ns = sunk.longest_absence_ns.max(before_ns - left_ns);
        let mut arrived_ns = None;
        let is_collecting = plan.attention == Attention::Collecting
            && last_ns.is_some_and(|ns| before_ns < ns + QUIET_NS);
        let wait = if is_collecting { Wait::No } else { plan.attention.wait() };
        let received = port.receive(wait, |arrival| {
            let now_ns = *arrived_ns.get_or_insert_with(|| {
                if let SendersClock::Ongoing(ongoing) = plan.senders_clock {
                    ongoing.refresh(&mut known);
                }
                time.now_ns()
            });
            sunk.take(arrival, arrival.stamped_ns.unwrap_or(now_ns), own_clock, plan, &known);
        });
        let taken = match received {
            Err(Error::Closed) => break,
            received => received?,
        };
        frames += taken as u64;
        left_ns = arrived_ns.unwrap_or_else(|| time.now_ns());
        last_ns = arrived_ns.or(last_ns);
        if is_collecting && taken < port.batch() {
            time.sleep_until(left_ns + COLLECTING_NS);
            left_ns = time.now_ns();
        }
    }
    Ok(sunk)
}

impl Sunk {
    fn nothing(plan: &SinkPlan<'_>) -> Self {
        let length_ps =
            plan.measured_ns.end.saturating_sub(plan.measured_ns.start).saturating_mul(PS_PER_NS);
        let stream = StreamCounts {
            sequence: Sequence::new(0, plan.memory),
            frames: 0,
            payload_octets: 0,
            first_ns: None,
            last_ns: None,
            delay: Histogram::default(),
            before_sent: 0,
            unrelated: 0,
            spacing: Histogram::default(),
            batches: Batches::new(0, length_ps, plan.batches),
            speech: SpeechCounts::default(),
        };
        let streams = vec![stream; usize::from(plan.streams)];
        Self { streams, strange: 0, unmarked: 0, longest_absence_ns: 0 }
    }

    #[inline]
    fn take(
        &mut self,
        arrival: &Arrival<'_>,
        arrived_ns: u64,
        own_clock: SkewedClock,
        plan: &SinkPlan<'_>,
        known: &Known,
    ) {
        let Ok(mark) = Mark::read(arrival.payload) else {
            self.unmarked += 1;
            return;
        };
        let speech =
            if mark.kind == Kind::Voice { Speech::read(arrival.payload).ok() } else { None };
        let is_ours =
            mark.experiment == plan.experiment && (mark.kind == Kind::Stream || speech.is_some());
        let index = mark.stream.checked_sub(plan.first_stream).map(usize::from);
        let Some(stream) = index.and_then(|index| self.streams.get_mut(index)).filter(|_| is_ours)
        else {
            self.strange += 1;
            return;
        };
        let arrived = stream.sequence.arrive(mark.sequence);
        let is_new = matches!(arrived, Arrived::InOrder | Arrived::Reordered);
        if !is_new {
            return;
        }
        // A time of the sender's by our clock.
        let own_ns = |reading_ns: u64| match plan.senders_clock {
            SendersClock::Equal => Some(reading_ns),
            SendersClock::Related(clock) => Some(clock.own_ns(reading_ns)),
            SendersClock::Ongoing(_) => known.relation().map(|clock| clock.own_ns(reading_ns)),
        };
        let arrived = own_clock.reading_at(arrived_ns);
        if plan.measured_ns.contains(&arrived_ns) {
            let since_ps = (arrived_ns - plan.measured_ns.start).saturating_mul(PS_PER_NS);
            stream.measure(
                arrival.payload.len(),
                arrived_ns,
                since_ps,
                own_ns(mark.sent_ns).map(|sent| between_ns(sent, arrived)),
            );
        }
        if let Some(speech) = speech {
            stream.speech.take(speech, own_ns(speech.made_ns), arrived);
        }
    }
}

impl SpeechCounts {
    #[inline]
    fn take(&mut self, speech: Speech, made: Option<u64>, arrived: u64) {
        let measured = u64::from(speech.measured);
        self.packets += 1;
        self.samples += u64::from(speech.samples);
        self.measured += measured;
        self.measured_packets += u64::from(speech.is_oldest_measured);
        // Nothing comes before it was made but by what is known of the clocks; then the delays of
        // packets tell.
        if let Some(delay_ns) = made.and_then(|made| u64::try_from(between_ns(made, arrived)).ok())
        {
            self.voice_delay
                .record_many(delay_ns * PS_PER_NS, u64::from(speech.is_oldest_measured));
            self.sample_delay.record_many(delay_ns * PS_PER_NS, measured);
        }
    }
}

impl StreamCounts {
    #[inline]
    fn measure(
        &mut self,
        payload_octets: usize,
        arrived_ns: u64,
        since_ps: u64,
        delay_ns: Option<i64>,
    ) {
        // Parts are of what 64 bits hold of picoseconds, which is 213 days.
        let mut beyond = StreamBatch::default();
        let batch = self.batches.at(since_ps).unwrap_or(&mut beyond);
        self.frames += 1;
        self.payload_octets += payload_octets as u64;
        batch.frames += 1;
        batch.payload_octets += payload_octets as u64;
        if let Some(last_ns) = self.last_ns {
            // Stamps of different processors may be out of order by a little.
            self.spacing.record(arrived_ns.saturating_sub(last_ns) * PS_PER_NS);
            batch.spacings += 1;
            batch.spacing_ns += arrived_ns.cast_signed() - last_ns.cast_signed();
        }
        match delay_ns.map(u64::try_from) {
            Some(Ok(delay_ns)) => {
                self.delay.record(delay_ns * PS_PER_NS);
                batch.delays += 1;
                batch.delay_ns = batch.delay_ns.saturating_add(delay_ns);
            }
            Some(Err(_)) => self.before_sent += 1,
            None => self.unrelated += 1,
        }
        self.first_ns.get_or_insert(arrived_ns);
        self.last_ns = Some(arrived_ns);
    }

    /// Octets of payload delivered once, per second, from the first to the last measured arrival;
    /// `None` if there were not two.
    ///
    /// The first frame's octets came in the time before it, so they do not count.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a rate
    pub fn goodput_bps(&self) -> Option<f64> {
        let over_ns = self.last_ns?.checked_sub(self.first_ns?).filter(|&ns| ns > 0)?;
        let octets = self.payload_octets as f64 * (1.0 - 1.0 / self.frames as f64);
        Some(octets * 8.0 * 1e9 / over_ns as f64)
    }
}
