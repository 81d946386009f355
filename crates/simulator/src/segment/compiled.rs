//! A scenario in picoseconds, checked and ready to run.

use crate::mac::csma_cd::Gap;
use crate::scenario::{Group, Scenario, Trial};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::{SourceSpec, Window};
use ethermeter_trial::fault::check_range;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Backoff};
use ethermeter_trial::{Fault, Phases};

/// A time that never comes. Far beyond every simulated time, and far from overflow.
pub const NEVER: i64 = 1 << 62;

const MOST_STATIONS: usize = 1024;
const LONGEST_END_PS: u64 = 10_000_000_000_000_000; // 10 000 s
pub(crate) const LONGEST_DELAY_PS: u64 = 1_000_000_000_000; // 1 s
const LONGEST_BITS: u64 = 1 << 24;
const MOST_CLOCK_ERROR_PPB: u64 = 10_000_000; // 1%
const LONGEST_PACKET_PS: u64 = 1_000_000_000_000_000; // 1000 s

/// A trial in picoseconds.
///
/// Times are signed, because they are compared in bulk and processors compare signed numbers best.
#[derive(Clone, Debug)]
pub struct CompiledSegment {
    /// Seed of every draw.
    pub seed: u64,
    /// The place of each station. Stations of one place have one priority wait: where a scenario
    /// has several at a place, it is one here for each.
    pub places: Vec<u32>,
    /// How many places there are.
    pub place_count: usize,
    /// Propagation between places, row by row; the diagonal is between two stations of a place.
    pub delays: Vec<i64>,
    /// The largest propagation between any two stations.
    pub max_delay: i64,
    /// Duration of a bit.
    pub bit: i64,
    /// Slot time.
    pub slot: i64,
    /// Inter-frame gap of the segment, without any station's priority wait: what frames are
    /// charged.
    pub gap: i64,
    /// Its first part.
    pub gap_part1: i64,
    /// The silence that is owed at each place.
    pub gaps: Vec<Gap>,
    /// Preamble and delimiter.
    pub preamble: i64,
    /// Jam.
    pub jam: i64,
    /// From a station's decision to start to its first bit; what arrives meanwhile it does not
    /// hear.
    pub turnaround: i64,
    /// When what happens.
    pub phases: Phases,
    /// Equal parts of the measured window.
    pub batches: usize,
    /// The groups of stations.
    pub groups: Vec<Group>,
    /// The group of each station.
    pub group_of: Vec<u32>,
}

impl CompiledSegment {
    /// Check a trial and convert it.
    ///
    /// # Errors
    /// With the key and what was allowed.
    pub fn new(trial: &Trial) -> Result<Self, Fault> {
        // Without a gap and a turnaround time, a station could start in the very instant in which it
        // hears silence and carrier at once.
        let least_gap = u64::from(trial.scenario.segment.turnaround_ps == 0);
        Self::with_least([least_gap, 1], trial.seed, &trial.scenario)
    }

    /// Check and convert the part of an idealised world that it shares with a segment: gap and jam
    /// may be empty.
    pub(crate) fn idealised(seed: u64, scenario: &Scenario) -> Result<Self, Fault> {
        check_range("segment.turnaround_ps", scenario.segment.turnaround_ps, 0, 0)?;
        for (index, group) in scenario.groups.iter().enumerate() {
            if group.priority_wait_ps > 0 {
                let key = format!("groups[{index}].priority_wait_ps");
                return Err(
                    Fault::new(key, "must be 0 in an idealised world").got(group.priority_wait_ps)
                );
            }
        }
        Self::with_least([0, 0], seed, scenario)
    }

