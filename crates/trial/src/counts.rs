//! What an engine counts in a trial, before any formula.
//!
//! Every entity of the scenario has its counts: media and their stations, flows, ports, nodes,
//! pairs of hosts that synchronise clocks. Counts, sums of times, histograms and extremes are
//! integers; a time is in picoseconds (`_ps`), a sum of squared times in their squares (`_ps2`).
//! Everything is of the measured window where a field says nothing else. A batch is one of the
//! equal parts of the window; an event belongs to the batch in which it happens, so that the counts
//! of all batches add up to those of the window.

pub use ethermeter_traffic::classes::ClassCounts;
use ethermeter_traffic::clock::rounds::ClockEstimate;
use ethermeter_traffic::packets::HostSamples;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Where a frame of a network may be lost or end elsewhere than at its destination.
pub const LOSSES: [&str; 6] = ["queue", "buffer", "filtered", "ignored", "attempts", "damaged"];

/// Filled buckets of a histogram, in rising order: lowest time, lowest time beyond, and how many
/// values it holds. The first begins at the least value, and the last ends with the largest.
pub type Buckets = Vec<(u64, u64, u64)>;

/// Everything that was counted in one trial. Entities that the scenario lacks are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Length of the measured window.
    pub window_ps: u64,
    /// Events of the whole trial, for speed figures: attempts on a medium; in a network what the
    /// implementation processed, which differs between the two.
    pub events: u64,
    /// Shared media, in the order of the scenario.
    pub media: Vec<MediumCounts>,
    /// Stations on the media, in the order of the scenario: medium by medium.
    pub stations: StationCounts,
    /// Flows that have receivers, in the order of the scenario.
    pub flows: Vec<FlowCounts>,
    /// Ports of a network: 2l and 2l + 1 are the ends of link l. After the links come the stations
    /// on its media, in the order of the scenario: first the port of the station, then one that
    /// counts nothing.
    pub ports: Vec<PortCounts>,
    /// Nodes of a network, in the order of the scenario.
    pub nodes: NodeCounts,
    /// Pairs of hosts that synchronise clocks.
    pub clock_pairs: Vec<ClockPair>,
    /// Cautions that hold for every value of the trial.
    pub cautions: Vec<Cow<'static, str>>,
}

/// What is counted of a shared medium.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediumCounts {
    /// Time of frames that were delivered, of their preambles, of gaps, of collisions, and idle
    /// time; the sum is the window. A moment belongs to the transmission that began first.
    pub time_ps: [u64; 5],
    /// Frames by their attempts; index 0 is one attempt.
    pub attempts_per_frame: Vec<u64>,
    /// Collisions by their transmitters; index 0 is two (or one, cut off by a carrier whose sender
    /// did not notice).
    pub colliders: Vec<u64>,
    /// Times from taking up a frame to the end of its successful attempt.
    pub transmission_delay: Buckets,
    /// Times from taking up a frame to the start of its successful attempt.
    pub access_delay: Buckets,
    /// Times from the arrival of a frame to the end of its successful attempt; `None` if every
    /// source is saturated.
    pub response_time: Option<Buckets>,
    /// Where the medium has PLCA.
    pub plca: Option<PlcaCounts>,
}

/// What is counted of a medium with PLCA. There, preamble time includes end delimiters, a collision
/// is one of the line, and there is gap time only if no station uses PLCA.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlcaCounts {
    /// Time of beacons, of a line that is held, and of silence within cycles: opportunities that are
    /// not used. With the times of the medium the sum is the window.
    pub time_ps: [u64; 3],
    /// Times from a beacon to the next, by the latter.
    pub cycle: Delays,
    /// Times from the first attempt of the MAC to the start of a delivered frame.
    pub access_from_attempt: Delays,
    /// Opportunities that ended, by the count of the coordinator.
    pub opportunities: u64,
    /// What is counted of nodes; one entry a station each.
    pub nodes: PlcaNodeCounts,
}

