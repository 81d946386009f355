//! An experiment on one host: its ports, its roles, what was counted.
//!
//! ```text
//! granting ── prepare ──► prepared ── start ──► running ── all roles have ended ──► ended
//!     each of them ── stop, or the lease lapses ──► ended
//! ```

mod account;
mod answers;
mod bulk;
pub mod clocks;
mod connection;
mod door;
mod file;
mod role;
mod sampler;
mod series;
mod transfer;

pub use answers::{longest_frame_octets, read_answers};
pub use door::{Door, Opened, Place};
pub use file::{read_file, File};
pub use role::{read_source, RolePlan, Task};
pub use transfer::LONGEST_BLOCK_OCTETS;

use crate::consent::Grant;
use crate::gate::Seen;
use crate::leash::Leash;
use crate::refusal::{Refusal, Rule};
use ethermeter_live::{Face, HostTime, Timeline};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// When what happens, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Silence before the transmission; receivers listen.
    pub settle_ns: u64,
    /// How long frames are offered.
    pub transmit_ns: u64,
    /// What arrives from here on is measured, since the beginning of the transmission …
    pub measure_from_ns: u64,
    /// … to before here.
    pub measure_to_ns: u64,
    /// How long receivers still listen afterwards.
    pub drain_ns: u64,
    /// Equal parts of what is measured, in which it is counted too.
    #[serde(default = "one")]
    pub batches: u32,
}

/// Parts of what is measured, at most: as many as a simulation may have.
const MOST_BATCHES: u32 = 1000;

fn one() -> u32 {
    1
}

impl Phases {
    /// From the beginning to the end of the drain.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.settle_ns.saturating_add(self.transmit_ns).saturating_add(self.drain_ns)
    }

    /// How long it is measured, in picoseconds.
    fn measured_ps(&self) -> u64 {
        self.measure_to_ns.saturating_sub(self.measure_from_ns).saturating_mul(1000)
    }

    /// What is wrong with them, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let Self { transmit_ns, measure_from_ns, measure_to_ns, batches, .. } = self;
        let is_fine = measure_from_ns < measure_to_ns && measure_to_ns <= transmit_ns;
        let of_window = (!is_fine).then(|| {
            format!("measured from {measure_from_ns} to {measure_to_ns} ns: must be a time within the {transmit_ns} ns of the transmission")
        });
        let of_batches = (!(1..=MOST_BATCHES).contains(batches))
            .then(|| format!("batches = {batches}: must be from 1 to {MOST_BATCHES}"));
        let faults: Vec<String> = of_window.into_iter().chain(of_batches).collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }
}

/// A port that was opened for a sender.
pub struct Receiver {
    opened: Opened,
    place: Place,
    /// One of each sender.
    grants: Vec<Grant>,
}

enum State {
    Granting,
    Prepared(Vec<RolePlan>, Phases),
    Running(Vec<JoinHandle<Value>>),
}

/// One experiment.
pub struct Experiment {
    number: u64,
    face: Face,
    leash: Arc<Leash>,
    seen: Arc<Seen>,
    receivers: BTreeMap<String, Receiver>,
    state: State,
}

impl Experiment {
    /// One with nothing in it yet; its lease begins at `now_ns`. Frames show the time of `face`.
    #[must_use]
    pub fn new(number: u64, face: Face, now_ns: u64) -> Self {
        Self {
            number,
            face,
            leash: Arc::new(Leash::new(now_ns)),
            seen: Arc::default(),
            receivers: BTreeMap::new(),
            state: State::Granting,
        }
    }

    /// What ends it.
    #[must_use]
    pub fn leash(&self) -> &Leash {
        &self.leash
    }

    /// Open a port for what `grant` allows, with room for frames of `room_frame_octets`, too, and write its number there. Further senders of the flow share it.
    ///
    /// # Errors
    /// If the flow has one already that is not for this, or the system refuses.
    pub fn open(
        &mut self,
        flow: &str,
        place: &Place,
        grant: &mut Grant,
        room_frame_octets: u32,
    ) -> Result<(), Refusal> {
        if !matches!(self.state, State::Granting) {
            return Err(Refusal::new(Rule::Order, "a grant", "before roles are prepared"));
        }
        if let Some(receiver) = self.receivers.get_mut(flow) {
            let is_shared = receiver.grants.iter().all(|other| {
                other.sender != grant.sender && other.address == grant.address && other.way() == grant.way()
            });
            if !is_shared || !grant.way().can_be_shared() {
                return Err(Refusal::new(Rule::Description, format!("flow {flow:?}"), "one receiver a flow"));
            }
            grant.port = receiver.grants.first().map_or(grant.port, |other| other.port);
            receiver.grants.push(grant.clone());
            return Ok(());
        }
        let opened = place.to_receive(grant, room_frame_octets)?;
        let receiver = Receiver { opened, place: place.clone(), grants: vec![grant.clone()] };
        self.receivers.insert(flow.to_owned(), receiver);
        Ok(())
    }

