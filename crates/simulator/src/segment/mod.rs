//! A shared segment.
//!
//! - [`compiled`]: a segment in picoseconds and flat arrays, checked and ready to run.
//! - [`group`]: stations that are alike, and their flow. [`hosts`]: stations as hosts of the medium.
//! - [`station`]: one station: its source and its [`crate::mac::transmitter`]. Shared by both
//!   implementations.
//! - [`mod@reference`]: a segment event by event, on [`crate::medium`].
//! - [`fast`]: one contention after another over flat arrays, with `starts`, `simd` and `places`;
//!   where contentions overlap, `overlapping`. This is what runs.
//! - [`counters`]: what is counted, from attempts in the order of their starts.

pub mod compiled;
pub mod counters;
pub mod fast;
pub mod group;
pub mod hosts;
mod overlapping;
mod places;
pub mod reference;
mod simd;
mod starts;
pub mod station;
