//! Carrier sense in slots, non-persistent, for a finite population (Tobagi and Hunt 1980; with
//! buffers, Tasaka 1986).
//!
//! ```text
//!            comes in an idle slot, immediate                       alone: delivered
//! thinking ───────────────────────────────────► starts ─────────────────────────────► thinking, or the next of the queue waits
//!    │  comes in a busy slot, or delayed          ▲ │ collides
//!    └──────────────────────────► waiting ────────┘ │
//!                                    ▲  senses in an idle slot, with probability `retransmission`
//!                                    └──────────────┘
//! ```
//!
//! Every idle period has a slot at least. A frame that comes in a slot is there at its end; a
//! delivered one leaves a slot after its packet. A buffer is free again then.

use super::counters::FrameCounters;
use super::supply::MEDIUM;
use super::users::Users;
use crate::error::Error;
use crate::identity::StationId;
use crate::mac::transmitter::{Attempt, Ending};
use crate::segment::compiled::CompiledSegment;
use crate::time::{Instant, Span};
use crate::watch::Watch;
use ethermeter_traffic::{Coin, Purpose, Stream};
use ethermeter_trial::Counts;
use ethermeter_trial::idealised::{Finite, First, Slotted};

/// Simulate a compiled segment.
pub(super) fn run(
    compiled: &CompiledSegment,
    slotted: &Slotted,
    finite: Finite,
    watch: &Watch,
    tracing: bool,
) -> Result<(Counts, Vec<Attempt>), Error> {
    let slot = Span::from_ps(slotted.slot_ps);
    let collision = slot * slotted.collision_slots;
    let coin = Coin::new(finite.retransmission);
    let mut chance = Stream::new(compiled.seed, MEDIUM, Purpose::Sensing);
    // Waiting frames toss in turn, slot after slot: only heads cost a draw.
    let mut tails = coin.tails(&mut chance);
    let mut users = Users::new(compiled, slot);
    let mut counters = FrameCounters::new(compiled, tracing);
    let (mut waiting, mut starting): (Vec<StationId>, Vec<StationId>) = (Vec::new(), Vec::new());
    let mut now = Instant::from_ps(compiled.phases.begin_ps);
    let end = Instant::from_ps(compiled.phases.end_ps);
    let mut poll = watch.begin(&compiled.phases);
    while now + slot < end && poll.goes_on(now) {
        if waiting.is_empty() {
            // Nothing happens until a frame comes.
            let next = users.supplies.soonest().0;
            if next == Instant::NEVER {
                break;
            }
            now = now.max(next - slot);
        }
        // An idle slot. From the back, so that those who start may be taken out.
        let mut tosses = waiting.len() as u64;
        while tails < tosses {
            tosses -= tails + 1;
            starting.push(waiting.swap_remove(usize::try_from(tosses).expect("an index")));
            tails = coin.tails(&mut chance);
        }
        tails -= tosses;
        now += slot;
        while let Some((station, is_head)) = users.admit(now, &mut counters) {
            if is_head {
                let list =
                    if finite.first == First::Immediate { &mut starting } else { &mut waiting };
                list.push(station);
            }
        }
        if starting.is_empty() || now >= end {
            continue;
        }
        let delivered = if let [station] = starting[..] { Some(station) } else { None };
        now = if let Some(station) = delivered {
            counters.deliver(users.head(station), now) + slot
        } else {
            for &station in &starting {
                counters.fail(users.head(station), now, now + collision, Ending::Collided);
            }
            counters.collide();
            now + collision
        };
        while let Some((station, is_head)) = users.admit(now, &mut counters) {
            if is_head {
                waiting.push(station);
            }
        }
        match delivered {
            Some(station) if users.leave(station, now) => waiting.push(station),
            Some(_) => {}
            None => waiting.extend_from_slice(&starting),
        }
        starting.clear();
    }
    poll.check()?;
    while users.admit(end, &mut counters).is_some() {}
    Ok(counters.finish(users.held()))
}
