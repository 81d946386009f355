//! Roles against each other: the same bodies on a network in memory and on the loopback interface.

use ethermeter_ethernet::{Carrier, Octets};
use ethermeter_net::clock::Relation;
use ethermeter_net::pacing::Pacer;
use ethermeter_net::port::memory::{connected, MemoryPort, FateRule, FrameFate};
use ethermeter_net::port::tcp::TcpPort;
use ethermeter_net::port::udp::{UdpOptions, UdpPort};
use ethermeter_net::port::{StationAddress, NetworkPort, ReceiveWait};
use ethermeter_net::roles::{
    request, respond, send, sink, ReceiveMode, RequestPlan, RequesterCounts, RequestTraffic,
    ResponderCounts, ResponsePlan, SendPlan, SenderCounts, SenderClockRelation, SinkCounts, SinkPlan,
    StreamBatch,
};
use ethermeter_net::skewed_clock::between_ns;
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::{HostTime, SkewedClock, Timeline};
use ethermeter_trial::roles::{Draws, Responses};
use ethermeter_traffic::arrivals::{ArrivalTimes, Arrivals};
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Account, Purpose, SourceSpec, Stream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const S: u64 = 1_000_000_000;
const TRUE: SkewedClock = SkewedClock::of_epoch(0);

fn udp_pair() -> (UdpPort, UdpPort) {
    let options = UdpOptions::at("127.0.0.1:0".parse().expect("an address"));
    let sink = UdpPort::open(&options).expect("a port");
    let mut sender = UdpPort::open(&options).expect("a port");
    sender.aim(StationAddress::Socket(sink.local().expect("an address"))).expect("an IP address");
    (sender, sink)
}

fn source(arrivals: Arrivals) -> SourceSpec {
    let frames = Lengths::Mix { bits: vec![80 * 8, 512 * 8], weights: vec![1.0, 1.0] };
    SourceSpec {
        frames,
        arrivals,
        generator: None,
        queue_frames: None,
        service: Times::Constant { ps: 0 },
        shaping: None,
    }
}

fn plan(source: &SourceSpec, duration_ns: u64, most_frames: u64) -> SendPlan<'_> {
    SendPlan {
        experiment: 7,
        stream: 0,
        source,
        seed: 1,
        station: 3,
        begin_ns: HostTime.now_ns(),
        duration_ns,
        spread_ps: 0,
        most_frames,
        pacer: Pacer::default(),
    }
}

fn sink_plan(most_frames: u64) -> SinkPlan<'static> {
    SinkPlan {
        experiment: 7,
        begin_ns: 0,
        first_stream: 0,
        streams: 1,
        measured_ns: 0..u64::MAX,
        batches: 1,
        until_ns: HostTime.now_ns() + 10 * S,
        most_frames,
        memory: 1024,
        senders_clock: SenderClockRelation::Equal,
        attention: ReceiveMode::Sleeping,
    }
}

/// Send `frames` and take them at the other end.
fn flow<P: NetworkPort + Send>(
    (mut sender, mut receiver): (P, P),
    frames: u64,
    arriving: u64,
) -> (SenderCounts, SinkCounts) {
    let source = source(Arrivals::Saturated {});
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let sunk = scope.spawn(|| {
            sink(&mut receiver, &HostTime, TRUE, &sink_plan(arriving), &stop).expect("a sink")
        });
        let sent = send(&mut sender, &HostTime, TRUE, &plan(&source, 10 * S, frames), &stop)
            .expect("a sender");
        (sent, sunk.join().expect("a sink that ends"))
    })
}

/// The first stream's parts say together what it says.
fn check_parts(sunk: &SinkCounts) {
    let stream = &sunk.streams[0].measured;
    let parts = &stream.batches;
    let sum = |pick: fn(&StreamBatch) -> u64| parts.iter().map(pick).sum::<u64>();
    assert_eq!(
        (sum(|part| part.frames), sum(|part| part.payload_octets)),
        (stream.frames, stream.payload_octets)
    );
    assert_eq!(
        (sum(|part| part.delays), sum(|part| part.spacings)),
        (stream.delay.total, stream.frames.saturating_sub(1))
    );
    let over_ns = stream.last_ns.zip(stream.first_ns).map_or(0, |(last, first)| last - first);
    assert_eq!(parts.iter().map(|part| part.spacing_ns).sum::<i64>(), over_ns);
    let (low_ps, high_ps) =
        stream.delay.buckets.iter().fold((0, 0), |(low, high), &(from, to, count)| {
            (low + u128::from(from) * u128::from(count), high + u128::from(to) * u128::from(count))
        });
    let sum_ps = u128::from(sum(|part| part.delay_ns)) * 1000;
    assert!(low_ps <= sum_ps && sum_ps <= high_ps, "{low_ps} {sum_ps} {high_ps}");
}

