//! From events to cycles and back, at the end of a beacon.
//!
//! Then the line carries nothing but the beacon, and every node waits for its end; so a node is its
//! MAC, its data machine, and the times of their timers.

use super::access::PlcaAccess;
use super::control;
use super::cycles::Cycles;
use super::delay_line::State;
use super::schedule::Schedule;
use super::status;
use super::timers::Timer;
use super::turn::{LastFrame, Phase, Turn};
use crate::identity::StationId;
use crate::mac::access::{Access, Next};
use crate::mac::csma_cd::CsmaCd;
use crate::mac::jam::Transmission;
use crate::medium::event::Event;
use crate::medium::hosts::Hosts;
use crate::medium::signals::Symbol;
use crate::medium::{Medium, UnderWay};
use crate::time::Instant;
use ethermeter_trial::Phases;

/// A bus event by event.
type Machine<'w, H> = Medium<'w, PlcaAccess, H>;

/// What is to come at a node, by the events in the queue.
#[derive(Clone, Copy)]
struct Coming {
    ready: Instant,
    gap: Instant,
    hold: Instant,
    pending: Instant,
    mac: Instant,
}

/// The number of the beacon, if the event is its end.
pub fn beacon_over<H: Hosts>(
    machine: &Machine<'_, H>,
    schedule: &Schedule,
    event: Event<Timer>,
) -> Option<u64> {
    let Event::TimerOver { station, timer: Timer::Beacon, number } = event else { return None };
    let coordinator = schedule.coordinator;
    let runs = machine.nodes[coordinator].access.sublayer.timers.running(Timer::Beacon);
    (station == coordinator && runs == Some(number)).then_some(number)
}

/// Cycles from the end of a beacon on, if the bus is regular there, and before when they have to be
/// over: within the test, on one side of each edge of the measured window, and before a node is
/// switched.
pub fn begin<'s, H: Hosts>(
    machine: &mut Machine<'_, H>,
    schedule: &'s Schedule,
    phases: &Phases,
    now: Instant,
) -> Option<(Cycles<'s>, Instant)> {
    let begun = now - schedule.beacon;
    let edges = [phases.measure_from_ps, phases.measure_to_ps].map(Instant::from_ps);
    let next = edges.into_iter().filter(|&edge| begun < edge).min();
    let limit = next.unwrap_or(Instant::NEVER).min(Instant::from_ps(phases.end_ps));
    if now + schedule.longest_cycle > limit {
        return None;
    }
    let (turns, last, switched) = turns(machine, schedule, now)?;
    let limit = limit.min(switched);
    if now + schedule.longest_cycle > limit {
        return None;
    }
    machine.sum_up();
    Some((Cycles::new(schedule, turns, last, now), limit))
}

/// Go on event by event at the end of a beacon, after cycles whose first beacon began at `begun`.
/// Returns how many there were.
pub fn end<H: Hosts>(
    machine: &mut Machine<'_, H>,
    cycles: Cycles<'_>,
    schedule: &Schedule,
    (beacon, begun, now): (u64, Instant, Instant),
) -> u64 {
    let (turns, last, passed, taken) = cycles.finish(&mut machine.counters, begun);
    machine.last_frame = Some((last.sender, last.end));
    machine.line.record_cycles(begun, now - schedule.beacon, taken);
    resume(machine, schedule, (&turns, &last), beacon, now);
    passed
}

