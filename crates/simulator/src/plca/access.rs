//! Medium access of a node with PLCA: its MAC, and the reconciliation sublayer between MAC and line.

use super::compiled::CompiledPlca;
use super::control::Opportunity;
use super::counters::BusCounters;
use super::sublayer::Sublayer;
use super::timers::Timer;
use crate::identity::StationId;
use crate::mac::access::{Access as _, Next};
use crate::mac::backoff::Draws;
use crate::mac::csma_cd::CsmaCd;
use crate::medium::access::{Access, Change, Started};
use crate::medium::compiled::CompiledMedium;
use crate::medium::line::Line;
use crate::medium::signals::Symbol;
use crate::medium::signals::{Inputs, Sending};
use crate::time::Instant;
use ethermeter_traffic::{Purpose, Stream};

/// The access of a node with PLCA, which may be off.
#[derive(Clone, Debug)]
pub struct PlcaAccess {
    pub(super) mac: CsmaCd,
    pub(crate) sublayer: Sublayer,
    /// Frames sent in the opportunity under way.
    pub(super) sent_in_opportunity: u32,
    /// Whether its MAC owes a gap after a backoff.
    gap_after_backoff: bool,
    beacon_loss: f64,
    /// Whether it has missed the beacon that another node sends.
    has_missed: Vec<bool>,
    pub(super) chance: Stream,
}

impl PlcaAccess {
    /// The accesses of all nodes. Streams of draws have the numbers of stations from `first` on.
    #[must_use]
    pub fn all(medium: &CompiledMedium, plca: &CompiledPlca, (seed, first): Draws) -> Vec<Self> {
        let count = plca.nodes.len();
        let nodes = StationId::first(count).zip(&plca.nodes);
        nodes
            .map(|(station, node)| Self {
                mac: CsmaCd::new(medium.gap_of(station)),
                sublayer: Sublayer::new(node.parameters.clone(), node.durations, node.falls_back),
                sent_in_opportunity: 0,
                gap_after_backoff: plca.gap_after_backoff,
                beacon_loss: plca.beacon_loss,
                has_missed: vec![false; count],
                chance: Stream::new(seed, first + station.number(), Purpose::Beacon),
            })
            .collect()
    }
}

impl Access for PlcaAccess {
    type Mac = CsmaCd;
    type Timer = Timer;
    type Counters = BusCounters;

    /// Two nodes that use opportunities which follow each other leave a silence between them,
    /// however short.
    const JOINS: bool = false;
    const MAC_HEARS: bool = false;

    fn mac(&mut self) -> &mut CsmaCd {
        &mut self.mac
    }

    fn ready_after_backoff(&mut self) -> Next {
        if self.gap_after_backoff { self.mac.ready_after_gap() } else { self.mac.ready() }
    }

    fn enable(&mut self, is_enabled: bool) {
        self.sublayer.enable(is_enabled);
    }

    fn settle(&mut self, now: Instant, inputs: Inputs) {
        self.sublayer.settle(now, inputs);
    }

    fn output(&self, inputs: Inputs) -> Sending {
        self.sublayer.output(inputs)
    }

    fn mac_carrier(&self, inputs: Inputs) -> bool {
        self.sublayer.mac_carrier(inputs)
    }

    fn mac_collision(&self, inputs: Inputs) -> bool {
        self.sublayer.mac_collision(inputs)
    }

    fn is_connected(&self) -> bool {
        self.sublayer.is_connected()
    }

    fn is_transmitting(&self) -> bool {
        self.sublayer.is_transmitting()
    }

    fn take_started(&mut self) -> Option<Started<Timer>> {
        self.sublayer.take_started()
    }

    fn end_timer(&mut self, timer: Timer, number: u64) -> bool {
        self.sublayer.end_timer(timer, number)
    }

    fn may_miss(&self) -> bool {
        self.beacon_loss > 0.0
    }

    fn misses(&mut self, change: Change, counters: &mut BusCounters) -> bool {
        let Change { from, station, before, symbol, at } = change;
        let missed = &mut self.has_missed[from];
        if symbol == Symbol::Beacon && self.beacon_loss > 0.0 {
            *missed = self.chance.unit() < self.beacon_loss;
            if *missed {
                counters.lose_beacon(station, at);
            }
        }
        *missed && (symbol == Symbol::Beacon || before == Symbol::Beacon)
    }

    fn count(
        &mut self,
        station: StationId,
        now: Instant,
        line: &mut Line,
        counters: &mut BusCounters,
    ) {
        if !self.sublayer.take_moved() {
            return;
        }
        while let Some(ended) = self.sublayer.take_ended() {
            counters.end_opportunity(station, ended, now);
            self.sent_in_opportunity = 0;
        }
        for _ in 0..self.sublayer.take_passed() {
            counters.pass_opportunity(now);
        }
        counters.set_status(station, self.sublayer.is_ok(), now);
        if self.sublayer.is_coordinator() {
            line.set_active(now, self.sublayer.is_active());
            if !self.sublayer.is_active() {
                counters.end_cycles(station);
            }
        }
    }

    /// Count the opportunities in which nothing happened. They have no events.
    fn catch_up(
        &mut self,
        station: StationId,
        now: Instant,
        is_included: bool,
        counters: &mut BusCounters,
    ) {
        let Some(passed) = self.sublayer.catch_up(now, is_included) else { return };
        let control = &self.sublayer.control;
        let is_coordinator = control.is_coordinator();
        let mut end = passed.end;
        for opportunity in passed.first..passed.first + passed.count {
            if control.owns(opportunity) {
                counters.end_opportunity(station, Opportunity::Yielded, end);
                self.sent_in_opportunity = 0;
            }
            if is_coordinator {
                counters.pass_opportunity(end);
            }
            end += passed.duration;
        }
    }

    fn deliver(&mut self) -> bool {
        self.sent_in_opportunity += u32::from(self.sublayer.takes_turns());
        self.sent_in_opportunity > 1
    }
}
