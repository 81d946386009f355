//! Counters of the queues before interfaces, asked for over netlink.

use crate::Error;
use nix::sys::socket::{
    recv, send, socket, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType,
};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsRawFd;

/// What a queue has counted since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct QueueCounters {
    /// Its kind: `tbf`, `fq_codel`, `noqueue`, ….
    pub kind: String,
    /// Index of its interface.
    pub interface: u32,
    /// Whether all that its interface sends goes through it. What queues within it pass, drop and
    /// hold is in its counters, too; those of what is received (`ingress`, `clsact`) are no roots.
    pub is_root: bool,
    /// Frames that it passed on.
    pub passed: u64,
    /// Their octets, as it accounts for them.
    pub passed_octets: u64,
    /// Frames that it dropped.
    pub dropped: u64,
    /// Frames that wait in it.
    pub waiting: u64,
}

// linux/rtnetlink.h, linux/gen_stats.h, linux/pkt_sched.h
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TC_H_ROOT: u32 = 0xFFFF_FFFF;
const MESSAGE_OCTETS: usize = 16; // nlmsghdr
const TCM_OCTETS: usize = 20; // tcmsg
const KIND_MASK: u16 = 0x3FFF; // the two highest bits are flags

/// The queues of this namespace.
///
/// # Errors
/// If the kernel does not report it.
pub fn queues() -> Result<Vec<QueueCounters>, Error> {
    let asking = |error: nix::Error| Error::System {
        doing: "asking for the counters of queues",
        source: error.into(),
    };
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )
    .map_err(asking)?;
    send(netlink.as_raw_fd(), &request(), MsgFlags::empty()).map_err(asking)?;
    let (mut queues, mut answer) = (Vec::new(), vec![0; 1 << 17]);
    loop {
        let octets = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty()).map_err(asking)?;
        match parse(&answer[..octets], &mut queues) {
            Answer::More => {}
            Answer::End => return Ok(queues),
            Answer::Error(code) => {
                return Err(Error::System {
                    doing: "asking for the counters of queues",
                    source: io::Error::from_raw_os_error(code),
                })
            }
        }
    }
}

/// A request for all queues: a message header and an empty `tcmsg`.
fn request() -> [u8; MESSAGE_OCTETS + TCM_OCTETS] {
    let mut request = [0; MESSAGE_OCTETS + TCM_OCTETS];
    let octets = u32::try_from(request.len()).expect("36");
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // flags of 16 bits
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request[..4].copy_from_slice(&octets.to_ne_bytes());
    request[4..6].copy_from_slice(&libc::RTM_GETQDISC.to_ne_bytes());
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    request
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    More,
    End,
    Error(i32),
}

fn parse(mut messages: &[u8], queues: &mut Vec<QueueCounters>) -> Answer {
    while let Some((octets, kind)) = word(messages, 0).zip(half(messages, 4)) {
        let Some(body) = messages.get(MESSAGE_OCTETS..octets as usize) else { break };
        match i32::from(kind) {
            libc::NLMSG_DONE => return Answer::End,
            libc::NLMSG_ERROR => {
                return Answer::Error(
                    word(body, 0).map_or(0, |code| code.cast_signed().wrapping_neg()),
                )
            }
            _ if kind == libc::RTM_NEWQDISC => queues.extend(parse_queue(body)),
            _ => {}
        }
        messages = messages.get((octets as usize).next_multiple_of(4)..).unwrap_or(&[]);
    }
    Answer::More
}

