//! Result of a test, as one JSON document.

use super::error::Error;
use super::link::Link;
use crate::consent::Cast;
use crate::description::{Flow, Test, Traffic};
use ethermeter_live::loss::Path;
use serde_json::{json, Map, Value};
use std::collections::BTreeSet;

/// How a test ended.
pub(super) enum Ending {
    Complete,
    Stopped,
    AgentLost { agent: usize, what: String },
    Failed(Error),
}

/// Of a test that was ended before its agents were reached.
pub(super) fn never_begun(test: &Test, experiment: u64) -> Value {
    json!({
        "outcome": "stopped", "experiment": format!("{experiment:016x}"), "seed": test.seed, "phases": test.phases,
        "agents": {}, "flows": {},
    })
}

/// Description of an agent.
pub(super) fn of_host(link: &Link) -> Value {
    let interfaces: Map<String, Value> = link
        .hello
        .interfaces
        .iter()
        .map(|interface| (interface.name.clone(), json!(interface.addresses)))
        .collect();
    json!({
        "control": link.entry.control,
        "version": link.hello.version,
        "host": link.hello.host,
        "kernel": link.hello.kernel,
        "boot": link.hello.boot,
        "clock": link.clock.json(),
        "artificial_clock": artificial_clock(link),
        "interfaces": interfaces,
        "ceilings": serde_json::from_str::<Value>(&link.hello.ceilings_json).ok(),
    })
}

/// The artificial clock of an agent; of most there is none.
fn artificial_clock(link: &Link) -> Option<Value> {
    let (offset_ns, drift_ppb) = (link.hello.clock_offset_ns, link.hello.clock_drift_ppb);
    (offset_ns != 0 || drift_ppb != 0)
        .then(|| json!({"offset_ns": offset_ns, "drift_ppb": drift_ppb}))
}

/// Of a test that began.
pub(super) fn of(
    test: &Test,
    experiment: u64,
    links: &[Link],
    ending: &Ending,
    collected: Vec<Result<Value, Error>>,
) -> Value {
    let (outcome, lost) = match ending {
        Ending::Complete => ("complete", None),
        Ending::Stopped => ("stopped", None),
        Ending::AgentLost { agent, what } => ("agent-lost", Some((*agent, what))),
        Ending::Failed(_) => unreachable!("a test that did not begin has no outcome"),
    };
    let mut agents = Map::new();
    for (index, (link, collected)) in links.iter().zip(collected).enumerate() {
        let mut agent = of_host(link);
        agent["address"] = json!(link.entry.address);
        match collected {
            Ok(result) => agent["result"] = result,
            Err(error) => agent["error"] = json!(error.to_string()),
        }
        if let Some((_, what)) = lost.filter(|(lost, _)| *lost == index) {
            agent["lost"] = json!(what);
        }
        agents.insert(link.entry.name.clone(), agent);
    }
    let flows: Map<String, Value> =
        test.flows.iter().map(|flow| (flow.name.clone(), flow_outcome(flow, &agents))).collect();
    json!({
        "outcome": outcome,
        "lost": lost.map(|(agent, what)| json!({"agent": test.agents[agent].name, "what": what})),
        "experiment": format!("{experiment:016x}"),
        "seed": test.seed,
        "phases": test.phases,
        "agents": agents,
        "flows": flows,
    })
}

/// Result of one flow, from its agents' results; unknown values are left out. Of a group,
/// each receiver has results of its own.
fn flow_outcome(flow: &Flow, agents: &Map<String, Value>) -> Value {
    let from = &agents[&flow.from];
    let sending = role(from, &flow.name);
    let mut cautions: BTreeSet<&str> = BTreeSet::new();
    let held_back = sending.and_then(|sending| sending["counted"]["held_back"].as_u64());
    let is_of_messages = matches!(flow.traffic, Traffic::Stream { .. } | Traffic::Exchange { .. });
    if is_of_messages && held_back.is_some_and(|times| times > 0) {
        cautions.insert("consent-limited");
    }
    let mut outcome = match flow.to.names() {
        [to] if flow.cast == Cast::Unicast => {
            let mut outcome = received(flow, from, &agents[to], &mut cautions);
            outcome["to"] = json!(to);
            outcome
        }
        names => {
            let mut receivers = Map::new();
            for to in names {
                receivers.insert(to.clone(), received(flow, from, &agents[to], &mut cautions));
            }
            json!({"to": names, "receivers": receivers})
        }
    };
    outcome["from"] = json!(flow.from);
    outcome["port"] = json!(flow.port);
    outcome["cast"] = json!(flow.cast);
    outcome["sending"] = json!(sending);
    outcome["cautions"] = json!(cautions);
    outcome
}

