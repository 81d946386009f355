//! Requests to a relay at work: a socket of the file system on which each program writes a request a
//! line, as JSON, and reads an answer a line. With the request of a capture it passes the
//! descriptor of the file; its connection belongs to that capture from then on.

use crate::capture;
use crate::plan::SegmentTrial;
use ethermeter_net::Error;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, UnixAddr, recvmsg};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{ErrorKind, IoSliceMut, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// What is asked of a relay.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlRequest {
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
    /// Capture a segment into the file that is passed with the request.
    Capture(capture::CaptureOptions),
}

/// The longest request.
const LONGEST_OCTETS: usize = 64 << 20;

/// Programs that are connected at once, at most; further ones wait to be accepted.
const MOST_CLIENTS: usize = 16;

/// Where requests come from.
pub(crate) struct ControlSocket {
    path: PathBuf,
    listener: UnixListener,
    clients: Vec<ControlClient>,
    /// Position of the client that wrote the last request.
    asking: usize,
    /// One descriptor to wait for all.
    epoll: Epoll,
}

struct ControlClient {
    stream: UnixStream,
    input: Vec<u8>,
    /// What it has not taken yet of an answer.
    output: Vec<u8>,
    /// The last file that it has passed.
    file: Option<File>,
}

impl ControlSocket {
    /// Listen at a path. A stale socket there is replaced: one whose program has ended.
    ///
    /// # Errors
    /// If there is another file, or a socket that a program has open, or the system refuses.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let system = |source| Error::System { doing: "listening for requests", source };
        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(system)?;
        listener.set_nonblocking(true).map_err(system)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| system(e.into()))?;
        let added = epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, 0));
        added.map_err(|error| system(error.into()))?;
        Ok(Self { path: path.to_owned(), listener, clients: Vec::new(), asking: 0, epoll })
    }

    /// The next request of any program, or what is wrong with it.
    pub fn next(&mut self) -> Option<Result<ControlRequest, String>> {
        self.accept();
        // Only the client whose request is returned is read to its end: what the others have written
        // keeps the descriptor ready.
        let mut number = 0;
        while number < self.clients.len() {
            let client = &mut self.clients[number];
            client.flush();
            if !client.is_there() {
                self.clients.remove(number);
                continue;
            }
            if let Some(end) = client.input.iter().position(|&octet| octet == b'\n') {
                let line: Vec<u8> = client.input.drain(..=end).collect();
                self.asking = number;
                return Some(serde_json::from_slice(&line).map_err(|error| error.to_string()));
            }
            number += 1;
        }
        None
    }

    fn accept(&mut self) {
        while self.clients.len() < MOST_CLIENTS {
            let Ok((stream, _)) = self.listener.accept() else { return };
            let is_fine = stream.set_nonblocking(true).is_ok();
            let event = EpollEvent::new(EpollFlags::EPOLLIN, 1);
            if is_fine && self.epoll.add(&stream, event).is_ok() {
                self.clients.push(ControlClient::new(stream));
            }
        }
    }

    /// The file that was passed with the last request, and the connection, which is no more one of
    /// requests.
    pub fn take_client(&mut self) -> Option<(File, UnixStream)> {
        let file = self.clients.get_mut(self.asking)?.file.take()?;
        let ControlClient { stream, .. } = self.clients.remove(self.asking);
        self.asking = usize::MAX; // no client waits for an answer
        let _ = self.epoll.delete(&stream); // it was added
        Some((file, stream))
    }

    /// Answer the last request.
    pub fn answer(&mut self, answer: &Value) {
        let Some(client) = self.clients.get_mut(self.asking) else { return };
        client.output.extend_from_slice(answer.to_string().as_bytes());
        client.output.push(b'\n');
        client.flush();
    }

    /// Answer that the last request cannot be.
    pub fn refuse(&mut self, why: &str) {
        self.answer(&json!({"error": why}));
    }
}

/// Remove the socket at `path` if no program has it open any more.
fn remove_stale(path: &Path) -> Result<(), Error> {
    let system = |source| Error::System { doing: "looking for a stale control socket", source };
    let refused = |what: &str| Error::Refused {
        what: "control",
        value: format!("{}, {what}", path.display()),
        allowed: "a path without a file, or a stale control socket".into(),
    };
    match std::fs::symlink_metadata(path) {
        Ok(file) if file.file_type().is_socket() => {}
        Ok(_) => return Err(refused("a file that is no socket")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(system(error)),
    }
    // A connection of streams would take the place of the program that now makes requests. One of
    // datagrams does not reach it: the kernel only says that the socket is of another type.
    match UnixDatagram::unbound().and_then(|probe| probe.connect(path)) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(system)
        }
        Err(error) if error.raw_os_error() == Some(Errno::EPROTOTYPE as i32) => {
            Err(refused("a socket that another program listens on"))
        }
        Ok(()) => Err(refused("a socket of datagrams that another program has open")),
        Err(error) => Err(system(error)),
    }
}

