//! A medium in picoseconds: where its stations are, and the constants of its MAC.

use crate::identity::{PositionId, StationId};
use crate::mac::csma_cd::Gap;
use crate::mac::{constants, name};
use crate::segment::group::{LONGEST_BITS, LONGEST_DELAY_PS};
use crate::time::{Instant, Span};
use ethermeter_ethernet::timing::IEEE_10;
use ethermeter_ethernet::units::Bits;
use ethermeter_traffic::Stream;
use ethermeter_traffic::voice::Voice;
use ethermeter_trial::Fault;
use ethermeter_trial::fault::check_range;
use ethermeter_trial::medium::{self, Mac, Medium, Stations};
use ethermeter_trial::plca::{Interval, Plca};

/// Stations that a medium may have.
pub(crate) const MOST_STATIONS: usize = 1024;

const LONGEST_LATENCY_PS: u64 = 10_000_000; // 100 bit times
const LATEST_PS: u64 = 10_000_000_000_000_000; // 10 000 s
const HIGHEST_BIT_ERROR_RATE: f64 = 0.01;

/// A medium in picoseconds.
#[derive(Clone, Debug)]
pub struct CompiledMedium {
    /// The position of each station. Stations of one position have one priority wait: where a
    /// scenario has several at a position, it is one here for each.
    pub positions: Vec<PositionId>,
    /// How many positions there are.
    pub place_count: usize,
    /// Propagation between positions, row by row; the diagonal is between two stations of a
    /// position.
    pub delays: Vec<Span>,
    /// The largest propagation between any two stations.
    pub max_delay: Span,
    /// Duration of a bit.
    pub bit: Span,
    /// Slot time.
    pub slot: Span,
    /// Inter-frame gap of the segment, without any station's priority wait: what frames are
    /// charged.
    pub gap: Span,
    /// Its first part.
    pub gap_part1: Span,
    /// The silence that is owed at each position.
    pub gaps: Vec<Gap>,
    /// Preamble and delimiter.
    pub preamble: Span,
    /// Jam of stations without one of their own.
    pub jam: Span,
    /// Jam of each station.
    pub jams: Vec<Span>,
    /// From a station's decision to start to its first bit; what arrives meanwhile it does not
    /// hear.
    pub turnaround: Span,
    /// The PHYs.
    pub phy: Phy,
    /// Whether a MAC jams without completing its preamble.
    pub jams_at_once: bool,
    /// When each node is switched.
    pub switches: Vec<Switches>,
    /// Open or shorted cable, if it ever is.
    pub cable_fault: Option<CableFault>,
}

/// An open or shorted cable.
#[derive(Clone, Debug)]
pub struct CableFault {
    /// When it begins.
    pub from: Instant,
    /// When it ends.
    pub to: Instant,
    /// After what time each station hears its own signal come back.
    pub echoes: Vec<Span>,
}

/// The PHYs of a medium in picoseconds. Those of CSMA/CD alone add nothing to propagation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phy {
    /// What the PHY sends after a frame.
    pub end_delimiter: Span,
    /// From the MII to the line.
    pub transmit: Span,
    /// From a signal on the line to carrier.
    pub carrier_on: Span,
    /// From the end of a signal on the line to the end of carrier.
    pub carrier_off: Span,
    /// Probability that a bit is wrong.
    pub bit_error_rate: f64,
}

/// When a node is switched: changes in rising order.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// When its access is on or off; it is off before the first.
    pub access: Vec<(Instant, bool)>,
    /// When it is silent, or no longer.
    pub silent: Vec<(Instant, bool)>,
}

