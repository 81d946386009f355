//! The thread that writes a capture.

use super::CaptureOptions;
use super::comments::{self, Collision};
use crate::recorder::{AttemptBuffer, AttemptOutcome, CapturedAttempt};
use ethermeter_capture::LinkType;
use ethermeter_capture::file::LinkErrors;
use ethermeter_capture::write::blocks::{self, BlockWriter, InterfaceStatistics, PacketDirection};
use ethermeter_ethernet::frame::{FCS, SHORTEST};
use ethermeter_net::Timeline;
use ethermeter_net::time::{PS_PER_NS, WallClock};
use serde::Serialize;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How long it waits for a buffer before it looks for the client.
const ROUND: Duration = Duration::from_millis(20);
/// How long the client may take to read the account.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
/// Octets that are written at once.
const PIECE: usize = 1 << 18;

/// Why a capture ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CaptureEndCause {
    /// It was asked to.
    Requested,
    /// It has as many frames as were asked for.
    Frames,
    /// The relay ended.
    #[default]
    Relay,
}

/// Account of a capture.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureCounts {
    /// Frames in the file, collided ones included.
    frames: u64,
    /// Attempts that collided, on the line or logically.
    collisions: u64,
    /// Frames that were left out when the file had its largest size.
    beyond_size: u64,
    /// Frames that there was no room for in the buffers.
    dropped: u64,
    /// Octets of the file.
    file_octets: u64,
    /// When it began, in nanoseconds since 1970.
    begun_ns: u64,
    /// When it ended, likewise.
    ended_ns: u64,
    /// Why it ended.
    ended: CaptureEndCause,
}

/// What the thread has.
pub(super) struct CaptureThread<'o> {
    options: &'o CaptureOptions,
    blocks: BlockWriter<BufWriter<File>>,
    begun_wall_ns: u64,
    account: CaptureCounts,
    /// Of each station what is in the file, and what was dropped.
    stations: Vec<(u64, u64)>,
    /// The last collision, and its attempts, with their octets, that are not yet written.
    collision: Collision,
    collided: Vec<(CapturedAttempt, Vec<u8>)>,
    /// Where the octets of each attempt begin in the buffer at hand, in the order of starts.
    order: Vec<(usize, usize)>,
    comment: String,
}

impl<'o> CaptureThread<'o> {
    /// Write what comes until the loop of the relay hands over no more, and tell the client what
    /// was captured.
    pub fn run(
        options: &'o CaptureOptions,
        file: File,
        mut client: UnixStream,
        (begun_wall_ns, time): (u64, &impl Timeline),
        (filled, cleared): (&Receiver<AttemptBuffer>, &Sender<AttemptBuffer>),
        is_over: &AtomicBool,
    ) {
        let answer = Self::begin(options, file, begun_wall_ns).and_then(|mut writer| {
            writeln!(client, "{}", json!({}))?;
            writer.follow(&mut client, (filled, cleared), is_over)?;
            writer.finish(WallClock::compared(time).wall_ns(time.now_ns()))
        });
        is_over.store(true, Ordering::Relaxed);
        let answer = match answer {
            Ok(account) => json!(account),
            Err(error) => json!({"error": format!("writing a capture: {error}")}),
        };
        // A client that has gone wants no account.
        let _ = client.set_nonblocking(false);
        let _ = client.set_write_timeout(Some(ANSWER_LIMIT));
        let _ = writeln!(client, "{answer}");
    }

    fn begin(options: &'o CaptureOptions, file: File, begun_wall_ns: u64) -> io::Result<Self> {
        let names: Vec<&str> = options.names.iter().map(String::as_str).collect();
        let to = BufWriter::with_capacity(PIECE, file);
        let mut blocks = BlockWriter::new(to, &names, LinkType::Ethernet, options.snap_octets)?;
        blocks.flush()?;
        Ok(Self {
            options,
            blocks,
            begun_wall_ns,
            account: CaptureCounts { begun_ns: begun_wall_ns, ..CaptureCounts::default() },
            stations: vec![(0, 0); names.len()],
            collision: Collision::default(),
            collided: Vec::new(),
            order: Vec::new(),
            comment: String::new(),
        })
    }

