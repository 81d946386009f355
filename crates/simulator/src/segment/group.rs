//! Stations that are alike but for their attachment points, and the flow that each of them sends.

use ethermeter_traffic::admission::Calls;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_trial::clocks::Comparing;
use ethermeter_trial::fault::{Checked, Faults, check_range};
use ethermeter_trial::flows::{Address, Flow, Framing};
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision, Backoff, Stations};
use ethermeter_trial::nodes::{Host, Kind};
use ethermeter_trial::{Fault, Scenario};

/// Longest delay, wait or turnaround time.
pub(crate) const LONGEST_DELAY_PS: u64 = 1_000_000_000_000; // 1 s
/// Longest frame, slot, gap, preamble or jam.
pub(crate) const LONGEST_BITS: u64 = 1 << 24;
const MOST_CLOCK_ERROR_PPB: u64 = 10_000_000; // 1%

/// Stations of one node, and their flow.
#[derive(Clone, Debug)]
pub struct Group {
    /// Attachment points and contention.
    pub stations: Stations,
    /// Traffic of each station.
    pub flow: Flow,
    number: usize,
    flow_number: usize,
}

impl Group {
    /// The groups on the scenario's first medium.
    ///
    /// # Errors
    /// If nodes, stations and flows do not belong together, or with the first value out of range.
    pub(super) fn all(scenario: &Scenario) -> Result<Vec<Self>, Fault> {
        let groups = attached(scenario)?;
        check_nodes(scenario)?;
        let has_group = |number| groups.iter().any(|group: &Self| group.flow_number == number);
        if let Some(number) = (0..scenario.flows.len()).find(|&number| !has_group(number)) {
            let from = &scenario.flows[number].from;
            let allowed = "must be the node of stations on the medium";
            return Err(Fault::new(format!("flows[{number}].from"), allowed).got(from));
        }
        Ok(groups)
    }

    /// Path of a key of the stations.
    #[must_use]
    pub fn station_path(&self, key: &str) -> String {
        format!("media[0].stations[{}].{key}", self.number)
    }

    /// Path of a key of the flow.
    #[must_use]
    pub fn flow_path(&self, key: &str) -> String {
        format!("flows[{}].{key}", self.flow_number)
    }

    /// Whether it sends voice.
    #[must_use]
    pub fn is_voice(&self) -> bool {
        matches!(self.flow.arrivals, Arrivals::Coder { .. })
    }

    /// Path of the first rule of the caller's own, if there is one.
    #[must_use]
    pub fn custom_path(&self) -> Option<String> {
        if matches!(self.stations.backoff, Backoff::Python { .. }) {
            return Some(self.station_path("backoff"));
        }
        self.has_custom_source().then(|| self.flow_path("arrivals"))
    }

    fn has_custom_source(&self) -> bool {
        matches!(self.flow.arrivals, Arrivals::Python { .. })
    }

    /// Check all values. Rules of the caller's own are sound ([`Group::custom_path`]).
    pub(super) fn check(&self, points: usize, bit_ps: u64) -> Result<(), Fault> {
        self.check_flow()?;
        check_contention(&self.stations, points, &format!("media[0].stations[{}]", self.number))?;
        self.check_voice(bit_ps)
    }

