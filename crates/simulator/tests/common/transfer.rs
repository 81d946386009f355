//! Transfers over TCP as JSON, and what must hold of their counts.

use super::network::{self, balances, link};
use super::network::{Traced, traces};
use super::{MS, S};
use ethermeter_trial::Trial;
use ethermeter_trial::counts::{FlowBatch, FlowCounts, TransferCounts};
use serde_json::{Value, json};

/// 100 Mb/s.
pub const FAST: u64 = 80_000;
/// Most data in a segment of 1500 octets.
pub const MSS: u64 = 1460;
/// A frame with such a segment, and one with none, with preamble.
pub const FULL: u64 = 1518 + 8;
pub const BARE: u64 = 64 + 8;
pub const GAP: u64 = 12;

pub fn phases(from: u64, to: u64) -> Value {
    json!({"begin_ps": 0, "stop_ps": to, "measure_from_ps": from, "measure_to_ps": to, "end_ps": to, "spread_ps": 0})
}

pub fn trial(nodes: &[Value], links: &[Value], flows: &[Value], phases: &Value) -> Trial {
    network::trial(1, nodes, links, flows, phases)
}

pub fn host(name: &str) -> Value {
    json!({"name": name, "kind": {"host": {}}})
}

/// Every segment acknowledged, one segment at first: arithmetic stays simple.
pub fn plain(window_octets: u64) -> Value {
    json!({"window_octets": window_octets, "acknowledge": {"segments": 1, "ps": 1}, "initial_segments": 1})
}

/// A host of RFC 2581: no selective acknowledgements, no counting of octets, a timeout of a second
/// at least; three segments at first.
pub fn classic(window_octets: u64) -> Value {
    json!({"window_octets": window_octets, "initial_segments": 3, "congestion": "reno", "sack": false, "recovery": "reno", "prr": false,
        "limited_transmit": false, "byte_counting": false, "acknowledge": {"segments": 2, "ps": 200 * MS},
        "least_timeout_ps": S, "timeout_margin_ps": 0})
}

/// The same with some keys changed.
pub fn with(mut tcp: Value, changes: &Value) -> Value {
    for (key, value) in changes.as_object().expect("keys and values") {
        tcp[key] = value.clone();
    }
    tcp
}

pub fn transfer(from: &str, to: &str, job: &Value, tcp: &Value) -> Value {
    json!({"name": "copy", "from": from, "to": [to], "transfer": {"job": job, "tcp": tcp}})
}

pub fn stream(octets: u64) -> Value {
    json!({"stream": {"octets": octets}})
}

/// Both implementations must balance and agree.
pub fn run(trial: &Trial) -> Traced {
    let (reference, fast) = traces(trial).expect("a valid trial");
    assert_same(&reference, &fast.expect("nothing that only the reference knows"));
    reference
}

fn assert_same(reference: &Traced, fast: &Traced) {
    balances(reference);
    balances(fast);
    network::assert_same(reference, fast);
    for flow in &reference.flows {
        batches_add_up(flow);
    }
}

/// What the batches of a transfer counted is what the transfer did: the octets it moved, and the
/// delays of acknowledgements of one of its ends.
fn batches_add_up(flow: &FlowCounts) {
    let Some(transfer) = &flow.transfer else { return };
    let sum = |pick: fn(&FlowBatch) -> u64| flow.batches.iter().map(pick).sum::<u64>();
    assert_eq!(sum(|batch| batch.moved_octets), transfer.octets);
    let delays = (
        sum(|batch| batch.acknowledged),
        flow.batches.iter().map(|batch| batch.acknowledgement_ps).sum::<u128>(),
    );
    let of_ends = transfer
        .ends
        .each_ref()
        .map(|end| (end.acknowledgement_delay.count, end.acknowledgement_delay.sum_ps));
    assert!(of_ends.contains(&delays), "{delays:?} {of_ends:?}");
}

pub fn of(flow: &FlowCounts) -> &TransferCounts {
    flow.transfer.as_ref().expect("a transfer")
}

/// Two hosts and a link.
pub fn pair(delay_ps: u64, job: &Value, tcp: &Value, phases: &Value) -> Traced {
    let links = [link("a", "b", FAST, delay_ps)];
    run(&trial(&[host("a"), host("b")], &links, &[transfer("a", "b", job, tcp)], phases))
}
