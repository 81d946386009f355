//! The mark at the beginning of the payload of every frame that we send.
//!
//! ```text
//! octet   0      1             2..4        4..6    6..12     12..18
//!         0xE3   version|kind  experiment  stream  sequence  sent        18..24    24..30
//!                                                                        received  answered    (a response only)
//!                                                                        made      24..26   26..28    28
//!                                                                                  samples  measured  oldest is   (voice only)
//! ```
//!
//! All big-endian. It has 18 octets because that is what UDP over IPv4 leaves of the shortest
//! frame. So sequence numbers have 48 bits (22 days of shortest frames at 100 Gb/s), and times are
//! clock readings: nanoseconds modulo 2^48, which is 3.26 days. A difference of two readings is
//! right as long as the times are less than half of that apart.

use super::octets::{WireError, check_octets, octets_at};

/// Octets of a mark.
pub const MARK_OCTETS: usize = 18;
/// Octets of the times that follow the mark of a response.
pub const TURN_OCTETS: usize = 12;
/// Octets that follow the mark of voice.
pub const SPEECH_OCTETS: usize = 11;
/// Sequence numbers are below this.
pub const SEQUENCE_LIMIT: u64 = 1 << 48;

const MAGIC: u8 = 0xE3;
const VERSION: u8 = 1;

mod field {
    pub const VERSION_AND_KIND: usize = 1;
    pub const EXPERIMENT: usize = 2;
    pub const STREAM: usize = 4;
    pub const SEQUENCE: usize = 6;
    pub const SENT: usize = 12;
    pub const RECEIVED: usize = 18;
    pub const ANSWERED: usize = 24;
    pub const MADE: usize = 18;
    pub const SAMPLES: usize = 24;
    pub const MEASURED: usize = 26;
    pub const IS_OLDEST_MEASURED: usize = 28;
}

/// What a marked frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MarkKind {
    /// One of a stream: to be counted.
    Stream = 0,
    /// To be answered.
    Request = 1,
    /// The answer, with the same numbers and the same time of sending as its request.
    Response = 2,
    /// Samples of a coder: to be counted.
    Voice = 3,
}

impl MarkKind {
    const fn of(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Stream),
            1 => Some(Self::Request),
            2 => Some(Self::Response),
            3 => Some(Self::Voice),
            _ => None,
        }
    }
}

/// Contents of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What the frame is for.
    pub kind: MarkKind,
    /// The experiment it belongs to.
    pub experiment: u16,
    /// The stream within it.
    pub stream: u16,
    /// Number of the frame within the stream, below [`SEQUENCE_LIMIT`].
    pub sequence: u64,
    /// When it was sent, by the sender's clock, modulo 2^48 ns.
    pub sent_ns: u64,
}

/// When the answering station received a request and sent its response, by its own clock, modulo
/// 2^48 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponderTimes {
    /// The request's arrival.
    pub received_ns: u64,
    /// The response's departure.
    pub answered_ns: u64,
}

/// What a packet of voice holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoiceMark {
    /// When its oldest sample was made, by the sender's clock, modulo 2^48 ns.
    pub made_ns: u64,
    /// Samples of the packet. The length does not give them: a packet that a spurt leaves short is
    /// padded.
    pub samples: u16,
    /// Of these, samples made within the measured time.
    pub measured: u16,
    /// Whether the oldest was.
    pub is_oldest_measured: bool,
}

/// A window over octets that begin with a mark.
#[derive(Clone, Copy, Debug)]
pub struct MarkWindow<B> {
    octets: B,
}

impl<B: AsRef<[u8]>> MarkWindow<B> {
    /// A window over a payload; reading the fields does not panic after this.
    ///
    /// # Errors
    /// If there are too few octets, or they do not begin like a mark of this version.
    pub fn checked(octets: B) -> Result<Self, WireError> {
        let bytes = octets.as_ref();
        check_octets(bytes, MARK_OCTETS)?;
        if bytes[0] != MAGIC || bytes[field::VERSION_AND_KIND] >> 4 != VERSION {
            return Err(WireError::NoMark(u16::from_be_bytes(octets_at(bytes, 0))));
        }
        Ok(Self { octets })
    }

    /// The octet where the kind is expected.
    pub fn kind_code(&self) -> u8 {
        self.octets.as_ref()[field::VERSION_AND_KIND] & 0x0F
    }

    /// The experiment.
    pub fn experiment(&self) -> u16 {
        u16::from_be_bytes(octets_at(self.octets.as_ref(), field::EXPERIMENT))
    }