impl CompiledMedium {
    /// Convert a medium whose values were checked; `path` is that of its key.
    ///
    /// # Errors
    /// If its stations are too many, or a delay is longer than a detour.
    pub fn new(medium: &Medium, path: &str) -> Result<Self, Fault> {
        let constants = constants(&medium.mac);
        let bits = |count: u64| Span::from_ps(count * medium.bit_ps);
        let (mut positions, mut waits, mut jams) = (Vec::new(), Vec::new(), Vec::new());
        for stations in &medium.stations {
            positions.extend(stations.points.iter().copied().map(PositionId::from));
            let wait = Span::from_ps(stations.priority_wait_ps);
            waits.extend(std::iter::repeat_n(wait, stations.points.len()));
            let jam = bits(stations.jam_bits.unwrap_or(constants.jam_bits));
            jams.extend(std::iter::repeat_n(jam, stations.points.len()));
        }
        if positions.is_empty() || positions.len() > MOST_STATIONS {
            let allowed = format!("must hold 1 to {MOST_STATIONS} stations");
            return Err(Fault::new(format!("{path}.stations"), allowed).got(positions.len()));
        }
        for (number, stations) in medium.stations.iter().enumerate() {
            let key = format!("{path}.stations[{number}]");
            if stations.plca.is_some() && !matches!(medium.mac, Mac::Plca(_)) {
                return Err(Fault::new(format!("{key}.plca"), "must be absent without PLCA"));
            }
            if stations.jam_bits.is_some() && !matches!(medium.mac, Mac::CsmaCd(_)) {
                let allowed = "must be given with CSMA/CD alone only";
                return Err(Fault::new(format!("{key}.jam_bits"), allowed));
            }
            check_intervals(&format!("{key}.down"), &stations.down)?;
        }
        if medium.cable_fault.is_some() && !matches!(medium.mac, Mac::CsmaCd(_)) {
            let allowed = "must be absent without CSMA/CD alone";
            return Err(Fault::new(format!("{path}.cable_fault"), allowed));
        }
        let place_count = medium.delay_ps.len();
        let delays: Vec<Span> =
            medium.delay_ps.iter().flatten().map(|&d| Span::from_ps(d)).collect();
        check_delays(&delays, place_count, &positions, path)?;
        if let Some(fault) =
            medium.cable_fault.as_ref().filter(|it| it.delay_ps.len() != place_count)
        {
            let allowed = format!("must have {place_count} entries, one a point");
            let got = fault.delay_ps.len();
            return Err(Fault::new(format!("{path}.cable_fault.delay_ps"), allowed).got(got));
        }
        let cable_fault =
            medium.cable_fault.as_ref().map(|fault| CableFault::new(fault, &positions));
        let split = SplitPlaces::new(positions, place_count, &waits);
        let (gap, gap_part1) = (bits(constants.gap_bits), bits(constants.gap_part1_bits));
        let mut compiled = Self {
            place_count: split.origins.len(),
            delays: split.delays(&delays, place_count),
            gaps: split.waits.iter().map(|&wait| Gap::new(gap, gap_part1, wait)).collect(),
            positions: split.positions,
            max_delay: Span::ZERO,
            bit: Span::from_ps(medium.bit_ps),
            slot: bits(constants.slot_bits),
            gap,
            gap_part1,
            preamble: bits(constants.preamble_bits),
            jam: bits(constants.jam_bits),
            jams,
            turnaround: Span::from_ps(constants.turnaround_ps),
            phy: Phy::default(),
            jams_at_once: false,
            switches: medium.stations.iter().flat_map(Switches::of_each).collect(),
            cable_fault,
        };
        if let Mac::Plca(plca) = &medium.mac {
            check_phy(plca, path)?;
            compiled.phy = Phy::new(plca, medium.bit_ps);
            compiled.jams_at_once = plca.jams_at_once;
        }
        compiled.max_delay = compiled.largest_delay();
        Ok(compiled)
    }

    /// Half-duplex links of 802.3: `delays` row by row between their stations.
    pub(crate) fn of_links(delays: Vec<Span>, bit: Span, preamble: Bits, gap: Span) -> Self {
        let stations = delays.len().isqrt();
        // 802.3-2022 § 4.2.3.2.1: the first part is at most two thirds.
        let gap_part1 = gap / 3 * 2;
        Self {
            positions: PositionId::first(stations).collect(),
            place_count: stations,
            max_delay: delays.iter().copied().max().unwrap_or_default(),
            delays,
            bit,
            slot: bit * IEEE_10.slot,
            gap,
            gap_part1,
            gaps: vec![Gap::new(gap, gap_part1, Span::ZERO); stations],
            preamble: bit * preamble,
            jam: bit * IEEE_10.jam,
            jams: vec![bit * IEEE_10.jam; stations],
            turnaround: Span::ZERO,
            phy: Phy::default(),
            jams_at_once: false,
            switches: vec![Switches::default(); stations],
            cable_fault: None,
        }
    }

