//! Progress of a simulation, and how it is stopped, for Python.

use pyo3::prelude::*;
use std::sync::Arc;

/// Progress of one simulation that runs on another thread, and how to stop it.
#[pyclass(frozen, module = "ethermeter._core")]
#[derive(Default)]
pub struct Watch(Arc<ethermeter_simulator::Watch>);

#[pymethods]
impl Watch {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Share of the simulated time that is over, from 0 to 1.
    #[getter]
    fn share(&self) -> f64 {
        self.0.share()
    }

    /// End the simulation within milliseconds; it raises `ValueError`.
    fn stop(&self) {
        self.0.stop();
    }
}

/// What the simulator is given: the watch of the caller, or a new one.
pub fn or_none(watch: Option<&Watch>) -> Arc<ethermeter_simulator::Watch> {
    watch.map_or_else(Arc::default, |watch| Arc::clone(&watch.0))
}
