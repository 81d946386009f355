//! A test from its connection to its results.

use super::control::{COOKIE_OCTETS, ControlConnection, TestState};
use super::messages::{
    EndResults, StreamResult, TestDirection, TestParameters, TestProtocol, stream_number,
};
use super::streams::{HEADER, LINGER_NS, StreamEnd, StreamFlags, StreamProgress, TestStream};
use crate::Error;
use ethermeter_net::port::tcp_info::TcpInfo;
use ethermeter_net::time::{NS_PER_S, Timeline};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest time of a test.
const LONGEST_NS: u64 = 3600 * NS_PER_S;
/// Most parallel streams, as iperf3 has it.
const MOST_STREAMS: u64 = 128;
/// Most intervals that are kept.
const MOST_INTERVALS: u64 = 36_000;
/// How often a busy server is tried.
const TRIED_EVERY_NS: u64 = NS_PER_S / 10;
/// How long a server may be without a listener between two tests: it closes it and opens another.
const REOPENED_NS: u64 = NS_PER_S / 2;
/// How long queues on the way hold what is sent, at most: those of slow uplinks hold several
/// seconds.
const QUEUES_NS: u64 = 30 * NS_PER_S;
/// Letters of a cookie.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iperf3Test {
    /// The server.
    pub to: SocketAddr,
    /// Transport.
    pub protocol: TestProtocol,
    /// Direction of the data.
    pub direction: TestDirection,
    /// Parallel streams, 1 to 128.
    pub streams: u32,
    /// How long data flows.
    pub duration_ns: u64,
    /// Length of an interval in which octets are counted.
    pub interval_ns: u64,
    /// Octets of a datagram, or of what is written to a stream at once.
    pub octets: usize,
    /// Bits of payload per second of each stream; 0: as fast as possible.
    pub rate_bps: u64,
    /// Longest time that the server may take for an answer.
    #[serde(rename = "patience_ns")]
    pub timeout_ns: u64,
}

/// Octets and datagrams of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Iperf3Interval {
    /// Length of the interval.
    pub ns: u64,
    /// Octets of payload: of TCP from this host those that were acknowledged, of UDP from it those
    /// that were sent, to it those that arrived.
    pub octets: u64,
    /// Datagrams of it.
    pub datagrams: u64,
    /// Segments that TCP sent again.
    pub sent_again: u64,
}

/// Datagrams of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DatagramCounts {
    /// Datagrams that were sent.
    pub sent: u64,
    /// Of these, datagrams that the receiver knows of: to a server the highest numbers that it saw.
    pub seen: u64,
    /// Of these, datagrams that did not arrive.
    pub missing: u64,
    /// Arrivals after a higher number; `None` where the server counts.
    pub reordered: Option<u64>,
    /// Arrivals beyond the first of their number; `None` where the server counts.
    pub duplicates: Option<u64>,
    /// Jitter of arrivals (RFC 3550), mean over streams, in seconds.
    pub jitter_s: f64,
}

/// What was measured.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Iperf3Measurement {
    /// How long connections took to open: of the control connection, then of each stream.
    pub opened_in_ns: Vec<u64>,
    /// Time over which octets were counted, by the receiver.
    pub window_ns: u64,
    /// Octets of payload that the receiver got in it.
    pub octets: u64,
    /// Octets and time of each stream.
    pub streams: Vec<(u64, u64)>,
    /// Intervals of this host.
    pub intervals: Vec<Iperf3Interval>,
    /// Datagrams, of UDP.
    pub datagrams: Option<DatagramCounts>,
    /// TCP's statistics of this host by stream, at the end; of data from this host.
    pub tcp: Vec<TcpInfo>,
    /// Smoothed round trip times of the first stream, one each interval; in microseconds.
    pub round_trips_us: Vec<u32>,
    /// Segments sent again by the sender; `None` if it does not know.
    pub sent_again: Option<u64>,
    /// Largest processor time of a thread of this host over the time.
    pub own_processor: f64,
    /// Processor time of the server over the time, as it reports it.
    pub server_processor: f64,
    /// Congestion control of a sending server.
    pub congestion: Option<String>,
}

impl Iperf3Test {
    fn check(&self) -> Result<(), Error> {
        Error::unless_within("streams", self.streams.into(), 1, MOST_STREAMS)?;
        Error::unless_within("duration_ns", self.duration_ns, NS_PER_S / 10, LONGEST_NS)?;
        let least_ns = (self.duration_ns / MOST_INTERVALS).max(1_000_000);
        Error::unless_within("interval_ns", self.interval_ns, least_ns, LONGEST_NS)?;
        Error::unless_within("patience_ns", self.timeout_ns, 1_000_000, 60 * NS_PER_S)?;
        let (least, most) = match self.protocol {
            TestProtocol::Tcp => (1, 1 << 20),
            TestProtocol::Udp => (HEADER as u64, 65_507),
        };
        Error::unless_within("octets", self.octets as u64, least, most)?;
        if self.rate_bps != 0 {
            Error::unless_within("rate_bps", self.rate_bps, 1000, 1_000_000_000_000)?;
        }
        Ok(())
    }

