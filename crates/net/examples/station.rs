//! One station of a measurement, on the command line: for tests and benchmarks on network
//! namespaces.
//!
//! ```text
//! station ROLE port=udp|packet|blocks|xdp [key=value …]
//!   send   stream=N seed=N frame=OCTETS arrivals=saturated|regular:US|poisson:US seconds=S frames=N fifo=1
//!   sink   streams=N seconds=S frames=N linger=MS spin=1|collect=1
//!   respond seconds=S frames=N linger=MS spin=1
//!   request frame=OCTETS seconds=S frames=N interval=US timeout=MS spin=1
//!   udp:     local=ADDRESS peer=ADDRESS group=ADDRESS interface=NAME stamps=1
//!   packet, blocks: interface=NAME mac=ADDRESS past-queue=1
//!   xdp:     interface=NAME source=ADDRESS mac=ADDRESS
//! ```
//!
//! Says `ready` on standard error when its port is open, and what became of it as one line of JSON.
//! With `linger`, a sink or a responder ends so long after its standard input.

use ethermeter_ethernet::Octets;
use ethermeter_net::pacing::{Pacer, PriorityGuard};
use ethermeter_net::port::packet::{PacketOptions, PacketPort, RingKind};
use ethermeter_net::port::udp::{UdpOptions, UdpPort};
use ethermeter_net::port::xdp::{XdpOptions, XdpPort};
use ethermeter_net::port::{NetworkPort, StationAddress};
use ethermeter_net::roles::{
    ReceiveMode, RequestPlan, RequestTraffic, ResponsePlan, SendPlan, SenderClockRelation,
    SinkPlan, request, respond, send, sink,
};
use ethermeter_net::wire::MacAddress;
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::{HostTime, SkewedClock, Timeline};
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use ethermeter_traffic::{Account, Distribution, SourceSpec};
use ethermeter_trial::roles::{Draws, Responses};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const EXPERIMENT: u16 = 1988;
const NS_PER_S: f64 = 1e9;

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Words(BTreeMap<String, String>);

impl Words {
    fn read(words: impl Iterator<Item = String>) -> Outcome<Self> {
        let pair = |word: String| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("{word}: must be key=value")),
        };
        Ok(Self(words.map(pair).collect::<Result<_, _>>()?))
    }

    fn value<T: FromStr>(&self, key: &str) -> Outcome<Option<T>>
    where
        T::Err: Error + 'static,
    {
        let parsed = self
            .0
            .get(key)
            .map(|text| text.parse().map_err(|error| format!("{key}={text}: {error}")));
        Ok(parsed.transpose()?)
    }

    fn or<T: FromStr>(&self, key: &str, otherwise: T) -> Outcome<T>
    where
        T::Err: Error + 'static,
    {
        Ok(self.value(key)?.unwrap_or(otherwise))
    }

    fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|value| value == "1")
    }

    fn ns(&self, key: &str, otherwise_s: f64) -> Outcome<u64> {
        let seconds: f64 = self.or(key, otherwise_s)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
        Ok((seconds * NS_PER_S) as u64)
    }

    fn attention(&self) -> ReceiveMode {
        if self.has("spin") {
            ReceiveMode::Spinning
        } else if self.has("collect") {
            ReceiveMode::Collecting
        } else {
            ReceiveMode::Sleeping
        }
    }
}

fn main() {
    if let Err(error) = run() {
        eprintln!("station: {error}");
        std::process::exit(2);
    }
}

fn run() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let role = arguments.next().ok_or("the role is missing: send, sink, respond or request")?;
    let words = Words::read(arguments)?;
    let interface = || words.0.get("interface").cloned();
    let result = match words.0.get("port").map_or("udp", String::as_str) {
        "udp" => {
            let options = UdpOptions {
                interface: interface(),
                peer: words.value("peer")?,
                group: words.value("group")?,
                broadcast: words.has("broadcast"),
                stamps: words.has("stamps"),
                longest_payload: words.or("longest", 1472)?,
                batch: words.or("batch", 64)?,
                room_octets: words.or("room", 4 << 20)?,
                ..UdpOptions::at(words.or("local", "0.0.0.0:0".parse()?)?)
            };
            let mut port = UdpPort::open(&options)?;
            if let Some(to) = words.value("to")? {
                port.aim(StationAddress::Socket(to))?;
            }
            play(&role, &mut port, &words)?
        }
        kind @ ("packet" | "blocks") => {
            let options = PacketOptions {
                past_queue: words.has("past-queue"),
                ring: if kind == "packet" { RingKind::Frames } else { RingKind::Blocks },
                batch: words.or("batch", 64)?,
                room_octets: words.or("room", 4 << 20)?,
                ..PacketOptions::on(
                    &interface().ok_or("interface is missing")?,
                    words.or("mac", MacAddress::BROADCAST)?,
                )
            };
            play(&role, &mut PacketPort::open(&options)?, &words)?
        }
        "xdp" => {
            let options = XdpOptions {
                receives: role != "send",
                batch: words.or("batch", 64)?,
                ..XdpOptions::on(
                    &interface().ok_or("interface is missing")?,
                    words.value("source")?.ok_or("source is missing")?,
                    words.or("mac", MacAddress::BROADCAST)?,
                )
            };
            let mut port = XdpPort::open(&options, &HostTime)?;
            let mode = json!(port.mode());
            let mut result = play(&role, &mut port, &words)?;
            result["mode"] = mode;
            result
        }
        other => return Err(format!("port={other}: must be udp, packet, blocks or xdp").into()),
    };
    println!("{result}");
    Ok(())
}

