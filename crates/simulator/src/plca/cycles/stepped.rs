//! A bus whose frames come from outside, as those of a network do: cycle by cycle while it is
//! regular, event by event else.
//!
//! Who uses an opportunity is known when every frame has come that could be sent before: twice the
//! largest propagation after its begin. What a signal does to the frames of others is known when all
//! have heard its end. Between the two is the end of the frame, at which its port goes on.
//!
//! A card tells its port at once that it gives a frame up, and that is not known before the end of a
//! signal. So cycles end at the next beacon when a frame has few attempts left.

use super::{Cycles, Sent, Signal, Used};
use crate::identity::StationId;
use crate::mac::backoff::Draws;
use crate::medium::Medium;
use crate::medium::compiled::CompiledMedium;
use crate::medium::hosts::Hosts;
use crate::plca::access::PlcaAccess;
use crate::plca::compiled::CompiledPlca;
use crate::plca::counters::BusCounters;
use crate::plca::handover;
use crate::plca::schedule::Schedule;
use crate::plca::turn::Phase;
use crate::segment::compiled::small;
use crate::time::{Instant, Span};
use ethermeter_trial::Phases;
use ethermeter_trial::counts::PlcaCounts;

/// A bus that goes on by cycles where it can.
pub(crate) struct SteppedBus<'w, H> {
    medium: Medium<'w, PlcaAccess, H>,
    /// Its cycles, if it may be regular.
    schedule: Option<&'w Schedule>,
    phases: &'w Phases,
    run: Option<Run<'w>>,
}

/// Cycles under way.
struct Run<'w> {
    cycles: Cycles<'w>,
    schedule: &'w Schedule,
    stage: Stage,
    /// When the stage is looked at next.
    at: Instant,
    /// The number of the first beacon, and when it began.
    beacon: (u64, Instant),
    /// No cycle begins later.
    latest: Instant,
}

/// What is on the line.
enum Stage {
    /// Nothing.
    Silent,
    /// A frame.
    Sends(Used, Sent),
    /// A signal that not all have heard to its end, and its opportunity.
    Heard(Signal, usize),
}

impl<'w, H: Hosts> SteppedBus<'w, H> {
    /// A bus before its first event; event by event all the time without a `schedule`.
    pub(crate) fn new(
        (compiled, plca): (&'w CompiledMedium, &CompiledPlca),
        schedule: Option<&'w Schedule>,
        phases: &'w Phases,
        draws: Draws,
        hosts: H,
    ) -> Self {
        let accesses = PlcaAccess::all(compiled, plca, draws);
        let counters = BusCounters::of(accesses.len(), phases);
        let medium = Medium::new(compiled, accesses, counters, phases, draws, hosts);
        Self { medium, schedule, phases, run: None }
    }

    pub(crate) fn hosts(&self) -> &H {
        &self.medium.hosts
    }

    pub(crate) fn hosts_mut(&mut self) -> &mut H {
        &mut self.medium.hosts
    }

    /// After which time others hear the end of a frame, propagation aside; `None` while each of them
    /// tells so itself.
    pub(crate) fn heard_after(&self) -> Option<Span> {
        let schedule = self.run.as_ref()?.schedule;
        Some(schedule.heard_after(false))
    }

    /// When something is decided next.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.run.as_ref().map_or_else(|| self.medium.next_at(), |run| Some(run.at))
    }

    /// Decide it.
    pub(crate) fn step(&mut self) {
        if let Some(run) = &mut self.run {
            if run.step(&mut self.medium) {
                return;
            }
            let Some(Run { cycles, schedule, at, beacon: (number, begun), .. }) = self.run.take()
            else {
                return;
            };
            handover::end(&mut self.medium, cycles, schedule, (number, begun, at));
            return;
        }
        let Some((now, event)) = self.medium.next() else { return };
        self.run = self.schedule.and_then(|schedule| {
            let number = handover::beacon_over(&self.medium, schedule, event)?;
            let (cycles, limit) = handover::begin(&mut self.medium, schedule, self.phases, now)?;
            let beacon = (number, now - schedule.beacon);
            let mut run = Run {
                cycles,
                schedule,
                stage: Stage::Silent,
                at: now,
                beacon,
                latest: limit - schedule.longest_cycle,
            };
            let mut nodes = StationId::first(schedule.ids.len());
            if nodes.any(|node| run.is_hasty(&self.medium, node)) {
                return None;
            }
            run.look_ahead(now);
            Some(run)
        });
        if self.run.is_none() {
            self.medium.advance(now, event);
        }
    }

    /// A station has a frame now.
    pub(crate) fn offer(&mut self, now: Instant, station: StationId) {
        match &mut self.run {
            Some(run) => run.offer(now, station),
            None => self.medium.make_ready(now, station),
        }
    }

