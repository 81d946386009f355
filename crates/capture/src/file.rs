//! A capture file as packets: pcap (of either byte order, microseconds or nanoseconds, of version
//! 2.4 and those before) and pcapng.
//!
//! ```text
//! pcap     header (24 octets) · { time, captured, original (16 octets) · captured octets }*
//! pcapng   { type, length · body · length }*     sections, interfaces, packets; others are passed over
//! ```
//!
//! Before version 2.3 the captured length comes after the original one, and in version 2.3 it may.
//!
//! Sources: draft-ietf-opsawg-pcap-05, draft-ietf-opsawg-pcapng-03, the registry of link types of
//! the tcpdump group, and libpcap (sf-pcap.c) for the versions before 2.4.

mod errors;
mod interface;

use interface::{InterfaceDescription, Resolution};
use std::io::{ErrorKind, Read};
use thiserror::Error;

pub use errors::LinkErrors;
pub use interface::{CaptureDrops, LinkType};

/// Octets of the largest packet that is read: libpcap's own bound.
pub const MOST_CAPTURED: u32 = 262_144;
/// Octets of the largest block of a pcapng file, of any type.
pub const MOST_BLOCK: u32 = 16 << 20;
/// Interfaces that a section may describe.
pub const MOST_INTERFACES: usize = 65_536;
/// Octets of the longest name of an interface that is kept.
const LONGEST_NAME: usize = 64;

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;

/// Why a file, or the rest of it, cannot be read.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// It does not begin like a capture.
    #[error("not a capture: begins with {0:02x?}; expected pcap or pcapng")]
    Foreign(Vec<u8>),
    /// It ends within a packet or block.
    #[error("ends at octet {at}, within a {what}; {packets} packets before it are whole")]
    Truncated {
        /// Octets that there are.
        at: u64,
        /// What was not whole.
        what: &'static str,
        /// Packets before it.
        packets: u64,
    },
    /// A number in it cannot be.
    #[error(
        "at octet {at}: {what} {value}; expected {allowed}; {packets} packets before it are whole"
    )]
    Corrupt {
        /// Where the packet or block begins that has it.
        at: u64,
        /// What the number is.
        what: &'static str,
        /// What it is.
        value: u64,
        /// What it may be.
        allowed: String,
        /// Packets before it.
        packets: u64,
    },
    /// The file cannot be read.
    #[error("cannot be read at octet {at}: {source}")]
    System {
        /// How far it was read.
        at: u64,
        /// Error of the system.
        source: std::io::Error,
    },
}

/// A packet as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When, in nanoseconds since 1970; `None` if the file has no time.
    pub time_ns: Option<i64>,
    /// What it begins with.
    pub link: LinkType,
    /// Which of the section's interfaces.
    pub interface: u32,
    /// Octets that it had.
    pub original: u32,
    /// Octets of it that were kept.
    pub data: &'a [u8],
    /// What was wrong with it on the link, as far as the file has it.
    pub errors: LinkErrors,
    /// Its comment, if the file has one of plain text; else empty.
    pub comment: &'a str,
}

#[derive(Clone, Copy, Debug)]
enum FileFormat {
    Classic { interface: InterfaceDescription, lengths: LengthOrder },
    Blocks,
}

/// Which of the two lengths of a packet comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LengthOrder {
    CapturedFirst,
    OriginalFirst,
    /// The captured length, which is the smaller one, may be either.
    Either,
}

impl LengthOrder {
    /// Order of the lengths in a version. The second of 543 is of a tcpdump for DG/UX.
    fn of((major, minor): (u16, u16)) -> Self {
        match (major, minor) {
            (2, 0..=2) | (543, _) => Self::OriginalFirst,
            (2, 3) => Self::Either,
            _ => Self::CapturedFirst,
        }
    }

    /// Captured and original length.
    fn order(self, first: u32, second: u32) -> (u32, u32) {
        match self {
            Self::CapturedFirst => (first, second),
            Self::OriginalFirst => (second, first),
            Self::Either => (first.min(second), first.max(second)),
        }
    }
}

/// What is read of a capture in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureItem<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Something else, such as a description of an interface.
    Other,
    /// The end of the file.
    End,
}

/// A capture that is being read.
#[derive(Debug)]
pub struct CaptureReader<R> {
    reader: R,
    kind: FileFormat,
    is_big: bool,
    interfaces: Vec<InterfaceDescription>,
    /// Their names; empty where the file has none.
    names: Vec<String>,
    /// Of the sections before.
    dropped: CaptureDrops,
    /// Octets read of the current packet or block.
    buffer: Vec<u8>,
    /// Octets read.
    at: u64,
    packets: u64,
}

