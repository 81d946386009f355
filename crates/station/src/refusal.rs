//! Why an agent refuses a request.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A rule of consent or safety, by its name in refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConsentRule {
    /// A request is for the process that runs now, not for one before it.
    Session,
    /// A request was made just now, by the agent's clock.
    Clock,
    /// No request counts twice, and none after a later one.
    Replay,
    /// An experiment that has ended does not begin again.
    Ended,
    /// An experiment belongs to the coordinator that began it.
    Owner,
    /// An experiment that is asked about is there.
    Unknown,
    /// Steps come in their order: grant, prepare, start.
    Order,
    /// The operator's ceiling on experiments at once.
    TestsAtOnce,
    /// The ceiling on roles of one experiment.
    Roles,
    /// The operator's ceiling on bits per second.
    RateBits,
    /// The operator's ceiling on frames per second.
    RateFrames,
    /// The operator's ceiling on duration.
    Duration,
    /// The operator's addresses; unicast only.
    Address,
    /// The operator's interfaces; the one that has the own address.
    Interface,
    /// The operator's kinds of groups: hosts that did not consent may hear them.
    Groups,
    /// The operator's ceiling on priorities.
    Priority,
    /// Ports below 1024 belong to services.
    Port,
    /// Without TLS, only loopback addresses.
    PlainBeyondLoopback,
    /// A sender needs a grant.
    ConsentMissing,
    /// A grant is signed by a certificate of the authority that names the address.
    ConsentUnproven,
    /// A grant is for one experiment.
    ConsentExperiment,
    /// A grant is for one sender.
    ConsentSender,
    /// A grant is for one address and port.
    ConsentTarget,
    /// Frames leave by the interface that has the route to the station that granted, and that
    /// station answers for its address.
    Route,
    /// A grant is for frames up to a length.
    ConsentLength,
    /// A grant is for a duration.
    ConsentDuration,
    /// A grant expires.
    ConsentExpired,
    /// A grant is for one role of one run.
    ConsentSpent,
    /// A grant is renewed by its receiver for as long as it is used.
    ConsentRenewal,
    /// A description of traffic makes sense.
    Description,
}

impl fmt::Display for ConsentRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => formatter.write_str(&name),
            _ => unreachable!("rules are written as words"),
        }
    }
}

/// No, by which rule, to what value, and what would have been allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule {rule}: {value} is refused, allowed: {allowed}")]
pub struct Refusal {
    /// The rule.
    pub rule: ConsentRule,
    /// What was asked for.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(rule: ConsentRule, value: impl fmt::Display, allowed: impl fmt::Display) -> Self {
        Self { rule, value: value.to_string(), allowed: allowed.to_string() }
    }
}

/// A refusal, as an error.
///
/// # Errors
/// Always.
pub fn refuse<T>(
    rule: ConsentRule,
    value: impl fmt::Display,
    allowed: impl fmt::Display,
) -> Result<T, Refusal> {
    Err(Refusal::new(rule, value, allowed))
}

/// `Ok` if `is_allowed`, else a refusal with its words made only then.
pub(crate) fn require<V: fmt::Display, A: fmt::Display>(
    is_allowed: bool,
    rule: ConsentRule,
    value: V,
    allowed: A,
) -> Result<(), Refusal> {
    if is_allowed { Ok(()) } else { refuse(rule, value, allowed) }
}
