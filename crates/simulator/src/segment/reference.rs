//! A segment event by event: each station is a machine of its MAC. Written to be read.
//!
//! Events of one instant are taken in the order of their rank: what a station decides, it decides
//! before it hears what arrives in that instant; and carrier that begins is heard before carrier
//! that ends, so that they join.

use super::compiled::{CompiledSegment, NEVER, small};
use super::counters::Counters;
use super::station::{Attempt, Ending, Station};
use crate::error::Error;
use crate::mac::access::{Access, Next};
use crate::mac::csma_cd::Sent;
use crate::mac::machine;
use crate::watch::Watch;
use ethermeter_trial::Counts;
use ethermeter_trial::medium::Mac;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A frame, or its next attempt, is ready at a station.
    Ready { station: u32 },
    /// The timer with this number is over at a station.
    TimerOver { station: u32, number: u64 },
    /// The first bit of a station leaves.
    FirstBit { station: u32 },
    /// A transmission begins to be heard at a station.
    CarrierOn { station: u32 },
    /// A transmission, in its `version`, is no longer heard at a station.
    CarrierOff { station: u32, transmission: usize, version: u32 },
    /// A transmission, in its `version`, is over.
    SendOver { transmission: usize, version: u32 },
}

impl Event {
    fn rank(self) -> u8 {
        match self {
            Self::Ready { .. } => 0,
            Self::TimerOver { .. } | Self::FirstBit { .. } => 1,
            Self::CarrierOn { .. } => 2,
            Self::CarrierOff { .. } | Self::SendOver { .. } => 3,
        }
    }
}

struct Reference<'w> {
    compiled: &'w CompiledSegment,
    queue: BinaryHeap<Reverse<(i64, u8, u64, Event)>>,
    serial: u64,
    macs: Vec<Box<dyn Access>>,
    stations: Vec<Station>,
    sent: Vec<Sent>,
    attempts: Vec<Attempt>,
}

/// Run a compiled segment. Returns what was counted and every attempt in the order of their starts.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub fn run(
    compiled: &CompiledSegment,
    mac: &Mac,
    watch: &Watch,
) -> Result<(Counts, Vec<Attempt>), Error> {
    go_on(compiled, mac, watch, Station::all(compiled))
}

/// Run a segment on which nothing is heard and no gap is owed, with its stations and when each is
/// ready.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub(crate) fn go_on(
    compiled: &CompiledSegment,
    mac: &Mac,
    watch: &Watch,
    (stations, ready): (Vec<Station>, Vec<i64>),
) -> Result<(Counts, Vec<Attempt>), Error> {
    let mut reference = Reference {
        compiled,
        queue: BinaryHeap::new(),
        serial: 0,
        macs: (0..stations.len()).map(|station| machine(mac, compiled.gap_of(station))).collect(),
        stations,
        sent: Vec::new(),
        attempts: Vec::new(),
    };
    for (station, ready) in ready.into_iter().enumerate() {
        reference.schedule(ready, Event::Ready { station: small(station) });
    }
    let mut poll = watch.begin(compiled.phases.begin_ps, compiled.phases.end_ps);
    while let Some(Reverse((now, _, _, event))) = reference.queue.pop() {
        if !poll.goes_on(now.cast_unsigned()) {
            break;
        }
        reference.handle(now, event);
    }
    poll.check()?;
    Ok(reference.finish())
}

