//! What a capture says: every packet to its connection or flow, in bounded memory however many there are.
//!
//! Limits: [`MOST_LIVE`] connections and as many flows at a time, and [`MOST_HELD`] octets for what is remembered of them; of more, what was met
//! longest ago is *evicted*: it is finished and counted, and what comes of it later is a connection of its own. Of all that are finished the
//! [`MOST_LISTED`] with most payload are kept whole, of the others their sums.

use crate::connection::{Connection, Finding};
use crate::file::{Capture, Error, Packet};
use crate::flow::{mark, Flow, Mark, RAW};
use crate::packet::{frame, read_packet, End, Other, Tcp, Transport};
use crate::recent::Recent;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::{Display, Formatter};
use std::io::Read;

/// Connections, and flows, that are followed at a time.
pub const MOST_LIVE: usize = 32_768;
/// Octets of memory for what is remembered of those.
pub const MOST_HELD: usize = 192 << 20;
/// From here on memory is short: series are coarser.
const MUCH_HELD: usize = 64 << 20;
/// Connections, and flows, that are described one by one.
pub const MOST_LISTED: usize = 1000;

/// Times are taken as no farther from 1970 than 73 years, so that their differences are numbers.
const FARTHEST_NS: i64 = 1 << 61;

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Station {
    /// Of UDP.
    Ip(End),
    /// Of raw frames.
    Mac([u8; 6]),
}

impl Display for Station {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ip(end) => end.fmt(to),
            Self::Mac(octets) => {
                let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
                write!(to, "{}", octets.join(":"))
            }
        }
    }
}

/// Something that is finished, or that the capture ended in the middle of.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    /// Its place among all of its kind, in the order of their first packets, from 1 on.
    pub number: u64,
    /// Number of its first packet in the file, from 1 on.
    pub first_packet: u64,
    /// Whether it was evicted.
    pub is_evicted: bool,
    /// What it is.
    pub what: T,
}

/// A connection and between whom it is.
#[derive(Clone, Debug)]
pub struct Between {
    /// Who began, as far as it can be told, and the other one.
    pub ends: [End; 2],
    /// What was found.
    pub connection: Connection,
}

/// A flow and between whom it is.
#[derive(Clone, Debug)]
pub struct FromTo {
    /// The sender.
    pub source: Station,
    /// The receiver.
    pub destination: Station,
    /// Its mark.
    pub mark: Option<Mark>,
    /// What was found.
    pub flow: Flow,
}

/// What has no place in the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// How many.
    pub count: u64,
    /// Their packets.
    pub packets: u64,
    /// Their octets of payload.
    pub octets: u64,
}

/// The largest of what is finished.
#[derive(Debug)]
struct Largest<T> {
    heap: BinaryHeap<Ranked<T>>,
    rest: Rest,
    evicted: u64,
}

#[derive(Debug)]
struct Ranked<T> {
    rank: Reverse<(u64, Reverse<u64>)>,
    packets: u64,
    listed: Box<Listed<T>>,
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<T> Eq for Ranked<T> {}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl<T> Default for Largest<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), rest: Rest::default(), evicted: 0 }
    }
}

impl<T> Largest<T> {
    fn add(&mut self, listed: Listed<T>, packets: u64, octets: u64) {
        self.evicted += u64::from(listed.is_evicted);
        self.heap.push(Ranked { rank: Reverse((octets, Reverse(listed.number))), packets, listed: Box::new(listed) });
        if self.heap.len() > MOST_LISTED {
            if let Some(least) = self.heap.pop() {
                self.rest.count += 1;
                self.rest.packets += least.packets;
                self.rest.octets += least.rank.0 .0;
            }
        }
    }

    /// From the largest to the smallest; of the same size, the first first.
    fn sorted(self) -> (Vec<Listed<T>>, Rest, u64) {
        let listed = self.heap.into_sorted_vec().into_iter().map(|ranked| *ranked.listed).collect();
        (listed, self.rest, self.evicted)
    }
}

/// Packets by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// TCP.
    pub tcp: u64,
    /// UDP.
    pub udp: u64,
    /// Raw frames of ethermeter's type.
    pub raw: u64,
    /// Others: ARP, ICMP, …
    pub other: u64,
    /// Pieces of IP packets.
    pub fragment: u64,
    /// Too short, or contradicting themselves.
    pub broken: u64,
    /// Of a link that is not read.
    pub unread: u64,
}

