//! The network cards of an emulated segment: real frames that wait for the medium.
//!
//! A card takes up a frame by its [`CardSupply`]. The host's service time is the card's, for
//! today's hosts are faster than the studies'. A saturated host is told how many of its frames have
//! left, and keeps some in the card; one that is too slow is counted as late.
//!
//! So does a host with a coder. Its frames have room for the longest packet, and the card sends of
//! them what the samples need that were made by then: the rest of the frame is cut off, and the
//! mark says what the packet holds ([`crate::speech`]).

use crate::frames::FrameStore;
use crate::recorder::AttemptRecorder;
use crate::speech::VoiceMarking;
use crate::supply::{CardSupply, TakenFrame};
use ethermeter_ethernet::units::Bits;
use ethermeter_simulator::identity::StationId;
use ethermeter_simulator::mac::transmitter::{Attempt, Ending, Transmitter};
use ethermeter_simulator::medium::hosts::Hosts;
use ethermeter_simulator::medium::signals::FrameNumber;
use ethermeter_simulator::segment::compiled::CompiledSegment;
use ethermeter_simulator::segment::counters::Counters;
use ethermeter_simulator::segment::station::Supplied;
use ethermeter_simulator::time::{Instant, Span};
use ethermeter_trial::Counts;
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
pub struct CardDelivery {
    /// When its last bit was heard.
    pub at_ps: u64,
    /// By which station.
    pub station: u32,
    pub(crate) frame: u32,
}

/// A frame in a card.
#[derive(Clone, Copy, Debug)]
struct QueuedFrame {
    frame: u32,
    bits: u64,
    arrived: Instant,
}

/// The frame that a card sends.
#[derive(Clone, Copy, Debug)]
struct HeadFrame {
    frame: u32,
    /// Octets of it in the card.
    octets: u64,
}

/// What happened at a station since the medium began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StationTotals {
    /// Frames that came to the card.
    pub arrived: u64,
    /// Frames that found the card full, or came after the end of a saturated source.
    pub dropped: u64,
    /// Frames that were sent without collision.
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
struct EmulatedCard {
    head: Option<HeadFrame>,
    waiting: VecDeque<QueuedFrame>,
    supply: CardSupply,
    transmitter: Transmitter,
    /// Frames that it has room for, the one being sent included.
    room: usize,
    /// Octets that the card has room for, the frame being sent included.
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
struct FrameOnMedium {
    number: FrameNumber,
    frame: u32,
    left: u32,
}

/// The cards of a segment.
pub(crate) struct EmulatedCards<'s> {
    segment: &'s CompiledSegment,
    cards: Vec<EmulatedCard>,
    pub frames: FrameStore,
    /// Behind which station an address is.
    addresses: HashMap<Address, StationId>,
    on_medium: VecDeque<FrameOnMedium>,
    pub deliveries: VecDeque<CardDelivery>,
    /// Stations whose frames have left since it was last asked.
    pub finished: Vec<StationId>,
    counters: Counters,
    /// Where every frame that was sent goes besides, without being a station.
    pub listener: Option<u32>,
    /// What keeps attempts for a capture; usually nothing does.
    pub recorder: Option<AttemptRecorder>,
    marking: VoiceMarking,
}

impl EmulatedCard {
    fn new(segment: &CompiledSegment, station: StationId) -> Self {
        let group = segment.group(station);
        let (supply, transmitter) = CardSupply::new(segment, station);
        Self {
            head: None,
            waiting: VecDeque::new(),
            supply,
            transmitter,
            room: group.flow.queue_frames.map_or(MOST_WAITING, |frames| frames as usize),
            room_octets: u64::MAX,
            octets: 0,
            totals: StationTotals::default(),
            address: None,
            hears_all: false,
        }
    }

    /// A frame has come. When the station is ready with it, if it is the only one.
    fn arrive(
        &mut self,
        waiting: QueuedFrame,
        is_counted: bool,
    ) -> Result<Option<Instant>, CardFull> {
        self.totals.arrived += 1;
        let (frames, octets) = (self.frames() + 1, self.octets + waiting.bits / 8);
        let is_full = frames > self.room || octets > self.room_octets;
        if is_counted {
            self.supply.count(is_full);
        }
        if is_full {
            return Err(self.drop());
        }
        let ready = if self.head.is_some() {
            self.waiting.push_back(waiting);
            None
        } else {
            let Some(take_up) = self.supply.take(waiting.arrived) else { return Err(self.drop()) };
            self.totals.starved += u64::from(take_up.is_late);
            Some(self.hold(waiting, take_up))
        };
        self.octets = octets;
        self.totals.queue_most = self.totals.queue_most.max(frames as u64);
        self.totals.queue_octets_most = self.totals.queue_octets_most.max(octets);
        Ok(ready)
    }

