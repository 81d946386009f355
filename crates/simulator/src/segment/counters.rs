//! What is counted, from attempts in the order of their starts.
//!
//! All sums are of integers, so they do not depend on the order in which stations are processed.

use super::compiled::CompiledSegment;
use super::group::Group;
use super::station::{Station, Supplied};
use crate::identity::StationId;
use crate::mac::transmitter::{Attempt, Ending};
use crate::medium::compiled::CompiledMedium;
use crate::time::{Instant, Span};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::calls::StationCalls;
use ethermeter_traffic::coder::{Samples, VoiceSpec};
use ethermeter_traffic::histogram::Histogram;
use ethermeter_trial::counts::{
    CallCounts, MediumCounts, StationBatches, StationCounts, StationGenerator, StationVoice,
};
use ethermeter_trial::{Counts, Phases};

const S: f64 = 1e-12; // seconds in a picosecond
const MOST_ATTEMPTS: usize = 1024; // more share the last entry

#[derive(Clone, Debug, Default)]
struct StationSums {
    frames: u64,
    bits: u64,
    collisions: u64,
    late: u64,
    discarded: u64,
    resumed: u64,
    damaged: u64,
    access_sum: Span,
    response_sum: Span,
    waiting: Span,
}

/// Frames of a station that come after their deadline.
#[derive(Clone, Debug)]
struct Overdue {
    /// The longest response time that is in time.
    longest: Span,
    frames: u64,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    charged: Span,
    delay_sum: Span,
    delay_square_sum: u128,
    frames: u32,
}

/// What is counted of voice besides.
#[derive(Clone, Debug)]
struct VoiceCounters {
    /// Sums of delays over frames and over samples, by station.
    sums: Vec<VoiceSums>,
    voice_delay: Histogram,
    sample_delay: Histogram,
}

#[derive(Clone, Debug, Default)]
struct VoiceSums {
    frames: u64,
    delay_sum: u128,
    samples: u64,
    sample_delay_sum: u128,
}

impl VoiceCounters {
    fn record(&mut self, attempt: &Attempt) {
        let delay = (attempt.end - attempt.arrived).ps();
        let samples = u64::from(attempt.samples);
        let sums = &mut self.sums[attempt.station];
        sums.frames += 1;
        sums.delay_sum += u128::from(delay);
        sums.samples += samples;
        sums.sample_delay_sum += u128::from(delay) * u128::from(samples);
        self.voice_delay.record(delay);
        self.sample_delay.record_many(delay, samples);
    }

    fn finish(&self, supplied: &[Supplied]) -> StationVoice {
        let counts = |pick: fn(Samples) -> u64| {
            supplied.iter().map(|of| pick(of.samples.unwrap_or_default())).collect()
        };
        StationVoice {
            samples: counts(|s| s.made),
            samples_delivered: counts(|s| s.delivered),
            samples_lost: counts(|s| s.lost),
            samples_buffered: counts(|s| s.buffered),
            voice_frames: self.sums.iter().map(|s| s.frames).collect(),
            voice_delay_ps: self.sums.iter().map(|s| s.delay_sum).collect(),
            samples_sent: self.sums.iter().map(|s| s.samples).collect(),
            sample_delay_ps: self.sums.iter().map(|s| s.sample_delay_sum).collect(),
            voice_delay: self.voice_delay.filled(),
            sample_delay: self.sample_delay.filled(),
        }
    }
}

/// What counts attempts. They come in the order of their starts.
pub(crate) trait Record {
    /// Count an attempt.
    fn record(&mut self, attempt: &Attempt);

    /// Count an attempt that is not of voice.
    fn record_frame(&mut self, attempt: &Attempt);

    /// Count the attempts of a collision.
    fn record_collision(&mut self, attempts: &[Attempt]);
}

impl Record for Counters {
    #[inline]
    fn record(&mut self, attempt: &Attempt) {
        Self::record(self, attempt);
    }

