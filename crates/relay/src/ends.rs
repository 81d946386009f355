//! The interfaces at the ends of wires: packet sockets that see every frame, with a ring each that
//! the kernel fills, and stamps of arrival.

use ethermeter_net::Error;
use ethermeter_net::port::packet::{bind, interface_index, raw_socket};
use ethermeter_net::port::ring::{ADDRESSES_OCTETS, FrameRing, ring_counts, vlan_tag};
use ethermeter_net::port::system::{nanoseconds, set_packet_option, stamp_arrivals};
use socket2::Socket;
use std::io::{self, IoSlice};
use std::ops::ControlFlow;

const RING_OCTETS: usize = 2 << 20;
const BLOCK_OCTETS: usize = 1 << 17;
const SEND_OCTETS: usize = 4 << 20;
/// Octets of the shortest frame without its FCS; shorter ones are padded, as a sender does
/// (802.3-2022, 4.2.3.3).
pub const SHORTEST_OCTETS: usize = 60;
const PADDING: [u8; SHORTEST_OCTETS] = [0; SHORTEST_OCTETS];

/// A socket that sends and receives every frame of an interface.
pub fn open_socket(name: &str) -> Result<(Socket, u32), Error> {
    let index = interface_index(name)?;
    let socket = raw_socket()?;
    let version = libc::tpacket_versions::TPACKET_V2 as i32;
    set_packet_option(&socket, libc::PACKET_VERSION, &version, "choosing a kind of ring")?;
    set_packet_option(&socket, libc::PACKET_IGNORE_OUTGOING, &1i32, "ignoring what goes out")?;
    // Without this the kernel stamps a frame when it reaches the ring instead of when it reaches
    // the interface.
    stamp_arrivals(&socket)?;
    socket
        .set_send_buffer_size(SEND_OCTETS)
        .map_err(|source| Error::System { doing: "preparing a packet socket", source })?;
    Ok((socket, index))
}

/// Let frames leave without passing the queue of the interface.
pub fn bypass_queue(socket: &Socket) -> Result<(), Error> {
    set_packet_option(socket, libc::PACKET_QDISC_BYPASS, &1i32, "sending past the queue")
}

/// A frame in the ring.
pub struct ReceivedFrame<'a> {
    /// The kernel's stamp.
    pub stamped_wall_ns: u64,
    /// Octets of the frame without FCS, and more than there are in `head` and `rest` if it was cut.
    pub octets: usize,
    /// Destination and source address of the frame.
    pub head: &'a [u8],
    /// VLAN tag of the frame, which the kernel keeps apart.
    pub tag: Option<[u8; 4]>,
    /// What follows.
    pub rest: &'a [u8],
    /// What it is short of.
    pub padding: &'a [u8],
    /// Whether its checksums are right already.
    pub is_finished: bool,
}

/// The ring of a socket.
pub struct CaptureRing(FrameRing);

impl CaptureRing {
    /// Give a socket its ring, and let frames come.
    pub fn open(socket: &Socket, index: u32, longest_octets: u32) -> Result<Self, Error> {
        let ring = FrameRing::new(socket, RING_OCTETS, BLOCK_OCTETS, longest_octets as usize)?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: i32::try_from(index).expect("an index"),
            mr_type: u16::try_from(libc::PACKET_MR_PROMISC).expect("a kind"),
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set_packet_option(
            socket,
            libc::PACKET_ADD_MEMBERSHIP,
            &promiscuous,
            "listening to all frames",
        )?;
        // Only now, so that the ring is there before the first frame.
        bind(socket, index, u16::try_from(libc::ETH_P_ALL).expect("a protocol"))?;
        Ok(Self(ring))
    }

    /// Hand on at most `most` frames; returns how many. One at which `hand_on` breaks stays the
    /// next.
    #[inline]
    pub fn take(
        &mut self,
        most: usize,
        mut hand_on: impl FnMut(&ReceivedFrame<'_>) -> ControlFlow<()>,
    ) -> usize {
        self.0.take(most, |head, frame| {
            let (addresses, rest) = frame.split_at(frame.len().min(ADDRESSES_OCTETS));
            let tag = vlan_tag(head.tp_status, head.tp_vlan_tpid, head.tp_vlan_tci);
            let octets = head.tp_len as usize + if tag.is_some() { 4 } else { 0 };
            hand_on(&ReceivedFrame {
                stamped_wall_ns: nanoseconds(i64::from(head.tp_sec), i64::from(head.tp_nsec)),
                octets: octets.max(SHORTEST_OCTETS),
                head: addresses,
                tag,
                rest,
                padding: &PADDING[..SHORTEST_OCTETS.saturating_sub(octets)],
                is_finished: head.tp_status & libc::TP_STATUS_CSUMNOTREADY == 0,
            })
        })
    }
}

/// Frames that found the ring full since the last call.
pub fn dropped_since(socket: &Socket) -> Result<u64, Error> {
    Ok(ring_counts(socket)?.1)
}

/// Send a frame of two pieces; says whether the interface took it.
#[inline]
pub fn send(socket: &Socket, chunks: (&[u8], &[u8])) -> bool {
    let slices = [IoSlice::new(chunks.0), IoSlice::new(chunks.1)];
    let slices = if chunks.1.is_empty() { &slices[..1] } else { &slices[..] };
    socket.send_vectored_with_flags(slices, libc::MSG_DONTWAIT).is_ok()
}

/// Whether the interface of a socket is no more. One that is only down may come up again, and its
/// frames with it.
pub fn is_gone(socket: &Socket) -> bool {
    let _: io::Result<Option<io::Error>> = socket.take_error(); // or the next wait would end at once
    let Ok(address) = socket.local_addr() else { return true };
    #[expect(unsafe_code, reason = "packet addresses are not known to the safe wrapper")]
    // SAFETY: the storage behind the pointer is large enough for every address, and a packet socket
    // has one of this kind.
    let packet = unsafe { address.as_ptr().cast::<libc::sockaddr_ll>().read_unaligned() };
    packet.sll_ifindex <= 0
}
