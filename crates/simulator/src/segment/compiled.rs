//! A scenario in picoseconds, checked and ready to run.

use super::group::{Group, LONGEST_BITS, LONGEST_DELAY_PS};
use crate::mac::csma_cd::{Gap, LONGEST_WAIT};
use crate::mac::{constants, name};
use ethermeter_traffic::{SourceSpec, Window};
use ethermeter_trial::fault::check_range;
use ethermeter_trial::medium::{CsmaCd, Mac, Medium};
use ethermeter_trial::{Fault, Phases, Trial};

/// A time that never comes. Far beyond every simulated time, and far from overflow.
pub const NEVER: i64 = LONGEST_WAIT;

const MOST_STATIONS: usize = 1024;
const LONGEST_END_PS: u64 = 10_000_000_000_000_000; // 10 000 s
const LONGEST_PACKET_PS: u64 = 1_000_000_000_000_000; // 1000 s

/// A trial in picoseconds.
///
/// Times are signed, because they are compared in bulk and processors compare signed numbers best.
#[derive(Clone, Debug)]
pub struct CompiledSegment {
    /// Seed of every draw.
    pub seed: u64,
    /// The position of each station. Stations of one position have one priority wait: where a
    /// scenario has several at a position, it is one here for each.
    pub positions: Vec<u32>,
    /// How many positions there are.
    pub place_count: usize,
    /// Propagation between positions, row by row; the diagonal is between two stations of a
    /// position.
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
    /// The silence that is owed at each position.
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
    /// Check a trial whose stations share one medium, and convert it.
    ///
    /// # Errors
    /// With the path of the key and what is allowed.
    ///
    /// # Panics
    /// If the trial has no medium.
    pub fn new(trial: &Trial) -> Result<Self, Fault> {
        let (medium, phases) = (&trial.scenario.media[0], trial.scenario.phases);
        let constants = constants(&medium.mac);
        let groups = Group::all(&trial.scenario)?;
        check_medium(medium, constants)?;
        check_phases(&phases, trial.scenario.batches)?;
        let place_count = medium.delay_ps.len();
        let mut positions = Vec::new();
        let mut group_of = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            group.check(place_count, medium.bit_ps)?;
            let (_, most_bits) = group.flow.frames.range_bits();
            let longest = (constants.preamble_bits + most_bits).checked_mul(medium.bit_ps);
            if longest.is_none_or(|ps| ps > LONGEST_PACKET_PS) {
                let allowed = "a packet must not take longer than 1000 s";
                return Err(Fault::new(group.flow_path("frames"), allowed));
            }
            positions.extend_from_slice(&group.stations.points);
            group_of.extend(std::iter::repeat_n(small(index), group.stations.points.len()));
        }
        if positions.is_empty() || positions.len() > MOST_STATIONS {
            let allowed = format!("must hold 1 to {MOST_STATIONS} stations");
            return Err(Fault::new("media[0].stations", allowed).got(positions.len()));
        }
        let bits = |count: u64| signed(count * medium.bit_ps);
        let delays: Vec<i64> = medium.delay_ps.iter().flatten().map(|&d| signed(d)).collect();
        check_delays(&delays, place_count, &positions)?;
        let station_waits: Vec<i64> = group_of
            .iter()
            .map(|&group| signed(groups[group as usize].stations.priority_wait_ps))
            .collect();
        let split = SplitPlaces::new(positions, place_count, &station_waits);
        let (gap, gap_part1) = (bits(constants.gap_bits), bits(constants.gap_part1_bits));
        let mut compiled = Self {
            seed: trial.seed,
            place_count: split.origins.len(),
            delays: split.delays(&delays, place_count),
            gaps: split.waits.iter().map(|&wait| Gap::new(gap, gap_part1, wait)).collect(),
            positions: split.positions,
            max_delay: 0,
            bit: signed(medium.bit_ps),
            slot: bits(constants.slot_bits),
            gap,
            gap_part1,
            preamble: bits(constants.preamble_bits),
            jam: bits(constants.jam_bits),
            turnaround: signed(constants.turnaround_ps),
            phases,
            batches: trial.scenario.batches as usize,
            groups,
            group_of,
        };
        compiled.max_delay = compiled.largest_delay();
        Ok(compiled)
    }

    /// How many stations there are.
    #[must_use]
    pub fn stations(&self) -> usize {
        self.positions.len()
    }

    /// One-way propagation from a position to another; at the same position, between two of its
    /// stations.
    #[inline]
    #[must_use]
    pub fn delay(&self, from_position: u32, to_position: u32) -> i64 {
        self.delays[from_position as usize * self.place_count + to_position as usize]
    }

    /// One-way propagation from a position to every position.
    #[inline]
    #[must_use]
    pub fn delays_from(&self, position: u32) -> &[i64] {
        let first = position as usize * self.place_count;
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
        self.group(station).flow.source_spec()
    }

    /// Whether a station sends voice.
    #[must_use]
    pub fn is_voice(&self, station: usize) -> bool {
        self.group(station).is_voice()
    }

    /// The silence that a station owes before it starts.
    #[must_use]
    pub fn gap_of(&self, station: usize) -> Gap {
        Gap::new(self.gap, self.gap_part1, signed(self.group(station).stations.priority_wait_ps))
    }

    /// Whether no station has a turnaround time, a priority wait or a voice source.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let waits = || self.groups.iter().any(|group| group.stations.priority_wait_ps > 0);
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
        let counts = count_positions(&self.positions, self.place_count);
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
    /// The position of each station.
    positions: Vec<u32>,
    /// By position: the position of the scenario that it is a part of.
    origins: Vec<usize>,
    /// By position: the priority wait there.
    waits: Vec<i64>,
}

