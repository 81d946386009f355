//! Agents that send and receive real frames on their hosts, and the coordinator that runs a test
//! between them.
//!
//! [`consent`], [`lease`], [`policer`] and [`pending`] decide what an agent may do, without a
//! network or a clock; the other modules carry it out.
//!
//! - [`consent`]: the rules an agent asks before it sends anything, with the operator's ceilings.
//! - [`refusal`]: why a request is refused: the rule, the value, what is allowed.
//! - [`attest`]: signed consent.
//! - [`lease`]: the lease without which an agent falls silent.
//! - [`policer`]: the last check before the network; nothing passes that consent does not name.
//! - [`token_bucket`]: rates, and what a payload costs.
//! - [`interfaces`]: the host's interfaces.
//! - [`station`]: an experiment on one host: its ports, its roles, its results.
//! - [`service`]: the calls of the protocol.
//! - `role_plans`: roles of a request, permitted by the rules.
//! - [`listen`]: sockets, TLS, limits on connections.
//! - [`pending`]: connections whose peers have not yet authenticated.
//! - [`description`]: the test that a coordinator is given, as JSON.
//! - [`coordinator`]: runs a test and returns its results.
//! - [`result`]: reports of agents and results of tests.
//! - [`certificates`]: a private authority.

pub mod attest;
pub mod certificates;
pub mod consent;
pub mod coordinator;
pub mod description;
pub mod interfaces;
pub mod lease;
pub mod listen;
pub mod pending;
pub mod policer;
mod random;
pub mod refusal;
pub mod result;
mod role_plans;
pub mod service;
pub mod station;
mod stop;
pub mod token_bucket;

/// The protocol: code generated from `proto/agent.proto`, which `tests/generated.rs` keeps current.
#[allow(missing_docs, clippy::pedantic)]
pub mod protocol {
    include!("../proto/ethermeter.agent.v1.rs");
}

/// Version of the protocol.
pub const PROTOCOL: u32 = 5;
