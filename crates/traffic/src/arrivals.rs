//! When a source that does not wait for the medium offers frames.

use crate::calls::{Call, Upcoming};
use crate::coder::Spurts;
use crate::custom::PythonFunction;
use crate::random::Stream;
use crate::times::LONGEST_PS;
use crate::token_bucket::bucket_fault;
use crate::trace::{LONGEST_TRACE_PS, MOST_MESSAGES, Replay, Trace};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Arrivals of frames at a station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// There is always a next frame.
    Saturated {},
    /// One frame every period.
    Regular {
        /// Time from one frame to the next.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "regular", "x-unit" = "time", "minimum" = 1, "maximum" = LONGEST_PS)))]
        period_ps: u64,
        /// Time from the start of the source to its first frame, below `regular`; "random" draws it
        /// uniformly from the period, by seed and source.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "phase", "x-unit" = "time or random")))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase_ps: Option<u64>,
        /// Largest deviation of each time between two frames, uniform; below `regular`.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "jitter", "x-unit" = "time or 0")))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        jitter_ps: Option<u64>,
    },
    /// A Poisson process.
    Poisson {
        /// Mean number of frames of each station, or messages of each flow, a second.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "poisson", "x-unit" = "frequency")))]
        mean_ps: f64,
    },
    /// Regular frames while on; on and off times are exponential.
    OnOff {
        /// Time from one frame to the next while the source is on.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "period", "x-unit" = "time", "minimum" = 1, "maximum" = LONGEST_PS)))]
        period_ps: u64,
        /// Mean on time, exponential.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "on", "x-unit" = "time", "minimum" = 1, "maximum" = LONGEST_PS)))]
        on_mean_ps: f64,
        /// Mean off time, exponential.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "off", "x-unit" = "time", "minimum" = 1, "maximum" = LONGEST_PS)))]
        off_mean_ps: f64,
    },
    /// A coder's samples, one every `sample_ps` from a random phase on; they gather in the frame
    /// that is sent next ([`crate::voice`]).
    Coder {
        /// Bits of a sample.
        sample_bits: u64,
        /// Time between samples.
        sample_ps: u64,
        /// Talk and silence in turn; continuous talk if `None`.
        spurts: Option<Spurts>,
    },
    /// There is always a next message; it is released as soon as a token bucket, full at the begin,
    /// has its volume: octets on the wire with preambles and gaps.
    TokenBucket {
        /// Rate at which the bucket fills.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "rate", "x-unit" = "rate", "minimum" = 1, "maximum" = 1_000_000_000_000_u64)))]
        rate_bps: u64,
        /// Capacity of the bucket; at least the longest message.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "burst", "x-unit" = "size", "minimum" = 1, "maximum" = 1_u64 << 32)))]
        burst_octets: u64,
        /// Time from the start of the source to its first message.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "phase", "x-unit" = "time or 0")))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase_ps: Option<u64>,
    },
    /// What a generator in Python yields, in the process that has registered it.
    Python {
        /// The generator.
        function: Box<PythonFunction>,
    },
    /// Recorded messages, replayed (crates/traffic/src/trace.rs).
    ///
    /// If the trace has lengths, the flow's are all of them in rising order, and each message has its
    /// own.
    Trace {
        /// SHA-256 of the trace's text, in hexadecimal.
        sha256: String,
        /// Messages in it, 2 to 10⁶.
        messages: u64,
        /// Time after which the trace comes again, no shorter than from its first message to its
        /// last; the source ends with the last message if `None`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_ps: Option<u64>,
        /// Time in the trace at which the source begins; drawn uniformly if `None`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset_ps: Option<u64>,
        /// How many times faster it is replayed, 0.001 to 1000.
        #[serde(default = "as_recorded")]
        speed: f64,
        /// Mean time between messages, at this speed.
        mean_ps: f64,
        /// Squared coefficient of variation of the times between messages.
        scv: f64,
        /// Bounds on the messages in any time.
        envelope: Vec<Envelope>,
        /// The trace itself, where it is replayed.
        #[serde(skip)]
        trace: Option<Arc<Trace>>,
    },
}

/// At most `burst` + `rate_per_s` · t messages come in any time t.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Messages per second.
    pub rate_per_s: f64,
    /// Messages at once.
    pub burst: f64,
}

fn as_recorded() -> f64 {
    1.0
}

