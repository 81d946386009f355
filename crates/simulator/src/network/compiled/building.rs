//! Compiling a trial's network, step by step, once its scenario is known to be sound.

mod expanded;
mod segments;
mod switch;

use super::{CompiledNetwork, CompiledNode, ENDLESS, Last, Port, Role, Route, Timing, small};
use crate::identity::{NodeId, PortId, ResourceId, RouteId, StageId};
use crate::network::clocks::clock::Clock;
use crate::time::Span;
use ethermeter_ethernet::units::Octets;
use ethermeter_traffic::scheduler::{Classes, Room};
use ethermeter_trial::nodes::{Buffer, Class, Kind, Link, Node, Stage};
use ethermeter_trial::{Fault, Scenario, Trial};
use expanded::Expanded;
use std::collections::{BTreeMap, VecDeque};

impl CompiledNetwork {
    /// Check a trial and make it ready.
    pub fn new(trial: &Trial) -> Result<Self, Fault> {
        let scenario = &trial.scenario;
        scenario.sound()?;
        let expanded = Expanded::new(trial)?;
        let names = expanded
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .zip((0..).map(NodeId::from))
            .collect();
        let compiled = Self {
            seed: trial.seed,
            first_draw: first_draw(scenario),
            phases: scenario.phases,
            batches: scenario.batches,
            nodes: Vec::new(),
            listed_nodes: scenario.nodes.len(),
            ports: Vec::new(),
            timings: Vec::new(),
            randoms: Vec::new(),
            rooms: Vec::new(),
            classes: Vec::new(),
            priorities: scenario.flows.iter().map(|flow| flow.priority.unwrap_or(0)).collect(),
            hops: Vec::new(),
            routes: Vec::new(),
            segments: Vec::new(),
            segment_of: Vec::new(),
            toward: Vec::new(),
        };
        let shared = BTreeMap::new();
        let mut builder = Builder { trial, expanded: &expanded, compiled, names, shared };
        builder.nodes();
        builder.links();
        builder.segments()?;
        builder.toward();
        builder.half_duplex_links();
        builder.stages();
        Ok(builder.compiled)
    }
}

/// The number of the draws of the first port, which are of purposes that stations of media have too.
fn first_draw(scenario: &Scenario) -> u32 {
    let of_flows = scenario.flows.iter().map(|flow| 1 + flow.to.len()).sum::<usize>();
    let stations = scenario.media.iter().map(|medium| medium.stations.len()).sum();
    small(of_flows.max(stations))
}

/// A compiled network in the making.
struct Builder<'t> {
    trial: &'t Trial,
    expanded: &'t Expanded,
    compiled: CompiledNetwork,
    names: BTreeMap<&'t str, NodeId>,
    shared: BTreeMap<(NodeId, String), ResourceId>,
}

