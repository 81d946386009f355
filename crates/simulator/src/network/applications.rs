//! Applications: messages from sources, answers of receivers, and what their senders do next.
//!
//! ```text
//! stream:   source ──► message ──► its last frame has left the first stage, and the ring has room ──► next
//! request:  source ──► message ──► every receiver has answered, or the time is out ──► next
//! voice:    samples gather ──► packet ──► it has left the wire, and enough has gathered ──► next (see `talker`)
//! receiver: whole message ──► thinks, one at a time ──► answer
//! transfer: two ends of a connection that wake and receive ──► segments of both (see `tcp`)
//! ```

mod answers;
mod exchange;
mod message;

use super::clocks::Clocks;
use super::compiled::CompiledNetwork;
use super::counters::Counters;
use super::frame::{Frame, Loss};
use super::talker::Talker;
use super::tcp::Connection;
use crate::identity::{AddressId, FlowId, NodeId, ReceiverId};
use crate::time::{Instant, Span};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::packets::HostSamples;
use ethermeter_traffic::{Offer, Purpose, Source, SourceSpec, Stream, Window};
use ethermeter_trial::Trial;
use ethermeter_trial::counts::{Balance, ClockDelays, ClockPair, TransferCounts};
use ethermeter_trial::flows::{Address, MessageFraming};
pub(super) use exchange::Overdue;
use exchange::{Exchange, Receiver, Seen};
pub(super) use message::Message;
use message::{cut, frame_octets};
use std::collections::VecDeque;

/// What a delivery brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    Nothing,
    /// A receiver answers then.
    Answer {
        receiver: ReceiverId,
        at: Instant,
    },
    /// A flow's next message comes then.
    Next {
        flow: FlowId,
        at: Instant,
    },
    /// Segments of a transfer or exchanges of times may wait, and wake at another time than before.
    Transfer,
}

/// What an application does, and what it waits for with its next message.
#[derive(Debug)]
enum Activity {
    /// Messages of a source, each after the one before.
    Stream(Messages),
    /// Messages of a source, each of which every receiver answers, or whose time is out.
    Exchange(Exchange),
    /// Data over a connection of TCP.
    Transfer(Box<Connection>),
    /// Packets of a coder, each of which waits for the wire of its host.
    Voice(Box<Talker>),
}

/// Messages that wait for room in the ring of their host.
#[derive(Debug)]
struct Messages {
    source: Source,
    waits: Wait,
    /// When the last message left the first stage, as long as the next one waits for the ring.
    passed: Option<Instant>,
    departures: VecDeque<Instant>,
    /// Frames that the ring has room for.
    ring: u32,
}

/// What a stream waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Room in the ring, once the first stage is free.
    Room,
    /// Room in the ring alone: behind a shaper, or at a port with classes.
    Ring,
}

#[derive(Debug)]
struct Application {
    from: NodeId,
    to: Vec<NodeId>,
    /// Its only receiver; none of a group.
    receiver: Option<NodeId>,
    broadcast: bool,
    framing: MessageFraming,
    activity: Activity,
    /// What its frames bring about depends on what else has happened by then: of a transfer, and of
    /// requests that are sent again.
    goes_by_time: bool,
    next: Option<Offer>,
    messages: u32,
    first_receiver: ReceiverId,
    destination: Option<AddressId>,
}

impl Application {
    /// A frame of a transmission of a message that has no octets yet.
    #[inline]
    fn frame(&self, flow: FlowId, message: u32, attempt: u8, born: Instant) -> Frame {
        Frame {
            flow,
            from: self.from,
            to: self.receiver,
            source: AddressId::from(self.from.number()),
            destination: self.destination,
            octets: 0,
            message,
            fragments: 1,
            fragment: 0,
            answer: None,
            broadcast: self.broadcast,
            hops: 0,
            attempt,
            padding: 0,
            samples: 0,
            born,
        }
    }
}

