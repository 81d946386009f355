//! The figures of a network, as arrays.

mod clocks;

use ethermeter_trial::counts::{
    Delays, EndCounts, FlowBatch, FlowCounts, FlowVoice, PortCounts, TransferCounts, LOSSES,
};
use ethermeter_trial::Counts;
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A key and what it holds of each.
type Column<S, T> = (&'static str, fn(&S) -> T);
type Pick = fn(&FlowCounts) -> &Delays;

pub fn convert<'py>(py: Python<'py>, o: &Counts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let flows: [Column<FlowCounts, u64>; 15] = [
        ("flow_sent", |f| f.balance.sent),
        ("flow_copied", |f| f.balance.copied),
        ("flow_delivered", |f| f.balance.delivered),
        ("flow_in_flight", |f| f.balance.in_flight),
        ("flow_offered", |f| f.offered),
        ("flow_dropped", |f| f.dropped),
        ("flow_messages", |f| f.messages),
        ("flow_frames", |f| f.frames),
        ("flow_octets", |f| f.octets),
        ("flow_data_octets", |f| f.data_octets),
        ("flow_arrived", |f| f.arrived),
        ("flow_answers", |f| f.answers),
        ("flow_answer_octets", |f| f.answer_octets),
        ("flow_completed", |f| f.completed),
        ("flow_timed_out", |f| f.timed_out),
    ];
    for (key, pick) in flows {
        dict.set_item(key, o.flows.iter().map(pick).collect::<Vec<u64>>().into_pyarray(py))?;
    }
    let lost: Vec<u64> = o.flows.iter().flat_map(|f| f.balance.lost).collect();
    dict.set_item("flow_lost", lost.into_pyarray(py).reshape([o.flows.len(), LOSSES.len()])?)?;
    dict.set_item("losses", PyList::new(py, LOSSES)?)?;
    let mut delays: Vec<(&str, Pick)> = vec![
        ("one_way", |f| &f.one_way),
        ("answer_one_way", |f| &f.answer_one_way),
        ("round_trip", |f| &f.round_trip),
        ("answer_round_trip", |f| &f.answer_round_trip),
        ("between_arrivals", |f| &f.between_arrivals),
        ("acknowledgement", |f| acknowledgement_delay(f, 0)),
        ("answer_acknowledgement", |f| acknowledgement_delay(f, 1)),
    ];
    if o.flows.iter().any(|f| f.voice.is_some()) {
        convert_voice(py, &dict, o)?;
        delays.push(("voice_delay", |f| voice(f).map_or(&NO_DELAYS, |v| &v.voice_delay)));
        delays.push(("sample_delay", |f| voice(f).map_or(&NO_DELAYS, |v| &v.sample_delay)));
    }
    let histograms = PyDict::new(py);
    for (key, pick) in delays {
        let means: Vec<f64> = o.flows.iter().map(|f| mean_s(pick(f))).collect();
        dict.set_item(format!("flow_{key}_s"), means.into_pyarray(py))?;
        let rows: Vec<[u64; 4]> = (0u64..)
            .zip(&o.flows)
            .flat_map(|(flow, f)| {
                pick(f).buckets.iter().map(move |&(low, high, count)| [flow, low, high, count])
            })
            .collect();
        let column =
            |index: usize| rows.iter().map(|row| row[index]).collect::<Vec<u64>>().into_pyarray(py);
        histograms.set_item(key, (column(0), column(1), column(2), column(3)))?;
    }
    dict.set_item("histograms", histograms)?;
    convert_batches(py, &dict, o)?;
    convert_transfers(py, &dict, o)?;
    let ports: [Column<PortCounts, u64>; 11] = [
        ("port_frames", |p| p.frames),
        ("port_octets", |p| p.octets),
        ("port_dropped", |p| p.dropped),
        ("port_buffer_dropped", |p| p.buffer_dropped),
        ("port_queue_most", |p| p.queue_most),
        ("port_buffer_most", |p| p.buffer_most),
        ("port_pauses_sent", |p| p.pauses_sent),
        ("port_pauses_received", |p| p.pauses_received),
        ("port_collisions", |p| p.collisions),
        ("port_late_collisions", |p| p.late_collisions),
        ("port_busy_ps", |p| p.busy_ps),
    ];
    for (key, pick) in ports {
        dict.set_item(key, o.ports.iter().map(pick).collect::<Vec<u64>>().into_pyarray(py))?;
    }
    if o.flows.iter().any(|flow| flow.clocks.is_some()) {
        dict.set_item("clocks", clocks::convert(py, o)?)?;
    }
    dict.set_item("node_flooded", o.nodes.flooded.clone().into_pyarray(py))?;
    dict.set_item("window_ps", o.window_ps)?;
    dict.set_item("events", o.events)?;
    Ok(dict)
}

