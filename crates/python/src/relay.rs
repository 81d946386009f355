//! Wires between interfaces, for the process that plays them; on Linux only.

#![expect(clippy::disallowed_types, reason = "relays begin here")]

use crate::live::raise_local;
use ethermeter_net::HostTime;
use ethermeter_relay::RelayPlan;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::Mutex;

/// Wires at work in this process.
#[pyclass(module = "ethermeter._core")]
pub struct Relay(Mutex<Option<ethermeter_relay::Relay<HostTime>>>);

#[pymethods]
impl Relay {
    /// Open the interfaces of a plan of wires (JSON, `crates/relay/src/plan.rs`).
    #[new]
    fn open(plan: &str) -> PyResult<Self> {
        let plan = RelayPlan::read(plan).map_err(raise_local)?;
        Ok(Self(Mutex::new(Some({
            ethermeter_relay::Relay::open(&plan, HostTime).map_err(raise_local)?
        }))))
    }

    /// Forward frames until a signal, the maker's end or an interface's; returns what happened as
    /// JSON. Once only.
    fn run(&self, py: Python<'_>) -> PyResult<String> {
        let relay = self
            .0
            .lock()
            .expect("no thread panics while it holds the lock")
            .take()
            .ok_or_else(|| PyRuntimeError::new_err("a relay runs once only"))?;
        let result = py.detach(|| relay.run()).map_err(raise_local)?;
        Ok(serde_json::to_string(&result).expect("a result is JSON"))
    }
}