fn everything_sent_is_received_once<P: NetworkPort + Send>(ports: (P, P)) {
    let carrier = ports.0.carrier();
    let (sent, sunk) = flow(ports, 1000, 1000);
    assert_eq!((sent.frames, sent.unsent), (1000, 0));
    let expected = Account { sent: 1000, received: 1000, ..Account::default() };
    assert_eq!(sunk.streams[0].sequence, expected);
    assert_eq!((sunk.unexpected, sunk.unmarked), (0, 0));
    let measured = &sunk.streams[0].measured;
    assert_eq!(measured.frames, 1000);
    assert_eq!(measured.payload_octets, sent.payload_octets);
    assert_eq!(measured.delay.total + measured.before_sent, 1000);
    check_parts(&sunk);
    // The lengths are the draws that a simulated station with the same number and seed makes.
    let mut chance = Stream::new(1, 3, Purpose::Length);
    let lengths = source(Arrivals::Saturated {}).frames;
    let payload = |bits: u64| carrier.payload_of(Octets(bits / 8)).expect("room").0;
    assert_eq!(
        sent.payload_octets,
        (0..1000).map(|_| payload(lengths.draw(&mut chance))).sum::<u64>()
    );
}

#[test]
fn in_memory_everything_sent_is_received_once() {
    everything_sent_is_received_once(connected(|_| FrameFate::Pass, 64));
}

#[test]
fn over_udp_everything_sent_is_received_once() {
    everything_sent_is_received_once(udp_pair());
}

#[test]
fn over_tcp_everything_sent_is_received_once() {
    everything_sent_is_received_once(TcpPort::pair_on_loopback().expect("a connection"));
}

#[test]
fn a_connection_that_is_closed_ends_the_sink_and_keeps_its_count() {
    let (mut sender, mut receiver) = TcpPort::pair_on_loopback().expect("a connection");
    let source = source(Arrivals::Saturated {});
    let stop = AtomicBool::new(false);
    let sent =
        send(&mut sender, &HostTime, TRUE, &plan(&source, 10 * S, 50), &stop).expect("a sender");
    drop(sender);
    let sunk = sink(&mut receiver, &HostTime, TRUE, &sink_plan(u64::MAX), &stop).expect("a sink");
    assert_eq!((sent.frames, sunk.streams[0].sequence.received), (50, 50));
}

fn flow_in_memory(rule: FateRule, arriving: u64) -> Account {
    let (sent, sunk) = flow(connected(rule, 100_000), 100, arriving);
    assert_eq!(sunk.streams[0].sequence.sent, sent.frames);
    sunk.streams[0].sequence
}

#[test]
fn what_a_network_does_to_frames_is_told_apart() {
    let lost = flow_in_memory(
        |index| if (40..43).contains(&index) { FrameFate::Drop } else { FrameFate::Pass },
        97,
    );
    assert_eq!((lost.missing, lost.gaps, lost.longest_gap, lost.reordered), (3, 1, 3, 0));
    let doubled =
        flow_in_memory(|index| if index == 40 { FrameFate::Twice } else { FrameFate::Pass }, 101);
    assert_eq!((doubled.missing, doubled.duplicate), (0, 1));
    let displaced =
        flow_in_memory(|index| if index == 40 { FrameFate::After(5) } else { FrameFate::Pass }, 100);
    assert_eq!((displaced.missing, displaced.reordered, displaced.farthest_reordered), (0, 1, 5));
}

