//! Medium access event by event, after the procedures of 802.3-2022 § 4.2.8. Written to be read.
//!
//! Every station runs two processes. *Deference* watches the medium:
//!
//! ```text
//!          carrier, or own transmission
//! Silent ──────────────────────────────► Busy
//!   ▲                                      │ all of it gone
//!   │                                      ▼
//!   │            carrier, unless it transmitted itself (or waits for higher priority)
//!   │           ┌────────────────────── GapPart1 ◄─┐
//!   │           ▼                          │       │ (a gap whose first part is empty begins here ▼)
//!   │         Busy                         ▼       │
//!   └────────────────────────────────── GapPart2   carrier is ignored; at its end a waiting frame goes out,
//!                                                  and carrier still there makes it Busy again
//! ```
//!
//! A station with a priority wait has a gap that is longer by it and has no second part; and it
//! watches carrier after its own transmissions, too.
//!
//! *Transmission* holds the frame: `Idle → (ready) → Waiting → (not deferring) → Starting → (deaf
//! time) → Sending → …`. Who has decided to start hears nothing more until its first bit leaves;
//! the standards know no such time.
//!
//! Events of one instant are taken in the order of their rank: what a station decides, it decides
//! before it hears what arrives in that instant; and carrier that begins is heard before carrier
//! that ends, so that they join.

use crate::outcome::Outcome;
use crate::scenario::Error;
use crate::station::{Attempt, Ending, Station};
use crate::tally::Tally;
use crate::watch::Watch;
use crate::world::{small, Gap, World, NEVER};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A frame, or its next attempt, is ready at a station.
    Ready { station: u32 },
    /// The part of the gap with this number is over at a station.
    GapOver { station: u32, gap: u64 },
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
            Self::GapOver { .. } | Self::FirstBit { .. } => 1,
            Self::CarrierOn { .. } => 2,
            Self::CarrierOff { .. } | Self::SendOver { .. } => 3,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deference {
    Silent,
    Busy,
    GapPart1,
    GapPart2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transmission {
    Idle,
    Waiting,
    Starting,
    Sending(usize),
}

#[derive(Debug)]
struct Mac {
    deference: Deference,
    transmission: Transmission,
    signals_heard: u32,
    was_transmitting: bool,
    gap: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    station: u32,
    start: i64,
    end: i64,
    version: u32,
    collision: Option<i64>,
}

struct Reference<'w> {
    world: &'w World,
    queue: BinaryHeap<Reverse<(i64, u8, u64, Event)>>,
    serial: u64,
    macs: Vec<Mac>,
    stations: Vec<Station>,
    sent: Vec<Sent>,
    attempts: Vec<Attempt>,
}

