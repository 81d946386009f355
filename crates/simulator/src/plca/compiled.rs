//! A bus in picoseconds, checked and ready to run.

use super::control::Parameters;
use super::timers::{TIMERS, Timer};
use crate::medium::compiled::{Phy, Switches, check_intervals, check_share};
use crate::segment::compiled::CompiledSegment;
use crate::time::Span;
use ethermeter_trial::fault::check_range;
use ethermeter_trial::medium::{Medium, Stations};
use ethermeter_trial::plca::{Plca, PlcaNodes};
use ethermeter_trial::{Fault, Trial};

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
    /// Probability that a node does not hear a beacon.
    pub beacon_loss: f64,
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
    pub durations: [Span; TIMERS],
    /// Whether it becomes CSMA/CD without beacons.
    pub falls_back: bool,
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
        segment.medium.lengthen_gaps(self.segment.phy.end_delimiter);
        segment.medium.phy = Phy::default();
        segment.medium.switches.fill(Switches::default());
        segment
    }

    /// Whether all MACs do what clause 4 says.
    #[must_use]
    pub fn is_standard(&self) -> bool {
        !self.segment.jams_at_once && !self.plca.gap_after_backoff
    }

    /// Whether [`Self::contention`] gives the same attempts to the picosecond: nobody uses PLCA,
    /// jams at once, owes a gap after a backoff or is silent at times, PHYs have no latencies, all stations owe one gap, and nothing that
    /// collides with a transmission arrives at its sender as late as its end, or in the delimiter.
    #[must_use]
    pub fn is_contention(&self) -> bool {
        let (medium, preamble, jam) =
            (&self.segment.medium, self.segment.preamble, self.segment.jam);
        medium.switches.iter().all(|of| of.access.is_empty() && of.silent.is_empty())
            && medium.phy.is_immediate()
            && self.is_standard()
            && self.segment.groups.iter().all(|group| group.stations.priority_wait_ps == 0)
            && self.segment.max_delay * 2 < preamble + jam
    }
}

impl CompiledPlca {
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
        Ok(Self { beacon_loss: plca.beacon_loss, gap_after_backoff: plca.gap_after_backoff, nodes })
    }
}

impl Node {
    fn new(medium: &Medium, plca: &Plca, stations: &Stations, index: usize) -> Self {
        let bits = |count: u64| Span::from_ps(count * medium.bit_ps);
        let nodes = stations.plca.as_ref();
        let byte = |pick: fn(&PlcaNodes) -> u8| bits(u64::from(nodes.map_or(0, pick)));
        let mut durations = [Span::ZERO; TIMERS];
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
        Self {
            parameters: Parameters {
                ids: nodes.map_or_else(Vec::new, |nodes| nodes.ids[index].clone()),
                node_count: nodes.map_or(0, |nodes| nodes.node_count),
                burst_count: nodes.map_or(0, |nodes| nodes.burst_count),
            },
            durations,
            falls_back: nodes.is_none_or(|nodes| nodes.falls_back),
        }
    }
}

fn check_constants(plca: &Plca, path: &str) -> Result<(), Fault> {
    let path = |key: &str| format!("{path}.mac.plca.{key}");
    for (key, value, least, most) in [
        ("beacon_bits", plca.beacon_bits, 1, 1 << 10),
        ("beacon_detection_bits", plca.beacon_detection_bits, plca.beacon_bits + 1, 1 << 10),
        ("invalid_beacon_bits", plca.invalid_beacon_bits, 1, 1 << 10),
        ("delay_line_bits", plca.delay_line_bits, 1, 1 << 16),
        ("pending_bits", plca.pending_bits, 1, 1 << 16),
        ("commit_bits", plca.commit_bits, plca.csma_cd.gap_bits + 1, 1 << 16),
        ("status_bits", plca.status_bits, 1, 1 << 24),
    ] {
        check_range(&path(key), value, least, most)?;
    }
    check_share(&path("beacon_loss"), plca.beacon_loss, 1.0)
}

fn check_stations(path: &str, stations: &Stations) -> Result<(), Fault> {
    let path = |key: &str| format!("{path}.{key}");
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