    /// Perform the test.
    ///
    /// # Errors
    /// If a number is out of range, the server does not answer, refuses or breaks the protocol, the
    /// system refuses, or `stop` is set.
    pub fn perform(
        &self,
        time: &(impl Timeline + Sync),
        stop: &AtomicBool,
    ) -> Result<Iperf3Measurement, Error> {
        self.check()?;
        let cookie = cookie()?;
        let mut control = self.begun(&cookie, time, stop)?;
        let measured = self.performed(&mut control, &cookie, stop);
        if measured.is_err() {
            // The server need not wait for a client that has given up.
            let _ = control.enter(TestState::ClientTerminate);
        }
        measured
    }

    /// A connection to a server that waits for the parameters of a test. A server that takes a
    /// moment to end the test before is tried again.
    fn begun<'s, T: Timeline>(
        &self,
        cookie: &[u8; COOKIE_OCTETS],
        time: &'s T,
        stop: &'s AtomicBool,
    ) -> Result<ControlConnection<'s, T>, Error> {
        let begin_ns = time.now_ns();
        loop {
            let begun = ControlConnection::open(self.to, self.timeout_ns, time, stop).and_then(
                |mut control| {
                    control.send(cookie)?;
                    control.expect(TestState::ParameterExchange)?;
                    Ok(control)
                },
            );
            let timeout_ns = match begun {
                Err(Error::Busy) => self.timeout_ns,
                // A listener that is closed drops the clients that it had not accepted yet.
                Err(Error::Refused(_) | Error::Closed(_)) => REOPENED_NS.min(self.timeout_ns),
                _ => return begun,
            };
            let now_ns = time.now_ns();
            if now_ns > begin_ns + timeout_ns {
                return begun;
            }
            time.sleep_until(now_ns + TRIED_EVERY_NS);
        }
    }

    fn performed(
        &self,
        control: &mut ControlConnection<'_, impl Timeline + Sync>,
        cookie: &[u8; COOKIE_OCTETS],
        stop: &AtomicBool,
    ) -> Result<Iperf3Measurement, Error> {
        let time = control.time;
        let mut opened_in_ns = vec![control.opened_in_ns];
        control.send_json(&self.parameters().text())?;
        control.expect(TestState::CreateStreams)?;
        let mut streams = Vec::new();
        for _ in 0..self.streams {
            let (stream, took_ns) = match self.protocol {
                TestProtocol::Tcp => TestStream::tcp(self.to, cookie, self.timeout_ns, time)?,
                TestProtocol::Udp => {
                    TestStream::udp(self.to, self.octets, self.timeout_ns, time, stop)?
                }
            };
            opened_in_ns.push(took_ns);
            streams.push(stream);
        }
        control.expect(TestState::TestStart)?;
        control.expect(TestState::TestRunning)?;
        // What is sent from now on may wait in queues on the way, and all else behind it.
        control.timeout_ns = self.timeout_ns.max(self.duration_ns.saturating_add(QUEUES_NS));
        let shared: Vec<StreamProgress> =
            streams.iter().map(|_| StreamProgress::default()).collect();
        let accounts: Vec<TcpStream> =
            streams.iter().filter_map(TestStream::account).collect::<Result<_, _>>()?;
        let phases = StreamFlags::default();
        let begin_ns = time.now_ns();
        let (run, ended, results) = std::thread::scope(|scope| {
            let threads: Vec<_> = streams
                .iter_mut()
                .zip(&shared)
                .map(|(stream, shared)| {
                    let phases = &phases;
                    scope.spawn(move || match self.direction {
                        TestDirection::Up => {
                            stream.send(self.octets, self.rate_bps, begin_ns, time, shared, phases)
                        }
                        TestDirection::Down => stream.receive(self.octets, time, shared, phases),
                    })
                })
                .collect();
            let is_ended = || threads.iter().any(std::thread::ScopedJoinHandle::is_finished);
            let run = self.run(control, &accounts, &shared, begin_ns, is_ended, stop);
            phases.is_over.store(true, Ordering::Relaxed);
            // A thread's own error explains more than what follows from it.
            let results = run.and_then(|run| {
                let results = self.results(control, &run, &shared)?;
                if self.protocol == TestProtocol::Udp && self.direction == TestDirection::Down {
                    time.sleep_until(time.now_ns() + LINGER_NS);
                }
                Ok((run, results))
            });
            phases.is_closed.store(true, Ordering::Relaxed);
            let ended: Result<Vec<StreamEnd>, Error> = threads
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect();
            let ended = ended?;
            let (run, results) = results?;
            Ok::<_, Error>((run, ended, results))
        })?;
        control.enter(TestState::Done)?;
        self.measured(opened_in_ns, run, &ended, &shared, &results)
    }

    fn parameters(&self) -> TestParameters {
        TestParameters {
            protocol: self.protocol,
            direction: self.direction,
            streams: self.streams,
            seconds: self.duration_ns.div_ceil(NS_PER_S),
            octets: self.octets,
            rate_bps: self.rate_bps,
        }
    }

    /// Count octets of each interval until the time is over.
    fn run(
        &self,
        control: &mut ControlConnection<'_, impl Timeline>,
        accounts: &[TcpStream],
        shared: &[StreamProgress],
        begin_ns: u64,
        is_ended: impl Fn() -> bool,
        stop: &AtomicBool,
    ) -> Result<DataPhase, Error> {
        let time = control.time;
        let mut run = DataPhase::default();
        let (mut last_ns, mut last) = (begin_ns, Iperf3Interval::default());
        let end_ns = begin_ns + self.duration_ns;
        let mut due_ns = (begin_ns + self.interval_ns).min(end_ns);
        loop {
            let now_ns = time.now_ns();
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            if is_ended() {
                return Err(Error::Peer("a data connection ended during the test".into()));
            }
            if now_ns < due_ns {
                control.expect_silence()?;
                time.sleep_until(due_ns.min(now_ns + NS_PER_S / 50));
                continue;
            }
            run.tcp.clear();
            for stream in accounts {
                run.tcp.push(TcpInfo::of(stream)?);
            }
            let so_far = self.so_far(shared, &run.tcp);
            run.ended_ns = time.now_ns();
            run.intervals.push(Iperf3Interval {
                ns: run.ended_ns - last_ns,
                octets: so_far.octets - last.octets,
                datagrams: so_far.datagrams - last.datagrams,
                sent_again: so_far.sent_again - last.sent_again,
            });
            run.round_trips_us.extend(run.tcp.first().map(|info| info.round_trip_us));
            (last_ns, last) = (run.ended_ns, so_far);
            if now_ns >= end_ns {
                run.began_ns = begin_ns;
                run.octets =
                    shared.iter().map(|stream| stream.octets.load(Ordering::Relaxed)).collect();
                return Ok(run);
            }
            due_ns = (due_ns + self.interval_ns).min(end_ns);
        }
    }

    fn so_far(&self, shared: &[StreamProgress], tcp: &[TcpInfo]) -> Iperf3Interval {
        let is_acknowledged =
            self.protocol == TestProtocol::Tcp && self.direction == TestDirection::Up;
        let octets = if is_acknowledged {
            tcp.iter().map(|info| info.acknowledged_octets).sum()
        } else {
            shared.iter().map(|stream| stream.octets.load(Ordering::Relaxed)).sum()
        };
        Iperf3Interval {
            ns: 0,
            octets,
            datagrams: shared.iter().map(|stream| stream.datagrams.load(Ordering::Relaxed)).sum(),
            sent_again: tcp.iter().map(|info| u64::from(info.sent_again)).sum(),
        }
    }

    /// End the test, and exchange results.
    fn results(
        &self,
        control: &mut ControlConnection<'_, impl Timeline>,
        run: &DataPhase,
        shared: &[StreamProgress],
    ) -> Result<EndResults, Error> {
        control.enter(TestState::TestEnd)?;
        control.expect(TestState::ExchangeResults)?;
        let seconds = seconds(run.ended_ns - run.began_ns);
        #[allow(clippy::cast_precision_loss)] // below 2^53
        let streams = (0..self.streams)
            .zip(shared)
            .map(|(index, shared)| StreamResult {
                id: stream_number(index),
                bytes: shared.octets.load(Ordering::Relaxed) as f64,
                retransmits: run
                    .tcp
                    .get(index as usize)
                    .filter(|_| self.direction == TestDirection::Up)
                    .map_or(-1.0, |info| f64::from(info.sent_again)),
                packets: shared.datagrams.load(Ordering::Relaxed) as f64,
                end_time: seconds,
                ..StreamResult::default()
            })
            .collect();
        let is_tcp_up = self.protocol == TestProtocol::Tcp && self.direction == TestDirection::Up;
        let own = EndResults {
            sender_has_retransmits: if is_tcp_up { 1.0 } else { -1.0 },
            streams,
            ..EndResults::default()
        };
        control.send_json(&serde_json::to_string(&own)?)?;
        let results = EndResults::read(&control.json()?, self.streams)?;
        control.expect(TestState::DisplayResults)?;
        Ok(results)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // counts, checked when they were read
    fn measured(
        &self,
        opened_in_ns: Vec<u64>,
        run: DataPhase,
        ended: &[StreamEnd],
        shared: &[StreamProgress],
        results: &EndResults,
    ) -> Result<Iperf3Measurement, Error> {
        let own_ns = run.ended_ns - run.began_ns;
        let streams: Vec<(u64, u64)> = match self.direction {
            TestDirection::Down => run.octets.iter().map(|&octets| (octets, own_ns)).collect(),
            TestDirection::Up => results
                .streams
                .iter()
                .map(|stream| {
                    let ns = ((stream.end_time - stream.start_time) * 1e9) as u64;
                    (stream.bytes as u64, if ns == 0 { own_ns } else { ns })
                })
                .collect(),
        };
        let most_sent: u64 =
            shared.iter().map(|stream| stream.octets.load(Ordering::Relaxed)).sum();
        let octets: u64 = streams.iter().map(|&(octets, _)| octets).sum();
        if self.direction == TestDirection::Up && octets > most_sent {
            let text = format!("the server reports {octets} octets of {most_sent} that were sent");
            return Err(Error::Peer(text));
        }
        let sent_again = match (self.protocol, self.direction) {
            (TestProtocol::Udp, _) => None,
            (_, TestDirection::Up) => {
                Some(run.tcp.iter().map(|info| u64::from(info.sent_again)).sum())
            }
            (_, TestDirection::Down) => results.sent_again(),
        };
        let most_worked_ns = ended.iter().map(|stream| stream.worked_ns).max().unwrap_or(0);
        Ok(Iperf3Measurement {
            opened_in_ns,
            window_ns: streams.iter().map(|&(_, ns)| ns).max().unwrap_or(own_ns),
            octets,
            streams,
            intervals: run.intervals,
            datagrams: (self.protocol == TestProtocol::Udp)
                .then(|| self.datagrams(ended, shared, results)),
            tcp: if self.direction == TestDirection::Up { run.tcp } else { Vec::new() },
            round_trips_us: run.round_trips_us,
            sent_again,
            own_processor: most_worked_ns as f64 / own_ns as f64,
            server_processor: results.cpu_util_total / 100.0,
            congestion: results.congestion_used.clone(),
        })
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // counts, checked when they were read
    fn datagrams(
        &self,
        ended: &[StreamEnd],
        shared: &[StreamProgress],
        results: &EndResults,
    ) -> DatagramCounts {
        let count = results.streams.len() as f64;
        match self.direction {
            TestDirection::Up => DatagramCounts {
                sent: shared.iter().map(|stream| stream.datagrams.load(Ordering::Relaxed)).sum(),
                seen: results.streams.iter().map(|stream| stream.packets as u64).sum(),
                missing: results.streams.iter().map(|stream| stream.errors as u64).sum(),
                reordered: None,
                duplicates: None,
                jitter_s: results.streams.iter().map(|stream| stream.jitter).sum::<f64>() / count,
            },
            TestDirection::Down => {
                let mut counts = DatagramCounts {
                    reordered: Some(0),
                    duplicates: Some(0),
                    ..DatagramCounts::default()
                };
                for (end, stream) in ended.iter().zip(&results.streams) {
                    let Some((account, jitter_s)) = end.received(stream.packets as u64) else {
                        continue;
                    };
                    counts.sent += account.sent;
                    counts.seen += account.sent;
                    counts.missing += account.missing;
                    counts.reordered = counts.reordered.map(|count| count + account.reordered);
                    counts.duplicates = counts.duplicates.map(|count| count + account.duplicate);
                    counts.jitter_s += jitter_s / count;
                }
                counts
            }
        }
    }
}

/// What this host counted while data flowed.
#[derive(Debug, Default)]
struct DataPhase {
    began_ns: u64,
    ended_ns: u64,
    /// Octets of each stream at the end.
    octets: Vec<u64>,
    intervals: Vec<Iperf3Interval>,
    tcp: Vec<TcpInfo>,
    round_trips_us: Vec<u32>,
}

#[allow(clippy::cast_precision_loss)] // at most an hour
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A random cookie.
fn cookie() -> Result<[u8; COOKIE_OCTETS], Error> {
    let mut cookie = [0; COOKIE_OCTETS];
    let letters = &mut cookie[..COOKIE_OCTETS - 1];
    SystemRandom::new()
        .fill(letters)
        .map_err(|_| Error::Peer("the system gives no random numbers".into()))?;
    for letter in letters {
        *letter = LETTERS[usize::from(*letter) % LETTERS.len()];
    }
    Ok(cookie)
}