#[test]
fn what_comes_counts_in_the_part_in_which_it_comes_and_outside_of_them_in_none() {
    // One frame each 200 µs for 200 ms, of which the middle half is measured in five parts of 20
    // ms.
    let source =
        source(Arrivals::Regular { period_ps: 200_000_000, phase_ps: None, jitter_ps: None });
    let (mut sender, mut receiver) = connected(|_| FrameFate::Pass, 100_000);
    let stop = AtomicBool::new(false);
    let plan = plan(&source, S / 5, u64::MAX);
    let measured_ns = plan.begin_ns + S / 20..plan.begin_ns + S * 3 / 20;
    let sink_plan = SinkPlan { measured_ns: measured_ns.clone(), batches: 5, ..sink_plan(1000) };
    let sunk = thread::scope(|scope| {
        let sunk = scope
            .spawn(|| sink(&mut receiver, &HostTime, TRUE, &sink_plan, &stop).expect("a sink"));
        assert_eq!(
            send(&mut sender, &HostTime, TRUE, &plan, &stop).expect("a sender").frames,
            1000
        );
        sunk.join().expect("a sink that ends")
    });
    let stream = &sunk.streams[0].measured;
    check_parts(&sunk);
    let parts = &stream.batches;
    assert_eq!(parts.len(), 5);
    // All frames arrived; how many within the window, and in which part, is up to the machine, but
    // for the first and the last of them.
    assert!(stream.frames < 1000 && sunk.streams[0].sequence.received == 1000);
    let part_of = |at_ns: i64| ((at_ns.cast_unsigned() - measured_ns.start) / (S / 50)) as usize;
    let filled: Vec<usize> = (0..5).filter(|&part| parts[part].frames > 0).collect();
    let ends = (stream.first_ns.map(part_of), stream.last_ns.map(part_of));
    assert_eq!((filled.first().copied(), filled.last().copied()), ends);
}

#[test]
fn a_full_port_costs_time_and_no_frames() {
    let (sent, sunk) = flow(connected(|_| FrameFate::Pass, 3), 500, 500);
    assert_eq!((sent.frames, sunk.streams[0].sequence.received), (500, 500));
}

#[test]
fn a_sender_whose_port_takes_nothing_falls_silent_when_told_to() {
    let (mut sender, _receiver): (MemoryPort, MemoryPort) = connected(|_| FrameFate::Pass, 0);
    let stop = AtomicBool::new(false);
    let source = source(Arrivals::Saturated {});
    thread::scope(|scope| {
        let sent = scope.spawn(|| {
            send(&mut sender, &HostTime, TRUE, &plan(&source, 3600 * S, u64::MAX), &stop)
        });
        stop.store(true, Ordering::Relaxed);
        let sent = sent.join().expect("a sender that ends").expect("a sender");
        assert_eq!((sent.frames, sent.first_ns), (0, None));
    });
}

#[test]
fn frames_go_out_at_the_times_at_which_a_simulated_station_offers_them() {
    let arrivals = Arrivals::Poisson { mean_ps: 1e8 };
    let source = source(arrivals.clone());
    let (mut sender, _receiver) = connected(|_| FrameFate::Pass, 100_000);
    let stop = AtomicBool::new(false);
    let sent = send(&mut sender, &HostTime, TRUE, &plan(&source, S / 20, u64::MAX), &stop)
        .expect("a sender");
    let mut times = ArrivalTimes::new(&arrivals, 0, Stream::new(1, 3, Purpose::Arrival));
    let mut offered = 0;
    while times.take_ps() < S / 20 * 1000 {
        offered += 1;
    }
    assert_eq!(sent.frames, offered);
    assert_eq!(sent.pacing.frames, offered);
}

#[test]
fn a_regular_source_with_a_phase_sends_as_many_frames_as_times_from_that_phase_on() {
    // Three periods of 10 ms and a nanosecond more: a fourth frame goes with phase 0 only, and of a
    // random phase hardly ever.
    for (phase_ps, frames, first_ns) in [(0, 4, 0), (2_000, 3, 2), (9_999_999_000, 3, 9_999_999)] {
        let source = source(Arrivals::Regular {
            period_ps: 10_000_000_000,
            phase_ps: Some(phase_ps),
            jitter_ps: None,
        });
        let (mut sender, _receiver) = connected(|_| FrameFate::Pass, 100_000);
        let plan = plan(&source, 3 * S / 100 + 1, u64::MAX);
        let sent =
            send(&mut sender, &HostTime, TRUE, &plan, &AtomicBool::new(false)).expect("a sender");
        assert_eq!(sent.frames, frames, "{phase_ps}");
        assert!(sent.first_ns.expect("a frame") >= first_ns, "{phase_ps}");
    }
}

