//! Which opportunity it is, and what the node does with it: the PLCA control state diagram (802.3
//! Figure 148-3, as amended by the draft 802.3da: invalid beacons).
//!
//! ```text
//! coordinator   Recover ─► WaitTo … NextOpportunity ─► Resync ─► SendBeacon ─► Syncing ─► WaitTo …
//! other nodes   Resync ─► EarlyReceive ─► Syncing ─► WaitTo …
//!
//!            ┌───────────── opportunity over ──────────────────────────────┐
//!            ▼                                                             │
//! WaitTo ─┬─ own, frame pending ─► Commit ─► Transmit ⇄ Burst ─► (Abort) ─►│
//!         ├─ own, no frame ──────► Yield ─────────────────────────────────►│
//!         ├─ carrier ────────────► EarlyReceive ─► Receive ───────────────►│
//!         └─ of another, over ────────────────────────────► NextOpportunity ┘
//! ```

use super::timers::{Timer, Timers};
use crate::medium::signals::{Heard, Inputs, Sending};

/// Opportunities that may be counted in a cycle; a node that counts as many has lost the beacon.
const MOST_OPPORTUNITIES: u8 = 255;

/// State of the diagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// PLCA is off.
    #[default]
    Disable,
    /// It waits for a beacon, or, as coordinator, for silence to send one.
    Resync,
    /// The coordinator begins or resumes a cycle without a beacon.
    Recover,
    /// The coordinator sends a beacon.
    SendBeacon,
    /// The beacon is on the line; the cycle begins with its end.
    Syncing,
    /// An opportunity has begun.
    WaitTo,
    /// Carrier, of which it is not known what it is.
    EarlyReceive,
    /// It holds the line until the MAC sends.
    Commit,
    /// It lets its own opportunity pass.
    Yield,
    /// Another node sends.
    Receive,
    /// It sends a frame.
    Transmit,
    /// It holds the line for another frame.
    Burst,
    /// It held the line in vain, and waits for silence.
    Abort,
    /// The next opportunity begins.
    NextOpportunity,
}

/// Parameters of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Opportunities of its own; with 0 it is the coordinator.
    pub ids: Vec<u8>,
    /// Opportunities of a cycle, if it is the coordinator.
    pub node_count: u8,
    /// Frames that it may send in an opportunity after the first.
    pub burst_count: u8,
}

/// How an opportunity of its own ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opportunity {
    /// With frames sent.
    Used,
    /// Let pass.
    Yielded,
    /// The line was held in vain, or another node sent in it.
    Missed,
}

/// The control machine of a node.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a variable of the figure, or a constant"
)]
pub struct Control {
    parameters: Parameters,
    is_coordinator: bool,
    pub(super) state: State,
    /// Number of the opportunity.
    pub(super) opportunity: u8,
    pub(super) is_active: bool,
    pub(super) committed: bool,
    pub(super) command: Sending,
    burst: u8,
    /// Whether it has sent in the opportunity that is under way.
    has_sent: bool,
    /// The opportunity of its own that has just ended.
    pub(super) ended: Option<Opportunity>,
}

