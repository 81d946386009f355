//! The ceilings of the stages of a host, and a transfer between two hosts whose stages can be set
//! one by one.
//!
//! Only what an interpreter would be too slow for: everything is asked for as one line of JSON
//! ([`task`]), bounded in time and room, and answered with samples; what they mean is decided
//! elsewhere.
//!
//! - [`stages`]: memory, checksum, system calls, loopback, disk, frames into an interface.
//! - [`transfer`]: the two ends of a TCP transfer.
//! - [`task`]: the door: JSON in, JSON out.

pub mod stages;
pub mod task;
pub mod transfer;

/// What a thread returns; its panic goes on here.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
