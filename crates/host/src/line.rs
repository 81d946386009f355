//! A long wire, or a device that forwards: what comes by one interface goes out by the other, a
//! fixed time later, in order, and no more than so many frames a second.
//!
//! For kernels that have no qdisc that delays. It is a process and no wire: a frame may be later
//! than its time by as much as the processor keeps the process waiting, and what finds its room
//! full is lost.

use crate::{Error, joined, packet_socket};
use ethermeter_live::port::system::set_packet_option;
use ethermeter_live::time::{NS_PER_S, Timeline};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::AsFd;

const LONGEST_FRAME: usize = 1 << 14;
#[allow(clippy::cast_possible_truncation)] // 3
const EVERY_PROTOCOL: u16 = libc::ETH_P_ALL as u16;
/// At most so long between two looks at whether it is over.
const LOOK_NS: u64 = 50_000_000;

/// What a line is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayLine {
    /// The interfaces at its ends, in this network namespace.
    pub ends: [String; 2],
    /// How much later a frame leaves than it arrived, at most 10 s.
    pub delay_ns: u64,
    /// What a device takes for each frame, one after the other, before that delay begins; at most
    /// 10 s.
    #[serde(default)]
    pub frame_ns: u64,
    /// Frames in transit in each direction, those that wait included, at most 2^20.
    pub room_frames: u64,
    /// How long it lasts, at most an hour.
    pub duration_ns: u64,
}

/// What became of frames, for each direction: from the first end to the second, and back.
#[derive(Debug, Default, Serialize)]
pub struct DelayLineCounts {
    /// Frames that left.
    pub frames: [u64; 2],
    /// Frames that found no room.
    pub lost: [u64; 2],
}

/// Be a line until its time is over.
///
/// # Errors
/// If a number is out of range, or the system refuses: packet sockets need the right to raw network
/// access.
pub fn carry(line: &DelayLine, time: &(impl Timeline + Sync)) -> Result<DelayLineCounts, Error> {
    Error::unless_within("delay_ns", line.delay_ns, 0, 10 * NS_PER_S)?;
    Error::unless_within("frame_ns", line.frame_ns, 0, 10 * NS_PER_S)?;
    Error::unless_within("room_frames", line.room_frames, 1, 1 << 20)?;
    Error::unless_within("duration_ns", line.duration_ns, 1, 3600 * NS_PER_S)?;
    let end_ns = time.now_ns() + line.duration_ns;
    let [one, other] = &line.ends;
    // Sockets that send hear nothing, so that nothing queues up behind them.
    let (from, to) = (listening(one)?, packet_socket(other, 0)?);
    let (back_from, back_to) = (listening(other)?, packet_socket(one, 0)?);
    std::thread::scope(|scope| {
        let there = scope.spawn(move || one_way(from, &to, line, time, end_ns));
        let back = one_way(back_from, &back_to, line, time, end_ns);
        let there = joined(there)?;
        let back = back?;
        Ok(DelayLineCounts { frames: [there.0, back.0], lost: [there.1, back.1] })
    })
}

fn listening(interface: &str) -> Result<Socket, Error> {
    let socket = packet_socket(interface, EVERY_PROTOCOL)?;
    let preparing = || Error::system("preparing a packet socket");
    socket.set_nonblocking(true).map_err(preparing())?;
    socket.set_recv_buffer_size(4 << 20).map_err(preparing())?;
    let doing = "hearing only what comes in";
    set_packet_option(&socket, libc::PACKET_IGNORE_OUTGOING, &1i32, doing)?;
    Ok(socket)
}

/// Frames that left and that were lost.
fn one_way(
    mut from: Socket,
    to: &Socket,
    line: &DelayLine,
    time: &impl Timeline,
    end_ns: u64,
) -> Result<(u64, u64), Error> {
    let mut in_transit: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
    let mut spare: Vec<Vec<u8>> = Vec::new();
    let mut room = vec![0; LONGEST_FRAME];
    let (mut left, mut lost) = (0, 0);
    // When the device is done with all frames that it has taken.
    let mut free_ns = 0;
    loop {
        let now_ns = time.now_ns();
        if now_ns >= end_ns {
            return Ok((left, lost));
        }
        loop {
            match from.read(&mut room) {
                Ok(octets) if (in_transit.len() as u64) < line.room_frames => {
                    let mut frame = spare.pop().unwrap_or_default();
                    frame.clear();
                    frame.extend_from_slice(&room[..octets]);
                    free_ns = free_ns.max(time.now_ns()) + line.frame_ns;
                    in_transit.push_back((free_ns + line.delay_ns, frame));
                }
                Ok(_) => lost += 1,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(source) => return Err(Error::System { doing: "reading a frame", source }),
            }
        }
        while in_transit.front().is_some_and(|(due_ns, _)| *due_ns <= time.now_ns()) {
            let (_, frame) = in_transit.pop_front().expect("it is there");
            match to.send(&frame) {
                Ok(_) => left += 1,
                // A queue that is full loses it, as a queue does.
                Err(error)
                    if matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN)) =>
                {
                    lost += 1;
                }
                Err(source) => return Err(Error::System { doing: "sending a frame", source }),
            }
            spare.push(frame);
        }
        let now_ns = time.now_ns();
        let next_ns = in_transit
            .front()
            .map_or(LOOK_NS, |(due_ns, _)| due_ns.saturating_sub(now_ns))
            .min(LOOK_NS);
        let wait = TimeSpec::new(0, i64::try_from(next_ns).expect("well below a second"));
        let mut watched = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        // A signal wakes early, and everything is looked at again anyway.
        let _ = ppoll(&mut watched, Some(wait), None);
    }
}
