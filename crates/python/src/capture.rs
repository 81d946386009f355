//! Captures: what a file says, as JSON.

use ethermeter_capture::explain::explain_file;
use ethermeter_capture::{json, Error};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::fs::File;
use std::path::PathBuf;

/// Explain a capture file: JSON, which docs/reference/capture-json.md describes. `progress` is told
/// octets read and octets in all, now and then.
///
/// What is wrong after its beginning ends the explanation, and `ended_by` says why. Raises
/// `ValueError` if the file is no capture, `OSError` if it cannot be read, and whatever `progress`
/// or a signal raises.
#[pyfunction]
#[pyo3(signature = (path, progress = None))]
#[allow(clippy::needless_pass_by_value)] // as PyO3 hands it over
pub fn explain_capture(
    py: Python<'_>,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    py.detach(|| {
        let file = File::open(path)?;
        let all = file.metadata()?.len();
        let mut stopped_by = None;
        let mut watch = |octets: u64| {
            let told = Python::attach(|py| {
                py.check_signals()?;
                progress
                    .as_ref()
                    .map_or(Ok(()), |progress| progress.call1(py, (octets, all)).map(drop))
            });
            stopped_by = told.err();
            stopped_by.is_none()
        };
        let explained = explain_file(file, &mut watch);
        match (stopped_by, explained) {
            (Some(stop), _) => Err(stop),
            (None, Ok(explanation)) => Ok(json::to_json(&explanation).to_string()),
            (None, Err(Error::System { source, .. })) => {
                Err(PyOSError::new_err((source.raw_os_error(), source.to_string())))
            }
            (None, Err(error)) => Err(PyValueError::new_err(error.to_string())),
        }
    })
}