impl<R: Read> CaptureReader<R> {
    /// Begin to read. Hand in a reader that buffers.
    ///
    /// # Errors
    /// If it is no capture, or its header is not whole.
    pub fn new(reader: R) -> Result<Self, CaptureError> {
        let mut new = Self {
            reader,
            kind: FileFormat::Blocks,
            is_big: false,
            interfaces: Vec::new(),
            names: Vec::new(),
            dropped: CaptureDrops::default(),
            buffer: Vec::new(),
            at: 0,
            packets: 0,
        };
        let got = new.fill(4)?;
        if got < 4 {
            return Err(CaptureError::Foreign(new.buffer[..got].to_vec()));
        }
        let magic = [new.buffer[0], new.buffer[1], new.buffer[2], new.buffer[3]];
        let (is_big, exponent) = match magic {
            [0x0a, 0x0d, 0x0d, 0x0a] => {
                new.section()?;
                return Ok(new);
            }
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, 6),
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, 6),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, 9),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, 9),
            _ => return Err(CaptureError::Foreign(magic.to_vec())),
        };
        new.is_big = is_big;
        new.require(20, "header")?;
        let lengths = LengthOrder::of((new.u16_at(0), new.u16_at(2)));
        let snap = new.u32_at(12);
        // The upper half has flags of the check sequence.
        let link = LinkType::of((new.u32_at(16) & 0xffff) as u16);
        let interface = InterfaceDescription {
            link,
            snap,
            resolution: Resolution::Decimal(exponent),
            offset_s: 0,
            speed_bps: None,
            dropped: CaptureDrops::default(),
        };
        new.kind = FileFormat::Classic { interface, lengths };
        Ok(new)
    }

    /// Packets read so far.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Octets read so far.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.at
    }

    /// Packets that the capture reports as lost so far; an interface may report it
    /// more than once, and the last counts.
    #[must_use]
    pub fn dropped(&self) -> CaptureDrops {
        self.interfaces.iter().fold(self.dropped, |sum, interface| sum.and(interface.dropped))
    }

    /// The rate of the link, if the file has it and all of its interfaces agree.
    #[must_use]
    pub fn link_bps(&self) -> Option<u64> {
        let first = self.interfaces.first()?.speed_bps;
        first.filter(|_| self.interfaces.iter().all(|interface| interface.speed_bps == first))
    }

    /// The names of the section's interfaces; empty where the file has none.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The next packet; nothing at the end of the file.
    ///
    /// # Errors
    /// If the file ends within a packet, or a number in it cannot be. What comes after is not read.
    pub fn read_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        loop {
            match self.step()? {
                ReadStep::Packet(location) => return Ok(Some(self.packet_of(location))),
                ReadStep::Other => {}
                ReadStep::End => return Ok(None),
            }
        }
    }

    /// The next packet, or something else: a file may hold many things without a packet between.
    ///
    /// # Errors
    /// As [`CaptureReader::read_packet`].
    pub fn read_item(&mut self) -> Result<CaptureItem<'_>, CaptureError> {
        Ok(match self.step()? {
            ReadStep::Packet(location) => CaptureItem::Packet(self.packet_of(location)),
            ReadStep::Other => CaptureItem::Other,
            ReadStep::End => CaptureItem::End,
        })
    }

    fn step(&mut self) -> Result<ReadStep, CaptureError> {
        match self.kind {
            FileFormat::Classic { interface, lengths } => self.classic(interface, lengths),
            FileFormat::Blocks => self.block(),
        }
    }

    fn packet_of(&self, location: PacketLocation) -> Packet<'_> {
        let PacketLocation { time_ns, link, interface, original, from, captured, errors, .. } =
            location;
        let data = &self.buffer[from..from + captured];
        let (comment, octets) = location.comment;
        let comment = std::str::from_utf8(&self.buffer[comment..comment + octets]).unwrap_or("");
        Packet { time_ns, link, interface, original, data, errors, comment }
    }

    fn classic(
        &mut self,
        interface: InterfaceDescription,
        lengths: LengthOrder,
    ) -> Result<ReadStep, CaptureError> {
        let begin = self.at;
        match self.fill(16)? {
            0 => return Ok(ReadStep::End),
            16 => {}
            _ => return Err(self.truncated("packet's header")),
        }
        let (seconds, fraction) = (self.u32_at(0), self.u32_at(4));
        let (captured, original) = lengths.order(self.u32_at(8), self.u32_at(12));
        self.check(begin, "captured length", captured, MOST_CAPTURED)?;
        self.require(captured as usize, "packet")?;
        self.packets += 1;
        let Resolution::Decimal(exponent) = interface.resolution else {
            unreachable!("only blocks have others")
        };
        let time_ns = Some(
            i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * 10i64.pow(9 - exponent),
        );
        Ok(ReadStep::Packet(PacketLocation {
            time_ns,
            link: interface.link,
            interface: 0,
            original,
            from: 0,
            captured: captured as usize,
            errors: LinkErrors::default(),
            comment: (0, 0),
        }))
    }

    fn block(&mut self) -> Result<ReadStep, CaptureError> {
        let begin = self.at;
        match self.fill(4)? {
            0 => return Ok(ReadStep::End),
            4 => {}
            _ => return Err(self.truncated("block")),
        }
        // A section's type reads the same in both orders, and determines which one follows.
        if self.buffer[..4] == SECTION.to_be_bytes() {
            self.section()?;
            return Ok(ReadStep::Other);
        }
        let kind = self.u32_at(0);
        self.require(4, "block")?;
        let length = self.u32_at(0);
        let body = self.body_of(begin, length)?;
        match kind {
            INTERFACE | OLD_PACKET | SIMPLE_PACKET | STATISTICS | ENHANCED_PACKET => {
                self.require(body + 4, "block")?;
            }
            _ => {
                self.skip(body as u64 + 4)?;
                return Ok(ReadStep::Other);
            }
        }
        let closing = self.u32_at(body);
        if closing != length {
            return Err(self.corrupt(
                begin,
                "length after a block",
                closing,
                format!("{length}, as before it"),
            ));
        }
        let location = match kind {
            INTERFACE => {
                self.describe(begin, body)?;
                return Ok(ReadStep::Other);
            }
            STATISTICS => {
                self.account(begin, body)?;
                return Ok(ReadStep::Other);
            }
            SIMPLE_PACKET => self.simple(begin, body)?,
            _ => self.stamped(begin, body, kind == OLD_PACKET)?,
        };
        self.packets += 1;
        let options = location.from + location.captured.next_multiple_of(4);
        let (errors, comment) = match kind {
            ENHANCED_PACKET => self.errors_and_comment(begin, options, body),
            _ => (LinkErrors::default(), (0, 0)),
        };
        Ok(ReadStep::Packet(PacketLocation { errors, comment, ..location }))
    }

    /// The rest of a section's first block. Its type has been read.
    fn section(&mut self) -> Result<(), CaptureError> {
        let begin = self.at - 4;
        self.require(8, "section")?;
        let order = [self.buffer[4], self.buffer[5], self.buffer[6], self.buffer[7]];
        self.is_big = order == BYTE_ORDER.to_be_bytes();
        if !self.is_big && order != BYTE_ORDER.to_le_bytes() {
            let allowed = "one of the two byte orders of 1A2B3C4D".to_owned();
            return Err(self.corrupt(begin, "byte order", u32::from_be_bytes(order), allowed));
        }
        let length = self.u32_at(0);
        let body = self.body_of(begin, length)?;
        if body < 16 {
            return Err(self.corrupt(
                begin,
                "length of a section's block",
                length,
                "at least 28".to_owned(),
            ));
        }
        self.dropped = self.dropped();
        self.interfaces.clear();
        self.names.clear();
        self.skip(body as u64 - 4 + 4)
    }

    fn describe(&mut self, begin: u64, body: usize) -> Result<(), CaptureError> {
        if body < 8 {
            return Err(self.corrupt(
                begin,
                "length of an interface",
                body,
                "at least 8 octets".to_owned(),
            ));
        }
        if self.interfaces.len() == MOST_INTERFACES {
            let allowed = format!("at most {MOST_INTERFACES}");
            return Err(self.corrupt(begin, "number of interfaces", MOST_INTERFACES + 1, allowed));
        }
        let mut interface = InterfaceDescription {
            link: LinkType::of(self.u16_at(0)),
            snap: self.u32_at(4),
            resolution: Resolution::Decimal(6),
            offset_s: 0,
            speed_bps: None,
            dropped: CaptureDrops::default(),
        };
        let (mut at, mut name) = (8, String::new());
        while let Some((code, length, value)) = self.option(begin, &mut at, body)? {
            match (code, length) {
                (2, ..=LONGEST_NAME) => {
                    let octets = &self.buffer[value..value + length];
                    String::from_utf8_lossy(octets).trim_end_matches('\0').clone_into(&mut name);
                }
                (8, 8) => interface.speed_bps = Some(self.u64_at(value)).filter(|bps| *bps > 0),
                (9, 1) => interface.resolution = self.resolution(begin, self.buffer[value])?,
                (14, 8) => interface.offset_s = self.u64_at(value).cast_signed(),
                _ => {}
            }
        }
        self.interfaces.push(interface);
        self.names.push(name);
        Ok(())
    }

    /// Losses that an interface reports.
    fn account(&mut self, begin: u64, body: usize) -> Result<(), CaptureError> {
        if body < 12 {
            return Err(self.corrupt(
                begin,
                "length of statistics",
                body,
                "at least 12 octets".to_owned(),
            ));
        }
        let number = self.u32_at(0);
        self.interface(begin, number)?;
        let mut dropped = CaptureDrops::default();
        let mut at = 12;
        while let Some((code, length, value)) = self.option(begin, &mut at, body)? {
            match (code, length) {
                (5, 8) => dropped.by_interface = Some(self.u64_at(value)),
                (7, 8) => dropped.by_system = Some(self.u64_at(value)),
                _ => {}
            }
        }
        self.interfaces[number as usize].dropped = dropped;
        Ok(())
    }

    /// Code and length of the option at `at` of a body, and where its value is; nothing at their
    /// end.
    fn option(
        &self,
        begin: u64,
        at: &mut usize,
        body: usize,
    ) -> Result<Option<(u16, usize, usize)>, CaptureError> {
        if *at + 4 > body || self.u16_at(*at) == 0 {
            return Ok(None);
        }
        let (code, length, value) = (self.u16_at(*at), self.u16_at(*at + 2) as usize, *at + 4);
        if value + length > body {
            return Err(self.corrupt(
                begin,
                "length of an option",
                length,
                format!("at most {}", body - value),
            ));
        }
        *at = value + length.next_multiple_of(4);
        Ok(Some((code, length, value)))
    }

    fn resolution(&self, begin: u64, octet: u8) -> Result<Resolution, CaptureError> {
        let exponent = u32::from(octet & 0x7f);
        let most = if octet & 0x80 == 0 { 19 } else { 63 };
        if exponent > most {
            return Err(self.corrupt(
                begin,
                "places of a time",
                exponent,
                format!("at most {most}"),
            ));
        }
        Ok(if octet & 0x80 == 0 {
            Resolution::Decimal(exponent)
        } else {
            Resolution::Binary(exponent)
        })
    }

    fn simple(&self, begin: u64, body: usize) -> Result<PacketLocation, CaptureError> {
        let interface = self.interface(begin, 0)?;
        if body < 4 {
            return Err(self.corrupt(
                begin,
                "length of a packet's block",
                body,
                "at least 4 octets".to_owned(),
            ));
        }
        let original = self.u32_at(0);
        let kept = if interface.snap == 0 { original } else { original.min(interface.snap) };
        self.check_room(begin, kept, body - 4)?;
        Ok(PacketLocation {
            time_ns: None,
            link: interface.link,
            interface: 0,
            original,
            from: 4,
            captured: kept as usize,
            errors: LinkErrors::default(),
            comment: (0, 0),
        })
    }

    fn stamped(
        &self,
        begin: u64,
        body: usize,
        is_old: bool,
    ) -> Result<PacketLocation, CaptureError> {
        if body < 20 {
            return Err(self.corrupt(
                begin,
                "length of a packet's block",
                body,
                "at least 20 octets".to_owned(),
            ));
        }
        let number = if is_old { u32::from(self.u16_at(0)) } else { self.u32_at(0) };
        let interface = self.interface(begin, number)?;
        let units = u64::from(self.u32_at(4)) << 32 | u64::from(self.u32_at(8));
        let (captured, original) = (self.u32_at(12), self.u32_at(16));
        self.check_room(begin, captured, body - 20)?;
        let time_ns = interface.resolution.ns(units, interface.offset_s);
        Ok(PacketLocation {
            time_ns,
            link: interface.link,
            interface: number,
            original,
            from: 20,
            captured: captured as usize,
            errors: LinkErrors::default(),
            comment: (0, 0),
        })
    }

    /// Errors of the link in the options at `at` of a packet's block, and where its comment is; none
    /// in options that cannot be.
    fn errors_and_comment(
        &self,
        begin: u64,
        mut at: usize,
        body: usize,
    ) -> (LinkErrors, (usize, usize)) {
        let (mut errors, mut comment) = (LinkErrors::default(), (0, 0));
        while let Ok(Some((code, length, value))) = self.option(begin, &mut at, body) {
            match (code, length) {
                (1, _) => comment = (value, length),
                (2, 4) => errors = LinkErrors::of(self.u32_at(value)),
                _ => {}
            }
        }
        (errors, comment)
    }

    fn interface(&self, begin: u64, number: u32) -> Result<InterfaceDescription, CaptureError> {
        self.interfaces.get(number as usize).copied().ok_or_else(|| {
            let allowed =
                format!("below {}, the interfaces described before", self.interfaces.len());
            self.corrupt(begin, "interface", number, allowed)
        })
    }

    fn check_room(&self, begin: u64, captured: u32, room: usize) -> Result<(), CaptureError> {
        self.check(begin, "captured length", captured, MOST_CAPTURED)?;
        if captured as usize > room {
            return Err(self.corrupt(
                begin,
                "captured length",
                captured,
                format!("at most {room}, what the block has"),
            ));
        }
        Ok(())
    }

    /// Octets of a block's body; what is before and after it are 12.
    fn body_of(&self, begin: u64, length: u32) -> Result<usize, CaptureError> {
        if length < 12 || !length.is_multiple_of(4) || length > MOST_BLOCK {
            let allowed = format!("a multiple of 4 from 12 to {MOST_BLOCK}");
            return Err(self.corrupt(begin, "length of a block", length, allowed));
        }
        Ok(length as usize - 12)
    }

    fn check(
        &self,
        begin: u64,
        what: &'static str,
        value: u32,
        most: u32,
    ) -> Result<(), CaptureError> {
        if value > most {
            return Err(self.corrupt(begin, what, value, format!("at most {most}")));
        }
        Ok(())
    }

    fn corrupt<V: TryInto<u64>>(
        &self,
        at: u64,
        what: &'static str,
        value: V,
        allowed: String,
    ) -> CaptureError {
        CaptureError::Corrupt {
            at,
            what,
            value: value.try_into().unwrap_or(u64::MAX),
            allowed,
            packets: self.packets,
        }
    }

    fn truncated(&self, what: &'static str) -> CaptureError {
        CaptureError::Truncated { at: self.at, what, packets: self.packets }
    }

    /// Read `wanted` octets into the buffer, or as many as there are.
    fn fill(&mut self, octets: usize) -> Result<usize, CaptureError> {
        if self.buffer.len() < octets {
            self.buffer.resize(octets, 0);
        }
        let mut got = 0;
        while got < octets {
            match self.reader.read(&mut self.buffer[got..octets]) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A compressed file that ends too soon.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    self.at += got as u64;
                    return Err(self.truncated("compressed stream"));
                }
                Err(source) => {
                    return Err(CaptureError::System { at: self.at + got as u64, source });
                }
            }
        }
        self.at += got as u64;
        Ok(got)
    }

    fn require(&mut self, octets: usize, what: &'static str) -> Result<(), CaptureError> {
        if self.fill(octets)? < octets {
            return Err(self.truncated(what));
        }
        Ok(())
    }

    /// Skip octets in chunks, so that a large block takes no memory.
    fn skip(&mut self, octets: u64) -> Result<(), CaptureError> {
        let mut left = octets;
        while left > 0 {
            let chunk = usize::try_from(left.min(1 << 16)).expect("at most 65 536");
            self.require(chunk, "block")?;
            left -= chunk as u64;
        }
        Ok(())
    }

    fn u16_at(&self, at: usize) -> u16 {
        let octets = [self.buffer[at], self.buffer[at + 1]];
        if self.is_big { u16::from_be_bytes(octets) } else { u16::from_le_bytes(octets) }
    }

    fn u32_at(&self, at: usize) -> u32 {
        let octets =
            [self.buffer[at], self.buffer[at + 1], self.buffer[at + 2], self.buffer[at + 3]];
        if self.is_big { u32::from_be_bytes(octets) } else { u32::from_le_bytes(octets) }
    }

    fn u64_at(&self, at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32_at(at)), u64::from(self.u32_at(at + 4)));
        if self.is_big { first << 32 | second } else { second << 32 | first }
    }
}

/// A packet, and where in the buffer its captured octets are.
#[derive(Clone, Copy, Debug)]
struct PacketLocation {
    time_ns: Option<i64>,
    link: LinkType,
    interface: u32,
    original: u32,
    from: usize,
    captured: usize,
    errors: LinkErrors,
    /// Where its comment is, and how long.
    comment: (usize, usize),
}

/// What one step of reading found.
#[derive(Clone, Copy, Debug)]
enum ReadStep {
    Packet(PacketLocation),
    Other,
    End,
}
