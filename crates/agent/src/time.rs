//! Time for tasks and certificates. Only this file asks the runtime and the time of day for it;
//! roles have theirs from [`ethermeter_net::time`].

#[expect(clippy::disallowed_types, reason = "agents and coordinators run in real time")]
use ethermeter_net::HostTime;
use rustls_pki_types::UnixTime;
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The time of agents and coordinators.
#[expect(clippy::disallowed_types, reason = "agents and coordinators run in real time")]
pub(crate) type RealTime = HostTime;

/// Ready after `duration`.
#[expect(clippy::disallowed_methods, reason = "agents run in real time")]
pub(crate) fn sleep(duration: Duration) -> Sleep {
    tokio::time::sleep(duration)
}

/// The instant after `duration`.
#[expect(clippy::disallowed_methods, reason = "agents run in real time")]
pub(crate) fn after(duration: Duration) -> Instant {
    Instant::now() + duration
}

/// The time of day, by which certificates and grants are valid.
#[expect(clippy::disallowed_methods, reason = "certificates are valid by the time of day")]
pub(crate) fn unix_time() -> UnixTime {
    UnixTime::now()
}
