//! The glue between Python and the crates: converts, releases the GIL, decides nothing.

mod capture;
mod host;
mod live;
mod network;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod relay;
mod trial;
mod watch;

use ethermeter_ethernet::STANDARDS;
use ethermeter_simulator::{idealised, simulate_idealised_watched, Error, Outcome, Trial};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
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
        for (field, source) in standard.sources {
            sources.set_item(field, source)?;
        }
        values.set_item("sources", sources)?;
        all.set_item(standard.name, values)?;
    }
    Ok(all)
}

/// Simulate the trial in a line of a plan. The figures are described in docs/formats.md. With a
/// `watch` it can be followed and stopped.
#[pyfunction]
#[pyo3(signature = (line, watch = None))]
fn simulate<'py>(
    py: Python<'py>,
    line: &str,
    watch: Option<&Watch>,
) -> PyResult<Bound<'py, PyDict>> {
    run(py, line, watch, ethermeter_simulator::simulate_watched)
}

/// Simulate the trial in a line of a plan with the reference implementation: the same figures,
/// slowly.
#[pyfunction]
#[pyo3(signature = (line, watch = None))]
fn simulate_reference<'py>(
    py: Python<'py>,
    line: &str,
    watch: Option<&Watch>,
) -> PyResult<Bound<'py, PyDict>> {
    run(py, line, watch, ethermeter_simulator::simulate_reference_watched)
}

/// Simulate the trial in a line of a plan whose scenario is idealised, as a theory assumes it: the
/// same figures of another medium access.
#[pyfunction]
#[pyo3(signature = (line, watch = None))]
fn simulate_idealised<'py>(
    py: Python<'py>,
    line: &str,
    watch: Option<&Watch>,
) -> PyResult<Bound<'py, PyDict>> {
    let watch = watch::or_none(watch);
    convert_or_raise(py, || simulate_idealised_watched(&idealised::Trial::from_line(line)?, &watch))
}

type Engine = fn(&Trial, &ethermeter_simulator::Watch) -> Result<Outcome, Error>;

fn run<'py>(
    py: Python<'py>,
    line: &str,
    watch: Option<&Watch>,
    engine: Engine,
) -> PyResult<Bound<'py, PyDict>> {
    let watch = watch::or_none(watch);
    convert_or_raise(py, || engine(&Trial::from_line(line)?, &watch))
}

fn convert_or_raise(
    py: Python<'_>,
    simulate: impl FnOnce() -> Result<Outcome, Error> + Send,
) -> PyResult<Bound<'_, PyDict>> {
    let outcome = py.detach(simulate).map_err(raise)?;
    convert(py, outcome)
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
fn raise(error: Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn convert(py: Python<'_>, o: Outcome) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let stations = o.station_frames.len();
    let batches = o.batch_frames.len() / stations;
    for (key, counts) in [
        ("station_frames", o.station_frames),
        ("station_bits", o.station_bits),
        ("station_charged_ps", o.station_charged_ps),
        ("station_attempts", o.station_attempts),
        ("station_collisions", o.station_collisions),
        ("station_late_collisions", o.station_late_collisions),
        ("station_discarded", o.station_discarded),
        ("station_resumed", o.station_resumed),
        ("station_offered", o.station_offered),
        ("station_dropped", o.station_dropped),
        ("station_damaged", o.station_damaged),
        ("time_ps", o.time_ps.to_vec()),
        ("attempts_per_frame", o.attempts_per_frame),
        ("colliders", o.colliders),
    ] {
        dict.set_item(key, counts.into_pyarray(py))?;
    }
    for (key, values) in [
        ("station_delay_s", o.station_delay_s),
        ("station_delay_sd_s", o.station_delay_sd_s),
        ("station_access_s", o.station_access_s),
        ("station_response_s", o.station_response_s),
        ("station_waiting", o.station_waiting),
        ("station_offered_load", o.station_offered_load),
    ] {
        dict.set_item(key, values.into_pyarray(py))?;
    }
    dict.set_item("batch_frames", table(py, o.batch_frames, [batches, stations])?)?;
    dict.set_item("batch_charged_ps", table(py, o.batch_charged_ps, [batches, stations])?)?;
    dict.set_item("batch_delay_sum_s", table(py, o.batch_delay_sum_s, [batches, stations])?)?;
    dict.set_item(
        "batch_delay_square_sum_s2",
        table(py, o.batch_delay_square_sum_s2, [batches, stations])?,
    )?;
    let histograms = PyDict::new(py);
    histograms.set_item("transmission_delay", columns(py, &o.transmission_delay))?;
    histograms.set_item("access_delay", columns(py, &o.access_delay))?;
    if let Some(response_time) = &o.response_time {
        histograms.set_item("response_time", columns(py, response_time))?;
    }
    if let Some(voice) = o.voice {
        histograms.set_item("voice_delay", columns(py, &voice.voice_delay))?;
        histograms.set_item("sample_delay", columns(py, &voice.sample_delay))?;
        for (key, counts) in [
            ("station_samples", voice.station_samples),
            ("station_samples_delivered", voice.station_samples_delivered),
            ("station_samples_lost", voice.station_samples_lost),
            ("station_samples_buffered", voice.station_samples_buffered),
        ] {
            dict.set_item(key, counts.into_pyarray(py))?;
        }
        dict.set_item("station_voice_delay_s", voice.station_voice_delay_s.into_pyarray(py))?;
        dict.set_item("station_sample_delay_s", voice.station_sample_delay_s.into_pyarray(py))?;
    }
    dict.set_item("histograms", histograms)?;
    dict.set_item("window_ps", o.window_ps)?;
    dict.set_item("events", o.events)?;
    dict.set_item("cautions", PyList::new(py, o.cautions)?)?;
    Ok(dict)
}

fn table<T: numpy::Element>(
    py: Python<'_>,
    values: Vec<T>,
    shape: [usize; 2],
) -> PyResult<Bound<'_, PyArray2<T>>> {
    values.into_pyarray(py).reshape(shape)
}

type Columns<'py> =
    (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

fn columns<'py>(py: Python<'py>, buckets: &[(u64, u64, u64)]) -> Columns<'py> {
    let column = |pick: fn(&(u64, u64, u64)) -> u64| {
        buckets.iter().map(pick).collect::<Vec<u64>>().into_pyarray(py)
    };
    (column(|b| b.0), column(|b| b.1), column(|b| b.2))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Watch>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(capture::explain_capture, module)?)?;
    module.add_function(wrap_pyfunction!(standards, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_reference, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_idealised, module)?)?;
    module.add_function(wrap_pyfunction!(live::ask_hosts, module)?)?;
    module.add_function(wrap_pyfunction!(live::check_ceilings, module)?)?;
    module.add_function(wrap_pyfunction!(live::check_test, module)?)?;
    module.add_function(wrap_pyfunction!(live::make_certificates, module)?)?;
    module.add_function(wrap_pyfunction!(live::measure_test, module)?)?;
    module.add_function(wrap_pyfunction!(live::serve_agent, module)?)?;
    module.add_function(wrap_pyfunction!(network::check_network, module)?)?;
    module.add_function(wrap_pyfunction!(host::host_task, module)?)?;
    module.add_function(wrap_pyfunction!(network::simulate_network, module)?)?;
    module.add_function(wrap_pyfunction!(trial::check_trial, module)?)?;
    module.add_function(wrap_pyfunction!(trial::simulate_trial, module)?)?;
    module.add_function(wrap_pyfunction!(trial::trial_of_line, module)?)?;
    #[cfg(target_os = "linux")]
    module.add_class::<record::Recorder>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<relay::Relay>()?;
    Ok(())
}