    /// Frames in the card, the one being sent included.
    fn frames(&self) -> usize {
        usize::from(self.head.is_some()) + self.waiting.len()
    }

    fn drop(&mut self) -> CardFull {
        self.totals.dropped += 1;
        CardFull
    }

    /// The frame before ended at `now`; take up the next one, if there is one. When the station is
    /// ready with it.
    fn take_up(&mut self, now: Instant) -> Instant {
        self.head = None;
        self.transmitter.release();
        self.supply.free(now);
        let Some(&waiting) = self.waiting.front() else { return Instant::NEVER };
        let Some(take_up) = self.supply.take(waiting.arrived) else { return Instant::NEVER };
        self.waiting.pop_front();
        self.hold(waiting, take_up)
    }

    /// Hold a frame that is taken up. When the station is ready with it.
    fn hold(&mut self, waiting: QueuedFrame, take_up: TakenFrame) -> Instant {
        let TakenFrame { ready, arrived, least_bits, .. } = take_up;
        self.head = Some(HeadFrame { frame: waiting.frame, octets: waiting.bits / 8 });
        self.transmitter.take_up(ready, arrived, Bits(least_bits.unwrap_or(waiting.bits)));
        ready
    }

    /// The frame that it sends.
    fn sending(&self) -> HeadFrame {
        self.head.expect("a station that sends holds a frame")
    }
}

/// A frame was dropped.
struct CardFull;

impl<'s> EmulatedCards<'s> {
    pub fn new(segment: &'s CompiledSegment, tracing: bool) -> Self {
        Self {
            segment,
            cards: StationId::first(segment.stations())
                .map(|station| EmulatedCard::new(segment, station))
                .collect(),
            frames: FrameStore::default(),
            addresses: HashMap::new(),
            on_medium: VecDeque::new(),
            deliveries: VecDeque::new(),
            finished: Vec::new(),
            counters: Counters::new(segment, tracing),
            listener: None,
            recorder: None,
            marking: VoiceMarking::new(segment),
        }
    }

    /// The medium begins at this time of the hosts, for marks.
    pub fn begin_at(&mut self, began_ns: u64) {
        self.marking.began_ns = began_ns;
    }

    /// A station hears every frame, whatever its address.
    pub fn hear_all(&mut self, station: StationId) {
        self.cards[station].hears_all = true;
    }

    /// The card of a station has room for so many octets.
    pub fn limit(&mut self, station: StationId, octets: u64) {
        self.cards[station].room_octets = octets;
    }

    /// An address is behind a station.
    pub fn attach(&mut self, address: Address, station: StationId) {
        self.addresses.insert(address, station);
    }

    /// What happened at a station, and the address that it last sent from.
    pub fn station(&self, station: StationId) -> (&StationTotals, Option<Address>) {
        let card = &self.cards[station];
        (&card.totals, card.address)
    }

    /// Stations on the segment.
    pub fn stations(&self) -> u32 {
        u32::try_from(self.cards.len()).expect("at most 1024 stations")
    }

    /// A frame comes to a card. When its station is ready with it, unless another one is before it.
    pub fn arrive(&mut self, at: Instant, station: StationId, frame: u32) -> Option<Instant> {
        let phases = &self.segment.phases;
        let is_counted = (phases.measure_from_ps..phases.measure_to_ps).contains(&at.ps());
        let card = &mut self.cards[station];
        if let Some(source) = address(self.frames.octets(frame), 6) {
            card.address = Some(source);
            if self.addresses.len() < MOST_ADDRESSES || self.addresses.contains_key(&source) {
                self.addresses.insert(source, station);
            }
        }
        let waiting = QueuedFrame { frame, bits: self.frames.bits(frame), arrived: at };
        if let Ok(ready) = card.arrive(waiting, is_counted) {
            return ready;
        }
        self.leave(station, frame);
        None
    }

    /// A frame has left its card.
    fn leave(&mut self, station: StationId, frame: u32) {
        self.frames.release(frame);
        if !self.finished.contains(&station) {
            self.finished.push(station);
        }
    }

    /// What was counted, and the attempts that were kept.
    pub fn finish(self) -> (Counts, Vec<Attempt>) {
        let holding = StationId::first(self.cards.len()).zip(&self.cards);
        let holding: Vec<_> = holding
            .filter_map(|(at, card)| Some((at, card.transmitter.holding_since()?)))
            .collect();
        let supplied: Vec<Supplied> =
            self.cards.into_iter().map(|card| card.supply.finish()).collect();
        self.counters.close(self.segment, &holding, &supplied)
    }

