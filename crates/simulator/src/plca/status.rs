//! Whether PLCA works, as the node reports it: the PLCA status state diagram (802.3 Figure 148-7).
//! While it does not, the node falls back to CSMA/CD.

use super::timers::{Timer, Timers};

/// State of the diagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// There are no beacons: the status is FAIL.
    #[default]
    Inactive,
    /// Cycles go on: the status is OK.
    Active,
    /// Cycles have stopped, not long ago: the status is still OK.
    Hysteresis,
}

/// The status machine of a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Status {
    pub(super) state: State,
}

impl Status {
    /// Whether the status is OK.
    #[must_use]
    pub fn is_ok(self) -> bool {
        self.state != State::Inactive
    }

    /// Take one transition, if one is open.
    pub fn step(&mut self, is_enabled: bool, is_active: bool, timers: &mut Timers) -> bool {
        let next = match self.state {
            _ if !is_enabled => State::Inactive,
            State::Inactive | State::Hysteresis if is_active => State::Active,
            State::Active if !is_active => State::Hysteresis,
            State::Hysteresis if timers.is_done(Timer::Status) => State::Inactive,
            same => same,
        };
        if next == self.state {
            return false;
        }
        self.state = next;
        if next == State::Hysteresis {
            timers.start(Timer::Status);
        } else {
            timers.stop(Timer::Status);
        }
        true
    }
}
