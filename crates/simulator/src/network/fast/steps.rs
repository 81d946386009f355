//! The steps of routes, each with all that a frame needs there in one place.

use crate::identity::{NodeId, PortId, RouteId};
use crate::network::compiled::{CompiledNetwork, Last, Port, Timing};

/// What a frame comes to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Stage(Stage),
    /// The wire's end at a hub, which no frame reaches by a route.
    Hub,
    /// The wire's end at a switch or a router, and the first step of what comes there.
    Port(u32),
    /// The wire's end at a host, and the first step of what it takes in.
    Card(NodeId, u32),
    /// The lookup of a port, with its lane.
    Lookup(u32),
    /// The application of this host.
    Host(NodeId),
}

/// A stage of a route.
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    pub timing: Timing,
    /// The lane of frames that wait for their turn there, or [`crate::network::compiled::NONE`].
    pub lane: u32,
    /// The port whose wire it is, if it is one.
    pub port: Option<PortId>,
    /// Frames wait in a queue of their port, by class or for a shared medium.
    pub has_queue: bool,
    /// It is on the route of what its host sends: the first and the last one of that are told to the
    /// application.
    pub is_of_sender: bool,
    pub is_first: bool,
    pub is_last: bool,
}

/// Where a route starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub step: u32,
    /// It is a port on a shared medium.
    pub is_at_card: bool,
}

/// What comes to a port from its wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reception {
    /// The first step.
    pub first: u32,
    /// The host that takes it in, if it is one.
    pub host: Option<NodeId>,
}

/// The steps of all routes.
#[derive(Debug)]
pub(super) struct Steps {
    all: Vec<Step>,
    /// The first step of each route; the others follow.
    starts: Vec<Start>,
    receptions: Vec<Option<Reception>>,
}

impl Steps {
    /// `lane_of` has the lane of each hop, `lookup_of` that of each port's lookups.
    pub fn new(compiled: &CompiledNetwork, lane_of: &[u32], lookup_of: &[u32]) -> Self {
        let mut of_senders = vec![false; compiled.routes.len()];
        compiled.nodes.iter().filter_map(|node| node.send).for_each(|it| of_senders[it] = true);
        let routes = || RouteId::first(compiled.routes.len()).zip(&compiled.routes);
        let mut after = 0;
        let mut first = vec![0; compiled.routes.len()];
        for (number, route) in routes() {
            first[number] = after;
            after += route.after - route.first + 1;
        }
        let reception = |port: &Port| {
            let route = port.reception?;
            let host = match compiled.routes[route].last {
                Last::Host(host) => Some(host),
                _ => None,
            };
            Some(Reception { first: first[route], host })
        };
        let receptions: Vec<_> = compiled.ports.iter().map(reception).collect();
        let mut all = Vec::with_capacity(after as usize);
        for (number, route) in routes() {
            let is_of_sender = of_senders[number];
            for hop in route.first..route.after {
                let timing = *compiled.timing(hop);
                let port = compiled.port_of(timing.resource);
                all.push(Step::Stage(Stage {
                    timing,
                    lane: lane_of[hop as usize],
                    port,
                    has_queue: port.is_some_and(|port| {
                        compiled.ports[port].half_duplex || compiled.classes[port].is_some()
                    }),
                    is_of_sender,
                    is_first: is_of_sender && hop == route.first,
                    is_last: is_of_sender && hop + 1 == route.after,
                }));
            }
            all.push(match route.last {
                Last::Port(port) => match receptions[port] {
                    None => Step::Hub,
                    Some(Reception { first, host: Some(host) }) => Step::Card(host, first),
                    Some(Reception { first, host: None }) => Step::Port(first),
                },
                Last::Lookup(port) => Step::Lookup(lookup_of[port]),
                Last::Host(host) => Step::Host(host),
            });
        }
        // There may be nothing before the lookup.
        for at in 0..all.len() {
            if let Step::Port(first) = all[at]
                && let Step::Lookup(_) = all[first as usize]
            {
                all[at] = all[first as usize];
            }
        }
        let start = |&step: &u32| {
            let is_at_card = match &all[step as usize] {
                Step::Stage(stage) => stage.port.is_some_and(|at| compiled.ports[at].half_duplex),
                _ => false,
            };
            Start { step, is_at_card }
        };
        Self { starts: first.iter().map(start).collect(), all, receptions }
    }

    #[inline]
    pub fn at(&self, step: u32) -> &Step {
        &self.all[step as usize]
    }

    /// A stage.
    ///
    /// # Panics
    /// If it is the end of a route.
    #[inline]
    pub fn stage(&self, step: u32) -> &Stage {
        match self.at(step) {
            Step::Stage(stage) => stage,
            end => unreachable!("{end:?} is no stage"),
        }
    }

    /// Where a route starts.
    #[inline]
    pub fn start(&self, route: RouteId) -> Start {
        self.starts[route]
    }

    /// What comes to a port of a link between hosts, switches and routers.
    #[inline]
    pub fn reception(&self, port: PortId) -> Reception {
        self.receptions[port].expect("only hubs' ports look nothing up")
    }
}
