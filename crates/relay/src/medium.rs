//! A shared segment between interfaces, without a clock: the nodes of the simulator
//! ([`ethermeter_simulator::plca`]) with real frames in their cards.
//!
//! Times are those of the medium, in picoseconds since it began. Frames are offered with the stamps
//! of their arrival, and [`Medium::advance`] decides what happens up to a time; so who collides with
//! whom depends on stamps and draws alone, as long as every stamp is known when its time comes. One
//! that is older than what is decided counts as a violation, and its frame arrives now.
//!
//! The draws are those of a simulation of the same trial: the same arrivals give the same attempts.

use crate::frames::Frames;
use ethermeter_simulator::mac::csma_cd::Retry;
use ethermeter_simulator::plca::compiled::CompiledBus;
use ethermeter_simulator::plca::hosts::Hosts;
use ethermeter_simulator::plca::reference::Machine;
use ethermeter_simulator::segment::compiled::{CompiledSegment, NEVER};
use ethermeter_simulator::segment::counters::Counters;
use ethermeter_simulator::segment::station::{Attempt, Ending};
use ethermeter_traffic::{Histogram, Purpose, Stream};
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Backoff};
use ethermeter_trial::{Counts, Fault};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// An address of Ethernet.
type Address = [u8; 6];

/// Addresses that are learnt at most; frames for others go to all stations.
const MOST_ADDRESSES: usize = 4096;

/// A frame that has come to a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When its last bit was heard.
    pub at_ps: u64,
    /// By which station.
    pub station: u32,
    frame: u32,
}

/// A frame in a card.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    frame: u32,
    arrived: i64,
}

/// The frame that a card sends.
#[derive(Clone, Copy, Debug)]
struct Held {
    waiting: Waiting,
    taken_up: i64,
    attempts: u32,
    since_handover: u32,
}

#[derive(Debug)]
struct Card {
    held: Option<Held>,
    waiting: VecDeque<Waiting>,
    chance: Stream,
    retry: Retry,
    /// Frames that it has room for, the one being sent included.
    room: usize,
    offered: u64,
    dropped: u64,
}

/// A frame that was sent and not yet heard by all.
#[derive(Clone, Copy, Debug)]
struct OnWay {
    number: u32,
    frame: u32,
    left: u32,
}

/// The cards of a segment.
struct Cards<'s> {
    segment: &'s CompiledSegment,
    each: Vec<Card>,
    frames: Frames,
    /// Behind which station an address is.
    addresses: HashMap<Address, u32>,
    on_way: VecDeque<OnWay>,
    deliveries: VecDeque<Delivery>,
    totals: Counters,
}

/// A frame that is to arrive at a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    at: i64,
    station: u32,
    serial: u64,
    frame: u32,
}

/// A shared segment at work.
pub struct Medium<'s> {
    bus: Machine<'s, Cards<'s>>,
    arrivals: BinaryHeap<Reverse<Arrival>>,
    serial: u64,
    decided: i64,
    /// How much too late stamps came.
    pub too_late: Histogram,
    /// Frames whose stamps came too late.
    pub violations: u64,
}

impl<'s> Medium<'s> {
    /// The segment of a trial, whose sources are the interfaces; `tracing` keeps every attempt.
    ///
    /// # Errors
    /// If a real host cannot be such a station, by the path of the key.
    ///
    /// # Panics
    /// Never: a segment has at most 1024 stations.
    pub fn new(bus: &'s CompiledBus, tracing: bool) -> Result<Self, Fault> {
        let segment = &bus.segment;
        refuse(segment)?;
        let card = |station: usize| {
            let group = segment.group(station);
            let retry = Retry {
                backoff: group.stations.backoff,
                attempt_limit: group.stations.attempt_limit,
                slot: segment.slot,
            };
            let room = group.flow.queue_frames.map_or(usize::MAX, |frames| frames as usize);
            let number = u32::try_from(station).expect("at most 1024 stations");
            let chance = Stream::new(segment.seed, number, Purpose::Backoff);
            let waiting = VecDeque::new();
            Card { held: None, waiting, chance, retry, room, offered: 0, dropped: 0 }
        };
        let cards = Cards {
            segment,
            each: (0..segment.stations()).map(card).collect(),
            frames: Frames::default(),
            addresses: HashMap::new(),
            on_way: VecDeque::new(),
            deliveries: VecDeque::new(),
            totals: Counters::new(segment, tracing),
        };
        let bus =
            Machine::new(&segment.medium, &bus.plca, &segment.phases, (segment.seed, 0), cards);
        Ok(Self {
            bus,
            arrivals: BinaryHeap::new(),
            serial: 0,
            decided: 0,
            too_late: Histogram::default(),
            violations: 0,
        })
    }

