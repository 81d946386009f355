//! The explanation of a capture: every packet to its connection or flow, in bounded memory however
//! many there are.
//!
//! Limits: [`MOST_LIVE`] connections and as many flows at a time, and [`MOST_HELD`] octets for what
//! is remembered of them; of more, what was met longest ago is *evicted*: it is finished and
//! counted, and what comes of it later is a connection of its own. Of all that are finished the
//! [`MOST_LISTED`] with most payload are kept whole, of the others their sums.

use crate::attempts::{AttemptCollector, SegmentAttempts};
use crate::connection::{SegmentMeaning, TcpConnection};
use crate::copies::Copies;
use crate::file::{CaptureDrops, CaptureError, CaptureItem, CaptureReader, Packet};
use crate::flow::{CapturedFlow, FlowMark};
use crate::fragments::Reassembly;
use crate::index::Seeds;
use crate::input::CaptureInput;
use crate::largest::Largest;
use crate::load::BusiestSlice;
use crate::packet::{Encapsulation, EndAddress, TcpHeader, UnreadPacket};
use crate::path::{AddressPath, AddressPaths};
use crate::recent::RecentTable;
use crate::summary::{EndpointPair, FlowKey, PacketKind, PacketSummary};
use std::collections::BTreeMap;
use std::io::Read;

pub use crate::largest::{Listed, MOST_LISTED, UnlistedSums};
pub use crate::summary::FlowEndpoint;

/// Connections, and flows, that are followed at a time.
pub const MOST_LIVE: usize = 32_768;
/// Octets of memory for what is remembered of those.
pub const MOST_HELD: usize = 192 << 20;
/// From here on memory is short: series are coarser.
const MUCH_HELD: usize = 64 << 20;

/// Packets that are read before the first of them is taken in.
const BATCH: usize = 8;
/// Of so many connections and flows all is near the processor anyway.
const FEW_LIVE: usize = 256;

/// Times are taken as no farther from 1970 than 73 years, so that their differences are numbers.
const FARTHEST_NS: i64 = 1 << 61;

/// A connection and between whom it is.
#[derive(Clone, Debug)]
pub struct ConnectionRecord {
    /// The end that opened, as far as known, and the other one.
    pub ends: [EndAddress; 2],
    /// What was found.
    pub connection: TcpConnection,
}

/// A flow and between whom it is.
#[derive(Clone, Debug)]
pub struct FlowRecord {
    /// The sender.
    pub source: FlowEndpoint,
    /// The receiver.
    pub destination: FlowEndpoint,
    /// Mark of the flow's packets.
    pub mark: Option<FlowMark>,
    /// Priority in the tags of its frames, 0 to 7; `None` without tags.
    pub priority: Option<u8>,
    /// What was found.
    pub flow: CapturedFlow,
}

/// Packets by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// TCP.
    pub tcp: u64,
    /// UDP.
    pub udp: u64,
    /// Raw frames of ethermeter's type.
    pub raw: u64,
    /// Others: ARP, ICMP, …
    pub other: u64,
    /// Fragments of IP packets; what they are part of counts where they are put together.
    pub fragment: u64,
    /// In an encapsulation that is not read.
    pub encapsulated: u64,
    /// Copies of packets before them.
    pub copied: u64,
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
    /// Octets of the busiest second and of the busiest minute, from the first packet on.
    pub busiest_octets: [Option<u64>; 2],
    /// Rate of the link, if the file has it.
    pub link_bps: Option<u64>,
    /// Attempts of stations, if it is the capture of an emulated segment.
    pub segment: Option<SegmentAttempts>,
    /// Names of the interfaces of its last section; empty where the file has none.
    pub interfaces: Vec<String>,
    /// When the first and the last packet were captured; nothing if none has a time.
    pub times_ns: Option<(i64, i64)>,
    /// Packets without a time.
    pub timeless: u64,
    /// Packets that are earlier than one before them.
    pub backward: u64,
    /// Truncated packets.
    pub cut: u64,
    /// Packets with errors of the link, such as frames that collided: no receiver took them, and
    /// they count nowhere else.
    pub damaged: u64,
    /// Packets that the capture reports as lost.
    pub dropped: CaptureDrops,
    /// What they are.
    pub kinds: PacketCounts,
    /// Link that is not read, if there was one.
    pub unread_link: Option<u16>,
    /// Packets in encapsulations that are not read.
    pub encapsulations: BTreeMap<Encapsulation, u64>,
    /// IP packets that were put together from fragments, and those that lack some.
    pub reassembled: (u64, u64),
    /// Paths, the one with most payload first.
    pub paths: Vec<AddressPath>,
    /// Connections, the one with most payload first.
    pub connections: Vec<Listed<ConnectionRecord>>,
    /// How many there are, and what of these is not listed, and how many were evicted.
    pub connection_sums: (u64, UnlistedSums, u64),
    /// Flows, the same.
    pub flows: Vec<Listed<FlowRecord>>,
    /// See `connection_sums`.
    pub flow_sums: (u64, UnlistedSums, u64),
    /// Why the file could not be read to its end.
    pub ended_by: Option<CaptureError>,
}

