//! Captures: files of packets that were seen on some interface, read one packet after the other.
//!
//! - [`file`]: pcap and pcapng as packets with their times, in bounded memory however large the file is.
//! - [`write`]: the simplest of these files, for what is captured here and for tests.
//! - [`packet`]: a packet's IP and TCP or UDP headers as one flat value.
//!
//! Pure but for the reader that is handed in. A file may hold anything: nothing here panics on it, and what is wrong is said with its
//! place in the file.

pub mod file;
pub mod packet;
pub mod write;

pub use file::{Capture, Error, Link, Packet};
