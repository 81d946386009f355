//! Measurements with hosts that run no agent, and reflectors; on Linux only.

use crate::live::{attended, raise_local};
#[expect(clippy::disallowed_types, reason = "measurements with peers begin here")]
use ethermeter_net::HostTime;
use ethermeter_peer::stamp::service::ReflectorService;
use ethermeter_peer::{Error, task};
use pyo3::exceptions::{PyConnectionError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Perform a measurement with a peer, a task as JSON (`crates/peer/src/task.rs`), in a network
/// namespace if one is given; its result as JSON. The key is for STAMP's authenticated mode.
#[pyfunction]
#[pyo3(signature = (task, *, key=None, namespace=None))]
pub fn measure_peer(
    py: Python<'_>,
    task: String,
    key: Option<Vec<u8>>,
    namespace: Option<PathBuf>,
) -> PyResult<String> {
    let measured = attended(
        py,
        namespace,
        move |stop, _| task::perform(&task, key.as_deref(), &HostTime, stop),
        |_: Option<()>| Ok(false),
    )?;
    measured.map_err(raise)
}

/// Be a reflector (`crates/peer/src/stamp/service.rs`) until `should_stop` returns true; `ready` is
/// called with the address on which it listens. Returns what it counted, as JSON.
#[pyfunction]
#[pyo3(signature = (service, *, key=None, ready, should_stop))]
pub fn serve_reflector(
    py: Python<'_>,
    service: &str,
    key: Option<Vec<u8>>,
    ready: &Bound<'_, PyAny>,
    should_stop: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let service = ReflectorService::parse(service).map_err(raise)?;
    let served = attended(
        py,
        None,
        move |stop, sender| {
            let listening = |local| drop(sender.send(format!("{local}")));
            service.serve(key.as_deref(), &HostTime, listening, || stop.load(Ordering::Relaxed))
        },
        |address: Option<String>| match address {
            Some(local) => ready.call1((local,)).map(|_| false),
            None => should_stop.call0()?.is_truthy(),
        },
    )?;
    let counts = served.map_err(raise)?;
    serde_json::to_string(&counts).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Local(error) => raise_local(error),
        Error::Task(_) => PyValueError::new_err(text),
        Error::Peer(_) | Error::Closed(_) | Error::Refused(_) | Error::Busy => {
            PyConnectionError::new_err(text)
        }
        Error::Stopped => PyOSError::new_err(text),
    }
}