/// Something that is followed, and the octets that are remembered of it.
#[derive(Debug)]
struct OpenEntry<T> {
    memory_octets: usize,
    /// Of a connection, whether its first end is the lower one of its pair.
    is_first_low: bool,
    /// Path of the connection, if that is followed.
    path: Option<u32>,
    listed: Listed<T>,
}

/// The busiest second and the busiest minute.
#[derive(Debug)]
struct Busiest([BusiestSlice; 2]);

impl Default for Busiest {
    fn default() -> Self {
        Self([1, 60].map(BusiestSlice::of_seconds))
    }
}

/// Takes in packets.
#[derive(Debug, Default)]
pub struct Explainer {
    packets: u64,
    wire_octets: u64,
    busiest: Busiest,
    times_ns: Option<(i64, i64)>,
    timeless: u64,
    backward: u64,
    cut: u64,
    damaged: u64,
    kinds: PacketCounts,
    unread_link: Option<u16>,
    encapsulations: BTreeMap<Encapsulation, u64>,
    seeds: Seeds,
    copies: Copies,
    fragments: Reassembly,
    paths: AddressPaths,
    live: RecentTable<EndpointPair, OpenEntry<ConnectionRecord>>,
    live_flows: RecentTable<FlowKey, OpenEntry<FlowRecord>>,
    memory_octets: usize,
    connections: u64,
    flows: u64,
    done: Largest<ConnectionRecord>,
    done_flows: Largest<FlowRecord>,
    most_live: Option<usize>,
}

/// What a packet meant to its connection.
#[derive(Clone, Copy, Debug)]
pub struct SegmentRecord {
    /// Number of the connection.
    pub connection: u64,
    /// Which end sent it.
    pub from: usize,
    /// What it meant.
    pub finding: SegmentMeaning,
}

fn packets_of(connection: &TcpConnection) -> u64 {
    connection.halves.iter().map(|half| half.segments).sum()
}

fn octets_of(connection: &TcpConnection) -> u64 {
    connection.halves.iter().map(|half| half.octets).sum()
}

impl Explainer {
    /// Follow no more than `live` connections, and flows, at a time.
    #[must_use]
    pub fn with_most_live(live: usize) -> Self {
        Self { most_live: Some(live.max(1)), ..Self::default() }
    }

    /// Take in a packet; of TCP, what it meant.
    pub fn packet(&mut self, packet: &Packet<'_>) -> Option<SegmentRecord> {
        if packet.errors.is_any() {
            self.damaged += 1;
            return None;
        }
        let summary = self.note(packet);
        let hash = self.hash(&summary.kind);
        self.take(&summary, hash)
    }

    fn note(&self, packet: &Packet<'_>) -> PacketSummary {
        PacketSummary::of(packet, &self.seeds)
    }

    /// Take in packets, one after the other. `hashes` is where hashes are kept meanwhile.
    fn batch(&mut self, batch: &[PacketSummary], hashes: &mut Vec<u32>) {
        hashes.clear();
        hashes.extend(batch.iter().map(|summary| self.hash(&summary.kind)));
        if self.live.len() + self.live_flows.len() > FEW_LIVE {
            self.prefetch(batch, hashes);
        }
        for (summary, hash) in batch.iter().zip(&*hashes) {
            self.take(summary, *hash);
        }
    }

