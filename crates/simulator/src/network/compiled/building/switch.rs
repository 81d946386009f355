//! The stages of a switch: what copies pass from each port in to each port out.

use super::Builder;
use crate::identity::{NodeId, PortId, StageId};
use crate::network::compiled::Last;
use ethermeter_trial::nodes::{Fabric, Switch};
use std::collections::BTreeMap;

impl Builder<'_> {
    pub(super) fn switch(&mut self, node: NodeId, ports: &[PortId], switch: &Switch) {
        for &port in ports {
            let mut reception = Vec::new();
            if let Some(stage) = &switch.ingress {
                reception.push(self.stage(node, stage));
            }
            self.compiled.ports[port].reception = Some(self.route(&reception, Last::Lookup(port)));
        }
        match &switch.fabric {
            Fabric::Ideal => self.forward(node, ports, |_, _, _| Vec::new()),
            Fabric::Shared(stage) => {
                let backplane = self.stage(node, stage);
                self.forward(node, ports, |_, _, _| vec![backplane]);
            }
            Fabric::Crossbar { local, inward, outward } => {
                let mut modules: BTreeMap<(u32, &'static str), StageId> = BTreeMap::new();
                for &port in ports {
                    let module = self.compiled.ports[port].module;
                    for (name, stage) in [
                        ("inward", Some(inward)),
                        ("outward", Some(outward)),
                        ("local", local.as_ref()),
                    ] {
                        if let (Some(stage), false) = (stage, modules.contains_key(&(module, name)))
                        {
                            let id = self.stage(node, stage);
                            modules.insert((module, name), id);
                        }
                    }
                }
                self.forward(node, ports, |builder, from, to| {
                    let [from, to] = [from, to].map(|port| builder.compiled.ports[port].module);
                    if from == to {
                        modules.get(&(from, "local")).copied().into_iter().collect()
                    } else {
                        vec![modules[&(from, "inward")], modules[&(to, "outward")]]
                    }
                });
            }
        }
        if let Some(stage) = &switch.flood {
            let path = self.stage(node, stage);
            let flood = ports
                .iter()
                .map(|port| self.route(&[path, port.stage()], Last::Port(port.peer())))
                .collect();
            self.compiled.nodes[node].flood = flood;
        }
    }

    /// Routes between the ports of a node, each over what `fabric` gives.
    pub(super) fn forward(
        &mut self,
        node: NodeId,
        ports: &[PortId],
        fabric: impl Fn(&Self, PortId, PortId) -> Vec<StageId>,
    ) {
        let mut forward = Vec::new();
        for &from in ports {
            for &to in ports {
                let mut stages = fabric(self, from, to);
                stages.push(to.stage());
                forward.push(self.route(&stages, Last::Port(to.peer())));
            }
        }
        self.compiled.nodes[node].forward = forward;
    }
}