fn play<P: NetworkPort>(role: &str, port: &mut P, words: &Words) -> Outcome<Value> {
    eprintln!("ready");
    let begin_ns = HostTime.now_ns();
    let until_ns = begin_ns + words.ns("seconds", 1.0)?;
    let mut result = match role {
        "send" => play_send(port, words, begin_ns, until_ns)?,
        "sink" => play_sink(port, words, until_ns)?,
        "respond" => play_responder(port, words, until_ns)?,
        "request" => play_requester(port, words, begin_ns, until_ns)?,
        other => {
            return Err(format!("{other}: no role; must be send, sink, respond or request").into());
        }
    };
    result["port"] = json!(port.counters()?);
    Ok(result)
}

fn play_send<P: NetworkPort>(
    port: &mut P,
    words: &Words,
    begin_ns: u64,
    until_ns: u64,
) -> Outcome<Value> {
    let frame: u64 = words.or("frame", 64)?;
    let source = SourceSpec {
        frames: Lengths::Fixed { bits: Octets(frame).bits().0 },
        arrivals: arrivals(words)?,
        generator: None,
        queue_frames: None,
        service: Times::Constant { ps: 0 },
        shaping: None,
    };
    let plan = SendPlan {
        experiment: EXPERIMENT,
        stream: words.or("stream", 0)?,
        source: &source,
        seed: words.or("seed", 1)?,
        station: 0,
        begin_ns,
        duration_ns: until_ns - begin_ns,
        spread_ps: 0,
        most_frames: words.or("frames", u64::MAX)?,
        pacer: Pacer::default(),
    };
    let guard = if words.has("fifo") {
        PriorityGuard::fifo_where_allowed()
    } else {
        PriorityGuard::ordinary()
    };
    let pacer = pacer(words)?;
    // Time for a trial, and to get there.
    let begin_ns =
        if pacer.trial_ns > 0 { HostTime.now_ns() + pacer.trial_ns + 5_000_000 } else { begin_ns };
    let plan = SendPlan { begin_ns, pacer, ..plan };
    let sent = send(port, &HostTime, SkewedClock::of_epoch(0), &plan, &AtomicBool::new(false))?;
    Ok(json!({
        "frames": sent.frames,
        "payload_octets": sent.payload_octets,
        "unsent": sent.unsent,
        "over_ns": sent.last_ns.zip(sent.first_ns).map(|(last, first)| last - first),
        "share_on_time": sent.pacing.share_on_time,
        "worst_ns": sent.pacing.worst_ns,
        "lateness_ns": quantiles_ns(&sent.pacing.lateness),
        "forced_sleeps": sent.pacing.forced_sleeps,
        "rests": sent.rests,
        "trial": sent.trial,
        "priority": format!("{:?}", guard.priority()),
    }))
}

fn pacer(words: &Words) -> Outcome<Pacer> {
    let pacer = if words.has("fifo") { Pacer::punctual() } else { Pacer::default() };
    Ok(Pacer {
        margin_ns: words.or("margin", pacer.margin_ns)?,
        spin_through_ns: words.or("through", pacer.spin_through_ns)?,
        trial_ns: words.or("trial", pacer.trial_ns)?,
        ..pacer
    })
}

fn arrivals(words: &Words) -> Outcome<Arrivals> {
    let text = words.0.get("arrivals").map_or("saturated", String::as_str);
    let us = |text: &str| text.parse::<f64>().map_err(|error| format!("arrivals={text}: {error}"));
    let arrivals = match text.split_once(':') {
        None if text == "saturated" => Arrivals::Saturated {},
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // saturates; judged below
        Some(("regular", period)) => Arrivals::Regular {
            period_ps: (us(period)? * 1e6) as u64,
            phase_ps: None,
            jitter_ps: None,
        },
        Some(("poisson", mean)) => Arrivals::Poisson { mean_ps: us(mean)? * 1e6 },
        _ => {
            return Err(
                format!("arrivals={text}: must be saturated, regular:US or poisson:US").into()
            );
        }
    };
    match arrivals.fault() {
        Some(fault) => Err(fault.into()),
        None => Ok(arrivals),
    }
}

