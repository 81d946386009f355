//! Agents and their coordinator. What they do runs on a thread of its own, while the caller's looks
//! at signals and asks whether to stop.

use ethermeter_agent::coordinator::{self, TestError, TestStage};
use ethermeter_agent::{Credentials, TestDescription, certificates, listen};
use ethermeter_net::{Error, SkewedClock};
use ethermeter_station::consent::Ceilings;
use pyo3::exceptions::{
    PyConnectionError, PyKeyboardInterrupt, PyOSError, PyPermissionError, PyRuntimeError,
    PyValueError,
};
use pyo3::prelude::*;
use std::fs::File;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use tokio::sync::oneshot;

/// Certificate, key and authority, as PEM.
type Pem = (Vec<u8>, Vec<u8>, Vec<u8>);

/// How often the caller is asked.
const ASKED_EVERY: Duration = Duration::from_millis(50);

fn credentials(pem: Option<Pem>) -> Option<Credentials> {
    pem.map(|(certificate, key, authority)| Credentials { certificate, key, authority })
}

fn address(text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| {
        PyValueError::new_err(format!("{text}: must be ADDRESS:PORT, such as 127.0.0.1:4988"))
    })
}

/// PLCA of an interface as JSON; `None` if it has none. `OSError` if the kernel refuses,
/// `ValueError` if no interface can have the name.
#[pyfunction]
pub fn interface_plca(interface: &str) -> PyResult<Option<String>> {
    let facts = ethermeter_net::plca::plca(interface).map_err(|error| match error {
        Error::Refused { allowed, .. } => PyValueError::new_err(allowed),
        error => PyOSError::new_err(error.to_string()),
    })?;
    Ok(facts.map(|facts| serde_json::to_string(&facts).expect("facts are JSON")))
}

/// Refuse, with a `ValueError`, a text that is not TOML of an operator's ceilings.
#[pyfunction]
pub fn check_ceilings(text: &str) -> PyResult<()> {
    Ceilings::parse(text).map(|_| ()).map_err(PyValueError::new_err)
}

/// Refuse, with a `ValueError`, what `measure_test` would refuse before it connects to agents: one
/// line a fault.
#[pyfunction]
pub fn check_test(test: &str) -> PyResult<()> {
    TestDescription::parse(test).map(|_| ()).map_err(PyValueError::new_err)
}

/// Make a private authority, a coordinator's certificate and one for each host, `NAME` or
/// `NAME=ADDRESS=…`, in a directory.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as Python hands them over
pub fn make_certificates(py: Python<'_>, directory: PathBuf, hosts: Vec<String>) -> PyResult<()> {
    py.detach(|| certificates::make(&directory, &hosts)).map_err(|error| match error {
        certificates::CertificateError::File { .. } => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    })
}