    /// A frame of these pieces, without its check sequence, came from a station at a time.
    pub fn offer(&mut self, stamp_ps: u64, station: u32, pieces: &[&[u8]]) {
        let stamp = stamp_ps.cast_signed();
        if stamp < self.decided {
            self.violations += 1;
            self.too_late.record((self.decided - stamp).cast_unsigned());
        }
        let frame = self.bus.hosts.frames.keep(pieces);
        self.serial += 1;
        let arrival = Arrival { at: stamp.max(self.decided), station, serial: self.serial, frame };
        self.arrivals.push(Reverse(arrival));
    }

    /// Decide what happens before a time. Stamps of earlier times come too late from then on.
    pub fn advance(&mut self, until_ps: u64) {
        let until = until_ps.cast_signed();
        while let Some(at) = self.next_at().filter(|&at| at < until) {
            let arrival = self.arrivals.peek().filter(|arrival| arrival.0.at == at);
            if arrival.is_some() {
                self.arrive();
            } else {
                self.bus.step();
            }
        }
        self.decided = self.decided.max(until);
    }

    /// When something happens next, as far as it is known.
    #[must_use]
    pub fn next_ps(&self) -> Option<u64> {
        self.next_at().map(i64::cast_unsigned)
    }

    fn next_at(&self) -> Option<i64> {
        let arrival = self.arrivals.peek().map(|Reverse(arrival)| arrival.at);
        [arrival, self.bus.next_at()].into_iter().flatten().min()
    }

    fn arrive(&mut self) {
        let Some(Reverse(Arrival { at, station, frame, .. })) = self.arrivals.pop() else { return };
        if self.bus.hosts.arrive(at, station, frame) {
            self.bus.make_ready(at, station);
        }
    }

    /// The next frame that has come to a station, in the order of time, and its octets without
    /// check sequence. It stays until [`Medium::forget`].
    #[must_use]
    pub fn next_delivery(&self) -> Option<(Delivery, &[u8])> {
        let cards = &self.bus.hosts;
        let delivery = *cards.deliveries.front()?;
        Some((delivery, cards.frames.octets(delivery.frame)))
    }

    /// The next delivery is done.
    pub fn forget(&mut self) {
        let cards = &mut self.bus.hosts;
        if let Some(delivery) = cards.deliveries.pop_front() {
            cards.frames.release(delivery.frame);
        }
    }

    /// Frames in cards, on their way, and not yet taken.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.bus.hosts.frames.kept()
    }

    /// What was counted, as a simulation counts it, and the attempts that were kept.
    #[must_use]
    pub fn finish(self) -> (Counts, Vec<Attempt>) {
        let (cards, medium, plca) = self.bus.finish();
        let held = cards.each.iter().enumerate();
        let held: Vec<(usize, i64)> =
            held.filter_map(|(at, card)| card.held.map(|held| (at, held.taken_up))).collect();
        let supplied: Vec<(u64, u64)> =
            cards.each.iter().map(|card| (card.offered, card.dropped)).collect();
        let (mut counts, trace) = cards.totals.close(cards.segment, &held, &supplied);
        counts.medium.time_ps = medium;
        counts.medium.plca = Some(plca);
        (counts, trace)
    }
}

/// Stations that a real host cannot be.
fn refuse(segment: &CompiledSegment) -> Result<(), Fault> {
    for group in &segment.groups {
        if group.is_voice() {
            let allowed = "must not be of a coder: a real frame does not grow while it waits";
            return Err(Fault::new(group.flow_path("arrivals"), allowed));
        }
        if matches!(group.stations.backoff, Backoff::LoadRegister { .. }) {
            let allowed = "must be drawn: a real host's clock is not that of the trial";
            return Err(Fault::new(group.station_path("backoff"), allowed));
        }
    }
    if segment.turnaround > 0 {
        let allowed = "must be 0 on an emulated segment";
        return Err(Fault::new("media[0].mac.csma_cd.turnaround_ps", allowed));
    }
    Ok(())
}