/// What is set a while after standard input has ended, where that was asked for.
fn stop_flag(words: &Words) -> Outcome<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    if let Some(linger_ms) = words.value::<u64>("linger")? {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            HostTime.sleep_until(HostTime.now_ns() + 1_000_000 * linger_ms);
            stop.store(true, Ordering::Relaxed);
        });
    }
    Ok(stop)
}

fn play_sink<P: NetworkPort>(port: &mut P, words: &Words, until_ns: u64) -> Outcome<Value> {
    let plan = SinkPlan {
        experiment: EXPERIMENT,
        begin_ns: 0,
        first_stream: 0,
        streams: words.or("streams", 1)?,
        measured_ns: 0..u64::MAX,
        batches: 1,
        until_ns,
        most_frames: words.or("frames", u64::MAX)?,
        memory: 1 << 16,
        senders_clock: SenderClockRelation::Equal,
        attention: words.attention(),
    };
    let stop = stop_flag(words)?;
    let sunk = sink(port, &HostTime, SkewedClock::of_epoch(0), &plan, &stop)?;
    let stream = &sunk.streams.first().ok_or("streams: must be at least 1")?.measured;
    let accounts: Vec<Account> = sunk.streams.iter().map(|stream| stream.sequence).collect();
    let sum = |count: fn(&Account) -> u64| accounts.iter().map(count).sum::<u64>();
    Ok(json!({
        "received": sum(|account| account.received),
        "missing": sum(|account| account.missing),
        "gaps": sum(|account| account.gaps),
        "reordered": sum(|account| account.reordered),
        "duplicate": sum(|account| account.duplicate),
        "late": sum(|account| account.late),
        // Of the first stream only:
        "payload_octets": stream.payload_octets,
        "goodput_bps": stream.goodput_bps,
        "before_sent": stream.before_sent,
        "delay_ns": quantiles_ns(&stream.delay),
        "spacing_ns": quantiles_ns(&stream.spacing),
        "unexpected": sunk.unexpected,
        "unmarked": sunk.unmarked,
        "longest_absence_ns": sunk.longest_absence_ns,
    }))
}

fn play_responder<P: NetworkPort>(port: &mut P, words: &Words, until_ns: u64) -> Outcome<Value> {
    let plan = ResponsePlan {
        experiment: EXPERIMENT,
        stream: None,
        may_respond_to: &|_| true, // the namespaces of a test hold nobody else
        group: None,
        responses: &Responses::default(),
        draws: Draws::default(),
        until_ns,
        most_responses: words.or("frames", u64::MAX)?,
        attention: words.attention(),
    };
    let stop = stop_flag(words)?;
    let responded = respond(port, &HostTime, SkewedClock::of_epoch(0), &plan, &stop)?;
    Ok(
        json!({"answered": responded.answered, "unsent": responded.unsent, "unexpected": responded.unexpected}),
    )
}

fn play_requester<P: NetworkPort>(
    port: &mut P,
    words: &Words,
    begin_ns: u64,
    until_ns: u64,
) -> Outcome<Value> {
    let frame: u64 = words.or("frame", 64)?;
    let payload =
        port.carrier().payload_of(Octets(frame)).ok_or("frame: too short for its headers")?;
    let plan = RequestPlan {
        experiment: EXPERIMENT,
        stream: 0,
        responders: &[],
        requests: RequestTraffic::Spaced {
            payload_octets: usize::try_from(payload.0)?,
            interval_ns: words.or("interval", 0)? * 1000,
        },
        begin_ns,
        until_ns,
        batches: 1,
        most_requests: words.or("frames", u64::MAX)?,
        timeout_ns: words.or("timeout", 100)? * 1_000_000,
        exchanges: 100_000,
        attention: words.attention(),
    };
    let requested =
        request(port, &HostTime, SkewedClock::of_epoch(0), &plan, &AtomicBool::new(false))?;
    Ok(json!({
        "requests": requested.requests,
        "answered": requested.answered,
        "lost": requested.lost,
        "unexpected": requested.unexpected,
        "round_trip_ns": quantiles_ns(&requested.round_trip),
        "fastest_ns": requested.fastest_ns,
        "clock": requested.clock,
    }))
}

#[allow(clippy::cast_precision_loss)] // for reading
fn quantiles_ns(distribution: &Distribution) -> Value {
    let at = |share: &str| distribution.quantiles_ps[share].map(|ps| ps as f64 / 1000.0);
    json!({"p1": at("0.01"), "p50": at("0.5"), "p90": at("0.9"), "p99": at("0.99"), "p999": at("0.999"), "max": at("1")})
}
