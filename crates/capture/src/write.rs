//! Captures as files: pcap with nanoseconds, in this machine's byte order; as pcapng, with what was
//! lost, in [`blocks`].

pub mod blocks;

use crate::file::{LinkType, MOST_CAPTURED};
use std::io::{Error, ErrorKind, Result, Write};

const MAGIC: u32 = 0xA1B2_3C4D;

/// A capture that is being written.
#[derive(Debug)]
pub struct CaptureWriter<W> {
    to: W,
    snap: u32,
}

impl<W: Write> CaptureWriter<W> {
    /// Begin a capture of packets that begin as `link` says, of which at most `snap` octets are
    /// kept.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut to: W, link: LinkType, snap: u32) -> Result<Self> {
        let snap = snap.min(MOST_CAPTURED);
        to.write_all(&MAGIC.to_ne_bytes())?;
        to.write_all(&2u16.to_ne_bytes())?;
        to.write_all(&4u16.to_ne_bytes())?;
        to.write_all(&[0; 8])?;
        to.write_all(&snap.to_ne_bytes())?;
        to.write_all(&u32::from(link.number()).to_ne_bytes())?;
        Ok(Self { to, snap })
    }

    /// Add a packet of `time_ns` since 1970.
    ///
    /// # Errors
    /// If it cannot be written, or its time is before 1970 or after 2106.
    pub fn packet(&mut self, time_ns: i64, data: &[u8]) -> Result<()> {
        let outside = || {
            Error::new(
                ErrorKind::InvalidInput,
                format!("a time of {time_ns} ns is outside 1970 to 2106"),
            )
        };
        let seconds = u32::try_from(time_ns.div_euclid(1_000_000_000)).map_err(|_| outside())?;
        let fraction = u32::try_from(time_ns.rem_euclid(1_000_000_000)).map_err(|_| outside())?;
        let original = u32::try_from(data.len())
            .map_err(|_| Error::new(ErrorKind::InvalidInput, "a packet of 4 GB"))?;
        let kept = original.min(self.snap);
        for word in [seconds, fraction, kept, original] {
            self.to.write_all(&word.to_ne_bytes())?;
        }
        self.to.write_all(&data[..kept as usize])
    }

    /// Write what is buffered, and give back what it was written to.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}