    /// The stream.
    pub fn stream(&self) -> u16 {
        u16::from_be_bytes(octets_at(self.octets.as_ref(), field::STREAM))
    }

    /// The sequence number.
    pub fn sequence(&self) -> u64 {
        read_48(self.octets.as_ref(), field::SEQUENCE)
    }

    /// The time of sending.
    pub fn sent_ns(&self) -> u64 {
        read_48(self.octets.as_ref(), field::SENT)
    }

    /// The times of a response, where there are as many octets.
    pub fn turn(&self) -> Option<ResponderTimes> {
        let bytes = self.octets.as_ref();
        (bytes.len() >= MARK_OCTETS + TURN_OCTETS).then(|| ResponderTimes {
            received_ns: read_48(bytes, field::RECEIVED),
            answered_ns: read_48(bytes, field::ANSWERED),
        })
    }
}

impl<B: AsRef<[u8]>> MarkWindow<B> {
    /// What a packet of voice holds, where there are as many octets.
    pub fn speech(&self) -> Option<VoiceMark> {
        let bytes = self.octets.as_ref();
        (bytes.len() >= MARK_OCTETS + SPEECH_OCTETS).then(|| VoiceMark {
            made_ns: read_48(bytes, field::MADE),
            samples: u16::from_be_bytes(octets_at(bytes, field::SAMPLES)),
            measured: u16::from_be_bytes(octets_at(bytes, field::MEASURED)),
            is_oldest_measured: bytes[field::IS_OLDEST_MEASURED] != 0,
        })
    }
}

impl Mark {
    /// Read a mark.
    ///
    /// # Errors
    /// If the kind is not defined.
    pub fn parse<B: AsRef<[u8]>>(window: &MarkWindow<B>) -> Result<Self, WireError> {
        let code = window.kind_code();
        Ok(Self {
            kind: MarkKind::of(code).ok_or(WireError::UnknownKind(code))?,
            experiment: window.experiment(),
            stream: window.stream(),
            sequence: window.sequence(),
            sent_ns: window.sent_ns(),
        })
    }

    /// Read the mark at the beginning of a payload.
    ///
    /// # Errors
    /// If there is no mark.
    #[inline]
    pub fn read(payload: &[u8]) -> Result<Self, WireError> {
        Self::parse(&MarkWindow::checked(payload)?)
    }

    /// Write the mark to the beginning of a payload; numbers modulo 2^48.
    ///
    /// # Panics
    /// If the payload is shorter than [`MARK_OCTETS`].
    #[inline]
    pub fn emit(&self, payload: &mut [u8]) {
        let head: &mut [u8; MARK_OCTETS] =
            payload.first_chunk_mut().expect("payloads have room for a mark");
        head[0] = MAGIC;
        head[field::VERSION_AND_KIND] = VERSION << 4 | self.kind as u8;
        head[field::EXPERIMENT..field::STREAM].copy_from_slice(&self.experiment.to_be_bytes());
        head[field::STREAM..field::SEQUENCE].copy_from_slice(&self.stream.to_be_bytes());
        write_48(head, field::SEQUENCE, self.sequence);
        write_48(head, field::SENT, self.sent_ns);
    }
}

impl ResponderTimes {
    /// Write the times after the mark of a response, if there is room.
    pub fn emit(&self, payload: &mut [u8]) {
        if payload.len() >= MARK_OCTETS + TURN_OCTETS {
            write_48(payload, field::RECEIVED, self.received_ns);
            write_48(payload, field::ANSWERED, self.answered_ns);
        }
    }
}

impl VoiceMark {
    /// Read what follows the mark of a packet of voice.
    ///
    /// # Errors
    /// If there are too few octets.
    #[inline]
    pub fn read(payload: &[u8]) -> Result<Self, WireError> {
        let window = MarkWindow::checked(payload)?;
        let needed = MARK_OCTETS + SPEECH_OCTETS;
        window.speech().ok_or(WireError::TooShort { octets: payload.len(), needed })
    }

    /// Write it after a mark; times modulo 2^48.
    ///
    /// # Panics
    /// If the payload is shorter than the mark and this.
    #[inline]
    pub fn emit(&self, payload: &mut [u8]) {
        write_48(payload, field::MADE, self.made_ns);
        payload[field::SAMPLES..field::MEASURED].copy_from_slice(&self.samples.to_be_bytes());
        payload[field::MEASURED..field::IS_OLDEST_MEASURED]
            .copy_from_slice(&self.measured.to_be_bytes());
        payload[field::IS_OLDEST_MEASURED] = u8::from(self.is_oldest_measured);
    }
}

