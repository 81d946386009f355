//! Calls of a station: the times in which its source is active.

use crate::window::Window;
use std::sync::Arc;

/// A call of a station: its source is active from the one time to before the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Begin.
    pub from_ps: u64,
    /// End.
    pub until_ps: u64,
}

/// The calls of a station, and what is counted of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationCalls {
    /// In the order of time; none begins before the one before has ended.
    pub calls: Arc<[Call]>,
    /// Calls that came to it within the measured window.
    pub offered: u64,
    /// Of these, refused.
    pub refused: u64,
}

impl StationCalls {
    /// Time within the measured window in which it has a call.
    #[must_use]
    pub fn call_ps(&self, window: Window) -> u64 {
        let within = |ps: u64| ps.clamp(window.measure_from_ps, window.measure_to_ps);
        self.calls.iter().map(|call| within(call.until_ps) - within(call.from_ps)).sum()
    }
}

/// Calls of a source that are still to come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Upcoming {
    calls: Option<Arc<[Call]>>,
    next: usize,
}

impl Upcoming {
    pub(crate) fn new(calls: &Arc<[Call]>) -> Self {
        Self { calls: Some(Arc::clone(calls)), next: 0 }
    }

    pub(crate) fn take(&mut self) -> Option<Call> {
        let call = self.calls.as_ref()?.get(self.next).copied();
        self.next += 1;
        call
    }
}