    #[inline]
    fn record_frame(&mut self, attempt: &Attempt) {
        Self::record_frame(self, attempt);
    }

    #[inline]
    fn record_collision(&mut self, attempts: &[Attempt]) {
        Self::record_collision(self, attempts);
    }
}

/// Running sums of a trial.
pub struct Counters {
    from: Instant,
    to: Instant,
    gap: Span,
    preamble: Span,
    stations: usize,
    sums: Vec<StationSums>,
    /// By station; empty if none has a deadline.
    overdue: Vec<Overdue>,
    cells: Vec<Cell>,
    batch: usize,
    batch_from: Instant,
    batch_ends: Vec<Instant>,
    transmission_delay: Histogram,
    access_delay: Histogram,
    response_time: Option<Histogram>,
    voice: Option<Box<VoiceCounters>>,
    attempts_per_frame: Vec<u64>,
    covered: Instant,
    owed_gap_until: Instant,
    time_frame: Span,
    time_preamble: Span,
    time_gap: Span,
    time_collision: Span,
    colliders: Vec<u64>,
    group_end: Instant,
    group_size: usize,
    events: u64,
    trace: Option<Vec<Attempt>>,
}

impl Counters {
    /// Nothing counted yet. `tracing` keeps every attempt.
    #[must_use]
    pub fn new(compiled: &CompiledSegment, tracing: bool) -> Self {
        let is_queued =
            |g: &Group| g.flow.arrivals != Arrivals::Saturated {} && !g.stations.points.is_empty();
        let stations = compiled.stations();
        let has_voice = StationId::first(stations).any(|station| compiled.is_voice(station));
        let mut counters = Self::on(&compiled.medium, &compiled.phases, compiled.batches)
            .with_queues(compiled.groups.iter().any(is_queued));
        let deadline = |station| compiled.group(station).flow.deadline_ps;
        if StationId::first(stations).any(|station| deadline(station).is_some()) {
            let longest = |station| deadline(station).map_or(Span::ENDLESS, Span::from_ps);
            counters.overdue = StationId::first(stations)
                .map(|station| Overdue { longest: longest(station), frames: 0 })
                .collect();
        }
        Self {
            voice: has_voice.then(|| {
                Box::new(VoiceCounters {
                    sums: vec![VoiceSums::default(); stations],
                    voice_delay: Histogram::default(),
                    sample_delay: Histogram::default(),
                })
            }),
            trace: tracing.then(Vec::new),
            ..counters
        }
    }

    /// Nothing counted yet of any stations on a medium, frames of which wait for no response and
    /// hold no voice.
    #[must_use]
    pub(crate) fn on(medium: &CompiledMedium, phases: &Phases, batches: usize) -> Self {
        let stations = medium.stations();
        let from = Instant::from_ps(phases.measure_from_ps);
        let to = Instant::from_ps(phases.measure_to_ps);
        let part = |k| from + (to - from).fraction(k, batches);
        Self {
            from,
            to,
            gap: medium.gap,
            preamble: medium.preamble,
            stations,
            sums: vec![StationSums::default(); stations],
            overdue: Vec::new(),
            cells: vec![Cell::default(); stations * batches],
            batch: 0,
            batch_from: from,
            batch_ends: (1..=batches).map(part).collect(),
            transmission_delay: Histogram::default(),
            access_delay: Histogram::default(),
            response_time: None,
            voice: None,
            attempts_per_frame: vec![0; MOST_ATTEMPTS],
            covered: Instant::ZERO,
            owed_gap_until: Instant::ZERO,
            time_frame: Span::ZERO,
            time_preamble: Span::ZERO,
            time_gap: Span::ZERO,
            time_collision: Span::ZERO,
            colliders: vec![0; stations + 1],
            group_end: Instant::ZERO,
            group_size: 0,
            events: 0,
            trace: None,
        }
    }

    /// The same with the times from the arrival of frames, if these may wait in queues.
    #[must_use]
    pub(crate) fn with_queues(self, has_queues: bool) -> Self {
        Self { response_time: has_queues.then(Histogram::default), ..self }
    }

