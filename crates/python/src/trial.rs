//! Trials of any scenario.

use crate::functions::TrialFunctions;
use crate::watch::{Watch, or_none};
use crate::{counts, raise};
use ethermeter_simulator::custom::Custom;
use ethermeter_simulator::plan::Plan;
use ethermeter_simulator::simulate_with;
use ethermeter_traffic::Traces;
use ethermeter_trial::fault::{Allowed, Step};
use ethermeter_trial::scenario::Implementation;
use ethermeter_trial::{Counts, Fault, Trial};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A fault: keys and indices from the scenario to the value, the value found, and what is allowed:
/// the least and the most of an integer, or words.
type PyFault = (Vec<PyStep>, Option<String>, PyAllowed);

/// A step of a path.
#[derive(IntoPyObject)]
pub enum PyStep {
    /// A key of a table.
    Key(String),
    /// An index of a list.
    Index(usize),
}

/// What is allowed where a fault is.
#[derive(IntoPyObject)]
pub enum PyAllowed {
    /// The least and the most of an integer.
    Range(i128, i128),
    /// Anything else.
    Words(String),
}

fn converted(fault: Fault) -> PyFault {
    let steps = fault.path.steps().iter().map(|step| match step {
        Step::Key(key) => PyStep::Key(key.clone().into_owned()),
        Step::Index(index) => PyStep::Index(*index),
    });
    let allowed = match fault.allowed {
        Allowed::Range(least, most) => PyAllowed::Range(least, most),
        words => PyAllowed::Words(words.expected()),
    };
    (steps.collect(), fault.value, allowed)
}

/// All faults of a trial, given as JSON; none if it is sound and can be simulated.
#[pyfunction]
pub fn check_trial(py: Python<'_>, text: &str) -> Vec<PyFault> {
    let faults = py.detach(|| match Trial::from_json(text) {
        Err(fault) => vec![fault],
        Ok(trial) => {
            let mut faults = trial.scenario.faults();
            // What a MAC does not support is known by its implementation.
            if faults.is_empty() {
                faults.extend(Plan::check(&trial).err());
            }
            faults
        }
    });
    faults.into_iter().map(converted).collect()
}

/// Counts of a trial that a relay wrote as JSON: `ethermeter.counts.Counts`.
///
/// Raises `ValueError` for anything else.
#[pyfunction]
pub fn read_counts<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let counts: Counts =
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    counts::convert(py, &counts, Implementation::Reference)
}

/// A trace, given as its text: recorded messages that a source replays.
///
/// Raises `ValueError` for a fault.
#[pyclass(frozen, module = "ethermeter._core")]
pub struct Trace(Arc<ethermeter_traffic::Trace>);

#[pymethods]
impl Trace {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let read = || ethermeter_traffic::Trace::read(text);
        Ok(Self(Arc::new(py.detach(read).map_err(PyValueError::new_err)?)))
    }
}

/// Simulate a trial, given as JSON: its `ethermeter.counts.Counts`. With a `watch` it can be
/// followed and stopped; `traces` are those that its flows replay, by the SHA-256 of their text.
/// Stations whose scenario names functions in Python follow those that `functions` makes
/// (`ethermeter.functions.Makers`).
///
/// Raises `ValueError` for a fault, and what such a function raises.
#[pyfunction]
#[pyo3(signature = (text, watch = None, traces = None, functions = None))]
pub fn simulate_trial<'py>(
    py: Python<'py>,
    text: &str,
    watch: Option<&Watch>,
    traces: Option<BTreeMap<String, Py<Trace>>>,
    functions: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let watch = or_none(watch);
    let traces: Traces = traces
        .into_iter()
        .flatten()
        .map(|(digest, trace)| (digest, Arc::clone(&trace.get().0)))
        .collect();
    let functions = functions.map(|made_by| TrialFunctions::new(made_by, Arc::clone(&watch)));
    let run = || {
        let mut trial = Trial::from_json(text)?;
        trial.give(&traces)?;
        let custom = functions.as_ref().map(|functions| functions as &dyn Custom);
        simulate_with(&trial, &watch, custom)
    };
    let result = py.detach(run);
    if let Some(failure) = functions.as_ref().and_then(TrialFunctions::failure) {
        return Err(failure);
    }
    let (counts, implementation) = result.map_err(raise)?;
    counts::convert(py, &counts, implementation)
}