/// A capture, explained.
#[derive(Debug)]
pub struct Explanation {
    /// Packets read.
    pub packets: u64,
    /// Octets of the file read.
    pub file_octets: u64,
    /// Octets of the packets as they were on the wire.
    pub wire_octets: u64,
    /// When the first and the last packet were captured; nothing if none has a time.
    pub times_ns: Option<(i64, i64)>,
    /// Packets without a time.
    pub timeless: u64,
    /// Packets that are earlier than one before them.
    pub backward: u64,
    /// Packets of which a part was kept only.
    pub cut: u64,
    /// What they are.
    pub kinds: Kinds,
    /// Link that is not read, if there was one.
    pub unread_link: Option<u16>,
    /// Connections, the one with most payload first.
    pub connections: Vec<Listed<Between>>,
    /// How many there are, and what of these is not listed, and how many were evicted.
    pub connection_sums: (u64, Rest, u64),
    /// Flows, the same.
    pub flows: Vec<Listed<FromTo>>,
    /// See `connection_sums`.
    pub flow_sums: (u64, Rest, u64),
    /// Why the file could not be read to its end.
    pub ended_by: Option<Error>,
}

type FlowKey = (Station, Station, Option<Mark>);

/// Takes in packets.
#[derive(Debug, Default)]
pub struct Explainer {
    packets: u64,
    wire_octets: u64,
    times_ns: Option<(i64, i64)>,
    timeless: u64,
    backward: u64,
    cut: u64,
    kinds: Kinds,
    unread_link: Option<u16>,
    live: Recent<(End, End), Listed<Between>>,
    live_flows: Recent<FlowKey, Listed<FromTo>>,
    held: usize,
    connections: u64,
    flows: u64,
    done: Largest<Between>,
    done_flows: Largest<FromTo>,
    most_live: Option<usize>,
}

/// What a packet meant to its connection.
#[derive(Clone, Copy, Debug)]
pub struct Met {
    /// Number of the connection.
    pub connection: u64,
    /// Which end sent it.
    pub from: usize,
    /// What it meant.
    pub finding: Finding,
}

fn packets_of(connection: &Connection) -> u64 {
    connection.halves.iter().map(|half| half.segments).sum()
}

fn octets_of(connection: &Connection) -> u64 {
    connection.halves.iter().map(|half| half.octets).sum()
}

impl Explainer {
    /// Follow no more than `live` connections, and flows, at a time.
    #[must_use]
    pub fn with_most_live(live: usize) -> Self {
        Self { most_live: Some(live.max(1)), ..Self::default() }
    }

    /// Take in a packet; of TCP, what it meant.
    pub fn packet(&mut self, packet: &Packet<'_>) -> Option<Met> {
        self.packets += 1;
        self.wire_octets += u64::from(packet.original);
        self.cut += u64::from((packet.data.len() as u64) < u64::from(packet.original));
        let now_ns = self.clock(packet.time_ns);
        match read_packet(packet) {
            Ok((found, body)) => match found.transport {
                Transport::Tcp(tcp) => {
                    self.kinds.tcp += 1;
                    return Some(self.segment(now_ns, (found.source, found.destination), &tcp, found.payload));
                }
                Transport::Udp => {
                    self.kinds.udp += 1;
                    self.datagram(
                        now_ns,
                        (Station::Ip(found.source), Station::Ip(found.destination)),
                        found.payload,
                        body,
                    );
                }
            },
            Err(Other::Link(number)) => {
                self.kinds.unread += 1;
                self.unread_link = Some(number);
            }
            Err(Other::Fragment) => self.kinds.fragment += 1,
            Err(Other::Broken) => self.kinds.broken += 1,
            Err(Other::Protocol) => match frame(packet).filter(|frame| frame.kind == RAW) {
                Some(frame) => {
                    self.kinds.raw += 1;
                    let cut = packet.original.saturating_sub(u32::try_from(packet.data.len()).unwrap_or(u32::MAX));
                    let octets = u32::try_from(frame.payload.len()).unwrap_or(u32::MAX).saturating_add(cut);
                    self.datagram(
                        now_ns,
                        (Station::Mac(frame.source), Station::Mac(frame.destination)),
                        octets,
                        frame.payload,
                    );
                }
                None => self.kinds.other += 1,
            },
        }
        None
    }

    /// When a packet was captured; one without a time came with the one before.
    fn clock(&mut self, time_ns: Option<i64>) -> i64 {
        let Some(now_ns) = time_ns else {
            self.timeless += 1;
            return self.times_ns.map_or(0, |times| times.1);
        };
        let now_ns = now_ns.clamp(-FARTHEST_NS, FARTHEST_NS);
        let (first_ns, last_ns) = self.times_ns.unwrap_or((now_ns, now_ns));
        self.backward += u64::from(now_ns < last_ns);
        self.times_ns = Some((first_ns.min(now_ns), last_ns.max(now_ns)));
        now_ns
    }

