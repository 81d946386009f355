//! What switches and routers know, and where they send a frame.

use super::frame::Frame;
use super::plant::{Plant, Role, GROUP, NONE};
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
    pub fn new(plant: &Plant) -> Self {
        let table = |role: Role| match role {
            Role::Switch(Learning::Learns { .. }) => {
                Known { entries: vec![UNHEARD; plant.addresses()], held: 0 }
            }
            _ => Known::default(),
        };
        Self {
            known: plant.places.iter().map(|place| table(place.role)).collect(),
            flooded: vec![0; plant.places.len()],
        }
    }

    /// Where a frame goes that came to `port` at `now`: a port out, or all but its own ([`GROUP`]),
    /// or nowhere ([`NONE`] in the first place). A router readdresses it.
    #[inline]
    pub fn lookup(&mut self, plant: &Plant, port: u32, frame: &mut Frame, now: u64) -> Way {
        let node = plant.ports[port as usize].node;
        let learning = match plant.places[node as usize].role {
            Role::Switch(learning) => learning,
            Role::Router => return route(plant, node, port, frame),
            Role::Host | Role::Hub => unreachable!("only switches and routers look up"),
        };
        let out = match learning {
            Learning::Known if frame.destination == GROUP => return Way::All,
            Learning::Known => plant.port_toward(node, plant.owner(frame.destination)),
            Learning::Learns { age_ps, addresses } => {
                let known = &mut self.known[node as usize];
                known.learn(frame.source, port, now, age_ps, addresses);
                if frame.destination == GROUP {
                    return Way::All;
                }
                let entry = known.entries[frame.destination as usize];
                if entry.port == NONE || now - entry.heard > age_ps {
                    self.flooded[node as usize] += u64::from(
                        plant.phases.measure_from_ps <= now && now < plant.phases.measure_to_ps,
                    );
                    return Way::All;
                }
                entry.port
            }
        };
        if out == port {
            Way::Nowhere
        } else {
            Way::One(out)
        }
    }
}

/// Where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Nowhere,
    One(u32),
    All,
}

fn route(plant: &Plant, node: u32, port: u32, frame: &mut Frame) -> Way {
    // What a switch floods before it has learned comes to routers for which it is not; groups stay
    // in their network.
    if frame.destination != plant.router_address(port) {
        return Way::Nowhere;
    }
    let out = plant.port_toward(node, frame.to);
    if out == port || out == NONE {
        return Way::Nowhere;
    }
    frame.source = plant.router_address(out);
    frame.destination = plant.next_address(node, frame.to);
    Way::One(out)
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
