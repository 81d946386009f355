//! Admission: which of the calls that come to groups of stations at random begin, by a rule.
//!
//! ```text
//! calls ── Poisson ──► rule: fewer than `most` exist? ── yes ──► the station without a call for longest
//!                                                     └─ no ───► refused
//! ```
//!
//! A server knows how many calls exist. Without one, a host listens for `listen_ps` before it begins,
//! and counts those of which it hears something (Gonsalves 1982, section 4.4). It hears what their
//! sources make, whatever the medium does with it, so that calls are known before a medium runs and
//! are the same in every implementation. Calls of all groups count alike, of voice and of data.

use crate::arrivals::{ArrivalTimes, Arrivals};
use crate::calls::{Call, StationCalls, Upcoming};
use crate::coder::Coder;
use crate::random::{Purpose, Stream};
use crate::source::SourceSpec;
use crate::times::Times;
use crate::window::Window;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Shortest mean time between two calls, so that a trial has at most ten million.
pub const SHORTEST_BETWEEN_PS: u64 = 1_000_000_000; // 1 ms
/// Calls that may exist at once: each has a station.
pub const MOST_CALLS: u32 = 1024;

/// The calls of a group of stations, which are silent between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// Mean time from a call of the group to the next, exponential, from 1 ms.
    #[cfg_attr(feature = "schema", schemars(extend("x-key" = "every", "x-unit" = "time", "minimum" = SHORTEST_BETWEEN_PS, "maximum" = crate::times::LONGEST_PS)))]
    pub every_ps: u64,
    /// How long a call lasts.
    pub duration: Times,
    /// Calls of all groups of the segment, from which on a call of this one is refused; if absent,
    /// only a call that finds no station free is refused.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1, "maximum" = MOST_CALLS)))]
    pub most: Option<u32>,
    /// How long a host listens before it begins a call, to count those of which it hears something;
    /// with `most`. If absent, a server knows how many calls exist.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("x-key" = "listen", "x-unit" = "time", "minimum" = 1, "maximum" = crate::times::LONGEST_PS)))]
    pub listen_ps: Option<u64>,
}

/// A group of stations with calls.
#[derive(Clone, Debug)]
pub struct Callers {
    /// Its calls.
    pub calls: Calls,
    /// Number of its first station.
    pub first: u32,
    /// What each of its stations offers in a call.
    pub sources: Vec<SourceSpec>,
}

/// What a listening host may hear of a station: the source of the station, as far as it has come.
struct Heard {
    made: Made,
    /// When it made the last that was passed over.
    last_ps: Option<u64>,
}

enum Made {
    Samples(Coder),
    Messages(ArrivalTimes),
}

impl Heard {
    fn new(spec: &SourceSpec, chance: Stream) -> Self {
        let none = Upcoming::default();
        let made = match spec.voice() {
            Some(voice) => Made::Samples(Coder::in_calls(&voice, chance, none)),
            None => Made::Messages(ArrivalTimes::in_calls(&spec.arrivals, chance, none)),
        };
        Self { made, last_ps: None }
    }

    /// Pass over what it makes before `from_ps`. When it makes the next.
    fn next_from(&mut self, from_ps: u64) -> u64 {
        match &mut self.made {
            Made::Samples(coder) => {
                self.last_ps = coder.pass(from_ps).or(self.last_ps);
                coder.next_ps
            }
            Made::Messages(times) => {
                while times.peek_ps() < from_ps {
                    self.last_ps = Some(times.take_ps());
                }
                times.peek_ps()
            }
        }
    }

    /// Whether it makes something from the one time to before the other.
    fn is_within(&mut self, from_ps: u64, until_ps: u64) -> bool {
        self.next_from(from_ps) < until_ps || self.last_ps.is_some_and(|last_ps| last_ps >= from_ps)
    }

