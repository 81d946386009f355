//! Measurements in windows in which the machine did not stall; a test that finds none is
//! inconclusive.
//!
//! Laws (counts, conservation, order, octets) hold on any machine: tests assert them once. An
//! expectation of a time or a rate is asserted on a measurement from a quiet window. Witness
//! threads alone decide whether it was quiet, never what was measured.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Windows that are tried at most.
const CALLS: usize = 3;
const SLEEP: Duration = Duration::from_millis(2);
/// A witness that wakes up later than this was stalled.
const STALL: Duration = Duration::from_millis(1);

/// What `measure` returns in the first window of at most three in which stalls of all processors
/// together took no longer than `tolerated`; `None` if there is no such window. Then the test must
/// end; that it is inconclusive was told in the file named by `ETHERMETER_INCONCLUSIVE`, or on
/// standard error.
pub fn in_quiet_window<T>(tolerated: Duration, mut measure: impl FnMut() -> T) -> Option<T> {
    let mut stalls = Vec::new();
    for _ in 0..CALLS {
        let (result, stalled) = witnessed(&mut measure);
        if stalled <= tolerated {
            return Some(result);
        }
        stalls.push(stalled);
    }
    tell(&format!("stalls of the machine took {stalls:?}; allowed are {tolerated:?}"));
    None
}

/// The result of `measure`, and how long processors stalled meanwhile.
fn witnessed<T>(measure: impl FnOnce() -> T) -> (T, Duration) {
    let (stop, stalled_ns) = (AtomicBool::new(false), AtomicU64::new(0));
    let result = thread::scope(|scope| {
        // As many as there are processors: one that waits for a processor while another is free
        // would not notice.
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let begin = Instant::now();
                    thread::sleep(SLEEP);
                    let late = begin.elapsed().saturating_sub(SLEEP);
                    if late > STALL {
                        stalled_ns.fetch_add(
                            u64::try_from(late.as_nanos()).unwrap_or(u64::MAX),
                            Ordering::Relaxed,
                        );
                    }
                }
            });
        }
        let stopping = Stopping(&stop);
        let result = measure();
        drop(stopping);
        result
    });
    (result, Duration::from_nanos(stalled_ns.into_inner()))
}

/// Ends the witnesses, also when a law is broken meanwhile.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Say that a test is inconclusive: in the file that `make test-rust` counts and prints, else past
/// the capture of what passing tests print.
fn tell(why: &str) {
    let line = format!("inconclusive: {}: {why}\n", thread::current().name().unwrap_or("a test"));
    let written = match std::env::var_os("ETHERMETER_INCONCLUSIVE") {
        Some(path) => {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            file.and_then(|mut file| file.write_all(line.as_bytes()))
        }
        None => std::io::stderr().write_all(line.as_bytes()),
    };
    written.expect("a place for inconclusive tests");
}