fn read_48(octets: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value[2..].copy_from_slice(&octets[at..at + 6]);
    u64::from_be_bytes(value)
}

fn write_48(octets: &mut [u8], at: usize, value: u64) {
    octets[at..at + 6].copy_from_slice(&value.to_be_bytes()[2..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marks() -> impl Strategy<Value = Mark> {
        let kinds = prop_oneof![
            Just(MarkKind::Stream),
            Just(MarkKind::Request),
            Just(MarkKind::Response),
            Just(MarkKind::Voice)
        ];
        (kinds, any::<u16>(), any::<u16>(), 0..SEQUENCE_LIMIT, 0..SEQUENCE_LIMIT).prop_map(
            |(kind, experiment, stream, sequence, sent_ns)| Mark {
                kind,
                experiment,
                stream,
                sequence,
                sent_ns,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(mark in marks(), room in MARK_OCTETS..100) {
            let mut payload = vec![0xAA; room];
            mark.emit(&mut payload);
            prop_assert_eq!(Mark::read(&payload), Ok(mark));
            prop_assert!(payload[MARK_OCTETS..].iter().all(|&octet| octet == 0xAA));
        }

        #[test]
        fn a_cut_mark_is_too_short(mark in marks(), octets in 0..MARK_OCTETS) {
            let mut payload = [0; MARK_OCTETS];
            mark.emit(&mut payload);
            prop_assert_eq!(Mark::read(&payload[..octets]), Err(WireError::TooShort { octets, needed: MARK_OCTETS }));
        }

        #[test]
        fn no_octets_make_reading_panic(mut octets in proptest::collection::vec(any::<u8>(), 0..64), dress: bool) {
            if dress && octets.len() > 1 {
                octets[0] = MAGIC;
                octets[1] = VERSION << 4 | octets[1] & 0x0F;
            }
            if let Ok(window) = MarkWindow::checked(&octets) {
                let _ = (window.turn(), window.speech());
                if let Ok(mark) = Mark::parse(&window) {
                    let mut again = octets.clone();
                    mark.emit(&mut again);
                    prop_assert_eq!(&again, &octets);
                }
            }
        }
    }

    #[test]
    fn a_mark_stands_in_the_stated_octets() {
        let mark = Mark {
            kind: MarkKind::Response,
            experiment: 0x0102,
            stream: 0x0304,
            sequence: 0x0506_0708_090A,
            sent_ns: 7,
        };
        let mut payload = [0; MARK_OCTETS + TURN_OCTETS];
        mark.emit(&mut payload);
        ResponderTimes { received_ns: 8, answered_ns: 9 }.emit(&mut payload);
        assert_eq!(
            payload,
            [
                0xE3, 0x12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 8, 0,
                0, 0, 0, 0, 9
            ]
        );
    }

    #[test]
    fn what_voice_holds_follows_its_mark_in_the_stated_octets() {
        let mark =
            Mark { kind: MarkKind::Voice, experiment: 1, stream: 2, sequence: 3, sent_ns: 4 };
        let speech = VoiceMark {
            made_ns: 0x0102_0304_0506,
            samples: 0x0708,
            measured: 0x090A,
            is_oldest_measured: true,
        };
        let mut payload = [0; MARK_OCTETS + SPEECH_OCTETS];
        mark.emit(&mut payload);
        speech.emit(&mut payload);
        assert_eq!(payload[..2], [0xE3, 0x13]);
        assert_eq!(payload[MARK_OCTETS..], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1]);
        assert_eq!(VoiceMark::read(&payload), Ok(speech));
        assert_eq!(
            VoiceMark::read(&payload[..28]),
            Err(WireError::TooShort { octets: 28, needed: 29 })
        );
    }

    #[test]
    fn another_version_is_no_mark() {
        let mut payload = [0; MARK_OCTETS];
        Mark { kind: MarkKind::Stream, experiment: 1, stream: 1, sequence: 1, sent_ns: 1 }
            .emit(&mut payload);
        payload[1] = 0x20;
        assert_eq!(Mark::read(&payload), Err(WireError::NoMark(0xE320)));
        payload[1] = 0x1F;
        assert_eq!(Mark::read(&payload), Err(WireError::UnknownKind(15)));
    }
}
