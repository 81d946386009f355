//! Octets in bulk over a TCP connection.
//!
//! The result of a write or a read is a number of octets, nothing for now, or the end of the
//! connection; all else is an error.

use super::tcp_info::TcpInfo;
use crate::Error;
use nix::sys::socket::{MsgFlags, recv};
use std::io::{self, ErrorKind, Write as _};
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

/// A TCP connection whose calls return in time, so that callers can look at the clock and at flags.
/// Several threads may share it.
#[derive(Debug)]
pub struct BulkStream {
    stream: TcpStream,
}

/// What became of a write or a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkResult {
    /// So many octets went.
    Octets(usize),
    /// None could go now: there was no room or nothing to read, or the call was interrupted.
    Nothing,
    /// The other end has closed the connection: nothing more comes, or goes.
    Closed,
    /// The other end has reset the connection.
    Reset,
}

impl BulkResult {
    /// What the system's answer means; `doing` is for errors of other kinds.
    fn of(answer: io::Result<usize>, doing: &'static str) -> Result<Self, Error> {
        match answer {
            Ok(octets) => Ok(Self::Octets(octets)),
            Err(source) => match source.kind() {
                // Linux reports the end of a timeout like a call that would block. What it calls
                // timed out is a connection that has failed.
                ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(Self::Nothing),
                ErrorKind::BrokenPipe => Ok(Self::Closed),
                ErrorKind::ConnectionReset => Ok(Self::Reset),
                _ => Err(Error::System { doing, source }),
            },
        }
    }
}

impl BulkStream {
    /// Over an open connection, with calls that last at most `longest_call`, or do not wait at all.
    ///
    /// # Errors
    /// If the system refuses, as it does a time of zero.
    pub fn over(stream: TcpStream, longest_call: Option<Duration>) -> Result<Self, Error> {
        stream
            .set_nonblocking(longest_call.is_none())
            .and_then(|()| stream.set_write_timeout(longest_call))
            .and_then(|()| stream.set_read_timeout(longest_call))
            .map_err(Error::system("preparing a TCP connection"))?;
        Ok(Self { stream })
    }

    /// Write octets, at least one, as far as there is room for them.
    ///
    /// # Errors
    /// If the connection has failed.
    pub fn write(&self, octets: &[u8]) -> Result<BulkResult, Error> {
        BulkResult::of((&self.stream).write(octets), "writing to a TCP connection")
    }

    /// Read what there is into `room`, which is for at least one octet.
    ///
    /// # Errors
    /// If the connection has failed.
    pub fn read(&self, room: &mut [u8]) -> Result<BulkResult, Error> {
        self.receive(room, MsgFlags::empty())
    }

    /// The same, without waiting.
    ///
    /// # Errors
    /// If the connection has failed.
    pub fn read_now(&self, room: &mut [u8]) -> Result<BulkResult, Error> {
        self.receive(room, MsgFlags::MSG_DONTWAIT)
    }

    fn receive(&self, room: &mut [u8], flags: MsgFlags) -> Result<BulkResult, Error> {
        let answer = recv(self.stream.as_raw_fd(), room, flags).map_err(io::Error::from);
        let result = BulkResult::of(answer, "reading a TCP connection")?;
        Ok(if result == BulkResult::Octets(0) { BulkResult::Closed } else { result })
    }

    /// Write a block, unless the other end is gone or `may_go_on` says no. It is asked after each
    /// call of the system, and told how many octets that took.
    ///
    /// Returns how many octets of the block were taken.
    ///
    /// # Errors
    /// If the connection has failed.
    pub fn write_block(
        &self,
        block: &[u8],
        mut may_go_on: impl FnMut(usize) -> bool,
    ) -> Result<usize, Error> {
        let mut written = 0;
        while written < block.len() {
            let octets = match self.write(&block[written..])? {
                BulkResult::Octets(octets) => octets,
                BulkResult::Nothing => 0,
                BulkResult::Closed | BulkResult::Reset => break,
            };
            written += octets;
            if !may_go_on(octets) {
                break;
            }
        }
        Ok(written)
    }

