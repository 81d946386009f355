//! Compiling a trial's network, step by step, and refusing what cannot be.

mod expanded;
mod segments;
mod switch;

use super::{
    CompiledNetwork, CompiledNode, ENDLESS, Last, MOST_NODES, NONE, PAUSE_OCTETS, Port, Role,
    Route, Timing, small,
};
use crate::network::clocks::clock::Clock;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::scheduler::{Classes, Room};
use ethermeter_traffic::times::LONGEST_PS;
use ethermeter_trial::flows::Address;
use ethermeter_trial::nodes::{Buffer, Class, Kind, Link, Node, Stage};
use ethermeter_trial::{Fault, Phases, Trial};
use expanded::Expanded;
use std::collections::{BTreeMap, VecDeque};

const MOST_BATCHES: u64 = 1000;

impl CompiledNetwork {
    /// Check a trial and make it ready.
    pub fn new(trial: &Trial) -> Result<Self, Fault> {
        trial.scenario.sound()?;
        let nodes = &trial.scenario.nodes;
        let phases = trial.scenario.phases;
        if let Some(index) = nodes.iter().position(|node| node.count != 1) {
            let path = format!("nodes[{index}].count");
            return Err(Fault::new(path, "must be 1 in a network").got(nodes[index].count));
        }
        check_phases(&phases)?;
        check_batches(trial.scenario.batches, &phases)?;
        if nodes.is_empty() || nodes.len() > MOST_NODES {
            return Err(
                Fault::new("nodes", format!("must be from 1 to {MOST_NODES}")).got(nodes.len())
            );
        }
        let expanded = Expanded::new(trial)?;
        let mut names = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            if names.insert(node.name.as_str(), small(index)).is_some() {
                return Err(Fault::new(format!("nodes[{index}].name"), "must be unique")
                    .got(format!("{:?} again", node.name)));
            }
        }
        let compiled = Self {
            seed: trial.seed,
            phases,
            batches: trial.scenario.batches,
            nodes: Vec::new(),
            listed_nodes: nodes.len(),
            ports: Vec::new(),
            timings: Vec::new(),
            rooms: Vec::new(),
            classes: Vec::new(),
            priorities: Vec::new(),
            hops: Vec::new(),
            routes: Vec::new(),
            segments: Vec::new(),
            segment_of: Vec::new(),
            toward: Vec::new(),
        };
        let shared = BTreeMap::new();
        let mut builder = Builder { trial, expanded: &expanded, compiled, names, shared };
        builder.nodes();
        builder.name_segments()?;
        builder.links()?;
        builder.segments()?;
        builder.refuse_loops()?;
        builder.toward();
        builder.half_duplex_links()?;
        builder.stages()?;
        builder.flows()?;
        builder.pauses()?;
        Ok(builder.compiled)
    }
}

/// The phases in order, and within 213 days.
fn check_phases(phases: &Phases) -> Result<(), Fault> {
    let p = phases;
    let ordered = p.begin_ps <= p.stop_ps
        && p.stop_ps <= p.end_ps
        && p.begin_ps <= p.measure_from_ps
        && p.measure_from_ps < p.measure_to_ps
        && p.measure_to_ps <= p.end_ps
        && p.end_ps <= 1 << 62
        && p.spread_ps <= LONGEST_PS;
    if ordered {
        return Ok(());
    }
    Err(Fault::new("phases", "must be ordered begin ≤ stop ≤ end and begin ≤ measure_from < measure_to ≤ end, with a spread of at most 1000 s").got(format!("{p:?}")))
}

/// At most as many batches as the measured window has picoseconds.
fn check_batches(batches: u32, phases: &Phases) -> Result<(), Fault> {
    let most = (phases.measure_to_ps - phases.measure_from_ps).min(MOST_BATCHES);
    if (1..=most).contains(&u64::from(batches)) {
        return Ok(());
    }
    Err(Fault::new("batches", format!("must be from 1 to {most}")).got(batches))
}

/// A compiled network in the making.
struct Builder<'t> {
    trial: &'t Trial,
    expanded: &'t Expanded,
    compiled: CompiledNetwork,
    names: BTreeMap<&'t str, u32>,
    shared: BTreeMap<(u32, String), u32>,
}

