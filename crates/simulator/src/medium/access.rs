//! What a node does between its host and the line: its MAC, and what may stand between MAC and line.

use super::line::Line;
use super::signals::Symbol;
use super::signals::{Inputs, Sending};
use crate::identity::StationId;
use crate::mac;
use crate::mac::transmitter::Attempt;
use crate::time::{Instant, Span};
use ethermeter_trial::counts::PlcaCounts;

/// Medium access of a node: a step over what is on the line.
///
/// Without anything between them, MAC and line are connected: what the MAC sends is on the line, it
/// hears the line, and another signal while it sends is a collision.
pub trait Access {
    /// Its MAC.
    type Mac: mac::access::Access;
    /// Its timers besides those of the MAC.
    type Timer: Timer;
    /// What is counted of the accesses of a medium.
    type Counters: Counters;

    /// Whether carrier that begins in an instant is heard before carrier that ends in it, so that
    /// the two join.
    const JOINS: bool;

    /// Whether its MAC hears the line itself, and says when it collides; otherwise
    /// [`Access::mac_collision`] says so.
    const MAC_HEARS: bool;

    /// Its MAC.
    fn mac(&mut self) -> &mut Self::Mac;

    /// The host tries its frame again after a backoff.
    fn ready_after_backoff(&mut self) -> mac::access::Next {
        mac::access::Access::ready(self.mac())
    }

    /// It is switched on or off.
    fn enable(&mut self, _is_enabled: bool) {}

    /// Take transitions until none is open.
    fn settle(&mut self, _now: Instant, _inputs: Inputs) {}

    /// What it puts on the line.
    fn output(&self, inputs: Inputs) -> Sending {
        if inputs.mac_sends { Sending::Data } else { Sending::Nothing }
    }

    /// Whether the MAC hears carrier, its own transmission aside.
    fn mac_carrier(&self, inputs: Inputs) -> bool {
        inputs.others || inputs.carrier && !inputs.mac_sends
    }

    /// Whether the MAC gets a collision signal.
    fn mac_collision(&self, _inputs: Inputs) -> bool {
        false
    }

    /// Whether it may do something more when its MAC does this.
    #[must_use]
    fn is_moved_by(_next: mac::access::Next) -> bool {
        true
    }

    /// Whether it does nothing more when its signals have changed from some to others.
    #[must_use]
    fn is_at_rest(before: Inputs, after: Inputs) -> bool {
        before == after
    }

    /// Whether a collision is one of the line, not a signal to the MAC alone.
    fn is_connected(&self) -> bool {
        true
    }

    /// Whether a frame that goes out is whole though the MAC began it earlier.
    fn is_transmitting(&self) -> bool {
        false
    }

    /// The next timer that was started and not taken.
    fn take_started(&mut self) -> Option<Started<Self::Timer>> {
        None
    }

    /// A timer is over. Whether it was not stopped or started again before.
    fn end_timer(&mut self, _timer: Self::Timer, _number: u64) -> bool {
        false
    }

    /// Whether nodes may miss what is on the line of others.
    fn may_miss(&self) -> bool {
        false
    }

    /// Whether it does not hear that the signal of a node changes at `at`.
    fn misses(&mut self, _change: Change, _counters: &mut Self::Counters) -> bool {
        false
    }

    /// Count what it did.
    fn count(
        &mut self,
        _station: StationId,
        _now: Instant,
        _line: &mut Line,
        _counters: &mut Self::Counters,
    ) {
    }

    /// Count what was over before `now`, or at it if that is included, and had no events.
    fn catch_up(
        &mut self,
        _station: StationId,
        _now: Instant,
        _is_included: bool,
        _counters: &mut Self::Counters,
    ) {
    }

    /// Its MAC has sent a frame. Whether that followed another one in one opportunity.
    fn deliver(&mut self) -> bool {
        false
    }
}

/// A timer of an access.
pub trait Timer: Copy + PartialEq + std::fmt::Debug {
    /// Whether it is over before other timers of its instant.
    fn is_first(self) -> bool;

    /// Whether it is started again, as a rule, before it is over; a station has one such at most.
    fn is_restarted(self) -> bool;
}

/// An access without timers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoTimer {}

impl Timer for NoTimer {
    fn is_first(self) -> bool {
        match self {}
    }

    fn is_restarted(self) -> bool {
        match self {}
    }
}

/// A timer that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started<T> {
    /// Which.
    pub timer: T,
    /// Number of the start; a later one replaces it.
    pub number: u64,
    /// How long until it is over.
    pub after: Span,
}

/// How the signal of a node changes, as another node is to hear it.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// The node whose signal changes, and the one that is to hear it.
    pub from: StationId,
    /// The node that is to hear it.
    pub station: StationId,
    /// What was on the line of the node.
    pub before: Symbol,
    /// What is on it.
    pub symbol: Symbol,
    /// When that is heard.
    pub at: Instant,
}

/// What is counted of the accesses of a medium, besides what hosts count.
pub trait Counters {
    /// A node begins a beacon.
    fn begin_cycle(&mut self, _station: StationId, _now: Instant) {}

    /// A frame was delivered. `first` is when the MAC began its first attempt; `is_burst` says that
    /// it followed another one.
    fn deliver(
        &mut self,
        _station: StationId,
        _delivered: &Attempt,
        _first: Instant,
        _is_burst: bool,
    ) {
    }

    /// The MAC of a node got a collision signal, and no bits collided.
    fn collide(&mut self, _station: StationId, _now: Instant) {}

    /// What was counted, with the times of beacons, held lines and opportunities; None of an access
    /// that has none.
    fn finish(self, times: [Span; 3]) -> Option<PlcaCounts>;
}

impl Counters for () {
    fn finish(self, _: [Span; 3]) -> Option<PlcaCounts> {
        None
    }
}

/// A MAC that is connected to the line.
#[derive(Clone, Debug)]
pub struct Direct<M>(pub M);

impl<M: mac::access::Access> Access for Direct<M> {
    type Mac = M;
    type Timer = NoTimer;
    type Counters = ();

    const JOINS: bool = true;
    const MAC_HEARS: bool = true;

    fn mac(&mut self) -> &mut M {
        &mut self.0
    }

    fn mac_carrier(&self, inputs: Inputs) -> bool {
        inputs.others // it knows when it sends itself
    }

    fn is_moved_by(next: mac::access::Next) -> bool {
        next == mac::access::Next::Start
    }

    fn is_at_rest(before: Inputs, after: Inputs) -> bool {
        (before.others, before.mac_sends) == (after.others, after.mac_sends)
    }
}