/// The nodes at the end of a beacon, and when a node is switched next; `None` if they are not as in
/// a regular cycle.
fn turns<H: Hosts>(
    machine: &Machine<'_, H>,
    schedule: &Schedule,
    now: Instant,
) -> Option<(Vec<Turn>, LastFrame, Instant)> {
    let begun = now - schedule.beacon;
    let is_alone = machine.on_line == 0
        && machine.nodes[schedule.coordinator].since == begun
        && machine.signals.last().is_none_or(|signal| signal.end <= begun);
    if !is_alone
        || !StationId::first(machine.nodes.len()).all(|node| waits(machine, schedule, node))
    {
        return None;
    }
    let (coming, switched) = coming(machine)?;
    let (sender, end) = machine.last_frame.unwrap_or((schedule.coordinator, Instant::PAST));
    // What the frame was followed by is not known any more, but when its end was heard.
    let latencies = [schedule.carrier_on, schedule.carrier_off];
    let found = latencies.into_iter().find_map(|latency| {
        let last = LastFrame { sender, end, latency };
        let turn = |node| turn(machine, schedule, &coming, &last, now, node);
        let turns: Option<Vec<_>> = StationId::first(machine.nodes.len()).map(turn).collect();
        turns.map(|turns| (turns, last))
    });
    found.map(|(turns, last)| (turns, last, switched))
}

/// Whether the control and status machines of a node are as in any regular cycle, and it hears the
/// beacon alone.
pub(super) fn waits<H: Hosts>(
    machine: &Machine<'_, H>,
    schedule: &Schedule,
    index: StationId,
) -> bool {
    let node = &machine.nodes[index];
    let sublayer = &node.access.sublayer;
    let is_coordinator = index == schedule.coordinator;
    let (state, symbol) = if is_coordinator {
        (control::State::SendBeacon, Symbol::Beacon)
    } else {
        (control::State::Syncing, Symbol::Silence)
    };
    let is_heard = |(from, &heard): (StationId, &Symbol)| {
        let beacon = from == schedule.coordinator && !is_coordinator;
        heard == if beacon { Symbol::Beacon } else { Symbol::Silence }
    };
    node.has == (true, false)
        && node.wants == node.has
        && node.symbol == symbol
        && StationId::first(machine.nodes.len()).zip(node.heard.symbols()).all(is_heard)
        && node.access.sent_in_opportunity == 0
        && sublayer.control.state == state
        && sublayer.control.is_active
        && !sublayer.control.committed
        && sublayer.status.state == status::State::Active
        && sublayer.timers.running(Timer::InvalidBeacon).is_none()
}

/// What is to come at each node, and when a node is switched next; `None` if something is on its
/// way on the line.
fn coming<H: Hosts>(machine: &Machine<'_, H>) -> Option<(Vec<Coming>, Instant)> {
    let none = Coming {
        ready: Instant::NEVER,
        gap: Instant::NEVER,
        hold: Instant::NEVER,
        pending: Instant::NEVER,
        mac: Instant::NEVER,
    };
    let mut coming = vec![none; machine.nodes.len()];
    let mut switched = Instant::NEVER;
    for (at, event) in machine.queue.iter() {
        match event {
            Event::Switch { .. } => switched = switched.min(at),
            Event::Ready { station } => coming[station].ready = at,
            Event::GapOver { station, number } => {
                let gap = machine.nodes[station].access.mac.gap_under_way();
                if gap.is_some_and(|(under_way, ..)| under_way == number) {
                    coming[station].gap = at;
                }
            }
            Event::TimerOver { station, timer, number } => {
                let timers = &machine.nodes[station].access.sublayer.timers;
                let of_node = &mut coming[station];
                match timer {
                    _ if timers.running(timer) != Some(number) => {}
                    Timer::Hold => of_node.hold = at,
                    Timer::Pending => of_node.pending = at,
                    _ => {}
                }
            }
            Event::MacOver { station, version } => {
                if version == machine.version(station) {
                    coming[station].mac = at;
                }
            }
            Event::FirstBit { .. }
            | Event::Hear { .. }
            | Event::DelimiterOver { .. }
            | Event::CableFault { .. }
            | Event::Echo { .. } => return None,
        }
    }
    Some((coming, switched))
}