impl Arrivals {
    /// Its fault, if any. Only who runs a generator in Python may pass over that of one.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let period = |ps: u64| (1..=1_000_000_000_000_000).contains(&ps);
        let mean = |ps: f64| (1.0..=1e15).contains(&ps);
        if let Self::Coder { sample_bits, sample_ps, spurts } = self {
            return coder_fault(*sample_bits, *sample_ps, *spurts);
        }
        if let Self::TokenBucket { rate_bps, burst_octets, phase_ps } = self {
            if let Some(what) = bucket_fault(*rate_bps, *burst_octets) {
                return Some(what);
            }
            let phase_ps = phase_ps.unwrap_or(0);
            return (phase_ps > LONGEST_PS)
                .then(|| format!("phase_ps must be at most {LONGEST_PS}, got {phase_ps}"));
        }
        if let Self::Python { function } = self {
            let name = &function.name;
            return Some(format!("must not be a generator in Python here, got {name}"));
        }
        if let Self::Trace { .. } = self {
            return self.trace_fault();
        }
        let fine = match self {
            Self::Saturated {}
            | Self::Coder { .. }
            | Self::TokenBucket { .. }
            | Self::Python { .. }
            | Self::Trace { .. } => true,
            Self::Regular { period_ps, phase_ps, jitter_ps } => {
                for (key, given) in [("phase_ps", phase_ps), ("jitter_ps", jitter_ps)] {
                    if let Some(ps) = given.filter(|ps| ps >= period_ps) {
                        return Some(format!(
                            "{key} must be below period_ps, {period_ps}, got {ps}"
                        ));
                    }
                }
                period(*period_ps)
            }
            Self::Poisson { mean_ps } => mean(*mean_ps),
            Self::OnOff { period_ps, on_mean_ps, off_mean_ps } => {
                period(*period_ps) && mean(*on_mean_ps) && mean(*off_mean_ps)
            }
        };
        (!fine).then(|| format!("times must be from 1 ps to 1000 s, got {self:?}"))
    }

    /// Mean frames per second, or `None` if the medium or the lengths of messages determine them, or
    /// nothing does: for a saturated source, a coder, a token bucket and a generator in Python.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn rate_per_s(&self) -> Option<f64> {
        match self {
            Self::Saturated {}
            | Self::Coder { .. }
            | Self::TokenBucket { .. }
            | Self::Python { .. } => None,
            Self::Regular { period_ps, .. } => Some(1e12 / *period_ps as f64),
            Self::Poisson { mean_ps } | Self::Trace { mean_ps, .. } => Some(1e12 / mean_ps),
            Self::OnOff { period_ps, on_mean_ps, off_mean_ps } => {
                // An on time of mean A gives one frame at its start and one more each period that
                // it lasts: 1/(1 - e^(-P/A)).
                let frames = 1.0 / -libm::expm1(-(*period_ps as f64) / on_mean_ps);
                Some(1e12 * frames / (on_mean_ps + off_mean_ps))
            }
        }
    }

    /// Least mean time between the events that a source works through one by one: messages while
    /// they come, and changes between on and off. `None` if these are as many as are sent, or a
    /// million at most.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn least_mean_ps(&self) -> Option<f64> {
        match self {
            Self::Saturated {} | Self::TokenBucket { .. } | Self::Python { .. } => None,
            Self::Regular { period_ps, .. } => Some(*period_ps as f64),
            Self::Poisson { mean_ps } => Some(*mean_ps),
            Self::OnOff { period_ps, on_mean_ps, off_mean_ps } => {
                Some((*period_ps as f64).min(on_mean_ps + off_mean_ps))
            }
            Self::Coder { sample_ps, .. } => Some(*sample_ps as f64),
            Self::Trace { messages, repeat_ps, speed, .. } => {
                repeat_ps.map(|ps| ps as f64 / *messages as f64 / speed)
            }
        }
    }

    /// The fault of a trace's parameters, if any; its messages are checked when it is read.
    fn trace_fault(&self) -> Option<String> {
        let Self::Trace {
            sha256,
            messages,
            repeat_ps,
            offset_ps,
            speed,
            mean_ps,
            scv,
            envelope,
            ..
        } = self
        else {
            return None;
        };
        let is_digest = sha256.len() == 64
            && sha256.bytes().all(|octet| matches!(octet, b'0'..=b'9' | b'a'..=b'f'));
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let wrong = if !is_digest {
            format!("sha256 must be 64 hexadecimal digits, got {sha256:?}")
        } else if !(2..=MOST_MESSAGES as u64).contains(messages) {
            format!("messages must be from 2 to {MOST_MESSAGES}, got {messages}")
        } else if let Some(ps) = repeat_ps.filter(|ps| !(1..=LONGEST_TRACE_PS).contains(ps)) {
            format!("repeat_ps must be from 1 to {LONGEST_TRACE_PS}, got {ps}")
        } else if let Some(ps) = offset_ps.filter(|ps| *ps > LONGEST_TRACE_PS) {
            format!("offset_ps must be at most {LONGEST_TRACE_PS}, got {ps}")
        } else if !(0.001..=1000.0).contains(speed) {
            format!("speed must be from 0.001 to 1000, got {speed}")
        } else if !(positive(*mean_ps) && *scv >= 0.0 && scv.is_finite()) {
            format!("mean_ps must be above 0, and scv at least 0, got {mean_ps} and {scv}")
        } else if let Some(wrong) =
            envelope.iter().find(|each| !positive(each.rate_per_s) || !positive(each.burst))
        {
            format!("envelope must have rates and bursts above 0, got {wrong:?}")
        } else {
            return None;
        };
        Some(wrong)
    }

    /// Give it the trace that it replays.
    ///
    /// # Errors
    /// If the trace has other messages than it should, ends before it is repeated, or has lengths that
    /// are not the flow's `lengths` different ones.
    pub fn give(&mut self, given: &Arc<Trace>, lengths: usize) -> Result<(), String> {
        let Self::Trace { messages, repeat_ps, trace, .. } = self else { return Ok(()) };
        if given.messages() as u64 != *messages {
            return Err(format!("trace must have {messages} messages, got {}", given.messages()));
        }
        if let Some(ps) = repeat_ps.filter(|ps| *ps < given.span_ps()) {
            return Err(format!("repeat_ps must be at least {}, got {ps}", given.span_ps()));
        }
        let known = given.lengths();
        if known > 0 && known != lengths {
            return Err(format!("trace must have the {lengths} lengths of its flow, got {known}"));
        }
        *trace = Some(given.clone());
        Ok(())
    }

    /// Digest of a trace that it replays and has not been given; `None` if nothing is missing.
    #[must_use]
    pub fn missing_trace(&self) -> Option<&str> {
        match self {
            Self::Trace { sha256, trace: None, .. } => Some(sha256),
            _ => None,
        }
    }
}

