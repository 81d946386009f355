//! What a station does in an experiment, on real ports.

use super::clocks;
use super::connection::finish;
use super::endpoint::{LocalEndpoint, OpenedEndpoint, StationPort};
use super::file::{request_blocks, serve_blocks};
use super::policed_port::{PolicedPort, SendConditions};
use super::schedule::ExperimentSchedule;
use super::transfer::{receive_bulk, send_bulk};
use crate::consent::{Permit, Policer, ReceiverLease, longest_payload};
use crate::interfaces::PacketPath;
use crate::refusal::{ConsentRule, Refusal};
use crate::report::{PortUse, RoleCounts, RoleReport, RoleTotals, SinkReport};
use ethermeter_net::clock::SharedRelation;
use ethermeter_net::pacing::{Pacer, PriorityGuard, ThreadPriority};
use ethermeter_net::port::credited::{CreditedPort, InterfaceNotes};
use ethermeter_net::port::tcp::{TcpPort, congestion, set_congestion};
use ethermeter_net::port::tcp_info::TcpInfo;
use ethermeter_net::port::{NetworkPort, StationAddress};
use ethermeter_net::roles::{
    RequestPlan, RequestTraffic, ResponsePlan, SendPlan, SenderClockRelation, SenderCounts,
    SinkPlan, VoicePlan, request, respond, send, sink, talk,
};
use ethermeter_net::{Error, Timeline};
use ethermeter_traffic::SourceSpec;
use ethermeter_trial::roles::{Draws, MessageSource, MessageStream, RoleTask};
use std::net::IpAddr;
use std::sync::Arc;

/// What a role may send, and on what that depends.
#[derive(Debug)]
pub struct PermittedSender {
    /// What it may send, and where to.
    pub permit: Permit,
    /// A lease of each receiver.
    pub leases: Vec<Arc<ReceiverLease>>,
    /// The way to the receivers.
    pub path: PacketPath,
}

/// A role: a task in a flow.
#[derive(Debug)]
pub struct RolePlan {
    /// The flow.
    pub flow: String,
    /// Number of the flow in the mark of frames.
    pub stream: u16,
    /// Where it is.
    pub endpoint: LocalEndpoint,
    /// The task.
    pub task: RoleTask,
    /// What determines its draws.
    pub draws: Draws,
    /// Stations of the group that it sends to, each of which has granted; empty of a single station.
    pub members: Vec<StationAddress>,
    /// What it may send, and where; `None` of a role that only receives.
    pub permitted: Option<PermittedSender>,
    /// Congestion control of its connection; the host's own without.
    pub congestion: Option<String>,
}

impl RolePlan {
    /// What a role opens that does not use what was opened when the flow was granted.
    pub(super) fn open(&self, time: &impl Timeline) -> Result<OpenedEndpoint, Refusal> {
        match (&self.task, &self.permitted) {
            (RoleTask::Send(stream), Some(PermittedSender { permit, .. })) => {
                let (_, most_bits) = stream.source.frames.range_bits();
                let longest_payload = self.endpoint.payload_octets(most_bits).ok_or_else(|| {
                    let value = format!("frames of {most_bits} bits");
                    Refusal::new(
                        ConsentRule::Description,
                        value,
                        "whole octets with room for a mark",
                    )
                })?;
                self.endpoint.to_send(permit.target, longest_payload, time)
            }
            (RoleTask::SendBulk(transfer), Some(PermittedSender { permit, .. })) => {
                self.endpoint.to_send(permit.target, transfer.block_octets as usize, time)
            }
            _ => Err(Refusal::new(
                ConsentRule::ConsentMissing,
                &self.flow,
                "a flow that was granted here",
            )),
        }
    }