#[test]
fn a_length_without_room_for_a_mark_is_refused_with_what_is_allowed() {
    let (mut sender, _receiver) = connected(|_| FrameFate::Pass, 1);
    let mut source = source(Arrivals::Saturated {});
    source.frames = Lengths::Fixed { bits: 63 * 8 };
    let refused = send(&mut sender, &HostTime, TRUE, &plan(&source, S, 1), &AtomicBool::new(false));
    let text = refused.expect_err("refused").to_string();
    assert!(text.contains("504") && text.contains("from 64 to 1518"), "{text}");
}

/// Ask `requests` questions of another station whose clock is `others`.
fn conversation<P: NetworkPort + Send>(
    (mut near, mut far): (P, P),
    requests: u64,
    others: SkewedClock,
) -> (RequesterCounts, ResponderCounts) {
    let stop = AtomicBool::new(false);
    let until_ns = HostTime.now_ns() + 10 * S;
    let plan = RequestPlan {
        experiment: 7,
        stream: 1,
        responders: &[],
        requests: RequestTraffic::Spaced { payload_octets: 46, interval_ns: 100_000 },
        begin_ns: 0,
        until_ns,
        batches: 1,
        most_requests: requests,
        timeout_ns: S, // longer than anybody waits for a processor
        exchanges: 10_000,
        attention: ReceiveMode::Sleeping,
    };
    let may_respond_to = |_| true;
    let echo_plan = ResponsePlan {
        experiment: 7,
        stream: None,
        may_respond_to: &may_respond_to,
        group: None,
        responses: &Responses::default(),
        draws: Draws::default(),
        until_ns,
        most_responses: u64::MAX,
        attention: ReceiveMode::Sleeping,
    };
    thread::scope(|scope| {
        let responded = scope
            .spawn(|| respond(&mut far, &HostTime, others, &echo_plan, &stop).expect("an echo"));
        let requested = request(&mut near, &HostTime, TRUE, &plan, &AtomicBool::new(false))
            .expect("an requester");
        stop.store(true, Ordering::Relaxed);
        (requested, responded.join().expect("an echo that ends"))
    })
}

fn every_request_is_answered<P: NetworkPort + Send>(ports: (P, P)) {
    let (requested, responded) = conversation(ports, 200, TRUE);
    assert_eq!(
        (requested.requests, requested.answered, requested.lost, requested.unexpected),
        (200, 200, 0, 0)
    );
    assert_eq!((responded.answered, responded.unexpected, responded.not_allowed), (200, 0, 0));
    assert_eq!(requested.round_trip.total, 200);
}

#[test]
fn in_memory_every_request_is_answered() {
    every_request_is_answered(connected(|_| FrameFate::Pass, 64));
}

#[test]
fn over_udp_every_request_is_answered() {
    every_request_is_answered(udp_pair());
}

#[test]
fn over_tcp_every_request_is_answered() {
    every_request_is_answered(TcpPort::pair_on_loopback().expect("a connection"));
}

#[test]
fn a_lost_request_is_given_up_and_the_next_is_asked() {
    let ports = connected(|index| if index == 3 { FrameFate::Drop } else { FrameFate::Pass }, 64);
    let (requested, _) = conversation(ports, 10, TRUE);
    // One frame is lost in each direction: the fourth request, and the fourth answer, which is to
    // the fifth.
    assert_eq!((requested.requests, requested.answered, requested.lost), (10, 8, 2));
}