    /// `least` are the smallest gap and the smallest jam, in bits.
    fn with_least(least: [u64; 2], seed: u64, scenario: &Scenario) -> Result<Self, Fault> {
        let segment = &scenario.segment;
        check_segment(segment, least)?;
        check_phases(&scenario.phases, scenario.batches)?;
        let place_count = segment.delay_ps.len();
        let mut places = Vec::new();
        let mut group_of = Vec::new();
        for (index, group) in scenario.groups.iter().enumerate() {
            check_group(group, index, place_count)?;
            check_voice(group, index, segment.bit_ps)?;
            let longest =
                (segment.preamble_bits + group.frames.range_bits().1).checked_mul(segment.bit_ps);
            if longest.is_none_or(|ps| ps > LONGEST_PACKET_PS) {
                return Err(Fault::new(
                    format!("groups[{index}].frames"),
                    "a packet must not take longer than 1000 s",
                ));
            }
            places.extend_from_slice(&group.places);
            group_of.extend(std::iter::repeat_n(small(index), group.places.len()));
        }
        if places.is_empty() || places.len() > MOST_STATIONS {
            return Err(Fault::new("groups", format!("must hold 1 to {MOST_STATIONS} stations"))
                .got(places.len()));
        }
        let bits = |count: u64| signed(count * segment.bit_ps);
        let delays: Vec<i64> = segment.delay_ps.iter().flatten().map(|&d| signed(d)).collect();
        check_delays(&delays, place_count, &places)?;
        let station_waits: Vec<i64> = group_of
            .iter()
            .map(|&group| signed(scenario.groups[group as usize].priority_wait_ps))
            .collect();
        let split = SplitPlaces::new(places, place_count, &station_waits);
        let (gap, gap_part1) = (bits(segment.gap_bits), bits(segment.gap_part1_bits));
        let mut compiled = Self {
            seed,
            place_count: split.origins.len(),
            delays: split.delays(&delays, place_count),
            gaps: split.waits.iter().map(|&wait| Gap::new(gap, gap_part1, wait)).collect(),
            places: split.places,
            max_delay: 0,
            bit: signed(segment.bit_ps),
            slot: bits(segment.slot_bits),
            gap,
            gap_part1,
            preamble: bits(segment.preamble_bits),
            jam: bits(segment.jam_bits),
            turnaround: signed(segment.turnaround_ps),
            phases: scenario.phases,
            batches: scenario.batches as usize,
            groups: scenario.groups.clone(),
            group_of,
        };
        compiled.max_delay = compiled.largest_delay();
        Ok(compiled)
    }

    /// How many stations there are.
    #[must_use]
    pub fn stations(&self) -> usize {
        self.places.len()
    }

    /// One-way propagation from a place to another; at the same place, between two of its stations.
    #[inline]
    #[must_use]
    pub fn delay(&self, from_place: u32, to_place: u32) -> i64 {
        self.delays[from_place as usize * self.place_count + to_place as usize]
    }

    /// One-way propagation from a place to every place.
    #[inline]
    #[must_use]
    pub fn delays_from(&self, place: u32) -> &[i64] {
        let first = place as usize * self.place_count;
        &self.delays[first..first + self.place_count]
    }

    /// How long the preamble and a frame of `bits` take.
    #[inline]
    #[must_use]
    pub fn packet_time(&self, bits: u64) -> i64 {
        self.preamble + signed(bits) * self.bit
    }

    /// The group of a station.
    #[must_use]
    pub fn group(&self, station: usize) -> &Group {
        &self.groups[self.group_of[station] as usize]
    }

    /// What a station offers.
    #[must_use]
    pub fn source_spec(&self, station: usize) -> SourceSpec {
        self.group(station).source_spec()
    }

    /// Whether a station sends voice.
    #[must_use]
    pub fn is_voice(&self, station: usize) -> bool {
        self.group(station).is_voice()
    }

    /// The silence that a station owes before it starts.
    #[must_use]
    pub fn gap_of(&self, station: usize) -> Gap {
        Gap::new(self.gap, self.gap_part1, signed(self.group(station).priority_wait_ps))
    }

