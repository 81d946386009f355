//! A bus in picoseconds, checked and ready to run.

use super::control::Parameters;
use super::timers::{TIMERS, Timer};
use crate::segment::compiled::{CompiledSegment, signed};
use ethermeter_traffic::Stream;
use ethermeter_trial::fault::check_range;
use ethermeter_trial::medium::{Mac, Medium, Stations};
use ethermeter_trial::plca::{Interval, Plca, PlcaNodes};
use ethermeter_trial::{Fault, Trial};

const LONGEST_LATENCY_PS: u64 = 10_000_000; // 100 bit times
const LATEST_PS: u64 = 10_000_000_000_000_000; // 10 000 s
const HIGHEST_BIT_ERROR_RATE: f64 = 0.01;

/// A segment whose stations share a bus, in picoseconds.
#[derive(Clone, Debug)]
pub struct CompiledBus {
    /// Stations, positions and constants of the MAC.
    pub segment: CompiledSegment,
    /// PHYs and PLCA.
    pub plca: CompiledPlca,
}

/// PHYs and PLCA of a bus in picoseconds.
#[derive(Clone, Debug)]
pub struct CompiledPlca {
    /// Whether the medium has PLCA, used or not.
    pub is_there: bool,
    /// What the PHY sends after a frame.
    pub end_delimiter: i64,
    /// From the MII to the line.
    pub transmit: i64,
    /// From a signal on the line to carrier.
    pub carrier_on: i64,
    /// From the end of a signal on the line to the end of carrier.
    pub carrier_off: i64,
    /// Probability that a node does not hear a beacon.
    pub beacon_loss: f64,
    /// Probability that a bit is wrong.
    pub bit_error_rate: f64,
    /// Whether a MAC jams without completing its preamble.
    pub jams_at_once: bool,
    /// Whether a MAC owes a gap after each backoff.
    pub gap_after_backoff: bool,
    /// The nodes, one a station.
    pub nodes: Vec<Node>,
}

/// A node in picoseconds.
#[derive(Clone, Debug)]
pub struct Node {
    /// What its control machine knows.
    pub parameters: Parameters,
    /// Durations of its timers, in the order of [`Timer`].
    pub durations: [i64; TIMERS],
    /// Whether it becomes CSMA/CD without beacons.
    pub falls_back: bool,
    /// When PLCA is on or off: changes in rising order; it is off before the first.
    pub switches: Vec<(i64, bool)>,
    /// When the node is silent, or no longer: changes in rising order.
    pub silences: Vec<(i64, bool)>,
}

impl CompiledBus {
    /// Check a trial whose stations share a bus, and convert it.
    ///
    /// # Errors
    /// With the path of the key and what is allowed.
    pub fn new(trial: &Trial, plca: &Plca) -> Result<Self, Fault> {
        let segment = CompiledSegment::new(trial)?;
        let least = segment.groups.iter().map(|group| group.flow.frames.range_bits().0).min();
        let medium = &trial.scenario.media[0];
        let plca = CompiledPlca::new(medium, plca, least.unwrap_or(0), "media[0]")?;
        Ok(Self { segment, plca })
    }

    /// The segment of CSMA/CD on which the stations contend as on this bus while nobody uses PLCA:
    /// an end delimiter is carrier, so it lengthens the gap that follows, and carrier in it starts
    /// the gap anew, as carrier in its first part does.
    #[must_use]
    pub fn contention(&self) -> CompiledSegment {
        let mut segment = self.segment.clone();
        segment.medium.lengthen_gaps(self.plca.end_delimiter);
        segment
    }

    /// Whether [`Self::contention`] gives the same attempts to the picosecond: nobody uses PLCA,
    /// jams at once, owes a gap after a backoff or is silent at times, PHYs have no latencies, all stations owe one gap, and nothing that
    /// collides with a transmission arrives at its sender as late as its end, or in the delimiter.
    #[must_use]
    pub fn is_contention(&self) -> bool {
        let plca = &self.plca;
        let (preamble, jam) = (self.segment.preamble, self.segment.jam);
        !plca.is_used()
            && plca.is_standard()
            && plca.nodes.iter().all(|node| node.silences.is_empty())
            && [plca.transmit, plca.carrier_on, plca.carrier_off] == [0; 3]
            && self.segment.groups.iter().all(|group| group.stations.priority_wait_ps == 0)
            && 2 * self.segment.max_delay < preamble + jam
    }
}