    /// Ask for the memory that the packets of a batch will need: where their connections and flows
    /// are, these, and what they point to.
    fn prefetch(&self, batch: &[PacketSummary], hashes: &[u32]) {
        for (summary, hash) in batch.iter().zip(hashes) {
            if let Some(fingerprint) = &summary.fingerprint {
                self.copies.prefetch(fingerprint);
            }
            match summary.kind {
                PacketKind::Segment(..) => self.live.prefetch_index(*hash),
                PacketKind::Datagram(..) => self.live_flows.prefetch_index(*hash),
                PacketKind::Other(_) => {}
            }
        }
        let mut slots = [None; BATCH];
        for ((summary, hash), slot) in batch.iter().zip(hashes).zip(&mut slots) {
            *slot = match summary.kind {
                PacketKind::Segment(..) => self.live.likely(*hash),
                PacketKind::Datagram(..) => self.live_flows.likely(*hash),
                PacketKind::Other(_) => None,
            };
            match (summary.kind, *slot) {
                (PacketKind::Segment(..), Some(slot)) => self.live.prefetch(slot),
                (PacketKind::Datagram(..), Some(slot)) => self.live_flows.prefetch(slot),
                _ => {}
            }
        }
        for (summary, slot) in batch.iter().zip(slots) {
            let (Some(slot), now_ns) = (slot, summary.time_ns.unwrap_or(0)) else { continue };
            match &summary.kind {
                PacketKind::Segment(_, is_low, tcp, payload) => {
                    if let Some(of) = self.live.at(slot) {
                        let from = usize::from(of.is_first_low != *is_low);
                        of.listed.record.connection.prefetch_fields(from, now_ns, tcp, *payload);
                    }
                }
                PacketKind::Datagram(..) => {
                    if let Some(of) = self.live_flows.at(slot) {
                        of.listed.record.flow.prefetch_fields(now_ns);
                    }
                }
                PacketKind::Other(_) => {}
            }
        }
    }

    fn hash(&self, kind: &PacketKind) -> u32 {
        match kind {
            PacketKind::Segment(pair, ..) => self.live.hash(pair),
            PacketKind::Datagram(key, ..) => self.live_flows.hash(key),
            PacketKind::Other(_) => 0,
        }
    }

    fn take(&mut self, summary: &PacketSummary, hash: u32) -> Option<SegmentRecord> {
        self.packets += 1;
        self.wire_octets += u64::from(summary.original);
        self.cut += u64::from(summary.is_cut);
        let now_ns = self.clock(summary.time_ns);
        for busiest in &mut self.busiest.0 {
            busiest.take(now_ns, summary.original);
        }
        if summary.fingerprint.is_some_and(|fingerprint| self.copies.is_copy(&fingerprint, now_ns))
        {
            self.kinds.copied += 1;
            self.note_copy(&summary.kind, hash);
            return None;
        }
        if let Some((fragment, addresses)) = &summary.fragment {
            self.kinds.fragment += 1;
            let kind = self.fragments.join(now_ns, *addresses, fragment, summary.kind)?;
            let hash = self.hash(&kind);
            return self.follow(now_ns, &kind, hash, None);
        }
        match &summary.kind {
            PacketKind::Segment(..) => self.kinds.tcp += 1,
            PacketKind::Datagram(FlowKey { source: FlowEndpoint::Ip(_), .. }, ..) => {
                self.kinds.udp += 1;
            }
            PacketKind::Datagram(..) => self.kinds.raw += 1,
            PacketKind::Other(UnreadPacket::Link(number)) => {
                self.kinds.unread += 1;
                self.unread_link = Some(*number);
            }
            PacketKind::Other(UnreadPacket::Encapsulation(which)) => {
                self.kinds.encapsulated += 1;
                *self.encapsulations.entry(*which).or_default() += 1;
            }
            PacketKind::Other(UnreadPacket::Fragment) => self.kinds.fragment += 1,
            PacketKind::Other(UnreadPacket::Broken) => self.kinds.broken += 1,
            PacketKind::Other(UnreadPacket::Protocol) => self.kinds.other += 1,
        }
        self.follow(now_ns, &summary.kind, hash, Some(summary.original))
    }

    /// Take a whole packet to its connection or flow; `octets` of it were on the wire, unless it
    /// was in fragments.
    fn follow(
        &mut self,
        now_ns: i64,
        kind: &PacketKind,
        hash: u32,
        octets: Option<u32>,
    ) -> Option<SegmentRecord> {
        match kind {
            PacketKind::Segment(pair, is_low, tcp, payload) => {
                Some(self.segment(now_ns, (pair, hash, *is_low), tcp, (*payload, octets)))
            }
            PacketKind::Datagram(key, number, payload) => {
                self.datagram(now_ns, key, hash, *number, *payload);
                None
            }
            PacketKind::Other(_) => None,
        }
    }

