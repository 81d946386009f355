//! Wires of a given rate between interfaces: what comes in at one end leaves at the other when an
//! Ethernet of that rate would have delivered it. And shared segments between interfaces.
//!
//! Time and chance are arguments but in `run`, `segment`, `capture` and `ends`. Nothing is
//! forwarded but between the ends of a wire or of a segment, and nothing is allocated for each
//! frame.
//!
//! - [`plan`]: what wires there are to be, and what is wrong with it.
//! - [`direction`]: one direction of a wire: when a frame leaves, and whether it does.
//! - [`classed`]: the same with a queue of traffic classes.
//! - [`transit`]: frames under way, in the order in which they leave.
//! - [`medium`]: a shared segment between interfaces: who sends when, and what reaches whom.
//! - `cards`: the network cards of its stations, with their frames; `supply`: when they take these
//!   up; `speech`: what they write into frames of voice.
//! - `frames`: these frames in memory.
//! - `recorder`: what happens on a medium, kept for a capture; [`capture`]: a thread that writes
//!   it.
//! - [`margin`]: how long before a time one must stop sleeping, learnt from how late one wakes.
//! - `ends`: the interfaces at the ends of wires, as packet sockets.
//! - [`run`]: the loop.
//! - [`account`]: what happened, by direction.

pub mod account;
pub mod capture;
mod cards;
pub mod classed;
mod control;
pub mod direction;
mod ends;
mod frames;
mod lane;
pub mod margin;
pub mod medium;
pub mod plan;
mod recorder;
pub mod run;
mod segment;
mod speech;
mod supply;
pub mod transit;

pub use control::ControlRequest;
pub use plan::RelayPlan;
pub use run::{Relay, RelayEnd};
