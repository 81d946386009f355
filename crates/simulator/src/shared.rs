//! A shared medium with PLCA or without it, among other things that happen: in a network, or between
//! real interfaces.

use crate::identity::StationId;
use crate::mac::backoff::Draws;
use crate::mac::csma_cd::CsmaCd;
use crate::medium::Medium;
use crate::medium::access::Direct;
use crate::medium::compiled::CompiledMedium;
use crate::medium::hosts::Hosts;
use crate::plca::access::PlcaAccess;
use crate::plca::compiled::{CompiledBus, CompiledPlca};
use crate::plca::counters::BusCounters;
use crate::plca::idle::IdleCycles;
use crate::segment::compiled::CompiledSegment;
use crate::time::Instant;
use ethermeter_trial::counts::PlcaCounts;
use ethermeter_trial::medium::Mac;
use ethermeter_trial::{Fault, Phases, Trial};

/// A segment whose stations share a medium, in picoseconds.
#[derive(Clone, Debug)]
pub enum SharedSegment {
    /// Stations of CSMA/CD.
    CsmaCd(CompiledSegment),
    /// Nodes with PLCA, used or not.
    Plca(CompiledBus),
}

impl SharedSegment {
    /// Check a trial whose stations share one medium, and convert it.
    ///
    /// # Errors
    /// With the path of the key and what is allowed.
    ///
    /// # Panics
    /// If the trial has no medium.
    pub fn new(trial: &Trial) -> Result<Self, Fault> {
        Ok(match &trial.scenario.media[0].mac {
            Mac::Plca(plca) => Self::Plca(CompiledBus::new(trial, plca)?),
            _ => Self::CsmaCd(CompiledSegment::new(trial)?),
        })
    }

    /// Stations, positions and constants of the MAC.
    #[must_use]
    pub fn segment(&self) -> &CompiledSegment {
        match self {
            Self::CsmaCd(segment) => segment,
            Self::Plca(bus) => &bus.segment,
        }
    }

    /// Stations, positions and constants of the MAC.
    pub fn segment_mut(&mut self) -> &mut CompiledSegment {
        match self {
            Self::CsmaCd(segment) => segment,
            Self::Plca(bus) => &mut bus.segment,
        }
    }

    /// Its nodes with PLCA, if it has any.
    #[must_use]
    pub fn plca(&self) -> Option<&CompiledPlca> {
        match self {
            Self::CsmaCd(_) => None,
            Self::Plca(bus) => Some(&bus.plca),
        }
    }

    /// Its idle cycles; None if there are none, or they are not all alike.
    #[must_use]
    pub fn idle_cycles(&self) -> Option<IdleCycles> {
        match self {
            Self::CsmaCd(_) => None,
            Self::Plca(bus) => IdleCycles::new(bus),
        }
    }

    /// Its medium before its first event, with these hosts.
    pub fn medium<H: Hosts>(&self, hosts: H) -> SharedMedium<'_, H> {
        let segment = self.segment();
        let streams = (segment.seed, 0);
        SharedMedium::new(&segment.medium, self.plca(), &segment.phases, streams, hosts)
    }
}

/// A medium whose events are taken one by one.
#[expect(clippy::large_enum_variant, reason = "there are few, and each is stepped often")]
pub enum SharedMedium<'w, H> {
    /// Stations of CSMA/CD.
    CsmaCd(Medium<'w, Direct<CsmaCd>, H>),
    /// Nodes with PLCA, used or not.
    Plca(Medium<'w, PlcaAccess, H>),
}

/// Do the same with either medium.
macro_rules! either {
    ($medium:expr, $name:ident => $do:expr) => {
        match $medium {
            SharedMedium::CsmaCd($name) => $do,
            SharedMedium::Plca($name) => $do,
        }
    };
}

impl<'w, H: Hosts> SharedMedium<'w, H> {
    /// A medium before its first event. Streams of draws have the numbers of stations from `first`
    /// on.
    pub fn new(
        medium: &'w CompiledMedium,
        plca: Option<&CompiledPlca>,
        phases: &Phases,
        (seed, first): Draws,
        hosts: H,
    ) -> Self {
        let streams = (seed, first);
        if let Some(plca) = plca {
            let accesses = PlcaAccess::all(medium, plca, streams);
            let counters = BusCounters::of(accesses.len(), phases);
            return Self::Plca(Medium::new(medium, accesses, counters, phases, streams, hosts));
        }
        let access = |station| Direct(CsmaCd::new(medium.gap_of(station)));
        let accesses = StationId::first(medium.stations()).map(access).collect();
        Self::CsmaCd(Medium::new(medium, accesses, (), phases, streams, hosts))
    }

    /// Who sends on it.
    pub fn hosts(&self) -> &H {
        either!(self, medium => &medium.hosts)
    }

    /// Who sends on it.
    pub fn hosts_mut(&mut self) -> &mut H {
        either!(self, medium => &mut medium.hosts)
    }

    /// When its next event is.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        either!(self, medium => medium.next_at())
    }

    /// The same, and the rank of the event.
    pub(crate) fn next_rank(&self) -> Option<(Instant, u8)> {
        either!(self, medium => medium.next_rank())
    }

    /// Take its next event.
    pub fn step(&mut self) {
        either!(self, medium => drop(medium.step()));
    }

    /// A station has a frame.
    pub fn make_ready(&mut self, now: Instant, station: StationId) {
        either!(self, medium => medium.make_ready(now, station));
    }

    /// A station has a frame now.
    pub(crate) fn offer(&mut self, now: Instant, station: StationId) {
        match self {
            Self::CsmaCd(medium) => medium.offer(now, station),
            Self::Plca(medium) => medium.make_ready(now, station),
        }
    }

    /// Another node keeps the line busy for a station, or no longer does.
    pub(crate) fn hold(&mut self, now: Instant, station: StationId, is_held: bool) {
        either!(self, medium => medium.hold(now, station, is_held));
    }

    /// Sum up what has ended and been heard by all nodes at `now`.
    pub fn sum_up_until(&mut self, now: Instant) {
        either!(self, medium => medium.sum_up_until(now));
    }

    /// Skip idle cycles before `limit`, as [`IdleCycles::skip`] does.
    pub fn skip(&mut self, cycles: &IdleCycles, limit: Instant) -> Option<u64> {
        match self {
            Self::CsmaCd(_) => None,
            Self::Plca(medium) => cycles.skip(medium, limit),
        }
    }

    /// Cycles of the measured window so far: from a beacon to the next one.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        match self {
            Self::CsmaCd(_) => 0,
            Self::Plca(medium) => medium.counters.cycles(),
        }
    }

    /// Whether the PLCA status of a node is OK, and its own opportunities in the measured window so
    /// far: used, yielded, missed.
    #[must_use]
    pub fn turns_of(&self, station: StationId) -> (bool, [u64; 3]) {
        match self {
            Self::CsmaCd(_) => (false, [0; 3]),
            Self::Plca(medium) => {
                let is_ok = medium.nodes[station].access.sublayer.is_ok();
                (is_ok, medium.counters.opportunities_of(station))
            }
        }
    }

    /// Its hosts, channel time as of [`ethermeter_trial::counts::MediumCounts`], and what was
    /// counted of cycles and opportunities, if it has PLCA.
    pub fn finish(self) -> (H, [u64; 5], Option<PlcaCounts>) {
        either!(self, medium => medium.finish())
    }
}
