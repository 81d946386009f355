//! What ends a role from outside: a stop, or a lease that nobody has renewed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How long a lease holds. A coordinator renews it every [`RENEWAL_NS`]; with the watch's 50 ms and the longest wait of a port of 50 ms, an agent is silent
/// well within a second after the last renewal.
pub const LEASE_NS: u64 = 700_000_000;
/// How often a coordinator renews it.
pub const RENEWAL_NS: u64 = 200_000_000;

/// Shared between an experiment's roles, the watch over leases, and the sender's port, which looks at it itself before each batch: if the watch does not get a
/// processor, the sender falls silent all the same.
#[derive(Debug)]
pub struct Leash {
    stop: AtomicBool,
    has_lapsed: AtomicBool,
    until_ns: AtomicU64,
}

impl Leash {
    /// A leash whose lease begins at `now_ns`.
    #[must_use]
    pub fn new(now_ns: u64) -> Self {
        Self {
            stop: AtomicBool::new(false),
            has_lapsed: AtomicBool::new(false),
            until_ns: AtomicU64::new(now_ns.saturating_add(LEASE_NS)),
        }
    }

    /// Renew the lease; returns until when. A lease that has lapsed stays so.
    pub fn renew(&self, now_ns: u64) -> u64 {
        let until_ns = now_ns.saturating_add(LEASE_NS);
        self.until_ns.fetch_max(until_ns, Ordering::Relaxed);
        until_ns
    }

    /// Stop if the lease has lapsed; returns whether all is to be silent.
    #[inline]
    pub fn is_silent_at(&self, now_ns: u64) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return true;
        }
        if now_ns < self.until_ns.load(Ordering::Relaxed) {
            return false;
        }
        self.has_lapsed.store(true, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
        true
    }

    /// Stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The flag that roles look at.
    #[must_use]
    pub fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// Whether the lease ended it.
    #[must_use]
    pub fn has_lapsed(&self) -> bool {
        self.has_lapsed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_lapses_at_its_end_and_not_before() {
        let leash = Leash::new(1000);
        assert!(!leash.is_silent_at(999 + LEASE_NS));
        assert!(leash.is_silent_at(1000 + LEASE_NS) && leash.has_lapsed());
    }

    #[test]
    fn a_renewed_lease_holds_on_and_a_lapsed_one_cannot_be_renewed() {
        let leash = Leash::new(0);
        assert_eq!(leash.renew(RENEWAL_NS), RENEWAL_NS + LEASE_NS);
        assert!(!leash.is_silent_at(LEASE_NS));
        assert!(leash.is_silent_at(RENEWAL_NS + LEASE_NS));
        leash.renew(RENEWAL_NS + LEASE_NS);
        assert!(leash.is_silent_at(RENEWAL_NS + LEASE_NS));
    }

    #[test]
    fn a_stop_is_not_taken_for_a_lapse() {
        let leash = Leash::new(0);
        leash.stop();
        assert!(leash.is_silent_at(1) && !leash.has_lapsed());
    }
}
