//! A shared segment between interfaces, without a clock: the nodes of the simulator
//! ([`ethermeter_simulator::medium`]) with real frames in their cards.
//!
//! Times are those of the medium, in picoseconds since it began. Frames are offered with the stamps
//! of their arrival, and [`EmulatedMedium::advance`] decides what happens up to a time; so who
//! collides with whom depends on stamps and draws alone, as long as every stamp is known when its
//! time comes. One that is older than what is decided counts as a violation, and its frame arrives
//! now.
//!
//! The draws are those of a simulation of the same trial: the same arrivals give the same attempts.

use crate::cards::EmulatedCards;
pub use crate::cards::{Address, CardDelivery, StationTotals};
use crate::recorder::AttemptRecorder;
use crate::speech;
use ethermeter_simulator::event_queue::{EventQueue, Ranked};
use ethermeter_simulator::identity::StationId;
use ethermeter_simulator::mac::transmitter::Attempt;
use ethermeter_simulator::plca::idle::IdleCycles;
use ethermeter_simulator::segment::compiled::CompiledSegment;
use ethermeter_simulator::shared::{SharedMedium, SharedSegment};
use ethermeter_simulator::time::Instant;
use ethermeter_traffic::Histogram;
use ethermeter_trial::{Counts, Fault};
use serde::Serialize;

/// A frame that is to arrive at a card. Of one instant, those of the first station come first.
#[derive(Clone, Copy, Debug)]
struct CardArrival {
    station: StationId,
    frame: u32,
}

impl Ranked for CardArrival {
    fn rank(&self) -> u8 {
        0
    }

    fn identity(&self) -> u32 {
        self.station.number()
    }
}

/// What a station did with its own transmit opportunities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpportunityCounts {
    /// Whether the PLCA status is OK.
    pub is_ok: bool,
    /// Opportunities in which it sent.
    pub used: u64,
    /// Opportunities that the station let pass.
    pub yielded: u64,
    /// Opportunities in which the station held the line in vain, or another one sent.
    pub missed: u64,
}

/// A shared segment at work.
pub struct EmulatedMedium<'s> {
    has_plca: bool,
    bus: SharedMedium<'s, EmulatedCards<'s>>,
    idle_cycles: Option<IdleCycles>,
    /// Whether nothing but idle cycles happens until the next frame arrives.
    is_idle: bool,
    arrivals: EventQueue<CardArrival>,
    decided: Instant,
    /// How much too late stamps came.
    pub too_late: Histogram,
    /// Frames whose stamps came too late.
    pub violations: u64,
}

impl<'s> EmulatedMedium<'s> {
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
        let bus = shared.medium(EmulatedCards::new(segment, tracing));
        let (has_plca, idle_cycles) = (shared.plca().is_some(), shared.idle_cycles());
        Ok(Self {
            has_plca,
            bus,
            idle_cycles,
            is_idle: false,
            arrivals: EventQueue::default(),
            decided: Instant::ZERO,
            too_late: Histogram::default(),
            violations: 0,
        })
    }

    /// A frame of these pieces, without its check sequence, came from a station at a time.
    pub fn offer(&mut self, stamp_ps: u64, station: u32, chunks: &[&[u8]]) {
        let stamp = Instant::from_ps(stamp_ps);
        if stamp < self.decided {
            self.violations += 1;
            self.too_late.record((self.decided - stamp).ps());
        }
        let frame = self.bus.hosts_mut().frames.keep(chunks);
        let arrival = CardArrival { station: station.into(), frame };
        self.arrivals.schedule(stamp.max(self.decided), arrival);
    }

    /// Decide what happens before a time. Stamps of earlier times come too late from then on.
    pub fn advance(&mut self, until_ps: u64) {
        while !self.advance_some(until_ps, usize::MAX) {}
    }

    /// Decide at most so many events before a time; whether all of them are decided.
    pub fn advance_some(&mut self, until_ps: u64, most: usize) -> bool {
        let until = Instant::from_ps(until_ps);
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
    fn skip_idle_cycles(&mut self, until: Instant) -> bool {
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
        next.map(Instant::ps)
    }

    fn next_at(&self) -> Option<Instant> {
        [self.next_arrival(), self.bus.next_at()].into_iter().flatten().min()
    }

    fn next_arrival(&self) -> Option<Instant> {
        self.arrivals.next_at()
    }

    fn arrive(&mut self) {
        let Some((at, CardArrival { station, frame })) = self.arrivals.take() else { return };
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
        self.bus.hosts_mut().hear_all(station.into());
    }

    /// The card of a station has room for so many octets, from the frame that comes next.
    pub fn limit(&mut self, station: u32, octets: u64) {
        self.bus.hosts_mut().limit(station.into(), octets);
    }

    /// An address is behind a station: frames for it go nowhere else, even before it was heard.
    pub fn attach(&mut self, address: Address, station: u32) {
        self.bus.hosts_mut().attach(address, station.into());
    }

    /// Every frame that was sent goes to this number too, which is none of a station: without
    /// propagation, so that a station that is alone is heard.
    pub fn listen(&mut self, listener: u32) {
        self.bus.hosts_mut().listener = Some(listener);
    }

    /// Keep attempts for a capture from now on, or no more. Returns what kept them before.
    pub(crate) fn record(&mut self, recorder: Option<AttemptRecorder>) -> Option<AttemptRecorder> {
        std::mem::replace(&mut self.bus.hosts_mut().recorder, recorder)
    }

    /// What keeps attempts for a capture.
    pub(crate) fn recorder(&mut self) -> Option<&mut AttemptRecorder> {
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
        self.bus.hosts().station(station.into())
    }

    /// PLCA of a station so far, if it takes turns.
    #[must_use]
    pub fn turns(&self, station: u32) -> Option<OpportunityCounts> {
        let (is_ok, [used, yielded, missed]) = self.bus.turns_of(station.into());
        self.has_plca.then_some(OpportunityCounts { is_ok, used, yielded, missed })
    }

    /// Cycles of PLCA so far: from a beacon to the next one.
    #[must_use]
    pub fn cycles(&self) -> Option<u64> {
        self.has_plca.then(|| self.bus.cycles())
    }

    /// A station whose frames have left its card since it was last given here; in no order.
    pub fn next_finished(&mut self) -> Option<u32> {
        self.bus.hosts_mut().finished.pop().map(StationId::number)
    }

    /// The next frame that has come to a station, in the order of time, and its octets without
    /// check sequence. It stays until [`EmulatedMedium::forget`].
    #[must_use]
    pub fn next_delivery(&self) -> Option<(CardDelivery, &[u8])> {
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

    /// Result of the medium, with what kept attempts for a capture.
    pub(crate) fn finish_recorded(self) -> (Counts, Vec<Attempt>, Option<AttemptRecorder>) {
        let (mut cards, medium, plca) = self.bus.finish();
        let recorder = cards.recorder.take();
        let (mut counts, trace) = cards.finish();
        counts.media[0].time_ps = medium;
        counts.media[0].plca = plca;
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