/// All applications.
#[derive(Debug)]
pub(super) struct Applications {
    flows: Vec<Application>,
    receivers: Vec<Receiver>,
    /// Whether any flow is a transfer; most networks have none, and their frames need not ask their
    /// flow.
    has_transfers: bool,
    /// Whether any flow goes by time; of most networks none does.
    goes_by_time: bool,
    /// Of the measured window.
    batches: usize,
    /// What hosts' clocks show; the flows by which they are compared are numbered after all others.
    clocks: Clocks,
    /// Frames of other hosts that each node has to send again.
    waiting_again: Vec<u32>,
}

impl Applications {
    pub fn new(compiled: &CompiledNetwork, trial: &Trial) -> Self {
        let nodes = &trial.scenario.nodes;
        let node = |name: &str| {
            let index = nodes.iter().position(|n| n.name == name).expect("checked");
            NodeId::new(index)
        };
        let count = u32::try_from(trial.scenario.flows.len()).expect("few flows");
        let has_transfers = trial.scenario.flows.iter().any(|flow| flow.transfer.is_some());
        let mut all = Self {
            flows: Vec::new(),
            receivers: Vec::new(),
            has_transfers,
            goes_by_time: false,
            batches: compiled.batches as usize,
            clocks: Clocks::default(),
            waiting_again: vec![0; compiled.nodes.len()],
        };
        for (flow, number) in trial.scenario.flows.iter().zip(0..) {
            let from = node(&flow.from);
            let to: Vec<NodeId> = flow.to.iter().map(|name| node(name)).collect();
            let phases = compiled.phases;
            let spread = Stream::new(compiled.seed, number, Purpose::Begin).below(phases.spread_ps);
            let window = Window {
                begin_ps: phases.begin_ps + spread,
                stop_ps: phases.stop_ps,
                measure_from_ps: phases.measure_from_ps,
                measure_to_ps: phases.measure_to_ps,
            };
            let group = flow.address != Address::Unicast;
            let retransmits = flow.response.as_ref().is_some_and(|it| it.retransmit.is_some());
            let may_come_again =
                retransmits || (flow.address == Address::Broadcast && compiled.has_rebroadcast());
            let first_receiver = ReceiverId::new(all.receivers.len());
            for (&host, index) in to.iter().zip(0..) {
                let station = count + first_receiver.number() + u32::from(index);
                let chance = (compiled.seed, station);
                let destination = compiled.next_address(host, from);
                let receiver =
                    Receiver::new((number.into(), index), (host, destination), flow, chance);
                let seen = may_come_again.then(Seen::default);
                all.receivers.push(Receiver { seen, ..receiver });
            }
            let shaping = flow.shaping(compiled.around(from).0, "").expect("checked");
            let is_paced = flow.arrivals != (Arrivals::Saturated {});
            let is_queued = shaping.is_some() || (is_paced && compiled.has_classes(from));
            let begin = Instant::from_ps(window.begin_ps);
            let (activity, next) = if let Some(transfer) = &flow.transfer {
                let receiver = count + first_receiver.number();
                let (flow_id, ends) = (FlowId::from(number), (from, to[0]));
                let connection =
                    Connection::new(compiled, transfer, (flow_id, receiver), ends, begin)
                        .tagged(flow.message_framing().tag_octets);
                (Activity::Transfer(Box::new(connection)), None)
            } else if let Some(mut talker) = Talker::of(flow, compiled, number, window) {
                let next = talker.next(begin);
                (Activity::Voice(talker), next)
            } else {
                let spec = SourceSpec { shaping, ..flow.source_spec() };
                let mut source = Source::new(&spec, compiled.seed, number, window);
                source.count_in_batches(compiled.batches);
                let next = source.first_in_batches();
                let activity = if let Some(response) = &flow.response {
                    Activity::Exchange(Exchange::new(source, response))
                } else {
                    Activity::Stream(Messages {
                        source,
                        waits: if is_queued { Wait::Ring } else { Wait::Room },
                        passed: None,
                        departures: VecDeque::new(),
                        ring: compiled.nodes[from].ring,
                    })
                };
                (activity, next)
            };
            all.flows.push(Application {
                from,
                receiver: (!group).then_some(to[0]),
                broadcast: flow.address == Address::Broadcast,
                framing: flow.message_framing(),
                activity,
                goes_by_time: retransmits || flow.transfer.is_some(),
                next,
                messages: 0,
                first_receiver,
                destination: (!group).then(|| compiled.next_address(from, to[0])),
                to,
            });
        }
        let streams: Vec<_> = all.receivers.iter().map(|it| all.stream_to(it)).collect();
        all.clocks = Clocks::new(compiled, trial.scenario.clocks, count, &streams);
        all.goes_by_time =
            all.comparison_count() > 0 || all.flows.iter().any(|flow| flow.goes_by_time);
        all
    }