impl ControlClient {
    fn new(stream: UnixStream) -> Self {
        Self { stream, input: Vec::new(), output: Vec::new(), file: None }
    }

    /// Read what it has written; whether it is still there.
    fn is_there(&mut self) -> bool {
        let mut buffer = [0; 1 << 14];
        loop {
            match self.receive(&mut buffer) {
                Ok(0) => return false,
                Ok(octets) => self.input.extend_from_slice(&buffer[..octets]),
                Err(error) => return error == Errno::EAGAIN,
            }
            if self.input.len() > LONGEST_OCTETS {
                return false;
            }
        }
    }

    /// Receive octets, and the file that may be with them.
    fn receive(&mut self, piece: &mut [u8]) -> nix::Result<usize> {
        let mut space = nix::cmsg_space!([i32; 2]);
        let mut slices = [IoSliceMut::new(piece)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let received =
            recvmsg::<UnixAddr>(self.stream.as_raw_fd(), &mut slices, Some(&mut space), flags)?;
        for message in received.cmsgs()? {
            let ControlMessageOwned::ScmRights(descriptors) = message else { continue };
            for descriptor in descriptors {
                #[expect(unsafe_code, reason = "the safe wrapper gives descriptors as numbers")]
                // SAFETY: the kernel has just made the descriptor for this process, and nothing
                // else has its number.
                let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
                self.file = Some(File::from(owned));
            }
        }
        Ok(received.bytes)
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

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// A directory that goes away.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("ethermeter-relay-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).expect("a directory");
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn refusal(path: &Path) -> String {
        ControlSocket::open(path).err().expect("must be refused").to_string()
    }

    #[test]
    fn a_stale_socket_is_replaced() {
        let scratch = Scratch::new("stale");
        let path = scratch.0.join("control");
        drop(UnixListener::bind(&path).expect("a socket"));
        assert!(path.exists(), "nobody has removed it");
        let control = ControlSocket::open(&path).expect("it is stale");
        drop(control);
        assert!(!path.exists());
    }

    #[test]
    fn a_socket_that_a_program_listens_on_stays_and_so_does_its_client() {
        let scratch = Scratch::new("in-use");
        let path = scratch.0.join("control");
        let mut control = ControlSocket::open(&path).expect("nothing is there");
        let mut client = UnixStream::connect(&path).expect("it listens");
        assert!(control.next().is_none());
        let refused = refusal(&path);
        assert!(refused.contains("another program listens"), "{refused}");
        client.write_all(b"{\"count\": {}}\n").expect("it is connected");
        assert_eq!(control.next(), Some(Ok(ControlRequest::Count {})));
        control.answer(&json!(1));
        let mut answer = [0; 2];
        client.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"1\n");
    }

    #[test]
    fn programs_that_connect_at_the_same_time_are_all_answered() {
        let scratch = Scratch::new("several");
        let path = scratch.0.join("control");
        let mut control = ControlSocket::open(&path).expect("nothing is there");
        let mut clients: Vec<UnixStream> = (0..2 * MOST_CLIENTS)
            .map(|_| UnixStream::connect(&path).expect("it listens"))
            .collect();
        for client in &mut clients {
            client.write_all(b"{\"count\": {}}\n").expect("it is connected");
        }
        for number in 0..MOST_CLIENTS {
            assert_eq!(control.next(), Some(Ok(ControlRequest::Count {})));
            control.answer(&json!(number));
        }
        assert_eq!(control.next(), None, "the others wait until one of these has gone");
        let waiting = clients.split_off(MOST_CLIENTS);
        for (number, mut client) in clients.into_iter().enumerate() {
            let mut answer = String::new();
            client.shutdown(std::net::Shutdown::Write).expect("it is connected");
            assert_eq!(control.next().is_some(), number > 0, "client {number}");
            client.read_to_string(&mut answer).expect("an answer");
            assert_eq!(answer, format!("{number}\n"));
        }
        drop(waiting);
    }

    #[test]
    fn what_is_no_socket_of_this_kind_stays() {
        let scratch = Scratch::new("other");
        let file = scratch.0.join("file");
        std::fs::write(&file, "text").expect("a file");
        assert!(refusal(&file).contains("no socket"));
        let link = scratch.0.join("link");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        assert!(refusal(&link).contains("no socket"));
        assert!(refusal(&scratch.0).contains("no socket"));
        assert_eq!(std::fs::read_to_string(&file).expect("the file"), "text");
        let datagrams = scratch.0.join("datagrams");
        let open = UnixDatagram::bind(&datagrams).expect("a socket");
        assert!(refusal(&datagrams).contains("of datagrams"));
        drop(open);
    }
}
