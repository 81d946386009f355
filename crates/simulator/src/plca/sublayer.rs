//! The reconciliation sublayer of a node: its control, data and status machines and their timers,
//! without a clock and without a line.
//!
//! Machines take transitions until none is open, the control machine first; so what one decides the
//! others see in the same instant (802.3 § 21.5: state diagrams are evaluated continuously).

use super::control::{self, Control, Opportunity, Parameters};
use super::delay_line::{self, DelayLine};
use super::status::Status;
use super::timers::{TIMERS, Timer, Timers};
use crate::medium::access::Started;
use crate::medium::signals::{Inputs, Sending};
use crate::time::{Instant, Span};
use std::collections::VecDeque;

/// The sublayer of a node.
#[derive(Clone, Debug)]
pub struct Sublayer {
    pub(super) control: Control,
    pub(super) delay_line: DelayLine,
    pub(super) status: Status,
    pub(super) timers: Timers,
    is_enabled: bool,
    /// Whether a machine took a transition since that was asked last.
    has_moved: bool,
    /// Whether it becomes CSMA/CD while the status is FAIL.
    falls_back: bool,
    /// Own opportunities that ended, since they were last taken.
    ended: VecDeque<Opportunity>,
    /// Opportunities that ended by its count, if it is the coordinator.
    passed: u32,
    /// When the opportunity under way began, and when the timer of the last one that it lets pass is
    /// over.
    opportunity: (Instant, Instant),
}

/// Opportunities in which nothing happened at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The first one.
    pub first: u8,
    /// How many.
    pub count: u8,
    /// When the first one ended.
    pub end: Instant,
    /// How long each was.
    pub duration: Span,
}

impl Sublayer {
    /// A sublayer whose PLCA is off.
    #[must_use]
    pub fn new(parameters: Parameters, durations: [Span; TIMERS], falls_back: bool) -> Self {
        Self {
            control: Control::new(parameters),
            delay_line: DelayLine::default(),
            status: Status::default(),
            timers: Timers::new(durations),
            is_enabled: false,
            has_moved: false,
            falls_back,
            ended: VecDeque::new(),
            passed: 0,
            opportunity: (Instant::ZERO, Instant::ZERO),
        }
    }

    /// Switch PLCA on or off.
    pub fn enable(&mut self, is_enabled: bool) {
        self.is_enabled = is_enabled;
    }

    /// A timer is over. Whether it was not stopped or started again before.
    pub fn end_timer(&mut self, timer: Timer, number: u64) -> bool {
        self.timers.end(timer, number)
    }

    /// Take transitions until none is open.
    pub fn settle(&mut self, now: Instant, inputs: Inputs) {
        self.timers.set_now(now);
        loop {
            let sends = self.sends(inputs);
            let pending = self.delay_line.packet_pending;
            if self.control.step(inputs, self.is_enabled, pending, sends, &mut self.timers) {
                if self.control.state == control::State::WaitTo {
                    self.opportunity = (now, now + self.timers.duration(Timer::Opportunity));
                }
                self.ended.extend(self.control.ended);
                self.passed += u32::from(self.control.has_passed());
                self.has_moved = true;
                continue;
            }
            if self.status.step(self.is_enabled, self.control.is_active, &mut self.timers) {
                self.has_moved = true;
                continue;
            }
            let works = self.is_enabled && (self.status.is_ok() || !self.falls_back);
            let commands = self.control.command != Sending::Nothing;
            let committed = self.control.committed;
            if !self.delay_line.step(now, inputs, works, committed, commands, &mut self.timers) {
                break;
            }
        }
        self.look_ahead(now);
    }

    /// Let one timer run for all opportunities in which nothing is to be done.
    fn look_ahead(&mut self, now: Instant) {
        let idle = self.control.idle_opportunities(self.delay_line.packet_pending);
        let Some(idle) = idle.filter(|_| self.timers.running(Timer::Opportunity).is_some()) else {
            return;
        };
        let (begin, until) = self.opportunity;
        let last = begin + self.timers.duration(Timer::Opportunity) * u64::from(idle);
        if last != until {
            self.timers.prolong(Timer::Opportunity, last - now);
            self.opportunity.1 = last;
        }
    }

