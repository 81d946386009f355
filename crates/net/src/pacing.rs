//! Sleep to shortly before, then spin; and how well that went.
//!
//! ```text
//!            due - margin              due
//!  ── sleep ──────┼──────── spin ────────┼── send
//!                 woken late by up to the margin
//! ```
//!
//! A real-time sender also rests now and then between times that are close together ([`rest`]), and
//! tries out beforehand how, and when its processor is taken away ([`trial`]).

mod pacer;
pub(crate) mod priority;
pub mod rest;
pub mod trial;

pub(crate) use pacer::Achieved;
pub use pacer::{Pacer, PacerStep, Pacing, PacingCounts};
pub use priority::{PriorityGuard, ThreadPriority};
pub use rest::{RestKind, Rests};
pub use trial::PacingTrial;
