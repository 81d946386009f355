//! Applications: messages from sources, answers of receivers, and what their senders do next.
//!
//! ```text
//! stream:   source ──► message ──► its last frame has left the first stage, and the ring has room ──► next
//! request:  source ──► message ──► every receiver has answered, or the time is out ──► next
//! voice:    samples gather ──► packet ──► it has left the wire, and enough has gathered ──► next (see `talker`)
//! receiver: whole message ──► thinks, one at a time ──► answer
//! transfer: two ends of a connection that wake and receive ──► segments of both (see `transfer`)
//! ```

use super::clocks::Clocks;
use super::compiled::{CompiledNetwork, GROUP};
use super::counters::Counters;
use super::frame::{Frame, Loss};
use super::talker::Talker;
use super::transfer::Connection;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::packets::HostSamples;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Offer, Purpose, Source, SourceSpec, Stream, Window};
use ethermeter_trial::Trial;
use ethermeter_trial::counts::{Balance, ClockDelays, ClockPair, TransferCounts};
use ethermeter_trial::flows::{Address, Flow, Framing, Response};
use std::collections::VecDeque;

/// What a delivery brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    Nothing,
    /// A receiver answers then.
    Answer {
        receiver: u32,
        at: u64,
    },
    /// A flow's next message comes then.
    Next {
        flow: u32,
        at: u64,
    },
    /// Segments of a transfer or exchanges of times may wait, and wake at another time than before.
    Transfer,
}

#[derive(Debug)]
struct Request {
    missing: u32,
    latest: u64,
    deadline: u64,
    born: u64,
}

/// What an application waits for with its next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Room in the ring, once the first stage is free.
    Room,
    /// Room in the ring alone: behind a shaper, or at a port with classes.
    Ring,
    /// The wire of its host, as voice does.
    Wire,
    /// Answers; or it is a transfer.
    Answers,
}

impl Wait {
    /// `is_queued`: whether messages are queued behind the application, by class or by a shaper.
    fn of(flow: &Flow, is_queued: bool) -> Self {
        if flow.response.is_some() || flow.transfer.is_some() {
            Self::Answers
        } else if flow.voice().is_some() {
            Self::Wire
        } else if is_queued {
            Self::Ring
        } else {
            Self::Room
        }
    }
}

#[derive(Debug)]
struct Application {
    from: u32,
    to: Vec<u32>,
    group: bool,
    broadcast: bool,
    lengths: Flow,
    /// Not read for voice and transfers.
    source: Source,
    next: Option<Offer>,
    messages: u32,
    first_receiver: u32,
    request: Option<Request>,
    /// When the last message left the first stage, as long as the next one waits for the ring.
    passed: Option<u64>,
    departures: VecDeque<u64>,
    ring: u32,
    destination: u32,
    waits: Wait,
    timeout: Option<u64>,
    transfer: Option<Box<Connection>>,
    voice: Option<Box<Talker>>,
}

