//! A network ready to run: what frames pass, in which order, and what is wrong with its shape.
//!
//! Everything that takes time is a *stage* on a *resource*; a resource serves one frame at a time,
//! first come, first served. A *route* is a chain of stages. Routes end at a wire's end, at a
//! port's lookup, or at a host's application:
//!
//! ```text
//! host ── route: send stages, wire ──► port ── reception: ingress ──► lookup ── route: fabric,
//! wire ──► port ── reception: receive ──► host
//! ```

mod building;

use super::clocks::clock::Clock;
use super::frame::Frame;
use crate::identity::{AddressId, NodeId, PortId, ResourceId, RouteId, StageId, StationId};
use crate::mac::backoff::Draws;
use crate::mac::transmitter::Transmitter;
use crate::medium::compiled::CompiledMedium;
use crate::plca::compiled::CompiledPlca;
use crate::plca::schedule::Schedule;
use crate::time::{Instant, Span};
use ethermeter_ethernet::units::Octets;
use ethermeter_traffic::Batches;
use ethermeter_traffic::scheduler::{Classes, Room};
use ethermeter_trial::Phases;
use ethermeter_trial::nodes::{Buffer, Coalesce, Learning, Random, Rebroadcast, Stage};

/// No port, route or lane.
pub(crate) const NONE: u32 = u32::MAX;

pub(crate) fn small(index: usize) -> u32 {
    u32::try_from(index).expect("at most a thousand nodes")
}

/// A stage with what of its times depends on where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub resource: ResourceId,
    pub fixed: Span,
    pub per_octet: Span,
    pub extra: i64,
    pub burst_octets: u64,
    pub burst: Span,
    /// Octets after which the next may begin; all without.
    pub overlap: Option<Octets>,
    pub delay: Span,
    /// After the end of a service the resource is not free.
    pub gap: Span,
    pub coalesce: Option<Coalesce>,
    /// Number of its random service time in `CompiledNetwork::randoms`, if it has one.
    pub random: Option<u32>,
}

impl Timing {
    fn new(stage: &Stage, resource: ResourceId) -> Self {
        let burst = stage.burst.map_or((u64::MAX, 0), |b| (b.octets, b.ps));
        Self {
            resource,
            fixed: Span::from_ps(stage.fixed_ps),
            per_octet: Span::from_ps(stage.ps_per_octet),
            extra: stage.extra_octets,
            burst_octets: burst.0,
            burst: Span::from_ps(burst.1),
            overlap: stage.overlap_octets.map(Octets),
            delay: Span::from_ps(stage.delay_ps),
            gap: Span::from_ps(stage.recovery_ps),
            coalesce: stage.coalesce,
            random: None,
        }
    }

    #[inline]
    fn carried(&self, octets: u32) -> Octets {
        // Neither has more than 33 bits.
        Octets((i64::from(octets) + self.extra).max(0).cast_unsigned())
    }

    /// The same stage where a frame takes longer by so much.
    #[inline]
    #[must_use]
    pub fn longer(mut self, more: Span) -> Self {
        self.fixed += more;
        self
    }

    /// How long a frame of `octets` takes.
    #[inline]
    pub fn service(&self, octets: u32) -> Span {
        let carried = self.carried(octets);
        let bursts = if self.burst == Span::ZERO {
            Span::ZERO
        } else {
            self.burst * carried.0.div_ceil(self.burst_octets)
        };
        self.fixed + self.per_octet * carried + bursts
    }

    /// Earliest start and end (saturating: an endless queue may reach beyond all time) of a frame
    /// that may begin at `ready`, is complete at `complete`, and finds the resource free from
    /// `free` on. It does not run dry: it begins so late that the rest is there in time.
    #[inline]
    pub fn serve(
        &self,
        octets: u32,
        ready: Instant,
        complete: Instant,
        free: Instant,
    ) -> (Instant, Instant) {
        let service = self.service(octets);
        let start = ready.max(free).max(complete - service);
        (start, start.saturating_add(service))
    }

    /// When the next stage may begin, and when it has the whole frame.
    #[inline]
    pub fn pass_on(&self, octets: u32, start: Instant, end: Instant) -> (Instant, Instant) {
        let complete = end.saturating_add(self.delay);
        let ready = match self.overlap {
            Some(head) => {
                start.saturating_add(self.delay + self.fixed + self.per_octet * head).min(complete)
            }
            None => complete,
        };
        debug_assert!(octets > 0);
        (ready, complete)
    }
}

pub(crate) const ENDLESS: Room = Room { frames: u64::MAX, octets: u64::MAX };