impl CompiledBus {
    /// The same of a segment with PLCA or without it.
    ///
    /// # Errors
    /// With the path of the key and what is allowed.
    ///
    /// # Panics
    /// If the trial has no medium.
    pub fn of_segment(trial: &Trial) -> Result<Self, Fault> {
        let medium = &trial.scenario.media[0];
        if let Mac::Plca(plca) = &medium.mac {
            return Self::new(trial, plca);
        }
        let segment = CompiledSegment::new(trial)?;
        Ok(Self { segment, plca: CompiledPlca::absent(medium, "media[0]")? })
    }
}

impl CompiledPlca {
    /// Whether all MACs do what clause 4 says.
    #[must_use]
    pub fn is_standard(&self) -> bool {
        !self.jams_at_once && !self.gap_after_backoff
    }

    /// Whether a frame of so many bits is damaged by the line, drawn where bits can be wrong.
    #[inline]
    pub fn damages(&self, bits: u64, chance: &mut Stream) -> bool {
        let rate = self.bit_error_rate;
        rate > 0.0 && chance.unit() >= whole(rate, bits)
    }

    /// Whether a node uses PLCA, at least at times.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.nodes.iter().any(|node| !node.switches.is_empty())
    }

    /// PHYs of a medium whose stations have no PLCA: without latencies and end delimiters.
    ///
    /// # Errors
    /// With the path of the key and what is allowed.
    pub fn absent(medium: &Medium, path: &str) -> Result<Self, Fault> {
        let mut nodes = Vec::new();
        for (number, stations) in medium.stations.iter().enumerate() {
            let key = format!("{path}.stations[{number}]");
            if stations.plca.is_some() {
                return Err(Fault::new(format!("{key}.plca"), "must be absent without PLCA"));
            }
            check_stations(&key, stations)?;
            nodes.extend(stations.points.iter().map(|_| Node::without_plca(stations)));
        }
        Ok(Self {
            is_there: false,
            end_delimiter: 0,
            transmit: 0,
            carrier_on: 0,
            carrier_off: 0,
            beacon_loss: 0.0,
            bit_error_rate: 0.0,
            jams_at_once: false,
            gap_after_backoff: false,
            nodes,
        })
    }

    /// Check PHYs and PLCA of a medium and convert them. Frames have at least `least_bits`; `path`
    /// is that of the medium's key.
    ///
    /// # Errors
    /// With the path of the key and what is allowed.
    pub fn new(medium: &Medium, plca: &Plca, least_bits: u64, path: &str) -> Result<Self, Fault> {
        check_constants(plca, path)?;
        let mut nodes = Vec::new();
        for (number, stations) in medium.stations.iter().enumerate() {
            check_stations(&format!("{path}.stations[{number}]"), stations)?;
            for index in 0..stations.points.len() {
                nodes.push(Node::new(medium, plca, stations, index));
            }
        }
        let shortest = plca.csma_cd.preamble_bits + least_bits;
        let within = |key: &str| format!("{path}.mac.plca.{key}");
        if plca.delay_line_bits >= shortest {
            let allowed = format!("must be below the shortest frame with its preamble, {shortest}");
            return Err(Fault::new(within("delay_line_bits"), allowed).got(plca.delay_line_bits));
        }
        if plca.csma_cd.turnaround_ps > 0 {
            return Err(Fault::new(within("csma_cd.turnaround_ps"), "must be 0 with PLCA"));
        }
        Ok(Self {
            is_there: true,
            end_delimiter: signed(plca.end_delimiter_bits * medium.bit_ps),
            transmit: signed(plca.transmit_ps),
            carrier_on: signed(plca.carrier_on_ps),
            carrier_off: signed(plca.carrier_off_ps),
            beacon_loss: plca.beacon_loss,
            bit_error_rate: plca.bit_error_rate,
            jams_at_once: plca.jams_at_once,
            gap_after_backoff: plca.gap_after_backoff,
            nodes,
        })
    }
}

/// Probability that a frame has no wrong bit.
#[allow(clippy::cast_precision_loss)] // far below 2^52
pub(super) fn whole(bit_error_rate: f64, bits: u64) -> f64 {
    (1.0 - bit_error_rate).powf(bits as f64)
}

impl Node {
    fn without_plca(stations: &Stations) -> Self {
        Self {
            parameters: Parameters { ids: Vec::new(), node_count: 0, burst_count: 0 },
            durations: [0; TIMERS],
            falls_back: true,
            switches: Vec::new(),
            silences: changes(&stations.down).collect(),
        }
    }