/// Counts and sums of each part of the measured window, of shape (batches, flows).
fn convert_batches(py: Python<'_>, dict: &Bound<'_, PyDict>, o: &Counts) -> PyResult<()> {
    let count = o.flows.first().map_or(0, |flow| flow.batches.len());
    let every =
        || (0..count).flat_map(|batch| o.flows.iter().map(move |flow| &flow.batches[batch]));
    let shape = [count, o.flows.len()];
    let counts: [Column<FlowBatch, u64>; 12] = [
        ("batch_offered", |b| b.offered),
        ("batch_dropped", |b| b.dropped),
        ("batch_arrived", |b| b.arrived),
        ("batch_messages", |b| b.messages),
        ("batch_frames", |b| b.frames),
        ("batch_octets", |b| b.octets),
        ("batch_data_octets", |b| b.data_octets),
        ("batch_moved_octets", |b| b.moved_octets),
        ("batch_completed", |b| b.completed),
        ("batch_timed_out", |b| b.timed_out),
        ("batch_arrivals_between", |b| b.arrivals_between),
        ("batch_acknowledged", |b| b.acknowledged),
    ];
    for (key, pick) in counts {
        dict.set_item(
            key,
            every().map(pick).collect::<Vec<u64>>().into_pyarray(py).reshape(shape)?,
        )?;
    }
    let sums: [Column<FlowBatch, u128>; 4] = [
        ("batch_one_way_s", |b| b.one_way_ps),
        ("batch_round_trip_s", |b| b.round_trip_ps),
        ("batch_between_arrivals_s", |b| b.between_arrivals_ps),
        ("batch_acknowledgement_s", |b| b.acknowledgement_ps),
    ];
    #[allow(clippy::cast_precision_loss)] // sums become measurements here
    let seconds = |ps: u128| ps as f64 * 1e-12;
    for (key, pick) in sums {
        let values: Vec<f64> = every().map(|batch| seconds(pick(batch))).collect();
        dict.set_item(key, values.into_pyarray(py).reshape(shape)?)?;
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss)] // sums become measurements here
fn mean_s(delays: &Delays) -> f64 {
    delays.sum_ps as f64 / delays.count as f64 * 1e-12
}

fn voice(flow: &FlowCounts) -> Option<&FlowVoice> {
    flow.voice.as_ref()
}

/// Nothing but zeros of flows that are no voice.
fn convert_voice(py: Python<'_>, dict: &Bound<'_, PyDict>, o: &Counts) -> PyResult<()> {
    let all: Vec<FlowVoice> = o.flows.iter().map(|f| f.voice.clone().unwrap_or_default()).collect();
    let counts: [Column<FlowVoice, u64>; 5] = [
        ("flow_samples", |v| v.host.made),
        ("flow_samples_delivered", |v| v.delivered),
        ("flow_samples_lost_host", |v| v.host.lost),
        ("flow_samples_left", |v| v.host.left),
        ("flow_samples_under_way", |v| v.under_way),
    ];
    for (key, pick) in counts {
        dict.set_item(key, all.iter().map(pick).collect::<Vec<u64>>().into_pyarray(py))?;
    }
    let lost: Vec<u64> = all.iter().flat_map(|v| v.lost).collect();
    dict.set_item("flow_samples_lost", lost.into_pyarray(py).reshape([all.len(), LOSSES.len()])?)
}

static NO_DELAYS: Delays = Delays { count: 0, sum_ps: 0, buckets: Vec::new() };

fn acknowledgement_delay(flow: &FlowCounts, end: usize) -> &Delays {
    flow.transfer.as_ref().map_or(&NO_DELAYS, |transfer| &transfer.ends[end].acknowledgement_delay)
}

/// Nothing but zeros of flows that are no transfers.
fn convert_transfers(py: Python<'_>, dict: &Bound<'_, PyDict>, o: &Counts) -> PyResult<()> {
    let transfers: Vec<TransferCounts> =
        o.flows.iter().map(|f| f.transfer.clone().unwrap_or_default()).collect();
    dict.set_item(
        "transfer_octets",
        transfers.iter().map(|t| t.octets).collect::<Vec<u64>>().into_pyarray(py),
    )?;
    #[allow(clippy::cast_precision_loss)] // a duration for reports
    let whole_s = |t: &TransferCounts| t.whole_ps.map_or(f64::NAN, |ps| ps as f64 * 1e-12);
    dict.set_item(
        "transfer_whole_s",
        transfers.iter().map(whole_s).collect::<Vec<f64>>().into_pyarray(py),
    )?;
    let ends: [Column<EndCounts, u64>; 5] = [
        ("transfer_segments", |e| e.segments),
        ("transfer_retransmitted", |e| e.retransmitted),
        ("transfer_timeouts", |e| e.timeouts),
        ("transfer_fast_retransmissions", |e| e.fast_retransmissions),
        ("transfer_acknowledgements", |e| e.acknowledgements),
    ];
    for (key, pick) in ends {
        let values: Vec<u64> = transfers.iter().flat_map(|t| t.ends.iter().map(pick)).collect();
        dict.set_item(key, values.into_pyarray(py).reshape([transfers.len(), 2])?)?;
    }
    let rows: Vec<[u64; 4]> = (0u64..)
        .zip(&transfers)
        .flat_map(|(flow, t)| (0u64..).zip(&t.ends).map(move |(end, e)| (flow, end, e)))
        .flat_map(|(flow, end, e)| {
            e.windows.iter().map(move |&(at, octets)| [flow, end, at, octets])
        })
        .collect();
    let column =
        |index: usize| rows.iter().map(|row| row[index]).collect::<Vec<u64>>().into_pyarray(py);
    dict.set_item("transfer_windows", (column(0), column(1), column(2), column(3)))
}
