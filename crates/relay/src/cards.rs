//! The network cards of an emulated segment: real frames that wait for the medium.
//!
//! A card takes up a frame by its [`Supply`]. The host's service time is the card's, for today's
//! hosts are faster than the studies'. A saturated host is told how many of its frames have left,
//! and keeps some in the card; one that is too slow is counted as late.
//!
//! So does a host with a coder. Its frames have room for the longest packet, and the card sends of
//! them what the samples need that were made by then: the rest of the frame is cut off, and the
//! mark says what the packet holds ([`crate::speech`]).

use crate::frames::Frames;
use crate::recorder::Recorder;
use crate::speech::Marking;
use crate::supply::{Supply, TakeUp};
use ethermeter_simulator::medium::hosts::Hosts;
use ethermeter_simulator::segment::compiled::{CompiledSegment, NEVER};
use ethermeter_simulator::segment::counters::Counters;
use ethermeter_simulator::segment::retries::Retries;
use ethermeter_simulator::segment::station::{Attempt, Ending, Supplied};
use ethermeter_trial::Counts;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};

/// An address of Ethernet.
pub type Address = [u8; 6];

/// Addresses that are learnt at most; frames for others go to all stations.
const MOST_ADDRESSES: usize = 4096;
/// Room of a card whose queue is unlimited.
const MOST_WAITING: usize = 1 << 16;

/// A frame that has come to a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When its last bit was heard.
    pub at_ps: u64,
    /// By which station.
    pub station: u32,
    pub(crate) frame: u32,
}

/// A frame in a card.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    frame: u32,
    bits: u64,
    arrived: i64,
}

/// The frame that a card sends.
#[derive(Clone, Copy, Debug)]
struct Held {
    frame: u32,
    /// Its length on the medium; of voice, the least until it is sent.
    bits: u64,
    /// Octets of it in the card.
    octets: u64,
    samples: u32,
    /// When it arrived at the queue; of voice, when its first sample was made.
    arrived: i64,
    taken_up: i64,
    attempts: u32,
    since_handover: u32,
}

/// What happened at a station since the medium began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StationTotals {
    /// Frames that came to the card.
    pub arrived: u64,
    /// Those that found it full, or came after the end of a saturated source.
    pub dropped: u64,
    /// Those that were sent without collision.
    pub frames: u64,
    /// Octets of them, destination address to FCS.
    pub octets: u64,
    /// Attempts that collided, on the line or logically.
    pub collisions: u64,
    /// Frames that were given up.
    pub discarded: u64,
    /// Times that a saturated source or a coder offered a frame which the host had not sent yet.
    pub starved: u64,
    /// Most frames in the card, the one being sent included.
    pub queue_most: u64,
    /// Most octets of them.
    pub queue_octets_most: u64,
    /// Longest access delay of a frame whose transmission ended in the measured window.
    pub access_most_ps: u64,
    /// Samples in the frames that were sent, if they are of a coder.
    pub samples: u64,
}

impl StationTotals {
    /// Frames that have left the card, whatever became of them.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.dropped + self.frames + self.discarded
    }
}

#[derive(Debug)]
struct Card {
    held: Option<Held>,
    waiting: VecDeque<Waiting>,
    supply: Supply,
    retries: Retries,
    /// Frames that it has room for, the one being sent included.
    room: usize,
    /// The same in octets.
    room_octets: u64,
    /// Octets of the frames in it.
    octets: u64,
    totals: StationTotals,
    /// The address that it last sent from.
    address: Option<Address>,
    hears_all: bool,
}

/// A frame that was sent and not yet heard by all.
#[derive(Clone, Copy, Debug)]
struct OnWay {
    number: u32,
    frame: u32,
    left: u32,
}

/// The cards of a segment.
pub(crate) struct Cards<'s> {
    segment: &'s CompiledSegment,
    each: Vec<Card>,
    pub frames: Frames,
    /// Behind which station an address is.
    addresses: HashMap<Address, u32>,
    on_way: VecDeque<OnWay>,
    pub deliveries: VecDeque<Delivery>,
    /// Stations whose frames have left since it was last asked.
    pub finished: Vec<u32>,
    counters: Counters,
    /// Where every frame that was sent goes besides, without being a station.
    pub listener: Option<u32>,
    /// What keeps attempts for a capture; usually nothing does.
    pub recorder: Option<Recorder>,
    marking: Marking,
}

impl Held {
    fn new(waiting: Waiting, take_up: TakeUp) -> Self {
        Self {
            frame: waiting.frame,
            bits: take_up.least_bits.unwrap_or(waiting.bits),
            octets: waiting.bits / 8,
            samples: 0,
            arrived: take_up.arrived,
            taken_up: take_up.ready,
            attempts: 0,
            since_handover: 0,
        }
    }
}

impl Card {
    fn new(segment: &CompiledSegment, station: usize) -> Self {
        let group = segment.group(station);
        let number = u32::try_from(station).expect("at most 1024 stations");
        let (supply, retries) = Supply::new(segment, station, number);
        Self {
            held: None,
            waiting: VecDeque::new(),
            supply,
            retries,
            room: group.flow.queue_frames.map_or(MOST_WAITING, |frames| frames as usize),
            room_octets: u64::MAX,
            octets: 0,
            totals: StationTotals::default(),
            address: None,
            hears_all: false,
        }
    }