    /// What was granted for a flow here.
    #[must_use]
    pub fn granted(&self, flow: &str) -> Option<&Grant> {
        self.receivers.get(flow).and_then(|receiver| receiver.grants.first())
    }

    /// Take up roles.
    ///
    /// # Errors
    /// If there are some already.
    pub fn prepare(&mut self, roles: Vec<RolePlan>, phases: Phases) -> Result<(), Refusal> {
        if !matches!(self.state, State::Granting) {
            return Err(Refusal::new(Rule::Order, "roles", "once, after grants"));
        }
        self.state = State::Prepared(roles, phases);
        Ok(())
    }

    /// Begin at `begin_ns`.
    ///
    /// # Errors
    /// If nothing is prepared, or the system refuses a port or a thread.
    pub fn start(&mut self, begin_ns: u64) -> Result<(), Refusal> {
        let State::Prepared(roles, phases) = &self.state else {
            return Err(Refusal::new(Rule::Order, "a start", "once, after roles are prepared"));
        };
        let schedule = role::Schedule {
            experiment: self.number,
            begin_ns,
            phases: *phases,
            leash: Arc::clone(&self.leash),
            seen: Arc::clone(&self.seen),
            face: self.face,
            clocks: Arc::new(
                roles
                    .iter()
                    .filter(|plan| matches!(plan.task, Task::Clock { .. }))
                    .map(|plan| (plan.flow.clone(), Arc::default()))
                    .collect(),
            ),
        };
        let sampling = schedule.clone();
        let mut bodies: Vec<Box<dyn FnOnce() -> Value + Send>> = Vec::new();
        for plan in roles.clone() {
            let schedule = schedule.clone();
            let receiver = if plan.task.receives() { self.receivers.remove(&plan.flow) } else { None };
            let opened = match receiver {
                Some(Receiver { opened, place, grants }) => {
                    plan.fit(opened, &place, grants.first().map(|grant| grant.sender))?
                }
                None => plan.open()?,
            };
            bodies.push(Box::new(move || plan.run(opened, &schedule)));
        }
        bodies.push(Box::new(move || sampler::samples(&sampling)));
        let mut threads = Vec::with_capacity(bodies.len());
        for body in bodies {
            match Builder::new().name("role".into()).spawn(body) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    self.leash.stop();
                    self.state = State::Running(threads);
                    return Err(Refusal::new(Rule::Roles, error, "as many threads as the system allows"));
                }
            }
        }
        self.state = State::Running(threads);
        Ok(())
    }

    /// Roles that have not ended; the sampler of the host among them.
    #[must_use]
    pub fn running(&self) -> usize {
        match &self.state {
            State::Running(threads) => threads.iter().filter(|thread| !thread.is_finished()).count(),
            State::Granting | State::Prepared(..) => 0,
        }
    }

    /// Whether it has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        matches!(self.state, State::Running(_))
    }

    /// Frames sent and received so far.
    #[must_use]
    pub fn seen(&self) -> (u64, u64) {
        (self.seen.sent.load(Ordering::Relaxed), self.seen.received.load(Ordering::Relaxed))
    }

    /// Why it has ended, or will.
    #[must_use]
    pub fn ending(&self) -> &'static str {
        match (self.leash.has_lapsed(), self.leash.flag().load(Ordering::Relaxed)) {
            (true, _) => "lease",
            (false, true) => "stopped",
            (false, false) => "complete",
        }
    }

    /// Wait for the roles, which end at once if it has been stopped, and hand over what was counted.
    #[must_use]
    pub fn collect(self) -> Value {
        let ending = self.ending();
        let State::Running(threads) = self.state else {
            return json!({"ended": "never begun", "roles": [], "host": []});
        };
        let mut results: Vec<Value> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| json!({"error": "the role's thread has panicked"})))
            .collect();
        let host = results.pop().unwrap_or_default();
        let now_ns = HostTime.now_ns();
        let mut result = json!({"ended": ending, "roles": results, "collected_ns": now_ns});
        for part in ["host", "host_series", "provenance"] {
            result[part] = host[part].clone();
        }
        result
    }
}