/// Run a world. Returns its figures and every attempt in the order of their starts.
///
/// # Errors
/// [`Error::Stopped`] if it was stopped.
pub fn run(world: &World, watch: &Watch) -> Result<(Outcome, Vec<Attempt>), Error> {
    let (stations, first) = Station::all(world);
    let macs = stations.iter().map(|_| Mac {
        deference: Deference::Silent,
        transmission: Transmission::Idle,
        signals_heard: 0,
        was_transmitting: false,
        gap: 0,
    });
    let mut reference = Reference {
        world,
        queue: BinaryHeap::new(),
        serial: 0,
        macs: macs.collect(),
        stations,
        sent: Vec::new(),
        attempts: Vec::new(),
    };
    for (station, ready) in first.into_iter().enumerate() {
        reference.schedule(ready, Event::Ready { station: small(station) });
    }
    let mut poll = watch.begin(world.phases.begin_ps, world.phases.end_ps);
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
                self.macs[station as usize].transmission = Transmission::Waiting;
                if self.macs[station as usize].deference == Deference::Silent {
                    self.decide(now, station);
                }
            }
            Event::FirstBit { station } => self.send(now, station),
            Event::GapOver { station, gap } => self.gap_over(now, station, gap),
            Event::CarrierOn { station } => self.carrier_on(now, station),
            Event::CarrierOff { station, transmission, version } => {
                if self.sent[transmission].version == version {
                    self.macs[station as usize].signals_heard -= 1;
                    self.perhaps_silent(now, station);
                }
            }
            Event::SendOver { transmission, version } => self.send_over(now, transmission, version),
        }
    }

    /// A station has found that it need not defer.
    fn decide(&mut self, now: i64, station: u32) {
        let mac = &mut self.macs[station as usize];
        mac.transmission = Transmission::Starting;
        mac.deference = Deference::Busy;
        if self.world.deaf == 0 {
            return self.send(now, station);
        }
        self.schedule(now + self.world.deaf, Event::FirstBit { station });
    }

    fn send(&mut self, now: i64, station: u32) {
        if now >= self.world.phases.end_ps.cast_signed() {
            return; // the test is over; the frame stays where it is
        }
        let id = self.sent.len();
        let end = now + self.stations[station as usize].packet_time(self.world, now);
        self.sent.push(Sent { station, start: now, end, version: 0, collision: None });
        let mac = &mut self.macs[station as usize];
        mac.transmission = Transmission::Sending(id);
        mac.deference = Deference::Busy;
        mac.was_transmitting = true;
        let carrier_ignored = mac.signals_heard > 0;
        let place = self.world.places[station as usize];
        for other in 0..self.stations.len() {
            if other != station as usize {
                let heard = now + self.world.delay(place, self.world.places[other]);
                self.schedule(heard, Event::CarrierOn { station: small(other) });
            }
        }
        self.schedule_end(id);
        if carrier_ignored {
            self.collide(now, id);
        }
    }

    fn schedule_end(&mut self, id: usize) {
        let Sent { station, end, version, .. } = self.sent[id];
        self.schedule(end, Event::SendOver { transmission: id, version });
        let place = self.world.places[station as usize];
        for other in 0..self.stations.len() {
            if other != station as usize {
                let heard = end + self.world.delay(place, self.world.places[other]);
                self.schedule(
                    heard,
                    Event::CarrierOff { station: small(other), transmission: id, version },
                );
            }
        }
    }

    /// The sender hears another signal: it completes the preamble, then jams (§ 4.2.3.2.4).
    fn collide(&mut self, now: i64, id: usize) {
        let (preamble, jam) = (self.world.preamble, self.world.jam);
        let sent = &mut self.sent[id];
        if sent.collision.is_none() && now < sent.end {
            sent.collision = Some(now);
            sent.end = now.max(sent.start + preamble) + jam;
            sent.version += 1;
            self.schedule_end(id);
        }
    }

    fn carrier_on(&mut self, now: i64, station: u32) {
        let is_watched_after_own = self.world.gap_of(station as usize).is_watched_after_own;
        let mac = &mut self.macs[station as usize];
        mac.signals_heard += 1;
        match mac.deference {
            Deference::Silent => {
                mac.deference = Deference::Busy;
                mac.was_transmitting = false;
            }
            Deference::GapPart1 if !mac.was_transmitting || is_watched_after_own => {
                mac.deference = Deference::Busy;
            }
            // In the second part, and in the first after an own transmission, carrier is not
            // watched.
            Deference::GapPart1 | Deference::GapPart2 | Deference::Busy => {}
        }
        if let Transmission::Sending(id) = self.macs[station as usize].transmission {
            self.collide(now, id);
        }
    }

    fn perhaps_silent(&mut self, now: i64, station: u32) {
        let Gap { part1, length: gap, .. } = self.world.gap_of(station as usize);
        let mac = &mut self.macs[station as usize];
        let sending = matches!(mac.transmission, Transmission::Starting | Transmission::Sending(_));
        if mac.deference != Deference::Busy || mac.signals_heard > 0 || sending {
            return;
        }
        mac.gap += 1;
        let number = mac.gap;
        let length = if part1 > 0 {
            mac.deference = Deference::GapPart1;
            part1
        } else {
            mac.deference = Deference::GapPart2;
            gap
        };
        self.schedule(now + length, Event::GapOver { station, gap: number });
    }

    fn gap_over(&mut self, now: i64, station: u32, gap: u64) {
        let Gap { part1, length, .. } = self.world.gap_of(station as usize);
        let mac = &mut self.macs[station as usize];
        if mac.gap != gap {
            return; // a gap that was broken off
        }
        match mac.deference {
            Deference::GapPart1 => {
                mac.deference = Deference::GapPart2;
                self.schedule(now + length - part1, Event::GapOver { station, gap });
            }
            Deference::GapPart2 if mac.transmission == Transmission::Waiting => {
                self.decide(now, station);
            }
            Deference::GapPart2 if mac.signals_heard > 0 => {
                mac.deference = Deference::Busy;
                mac.was_transmitting = false;
            }
            Deference::GapPart2 => mac.deference = Deference::Silent,
            Deference::Busy => {} // carrier came back in the first part
            Deference::Silent => unreachable!("a gap ends once"),
        }
    }

    fn send_over(&mut self, now: i64, id: usize, version: u32) {
        let Sent { station, start, end, version: current, collision } = self.sent[id];
        if version != current {
            return;
        }
        debug_assert_eq!(now, end);
        let transmitter = &mut self.stations[station as usize];
        let (attempt, ready) = match collision {
            None => transmitter.deliver(start, end),
            Some(heard) => transmitter.collide(start, end, heard - start > self.world.slot),
        };
        self.attempts.push(attempt);
        self.macs[station as usize].transmission = Transmission::Idle;
        self.perhaps_silent(now, station);
        self.schedule(ready, Event::Ready { station });
    }

    fn finish(mut self) -> (Outcome, Vec<Attempt>) {
        self.attempts.sort_by_key(|a| (a.start, a.station));
        mark_damaged(self.world, &mut self.attempts);
        let mut tally = Tally::new(self.world, true);
        for attempt in &self.attempts {
            tally.record(attempt);
        }
        tally.finish(self.world, &mut self.stations)
    }
}

/// Mark frames that another transmission overlapped at some place although their sender heard no
/// collision.
fn mark_damaged(world: &World, attempts: &mut [Attempt]) {
    let longest = attempts.iter().map(|a| a.end - a.start).max().unwrap_or(0);
    let mut first = 0;
    for index in 0..attempts.len() {
        let this = attempts[index];
        while attempts[first].start + longest + 2 * world.max_delay < this.start {
            first += 1;
        }
        if this.ending == Ending::Delivered {
            let near =
                attempts[first..].iter().take_while(|a| a.start <= this.end + 2 * world.max_delay);
            let damaged =
                near.filter(|other| **other != this).any(|other| overlap(world, &this, other));
            attempts[index].damaged = damaged;
        }
    }
}

/// Whether two transmissions of different stations are heard at once at some place.
pub(crate) fn overlap(world: &World, a: &Attempt, b: &Attempt) -> bool {
    let (from_a, from_b) = (world.places[a.station as usize], world.places[b.station as usize]);
    a.station != b.station
        && (0..small(world.place_count)).any(|p| {
            let (to_a, to_b) = (world.delay(from_a, p), world.delay(from_b, p));
            b.start + to_b < a.end + to_a && a.start + to_a < b.end + to_b
        })
}
