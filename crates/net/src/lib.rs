//! Real frames on real hosts: the data path of live measurement.
//!
//! Logic is apart from the operating system: times are arguments or come from a [`Timeline`],
//! frames go through a [`NetworkPort`]. Neither is ever assumed to be the real one. Nothing here
//! allocates for each frame, and nothing runs on without a limit of time.
//!
//! - [`wire`]: the mark that every frame of ours carries, and raw frames.
//! - [`port`]: network ports: memory (for tests), UDP, TCP, `AF_PACKET`, `AF_XDP`; a tap
//!   that hears every frame.
//! - [`roles`]: what a station does: send a schedule, sink and count, answer, ask and time the
//!   answer.
//! - [`pacing`]: sleep, then spin, to absolute times; what was achieved is recorded.
//! - [`clock`]: offset and drift of another station's clock, and how sure they are, from exchanges
//!   on the data path.
//! - [`skewed_clock`]: the time that a station puts on the wire, with an artificial offset and
//!   drift for tests.
//! - [`loss`]: where frames were lost, from the counters along their path.
//! - [`interface`], [`route`], [`plca`], [`provenance`]: what an interface and a host are.
//! - `netlink`: messages to and from the kernel.
//! - [`counters`]: the counters of interfaces, queues, sockets and processors, as Linux keeps them.
//! - [`record`]: every frame of an interface into a capture, with what was lost.
//! - [`time`]: the host's clock; the one file that reads it and sleeps by it.

pub mod clock;
pub mod counters;
mod error;
pub mod interface;
pub mod loss;
mod netlink;
pub mod pacing;
pub mod plca;
pub mod port;
pub mod provenance;
pub mod record;
pub mod roles;
pub mod route;
pub mod time;
pub mod wire;

pub use error::Error;
pub use ethermeter_traffic::skewed_clock::{self, SkewedClock};
pub use port::NetworkPort;
#[expect(clippy::disallowed_types, reason = "from here programs take it")]
pub use time::{HostTime, Timeline};