    fn check_flow(&self) -> Result<(), Fault> {
        let flow = &self.flow;
        let path = |key: &str| self.flow_path(key);
        let faults = [
            ("frames", flow.frames.fault()),
            ("arrivals", flow.arrivals.fault().filter(|_| !self.has_custom_source())),
            ("service", flow.service.fault()),
            ("generator.time", flow.generator.as_ref().and_then(|g| g.time.fault())),
        ];
        for (name, what) in faults {
            if let Some(what) = what {
                return Err(Fault::new(path(name), what));
            }
        }
        if let Some(calls) = &flow.calls {
            let mut faults = Faults::default();
            faults.within_path(&path("calls"), |faults| calls.check(faults));
            if !Calls::suit(&flow.arrivals) {
                faults.add(&path("calls"), "must be given with arrivals that have a rate only");
            }
            faults.into_vec().into_iter().next().map_or(Ok(()), Err)?;
        }
        let of_links = [
            ("arrivals", matches!(flow.arrivals, Arrivals::TokenBucket { .. })),
            ("shaper", flow.shaper.is_some()),
            ("priority", flow.priority.is_some()),
        ];
        if let Some((name, _)) = of_links.iter().find(|(_, is_given)| *is_given) {
            let allowed = "must have no token bucket or priority on a medium";
            return Err(Fault::new(path(name), allowed));
        }
        let saturated = flow.arrivals == Arrivals::Saturated {};
        if let Some(generator) = &flow.generator {
            check_range(&path("generator.buffers"), u64::from(generator.buffers), 1, 1_000_000)?;
            if !saturated {
                return Err(Fault::new(path("generator"), "goes with saturated arrivals only"));
            }
        }
        if let Some(room) = flow.queue_frames {
            check_range(&path("queue_frames"), u64::from(room), 1, 10_000_000)?;
            if saturated {
                let allowed = "does not go with saturated arrivals";
                return Err(Fault::new(path("queue_frames"), allowed));
            }
        }
        Ok(())
    }

    /// A coder needs frames of samples, and a host that does not give up.
    fn check_voice(&self, bit_ps: u64) -> Result<(), Fault> {
        let Self { stations, flow, .. } = self;
        let path = |key: &str| self.flow_path(key);
        let (sample_bits, sample_ps, overhead_bits) = match (&flow.arrivals, &flow.frames) {
            (
                Arrivals::Coder { sample_bits, sample_ps, .. },
                Lengths::Samples { overhead_bits, .. },
            ) => (*sample_bits, *sample_ps, *overhead_bits),
            (Arrivals::Coder { .. }, _) => {
                let allowed = "must be samples, because arrivals are of a coder";
                return Err(Fault::new(path("frames"), allowed));
            }
            (_, Lengths::Samples { .. }) => {
                let allowed = "must be of a coder, because frames are samples";
                return Err(Fault::new(path("arrivals"), allowed));
            }
            _ => return Ok(()),
        };
        let (_, max_bits) = flow.frames.range_bits();
        check_range(&path("frames.max_bits"), max_bits, overhead_bits + 1, LONGEST_BITS)?;
        if let Some(what) = flow.voice().and_then(|voice| voice.fault()) {
            return Err(Fault::new(path("frames"), what));
        }
        // By the fastest of the hosts' clocks, too.
        let least_ps = sample_bits * bit_ps;
        let fastest_ps = u128::from(sample_ps)
            * u128::from(1_000_000_000 - stations.clock_error_ppb)
            / 1_000_000_000;
        if fastest_ps <= u128::from(least_ps) {
            let what = format!(
                "must be slower than the segment: more than {least_ps} ps for {sample_bits} bits, got {sample_ps}",
            );
            return Err(Fault::new(path("arrivals.sample_ps"), what));
        }
        if flow.queue_frames.is_some() {
            let allowed = "does not go with a coder, whose buffer is the frame";
            return Err(Fault::new(path("queue_frames"), allowed));
        }
        // The buffer goes on whatever becomes of attempts, so there is no frame that could be given
        // up.
        if stations.after_attempt_limit != AfterAttemptLimit::Resume {
            let path = self.station_path("after_attempt_limit");
            return Err(Fault::new(path, "must be \"resume\" with a coder"));
        }
        if stations.after_late_collision != AfterLateCollision::Backoff {
            let path = self.station_path("after_late_collision");
            return Err(Fault::new(path, "must be \"backoff\" with a coder"));
        }
        Ok(())
    }
}