impl<'t> Builder<'t> {
    fn node(&self, name: &str, key: &str) -> Result<u32, Fault> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| Fault::new(key, "must be the name of a node").got(format!("{name:?}")))
    }

    fn config(&self, node: u32) -> &'t Node {
        &self.expanded.nodes[node as usize]
    }

    fn links_of(&self) -> &'t [Link] {
        &self.expanded.links
    }

    pub fn nodes(&mut self) {
        for node in &self.expanded.nodes {
            let (role, ring) = match &node.kind {
                Kind::Host(host) => (Role::Host, host.ring.unwrap_or(256)),
                Kind::Switch(switch) => (Role::Switch(switch.learning), 0),
                Kind::Router(_) => (Role::Router, 0),
                Kind::Hub(_) => (Role::Hub, 0),
            };
            self.compiled.nodes.push(CompiledNode {
                role,
                ports: Vec::new(),
                forward: Vec::new(),
                send: NONE,
                ring,
                clock: None,
            });
        }
    }

    pub fn links(&mut self) -> Result<(), Fault> {
        for (index, link) in self.links_of().iter().enumerate() {
            let key = self.expanded.key(index);
            for (name, value, most) in [
                ("ps_per_octet", link.ps_per_octet, 1_000_000_000),
                ("delay_ps", link.delay_ps, 1_000_000_000_000),
                ("preamble_octets", link.preamble_octets, 65_536),
                ("gap_octets", link.gap_octets, 65_536),
            ] {
                if value > most || (name == "ps_per_octet" && value == 0) {
                    let least = u8::from(name == "ps_per_octet");
                    return Err(Fault::new(
                        format!("{key}.{name}"),
                        format!("must be from {least} to {most}"),
                    )
                    .got(value));
                }
            }
            let mut ends = [0; 2];
            for (side, end) in link.ends.iter().enumerate() {
                ends[side] = self.node(&end.node, &format!("{key}.ends[{side}].node"))?;
            }
            for (side, end) in link.ends.iter().enumerate() {
                let node = ends[side];
                let (own, peer) = (&self.config(node).kind, &self.config(ends[1 - side]).kind);
                let (overlap, buffer, room) = (overlap_of(peer), buffer_of(own), room_of(own));
                if overlap.is_some_and(|octets| octets > 65_536) {
                    let key = format!("nodes[{}].kind.overlap_octets", ends[1 - side]);
                    return Err(
                        Fault::new(key, "must be at most 65536").got(format!("{overlap:?}"))
                    );
                }
                let id = small(self.compiled.ports.len());
                let entry = &mut self.compiled.nodes[node as usize];
                if entry.role == Role::Hub && !link.half_duplex {
                    return Err(Fault::new(
                        format!("{key}.half_duplex"),
                        "must be true: a hub's links are".to_owned(),
                    ));
                }
                let local = small(entry.ports.len());
                entry.ports.push(id);
                self.compiled.ports.push(Port {
                    node,
                    local,
                    module: end.module,
                    reception: NONE,
                    buffer,
                    half_duplex: link.half_duplex,
                });
                self.compiled.timings.push(Timing {
                    resource: id,
                    fixed: 0,
                    per_octet: link.ps_per_octet,
                    extra: link.preamble_octets.cast_signed(),
                    burst_octets: u64::MAX,
                    burst: 0,
                    overlap: overlap
                        .filter(|_| !link.half_duplex)
                        .map(|octets| octets + link.preamble_octets),
                    delay: link.delay_ps,
                    gap: link.gap_octets * link.ps_per_octet,
                    coalesce: None,
                });
                self.compiled.rooms.push(room);
                let (kind, classes) = classes_of(own);
                check_line(classes, link, &format!("nodes[{node}].kind.{kind}.classes"))?;
                let classes = (!classes.is_empty()).then(|| Classes::new(classes, room));
                self.compiled.classes.push(classes);
            }
        }
        for (index, node) in self.compiled.nodes.iter().enumerate() {
            let ports = node.ports.len();
            if node.role == Role::Host && ports != 1 {
                return Err(
                    Fault::new(format!("nodes[{index}]"), "a host must have one link").got(ports)
                );
            }
        }
        Ok(())
    }

    /// A second way between two nodes would let flooded frames multiply for ever.
    pub fn refuse_loops(&self) -> Result<(), Fault> {
        let nodes = self.compiled.nodes.len();
        let mut reached: Vec<Vec<usize>> = (0..nodes).map(|node| vec![node]).collect();
        let mut set: Vec<usize> = (0..nodes).collect();
        for link in 0..self.links_of().len() {
            let [a, b] =
                [2 * link, 2 * link + 1].map(|port| self.compiled.ports[port].node as usize);
            let (from, into) = (set[a], set[b]);
            if from == into {
                let names = [a, b].map(|node| &self.expanded.nodes[node].name);
                return Err(Fault::new(
                    self.expanded.ends_key(link),
                    format!(
                        "closes a loop between {:?} and {:?}, which other links join already; there is no spanning tree here, so each pair of nodes must have one way",
                        names[0], names[1]
                    ),
                ));
            }
            for node in std::mem::take(&mut reached[from]) {
                set[node] = into;
                reached[into].push(node);
            }
        }
        Ok(())
    }

    pub fn toward(&mut self) {
        let nodes = self.compiled.nodes.len();
        self.compiled.toward = vec![NONE; nodes * nodes];
        for to in 0..nodes {
            let mut queue = VecDeque::from([small(to)]);
            let mut seen = vec![false; nodes];
            seen[to] = true;
            while let Some(node) = queue.pop_front() {
                for &port in &self.compiled.nodes[node as usize].ports {
                    let next = self.compiled.ports[(port ^ 1) as usize].node;
                    if !std::mem::replace(&mut seen[next as usize], true) {
                        self.compiled.toward[next as usize * nodes + to] = port ^ 1;
                        queue.push_back(next);
                    }
                }
            }
        }
    }

    fn resource(&mut self, room: Room) -> u32 {
        self.compiled.rooms.push(room);
        small(self.compiled.rooms.len() - 1)
    }

    /// A stage of a node, on the resource that it names or on one of its own.
    fn stage(&mut self, node: u32, stage: &Stage) -> u32 {
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
        self.compiled.timings.push(Timing::new(stage, resource));
        small(self.compiled.timings.len() - 1)
    }

    fn route(&mut self, stages: &[u32], last: Last) -> u32 {
        let first = small(self.compiled.hops.len());
        self.compiled.hops.extend_from_slice(stages);
        self.compiled.routes.push(Route { first, after: small(self.compiled.hops.len()), last });
        small(self.compiled.routes.len() - 1)
    }

    pub fn stages(&mut self) -> Result<(), Fault> {
        for node in 0..small(self.compiled.nodes.len()) {
            let key = format!("nodes[{node}].kind");
            let ports = self.compiled.nodes[node as usize].ports.clone();
            match &self.config(node).kind {
                Kind::Host(host) => {
                    if let Some(clock) = host.clock {
                        self.compiled.nodes[node as usize].clock =
                            Some(Clock::new(&clock, self.compiled.seed, node));
                    }
                    let mut send = Vec::new();
                    for (index, stage) in host.send.iter().enumerate() {
                        let key = format!("{key}.host.send[{index}]");
                        if stage.queue_frames.is_some() {
                            return Err(Fault::new(
                                format!("{key}.queue_frames"),
                                "must not be given: an application waits for room in its host's ring",
                            ));
                        }
                        send.push(self.stage(node, stage));
                    }
                    if !(1..=1_000_000).contains(&self.compiled.nodes[node as usize].ring) {
                        return Err(Fault::new(
                            format!("{key}.host.ring"),
                            "must be from 1 to 1000000",
                        ));
                    }
                    send.push(ports[0]);
                    self.compiled.nodes[node as usize].send =
                        self.route(&send, Last::Port(ports[0] ^ 1));
                    let mut receive = Vec::new();
                    for stage in &host.receive {
                        receive.push(self.stage(node, stage));
                    }
                    self.compiled.ports[ports[0] as usize].reception =
                        self.route(&receive, Last::Host(node));
                }
                Kind::Switch(switch) => {
                    self.switch(node, &ports, switch, &format!("{key}.switch"))?;
                }
                Kind::Router(router) => {
                    let forward = self.stage(node, &router.forward);
                    for &port in &ports {
                        self.compiled.ports[port as usize].reception =
                            self.route(&[], Last::Lookup(port));
                    }
                    self.forward(node, &ports, |_, _, _| Ok(vec![forward]))?;
                }
                Kind::Hub(_) => {}
            }
        }
        Ok(())
    }

    pub fn flows(&mut self) -> Result<(), Fault> {
        let flows = &self.trial.scenario.flows;
        self.compiled.priorities = flows.iter().map(|flow| flow.priority.unwrap_or(0)).collect();
        if flows.is_empty() || flows.len() > 10_000 {
            return Err(Fault::new("flows", "must be from 1 to 10000").got(flows.len()));
        }
        for (index, flow) in flows.iter().enumerate() {
            let key = format!("flows[{index}]");
            let host = |name: &str, key: String| {
                let node = self.node(name, &key)?;
                if self.compiled.nodes[node as usize].role == Role::Host {
                    return Ok(node);
                }
                Err(Fault::new(key, "must be a host").got(format!("{name:?}")))
            };
            let from = host(&flow.from, format!("{key}.from"))?;
            flow.shaping(self.compiled.around(from), &key)?;
            if flow.to.is_empty() || (flow.address == Address::Unicast && flow.to.len() != 1) {
                return Err(Fault::new(
                    format!("{key}.to"),
                    "must be one host, or several with a group's address",
                )
                .got(format!("{:?}", flow.to)));
            }
            for (number, name) in flow.to.iter().enumerate() {
                let at = format!("{key}.to[{number}]");
                let to = host(name, at.clone())?;
                if to == from
                    || self.compiled.port_toward(from, to) == NONE
                    || flow.to[..number].contains(name)
                {
                    return Err(Fault::new(
                        at,
                        format!(
                            "must be another host that {:?} is joined to, named once",
                            flow.from
                        ),
                    )
                    .got(format!("{name:?}")));
                }
            }
        }
        Ok(())
    }

    /// Longest frame that any flow sends.
    fn longest(&self) -> u64 {
        let mut longest = 64;
        for flow in &self.trial.scenario.flows {
            if let Some(transfer) = &flow.transfer {
                longest = longest.max(transfer.longest_frame() + u64::from(flow.tag_octets()));
                continue;
            }
            for lengths in
                std::iter::once(&flow.frames).chain(flow.response.iter().map(|r| &r.frames))
            {
                let all = match lengths {
                    Lengths::Fixed { bits } => std::slice::from_ref(bits),
                    Lengths::Mix { bits, .. } => bits,
                    Lengths::Samples { max_bits, .. } => std::slice::from_ref(max_bits),
                };
                for bits in all {
                    flow.frames_of(bits / 8, |octets, _, _| {
                        longest = longest.max(u64::from(octets));
                    });
                }
            }
        }
        longest
    }

    /// A PAUSE that comes too late for what is on its way would lose frames: refuse such a buffer.
    pub fn pauses(&self) -> Result<(), Fault> {
        let longest = self.longest();
        for (id, port) in self.compiled.ports.iter().enumerate() {
            let (Some(buffer), link) = (port.buffer, &self.links_of()[id / 2]) else { continue };
            let key = format!("nodes[{}].kind", port.node);
            let Some(pause) = buffer.pause else { continue };
            if link.half_duplex {
                return Err(Fault::new(
                    format!("{key}.buffer.pause"),
                    "must not be given on a half-duplex link (802.3-2022 annex 31B)",
                ));
            }
            let headroom = pause_headroom(longest, link);
            if pause.high_octets + headroom > buffer.octets {
                return Err(Fault::new(format!("{key}.buffer.octets"), format!("must be at least {} for frames of up to {longest} octets, {headroom} more than pause.high_octets, so that what is under way finds room", pause.high_octets + headroom)).got(buffer.octets));
            }
            let asked = u64::from(pause.quanta) * 64 * link.ps_per_octet;
            if asked < 4 * headroom * link.ps_per_octet {
                return Err(Fault::new(
                    format!("{key}.buffer.pause.quanta"),
                    format!("must be at least {} here", (4 * headroom).div_ceil(64)),
                )
                .got(pause.quanta));
            }
        }
        Ok(())
    }
}