    /// A frame has come. When the station is ready with it, if it is the only one.
    fn arrive(&mut self, waiting: Waiting, is_counted: bool) -> Result<Option<i64>, NoRoom> {
        self.totals.arrived += 1;
        let (frames, octets) = (self.frames() + 1, self.octets + waiting.bits / 8);
        let is_full = frames > self.room || octets > self.room_octets;
        if is_counted {
            self.supply.count(is_full);
        }
        if is_full {
            return Err(self.drop());
        }
        let ready = if self.held.is_some() {
            self.waiting.push_back(waiting);
            None
        } else {
            let Some(take_up) = self.supply.take(waiting.arrived) else { return Err(self.drop()) };
            self.totals.starved += u64::from(take_up.is_late);
            self.held = Some(Held::new(waiting, take_up));
            Some(take_up.ready)
        };
        self.octets = octets;
        self.totals.queue_most = self.totals.queue_most.max(frames as u64);
        self.totals.queue_octets_most = self.totals.queue_octets_most.max(octets);
        Ok(ready)
    }

    /// Frames in the card, the one being sent included.
    fn frames(&self) -> usize {
        usize::from(self.held.is_some()) + self.waiting.len()
    }

    fn drop(&mut self) -> NoRoom {
        self.totals.dropped += 1;
        NoRoom
    }

    /// The frame before ended at `now`; take up the next one, if there is one. When the station is
    /// ready with it.
    fn take_up(&mut self, now: i64) -> i64 {
        self.held = None;
        self.supply.free(now);
        let Some(&waiting) = self.waiting.front() else { return NEVER };
        let Some(take_up) = self.supply.take(waiting.arrived) else { return NEVER };
        self.waiting.pop_front();
        self.held = Some(Held::new(waiting, take_up));
        take_up.ready
    }
}

/// A frame was dropped.
struct NoRoom;

impl<'s> Cards<'s> {
    pub fn new(segment: &'s CompiledSegment, tracing: bool) -> Self {
        Self {
            segment,
            each: (0..segment.stations()).map(|station| Card::new(segment, station)).collect(),
            frames: Frames::default(),
            addresses: HashMap::new(),
            on_way: VecDeque::new(),
            deliveries: VecDeque::new(),
            finished: Vec::new(),
            counters: Counters::new(segment, tracing),
            listener: None,
            recorder: None,
            marking: Marking::new(segment),
        }
    }

    /// The medium begins at this time of the hosts, for marks.
    pub fn begin_at(&mut self, began_ns: u64) {
        self.marking.began_ns = began_ns;
    }

    /// A station hears every frame, whatever its address.
    pub fn hear_all(&mut self, station: u32) {
        self.each[station as usize].hears_all = true;
    }

    /// The card of a station has room for so many octets.
    pub fn limit(&mut self, station: u32, octets: u64) {
        self.each[station as usize].room_octets = octets;
    }

    /// An address is behind a station.
    pub fn place(&mut self, address: Address, station: u32) {
        self.addresses.insert(address, station);
    }

    /// What happened at a station, and the address that it last sent from.
    pub fn station(&self, station: u32) -> (&StationTotals, Option<Address>) {
        let card = &self.each[station as usize];
        (&card.totals, card.address)
    }

    /// Stations on the segment.
    pub fn stations(&self) -> u32 {
        u32::try_from(self.each.len()).expect("at most 1024 stations")
    }

    /// A frame comes to a card. When its station is ready with it, unless another one is before it.
    pub fn arrive(&mut self, at: i64, station: u32, frame: u32) -> Option<i64> {
        let phases = &self.segment.phases;
        let is_counted =
            (phases.measure_from_ps..phases.measure_to_ps).contains(&at.cast_unsigned());
        let card = &mut self.each[station as usize];
        if let Some(source) = address(self.frames.octets(frame), 6) {
            card.address = Some(source);
            if self.addresses.len() < MOST_ADDRESSES || self.addresses.contains_key(&source) {
                self.addresses.insert(source, station);
            }
        }
        let waiting = Waiting { frame, bits: self.frames.bits(frame), arrived: at };
        if let Ok(ready) = card.arrive(waiting, is_counted) {
            return ready;
        }
        self.leave(station, frame);
        None
    }

    /// A frame has left its card.
    fn leave(&mut self, station: u32, frame: u32) {
        self.frames.release(frame);
        if !self.finished.contains(&station) {
            self.finished.push(station);
        }
    }

    /// What was counted, and the attempts that were kept.
    pub fn finish(self) -> (Counts, Vec<Attempt>) {
        let held = self.each.iter().enumerate();
        let held: Vec<(usize, i64)> =
            held.filter_map(|(at, card)| card.held.map(|held| (at, held.taken_up))).collect();
        let supplied: Vec<Supplied> =
            self.each.into_iter().map(|card| card.supply.finish()).collect();
        self.counters.close(self.segment, &held, &supplied)
    }

