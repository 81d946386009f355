//! Where ways meet: resources with several feeders, ports with traffic classes, and ports on shared media.

use super::compiled::{CompiledNetwork, Last, NONE, Role};
use crate::identity::{NodeId, PortId, ResourceId, RouteId};
use crate::time::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Who feeds a resource: a node, in the order of time, or another resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feeder {
    Node(Option<NodeId>),
    Resource(ResourceId),
}

/// Where ways meet.
#[derive(Debug)]
pub(super) struct Junctions {
    /// The lane of each hop whose resource is a junction, or [`NONE`].
    pub lane_of: Vec<u32>,
    /// How many there are.
    pub lanes: u32,
    /// Frames cannot overtake each other between two resources.
    pub ordered: bool,
}

impl Junctions {
    pub fn new(compiled: &CompiledNetwork) -> Self {
        lanes(compiled)
    }

    /// The lane in which a frame waits that is at `hop` of a route: also of what comes to a port,
    /// and is looked up there at once. Of those that come in one instant, the one with the lower
    /// lane is first.
    pub fn lane(&self, compiled: &CompiledNetwork, route: RouteId, hop: u32) -> u32 {
        let route = compiled.routes[route];
        let lookup = |port: PortId| self.lanes + port.number();
        if hop < route.after {
            return self.lane_of[hop as usize];
        }
        match route.last {
            Last::Lookup(port) => lookup(port),
            Last::Host(_) => NONE,
            Last::Port(port) => {
                let Some(reception) = compiled.ports[port].reception else { return NONE };
                self.lane(compiled, reception, compiled.routes[reception].first)
            }
        }
    }
}

fn lanes(compiled: &CompiledNetwork) -> Junctions {
    let mut feeder_of = vec![Feeder::Node(None); compiled.hops.len()];
    let mut begin = |route: RouteId, feeder: Feeder| {
        let route = compiled.routes[route];
        for hop in route.first..route.after {
            feeder_of[hop as usize] = if hop == route.first {
                feeder
            } else {
                Feeder::Resource(compiled.timing(hop - 1).resource)
            };
        }
    };
    for (index, node) in NodeId::first(compiled.nodes.len()).zip(&compiled.nodes) {
        if node.role == Role::Host {
            node.send.into_iter().for_each(|send| begin(send, Feeder::Node(Some(index))));
        }
        for &route in node.forward.iter().chain(&node.flood) {
            begin(route, Feeder::Node(Some(index)));
        }
    }
    for (id, port) in PortId::first(compiled.ports.len()).zip(&compiled.ports) {
        // A hub's port looks nothing up.
        port.reception
            .into_iter()
            .for_each(|route| begin(route, Feeder::Resource(id.peer().wire())));
    }
    let mut ordered = true;
    // What leaves a resource by stages of different delays for one destination does not keep its
    // order.
    let mut manners: BTreeMap<(ResourceId, u64), (Span, Option<Span>)> = BTreeMap::new();
    for route in &compiled.routes {
        for hop in route.first..route.after {
            let next = if hop + 1 == route.after {
                1 << 32 // one end: a port, a lookup or a host
            } else {
                u64::from(compiled.timing(hop + 1).resource.number())
            };
            let timing = compiled.timing(hop);
            let head = timing.overlap.map(|octets| timing.fixed + timing.per_octet * octets);
            let manner = (timing.delay, head);
            ordered &= *manners.entry((timing.resource, next)).or_insert(manner) == manner;
        }
    }
    let mut feeders: Vec<BTreeSet<Feeder>> = vec![BTreeSet::new(); compiled.rooms.len()];
    for (hop, feeder) in (0..).zip(&feeder_of) {
        feeders[compiled.timing(hop).resource].insert(*feeder);
    }
    let mut ids: BTreeMap<(ResourceId, Feeder), u32> = BTreeMap::new();
    let mut lane_of = vec![NONE; compiled.hops.len()];
    for (hop, feeder) in (0..).zip(&feeder_of) {
        let resource = compiled.timing(hop).resource;
        let has_classes = compiled.classes.get(resource.index()).is_some_and(Option::is_some);
        let is_shared = compiled.port_of(resource).is_some_and(|of| compiled.ports[of].half_duplex);
        if feeders[resource].len() > 1 || has_classes || is_shared {
            let id = u32::try_from(ids.len()).expect("few lanes");
            lane_of[hop as usize] = *ids.entry((resource, *feeder)).or_insert(id);
        }
    }
    Junctions { lane_of, lanes: u32::try_from(ids.len()).expect("few lanes"), ordered }
}