    /// What was opened when the flow was granted to `sender` at `granted`, made fit for this role.
    pub(super) fn fit(
        &self,
        opened: OpenedEndpoint,
        granted: &LocalEndpoint,
        sender: Option<IpAddr>,
    ) -> Result<OpenedEndpoint, Refusal> {
        match (&self.task, opened, sender) {
            (
                RoleTask::Request { .. } | RoleTask::Respond { .. },
                OpenedEndpoint::StationPort(mut port),
                _,
            ) => {
                if granted.transport.is_group() {
                    port = port.answering(granted)?;
                }
                if self.endpoint.transport.is_group() {
                    port = port.aimed_at_group()?;
                }
                Ok(OpenedEndpoint::StationPort(port))
            }
            (
                RoleTask::Respond { .. }
                | RoleTask::Sink { .. }
                | RoleTask::ReceiveBulk
                | RoleTask::Server(_),
                OpenedEndpoint::End(end),
                Some(sender),
            ) => Ok(OpenedEndpoint::End(end.accepting(sender))),
            (_, opened, _) => Ok(opened),
        }
    }

    /// Report of a role that counted nothing, by `error`.
    pub(super) fn failed(&self, error: String) -> RoleReport {
        RoleReport {
            flow: self.flow.clone(),
            role: self.task.name().into(),
            counted: None,
            error: Some(error),
            receiver_lapsed_ns: None,
        }
    }

    /// Do it; what became of it, or why nothing did.
    pub(super) fn run(
        mut self,
        opened: OpenedEndpoint,
        schedule: &ExperimentSchedule<impl Timeline>,
    ) -> RoleReport {
        let permit = self.permitted.take().map(|permitted| permitted.permit);
        let mut report = match self.play(opened, permit, schedule) {
            Ok(counted) => {
                let (flow, role) = (self.flow.clone(), self.task.name().into());
                let counted = Some(counted);
                RoleReport { flow, role, counted, error: None, receiver_lapsed_ns: None }
            }
            Err(error) => self.failed(error.to_string()),
        };
        report.receiver_lapsed_ns = schedule
            .lease
            .lapsed_ns()
            .map(|lapsed_ns| lapsed_ns.wrapping_sub(schedule.transmit_ns()).cast_signed());
        // What is left to lapse does not concern a role that has ended.
        schedule.lease.stop();
        report
    }

    fn play(
        &self,
        opened: OpenedEndpoint,
        permit: Option<Permit>,
        schedule: &ExperimentSchedule<impl Timeline>,
    ) -> Result<RoleCounts, Error> {
        let (carrier, mtu, begin_ns) =
            (self.endpoint.carrier(), self.endpoint.mtu, schedule.begin_ns);
        match opened {
            OpenedEndpoint::StationPort(port) => {
                let policer = permit.map(|permit| {
                    let longest = longest_payload(carrier, &permit).min(port.longest_payload());
                    Policer::new(permit, carrier, longest, mtu, begin_ns)
                });
                self.play_at(port, policer, schedule)
            }
            OpenedEndpoint::End(end) => {
                let longest_payload = end.longest_payload;
                let mut policer = permit.map(|permit| match &self.task {
                    RoleTask::Client(_) | RoleTask::Server(_) => {
                        Policer::of_segments(permit, carrier, mtu, begin_ns)
                    }
                    _ => Policer::new(permit, carrier, longest_payload, mtu, begin_ns),
                });
                let connected = end.meet(policer.as_mut(), schedule)?;
                let Some(stream) = connected else {
                    return Err(Error::System {
                        doing: "waiting for the other end of a TCP connection",
                        source: std::io::ErrorKind::TimedOut.into(),
                    });
                };
                if let Some(name) = &self.congestion {
                    set_congestion(&stream, name)?;
                }
                let (congestion, is_selective) =
                    (congestion(&stream)?, TcpInfo::of(&stream)?.is_selective);
                let counted = match (&self.task, policer) {
                    (RoleTask::SendBulk(transfer), Some(mut policer)) => {
                        send_bulk(stream, transfer, &mut policer, schedule)
                    }
                    (RoleTask::ReceiveBulk, _) => receive_bulk(stream, schedule),
                    (RoleTask::Client(transfer), Some(mut policer)) => {
                        request_blocks(stream, &transfer.file, self.draws, &mut policer, schedule)
                    }
                    (RoleTask::Server(transfer), Some(mut policer)) => {
                        serve_blocks(stream, &transfer.file, self.draws, &mut policer, schedule)
                    }
                    (_, policer) => self.play_at(
                        StationPort::Tcp(Box::new(TcpPort::on(stream, longest_payload)?)),
                        policer,
                        schedule,
                    ),
                };
                counted.map(|mut counted| {
                    (counted.port.congestion, counted.port.sack) =
                        (Some(congestion), Some(is_selective));
                    counted
                })
            }
        }
    }

