//! Requests and answers whose lengths and times are drawn: against the draws of a simulated
//! station, and against what one exchange at a time allows.

use ethermeter_ethernet::{Carrier, Octets};
use ethermeter_net::clock::Exchange;
use ethermeter_net::port::memory::{connected, FrameFate};
use ethermeter_net::port::tcp::TcpPort;
use ethermeter_net::port::udp::{UdpOptions, UdpPort};
use ethermeter_net::port::{StationAddress, ReceivedPayload, NetworkPort, PortCounters, ReceiveWait};
use ethermeter_net::roles::{
    request, respond, ReceiveMode, RequestPlan, RequesterCounts, RequestTraffic, ResponderCounts,
    ResponsePlan,
};
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::{Error, HostTime, SkewedClock, Timeline};
use ethermeter_trial::roles::{Draws, Responses};
use ethermeter_traffic::arrivals::{ArrivalTimes, Arrivals};
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Purpose, SourceSpec, Stream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const MS: u64 = 1_000_000;
const PS_PER_NS: u64 = 1000;
const TRUE: SkewedClock = SkewedClock::of_epoch(0);
const SEED: u64 = 11;
/// Numbers of the asking station and of the answering one.
const ASKER: u32 = 0;
const ANSWERER: u32 = 1;

/// A port that notes how long what goes out is.
struct Noting<P> {
    port: P,
    octets: Vec<u64>,
}

impl<P: NetworkPort> NetworkPort for Noting<P> {
    fn carrier(&self) -> Carrier {
        self.port.carrier()
    }

    fn longest_payload(&self) -> usize {
        self.port.longest_payload()
    }

    fn batch(&self) -> usize {
        self.port.batch()
    }

    fn aim(&mut self, at: StationAddress) -> Result<(), Error> {
        self.port.aim(at)
    }

    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        let octets = &mut self.octets;
        self.port.send(count, |index, room| {
            let length = fill(index, room);
            octets.push(length as u64);
            length
        })
    }

    fn receive<F: FnMut(&ReceivedPayload<'_>)>(&mut self, wait: ReceiveWait, take: F) -> Result<usize, Error> {
        self.port.receive(wait, take)
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.port.counters()
    }
}

fn udp_pair() -> (UdpPort, UdpPort) {
    let options =
        UdpOptions { stamps: true, ..UdpOptions::at("127.0.0.1:0".parse().expect("an address")) };
    let far = UdpPort::open(&options).expect("a port");
    let mut near = UdpPort::open(&options).expect("a port");
    near.aim(StationAddress::Socket(far.local().expect("an address"))).expect("an IP address");
    (near, far)
}

fn mixed(octets: [u64; 2]) -> Lengths {
    Lengths::Mix { bits: octets.map(|octets| octets * 8).to_vec(), weights: vec![1.0, 2.0] }
}

fn source(arrivals: Arrivals, frames: Lengths) -> SourceSpec {
    SourceSpec {
        frames,
        arrivals,
        generator: None,
        queue_frames: None,
        service: Times::Constant { ps: 0 },
        shaping: None,
    }
}

const ANSWERS: Draws = Draws { seed: SEED, station: ANSWERER };

fn answers(frames: Option<Lengths>, think: Times) -> Responses {
    Responses { frames, think }
}

/// What became of it, and the lengths of what the requester and the responder have sent.
struct Talk {
    requested: RequesterCounts,
    responded: ResponderCounts,
    requests: Vec<u64>,
    answers: Vec<u64>,
}

fn talk<P: NetworkPort + Send>(
    ports: (P, P),
    source: &SourceSpec,
    answers: &Responses,
    duration_ns: u64,
) -> Talk {
    let (mut near, mut far) =
        (Noting { port: ports.0, octets: vec![] }, Noting { port: ports.1, octets: vec![] });
    let stop = AtomicBool::new(false);
    let begin_ns = HostTime.now_ns() + MS;
    let plan = RequestPlan {
        experiment: 7,
        stream: 1,
        responders: &[],
        requests: RequestTraffic::Offered { source, seed: SEED, station: ASKER },
        begin_ns,
        until_ns: begin_ns + duration_ns,
        batches: 7,
        most_requests: u64::MAX,
        timeout_ns: 10_000 * MS, // longer than anybody waits for a processor
        exchanges: 10_000,
        attention: ReceiveMode::Sleeping,
    };
    let echo_plan = ResponsePlan {
        experiment: 7,
        stream: Some(1),
        may_respond_to: &|_| true,
        group: None,
        responses: answers,
        draws: ANSWERS,
        until_ns: u64::MAX,
        most_responses: u64::MAX,
        attention: ReceiveMode::Sleeping,
    };
    let (requested, responded) = thread::scope(|scope| {
        let responded =
            scope.spawn(|| respond(&mut far, &HostTime, TRUE, &echo_plan, &stop).expect("an echo"));
        let requested = request(&mut near, &HostTime, TRUE, &plan, &AtomicBool::new(false))
            .expect("an requester");
        stop.store(true, Ordering::Relaxed);
        (requested, responded.join().expect("an echo that ends"))
    });
    Talk { requested, responded, requests: near.octets, answers: far.octets }
}

