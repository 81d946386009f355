//! The events of a medium: those of its nodes, and signals that spread.
//!
//! A change of signal comes to all other nodes. It is one *wave*, which knows to which of them it
//! comes next, instead of an event for each; a medium has few at a time. The order of what happens
//! is that of single events, each scheduled when the signal changed.
//!
//! A timer that is started again before it is over, as a rule, has one event in the queue, at the
//! earliest of its ends; there it is found to run on.

use super::access::Timer;
use super::compiled::CompiledMedium;
use super::event::Event;
use super::signals::Symbol;
use crate::event_queue::{EventQueue, Order};
use crate::identity::StationId;
use crate::time::{Instant, Span};

/// A node that hears another: how much later, and how many before it in the order of stations.
#[derive(Clone, Copy, Debug)]
struct Hearer {
    delay: Span,
    station: StationId,
    before: u32,
}

/// A change of signal on its way.
#[derive(Clone, Copy, Debug)]
struct Wave {
    from: StationId,
    symbol: Symbol,
    /// When it would be heard without propagation.
    leaves: Instant,
    /// What orders it among the events of an instant, at the first station.
    order: Order,
    /// The number of its next hearer, and when that hears it.
    hearer: usize,
    next: (Instant, Order),
}

/// The timer of a station that is started again and again.
#[derive(Clone, Copy, Debug)]
struct Restarted<T> {
    /// The last start, when that is over, and what orders it; none that is over.
    last: Option<(Instant, Order, Event<T>)>,
    /// When its event in the queue is, if it has one.
    queued: Instant,
}

/// The events of a medium.
#[derive(Clone, Debug)]
pub(crate) struct Events<T> {
    queue: EventQueue<Event<T>>,
    waves: Vec<Wave>,
    /// The wave that is heard first.
    first: usize,
    /// By station: who hears it, in the order of time; empty until it sends.
    hearers: Vec<Vec<Hearer>>,
    restarted: Vec<Restarted<T>>,
    /// What is first: when, in which order, and whether it is a wave.
    next: Option<(Instant, Order, bool)>,
}

impl<T: Timer> Events<T> {
    pub(crate) fn new(stations: usize) -> Self {
        Self {
            queue: EventQueue::default(),
            waves: Vec::new(),
            first: 0,
            hearers: vec![Vec::new(); stations],
            restarted: vec![Restarted { last: None, queued: Instant::NEVER }; stations],
            next: None,
        }
    }

    /// Let an event happen at a time.
    #[inline]
    pub(crate) fn schedule(&mut self, at: Instant, event: Event<T>) {
        match event {
            Event::TimerOver { station, timer, .. } if timer.is_restarted() => {
                let order = self.queue.reserve(event, 1);
                let of = &mut self.restarted[station];
                of.last = Some((at, order, event));
                if at < of.queued {
                    of.queued = at;
                    self.queue.schedule_as(at, order, event);
                }
            }
            _ => self.queue.schedule(at, event),
        }
        self.find_next();
    }

    /// Take the first event of a node itself, which may be of a timer that was started again.
    #[inline]
    fn take_of_node(&mut self) -> Option<(Instant, Event<T>)> {
        let (now, event) = self.queue.take()?;
        if let Event::TimerOver { station, timer, .. } = event
            && timer.is_restarted()
        {
            let of = &mut self.restarted[station];
            if of.queued == now {
                of.queued = Instant::NEVER;
            }
            match of.last {
                Some((_, _, last)) if last == event => of.last = None,
                Some((at, order, last)) if at < of.queued => {
                    of.queued = at;
                    self.queue.schedule_as(at, order, last);
                }
                _ => {}
            }
        }
        Some((now, event))
    }

    /// Let all other stations hear what is on the line of a station, each the propagation after
    /// `leaves`.
    pub(crate) fn spread(
        &mut self,
        medium: &CompiledMedium,
        leaves: Instant,
        (from, symbol): (StationId, Symbol),
    ) {
        let hearers = &mut self.hearers[from];
        if hearers.is_empty() {
            let others = StationId::first(medium.stations()).filter(|&station| station != from);
            let positions = &medium.positions;
            hearers.extend(others.zip(0..).map(|(station, before)| {
                let delay = medium.delay(positions[from], positions[station]);
                Hearer { delay, station, before }
            }));
            hearers.sort_by_key(|hearer| hearer.delay);
        }
        let Some(first) = hearers.first() else { return };
        // What orders it depends on neither the station nor the sender.
        let event = Event::Hear { station: from, from, symbol };
        let order = self.queue.reserve(event, hearers.len());
        let next = (leaves + first.delay, order.after(first.before));
        self.waves.push(Wave { from, symbol, leaves, order, hearer: 0, next });
        let new = self.waves.len() - 1;
        if next < self.waves[self.first].next {
            self.first = new;
        }
        self.find_next();
    }

    #[inline]
    fn find_next(&mut self) {
        let wave = self.waves.get(self.first).map(|wave| wave.next);
        self.next = match (self.queue.next(), wave) {
            (Some(event), Some(wave)) if event < wave => Some((event.0, event.1, false)),
            (_, Some((at, order))) => Some((at, order, true)),
            (event, None) => event.map(|(at, order)| (at, order, false)),
        };
    }

    /// When the first event is.
    #[inline]
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.next.map(|(at, ..)| at)
    }

    /// When the first event is, and its rank.
    #[inline]
    pub(crate) fn next_rank(&self) -> Option<(Instant, u8)> {
        self.next.map(|(at, order, _)| (at, order.rank()))
    }

    /// The first event of a node itself, if none is before it, with its time.
    pub(crate) fn first(&self) -> Option<(Instant, Event<T>)> {
        if self.waves.is_empty() { self.queue.first() } else { None }
    }

    /// Take the first event, with its time.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(Instant, Event<T>)> {
        let (.., is_wave) = self.next?;
        if !is_wave {
            let taken = self.take_of_node();
            self.find_next();
            return taken;
        }
        let wave = &mut self.waves[self.first];
        let hearers = &self.hearers[wave.from];
        let (at, station) = (wave.next.0, hearers[wave.hearer].station);
        let event = Event::Hear { station, from: wave.from, symbol: wave.symbol };
        wave.hearer += 1;
        if let Some(hearer) = hearers.get(wave.hearer) {
            wave.next = (wave.leaves + hearer.delay, wave.order.after(hearer.before));
        } else {
            self.waves.swap_remove(self.first);
        }
        if self.waves.len() > 1 {
            let nexts = self.waves.iter().enumerate().map(|(number, wave)| (wave.next, number));
            self.first = nexts.min().map_or(0, |(_, number)| number);
        } else {
            self.first = 0;
        }
        self.find_next();
        Some((at, event))
    }

    /// All events with their times, in no order; of each wave the next.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Instant, Event<T>)> + '_ {
        let of_wave = |wave: &Wave| {
            let station = self.hearers[wave.from][wave.hearer].station;
            (wave.next.0, Event::Hear { station, from: wave.from, symbol: wave.symbol })
        };
        self.queue.iter().chain(self.waves.iter().map(of_wave))
    }

    /// Keep the events of nodes of which this holds, and nothing that spreads.
    pub(crate) fn retain(&mut self, holds: impl FnMut(Event<T>) -> bool) {
        self.waves.clear();
        self.restarted.fill(Restarted { last: None, queued: Instant::NEVER });
        self.queue.retain(holds);
        self.find_next();
    }

    /// How many events and waves there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.queue.len() + self.waves.len()
    }
}
