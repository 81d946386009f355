//! What is offered to a medium, and by what chance: sources, frame lengths, host times; and how
//! what arrives is counted.
//!
//! Pure: time and chance are arguments. The traffic that a simulated station offers and that a live
//! agent sends is this code.
//!
//! - [`chance`]: a stream of draws for each station and purpose; a draw belongs to its index, not
//!   to the order of events.
//! - [`times`]: distributions of times (service, generation).
//! - [`lengths`]: frame lengths, fixed or mixed.
//! - [`arrivals`]: when a source that does not wait for the medium offers frames.
//! - [`voice`]: a coder's samples, gathered into frames that grow until they are sent.
//! - [`packets`]: the same gathered by a host that has one packet on its way to the wire at a time.
//! - [`source`]: a station's whole supply: saturated, generated into a ring of buffers, queued
//!   arrivals, or voice.
//! - [`window`]: when a source is active and when it is measured.
//! - [`batches`]: the measured window in equal parts.
//! - [`sequence`]: what became of numbered frames: received, missing, late, reordered, duplicate.
//! - [`skewed_clock`]: the time that a station's clock shows, with an offset and a drift.
//! - [`clock`]: offset and drift of another station's clock, and how sure they are, from exchanges
//!   of times; when these are made.
//! - [`histogram`]: how long things took, in buckets of a fixed relative width.

pub mod arrivals;
pub mod batches;
pub mod chance;
pub mod clock;
pub mod histogram;
pub mod lengths;
pub mod packets;
pub mod sequence;
pub mod skewed_clock;
pub mod source;
pub mod times;
pub mod voice;
pub mod window;

pub use batches::Batches;
pub use chance::{Coin, Purpose, Stream};
pub use histogram::{Distribution, Histogram};
pub use sequence::{Account, Arrived, Sequence};
pub use source::{Offer, Source, SourceSpec};
pub use window::Window;