/// What is under way to one receiver, and what it answers.
#[derive(Debug)]
struct Receiver {
    flow: u32,
    number: u16,
    host: u32,
    gathering: Gathering,
    last: Option<u64>,
    /// The same of its answers, at the other end.
    returning: Gathering,
    answer: Option<(Times, Lengths, Stream, Stream)>,
    thinks_until: u64,
    pending: VecDeque<u32>,
    destination: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gathering {
    message: u32,
    pieces: u16,
    octets: u64,
}

impl Gathering {
    /// Take in a piece. The octets of the message's frames, if it is whole.
    #[inline]
    fn take(&mut self, frame: &Frame) -> Option<u64> {
        if frame.pieces == 1 {
            return Some(u64::from(frame.octets));
        }
        if frame.piece == 0 {
            *self = Self { message: frame.message, ..Self::default() };
        }
        if self.message != frame.message || self.pieces != frame.piece {
            return None; // a piece before it was lost
        }
        self.pieces += 1;
        self.octets += u64::from(frame.octets);
        (self.pieces == frame.pieces).then_some(self.octets)
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
    /// What hosts' clocks show; the flows by which they are compared are numbered after all others.
    clocks: Clocks,
}

impl Applications {
    pub fn new(compiled: &CompiledNetwork, trial: &Trial) -> Self {
        let nodes = &trial.scenario.nodes;
        let node = |name: &str| {
            let index = nodes.iter().position(|n| n.name == name).expect("checked");
            u32::try_from(index).expect("few nodes")
        };
        let count = u32::try_from(trial.scenario.flows.len()).expect("few flows");
        let has_transfers = trial.scenario.flows.iter().any(|flow| flow.transfer.is_some());
        let mut all = Self {
            flows: Vec::new(),
            receivers: Vec::new(),
            has_transfers,
            clocks: Clocks::default(),
        };
        for (flow, number) in trial.scenario.flows.iter().zip(0..) {
            let from = node(&flow.from);
            let to: Vec<u32> = flow.to.iter().map(|name| node(name)).collect();
            let phases = compiled.phases;
            let spread = Stream::new(compiled.seed, number, Purpose::Begin).below(phases.spread_ps);
            let window = Window {
                begin_ps: phases.begin_ps + spread,
                stop_ps: phases.stop_ps,
                measure_from_ps: phases.measure_from_ps,
                measure_to_ps: phases.measure_to_ps,
            };
            let group = flow.address != Address::Unicast;
            let first_receiver = u32::try_from(all.receivers.len()).expect("few receivers");
            for (&host, index) in to.iter().zip(0..) {
                let station = count + first_receiver + u32::from(index);
                let stream = |purpose| Stream::new(compiled.seed, station, purpose);
                let answer = flow.response.as_ref().map(|Response { frames, think, .. }| {
                    (
                        think.clone(),
                        frames.clone(),
                        stream(Purpose::Service),
                        stream(Purpose::Length),
                    )
                });
                all.receivers.push(Receiver {
                    flow: number,
                    number: index,
                    host,
                    gathering: Gathering::default(),
                    last: None,
                    returning: Gathering::default(),
                    answer,
                    thinks_until: 0,
                    pending: VecDeque::new(),
                    destination: compiled.next_address(host, from),
                });
            }
            let shaping = flow.shaping(compiled.around(from), "").expect("checked");
            let is_paced = flow.arrivals != (Arrivals::Saturated {});
            let is_queued = shaping.is_some() || (is_paced && compiled.has_classes(from));
            let waits = Wait::of(flow, is_queued);
            let spec = SourceSpec { shaping, ..flow.source_spec() };
            let mut source = Source::new(&spec, compiled.seed, number, window);
            source.count_in_batches(compiled.batches);
            let transfer = flow.transfer.as_ref().map(|transfer| {
                let ends = (from, to[0]);
                let receiver = count + first_receiver;
                let begin = window.begin_ps;
                let made = Connection::new(compiled, transfer, (number, receiver), ends, begin);
                Box::new(made.tagged(flow.tag_octets()))
            });
            let mut voice = Talker::of(flow, compiled, number, window);
            let next = match (&transfer, &mut voice) {
                (None, None) => source.first_in_batches(),
                (None, Some(talker)) => talker.next(window.begin_ps),
                (Some(_), _) => None,
            };
            all.flows.push(Application {
                from,
                group,
                broadcast: flow.address == Address::Broadcast,
                lengths: flow.clone(),
                source,
                next,
                messages: 0,
                first_receiver,
                request: None,
                passed: None,
                departures: VecDeque::new(),
                ring: compiled.nodes[from as usize].ring,
                destination: if group { GROUP } else { compiled.next_address(from, to[0]) },
                waits,
                transfer,
                voice,
                timeout: flow.response.as_ref().and_then(|r| r.timeout_ps),
                to,
            });
        }
        let streams: Vec<_> = all.receivers.iter().map(|it| all.stream_to(it)).collect();
        all.clocks = Clocks::new(compiled, trial.scenario.clocks, count, &streams);
        all
    }

