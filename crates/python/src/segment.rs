//! The figures of a segment, as arrays.

use ethermeter_trial::Counts;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

const S: f64 = 1e-12; // seconds in a picosecond

#[allow(clippy::cast_precision_loss)] // sums become measurements here
pub fn convert<'py>(py: Python<'py>, o: &Counts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let (medium, stations) = (&o.medium, &o.stations);
    let count = stations.frames.len();
    let shape = [stations.batches.frames.len() / count, count];
    let attempts = stations.frames.iter().zip(&stations.collisions).map(|(f, c)| f + c).collect();
    for (key, counts) in [
        ("station_frames", &stations.frames),
        ("station_bits", &stations.bits),
        ("station_charged_ps", &stations.charged_ps),
        ("station_attempts", &attempts),
        ("station_collisions", &stations.collisions),
        ("station_late_collisions", &stations.late_collisions),
        ("station_discarded", &stations.discarded),
        ("station_resumed", &stations.resumed),
        ("station_offered", &stations.offered),
        ("station_dropped", &stations.dropped),
        ("station_damaged", &stations.damaged),
        ("time_ps", &medium.time_ps.to_vec()),
        ("attempts_per_frame", &medium.attempts_per_frame),
        ("colliders", &medium.colliders),
    ] {
        dict.set_item(key, counts.clone().into_pyarray(py))?;
    }
    let mean_s = |sums: &[u64]| -> Vec<f64> {
        sums.iter().zip(&stations.frames).map(|(&sum, &n)| sum as f64 / n as f64 * S).collect()
    };
    let waiting = stations.waiting_ps.iter().map(|&ps| ps as f64 / o.window_ps as f64).collect();
    let sd = |at| sample_sd(stations.frames[at], stations.delay_ps[at], stations.delay_ps2[at]) * S;
    for (key, values) in [
        ("station_delay_s", mean_s(&stations.delay_ps)),
        ("station_delay_sd_s", (0..count).map(sd).collect()),
        ("station_access_s", mean_s(&stations.access_ps)),
        ("station_response_s", mean_s(&stations.response_ps)),
        ("station_waiting", waiting),
        ("station_offered_load", stations.offered_load.clone()),
    ] {
        dict.set_item(key, values.into_pyarray(py))?;
    }
    let batches = &stations.batches;
    dict.set_item("batch_frames", table(py, batches.frames.clone(), shape)?)?;
    dict.set_item("batch_charged_ps", table(py, batches.charged_ps.clone(), shape)?)?;
    let delays = batches.delay_ps.iter().map(|&ps| ps as f64 * S).collect();
    dict.set_item("batch_delay_sum_s", table(py, delays, shape)?)?;
    let squares = batches.delay_ps2.iter().map(|&ps2| ps2 as f64 * S * S).collect();
    dict.set_item("batch_delay_square_sum_s2", table(py, squares, shape)?)?;
    let histograms = PyDict::new(py);
    histograms.set_item("transmission_delay", columns(py, &medium.transmission_delay))?;
    histograms.set_item("access_delay", columns(py, &medium.access_delay))?;
    if let Some(response_time) = &medium.response_time {
        histograms.set_item("response_time", columns(py, response_time))?;
    }
    if let Some(voice) = &stations.voice {
        histograms.set_item("voice_delay", columns(py, &voice.voice_delay))?;
        histograms.set_item("sample_delay", columns(py, &voice.sample_delay))?;
        for (key, counts) in [
            ("station_samples", &voice.samples),
            ("station_samples_delivered", &voice.samples_delivered),
            ("station_samples_lost", &voice.samples_lost),
            ("station_samples_buffered", &voice.samples_buffered),
        ] {
            dict.set_item(key, counts.clone().into_pyarray(py))?;
        }
        for (key, sums, counts) in [
            ("station_voice_delay_s", &voice.voice_delay_ps, &voice.voice_frames),
            ("station_sample_delay_s", &voice.sample_delay_ps, &voice.samples_sent),
        ] {
            let mean = sums.iter().zip(counts).map(|(&sum, &n)| sum as f64 / n as f64 * S);
            dict.set_item(key, mean.collect::<Vec<f64>>().into_pyarray(py))?;
        }
    }
    dict.set_item("histograms", histograms)?;
    dict.set_item("window_ps", o.window_ps)?;
    dict.set_item("events", o.events)?;
    dict.set_item("cautions", PyList::new(py, &o.cautions)?)?;
    Ok(dict)
}

/// Sample standard deviation from exact sums; 0 of one sample, NaN of none.
#[allow(clippy::cast_precision_loss)]
fn sample_sd(n: u64, sum: u64, squares: u128) -> f64 {
    match n {
        0 => f64::NAN,
        1 => 0.0,
        _ => {
            // n Σx² - (Σx)², in two halves because n Σx² may pass 128 bits: Σ(x - m)² with m the
            // whole mean.
            let mean = u128::from(sum / n);
            let rest = u128::from(sum % n);
            let around = squares + u128::from(n) * mean * mean - 2 * mean * u128::from(sum);
            let correction = (rest * rest) as f64 / n as f64;
            ((around as f64 - correction).max(0.0) / (n - 1) as f64).sqrt()
        }
    }
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
