//! Offered traffic and its draws: sources, frame lengths, host times; and the counting of arrivals.
//!
//! Pure: time and chance are arguments. The traffic that a simulated station offers and that a live
//! agent sends is this code.
//!
//! - [`random`]: a stream of draws for each station and purpose; a draw belongs to its index, not
//!   to the order of events.
//! - [`times`]: distributions of times (service, generation).
//! - [`lengths`]: frame lengths, fixed or mixed.
//! - [`arrivals`]: when a source that does not wait for the medium offers frames.
//! - [`custom`]: a source of the caller's own.
//! - [`trace`]: recorded messages, replayed.
//! - [`voice`]: a coder's samples, gathered into frames that grow until they are sent.
//! - [`packets`]: voice of a host with at most one packet on its way to the wire.
//! - [`mod@file`]: the applications that read or write a file block by block.
//! - [`generator`]: a process that fills a ring of buffers, and how full the queues of these are.
//! - [`source`]: the supply of a station: saturated, generated into a ring of buffers, queued
//!   arrivals, voice, or custom.
//! - [`calls`]: the times in which a source is active. [`admission`]: which calls begin, by a rule.
//! - [`token_bucket`]: the shaper of a flow.
//! - [`classes`]: the traffic classes of a port. [`scheduler`]: which frame it sends next.
//! - [`window`]: when a source is active and when it is measured.
//! - [`batches`]: the measured window in equal batches.
//! - [`sequence`]: the fate of numbered frames: received, missing, late, reordered, duplicate.
//! - [`skewed_clock`]: the time that a station's clock shows, with an offset and a drift.
//! - [`clock`]: offset and drift of another station's clock, with their uncertainty, from exchanges
//!   of times; the schedule of these.
//! - [`histogram`]: times in buckets of a fixed relative width.

pub mod admission;
pub mod arrivals;
pub mod batches;
mod buffers;
pub mod calls;
pub mod classes;
pub mod clock;
pub mod coder;
pub mod custom;
pub mod file;
pub mod generator;
pub mod histogram;
pub mod lengths;
pub mod packets;
pub mod random;
pub mod scheduler;
pub mod sequence;
pub mod skewed_clock;
pub mod source;
pub mod times;
pub mod token_bucket;
pub mod trace;
pub mod voice;
pub mod window;

pub use batches::Batches;
pub use histogram::{Distribution, Histogram};
pub use random::{Coin, Purpose, Stream};
pub use sequence::{Account, Arrived, Sequence};
pub use source::{Offer, Source, SourceSpec};
pub use token_bucket::Shaping;
pub use trace::{Trace, Traces};
pub use window::Window;