    /// Whether all stations have the jam of the medium.
    #[must_use]
    pub fn has_one_jam(&self) -> bool {
        self.jams.iter().all(|&jam| jam == self.jam)
    }

    /// How many stations there are.
    #[must_use]
    pub fn stations(&self) -> usize {
        self.positions.len()
    }

    /// The stations at each position.
    #[must_use]
    pub fn members(&self) -> Vec<Vec<StationId>> {
        let mut members = vec![Vec::new(); self.place_count];
        for (station, &position) in StationId::first(self.stations()).zip(&self.positions) {
            members[position].push(station);
        }
        members
    }

    /// One-way propagation from a position to another; at the same position, between two of its
    /// stations.
    #[inline]
    #[must_use]
    pub fn delay(&self, from_position: PositionId, to_position: PositionId) -> Span {
        self.delays[from_position.index() * self.place_count + to_position.index()]
    }

    /// One-way propagation from a position to every position.
    #[inline]
    #[must_use]
    pub fn delays_from(&self, position: PositionId) -> &[Span] {
        let first = position.index() * self.place_count;
        &self.delays[first..first + self.place_count]
    }

    /// How long the preamble and a frame take.
    #[inline]
    #[must_use]
    pub fn packet_time(&self, length: Bits) -> Span {
        self.preamble + self.bit * length
    }

    /// How long the preamble and a frame of voice take whose first bit leaves at `start`.
    #[must_use]
    pub fn grown_packet_time(&self, voice: &Voice, start: Instant) -> Span {
        self.packet_time(Bits(voice.bits_at(start.ps(), self.preamble.ps(), self.bit.ps())))
    }

    /// The silence that a station owes before it starts.
    #[must_use]
    pub fn gap_of(&self, station: StationId) -> Gap {
        self.gaps[self.positions[station]]
    }

    /// Lengthen every gap, in its first part.
    pub(crate) fn lengthen_gaps(&mut self, by: Span) {
        self.gap += by;
        self.gap_part1 += by;
        for gap in &mut self.gaps {
            gap.length += by;
            gap.part1 += by;
        }
    }

    /// The gap that follows a signal on the line and belongs to it in channel time: with PLCA in use
    /// there is none.
    pub(crate) fn owed_after_signals(&self) -> Span {
        if self.switches.iter().all(|switches| switches.access.is_empty()) {
            self.gap
        } else {
            Span::ZERO
        }
    }

