//! A trial as plain data: its scenario, what an engine counts in it, and what is wrong with it.
//!
//! Times are whole picoseconds (named `_ps`), lengths are bits or octets. Every type is JSON by
//! serde, refuses unknown keys, and has a JSON Schema with the feature `schema`
//! (`cargo run -p ethermeter-trial --features schema --example schema`).
//!
//! - [`scenario`]: [`Trial`], [`Scenario`], phases.
//! - [`nodes`]: hosts, switches, routers, hubs, and links between them.
//! - [`medium`]: shared media, their MAC, the stations on them. [`csma_cd`], [`plca`],
//!   [`idealised`]: the constants of MACs.
//! - [`flows`]: traffic. [`transfer`]: data over TCP. [`clocks`]: hosts' clocks.
//! - [`roles`]: what hosts do in a test between them.
//! - [`counts`]: what an engine counts, before any formula.
//! - [`mod@check`]: all faults of a scenario. [`fault`]: a fault by the path of its key.
//!
//! What an experiment file calls a field, its unit and its range stand beside the field, in the
//! attribute `file`.

pub mod check;
pub mod clocks;
pub mod counts;
pub mod csma_cd;
pub mod fault;
pub mod flows;
pub mod idealised;
mod limits;
pub mod medium;
pub mod nodes;
pub mod plca;
pub mod roles;
pub mod scenario;
mod sources;
pub mod transfer;

pub use counts::Counts;
pub use fault::Fault;
pub use scenario::{Phases, Scenario, Trial};