    fn follow(
        &mut self,
        client: &mut UnixStream,
        (filled, cleared): (&Receiver<AttemptBuffer>, &Sender<AttemptBuffer>),
        is_over: &AtomicBool,
    ) -> io::Result<()> {
        loop {
            match filled.recv_timeout(ROUND) {
                Ok(mut buffer) => {
                    self.write(&buffer)?;
                    self.blocks.flush()?;
                    buffer.clear();
                    let _ = cleared.send(buffer); // the loop of the relay may have ended
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if self.account.ended == CaptureEndCause::Relay && has_ended(client) {
                self.account.ended = CaptureEndCause::Requested;
            }
            if self.account.ended != CaptureEndCause::Relay {
                is_over.store(true, Ordering::Relaxed);
            }
        }
    }

    fn write(&mut self, buffer: &AttemptBuffer) -> io::Result<()> {
        for (station, dropped) in self.stations.iter_mut().zip(&buffer.dropped) {
            station.1 += dropped;
            self.account.dropped += dropped;
        }
        let mut at = 0;
        self.order.clear();
        for (number, attempt) in buffer.attempts.iter().enumerate() {
            self.order.push((number, at));
            at += attempt.kept as usize;
        }
        let attempts = &buffer.attempts;
        self.order.sort_by_key(|&(number, _)| attempts[number].start);
        for at in 0..self.order.len() {
            let (number, begin) = self.order[at];
            let attempt = &attempts[number];
            self.take(attempt, &buffer.octets[begin..begin + attempt.kept as usize])?;
        }
        Ok(())
    }

    /// Take an attempt. Those on the line come in the order of their starts; those of a collision
    /// are written when it is known that no more belong to it.
    fn take(&mut self, attempt: &CapturedAttempt, octets: &[u8]) -> io::Result<()> {
        if attempt.outcome == AttemptOutcome::Logical {
            return self.add(attempt, octets); // it has nothing to do with those on the line
        }
        if !(self.collided.is_empty() || self.collision.takes(attempt)) {
            self.end_collision()?;
        }
        if attempt.outcome == AttemptOutcome::Sent {
            self.end_collision()?;
            return self.add(attempt, octets);
        }
        if self.collided.is_empty() {
            self.collision.begin(attempt);
        }
        self.collided.push((*attempt, octets.to_vec()));
        Ok(())
    }

    fn end_collision(&mut self) -> io::Result<()> {
        let collided = std::mem::take(&mut self.collided);
        collided.iter().try_for_each(|(attempt, octets)| self.add(attempt, octets))
    }

    fn add(&mut self, attempt: &CapturedAttempt, octets: &[u8]) -> io::Result<()> {
        let account = &mut self.account;
        if account.ended == CaptureEndCause::Frames {
            return Ok(());
        }
        comments::write(attempt, &self.collision, &mut self.comment);
        let room = self.blocks.octets_of(octets.len(), &self.comment) + self.blocks.end_octets();
        if account.beyond_size > 0 || self.blocks.octets() + room > self.options.most_octets {
            account.beyond_size += 1;
            return Ok(());
        }
        account.frames += 1;
        account.collisions += u64::from(attempt.outcome.is_collision());
        if self.options.most_frames.is_some_and(|most| account.frames >= most) {
            account.ended = CaptureEndCause::Frames;
        }
        if let Some(station) = self.stations.get_mut(attempt.station as usize) {
            station.0 += 1;
        }
        let since_ns = attempt.start.div_euclid(PS_PER_NS.cast_signed());
        self.blocks.packet(&blocks::CapturedPacket {
            interface: attempt.station,
            time_ns: self.begun_wall_ns.wrapping_add_signed(since_ns),
            original: attempt.sent,
            direction: PacketDirection::Out,
            chunks: [octets, b"", b""],
            errors: errors(attempt),
            comment: &self.comment,
        })
    }

    fn finish(mut self, ended_ns: u64) -> io::Result<CaptureCounts> {
        self.end_collision()?;
        let begun_ns = self.begun_wall_ns;
        let statistics = |&(delivered, dropped): &(u64, u64)| InterfaceStatistics {
            begun_ns,
            ended_ns,
            accepted: delivered + dropped,
            dropped,
            delivered,
        };
        let statistics: Vec<InterfaceStatistics> = self.stations.iter().map(statistics).collect();
        self.account.ended_ns = ended_ns;
        let (_, file_octets) = self.blocks.finish(&statistics)?;
        Ok(CaptureCounts { file_octets, ..self.account })
    }
}

/// What a receiver would find wrong with a frame.
fn errors(attempt: &CapturedAttempt) -> LinkErrors {
    let is_short = u64::from(attempt.sent) + FCS.0 < SHORTEST.0;
    let short = if is_short { LinkErrors::SHORT } else { LinkErrors::default() };
    match attempt.outcome {
        AttemptOutcome::Sent => LinkErrors::default(),
        AttemptOutcome::Damaged => LinkErrors::CHECK,
        AttemptOutcome::Collided { .. } => LinkErrors::CHECK.and(short),
        AttemptOutcome::Logical => LinkErrors::SHORT,
    }
}

/// Whether the client wants the capture to end, or is gone.
fn has_ended(client: &mut UnixStream) -> bool {
    let mut block = [0; 64];
    match client.read(&mut block) {
        Ok(octets) => octets == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
    }
}