    fn note_copy(&mut self, kind: &PacketKind, hash: u32) {
        if let PacketKind::Segment(pair, is_low, ..) = kind
            && let Some(of) = self.live.find_mut(pair, hash)
        {
            let from = usize::from(of.is_first_low != *is_low);
            of.listed.record.connection.halves[from].copies += 1;
        }
    }

    /// When a packet was captured; one without a time arrived with the one before.
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

    fn segment(
        &mut self,
        now_ns: i64,
        (pair, hash, is_low): (&EndpointPair, u32, bool),
        tcp: &TcpHeader,
        (payload, octets): (u32, Option<u32>),
    ) -> SegmentRecord {
        let begins = tcp.syn && !tcp.ack;
        let before = if begins { self.live.find(pair, hash) } else { None };
        let is_over = before.is_some_and(|entry| {
            entry
                .listed
                .record
                .connection
                .is_over_for(usize::from(entry.is_first_low != is_low), tcp)
        });
        if is_over && let Some(entry) = self.live.take(pair, hash) {
            self.memory_octets = self.memory_octets.saturating_sub(entry.memory_octets);
            self.finish(entry.listed, false);
        }
        let (connections, packets) = (&mut self.connections, self.packets);
        let paths = &mut self.paths;
        let entry = self.live.meet(pair, hash, || {
            *connections += 1;
            let (low, high) = pair.ends();
            // Who answers a SYN did not begin.
            let is_first_low = (is_low != (tcp.syn && tcp.ack)) || low == high;
            let ends = if is_first_low { [low, high] } else { [high, low] };
            let record = ConnectionRecord { ends, connection: TcpConnection::default() };
            let listed =
                Listed { number: *connections, first_packet: packets, is_evicted: false, record };
            // Between ports of one address both directions are the same.
            let addresses = [low.address, high.address];
            let path = (low.address != high.address).then(|| paths.meet(addresses)).flatten();
            OpenEntry { memory_octets: 0, is_first_low, path, listed }
        });
        if let (Some(path), Some(octets), true) = (entry.path, octets, payload > 0) {
            self.paths.segment(path, is_low, now_ns, octets, payload);
        }
        let from = usize::from(entry.is_first_low != is_low);
        let connection = &mut entry.listed.record.connection;
        connection.spare(self.memory_octets > MUCH_HELD);
        let finding = connection.segment(from, now_ns, tcp, payload);
        let memory_octets = connection.held_octets();
        let record = SegmentRecord { connection: entry.listed.number, from, finding };
        self.memory_octets = (self.memory_octets + memory_octets)
            .saturating_sub(std::mem::replace(&mut entry.memory_octets, memory_octets));
        self.evict();
        record
    }

    fn datagram(
        &mut self,
        now_ns: i64,
        key: &FlowKey,
        hash: u32,
        number: Option<u64>,
        octets: u32,
    ) {
        let (flows, packets) = (&mut self.flows, self.packets);
        let entry = self.live_flows.meet(key, hash, || {
            *flows += 1;
            let FlowKey { source, destination, mark, priority } = *key;
            let flow = CapturedFlow::new(now_ns, number);
            let record = FlowRecord { source, destination, mark, priority, flow };
            let listed =
                Listed { number: *flows, first_packet: packets, is_evicted: false, record };
            OpenEntry { memory_octets: 0, is_first_low: true, path: None, listed }
        });
        let flow = &mut entry.listed.record.flow;
        flow.series.spare(self.memory_octets > MUCH_HELD);
        flow.packet(now_ns, octets, number);
        let memory_octets = flow.held_octets();
        self.memory_octets = (self.memory_octets + memory_octets)
            .saturating_sub(std::mem::replace(&mut entry.memory_octets, memory_octets));
        self.evict();
    }

    fn evict(&mut self) {
        let most = self.most_live.unwrap_or(MOST_LIVE);
        while self.live.len() > most || (self.memory_octets > MOST_HELD && self.live.len() > 1) {
            let Some(entry) = self.live.take_oldest() else { break };
            self.memory_octets = self.memory_octets.saturating_sub(entry.memory_octets);
            self.finish(entry.listed, true);
        }
        while self.live_flows.len() > most
            || (self.memory_octets > MOST_HELD && self.live_flows.len() > 1)
        {
            let Some(entry) = self.live_flows.take_oldest() else { break };
            self.memory_octets = self.memory_octets.saturating_sub(entry.memory_octets);
            self.finish_flow(entry.listed, true);
        }
    }

