//! The counters that Linux keeps along a frame's path, as differences over a test show where frames
//! went.
//!
//! All are those of the calling thread's network namespace, where there is one. Reading is apart
//! from parsing, and parsing never panics, whatever the text.

mod host;
mod interface;
mod queue;
mod text;

pub use host::{HostSample, ProcessorTimes, TaskLoad};
pub use interface::{InterfaceCounters, UdpCounters, interfaces, udp};
pub use queue::{QueueCounters, queues};