    /// It has another call, after all that it made in those before.
    fn begin(&mut self, call: Call) {
        self.next_from(call.from_ps);
        match &mut self.made {
            Made::Samples(coder) => coder.begin(call),
            Made::Messages(times) => times.begin(call),
        }
    }
}

/// The stations of a group, while calls are drawn.
struct Line {
    /// Those without a call, the one without for longest first.
    idle: VecDeque<u32>,
    /// Ends of calls, each with its station.
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    chance: Stream,
    /// When the next call is decided.
    next_ps: u64,
    /// What listening hosts hear; empty if none listens.
    heard: Vec<Heard>,
    found: Vec<(Vec<Call>, u64, u64)>,
}

/// The calls of each station, group by group, by the draws of `seed`.
///
/// A call is counted in the window when it is decided. It comes to the station that has been without
/// one for longest; if all have one, it is refused, and counted at the first of the group. What ends
/// in the instant of a decision has ended.
#[must_use]
pub fn drawn(groups: &[Callers], seed: u64, window: Window) -> Vec<Vec<StationCalls>> {
    let somebody_listens = groups.iter().any(|group| group.calls.listen_ps.is_some());
    let mut lines: Vec<Line> =
        groups.iter().map(|group| Line::new(group, seed, window, somebody_listens)).collect();
    while let Some(number) = (0..lines.len()).min_by_key(|&number| lines[number].next_ps) {
        let now_ps = lines[number].next_ps;
        if now_ps >= window.stop_ps {
            break;
        }
        for line in &mut lines {
            line.end_before(now_ps);
        }
        let calls = &groups[number].calls;
        let existing: usize = match calls.listen_ps {
            None => lines.iter().map(|line| line.ends.len()).sum(),
            Some(ps) => {
                let since_ps = now_ps.saturating_sub(ps);
                lines.iter_mut().map(|line| line.heard_within(since_ps, now_ps)).sum()
            }
        };
        let is_admitted = calls.most.is_none_or(|most| existing < most as usize);
        lines[number].decide(&groups[number], now_ps, is_admitted, window);
    }
    lines.into_iter().map(Line::finish).collect()
}

impl Line {
    fn new(group: &Callers, seed: u64, window: Window, somebody_listens: bool) -> Self {
        let numbers = group.first..;
        let heard = numbers
            .zip(&group.sources)
            .map(|(station, spec)| Heard::new(spec, Stream::new(seed, station, Purpose::Arrival)));
        let mut line = Self {
            idle: (0u32..).zip(&group.sources).map(|(index, _)| index).collect(),
            ends: BinaryHeap::with_capacity(group.sources.len()),
            chance: Stream::new(seed, group.first, Purpose::Call),
            next_ps: window.begin_ps + group.calls.listen_ps.unwrap_or(0),
            heard: if somebody_listens { heard.collect() } else { Vec::new() },
            found: vec![(Vec::new(), 0, 0); group.sources.len()],
        };
        line.draw_next(&group.calls);
        line
    }

    #[allow(clippy::cast_precision_loss)] // below 2^53
    fn draw_next(&mut self, calls: &Calls) {
        self.next_ps += self.chance.exponential_ps(calls.every_ps as f64);
    }

    /// Stations whose call has ended by `now_ps` have none.
    fn end_before(&mut self, now_ps: u64) {
        while let Some(&Reverse((_, station))) =
            self.ends.peek().filter(|Reverse((until_ps, _))| *until_ps <= now_ps)
        {
            self.ends.pop();
            self.idle.push_back(station);
        }
    }

    /// How many stations make something from the one time to before the other.
    fn heard_within(&mut self, from_ps: u64, until_ps: u64) -> usize {
        self.heard.iter_mut().map(|of| usize::from(of.is_within(from_ps, until_ps))).sum()
    }

