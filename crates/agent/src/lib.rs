//! Agents that send and receive real frames on their hosts, and the coordinator that runs a test
//! between them.
//!
//! What an agent may do is decided without a network or a clock, in [`consent`], [`leash`] and
//! [`gate`]; the rest carries it out.
//!
//! - [`consent`]: the rules an agent asks before it sends anything, with the operator's ceilings.
//! - [`refusal`]: what an agent says no with: the rule, the value, what is allowed.
//! - [`attest`]: signed consent.
//! - [`leash`]: the lease without which an agent falls silent.
//! - [`gate`]: the last door before the network; nothing passes that consent does not name.
//! - [`interfaces`]: the host's interfaces.
//! - [`station`]: an experiment on one host: its ports, its roles, what it counts.
//! - [`service`]: the calls of the protocol.
//! - [`listen`]: sockets, TLS, limits on connections.
//! - [`waiting`]: who of those that have not proven who they are may wait for that.
//! - [`description`]: what a test is, as people and programs write it.
//! - [`coordinator`]: runs a test and says what came of it.
//! - [`certificates`]: a private authority.

pub mod attest;
pub mod certificates;
pub mod consent;
pub mod coordinator;
pub mod description;
pub mod gate;
pub mod interfaces;
pub mod leash;
pub mod listen;
pub mod refusal;
pub mod service;
pub mod station;
pub mod waiting;

/// The protocol, as generated from `proto/agent.proto`.
#[allow(missing_docs, clippy::pedantic)]
pub mod protocol {
    tonic::include_proto!("ethermeter.agent.v1");
}

/// Version of the protocol.
pub const PROTOCOL: u32 = 4;
