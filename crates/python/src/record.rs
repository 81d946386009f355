//! Recordings of interfaces into captures; on Linux only.

use crate::live::{enter, raise_local};
#[expect(clippy::disallowed_types, reason = "captures begin here")]
use ethermeter_net::HostTime;
use ethermeter_net::port::tap::TapOptions;
use ethermeter_net::record::Recording;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::fs::OpenOptions;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Mutex;

/// Octets of memory for frames that wait to be written.
const RING_OCTETS: usize = 8 << 20;

/// A recording that is at work; it ends with this object, or with the process.
#[pyclass(module = "ethermeter._core")]
pub struct Recorder(Mutex<Option<Recording>>);

#[pymethods]
impl Recorder {
    /// Record every frame of an interface into a pcapng file, of each the first `snap_octets`
    /// octets, at most `most_octets` in all. With a namespace the interface is there. With `only`,
    /// an address and the bits of its network, of IPv4 between the two only.
    ///
    /// Raises `PermissionError` without the right to, `ValueError` for what is out of range,
    /// `OSError` if the system refuses.
    #[new]
    #[pyo3(signature = (path, interface, *, namespace=None, snap_octets=128, most_octets=268_435_456, only=None))]
    fn begin(
        py: Python<'_>,
        path: PathBuf,
        interface: String,
        namespace: Option<PathBuf>,
        snap_octets: u32,
        most_octets: u64,
        only: Option<(&str, u8)>,
    ) -> PyResult<Self> {
        let parsed = |text: &str| {
            let address: Result<Ipv4Addr, _> = text.parse();
            address.map_err(|_| PyValueError::new_err(format!("{text}: must be an IPv4 address")))
        };
        let only =
            only.map(|(text, bits)| parsed(text).map(|address| (address, bits))).transpose()?;
        let options = TapOptions { interface, snap_octets, ring_octets: RING_OCTETS, only };
        py.detach(|| {
            // Another user may have put a link there.
            let mut new = OpenOptions::new();
            let to = new
                .write(true)
                .create(true)
                .truncate(true)
                .custom_flags(nix::libc::O_NOFOLLOW)
                .open(path)?;
            let first = move || namespace.as_deref().map_or(Ok(()), enter);
            Recording::begin(options, Box::new(to), most_octets, HostTime, first)
                .map_err(raise_local)
        })
        .map(|recording| Self(Mutex::new(Some(recording))))
    }

    /// Ask it to stop, without waiting for it.
    fn stop(&self) {
        if let Some(recording) =
            self.0.lock().expect("no thread panics while it holds the lock").as_ref()
        {
            recording.stop();
        }
    }

    /// Stop, write what has come, and return what became of it as JSON
    /// (`crates/net/src/record.rs`). Once only.
    ///
    /// Raises `OSError` if the capture could not be written.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let recording = self
            .0
            .lock()
            .expect("no thread panics while it holds the lock")
            .take()
            .ok_or_else(|| PyRuntimeError::new_err("a recording ends once only"))?;
        let account = py.detach(|| recording.finish()).map_err(raise_local)?;
        serde_json::to_string(&account).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}
