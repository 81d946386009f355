//! The glue between Python and the crates: converts, releases the GIL, decides nothing.

mod capture;
mod counts;
mod functions;
#[cfg(feature = "live")]
mod host;
#[cfg(feature = "live")]
mod live;
#[cfg(all(feature = "live", target_os = "linux"))]
mod peer;
#[cfg(all(feature = "live", target_os = "linux"))]
mod record;
#[cfg(all(feature = "live", target_os = "linux"))]
mod relay;
mod trial;
mod watch;

use ethermeter_ethernet::{PLCA, PLCA_SOURCES, STANDARDS};
use ethermeter_simulator::Error;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use watch::Watch;

/// The version of the compiled core.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The half-duplex standards by name: their constants in bits and picoseconds, and where each comes
/// from.
#[pyfunction]
fn standards(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for standard in STANDARDS {
        let t = standard.timing;
        let values = PyDict::new(py);
        values.set_item("bit_ps", t.bit.0)?;
        values.set_item("slot_bits", t.slot.0)?;
        values.set_item("gap_bits", t.gap.0)?;
        values.set_item("gap_part1_bits", t.gap_part1.0)?;
        values.set_item("preamble_bits", t.preamble.0)?;
        values.set_item("jam_bits", t.jam.0)?;
        values.set_item("min_frame_bits", t.min_frame.0)?;
        values.set_item("max_frame_bits", t.max_frame.0)?;
        values.set_item("fcs_bits", t.fcs.0)?;
        values.set_item("max_round_trip_bits", t.max_round_trip.0)?;
        values.set_item("attempt_limit", t.attempt_limit)?;
        values.set_item("backoff_limit", t.backoff_limit)?;
        values.set_item("max_stations", t.max_stations)?;
        let sources = PyDict::new(py);
        for (field, source) in standard.sources.iter().copied().flatten() {
            sources.set_item(field, source)?;
        }
        values.set_item("sources", sources)?;
        all.set_item(standard.name, values)?;
    }
    Ok(all)
}

/// Timers and lengths of PLCA in bits, with their sources.
#[pyfunction]
fn plca_timing(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let values = PyDict::new(py);
    for (key, bits) in [
        ("end_delimiter_bits", PLCA.end_delimiter),
        ("beacon_bits", PLCA.beacon),
        ("beacon_detection_bits", PLCA.beacon_detection),
        ("invalid_beacon_bits", PLCA.invalid_beacon),
        ("delay_line_bits", PLCA.delay_line),
        ("pending_bits", PLCA.pending),
        ("commit_bits", PLCA.commit),
        ("status_bits", PLCA.status),
        ("opportunity_bits", PLCA.opportunity),
        ("burst_bits", PLCA.burst),
    ] {
        values.set_item(key, bits.0)?;
    }
    let sources = PyDict::new(py);
    for (field, source) in PLCA_SOURCES {
        sources.set_item(field, source)?;
    }
    values.set_item("sources", sources)?;
    Ok(values)
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
fn raise(error: Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Watch>()?;
    module.add_class::<functions::Draws>()?;
    module.add_class::<trial::Trace>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(capture::capture_frames, module)?)?;
    module.add_function(wrap_pyfunction!(capture::explain_capture, module)?)?;
    module.add_function(wrap_pyfunction!(standards, module)?)?;
    module.add_function(wrap_pyfunction!(plca_timing, module)?)?;
    module.add_function(wrap_pyfunction!(trial::check_trial, module)?)?;
    module.add_function(wrap_pyfunction!(trial::read_counts, module)?)?;
    module.add_function(wrap_pyfunction!(trial::simulate_trial, module)?)?;
    add_live(module)
}

/// Add what measures and sends.
#[cfg(feature = "live")]
fn add_live(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(live::ask_hosts, module)?)?;
    module.add_function(wrap_pyfunction!(live::check_ceilings, module)?)?;
    module.add_function(wrap_pyfunction!(live::check_test, module)?)?;
    module.add_function(wrap_pyfunction!(live::interface_plca, module)?)?;
    module.add_function(wrap_pyfunction!(live::make_certificates, module)?)?;
    module.add_function(wrap_pyfunction!(live::measure_test, module)?)?;
    module.add_function(wrap_pyfunction!(live::serve_agent, module)?)?;
    module.add_function(wrap_pyfunction!(host::host_task, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_function(wrap_pyfunction!(peer::measure_peer, module)?)?;
        module.add_function(wrap_pyfunction!(peer::serve_reflector, module)?)?;
        module.add_class::<record::Recorder>()?;
        module.add_class::<relay::Relay>()?;
    }
    Ok(())
}

/// In a build without live measurement, its names are an error that says how to build it.
#[cfg(not(feature = "live"))]
fn add_live(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(missing, module)?)
}

/// Raise an error for a name that only a build with live measurement has.
#[cfg(not(feature = "live"))]
#[pyfunction]
#[pyo3(name = "__getattr__")]
fn missing(py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
    if name.starts_with("__") {
        return Err(pyo3::exceptions::PyAttributeError::new_err(name.to_owned()));
    }
    let error = py.import("ethermeter.faults")?.getattr("InputError")?.call_method1(
        "of",
        (
            "ethermeter",
            "build",
            "without live measurement",
            "this command needs it; `make build` compiles all of ethermeter",
        ),
    )?;
    Err(PyErr::from_value(error))
}
