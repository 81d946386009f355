//! What switches and routers know, and where they send a frame.

use super::compiled::{CompiledNetwork, GROUP, NONE, Role};
use super::frame::Frame;
use ethermeter_trial::nodes::Learning;

#[derive(Clone, Copy, Debug)]
struct Entry {
    port: u32,
    heard: u64,
}

const UNHEARD: Entry = Entry { port: NONE, heard: 0 };

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
        port: u32,
        frame: &mut Frame,
        now: u64,
    ) -> Forwarding {
        let node = compiled.ports[port as usize].node;
        let learning = match compiled.nodes[node as usize].role {
            Role::Switch(learning) => learning,
            Role::Router => return route(compiled, node, port, frame),
            Role::Host | Role::Hub => unreachable!("only switches and routers look up"),
        };
        let out = match learning {
            Learning::Known if frame.destination == GROUP => return Forwarding::Flood,
            Learning::Known => compiled.port_toward(node, compiled.owner(frame.destination)),
            Learning::Learns { age_ps, addresses } => {
                let known = &mut self.known[node as usize];
                known.learn(frame.source, port, now, age_ps, addresses);
                if frame.destination == GROUP {
                    return Forwarding::Flood;
                }
                let entry = known.entries[frame.destination as usize];
                if entry.port == NONE || now - entry.heard > age_ps {
                    self.flooded[node as usize] += u64::from(
                        compiled.phases.measure_from_ps <= now
                            && now < compiled.phases.measure_to_ps,
                    );
                    return Forwarding::Flood;
                }
                entry.port
            }
        };
        if out == port { Forwarding::Drop } else { Forwarding::Port(out) }
    }
}

/// Where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forwarding {
    /// To no port.
    Drop,
    /// Out of one port.
    Port(u32),
    /// Out of all ports but that of its arrival.
    Flood,
}

fn route(compiled: &CompiledNetwork, node: u32, port: u32, frame: &mut Frame) -> Forwarding {
    // What a switch floods before it has learned comes to routers for which it is not; groups stay
    // in their network.
    if frame.destination != compiled.router_address(port) {
        return Forwarding::Drop;
    }
    let out = compiled.port_toward(node, frame.to);
    if out == port || out == NONE {
        return Forwarding::Drop;
    }
    frame.source = compiled.router_address(out);
    frame.destination = compiled.next_address(node, frame.to);
    Forwarding::Port(out)
}

impl Known {
    #[inline]
    fn learn(&mut self, source: u32, port: u32, now: u64, age: u64, room: u32) {
        let entry = &mut self.entries[source as usize];
        if entry.port != NONE {
            *entry = Entry { port, heard: now };
            return;
        }
        if self.held == room {
            self.forget(now, age);
        }
        if self.held < room {
            self.entries[source as usize] = Entry { port, heard: now };
            self.held += 1;
        }
    }

    /// Make room of what is too old.
    fn forget(&mut self, now: u64, age: u64) {
        for entry in &mut self.entries {
            if entry.port != NONE && now - entry.heard > age {
                *entry = UNHEARD;
                self.held -= 1;
            }
        }
    }
}