impl SplitPlaces {
    /// Places keep their numbers for the first wait that is met there; those of other waits come
    /// after all of them.
    fn new(mut positions: Vec<u32>, place_count: usize, station_waits: &[i64]) -> Self {
        let mut parts: Vec<Vec<usize>> = vec![Vec::new(); place_count];
        let mut origins: Vec<usize> = (0..place_count).collect();
        let mut waits = vec![0; place_count];
        for (position, &wait) in positions.iter_mut().zip(station_waits) {
            let origin = *position as usize;
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
            *position = small(part);
        }
        Self { positions, origins, waits }
    }

    /// Propagation between them. Between two parts of a position it takes as long as between any
    /// two stations there, so that what [`check_delays`] found holds of the parts, too.
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
/// that for positions that were split.
#[inline]
#[must_use]
pub(crate) fn small(index: usize) -> u32 {
    u32::try_from(index).expect("at most 1024 stations, and 2048 positions")
}

fn count_positions(positions: &[u32], place_count: usize) -> Vec<u32> {
    let mut counts = vec![0; place_count];
    for &position in positions {
        counts[position as usize] += 1;
    }
    counts
}

fn check_medium(medium: &Medium, constants: CsmaCd) -> Result<(), Fault> {
    // Without a gap and a turnaround time, a station could start in the very instant in which it
    // hears silence and carrier at once.
    let is_csma_cd = matches!(medium.mac, Mac::CsmaCd(_) | Mac::Plca(_));
    let least_gap = u64::from(is_csma_cd && constants.turnaround_ps == 0);
    check_range("media[0].bit_ps", medium.bit_ps, 1, 1_000_000_000)?;
    for (key, value, least, most) in [
        ("slot_bits", constants.slot_bits, 1, LONGEST_BITS),
        ("gap_bits", constants.gap_bits, least_gap, LONGEST_BITS),
        ("gap_part1_bits", constants.gap_part1_bits, 0, constants.gap_bits),
        ("preamble_bits", constants.preamble_bits, 0, LONGEST_BITS),
        ("jam_bits", constants.jam_bits, u64::from(is_csma_cd), LONGEST_BITS),
        ("turnaround_ps", constants.turnaround_ps, 0, LONGEST_DELAY_PS),
    ] {
        check_range(&format!("media[0].mac.{}.{key}", name(&medium.mac)), value, least, most)?;
    }
    let delays = &medium.delay_ps;
    check_range("media[0].delay_ps", delays.len() as u64, 1, MOST_STATIONS as u64)?;
    for (p, row) in delays.iter().enumerate() {
        if row.len() != delays.len() {
            let allowed = format!("must have {} entries", delays.len());
            return Err(Fault::new(format!("media[0].delay_ps[{p}]"), allowed).got(row.len()));
        }
        for (q, &delay) in row.iter().enumerate() {
            let path = || format!("media[0].delay_ps[{p}][{q}]");
            if delay > LONGEST_DELAY_PS {
                check_range(&path(), delay, 0, LONGEST_DELAY_PS)?;
            }
            if delay != delays[q][p] {
                return Err(Fault::new(path(), "must equal the delay of the way back"));
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

/// A signal takes the shortest way, so no detour may be shorter; the simulators rely on it.
fn check_delays(delays: &[i64], place_count: usize, positions: &[u32]) -> Result<(), Fault> {
    let counts = count_positions(positions, place_count);
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
                        format!("media[0].delay_ps[{p}][{q}]"),
                        format!("must not exceed the way through position {via}, {detour} ps"),
                    )
                    .got(format!("{direct} ps")));
                }
            }
        }
    }
    Ok(())
}
