//! A shared segment between interfaces, without a clock: the nodes of the simulator
//! ([`ethermeter_simulator::medium`]) with real frames in their cards.
//!
//! Times are those of the medium, in picoseconds since it began. Frames are offered with the stamps
//! of their arrival, and [`Medium::advance`] decides what happens up to a time; so who collides with
//! whom depends on stamps and draws alone, as long as every stamp is known when its time comes. One
//! that is older than what is decided counts as a violation, and its frame arrives now.
//!
//! The draws are those of a simulation of the same trial: the same arrivals give the same attempts.

use crate::cards::Cards;
pub use crate::cards::{Address, Delivery, StationTotals};
use crate::recorder::Recorder;
use crate::speech;
use ethermeter_simulator::plca::idle::IdleCycles;
use ethermeter_simulator::segment::compiled::CompiledSegment;
use ethermeter_simulator::segment::station::Attempt;
use ethermeter_simulator::shared::{SharedMedium, SharedSegment};
use ethermeter_traffic::Histogram;
use ethermeter_trial::{Counts, Fault};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A frame that is to arrive at a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    at: i64,
    station: u32,
    serial: u64,
    frame: u32,
}

/// What a station did with its own transmit opportunities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Turns {
    /// Whether the PLCA status is OK.
    pub is_ok: bool,
    /// Opportunities in which it sent.
    pub used: u64,
    /// Those that it let pass.
    pub yielded: u64,
    /// Those in which it held the line in vain, or another station sent.
    pub missed: u64,
}