    fn largest_delay(&self) -> Span {
        let counts = count_positions(&self.positions, self.place_count);
        let mut largest = Span::ZERO;
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

impl CableFault {
    /// A fault of a medium whose stations are at these attachment points.
    fn new(fault: &medium::CableFault, points: &[PositionId]) -> Self {
        let echo = |point: &PositionId| Span::from_ps(2 * fault.delay_ps[point.index()]);
        Self {
            from: Instant::from_ps(fault.from_ps),
            to: Instant::from_ps(fault.to_ps),
            echoes: points.iter().map(echo).collect(),
        }
    }

    /// Whether what is sent now comes back.
    #[must_use]
    pub fn reflects(&self, now: Instant) -> bool {
        self.from <= now && now < self.to
    }
}

impl Phy {
    fn new(plca: &Plca, bit_ps: u64) -> Self {
        Self {
            end_delimiter: Span::from_ps(plca.end_delimiter_bits * bit_ps),
            transmit: Span::from_ps(plca.transmit_ps),
            carrier_on: Span::from_ps(plca.carrier_on_ps),
            carrier_off: Span::from_ps(plca.carrier_off_ps),
            bit_error_rate: plca.bit_error_rate,
        }
    }

    /// Whether they add nothing to propagation but an end delimiter.
    #[must_use]
    pub fn is_immediate(&self) -> bool {
        [self.transmit, self.carrier_on, self.carrier_off] == [Span::ZERO; 3]
    }

    /// Whether a frame of so many bits is damaged by the line, drawn where bits can be wrong.
    #[inline]
    pub fn damages(&self, length: Bits, chance: &mut Stream) -> bool {
        let rate = self.bit_error_rate;
        rate > 0.0 && chance.unit() >= whole(rate, length)
    }
}

/// Probability that a frame has no wrong bit.
#[allow(clippy::cast_precision_loss)] // far below 2^52
pub(crate) fn whole(bit_error_rate: f64, length: Bits) -> f64 {
    (1.0 - bit_error_rate).powf(length.0 as f64)
}

impl Switches {
    /// The switches of each of some stations.
    fn of_each(stations: &Stations) -> impl Iterator<Item = Self> {
        let mut new = Self { access: Vec::new(), silent: changes(&stations.down).collect() };
        if let Some(nodes) = &stations.plca {
            new.access.push((Instant::ZERO, true));
            new.access.extend(changes(&nodes.off).map(|(at, is_off)| (at, !is_off)));
        }
        std::iter::repeat_n(new, stations.points.len())
    }
}

fn changes(intervals: &[Interval]) -> impl Iterator<Item = (Instant, bool)> + '_ {
    intervals.iter().flat_map(|&Interval { from_ps, to_ps }| {
        [(Instant::from_ps(from_ps), true), (Instant::from_ps(to_ps), false)]
    })
}

/// Places at which all stations have one priority wait.
struct SplitPlaces {
    /// The position of each station.
    positions: Vec<PositionId>,
    /// By position: the position of the scenario that it is a part of.
    origins: Vec<usize>,
    /// By position: the priority wait there.
    waits: Vec<Span>,
}

impl SplitPlaces {
    /// Places keep their numbers for the first wait that is met there; those of other waits come
    /// after all of them.
    fn new(mut positions: Vec<PositionId>, place_count: usize, station_waits: &[Span]) -> Self {
        let mut parts: Vec<Vec<usize>> = vec![Vec::new(); place_count];
        let mut origins: Vec<usize> = (0..place_count).collect();
        let mut waits = vec![Span::ZERO; place_count];
        for (position, &wait) in positions.iter_mut().zip(station_waits) {
            let origin = position.index();
            let part =
                parts[origin].iter().copied().find(|&part| waits[part] == wait).unwrap_or_else(
                    || {
                        let is_new = !parts[origin].is_empty();
                        let part = if is_new { origins.len() } else { origin };
                        if is_new {
                            origins.push(origin);
                            waits.push(Span::ZERO);
                        }
                        waits[part] = wait;
                        parts[origin].push(part);
                        part
                    },
                );
            *position = PositionId::new(part);
        }
        Self { positions, origins, waits }
    }