    /// TCP's statistics of the connection.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn info(&self) -> Result<TcpInfo, Error> {
        TcpInfo::of(&self.stream)
    }

    /// The connection itself.
    #[must_use]
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }
}

#[cfg(test)]
mod tests {
    use super::super::tcp::set_persistence;
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    /// Two ends of a connection on the loopback interface: one as asked for, and one whose calls
    /// wait for a second.
    fn ends(longest_call: Option<Duration>) -> (BulkStream, BulkStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let one = TcpStream::connect(listener.local_addr().expect("an address")).expect("an end");
        let (other, _) = listener.accept().expect("the other end");
        let over = |stream, longest_call| BulkStream::over(stream, longest_call).expect("a stream");
        (over(one, longest_call), over(other, Some(Duration::from_secs(1))))
    }

    #[test]
    fn what_is_not_read_fills_the_room_and_what_was_taken_arrives() {
        for longest_call in [None, Some(Duration::from_millis(1))] {
            let (one, other) = ends(longest_call);
            let block = vec![7; 1 << 20];
            let mut taken = 0;
            let last = loop {
                match one.write(&block).expect("a connection") {
                    BulkResult::Octets(octets) => taken += octets,
                    other => break other,
                }
            };
            assert_eq!(last, BulkResult::Nothing);
            let mut room = vec![0; 1 << 20];
            while taken > 0 {
                match other.read(&mut room).expect("a connection") {
                    BulkResult::Octets(octets) => taken -= octets,
                    result => panic!("{result:?}, {taken} octets before all had come"),
                }
            }
            assert!(one.info().expect("what TCP says").sent_octets > 1 << 16);
        }
    }

    #[test]
    fn without_anything_to_read_there_is_nothing() {
        for longest_call in [None, Some(Duration::from_millis(1))] {
            let (one, _other) = ends(longest_call);
            assert_eq!(one.read(&mut [0]).expect("a connection"), BulkResult::Nothing);
        }
    }

    #[test]
    fn an_end_that_closes_in_order_is_told_from_one_that_resets() {
        for (goes_on, end) in [(true, BulkResult::Closed), (false, BulkResult::Reset)] {
            let (one, other) = ends(Some(Duration::from_secs(1)));
            assert_eq!(other.write(b"last").expect("a connection"), BulkResult::Octets(4));
            let mut room = [0; 8];
            assert_eq!(one.read(&mut room).expect("a connection"), BulkResult::Octets(4));
            set_persistence(other.stream(), goes_on).expect("an option");
            drop(other);
            assert_eq!(one.read(&mut room).expect("a connection"), end);
        }
    }

    #[test]
    fn a_block_is_written_whole_though_the_other_end_reads_slowly() {
        let (one, other) = ends(Some(Duration::from_millis(1)));
        let block: Vec<u8> = (0..=u8::MAX).cycle().take(8_000_003).collect();
        let (taken, read) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut read, mut room) = (Vec::new(), [0; 5000]);
                while let BulkResult::Octets(octets) = other.read(&mut room).expect("octets") {
                    read.extend_from_slice(&room[..octets]);
                }
                read
            });
            let mut told = 0;
            let written = one.write_block(&block, |octets| {
                told += octets;
                true
            });
            assert_eq!(written.expect("a connection"), told);
            drop(one);
            (told, reader.join().expect("no panic"))
        });
        assert_eq!(taken, block.len());
        assert!(read == block, "octets in order");
    }

    #[test]
    fn a_block_ends_where_it_may_not_go_on_and_with_the_connection() {
        let (one, other) = ends(Some(Duration::from_millis(1)));
        let block = vec![7; 64 << 20];
        let mut calls = 0;
        let written = one.write_block(&block, |_| {
            calls += 1;
            calls < 3
        });
        assert!(written.expect("a connection") < block.len() && calls == 3, "{calls}");
        drop(other);
        assert!(one.write_block(&block, |_| true).expect("a connection") < block.len());
    }
}