/// What is counted of stations with PLCA; one entry a station.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlcaNodeCounts {
    /// Own opportunities in which the station sent.
    pub used: Vec<u64>,
    /// Own opportunities that it let pass.
    pub yielded: Vec<u64>,
    /// Own opportunities in which it held the line in vain, or another station sent.
    pub missed: Vec<u64>,
    /// Attempts that met a logical collision: the MAC backs off, and no bits collide.
    pub logical_collisions: Vec<u64>,
    /// Frames that followed another one in an opportunity.
    pub burst_frames: Vec<u64>,
    /// Beacons that it did not hear.
    pub beacons_lost: Vec<u64>,
    /// Changes of its status.
    pub status_changes: Vec<u64>,
    /// Time in which its status was OK.
    pub ok_ps: Vec<u64>,
    /// The longest time from taking up a delivered frame to its start; 0 without any.
    pub access_max_ps: Vec<u64>,
    /// The same from the first attempt of the MAC.
    pub attempt_max_ps: Vec<u64>,
}

/// What is counted of the stations on media; one entry a station. In a network a station is a port:
/// frames come to its queue, or have waited in a source of its host before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StationCounts {
    /// Frames delivered, by the end of their successful attempt.
    pub frames: Vec<u64>,
    /// Bits of these frames, destination address to FCS.
    pub bits: Vec<u64>,
    /// Channel time charged to delivered frames: preamble, frame and gap, as far as it lies in the
    /// window.
    pub charged_ps: Vec<u64>,
    /// Attempts that ended in a collision.
    pub collisions: Vec<u64>,
    /// Of these, later than a slot time.
    pub late_collisions: Vec<u64>,
    /// Frames discarded after the attempt limit or a late collision.
    pub discarded: Vec<u64>,
    /// Times the attempt limit was passed and the frame attempted anew.
    pub resumed: Vec<u64>,
    /// Frames that the source offered.
    pub offered: Vec<u64>,
    /// Of these, dropped by a full queue.
    pub dropped: Vec<u64>,
    /// Frames delivered that another transmission overlapped somewhere, unnoticed by their sender.
    pub damaged: Vec<u64>,
    /// Frames delivered whose response time was longer than the deadline of the station's flow.
    /// Empty where no station has a deadline, as in networks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overdue: Vec<u64>,
    /// Sum over delivered frames of the transmission delay, from taking up to the end.
    pub delay_ps: Vec<u64>,
    /// Sum of its squares.
    pub delay_ps2: Vec<u128>,
    /// Sum over delivered frames of the access delay, from taking up to the successful start.
    pub access_ps: Vec<u64>,
    /// Sum over delivered frames of the response time, from arrival to the end.
    pub response_ps: Vec<u64>,
    /// Time during which the station held a frame in its transmitter.
    pub waiting_ps: Vec<u64>,
    /// Share of the line rate that the station would use alone. A parameter, not counted; NaN of a
    /// port in a network, which carries what others offer.
    pub offered_load: Vec<f64>,
    /// The same by batch.
    pub batches: StationBatches,
    /// Where some station sends voice.
    pub voice: Option<StationVoice>,
    /// Where some station sends in calls only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallCounts>,
    /// Where some station has a generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<StationGenerator>,
}

impl StationCounts {
    /// Add those of another medium behind these, of as many batches.
    pub fn append(&mut self, mut other: Self) {
        let (mine, others) = (self.frames.len(), other.frames.len());
        self.batches.append(&other.batches, mine, others);
        for (column, more) in [
            (&mut self.frames, &mut other.frames),
            (&mut self.bits, &mut other.bits),
            (&mut self.charged_ps, &mut other.charged_ps),
            (&mut self.collisions, &mut other.collisions),
            (&mut self.late_collisions, &mut other.late_collisions),
            (&mut self.discarded, &mut other.discarded),
            (&mut self.resumed, &mut other.resumed),
            (&mut self.offered, &mut other.offered),
            (&mut self.dropped, &mut other.dropped),
            (&mut self.damaged, &mut other.damaged),
            (&mut self.delay_ps, &mut other.delay_ps),
            (&mut self.access_ps, &mut other.access_ps),
            (&mut self.response_ps, &mut other.response_ps),
            (&mut self.waiting_ps, &mut other.waiting_ps),
        ] {
            column.append(more);
        }
        self.delay_ps2.append(&mut other.delay_ps2);
        self.offered_load.append(&mut other.offered_load);
    }
}

/// What is counted of stations by batch; batch by batch, within it station by station.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationBatches {
    /// Frames delivered.
    pub frames: Vec<u32>,
    /// Channel time charged to frames that end in the batch.
    pub charged_ps: Vec<u64>,
    /// Sum of transmission delays.
    pub delay_ps: Vec<u64>,
    /// Sum of their squares.
    pub delay_ps2: Vec<u128>,
}

