//! The glue between Python and the simulator: converts, releases the GIL, decides nothing.

use ethermeter_ethernet::STANDARDS;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The version of the compiled core.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The half-duplex standards by name: their constants in bits and picoseconds, and where each comes from.
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

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(standards, module)?)?;
    Ok(())
}
