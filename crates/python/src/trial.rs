//! Trials of any scenario.

use crate::watch::{or_none, Watch};
use crate::{network, raise, segment};
use ethermeter_simulator::trial::{check, simulate};
use ethermeter_simulator::Error;
use ethermeter_trial::Trial;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Check a trial, given as JSON: `None`, or its fault as path within the scenario, value found and
/// what is allowed.
#[pyfunction]
pub fn check_trial(
    py: Python<'_>,
    text: &str,
) -> PyResult<Option<(String, Option<String>, String)>> {
    let checked =
        py.detach(|| Trial::from_json(text).map_err(Error::from).and_then(|trial| check(&trial)));
    match checked {
        Ok(()) => Ok(None),
        Err(Error::Fault(fault)) => Ok(Some((fault.path, fault.value, fault.allowed))),
        Err(other) => Err(raise(other)),
    }
}

/// Simulate a trial, given as JSON. The results are described in docs/formats.md. With a `watch` it
/// can be followed and stopped.
///
/// Raises `ValueError` for a fault.
#[pyfunction]
#[pyo3(signature = (text, watch = None))]
pub fn simulate_trial<'py>(
    py: Python<'py>,
    text: &str,
    watch: Option<&Watch>,
) -> PyResult<Bound<'py, PyDict>> {
    let watch = or_none(watch);
    let counts = py.detach(|| simulate(&Trial::from_json(text)?, &watch)).map_err(raise)?;
    if counts.ports.is_empty() {
        segment::convert(py, &counts)
    } else {
        network::convert(py, &counts)
    }
}
