//! A test from its connection to its results.

use super::control::{COOKIE_OCTETS, Control, State};
use super::messages::{Direction, Parameters, Protocol, Results, StreamResult, stream_number};
use super::streams::{Ended, HEADER, LINGER, Phases, Shared, Stream};
use crate::Error;
use ethermeter_live::port::tcp_info::TcpInfo;
use ethermeter_live::time::{HostTime, NS_PER_S, Timeline, sleep};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
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
/// How long queues on the way hold what is sent, at most: those of slow uplinks hold several seconds.
const QUEUES_NS: u64 = 30 * NS_PER_S;
/// Letters of a cookie.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The server.
    pub to: SocketAddr,
    /// Transport.
    pub protocol: Protocol,
    /// Direction of the data.
    pub direction: Direction,
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
    pub patience_ns: u64,
}

/// Octets and datagrams of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// Its length.
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
pub struct Datagrams {
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
pub struct Measured {
    /// How long connections took to open: of the control connection, then of each stream.
    pub opened_in_ns: Vec<u64>,
    /// Time over which octets were counted, by the receiver.
    pub window_ns: u64,
    /// Octets of payload that the receiver got in it.
    pub octets: u64,
    /// The same by stream: octets and time.
    pub streams: Vec<(u64, u64)>,
    /// Intervals of this host.
    pub intervals: Vec<Interval>,
    /// Datagrams, of UDP.
    pub datagrams: Option<Datagrams>,
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

impl Test {
    fn check(&self) -> Result<(), Error> {
        Error::unless_within("streams", self.streams.into(), 1, MOST_STREAMS)?;
        Error::unless_within("duration_ns", self.duration_ns, NS_PER_S / 10, LONGEST_NS)?;
        let least_ns = (self.duration_ns / MOST_INTERVALS).max(1_000_000);
        Error::unless_within("interval_ns", self.interval_ns, least_ns, LONGEST_NS)?;
        Error::unless_within("patience_ns", self.patience_ns, 1_000_000, 60 * NS_PER_S)?;
        let (least, most) = match self.protocol {
            Protocol::Tcp => (1, 1 << 20),
            Protocol::Udp => (HEADER as u64, 65_507),
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
    pub fn perform(&self, stop: &AtomicBool) -> Result<Measured, Error> {
        self.check()?;
        let begin_ns = HostTime.now_ns();
        loop {
            let measured = self.tried(stop);
            // A server takes a moment to end the test before.
            let patience_ns = match measured {
                Err(Error::Busy) => self.patience_ns,
                Err(Error::Refused(_)) => REOPENED_NS.min(self.patience_ns),
                _ => return measured,
            };
            if HostTime.now_ns() > begin_ns + patience_ns {
                return measured;
            }
            HostTime.sleep_until(HostTime.now_ns() + TRIED_EVERY_NS);
        }
    }

    fn tried(&self, stop: &AtomicBool) -> Result<Measured, Error> {
        let cookie = cookie()?;
        let mut control = Control::open(self.to, self.patience_ns, stop)?;
        let measured = self.performed(&mut control, &cookie, stop);
        if measured.is_err() {
            // The server need not wait for a client that has given up.
            let _ = control.enter(State::ClientTerminate);
        }
        measured
    }

    fn performed(
        &self,
        control: &mut Control<'_>,
        cookie: &[u8; COOKIE_OCTETS],
        stop: &AtomicBool,
    ) -> Result<Measured, Error> {
        let mut opened_in_ns = vec![control.opened_in_ns];
        control.send(cookie)?;
        control.expect(State::ParameterExchange)?;
        control.send_json(&self.parameters().text())?;
        control.expect(State::CreateStreams)?;
        let mut streams = Vec::new();
        for _ in 0..self.streams {
            let (stream, took_ns) = match self.protocol {
                Protocol::Tcp => Stream::tcp(self.to, cookie, self.patience_ns)?,
                Protocol::Udp => Stream::udp(self.to, self.patience_ns, stop)?,
            };
            opened_in_ns.push(took_ns);
            streams.push(stream);
        }
        control.expect(State::TestStart)?;
        control.expect(State::TestRunning)?;
        // What is sent from now on may wait in queues on the way, and all else behind it.
        control.patience_ns = self.patience_ns.max(self.duration_ns.saturating_add(QUEUES_NS));
        let shared: Vec<Shared> = streams.iter().map(|_| Shared::default()).collect();
        let phases = Phases::default();
        let begin_ns = HostTime.now_ns();
        let (run, ended, results) = std::thread::scope(|scope| {
            let threads: Vec<_> = streams
                .iter()
                .zip(&shared)
                .map(|(stream, shared)| {
                    let phases = &phases;
                    scope.spawn(move || match self.direction {
                        Direction::Up => {
                            stream.send(self.octets, self.rate_bps, begin_ns, shared, phases)
                        }
                        Direction::Down => stream.receive(self.octets, shared, phases),
                    })
                })
                .collect();
            let is_ended = || threads.iter().any(std::thread::ScopedJoinHandle::is_finished);
            let run = self.run(control, &streams, &shared, begin_ns, is_ended, stop);
            phases.is_over.store(true, Ordering::Relaxed);
            // A thread's own error explains more than what follows from it.
            let results = run.and_then(|run| {
                let results = self.results(control, &run, &shared)?;
                if self.protocol == Protocol::Udp && self.direction == Direction::Down {
                    sleep(LINGER);
                }
                Ok((run, results))
            });
            phases.is_closed.store(true, Ordering::Relaxed);
            let ended: Result<Vec<Ended>, Error> = threads
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect();
            let ended = ended?;
            let (run, results) = results?;
            Ok::<_, Error>((run, ended, results))
        })?;
        control.enter(State::Done)?;
        self.measured(opened_in_ns, run, &ended, &shared, &results)
    }

    fn parameters(&self) -> Parameters {
        Parameters {
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
        control: &mut Control<'_>,
        streams: &[Stream],
        shared: &[Shared],
        begin_ns: u64,
        is_ended: impl Fn() -> bool,
        stop: &AtomicBool,
    ) -> Result<Run, Error> {
        let mut run = Run::default();
        let (mut last_ns, mut last) = (begin_ns, Interval::default());
        let end_ns = begin_ns + self.duration_ns;
        let mut due_ns = (begin_ns + self.interval_ns).min(end_ns);
        loop {
            let now_ns = HostTime.now_ns();
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            if is_ended() {
                return Err(Error::Peer("a data connection ended during the test".into()));
            }
            if now_ns < due_ns {
                control.expect_silence()?;
                HostTime.sleep_until(due_ns.min(now_ns + NS_PER_S / 50));
                continue;
            }
            run.tcp.clear();
            for stream in streams {
                run.tcp.extend(stream.info()?);
            }
            let so_far = self.so_far(shared, &run.tcp);
            run.ended_ns = HostTime.now_ns();
            run.intervals.push(Interval {
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
                    shared.iter().map(|each| each.octets.load(Ordering::Relaxed)).collect();
                return Ok(run);
            }
            due_ns = (due_ns + self.interval_ns).min(end_ns);
        }
    }

    fn so_far(&self, shared: &[Shared], tcp: &[TcpInfo]) -> Interval {
        let is_acknowledged = self.protocol == Protocol::Tcp && self.direction == Direction::Up;
        let octets = if is_acknowledged {
            tcp.iter().map(|info| info.acknowledged_octets).sum()
        } else {
            shared.iter().map(|each| each.octets.load(Ordering::Relaxed)).sum()
        };
        Interval {
            ns: 0,
            octets,
            datagrams: shared.iter().map(|each| each.datagrams.load(Ordering::Relaxed)).sum(),
            sent_again: tcp.iter().map(|info| u64::from(info.sent_again)).sum(),
        }
    }

    /// End the test, and exchange results.
    fn results(
        &self,
        control: &mut Control<'_>,
        run: &Run,
        shared: &[Shared],
    ) -> Result<Results, Error> {
        control.enter(State::TestEnd)?;
        control.expect(State::ExchangeResults)?;
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
                    .filter(|_| self.direction == Direction::Up)
                    .map_or(-1.0, |info| f64::from(info.sent_again)),
                packets: shared.datagrams.load(Ordering::Relaxed) as f64,
                end_time: seconds,
                ..StreamResult::default()
            })
            .collect();
        let is_tcp_up = self.protocol == Protocol::Tcp && self.direction == Direction::Up;
        let own = Results {
            sender_has_retransmits: if is_tcp_up { 1.0 } else { -1.0 },
            streams,
            ..Results::default()
        };
        control.send_json(&serde_json::to_string(&own)?)?;
        let results = Results::read(&control.json()?, self.streams)?;
        control.expect(State::DisplayResults)?;
        Ok(results)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // counts, checked when they were read
    fn measured(
        &self,
        opened_in_ns: Vec<u64>,
        run: Run,
        ended: &[Ended],
        shared: &[Shared],
        results: &Results,
    ) -> Result<Measured, Error> {
        let own_ns = run.ended_ns - run.began_ns;
        let streams: Vec<(u64, u64)> = match self.direction {
            Direction::Down => run.octets.iter().map(|&octets| (octets, own_ns)).collect(),
            Direction::Up => results
                .streams
                .iter()
                .map(|stream| {
                    let ns = ((stream.end_time - stream.start_time) * 1e9) as u64;
                    (stream.bytes as u64, if ns == 0 { own_ns } else { ns })
                })
                .collect(),
        };
        let most_sent: u64 = shared.iter().map(|each| each.octets.load(Ordering::Relaxed)).sum();
        let octets: u64 = streams.iter().map(|&(octets, _)| octets).sum();
        if self.direction == Direction::Up && octets > most_sent {
            let text = format!("the server reports {octets} octets of {most_sent} that were sent");
            return Err(Error::Peer(text));
        }
        let sent_again = match (self.protocol, self.direction) {
            (Protocol::Udp, _) => None,
            (_, Direction::Up) => Some(run.tcp.iter().map(|info| u64::from(info.sent_again)).sum()),
            (_, Direction::Down) => results.sent_again(),
        };
        let most_worked_ns = ended.iter().map(|each| each.worked_ns).max().unwrap_or(0);
        Ok(Measured {
            opened_in_ns,
            window_ns: streams.iter().map(|&(_, ns)| ns).max().unwrap_or(own_ns),
            octets,
            streams,
            intervals: run.intervals,
            datagrams: (self.protocol == Protocol::Udp)
                .then(|| self.datagrams(ended, shared, results)),
            tcp: if self.direction == Direction::Up { run.tcp } else { Vec::new() },
            round_trips_us: run.round_trips_us,
            sent_again,
            own_processor: most_worked_ns as f64 / own_ns as f64,
            server_processor: results.cpu_util_total / 100.0,
            congestion: results.congestion_used.clone(),
        })
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // counts, checked when they were read
    fn datagrams(&self, ended: &[Ended], shared: &[Shared], results: &Results) -> Datagrams {
        let count = results.streams.len() as f64;
        match self.direction {
            Direction::Up => Datagrams {
                sent: shared.iter().map(|each| each.datagrams.load(Ordering::Relaxed)).sum(),
                seen: results.streams.iter().map(|stream| stream.packets as u64).sum(),
                missing: results.streams.iter().map(|stream| stream.errors as u64).sum(),
                reordered: None,
                duplicates: None,
                jitter_s: results.streams.iter().map(|stream| stream.jitter).sum::<f64>() / count,
            },
            Direction::Down => {
                let mut found =
                    Datagrams { reordered: Some(0), duplicates: Some(0), ..Datagrams::default() };
                for (each, stream) in ended.iter().zip(&results.streams) {
                    let Some((account, jitter_s)) = each.received(stream.packets as u64) else {
                        continue;
                    };
                    found.sent += account.sent;
                    found.seen += account.sent;
                    found.missing += account.missing;
                    found.reordered = found.reordered.map(|count| count + account.reordered);
                    found.duplicates = found.duplicates.map(|count| count + account.duplicate);
                    found.jitter_s += jitter_s / count;
                }
                found
            }
        }
    }
}

/// What this host counted while data flowed.
#[derive(Debug, Default)]
struct Run {
    began_ns: u64,
    ended_ns: u64,
    /// Octets of each stream at the end.
    octets: Vec<u64>,
    intervals: Vec<Interval>,
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
