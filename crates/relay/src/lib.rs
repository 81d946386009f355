//! Wires of a given rate between interfaces: what comes in at one end leaves at the other when an
//! Ethernet of that rate would have delivered it.
//!
//! Time and chance are arguments but in `run` and `ends`. Nothing is forwarded but between the two
//! ends of a wire, and nothing is allocated for each frame.
//!
//! - [`plan`]: what wires there are to be, and what is wrong with it.
//! - [`direction`]: one direction of a wire: when a frame leaves, and whether it does.
//! - [`classed`]: the same with a queue of traffic classes.
//! - [`transit`]: frames under way, in the order in which they leave.
//! - [`medium`]: a shared segment between interfaces: who sends when, and what reaches whom.
//! - `frames`: its frames in memory.
//! - [`margin`]: how long before a time one must stop sleeping, learnt from how late one wakes.
//! - `ends`: the interfaces at the ends of wires, as packet sockets.
//! - [`run`]: the loop.
//! - [`account`]: what happened, by direction.

pub mod account;
pub mod classed;
pub mod direction;
mod ends;
mod frames;
pub mod margin;
pub mod medium;
pub mod plan;
pub mod run;
pub mod transit;

pub use plan::Plan;
pub use run::{Ended, Relay};