impl StationBatches {
    /// Add so many other stations behind these in every batch.
    fn append(&mut self, other: &Self, mine: usize, others: usize) {
        self.frames = beside(&self.frames, mine, &other.frames, others);
        self.charged_ps = beside(&self.charged_ps, mine, &other.charged_ps, others);
        self.delay_ps = beside(&self.delay_ps, mine, &other.delay_ps, others);
        self.delay_ps2 = beside(&self.delay_ps2, mine, &other.delay_ps2, others);
    }
}

/// Rows of two tables, of so many columns each, beside each other; a table without columns has no
/// rows.
fn beside<T: Copy>(left: &[T], wide: usize, right: &[T], more: usize) -> Vec<T> {
    if wide == 0 || more == 0 {
        return [left, right].concat();
    }
    left.chunks(wide).zip(right.chunks(more)).flat_map(|(a, b)| [a, b].concat()).collect()
}

/// What is counted of calls; one entry a station, 0 of those without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// Calls that came to the station, or, with all stations of its group in a call, to the first of
    /// them.
    pub offered: Vec<u64>,
    /// Of these, refused.
    pub refused: Vec<u64>,
    /// Time in which the station had a call.
    pub call_ps: Vec<u64>,
}

/// What is counted of voice on a medium; one entry a station.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationVoice {
    /// Samples that the coder made. What became of them by the end of the window:
    pub samples: Vec<u64>,
    /// In a frame whose transmission had ended.
    pub samples_delivered: Vec<u64>,
    /// A newer sample took their room in a full buffer.
    pub samples_lost: Vec<u64>,
    /// Still in the buffer, also those of a frame under way.
    pub samples_buffered: Vec<u64>,
    /// Voice frames that ended in the window.
    pub voice_frames: Vec<u64>,
    /// Sum over these frames of the time from the making of the oldest sample to the end.
    pub voice_delay_ps: Vec<u128>,
    /// Samples in these frames.
    pub samples_sent: Vec<u64>,
    /// Sum over these samples of the delay of their frame.
    pub sample_delay_ps: Vec<u128>,
    /// Delays of these frames.
    pub voice_delay: Buckets,
    /// Delays of these samples.
    pub sample_delay: Buckets,
}

/// What is counted of the buffers of generators; one entry a station, 0 without a generator. The sum
/// over a station's three is the window times the number of its buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationGenerator {
    /// Time of buffers in the output queue: filled, until the host has served the end of their
    /// transmission.
    pub output_ps: Vec<u128>,
    /// Time of buffers in the transmitted queue: free.
    pub transmitted_ps: Vec<u128>,
    /// Time in which the process filled a buffer.
    pub filling_ps: Vec<u64>,
}

/// Times of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum_ps: u128,
    /// The largest; 0 without any.
    pub max_ps: u64,
    /// Their distribution.
    pub buckets: Buckets,
}

/// Times of one kind, of either sign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedDelays {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum_ps: i128,
    /// Their distribution; buckets of several receivers may overlap.
    pub buckets: Vec<(i64, i64, u64)>,
}

impl SignedDelays {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum_ps += other.sum_ps;
        self.buckets.extend(other.buckets);
        self.buckets.sort_unstable();
    }
}

/// Copies of frames over the whole trial; they balance exactly: `sent + copied = delivered + lost +
/// in_flight`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// Frames that hosts began to send.
    pub sent: u64,
    /// More copies than arrived, where a frame goes out by several ports.
    pub copied: u64,
    /// Copies that arrived at a host for which they are.
    pub delivered: u64,
    /// Copies that ended elsewhere, by cause ([`LOSSES`]).
    pub lost: [u64; LOSSES.len()],
    /// Copies under way at the end of the trial.
    pub in_flight: u64,
}

