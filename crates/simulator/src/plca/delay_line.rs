//! The delay line of a node, the signals that its MAC gets, and when its frame goes out: the PLCA data
//! state diagram (802.3 Figure 148-5).
//!
//! A frame that the MAC begins before its opportunity is held in a delay line. If the opportunity
//! comes in time, it goes out. If not, or if another node sends, the MAC gets a collision signal,
//! though no bits collide: it jams and backs off, and the frame goes out in an opportunity for which
//! the line is held until the MAC sends again.

use super::timers::{Timer, Timers};
use crate::medium::signals::{Heard, Inputs};
use crate::time::{Instant, Span};

/// State of the diagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// PLCA is off or has failed: MAC and line are connected, as without it.
    #[default]
    Normal,
    /// A frame has gone out; it waits for silence, or for another frame of a burst.
    WaitIdle,
    /// The MAC sends nothing, and none is received.
    Idle,
    /// Another node sends.
    Receive,
    /// A frame waits in the delay line.
    Hold,
    /// The MAC gets a collision signal, and jams.
    Collide,
    /// The MAC backs off.
    DelayPending,
    /// A frame waits in the MAC, for its opportunity.
    Pending,
    /// The line is held, and the MAC may send.
    WaitMac,
    /// A frame goes out.
    Transmit,
    /// The MAC is done; the delay line empties.
    Flush,
}

/// The delay line of a node, and the data state machine around it.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a signal of the standard")]
pub struct DelayLine {
    pub(super) state: State,
    pub(super) packet_pending: bool,
    /// What the MAC hears; in [`State::Normal`] it hears the line.
    pub(super) carrier: bool,
    pub(super) has_collided: bool,
    /// The MII's `TX_EN`; in [`State::Normal`] it is what the MAC does.
    pub(super) sends: bool,
    /// When the MAC began the frame in the delay line.
    held_since: Instant,
    /// How long the delay line holds what the MAC sends.
    pub(super) held: Span,
}

impl DelayLine {
    /// Take one transition, if one is open. `works` says that PLCA is on and its status is OK, or
    /// that it must not fall back.
    pub fn step(
        &mut self,
        now: Instant,
        inputs: Inputs,
        works: bool,
        committed: bool,
        commands: bool,
        timers: &mut Timers,
    ) -> bool {
        if self.state == State::Transmit && inputs.collision && !self.has_collided {
            self.has_collided = true;
            self.held = Span::ZERO; // what the MAC sends goes out at once
        }
        let Some(next) = self.next(inputs, works, committed, commands, timers) else {
            // Between them the MAC hears the line.
            if self.state == State::Receive {
                self.carrier = inputs.carrier && inputs.heard != Heard::Commit;
            }
            return false;
        };
        self.enter(next, now, inputs, timers);
        true
    }

    /// The machine in a state that another node's signal does not change, as it comes to be when
    /// it was idle: `held_since` is when the MAC began the frame that is held, if it did.
    pub(super) fn resume(&mut self, state: State, held_since: Instant, timers: &mut Timers) {
        let path = [State::Idle, State::Hold, State::Collide, State::DelayPending, State::Pending];
        for next in path {
            self.enter(next, held_since, Inputs::default(), timers);
            if next == state {
                return;
            }
        }
        unreachable!("a state between opportunities");
    }

    fn next(
        &self,
        inputs: Inputs,
        works: bool,
        committed: bool,
        commands: bool,
        timers: &Timers,
    ) -> Option<State> {
        use State::{
            Collide, DelayPending, Flush, Hold, Idle, Normal, Pending, Receive, Transmit, WaitIdle,
            WaitMac,
        };
        let (mac_sends, carrier) = (inputs.mac_sends, inputs.carrier);
        let receiving = matches!(inputs.heard, Heard::Commit | Heard::Data);
        if !works {
            return (self.state != Normal).then_some(Normal);
        }
        match self.state {
            Normal => (!carrier && !mac_sends).then_some(Idle),
            WaitIdle if carrier && mac_sends && committed => Some(Transmit),
            WaitIdle => (!carrier && !committed).then_some(Idle),
            Idle if mac_sends => Some(Hold),
            Idle => (receiving && !commands).then_some(Receive),
            Receive if mac_sends => Some(Collide),
            Receive => (!receiving).then_some(Idle),
            Hold if receiving || timers.is_done(Timer::Hold) => Some(Collide),
            Hold => committed.then_some(Transmit),
            Collide => (!mac_sends).then_some(DelayPending),
            DelayPending => timers.is_done(Timer::Pending).then_some(Pending),
            Pending => committed.then_some(WaitMac),
            WaitMac if mac_sends => Some(Transmit),
            WaitMac => timers.is_done(Timer::Commit).then_some(WaitIdle),
            Transmit if mac_sends => None,
            Transmit => Some(if self.held > Span::ZERO { Flush } else { WaitIdle }),
            Flush => timers.is_done(Timer::Flush).then_some(WaitIdle),
        }
    }

    fn enter(&mut self, next: State, now: Instant, inputs: Inputs, timers: &mut Timers) {
        let before = self.state;
        self.state = next;
        match next {
            State::Normal => {
                self.packet_pending = false;
                self.has_collided = false;
                self.sends = false;
                self.carrier = false;
            }
            State::WaitIdle | State::Idle => {
                self.packet_pending = false;
                self.carrier = false;
                self.has_collided = false;
                self.sends = false;
                self.held = Span::ZERO;
            }
            State::Receive => self.carrier = inputs.carrier && inputs.heard != Heard::Commit,
            State::Hold => {
                self.packet_pending = true;
                self.carrier = true;
                self.held_since = now;
                timers.start(Timer::Hold);
            }
            State::Collide => {
                self.packet_pending = false;
                self.carrier = true;
                self.has_collided = true;
                timers.stop(Timer::Hold);
            }
            State::DelayPending => {
                self.has_collided = false;
                timers.start(Timer::Pending);
            }
            State::Pending => self.packet_pending = true,
            State::WaitMac => {
                self.carrier = false;
                timers.start(Timer::Commit);
            }
            State::Transmit => {
                self.packet_pending = false;
                self.carrier = true;
                self.sends = true;
                self.has_collided = inputs.collision;
                self.held = if before == State::Hold { now - self.held_since } else { Span::ZERO };
                timers.stop(Timer::Hold);
                timers.stop(Timer::Commit);
            }
            State::Flush => timers.start_for(Timer::Flush, self.held),
        }
    }
}