    /// An attempt has ended, of which a capture may want the frame.
    fn hold_for_capture(&mut self, station: u32, start: i64, frame: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.hold(station, start, frame, &mut self.frames);
        }
    }

    fn held(&mut self, station: u32) -> &mut Held {
        self.each[station as usize].held.as_mut().expect("a station that sends holds a frame")
    }

    /// Fill the frame of a station with the samples that it has sent until `end`, if it is voice.
    fn fill(&mut self, station: u32, end: i64) {
        let Some(packet) = self.each[station as usize].supply.deliver_voice(end) else { return };
        let held = self.held(station);
        held.bits = packet.bits;
        held.samples = u32::try_from(packet.samples).expect("lengths were checked");
        held.arrived = packet.oldest_ps.cast_signed();
        let frame = held.frame;
        self.marking.fill(self.frames.octets_mut(frame), &packet);
    }

    /// Whether a frame is for what is behind a station.
    fn is_for(&self, frame: u32, station: u32) -> bool {
        let Some(to) = address(self.frames.octets(frame), 0) else { return true };
        let is_group = to[0] & 1 == 1; // 802.3-2022 § 3.2.3: the first bit that is sent
        is_group
            || self.each[station as usize].hears_all
            || self.addresses.get(&to).is_none_or(|behind| *behind == station)
    }
}

/// The attempt of a station with the frame that it holds.
fn attempt(station: u32, held: Held, start: i64, end: i64) -> Attempt {
    Attempt {
        station,
        ending: Ending::Delivered,
        late: false,
        damaged: false,
        attempts: held.attempts,
        samples: held.samples,
        start,
        end,
        taken_up: held.taken_up,
        arrived: held.arrived,
        bits: held.bits,
    }
}

/// The address in a frame that begins with this octet.
fn address(octets: &[u8], at: usize) -> Option<Address> {
    octets.get(at..)?.first_chunk().copied()
}

impl Hosts for Cards<'_> {
    fn packet_time(&self, station: u32, start: i64) -> i64 {
        let card = &self.each[station as usize];
        if let Some(voice) = card.supply.voice() {
            return self.segment.grown_packet_time(voice, start);
        }
        let held = card.held.expect("a station that sends holds a frame");
        self.segment.packet_time(held.bits)
    }

    fn deliver(&mut self, station: u32, number: u32, start: i64, end: i64) -> (Attempt, i64) {
        self.held(station).attempts += 1;
        self.fill(station, end);
        let held = *self.held(station);
        let attempt = attempt(station, held, start, end);
        let phases = &self.segment.phases;
        let window = phases.measure_from_ps..phases.measure_to_ps;
        let totals = &mut self.each[station as usize].totals;
        totals.frames += 1;
        totals.octets += attempt.bits / 8;
        totals.samples += u64::from(held.samples);
        if window.contains(&end.cast_unsigned()) {
            let access_ps = (start - attempt.taken_up).cast_unsigned();
            totals.access_most_ps = totals.access_most_ps.max(access_ps);
        }
        self.each[station as usize].octets -= held.octets;
        let frame = held.frame;
        self.hold_for_capture(station, start, frame);
        let left = self.stations() - 1;
        if left > 0 {
            self.frames.hold(frame);
            self.on_way.push_back(OnWay { number, frame, left });
        }
        if let Some(station) = self.listener {
            self.frames.hold(frame);
            self.deliveries.push_back(Delivery { at_ps: end.cast_unsigned(), station, frame });
        }
        self.leave(station, frame);
        (attempt, self.each[station as usize].take_up(end))
    }

    fn collide(&mut self, station: u32, start: i64, end: i64, late: bool) -> (Attempt, i64) {
        let rules = &self.segment.group(station as usize).stations;
        let is_fatal = late && rules.after_late_collision == AfterLateCollision::Discard;
        let resumes = rules.after_attempt_limit == AfterAttemptLimit::Resume;
        let held = self.held(station);
        held.attempts += 1;
        held.since_handover += 1;
        let held = *held;
        self.each[station as usize].totals.collisions += 1;
        self.hold_for_capture(station, start, held.frame);
        let attempt = |ending| Attempt { ending, late, ..attempt(station, held, start, end) };
        let card = &mut self.each[station as usize];
        if !is_fatal {
            if let Some(ready) = card.retries.next(held.since_handover, end) {
                return (attempt(Ending::Collided), ready);
            }
            if resumes {
                self.held(station).since_handover = 0;
                let ready = self.each[station as usize].supply.hand_over_again(end);
                return (attempt(Ending::Resumed), ready);
            }
        }
        card.totals.discarded += 1;
        card.octets -= held.octets;
        self.leave(station, held.frame);
        (attempt(Ending::Discarded), self.each[station as usize].take_up(end))
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
        self.counters.record(attempt);
        if let Some(recorder) = &mut self.recorder {
            recorder.record(attempt, self.segment, &mut self.frames);
        }
    }

    fn record_logical(&mut self, attempt: &Attempt) {
        self.counters.record_logical(attempt);
        if let Some(recorder) = &mut self.recorder {
            recorder.record_logical(attempt, self.segment, &mut self.frames);
        }
    }
}
