//! The control connection: cookie, states as single octets, JSON after its length in four octets.

use crate::Error;
use ethermeter_net::Timeline;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Octets of a cookie, with the zero at its end.
pub const COOKIE_OCTETS: usize = 37;
/// Octets of the longest JSON text that is read: results of 128 streams have less than a tenth.
pub const LONGEST_JSON: usize = 1 << 20;
/// Longest time in one call, so that the stop flag is looked at.
pub(super) const LONGEST_CALL: Duration = Duration::from_millis(50);

/// State of a test, as both ends send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum TestState {
    /// Data may flow soon.
    TestStart = 1,
    /// Data flows.
    TestRunning = 2,
    /// The client has ended the test.
    TestEnd = 4,
    /// The server waits for parameters.
    ParameterExchange = 9,
    /// The server waits for data connections.
    CreateStreams = 10,
    /// The server has ended the test.
    ServerTerminate = 11,
    /// The client gives up.
    ClientTerminate = 12,
    /// The server waits for results.
    ExchangeResults = 13,
    /// The server has sent its results.
    DisplayResults = 14,
    /// The client has all results.
    Done = 16,
    /// The server has another test.
    AccessDenied = -1,
    /// The server reports an error.
    ServerError = -2,
}

impl TestState {
    /// The state of an octet; `None` if it is not one that servers send.
    #[must_use]
    pub fn read(octet: u8) -> Option<Self> {
        [
            Self::TestStart,
            Self::TestRunning,
            Self::ParameterExchange,
            Self::CreateStreams,
            Self::ServerTerminate,
            Self::ExchangeResults,
            Self::DisplayResults,
            Self::AccessDenied,
            Self::ServerError,
        ]
        .into_iter()
        .find(|&state| state as i8 == octet.cast_signed())
    }
}

/// What a server sends last.
const RESULTS: &str = "its results";

/// The control connection.
pub(super) struct ControlConnection<'a, T> {
    pub time: &'a T,
    stream: TcpStream,
    stop: &'a AtomicBool,
    /// What the peer has to do within this time.
    pub timeout_ns: u64,
    /// How long the connection took to open.
    pub opened_in_ns: u64,
}

impl<'a, T: Timeline> ControlConnection<'a, T> {
    pub fn open(
        to: SocketAddr,
        timeout_ns: u64,
        time: &'a T,
        stop: &'a AtomicBool,
    ) -> Result<Self, Error> {
        let (stream, opened_in_ns) = connected(to, timeout_ns, time)?;
        Ok(Self { time, stream, stop, timeout_ns, opened_in_ns })
    }

    /// Send some octets.
    pub fn send(&mut self, octets: &[u8]) -> Result<(), Error> {
        // Small messages on an idle connection: the kernel takes them at once.
        self.stream.set_nonblocking(false).map_err(Error::system("preparing a connection"))?;
        self.stream
            .set_write_timeout(Some(Duration::from_nanos(self.timeout_ns)))
            .map_err(Error::system("preparing a connection"))?;
        self.stream.write_all(octets).map_err(|error| closed(&error))
    }

    pub fn enter(&mut self, state: TestState) -> Result<(), Error> {
        self.send(&[(state as i8).cast_unsigned()])
    }

    pub fn send_json(&mut self, text: &str) -> Result<(), Error> {
        let octets = u32::try_from(text.len()).expect("a short text");
        self.send(&octets.to_be_bytes())?;
        self.send(text.as_bytes())
    }

    /// Wait for a state of the server.
    pub fn expect(&mut self, expected: TestState) -> Result<(), Error> {
        let mut octet = [0];
        self.fill(&mut octet, &format!("the state {expected:?}"))?;
        match TestState::read(octet[0]) {
            Some(state) if state == expected => Ok(()),
            state => Err(self.unexpected(octet[0], state)),
        }
    }

