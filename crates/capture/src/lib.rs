//! Captures: files of packets that were seen on some interface, read one packet after the other.
//!
//! - [`mod@file`]: pcap and pcapng as packets with their times, in bounded memory however large the
//!   file is.
//! - [`mod@write`]: the simplest of these files, and pcapng with the losses of an interface:
//!   for what is captured here, and for tests.
//! - [`input`]: files and pipes, compressed or not, as octets.
//! - [`packet`]: a packet's innermost IP and TCP or UDP headers as one flat value.
//! - [`connection`]: what every segment of a TCP connection means, and what each end did.
//! - [`cause`]: what a connection can wait for.
//! - [`limits`]: what a connection waited for, moment by moment; [`course`]: whether its congestion
//!   window or its send buffer was it.
//! - [`flow`]: UDP and raw frames: rates, gaps, and losses where they carry ethermeter's mark.
//! - [`path`]: what the connections between two addresses sent together.
//! - [`attempts`]: attempts on an emulated segment, and for how many slots stations backed off.
//! - [`explain`]: every packet of a capture to its connection or flow, in bounded memory.
//! - [`json`]: the explanation as JSON.
//! - [`delays`], [`series`], [`recent`], [`index`]: histograms, slices of time and tables that stay
//!   small.
//!
//! Pure but for the reader that is handed in, and the input that is opened. A file may hold
//! anything: nothing here panics on it, and a fault has its offset in the file.

mod ahead;
pub mod attempts;
pub mod cause;
pub mod connection;
mod copies;
pub mod course;
pub mod delays;
pub mod explain;
pub mod file;
pub mod flow;
mod fragments;
pub mod index;
pub mod input;
pub mod json;
mod largest;
pub mod limits;
pub mod load;
pub mod packet;
pub mod path;
pub mod recent;
pub mod series;
mod summary;
pub mod write;

pub use file::{CaptureError, CaptureReader, LinkType, Packet};