fn coder_fault(sample_bits: u64, sample_ps: u64, spurts: Option<Spurts>) -> Option<String> {
    const MOST_BITS: u64 = 4096;
    const LONGEST_SAMPLE_PS: u64 = 1_000_000_000_000; // 1 s
    if !(1..=MOST_BITS).contains(&sample_bits) {
        return Some(format!("sample_bits must be from 1 to {MOST_BITS}, got {sample_bits}"));
    }
    if !(1..=LONGEST_SAMPLE_PS).contains(&sample_ps) {
        return Some(format!("sample_ps must be from 1 ps to 1 s, got {sample_ps}"));
    }
    let spurts = spurts?;
    // Shorter spurts would be skipped by the thousand between one sample and the next.
    #[allow(clippy::cast_precision_loss)] // below 2^53
    let fine = (sample_ps as f64..=1e15).contains(&spurts.talk_mean_ps)
        && (sample_ps as f64..=1e15).contains(&spurts.silence_mean_ps);
    (!fine).then(|| {
        format!("spurts must have means from sample_ps, {sample_ps}, to 1000 s, got {spurts:?}")
    })
}

/// The arrivals of one station, in order.
#[derive(Clone, Debug)]
pub struct ArrivalTimes {
    arrivals: Arrivals,
    chance: Stream,
    next_ps: u64,
    on_until_ps: u64,
    replay: Option<Box<Replay>>,
    /// Index of the length of the message that was taken last, if a trace says it.
    kind: Option<u16>,
    /// When the call ends in which they come.
    call_until_ps: u64,
    calls: Upcoming,
}

impl ArrivalTimes {
    /// Arrivals from `begin_ps` on. Not for a saturated source, a coder or a generator in Python.
    ///
    /// # Panics
    /// If they replay a trace that they have not been given ([`Arrivals::give`]).
    #[must_use]
    pub fn new(arrivals: &Arrivals, begin_ps: u64, chance: Stream) -> Self {
        let mut times = Self::idle(arrivals, chance, Upcoming::default());
        times.begin(Call { from_ps: begin_ps, until_ps: u64::MAX });
        times
    }

