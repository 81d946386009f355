//! A scenario in picoseconds, checked and ready to run.

use super::group::Group;
use crate::identity::{GroupId, StationId};
use crate::mac::backoff::StationClock;
use crate::mac::constants;
pub(crate) use crate::medium::compiled::small;
use crate::medium::compiled::{CompiledMedium, check_medium};
use crate::time::Span;
use ethermeter_traffic::admission::{Callers, drawn};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::calls::StationCalls;
use ethermeter_traffic::{SourceSpec, Window};
use ethermeter_trial::fault::check_range;
use ethermeter_trial::medium::Mac;
use ethermeter_trial::{Fault, Phases, Trial};

/// Path of the key of the medium.
const PATH: &str = "media[0]";
const LONGEST_END_PS: u64 = 10_000_000_000_000_000; // 10 000 s
const LONGEST_PACKET_PS: u64 = 1_000_000_000_000_000; // 1000 s

/// A trial in picoseconds.
#[derive(Clone, Debug)]
pub struct CompiledSegment {
    /// Seed of every draw.
    pub seed: u64,
    /// Where its stations are, and the constants of its MAC.
    pub medium: CompiledMedium,
    /// When what happens.
    pub phases: Phases,
    /// Equal parts of the measured window.
    pub batches: usize,
    /// The groups of stations.
    pub groups: Vec<Group>,
    /// The group of each station.
    pub group_of: Vec<GroupId>,
    /// The calls of each station, `None` of those that send all the time; empty if all do.
    pub calls: Vec<Option<StationCalls>>,
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
        let compiled = Self::with_custom(trial)?;
        match compiled.groups.iter().find_map(Group::custom_path) {
            Some(path) => {
                let allowed = "must not be a function in Python: only CSMA/CD of segments calls one, \
                     in the process that has registered it";
                Err(Fault::new(path, allowed))
            }
            None => Ok(compiled),
        }
    }

    /// The same of a trial whose stations may have rules of the caller's own, which
    /// [`crate::custom`] makes.
    ///
    /// # Errors
    /// As [`CompiledSegment::new`].
    ///
    /// # Panics
    /// As [`CompiledSegment::new`].
    pub fn with_custom(trial: &Trial) -> Result<Self, Fault> {
        let (medium, phases) = (&trial.scenario.media[0], trial.scenario.phases);
        let constants = constants(&medium.mac);
        let groups = Group::all(&trial.scenario)?;
        check_medium(medium, PATH)?;
        check_phases(&phases, trial.scenario.batches)?;
        let mut group_of = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            group.check(medium.delay_ps.len(), medium.bit_ps)?;
            if group.flow.calls.is_some() && !matches!(medium.mac, Mac::CsmaCd(_)) {
                let allowed = "must not be given on a medium other than CSMA/CD alone";
                return Err(Fault::new(group.flow_path("calls"), allowed));
            }
            let (_, most_bits) = group.flow.frames.range_bits();
            let longest = (constants.preamble_bits + most_bits).checked_mul(medium.bit_ps);
            if longest.is_none_or(|ps| ps > LONGEST_PACKET_PS) {
                let allowed = "a packet must not take longer than 1000 s";
                return Err(Fault::new(group.flow_path("frames"), allowed));
            }
            group_of.extend(std::iter::repeat_n(GroupId::new(index), group.stations.points.len()));
        }
        let mut compiled = Self {
            seed: trial.seed,
            medium: CompiledMedium::new(medium, PATH)?,
            phases,
            batches: trial.scenario.batches as usize,
            groups,
            group_of,
            calls: Vec::new(),
        };
        compiled.draw_calls();
        Ok(compiled)
    }

    /// Draw the calls of all stations that have some.
    fn draw_calls(&mut self) {
        let (mut callers, mut first) = (Vec::new(), 0);
        for group in &self.groups {
            let stations = first..first + group.stations.points.len();
            first = stations.end;
            if let Some(calls) = &group.flow.calls {
                callers.push(Callers {
                    calls: calls.clone(),
                    first: small(stations.start),
                    sources: stations.map(|at| self.source_spec(StationId::new(at))).collect(),
                });
            }
        }
        if callers.is_empty() {
            return;
        }
        self.calls = vec![None; self.stations()];
        let window = self.window(self.phases.begin_ps);
        for (group, of_each) in callers.iter().zip(drawn(&callers, self.seed, window)) {
            for (calls, at) in of_each.into_iter().zip(group.first as usize..) {
                self.calls[at] = Some(calls);
            }
        }
    }

    /// The calls of a station; `None` if it sends all the time.
    #[must_use]
    pub fn calls_of(&self, station: StationId) -> Option<&StationCalls> {
        self.calls.get(station.index())?.as_ref()
    }

    /// The group of a station.
    #[must_use]
    pub fn group(&self, station: StationId) -> &Group {
        &self.groups[self.group_of[station]]
    }

    /// What a station offers, by the clock of its host.
    #[must_use]
    pub fn source_spec(&self, station: StationId) -> SourceSpec {
        let mut spec = self.group(station).flow.source_spec();
        if let Arrivals::Coder { sample_ps, .. } = &mut spec.arrivals {
            let stations = &self.group(station).stations;
            let clock = StationClock::new(stations, self.slot, (self.seed, station.number()));
            *sample_ps = clock.true_time(Span::from_ps(*sample_ps)).ps();
        }
        spec
    }

    /// Whether a station sends voice.
    #[must_use]
    pub fn is_voice(&self, station: StationId) -> bool {
        self.group(station).is_voice()
    }

    /// Whether a station has a rule of the caller's own.
    #[must_use]
    pub fn has_custom(&self) -> bool {
        self.groups.iter().any(|group| group.custom_path().is_some())
    }

    /// Whether no station has a turnaround time, a priority wait or a voice source.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let waits = || self.groups.iter().any(|group| group.stations.priority_wait_ps > 0);
        self.turnaround == Span::ZERO
            && !waits()
            && !StationId::first(self.stations()).any(|station| self.is_voice(station))
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
}

impl std::ops::Deref for CompiledSegment {
    type Target = CompiledMedium;

    fn deref(&self) -> &CompiledMedium {
        &self.medium
    }
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
