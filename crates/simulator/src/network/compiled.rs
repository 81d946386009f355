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
use crate::mac::csma_cd::Retry;
use crate::medium::compiled::CompiledMedium;
use crate::plca::compiled::CompiledPlca;
use ethermeter_traffic::Batches;
use ethermeter_traffic::scheduler::{Classes, Room};
use ethermeter_trial::Phases;
use ethermeter_trial::medium::{AfterAttemptLimit, AfterLateCollision};
use ethermeter_trial::nodes::{Buffer, Coalesce, Learning, Stage};

/// No port, route or lane.
pub(super) const NONE: u32 = u32::MAX;
/// Destination address of a group.
pub(super) const GROUP: u32 = u32::MAX;

pub(super) fn small(index: usize) -> u32 {
    u32::try_from(index).expect("at most a thousand nodes")
}

/// A stage with what of its times depends on where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub resource: u32,
    pub fixed: u64,
    pub per_octet: u64,
    pub extra: i64,
    pub burst_octets: u64,
    pub burst: u64,
    /// Octets after which the next may begin; all without.
    pub overlap: Option<u64>,
    pub delay: u64,
    pub gap: u64,
    pub coalesce: Option<Coalesce>,
}

impl Timing {
    fn new(stage: &Stage, resource: u32) -> Self {
        let burst = stage.burst.map_or((u64::MAX, 0), |b| (b.octets, b.ps));
        Self {
            resource,
            fixed: stage.fixed_ps,
            per_octet: stage.ps_per_octet,
            extra: stage.extra_octets,
            burst_octets: burst.0,
            burst: burst.1,
            overlap: stage.overlap_octets,
            delay: stage.delay_ps,
            gap: 0,
            coalesce: stage.coalesce,
        }
    }

    #[inline]
    fn carried(&self, octets: u32) -> u64 {
        u64::from(octets).saturating_add_signed(self.extra)
    }

    /// How long a frame of `octets` takes.
    #[inline]
    pub fn service(&self, octets: u32) -> u64 {
        let carried = self.carried(octets);
        let bursts =
            if self.burst == 0 { 0 } else { carried.div_ceil(self.burst_octets) * self.burst };
        self.fixed + carried * self.per_octet + bursts
    }

    /// Earliest start and end (saturating: an endless queue may reach beyond all time) of a frame
    /// that may begin at `ready`, is complete at `complete`, and finds the resource free from
    /// `free` on. It does not run dry: it begins so late that the rest is there in time.
    #[inline]
    pub fn serve(&self, octets: u32, ready: u64, complete: u64, free: u64) -> (u64, u64) {
        let service = self.service(octets);
        let start = ready.max(free).max(complete.saturating_sub(service));
        (start, start.saturating_add(service))
    }

    /// When the next stage may begin, and when it has the whole frame.
    #[inline]
    pub fn pass_on(&self, octets: u32, start: u64, end: u64) -> (u64, u64) {
        let complete = end.saturating_add(self.delay);
        let ready = match self.overlap {
            Some(head) => {
                start.saturating_add(self.delay + self.fixed + head * self.per_octet).min(complete)
            }
            None => complete,
        };
        debug_assert!(octets > 0);
        (ready, complete)
    }
}

pub(super) const ENDLESS: Room = Room { frames: u64::MAX, octets: u64::MAX };

/// What a route ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// The wire's other end, this port.
    Port(u32),
    /// The lookup of what this port received.
    Lookup(u32),
    /// The application of this host.
    Host(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    /// Its hops: indices of stages in `CompiledNetwork::hops`.
    pub first: u32,
    pub after: u32,
    pub last: Last,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Host,
    Switch(Learning),
    Router,
    Hub,
}

#[derive(Clone, Debug)]
pub(super) struct CompiledNode {
    pub role: Role,
    pub ports: Vec<u32>,
    /// Routes from port to port of a switch or router: `forward[from.local * ports + to.local]`.
    pub forward: Vec<u32>,
    /// Route of a host's own frames.
    pub send: u32,
    pub ring: u32,
    /// A host's clock, if anything is read of it.
    pub clock: Option<Clock>,
}

/// Ports 2l and 2l + 1 are the ends of link l; resource p is the wire out of port p, and stage p
/// its timing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub node: u32,
    pub local: u32,
    pub module: u32,
    pub reception: u32,
    pub buffer: Option<Buffer>,
    pub half_duplex: bool,
}

/// A shared medium: a segment, or half-duplex links with the hubs between them.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// The port of each station.
    pub ports: Vec<u32>,
    /// Whether it is made of links: what happens on them comes before all that arrives somewhere in
    /// its instant, by rank, and what happens on a segment after it.
    pub is_of_links: bool,
    pub medium: CompiledMedium,
    pub plca: Option<CompiledPlca>,
    /// What follows a collision at each station,
    pub retries: Vec<Retry>,
    /// the last one that is allowed,
    pub after_attempt_limit: Vec<AfterAttemptLimit>,
    /// and a late one.
    pub after_late_collision: Vec<AfterLateCollision>,
}

