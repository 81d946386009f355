//! Tasks of this host: what its stages do alone, and the ends of a transfer.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// Do a task of this host, described in docs/reference/transfer-file.md, as JSON; its result as
/// JSON. Linux only.
#[cfg(target_os = "linux")]
#[pyfunction]
pub fn host_task(py: Python<'_>, line: &str) -> PyResult<String> {
    use ethermeter_host::Error;
    #[expect(clippy::disallowed_types, reason = "tasks of a host begin here")]
    use ethermeter_live::HostTime;
    py.detach(|| ethermeter_host::task::perform(line, &HostTime)).map_err(|error| match error {
        Error::System { .. } | Error::Late(_) => PyOSError::new_err(error.to_string()),
        Error::Task(_) | Error::Range { .. } => PyValueError::new_err(error.to_string()),
    })
}

/// Tasks of hosts need Linux.
#[cfg(not(target_os = "linux"))]
#[pyfunction]
pub fn host_task(_line: &str) -> PyResult<String> {
    Err(PyOSError::new_err("tasks of a host need Linux"))
}