/// What is counted of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// Copies of its frames over the whole trial.
    pub balance: Balance,
    /// Messages that the source offered.
    pub offered: u64,
    /// Of these, dropped by a full queue of the source.
    pub dropped: u64,
    /// Messages received, counted at every receiver.
    pub messages: u64,
    /// Frames of these messages.
    pub frames: u64,
    /// Octets of these frames, destination address to FCS.
    pub octets: u64,
    /// Octets of these messages that the application sent.
    pub data_octets: u64,
    /// Messages received, at any time, of those that the source offered in the window.
    pub arrived: u64,
    /// Messages received whose one-way delay was longer than the deadline of the flow; 0 without
    /// one.
    pub overdue: u64,
    /// Responses received.
    pub answers: u64,
    /// Octets of their frames.
    pub answer_octets: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests that timed out.
    pub timed_out: u64,
    /// Messages received again, counted at every receiver.
    pub duplicates: u64,
    /// Messages sent again: requests by their senders, broadcasts by hosts that received them.
    pub resent: u64,
    /// One-way delays of messages.
    pub one_way: Delays,
    /// One-way delays of responses.
    pub answer_one_way: Delays,
    /// Round-trip times of requests, to the last response.
    pub round_trip: Delays,
    /// Times from a request to each of its responses.
    pub answer_round_trip: Delays,
    /// The same by responder, in the order of the flow's receivers; empty of flows with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responder_round_trip: Vec<Buckets>,
    /// Times between arrivals of messages at a receiver.
    pub between_arrivals: Delays,
    /// What follows from sums, by batch.
    pub batches: Vec<FlowBatch>,
    /// Where the flow is a transfer.
    pub transfer: Option<TransferCounts>,
    /// Where the flow is voice.
    pub voice: Option<FlowVoice>,
    /// Where the flow is a stream between hosts with clocks.
    pub clocks: Option<ClockDelays>,
}

/// What is counted of a flow in a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowBatch {
    /// Messages that the source offered.
    pub offered: u64,
    /// Of these, dropped by a full queue of the source.
    pub dropped: u64,
    /// Messages received, at any time, of those that the source offered in the batch.
    pub arrived: u64,
    /// Messages received.
    pub messages: u64,
    /// Of these, later than the deadline of the flow.
    pub overdue: u64,
    /// Frames of these messages.
    pub frames: u64,
    /// Octets of these frames.
    pub octets: u64,
    /// Octets of these messages that the application sent.
    pub data_octets: u64,
    /// Octets of a transfer's job that arrived at their destination.
    pub moved_octets: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests that timed out.
    pub timed_out: u64,
    /// Times between arrivals that ended in the batch.
    pub arrivals_between: u64,
    /// Segments acknowledged whose delay was taken.
    pub acknowledged: u64,
    /// Sum of one-way delays.
    pub one_way_ps: u128,
    /// Sum of round-trip times.
    pub round_trip_ps: u128,
    /// Sum of times between arrivals.
    pub between_arrivals_ps: u128,
    /// Sum of delays of acknowledgements.
    pub acknowledgement_ps: u128,
}

/// What became of the samples that a flow's coder made in the window, by the end of the trial.
///
/// `host.sent = delivered + lost + under_way`, so that
/// `host.made = delivered + host.lost + lost + host.left + under_way`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowVoice {
    /// What the sending host knows of them.
    pub host: HostSamples,
    /// Received.
    pub delivered: u64,
    /// Lost in the network, by cause ([`LOSSES`]).
    pub lost: [u64; LOSSES.len()],
    /// Under way at the end of the trial.
    pub under_way: u64,
    /// Delays of the packets whose oldest sample is one of these.
    pub voice_delay: Delays,
    /// Delays of these samples, each as old as its packet's oldest.
    pub sample_delay: Delays,
}

/// What is counted of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferCounts {
    /// Octets that the receiving application read; of a file, of blocks completed.
    pub octets: u64,
    /// Flow completion time: from its begin until all octets were there, whenever that was.
    pub whole_ps: Option<u64>,
    /// The ends of the connection: the flow's `from`, and its `to`.
    pub ends: [EndCounts; 2],
}

/// What is counted of an end of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndCounts {
    /// Segments with data sent.
    pub segments: u64,
    /// Of these, sent again.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Retransmissions begun by duplicate acknowledgements.
    pub fast_retransmissions: u64,
    /// Segments without data sent.
    pub acknowledgements: u64,
    /// Times from the first sending of data to their first acknowledgement, on the wire of the
    /// data's sender.
    pub acknowledgement_delay: Delays,
    /// Congestion window over the whole trial: from when on, and how many octets.
    pub windows: Vec<(u64, u64)>,
}

