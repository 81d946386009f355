//! Requests to a relay at work: a socket of the file system on which one program at a time writes a
//! request a line, as JSON, and reads an answer a line.

use crate::plan::SegmentTrial;
use ethermeter_live::Error;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use serde::Deserialize;
use serde_json::{json, Value};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// What is asked of a relay.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// What was counted so far.
    Count {},
    /// Begin a trial on every segment.
    Begin {
        /// When: host time, in the future.
        at_ns: u64,
        /// The trial of each segment.
        segments: Vec<SegmentTrial>,
    },
    /// End the trial on every segment, and say what was counted of it.
    End {},
}

/// The longest request.
const LONGEST_OCTETS: usize = 64 << 20;

/// Where requests come from.
pub(crate) struct Control {
    path: PathBuf,
    listener: UnixListener,
    client: Option<Client>,
    /// One descriptor to wait for both.
    epoll: Epoll,
}

struct Client {
    stream: UnixStream,
    input: Vec<u8>,
    /// What it has not taken yet of an answer.
    output: Vec<u8>,
}

impl Control {
    /// Listen at a path, where nothing may be but a socket that nobody listens on any more.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let system = |source| Error::System { doing: "listening for requests", source };
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(system(error)),
            _ => {}
        }
        let listener = UnixListener::bind(path).map_err(system)?;
        listener.set_nonblocking(true).map_err(system)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| system(e.into()))?;
        let added = epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, 0));
        added.map_err(|error| system(error.into()))?;
        Ok(Self { path: path.to_owned(), listener, client: None, epoll })
    }

    /// The next request, or what is wrong with it; a new program takes the place of the one before.
    pub fn next(&mut self) -> Option<Result<Request, String>> {
        if let Ok((stream, _)) = self.listener.accept() {
            let is_fine = stream.set_nonblocking(true).is_ok();
            let event = EpollEvent::new(EpollFlags::EPOLLIN, 1);
            if is_fine && self.epoll.add(&stream, event).is_ok() {
                self.client = Some(Client { stream, input: Vec::new(), output: Vec::new() });
            }
        }
        let client = self.client.as_mut()?;
        client.flush();
        if !client.is_there() {
            self.client = None;
            return None;
        }
        let end = client.input.iter().position(|&octet| octet == b'\n')?;
        let line: Vec<u8> = client.input.drain(..=end).collect();
        Some(serde_json::from_slice(&line).map_err(|error| error.to_string()))
    }

    /// Answer the last request.
    pub fn answer(&mut self, answer: &Value) {
        let Some(client) = &mut self.client else { return };
        client.output.extend_from_slice(answer.to_string().as_bytes());
        client.output.push(b'\n');
        client.flush();
    }

    /// Answer that the last request cannot be.
    pub fn refuse(&mut self, why: &str) {
        self.answer(&json!({"error": why}));
    }
}

impl Client {
    /// Read what it has written; whether it is still there.
    fn is_there(&mut self) -> bool {
        let mut piece = [0; 1 << 14];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return false,
                Ok(octets) => self.input.extend_from_slice(&piece[..octets]),
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            if self.input.len() > LONGEST_OCTETS {
                return false;
            }
        }
    }

    fn flush(&mut self) {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(octets) => drop(self.output.drain(..octets)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.output.clear(), // it is gone
            }
        }
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