fn turn<H: Hosts>(
    machine: &Machine<'_, H>,
    schedule: &Schedule,
    coming: &[Coming],
    last: &LastFrame,
    now: Instant,
    index: StationId,
) -> Option<Turn> {
    let (node, coming) = (&machine.nodes[index], coming[index]);
    // A frame that waits in the MAC was ready some time ago.
    let ready = if node.access.mac.is_waiting() { Instant::ZERO } else { coming.ready };
    let mut turn = Turn {
        phase: Phase::BacksOff,
        ready,
        start: Instant::ZERO,
        collision: Instant::ZERO,
        jam_end: Instant::ZERO,
        pending: Instant::ZERO,
        idle_from: Instant::ZERO,
        first_attempt: node.first_attempt,
    };
    let (gap_end, is_own) = last.gap_of(index, schedule);
    match (node.access.sublayer.delay_line.state, node.under_way) {
        (State::Idle, None) => {
            let as_expected = match node.access.mac.gap_under_way() {
                None => {
                    node.access.mac.is_silent() && !node.access.mac.is_waiting() && gap_end <= now
                }
                Some((_, true, _)) => coming.gap == gap_end,
                Some((_, false, own)) => {
                    coming.gap == gap_end - schedule.gap_part2 && own == is_own
                }
            };
            turn.phase = Phase::Idle;
            as_expected.then_some(turn)
        }
        (State::Hold, Some(UnderWay { mac, mac_is_over: false, .. })) => {
            turn.phase = Phase::Idle;
            turn.ready = mac.start;
            (coming.hold == mac.start + schedule.hold && mac.start >= gap_end).then_some(turn)
        }
        (State::Collide, Some(UnderWay { mac, is_logical: true, mac_is_over: false, .. })) => {
            turn.phase = Phase::Jams;
            turn.start = mac.start;
            turn.collision = mac.collision?;
            turn.jam_end = mac.end;
            turn.pending = mac.end + schedule.pending;
            (coming.mac == mac.end).then_some(turn)
        }
        (State::DelayPending, None) => {
            turn.pending = coming.pending;
            Some(turn)
        }
        (State::Pending, None) => Some(turn),
        _ => None,
    }
}

/// Put the nodes as they are after cycles, at the end of a beacon, into the event by event machine;
/// what has the time `now` is still to come.
fn resume<H: Hosts>(
    machine: &mut Machine<'_, H>,
    schedule: &Schedule,
    (turns, last): (&[Turn], &LastFrame),
    beacon: u64,
    now: Instant,
) {
    machine.queue.retain(|event| matches!(event, Event::Switch { .. }));
    let coordinator = schedule.coordinator;
    machine.nodes[schedule.coordinator].since = now - schedule.beacon;
    let over = Event::TimerOver { station: coordinator, timer: Timer::Beacon, number: beacon };
    machine.schedule(now, over);
    for (index, turn) in StationId::first(turns.len()).zip(turns) {
        let node = &mut machine.nodes[index];
        node.access.mac = CsmaCd::new(machine.compiled.gap_of(index));
        node.under_way = None;
        node.first_attempt = turn.first_attempt;
        resume_node(machine, schedule, turn, last, now, index);
        while machine.nodes[index].access.sublayer.take_started().is_some() {}
    }
}

fn resume_node<H: Hosts>(
    machine: &mut Machine<'_, H>,
    schedule: &Schedule,
    turn: &Turn,
    last: &LastFrame,
    now: Instant,
    index: StationId,
) {
    let gap = last.gap_of(index, schedule);
    let start = turn.ready.max(gap.0);
    match turn.phase {
        Phase::Idle if start < now => {
            let since = start.max(turn.idle_from);
            resume_data(machine, index, State::Hold, since);
            resume_timer(machine, index, Timer::Hold, since + schedule.hold);
            resume_sending(machine, index, start, None, now);
        }
        Phase::Idle => {
            resume_data(machine, index, State::Idle, Instant::ZERO);
            resume_gap(machine, schedule, gap, now, index);
            resume_ready(machine, turn.ready, now, index);
        }
        Phase::Jams => {
            resume_data(machine, index, State::Collide, turn.start);
            resume_sending(machine, index, turn.start, Some(turn.collision), now);
        }
        Phase::BacksOff => {
            if turn.pending < now {
                resume_data(machine, index, State::Pending, Instant::ZERO);
            } else {
                resume_data(machine, index, State::DelayPending, Instant::ZERO);
                resume_timer(machine, index, Timer::Pending, turn.pending);
            }
            let mac = begin_sending(&mut machine.nodes[index].access.mac);
            let _ = mac.carrier_on(); // its sublayer keeps it busy
            let _ = mac.send_over();
            resume_ready(machine, turn.ready, now, index);
        }
    }
}

