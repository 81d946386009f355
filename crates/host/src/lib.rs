//! The ceilings of the stages of a host, and a transfer between two hosts whose stages can be set
//! one by one.
//!
//! Only what an interpreter would be too slow for: everything is asked for as one line of JSON
//! ([`task`]), bounded in time and room, and answered with samples; what they mean is decided
//! elsewhere.
//!
//! - [`stages`]: memory, checksum, system calls, loopback, disk, frames into an interface.
//! - [`transfer`]: the two ends of a TCP transfer.
//! - [`mod@line`]: a long wire between two interfaces, for kernels without a qdisc that delays.
//! - [`task`]: the door: JSON in, JSON out.

mod error;
pub mod line;
pub mod stages;
pub mod task;
pub mod transfer;

pub use error::Error;
use ethermeter_live::port::packet::{bind, interface_index, raw_socket};

/// A packet socket on an interface of this network namespace, for the frames of a protocol; with 0
/// for none, so that nothing queues up behind a socket that only sends.
fn packet_socket(interface: &str, protocol: u16) -> Result<socket2::Socket, Error> {
    let index = interface_index(interface)?;
    let socket = raw_socket()?;
    bind(&socket, index, protocol)?;
    Ok(socket)
}

/// What a thread returns; its panic goes on here.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
