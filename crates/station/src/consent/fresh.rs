//! Whether a request is new: for this process, made just now, and never seen before.

use crate::refusal::{ConsentRule, Refusal, require};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What makes a request fresh and one of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestStamp {
    /// Of the agent's process.
    pub session: u64,
    /// The experiment.
    pub experiment: u64,
    /// Greater than that of every earlier request of the experiment in the same lane.
    pub counter: u64,
    /// When the request was made, by the agent's clock.
    pub made_ns: u64,
}

/// A sequence of requests. Renewals of leases have their own, so that none of them waits for the
/// answer to another request; in each lane a request counts once, and not after a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestLane {
    /// All requests but renewals of leases.
    Calls,
    /// Renewals of leases.
    Leases,
}

/// Maximum age of a request: a slow path, and a clock known to some milliseconds.
pub const OLDEST_NS: u64 = 5_000_000_000;
/// A request may be so far ahead: clocks are known to some milliseconds.
pub const AHEAD_NS: u64 = 1_000_000_000;
/// Ended experiments that are remembered. Replays of older ones are refused by their age, so this
/// many must not end within [`OLDEST_NS`].
const MOST_ENDED: usize = 1024;

#[derive(Debug)]
struct RunningExperiment {
    owner: String,
    /// The last counter of each lane.
    calls: Option<u64>,
    leases: Option<u64>,
}

#[derive(Debug)]
pub(super) struct RequestFreshness {
    session: u64,
    running: BTreeMap<u64, RunningExperiment>,
    ended_ns: BTreeMap<u64, u64>,
}

impl RequestFreshness {
    pub fn new(session: u64) -> Self {
        Self { session, running: BTreeMap::new(), ended_ns: BTreeMap::new() }
    }

    pub fn knows(&self, experiment: u64) -> bool {
        self.running.contains_key(&experiment)
    }

    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Whether the request is for this process, made just now, and not of an experiment that has
    /// ended.
    pub fn check(&mut self, stamp: &RequestStamp, now_ns: u64) -> Result<(), Refusal> {
        let (named, own) = (stamp.session, self.session);
        require(
            named == own,
            ConsentRule::Session,
            format_args!("{named:016x}"),
            format_args!("{own:016x}"),
        )?;
        let (oldest_ns, latest_ns) =
            (now_ns.saturating_sub(OLDEST_NS), now_ns.saturating_add(AHEAD_NS));
        let is_now = (oldest_ns..=latest_ns).contains(&stamp.made_ns);
        let allowed = format_args!("{oldest_ns} to {latest_ns} ns").to_string();
        require(is_now, ConsentRule::Clock, format_args!("made at {} ns", stamp.made_ns), allowed)?;
        // A request that is older than this is refused for its age, so it need not be remembered.
        self.ended_ns.retain(|_, ended_ns| *ended_ns + OLDEST_NS + AHEAD_NS >= now_ns);
        let has_ended = self.ended_ns.contains_key(&stamp.experiment);
        require(
            !has_ended,
            ConsentRule::Ended,
            format_args!("experiment {:016x}", stamp.experiment),
            "an experiment that has not ended",
        )?;
        let ended = self.ended_ns.len();
        require(
            ended < MOST_ENDED,
            ConsentRule::Ended,
            format_args!("{ended} experiments ended in {OLDEST_NS} ns"),
            MOST_ENDED,
        )
    }

    /// Count the request as seen in its lane. The first one begins the experiment.
    pub fn take(
        &mut self,
        stamp: &RequestStamp,
        lane: RequestLane,
        caller: &str,
    ) -> Result<(), Refusal> {
        let running = self.running.entry(stamp.experiment).or_insert_with(|| RunningExperiment {
            owner: caller.to_owned(),
            calls: None,
            leases: None,
        });
        require(running.owner == caller, ConsentRule::Owner, caller, running.owner.as_str())?;
        let last = match lane {
            RequestLane::Calls => &mut running.calls,
            RequestLane::Leases => &mut running.leases,
        };
        let counter = stamp.counter;
        if let Some(last) = *last {
            require(
                counter > last,
                ConsentRule::Replay,
                format_args!("request {counter}"),
                format_args!("above {last}"),
            )?;
        }
        *last = Some(counter);
        Ok(())
    }

    pub fn end(&mut self, experiment: u64, now_ns: u64) {
        if self.running.remove(&experiment).is_some() {
            self.ended_ns.insert(experiment, now_ns);
        }
    }
}