    /// Propagation between them. Between two parts of a position it takes as long as between any
    /// two stations there, so that what [`check_delays`] found holds of the parts, too.
    fn delays(&self, delays: &[Span], place_count: usize) -> Vec<Span> {
        let row = |&p: &usize| self.origins.iter().map(move |&q| delays[p * place_count + q]);
        self.origins.iter().flat_map(row).collect()
    }
}

fn count_positions(positions: &[PositionId], place_count: usize) -> Vec<u32> {
    let mut counts = vec![0; place_count];
    for &position in positions {
        counts[position] += 1;
    }
    counts
}

/// Check the values of a medium, those of its stations apart; `path` is that of its key.
pub(crate) fn check_medium(medium: &Medium, path: &str) -> Result<(), Fault> {
    let constants = constants(&medium.mac);
    // Without a gap and a turnaround time, a station could start in the very instant in which it
    // hears silence and carrier at once.
    let is_csma_cd = matches!(medium.mac, Mac::CsmaCd(_) | Mac::Plca(_));
    let least_gap = u64::from(is_csma_cd && constants.turnaround_ps == 0);
    check_range(&format!("{path}.bit_ps"), medium.bit_ps, 1, 1_000_000_000)?;
    for (key, value, least, most) in [
        ("slot_bits", constants.slot_bits, 1, LONGEST_BITS),
        ("gap_bits", constants.gap_bits, least_gap, LONGEST_BITS),
        ("gap_part1_bits", constants.gap_part1_bits, 0, constants.gap_bits),
        ("preamble_bits", constants.preamble_bits, 0, LONGEST_BITS),
        ("jam_bits", constants.jam_bits, u64::from(is_csma_cd), LONGEST_BITS),
        ("turnaround_ps", constants.turnaround_ps, 0, LONGEST_DELAY_PS),
    ] {
        check_range(&format!("{path}.mac.{}.{key}", name(&medium.mac)), value, least, most)?;
    }
    let delays = &medium.delay_ps;
    check_range(&format!("{path}.delay_ps"), delays.len() as u64, 1, MOST_STATIONS as u64)?;
    for (p, row) in delays.iter().enumerate() {
        if row.len() != delays.len() {
            let allowed = format!("must have {} entries", delays.len());
            return Err(Fault::new(format!("{path}.delay_ps[{p}]"), allowed).got(row.len()));
        }
        for (q, &delay) in row.iter().enumerate() {
            let path = || format!("{path}.delay_ps[{p}][{q}]");
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

/// A signal takes the shortest way, so no detour may be shorter; the simulators rely on it.
fn check_delays(
    delays: &[Span],
    place_count: usize,
    positions: &[PositionId],
    path: &str,
) -> Result<(), Fault> {
    let counts = count_positions(positions, place_count);
    let used: Vec<usize> = (0..place_count).filter(|&p| counts[p] > 0).collect();
    for &via in &used {
        let row = &delays[via * place_count..(via + 1) * place_count];
        for &p in &used {
            let to_via = row[p];
            for &q in &used {
                let detour = if p == via || q == via { Span::ENDLESS } else { to_via + row[q] };
                let direct = delays[p * place_count + q];
                if direct > detour && (p != q || counts[p] > 1) {
                    return Err(Fault::new(
                        format!("{path}.delay_ps[{p}][{q}]"),
                        format!(
                            "must not exceed the way through position {via}, {} ps",
                            detour.ps()
                        ),
                    )
                    .got(format!("{} ps", direct.ps())));
                }
            }
        }
    }
    Ok(())
}

/// A small index as 32 bits; everything that comes here was checked to be at most 1024, or twice
/// that for positions that were split.
#[inline]
#[must_use]
pub(crate) fn small(index: usize) -> u32 {
    u32::try_from(index).expect("at most 1024 stations, and 2048 positions")
}

fn check_phy(plca: &Plca, path: &str) -> Result<(), Fault> {
    let path = |key: &str| format!("{path}.mac.plca.{key}");
    for (key, value, most) in [
        ("end_delimiter_bits", plca.end_delimiter_bits, plca.csma_cd.gap_bits),
        ("transmit_ps", plca.transmit_ps, LONGEST_LATENCY_PS),
        ("carrier_on_ps", plca.carrier_on_ps, LONGEST_LATENCY_PS),
        ("carrier_off_ps", plca.carrier_off_ps, LONGEST_LATENCY_PS),
    ] {
        check_range(&path(key), value, 0, most)?;
    }
    check_share(&path("bit_error_rate"), plca.bit_error_rate, HIGHEST_BIT_ERROR_RATE)
}

/// Check a probability, which is at most `most`.
pub(crate) fn check_share(path: &str, value: f64, most: f64) -> Result<(), Fault> {
    if (0.0..=most).contains(&value) {
        return Ok(());
    }
    Err(Fault::new(path, format!("must be 0 to {most}")).got(value))
}

pub(crate) fn check_intervals(path: &str, intervals: &[Interval]) -> Result<(), Fault> {
    let mut before = 0;
    for (number, interval) in intervals.iter().enumerate() {
        if interval.from_ps < before || interval.to_ps <= interval.from_ps {
            let allowed = "must begin after the interval before it, and end after it begins";
            return Err(Fault::new(format!("{path}[{number}]"), allowed)
                .got(format!("{} to {} ps", interval.from_ps, interval.to_ps)));
        }
        check_range(&format!("{path}[{number}].to_ps"), interval.to_ps, 1, LATEST_PS)?;
        before = interval.to_ps + 1;
    }
    Ok(())
}