impl Reference<'_> {
    fn schedule(&mut self, at: i64, event: Event) {
        if at < NEVER {
            self.serial += 1;
            self.queue.push(Reverse((at, event.rank(), self.serial, event)));
        }
    }

    fn handle(&mut self, now: i64, event: Event) {
        match event {
            Event::Ready { station } => {
                let next = self.macs[station as usize].ready();
                self.follow(now, station, next);
            }
            Event::FirstBit { station } => self.send(now, station),
            Event::TimerOver { station, number } => {
                let next = self.macs[station as usize].timer_over(number);
                self.follow(now, station, next);
            }
            Event::CarrierOn { station } => {
                if let Some(own) = self.macs[station as usize].carrier_on() {
                    self.collide(now, own);
                }
            }
            Event::CarrierOff { station, transmission, version } => {
                if self.sent[transmission].version == version {
                    let next = self.macs[station as usize].carrier_off();
                    self.follow(now, station, next);
                }
            }
            Event::SendOver { transmission, version } => self.send_over(now, transmission, version),
        }
    }

    fn follow(&mut self, now: i64, station: u32, next: Next) {
        match next {
            Next::Nothing => {}
            Next::Timer { number, after } => {
                self.schedule(now + after, Event::TimerOver { station, number });
            }
            Next::Start => {
                self.macs[station as usize].start();
                if self.compiled.turnaround == 0 {
                    return self.send(now, station);
                }
                self.schedule(now + self.compiled.turnaround, Event::FirstBit { station });
            }
        }
    }

    fn send(&mut self, now: i64, station: u32) {
        if now >= self.compiled.phases.end_ps.cast_signed() {
            return; // the test is over; the frame stays where it is
        }
        let id = self.sent.len();
        let end = now + self.stations[station as usize].packet_time(self.compiled, now);
        self.sent.push(Sent::new(station, now, end));
        let hears_carrier = self.macs[station as usize].send(id);
        let position = self.compiled.positions[station as usize];
        for other in 0..self.stations.len() {
            if other != station as usize {
                let heard = now + self.compiled.delay(position, self.compiled.positions[other]);
                self.schedule(heard, Event::CarrierOn { station: small(other) });
            }
        }
        self.schedule_end(id);
        if hears_carrier {
            self.collide(now, id);
        }
    }

    fn schedule_end(&mut self, id: usize) {
        let Sent { sender, end, version, .. } = self.sent[id];
        self.schedule(end, Event::SendOver { transmission: id, version });
        let position = self.compiled.positions[sender as usize];
        for other in 0..self.stations.len() {
            if other != sender as usize {
                let heard = end + self.compiled.delay(position, self.compiled.positions[other]);
                self.schedule(
                    heard,
                    Event::CarrierOff { station: small(other), transmission: id, version },
                );
            }
        }
    }

    fn collide(&mut self, now: i64, id: usize) {
        if self.sent[id].collide(now, self.compiled.preamble, self.compiled.jam) {
            self.schedule_end(id);
        }
    }

    fn send_over(&mut self, now: i64, id: usize, version: u32) {
        let sent = self.sent[id];
        if version != sent.version {
            return;
        }
        let Sent { sender, start, end, .. } = sent;
        debug_assert_eq!(now, end);
        let station = &mut self.stations[sender as usize];
        let (attempt, ready) = match sent.collision {
            None => station.deliver(start, end),
            Some(heard) => station.collide(start, end, sent.is_late(heard, self.compiled.slot)),
        };
        self.attempts.push(attempt);
        let next = self.macs[sender as usize].send_over();
        self.follow(now, sender, next);
        self.schedule(ready, Event::Ready { station: sender });
    }

    fn finish(mut self) -> (Counts, Vec<Attempt>) {
        self.attempts.sort_by_key(|a| (a.start, a.station));
        mark_damaged(self.compiled, &mut self.attempts);
        let mut counters = Counters::new(self.compiled, true);
        for attempt in &self.attempts {
            counters.record(attempt);
        }
        counters.finish(self.compiled, &mut self.stations)
    }
}

/// Mark frames that another transmission overlapped at some position although their sender heard no
/// collision.
fn mark_damaged(compiled: &CompiledSegment, attempts: &mut [Attempt]) {
    let longest = attempts.iter().map(|a| a.end - a.start).max().unwrap_or(0);
    let mut first = 0;
    for index in 0..attempts.len() {
        let this = attempts[index];
        while attempts[first].start + longest + 2 * compiled.max_delay < this.start {
            first += 1;
        }
        if this.ending == Ending::Delivered {
            let near = attempts[first..]
                .iter()
                .take_while(|a| a.start <= this.end + 2 * compiled.max_delay);
            let damaged =
                near.filter(|other| **other != this).any(|other| overlap(compiled, &this, other));
            attempts[index].damaged = damaged;
        }
    }
}

/// Whether two transmissions of different stations are heard at once at some position.
pub(crate) fn overlap(compiled: &CompiledSegment, a: &Attempt, b: &Attempt) -> bool {
    let (from_a, from_b) =
        (compiled.positions[a.station as usize], compiled.positions[b.station as usize]);
    a.station != b.station
        && (0..small(compiled.place_count)).any(|p| {
            let (to_a, to_b) = (compiled.delay(from_a, p), compiled.delay(from_b, p));
            b.start + to_b < a.end + to_a && a.start + to_a < b.end + to_b
        })
}