    /// An attempt has ended, of which a capture may want the frame.
    fn hold_for_capture(&mut self, station: StationId, start: Instant, frame: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.hold(station, start, frame, &mut self.frames);
        }
    }

    /// Whether a frame is for what is behind a station.
    fn is_for(&self, frame: u32, station: StationId) -> bool {
        let Some(to) = address(self.frames.octets(frame), 0) else { return true };
        let is_group = to[0] & 1 == 1; // 802.3-2022 § 3.2.3: the first bit that is sent
        is_group
            || self.cards[station].hears_all
            || self.addresses.get(&to).is_none_or(|behind| *behind == station)
    }
}

/// The address in a frame that begins with this octet.
fn address(octets: &[u8], at: usize) -> Option<Address> {
    octets.get(at..)?.first_chunk().copied()
}

impl Hosts for EmulatedCards<'_> {
    fn packet_time(&self, station: StationId, start: Instant) -> Span {
        let card = &self.cards[station];
        if let Some(voice) = card.supply.voice() {
            return self.segment.grown_packet_time(voice, start);
        }
        self.segment.packet_time(card.transmitter.length())
    }

    fn withdraw(&mut self, station: StationId, now: Instant) -> Option<Instant> {
        let card = &mut self.cards[station];
        if !card.supply.discard_late(now) {
            return None;
        }
        // The host's frame is room for whatever packet comes.
        card.supply.free(now);
        let Some(take_up) = card.supply.take(now) else {
            let head = card.sending();
            card.head = None;
            card.transmitter.release();
            card.octets -= head.octets;
            self.leave(station, head.frame);
            return Some(Instant::NEVER);
        };
        let ready = take_up.ready;
        let least = Bits(take_up.least_bits.expect("only voice is discarded"));
        card.transmitter.take_up(ready, take_up.arrived, least);
        Some(ready)
    }

    fn deliver(
        &mut self,
        station: StationId,
        number: FrameNumber,
        start: Instant,
        end: Instant,
    ) -> (Attempt, Instant) {
        let card = &mut self.cards[station];
        let head = card.sending();
        let attempt = if let Some(packet) = card.supply.deliver_voice(end) {
            self.marking.fill(self.frames.octets_mut(head.frame), &packet);
            card.transmitter.deliver_voice(start, end, &packet)
        } else {
            card.transmitter.deliver(start, end)
        };
        let phases = &self.segment.phases;
        let window = phases.measure_from_ps..phases.measure_to_ps;
        let totals = &mut self.cards[station].totals;
        totals.frames += 1;
        totals.octets += attempt.length.0 / 8;
        totals.samples += u64::from(attempt.samples);
        if window.contains(&end.ps()) {
            let access_ps = (start - attempt.taken_up).ps();
            totals.access_most_ps = totals.access_most_ps.max(access_ps);
        }
        self.cards[station].octets -= head.octets;
        let frame = head.frame;
        self.hold_for_capture(station, start, frame);
        let left = self.stations() - 1;
        if left > 0 {
            self.frames.hold(frame);
            self.on_medium.push_back(FrameOnMedium { number, frame, left });
        }
        if let Some(station) = self.listener {
            self.frames.hold(frame);
            self.deliveries.push_back(CardDelivery { at_ps: end.ps(), station, frame });
        }
        self.leave(station, frame);
        (attempt, self.cards[station].take_up(end))
    }

    fn collide(
        &mut self,
        station: StationId,
        start: Instant,
        end: Instant,
        late: bool,
    ) -> (Attempt, Instant) {
        let card = &mut self.cards[station];
        let head = card.sending();
        card.totals.collisions += 1;
        let (attempt, again) = card.transmitter.collide(start, end, late);
        self.hold_for_capture(station, start, head.frame);
        let ready = again.unwrap_or_else(|| {
            if attempt.ending == Ending::Resumed {
                return self.cards[station].supply.hand_over_again(end);
            }
            let card = &mut self.cards[station];
            card.totals.discarded += 1;
            card.octets -= head.octets;
            self.leave(station, head.frame);
            self.cards[station].take_up(end)
        });
        (attempt, ready)
    }

    fn receive(&mut self, station: StationId, number: FrameNumber, now: Instant, is_right: bool) {
        let Some(at) = self.on_medium.iter().position(|on_medium| on_medium.number == number)
        else {
            return; // one that collided
        };
        let frame = self.on_medium[at].frame;
        if is_right && self.is_for(frame, station) {
            self.frames.hold(frame);
            let (at_ps, station) = (now.ps(), station.number());
            self.deliveries.push_back(CardDelivery { at_ps, station, frame });
        }
        self.on_medium[at].left -= 1;
        if self.on_medium[at].left == 0 {
            self.on_medium.remove(at);
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