/// The first lengths of payloads that a simulated station draws.
fn drawn(lengths: &Lengths, station: u32, carrier: Carrier, count: usize) -> Vec<u64> {
    let mut chance = Stream::new(SEED, station, Purpose::Length);
    let payload = |bits: u64| carrier.payload_of(Octets(bits / 8)).expect("room").0;
    (0..count).map(|_| payload(lengths.draw(&mut chance))).collect()
}

fn lengths_both_ways_are_those_of_a_simulation<P: NetworkPort + Send>(ports: (P, P)) {
    let carrier = ports.0.carrier();
    let (requests, responses) = (mixed([100, 700]), mixed([100, 1400]));
    let talk = talk(
        ports,
        &source(Arrivals::Poisson { mean_ps: 1e9 }, requests.clone()),
        &answers(Some(responses.clone()), Times::Constant { ps: 0 }),
        200 * MS,
    );
    let count = talk.requests.len();
    assert!(count > 1, "lengths are mixed");
    assert_eq!(talk.requests, drawn(&requests, ASKER, carrier, count));
    assert_eq!(talk.answers, drawn(&responses, ANSWERER, carrier, count));
    assert_eq!(
        (talk.requested.requests, talk.requested.answered, talk.requested.lost),
        (count as u64, count as u64, 0)
    );
    assert_eq!((talk.responded.answered, talk.responded.unanswered), (count as u64, 0));
    // In seven parts of the transmission, by when they were sent.
    let batches = &talk.requested.batches;
    assert_eq!(batches.len(), 7);
    assert_eq!(batches.iter().map(|part| part.requests).sum::<u64>(), talk.requested.requests);
    assert_eq!(batches.iter().map(|part| part.complete).sum::<u64>(), talk.requested.complete);
    assert!(batches.iter().all(|part| part.complete == part.requests
        && (part.complete == 0) == (part.since_arrival_ps == 0)));
    let (low_ps, high_ps) = talk.requested.since_arrival.buckets.iter().fold(
        (0, 0),
        |(low, high), &(from, to, count)| {
            (low + u128::from(from) * u128::from(count), high + u128::from(to) * u128::from(count))
        },
    );
    let sum_ps = batches.iter().map(|part| u128::from(part.since_arrival_ps)).sum::<u128>();
    assert!(low_ps <= sum_ps && sum_ps <= high_ps, "{low_ps} {sum_ps} {high_ps}");
    // As many as a simulated source offers in this time: requests that arrived and were not sent
    // are reported.
    let mut times = ArrivalTimes::new(
        &Arrivals::Poisson { mean_ps: 1e9 },
        0,
        Stream::new(SEED, ASKER, Purpose::Arrival),
    );
    let mut offered = 0;
    while times.take_ps() < 200 * MS * PS_PER_NS {
        offered += 1;
    }
    assert_eq!(talk.requested.requests + talk.requested.queued, offered);
}

#[test]
fn in_memory_lengths_both_ways_are_those_of_a_simulation() {
    lengths_both_ways_are_those_of_a_simulation(connected(|_| FrameFate::Pass, 64));
}

#[test]
fn over_udp_lengths_both_ways_are_those_of_a_simulation() {
    lengths_both_ways_are_those_of_a_simulation(udp_pair());
}

#[test]
fn over_tcp_lengths_both_ways_are_those_of_a_simulation() {
    lengths_both_ways_are_those_of_a_simulation(TcpPort::pair_on_loopback().expect("a connection"));
}

fn thought_ns(exchange: &Exchange) -> u64 {
    exchange.answered_ns - exchange.received_ns
}