    fn play_at(
        &self,
        port: StationPort,
        policer: Option<Policer>,
        schedule: &ExperimentSchedule<impl Timeline>,
    ) -> Result<RoleCounts, Error> {
        let conditions = SendConditions {
            lease: &schedule.lease,
            time: &schedule.time,
            progress: &schedule.progress,
        };
        let mut port = PolicedPort::new(port, policer, conditions)?;
        let of = self.perform(&mut port, schedule)?;
        let mut used = PortUse {
            held_back: Some(port.held_back()),
            refused: Some(port.refused()),
            port: Some(port.counters()?),
            ..PortUse::default()
        };
        if let (StationPort::Tcp(port), RoleTask::Send(_) | RoleTask::Request { .. }) =
            (port.port(), &self.task)
        {
            finish(port.stream(), schedule)?;
        }
        used.mode = port.port().mode();
        Ok(RoleCounts { port: used, of })
    }

    #[expect(clippy::too_many_lines, reason = "one arm a task")]
    fn perform<T: Timeline>(
        &self,
        port: &mut PolicedPort<'_, StationPort, T>,
        schedule: &ExperimentSchedule<impl Timeline>,
    ) -> Result<RoleTotals, Error> {
        let (time, own_clock, stop) = (&schedule.time, schedule.own_clock, schedule.lease.flag());
        let (transmit_ns, phases) = (schedule.transmit_ns(), schedule.phases);
        let guard = match &self.task {
            RoleTask::Send(stream) if stream.real_time => PriorityGuard::fifo_where_allowed(),
            _ => PriorityGuard::ordinary(),
        };
        let has_real_time =
            |is_wanted: bool| is_wanted.then(|| guard.priority() == ThreadPriority::Fifo);
        match &self.task {
            RoleTask::Send(stream) => {
                let MessageStream {
                    real_time, shares_processors, credit_frames, spread_ps, ..
                } = &**stream;
                let source = &spec_of(&stream.source)?;
                let pacer = match (shares_processors, real_time) {
                    (true, _) => Pacer::sharing(),
                    (false, true) => Pacer::punctual(),
                    (false, false) => Pacer::default(),
                };
                if let Some(voice) = source.voice() {
                    let plan = VoicePlan {
                        experiment: schedule.mark(),
                        stream: self.stream,
                        voice: &voice,
                        seed: self.draws.seed,
                        station: self.draws.station,
                        begin_ns: transmit_ns,
                        duration_ns: phases.transmit_ns,
                        measured_ns: phases.measure_from_ns..phases.measure_to_ns,
                        pacer,
                    };
                    let mut counts = talk(port, time, own_clock, &plan, stop)?;
                    counts.pacing.real_time = has_real_time(*real_time);
                    return Ok(RoleTotals::Sender(Box::new(counts)));
                }
                let plan = SendPlan {
                    experiment: schedule.mark(),
                    stream: self.stream,
                    source,
                    seed: self.draws.seed,
                    station: self.draws.station,
                    begin_ns: transmit_ns,
                    duration_ns: phases.transmit_ns,
                    spread_ps: *spread_ps,
                    most_frames: u64::MAX,
                    pacer,
                };
                let mut counts = match credit_frames {
                    None => send(port, time, own_clock, &plan, stop)?,
                    Some(window) => {
                        let attachment = self.endpoint.attachment.as_ref();
                        let name =
                            attachment.map_or("", |attachment| attachment.interface.name.as_str());
                        let notes = InterfaceNotes::on(name)?;
                        let frames_of = port.frames_of();
                        let mut port = CreditedPort::new(port, notes, frames_of, *window, time);
                        let counts = send(&mut port, time, own_clock, &plan, stop)?;
                        SenderCounts { credit: Some(port.counts), ..counts }
                    }
                };
                counts.pacing.real_time = has_real_time(*real_time);
                Ok(RoleTotals::Sender(Box::new(counts)))
            }
            RoleTask::Clock => {
                let bits = u64::from(clocks::FRAME_OCTETS) * 8;
                let payload_octets = self.endpoint.payload_octets(bits).unwrap_or(0); // which `ask` refuses
                let plan = clocks::plan(schedule.mark(), self.stream, payload_octets);
                let nobody = SharedRelation::default();
                let ongoing = schedule.clocks.get(&self.flow).map_or(&nobody, |ongoing| ongoing);
                clocks::keep(port, schedule, &plan, payload_octets, ongoing)
            }
            RoleTask::SendBulk(_)
            | RoleTask::ReceiveBulk
            | RoleTask::Client(_)
            | RoleTask::Server(_) => {
                unreachable!("octets in bulk have no port of frames")
            }
            RoleTask::Sink { attention, clock } => {
                let plan = SinkPlan {
                    experiment: schedule.mark(),
                    begin_ns: transmit_ns,
                    first_stream: self.stream,
                    streams: 1,
                    measured_ns: transmit_ns.saturating_add(phases.measure_from_ns)
                        ..transmit_ns.saturating_add(phases.measure_to_ns),
                    batches: phases.batches,
                    until_ns: schedule.until_ns(),
                    most_frames: u64::MAX,
                    memory: 1 << 16,
                    senders_clock: match clock.as_ref().and_then(|name| schedule.clocks.get(name)) {
                        Some(ongoing) => SenderClockRelation::Ongoing(ongoing),
                        None => SenderClockRelation::Equal,
                    },
                    attention: *attention,
                };
                let counts = sink(port, time, own_clock, &plan, stop)?;
                Ok(RoleTotals::Sink(Box::new(SinkReport { counts, clock: clock.clone() })))
            }
            RoleTask::Request { exchange, attention } => {
                let source = &spec_of(&exchange.source)?;
                let Draws { seed, station } = self.draws;
                let plan = RequestPlan {
                    experiment: schedule.mark(),
                    stream: self.stream,
                    responders: &self.members,
                    requests: RequestTraffic::Offered { source, seed, station },
                    begin_ns: transmit_ns,
                    until_ns: transmit_ns.saturating_add(phases.transmit_ns),
                    batches: phases.batches,
                    most_requests: u64::MAX,
                    timeout_ns: exchange.timeout_ns,
                    exchanges: MOST_EXCHANGES,
                    attention: *attention,
                };
                Ok(RoleTotals::Requester(Box::new(request(port, time, own_clock, &plan, stop)?)))
            }
            RoleTask::Respond { response, attention } => {
                let target = port.target();
                let is_member = |from| self.members.iter().any(|one| one.is_station_of(from));
                let is_group = self.endpoint.transport.is_group();
                let plan = ResponsePlan {
                    experiment: schedule.mark(),
                    stream: Some(self.stream),
                    may_respond_to: &|from| {
                        if is_group { is_member(from) } else { Some(from) == target }
                    },
                    group: target.filter(|_| is_group),
                    responses: response,
                    draws: self.draws,
                    until_ns: schedule.until_ns(),
                    most_responses: u64::MAX,
                    attention: *attention,
                };
                Ok(RoleTotals::Responder(Box::new(respond(port, time, own_clock, &plan, stop)?)))
            }
        }
    }
}