    /// Let opportunities pass that were over before `now`, or at it if that is included, and in which
    /// nothing happened. The last one under its timer is left to that.
    ///
    /// # Panics
    /// Never: a cycle has at most 255 opportunities.
    pub fn catch_up(&mut self, now: Instant, is_included: bool) -> Option<Passed> {
        let (begin, until) = self.opportunity;
        let duration = self.timers.duration(Timer::Opportunity);
        let excluded = if is_included { Span::ZERO } else { Span::PICOSECOND };
        let over = now - excluded - begin;
        let runs = self.timers.running(Timer::Opportunity).is_some();
        if over < duration || !runs || !self.control.lets_pass() {
            return None;
        }
        let most = (until - begin).periods(duration) - 1;
        let count = u8::try_from(over.periods(duration).min(most)).expect("at most 255");
        if count == 0 {
            return None;
        }
        let first = self.control.opportunity;
        self.control.pass(count);
        self.opportunity.0 += duration * u64::from(count);
        Some(Passed { first, count, end: begin + duration, duration })
    }

    /// The MII's `TX_EN`.
    fn sends(&self, inputs: Inputs) -> bool {
        if self.delay_line.state == delay_line::State::Normal {
            inputs.mac_sends
        } else {
            self.delay_line.sends
        }
    }

    /// What it puts on the line.
    #[must_use]
    pub fn output(&self, inputs: Inputs) -> Sending {
        if self.sends(inputs) {
            Sending::Data
        } else if self.delay_line.state == delay_line::State::Normal {
            Sending::Nothing
        } else {
            self.control.command
        }
    }

    /// Whether the MAC hears carrier, its own transmission aside.
    #[must_use]
    pub fn mac_carrier(&self, inputs: Inputs) -> bool {
        if self.delay_line.state == delay_line::State::Normal {
            inputs.others || inputs.carrier && !inputs.mac_sends
        } else {
            self.delay_line.carrier
        }
    }

    /// Whether the MAC gets a collision signal.
    #[must_use]
    pub fn mac_collision(&self, inputs: Inputs) -> bool {
        if self.delay_line.state == delay_line::State::Normal {
            inputs.mac_sends && inputs.others
        } else {
            self.delay_line.has_collided
        }
    }

    /// Whether a collision is one of the line, not of the sublayer.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        matches!(self.delay_line.state, delay_line::State::Normal | delay_line::State::Transmit)
    }

    /// Whether frames go out in opportunities; else MAC and line are connected.
    #[must_use]
    pub fn takes_turns(&self) -> bool {
        self.delay_line.state != delay_line::State::Normal
    }

    /// Whether the status is OK.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.status.is_ok()
    }

    /// The next timer that was started and not taken.
    pub fn take_started(&mut self) -> Option<Started<Timer>> {
        self.timers.started.pop_front()
    }

    /// The next own opportunity that ended and was not taken.
    pub fn take_ended(&mut self) -> Option<Opportunity> {
        self.ended.pop_front()
    }

    /// Whether what it counts may have changed since the last call.
    pub fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.has_moved)
    }

    /// Opportunities that ended since the last call, by the count of a coordinator.
    pub fn take_passed(&mut self) -> u32 {
        std::mem::take(&mut self.passed)
    }

    /// Whether it sends beacons.
    #[must_use]
    pub fn is_coordinator(&self) -> bool {
        self.control.is_coordinator()
    }

    /// Whether cycles go on.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.control.is_active
    }

    /// Whether a frame goes out in an opportunity.
    #[must_use]
    pub fn is_transmitting(&self) -> bool {
        self.delay_line.state == delay_line::State::Transmit
    }
}
