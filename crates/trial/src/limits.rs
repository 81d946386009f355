//! Limits that fields of several tables have.

/// Longest time of a scenario: 1000 s.
pub(crate) const LONGEST_PS: i128 = 1_000_000_000_000_000;
/// Longest propagation, wait or turnaround time on a medium: 0.1 s.
pub(crate) const LONGEST_DELAY_PS: i128 = 100_000_000_000;
/// Longest trial: 10 000 s.
pub(crate) const LONGEST_END_PS: i128 = 10_000_000_000_000_000;
/// Most frames of a queue.
pub(crate) const MOST_QUEUED: i128 = 10_000_000;
