//! A client of `iperf3 -s`, compatible with versions 3.12 and newer.
//!
//! - `control`: the control connection: cookie, states, JSON with its length.
//! - `messages`: parameters and results as JSON.
//! - `streams`: data over TCP and UDP.
//! - [`client`]: a test from its connection to its results.

pub mod client;
pub mod control;
pub mod messages;
mod streams;

/// TCP and UDP port of a server.
pub const PORT: u16 = 5201;