/// A shared segment at work.
pub struct Medium<'s> {
    has_plca: bool,
    bus: SharedMedium<'s, Cards<'s>>,
    idle_cycles: Option<IdleCycles>,
    /// Whether nothing but idle cycles happens until the next frame arrives.
    is_idle: bool,
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
    pub fn new(shared: &'s SharedSegment, tracing: bool) -> Result<Self, Fault> {
        let segment = shared.segment();
        refuse(segment)?;
        let bus = shared.medium(Cards::new(segment, tracing));
        let (has_plca, idle_cycles) = (shared.plca().is_some(), shared.idle_cycles());
        Ok(Self {
            has_plca,
            bus,
            idle_cycles,
            is_idle: false,
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
        let frame = self.bus.hosts_mut().frames.keep(pieces);
        self.serial += 1;
        let arrival = Arrival { at: stamp.max(self.decided), station, serial: self.serial, frame };
        self.arrivals.push(Reverse(arrival));
    }

    /// Decide what happens before a time. Stamps of earlier times come too late from then on.
    pub fn advance(&mut self, until_ps: u64) {
        while !self.advance_some(until_ps, usize::MAX) {}
    }

    /// The same, but at most so many events. Whether all before the time are decided.
    pub fn advance_some(&mut self, until_ps: u64, most: usize) -> bool {
        let until = until_ps.cast_signed();
        let mut events = 0;
        while let Some(at) = self.next_at().filter(|&at| at < until) {
            if events == most {
                return false;
            }
            events += 1;
            self.decided = self.decided.max(at);
            if self.next_arrival() == Some(at) {
                self.is_idle = false;
                self.arrive();
            } else if !self.skip_idle_cycles(until) {
                self.bus.step();
            }
        }
        self.decided = self.decided.max(until);
        if self.bus.hosts().recorder.is_some() {
            self.bus.sum_up_until(self.decided);
        }
        true
    }

    /// Skip idle cycles before a time and before the next arrival. Whether there were any.
    fn skip_idle_cycles(&mut self, until: i64) -> bool {
        let Some(cycles) = &self.idle_cycles else { return false };
        let limit = self.next_arrival().map_or(until, |arrival| arrival.min(until));
        let skipped = self.bus.skip(cycles, limit);
        self.is_idle |= skipped.is_some();
        skipped.is_some_and(|cycles| cycles > 0)
    }

    /// When something happens next, as far as it is known, besides idle cycles.
    #[must_use]
    pub fn next_ps(&self) -> Option<u64> {
        let next = if self.is_idle { self.next_arrival() } else { self.next_at() };
        next.map(i64::cast_unsigned)
    }

    fn next_at(&self) -> Option<i64> {
        [self.next_arrival(), self.bus.next_at()].into_iter().flatten().min()
    }

    fn next_arrival(&self) -> Option<i64> {
        self.arrivals.peek().map(|Reverse(arrival)| arrival.at)
    }

    fn arrive(&mut self) {
        let Some(Reverse(Arrival { at, station, frame, .. })) = self.arrivals.pop() else { return };
        if let Some(ready) = self.bus.hosts_mut().arrive(at, station, frame) {
            self.bus.make_ready(ready, station);
        }
    }

    /// It begins at this time of the hosts: marks of voice have it.
    pub fn begin_at(&mut self, began_ns: u64) {
        self.bus.hosts_mut().begin_at(began_ns);
    }

    /// A station hears every frame from now on, whatever its address.
    pub fn hear_all(&mut self, station: u32) {
        self.bus.hosts_mut().hear_all(station);
    }

    /// The card of a station has room for so many octets, from the frame that comes next.
    pub fn limit(&mut self, station: u32, octets: u64) {
        self.bus.hosts_mut().limit(station, octets);
    }

    /// An address is behind a station: frames for it go nowhere else, even before it was heard.
    pub fn place(&mut self, address: Address, station: u32) {
        self.bus.hosts_mut().place(address, station);
    }

    /// Every frame that was sent goes to this number too, which is none of a station: without
    /// propagation, so that a station that is alone is heard.
    pub fn listen(&mut self, listener: u32) {
        self.bus.hosts_mut().listener = Some(listener);
    }

    /// Keep attempts for a capture from now on, or no more. Returns what kept them before.
    pub(crate) fn record(&mut self, recorder: Option<Recorder>) -> Option<Recorder> {
        std::mem::replace(&mut self.bus.hosts_mut().recorder, recorder)
    }

    /// What keeps attempts for a capture.
    pub(crate) fn recorder(&mut self) -> Option<&mut Recorder> {
        self.bus.hosts_mut().recorder.as_mut()
    }

    /// Stations on the segment.
    #[must_use]
    pub fn stations(&self) -> u32 {
        self.bus.hosts().stations()
    }

    /// What happened at a station since the medium began, and the address that it last sent from.
    #[must_use]
    pub fn station(&self, station: u32) -> (&StationTotals, Option<Address>) {
        self.bus.hosts().station(station)
    }

    /// PLCA of a station so far, if it takes turns.
    #[must_use]
    pub fn turns(&self, station: u32) -> Option<Turns> {
        let (is_ok, [used, yielded, missed]) = self.bus.turns_of(station);
        self.has_plca.then_some(Turns { is_ok, used, yielded, missed })
    }

    /// Cycles of PLCA so far: from a beacon to the next one.
    #[must_use]
    pub fn cycles(&self) -> Option<u64> {
        self.has_plca.then(|| self.bus.cycles())
    }

    /// A station whose frames have left its card since it was last given here; in no order.
    pub fn next_finished(&mut self) -> Option<u32> {
        self.bus.hosts_mut().finished.pop()
    }

    /// The next frame that has come to a station, in the order of time, and its octets without
    /// check sequence. It stays until [`Medium::forget`].
    #[must_use]
    pub fn next_delivery(&self) -> Option<(Delivery, &[u8])> {
        let cards = self.bus.hosts();
        let delivery = *cards.deliveries.front()?;
        Some((delivery, cards.frames.octets(delivery.frame)))
    }

    /// The next delivery is done.
    pub fn forget(&mut self) {
        let cards = self.bus.hosts_mut();
        if let Some(delivery) = cards.deliveries.pop_front() {
            cards.frames.release(delivery.frame);
        }
    }

    /// Frames in cards, on their way, and not yet taken.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.bus.hosts().frames.kept()
    }

    /// What was counted, as a simulation counts it, and the attempts that were kept.
    #[must_use]
    pub fn finish(self) -> (Counts, Vec<Attempt>) {
        let (counts, trace, _) = self.finish_recorded();
        (counts, trace)
    }

    /// The same, with what kept attempts for a capture.
    pub(crate) fn finish_recorded(self) -> (Counts, Vec<Attempt>, Option<Recorder>) {
        let (mut cards, medium, plca) = self.bus.finish();
        let recorder = cards.recorder.take();
        let (mut counts, trace) = cards.finish();
        counts.medium.time_ps = medium;
        counts.medium.plca = plca;
        (counts, trace, recorder)
    }
}

/// Refuse stations that a real host cannot be.
///
/// # Errors
/// With the path of the key and what is allowed.
pub fn refuse(segment: &CompiledSegment) -> Result<(), Fault> {
    for group in &segment.groups {
        if let Some(allowed) = group.flow.voice().and_then(|voice| speech::fault(&voice)) {
            return Err(Fault::new(group.flow_path("frames"), allowed));
        }
    }
    Ok(())
}