/// Be an agent until `should_stop` returns true; `ready` is called with the address on which it
/// listens, and what its operator should know. The caller's thread asks every 50 ms. For tests, its
/// frames can show a wrong time.
#[pyfunction]
#[pyo3(signature = (at, *, ceilings=None, credentials=None, clock_offset_ns=0, clock_drift_ppb=0, ready, should_stop))]
#[allow(clippy::too_many_arguments)] // by keyword, in Python
pub fn serve_agent(
    py: Python<'_>,
    at: &str,
    ceilings: Option<&str>,
    credentials: Option<Pem>,
    clock_offset_ns: i64,
    clock_drift_ppb: i64,
    ready: &Bound<'_, PyAny>,
    should_stop: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let at = address(at)?;
    let ceilings = ceilings
        .map_or_else(|| Ok(Ceilings::default()), Ceilings::parse)
        .map_err(PyValueError::new_err)?;
    let credentials = self::credentials(credentials);
    let own_clock =
        SkewedClock { epoch_ns: 0, offset_ns: clock_offset_ns, drift_ns_per_s: clock_drift_ppb };
    attended(
        py,
        None,
        move |stop, sender| {
            let listening = |local: SocketAddr, warnings: &[String]| {
                drop(sender.send((local.to_string(), warnings.to_vec())));
            };
            let should_stop = || stop.load(Ordering::Relaxed);
            let credentials = credentials.as_ref();
            listen::serve_blocking(at, ceilings, credentials, own_clock, listening, should_stop)
        },
        |described: Option<(String, Vec<String>)>| match described {
            Some(described) => ready.call1(described).map(|_| false),
            None => should_stop.call0()?.is_truthy(),
        },
    )?
    .map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Descriptions of agents and their hosts, as JSON, in the order of their addresses; see
/// docs/reference/agent-tests.md. With `reads_activity`, which takes a second, they have what the
/// hosts do.
#[pyfunction]
#[pyo3(signature = (controls, *, credentials=None, namespace=None, reads_activity=false))]
#[allow(clippy::needless_pass_by_value)]
pub fn ask_hosts(
    py: Python<'_>,
    controls: Vec<String>,
    credentials: Option<Pem>,
    namespace: Option<PathBuf>,
    reads_activity: bool,
) -> PyResult<String> {
    let controls = controls.iter().map(|control| address(control)).collect::<PyResult<Vec<_>>>()?;
    let credentials = self::credentials(credentials);
    let answers = attended(
        py,
        namespace,
        move |stop, _| {
            let should_stop = || stop.load(Ordering::Relaxed);
            coordinator::hosts_blocking(
                &controls,
                credentials.as_ref(),
                reads_activity,
                should_stop,
            )
        },
        |_: Option<()>| Ok(false),
    )?;
    // Only a signal stops it, which has raised its own exception.
    answers
        .map_err(raise)?
        .ok_or_else(|| PyKeyboardInterrupt::new_err(()))
        .and_then(|hosts| json(&hosts))
}

/// Run a test between agents; its result, as JSON. `follow` is called with the word of each stage
/// as it begins, and every 50 ms with None; it returns whether to stop. Its second argument is None
/// but where the agents are about to be started: the monotonic time in ns at which they begin. They
/// are started when it has returned; if that was late, it is called again with a later time. With a
/// namespace, agents are reached from there.
#[pyfunction]
#[pyo3(signature = (test, *, credentials=None, namespace=None, follow=None))]
pub fn measure_test(
    py: Python<'_>,
    test: String,
    credentials: Option<Pem>,
    namespace: Option<PathBuf>,
    follow: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let credentials = self::credentials(credentials);
    let measured = attended(
        py,
        namespace,
        move |stop, sender| {
            let tell = async |stage| {
                let (done, hearing) = oneshot::channel();
                // Without a receiver the test is about to stop: an exception was raised.
                if sender.send((entered(stage), done)).is_ok() {
                    let _ = hearing.await;
                }
            };
            let should_stop = || stop.load(Ordering::Relaxed);
            coordinator::run_blocking(&test, credentials.as_ref(), should_stop, tell)
        },
        |entered_stage: Option<(Entered, oneshot::Sender<()>)>| {
            let (stage, done) = entered_stage.unzip();
            let (stage, begin_ns) = stage.unzip();
            let arguments = (stage, begin_ns.flatten());
            let stops = follow.map_or(Ok(false), |follow| follow.call1(arguments)?.is_truthy());
            drop(done);
            stops
        },
    )?;
    measured.map_err(raise).and_then(|result| json(&result))
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The word of a stage, and when agents begin if that is known with it.
type Entered = (&'static str, Option<u64>);

/// What a stage is called in Python.
fn entered(stage: TestStage) -> Entered {
    match stage {
        TestStage::Connecting => ("connecting", None),
        TestStage::Arranging => ("arranging", None),
        TestStage::Running { begin_ns } => ("running", Some(begin_ns)),
        TestStage::Collecting => ("collecting", None),
    }
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
fn raise(error: TestError) -> PyErr {
    let text = error.to_string();
    match error {
        TestError::Description(_) => PyValueError::new_err(text),
        TestError::Unreachable { .. } => PyConnectionError::new_err(text),
        TestError::System(_) => PyOSError::new_err(text),
        TestError::Refused { .. } => PyPermissionError::new_err(text),
    }
}

/// What this host refuses: a value, or what its system does.
#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
pub fn raise_local(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Refused { .. } => PyValueError::new_err(text),
        Error::System { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            PyPermissionError::new_err(text)
        }
        Error::System { .. } | Error::Closed => PyOSError::new_err(text),
    }
}

/// Do something on a thread of its own, in a network namespace if one is given, while the caller's
/// thread gets its messages and is asked whether to stop. An exception there, that of Ctrl-C too,
/// stops it and is raised when it has ended; a second one is raised at once.
pub fn attended<T: Send + 'static, M: Send + 'static>(
    py: Python<'_>,
    namespace: Option<PathBuf>,
    work: impl FnOnce(&AtomicBool, &Sender<M>) -> T + Send + 'static,
    mut hear: impl FnMut(Option<M>) -> PyResult<bool>,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, mut receiver) = mpsc::channel();
    let stopping = Arc::clone(&stop);
    let working = std::thread::Builder::new().name("live".into()).spawn(move || {
        namespace.as_deref().map_or(Ok(()), enter).map(|()| work(&stopping, &sender))
    })?;
    let mut raised: Option<PyErr> = None;
    loop {
        let stage = py.detach(|| next(&mut receiver));
        if stage.is_err() {
            break;
        }
        let answer = py
            .check_signals()
            .and_then(|()| if raised.is_none() { hear(stage.unwrap_or(None)) } else { Ok(true) });
        match answer {
            Ok(false) => {}
            Ok(true) => stop.store(true, Ordering::Relaxed),
            Err(error) => {
                stop.store(true, Ordering::Relaxed);
                if raised.is_some() {
                    return Err(error);
                }
                raised = Some(error);
            }
        }
    }
    let outcome = py.detach(|| working.join());
    if let Some(error) = raised {
        return Err(error);
    }
    let outcome =
        outcome.map_err(|_| PyOSError::new_err("the thread that measures has panicked"))?;
    outcome.map_err(|error| PyOSError::new_err(error.to_string()))
}

/// The next message of the work; `None` after a while without one, an error at the end.
fn next<M>(receiver: &mut Receiver<M>) -> Result<Option<M>, ()> {
    match receiver.recv_timeout(ASKED_EVERY) {
        Ok(message) => Ok(Some(message)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(()),
    }
}

/// Move this thread, and no other, into a network namespace.
pub fn enter(namespace: &Path) -> std::io::Result<()> {
    let raise_system = |error: std::io::Error| {
        std::io::Error::new(error.kind(), format!("{}: {error}", namespace.display()))
    };
    let file = File::open(namespace).map_err(raise_system)?;
    nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET)
        .map_err(|error| raise_system(error.into()))
}
