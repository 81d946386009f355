//! A bus of 10BASE-T1S: nodes with PLCA (802.3-2022 clause 148), nodes without it, and nodes that are
//! configured wrongly.
//!
//! - [`sublayer`]: the state machines between MAC and PHY: [`control`], [`delay_line`], [`status`],
//!   their [`timers`].
//! - [`compiled`]: the bus in picoseconds, checked and ready to run.
//! - [`access`]: a node on its medium ([`crate::medium`]): MAC and sublayer. [`mod@reference`]: a
//!   bus event by event.
//! - [`fast`]: the same, but cycle by cycle while a bus is regular: [`schedule`] and [`cycles`] are
//!   its arithmetic, [`turn`] a node in them, [`agenda`] the times when
//!   nodes may do something, `handover` goes from events to cycles and back; `cycles::stepped` is
//!   the same bus with frames from outside, as in a network.
//! - [`idle`]: cycles without a frame of a bus that runs event by event, skipped in bulk.
//! - [`contention`]: a bus on which nobody uses PLCA.
//! - [`counters`]: what is counted of opportunities.
//!
//! The MAC is that of [`crate::mac::csma_cd`], the rest of a station that of
//! [`crate::segment::station`].

pub mod access;
pub mod agenda;
pub mod compiled;
pub mod contention;
pub mod control;
pub mod counters;
pub mod cycles;
pub mod delay_line;
#[cfg(test)]
mod fall_back;
pub mod fast;
mod handover;
pub mod idle;
pub mod reference;
pub mod schedule;
pub mod status;
pub mod sublayer;
pub mod timers;
pub mod turn;