#[test]
fn an_answerer_thinks_as_long_as_a_simulated_one_and_stamps_when_it_answered() {
    let think = Times::Uniform { low_ps: 500 * MS, high_ps: 3000 * MS }; // 0.5 to 3 ms
    let talk = talk(
        udp_pair(),
        &source(Arrivals::Saturated {}, Lengths::Fixed { bits: 100 * 8 }),
        &answers(None, think.clone()),
        300 * MS,
    );
    let exchanges = &talk.requested.exchanges;
    assert!(!exchanges.is_empty());
    assert_eq!(talk.responded.pacing.frames, talk.responded.answered);
    let mut chance = Stream::new(SEED, ANSWERER, Purpose::Service);
    for exchange in exchanges {
        // Never before its time, whatever was drawn for another; requests come one after the other,
        // so none waits for another's answer.
        assert!(thought_ns(exchange) >= think.draw(&mut chance).div_ceil(PS_PER_NS));
        // Whole round trips have the thinking in them.
        assert!(exchange.returned_ns - exchange.requested_ns >= thought_ns(exchange));
    }
}

#[test]
fn requests_that_come_faster_than_they_are_answered_wait_for_each_other() {
    // One each millisecond, of which each takes two: the k-th, from 0, has come k ms after the
    // first and is answered 2 (k + 1) ms after it at the soonest.
    let talk = talk(
        udp_pair(),
        &source(
            Arrivals::Regular { period_ps: 1000 * MS, phase_ps: None, jitter_ps: None },
            Lengths::Fixed { bits: 100 * 8 },
        ),
        &answers(None, Times::Constant { ps: 2000 * MS }),
        200 * MS,
    );
    let requests = talk.requested.requests;
    assert!((1..=100).contains(&requests), "{requests}");
    assert!(
        (199..=201).contains(&(requests + talk.requested.queued)),
        "{} not requested",
        talk.requested.queued
    );
    let longest_ps = talk.requested.since_arrival.quantiles_ps["1"].expect("answers");
    assert!(longest_ps >= (requests + 1) * 1000 * MS, "{longest_ps} ps after {requests}");
    assert_eq!(talk.requested.since_arrival.total, requests);
    let middle_ps = talk.requested.round_trip.quantiles_ps["0.5"].expect("answers");
    assert!(middle_ps >= 2000 * MS, "{middle_ps}");
    // A round trip begins after the one before it.
    let is_alone = |pair: &[Exchange]| pair[0].returned_ns <= pair[1].requested_ns;
    assert!(talk.requested.exchanges.windows(2).all(is_alone));
}

#[test]
fn an_answerer_that_is_told_to_end_does_not_think_on() {
    let (mut near, mut far) = udp_pair();
    let answers = answers(None, Times::Constant { ps: 3_600_000_000 * MS }); // an hour
    let stop = AtomicBool::new(false);
    let plan = ResponsePlan {
        experiment: 7,
        stream: None,
        may_respond_to: &|_| true,
        group: None,
        responses: &answers,
        draws: ANSWERS,
        until_ns: u64::MAX,
        most_responses: u64::MAX,
        attention: ReceiveMode::Sleeping,
    };
    let mark = ethermeter_net::wire::Mark {
        kind: ethermeter_net::wire::MarkKind::Request,
        experiment: 7,
        stream: 0,
        sequence: 0,
        sent_ns: 0,
    };
    let write = |_: usize, room: &mut [u8]| {
        mark.emit(room);
        18
    };
    assert_eq!(near.send(1, write).expect("room"), 1);
    thread::scope(|scope| {
        let responded =
            scope.spawn(|| respond(&mut far, &HostTime, TRUE, &plan, &stop).expect("an echo"));
        HostTime.sleep_until(HostTime.now_ns() + 100 * MS);
        stop.store(true, Ordering::Relaxed);
        let responded = responded.join().expect("an echo that ends");
        assert_eq!((responded.answered, responded.unanswered), (0, 1));
    });
}

#[test]
fn answers_without_room_for_a_mark_are_refused_with_what_is_allowed() {
    let (_near, mut far) = udp_pair();
    let answers = answers(Some(Lengths::Fixed { bits: 63 * 8 }), Times::Constant { ps: 0 });
    let plan = ResponsePlan {
        experiment: 7,
        stream: None,
        may_respond_to: &|_| true,
        group: None,
        responses: &answers,
        draws: ANSWERS,
        until_ns: u64::MAX,
        most_responses: u64::MAX,
        attention: ReceiveMode::Sleeping,
    };
    let refused = respond(&mut far, &HostTime, TRUE, &plan, &AtomicBool::new(false))
        .expect_err("refused")
        .to_string();
    assert!(refused.contains("504") && refused.contains("from 64"), "{refused}");
}
