//! The counters that Linux keeps along a frame's path, as differences over a test show where frames
//! went.
//!
//! All are those of the calling thread's network namespace, where there is one. Reading is apart
//! from parsing, and parsing never panics, whatever the text.

mod host;
mod interface;
mod queue;

pub use host::{HostSample, ProcessorTimes};
pub use interface::{interfaces, udp, InterfaceCounters, UdpCounters};
pub use queue::{queues, QueueCounters};

use crate::Error;
use std::fs;

fn read(path: &'static str) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::system("reading the kernel's counters"))
}

/// The numbers of a line, as far as they are numbers.
fn numbers(line: &str) -> impl Iterator<Item = u64> + '_ {
    line.split_ascii_whitespace().map_while(|word| word.parse().ok())
}