/// Octets that may still come after the decision to send a PAUSE: it waits for a frame and its gap,
/// is 64 octets long, both ways take their time, and the peer has just begun a frame.
fn pause_headroom(longest: u64, link: &Link) -> u64 {
    let around = link.preamble_octets + link.gap_octets;
    let way = (2 * link.delay_ps).div_ceil(link.ps_per_octet);
    2 * (longest + around) + PAUSE_OCTETS + around + way
}

/// The classes of a port at this link.
fn check_line(classes: &[Class], link: &Link, key: &str) -> Result<(), Fault> {
    if !classes.is_empty() && link.half_duplex {
        return Err(Fault::new(key, "must not be given for a node with a half-duplex link"));
    }
    let slopes: u128 =
        classes.iter().filter_map(|class| class.idle_slope_bps).map(u128::from).sum();
    let rate_bps = 8 * 1_000_000_000_000 / u128::from(link.ps_per_octet);
    if slopes * u128::from(link.ps_per_octet) >= 8 * 1_000_000_000_000 {
        let allowed = format!(
            "must have idle slopes that sum to less than the rate of every link, here {rate_bps} bit/s"
        );
        return Err(Fault::new(key, allowed).got(slopes));
    }
    Ok(())
}

/// The kind of a node, and the classes of its ports.
fn classes_of(kind: &Kind) -> (&'static str, &[Class]) {
    match kind {
        Kind::Host(host) => ("host", &host.classes),
        Kind::Switch(switch) => ("switch", &switch.classes),
        Kind::Router(router) => ("router", &router.classes),
        Kind::Hub(_) => ("hub", &[]),
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
