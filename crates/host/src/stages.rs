//! What one stage does when nothing else is asked of the host: samples in bit/s, each over a time
//! of its own.

use ethermeter_net::Error;
use ethermeter_net::port::packet::{bind, interface_index, raw_socket};
use ethermeter_net::time::{NS_PER_S, Timeline};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CHUNK: usize = 1 << 20;
const LONGEST: u64 = 1 << 30;

/// How often and how long a stage is tried.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSampling {
    /// Samples, at most 1000.
    pub samples: u32,
    /// How long each takes at least, at most 10 s.
    pub sample_ns: u64,
}

/// The stage.
#[derive(Debug, Deserialize)]
#[serde(tag = "stage", rename_all = "kebab-case", deny_unknown_fields)]
pub enum HostStage {
    /// Copy so many octets of memory.
    Copy {
        /// Octets; as long as they fit into a cache it is the cache that is measured.
        octets: u64,
    },
    /// The Internet checksum (RFC 1071) of packets, by this processor.
    Checksum {
        /// Octets of a packet.
        octets: u64,
    },
    /// One call of the system for each packet, to a device that takes it and does nothing.
    Call {
        /// Octets of a packet.
        octets: u64,
    },
    /// A UDP datagram to oneself over loopback: two calls, the stack down and up, one after the
    /// other.
    Datagram {
        /// Octets of its data.
        octets: u64,
    },
    /// TCP over loopback, between two threads.
    Loopback,
    /// Frames into an interface as fast as calls allow; the other end counts them.
    Frames {
        /// The interface, in this network namespace.
        interface: String,
        /// Octets, destination address to the last of the payload.
        octets: u64,
    },
    /// A file of so many octets, written and read.
    Disk {
        /// Where the file is made; it is removed again.
        directory: PathBuf,
        /// Octets, a multiple of a mebioctet.
        octets: u64,
        /// Kind of access.
        access: DiskAccess,
    },
}

/// How a file is written or read.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum DiskAccess {
    /// Into the memory that the system keeps for files.
    WriteCached,
    /// Until the disk says that it has it.
    WriteSynced,
    /// Past that memory.
    WriteDirect,
    /// From that memory.
    ReadCached,
    /// Past that memory.
    ReadDirect,
}

/// Samples of a stage.
#[derive(Debug, Default, Serialize)]
pub struct StageSamples {
    /// Bits a second, of the octets that the stage was given, one for each sample.
    pub bits_per_s: Vec<f64>,
    /// How long each sample took.
    pub taken_ns: Vec<u64>,
}

impl StageSamples {
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
    fn add(&mut self, octets: usize, taken_ns: u64) {
        self.bits_per_s.push(8.0 * octets as f64 / (taken_ns as f64 / NS_PER_S as f64));
        self.taken_ns.push(taken_ns);
    }
}

/// Try a stage.
///
/// # Errors
/// If a number is out of range, or the system refuses.
pub fn try_out(
    stage: &HostStage,
    sampling: StageSampling,
    time: &impl Timeline,
) -> Result<StageSamples, Error> {
    Error::unless_within("samples", u64::from(sampling.samples), 1, 1000)?;
    Error::unless_within("sample_ns", sampling.sample_ns, 1000, 10 * NS_PER_S)?;
    match stage {
        HostStage::Copy { octets } => Ok(copy(length(*octets)?, sampling, time)),
        HostStage::Checksum { octets } => {
            let packet = pattern(length(*octets)?);
            sampled(sampling, time, || {
                black_box(internet_checksum(black_box(&packet)));
                Ok(packet.len())
            })
        }
        HostStage::Call { octets } => call(length(*octets)?, sampling, time),
        HostStage::Datagram { octets } => datagram(length(*octets)?, sampling, time),
        HostStage::Loopback => loopback(sampling, time),
        HostStage::Frames { interface, octets } => {
            frames(interface, length(*octets)?, sampling, time)
        }
        HostStage::Disk { directory, octets, access } => {
            disk(directory, length(*octets)?, *access, sampling, time)
        }
    }
}

/// The Internet checksum of octets: the complement of the sum of 16-bit words with the carries
/// added back (RFC 1071, section 1).
#[must_use]
pub fn internet_checksum(octets: &[u8]) -> u16 {
    // Four octets at a time into a wide sum, as RFC 1071, section 2 (C) allows; carries are folded
    // once, at the end.
    let mut sum = 0u64;
    let mut words = octets.chunks_exact(4);
    for word in &mut words {
        sum += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
    }
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    sum += u64::from(u32::from_be_bytes(last));
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    let [.., high, low] = sum.to_be_bytes();
    !u16::from_be_bytes([high, low])
}

