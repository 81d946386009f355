//! Limits of an idealised MAC and of what its stations may offer.

use crate::segment::compiled::CompiledSegment;
use crate::segment::group::{Group, LONGEST_DELAY_PS};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_trial::Fault;
use ethermeter_trial::fault::check_range;
use ethermeter_trial::idealised::{
    Access, Adaptive, Idle, Persistence, Policy, Polling, Population, Slotted, Unslotted,
};
use ethermeter_trial::medium::Mac;

const LONGEST_BACKOFF_PS: u128 = 1_000_000_000_000_000_000; // far from overflow
const MOST_SLOTS: u64 = 1_000_000_000_000; // hours of work, and far from overflow

/// Check an idealised MAC, and the stations on its medium.
///
/// # Errors
/// With the first value that is not allowed.
pub(super) fn check(mac: &Mac, compiled: &CompiledSegment) -> Result<(), Fault> {
    for group in &compiled.groups {
        let wait = group.stations.priority_wait_ps;
        if wait > 0 {
            let path = group.station_path("priority_wait_ps");
            return Err(Fault::new(path, "must be 0 with an idealised MAC").got(wait));
        }
        if group.is_voice() {
            let allowed = "must not be of a coder with an idealised MAC";
            return Err(Fault::new(group.flow_path("arrivals"), allowed));
        }
        if matches!(group.flow.arrivals, Arrivals::Trace { .. }) {
            let allowed = "must not be of a trace with an idealised MAC";
            return Err(Fault::new(group.flow_path("arrivals"), allowed));
        }
    }
    #[allow(clippy::match_wildcard_for_single_variants)] // a new MAC does not change this file
    match mac {
        Mac::Slotted(slotted) => check_slotted(slotted, compiled),
        Mac::Adaptive(adaptive) => check_adaptive(adaptive, compiled),
        Mac::Unslotted(unslotted) => check_unslotted(unslotted, compiled),
        Mac::Polling(polling) => check_polling(polling, compiled),
        _ => unreachable!("not an idealised MAC"),
    }
}

fn check_slotted(slotted: &Slotted, compiled: &CompiledSegment) -> Result<(), Fault> {
    check_slot("slotted", slotted.slot_ps, compiled)?;
    check_range("media[0].mac.slotted.collision_slots", slotted.collision_slots, 1, 1_000_000)?;
    check_whole_slots(slotted.slot_ps, compiled)?;
    match (slotted.persistence, slotted.idle) {
        (Persistence::Non, None) => {
            return Err(Fault::new(
                "media[0].mac.slotted.idle",
                "must be \"same-slot\" or \"whole-slot\" where persistence is \"non\"",
            ));
        }
        (Persistence::Persistent(_), Some(_)) => {
            return Err(Fault::new(
                "media[0].mac.slotted.idle",
                "must be null where persistence is a probability",
            ));
        }
        (Persistence::Persistent(probability), None) => {
            check_probability("media[0].mac.slotted.persistence", probability)?;
        }
        (Persistence::Non, Some(_)) => {}
    }
    match &slotted.population {
        Population::Infinite(infinite) => {
            let g = infinite.attempts_per_slot;
            if !(1e-9..=1e3).contains(&g) {
                let key = "media[0].mac.slotted.population.infinite.attempts_per_slot";
                return Err(Fault::new(key, "must be from 1e-9 to 1000").got(g));
            }
            let key =
                "media[0].mac.slotted.population.infinite.attempts_per_slot: time between attempts";
            #[allow(clippy::cast_precision_loss)] // a mean
            check_mean(key, slotted.slot_ps as f64 / g)?;
            check_no_arrivals(compiled)
        }
        Population::Finite(finite) => {
            check_probability(
                "media[0].mac.slotted.population.finite.retransmission",
                finite.retransmission,
            )?;
            if slotted.idle != Some(Idle::WholeSlot) {
                let what =
                    "a finite population is non-persistent, with idle periods of whole slots";
                return Err(Fault::new("media[0].mac.slotted.population.finite", what));
            }
            check_no_generator(compiled)
        }
    }
}

fn check_adaptive(adaptive: &Adaptive, compiled: &CompiledSegment) -> Result<(), Fault> {
    check_slot("adaptive", adaptive.slot_ps, compiled)?;
    check_range("media[0].mac.adaptive.clear_ps", adaptive.clear_ps, 0, LONGEST_DELAY_PS)?;
    match adaptive.policy {
        Policy::BinaryExponential => check_backoff(adaptive.slot_ps, compiled),
        Policy::OneOfWaiting | Policy::OneOverE => check_no_generator(compiled),
    }
}

