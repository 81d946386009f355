//! Traces: recorded messages, replayed by a source.
//!
//! A trace is a text of lines: the header `time_ps` or `time_ps,length_B`, then a message a line,
//! in the order of time. A scenario names a trace by the SHA-256 of this text.
//!
//! ```text
//! trace:   t0 ─ t1 ──── t2 ─ … ─ tn          times from the begin of the recording
//! source:  begin + (ti − offset) / speed     messages before the offset are left out
//! repeated: ti + k · repeat_ps, k = 0, 1, …  else the source ends with tn
//! ```

use crate::random::Stream;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most messages of a trace.
pub const MOST_MESSAGES: usize = 1_000_000;
/// Longest time of a trace, in picoseconds: 9000 s. Such times are exact as `f64`, too.
pub const LONGEST_TRACE_PS: u64 = 9_000_000_000_000_000;
/// Longest message of a trace, in octets.
pub const LONGEST_MESSAGE_OCTETS: u32 = 65_535;

/// Recorded messages: their times and, if known, their lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    times_ps: Box<[u64]>,
    /// Index of the length of each message among all of them, in rising order; empty if lengths are
    /// unknown.
    kinds: Box<[u16]>,
    /// How many different lengths there are.
    lengths: usize,
}

/// Traces by the SHA-256 of their text, in hexadecimal.
pub type Traces = BTreeMap<String, Arc<Trace>>;

impl Trace {
    /// A trace of messages at `times_ps`. `kinds` has the index of the length of each message among
    /// `lengths` ones; it is empty if lengths are unknown.
    ///
    /// # Errors
    /// With the message, counted from 0, if there are fewer than two or too many, times decrease, all
    /// are at the same time, or a value is out of range.
    pub fn new(times_ps: Vec<u64>, kinds: Vec<u16>, lengths: usize) -> Result<Self, String> {
        let messages = times_ps.len();
        if !(2..=MOST_MESSAGES).contains(&messages) {
            return Err(format!("must have from 2 to {MOST_MESSAGES} messages, got {messages}"));
        }
        if let Some(at) = times_ps.windows(2).position(|pair| pair[0] > pair[1]) {
            let (before, time, at) = (times_ps[at], times_ps[at + 1], at + 1);
            return Err(format!(
                "times must not decrease, got {time} after {before} in message {at}"
            ));
        }
        let (first, last) = (times_ps[0], times_ps[messages - 1]);
        if first == last || last > LONGEST_TRACE_PS {
            return Err(format!(
                "must last from 1 to {LONGEST_TRACE_PS} ps, got messages from {first} to {last}"
            ));
        }
        if !kinds.is_empty() && kinds.len() != messages {
            return Err("must have a length of each message, or none".into());
        }
        if let Some(at) = kinds.iter().position(|&kind| usize::from(kind) >= lengths) {
            return Err(format!(
                "lengths must be below {lengths}, got {} in message {at}",
                kinds[at]
            ));
        }
        let lengths = if kinds.is_empty() { 0 } else { lengths };
        Ok(Self { times_ps: times_ps.into(), kinds: kinds.into(), lengths })
    }

    /// A trace of messages at `times_ps` that have these lengths in octets.
    ///
    /// # Errors
    /// As [`Trace::new`].
    ///
    /// # Panics
    /// Never: there are at most as many different lengths as a `u16` counts.
    pub fn with_lengths(times_ps: Vec<u64>, octets: &[u32]) -> Result<Self, String> {
        if let Some(at) = octets.iter().position(|of| !(1..=LONGEST_MESSAGE_OCTETS).contains(of)) {
            let got = octets[at];
            return Err(format!(
                "lengths must be from 1 to {LONGEST_MESSAGE_OCTETS} octets, got {got} in message {at}"
            ));
        }
        let mut known = octets.to_vec();
        known.sort_unstable();
        known.dedup();
        let kind = |of: &u32| known.binary_search(of).ok().and_then(|at| u16::try_from(at).ok());
        let kinds = octets.iter().map(|of| kind(of).expect("one of at most 65535")).collect();
        Self::new(times_ps, kinds, known.len())
    }

