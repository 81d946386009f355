//! Without a coordinator a bus is one of CSMA/CD, attempt by attempt, and takes turns again when the
//! coordinator returns.
//!
//! What follows from the state diagrams: a node counts 255 opportunities after the last beacon
//! (Figure 148-3, from `NEXT_TX_OPPORTUNITY` to `RESYNC`), its status is OK for `plca_status_timer` more
//! (Figure 148-7), and then its data machine connects MAC and line (Figure 148-5, NORMAL). From there
//! on a station is what [`crate::segment::reference`] runs, which has no sublayer: another program
//! for the same procedures (§ 4.2.8). Both are in one state where nothing is on the line and no gap
//! is owed: it consists of the stations, with their streams of draws as far as they were used, and
//! of the times when they are ready. So the reference of segments goes on from there, and every
//! attempt is to be the same.

use super::access::PlcaAccess;
use super::compiled::CompiledBus;
use super::delay_line;
use super::reference::{Machine, machine};
use crate::Watch;
use crate::common::{Bus, IEEE_10, MS, US};
use crate::mac::transmitter::{Attempt, Ending};
use crate::medium::Node;
use crate::medium::event::Event;
use crate::medium::signals::Symbol;
use crate::segment::reference::go_on;
use crate::segment::station::Station;
use crate::time::{Instant, Span};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::medium::Mac;
use ethermeter_trial::plca::Interval;

const BIT: Span = Span::from_ps(100_000);
/// `plca_status_timer`.
const STATUS: Span = BIT.saturating_mul(130_090);
const BEACON: Span = BIT.saturating_mul(20);
const LONGEST_BITS: u64 = 8 * 300;
/// The longest frame with preamble and end delimiter.
const LONGEST: Span = BIT.saturating_mul(64 + 8 + LONGEST_BITS);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    /// The coordinator is silent.
    Silent,
    /// Its PLCA is switched off, so that it contends.
    Off,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Load {
    None,
    /// Of all stations but the coordinator.
    OfOthers,
    OfAll,
}

/// A bus of random size, delays and load; its coordinator fails from `from_ps` to `to_ps`.
struct Case {
    bus: CompiledBus,
    /// Length of an opportunity that is not used.
    opportunity: Span,
    fails: Instant,
}

fn case(seed: u64, fault: Fault, load: Load, to_ps: u64, length_ps: u64) -> Case {
    let mut dice = Stream::new(seed, 0, Purpose::Begin);
    let nodes = u32::try_from(3 + dice.below(6)).expect("few");
    let opportunity = u8::try_from(20 + dice.below(31)).expect("few");
    let fails_ps = 4 * MS + dice.below(MS);
    let outage = vec![Interval { from_ps: fails_ps, to_ps }];
    let mut bus = Bus::of(nodes).with(|number, stations, flow| {
        let of_node = stations.plca.as_mut().expect("PLCA");
        of_node.opportunity_bits = opportunity;
        stations.points = vec![u32::try_from(number).expect("few")];
        flow.frames = Lengths::Fixed { bits: 512 + 8 * dice.below((LONGEST_BITS - 512) / 8 + 1) };
        #[allow(clippy::cast_precision_loss)]
        let mean_ps = ((100 + dice.below(2000)) * US) as f64;
        let is_busy = load == Load::OfAll || load == Load::OfOthers && number > 0;
        match (is_busy, dice.below(3)) {
            (false, _) => flow.arrivals = Arrivals::Poisson { mean_ps: 1e15 },
            (true, 0) => flow.arrivals = Arrivals::Saturated {},
            (true, _) => flow.arrivals = Arrivals::Poisson { mean_ps },
        }
        match (number, fault) {
            (0, Fault::Silent) => stations.down = outage.clone(),
            (0, Fault::Off) => of_node.off = outage.clone(),
            _ => {}
        }
    });
    let step_ps = 1 + dice.below(40_000);
    let delay = |a: u32, b: u32| u64::from(a.abs_diff(b)) * step_ps;
    bus.delay_ps = (0..nodes).map(|a| (0..nodes).map(|b| delay(a, b)).collect()).collect();
    bus.plca.end_delimiter_bits = if dice.below(2) == 0 { 8 } else { 0 };
    bus.length_ps = length_ps;
    let mut trial = bus.trial();
    trial.seed = seed;
    let compiled = CompiledBus::new(&trial, &bus.plca).expect("a bus");
    let opportunity = BIT * u64::from(opportunity);
    Case { bus: compiled, opportunity, fails: Instant::from_ps(fails_ps) }
}

