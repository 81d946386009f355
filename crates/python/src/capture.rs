//! Captures: what a file says, as JSON.

use ethermeter_capture::explain::explain_file;
use ethermeter_capture::packet::{addresses, frame_octets};
use ethermeter_capture::{json, Capture, Error};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::fs::File;
use std::io::BufReader;
use std::net::IpAddr;
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
            (None, Err(error)) => Err(raise(error)),
        }
    })
}

fn raise(error: Error) -> PyErr {
    match error {
        Error::System { source, .. } => {
            PyOSError::new_err((source.raw_os_error(), source.to_string()))
        }
        error => PyValueError::new_err(error.to_string()),
    }
}

/// Times in ns since 1970 and octets of the Ethernet frames of a capture, in the order of the file.
type Frames<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>);

/// Times of the frames of a capture file in ns since 1970, and their octets, destination address to
/// check sequence; only of IP packets from or to an address, if one is given. Packets that are
/// marked with an error of their link are left out. At most `most` and one more are read.
///
/// Raises `ValueError` if the file is no capture, is damaged or has packets without a time, `OSError`
/// if it cannot be read.
#[pyfunction]
#[pyo3(signature = (path, *, most, source = None, destination = None))]
#[allow(clippy::needless_pass_by_value)] // as PyO3 hands it over
pub fn capture_frames(
    py: Python<'_>,
    path: PathBuf,
    most: usize,
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
) -> PyResult<Frames<'_>> {
    let (times, octets) = py.detach(|| {
        let mut capture = Capture::new(BufReader::new(File::open(path)?)).map_err(raise)?;
        let (mut times, mut octets) = (Vec::new(), Vec::new());
        while let Some(packet) = capture.read_packet().map_err(raise)? {
            if packet.errors.is_any() {
                continue; // a collision on a segment, or a frame that no receiver took
            }
            if source.is_some() || destination.is_some() {
                let Some((from, to)) = addresses(&packet) else { continue };
                let is_other =
                    |wanted: Option<IpAddr>, is: IpAddr| wanted.is_some_and(|of| of != is);
                if is_other(source, from) || is_other(destination, to) {
                    continue;
                }
            }
            let Some(length) = frame_octets(&packet) else { continue };
            let time = packet.time_ns.ok_or_else(|| {
                PyValueError::new_err(format!("packet {} has no time", times.len() + 1))
            })?;
            times.push(time);
            octets.push(length);
            if times.len() > most {
                break;
            }
        }
        Ok::<_, PyErr>((times, octets))
    })?;
    Ok((times.into_pyarray(py), octets.into_pyarray(py)))
}