    /// Fail if the server has sent a state, which it does not while data flows, or hung up.
    pub fn expect_silence(&mut self) -> Result<(), Error> {
        let doing = || Error::system("preparing a connection");
        self.stream.set_nonblocking(true).map_err(doing())?;
        let mut octet = [0];
        let read = self.stream.read(&mut octet);
        self.stream.set_nonblocking(false).map_err(doing())?;
        match read {
            Ok(0) => Err(Error::Closed("the server closed the connection during the test".into())),
            Ok(_) => Err(self.unexpected(octet[0], TestState::read(octet[0]))),
            Err(error) if is_early(&error) => Ok(()),
            Err(error) => Err(closed(&error)),
        }
    }

    /// Read JSON of at most [`LONGEST_JSON`] octets.
    pub fn json(&mut self) -> Result<Vec<u8>, Error> {
        let mut length = [0; 4];
        self.fill(&mut length, RESULTS)?;
        let octets = u32::from_be_bytes(length) as usize;
        if !(1..=LONGEST_JSON).contains(&octets) {
            let text = format!(
                "the server announced {octets} octets of JSON; 1 to {LONGEST_JSON} are read"
            );
            return Err(Error::Peer(text));
        }
        let mut text = vec![0; octets];
        self.fill(&mut text, RESULTS)?;
        Ok(text)
    }

    fn unexpected(&mut self, octet: u8, state: Option<TestState>) -> Error {
        match state {
            Some(TestState::AccessDenied) => Error::Busy,
            Some(TestState::ServerTerminate) => Error::Peer("the server ended the test".into()),
            Some(TestState::ServerError) => {
                let mut numbers = [0; 8];
                let number = match self.fill(&mut numbers, "the number of its error") {
                    Ok(()) => u32::from_be_bytes(numbers[..4].try_into().expect("four octets")),
                    Err(error) => return error,
                };
                Error::Peer(format!("the server reports error {number} of iperf3"))
            }
            Some(state) => Error::Peer(format!("the server sent the state {state:?} out of order")),
            None => Error::Peer(format!("the server sent {octet}, which is no state of iperf3")),
        }
    }

    fn fill(&mut self, room: &mut [u8], awaited: &str) -> Result<(), Error> {
        self.stream
            .set_read_timeout(Some(LONGEST_CALL))
            .map_err(Error::system("preparing a connection"))?;
        let until_ns = self.time.now_ns() + self.timeout_ns;
        let mut filled = 0;
        while filled < room.len() {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            if self.time.now_ns() > until_ns {
                let milliseconds = self.timeout_ns / 1_000_000;
                let text = format!("the server sent nothing for {milliseconds} ms, not {awaited}");
                return Err(Error::Peer(text));
            }
            match self.stream.read(&mut room[filled..]) {
                Ok(0) => return Err(Error::Closed("the server closed the connection".into())),
                Ok(octets) => filled += octets,
                Err(error) if is_early(&error) => {}
                Err(error) => return Err(closed(&error)),
            }
        }
        Ok(())
    }
}

/// Connect; returns how long it took, which is a round trip and the work of both hosts.
pub(super) fn connected(
    to: SocketAddr,
    timeout_ns: u64,
    time: &impl Timeline,
) -> Result<(TcpStream, u64), Error> {
    let begin_ns = time.now_ns();
    let stream =
        TcpStream::connect_timeout(&to, Duration::from_nanos(timeout_ns)).map_err(|error| {
            match error.kind() {
                io::ErrorKind::ConnectionRefused => Error::Refused(to),
                io::ErrorKind::TimedOut => Error::Peer(format!("{to}: does not answer")),
                _ => Error::Peer(format!("{to}: {error}")),
            }
        })?;
    let opened_in_ns = time.now_ns() - begin_ns;
    stream.set_nodelay(true).map_err(Error::system("preparing a connection"))?;
    Ok((stream, opened_in_ns))
}

pub(super) fn closed(error: &io::Error) -> Error {
    Error::Closed(format!("the server closed the connection: {error}"))
}

pub(super) fn is_early(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
