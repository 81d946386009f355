//! Every frame of an interface, in both directions, to be recorded: a packet socket with a ring of
//! blocks (`TPACKET_V3`), which nothing is ever sent through.
//!
//! The filter of the socket cuts frames in the kernel, so that the ring holds many however long
//! they are. On the loopback interface, where each frame goes out and comes in, it is taken as it
//! comes in, once.

use super::packet::{bind, interface_index, raw_socket};
use super::ring::{ADDRESSES_OCTETS, BlockFrame, BlockRing, ring_counts, vlan_tag};
use super::system::{nanoseconds, set_option, set_packet_option, stamp_arrivals, wait_readable};
use crate::Error;
use socket2::Socket;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Octets of a frame that may be kept: what a block has room for beside the kernel's headers.
pub const SNAPS: std::ops::RangeInclusive<u32> = 64..=65_536;
/// Octets of memory that a ring may take.
pub const RINGS: std::ops::RangeInclusive<usize> = BLOCK_OCTETS..=1 << 30;
const BLOCK_OCTETS: usize = 1 << 17;
/// A block that is not full is handed over after this. No role waits for these frames; with longer
/// times, fewer frames fill as many blocks.
const RETIRE_MS: u32 = 20;
#[allow(clippy::cast_possible_truncation)] // 3
const EVERY_PROTOCOL: u16 = libc::ETH_P_ALL as u16;
/// What is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapOptions {
    /// The interface.
    pub interface: String,
    /// Octets of each frame that are kept.
    pub snap_octets: u32,
    /// Octets of memory for frames that wait to be taken, in whole blocks of 128 KiB.
    pub ring_octets: usize,
    /// Only IPv4 between an address and the network that it is in, of so many bits.
    pub only: Option<(Ipv4Addr, u8)>,
}

/// A frame, as far as it was kept.
#[derive(Clone, Copy, Debug)]
pub struct Tapped<'a> {
    /// The kernel's stamp, by the wall clock.
    pub stamped_wall_ns: u64,
    /// Octets that it had, without FCS.
    pub octets: u32,
    /// Whether the host sent it.
    pub is_sent: bool,
    /// Destination and source address of the frame.
    pub head: &'a [u8],
    /// VLAN tag of the frame, which the kernel keeps apart.
    pub tag: Option<[u8; 4]>,
    /// What follows.
    pub rest: &'a [u8],
}

/// The kernel's counters of a ring, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapCounters {
    /// Frames that passed the filter, the dropped ones among them.
    pub accepted: u64,
    /// Of these, frames that found the ring full.
    pub dropped: u64,
}

/// A socket that hears, and its ring.
pub struct Tap {
    socket: Socket,
    ring: BlockRing,
    counters: TapCounters,
}

impl Tap {
    /// Open it; frames are held from now on. Needs the right to open packet sockets
    /// (`CAP_NET_RAW`).
    ///
    /// # Errors
    /// If an option is out of range, or the system refuses.
    pub fn open(options: &TapOptions) -> Result<Self, Error> {
        if !SNAPS.contains(&options.snap_octets) {
            let allowed = format!("{} to {} octets", SNAPS.start(), SNAPS.end());
            return Err(Error::refused("octets kept of a frame", options.snap_octets, allowed));
        }
        if !RINGS.contains(&options.ring_octets) {
            let allowed = format!("{} to {} octets", RINGS.start(), RINGS.end());
            return Err(Error::refused("octets of a ring", options.ring_octets, allowed));
        }
        let index = interface_index(&options.interface)?;
        let socket = raw_socket()?;
        let version = libc::tpacket_versions::TPACKET_V3 as i32;
        set_packet_option(&socket, libc::PACKET_VERSION, &version, "choosing a kind of ring")?;
        // Without this the kernel stamps a frame when it reaches the ring instead of when it
        // reaches the interface.
        stamp_arrivals(&socket)?;
        if crate::interface::is_loopback(&options.interface)? {
            set_packet_option(
                &socket,
                libc::PACKET_IGNORE_OUTGOING,
                &1i32,
                "ignoring what goes out",
            )?;
        }
        let program = options.only.map_or_else(
            || vec![keep(options.snap_octets)],
            |(address, bits)| between(address, bits, options.snap_octets),
        );
        attach(&socket, &program)?;
        let ring =
            BlockRing::new(&socket, options.ring_octets / BLOCK_OCTETS, BLOCK_OCTETS, RETIRE_MS)?;
        // Only now, so that ring and filter are there before the first frame.
        bind(&socket, index, EVERY_PROTOCOL)?;
        Ok(Self { socket, ring, counters: TapCounters::default() })
    }