impl Control {
    /// A node whose PLCA is off.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self {
            is_coordinator: parameters.ids.contains(&0),
            parameters,
            state: State::Disable,
            opportunity: 0,
            is_active: false,
            committed: false,
            command: Sending::Nothing,
            burst: 0,
            has_sent: false,
            ended: None,
        }
    }

    /// Whether it sends beacons.
    pub(super) fn is_coordinator(&self) -> bool {
        self.is_coordinator
    }

    /// Whether an opportunity has just ended, by the count of a coordinator.
    pub(super) fn has_passed(&self) -> bool {
        self.state == State::NextOpportunity && self.is_coordinator()
    }

    fn is_own(&self) -> bool {
        self.owns(self.opportunity)
    }

    /// Whether an opportunity is under way that it does not use.
    pub(super) fn lets_pass(&self) -> bool {
        matches!(self.state, State::WaitTo | State::Yield)
    }

    /// How many opportunities from this one on it lets pass if it hears nothing and no packet is to
    /// be sent before: up to its next own one if a packet is pending, else up to the end of the cycle.
    /// None if it is not in an opportunity that it lets pass.
    pub(super) fn idle_opportunities(&self, packet_pending: bool) -> Option<u8> {
        if !self.lets_pass() {
            return None;
        }
        let now = self.opportunity;
        let last = if self.is_coordinator() { self.parameters.node_count } else { u8::MAX };
        let own = self.parameters.ids.iter().filter(|&&id| packet_pending && id > now).min();
        Some(own.map_or(last, |&own| own.min(last)).saturating_sub(now).max(1))
    }

    /// Let `count` opportunities pass, all of which [`Self::idle_opportunities`] has counted but the
    /// last.
    pub(super) fn pass(&mut self, count: u8) {
        self.opportunity += count;
        self.has_sent = false;
        self.ended = None;
        self.state = if self.is_own() { State::Yield } else { State::WaitTo };
    }

    /// Whether an opportunity is its own.
    pub(super) fn owns(&self, opportunity: u8) -> bool {
        self.parameters.ids.contains(&opportunity)
    }

    /// Take one transition, if one is open. `sends` is the MII's `TX_EN`.
    pub fn step(
        &mut self,
        inputs: Inputs,
        is_enabled: bool,
        packet_pending: bool,
        sends: bool,
        timers: &mut Timers,
    ) -> bool {
        let Some(next) = self.next(inputs, is_enabled, packet_pending, sends, timers) else {
            return false;
        };
        self.note(next);
        self.enter(next, inputs, timers);
        true
    }

    #[expect(clippy::match_same_arms, reason = "one line for each arrow of the figure")]
    fn next(
        &self,
        inputs: Inputs,
        is_enabled: bool,
        packet_pending: bool,
        sends: bool,
        timers: &Timers,
    ) -> Option<State> {
        use State::{
            Abort, Burst, Commit, Disable, EarlyReceive, NextOpportunity, Receive, Recover, Resync,
            SendBeacon, Syncing, Transmit, WaitTo, Yield,
        };
        let coordinator = self.is_coordinator;
        let carrier = inputs.carrier;
        if !is_enabled {
            return (self.state != Disable).then_some(Disable);
        }
        if timers.is_done(Timer::InvalidBeacon) && self.state != Resync {
            return Some(Resync);
        }
        match self.state {
            Disable => Some(if coordinator { Recover } else { Resync }),
            Resync if coordinator => (!carrier && !sends).then_some(SendBeacon),
            Resync => carrier.then_some(EarlyReceive),
            Recover => Some(WaitTo),
            SendBeacon => timers.is_done(Timer::Beacon).then_some(Syncing),
            Syncing => (!carrier).then_some(WaitTo),
            WaitTo if carrier => Some(EarlyReceive),
            WaitTo if self.is_own() => {
                Some(if packet_pending && self.is_active { Commit } else { Yield })
            }
            WaitTo => timers.is_done(Timer::Opportunity).then_some(NextOpportunity),
            EarlyReceive => Self::after_early_receive(inputs, coordinator, timers),
            Commit if sends => Some(Transmit),
            Commit => (!packet_pending).then_some(Abort),
            Yield if timers.is_done(Timer::Opportunity) => Some(NextOpportunity),
            Yield => carrier.then_some(EarlyReceive),
            Receive => (!carrier).then_some(NextOpportunity),
            Transmit if sends => None,
            Transmit if self.burst < self.parameters.burst_count => Some(Burst),
            Transmit => (!carrier).then_some(NextOpportunity),
            Burst if sends => Some(Transmit),
            Burst => timers.is_done(Timer::Burst).then_some(Abort),
            Abort => (!carrier).then_some(NextOpportunity),
            NextOpportunity if coordinator && self.opportunity >= self.parameters.node_count => {
                Some(Resync)
            }
            NextOpportunity if self.opportunity == MOST_OPPORTUNITIES => Some(Resync),
            NextOpportunity => Some(WaitTo),
        }
    }

    fn after_early_receive(inputs: Inputs, coordinator: bool, timers: &Timers) -> Option<State> {
        let receiving = matches!(inputs.heard, Heard::Commit | Heard::Data);
        if receiving && inputs.carrier {
            return Some(State::Receive);
        }
        if coordinator {
            return (!inputs.carrier).then_some(State::Recover);
        }
        if inputs.heard == Heard::Beacon {
            return Some(State::Syncing);
        }
        if inputs.carrier {
            return None;
        }
        // A carrier as short as a beacon that could not be decoded is taken for one.
        let is_short = !timers.is_detection_done();
        Some(if is_short { State::Syncing } else { State::Resync })
    }

    /// Keep account of own opportunities.
    fn note(&mut self, next: State) {
        self.ended = None;
        match next {
            State::WaitTo => self.has_sent = false,
            State::Transmit => self.has_sent = true,
            State::NextOpportunity if self.is_own() => {
                self.ended = Some(match self.state {
                    State::Yield => Opportunity::Yielded,
                    _ if self.has_sent => Opportunity::Used,
                    _ => Opportunity::Missed,
                });
            }
            _ => {}
        }
    }

    fn enter(&mut self, next: State, inputs: Inputs, timers: &mut Timers) {
        self.state = next;
        match next {
            State::Disable => {
                self.command = Sending::Nothing;
                self.committed = false;
                self.opportunity = 0;
                self.is_active = false;
                timers.stop(Timer::InvalidBeacon);
            }
            State::Resync => {
                self.is_active = false;
                // It is left in any state, so what it was about to do is over.
                self.command = Sending::Nothing;
                self.committed = false;
                timers.stop(Timer::InvalidBeacon);
            }
            State::Recover => self.is_active = false,
            State::SendBeacon => {
                timers.start(Timer::Beacon);
                self.command = Sending::Beacon;
                self.is_active = true;
            }
            State::Syncing => {
                self.opportunity = 0;
                self.command = Sending::Nothing;
                self.is_active = true;
                if !self.is_coordinator && inputs.heard != Heard::Beacon {
                    timers.start(Timer::InvalidBeacon);
                }
            }
            State::WaitTo => timers.start(Timer::Opportunity),
            State::EarlyReceive => {
                timers.stop(Timer::Opportunity);
                timers.start_detection();
            }
            State::Commit => {
                self.command = Sending::Commit;
                self.committed = true;
                timers.stop(Timer::Opportunity);
                self.burst = 0;
            }
            State::Transmit => {
                self.command = Sending::Nothing;
                if self.burst >= self.parameters.burst_count {
                    self.committed = false;
                }
            }
            State::Burst => {
                self.burst += 1;
                self.command = Sending::Commit;
                timers.start(Timer::Burst);
            }
            State::Abort => {
                self.command = Sending::Nothing;
                self.committed = false;
            }
            State::NextOpportunity => {
                // What is received after the last one is counted from 0 on, without cycles.
                self.opportunity = self.opportunity.wrapping_add(1);
                self.committed = false;
            }
            State::Yield | State::Receive => {}
        }
    }
}