    fn finish(&mut self, mut entry: Listed<ConnectionRecord>, is_evicted: bool) {
        entry.is_evicted = is_evicted;
        entry.record.connection.settle();
        let (packets, octets) =
            (packets_of(&entry.record.connection), octets_of(&entry.record.connection));
        self.done.add(entry, packets, octets);
    }

    fn finish_flow(&mut self, mut entry: Listed<FlowRecord>, is_evicted: bool) {
        entry.is_evicted = is_evicted;
        let (packets, octets) = (entry.record.flow.packets, entry.record.flow.octets);
        self.done_flows.add(entry, packets, octets);
    }

    /// What was found. `file_octets` is how much of the file was read, `ended_by` why no more; what
    /// the file says of its losses is left to be added.
    #[must_use]
    pub fn explanation(mut self, file_octets: u64, ended_by: Option<CaptureError>) -> Explanation {
        while let Some(of) = self.live.take_oldest() {
            self.finish(of.listed, false);
        }
        while let Some(of) = self.live_flows.take_oldest() {
            self.finish_flow(of.listed, false);
        }
        let (connections, rest, evicted) = self.done.sorted();
        let (flows, rest_of_flows, evicted_flows) = self.done_flows.sorted();
        Explanation {
            packets: self.packets,
            file_octets,
            wire_octets: self.wire_octets,
            busiest_octets: self.busiest.0.map(|busiest| busiest.most()),
            link_bps: None,
            segment: None,
            interfaces: Vec::new(),
            times_ns: self.times_ns,
            timeless: self.timeless,
            backward: self.backward,
            cut: self.cut,
            damaged: self.damaged,
            dropped: CaptureDrops::default(),
            kinds: self.kinds,
            unread_link: self.unread_link,
            encapsulations: self.encapsulations,
            reassembled: self.fragments.counts(),
            paths: self.paths.sorted(),
            connections,
            connection_sums: (self.connections, rest, evicted),
            flows,
            flow_sums: (self.flows, rest_of_flows, evicted_flows),
            ended_by,
        }
    }
}

/// [`explain`] for any input, compiled with this crate's optimisation.
///
/// # Errors
/// As [`explain`].
pub fn explain_input(
    input: CaptureInput,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<Explanation, CaptureError> {
    explain(input, watch)
}

/// Packets between two calls of `watch`, at least.
const WATCHED_EVERY: u64 = 1 << 15;
/// Octets between them, if there are no packets in them.
const WATCHED_OCTETS: u64 = 1 << 26;

/// Explain a capture from a buffered reader; `watch` gets the octets read now and then, and returns
/// whether to continue.
///
/// # Errors
/// If it is no capture. A later fault ends the explanation, which contains it; so does
/// `watch`, without a word.
pub fn explain<R: Read>(
    reader: R,
    mut watch: impl FnMut(u64) -> bool,
) -> Result<Explanation, CaptureError> {
    let mut capture = CaptureReader::new(reader)?;
    let mut explainer = Explainer::default();
    let (mut batch, mut hashes) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    let (mut watched, mut watched_octets) = (0, 0);
    let mut attempts = AttemptCollector::default();
    let ended_by = loop {
        if capture.packets() >= watched || capture.octets() >= watched_octets {
            watched = capture.packets() + WATCHED_EVERY;
            watched_octets = capture.octets() + WATCHED_OCTETS;
            if !watch(capture.octets()) {
                break None;
            }
        }
        batch.clear();
        let end = loop {
            match capture.read_item() {
                Ok(CaptureItem::Packet(packet)) => {
                    attempts.take(&packet);
                    if packet.errors.is_any() {
                        explainer.damaged += 1;
                    } else {
                        batch.push(explainer.note(&packet));
                    }
                }
                Ok(CaptureItem::Other) => {}
                Ok(CaptureItem::End) => break Some(None),
                Err(error) => break Some(Some(error)),
            }
            if batch.len() == BATCH
                || capture.packets() >= watched
                || capture.octets() >= watched_octets
            {
                break None;
            }
        };
        explainer.batch(&batch, &mut hashes);
        if let Some(ended_by) = end {
            break ended_by;
        }
    };
    Ok(Explanation {
        dropped: capture.dropped(),
        link_bps: capture.link_bps(),
        segment: attempts.finish(),
        interfaces: capture.names().to_vec(),
        ..explainer.explanation(capture.octets(), ended_by)
    })
}
