//! The capture of a segment: a thread that writes what happened on the medium as pcapng.
//!
//! ```text
//!   the relay's loop ── full buffers ──► writer ──► file
//!                    ◄── empty ones ───         ──► account, to the program that asked for it
//! ```
//!
//! The loop waits for nothing: without an empty buffer it goes on with the one it has, and what
//! that has no room for is counted as dropped. While the writer waits for its disk, buffers are
//! filled to half before they are handed over, so that they last for long. The capture ends when the program that asked for it
//! says so or is gone, when it has as many frames as were asked for, or with the relay.

mod comments;
#[cfg(test)]
mod tests;
mod writer;

use crate::recorder::{AttemptBuffer, AttemptRecorder};
use ethermeter_net::time::{PS_PER_NS, WallClock};
use ethermeter_net::{Error, Timeline};
use serde::Deserialize;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Duration;
use writer::CaptureThread;
pub use writer::{CaptureCounts, CaptureEndCause};

/// Buffers of a capture: some 14 MB of memory, of which only what is used is taken.
const BUFFERS: usize = 8;
/// After that a buffer is handed over that is not half full, to a writer that has no other.
const HAND_OVER_NS: u64 = 20_000_000;
/// How long the end of the relay waits for the end of a capture.
const END_LIMIT: Duration = Duration::from_secs(1);
/// Octets of a frame that may be kept.
const SNAPS: std::ops::RangeInclusive<u32> = 64..=65_536;

/// What is to be captured.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaptureOptions {
    /// The segment, by its number in the plan.
    #[serde(default)]
    pub segment: usize,
    /// Names of its stations, for the interfaces of the file.
    pub names: Vec<String>,
    /// Octets that are kept of each frame.
    pub snap_octets: u32,
    /// The largest file; what comes later is counted only.
    pub most_octets: u64,
    /// Frames, collided ones included, after which the capture ends.
    #[serde(default)]
    pub most_frames: Option<u64>,
}

/// A capture at work, as the relay's loop has it.
pub(crate) struct MediumCapture {
    full: SyncSender<AttemptBuffer>,
    cleared: Receiver<AttemptBuffer>,
    empty: Vec<AttemptBuffer>,
    /// The one that no medium has at present.
    buffer: Option<AttemptBuffer>,
    is_over: Arc<AtomicBool>,
    ended: Receiver<()>,
    begun_ns: u64,
    snap: usize,
    handed_over_ns: u64,
}

impl CaptureOptions {
    /// What cannot be, of a segment with so many interfaces.
    #[must_use]
    pub fn fault(&self, ends: usize) -> Option<String> {
        if self.names.len() > ends || self.names.is_empty() {
            return Some(format!("names: must be 1 to {ends}, got {}", self.names.len()));
        }
        if !SNAPS.contains(&self.snap_octets) {
            let (least, most) = (SNAPS.start(), SNAPS.end());
            let got = self.snap_octets;
            return Some(format!("snap_octets: must be from {least} to {most}, got {got}"));
        }
        None
    }
}

impl MediumCapture {
    /// Begin to write into a file. The account goes to `client`, whose end ends the capture.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn begin(
        options: CaptureOptions,
        file: File,
        client: UnixStream,
        time: impl Timeline + Send + 'static,
    ) -> Result<Self, Error> {
        let (full, filled) = sync_channel(BUFFERS);
        let (to_clear, cleared) = channel();
        let stations = options.names.len();
        let empty = (1..BUFFERS).map(|_| AttemptBuffer::new(stations)).collect();
        let begun_ns = time.now_ns();
        let begun_wall_ns = WallClock::compared(&time).wall_ns(begun_ns);
        let (is_over, (tell_end, ended)) = (Arc::new(AtomicBool::new(false)), channel());
        let snap = options.snap_octets as usize;
        let over = Arc::clone(&is_over);
        std::thread::Builder::new()
            .name("capture".into())
            .spawn(move || {
                CaptureThread::run(
                    &options,
                    file,
                    client,
                    (begun_wall_ns, &time),
                    (&filled, &to_clear),
                    &over,
                );
                let _ = tell_end.send(()); // the relay may have ended before
            })
            .map_err(|source| Error::System { doing: "starting a capture", source })?;
        let buffer = Some(AttemptBuffer::new(stations));
        let handed_over_ns = begun_ns;
        Ok(Self { full, cleared, empty, buffer, is_over, ended, begun_ns, snap, handed_over_ns })
    }

    /// Whether it is to end.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// What keeps the attempts of a medium whose time 0 is `began_ns`.
    pub fn recorder(&mut self, began_ns: u64) -> Option<AttemptRecorder> {
        let began = picoseconds(began_ns, self.begun_ns);
        Some(AttemptRecorder::new(began, self.snap, self.buffer.take()?))
    }

    /// A medium has ended, or its capture.
    pub fn take_back(&mut self, recorder: AttemptRecorder) {
        self.buffer = Some(recorder.buffer);
    }

    /// Hand a buffer over for an empty one, if it is time for it and there is one.
    pub fn exchange(&mut self, buffer: &mut AttemptBuffer, now_ns: u64) {
        if buffer.is_empty() {
            return;
        }
        self.empty.extend(self.cleared.try_iter());
        let is_writer_idle = self.empty.len() == BUFFERS - 1;
        let is_time = is_writer_idle && now_ns > self.handed_over_ns + HAND_OVER_NS;
        if (buffer.is_half_full() || is_time)
            && let Some(empty) = self.empty.pop()
        {
            self.handed_over_ns = now_ns;
            // There is room for every buffer. A writer that has ended wants none.
            let _ = self.full.try_send(std::mem::replace(buffer, empty));
        }
    }

    /// Hand over what there is; the writer ends after it.
    pub fn end(self) -> CaptureEnd {
        let Self { full, buffer, ended, .. } = self;
        let _ = buffer.map(|buffer| full.try_send(buffer));
        CaptureEnd(ended)
    }
}

/// The end of a capture, whose writer may still be at work.
pub(crate) struct CaptureEnd(Receiver<()>);

impl CaptureEnd {
    /// Wait for the writer, but not for long.
    pub fn wait(&self) {
        let _ = self.0.recv_timeout(END_LIMIT);
    }
}

/// A host time in picoseconds since another.
fn picoseconds(at_ns: u64, since_ns: u64) -> i64 {
    at_ns.wrapping_sub(since_ns).cast_signed().saturating_mul(PS_PER_NS.cast_signed())
}
