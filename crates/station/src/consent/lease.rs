//! What ends a role from outside: a stop, a lapsed lease of the coordinator, or a lapsed lease of a
//! receiver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How long a lease holds. A coordinator renews it every [`RENEWAL_NS`]; with the watch's 50 ms and
/// the longest wait of a port of 50 ms, an agent is silent well within a second after the last
/// renewal.
pub const LEASE_NS: u64 = 700_000_000;
/// How often a coordinator renews it.
pub const RENEWAL_NS: u64 = 200_000_000;

/// Shared between an experiment's roles, the watch over leases, and the sender's port, which looks
/// at it itself before each batch: if the watch does not get a processor, the sender falls silent
/// all the same.
#[derive(Debug)]
pub struct Lease {
    stop: AtomicBool,
    has_lapsed: AtomicBool,
    until_ns: AtomicU64,
}

/// End of a lease that has not begun.
const NOT_BEGUN: u64 = u64::MAX;

impl Lease {
    /// A lease that has not begun, and does not lapse before it has.
    pub fn unbegun() -> Self {
        Self {
            stop: AtomicBool::new(false),
            has_lapsed: AtomicBool::new(false),
            until_ns: AtomicU64::new(NOT_BEGUN),
        }
    }

    /// Begin at `now_ns`, unless the lease has begun.
    pub fn begin(&self, now_ns: u64) {
        let until_ns = now_ns.saturating_add(LEASE_NS);
        let relaxed = Ordering::Relaxed;
        // The exchange fails if the lease has begun.
        let _ = self.until_ns.compare_exchange(NOT_BEGUN, until_ns, relaxed, relaxed);
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

    /// Whether the lease was not renewed in time, whatever has ended the roles.
    pub fn is_overdue_at(&self, now_ns: u64) -> bool {
        now_ns >= self.until_ns.load(Ordering::Relaxed)
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The flag that roles look at.
    pub fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    pub fn has_lapsed(&self) -> bool {
        self.has_lapsed.load(Ordering::Relaxed)
    }
}

/// A sender's right to use one grant, which the grant's receiver renews. It holds nothing before
/// the first renewal.
#[derive(Debug, Default)]
pub struct ReceiverLease {
    until_ns: AtomicU64,
}

impl ReceiverLease {
    pub fn renew_until(&self, until_ns: u64) {
        self.until_ns.fetch_max(until_ns, Ordering::Relaxed);
    }

    #[inline]
    pub fn holds_at(&self, now_ns: u64) -> bool {
        now_ns < self.until_ns.load(Ordering::Relaxed)
    }
}

/// What ends one role: what ends its experiment, or a lapsed lease of one of its receivers.
#[derive(Debug)]
pub struct RoleLease {
    experiment: Arc<Lease>,
    receivers: Vec<Arc<ReceiverLease>>,
    stop: AtomicBool,
    lapsed_ns: AtomicU64,
    has_strayed: AtomicBool,
}

impl RoleLease {
    /// Of a role that sends by the grants of these leases; of one that only receives there are
    /// none.
    pub fn new(experiment: Arc<Lease>, receivers: Vec<Arc<ReceiverLease>>) -> Self {
        Self {
            experiment,
            receivers,
            stop: AtomicBool::new(false),
            lapsed_ns: AtomicU64::new(u64::MAX),
            has_strayed: AtomicBool::new(false),
        }
    }

    /// Stop if a lease has lapsed; returns whether the role is to be silent. It stays so.
    #[inline]
    pub fn is_silent_at(&self, now_ns: u64) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return true;
        }
        if self.experiment.is_silent_at(now_ns) {
            self.stop.store(true, Ordering::Relaxed);
            return true;
        }
        if self.receivers.iter().all(|lease| lease.holds_at(now_ns)) {
            return false;
        }
        self.lapsed_ns.store(now_ns, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
        true
    }

    /// Stop, or note that the role has ended.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it has been stopped, or has ended.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Stop a role that has not ended: its frames would go another way than they were granted.
    pub fn stray(&self) {
        let has_ended = self.stop.swap(true, Ordering::Relaxed);
        self.has_strayed.fetch_or(!has_ended, Ordering::Relaxed);
    }

    /// Whether that has ended it.
    pub fn has_strayed(&self) -> bool {
        self.has_strayed.load(Ordering::Relaxed)
    }

    /// The flag that roles look at.
    pub fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// When it was seen that a receiver's lease has lapsed, if that has ended the role.
    pub fn lapsed_ns(&self) -> Option<u64> {
        Some(self.lapsed_ns.load(Ordering::Relaxed)).filter(|&lapsed_ns| lapsed_ns < u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(now_ns: u64) -> Lease {
        let lease = Lease::unbegun();
        lease.begin(now_ns);
        lease
    }

    #[test]
    fn a_lease_does_not_lapse_before_it_has_begun_and_begins_once() {
        let lease = Lease::unbegun();
        // A renewal before the beginning does not make the lease longer.
        lease.renew(0);
        assert!(!lease.is_silent_at(10 * LEASE_NS) && !lease.is_overdue_at(10 * LEASE_NS));
        lease.begin(20 * LEASE_NS);
        lease.begin(30 * LEASE_NS);
        assert!(!lease.is_silent_at(21 * LEASE_NS - 1));
        assert!(lease.is_silent_at(21 * LEASE_NS) && lease.has_lapsed());
    }

    #[test]
    fn a_lease_lapses_at_its_end_and_not_before() {
        let lease = begun(1000);
        assert!(!lease.is_silent_at(999 + LEASE_NS));
        assert!(lease.is_silent_at(1000 + LEASE_NS) && lease.has_lapsed());
    }

    #[test]
    fn a_renewed_lease_holds_on_and_a_lapsed_one_cannot_be_renewed() {
        let lease = begun(0);
        assert_eq!(lease.renew(RENEWAL_NS), RENEWAL_NS + LEASE_NS);
        assert!(!lease.is_silent_at(LEASE_NS));
        assert!(lease.is_silent_at(RENEWAL_NS + LEASE_NS));
        lease.renew(RENEWAL_NS + LEASE_NS);
        assert!(lease.is_silent_at(RENEWAL_NS + LEASE_NS));
    }

    #[test]
    fn a_stop_is_not_taken_for_a_lapse() {
        let lease = begun(0);
        lease.stop();
        assert!(lease.is_silent_at(1) && !lease.has_lapsed());
        assert!(
            lease.is_silent_at(LEASE_NS) && !lease.has_lapsed() && lease.is_overdue_at(LEASE_NS)
        );
    }

    #[test]
    fn a_role_ends_with_its_experiment_or_with_the_lease_of_any_receiver() {
        let experiment = Arc::new(begun(0));
        let receivers = [Arc::new(ReceiverLease::default()), Arc::new(ReceiverLease::default())];
        let role = || RoleLease::new(Arc::clone(&experiment), receivers.to_vec());
        assert!(role().is_silent_at(1), "no receiver has renewed yet");
        receivers[0].renew_until(100);
        let silent = role();
        assert!(silent.is_silent_at(1) && silent.lapsed_ns() == Some(1), "one of two has");
        receivers[1].renew_until(50);
        let role = role();
        assert!(!role.is_silent_at(49) && role.is_silent_at(50) && role.lapsed_ns() == Some(50));
        receivers[1].renew_until(100);
        assert!(role.is_silent_at(51), "a role that has ended does not begin again");
        let sink = RoleLease::new(Arc::clone(&experiment), Vec::new());
        assert!(!sink.is_silent_at(60));
        experiment.stop();
        assert!(sink.is_silent_at(61) && sink.lapsed_ns().is_none());
    }
}