    /// A time, moved to the nearest edge of the window. `INSIDE` promises that it lies within.
    #[inline]
    fn clip<const INSIDE: bool>(&self, time: Instant) -> Instant {
        if INSIDE { time } else { time.clamp(self.from, self.to) }
    }

    /// Count an attempt. Attempts come in the order of their starts.
    pub fn record(&mut self, attempt: &Attempt) {
        self.record_frame(attempt);
        let counts = attempt.samples > 0 && self.from <= attempt.end && attempt.end < self.to;
        if let Some(voice) = self.voice.as_mut().filter(|_| counts) {
            voice.record(attempt);
        }
    }

    /// Count an attempt that is not of voice. The same as [`Counters::record`], but sooner done.
    #[inline]
    pub fn record_frame(&mut self, attempt: &Attempt) {
        self.events += 1;
        if let Some(trace) = &mut self.trace {
            trace.push(*attempt);
        }
        let delivered = attempt.ending == Ending::Delivered;
        if attempt.start >= self.to && attempt.taken_up >= self.to {
            return; // after the window, as is all that follows
        }
        if attempt.end + self.gap.max(Span::PICOSECOND) <= self.from {
            // Before the window in every respect but what it leaves owed. (What ends with its first
            // instant, without a gap, is within.)
            if attempt.end > self.covered {
                self.covered = attempt.end;
                self.owed_gap_until = attempt.end + self.gap;
            }
            return;
        }
        let inside =
            self.from <= self.covered.min(attempt.taken_up) && attempt.end + self.gap < self.to;
        match (inside, delivered) {
            (true, true) => self.deliver::<true>(attempt),
            (true, false) => self.fail::<true>(attempt),
            (false, true) => self.deliver::<false>(attempt),
            (false, false) => self.fail::<false>(attempt),
        }
    }

    /// Count an attempt that did not reach the line: its MAC got a collision signal.
    pub fn record_logical(&mut self, attempt: &Attempt) {
        self.events += 1;
        self.count_failure::<false>(attempt);
    }

    /// Count the attempts of a collision, in the order of their starts. The same as to record them
    /// one by one, but sooner done.
    #[inline]
    pub fn record_collision(&mut self, attempts: &[Attempt]) {
        let (Some(first), Some(last)) = (attempts.first(), attempts.last()) else { return };
        // They cover one interval: channel time and the group of colliders follow from its two ends.
        let mut end = first.end;
        let mut whole = true;
        let mut taken_up = first.taken_up;
        for attempt in attempts {
            whole &= attempt.start < end;
            end = end.max(attempt.end);
            taken_up = taken_up.min(attempt.taken_up);
        }
        let inside = self.from <= self.covered.min(taken_up) && end + self.gap < self.to;
        if !whole || !inside || last.start >= self.to || self.trace.is_some() {
            for attempt in attempts {
                self.record(attempt);
            }
            return;
        }
        self.events += attempts.len() as u64;
        self.occupy::<true, false>(&Attempt { end, ..*first });
        self.join_group(first.start, end, attempts.len());
        for attempt in attempts {
            self.count_failure::<true>(attempt);
        }
    }

    /// Channel time: a moment belongs to the transmission that began first among those under way.
    #[inline]
    fn occupy<const INSIDE: bool, const DELIVERED: bool>(&mut self, attempt: &Attempt) {
        let (start, end) = (attempt.start, attempt.end);
        if start > self.covered {
            let gap_end = self.owed_gap_until.min(start);
            self.time_gap += self.clip::<INSIDE>(gap_end) - self.clip::<INSIDE>(self.covered);
        }
        let from = start.max(self.covered);
        if end > from {
            let busy = self.clip::<INSIDE>(end) - self.clip::<INSIDE>(from);
            if DELIVERED {
                let preamble_end = (start + self.preamble).clamp(from, end);
                let preamble = self.clip::<INSIDE>(preamble_end) - self.clip::<INSIDE>(from);
                self.time_preamble += preamble;
                self.time_frame += busy - preamble;
            } else {
                self.time_collision += busy;
            }
            self.covered = end;
            self.owed_gap_until = end + self.gap;
        }
    }