fn parse_queue(body: &[u8]) -> Option<QueueCounters> {
    // tcmsg: family, padding, interface, handle, parent, …
    let (interface, parent) = word(body, 4).zip(word(body, 12))?;
    let mut queue =
        QueueCounters { interface, is_root: parent == TC_H_ROOT, ..QueueCounters::default() };
    for (kind, value) in attributes(body.get(TCM_OCTETS..)?) {
        match kind {
            TCA_KIND => {
                String::from_utf8_lossy(value).trim_end_matches('\0').clone_into(&mut queue.kind);
            }
            TCA_STATS2 => {
                for (kind, value) in attributes(value) {
                    match kind {
                        // gnet_stats_basic: octets (64 bits), frames
                        TCA_STATS_BASIC => {
                            queue.passed_octets =
                                value.first_chunk().map_or(0, |octets| u64::from_ne_bytes(*octets));
                            queue.passed = word(value, 8).map_or(0, u64::from);
                        }
                        // gnet_stats_queue: frames waiting, their octets, drops, …
                        TCA_STATS_QUEUE => {
                            queue.waiting = word(value, 0).map_or(0, u64::from);
                            queue.dropped = word(value, 8).map_or(0, u64::from);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Some(queue)
}

/// Attributes: their length with this header, their kind, their value, padding to four octets.
fn attributes(mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = half(octets, 0).zip(half(octets, 2))?;
        let value = octets.get(4..usize::from(length))?;
        octets = octets.get(usize::from(length).next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind & KIND_MASK, value))
    })
}

fn word(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|octets| u32::from_ne_bytes(*octets))
}

fn half(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk().map(|octets| u16::from_ne_bytes(*octets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).expect("short");
        let mut octets = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        octets.extend_from_slice(value);
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut octets = vec![0; MESSAGE_OCTETS];
        octets[..4].copy_from_slice(
            &u32::try_from(MESSAGE_OCTETS + body.len()).expect("short").to_ne_bytes(),
        );
        octets[4..6].copy_from_slice(&kind.to_ne_bytes());
        octets.extend_from_slice(body);
        octets
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_queue_is_read_as_the_kernel_writes_it() {
        let basic = [5000u64.to_ne_bytes().to_vec(), words(&[50, 0])].concat();
        let stats = [
            attribute(TCA_STATS_BASIC, &basic),
            attribute(TCA_STATS_QUEUE, &words(&[3, 300, 7, 0, 9])),
        ]
        .concat();
        let body = [
            words(&[0, 4, 0, TC_H_ROOT, 0]),
            attribute(TCA_KIND, b"tbf\0"),
            attribute(TCA_STATS2 | 0x8000, &stats), // flagged as nested
        ]
        .concat();
        let answer = [message(libc::RTM_NEWQDISC, &body), message(3, &[0; 4])].concat();
        let mut queues = Vec::new();
        assert_eq!(parse(&answer, &mut queues), Answer::End);
        let counted = QueueCounters {
            passed: 50,
            passed_octets: 5000,
            dropped: 7,
            waiting: 3,
            ..QueueCounters::default()
        };
        assert_eq!(
            queues,
            [QueueCounters { kind: "tbf".into(), interface: 4, is_root: true, ..counted }]
        );
    }

    #[test]
    fn a_queue_within_another_or_for_what_is_received_is_no_root() {
        for parent in [0x0001_0001, 0xFFFF_FFF1] {
            let answer = message(libc::RTM_NEWQDISC, &words(&[0, 4, 0, parent, 0]));
            let mut queues = Vec::new();
            parse(&answer, &mut queues);
            assert_eq!(queues, [QueueCounters { interface: 4, ..QueueCounters::default() }]);
        }
    }

    #[test]
    fn a_refusal_is_told() {
        let answer = message(2, &(-libc::EPERM).to_ne_bytes());
        assert_eq!(parse(&answer, &mut Vec::new()), Answer::Error(libc::EPERM));
    }

    #[test]
    fn this_namespace_answers() {
        // Which queues there are is up to the host; that the answer ends is not.
        queues().expect("an answer");
    }

    proptest! {
        #[test]
        fn no_octets_make_parsing_panic(octets in proptest::collection::vec(any::<u8>(), 0..200), dress: bool) {
            let octets = if dress { message(libc::RTM_NEWQDISC, &octets) } else { octets };
            parse(&octets, &mut Vec::new());
        }
    }
}