    fn segment(&mut self, now_ns: i64, (source, destination): (End, End), tcp: &Tcp, payload: u32) -> Met {
        let key = if source <= destination { (source, destination) } else { (destination, source) };
        let begins = tcp.syn && !tcp.ack;
        let before = if begins { self.live.find(&key) } else { None };
        let is_over = before.is_some_and(|of| {
            let from = usize::from(of.what.ends[0] != source);
            of.what.connection.is_over_for(from, tcp)
        });
        if is_over {
            if let Some(of) = self.live.take(&key) {
                self.held = self.held.saturating_sub(of.what.connection.held_octets());
                self.finish(of, false);
            }
        }
        let (connections, packets) = (&mut self.connections, self.packets);
        let of = self.live.meet(key, || {
            *connections += 1;
            // Who answers a SYN did not begin.
            let ends = if tcp.syn && tcp.ack { [destination, source] } else { [source, destination] };
            let what = Between { ends, connection: Connection::default() };
            Listed { number: *connections, first_packet: packets, is_evicted: false, what }
        });
        let from = usize::from(of.what.ends[0] != source);
        let before = of.what.connection.held_octets();
        of.what.connection.spare(self.held > MUCH_HELD);
        let finding = of.what.connection.segment(from, now_ns, tcp, payload);
        let met = Met { connection: of.number, from, finding };
        self.held = (self.held + of.what.connection.held_octets()).saturating_sub(before);
        self.evict();
        met
    }

    fn datagram(&mut self, now_ns: i64, (source, destination): (Station, Station), octets: u32, body: &[u8]) {
        let (mark, number) = mark(body).unzip();
        let (flows, packets) = (&mut self.flows, self.packets);
        let of = self.live_flows.meet((source, destination, mark), || {
            *flows += 1;
            let what = FromTo { source, destination, mark, flow: Flow::new(now_ns, number) };
            Listed { number: *flows, first_packet: packets, is_evicted: false, what }
        });
        let before = of.what.flow.held_octets();
        of.what.flow.series.spare(self.held > MUCH_HELD);
        of.what.flow.packet(now_ns, octets, number);
        self.held =
            (self.held + of.what.flow.held_octets()).saturating_sub(if of.what.flow.packets == 1 { 0 } else { before });
        self.evict();
    }

    fn evict(&mut self) {
        let most = self.most_live.unwrap_or(MOST_LIVE);
        while self.live.len() > most || (self.held > MOST_HELD && self.live.len() > 1) {
            let Some(of) = self.live.take_oldest() else { break };
            self.held = self.held.saturating_sub(of.what.connection.held_octets());
            self.finish(of, true);
        }
        while self.live_flows.len() > most || (self.held > MOST_HELD && self.live_flows.len() > 1) {
            let Some(of) = self.live_flows.take_oldest() else { break };
            self.held = self.held.saturating_sub(of.what.flow.held_octets());
            self.finish_flow(of, true);
        }
    }

    fn finish(&mut self, mut of: Listed<Between>, is_evicted: bool) {
        of.is_evicted = is_evicted;
        of.what.connection.settle();
        let (packets, octets) = (packets_of(&of.what.connection), octets_of(&of.what.connection));
        self.done.add(of, packets, octets);
    }

    fn finish_flow(&mut self, mut of: Listed<FromTo>, is_evicted: bool) {
        of.is_evicted = is_evicted;
        let (packets, octets) = (of.what.flow.packets, of.what.flow.octets);
        self.done_flows.add(of, packets, octets);
    }

    /// What was found. `file_octets` is how much of the file was read, `ended_by` why no more.
    #[must_use]
    pub fn explanation(mut self, file_octets: u64, ended_by: Option<Error>) -> Explanation {
        while let Some(of) = self.live.take_oldest() {
            self.finish(of, false);
        }
        while let Some(of) = self.live_flows.take_oldest() {
            self.finish_flow(of, false);
        }
        let (connections, rest, evicted) = self.done.sorted();
        let (flows, rest_of_flows, evicted_flows) = self.done_flows.sorted();
        Explanation {
            packets: self.packets,
            file_octets,
            wire_octets: self.wire_octets,
            times_ns: self.times_ns,
            timeless: self.timeless,
            backward: self.backward,
            cut: self.cut,
            kinds: self.kinds,
            unread_link: self.unread_link,
            connections,
            connection_sums: (self.connections, rest, evicted),
            flows,
            flow_sums: (self.flows, rest_of_flows, evicted_flows),
            ended_by,
        }
    }
}

/// Packets between two calls of who watches.
const WATCHED_EVERY: u64 = 1 << 15;

/// Explain a capture. Hand in a reader that buffers; `watch` is told the octets read now and then, and says whether to go on.
///
/// # Errors
/// If it is no capture. What is wrong further on ends the explanation, which says so; and so does `watch`, without a word.
pub fn explain<R: Read>(reader: R, mut watch: impl FnMut(u64) -> bool) -> Result<Explanation, Error> {
    let mut capture = Capture::new(reader)?;
    let mut explainer = Explainer::default();
    let ended_by = loop {
        if explainer.packets.is_multiple_of(WATCHED_EVERY) && !watch(capture.octets()) {
            break None;
        }
        match capture.read_packet() {
            Ok(Some(packet)) => {
                explainer.packet(&packet);
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    Ok(explainer.explanation(capture.octets(), ended_by))
}
