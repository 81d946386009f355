//! Captures: files of packets that were seen on some interface, read one packet after the other.
//!
//! - [`file`]: pcap and pcapng as packets with their times, in bounded memory however large the
//!   file is.
//! - [`write`]: the simplest of these files, and pcapng with what an interface says of its losses:
//!   for what is captured here, and for tests.
//! - [`packet`]: a packet's IP and TCP or UDP headers as one flat value.
//! - [`connection`]: what every segment of a TCP connection means, and what each end did.
//! - [`cause`]: what a connection can wait for.
//! - [`limits`]: what a connection waited for, moment by moment; [`course`]: whether its congestion
//!   window or its send buffer was it.
//! - [`flow`]: UDP and raw frames: rates, gaps, and losses where they carry ethermeter's mark.
//! - [`explain`]: every packet of a capture to its connection or flow, in bounded memory.
//! - [`told`]: the explanation as JSON.
//! - [`delays`], [`series`], [`recent`], [`index`]: histograms, slices of time and tables that stay
//!   small.
//!
//! Pure but for the reader that is handed in. A file may hold anything: nothing here panics on it,
//! and what is wrong is said with its place in the file.

mod ahead;
pub mod cause;
pub mod connection;
pub mod course;
pub mod delays;
pub mod explain;
pub mod file;
pub mod flow;
pub mod index;
mod largest;
pub mod limits;
mod noted;
pub mod packet;
pub mod recent;
pub mod series;
pub mod told;
pub mod write;

pub use file::{Capture, Error, Link, Packet};