fn begin_sending(mac: &mut CsmaCd) -> &mut CsmaCd {
    mac.start();
    let _ = mac.send(0);
    mac
}

fn resume_data<H: Hosts>(
    machine: &mut Machine<'_, H>,
    index: StationId,
    state: State,
    held_since: Instant,
) {
    let node = &mut machine.nodes[index];
    node.mac_carrier = state != State::Idle;
    node.access.sublayer.delay_line.resume(state, held_since, &mut node.access.sublayer.timers);
}

fn resume_timer<H: Hosts>(
    machine: &mut Machine<'_, H>,
    index: StationId,
    timer: Timer,
    at: Instant,
) {
    let number =
        machine.nodes[index].access.sublayer.timers.running(timer).expect("it was started");
    machine.schedule(at, Event::TimerOver { station: index, timer, number });
}

/// The MAC sends into the delay line, or jams.
fn resume_sending<H: Hosts>(
    machine: &mut Machine<'_, H>,
    index: StationId,
    start: Instant,
    collision: Option<Instant>,
    now: Instant,
) {
    let (station, medium) = (index, machine.compiled);
    let mut mac =
        Transmission::new(station, start, start + machine.hosts.packet_time(station, start));
    let is_logical = collision.is_some_and(|at| mac.collide(at, medium.preamble, medium.jam));
    let node = &mut machine.nodes[index];
    let _ = begin_sending(&mut node.access.mac).carrier_on(); // what its sublayer does while it sends
    node.first_attempt.get_or_insert(start);
    node.under_way = Some(UnderWay { mac, is_logical, on_line: None, mac_is_over: false });
    debug_assert!(mac.end >= now && is_logical == collision.is_some(), "it is under way");
    let version = machine.version(station);
    machine.schedule(mac.end, Event::MacOver { station, version });
}

/// The MAC of an idle node owes a gap up to a time, unless it is over.
fn resume_gap<H: Hosts>(
    machine: &mut Machine<'_, H>,
    schedule: &Schedule,
    (gap_end, is_own): (Instant, bool),
    now: Instant,
    index: StationId,
) {
    if gap_end < now {
        return;
    }
    let station = index;
    let mac = &mut machine.nodes[index].access.mac;
    let mut next = if is_own {
        begin_sending(mac).send_over()
    } else {
        let _ = mac.carrier_on(); // of a frame that has ended
        mac.carrier_off()
    };
    let mut at = gap_end - schedule.gap;
    while let Next::Timer { number, after } = next {
        at += after;
        if at >= now {
            machine.schedule(at, Event::GapOver { station, number });
            return;
        }
        next = machine.nodes[index].access.mac.timer_over(number);
    }
}

/// A frame, or its next attempt, is or will be ready at a MAC that may not start.
fn resume_ready<H: Hosts>(
    machine: &mut Machine<'_, H>,
    ready: Instant,
    now: Instant,
    index: StationId,
) {
    if ready >= now {
        machine.schedule(ready, Event::Ready { station: index });
    } else {
        let next = machine.nodes[index].access.mac.ready();
        debug_assert_eq!(next, Next::Nothing, "else it had started");
    }
}