/// One-way delays of a flow as its hosts' clocks show them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockDelays {
    /// The receiver's clock when messages arrived, less the sender's when they were offered.
    pub clock: SignedDelays,
    /// The same after synchronisation.
    pub synchronised: Option<SynchronisedDelays>,
}

/// One-way delays after clock synchronisation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SynchronisedDelays {
    /// The delays.
    pub delays: SignedDelays,
    /// Messages that arrived before the sender's clock was known; they are not in `delays`.
    pub unrelated: u64,
    /// Messages that arrived before they were sent, by the estimate. A live test leaves them out of
    /// its histogram; here they are in it.
    pub before_sent: u64,
    /// Largest difference between such a delay and the true one.
    pub error_most_ps: u64,
    /// The last estimate; `None` for a flow to several receivers, each of which has its own.
    pub estimate: Option<ClockEstimate>,
    /// Largest stated uncertainty of a delay, in ns; `None` if the clocks were unknown for some
    /// time.
    pub delay_uncertainty_ns: Option<f64>,
    /// Exchanges that contradict the estimate.
    pub contradictions: u64,
}

impl ClockDelays {
    /// Add those of another receiver.
    pub fn merge(&mut self, other: Self) {
        self.clock.merge(other.clock);
        let (Some(mine), Some(theirs)) = (&mut self.synchronised, other.synchronised) else {
            return;
        };
        mine.delays.merge(theirs.delays);
        mine.unrelated += theirs.unrelated;
        mine.before_sent += theirs.before_sent;
        mine.error_most_ps = mine.error_most_ps.max(theirs.error_most_ps);
        mine.estimate = None;
        mine.delay_uncertainty_ns =
            mine.delay_uncertainty_ns.zip(theirs.delay_uncertainty_ns).map(|(a, b)| a.max(b));
        mine.contradictions += theirs.contradictions;
    }
}

/// What is counted of a pair of hosts that synchronise clocks, over the whole trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockPair {
    /// The node that responds: the sender of flows.
    pub sender: u32,
    /// The node that requests the time: their receiver.
    pub receiver: u32,
    /// Requests sent.
    pub requests: u64,
    /// Requests completed in time.
    pub answered: u64,
    /// Requests that timed out.
    pub lost: u64,
    /// Frames of requests and responses.
    pub balance: Balance,
    /// The last estimate; `None` with too few exchanges.
    pub estimate: Option<ClockEstimate>,
}

/// What is counted of a port: frames that leave it, and what comes in there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounts {
    /// Frames sent, by their end.
    pub frames: u64,
    /// Octets of these frames, destination address to FCS.
    pub octets: u64,
    /// Frames dropped by the full queue of the port.
    pub dropped: u64,
    /// Frames dropped on arrival by a full buffer of the node.
    pub buffer_dropped: u64,
    /// Most frames in the queue over the whole trial.
    pub queue_most: u64,
    /// Most octets in the buffer over the whole trial, of frames that arrived here.
    pub buffer_most: u64,
    /// PAUSE frames sent.
    pub pauses_sent: u64,
    /// PAUSE frames received.
    pub pauses_received: u64,
    /// Attempts that ended in a collision.
    pub collisions: u64,
    /// Of these, later than a slot time.
    pub late_collisions: u64,
    /// Time of frames sent, with preamble, within the window.
    pub busy_ps: u64,
    /// Most octets in the queue over the whole trial, of frames from destination address to FCS.
    pub queue_octets_most: u64,
    /// Classes of its queue, in the order of the scenario; empty where it has one queue.
    pub classes: Vec<ClassCounts>,
    /// On a shared medium: the sum over frames sent of the access delay, from the head of the queue
    /// to the first bit,
    pub access_ps: u64,
    /// the largest of them,
    pub access_most_ps: u64,
    /// and, where it has PLCA, own opportunities in which it sent,
    pub used: u64,
    /// those that it let pass,
    pub yielded: u64,
    /// those in which it held the line in vain, or another station sent,
    pub missed: u64,
    /// attempts that met a logical collision,
    pub logical_collisions: u64,
    /// beacons that it did not hear,
    pub beacons_lost: u64,
    /// changes of its status,
    pub status_changes: u64,
    /// and the time in which its status was OK.
    pub ok_ps: u64,
}

/// What is counted of nodes; one entry a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCounts {
    /// Lookups of a destination that no port was known for.
    pub flooded: Vec<u64>,
}