    /// Flow, sender and host of a receiver, if what comes to it is a stream.
    fn stream_to(&self, receiver: &Receiver) -> Option<(FlowId, NodeId, NodeId)> {
        let app = &self.flows[receiver.flow];
        let is_stream = matches!(app.activity, Activity::Stream(_) | Activity::Voice(_));
        is_stream.then_some((receiver.flow, app.from, receiver.host))
    }

    /// Flows of the plan.
    pub fn flow_count(&self) -> u32 {
        u32::try_from(self.flows.len()).expect("few flows")
    }

    /// Flows that compare clocks, numbered after these.
    pub fn comparison_count(&self) -> u32 {
        self.clocks.comparison_count()
    }

    /// Flows from the first to the last of those that wake by themselves; most networks have none.
    pub fn waking_count(&self) -> u32 {
        if self.has_transfers || self.comparison_count() > 0 {
            self.flow_count() + self.comparison_count()
        } else {
            0
        }
    }

    /// Flows from the first to the last of those that go by time; most networks have none.
    pub fn by_time_count(&self) -> u32 {
        if self.goes_by_time { self.flow_count() + self.comparison_count() } else { 0 }
    }

    pub fn receiver_count(&self) -> u32 {
        u32::try_from(self.receivers.len()).expect("few receivers")
    }

    /// The host that sends a flow's messages.
    pub fn sender(&self, flow: FlowId) -> NodeId {
        self.flows[flow].from
    }

    /// The host of a receiver.
    pub fn host_of(&self, receiver: ReceiverId) -> NodeId {
        self.receivers[receiver].host
    }

    /// When a flow's next message comes, if there is one.
    pub fn next(&self, flow: FlowId) -> Option<Instant> {
        self.flows[flow].next.map(ready_at)
    }

    /// Send the next message of a flow at `now`.
    #[allow(clippy::inline_always)] // each frame is made here, and need not be copied
    #[inline(always)]
    pub fn send(&mut self, flow: FlowId, now: Instant) -> Message {
        let app = &mut self.flows[flow];
        let offer = app.next.take().expect("a message whose time has come");
        let message = app.messages;
        app.messages += 1;
        let (octets, samples, born) = match &mut app.activity {
            Activity::Voice(talker) => {
                let packet = talker.call(now);
                (
                    packet.bits / 8,
                    u16::try_from(packet.counted).expect("below 65536 octets"),
                    Instant::from_ps(packet.oldest_ps),
                )
            }
            _ => (offer.bits / 8, 0, Instant::from_ps(offer.arrived_ps)),
        };
        let (framing, is_frame) = (app.framing, app.framing.is_of_frames());
        let mut frame = Frame { samples, ..app.frame(flow, message, 0, born) };
        if is_frame {
            frame.octets = frame_octets(framing, octets);
        }
        let mut sent = Message { frame, is_frame, octets, framing, next: None, until: None };
        match &mut app.activity {
            Activity::Stream(stream) if stream.waits == Wait::Ring => {
                stream.passed = Some(now);
                sent.next = stream.proceed(app.messages, &mut app.next);
            }
            Activity::Exchange(exchange) => {
                let missing = u32::try_from(app.to.len()).expect("few receivers");
                sent.until = exchange.begin((octets, missing), born, now);
            }
            _ => {}
        }
        sent
    }