    /// Its hosts, channel time, and what was counted of cycles and opportunities.
    pub(crate) fn finish(self) -> (H, [u64; 5], Option<PlcaCounts>) {
        self.medium.finish()
    }
}

impl Run<'_> {
    /// Whether the frame of a node may be given up before the next beacon, or a frame for its next
    /// opportunity is still to come. A node has one collision more in a cycle than opportunities.
    fn is_hasty<H: Hosts>(&self, medium: &Medium<'_, PlcaAccess, H>, node: StationId) -> bool {
        let turn = &self.cycles.turns[node];
        let collisions = small(self.schedule.ids[node].len()) + 1;
        if turn.phase == Phase::BacksOff && turn.ready.is_never() {
            return true;
        }
        let has_frame = turn.phase != Phase::Idle || !turn.ready.is_never();
        has_frame && medium.hosts.attempts_left(node) <= collisions
    }

    fn offer(&mut self, now: Instant, station: StationId) {
        let turn = &mut self.cycles.turns[station];
        debug_assert!(turn.phase == Phase::Idle, "its card had no frame");
        turn.ready = now;
        self.cycles.index(station);
        if let Stage::Silent = self.stage {
            self.look_ahead(now);
        }
    }

    /// Find when to look at the silent line next.
    fn look_ahead(&mut self, now: Instant) {
        let used = self.cycles.next_use() + self.schedule.reach * 2;
        self.at = used.min(self.leaves_at()).max(now);
    }

    /// The end of the first beacon after which no cycle begins, if the line stays silent.
    fn leaves_at(&self) -> Instant {
        let (next, period) = (self.cycles.silence.beacon_end, self.schedule.empty_cycle);
        if next > self.latest {
            return next;
        }
        next + period * ((self.latest - next).periods(period) + 1)
    }

    /// Do what is next. Whether cycles go on.
    fn step<H: Hosts>(&mut self, medium: &mut Medium<'_, PlcaAccess, H>) -> bool {
        let (now, schedule, cycles) = (self.at, self.schedule, &mut self.cycles);
        match self.stage {
            Stage::Sends(Used { node, begin, opportunity, .. }, sent) => {
                cycles.deliver(medium, node, sent, false);
                cycles.used[node] += 1;
                cycles.turns[node].phase = Phase::Idle;
                cycles.index(node);
                let end = sent.end + schedule.delimiter;
                self.spread(Signal { sender: node, begin, held_from: None, end }, opportunity);
            }
            Stage::Heard(ref signal, opportunity) => {
                cycles.listen(signal);
                cycles.fall_silent(signal, opportunity);
                cycles.index(signal.sender);
                self.stage = Stage::Silent;
                self.look_ahead(now);
            }
            Stage::Silent => {
                let beacons = self.beacons_at(now);
                match self.cycles.search(now).filter(|used| self.is_known(used, now)) {
                    Some(used) if beacons.is_none_or(|beacons| used.cycles < beacons) => {
                        self.use_opportunity(medium, used);
                    }
                    _ => match beacons {
                        None => self.look_ahead(now + Span::PICOSECOND),
                        Some(beacons) => {
                            self.cycles.pass(&mut medium.counters, beacons);
                            self.cycles.settle(medium, now);
                            return false;
                        }
                    },
                }
            }
        }
        true
    }

    /// How many beacons end by a time at which cycles may end, if the line stays silent.
    fn beacons_at(&self, now: Instant) -> Option<u64> {
        let since = || now - self.cycles.silence.beacon_end;
        (now >= self.leaves_at()).then(|| since().periods(self.schedule.empty_cycle) + 1)
    }

    /// Whether no frame that comes later is sent before.
    fn is_known(&self, used: &Used, now: Instant) -> bool {
        used.begin + self.schedule.reach * 2 <= now
    }

    /// A node sends, or holds the line until it would have to.
    fn use_opportunity<H: Hosts>(&mut self, medium: &mut Medium<'_, PlcaAccess, H>, used: Used) {
        let cycles = &mut self.cycles;
        if used.cycles > 0 {
            cycles.pass(&mut medium.counters, used.cycles);
        }
        cycles.take_turn(&used);
        match cycles.first_frame(medium, used.node, used.begin) {
            Ok(sent) => {
                self.stage = Stage::Sends(used, sent);
                self.at = sent.end;
            }
            Err(signal) => {
                cycles.missed[used.node] += 1;
                if self.is_hasty(medium, used.node) {
                    self.latest = Instant::PAST;
                }
                self.spread(signal, used.opportunity);
            }
        }
    }

    /// Wait until all have heard the end of a signal.
    fn spread(&mut self, signal: Signal, opportunity: usize) {
        let schedule = self.schedule;
        self.at = signal.end + schedule.reach + schedule.carrier_on.max(schedule.carrier_off);
        self.stage = Stage::Heard(signal, opportunity);
    }
}
