//! Counters of the queues before interfaces, asked for over netlink.

use crate::Error;
use crate::netlink::{Netlink, attributes, error_of, messages, request, word};
use nix::sys::socket::SockProtocol;
use serde::{Deserialize, Serialize};
use std::io;

/// What a queue has counted since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueCounters {
    /// Kind of the queue: `tbf`, `fq_codel`, `noqueue`, ….
    pub kind: String,
    /// Index of its interface.
    pub interface: u32,
    /// Whether all that its interface sends goes through it. What queues within it pass, drop and
    /// hold is in its counters, too; those of what is received (`ingress`, `clsact`) are no roots.
    pub is_root: bool,
    /// Frames that it passed on.
    pub passed: u64,
    /// Octets of the passed frames, as the queue accounts for them.
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
const TCM_OCTETS: usize = 20; // tcmsg

const DOING: &str = "asking for the counters of queues";

/// The queues of this namespace.
///
/// # Errors
/// If the kernel does not report it.
pub fn queues() -> Result<Vec<QueueCounters>, Error> {
    let mut netlink = Netlink::open(SockProtocol::NetlinkRoute, DOING)?;
    netlink.send(&request(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &[0; TCM_OCTETS]))?;
    let mut queues = Vec::new();
    loop {
        match parse(netlink.receive()?, &mut queues) {
            DumpState::More => {}
            DumpState::End => return Ok(queues),
            DumpState::Error(code) => {
                let source = io::Error::from_raw_os_error(code);
                return Err(Error::System { doing: DOING, source });
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum DumpState {
    More,
    End,
    Error(i32),
}

fn parse(answer: &[u8], queues: &mut Vec<QueueCounters>) -> DumpState {
    for (kind, body) in messages(answer) {
        match i32::from(kind) {
            libc::NLMSG_DONE => return DumpState::End,
            libc::NLMSG_ERROR => return DumpState::Error(error_of(body)),
            _ if kind == libc::RTM_NEWQDISC => queues.extend(parse_queue(body)),
            _ => {}
        }
    }
    DumpState::More
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attribute;
    use proptest::prelude::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        request(kind, 0, body)
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
        assert_eq!(parse(&answer, &mut queues), DumpState::End);
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
        assert_eq!(parse(&answer, &mut Vec::new()), DumpState::Error(libc::EPERM));
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