/// What a route ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// The wire's other end, this port.
    Port(PortId),
    /// The lookup of what this port received.
    Lookup(PortId),
    /// The application of this host.
    Host(NodeId),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// Its hops: indices of stages in `CompiledNetwork::hops`.
    pub first: u32,
    pub after: u32,
    pub last: Last,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Host,
    Switch(Learning),
    Router,
    Hub,
}

#[derive(Clone, Debug)]
pub(crate) struct CompiledNode {
    pub role: Role,
    pub ports: Vec<PortId>,
    /// Routes from port to port of a switch or router: `forward[from.local * ports + to.local]`.
    pub forward: Vec<RouteId>,
    /// Routes of copies of a flooded frame to each port out, where these have a path of their own.
    pub flood: Vec<RouteId>,
    /// Route of a host's own frames.
    pub send: Option<RouteId>,
    pub ring: u32,
    /// How a host sends broadcasts again.
    pub rebroadcast: Option<Rebroadcast>,
    /// A host's clock, if anything is read of it.
    pub clock: Option<Clock>,
}

/// Ports 2l and 2l + 1 are the ends of link l; resource p is the wire out of port p, and stage p
/// its timing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub node: NodeId,
    pub local: u32,
    pub module: u32,
    pub reception: Option<RouteId>,
    pub buffer: Option<Buffer>,
    pub half_duplex: bool,
}

/// A shared medium: a segment, or half-duplex links with the hubs between them.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// The port of each station.
    pub ports: Vec<PortId>,
    /// Number of the draws of the first station; those of the others follow. Stations of media are
    /// numbered through all media, from 0, as on a segment alone.
    pub first_draw: u32,
    /// Whether it is made of links: what happens on them comes before all that arrives somewhere in
    /// its instant, by rank, and what happens on a segment after it.
    pub is_of_links: bool,
    pub medium: CompiledMedium,
    pub plca: Option<CompiledPlca>,
    /// Its cycles, if it may go on by them.
    pub schedule: Option<Schedule>,
    /// The transmitter of each station, when simulated time begins.
    pub transmitters: Vec<Transmitter>,
}

impl Segment {
    /// How many stations it has.
    pub fn stations(&self) -> u32 {
        small(self.medium.stations())
    }

    /// The port of a station.
    #[inline]
    pub fn port(&self, station: StationId) -> PortId {
        self.ports[station]
    }
}

/// A network ready to run.
#[derive(Clone, Debug)]
pub(crate) struct CompiledNetwork {
    pub seed: u64,
    /// Number of the draws of the first port: behind those of flows and their receivers, and of the
    /// stations of media.
    pub first_draw: u32,
    pub phases: Phases,
    pub batches: u32,
    pub nodes: Vec<CompiledNode>,
    /// How many of them the scenario lists; those that stand for its media come after these.
    pub listed_nodes: usize,
    pub ports: Vec<Port>,
    pub timings: Vec<Timing>,
    /// Random service times of stages.
    pub randoms: Vec<Random>,
    pub rooms: Vec<Room>,
    /// Traffic classes of each port that has any.
    pub classes: Vec<Option<Classes>>,
    /// Priority of each flow.
    priorities: Vec<u8>,
    pub hops: Vec<StageId>,
    pub routes: Vec<Route>,
    pub segments: Vec<Segment>,
    /// Shared medium and station on it of each port, if it is on one.
    pub segment_of: Vec<Option<(u32, StationId)>>,
    /// `toward[node * nodes + to]`: the port of `node` on the way to node `to`, if there is one.
    toward: Vec<Option<PortId>>,
}

impl CompiledNetwork {
    /// The draws of a port.
    pub fn draws(&self, port: PortId) -> Draws {
        (self.seed, self.first_draw + port.number())
    }

    /// Counts of what happens in each part of the measured window.
    pub fn batches<T: Copy + Default>(&self) -> Batches<T> {
        Batches::new(self.phases.measure_from_ps, self.phases.measure_to_ps, self.batches)
    }

    /// The port whose wire a resource is, if it is one.
    #[inline]
    pub fn port_of(&self, resource: ResourceId) -> Option<PortId> {
        (resource.index() < self.ports.len()).then(|| PortId::from(resource.number()))
    }

    /// The port whose memory is that of `port`: the node's first one, if it is one for all.
    #[inline]
    pub fn memory_of(&self, port: PortId) -> PortId {
        let Port { node, buffer, .. } = self.ports[port];
        let is_shared = buffer.is_some_and(|buffer| buffer.shared);
        if is_shared { self.nodes[node].ports[0] } else { port }
    }