    /// Whether no station has a turnaround time, a priority wait or a voice source.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let waits = || self.groups.iter().any(|group| group.priority_wait_ps > 0);
        self.turnaround == 0
            && !waits()
            && !(0..self.stations()).any(|station| self.is_voice(station))
    }

    /// When sources are active and measured, for one that begins at `begin_ps`.
    #[must_use]
    pub fn window(&self, begin_ps: u64) -> Window {
        Window {
            begin_ps,
            stop_ps: self.phases.stop_ps,
            measure_from_ps: self.phases.measure_from_ps,
            measure_to_ps: self.phases.measure_to_ps,
        }
    }

    fn largest_delay(&self) -> i64 {
        let counts = count_places(&self.places, self.place_count);
        let mut largest = 0;
        for (p, &here) in counts.iter().enumerate() {
            for (q, &there) in counts.iter().enumerate() {
                if here > 0 && there > 0 && (p != q || here > 1) {
                    largest = largest.max(self.delays[p * self.place_count + q]);
                }
            }
        }
        largest
    }
}

/// Places at which all stations have one priority wait.
struct SplitPlaces {
    /// The place of each station.
    places: Vec<u32>,
    /// By place: the place of the scenario that it is a part of.
    origins: Vec<usize>,
    /// By place: the priority wait there.
    waits: Vec<i64>,
}

impl SplitPlaces {
    /// Places keep their numbers for the first wait that is met there; those of other waits come
    /// after all of them.
    fn new(mut places: Vec<u32>, place_count: usize, station_waits: &[i64]) -> Self {
        let mut parts: Vec<Vec<usize>> = vec![Vec::new(); place_count];
        let mut origins: Vec<usize> = (0..place_count).collect();
        let mut waits = vec![0; place_count];
        for (place, &wait) in places.iter_mut().zip(station_waits) {
            let origin = *place as usize;
            let part =
                parts[origin].iter().copied().find(|&part| waits[part] == wait).unwrap_or_else(
                    || {
                        let is_new = !parts[origin].is_empty();
                        let part = if is_new { origins.len() } else { origin };
                        if is_new {
                            origins.push(origin);
                            waits.push(0);
                        }
                        waits[part] = wait;
                        parts[origin].push(part);
                        part
                    },
                );
            *place = small(part);
        }
        Self { places, origins, waits }
    }

    /// Propagation between them. Between two parts of a place it takes as long as between any two
    /// stations there, so that what [`check_delays`] found holds of the parts, too.
    fn delays(&self, delays: &[i64], place_count: usize) -> Vec<i64> {
        let row = |&p: &usize| self.origins.iter().map(move |&q| delays[p * place_count + q]);
        self.origins.iter().flat_map(row).collect()
    }
}

/// A time or length as a signed number; everything that comes here was checked to be far below
/// 2^62.
#[inline]
#[must_use]
pub(crate) fn signed(value: u64) -> i64 {
    debug_assert!(value <= NEVER.unsigned_abs());
    value.cast_signed()
}

/// A small index as 32 bits; everything that comes here was checked to be at most 1024, or twice
/// that for places that were split.
#[inline]
#[must_use]
pub(crate) fn small(index: usize) -> u32 {
    u32::try_from(index).expect("at most 1024 stations, and 2048 places")
}

fn count_places(places: &[u32], place_count: usize) -> Vec<u32> {
    let mut counts = vec![0; place_count];
    for &place in places {
        counts[place as usize] += 1;
    }
    counts
}

