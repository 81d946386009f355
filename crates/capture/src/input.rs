//! Files and pipes as octets, compressed with gzip or not.

use flate2::bufread::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Error, ErrorKind, Read};
use std::path::Path;
use std::rc::Rc;

/// Octets that are read at once.
const READ_OCTETS: usize = 1 << 18;
/// Octets that a compressed file may expand to, 64 GiB: gzip expands up to a thousandfold. It takes
/// no memory, but time.
pub const MOST_EXPANDED: u64 = 1 << 36;
/// How a gzip file begins (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file or a pipe.
pub struct CaptureInput {
    reader: InputReader,
    octets: Rc<Cell<u64>>,
}

/// The octets that told what it is, and the rest.
type Whole = Chain<Cursor<Vec<u8>>, BufReader<CountingReader>>;

enum InputReader {
    Plain(Whole),
    Gzip(Box<BufReader<GzipDecoder>>),
}

/// Counts what is read of the file.
struct CountingReader {
    reader: Box<dyn Read>,
    octets: Rc<Cell<u64>>,
}

impl Read for CountingReader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let octets = self.reader.read(to)?;
        self.octets.set(self.octets.get() + octets as u64);
        Ok(octets)
    }
}

/// Expands gzip, but not without end.
struct GzipDecoder {
    decoder: MultiGzDecoder<Whole>,
    left: u64,
}

impl Read for GzipDecoder {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let octets = self.decoder.read(to)?;
        self.left = self.left.checked_sub(octets as u64).ok_or_else(|| {
            let text = format!("expands to more than {MOST_EXPANDED} octets");
            Error::new(ErrorKind::InvalidData, text)
        })?;
        Ok(octets)
    }
}

impl CaptureInput {
    /// Open a file.
    ///
    /// # Errors
    /// If it cannot be opened or read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::new(File::open(path)?)
    }

    /// Begin to read: what begins like gzip is expanded.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn new(reader: impl Read + 'static) -> io::Result<Self> {
        let octets = Rc::new(Cell::new(0));
        let counted = CountingReader { reader: Box::new(reader), octets: Rc::clone(&octets) };
        let mut buffered = BufReader::with_capacity(READ_OCTETS, counted);
        let mut begin = Vec::with_capacity(GZIP.len());
        buffered.by_ref().take(GZIP.len() as u64).read_to_end(&mut begin)?;
        let is_gzip = begin == GZIP;
        let input = Cursor::new(begin).chain(buffered);
        let reader = if is_gzip {
            let expanded = GzipDecoder { decoder: MultiGzDecoder::new(input), left: MOST_EXPANDED };
            InputReader::Gzip(Box::new(BufReader::with_capacity(READ_OCTETS, expanded)))
        } else {
            InputReader::Plain(input)
        };
        Ok(Self { reader, octets })
    }

    /// Octets read of a compressed file, so far; `None` if it is not compressed.
    #[must_use]
    pub fn compressed_octets(&self) -> Option<Rc<Cell<u64>>> {
        match self.reader {
            InputReader::Plain(_) => None,
            InputReader::Gzip(_) => Some(Rc::clone(&self.octets)),
        }
    }
}

impl Read for CaptureInput {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match &mut self.reader {
            InputReader::Plain(input) => input.read(to),
            InputReader::Gzip(expanded) => expanded.read(to),
        }
    }
}

impl std::fmt::Debug for CaptureInput {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Input").field("octets", &self.octets.get()).finish_non_exhaustive()
    }
}