fn check_unslotted(unslotted: &Unslotted, compiled: &CompiledSegment) -> Result<(), Fault> {
    check_range(
        "media[0].mac.unslotted.propagation_ps",
        unslotted.propagation_ps,
        1,
        LONGEST_DELAY_PS,
    )?;
    match &unslotted.access {
        Access::NonPersistent(access) => {
            let key = "media[0].mac.unslotted.access.non-persistent";
            check_range(
                &format!("{key}.collision_ps"),
                access.collision_ps,
                unslotted.propagation_ps,
                LONGEST_DELAY_PS,
            )?;
            check_mean(&format!("{key}.sensing_mean_ps"), access.sensing_mean_ps)?;
            check_no_generator(compiled)
        }
        Access::OnePersistent(access) => {
            let key = "media[0].mac.unslotted.access.one-persistent";
            check_range(&format!("{key}.abort_ps"), access.abort_ps, 0, LONGEST_DELAY_PS)?;
            if let Some(mean_ps) = access.infinite_mean_ps {
                check_mean(&format!("{key}.infinite_mean_ps"), mean_ps)?;
            }
            check_no_generator(compiled)?;
            check_no_arrivals(compiled)
        }
    }
}

fn check_polling(polling: &Polling, compiled: &CompiledSegment) -> Result<(), Fault> {
    check_range("media[0].mac.polling.walk_ps", polling.walk_ps, 1, LONGEST_DELAY_PS)?;
    for group in &compiled.groups {
        if group.flow.arrivals == (Arrivals::Saturated {}) {
            let allowed = "must not be saturated: polling serves queues";
            return Err(Fault::new(group.flow_path("arrivals"), allowed));
        }
        if let Some(room) = group.flow.queue_frames {
            let allowed = format!("must be null: polling serves queues without limit, got {room}");
            return Err(Fault::new(group.flow_path("queue_frames"), allowed));
        }
    }
    Ok(())
}

fn check_slot(mac: &str, slot_ps: u64, compiled: &CompiledSegment) -> Result<(), Fault> {
    let least = (compiled.phases.end_ps / MOST_SLOTS).max(1);
    check_range(&format!("media[0].mac.{mac}.slot_ps"), slot_ps, least, LONGEST_DELAY_PS)
}

fn check_backoff(slot_ps: u64, compiled: &CompiledSegment) -> Result<(), Fault> {
    for group in &compiled.groups {
        let ps = u128::from(group.stations.backoff.range(u32::MAX)) * u128::from(slot_ps);
        if ps > LONGEST_BACKOFF_PS {
            let allowed = format!(
                "must not last longer than {LONGEST_BACKOFF_PS} ps, got slots of {slot_ps} ps for {ps} ps"
            );
            return Err(Fault::new(group.station_path("backoff"), allowed));
        }
    }
    Ok(())
}

fn check_probability(key: &str, value: f64) -> Result<(), Fault> {
    if (1e-12..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Fault::new(key, "must be a probability from 1e-12 to 1").got(value))
}

fn check_mean(key: &str, mean_ps: f64) -> Result<(), Fault> {
    if (1.0..=1e15).contains(&mean_ps) {
        return Ok(());
    }
    Err(Fault::new(key, "must be from 1 ps to 1000 s").got(mean_ps))
}

fn check_whole_slots(slot_ps: u64, compiled: &CompiledSegment) -> Result<(), Fault> {
    for group in &compiled.groups {
        let lengths = match &group.flow.frames {
            Lengths::Fixed { bits } => std::slice::from_ref(bits),
            Lengths::Mix { bits, .. } => bits,
            Lengths::Samples { .. } => unreachable!("voice was refused"),
        };
        let packet_ps = |bits: u64| bits * compiled.bit.ps(); // a length is at most 1 GB, and a bit 1 ms
        if let Some(bits) = lengths.iter().find(|&&bits| packet_ps(bits) % slot_ps != 0) {
            let allowed = format!(
                "must take whole slots of {slot_ps} ps, got {bits} bits of {} ps",
                compiled.bit.ps()
            );
            return Err(Fault::new(group.flow_path("frames"), allowed));
        }
    }
    Ok(())
}

/// The infinite population offers all frames; the groups give only the lengths of frames and the
/// number of counters.
fn check_no_arrivals(compiled: &CompiledSegment) -> Result<(), Fault> {
    let differs = |group: &Group| group.flow.arrivals != Arrivals::Saturated {};
    refuse(compiled, differs, "arrivals", "must be saturated with this MAC")
}

fn check_no_generator(compiled: &CompiledSegment) -> Result<(), Fault> {
    let has_one = |group: &Group| group.flow.generator.is_some();
    refuse(compiled, has_one, "generator", "must be null with this MAC")
}

/// Refuse the first group for which `is_wrong` holds.
fn refuse(
    compiled: &CompiledSegment,
    is_wrong: impl Fn(&Group) -> bool,
    key: &str,
    allowed: &str,
) -> Result<(), Fault> {
    match compiled.groups.iter().find(|group| is_wrong(group)) {
        None => Ok(()),
        Some(group) => Err(Fault::new(group.flow_path(key), allowed)),
    }
}