    #[inline]
    fn batch_of(&mut self, end: Instant) -> usize {
        if self.batch_from <= end && end < self.batch_ends[self.batch] {
            return self.batch;
        }
        // Ends come nearly in order; step to the batch in which this one lies.
        while self.batch + 1 < self.batch_ends.len() && end >= self.batch_ends[self.batch] {
            self.batch_from = self.batch_ends[self.batch];
            self.batch += 1;
        }
        let mut batch = self.batch;
        while batch > 0 && end < self.batch_ends[batch - 1] {
            batch -= 1;
        }
        batch
    }

    #[inline]
    fn deliver<const INSIDE: bool>(&mut self, attempt: &Attempt) {
        self.occupy::<INSIDE, true>(attempt);
        let batch = self.batch_of(attempt.end);
        let station = attempt.station.index();
        let charged =
            self.clip::<INSIDE>(attempt.end + self.gap) - self.clip::<INSIDE>(attempt.start);
        let waiting = self.clip::<INSIDE>(attempt.end) - self.clip::<INSIDE>(attempt.taken_up);
        let cell = &mut self.cells[batch * self.stations + station];
        let counters = &mut self.sums[station];
        cell.charged += charged;
        counters.waiting += waiting;
        if !INSIDE && (attempt.end < self.from || attempt.end >= self.to) {
            return;
        }
        let delay = attempt.end - attempt.taken_up;
        let access = attempt.start - attempt.taken_up;
        let response = attempt.end - attempt.arrived;
        cell.frames += 1;
        cell.delay_sum += delay;
        cell.delay_square_sum += u128::from(delay.ps()) * u128::from(delay.ps());
        counters.frames += 1;
        counters.bits += attempt.length.0;
        counters.damaged += u64::from(attempt.damaged);
        counters.access_sum += access;
        counters.response_sum += response;
        if let Some(overdue) = self.overdue.get_mut(station) {
            overdue.frames += u64::from(response > overdue.longest);
        }
        self.transmission_delay.record(delay.ps());
        self.access_delay.record(access.ps());
        if let Some(histogram) = &mut self.response_time {
            histogram.record(response.ps());
        }
        self.attempts_per_frame[(attempt.attempts as usize).min(MOST_ATTEMPTS) - 1] += 1;
    }

    #[inline]
    fn fail<const INSIDE: bool>(&mut self, attempt: &Attempt) {
        self.occupy::<INSIDE, false>(attempt);
        self.count_failure::<INSIDE>(attempt);
        if INSIDE || self.from <= attempt.end && attempt.end < self.to {
            self.join_group(attempt.start, attempt.end, 1);
        }
    }

    #[inline]
    fn count_failure<const INSIDE: bool>(&mut self, attempt: &Attempt) {
        if attempt.ending == Ending::Discarded {
            let waiting = self.clip::<INSIDE>(attempt.end) - self.clip::<INSIDE>(attempt.taken_up);
            self.sums[attempt.station].waiting += waiting;
        }
        if !INSIDE && (attempt.end < self.from || attempt.end >= self.to) {
            return;
        }
        let counters = &mut self.sums[attempt.station];
        counters.collisions += 1;
        if attempt.late || attempt.ending != Ending::Collided {
            counters.late += u64::from(attempt.late);
            counters.discarded += u64::from(attempt.ending == Ending::Discarded);
            counters.resumed += u64::from(attempt.ending == Ending::Resumed);
        }
    }

    /// `size` attempts from `start` to `end`, without a pause, collide: with those before them if
    /// these are not over.
    #[inline]
    fn join_group(&mut self, start: Instant, end: Instant, size: usize) {
        if start < self.group_end {
            self.group_size += size;
            self.group_end = self.group_end.max(end);
        } else {
            self.close_group();
            self.group_size = size;
            self.group_end = end;
        }
    }