/// A bus under way, and what was seen of it.
struct Seen<'w> {
    machine: Machine<'w>,
    now: Instant,
    last_beacon: Instant,
    /// Since when the status of each node has been as it is.
    is_ok: Vec<(bool, Instant)>,
}

impl<'w> Seen<'w> {
    fn new(bus: &'w CompiledBus) -> Self {
        let nodes = bus.plca.nodes.len();
        let machine = machine(bus, true);
        Self {
            machine,
            now: Instant::ZERO,
            last_beacon: Instant::ZERO,
            is_ok: vec![(false, Instant::ZERO); nodes],
        }
    }

    /// Take the next event. Whether there was one.
    fn step(&mut self) -> bool {
        let Some((now, event)) = self.machine.next() else { return false };
        self.machine.handle(now, event);
        self.now = now;
        if self.machine.nodes[0].symbol == Symbol::Beacon {
            self.last_beacon = self.machine.nodes[0].since;
        }
        for (seen, node) in self.is_ok.iter_mut().zip(&self.machine.nodes) {
            if seen.0 != node.access.sublayer.is_ok() {
                *seen = (!seen.0, now);
            }
        }
        true
    }

    /// Run until then.
    fn run_until(&mut self, end: Instant) {
        while self.machine.next_at().is_some_and(|at| at < end) && self.step() {}
    }

    /// Run until the coordinator fails and every status is FAIL, and then until nothing is on the line and no gap is owed.
    /// Returns when each station is ready; one that is silent never is.
    fn run_until_a_pause(&mut self, fails: Instant) -> Vec<Instant> {
        self.run_until(fails);
        assert!(self.is_ok.iter().all(|seen| seen.0), "a bus that did not work before");
        let is_connected = |node: &Node<PlcaAccess>| {
            node.access.sublayer.delay_line.state == delay_line::State::Normal
        };
        let is_at_rest = |node: &Node<PlcaAccess>| {
            node.has.1
                || is_connected(node)
                    && node.access.mac.is_silent()
                    && !node.access.mac.is_waiting()
        };
        while self.is_ok.iter().any(|seen| seen.0)
            || !self.machine.nodes.iter().all(is_at_rest)
            || !self.machine.is_quiet()
        {
            assert!(self.step(), "no pause in contention");
        }
        let mut ready = vec![Instant::NEVER; self.machine.nodes.len()];
        for (at, event) in self.machine.queue.iter() {
            if let Event::Ready { station } = event
                && !self.machine.nodes[station].has.1
            {
                ready[station] = at;
            }
        }
        ready
    }

    /// Run to the end. Returns the attempts that began from `since` on.
    fn finish(mut self, since: Instant) -> Vec<Attempt> {
        self.run_until(Instant::NEVER);
        assert!(self.is_ok.iter().all(|seen| !seen.0), "a status that is OK without beacons");
        let attempts = self.machine.into_counts().1;
        attempts.into_iter().filter(|attempt| attempt.start >= since).collect()
    }
}

/// The attempts of CSMA/CD by the reference of segments.
fn contend(case: &Case, stations: (Vec<Station>, Vec<Instant>)) -> Vec<Attempt> {
    let mac = Mac::CsmaCd(IEEE_10);
    go_on(&case.bus.contention(), &mac, &Watch::default(), stations, true).expect("a run").1
}

fn expect_equal(found: &[Attempt], expected: &[Attempt], seed: u64) {
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found, expected, "seed {seed}, attempt {number}");
    }
    assert_eq!(found.len(), expected.len(), "seed {seed}");
}

/// Without traffic the times are exact: the end of the last beacon as it is heard, 255
/// opportunities, `plca_status_timer`.
#[test]
fn nodes_of_a_silent_bus_report_fail_at_the_time_that_the_diagrams_give() {
    for seed in 0..60 {
        let fault = if seed % 2 == 0 { Fault::Silent } else { Fault::Off };
        let case = case(seed, fault, Load::None, 40 * MS, 30 * MS);
        let mut seen = Seen::new(&case.bus);
        seen.run_until(Instant::NEVER);
        // A beacon that has begun is sent to its end.
        let (node, fails) = (0, case.fails.max(seen.last_beacon + BEACON));
        assert_eq!(seen.is_ok[node], (false, fails), "seed {seed}: the coordinator");
        let positions = &case.bus.segment.positions;
        for node in 1..seen.is_ok.len() {
            let delay = case.bus.segment.delay(positions[0], positions[node]);
            let silent = seen.last_beacon + BEACON + delay;
            let fails = silent + case.opportunity * 255 + STATUS;
            assert_eq!(seen.is_ok[node], (false, fails), "seed {seed}, node {node}");
        }
    }
}

