//! Agents that send and receive real frames on their hosts, and the coordinator that runs a test
//! between them. What a host may send, and how it does: [`ethermeter_station`].
//!
//! `pending` decides without a network or a clock.
//!
//! - `activity`: what a host does besides a test.
//! - `attest`: signed consent.
//! - `time`: sleeping tasks, and the time of day; the one file that asks for them.
//! - [`protocol`]: the calls of the protocol. [`calls`]: how they travel.
//! - `service`: what an agent does by them.
//! - `role_plans`: roles of a request, permitted by the rules.
//! - [`listen`]: sockets, TLS, limits on connections.
//! - `pending`: connections whose peers have not yet authenticated.
//! - `description`: the test that a coordinator is given, as JSON.
//! - [`coordinator`]: runs a test and returns its results.
//! - [`result`]: results of tests, made of the reports of agents.
//! - [`certificates`]: a private authority.

mod activity;
mod attest;
pub mod calls;
pub mod certificates;
pub mod coordinator;
mod description;
pub mod listen;
mod pending;
pub mod protocol;
pub mod result;
mod role_plans;
mod service;
mod time;

pub use attest::Credentials;
pub use description::TestDescription;