    /// Arrivals in calls only, from the begin of each on as from that of a source.
    pub(crate) fn in_calls(arrivals: &Arrivals, chance: Stream, calls: Upcoming) -> Self {
        let mut times = Self::idle(arrivals, chance, calls);
        times.follow_calls();
        times
    }

    /// Arrivals without a call.
    fn idle(arrivals: &Arrivals, chance: Stream, calls: Upcoming) -> Self {
        Self {
            arrivals: arrivals.clone(),
            chance,
            next_ps: u64::MAX,
            on_until_ps: 0,
            replay: None,
            kind: None,
            call_until_ps: 0,
            calls,
        }
    }

    /// Arrivals in this call.
    pub(crate) fn begin(&mut self, call: Call) {
        (self.next_ps, self.call_until_ps) = (call.from_ps, call.until_ps);
        self.draw_first(call.from_ps);
        self.follow_calls();
    }

    /// While the next arrival would come after the end of its call, take the first one of the next
    /// call.
    #[inline]
    fn follow_calls(&mut self) {
        while self.next_ps >= self.call_until_ps {
            let Some(call) = self.calls.take() else {
                (self.next_ps, self.call_until_ps) = (u64::MAX, u64::MAX);
                return;
            };
            (self.next_ps, self.call_until_ps) = (call.from_ps, call.until_ps);
            self.draw_first(call.from_ps);
        }
    }

    /// Draw the first arrival of a source that begins at `begin_ps`.
    #[allow(clippy::cast_precision_loss)]
    fn draw_first(&mut self, begin_ps: u64) {
        match &self.arrivals {
            Arrivals::Saturated {}
            | Arrivals::Coder { .. }
            | Arrivals::TokenBucket { .. }
            | Arrivals::Python { .. } => {
                self.next_ps = u64::MAX;
            }
            Arrivals::Regular { period_ps, phase_ps, .. } => {
                self.next_ps += phase_ps.unwrap_or_else(|| self.chance.below(*period_ps));
            }
            Arrivals::Poisson { mean_ps } => self.next_ps += self.chance.exponential_ps(*mean_ps),
            Arrivals::OnOff { on_mean_ps, off_mean_ps, .. } => {
                // Begin on or off with the probabilities of the long run.
                if self.chance.unit() * (on_mean_ps + off_mean_ps) > *on_mean_ps {
                    self.next_ps += self.chance.exponential_ps(*off_mean_ps);
                }
                self.on_until_ps = self.next_ps + self.chance.exponential_ps(*on_mean_ps);
            }
            Arrivals::Trace { trace, repeat_ps, offset_ps, speed, .. } => {
                let trace = trace.as_ref().expect("a trace is given before it is replayed");
                let how = (*repeat_ps, *offset_ps, *speed);
                let replay = Replay::new(trace, how, begin_ps, &mut self.chance);
                self.next_ps = replay.next_ps();
                self.replay = Some(Box::new(replay));
            }
        }
    }

    /// The next arrival, without taking it.
    #[inline]
    #[must_use]
    pub fn peek_ps(&self) -> u64 {
        self.next_ps
    }

    /// Take the next arrival.
    ///
    /// # Panics
    /// Never: arrivals of a trace have been given it by [`ArrivalTimes::new`].
    #[inline]
    pub fn take_ps(&mut self) -> u64 {
        let taken = self.next_ps;
        match &self.arrivals {
            Arrivals::Saturated {}
            | Arrivals::Coder { .. }
            | Arrivals::TokenBucket { .. }
            | Arrivals::Python { .. } => {}
            Arrivals::Regular { period_ps, jitter_ps: None, .. } => self.next_ps += period_ps,
            Arrivals::Regular { period_ps, jitter_ps: Some(jitter_ps), .. } => {
                self.next_ps += period_ps - jitter_ps + self.chance.below(2 * jitter_ps + 1);
            }
            Arrivals::Poisson { mean_ps } => self.next_ps += self.chance.exponential_ps(*mean_ps),
            Arrivals::OnOff { period_ps, on_mean_ps, off_mean_ps } => {
                self.next_ps += period_ps;
                if self.next_ps >= self.on_until_ps {
                    // Off from the end of the on time; never before what was just taken.
                    let off = self.chance.exponential_ps(*off_mean_ps);
                    self.next_ps = (self.on_until_ps + off).max(taken + 1);
                    self.on_until_ps = self.next_ps + self.chance.exponential_ps(*on_mean_ps);
                }
            }
            Arrivals::Trace { .. } => {
                let replay = self.replay.as_mut().expect("of a trace");
                self.kind = replay.take();
                self.next_ps = replay.next_ps();
            }
        }
        self.follow_calls();
        taken
    }