/// With traffic there are the frames of the other nodes besides, at most one each, with a gap.
#[test]
fn nodes_of_a_busy_bus_report_fail_at_most_a_frame_of_each_node_later() {
    for seed in 0..60 {
        let case = case(seed, Fault::Silent, Load::OfAll, 40 * MS, 40 * MS);
        let mut seen = Seen::new(&case.bus);
        seen.run_until(Instant::NEVER);
        let least = seen.last_beacon + BEACON + case.opportunity * 255 + STATUS;
        let nodes = seen.is_ok.len() as u64;
        for (node, &(is_ok, since)) in seen.is_ok.iter().enumerate().skip(1) {
            assert!(!is_ok && since >= least, "seed {seed}, node {node}: {since:?}");
            assert!(since - least <= (BIT * 96 + LONGEST) * nodes, "seed {seed}, node {node}");
        }
    }
}

/// No draw of a backoff was used before, and sources begin at one time: the whole run is that of a
/// segment.
#[test]
fn traffic_that_begins_after_the_fall_back_meets_csma_cd_from_its_first_attempt() {
    let mut collisions = 0;
    for seed in 0..60 {
        let fault = if seed % 2 == 0 { Fault::Silent } else { Fault::Off };
        let load = if fault == Fault::Silent { Load::OfOthers } else { Load::OfAll };
        let mut case = case(seed, fault, load, 60 * MS, 60 * MS);
        case.bus.segment.phases.begin_ps = 25 * MS;
        let found = Seen::new(&case.bus).finish(Instant::ZERO);
        let expected = contend(&case, Station::all(&case.bus.segment));
        assert!(found.len() > 20, "seed {seed}: {} attempts", found.len());
        expect_equal(&found, &expected, seed);
        collisions += found.iter().filter(|attempt| attempt.ending != Ending::Delivered).count();
    }
    assert!(collisions > 1000, "{collisions}");
}

/// The same of traffic before and after.
#[test]
fn a_bus_that_has_fallen_back_goes_on_as_a_segment_of_csma_cd() {
    let (mut collisions, mut retried) = (0, 0);
    for seed in 0..120 {
        let fault = if seed % 2 == 0 { Fault::Silent } else { Fault::Off };
        let case = case(seed, fault, Load::OfAll, 120 * MS, 120 * MS);
        let mut seen = Seen::new(&case.bus);
        let ready = seen.run_until_a_pause(case.fails);
        let (since, stations) = (seen.now, seen.machine.hosts.stations.clone());
        assert!(since < Instant::from_ps(60 * MS), "seed {seed}: a pause as late as {since:?}");
        let found = seen.finish(since);
        let expected = contend(&case, (stations, ready));
        assert!(found.len() > 50, "seed {seed}: {} attempts", found.len());
        expect_equal(&found, &expected, seed);
        collisions += found.iter().filter(|attempt| attempt.ending != Ending::Delivered).count();
        // Frames that had been tried before, so that states are not all those of a begin.
        retried += usize::from(found[0].attempts > 1);
    }
    assert!(collisions > 10_000 && retried > 20, "{collisions} {retried}");
}

/// A coordinator that returns counts its cycle once, at most a carrier in each opportunity, and
/// sends a beacon. If a frame collides with that, its node hears the next one, a cycle later.
#[test]
fn a_coordinator_that_returns_ends_collisions_within_two_cycles() {
    let mut frames = 0;
    for seed in 0..120 {
        let fault = if seed % 2 == 0 { Fault::Silent } else { Fault::Off };
        let returns = 40 * MS;
        let case = case(seed, fault, Load::OfOthers, returns, 80 * MS);
        let nodes = case.bus.plca.nodes.len() as u64;
        let cycle = BEACON + (case.opportunity + BIT * 96 + LONGEST) * nodes;
        let latest = Instant::from_ps(returns) + cycle * 2;
        let mut seen = Seen::new(&case.bus);
        seen.run_until(latest);
        assert!(seen.is_ok.iter().all(|seen| seen.0), "seed {seed}: {:?}", seen.is_ok);
        seen.run_until(Instant::NEVER);
        assert!(seen.is_ok.iter().all(|&(is_ok, since)| is_ok && since < latest), "seed {seed}");
        let attempts = seen.machine.into_counts().1;
        let collided = |a: &&Attempt| a.ending != Ending::Delivered || a.damaged;
        let (before, after): (Vec<_>, Vec<_>) = attempts.iter().partition(|a| a.start < latest);
        assert_eq!(after.iter().copied().find(collided), None, "seed {seed}");
        assert!(before.iter().copied().any(|a| collided(&a)), "seed {seed}: no contention before");
        frames += after.len();
    }
    assert!(frames > 5000, "{frames}");
}