    /// A frame has left stages of its host: the first, which is free at `free`, or the last, at
    /// `end`, or a host's only one. When the next message comes.
    #[inline]
    pub fn left(
        &mut self,
        frame: &Frame,
        free: Option<Instant>,
        end: Option<Instant>,
    ) -> Option<Instant> {
        if frame.hops > 0 {
            // Its flow's sender is another host.
            if end.is_some() {
                self.waiting_again[frame.from] -= 1;
            }
            return None;
        }
        let app = self.flows.get_mut(frame.flow.index())?; // who compares clocks waits for nothing
        match &mut app.activity {
            Activity::Stream(stream) => {
                if frame.fragment + 1 != frame.fragments {
                    return None;
                }
                if free.is_some() && stream.waits == Wait::Room {
                    stream.passed = free;
                }
                if let Some(end) = end {
                    stream.departures.push_back(end);
                }
                stream.proceed(app.messages, &mut app.next)
            }
            Activity::Exchange(_) => None,
            Activity::Transfer(connection) => {
                connection.departed(frame, end?);
                None
            }
            Activity::Voice(talker) => {
                app.next = talker.next(end?);
                app.next.map(ready_at)
            }
        }
    }

    /// Whether a host has room among so many for one more frame that it sends again; it waits then.
    pub fn waits_again(&mut self, host: NodeId, ring: u32) -> bool {
        let waiting = &mut self.waiting_again[host];
        let has_room = *waiting < ring;
        *waiting += u32::from(has_room);
        has_room
    }

    /// Whether the interface of `host` takes a frame in.
    #[inline]
    pub fn wants(&self, frame: &Frame, host: NodeId) -> bool {
        frame.to == Some(host)
            || (frame.to.is_none() && (frame.broadcast || self.is_of_group(frame, host)))
    }

    /// Whether a host is of the group that a frame is for.
    fn is_of_group(&self, frame: &Frame, host: NodeId) -> bool {
        let app = &self.flows[frame.flow];
        app.to.contains(&host) || (frame.answer.is_some() && app.from == host)
    }

    /// A frame comes to the application of `host`.
    #[inline]
    pub fn deliver(
        &mut self,
        frame: &Frame,
        host: NodeId,
        now: Instant,
        counters: &mut Counters,
    ) -> Reaction {
        if self.compares_clocks(frame.flow) {
            self.clocks.deliver(frame, now, counters);
            return Reaction::Transfer;
        }
        if let Some(connection) = self.connection(frame.flow) {
            counters.delivered(frame);
            connection.deliver(frame, now, counters);
            return Reaction::Transfer;
        }
        if let Some(number) = frame.answer {
            if self.sender(frame.flow) != host {
                counters.lost(frame, Loss::Ignored);
                return Reaction::Nothing;
            }
            counters.delivered(frame);
            return self.deliver_answer(frame, number, now, counters);
        }
        let app = &self.flows[frame.flow];
        let index = if app.receiver == Some(host) {
            Some(0)
        } else {
            (0..).zip(&app.to).find(|(_, to)| **to == host).map(|(index, _)| index)
        };
        let Some(index) = index else {
            counters.lost(frame, Loss::Ignored);
            return Reaction::Nothing;
        };
        counters.delivered(frame);
        let receiver = ReceiverId::from(app.first_receiver.number() + index);
        let it = &mut self.receivers[receiver];
        let Some(octets) = it.gathering.take(frame) else { return Reaction::Nothing };
        if it.seen.as_mut().is_some_and(|seen| !seen.insert(frame.message)) {
            counters.duplicated(frame.flow, now);
        } else {
            let data = app.framing.data_of(octets, frame.fragments, frame.padding);
            counters.received(frame, octets, data, now, &mut it.last);
            self.clocks.read(receiver, frame.born, now);
        }
        let Some((think, _, chance, _)) = &mut it.answer else { return Reaction::Nothing };
        it.thinks_until =
            it.thinks_until.max(now).saturating_add(Span::from_ps(think.draw(chance)));
        it.pending.push_back((frame.message, frame.attempt));
        Reaction::Answer { receiver, at: it.thinks_until }
    }

    /// The connection of a flow, if it is a transfer.
    #[inline]
    fn connection(&mut self, flow: FlowId) -> Option<&mut Connection> {
        if !self.has_transfers {
            return None;
        }
        match &mut self.flows.get_mut(flow.index())?.activity {
            Activity::Transfer(connection) => Some(connection),
            _ => None,
        }
    }