    /// Read its text.
    ///
    /// # Errors
    /// With the line, counted from 1, that is none of a trace; else as [`Trace::new`].
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let has_lengths = match lines.next() {
            Some("time_ps") => false,
            Some("time_ps,length_B") => true,
            other => {
                return Err(format!("line 1 must be time_ps or time_ps,length_B, got {other:?}"));
            }
        };
        let (mut times_ps, mut lengths) = (Vec::new(), Vec::new());
        for (number, line) in (2..).zip(lines) {
            let wrong = || {
                format!("line {number} must be a message, got {:?}", line.get(..40).unwrap_or(line))
            };
            if times_ps.len() == MOST_MESSAGES {
                return Err(format!("must have at most {MOST_MESSAGES} messages"));
            }
            let (time, length) = match line.split_once(',') {
                Some((time, length)) if has_lengths => (time, Some(length)),
                None if !has_lengths => (line, None),
                _ => return Err(wrong()),
            };
            times_ps.push(time.parse().map_err(|_| wrong())?);
            if let Some(length) = length {
                lengths.push(length.parse().map_err(|_| wrong())?);
            }
        }
        if has_lengths {
            Self::with_lengths(times_ps, &lengths)
        } else {
            Self::new(times_ps, vec![], 0)
        }
    }

    /// How many messages it has.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.times_ps.len()
    }

    /// Time from its first message to its last.
    #[must_use]
    pub fn span_ps(&self) -> u64 {
        self.times_ps[self.times_ps.len() - 1] - self.times_ps[0]
    }

    /// How many different lengths its messages have; 0 if unknown.
    #[must_use]
    pub fn lengths(&self) -> usize {
        self.lengths
    }
}

/// A trace being replayed.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    trace: Arc<Trace>,
    repeat_ps: Option<u64>,
    speed: f64,
    begin_ps: u64,
    /// What the time of a message in the trace is reduced by; of repetitions, negative.
    offset_ps: i128,
    next: usize,
}

impl Replay {
    /// A trace from `offset_ps` on, or from a drawn time on, by a source that begins at `begin_ps`.
    pub fn new(
        trace: &Arc<Trace>,
        (repeat_ps, offset_ps, speed): (Option<u64>, Option<u64>, f64),
        begin_ps: u64,
        chance: &mut Stream,
    ) -> Self {
        let times = &trace.times_ps;
        let (first, last) = (times[0], times[times.len() - 1]);
        // All times of a repeated trace are equally likely, also those after its last message.
        let drawn = |chance: &mut Stream| match repeat_ps {
            Some(repeat_ps) => first + 1 + chance.below(repeat_ps),
            None => first + chance.below(last - first + 1),
        };
        let offset_ps = offset_ps.unwrap_or_else(|| drawn(chance));
        let next = times.partition_point(|&time| time < offset_ps);
        let offset_ps = i128::from(offset_ps);
        let mut replay = Self { trace: trace.clone(), repeat_ps, speed, begin_ps, offset_ps, next };
        replay.repeat();
        replay
    }

    /// Begin again after the last message, if it is repeated.
    fn repeat(&mut self) {
        if let (Some(repeat_ps), true) = (self.repeat_ps, self.next == self.trace.messages()) {
            self.next = 0;
            self.offset_ps -= i128::from(repeat_ps);
        }
    }

    /// When the next message comes; never if the trace has ended.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // not negative; saturates
    #[allow(clippy::float_cmp)] // exactly as recorded
    pub fn next_ps(&self) -> u64 {
        let Some(&time) = self.trace.times_ps.get(self.next) else { return u64::MAX };
        let since = u64::try_from(i128::from(time) - self.offset_ps).unwrap_or(u64::MAX);
        // Conversions and division are monotone, so times do not decrease.
        let replayed = if self.speed == 1.0 { since } else { (since as f64 / self.speed) as u64 };
        self.begin_ps.saturating_add(replayed)
    }