    /// The port of `node` on the way to another node.
    #[inline]
    pub fn port_toward(&self, node: NodeId, to: NodeId) -> Option<PortId> {
        self.toward[node.index() * self.nodes.len() + to.index()]
    }

    /// Whose a station address is: hosts have the number of their node, routers' ports their number
    /// after all nodes.
    #[inline]
    pub fn owner(&self, address: AddressId) -> NodeId {
        match address.index().checked_sub(self.nodes.len()) {
            None => NodeId::from(address.number()),
            Some(port) => self.ports[port].node,
        }
    }

    /// How many station addresses there are.
    pub fn addresses(&self) -> usize {
        self.nodes.len() + self.ports.len()
    }

    /// The address of a router's port.
    pub fn router_address(&self, port: PortId) -> AddressId {
        AddressId::new(self.nodes.len() + port.index())
    }

    /// To whom a host or router addresses what goes to host `to`: to it, or to the first router on
    /// the way.
    pub fn next_address(&self, from: NodeId, to: NodeId) -> AddressId {
        let mut node = from;
        loop {
            let port = self.port_toward(node, to).expect("hosts of a flow are joined").peer();
            node = self.ports[port].node;
            if node == to {
                return AddressId::from(to.number());
            }
            if self.nodes[node].role == Role::Router {
                return self.router_address(port);
            }
        }
    }

    /// A copy of a frame goes this route out of a switch or router: without the samples of a packet
    /// of voice, if the way to the receiver leads elsewhere.
    #[inline]
    pub fn copied(&self, frame: &mut Frame, route: RouteId) {
        if frame.samples > 0
            && let Last::Port(port) = self.routes[route].last
        {
            self.copied_to(frame, port);
        }
    }

    /// The same of a copy that comes to this port.
    #[cold]
    pub fn copied_to(&self, frame: &mut Frame, port: PortId) {
        let node = self.ports[port].node;
        if let Some(to) = frame.to
            && node != to
            && self.port_toward(node, to) == Some(port)
        {
            frame.samples = 0;
        }
    }

    /// The routes out of a switch or router of the copies of a frame that it floods, and whether
    /// these have a path of their own.
    pub fn flooding(&self, port: PortId) -> (impl Iterator<Item = RouteId> + use<'_>, bool) {
        let Port { node, local, .. } = self.ports[port];
        let node = &self.nodes[node];
        let (count, local, has_path) = (node.ports.len(), local as usize, !node.flood.is_empty());
        let routes = if has_path { &node.flood } else { &node.forward[local * count..][..count] };
        let others = routes.iter().enumerate().filter(move |(to, _)| *to != local);
        (others.map(|(_, route)| *route), has_path)
    }

    /// The route of what a host sends.
    #[inline]
    pub fn send_route(&self, host: NodeId) -> RouteId {
        self.nodes[host].send.expect("hosts send")
    }

    /// The route of what comes to a port of a link between hosts, switches and routers.
    #[inline]
    pub fn reception(&self, port: PortId) -> RouteId {
        self.ports[port].reception.expect("only hubs' ports look nothing up")
    }

    /// The priority of a frame.
    #[inline]
    pub fn priority(&self, frame: &Frame) -> u8 {
        // Comparisons of clocks come after the flows.
        self.priorities.get(frame.flow.index()).copied().unwrap_or(0)
    }

    /// Whether the port of a host has traffic classes.
    pub fn has_classes(&self, host: NodeId) -> bool {
        self.classes[self.nodes[host].ports[0]].is_some()
    }

    /// Whether any host sends broadcasts again.
    pub fn has_rebroadcast(&self) -> bool {
        self.nodes.iter().any(|node| node.rebroadcast.is_some())
    }

    /// Octets of preamble and gap around a frame on the wire of a host.
    pub fn around(&self, host: NodeId) -> Octets {
        self.volume(self.nodes[host].ports[0], 0)
    }

    /// Volume of a frame at a wire, in octets: preamble, frame and gap.
    #[inline]
    pub fn volume(&self, port: PortId, octets: u32) -> Octets {
        let wire = &self.timings[port.stage()];
        wire.carried(octets) + Octets(wire.gap.periods(wire.per_octet))
    }

    /// The stage at a hop.
    #[inline]
    pub fn timing(&self, hop: u32) -> &Timing {
        &self.timings[self.hops[hop as usize]]
    }
}

/// A MAC control frame, 802.3-2022 § 31.3: the shortest frame.
pub(crate) const PAUSE_OCTETS: u64 = 64;