    fn new(medium: &Medium, plca: &Plca, stations: &Stations, index: usize) -> Self {
        let bits = |count: u64| signed(count * medium.bit_ps);
        let nodes = stations.plca.as_ref();
        let byte = |pick: fn(&PlcaNodes) -> u8| bits(u64::from(nodes.map_or(0, pick)));
        let mut durations = [0; TIMERS];
        for (timer, duration) in [
            (Timer::Hold, bits(plca.delay_line_bits)),
            (Timer::Pending, bits(plca.pending_bits)),
            (Timer::Commit, bits(plca.commit_bits)),
            (Timer::Beacon, bits(plca.beacon_bits)),
            (Timer::BeaconDetection, bits(plca.beacon_detection_bits)),
            (Timer::InvalidBeacon, bits(plca.invalid_beacon_bits)),
            (Timer::Opportunity, byte(|nodes| nodes.opportunity_bits)),
            (Timer::Burst, byte(|nodes| nodes.burst_bits)),
            (Timer::Status, bits(plca.status_bits)),
        ] {
            durations[timer as usize] = duration;
        }
        let switches = nodes.map_or_else(Vec::new, |nodes| {
            let mut switches = vec![(0, true)];
            switches.extend(changes(&nodes.off).map(|(at, is_off)| (at, !is_off)));
            switches
        });
        Self {
            parameters: Parameters {
                ids: nodes.map_or_else(Vec::new, |nodes| nodes.ids[index].clone()),
                node_count: nodes.map_or(0, |nodes| nodes.node_count),
                burst_count: nodes.map_or(0, |nodes| nodes.burst_count),
            },
            durations,
            falls_back: nodes.is_none_or(|nodes| nodes.falls_back),
            switches,
            silences: changes(&stations.down).collect(),
        }
    }
}

fn changes(intervals: &[Interval]) -> impl Iterator<Item = (i64, bool)> + '_ {
    intervals
        .iter()
        .flat_map(|&Interval { from_ps, to_ps }| [(signed(from_ps), true), (signed(to_ps), false)])
}

fn check_constants(plca: &Plca, path: &str) -> Result<(), Fault> {
    let path = |key: &str| format!("{path}.mac.plca.{key}");
    for (key, value, least, most) in [
        ("end_delimiter_bits", plca.end_delimiter_bits, 0, plca.csma_cd.gap_bits),
        ("beacon_bits", plca.beacon_bits, 1, 1 << 10),
        ("beacon_detection_bits", plca.beacon_detection_bits, plca.beacon_bits + 1, 1 << 10),
        ("invalid_beacon_bits", plca.invalid_beacon_bits, 1, 1 << 10),
        ("delay_line_bits", plca.delay_line_bits, 1, 1 << 16),
        ("pending_bits", plca.pending_bits, 1, 1 << 16),
        ("commit_bits", plca.commit_bits, plca.csma_cd.gap_bits + 1, 1 << 16),
        ("status_bits", plca.status_bits, 1, 1 << 24),
        ("transmit_ps", plca.transmit_ps, 0, LONGEST_LATENCY_PS),
        ("carrier_on_ps", plca.carrier_on_ps, 0, LONGEST_LATENCY_PS),
        ("carrier_off_ps", plca.carrier_off_ps, 0, LONGEST_LATENCY_PS),
    ] {
        check_range(&path(key), value, least, most)?;
    }
    for (key, value, most) in [
        ("beacon_loss", plca.beacon_loss, 1.0),
        ("bit_error_rate", plca.bit_error_rate, HIGHEST_BIT_ERROR_RATE),
    ] {
        if !(0.0..=most).contains(&value) {
            return Err(Fault::new(path(key), format!("must be 0 to {most}")).got(value));
        }
    }
    Ok(())
}

fn check_stations(path: &str, stations: &Stations) -> Result<(), Fault> {
    let path = |key: &str| format!("{path}.{key}");
    check_intervals(&path("down"), &stations.down)?;
    let Some(nodes) = &stations.plca else { return Ok(()) };
    if nodes.ids.len() != stations.points.len() {
        let allowed = format!("must have {} entries, one a station", stations.points.len());
        return Err(Fault::new(path("plca.ids"), allowed).got(nodes.ids.len()));
    }
    for ids in &nodes.ids {
        if ids.is_empty() || ids.contains(&255) {
            let allowed = "must have one or several numbers from 0 to 254 for each station";
            return Err(Fault::new(path("plca.ids"), allowed).got(format!("{ids:?}")));
        }
    }
    check_range(&path("plca.node_count"), u64::from(nodes.node_count), 1, 255)?;
    check_range(&path("plca.opportunity_bits"), u64::from(nodes.opportunity_bits), 1, 255)?;
    check_intervals(&path("plca.off"), &nodes.off)
}

fn check_intervals(path: &str, intervals: &[Interval]) -> Result<(), Fault> {
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
