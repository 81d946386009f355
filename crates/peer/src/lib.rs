//! Measurements with hosts that run no agent: STAMP (RFC 8762, RFC 8972), TWAMP Light (RFC 5357,
//! appendix I) and iperf3.
//!
//! What arrives is untrusted: no length from the network sets how much is stored, no peer keeps a
//! measurement longer than its time, and a reflector answers with no more octets than it got.
//!
//! - [`stamp`]: test packets, TLVs, the reflector and the sender.
//! - [`iperf3`]: a client of `iperf3 -s`.
//! - [`task`]: one line of JSON in, one line of JSON out.

mod error;
pub mod iperf3;
pub mod stamp;
pub mod task;

pub use error::Error;
