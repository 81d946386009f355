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

#[derive(Clone, Debug, Default)]
struct Known {
    entries: Vec<Entry>,
    held: u32,
}

/// The address tables of all nodes.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    known: Vec<Known>,
    /// Lookups whose destination was not known, by node.
    pub flooded: Vec<u64>,
}

impl Tables {
    pub fn new(compiled: &CompiledNetwork) -> Self {
        let table = |role: Role| match role {
            Role::Switch(Learning::Learns { .. }) => {
                Known { entries: vec![UNHEARD; compiled.addresses()], held: 0 }
            }
            _ => Known::default(),
        };
        Self {
            known: compiled.nodes.iter().map(|node| table(node.role)).collect(),
            flooded: vec![0; compiled.nodes.len()],
        }
    }

    /// Where a frame goes that arrived at `port` at `now`. A router readdresses it.
    #[inline]
    pub fn lookup(
        &mut self,
        compiled: &CompiledNetwork,
        port: PortId,
        frame: &mut Frame,
        now: Instant,
    ) -> Forwarding {
        let node = compiled.ports[port].node;
        let learning = match compiled.nodes[node].role {
            Role::Switch(learning) => learning,
            Role::Router => return route(compiled, node, port, frame),
            Role::Host | Role::Hub => unreachable!("only switches and routers look up"),
        };
        let out = match learning {
            Learning::Known => {
                let Some(destination) = frame.destination else { return Forwarding::Flood };
                compiled.port_toward(node, compiled.owner(destination))
            }
            Learning::Learns { age_ps, addresses } => {
                let age = Span::from_ps(age_ps);
                let known = &mut self.known[node];
                known.learn(frame.source, port, now, age, addresses);
                let Some(destination) = frame.destination else { return Forwarding::Flood };
                let entry = known.entries[destination];
                if entry.port.is_none() || now - entry.heard > age {
                    self.flooded[node] += u64::from(
                        compiled.phases.measure_from_ps <= now.ps()
                            && now.ps() < compiled.phases.measure_to_ps,
                    );
                    return Forwarding::Flood;
                }
                entry.port
            }
        };
        match out {
            Some(out) if out != port => Forwarding::Port(out),
            _ => Forwarding::Drop,
        }
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
    fn learn(&mut self, source: AddressId, port: PortId, now: Instant, age: Span, room: u32) {
        let entry = &mut self.entries[source];
        if entry.port.is_some() {
            *entry = Entry { port: Some(port), heard: now };
            return;
        }
        if self.held == room {
            self.forget(now, age);
        }
        if self.held < room {
            self.entries[source] = Entry { port: Some(port), heard: now };
            self.held += 1;
        }
    }

    /// Make room of what is too old.
    fn forget(&mut self, now: Instant, age: Span) {
        for entry in &mut self.entries {
            if entry.port.is_some() && now - entry.heard > age {
                *entry = UNHEARD;
                self.held -= 1;
            }
        }
    }
}