    #[inline]
    fn compares_clocks(&self, flow: FlowId) -> bool {
        flow.index() >= self.flows.len()
    }

    /// Whether what the frames of a flow bring about depends on what else has happened by then: of
    /// a transfer, of requests that are sent again and of a comparison of clocks.
    #[inline]
    pub fn goes_by_time(&self, flow: FlowId) -> bool {
        self.goes_by_time && self.flows.get(flow.index()).is_none_or(|flow| flow.goes_by_time)
    }

    /// When a transfer or a comparison of clocks next does something by itself; never, if a flow is
    /// none.
    pub fn wakes(&self, flow: FlowId) -> Option<Instant> {
        if self.compares_clocks(flow) {
            return self.clocks.wakes(flow);
        }
        match &self.flows[flow].activity {
            Activity::Transfer(connection) => connection.wakes(),
            _ => None,
        }
    }

    /// A transfer or a comparison does what is due.
    pub fn wake(&mut self, flow: FlowId, now: Instant, counters: &mut Counters) {
        if self.compares_clocks(flow) {
            return self.clocks.wake(flow, now);
        }
        self.connection(flow).expect("a transfer").wake(now, counters);
    }

    /// The next frame that a transfer or a comparison sends now, and its host.
    pub fn take_frame(&mut self, flow: FlowId, now: Instant) -> Option<(NodeId, Frame)> {
        if self.compares_clocks(flow) {
            return self.clocks.take_frame(flow);
        }
        self.connection(flow).expect("a transfer").take_frame(now)
    }

    /// The last bit of a frame comes to the wire's end at its host.
    #[inline]
    pub fn seen(&mut self, frame: &Frame, now: Instant, counters: &mut Counters) {
        if let Some(connection) = self.connection(frame.flow) {
            connection.seen(frame, now, counters);
        }
    }

    /// What became of each flow that is a transfer.
    pub fn finish_transfers(&mut self) -> Vec<Option<TransferCounts>> {
        self.flows
            .iter_mut()
            .map(|app| match &mut app.activity {
                Activity::Transfer(connection) => Some(connection.finish()),
                _ => None,
            })
            .collect()
    }

    /// What was read of flows by clocks, and what became of comparing these, whose frames have
    /// these balances.
    pub fn finish_clocks(
        &mut self,
        balances: impl Iterator<Item = Balance>,
    ) -> (Vec<(FlowId, ClockDelays)>, Vec<ClockPair>) {
        self.clocks.finish(balances)
    }

    /// Of each flow of the plan, messages offered, and dropped by full queues of sources, within
    /// each part of the measured window, when nothing more happens.
    pub fn finish(&mut self) -> Vec<Vec<(u64, u64)>> {
        let batches = self.batches;
        let finish = |app: &mut Application| match &mut app.activity {
            Activity::Voice(talker) => {
                talker.offered().into_iter().map(|offered| (offered, 0)).collect()
            }
            Activity::Stream(Messages { source, .. }) => source.finish_in_batches(),
            Activity::Exchange(exchange) => exchange.source.finish_in_batches(),
            Activity::Transfer(_) => vec![(0, 0); batches],
        };
        self.flows.iter_mut().map(finish).collect()
    }

    /// What became of the samples of each flow that is voice, at its host.
    pub fn finish_voice(&self) -> Vec<Option<HostSamples>> {
        let finish = |app: &Application| match &app.activity {
            Activity::Voice(talker) => Some(talker.finish()),
            _ => None,
        };
        self.flows.iter().map(finish).collect()
    }
}

/// When an offer is ready.
#[inline]
fn ready_at(offer: Offer) -> Instant {
    Instant::saturating_from_ps(offer.ready_ps)
}

impl Messages {
    /// Put the next message, which follows so many others, into `next`, if nothing holds it back.
    /// When it comes. In place, since each message of a network goes through here.
    #[inline]
    fn proceed(&mut self, messages: u32, next: &mut Option<Offer>) -> Option<Instant> {
        let mut ended = self.passed?;
        if messages >= self.ring {
            ended = ended.max(self.departures.pop_front()?);
        }
        self.passed = None;
        *next = self.source.next_in_batches(ended.ps());
        next.map(ready_at)
    }
}