    fn close_group(&mut self) {
        if self.group_size > 0 {
            let last = self.colliders.len() - 1;
            self.colliders[(self.group_size.max(2) - 2).min(last)] += 1;
        }
    }

    /// The figures, once nothing more happens.
    #[must_use]
    pub fn finish(
        self,
        compiled: &CompiledSegment,
        stations: &mut [Station],
    ) -> (Counts, Vec<Attempt>) {
        let since = |(index, station): (StationId, &Station)| {
            station.holding_since().map(|since| (index, since))
        };
        let held: Vec<(StationId, Instant)> =
            StationId::first(stations.len()).zip(&*stations).filter_map(since).collect();
        let supplied: Vec<Supplied> = stations.iter_mut().map(Station::finish).collect();
        self.close(compiled, &held, &supplied)
    }

    /// The figures, once nothing more happens. `held` are the frames that are still there, each
    /// with its station and the time when it was taken up; `supplied` is by station.
    #[must_use]
    pub fn close(
        mut self,
        compiled: &CompiledSegment,
        held: &[(StationId, Instant)],
        supplied: &[Supplied],
    ) -> (Counts, Vec<Attempt>) {
        let window_ps = (self.to - self.from).ps();
        let (voice, trace) = (self.voice.take(), self.trace.take());
        let (events, end) = (self.events, Instant::from_ps(compiled.phases.end_ps));
        let (medium, mut stations) = self.of_medium(end, held);
        (stations.offered, stations.dropped) =
            supplied.iter().map(|of| (of.offered, of.dropped)).unzip();
        stations.offered_load = StationId::first(supplied.len())
            .map(|i| offered_load(compiled, i, &supplied[i]))
            .collect();
        stations.voice = voice.map(|voice| voice.finish(supplied));
        stations.calls = (!compiled.calls.is_empty()).then(|| call_counts(compiled));
        stations.generator = of_generators(supplied);
        let cautions = cautions(compiled, &stations).into_iter().map(Into::into).collect();
        let media = vec![medium];
        let counts = Counts { window_ps, events, media, stations, cautions, ..Counts::default() };
        (counts, trace.unwrap_or_default())
    }

    /// The figures of the medium and of its stations, without what these were offered. `held` are
    /// the frames that are still there at `end`, each with its station and the time when it was
    /// taken up.
    pub(crate) fn of_medium(
        mut self,
        end: Instant,
        held: &[(StationId, Instant)],
    ) -> (MediumCounts, StationCounts) {
        self.close_group();
        self.time_gap += self.clip::<false>(self.owed_gap_until) - self.clip::<false>(self.covered);
        for &(station, since) in held {
            self.sums[station].waiting +=
                end.max(since).clamp(self.from, self.to) - since.clamp(self.from, self.to);
        }
        let idle = self.to
            - self.from
            - self.time_frame
            - self.time_preamble
            - self.time_gap
            - self.time_collision;
        let time = [self.time_frame, self.time_preamble, self.time_gap, self.time_collision, idle];
        let medium = MediumCounts {
            time_ps: time.map(Span::ps),
            attempts_per_frame: without_tail(&self.attempts_per_frame),
            colliders: without_tail(&self.colliders),
            transmission_delay: self.transmission_delay.filled(),
            access_delay: self.access_delay.filled(),
            response_time: self.response_time.as_ref().map(Histogram::filled),
            plca: None,
        };
        (medium, self.station_counts())
    }