#[test]
fn nobody_is_answered_who_may_not_be() {
    let (mut requester, mut responder) = connected(|_| FrameFate::Pass, 64);
    let mark = ethermeter_net::wire::Mark {
        kind: ethermeter_net::wire::MarkKind::Request,
        experiment: 7,
        stream: 0,
        sequence: 0,
        sent_ns: 0,
    };
    let write = |_: usize, room: &mut [u8]| {
        mark.emit(room);
        46
    };
    assert_eq!(requester.send(1, write).expect("room"), 1);
    let plan = ResponsePlan {
        experiment: 7,
        stream: None,
        may_respond_to: &|_| false,
        group: None,
        responses: &Responses::default(),
        draws: Draws::default(),
        until_ns: HostTime.now_ns() + S / 100,
        most_responses: u64::MAX,
        attention: ReceiveMode::Spinning,
    };
    let results =
        respond(&mut responder, &HostTime, TRUE, &plan, &AtomicBool::new(false)).expect("an echo");
    assert_eq!((results.answered, results.not_allowed), (0, 1));
    assert_eq!(
        requester
            .receive(ReceiveWait::No, |_| unreachable!("nothing was answered"))
            .expect("an open port"),
        0
    );
}

#[test]
fn another_stations_clock_is_found_over_udp_within_the_stated_uncertainty() {
    let begin_ns = HostTime.now_ns();
    let others =
        SkewedClock { epoch_ns: begin_ns, offset_ns: -876_543_210, drift_ns_per_s: 93_000 };
    let (requested, _) = conversation(udp_pair(), 500, others);
    let relation = Relation::fitted(&requested.exchanges).expect("enough exchanges");
    let end_ns = HostTime.now_ns();
    for at_ns in [begin_ns, end_ns] {
        let (own, other) = (TRUE.reading_at(at_ns), others.reading_at(at_ns));
        #[allow(clippy::cast_precision_loss)]
        let error_ns = relation.offset_ns(own) - between_ns(own, other) as f64;
        // Times are rounded to a nanosecond.
        assert!(error_ns.abs() <= relation.uncertainty_ns(own) + 2.0, "{error_ns}");
    }
    assert_eq!(relation.contradictions(), 0);
}

#[test]
fn carriers_of_ports_are_those_of_their_addresses() {
    let port = |local: &str| {
        UdpPort::open(&UdpOptions::at(local.parse().expect("an address"))).expect("a port")
    };
    assert_eq!(port("127.0.0.1:0").carrier(), Carrier::UdpOverIpv4);
    assert_eq!(port("[::1]:0").carrier(), Carrier::UdpOverIpv6);
}

/// Send what `arrivals` offer in 20 ms, beginning in `lead_ns`.
fn scheduled(arrivals: Arrivals, pacer: Pacer, lead_ns: u64) -> SenderCounts {
    let (mut sender, _receiver) = connected(|_| FrameFate::Pass, usize::MAX);
    let source = source(arrivals);
    let begin_ns = HostTime.now_ns() + lead_ns;
    let plan = SendPlan { begin_ns, pacer, ..plan(&source, S / 50, u64::MAX) };
    send(&mut sender, &HostTime, TRUE, &plan, &AtomicBool::new(false)).expect("a sender")
}

#[test]
fn a_regular_sender_that_must_be_on_time_tries_out_rests_and_keeps_its_times() {
    let regular = Arrivals::Regular { period_ps: 100_000_000, phase_ps: None, jitter_ps: None };
    let sent = scheduled(regular.clone(), Pacer::punctual(), S / 10);
    let trial = sent.trial.expect("there was time for a trial");
    assert!(trial.watched_ns > 0 && trial.stalled_ns >= 5000 * trial.stalls, "{trial:?}");
    assert_eq!((sent.frames, sent.pacing.frames), (200, 200));
    let phase_ps = ArrivalTimes::new(&regular, 0, Stream::new(1, 3, Purpose::Arrival)).peek_ps();
    assert!(sent.first_ns.expect("frames") >= phase_ps.div_ceil(1000));
    // Both kinds of rest were tried out.
    let rests = sent.rests.expect("of a stream");
    assert!(rests.slept.rests > 0 && rests.yielded.rests > 0, "{rests:?}");
}

#[test]
fn there_is_a_trial_only_for_a_sender_that_must_be_on_time_and_has_time_for_it() {
    let regular = || Arrivals::Regular { period_ps: 100_000_000, phase_ps: None, jitter_ps: None };
    let sent = scheduled(regular(), Pacer::default(), S / 10);
    assert!(sent.trial.is_none());
    let sent = scheduled(regular(), Pacer::punctual(), 0);
    assert!(sent.trial.is_none(), "there was no time for a trial");
}
