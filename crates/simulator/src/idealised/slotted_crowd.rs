//! Carrier sense in slots, for a population without end (Tobagi and Hunt 1980; without collision
//! detection, Kleinrock and Tobagi 1975).
//!
//! ```text
//!             no station starts                    some station starts
//! idle slot ────────────────► idle slot … ──────────────────────────► busy: packet and one slot,
//! or a collision
//!     ▲                                                                 │ what comes meanwhile vanishes, or waits if persistent
//!     └─────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Frames that start collide unless they are alone. A frame that does not start now, and finds the
//! medium busy in the next slot, vanishes: when it comes again, it is one of the stream.

use super::counters::{Frame, FrameCounters};
use super::supply::{Crowd, MEDIUM};
use crate::error::Error;
use crate::identity::StationId;
use crate::mac::transmitter::{Attempt, Ending};
use crate::segment::compiled::CompiledSegment;
use crate::time::{Instant, Span};
use crate::watch::Watch;
use ethermeter_traffic::{Coin, Purpose, Stream};
use ethermeter_trial::Counts;
use ethermeter_trial::idealised::{Idle, Infinite, Persistence, Slotted};

/// Simulate a compiled segment.
#[allow(clippy::cast_precision_loss)] // a mean, and a load
pub(super) fn run(
    compiled: &CompiledSegment,
    slotted: &Slotted,
    infinite: Infinite,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let slot = Span::from_ps(slotted.slot_ps);
    let collision = slot * slotted.collision_slots;
    let probability = match slotted.persistence {
        Persistence::Persistent(probability) => probability,
        Persistence::Non => 1.0, // what senses the medium idle starts
    };
    let coin = Coin::new(probability);
    let mut chance = Stream::new(compiled.seed, MEDIUM, Purpose::Contention);
    let mut crowd = Crowd::new(compiled, slotted.slot_ps as f64 / infinite.attempts_per_slot);
    let mut counters = FrameCounters::new(compiled, tracing);
    let (mut ready, mut starting): (Vec<Frame>, Vec<Frame>) = (Vec::new(), Vec::new());
    let mut now = Instant::from_ps(compiled.phases.begin_ps);
    let end = Instant::from_ps(compiled.phases.end_ps);
    let mut poll = watch.begin(&compiled.phases);
    while now < end && (!ready.is_empty() || !crowd.next().is_never()) && poll.goes_on(now) {
        // Toss for every frame that is ready; only heads cost a draw.
        let mut head = if ready.is_empty() { 0 } else { coin.tails(&mut chance) };
        if head >= ready.len() as u64 {
            now += slot;
            while crowd.next() < now {
                let frame = crowd.take();
                counters.offer(frame.station, frame.arrived);
                ready.push(frame);
            }
            continue;
        }
        for (toss, frame) in (0..).zip(ready.drain(..)) {
            if toss == head {
                starting.push(frame);
                head += 1 + coin.tails(&mut chance);
            } else {
                counters.drop(frame.station, frame.arrived); // it senses the others, and vanishes
            }
        }
        let busy_until = if let [frame] = starting.as_mut_slice() {
            frame.length = crowd.length(frame.station);
            counters.deliver(frame, now) + slot
        } else {
            for frame in &mut starting {
                frame.length = crowd.length(frame.station);
                counters.fail(frame, now, now + collision, Ending::Discarded);
            }
            counters.collide();
            now + collision
        };
        starting.clear();
        let waits_from = match (slotted.persistence, slotted.idle) {
            (Persistence::Persistent(_), _) => now,
            (Persistence::Non, Some(Idle::SameSlot)) => busy_until - slot,
            (Persistence::Non, _) => busy_until,
        };
        while crowd.next() < busy_until {
            let frame = crowd.take();
            counters.offer(frame.station, frame.arrived);
            if frame.arrived >= waits_from {
                ready.push(frame);
            } else {
                counters.drop(frame.station, frame.arrived);
            }
        }
        now = busy_until;
    }
    poll.check()?;
    let (mut counts, trace) = counters.finish(ready.iter());
    let bits: f64 = StationId::first(compiled.stations())
        .map(|i| compiled.group(i).flow.frames.mean_bits())
        .sum::<f64>()
        / compiled.stations() as f64;
    let load = infinite.attempts_per_slot * bits * compiled.bit.to_f64() / slot.to_f64();
    counts.stations.offered_load.fill(load / compiled.stations() as f64);
    Ok((counts, trace))
}
