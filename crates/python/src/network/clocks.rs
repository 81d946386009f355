//! What a network's clocks show, as arrays.

use super::Column;
use ethermeter_trial::counts::{ClockPair, FlowCounts, SignedDelays, SynchronisedDelays};
use ethermeter_trial::Counts;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Unknown values are NaN.
pub(super) fn convert<'py>(py: Python<'py>, o: &Counts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let clock = |flow: &FlowCounts| {
        flow.clocks.as_ref().map(|clocks| clocks.clock.clone()).unwrap_or_default()
    };
    signed(py, &dict, "clock", o, clock)?;
    if o.clock_pairs.is_empty() {
        return Ok(dict);
    }
    let synchronised = |flow: &FlowCounts| of(flow).map(|it| it.delays.clone()).unwrap_or_default();
    signed(py, &dict, "synchronised", o, synchronised)?;
    let counts: [Column<SynchronisedDelays, u64>; 3] = [
        ("unrelated", |it| it.unrelated),
        ("before_sent", |it| it.before_sent),
        ("contradictions", |it| it.contradictions),
    ];
    for (key, pick) in counts {
        let values: Vec<u64> = o.flows.iter().map(|flow| of(flow).map_or(0, pick)).collect();
        dict.set_item(format!("flow_{key}"), values.into_pyarray(py))?;
    }
    #[allow(clippy::cast_precision_loss)] // for reports
    let figures: [Column<SynchronisedDelays, Option<f64>>; 6] = [
        ("error_s", |it| (it.delays.count > 0).then_some(it.error_most_ps as f64 * 1e-12)),
        ("delay_uncertainty_s", |it| it.delay_uncertainty_ns.map(|ns| ns * 1e-9)),
        ("offset_s", |it| it.estimate.map(|estimate| estimate.offset_ns * 1e-9)),
        ("offset_uncertainty_s", |it| it.estimate.map(|estimate| estimate.uncertainty_ns * 1e-9)),
        ("drift", |it| it.estimate.map(|estimate| estimate.drift)),
        ("drift_uncertainty", |it| it.estimate.map(|estimate| estimate.drift_uncertainty)),
    ];
    for (key, pick) in figures {
        let values: Vec<f64> =
            o.flows.iter().map(|flow| of(flow).and_then(pick).unwrap_or(f64::NAN)).collect();
        dict.set_item(format!("flow_{key}"), values.into_pyarray(py))?;
    }
    let pairs: [Column<ClockPair, u64>; 7] = [
        ("sender", |it| u64::from(it.sender)),
        ("receiver", |it| u64::from(it.receiver)),
        ("requests", |it| it.requests),
        ("answered", |it| it.answered),
        ("lost", |it| it.lost),
        ("kept", |it| it.estimate.map_or(0, |estimate| estimate.kept as u64)),
        ("frames", |it| it.balance.sent),
    ];
    for (key, pick) in pairs {
        let values: Vec<u64> = o.clock_pairs.iter().map(pick).collect();
        dict.set_item(format!("pair_{key}"), values.into_pyarray(py))?;
    }
    Ok(dict)
}

#[allow(clippy::cast_precision_loss)] // sums become measurements here
fn mean_s(delays: &SignedDelays) -> f64 {
    delays.sum_ps as f64 / delays.count as f64 * 1e-12
}

fn of(flow: &FlowCounts) -> Option<&SynchronisedDelays> {
    flow.clocks.as_ref()?.synchronised.as_ref()
}

/// How many, their mean, and their buckets: flow, lowest time, lowest beyond it, count.
fn signed(
    py: Python<'_>,
    dict: &Bound<'_, PyDict>,
    key: &str,
    o: &Counts,
    pick: impl Fn(&FlowCounts) -> SignedDelays,
) -> PyResult<()> {
    let every: Vec<SignedDelays> = o.flows.iter().map(pick).collect();
    dict.set_item(
        format!("flow_{key}"),
        every.iter().map(|of| of.count).collect::<Vec<u64>>().into_pyarray(py),
    )?;
    let means: Vec<f64> = every.iter().map(mean_s).collect();
    dict.set_item(format!("flow_{key}_s"), means.into_pyarray(py))?;
    let rows: Vec<[i64; 4]> = (0i64..)
        .zip(&every)
        .flat_map(|(flow, of)| {
            of.buckets.iter().map(move |&(low, high, n)| [flow, low, high, n.cast_signed()])
        })
        .collect();
    let column =
        |index: usize| rows.iter().map(|row| row[index]).collect::<Vec<i64>>().into_pyarray(py);
    dict.set_item(key, (column(0), column(1), column(2), column(3)))
}
