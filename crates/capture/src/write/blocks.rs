//! Captures as pcapng: one section, interfaces with times in nanoseconds, packets with their
//! direction, errors of the link and a comment, and what each interface lost, at the end.
//!
//! ```text
//! section · interface+ · { packet }* · statistics+      each: type, length · body · length
//! ```
//!
//! Source: draft-ietf-opsawg-pcapng-03, sections 4.1 to 4.3 and 4.6.

use crate::file::{LinkErrors, LinkType, MOST_CAPTURED};
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

/// Octets that [`BlockWriter::finish`] adds for each interface.
pub const END_OCTETS: u64 = 88;

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDirection {
    /// The host received it, or heard it.
    In,
    /// The host sent it.
    Out,
}

/// A packet to be written.
#[derive(Clone, Copy, Debug)]
pub struct CapturedPacket<'a> {
    /// At which interface, by its number from 0.
    pub interface: u32,
    /// When, in nanoseconds since 1970.
    pub time_ns: u64,
    /// Octets that it had.
    pub original: u32,
    /// Direction of the packet.
    pub direction: PacketDirection,
    /// What was kept of it, in pieces that follow each other.
    pub chunks: [&'a [u8]; 3],
    /// What was wrong with it on the link.
    pub errors: LinkErrors,
    /// A comment; none if empty.
    pub comment: &'a str,
}

/// Statistics of an interface at the end of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceStatistics {
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

/// A capture that is being written.
#[derive(Debug)]
pub struct BlockWriter<W> {
    to: W,
    interfaces: u32,
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

impl<W: Write> BlockWriter<W> {
    /// Begin a capture on the interfaces of some names, whose packets begin as `link` says, and of
    /// which at most `snap` octets are kept.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(to: W, names: &[&str], link: LinkType, snap: u32) -> Result<Self> {
        let (snap, body) = (snap.min(MOST_CAPTURED), Vec::with_capacity(256));
        let mut new = Self { to, interfaces: 0, snap, octets: 0, body };
        word(&mut new.body, BYTE_ORDER);
        half(&mut new.body, 1);
        half(&mut new.body, 0);
        new.body.extend([0xff; 8]); // a section of unknown length
        new.block(SECTION)?;
        for name in names {
            half(&mut new.body, link.number());
            half(&mut new.body, 0);
            word(&mut new.body, new.snap);
            option(&mut new.body, 2, name.as_bytes())?;
            option(&mut new.body, 9, &[PLACES])?;
            option(&mut new.body, 0, b"")?;
            new.block(INTERFACE)?;
            new.interfaces += 1;
        }
        Ok(new)
    }

    /// Octets written so far.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// Octets that a packet will take, of which `kept` octets are there, with its comment.
    #[must_use]
    pub fn octets_of(&self, kept: usize, comment: &str) -> u64 {
        let kept = u32::try_from(kept).unwrap_or(u32::MAX).min(self.snap);
        let comment = if comment.is_empty() { 0 } else { 4 + comment.len().next_multiple_of(4) };
        u64::from(kept.next_multiple_of(4) + AROUND_OCTETS) + comment as u64
    }

    /// Octets that [`BlockWriter::finish`] will add.
    #[must_use]
    pub fn end_octets(&self) -> u64 {
        END_OCTETS * u64::from(self.interfaces)
    }

    /// Hand over what has been written so far.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        self.to.flush()
    }

    /// Add a packet.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn packet(&mut self, packet: &CapturedPacket<'_>) -> Result<()> {
        let there: usize = packet.chunks.iter().map(|chunk| chunk.len()).sum();
        let kept = u32::try_from(there).unwrap_or(u32::MAX).min(self.snap);
        word(&mut self.body, packet.interface);
        time(&mut self.body, packet.time_ns);
        word(&mut self.body, kept);
        word(&mut self.body, packet.original);
        let begin = self.body.len();
        for chunk in packet.chunks {
            let room = kept as usize - (self.body.len() - begin);
            self.body.extend(&chunk[..chunk.len().min(room)]);
        }
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        let direction: u32 = match packet.direction {
            PacketDirection::In => 1,
            PacketDirection::Out => 2,
        };
        if !packet.comment.is_empty() {
            option(&mut self.body, 1, packet.comment.as_bytes())?;
        }
        option(&mut self.body, 2, &(direction | packet.errors.flags()).to_ne_bytes())?;
        option(&mut self.body, 0, b"")?;
        self.block(ENHANCED_PACKET)
    }

    /// Say what each interface lost, write what is buffered, and give back what it was written to.
    ///
    /// # Errors
    /// If it cannot be written.
    ///
    /// # Panics
    /// If there are not as many statistics as interfaces.
    pub fn finish(mut self, statistics: &[InterfaceStatistics]) -> Result<(W, u64)> {
        assert_eq!(statistics.len(), self.interfaces as usize, "statistics of each interface");
        for (number, of) in (0..).zip(statistics) {
            word(&mut self.body, number);
            time(&mut self.body, of.ended_ns);
            for (code, at_ns) in [(2, of.begun_ns), (3, of.ended_ns)] {
                half(&mut self.body, code);
                half(&mut self.body, 8);
                time(&mut self.body, at_ns);
            }
            for (code, count) in [(6, of.accepted), (7, of.dropped), (8, of.delivered)] {
                option(&mut self.body, code, &count.to_ne_bytes())?;
            }
            option(&mut self.body, 0, b"")?;
            self.block(STATISTICS)?;
        }
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
