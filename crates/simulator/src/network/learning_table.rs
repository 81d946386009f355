//! What switches and routers know, and where they send a frame.

use super::compiled::{CompiledNetwork, Role};
use super::frame::Frame;
use crate::identity::{AddressId, NodeId, PortId};
use crate::time::{Instant, Span};
use ethermeter_trial::nodes::Learning;

#[derive(Clone, Copy, Debug)]
struct Entry {
    port: Option<PortId>,
    heard: Instant,
}

const UNHEARD: Entry = Entry { port: None, heard: Instant::ZERO };

/// What a switch that learns knows.
#[derive(Clone, Debug)]
struct Known {
    entries: Vec<Entry>,
    held: u32,
    /// How many it has room for.
    room: u32,
    /// How long it knows them.
    age: Span,
    /// Lookups whose destination was not known.
    flooded: u64,
}

/// The address tables of all nodes.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// Of switches that learn.
    known: Vec<Option<Known>>,
}

impl Tables {
    pub fn new(compiled: &CompiledNetwork) -> Self {
        let table = |role: Role| match role {
            Role::Switch(Learning::Learns { age_ps, addresses }) => Some(Known {
                entries: vec![UNHEARD; compiled.addresses()],
                held: 0,
                room: addresses,
                age: Span::from_ps(age_ps),
                flooded: 0,
            }),
            _ => None,
        };
        Self { known: compiled.nodes.iter().map(|node| table(node.role)).collect() }
    }

    /// Lookups whose destination was not known, by node.
    pub fn flooded(&self) -> Vec<u64> {
        self.known.iter().map(|known| known.as_ref().map_or(0, |known| known.flooded)).collect()
    }

    /// Where a frame goes that arrived at `port` of `node` at `now`. A router readdresses it.
    #[inline]
    pub fn lookup(
        &mut self,
        compiled: &CompiledNetwork,
        (node, port): (NodeId, PortId),
        frame: &mut Frame,
        now: Instant,
    ) -> Forwarding {
        let Some(known) = &mut self.known[node] else {
            return look_up_fixed(compiled, (node, port), frame);
        };
        known.learn(frame.source, port, now);
        let Some(destination) = frame.destination else { return Forwarding::Flood };
        let entry = known.entries[destination];
        match entry.port {
            Some(out) if now - entry.heard <= known.age => {
                if out == port {
                    Forwarding::Drop
                } else {
                    Forwarding::Port(out)
                }
            }
            _ => {
                let phases = &compiled.phases;
                let is_measured =
                    (phases.measure_from_ps..phases.measure_to_ps).contains(&now.ps());
                known.flooded += u64::from(is_measured);
                Forwarding::Flood
            }
        }
    }
}

/// The same where nothing is learned.
fn look_up_fixed(
    compiled: &CompiledNetwork,
    (node, port): (NodeId, PortId),
    frame: &mut Frame,
) -> Forwarding {
    if compiled.nodes[node].role == Role::Router {
        return route(compiled, node, port, frame);
    }
    let Some(destination) = frame.destination else { return Forwarding::Flood };
    match compiled.port_toward(node, compiled.owner(destination)) {
        Some(out) if out != port => Forwarding::Port(out),
        _ => Forwarding::Drop,
    }
}

/// Where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forwarding {
    /// To no port.
    Drop,
    /// Out of one port.
    Port(PortId),
    /// Out of all ports but that of its arrival.
    Flood,
}

fn route(compiled: &CompiledNetwork, node: NodeId, port: PortId, frame: &mut Frame) -> Forwarding {
    // What a switch floods before it has learned comes to routers for which it is not; groups stay
    // in their network.
    if frame.destination != Some(compiled.router_address(port)) {
        return Forwarding::Drop;
    }
    let Some(to) = frame.to else { return Forwarding::Drop };
    let Some(out) = compiled.port_toward(node, to).filter(|&out| out != port) else {
        return Forwarding::Drop;
    };
    frame.source = compiled.router_address(out);
    frame.destination = Some(compiled.next_address(node, to));
    Forwarding::Port(out)
}

impl Known {
    #[inline]
    fn learn(&mut self, source: AddressId, port: PortId, now: Instant) {
        let entry = &mut self.entries[source];
        if entry.port.is_some() {
            *entry = Entry { port: Some(port), heard: now };
            return;
        }
        if self.held == self.room {
            self.forget(now);
        }
        if self.held < self.room {
            self.entries[source] = Entry { port: Some(port), heard: now };
            self.held += 1;
        }
    }

    /// Make room of what is too old.
    fn forget(&mut self, now: Instant) {
        for entry in &mut self.entries {
            if entry.port.is_some() && now - entry.heard > self.age {
                *entry = UNHEARD;
                self.held -= 1;
            }
        }
    }
}