    fn station_counts(&self) -> StationCounts {
        let counts =
            |pick: fn(&StationSums) -> u64| self.sums.iter().map(pick).collect::<Vec<u64>>();
        let time = |pick: fn(&StationSums) -> Span| {
            self.sums.iter().map(|c| pick(c).ps()).collect::<Vec<u64>>()
        };
        let cells = |index| self.cells.iter().skip(index).step_by(self.stations);
        let sums = |pick: fn(&Cell) -> Span| {
            let sum = |index| cells(index).map(pick).sum::<Span>().ps();
            (0..self.stations).map(sum).collect::<Vec<u64>>()
        };
        let squares = |index| cells(index).map(|cell| cell.delay_square_sum).sum();
        StationCounts {
            frames: counts(|c| c.frames),
            bits: counts(|c| c.bits),
            charged_ps: sums(|cell| cell.charged),
            collisions: counts(|c| c.collisions),
            late_collisions: counts(|c| c.late),
            discarded: counts(|c| c.discarded),
            resumed: counts(|c| c.resumed),
            damaged: counts(|c| c.damaged),
            overdue: self.overdue.iter().map(|of| of.frames).collect(),
            delay_ps: sums(|cell| cell.delay_sum),
            delay_ps2: (0..self.stations).map(squares).collect(),
            access_ps: time(|c| c.access_sum),
            response_ps: time(|c| c.response_sum),
            waiting_ps: time(|c| c.waiting),
            batches: StationBatches {
                frames: self.cells.iter().map(|c| c.frames).collect(),
                charged_ps: self.cells.iter().map(|c| c.charged.ps()).collect(),
                delay_ps: self.cells.iter().map(|c| c.delay_sum.ps()).collect(),
                delay_ps2: self.cells.iter().map(|c| c.delay_square_sum).collect(),
            },
            ..StationCounts::default()
        }
    }
}

fn of_generators(supplied: &[Supplied]) -> Option<StationGenerator> {
    supplied.iter().any(|of| of.generator.is_some()).then(|| {
        let times = |of: &Supplied| of.generator.unwrap_or_default();
        StationGenerator {
            output_ps: supplied.iter().map(|of| times(of).output_ps).collect(),
            transmitted_ps: supplied.iter().map(|of| times(of).transmitted_ps).collect(),
            filling_ps: supplied.iter().map(|of| times(of).filling_ps).collect(),
        }
    })
}

fn without_tail(counts: &[u64]) -> Vec<u64> {
    let used = counts.iter().rposition(|&c| c > 0).map_or(0, |last| last + 1);
    counts[..used].to_vec()
}

fn call_counts(compiled: &CompiledSegment) -> CallCounts {
    let window = compiled.window(compiled.phases.begin_ps);
    let counts = |pick: &dyn Fn(&StationCalls) -> u64| {
        compiled.calls.iter().map(|of| of.as_ref().map_or(0, pick)).collect()
    };
    CallCounts {
        offered: counts(&|of| of.offered),
        refused: counts(&|of| of.refused),
        call_ps: counts(&|of| of.call_ps(window)),
    }
}

/// The share of line rate that a station would use alone, at most 1; in the share of time in which
/// it has a call, if it has some.
#[allow(clippy::cast_precision_loss)]
fn offered_load(compiled: &CompiledSegment, station: StationId, supplied: &Supplied) -> f64 {
    let window = compiled.window(compiled.phases.begin_ps);
    let share = compiled.calls_of(station).map_or(1.0, |calls| {
        calls.call_ps(window) as f64 / (window.measure_to_ps - window.measure_from_ps) as f64
    });
    share * active_load(compiled, station, supplied)
}

/// The same of a station that is always active.
#[allow(clippy::cast_precision_loss)]
fn active_load(compiled: &CompiledSegment, station: StationId, supplied: &Supplied) -> f64 {
    let group = compiled.group(station);
    let flow = &group.flow;
    if let Some(voice) = flow.voice() {
        return voice_load(compiled, group, &voice);
    }
    if let Some(bits) = supplied.custom_bits {
        return custom_load(compiled, group, supplied.offered as f64, bits);
    }
    let packet = compiled.preamble.to_f64() + flow.frames.mean_bits() * compiled.bit.to_f64();
    let charged = packet + compiled.gap.to_f64();
    // Its own frames too it lets pass before it waits.
    let shortest_cycle = charged + group.stations.priority_wait_ps as f64;
    if let Some(rate) = flow.arrivals.rate_per_s() {
        return (rate * charged * S).min(charged / shortest_cycle);
    }
    let generation = flow.generator.as_ref().map_or(0.0, |g| g.time.mean_ps());
    charged / shortest_cycle.max(packet + flow.service.mean_ps()).max(generation)
}

