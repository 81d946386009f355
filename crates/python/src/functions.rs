//! Functions in Python by which stations wait and offer frames. Each call takes the GIL, and
//! nothing else does.

use ethermeter_simulator::Watch;
use ethermeter_simulator::custom::{Custom, CustomBackoff, Rule};
use ethermeter_traffic::Stream;
use ethermeter_traffic::custom::{CustomFrame, CustomSource};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use std::sync::{Arc, Mutex};

const LONGEST_MEAN_S: f64 = 1000.0;
const PS_PER_S: f64 = 1e12;

/// Random draws of one station for one purpose; the n-th depends on the seed of the trial, the
/// station, the purpose and n alone.
#[pyclass(module = "ethermeter._core")]
pub struct Draws(Stream);

#[pymethods]
impl Draws {
    /// The next draw: an integer from 0 to below `bound`, all equally likely.
    ///
    /// Raises `ValueError` unless `bound` is from 1 to 2**64 - 1.
    fn below(&mut self, bound: &Bound<'_, PyAny>) -> PyResult<u64> {
        match bound.extract::<u64>() {
            Ok(most) if most > 0 => Ok(self.0.below(most)),
            _ => Err(PyValueError::new_err(format!(
                "bound must be an integer from 1 to 2**64 - 1, got {bound}"
            ))),
        }
    }

    /// The next draw: a number above 0, up to and including 1, uniform.
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// The next draw: an exponential time of this mean, in s, a whole number of picoseconds.
    ///
    /// Raises `ValueError` unless `mean_s` is from 1e-12 to 1000.
    #[allow(clippy::cast_precision_loss)] // of times above 9000 s
    fn exponential(&mut self, mean_s: f64) -> PyResult<f64> {
        if !(1.0 / PS_PER_S..=LONGEST_MEAN_S).contains(&mean_s) {
            return Err(PyValueError::new_err(format!(
                "mean_s must be from 1e-12 to {LONGEST_MEAN_S}, got {mean_s}"
            )));
        }
        Ok(self.0.exponential_ps(mean_s * PS_PER_S) as f64 / PS_PER_S)
    }
}

/// What the calls of one trial share.
#[derive(Debug)]
struct FunctionCalls {
    watch: Arc<Watch>,
    failure: Mutex<Option<PyErr>>,
}

impl FunctionCalls {
    /// What a call returns; `None` once one has failed or the trial is stopped.
    fn call<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.watch.is_stopped() {
            return None;
        }
        let error = match Python::try_attach(call)? {
            Ok(returned) => return Some(returned),
            Err(error) => error,
        };
        self.failure.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
        self.watch.stop();
        None
    }
}

/// The functions of one trial: `ethermeter.functions` makes them.
pub struct TrialFunctions {
    made_by: Py<PyAny>,
    calls: Arc<FunctionCalls>,
}

impl TrialFunctions {
    /// Functions that `made_by` makes; one that fails stops the trial by its watch.
    pub fn new(made_by: Py<PyAny>, watch: Arc<Watch>) -> Self {
        Self { made_by, calls: Arc::new(FunctionCalls { watch, failure: Mutex::new(None) }) }
    }

    /// The exception of the first call that failed, if any.
    pub fn failure(&self) -> Option<PyErr> {
        self.calls.failure.lock().expect("no thread panics while it holds the lock").take()
    }
}

impl Custom for TrialFunctions {
    fn backoff(&self, rule: &Rule<'_>, chance: Stream) -> Arc<Mutex<dyn CustomBackoff>> {
        let backoff = self.calls.call(|py| {
            let given = (&rule.function.name, &rule.function.sha256, rule.station);
            let function = self.made_by.bind(py).call_method1("backoff", given)?.unbind();
            Ok((function, Py::new(py, Draws(chance))?))
        });
        Arc::new(Mutex::new(PythonBackoff { backoff, calls: Arc::clone(&self.calls) }))
    }

    fn source(
        &self,
        rule: &Rule<'_>,
        (least_bits, most_bits): (u64, u64),
        chance: Stream,
    ) -> Arc<Mutex<dyn CustomSource>> {
        let frames = self.calls.call(|py| {
            let lengths = (least_bits, most_bits);
            let (name, sha256) = (&rule.function.name, &rule.function.sha256);
            let given = (name, sha256, rule.station, lengths, Draws(chance));
            let source = self.made_by.bind(py).call_method1("source", given)?;
            Ok(source.cast_into::<PyIterator>()?.unbind())
        });
        Arc::new(Mutex::new(PythonSource { frames, calls: Arc::clone(&self.calls) }))
    }
}

/// The backoff of one station: its function, and the draws for it.
#[derive(Debug)]
struct PythonBackoff {
    backoff: Option<(Py<PyAny>, Py<Draws>)>,
    calls: Arc<FunctionCalls>,
}

impl CustomBackoff for PythonBackoff {
    fn slots(&mut self, collisions: u32) -> Option<f64> {
        let (function, draws) = self.backoff.as_ref()?;
        self.calls.call(|py| function.bind(py).call1((collisions, draws))?.extract())
    }
}

/// The source of one station: a generator.
#[derive(Debug)]
struct PythonSource {
    frames: Option<Py<PyIterator>>,
    calls: Arc<FunctionCalls>,
}

impl CustomSource for PythonSource {
    fn next(&mut self) -> Option<CustomFrame> {
        let frames = self.frames.as_ref()?;
        let next = self.calls.call(|py| {
            let next = frames.bind(py).clone().next().transpose()?;
            next.map(|frame| frame.extract::<(u64, Option<u64>)>()).transpose()
        });
        next.flatten().map(|(wait_ps, bits)| CustomFrame { wait_ps, bits })
    }
}
