//! A time that passes only when something sleeps.

use ethermeter_net::Timeline;
use std::cell::Cell;

/// The time, in ns.
#[derive(Default)]
pub struct MadeTime(Cell<u64>);

impl Timeline for MadeTime {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }

    fn sleep_until(&self, at_ns: u64) {
        self.0.set(self.0.get().max(at_ns));
    }
}