    /// Flow, sender and host of a receiver, if what comes to it is a stream.
    fn stream_to(&self, receiver: &Receiver) -> Option<(u32, u32, u32)> {
        let app = &self.flows[receiver.flow as usize];
        (app.waits != Wait::Answers).then_some((receiver.flow, app.from, receiver.host))
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

    pub fn receiver_count(&self) -> u32 {
        u32::try_from(self.receivers.len()).expect("few receivers")
    }

    /// The host that sends a flow's messages.
    pub fn sender(&self, flow: u32) -> u32 {
        self.flows[flow as usize].from
    }

    /// The host of a receiver.
    pub fn host_of(&self, receiver: u32) -> u32 {
        self.receivers[receiver as usize].host
    }

    /// When a flow's next message comes, if there is one.
    pub fn next(&self, flow: u32) -> Option<u64> {
        self.flows[flow as usize].next.map(|offer| offer.ready_ps)
    }

    /// The same of a flow that does not wait for what it has sent.
    #[inline]
    pub fn next_release(&self, flow: u32) -> Option<u64> {
        let app = &self.flows[flow as usize];
        app.next.filter(|_| app.waits == Wait::Ring).map(|offer| offer.ready_ps)
    }

    /// Send the next message of a flow at `now`: its frames. Until when its sender waits for
    /// answers, and the message's number, if there is an end.
    #[inline]
    pub fn send(&mut self, flow: u32, now: u64, mut each: impl FnMut(Frame)) -> Option<(u64, u32)> {
        let app = &mut self.flows[flow as usize];
        let offer = app.next.take().expect("a message whose time has come");
        let message = app.messages;
        app.messages += 1;
        let (octets, samples, born) = match &mut app.voice {
            None => (offer.bits / 8, 0, offer.arrived_ps),
            Some(talker) => {
                let packet = talker.call(now);
                (
                    packet.bits / 8,
                    u16::try_from(packet.counted).expect("below 65536 octets"),
                    packet.oldest_ps,
                )
            }
        };
        let frame = Frame {
            flow,
            from: app.from,
            to: if app.group { GROUP } else { app.to[0] },
            source: app.from,
            destination: app.destination,
            octets: 0,
            message,
            pieces: 1,
            piece: 0,
            answer: None,
            broadcast: app.broadcast,
            padding: 0,
            samples,
            born,
        };
        cut(&app.lengths, octets, frame, &mut each);
        if app.waits == Wait::Ring {
            app.passed = Some(now);
            app.proceed();
        }
        if app.waits != Wait::Answers {
            return None;
        }
        let deadline = app.timeout.map_or(u64::MAX, |ps| now + ps);
        let missing = u32::try_from(app.to.len()).expect("few receivers");
        app.request = Some(Request { missing, latest: 0, deadline, born: offer.arrived_ps });
        app.timeout.map(|_| (deadline, message))
    }

    /// A receiver sends its answer.
    pub fn answer(&mut self, receiver: u32, now: u64, mut each: impl FnMut(Frame)) {
        let it = &mut self.receivers[receiver as usize];
        let message = it.pending.pop_front().expect("an answer whose time has come");
        let (_, lengths, _, chance) = it.answer.as_mut().expect("a receiver that answers");
        let octets = lengths.draw(chance) / 8;
        let app = &self.flows[it.flow as usize];
        let frame = Frame {
            flow: it.flow,
            from: it.host,
            to: app.from,
            source: it.host,
            destination: it.destination,
            octets: 0,
            message,
            pieces: 1,
            piece: 0,
            answer: Some(it.number),
            broadcast: false,
            padding: 0,
            samples: 0,
            born: now,
        };
        cut(&app.lengths, octets, frame, &mut each);
    }

    /// The last frame of a stream's message has left the first stage of its host, which is free at
    /// `end`. When the next one comes.
    #[inline]
    pub fn passed(&mut self, frame: &Frame, end: u64) -> Option<u64> {
        let app = self.flows.get_mut(frame.flow as usize)?; // who compares clocks waits for nothing
        if frame.answer.is_some() || app.waits != Wait::Room || frame.piece + 1 != frame.pieces {
            return None;
        }
        app.passed = Some(end);
        app.proceed()
    }

    /// The last frame of a stream's message has left its host. When the next one comes.
    #[inline]
    pub fn departed(&mut self, frame: &Frame, end: u64) -> Option<u64> {
        let app = self.flows.get_mut(frame.flow as usize)?;
        let waits = matches!(app.waits, Wait::Room | Wait::Ring);
        if frame.answer.is_some() || !waits || frame.piece + 1 != frame.pieces {
            if let Some(connection) = &mut app.transfer {
                connection.departed(frame, end);
            }
            app.next = app.voice.as_mut()?.next(end);
            return app.next.map(|offer| offer.ready_ps);
        }
        app.departures.push_back(end);
        app.proceed()
    }

    /// The time is out for a message. When the next one comes.
    pub fn time_out(
        &mut self,
        flow: u32,
        message: u32,
        now: u64,
        counters: &mut Counters,
    ) -> Option<u64> {
        let app = &mut self.flows[flow as usize];
        if app.request.is_none() || app.messages != message + 1 {
            return None;
        }
        app.request = None;
        counters.timed_out(flow, now);
        app.next = app.source.next_in_batches(now);
        app.next.map(|offer| offer.ready_ps)
    }

    /// Whether the interface of `host` takes a frame in.
    #[inline]
    pub fn wants(&self, frame: &Frame, host: u32) -> bool {
        frame.to == host
            || (frame.to == GROUP
                && (frame.broadcast || self.flows[frame.flow as usize].to.contains(&host)))
    }

    /// A frame comes to the application of `host`.
    #[inline]
    pub fn deliver(
        &mut self,
        frame: &Frame,
        host: u32,
        now: u64,
        counters: &mut Counters,
    ) -> Reaction {
        if self.compares_clocks(frame.flow) {
            self.clocks.deliver(frame, now, counters);
            return Reaction::Transfer;
        }
        if self.has_transfers
            && let Some(connection) = &mut self.flows[frame.flow as usize].transfer
        {
            counters.delivered(frame);
            connection.deliver(frame, now, counters);
            return Reaction::Transfer;
        }
        if let Some(number) = frame.answer {
            counters.delivered(frame);
            return self.deliver_answer(frame, number, now, counters);
        }
        let app = &self.flows[frame.flow as usize];
        let index =
            if app.to[0] == host { Some(0) } else { app.to.iter().position(|to| *to == host) };
        let Some(index) = index else {
            counters.lost(frame, Loss::Ignored);
            return Reaction::Nothing;
        };
        counters.delivered(frame);
        let receiver = app.first_receiver + u32::try_from(index).expect("few receivers");
        let it = &mut self.receivers[receiver as usize];
        let Some(octets) = it.gathering.take(frame) else { return Reaction::Nothing };
        let data = app.lengths.data_of(octets, frame.pieces, frame.padding);
        counters.received(frame, octets, data, now, &mut it.last);
        self.clocks.read(receiver, frame.born, now);
        let Some((think, _, chance, _)) = &mut it.answer else { return Reaction::Nothing };
        it.thinks_until = it.thinks_until.max(now).saturating_add(think.draw(chance));
        it.pending.push_back(frame.message);
        Reaction::Answer { receiver, at: it.thinks_until }
    }

    fn deliver_answer(
        &mut self,
        frame: &Frame,
        number: u16,
        now: u64,
        counters: &mut Counters,
    ) -> Reaction {
        let app = &mut self.flows[frame.flow as usize];
        let it = &mut self.receivers[app.first_receiver as usize + usize::from(number)];
        let Some(octets) = it.returning.take(frame) else { return Reaction::Nothing };
        counters.answered(frame.flow, octets, frame.born, now);
        let Some(request) = &mut app.request else { return Reaction::Nothing };
        if app.messages != frame.message + 1 || now >= request.deadline {
            return Reaction::Nothing; // it comes too late
        }
        request.missing -= 1;
        request.latest = request.latest.max(now);
        counters.answer_came(frame.flow, request.born, now);
        if request.missing > 0 {
            return Reaction::Nothing;
        }
        let (born, latest) = (request.born, request.latest);
        counters.completed(frame.flow, born, latest);
        app.request = None;
        app.next = app.source.next_in_batches(latest);
        app.next.map_or(Reaction::Nothing, |offer| Reaction::Next {
            flow: frame.flow,
            at: offer.ready_ps,
        })
    }

    #[inline]
    fn compares_clocks(&self, flow: u32) -> bool {
        flow as usize >= self.flows.len()
    }

    /// Whether what a flow does with its frames goes by the order of time: of a transfer and of a
    /// comparison of clocks.
    #[inline]
    pub fn goes_by_time(&self, flow: u32) -> bool {
        self.compares_clocks(flow)
            || (self.has_transfers && self.flows[flow as usize].transfer.is_some())
    }

    /// When a transfer or a comparison of clocks next does something by itself; never, if a flow is
    /// none.
    pub fn wakes(&self, flow: u32) -> Option<u64> {
        if self.compares_clocks(flow) {
            return self.clocks.wakes(flow);
        }
        self.flows[flow as usize].transfer.as_ref().and_then(|connection| connection.wakes())
    }

    /// A transfer or a comparison does what is due.
    pub fn wake(&mut self, flow: u32, now: u64, counters: &mut Counters) {
        if self.compares_clocks(flow) {
            return self.clocks.wake(flow, now);
        }
        self.flows[flow as usize].transfer.as_mut().expect("a transfer").wake(now, counters);
    }

    /// The next frame that a transfer or a comparison sends now, and its host.
    pub fn take_frame(&mut self, flow: u32, now: u64) -> Option<(u32, Frame)> {
        if self.compares_clocks(flow) {
            return self.clocks.take_frame(flow);
        }
        self.flows[flow as usize].transfer.as_mut().expect("a transfer").take_frame(now)
    }

    /// The last bit of a frame comes to the wire's end at its host.
    #[inline]
    pub fn seen(&mut self, frame: &Frame, now: u64, counters: &mut Counters) {
        if !self.has_transfers {
            return;
        }
        if let Some(connection) =
            self.flows.get_mut(frame.flow as usize).and_then(|app| app.transfer.as_mut())
        {
            connection.seen(frame, now, counters);
        }
    }

    /// What became of each flow that is a transfer.
    pub fn finish_transfers(&mut self) -> Vec<Option<TransferCounts>> {
        self.flows
            .iter_mut()
            .map(|app| app.transfer.as_mut().map(|connection| connection.finish()))
            .collect()
    }

    /// What was read of flows by clocks, and what became of comparing these, whose frames have
    /// these balances.
    pub fn finish_clocks(
        &mut self,
        balances: impl Iterator<Item = Balance>,
    ) -> (Vec<(u32, ClockDelays)>, Vec<ClockPair>) {
        self.clocks.finish(balances)
    }

    /// Of each flow of the plan, messages offered, and dropped by full queues of sources, within
    /// each part of the measured window, when nothing more happens.
    pub fn finish(&mut self) -> Vec<Vec<(u64, u64)>> {
        let finish = |app: &mut Application| match &app.voice {
            Some(voice) => voice.offered().into_iter().map(|offered| (offered, 0)).collect(),
            None => app.source.finish_in_batches(),
        };
        self.flows.iter_mut().map(finish).collect()
    }

    /// What became of the samples of each flow that is voice, at its host.
    pub fn finish_voice(&self) -> Vec<Option<HostSamples>> {
        self.flows.iter().map(|app| app.voice.as_ref().map(|talker| talker.finish())).collect()
    }
}

impl Application {
    /// The next message, if nothing holds it back.
    #[inline]
    fn proceed(&mut self) -> Option<u64> {
        let mut ended = self.passed?;
        if self.messages >= self.ring {
            ended = ended.max(self.departures.pop_front()?);
        }
        self.passed = None;
        self.next = self.source.next_in_batches(ended);
        self.next.map(|offer| offer.ready_ps)
    }
}

#[inline]
fn cut(flow: &Flow, octets: u64, mut frame: Frame, each: &mut impl FnMut(Frame)) {
    if flow.framing == Framing::Frame {
        frame.octets = u32::try_from(octets).expect("below 65536") + flow.tag_octets();
        return each(frame);
    }
    let mut pieces = 0u16;
    flow.frames_of(octets, |_, _, _| pieces += 1);
    frame.pieces = pieces;
    flow.frames_of(octets, |length, padding, _| {
        frame.octets = length;
        frame.padding = padding;
        each(frame);
        frame.piece += 1;
    });
}