fn check_segment(
    segment: &crate::scenario::Segment,
    [least_gap, least_jam]: [u64; 2],
) -> Result<(), Fault> {
    check_range("segment.bit_ps", segment.bit_ps, 1, 1_000_000_000)?;
    check_range("segment.slot_bits", segment.slot_bits, 1, LONGEST_BITS)?;
    check_range("segment.gap_bits", segment.gap_bits, least_gap, LONGEST_BITS)?;
    check_range("segment.gap_part1_bits", segment.gap_part1_bits, 0, segment.gap_bits)?;
    check_range("segment.preamble_bits", segment.preamble_bits, 0, LONGEST_BITS)?;
    check_range("segment.jam_bits", segment.jam_bits, least_jam, LONGEST_BITS)?;
    check_range("segment.turnaround_ps", segment.turnaround_ps, 0, LONGEST_DELAY_PS)?;
    let places = segment.delay_ps.len();
    check_range("segment.delay_ps", places as u64, 1, MOST_STATIONS as u64)?;
    for (p, row) in segment.delay_ps.iter().enumerate() {
        if row.len() != places {
            return Err(Fault::new(
                format!("segment.delay_ps[{p}]"),
                format!("must have {places} entries"),
            )
            .got(row.len()));
        }
        for (q, &delay) in row.iter().enumerate() {
            check_range(&format!("segment.delay_ps[{p}][{q}]"), delay, 0, LONGEST_DELAY_PS)?;
            if delay != segment.delay_ps[q][p] {
                return Err(Fault::new(
                    format!("segment.delay_ps[{p}][{q}]"),
                    "must equal the delay of the way back",
                ));
            }
        }
    }
    Ok(())
}

fn check_phases(phases: &Phases, batches: u32) -> Result<(), Fault> {
    check_range("phases.end_ps", phases.end_ps, 1, LONGEST_END_PS)?;
    check_range("phases.stop_ps", phases.stop_ps, phases.begin_ps, phases.end_ps)?;
    check_range("phases.measure_to_ps", phases.measure_to_ps, 1, phases.end_ps)?;
    check_range("phases.measure_from_ps", phases.measure_from_ps, 0, phases.measure_to_ps - 1)?;
    check_range("phases.spread_ps", phases.spread_ps, 0, LONGEST_END_PS)?;
    check_range("batches", u64::from(batches), 1, 100_000)?;
    check_range("batches", u64::from(batches), 1, phases.measure_to_ps - phases.measure_from_ps)
}

fn check_group(group: &Group, index: usize, place_count: usize) -> Result<(), Fault> {
    let key = |name: &str| format!("groups[{index}].{name}");
    if let Some(place) = group.places.iter().find(|&&place| place as usize >= place_count) {
        return Err(Fault::new(key("places"), format!("must be below {place_count}")).got(place));
    }
    let faults = [
        ("frames", group.frames.fault()),
        ("arrivals", group.arrivals.fault()),
        ("service", group.service.fault()),
        ("generator.time", group.generator.as_ref().and_then(|g| g.time.fault())),
    ];
    for (name, what) in faults {
        if let Some(what) = what {
            return Err(Fault::new(key(name), what));
        }
    }
    let saturated = matches!(group.arrivals, Arrivals::Saturated {});
    if let Some(generator) = &group.generator {
        check_range(&key("generator.buffers"), u64::from(generator.buffers), 1, 1_000_000)?;
        if !saturated {
            return Err(Fault::new(key("generator"), "goes with saturated arrivals only"));
        }
    }
    if let Some(room) = group.queue_frames {
        check_range(&key("queue_frames"), u64::from(room), 1, 10_000_000)?;
        if saturated {
            return Err(Fault::new(key("queue_frames"), "does not go with saturated arrivals"));
        }
    }
    check_range(&key("clock_error_ppb"), group.clock_error_ppb, 0, MOST_CLOCK_ERROR_PPB)?;
    check_range(&key("priority_wait_ps"), group.priority_wait_ps, 0, LONGEST_DELAY_PS)?;
    check_range(&key("attempt_limit"), u64::from(group.attempt_limit), 1, 1_000_000)?;
    match group.backoff {
        Backoff::Exponential { limit } => {
            check_range(&key("backoff.limit"), u64::from(limit), 0, 30)
        }
        Backoff::Linear { limit } => {
            check_range(&key("backoff.limit"), u64::from(limit), 0, 1_000_000)
        }
        Backoff::Constant { slots } => {
            check_range(&key("backoff.slots"), u64::from(slots), 1, 1_000_000)
        }
        Backoff::None {} => Ok(()),
        Backoff::LoadRegister { bits, clock_ps, .. } => {
            check_range(&key("backoff.bits"), u64::from(bits), 1, 16)?;
            check_range(&key("backoff.clock_ps"), clock_ps, 1, LONGEST_DELAY_PS)
        }
    }
}

