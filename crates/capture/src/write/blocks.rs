//! Captures as pcapng: one section, one interface with times in nanoseconds, packets with their
//! direction, and what was lost, at the end.
//!
//! ```text
//! section · interface · { packet }* · statistics        each: type, length · body · length
//! ```
//!
//! Source: draft-ietf-opsawg-pcapng-03, sections 4.1 to 4.3 and 4.6.

use crate::file::{Link, MOST_CAPTURED};
use std::io::{Error, ErrorKind, Result, Write};

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
/// Places of a time: nanoseconds.
const PLACES: u8 = 9;
/// Octets of a packet's block beside the packet: type, two lengths, interface, time, lengths of the
/// packet, flags, end of options.
const AROUND_OCTETS: u32 = 44;

/// Octets that [`Blocks::finish`] adds.
pub const END_OCTETS: u64 = 88;

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The host received it, or heard it.
    In,
    /// The host sent it.
    Out,
}

/// A packet to be written.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// When, in nanoseconds since 1970.
    pub time_ns: u64,
    /// Octets that it had.
    pub original: u32,
    /// Its direction.
    pub direction: Direction,
    /// What was kept of it, in pieces that follow each other.
    pub pieces: [&'a [u8]; 3],
}

/// Statistics of an interface at the end of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// When the capture began, in nanoseconds since 1970.
    pub begun_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Packets that passed the filter, the dropped ones among them.
    pub accepted: u64,
    /// Of these, packets that the system had no room for.
    pub dropped: u64,
    /// Packets in the file.
    pub delivered: u64,
}

/// A capture that is being written, of one interface.
#[derive(Debug)]
pub struct Blocks<W> {
    to: W,
    snap: u32,
    octets: u64,
    body: Vec<u8>,
}

fn word(body: &mut Vec<u8>, value: u32) {
    body.extend(value.to_ne_bytes());
}

fn half(body: &mut Vec<u8>, value: u16) {
    body.extend(value.to_ne_bytes());
}

/// A time or a count of 64 bits, as times are written: the high half first, whatever the order of
/// octets.
#[allow(clippy::cast_possible_truncation)] // both halves are cut on purpose
fn time(body: &mut Vec<u8>, value: u64) {
    word(body, (value >> 32) as u32);
    word(body, value as u32);
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) -> Result<()> {
    let octets = u16::try_from(value.len()).map_err(|_| {
        Error::new(ErrorKind::InvalidInput, format!("an option of {} octets", value.len()))
    })?;
    half(body, code);
    half(body, octets);
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
    Ok(())
}

impl<W: Write> Blocks<W> {
    /// Begin a capture on the interface `name`, whose packets begin as `link` says, and of which at
    /// most `snap` octets are kept.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(to: W, name: &str, link: Link, snap: u32) -> Result<Self> {
        let mut new =
            Self { to, snap: snap.min(MOST_CAPTURED), octets: 0, body: Vec::with_capacity(256) };
        word(&mut new.body, BYTE_ORDER);
        half(&mut new.body, 1);
        half(&mut new.body, 0);
        new.body.extend([0xff; 8]); // a section of unknown length
        new.block(SECTION)?;
        half(&mut new.body, link.number());
        half(&mut new.body, 0);
        word(&mut new.body, new.snap);
        option(&mut new.body, 2, name.as_bytes())?;
        option(&mut new.body, 9, &[PLACES])?;
        option(&mut new.body, 0, b"")?;
        new.block(INTERFACE)?;
        Ok(new)
    }

    /// Octets written so far.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// Octets that a packet will take, of which `kept` octets are there.
    #[must_use]
    pub fn octets_of(&self, kept: usize) -> u64 {
        let kept = u32::try_from(kept).unwrap_or(u32::MAX).min(self.snap);
        u64::from(kept.next_multiple_of(4) + AROUND_OCTETS)
    }

    /// Add a packet.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn packet(&mut self, seen: &Seen<'_>) -> Result<()> {
        let there: usize = seen.pieces.iter().map(|piece| piece.len()).sum();
        let kept = u32::try_from(there).unwrap_or(u32::MAX).min(self.snap);
        word(&mut self.body, 0);
        time(&mut self.body, seen.time_ns);
        word(&mut self.body, kept);
        word(&mut self.body, seen.original);
        let begin = self.body.len();
        for piece in seen.pieces {
            let room = kept as usize - (self.body.len() - begin);
            self.body.extend(&piece[..piece.len().min(room)]);
        }
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        let flags: u32 = match seen.direction {
            Direction::In => 1,
            Direction::Out => 2,
        };
        option(&mut self.body, 2, &flags.to_ne_bytes())?;
        option(&mut self.body, 0, b"")?;
        self.block(ENHANCED_PACKET)
    }

    /// Say what was lost, write what is buffered, and give back what it was written to.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self, statistics: &Statistics) -> Result<(W, u64)> {
        word(&mut self.body, 0);
        time(&mut self.body, statistics.ended_ns);
        for (code, at_ns) in [(2, statistics.begun_ns), (3, statistics.ended_ns)] {
            half(&mut self.body, code);
            half(&mut self.body, 8);
            time(&mut self.body, at_ns);
        }
        for (code, count) in
            [(6, statistics.accepted), (7, statistics.dropped), (8, statistics.delivered)]
        {
            option(&mut self.body, code, &count.to_ne_bytes())?;
        }
        option(&mut self.body, 0, b"")?;
        self.block(STATISTICS)?;
        self.to.flush()?;
        Ok((self.to, self.octets))
    }

    /// Write what has gathered as a block.
    fn block(&mut self, kind: u32) -> Result<()> {
        let length = u32::try_from(self.body.len() + 12).expect("a packet and little more");
        for value in [kind, length] {
            self.to.write_all(&value.to_ne_bytes())?;
        }
        self.to.write_all(&self.body)?;
        self.to.write_all(&length.to_ne_bytes())?;
        self.octets += u64::from(length);
        self.body.clear();
        Ok(())
    }
}