/// Check places and contention of stations; `path` is that of their key.
pub(crate) fn check_contention(
    stations: &Stations,
    points: usize,
    path: &str,
) -> Result<(), Fault> {
    let path = |key: &str| format!("{path}.{key}");
    if let Some(point) = stations.points.iter().find(|&&point| point as usize >= points) {
        return Err(Fault::new(path("points"), format!("must be below {points}")).got(point));
    }
    let waits = stations.priority_wait_ps;
    check_range(&path("clock_error_ppb"), stations.clock_error_ppb, 0, MOST_CLOCK_ERROR_PPB)?;
    check_range(&path("priority_wait_ps"), waits, 0, LONGEST_DELAY_PS)?;
    check_range(&path("attempt_limit"), u64::from(stations.attempt_limit), 1, 1_000_000)?;
    match stations.backoff {
        Backoff::Exponential { limit } => {
            check_range(&path("backoff.limit"), u64::from(limit), 0, 30)
        }
        Backoff::Linear { limit } => {
            check_range(&path("backoff.limit"), u64::from(limit), 0, 1_000_000)
        }
        Backoff::Constant { slots } => {
            check_range(&path("backoff.slots"), u64::from(slots), 1, 1_000_000)
        }
        // Who has no function to call has refused it (`Group::custom_path`, and networks).
        Backoff::None {} | Backoff::Python { .. } => Ok(()),
        Backoff::LoadRegister { bits, clock_ps, .. } => {
            check_range(&path("backoff.bits"), u64::from(bits), 1, 16)?;
            check_range(&path("backoff.clock_ps"), clock_ps, 1, LONGEST_DELAY_PS)
        }
    }
}

/// The stations of the medium, each with the one flow of its node.
fn attached(scenario: &Scenario) -> Result<Vec<Group>, Fault> {
    if scenario.clocks != Comparing::NotCompared {
        return Err(Fault::new("clocks", "must be \"not_compared\" with a medium"));
    }
    let stations = &scenario.media[0].stations;
    let mut groups = Vec::with_capacity(stations.len());
    for (number, station) in stations.iter().enumerate() {
        let path = |key: &str| format!("media[0].stations[{number}].{key}");
        if stations[..number].iter().any(|other| other.node == station.node) {
            return Err(Fault::new(path("node"), "must be attached once").got(&station.node));
        }
        let Some(node) = scenario.nodes.iter().find(|node| node.name == station.node) else {
            return Err(Fault::new(path("node"), "must be the name of a node").got(&station.node));
        };
        if node.count as usize != station.points.len() {
            let allowed = format!("must be a point for each of the node's {} hosts", node.count);
            return Err(Fault::new(path("points"), allowed).got(station.points.len()));
        }
        let mut flows =
            scenario.flows.iter().enumerate().filter(|(_, flow)| flow.from == node.name);
        let (Some((flow_number, flow)), None) = (flows.next(), flows.next()) else {
            let allowed = "must be a host from which one flow goes";
            return Err(Fault::new(path("node"), allowed).got(&station.node));
        };
        check_has_no_receiver(flow, flow_number)?;
        let (stations, flow) = (station.clone(), flow.clone());
        groups.push(Group { stations, flow, number, flow_number });
    }
    Ok(groups)
}

fn check_nodes(scenario: &Scenario) -> Result<(), Fault> {
    for (index, node) in scenario.nodes.iter().enumerate() {
        if node.kind != Kind::Host(Host::default()) {
            let allowed = "must be a host without settings on a medium";
            return Err(Fault::new(format!("nodes[{index}].kind"), allowed));
        }
        let path = format!("nodes[{index}].name");
        if scenario.nodes[..index].iter().any(|other| other.name == node.name) {
            return Err(Fault::new(path, "must be unique").got(&node.name));
        }
        if scenario.media[0].stations.iter().all(|station| station.node != node.name) {
            let allowed = "must be the node of stations on the medium";
            return Err(Fault::new(path, allowed).got(&node.name));
        }
    }
    Ok(())
}

/// A flow onto a medium has no receiver, and nothing that needs one.
fn check_has_no_receiver(flow: &Flow, number: usize) -> Result<(), Fault> {
    let absent = [
        ("to", flow.is_onto_medium()),
        ("address", flow.address == Address::Unicast),
        ("framing", flow.framing == Framing::Frame),
        ("response", flow.response.is_none()),
        ("transfer", flow.transfer.is_none()),
    ];
    match absent.iter().find(|(_, is_absent)| !is_absent) {
        None => Ok(()),
        Some((key, _)) => {
            Err(Fault::new(format!("flows[{number}].{key}"), "must be absent on a medium"))
        }
    }
}