    /// A call comes, and is admitted or not. Its duration is drawn in either case, so that a rule
    /// does not change the calls that come.
    fn decide(&mut self, group: &Callers, now_ps: u64, is_admitted: bool, window: Window) {
        let until_ps = now_ps + group.calls.duration.draw(&mut self.chance);
        let station = self.idle.front().copied();
        let is_refused = !is_admitted || station.is_none();
        let (calls, offered, refused) = &mut self.found[station.unwrap_or(0) as usize];
        if (window.measure_from_ps..window.measure_to_ps).contains(&now_ps) {
            *offered += 1;
            *refused += u64::from(is_refused);
        }
        if let (Some(station), false) = (station, is_refused) {
            let call = Call { from_ps: now_ps, until_ps: until_ps.min(window.stop_ps) };
            calls.push(call);
            self.idle.pop_front();
            self.ends.push(Reverse((call.until_ps, station)));
            if let Some(heard) = self.heard.get_mut(station as usize) {
                heard.begin(call);
            }
        }
        self.draw_next(&group.calls);
    }

    fn finish(self) -> Vec<StationCalls> {
        let of = |(calls, offered, refused): (Vec<Call>, u64, u64)| StationCalls {
            calls: calls.into(),
            offered,
            refused,
        };
        self.found.into_iter().map(of).collect()
    }
}

impl Calls {
    /// Whether sources of this kind can be active in calls only.
    #[must_use]
    pub fn suit(arrivals: &Arrivals) -> bool {
        matches!(
            arrivals,
            Arrivals::Coder { .. }
                | Arrivals::Regular { .. }
                | Arrivals::Poisson { .. }
                | Arrivals::OnOff { .. }
        )
    }
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss)]
mod tests {
    use super::*;
    use crate::coder::Spurts;
    use crate::lengths::Lengths;

    const S: u64 = 1_000_000_000_000;
    const SAMPLE_PS: u64 = S / 4000;

    fn spec(arrivals: Arrivals) -> SourceSpec {
        let frames = match arrivals {
            Arrivals::Coder { .. } => Lengths::Samples {
                overhead_bits: 0,
                min_bits: 512,
                max_bits: 8192,
                buffers: None,
                discard_after_ps: None,
            },
            _ => Lengths::Fixed { bits: 512 },
        };
        let (service, generator) = (Times::default(), None);
        SourceSpec { frames, arrivals, generator, queue_frames: None, service, shaping: None }
    }

    fn coder(spurts: Option<Spurts>) -> Arrivals {
        Arrivals::Coder { sample_bits: 16, sample_ps: SAMPLE_PS, spurts }
    }

    fn calls(every_ps: u64, duration: Times, most: Option<u32>) -> Calls {
        Calls { every_ps, duration, most, listen_ps: None }
    }

    fn exponential(mean_ps: f64) -> Times {
        Times::Exponential { offset_ps: 0, mean_ps }
    }

    /// From 100 s on, when as many calls exist as in the long run.
    fn window(length_s: u64) -> Window {
        let stop_ps = (100 + length_s) * S;
        Window { begin_ps: 0, stop_ps, measure_from_ps: 100 * S, measure_to_ps: stop_ps }
    }

    fn group(calls: Calls, stations: usize, arrivals: &Arrivals) -> Callers {
        Callers { calls, first: 0, sources: vec![spec(arrivals.clone()); stations] }
    }

    /// Offered, refused, and time in calls [s] of all stations.
    fn together(stations: &[StationCalls], window: Window) -> [f64; 3] {
        let sum = |of: &dyn Fn(&StationCalls) -> u64| stations.iter().map(of).sum::<u64>() as f64;
        [sum(&|of| of.offered), sum(&|of| of.refused), sum(&|of| of.call_ps(window)) / S as f64]
    }

