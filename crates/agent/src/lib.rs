//! Agents that send and receive real frames on their hosts, and the coordinator that runs a test
//! between them. What a host may send, and how it does: [`ethermeter_station`].
//!
//! `pending` decides without a network or a clock.
//!
//! - `attest`: signed consent.
//! - `time`: sleeping tasks, and the time of day; the one file that asks for them.
//! - `service`: the calls of the protocol.
//! - `role_plans`: roles of a request, permitted by the rules.
//! - [`listen`]: sockets, TLS, limits on connections.
//! - `pending`: connections whose peers have not yet authenticated.
//! - `description`: the test that a coordinator is given, as JSON.
//! - [`coordinator`]: runs a test and returns its results.
//! - [`result`]: results of tests, made of the reports of agents.
//! - [`certificates`]: a private authority.

mod attest;
pub mod certificates;
pub mod coordinator;
mod description;
pub mod listen;
mod pending;
pub mod result;
mod role_plans;
mod service;
mod time;

pub use attest::Credentials;
pub use description::TestDescription;

/// The protocol: code generated from `proto/agent.proto`, which `tests/generated.rs` keeps current.
#[allow(missing_docs, clippy::pedantic)]
pub mod protocol {
    include!("../proto/ethermeter.agent.v1.rs");
}

/// Version of the protocol.
pub const PROTOCOL: u32 = 8;