fn length(octets: u64) -> Result<usize, Error> {
    Error::unless_within("octets", octets, 1, LONGEST)?;
    Ok(usize::try_from(octets).expect("at most 2^30"))
}

fn pattern(octets: usize) -> Vec<u8> {
    (0..=u8::MAX).cycle().take(octets).collect()
}

/// Repeat `chunk`, which says how many octets it moved, for each sample until its time is over.
fn sampled(
    sampling: StageSampling,
    time: &impl Timeline,
    mut chunk: impl FnMut() -> io::Result<usize>,
) -> Result<StageSamples, Error> {
    let mut samples = StageSamples::default();
    for _ in 0..sampling.samples {
        let start_ns = time.now_ns();
        let mut octets = 0;
        let taken_ns = loop {
            octets += chunk().map_err(Error::system("trying a stage"))?;
            let taken_ns = time.now_ns() - start_ns;
            if taken_ns >= sampling.sample_ns {
                break taken_ns;
            }
        };
        samples.add(octets, taken_ns);
    }
    Ok(samples)
}

fn copy(octets: usize, sampling: StageSampling, time: &impl Timeline) -> StageSamples {
    let from = pattern(octets);
    let mut to = vec![1; octets];
    sampled(sampling, time, || {
        black_box(&mut to[..]).copy_from_slice(black_box(&from));
        Ok(octets)
    })
    .expect("memory refuses nothing")
}

fn call(
    octets: usize,
    sampling: StageSampling,
    time: &impl Timeline,
) -> Result<StageSamples, Error> {
    let mut sink = OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .map_err(Error::system("opening /dev/null"))?;
    let packet = pattern(octets);
    // The clock is read once in 64 calls, so that it does not count.
    sampled(sampling, time, || {
        for _ in 0..64 {
            sink.write_all(&packet)?;
        }
        Ok(64 * octets)
    })
}

fn datagram(
    octets: usize,
    sampling: StageSampling,
    time: &impl Timeline,
) -> Result<StageSamples, Error> {
    Error::unless_within("octets", octets as u64, 1, 65_507)?;
    let opening = || Error::system("opening a socket on loopback");
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(opening())?;
    socket.connect(socket.local_addr().map_err(opening())?).map_err(opening())?;
    socket.set_read_timeout(Some(Duration::from_secs(1))).map_err(opening())?;
    let packet = pattern(octets);
    let mut room = vec![0; octets];
    sampled(sampling, time, || {
        for _ in 0..16 {
            socket.send(&packet)?;
            socket.recv(&mut room)?;
        }
        Ok(16 * octets)
    })
}

fn loopback(sampling: StageSampling, time: &impl Timeline) -> Result<StageSamples, Error> {
    let opening = || Error::system("opening a connection on loopback");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(opening())?;
    let mut writer =
        TcpStream::connect(listener.local_addr().map_err(opening())?).map_err(opening())?;
    let (mut reader, _) = listener.accept().map_err(opening())?;
    reader.set_read_timeout(Some(Duration::from_secs(1))).map_err(opening())?;
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            let data = pattern(128 << 10);
            // Ends when the reader hangs up.
            while writer.write_all(&data).is_ok() {}
        });
        let mut room = vec![0; 128 << 10];
        let samples = sampled(sampling, time, || reader.read(&mut room));
        drop(reader);
        sending.join().expect("a writer does not panic");
        samples
    })
}

fn frames(
    interface: &str,
    octets: usize,
    sampling: StageSampling,
    time: &impl Timeline,
) -> Result<StageSamples, Error> {
    Error::unless_within("octets", octets as u64, 60, 9018)?;
    let socket = raw_socket()?;
    // Of no protocol, so that nothing queues up behind a socket that only sends.
    bind(&socket, interface_index(interface)?, 0)?;
    let mut frame = vec![0; octets];
    // To everybody, from a local address, with the local experimental EtherType (802.3-2022 §
    // 3.2.6; IEEE 802-2014 § 9.2.4).
    frame[..6].fill(0xFF);
    frame[6] = 0x02;
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    sampled(sampling, time, || {
        for _ in 0..64 {
            socket.send(&frame)?;
        }
        Ok(64 * octets)
    })
}