/// The same of a source of the caller's own: of what it offered within the measured window.
#[allow(clippy::cast_precision_loss)]
fn custom_load(compiled: &CompiledSegment, group: &Group, frames: f64, bits: f64) -> f64 {
    let window = (compiled.phases.measure_to_ps - compiled.phases.measure_from_ps) as f64;
    let around = (compiled.preamble + compiled.gap).to_f64();
    let charged = frames * around + bits * compiled.bit.to_f64();
    let wait = frames * group.stations.priority_wait_ps as f64;
    let most = if charged > 0.0 { charged / (charged + wait) } else { 0.0 };
    (charged / window).min(most)
}

/// The same of voice. Alone, its frames are of the length P with P = min + (start + preamble + P) ·
/// rate, as far as there is room; it starts after its service, or when a priority wait after the
/// frame before is over, if that is later. Packets of one length do not grow, and wait for each
/// other.
#[allow(clippy::cast_precision_loss)]
fn voice_load(compiled: &CompiledSegment, group: &Group, voice: &VoiceSpec) -> f64 {
    let rate = voice.sample_bits as f64 / voice.sample_ps as f64; // bits per ps
    let gathering =
        voice.min_bits.saturating_sub(voice.overhead_bits).max(voice.sample_bits) as f64 / rate;
    let share = voice.spurts.map_or(1.0, |spurts| spurts.share());
    if voice.fixed.is_some() {
        // The next packet fills meanwhile.
        let sent = compiled.preamble.to_f64() + voice.min_bits as f64 * compiled.bit.to_f64();
        return share * ((sent + compiled.gap.to_f64()) / gathering).min(1.0);
    }
    let wait = group.stations.priority_wait_ps;
    let owed = if wait > 0 { compiled.gap.to_f64() + wait as f64 } else { 0.0 };
    let start = group.flow.service.mean_ps().max(owed - gathering);
    let before = start + compiled.preamble.to_f64();
    let grown = (voice.min_bits as f64 + rate * before) / (1.0 - rate * compiled.bit.to_f64());
    let sent =
        compiled.preamble.to_f64() + grown.min(voice.max_bits as f64) * compiled.bit.to_f64();
    share * ((sent + compiled.gap.to_f64()) / (gathering + start + sent)).min(1.0)
}

fn cautions(compiled: &CompiledSegment, stations: &StationCounts) -> Vec<&'static str> {
    let mut cautions: Vec<_> = medium_cautions(&compiled.medium, stations).collect();
    let endless = |g: &Group| {
        let flow = &g.flow;
        flow.queue_frames.is_none() && flow.arrivals != Arrivals::Saturated {} && !g.is_voice()
    };
    let load: f64 = stations.offered_load.iter().sum();
    if compiled.groups.iter().any(|g| endless(g) && !g.stations.points.is_empty()) && load > 1.0 {
        cautions.push("unbounded-queue");
    }
    cautions
}

/// Cautions that hold for every value of a medium and of its stations.
pub(crate) fn medium_cautions(
    medium: &CompiledMedium,
    stations: &StationCounts,
) -> impl Iterator<Item = &'static str> {
    let any = |counts: &[u64]| counts.iter().any(|&c| c > 0);
    let found = [
        ("beyond-round-trip", medium.max_delay * 2 > medium.slot),
        ("late-collision", any(&stations.late_collisions)),
        ("damaged-frames", any(&stations.damaged)),
    ];
    found.into_iter().filter(|&(_, holds)| holds).map(|(caution, _)| caution)
}
