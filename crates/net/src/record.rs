//! Recording: every frame of an interface into a capture, on a thread of its own, until it is asked
//! to stop.
//!
//! What waits to be written is in the ring of the [`Tap`], whose memory is all that a recording
//! takes. A capture that is written too slowly fills it, and the kernel counts what it then drops.
//! A capture has a largest size; what comes after that is counted, too: frames accepted = written +
//! beyond the size + dropped.

use crate::Error;
use crate::port::tap::{Tap, TapOptions, Tapped};
use crate::time::Timeline;
use ethermeter_capture::LinkType;
use ethermeter_capture::file::LinkErrors;
use ethermeter_capture::write::blocks::{
    BlockWriter, CapturedPacket, InterfaceStatistics, PacketDirection,
};
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Octets that are written at once.
const PIECE: usize = 1 << 18;
/// How long the recorder waits before it looks whether it shall stop.
const ROUND_MS: u16 = 50;
/// How long frames that were in the ring at the end are waited for; they are handed over after a
/// fiftieth of that.
const LAST_NS: u64 = 1_000_000_000;
const LAST_ROUND_MS: u16 = 5;

/// Account of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordingCounts {
    /// Frames in the capture.
    pub frames: u64,
    /// Frames that had to be left out when it had reached its largest size.
    pub beyond_size: u64,
    /// Frames that the kernel had no room for in the ring.
    pub dropped: u64,
    /// Octets of the capture.
    pub file_octets: u64,
    /// When it began, in nanoseconds since 1970.
    pub begun_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
}

/// A recording at work; it ends when it is dropped.
#[derive(Debug)]
pub struct Recording {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<RecordingCounts, Error>>>,
}

fn writing(source: io::Error) -> Error {
    Error::System { doing: "writing a capture", source }
}

impl Recording {
    /// Record into `to`, at most `most_octets` octets. Returns when frames are being held. `first`
    /// is done first on the recorder's thread: it may move that into a network namespace.
    ///
    /// # Errors
    /// If an option is out of range, or the system refuses.
    pub fn begin(
        options: TapOptions,
        to: Box<dyn Write + Send>,
        most_octets: u64,
        time: impl Timeline + Send + 'static,
        first: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<Self, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (opened_sender, opened_receiver) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("recorder".into())
            .spawn(move || {
                let opened = first()
                    .map_err(Error::system("entering a network namespace"))
                    .and_then(|()| RecordingThread::open(&options, to, most_octets, time));
                match opened {
                    Ok(recorder) => {
                        let _ = opened_sender.send(());
                        recorder.run(&stopped)
                    }
                    Err(error) => Err(error),
                }
            })
            .map_err(Error::system("starting a recorder"))?;
        let mut recording = Self { stop, thread: Some(thread) };
        if opened_receiver.recv().is_err() {
            recording.join()?;
        }
        Ok(recording)
    }

    /// Ask it to stop, and do not wait for it.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Stop, write what is in the ring, and return the outcome.
    ///
    /// # Errors
    /// If the capture could not be written; it ends there.
    pub fn finish(mut self) -> Result<RecordingCounts, Error> {
        self.join()
    }

    fn join(&mut self) -> Result<RecordingCounts, Error> {
        self.stop();
        let panicked = || writing(io::Error::other("the recorder has panicked"));
        self.thread.take().map_or_else(
            || Ok(RecordingCounts::default()),
            |thread| thread.join().map_err(|_| panicked())?,
        )
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // A recording that is dropped has no account.
        let _ = self.join();
    }
}

/// What the thread of a recording has.
struct RecordingThread<T> {
    time: T,
    tap: Tap,
    capture: BlockWriter<BufWriter<Box<dyn Write + Send>>>,
    most_octets: u64,
    account: RecordingCounts,
}

impl<T: Timeline> RecordingThread<T> {
    fn open(
        options: &TapOptions,
        to: Box<dyn Write + Send>,
        most_octets: u64,
        time: T,
    ) -> Result<Self, Error> {
        let begun_ns = time.wall_ns(); // before the first frame
        let tap = Tap::open(options)?;
        let to = BufWriter::with_capacity(PIECE, to);
        let capture =
            BlockWriter::new(to, &[&options.interface], LinkType::Ethernet, options.snap_octets)
                .map_err(writing)?;
        let account = RecordingCounts { begun_ns, ..RecordingCounts::default() };
        Ok(Self { time, tap, capture, most_octets, account })
    }

    fn run(mut self, stop: &AtomicBool) -> Result<RecordingCounts, Error> {
        let mut frames_read = 0;
        while !stop.load(Ordering::Relaxed) {
            frames_read += self.take()?;
            self.tap.wait(ROUND_MS);
        }
        self.tap.shut()?;
        self.account.ended_ns = self.time.wall_ns();
        let until_ns = self.time.now_ns() + LAST_NS;
        let counters = loop {
            frames_read += self.take()?;
            let counters = self.tap.counters()?;
            if frames_read + counters.dropped >= counters.accepted || self.time.now_ns() > until_ns
            {
                break counters;
            }
            self.tap.wait(LAST_ROUND_MS);
        };
        // Whatever was not handed over counts as dropped.
        self.account.dropped = counters.accepted.saturating_sub(frames_read);
        let statistics = InterfaceStatistics {
            begun_ns: self.account.begun_ns,
            ended_ns: self.account.ended_ns,
            accepted: counters.accepted,
            dropped: self.account.dropped,
            delivered: self.account.frames,
        };
        let (_, file_octets) = self.capture.finish(&[statistics]).map_err(writing)?;
        Ok(RecordingCounts { file_octets, ..self.account })
    }

    fn take(&mut self) -> Result<u64, Error> {
        let Self { tap, capture, most_octets, account, .. } = self;
        tap.take(|frame| keep(frame, capture, *most_octets, account))
    }
}

/// Write a frame, unless the capture has its largest size.
fn keep<W: Write>(
    frame: &Tapped<'_>,
    capture: &mut BlockWriter<W>,
    most_octets: u64,
    account: &mut RecordingCounts,
) -> Result<(), Error> {
    let tag = frame.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
    let kept = frame.head.len() + tag.len() + frame.rest.len();
    // Once one frame was left out, so are all others: a capture has no holes of its own.
    if account.beyond_size > 0
        || capture.octets() + capture.octets_of(kept, "") + capture.end_octets() > most_octets
    {
        account.beyond_size += 1;
        return Ok(());
    }
    account.frames += 1;
    let direction = if frame.is_sent { PacketDirection::Out } else { PacketDirection::In };
    let chunks = [frame.head, tag, frame.rest];
    let packet = CapturedPacket {
        interface: 0,
        time_ns: frame.stamped_wall_ns,
        original: frame.octets,
        direction,
        chunks,
        errors: LinkErrors::default(),
        comment: "",
    };
    capture.packet(&packet).map_err(writing)
}
