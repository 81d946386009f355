//! One implied queue: frames wait, and the contention for who is next adapts to how many they are.
//!
//! ```text
//! silence ──► slot, in vain ──► slot, in vain ──► … ──► packet ──► clear ──► silence
//! ```
//!
//! One of waiting: each of n waiting frames sends with probability 1/n (Metcalfe and Boggs 1976;
//! Almes and Lazowska 1979). One over e: n = 1 is sent at once; otherwise all collide in the first
//! slot, and from then on one is alone with probability 1/e (Lam 1980). What comes in a slot joins
//! at its end.

use super::counters::{Frame, FrameCounters};
use super::supply::{MEDIUM, Supplies};
use crate::error::Error;
use crate::identity::StationId;
use crate::mac::transmitter::{Attempt, Ending};
use crate::segment::compiled::CompiledSegment;
use crate::time::{Instant, Span};
use crate::watch::Watch;
use ethermeter_traffic::{Coin, Purpose, Stream};
use ethermeter_trial::Counts;
use ethermeter_trial::idealised::{Adaptive, Empty, Policy};
use std::f64::consts::E;

struct Queue<'w> {
    supplies: Supplies<'w>,
    counters: FrameCounters<'w>,
    waiting: Vec<Frame>,
    held: Vec<u32>,
    rooms: Vec<u32>,
    chance: Stream,
}

/// The senders in a slot: none, one, or the first so many frames of the queue.
enum Senders {
    None,
    One(usize),
    First(usize),
}

/// Simulate a compiled segment.
pub(super) fn run(
    compiled: &CompiledSegment,
    adaptive: Adaptive,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let (slot, clear) = (Span::from_ps(adaptive.slot_ps), Span::from_ps(adaptive.clear_ps));
    let mut queue = Queue {
        supplies: Supplies::new(compiled, Span::PICOSECOND),
        counters: FrameCounters::new(compiled, tracing),
        waiting: Vec::new(),
        held: vec![0; compiled.stations()],
        rooms: StationId::first(compiled.stations())
            .map(|i| compiled.group(i).flow.queue_frames.unwrap_or(u32::MAX))
            .collect(),
        chance: Stream::new(compiled.seed, MEDIUM, Purpose::Contention),
    };
    let end = Instant::from_ps(compiled.phases.end_ps);
    let mut now = Instant::from_ps(compiled.phases.begin_ps);
    let mut first_slot = true;
    queue.admit(now);
    let mut poll = watch.begin(&compiled.phases);
    while now < end && poll.goes_on(now) {
        if queue.waiting.is_empty() {
            let next = queue.supplies.soonest().0;
            if next == Instant::NEVER {
                break;
            }
            now = match adaptive.empty {
                Empty::AtOnce => next,
                Empty::NextSlot => now + slot * ((next - now).periods(slot) + 1),
            };
            queue.admit(now);
            continue;
        }
        let senders = match adaptive.policy {
            Policy::OneOverE => queue.one_over_e(first_slot),
            _ => queue.one_of_waiting(),
        };
        first_slot = false;
        match senders {
            Senders::One(index) => {
                now = queue.deliver(index, now, clear);
                first_slot = true;
            }
            Senders::First(count) => {
                now += slot;
                for frame in &mut queue.waiting[..count] {
                    queue.counters.fail(frame, now - slot, now, Ending::Collided);
                }
                queue.counters.collide();
            }
            Senders::None => now += slot,
        }
        queue.admit(now);
    }
    poll.check()?;
    queue.admit(end);
    Ok(queue.counters.finish(queue.waiting.iter()))
}

impl Queue<'_> {
    /// Let in what is there by `until`.
    fn admit(&mut self, until: Instant) {
        loop {
            let (time, station) = self.supplies.soonest();
            if time > until {
                return;
            }
            self.supplies.take(station);
            self.counters.offer(station, time);
            if self.held[station] < self.rooms[station] {
                self.held[station] += 1;
                let length = self.supplies.length(station);
                self.waiting.push(Frame {
                    station,
                    arrived: time,
                    taken_up: time,
                    length,
                    attempts: 0,
                });
            } else {
                self.counters.drop(station, time);
            }
        }
    }

    fn deliver(&mut self, index: usize, now: Instant, clear: Span) -> Instant {
        let frame = self.waiting.swap_remove(index);
        let over = self.counters.deliver(&frame, now) + clear;
        self.held[frame.station] -= 1;
        self.supplies.think(frame.station, over);
        over
    }

    /// Each of n waiting frames tosses a coin that shows heads with probability 1/n.
    #[allow(clippy::cast_precision_loss)]
    fn one_of_waiting(&mut self) -> Senders {
        let n = self.waiting.len() as u64;
        let coin = Coin::new(1.0 / n as f64);
        let mut heads = 0;
        let mut toss = coin.tails(&mut self.chance);
        while toss < n {
            // Those with heads to the start of the queue; its order means nothing.
            self.waiting.swap(heads, usize::try_from(toss).expect("an index"));
            heads += 1;
            toss += 1 + coin.tails(&mut self.chance);
        }
        match heads {
            0 => Senders::None,
            1 => Senders::One(0),
            _ => Senders::First(heads),
        }
    }

    /// Alone with probability 1/e, after a slot in which all collide. In a wasted slot no station
    /// sends, or two, as often as a Poisson number of mean 1 is none, or at least two.
    fn one_over_e(&mut self, first_slot: bool) -> Senders {
        let n = self.waiting.len();
        match n {
            1 => return Senders::One(0),
            _ if first_slot => return Senders::First(n),
            _ => {}
        }
        let toss = self.chance.unit() * E;
        if toss <= 1.0 {
            let chosen = self.chance.below(n as u64);
            Senders::One(usize::try_from(chosen).expect("an index"))
        } else if toss <= 2.0 {
            Senders::None
        } else {
            Senders::First(2)
        }
    }
}