impl Cards<'_> {
    /// A frame comes to a card. Whether the card takes it up at once.
    fn arrive(&mut self, at: i64, station: u32, frame: u32) -> bool {
        let phases = &self.segment.phases;
        let is_counted =
            (phases.measure_from_ps..phases.measure_to_ps).contains(&at.cast_unsigned());
        if let Some(source) = address(self.frames.octets(frame), 6) {
            if self.addresses.len() < MOST_ADDRESSES || self.addresses.contains_key(&source) {
                self.addresses.insert(source, station);
            }
        }
        let card = &mut self.each[station as usize];
        card.offered += u64::from(is_counted);
        let waiting = Waiting { frame, arrived: at };
        if card.held.is_none() {
            card.held = Some(Held::new(waiting, at));
            return true;
        }
        if 1 + card.waiting.len() < card.room {
            card.waiting.push_back(waiting);
        } else {
            card.dropped += u64::from(is_counted);
            self.frames.release(frame);
        }
        false
    }

    /// A card takes up its next frame, if it has one. When it is ready.
    fn take_up(&mut self, station: u32, now: i64) -> i64 {
        let card = &mut self.each[station as usize];
        card.held = card.waiting.pop_front().map(|waiting| Held::new(waiting, now));
        if card.held.is_some() {
            now
        } else {
            NEVER
        }
    }

    fn attempt(&self, station: u32, held: Held, start: i64, end: i64) -> Attempt {
        Attempt {
            station,
            ending: Ending::Delivered,
            late: false,
            damaged: false,
            attempts: held.attempts,
            samples: 0,
            start,
            end,
            taken_up: held.taken_up,
            arrived: held.waiting.arrived,
            bits: self.frames.bits(held.waiting.frame),
        }
    }

    fn held(&mut self, station: u32) -> &mut Held {
        self.each[station as usize].held.as_mut().expect("a station that sends holds a frame")
    }

    /// Whether a frame is for what is behind a station.
    fn is_for(&self, frame: u32, station: u32) -> bool {
        let Some(to) = address(self.frames.octets(frame), 0) else { return true };
        let is_group = to[0] & 1 == 1; // 802.3-2022 § 3.2.3: the first bit that is sent
        is_group || self.addresses.get(&to).is_none_or(|behind| *behind == station)
    }
}

impl Held {
    fn new(waiting: Waiting, taken_up: i64) -> Self {
        Self { waiting, taken_up, attempts: 0, since_handover: 0 }
    }
}

/// The address in a frame that begins with this octet.
fn address(octets: &[u8], at: usize) -> Option<Address> {
    octets.get(at..)?.first_chunk().copied()
}

impl Hosts for Cards<'_> {
    fn packet_time(&self, station: u32, _: i64) -> i64 {
        let held = self.each[station as usize].held.expect("a station that sends holds a frame");
        self.segment.packet_time(self.frames.bits(held.waiting.frame))
    }

    fn deliver(&mut self, station: u32, number: u32, start: i64, end: i64) -> (Attempt, i64) {
        self.held(station).attempts += 1;
        let held = *self.held(station);
        let attempt = self.attempt(station, held, start, end);
        let left = u32::try_from(self.each.len() - 1).expect("at most 1024 stations");
        if left > 0 {
            self.on_way.push_back(OnWay { number, frame: held.waiting.frame, left });
        } else {
            self.frames.release(held.waiting.frame);
        }
        let ready = self.take_up(station, end);
        (attempt, ready)
    }

    fn collide(&mut self, station: u32, start: i64, end: i64, late: bool) -> (Attempt, i64) {
        let rules = &self.segment.group(station as usize).stations;
        let is_fatal = late && rules.after_late_collision == AfterLateCollision::Discard;
        let resumes = rules.after_attempt_limit == AfterAttemptLimit::Resume;
        let held = self.held(station);
        held.attempts += 1;
        held.since_handover += 1;
        let held = *held;
        let attempt = |ending| Attempt { ending, late, ..self.attempt(station, held, start, end) };
        let card = &self.each[station as usize];
        if !is_fatal && card.retry.is_allowed(held.since_handover) {
            let attempt = attempt(Ending::Collided);
            let card = &mut self.each[station as usize];
            let ready = end + card.retry.wait(held.since_handover, &mut card.chance);
            return (attempt, ready);
        }
        if !is_fatal && resumes {
            let attempt = attempt(Ending::Resumed);
            self.held(station).since_handover = 0;
            return (attempt, end);
        }
        let attempt = attempt(Ending::Discarded);
        self.frames.release(held.waiting.frame);
        let ready = self.take_up(station, end);
        (attempt, ready)
    }

    fn receive(&mut self, station: u32, number: u32, now: i64, is_right: bool) {
        let Some(at) = self.on_way.iter().position(|on_way| on_way.number == number) else {
            return; // one that collided
        };
        let frame = self.on_way[at].frame;
        if is_right && self.is_for(frame, station) {
            self.frames.hold(frame);
            let at_ps = now.cast_unsigned();
            self.deliveries.push_back(Delivery { at_ps, station, frame });
        }
        self.on_way[at].left -= 1;
        if self.on_way[at].left == 0 {
            self.on_way.remove(at);
            self.frames.release(frame);
        }
    }

    fn record(&mut self, attempt: &Attempt) {
        self.totals.record(attempt);
    }

    fn record_logical(&mut self, attempt: &Attempt) {
        self.totals.record_logical(attempt);
    }
}