    /// Erlang's B formula, by its recursion.
    fn erlang_b(offered: f64, circuits: u32) -> f64 {
        (1..=circuits).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b))
    }

    /// Mean over seeds, and its standard error.
    fn over_seeds(count: u64, of: impl Fn(u64) -> f64) -> (f64, f64) {
        let found: Vec<f64> = (0..count).map(of).collect();
        let n = found.len() as f64;
        let mean = found.iter().sum::<f64>() / n;
        let variance = found.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    }

    #[test]
    fn refused_calls_are_those_of_erlang_whatever_the_distribution_of_their_durations() {
        // 8 erlangs for 10 circuits, as many as stations or as the rule admits.
        let bent = Times::Measured { values_ps: vec![S / 2, 25 * S / 2], weights: vec![7.0, 1.0] };
        for duration in [
            exponential(2e12),
            Times::Constant { ps: 2 * S },
            Times::Uniform { low_ps: 0, high_ps: 4 * S },
            bent,
        ] {
            assert!((duration.mean_ps() - 2e12).abs() < 1.0, "one mean for all");
            for (stations, most) in [(10, None), (16, Some(10))] {
                let of = group(calls(S / 4, duration.clone(), most), stations, &coder(None));
                let window = window(1000);
                let refused = |seed| {
                    let [offered, refused, _] =
                        together(&drawn(std::slice::from_ref(&of), seed, window)[0], window);
                    refused / offered
                };
                let (share, error) = over_seeds(40, refused);
                let expected = erlang_b(8.0, 10);
                assert!((share - expected).abs() < 4.0 * error, "{share} {error} {expected}");
            }
        }
    }

    #[test]
    fn calls_in_progress_are_those_admitted_in_a_second_times_their_duration() {
        let of = group(calls(S / 4, exponential(2e12), Some(7)), 12, &coder(None));
        let window = window(1000);
        let difference = |seed| {
            let [offered, refused, call_s] =
                together(&drawn(std::slice::from_ref(&of), seed, window)[0], window);
            call_s / 1000.0 - (offered - refused) / 1000.0 * 2.0
        };
        let (mean, error) = over_seeds(40, difference);
        assert!(mean.abs() < 4.0 * error, "{mean} {error}");
    }

    /// Of all times at which a call begins, the largest number of calls that exist then, it included.
    fn most_at_once(stations: &[StationCalls]) -> usize {
        let all: Vec<Call> = stations.iter().flat_map(|of| of.calls.iter().copied()).collect();
        let exist = |at: u64| all.iter().filter(|c| c.from_ps <= at && at < c.until_ps).count();
        all.iter().map(|call| exist(call.from_ps)).max().unwrap_or(0)
    }

    #[test]
    fn no_more_calls_exist_than_a_server_admits_and_a_station_has_one_at_a_time() {
        let window = window(400);
        let voice = group(calls(S / 4, exponential(2e12), Some(7)), 12, &coder(None));
        let data = Callers {
            calls: calls(S, exponential(2e12), Some(5)),
            first: 12,
            sources: vec![spec(Arrivals::Poisson { mean_ps: 1e10 }); 12],
        };
        for seed in 0..5 {
            let found = drawn(&[voice.clone(), data.clone()], seed, window);
            assert_eq!(most_at_once(&found.concat()), 7, "that many are offered");
            let refused = |of: &[StationCalls]| {
                let [offered, refused, _] = together(of, window);
                refused / offered
            };
            assert!(refused(&found[1]) > refused(&found[0]), "data is refused from 5 calls on");
            for station in found.iter().flatten() {
                assert!(station.calls.windows(2).all(|two| two[0].until_ps <= two[1].from_ps));
                assert!(station.calls.iter().all(|call| call.until_ps <= window.stop_ps));
                let inside = |call: &&Call| call.from_ps >= window.measure_from_ps;
                let begun = station.calls.iter().filter(inside).count() as u64;
                assert_eq!(station.offered - station.refused, begun);
            }
        }
    }

    #[test]
    fn a_rule_does_not_change_the_calls_that_come() {
        let window = window(400);
        let offered = |most, listen_ps| {
            let of = Calls { listen_ps, ..calls(S / 4, exponential(2e12), most) };
            together(&drawn(&[group(of, 12, &coder(None))], 3, window)[0], window)[0]
        };
        assert!((offered(None, None) - offered(Some(3), None)).abs() < 0.5, "as many");
        // By the time of listening later, of which a few more or fewer lie in the window.
        assert!((offered(None, None) - offered(Some(3), Some(S))).abs() < 20.0);
    }

    #[test]
    fn hosts_that_listen_count_all_who_talk_and_miss_who_is_silent() {
        let (listen_ps, most) = (S, 7);
        let of =
            Calls { listen_ps: Some(listen_ps), ..calls(S / 4, exponential(2e12), Some(most)) };
        let found = drawn(&[group(of, 24, &coder(None))], 5, window(400)).concat();
        let all: Vec<Call> = found.iter().flat_map(|of| of.calls.iter().copied()).collect();
        for call in &all {
            // Heard for sure is a call that has made its first sample before this one is decided,
            // and one while the host listened.
            let heard = all.iter().filter(|other| {
                other.from_ps + SAMPLE_PS <= call.from_ps
                    && other.until_ps > (call.from_ps + SAMPLE_PS).saturating_sub(listen_ps)
                    && other.until_ps > other.from_ps + SAMPLE_PS
            });
            assert!(heard.count() < most as usize);
        }
        assert!(most_at_once(&found) <= 7, "a call is heard from its first sample on");
        // Silent talkers are not heard.
        let spurts = Some(Spurts { talk_mean_ps: 1.2e12, silence_mean_ps: 1.8e12 });
        let of = Calls { listen_ps: Some(S / 2), ..calls(S / 4, exponential(2e12), Some(most)) };
        let found = drawn(&[group(of, 24, &coder(spurts))], 5, window(400)).concat();
        assert!(most_at_once(&found) > 7);
    }

    #[test]
    fn a_listening_host_hears_what_sources_make_in_their_calls() {
        // What is heard is what the source of the station offers, message by message.
        let of = Calls { listen_ps: Some(S / 10), ..calls(S / 2, exponential(1e12), Some(64)) };
        for arrivals in [
            coder(Some(Spurts { talk_mean_ps: 2e11, silence_mean_ps: 3e11 })),
            Arrivals::Poisson { mean_ps: 5e10 },
            Arrivals::OnOff { period_ps: S / 50, on_mean_ps: 1e11, off_mean_ps: 2e11 },
        ] {
            let window = window(50);
            let found = drawn(&[group(of.clone(), 3, &arrivals)], 9, window);
            let calls = &found[0][1].calls;
            assert!(calls.len() > 20);
            let chance = || Stream::new(9, 1, Purpose::Arrival);
            let mut one_by_one = Heard::new(&spec(arrivals.clone()), chance());
            let mut heard = Vec::new();
            for &call in calls.iter() {
                one_by_one.begin(call);
                let mut at_ps = one_by_one.next_from(call.from_ps);
                while at_ps < call.until_ps {
                    heard.push(at_ps);
                    at_ps = one_by_one.next_from(at_ps + 1);
                }
            }
            let upcoming = Upcoming::new(calls);
            let mut source = match spec(arrivals.clone()).voice() {
                Some(voice) => Made::Samples(Coder::in_calls(&voice, chance(), upcoming)),
                None => Made::Messages(ArrivalTimes::in_calls(&arrivals, chance(), upcoming)),
            };
            let mut made = Vec::new();
            while made.len() < heard.len() {
                made.push(match &mut source {
                    Made::Samples(coder) => {
                        let at_ps = coder.next_ps;
                        coder.make(1);
                        at_ps
                    }
                    Made::Messages(times) => times.take_ps(),
                });
            }
            assert_eq!(made, heard);
            let is_inside = |&at: &u64| calls.iter().any(|c| (c.from_ps..c.until_ps).contains(&at));
            assert!(made.len() > 100 && made.iter().all(is_inside));
        }
    }
}
