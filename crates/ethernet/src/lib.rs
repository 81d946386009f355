//! The Ethernet standards as values: units, rates, slot, gap, jam, frame limits, each with its
//! source.
//!
//! Pure: no clock, no chance, no input or output.
//!
//! - [`units`]: bits, octets, time in integer picoseconds; they do not mix.
//! - [`frame`]: the layout of a frame, and what UDP leaves of it.
//! - [`timing`]: the half-duplex standards, every number written once.
//! - [`plca`]: PLCA of one of them.

pub mod frame;
pub mod plca;
pub mod timing;
pub mod units;

pub use frame::Carrier;
pub use plca::{PLCA, PLCA_SOURCES, PlcaTiming};
pub use timing::{HalfDuplexTiming, STANDARDS, Standard, standard};
pub use units::{BitTime, Bits, Octets};