    /// Go on to the message after the next; the index of the length of the one taken, if known.
    pub fn take(&mut self) -> Option<u16> {
        let kind = self.trace.kinds.get(self.next).copied();
        self.next += 1;
        self.repeat();
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn trace(times_ps: &[u64]) -> Arc<Trace> {
        Arc::new(Trace::new(times_ps.to_vec(), vec![], 0).expect("a trace"))
    }

    fn chance(station: u32) -> Stream {
        Stream::new(3, station, Purpose::Arrival)
    }

    fn replayed(
        times_ps: &[u64],
        how: (Option<u64>, Option<u64>, f64),
        begin_ps: u64,
        count: usize,
    ) -> Vec<u64> {
        let mut replay = Replay::new(&trace(times_ps), how, begin_ps, &mut chance(0));
        (0..count)
            .map(|_| {
                let next = replay.next_ps();
                replay.take();
                next
            })
            .collect()
    }

    #[test]
    fn messages_come_at_the_times_of_the_trace_and_then_no_more() {
        assert_eq!(
            replayed(&[5, 5, 9], (None, Some(0), 1.0), 100, 5),
            [105, 105, 109, u64::MAX, u64::MAX]
        );
    }

    #[test]
    fn an_offset_leaves_out_what_comes_before_it() {
        assert_eq!(replayed(&[5, 7, 9], (None, Some(7), 1.0), 100, 3), [100, 102, u64::MAX]);
        assert_eq!(replayed(&[5, 7, 9], (None, Some(10), 1.0), 100, 1), [u64::MAX]);
    }

    #[test]
    fn a_repeated_trace_comes_again_after_its_period() {
        assert_eq!(
            replayed(&[5, 7, 9], (Some(6), Some(8), 1.0), 100, 6),
            [101, 103, 105, 107, 109, 111]
        );
        assert_eq!(replayed(&[5, 7, 9], (Some(6), Some(10), 1.0), 100, 2), [101, 103]);
    }

    #[test]
    fn twice_the_speed_is_half_the_time() {
        assert_eq!(
            replayed(&[1, 2, 5], (Some(6), Some(0), 2.0), 100, 6),
            [100, 101, 102, 103, 104, 105]
        );
        assert_eq!(replayed(&[0, 3], (None, Some(0), 0.5), 100, 2), [100, 106]);
    }

    #[test]
    fn drawn_offsets_differ_by_station_and_are_uniform_over_the_period() {
        // Of a period of 1000 with messages at 0 and 10, a share of 0.01 of all offsets is before 10.
        let trace = trace(&[0, 10]);
        let first = |station| {
            Replay::new(&trace, (Some(1000), None, 1.0), 0, &mut chance(station)).next_ps()
        };
        let firsts: Vec<u64> = (0..100_000).map(first).collect();
        assert!(firsts.iter().all(|&first| first < 990));
        #[allow(clippy::cast_precision_loss)]
        let mean = firsts.iter().map(|&first| first as f64).sum::<f64>() / 1e5;
        // ½ (10² + 990²) / 1000, less ½ for the grid; five standard errors of a spread of 287.
        assert!((mean - 489.6).abs() < 4.6, "{mean}");
    }

    #[test]
    fn the_text_of_a_trace_is_read_and_its_faults_are_found() {
        let read = Trace::read("time_ps,length_B\n0,64\n5,1518\n5,64\n").expect("a trace");
        assert_eq!(read, Trace::new(vec![0, 5, 5], vec![0, 1, 0], 2).expect("a trace"));
        assert_eq!((read.messages(), read.lengths(), read.span_ps()), (3, 2, 5));
        assert!(Trace::new(vec![0, 5], vec![0, 2], 2).is_err());
        assert!(Trace::new(vec![0, 5], vec![0], 2).is_err());
        for (text, wrong) in [
            ("", "line 1"),
            ("time_s\n1\n2\n", "line 1"),
            ("time_ps\n1\n", "from 2 to 1000000 messages"),
            ("time_ps\n1\n1\n", "last from 1"),
            ("time_ps\n2\n1\n", "not decrease, got 1 after 2 in message 1"),
            ("time_ps\n1\n9000000000000001\n", "last from 1"),
            ("time_ps\n1\n-2\n", "line 3"),
            ("time_ps\n1\n2,64\n", "line 3"),
            ("time_ps,length_B\n1,64\n2\n", "line 3"),
            ("time_ps,length_B\n1,0\n2,1\n", "lengths must be"),
            ("time_ps,length_B\n1,64\n2,65536\n", "lengths must be"),
        ] {
            let fault = Trace::read(text).expect_err(text);
            assert!(fault.contains(wrong), "{text:?}: {fault}");
        }
    }
}
