//! The senders of a collision of many, position by position: what somebody hears of all of them
//! follows from the first and the last of each position, or from the second and the last but one where
//! that is the listener itself. So the work grows with the senders, and not with their pairs.

use super::compiled::CompiledSegment;
use super::overlapping::Sender;
use super::simd::Key;
use crate::identity::{PositionId, StationId};
use crate::time::{Instant, Span};

/// A time and the station that it belongs to.
type Of = (Instant, StationId);

/// The senders at a position. They are added in the order of their starts.
#[derive(Clone, Copy, Debug)]
struct Place {
    position: PositionId,
    first: Of,
    second: Option<Of>,
    last: Of,
    last_but_one: Option<Of>,
    /// The latest end, and the one before it.
    ends: [Option<Of>; 2],
}

impl Place {
    fn new(sender: &Sender) -> Self {
        let start = (sender.start, sender.station);
        Self {
            position: sender.position,
            first: start,
            second: None,
            last: start,
            last_but_one: None,
            ends: [None; 2],
        }
    }

    fn add(&mut self, sender: &Sender) {
        let start = (sender.start, sender.station);
        self.second.get_or_insert(start);
        self.last_but_one = Some(self.last);
        self.last = start;
    }

    fn end(&mut self, sender: &Sender) {
        let end = Some((sender.end, sender.station));
        let [latest, before] = self.ends;
        self.ends = if end > latest { [end, latest] } else { [latest, before.max(end)] };
    }

    /// The first and the last start of senders other than `listener`, if there is one.
    fn starts_of_others(&self, listener: StationId) -> Option<(Instant, Instant)> {
        let first = if self.first.1 == listener { self.second? } else { self.first };
        let last = if self.last.1 == listener { self.last_but_one? } else { self.last };
        Some((first.0, last.0))
    }

    /// The last end of senders other than `listener`, if there is one.
    fn end_of_others(&self, listener: StationId) -> Option<Instant> {
        let is_other = |&&(_, station): &&Of| station != listener;
        self.ends.iter().flatten().find(is_other).map(|&(at, _)| at)
    }
}

/// Positions with senders. It keeps its room between one collision and the next.
#[derive(Debug, Default)]
pub(super) struct Places {
    places: Vec<Place>,
}

impl Places {
    /// Of stations in the order of their starts, choose those that decided to start, a turnaround
    /// time before, no later than they heard another.
    #[inline]
    pub(super) fn choose(
        &mut self,
        compiled: &CompiledSegment,
        candidates: impl Iterator<Item = Sender>,
        turnaround: Span,
        senders: &mut Vec<Sender>,
    ) {
        senders.clear();
        self.places.clear();
        for sender in candidates {
            let delays = compiled.delays_from(sender.position);
            let arrivals = self.places.iter().map(|place| place.first.0 + delays[place.position]);
            let heard = arrivals.min().unwrap_or(Instant::NEVER);
            if sender.start - turnaround > heard {
                continue;
            }
            senders.push(sender);
            match self.places.iter_mut().find(|place| place.position == sender.position) {
                Some(place) => place.add(&sender),
                None => self.places.push(Place::new(&sender)),
            }
        }
    }

    /// Let the senders hear the first and the last of the others begin.
    #[inline]
    pub(super) fn let_hear(&self, compiled: &CompiledSegment, senders: &mut [Sender]) {
        for sender in senders {
            let delays = compiled.delays_from(sender.position);
            for place in &self.places {
                if let Some((first, last)) = place.starts_of_others(sender.station) {
                    let delay = delays[place.position];
                    sender.heard = sender.heard.min(first + delay);
                    sender.last_arrival = sender.last_arrival.max(last + delay);
                }
            }
        }
    }

    /// Let the senders, whose ends are known, hear the last of the others end.
    #[inline]
    pub(super) fn silence(&mut self, compiled: &CompiledSegment, senders: &mut [Sender]) {
        for place in &mut self.places {
            let position = place.position;
            for sender in senders.iter().filter(|sender| sender.position == position) {
                place.end(sender);
            }
        }
        for sender in senders {
            let delays = compiled.delays_from(sender.position);
            for place in &self.places {
                if let Some(end) = place.end_of_others(sender.station) {
                    sender.silent = sender.silent.max(end + delays[place.position]);
                }
            }
        }
    }

    /// Position and time, as a key, of the last end at each position.
    pub(super) fn ends(&self) -> impl Iterator<Item = (PositionId, Key)> {
        let last = |place: &Place| place.ends[0].map(|(end, _)| (place.position, Key::at(end)));
        self.places.iter().filter_map(last)
    }
}