    /// Which of the lengths of its flow the message has that was taken last; `None` if that is drawn.
    #[inline]
    #[must_use]
    pub fn taken_kind(&self) -> Option<u16> {
        self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn count(arrivals: &Arrivals, until_ps: u64) -> (f64, f64) {
        let mut times = ArrivalTimes::new(arrivals, 0, Stream::new(5, 0, Purpose::Arrival));
        let mut n = 0.0;
        while times.peek_ps() < until_ps {
            times.take_ps();
            n += 1.0;
        }
        #[allow(clippy::cast_precision_loss)]
        let expected = arrivals.rate_per_s().expect("not saturated") * until_ps as f64 / 1e12;
        (n, expected)
    }

    #[test]
    fn poisson_counts_vary_as_their_root() {
        let (n, expected) = count(&Arrivals::Poisson { mean_ps: 1e8 }, 10_000_000_000_000);
        assert!((n - expected).abs() < 5.0 * expected.sqrt(), "{n} {expected}");
    }

    #[test]
    fn regular_counts_are_exact_to_one() {
        let (n, expected) = count(
            &Arrivals::Regular { period_ps: 333_000_000, phase_ps: None, jitter_ps: None },
            10_000_000_000_000,
        );
        assert!((n - expected).abs() <= 1.0, "{n} {expected}");
    }

    #[test]
    fn a_regular_source_with_a_phase_sends_first_after_exactly_that_and_one_without_within_a_period()
     {
        let first = |phase_ps, station| {
            let arrivals = Arrivals::Regular { period_ps: 1_000_000, phase_ps, jitter_ps: None };
            let mut times =
                ArrivalTimes::new(&arrivals, 7, Stream::new(5, station, Purpose::Arrival));
            (times.take_ps(), times.take_ps())
        };
        for station in 0..20 {
            assert_eq!(first(Some(0), station), (7, 1_000_007));
            assert_eq!(first(Some(999_999), station), (1_000_006, 2_000_006));
            let (one, two) = first(None, station);
            assert!((7..1_000_007).contains(&one) && two == one + 1_000_000, "{one} {two}");
        }
        assert_ne!(first(None, 1), first(None, 2));
    }

    #[test]
    fn a_phase_is_below_the_period() {
        assert_eq!(
            Arrivals::Regular { period_ps: 1000, phase_ps: Some(999), jitter_ps: None }.fault(),
            None
        );
        let fault =
            Arrivals::Regular { period_ps: 1000, phase_ps: Some(1000), jitter_ps: None }.fault();
        assert_eq!(fault.as_deref(), Some("phase_ps must be below period_ps, 1000, got 1000"));
    }

    #[test]
    fn times_between_frames_with_jitter_are_uniform_about_the_period() {
        let arrivals =
            Arrivals::Regular { period_ps: 1000, phase_ps: Some(0), jitter_ps: Some(100) };
        let mut times = ArrivalTimes::new(&arrivals, 0, Stream::new(5, 0, Purpose::Arrival));
        let mut before = times.take_ps();
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..100_000 {
            let next = times.take_ps();
            assert!((900..=1100).contains(&(next - before)));
            let deviation = f64::from(u32::try_from(next - before).expect("small")) - 1000.0;
            sum += deviation;
            squares += deviation * deviation;
            before = next;
        }
        // (2j + 1)^2 - 1 over 12 is 3366.7; five standard errors of mean and variance.
        assert!((sum / 1e5).abs() < 0.92, "{sum}");
        assert!((squares / 1e5 / 3366.7 - 1.0).abs() < 0.015, "{squares}");
        let fault =
            Arrivals::Regular { period_ps: 10, phase_ps: None, jitter_ps: Some(10) }.fault();
        assert_eq!(fault.as_deref(), Some("jitter_ps must be below period_ps, 10, got 10"));
    }

    #[test]
    fn on_off_counts_have_the_stated_mean() {
        let arrivals =
            Arrivals::OnOff { period_ps: 1_000_000_000, on_mean_ps: 5e9, off_mean_ps: 2e10 };
        let (n, expected) = count(&arrivals, 2_500_000_000_000_000);
        // 100 000 cycles; the count of one has a spread of about its mean, so five standard errors
        // are 1.6%
        assert!((n / expected - 1.0).abs() < 0.02, "{n} {expected}");
    }
}
