//! When a source is active and when it is measured.

/// When a source is active and when it is measured, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Nothing is offered before.
    pub begin_ps: u64,
    /// Nothing new is offered from here on.
    pub stop_ps: u64,
    /// Arrivals count from here …
    pub measure_from_ps: u64,
    /// … to before here.
    pub measure_to_ps: u64,
}
