//! Captures: what a file says, as JSON.

use ethermeter_capture::explain::explain_input;
use ethermeter_capture::input::CaptureInput;
use ethermeter_capture::packet::{addresses, frame_octets};
use ethermeter_capture::{CaptureError, CaptureReader, json};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::net::IpAddr;
use std::path::PathBuf;

/// Explain a capture file, compressed with gzip or not, or standard input if `path` is `None`:
/// JSON, which docs/reference/capture-json.md describes. `progress` gets the octets of the file
/// that were read, and all of them (0 if that is not known), now and then.
///
/// What is wrong after its beginning ends the explanation, and `ended_by` says why. Raises
/// `ValueError` if the file is no capture, `OSError` if it cannot be read, and whatever `progress`
/// or a signal raises.
#[pyfunction]
#[pyo3(signature = (path, progress = None))]
#[allow(clippy::needless_pass_by_value)] // as PyO3 hands it over
pub fn explain_capture(
    py: Python<'_>,
    path: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    py.detach(|| {
        let (input, all) = match path {
            Some(path) => (CaptureInput::open(&path)?, path.metadata()?.len()),
            None => (CaptureInput::new(std::io::stdin())?, 0),
        };
        let compressed = input.compressed_octets();
        let mut stopped_by = None;
        let mut watch = |octets: u64| {
            let octets = compressed.as_ref().map_or(octets, |read| read.get());
            let outcome = Python::attach(|py| {
                py.check_signals()?;
                progress
                    .as_ref()
                    .map_or(Ok(()), |progress| progress.call1(py, (octets, all)).map(drop))
            });
            stopped_by = outcome.err();
            stopped_by.is_none()
        };
        let explained = explain_input(input, &mut watch);
        match (stopped_by, explained) {
            (Some(stop), _) => Err(stop),
            (None, Ok(explanation)) => Ok(json::to_json(&explanation).to_string()),
            (None, Err(error)) => Err(raise(error)),
        }
    })
}

fn raise(error: CaptureError) -> PyErr {
    match error {
        CaptureError::System { source, .. } => {
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
/// Raises `ValueError` if the file is no capture, is damaged or has packets without a time,
/// `OSError` if it cannot be read.
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
        let mut capture = CaptureReader::new(CaptureInput::open(&path)?).map_err(raise)?;
        let (mut times, mut octets) = (Vec::new(), Vec::new());
        while let Some(packet) = capture.read_packet().map_err(raise)? {
            if packet.errors.is_any() {
                continue; // a collision on a segment, or a frame that no receiver took
            }
            if source.is_some() || destination.is_some() {
                let Some((from, to)) = addresses(&packet) else { continue };
                let is_other = |filter: Option<IpAddr>, address: IpAddr| {
                    filter.is_some_and(|expected| expected != address)
                };
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