impl Segment {
    /// How many stations it has.
    pub fn stations(&self) -> u32 {
        small(self.medium.stations())
    }

    /// The port of a station.
    #[inline]
    pub fn port(&self, station: u32) -> u32 {
        self.ports[station as usize]
    }
}

/// A network ready to run.
#[derive(Clone, Debug)]
pub(super) struct CompiledNetwork {
    pub seed: u64,
    pub phases: Phases,
    pub batches: u32,
    pub nodes: Vec<CompiledNode>,
    /// How many of them the scenario lists; those that stand for its media come after these.
    pub listed_nodes: usize,
    pub ports: Vec<Port>,
    pub timings: Vec<Timing>,
    pub rooms: Vec<Room>,
    /// Traffic classes of each port that has any.
    pub classes: Vec<Option<Classes>>,
    /// Priority of each flow.
    priorities: Vec<u8>,
    pub hops: Vec<u32>,
    pub routes: Vec<Route>,
    pub segments: Vec<Segment>,
    /// Shared medium and station on it of each port, or [`NONE`].
    pub segment_of: Vec<(u32, u32)>,
    /// `toward[node * nodes + to]`: the port of `node` on the way to node `to`, or [`NONE`].
    toward: Vec<u32>,
}

impl CompiledNetwork {
    /// Counts of what happens in each part of the measured window.
    pub fn batches<T: Copy + Default>(&self) -> Batches<T> {
        Batches::new(self.phases.measure_from_ps, self.phases.measure_to_ps, self.batches)
    }

    /// The port of `node` on the way to another node.
    #[inline]
    pub fn port_toward(&self, node: u32, to: u32) -> u32 {
        self.toward[node as usize * self.nodes.len() + to as usize]
    }

    /// Whose a station address is: hosts have the number of their node, routers' ports their number
    /// after all nodes.
    #[inline]
    pub fn owner(&self, address: u32) -> u32 {
        let nodes = small(self.nodes.len());
        if address < nodes { address } else { self.ports[(address - nodes) as usize].node }
    }

    /// How many station addresses there are.
    pub fn addresses(&self) -> usize {
        self.nodes.len() + self.ports.len()
    }

    /// The address of a router's port.
    pub fn router_address(&self, port: u32) -> u32 {
        small(self.nodes.len()) + port
    }

    /// To whom a host or router addresses what goes to host `to`: to it, or to the first router on
    /// the way.
    pub fn next_address(&self, from: u32, to: u32) -> u32 {
        let mut node = from;
        loop {
            let port = self.port_toward(node, to) ^ 1;
            node = self.ports[port as usize].node;
            if node == to {
                return to;
            }
            if self.nodes[node as usize].role == Role::Router {
                return self.router_address(port);
            }
        }
    }

    /// A copy of a frame goes this route out of a switch or router: without the samples of a packet
    /// of voice, if the way to the receiver leads elsewhere.
    #[inline]
    pub fn copied(&self, frame: &mut Frame, route: u32) {
        if frame.samples > 0
            && let Last::Port(port) = self.routes[route as usize].last
        {
            self.copied_to(frame, port);
        }
    }

    /// The same of a copy that comes to this port.
    #[cold]
    pub fn copied_to(&self, frame: &mut Frame, port: u32) {
        let node = self.ports[port as usize].node;
        if node != frame.to && frame.to != GROUP && self.port_toward(node, frame.to) == port {
            frame.samples = 0;
        }
    }

    /// The priority of a frame.
    #[inline]
    pub fn priority(&self, frame: &Frame) -> u8 {
        // Comparisons of clocks come after the flows.
        self.priorities.get(frame.flow as usize).copied().unwrap_or(0)
    }

    /// Whether the port of a host has traffic classes.
    pub fn has_classes(&self, host: u32) -> bool {
        self.classes[self.nodes[host as usize].ports[0] as usize].is_some()
    }

    /// Octets of preamble and gap around a frame on the wire of a host.
    pub fn around(&self, host: u32) -> u64 {
        self.volume(self.nodes[host as usize].ports[0], 0)
    }

    /// Volume of a frame at a wire, in octets: preamble, frame and gap.
    #[inline]
    pub fn volume(&self, port: u32, octets: u32) -> u64 {
        let wire = &self.timings[port as usize];
        wire.carried(octets) + wire.gap / wire.per_octet
    }

    /// The stage at a hop.
    #[inline]
    pub fn timing(&self, hop: u32) -> &Timing {
        &self.timings[self.hops[hop as usize] as usize]
    }
}

/// A MAC control frame, 802.3-2022 § 31.3: the shortest frame.
pub(super) const PAUSE_OCTETS: u64 = 64;