/// Result of one receiver of a flow, and where missing frames were lost.
fn received(flow: &Flow, from: &Value, to: &Value, cautions: &mut BTreeSet<&'static str>) -> Value {
    let receiving = role(to, &flow.name);
    let is_stream = matches!(flow.traffic, Traffic::Stream { .. });
    let mut outcome = json!({"receiving": receiving});
    let held_back = receiving.and_then(|receiving| receiving["counted"]["held_back"].as_u64());
    if matches!(flow.traffic, Traffic::Exchange { .. }) && held_back.is_some_and(|times| times > 0)
    {
        cautions.insert("consent-limited"); // answers waited for their receiver's consent
    }
    if let Some(receiving) = receiving.filter(|_| is_stream) {
        let (clock, is_certain) = senders_clock(from, to, receiving);
        outcome["clock"] = clock;
        if !is_certain {
            cautions.insert("clock-uncertain");
        }
    }
    let sending = role(from, &flow.name);
    let counted = sending
        .zip(receiving)
        .map(|(sending, receiving)| (&sending["counted"], &receiving["counted"]));
    if let Some((client, server)) = counted.filter(|_| matches!(flow.traffic, Traffic::File { .. }))
    {
        outcome["octets"] = client["octets"].clone();
        let is_held_back = |end: &Value| end["held_back"].as_u64().is_some_and(|times| times > 0);
        if is_held_back(client) || is_held_back(server) {
            cautions.insert("consent-limited");
        }
    }
    if let Some((given, taken)) =
        counted.filter(|_| matches!(flow.traffic, Traffic::Transfer { .. }))
    {
        outcome["sent_octets"] = given["octets"].clone();
        outcome["received_octets"] = taken["octets"].clone();
        let rates = taken["measured"]["data_rate_bps"]
            .as_f64()
            .zip(given["permitted_octets_per_s"].as_f64());
        // What is within a twentieth of what was permitted is the consent's rate and not the
        // network's.
        if rates.is_some_and(|(reached_bps, permitted)| reached_bps > 0.95 * 8.0 * permitted) {
            cautions.insert("consent-limited");
        }
    }
    if let Some((sent, received)) = counted.filter(|_| is_stream) {
        let frames = sent["frames"].as_u64().zip(received["stream"]["received"].as_u64());
        if let Some((sent_frames, received_frames)) = frames {
            let is_shared = from["boot"] == to["boot"];
            let path = Path {
                sent: sent_frames,
                dropped_in_queue: grown(from, "queues", "dropped"),
                dropped_at_sender: grown(from, "interfaces", "sent_dropped"),
                dropped_in_network: 0,
                // Of several stations on one host all together. What the kernel's backlog drops, it
                // counts at the interface, too.
                dropped_at_receiver: grown(to, "interfaces", "received_dropped"),
                dropped_at_socket: received["port"]["dropped_at_socket"].as_u64().unwrap_or(0),
                received: received_frames,
            };
            outcome["sent"] = json!(sent_frames);
            outcome["received"] = json!(received_frames);
            outcome["losses"] = json!(path.losses());
            outcome["hosts_are_one"] = json!(is_shared);
        }
    }
    outcome
}

/// How the sender's clock relates to the receiver's, and whether delays between them are as certain
/// as is stated there.
fn senders_clock(from: &Value, to: &Value, receiving: &Value) -> (Value, bool) {
    let counted = &receiving["counted"];
    let name = counted["clock"].as_str().unwrap_or_default();
    let told =
        role(to, name).map(|role| role["counted"]["relation"].clone()).filter(Value::is_object);
    if let Some(relation) = told {
        let is_certain = relation["delay_uncertainty_ns"].is_number()
            && relation["contradictions"] == 0
            && counted["stream"]["measured"]["unrelated"] == 0;
        return (relation, is_certain);
    }
    let is_shared = name.is_empty()
        && from["boot"] == to["boot"]
        && from["artificial_clock"].is_null()
        && to["artificial_clock"].is_null();
    (json!({"shared": is_shared}), is_shared)
}

fn role<'a>(agent: &'a Value, flow: &str) -> Option<&'a Value> {
    agent["result"]["roles"].as_array()?.iter().find(|role| role["flow"] == flow)
}

/// By how much a counter of a host has grown from its first sample to its last, over all interfaces
/// or queues; 0 where it is unknown. Queues within others are counted by these.
fn grown(agent: &Value, part: &str, counter: &str) -> u64 {
    let total = |sample: &Value| -> u64 {
        let rows = sample[part].as_array().into_iter().flatten();
        rows.filter(|row| row["is_root"] != false).filter_map(|row| row[counter].as_u64()).sum()
    };
    let samples = agent["result"]["host"].as_array();
    let ends = samples.and_then(|samples| samples.first().zip(samples.last()));
    ends.map_or(0, |(first, last): (&Value, &Value)| {
        let (first, last): (u64, u64) = (total(first), total(last));
        last.saturating_sub(first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_queue_within_another_drops_is_counted_once() {
        let sample = |dropped: u64| {
            json!({
                "queues": [
                    {"kind": "mq", "is_root": true, "dropped": 10 + dropped},
                    {"kind": "fq_codel", "is_root": false, "dropped": 3 + dropped},
                    {"kind": "clsact", "is_root": false, "dropped": dropped},
                ],
                "interfaces": [{"sent_dropped": dropped}, {"sent_dropped": 2 * dropped}],
            })
        };
        let agent = json!({"result": {"host": [sample(0), sample(100), sample(7)]}});
        assert_eq!(grown(&agent, "queues", "dropped"), 7);
        assert_eq!(grown(&agent, "interfaces", "sent_dropped"), 21);
        assert_eq!(grown(&json!({"result": null}), "queues", "dropped"), 0);
    }
}