/// A coder goes with frames of samples, and with a host that does not give up.
fn check_voice(group: &Group, index: usize, bit_ps: u64) -> Result<(), Fault> {
    let key = |name: &str| format!("groups[{index}].{name}");
    let (sample_bits, sample_ps, overhead_bits) = match (&group.arrivals, &group.frames) {
        (
            Arrivals::Coder { sample_bits, sample_ps, .. },
            Lengths::Samples { overhead_bits, .. },
        ) => (*sample_bits, *sample_ps, *overhead_bits),
        (Arrivals::Coder { .. }, _) => {
            return Err(Fault::new(
                key("frames"),
                "must be samples, because arrivals are of a coder",
            ))
        }
        (_, Lengths::Samples { .. }) => {
            return Err(Fault::new(
                key("arrivals"),
                "must be of a coder, because frames are samples",
            ))
        }
        _ => return Ok(()),
    };
    let (_, max_bits) = group.frames.range_bits();
    check_range(&key("frames.max_bits"), max_bits, overhead_bits + 1, LONGEST_BITS)?;
    if let Some(what) = group.voice().and_then(|voice| voice.fault()) {
        return Err(Fault::new(key("frames"), what));
    }
    // By the fastest of the hosts' clocks, too.
    let least_ps = sample_bits * bit_ps;
    let fastest_ps =
        u128::from(sample_ps) * u128::from(1_000_000_000 - group.clock_error_ppb) / 1_000_000_000;
    if fastest_ps <= u128::from(least_ps) {
        let what = format!(
            "must be slower than the segment: more than {least_ps} ps for {sample_bits} bits, got {sample_ps}",
        );
        return Err(Fault::new(key("arrivals.sample_ps"), what));
    }
    if group.queue_frames.is_some() {
        return Err(Fault::new(
            key("queue_frames"),
            "does not go with a coder, whose buffer is the frame",
        ));
    }
    // The buffer goes on whatever becomes of attempts, so there is no frame that could be given up.
    if group.after_attempt_limit != AfterAttemptLimit::Resume {
        return Err(Fault::new(key("after_attempt_limit"), "must be \"resume\" with a coder"));
    }
    if group.after_late_collision != AfterLateCollision::Backoff {
        return Err(Fault::new(key("after_late_collision"), "must be \"backoff\" with a coder"));
    }
    Ok(())
}

/// A signal takes the shortest way, so no detour may be shorter; the simulators rely on it.
fn check_delays(delays: &[i64], place_count: usize, places: &[u32]) -> Result<(), Fault> {
    let counts = count_places(places, place_count);
    let used: Vec<usize> = (0..place_count).filter(|&p| counts[p] > 0).collect();
    for &via in &used {
        let row = &delays[via * place_count..(via + 1) * place_count];
        for &p in &used {
            let to_via = row[p];
            for &q in &used {
                let detour = if p == via || q == via { i64::MAX } else { to_via + row[q] };
                let direct = delays[p * place_count + q];
                if direct > detour && (p != q || counts[p] > 1) {
                    return Err(Fault::new(
                        format!("segment.delay_ps[{p}][{q}]"),
                        format!("must not exceed the way through place {via}, {detour} ps"),
                    )
                    .got(format!("{direct} ps")));
                }
            }
        }
    }
    Ok(())
}
