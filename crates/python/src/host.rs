//! Tasks of this host: what its stages do alone, and the ends of a transfer.

#[cfg(not(target_os = "linux"))]
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// Do a task of this host, described in docs/reference/transfer-file.md, as JSON; its result as
/// JSON. Linux only.
#[cfg(target_os = "linux")]
#[pyfunction]
pub fn host_task(py: Python<'_>, line: &str) -> PyResult<String> {
    #[expect(clippy::disallowed_types, reason = "tasks of a host begin here")]
    use ethermeter_net::HostTime;
    py.detach(|| ethermeter_host::task::perform(line, &HostTime)).map_err(crate::live::raise_local)
}

/// Tasks of hosts need Linux.
#[cfg(not(target_os = "linux"))]
#[pyfunction]
pub fn host_task(_line: &str) -> PyResult<String> {
    Err(PyOSError::new_err("tasks of a host need Linux"))
}
