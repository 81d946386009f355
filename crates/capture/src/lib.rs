//! Captures: files of packets that were seen on some interface, read one packet after the other.
//!
//! - [`file`]: pcap and pcapng as packets with their times, in bounded memory however large the
//!   file is.
//! - [`write`]: the simplest of these files, and pcapng with the losses of an interface:
//!   for what is captured here, and for tests.
//! - [`packet`]: a packet's IP and TCP or UDP headers as one flat value.
//! - [`connection`]: what every segment of a TCP connection means, and what each end did.
//! - [`cause`]: what a connection can wait for.
//! - [`limits`]: what a connection waited for, moment by moment; [`course`]: whether its congestion
//!   window or its send buffer was it.
//! - [`flow`]: UDP and raw frames: rates, gaps, and losses where they carry ethermeter's mark.
//! - [`explain`]: every packet of a capture to its connection or flow, in bounded memory.
//! - [`json`]: the explanation as JSON.
//! - [`delays`], [`series`], [`recent`], [`index`]: histograms, slices of time and tables that stay
//!   small.
//!
//! Pure but for the reader that is handed in. A file may hold anything: nothing here panics on it,
//! and a fault has its offset in the file.

mod ahead;
pub mod cause;
pub mod connection;
pub mod course;
pub mod delays;
pub mod explain;
pub mod file;
pub mod flow;
pub mod index;
pub mod json;
mod largest;
pub mod limits;
mod noted;
pub mod packet;
pub mod recent;
pub mod series;
pub mod write;

pub use file::{Capture, Error, Link, Packet};