/// The source of messages that were read without a fault.
fn spec_of(source: &MessageSource) -> Result<SourceSpec, Error> {
    source.spec().map_err(|fault| Error::Refused {
        what: "source",
        value: fault,
        allowed: "what goes together".into(),
    })
}

/// Exchanges of times that a requester keeps for the relation of two clocks.
const MOST_EXCHANGES: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::{FlowTransport, LEASE_NS};
    use crate::interfaces::attachment_of;
    use std::cell::Cell;
    use std::net::UdpSocket;

    const MS: u64 = 1_000_000;

    /// A time that passes by a tenth of a microsecond at each look, and to the end of each sleep.
    struct PassingTime(Cell<u64>);

    impl Timeline for &PassingTime {
        fn now_ns(&self) -> u64 {
            self.0.set(self.0.get() + 100);
            self.0.get()
        }

        fn sleep_until(&self, at_ns: u64) {
            self.0.set(self.0.get().max(at_ns));
        }
    }

    /// Send 64 octets every 5 ms for `transmit_ms` to a socket, at most `frames_per_s` times a second,
    /// with a lease that begins with the transmission and is not renewed. Returns the counts, and how
    /// many frames have come.
    fn sent(transmit_ms: u64, frames_per_s: u64) -> (SenderCounts, u64) {
        let own = IpAddr::from([127, 0, 0, 1]);
        let sink = UdpSocket::bind((own, 0)).expect("a port");
        sink.set_nonblocking(true).expect("a socket that does not wait");
        let target = StationAddress::Socket(sink.local_addr().expect("an address"));
        let source = serde_json::json!({
            "frames": {"kind": "fixed", "bits": 512},
            "arrivals": {"kind": "regular", "period_ps": 5 * MS * 1000},
        });
        let source = serde_json::from_value(source).expect("a source");
        let stream = MessageStream {
            source,
            real_time: false,
            shares_processors: false,
            credit_frames: None,
            spread_ps: 0,
        };
        let endpoint = LocalEndpoint {
            transport: FlowTransport::default(),
            local: own,
            attachment: attachment_of(own),
            interface: None,
            mtu: None,
        };
        let time = PassingTime(Cell::new(0));
        let schedule = ExperimentSchedule::unrenewed(&time, transmit_ms * MS);
        let permit = Permit {
            target,
            rate_bps: 10_000_000,
            rate_frames_per_s: frames_per_s,
            longest_frame_octets: 64,
            duration_ns: transmit_ms * MS,
            begin_before_ns: u64::MAX,
        };
        let opened = endpoint.to_send(target, 18, &&time).expect("a port");
        let plan = RolePlan {
            flow: "f".into(),
            stream: 0,
            endpoint,
            task: RoleTask::Send(Box::new(stream)),
            draws: Draws::default(),
            members: Vec::new(),
            permitted: None,
            congestion: None,
        };
        let counted = plan.play(opened, Some(permit), &schedule).expect("a sender");
        let RoleTotals::Sender(counts) = counted.of else { unreachable!("it sends") };
        let mut buffer = [0; 100];
        let received = std::iter::from_fn(|| sink.recv(&mut buffer).ok()).count();
        (*counts, received as u64)
    }

    #[test]
    fn a_sender_sends_what_its_source_offers_at_its_times() {
        let (counts, received) = sent(500, 10_000);
        assert_eq!((counts.frames, counts.unsent, received), (100, 0, 100));
        let (first_ns, last_ns) = (counts.first_ns.expect("one"), counts.last_ns.expect("one"));
        // Waiting ends with the look after the time.
        assert!(last_ns - first_ns >= 99 * 5 * MS - 1000, "{first_ns} to {last_ns}");
        assert!(last_ns < 500 * MS + 1000, "{last_ns}");
    }

    #[test]
    fn a_sender_sends_no_more_than_its_permit_whatever_its_source_offers() {
        let (counts, received) = sent(500, 20);
        // A permit's bucket is empty at the beginning.
        assert!((9..=10).contains(&received), "{received}");
        assert_eq!(counts.frames, received);
    }

    #[test]
    fn a_sender_falls_silent_when_its_lease_lapses() {
        let (counts, received) = sent(2000, 10_000);
        assert_eq!(counts.frames, received);
        let last_ns = counts.last_ns.expect("one");
        assert!((LEASE_NS - 6 * MS..LEASE_NS).contains(&last_ns), "{last_ns}");
    }
}