impl<'t> Builder<'t> {
    fn config(&self, node: NodeId) -> &'t Node {
        &self.expanded.nodes[node]
    }

    fn links_of(&self) -> &'t [Link] {
        &self.expanded.links
    }

    pub fn nodes(&mut self) {
        for node in &self.expanded.nodes {
            let (role, ring, rebroadcast) = match &node.kind {
                Kind::Host(host) => (Role::Host, host.ring.unwrap_or(256), host.rebroadcast),
                Kind::Switch(switch) => (Role::Switch(switch.learning), 0, None),
                Kind::Router(_) => (Role::Router, 0, None),
                Kind::Hub(_) => (Role::Hub, 0, None),
            };
            self.compiled.nodes.push(CompiledNode {
                role,
                ports: Vec::new(),
                forward: Vec::new(),
                flood: Vec::new(),
                send: None,
                ring,
                rebroadcast,
                clock: None,
            });
        }
    }

    pub fn links(&mut self) {
        for link in self.links_of() {
            let ends = [0, 1].map(|side| self.names[link.ends[side].node.as_str()]);
            for (side, end) in link.ends.iter().enumerate() {
                let node = ends[side];
                let (own, peer) = (&self.config(node).kind, &self.config(ends[1 - side]).kind);
                let (overlap, buffer, room) = (overlap_of(peer), buffer_of(own), room_of(own));
                let id = PortId::new(self.compiled.ports.len());
                let entry = &mut self.compiled.nodes[node];
                let local = small(entry.ports.len());
                entry.ports.push(id);
                self.compiled.ports.push(Port {
                    node,
                    local,
                    module: end.module,
                    reception: None,
                    buffer,
                    half_duplex: link.half_duplex,
                });
                self.compiled.timings.push(Timing {
                    resource: id.wire(),
                    fixed: Span::ZERO,
                    per_octet: Span::from_ps(link.ps_per_octet),
                    extra: link.preamble_octets.cast_signed(),
                    burst_octets: u64::MAX,
                    burst: Span::ZERO,
                    overlap: overlap
                        .filter(|_| !link.half_duplex)
                        .map(|octets| Octets(octets + link.preamble_octets)),
                    delay: Span::from_ps(link.delay_ps),
                    gap: Span::from_ps(link.gap_octets * link.ps_per_octet),
                    coalesce: None,
                    random: None,
                });
                self.compiled.rooms.push(room);
                let classes = classes_of(own);
                let has_classes = !classes.is_empty() && !link.half_duplex;
                let classes = has_classes.then(|| Classes::new(classes, room));
                self.compiled.classes.push(classes);
            }
        }
    }

    pub fn toward(&mut self) {
        let nodes = self.compiled.nodes.len();
        self.compiled.toward = vec![None; nodes * nodes];
        for to in 0..nodes {
            let mut queue = VecDeque::from([NodeId::new(to)]);
            let mut seen = vec![false; nodes];
            seen[to] = true;
            while let Some(node) = queue.pop_front() {
                for &port in &self.compiled.nodes[node].ports {
                    let next = self.compiled.ports[port.peer()].node;
                    if !std::mem::replace(&mut seen[next], true) {
                        self.compiled.toward[next.index() * nodes + to] = Some(port.peer());
                        queue.push_back(next);
                    }
                }
            }
        }
    }

    fn resource(&mut self, room: Room) -> ResourceId {
        self.compiled.rooms.push(room);
        ResourceId::new(self.compiled.rooms.len() - 1)
    }

    /// A stage of a node, on the resource that it names or on one of its own.
    fn stage(&mut self, node: NodeId, stage: &Stage) -> StageId {
        let room =
            Room { frames: stage.queue_frames.map_or(u64::MAX, u64::from), octets: u64::MAX };
        let resource = match &stage.resource {
            None => self.resource(room),
            Some(name) => {
                let known = self.shared.get(&(node, name.clone())).copied();
                let resource = known.unwrap_or_else(|| self.resource(ENDLESS));
                self.shared.insert((node, name.clone()), resource);
                resource
            }
        };
        let random = stage.random.as_ref().map(|random| {
            self.compiled.randoms.push(random.clone());
            small(self.compiled.randoms.len() - 1)
        });
        self.compiled.timings.push(Timing { random, ..Timing::new(stage, resource) });
        StageId::new(self.compiled.timings.len() - 1)
    }

    fn route(&mut self, stages: &[StageId], last: Last) -> RouteId {
        let first = small(self.compiled.hops.len());
        self.compiled.hops.extend_from_slice(stages);
        self.compiled.routes.push(Route { first, after: small(self.compiled.hops.len()), last });
        RouteId::new(self.compiled.routes.len() - 1)
    }

    pub fn stages(&mut self) {
        for node in NodeId::first(self.compiled.nodes.len()) {
            let ports = self.compiled.nodes[node].ports.clone();
            match &self.config(node).kind {
                Kind::Host(host) => {
                    if let Some(clock) = host.clock {
                        self.compiled.nodes[node].clock =
                            Some(Clock::new(&clock, self.compiled.seed, node.number()));
                    }
                    let mut send = Vec::new();
                    for stage in &host.send {
                        send.push(self.stage(node, stage));
                    }
                    send.push(ports[0].stage());
                    self.compiled.nodes[node].send =
                        Some(self.route(&send, Last::Port(ports[0].peer())));
                    let mut receive = Vec::new();
                    for stage in &host.receive {
                        receive.push(self.stage(node, stage));
                    }
                    self.compiled.ports[ports[0]].reception =
                        Some(self.route(&receive, Last::Host(node)));
                }
                Kind::Switch(switch) => {
                    self.switch(node, &ports, switch);
                }
                Kind::Router(router) => {
                    let forward = self.stage(node, &router.forward);
                    for &port in &ports {
                        self.compiled.ports[port].reception =
                            Some(self.route(&[], Last::Lookup(port)));
                    }
                    self.forward(node, &ports, |_, _, _| vec![forward]);
                }
                Kind::Hub(_) => {}
            }
        }
    }
}

fn classes_of(kind: &Kind) -> &[Class] {
    match kind {
        Kind::Host(host) => &host.classes,
        Kind::Switch(switch) => &switch.classes,
        Kind::Router(router) => &router.classes,
        Kind::Hub(_) => &[],
    }
}

fn overlap_of(kind: &Kind) -> Option<u64> {
    match kind {
        Kind::Host(host) => host.overlap_octets,
        Kind::Switch(switch) => switch.overlap_octets,
        Kind::Router(_) | Kind::Hub(_) => None,
    }
}

fn buffer_of(kind: &Kind) -> Option<Buffer> {
    match kind {
        Kind::Host(host) => host.buffer,
        Kind::Switch(switch) => switch.buffer,
        Kind::Router(_) | Kind::Hub(_) => None,
    }
}

fn room_of(kind: &Kind) -> Room {
    let frames = |n: Option<u32>| n.map_or(u64::MAX, u64::from);
    match kind {
        Kind::Switch(switch) => Room {
            frames: frames(switch.queue_frames),
            octets: switch.queue_octets.unwrap_or(u64::MAX),
        },
        Kind::Router(router) => Room { frames: frames(router.queue_frames), octets: u64::MAX },
        Kind::Host(_) | Kind::Hub(_) => ENDLESS,
    }
}