    /// Hand on what has arrived, once around the ring at most; returns how many frames.
    ///
    /// # Errors
    /// Errors of `hand_on`; the frames of the block are lost then.
    pub fn take(
        &mut self,
        mut hand_on: impl FnMut(&Tapped<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        self.ring.take(|held| hand_on(&tapped(held)))
    }

    /// Wait until a block is handed over, or about so long.
    pub fn wait(&self, milliseconds: u16) {
        if wait_readable(&self.socket, Duration::from_millis(milliseconds.into())) {
            let _: std::io::Result<Option<std::io::Error>> = self.socket.take_error();
            // or the next wait would end at once
        }
    }

    /// Let nothing more in; what is in the ring can still be taken.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn shut(&mut self) -> Result<(), Error> {
        attach(&self.socket, &[keep(0)])
    }

    /// The kernel's counters of the ring.
    ///
    /// # Errors
    /// If it does not.
    pub fn counters(&mut self) -> Result<TapCounters, Error> {
        let (accepted, dropped) = ring_counts(&self.socket)?;
        self.counters.accepted += accepted;
        self.counters.dropped += dropped;
        Ok(self.counters)
    }
}

fn tapped<'a>(BlockFrame { head, from, frame }: &BlockFrame<'a>) -> Tapped<'a> {
    let (addresses, rest) = frame.split_at(frame.len().min(ADDRESSES_OCTETS));
    #[expect(clippy::cast_possible_truncation, reason = "the tag is in the low 16 bits")]
    let tag = vlan_tag(head.tp_status, head.hv1.tp_vlan_tpid, head.hv1.tp_vlan_tci as u16);
    Tapped {
        stamped_wall_ns: nanoseconds(i64::from(head.tp_sec), i64::from(head.tp_nsec)),
        octets: head.tp_len + if tag.is_some() { 4 } else { 0 },
        is_sent: from.sll_pkttype == libc::PACKET_OUTGOING,
        head: addresses,
        tag,
        rest,
    }
}

/// An instruction of a filter (linux/filter.h): what to do, where to go on if it is so and if not,
/// and a number.
fn instruction(code: u32, so: u8, not: u8, number: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: u16::try_from(code).expect("codes are small"),
        jt: so,
        jf: not,
        k: number,
    }
}

/// End the filter: keep so many octets, or with 0 nothing of the frame.
fn keep(octets: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, octets)
}

/// A filter for IPv4 between an address and its network.
fn between(address: Ipv4Addr, bits: u8, snap_octets: u32) -> Vec<libc::sock_filter> {
    const IPV4: u32 = 0x0800;
    // Places of type, source and destination in an Ethernet frame.
    const TYPE: u32 = 12;
    const SOURCE: u32 = 26;
    const DESTINATION: u32 = 30;
    let own = u32::from(address);
    let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
    let load = |at| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, at);
    let is =
        |value, so, not| instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, so, not, value);
    vec![
        instruction(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 0, TYPE),
        is(IPV4, 0, 10),
        load(SOURCE),
        is(own, 4, 0),
        load(DESTINATION),
        is(own, 0, 6),
        load(SOURCE),
        instruction(libc::BPF_JMP | libc::BPF_JA, 0, 0, 1),
        load(DESTINATION),
        instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, mask),
        is(own & mask, 0, 1),
        keep(snap_octets),
        keep(0),
    ]
}

fn attach(socket: &Socket, program: &[libc::sock_filter]) -> Result<(), Error> {
    let instructions = u16::try_from(program.len()).expect("a short program");
    // The kernel reads the program through the pointer and keeps a copy.
    let filter = libc::sock_fprog { len: instructions, filter: program.as_ptr().cast_mut() };
    set_option(
        socket,
        libc::SOL_SOCKET,
        libc::SO_ATTACH_FILTER,
        &filter,
        "choosing what is recorded",
    )
}