/// A file that is gone when this is.
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // A failure to remove it cannot be reported from here.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn disk(
    directory: &Path,
    octets: usize,
    access: DiskAccess,
    sampling: StageSampling,
    time: &impl Timeline,
) -> Result<StageSamples, Error> {
    Error::unless_within("octets", octets as u64, CHUNK as u64, LONGEST)?;
    let doing = || Error::system("making a temporary file");
    let name = format!("ethermeter-{}-{}", std::process::id(), time.now_ns());
    let file_path = TemporaryFile(directory.join(name));
    let mut plain = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&file_path.0)
        .map_err(doing())?;
    let is_direct = matches!(access, DiskAccess::WriteDirect | DiskAccess::ReadDirect);
    let mut file = if is_direct {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_DIRECT)
            .open(&file_path.0)
            .map_err(Error::system("opening a file past the cache"))?
    } else {
        plain.try_clone().map_err(doing())?
    };
    drop(file_path); // the open file lives on, and is gone with the process, however that ends
    let chunks = octets / CHUNK;
    let mut room = AlignedBuffer::new();
    if matches!(access, DiskAccess::ReadCached | DiskAccess::ReadDirect) {
        for _ in 0..chunks {
            plain.write_all(room.octets()).map_err(doing())?;
        }
        plain.sync_all().map_err(doing())?;
    }
    // A sample is the complete file, however long that takes: less would measure the cache.
    let one_file = StageSampling { sample_ns: 1000, ..sampling };
    sampled(one_file, time, || {
        file.seek(SeekFrom::Start(0))?;
        for _ in 0..chunks {
            if matches!(access, DiskAccess::ReadCached | DiskAccess::ReadDirect) {
                file.read_exact(room.octets())?;
            } else {
                file.write_all(room.octets())?;
            }
        }
        if access == DiskAccess::WriteSynced {
            File::sync_all(&file)?;
        }
        Ok(chunks * CHUNK)
    })
}

/// A chunk of memory where direct transfers want it.
struct AlignedBuffer {
    memory: Vec<u8>,
    from: usize,
}

impl AlignedBuffer {
    const BOUNDARY: usize = 4096;

    fn new() -> Self {
        let memory = pattern(CHUNK + Self::BOUNDARY);
        let from = memory.as_ptr().align_offset(Self::BOUNDARY);
        Self { memory, from }
    }

    fn octets(&mut self) -> &mut [u8] {
        &mut self.memory[self.from..self.from + CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
    use ethermeter_net::HostTime;

    const BRIEF: StageSampling = StageSampling { samples: 2, sample_ns: 1_000_000 };

    #[test]
    fn the_checksum_is_that_of_the_example_in_rfc_1071() {
        // Section 3: the words 0001 f203 f4f5 f6f7 sum to ddf2.
        assert_eq!(internet_checksum(&[0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7]), !0xDDF2);
    }

    #[test]
    fn octets_with_their_checksum_sum_to_nothing() {
        for octets in 1..100 {
            let mut packet = pattern(2 * octets);
            let sum = internet_checksum(&packet);
            packet.extend(sum.to_be_bytes());
            assert_eq!(internet_checksum(&packet), 0);
        }
    }

    #[test]
    fn an_odd_octet_counts_as_the_higher_half_of_a_word() {
        assert_eq!(internet_checksum(&[1, 2, 3]), internet_checksum(&[1, 2, 3, 0]));
    }

    #[test]
    fn every_sample_of_what_needs_no_rights_is_above_nothing() {
        for stage in [
            HostStage::Copy { octets: 1 << 16 },
            HostStage::Checksum { octets: 1460 },
            HostStage::Call { octets: 64 },
            HostStage::Datagram { octets: 64 },
            HostStage::Loopback,
        ] {
            let rates = try_out(&stage, BRIEF, &HostTime).expect("needs no rights").bits_per_s;
            assert!(
                rates.len() == 2 && rates.iter().all(|rate| rate.is_finite() && *rate > 0.0),
                "{stage:?} {rates:?}"
            );
        }
    }

    #[test]
    fn a_file_is_written_and_read_and_gone() {
        let directory =
            std::env::temp_dir().join(format!("ethermeter-disk-{}", std::process::id()));
        std::fs::create_dir(&directory).expect("a directory of our own");
        for access in [DiskAccess::WriteCached, DiskAccess::WriteSynced, DiskAccess::ReadCached] {
            let stage = HostStage::Disk { directory: directory.clone(), octets: 2 << 20, access };
            assert_eq!(try_out(&stage, BRIEF, &HostTime).expect("a file").bits_per_s.len(), 2);
        }
        // Fails if a file is left in it.
        std::fs::remove_dir(&directory).expect("nothing is left");
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_what_is_allowed() {
        let refused =
            try_out(&HostStage::Copy { octets: 0 }, BRIEF, &HostTime).unwrap_err().to_string();
        assert_eq!(refused, "octets = 0: 1 to 1073741824");
        assert!(
            try_out(&HostStage::Loopback, StageSampling { samples: 0, ..BRIEF }, &HostTime)
                .is_err()
        );
    }
}
