//! The loop of a relay: take what has come, send what is due, sleep to shortly before the next,
//! spin to it.

use crate::account::{DirectionReport, DirectionResult};
use crate::capture::{self, MediumCapture};
use crate::control::{ControlRequest, ControlSocket};
use crate::ends::{self, CaptureRing};
use crate::lane::WireDirection;
use crate::margin::SleepMargin;
use crate::plan::{self, RelayPlan, SegmentTrial};
use crate::segment::{RunningSegment, SegmentCounts, SegmentPorts};
use ethermeter_net::pacing::{Pacer, PacerStep, PriorityGuard, ThreadPriority};
use ethermeter_net::time::{PS_PER_NS, WallClock};
use ethermeter_net::{Error, Timeline};
use ethermeter_simulator::shared::SharedSegment;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::unistd::{Pid, getppid};
use serde::Serialize;
use serde_json::json;
use socket2::Socket;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::time::Duration;

/// Why a relay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RelayEnd {
    /// A signal ended it.
    Signalled,
    /// The process that made it is no more.
    MakerGone,
    /// An interface of it is no more.
    InterfaceGone,
}

/// Result of a relay that has ended.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RelayResult {
    /// Why it ended.
    pub ended: RelayEnd,
    /// How long it ran.
    pub over_ns: u64,
    /// How long it slept.
    pub slept_ns: u64,
    /// How often it slept.
    pub sleeps: u64,
    /// Times that it was forced to sleep although something was due.
    pub forced_sleeps: u64,
    /// How long before a time it stops sleeping.
    pub margin_ns: u64,
    /// Whether it had real-time priority.
    pub real_time: bool,
    /// Largest step of the wall clock, with which the kernel stamps frames, meanwhile.
    pub clock_stepped_ns: u64,
    /// Frames of each direction.
    pub directions: Vec<DirectionResult>,
    /// What happened on each segment.
    pub segments: Vec<SegmentCounts>,
}

/// Counters of a running relay.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RelayCounts {
    /// Frames of each direction.
    pub directions: Vec<DirectionReport>,
    /// What happened on each segment.
    pub segments: Vec<SegmentCounts>,
}

/// Frames taken out of a ring before others get their turn: sending is what must not wait.
const BATCH: usize = 16;
/// The clocks are compared, and signals looked for, this often.
const ROUND_NS: u64 = 100_000_000;
/// Nothing comes and nothing is due: the longest sleep.
const LONGEST_SLEEP_NS: u64 = ROUND_NS;

/// A trial on the segments of a relay.
struct EmulatedTrial {
    /// When it begins.
    at_ns: u64,
    segments: Vec<(SegmentTrial, SharedSegment)>,
}

/// Why segments do not go on as they are.
enum SegmentChange {
    /// The relay ended.
    Ended(RelayEnd),
    /// Another trial begins.
    Begins(EmulatedTrial),
}

impl EmulatedTrial {
    /// A trial at `at_ns`, one of a segment for each of the ports.
    fn new(
        at_ns: u64,
        segments: Vec<SegmentTrial>,
        ports: &[SegmentPorts],
    ) -> Result<Self, String> {
        if segments.len() != ports.len() {
            return Err(format!("segments: must be {}, got {}", ports.len(), segments.len()));
        }
        let mut compiled = Vec::with_capacity(segments.len());
        for (segment, ports) in segments.into_iter().zip(ports) {
            let bus = segment.compiled(ports.names.len()).map_err(|fault| fault.to_string())?;
            compiled.push((segment, bus));
        }
        Ok(Self { at_ns, segments: compiled })
    }
}

/// Wires and segments at work.
pub struct Relay<T> {
    time: T,
    wires: RunningWires,
    ports: Vec<SegmentPorts>,
    segments: Vec<plan::SegmentPlan>,
    maker: Option<i32>,
    signals: SignalFd,
    control: Option<ControlSocket>,
    wake_sources: WakeSources,
    waiting: SleepState,
    wall: WallClock,
    /// The largest step of the wall clock between two comparisons.
    clock_stepped_ns: u64,
}

/// The wires of a relay: direction number i comes in at end i and leaves by end i with the last bit
/// turned. Times of lanes are picoseconds since they began.
struct RunningWires {
    names: Vec<String>,
    sockets: Vec<Socket>,
    rings: Vec<CaptureRing>,
    lanes: Vec<WireDirection>,
    longest_octets: u32,
    began_ns: u64,
}

/// What ends a sleep.
struct WakeSources {
    /// A frame has come, or an interface went down.
    frames: Epoll,
    /// A signal or a request.
    others: Epoll,
}

/// How it was waited.
#[derive(Clone, Copy, Debug, Default)]
struct SleepState {
    margin: SleepMargin,
    slept_ns: u64,
    sleeps: u64,
    forced_sleeps: u64,
}

impl<T: Timeline + Copy + Send + 'static> Relay<T> {
    /// Open the interfaces; frames are held from now on. Signals that end it are kept back from the
    /// calling thread for good.
    ///
    /// # Errors
    /// If the system refuses, the maker is gone already, or real hosts cannot be the stations of a
    /// segment.
    pub fn open(plan: &RelayPlan, time: T) -> Result<Self, Error> {
        let mut signals = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            signals.add(signal);
        }
        signals.thread_block().map_err(Error::system("keeping signals back"))?;
        let signals =
            SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
                .map_err(Error::system("waiting for signals"))?;
        if plan.maker.is_some() {
            nix::sys::prctl::set_pdeathsig(Signal::SIGHUP)
                .map_err(Error::system("asking for news of the maker's end"))?;
        }
        let ports =
            plan.segments.iter().map(|segment| SegmentPorts::open(segment, plan.longest_octets));
        let (wires, ports) =
            (RunningWires::open(plan, time.now_ns())?, ports.collect::<Result<Vec<_>, _>>()?);
        let control = plan.control.as_deref().map(ControlSocket::open).transpose()?;
        let relay = Self {
            time,
            wake_sources: WakeSources::new(&wires, &ports, &signals, control.as_ref())
                .map_err(Error::system("waiting for frames"))?,
            wires,
            ports,
            segments: plan.segments.clone(),
            maker: plan.maker,
            signals,
            control,
            waiting: SleepState::default(),
            wall: WallClock::compared(&time),
            clock_stepped_ns: 0,
        };
        relay.standing().map_err(|value| Error::Refused {
            what: "segments",
            value,
            allowed: "segments of real hosts".into(),
        })?;
        Ok(relay)
    }

    /// What segments are while no trial runs, from now on.
    fn standing(&self) -> Result<EmulatedTrial, String> {
        let media = self.segments.iter().map(|segment| segment.medium.clone()).collect();
        let mut standing = EmulatedTrial::new(self.time.now_ns(), media, &self.ports)?;
        for (_, shared) in &mut standing.segments {
            let phases = &mut shared.segment_mut().phases;
            phases.measure_to_ps = phases.end_ps; // it is counted throughout
        }
        Ok(standing)
    }

    /// Forward frames until a signal comes, the maker is gone or an interface is; returns what
    /// happened as JSON.
    ///
    /// # Errors
    /// If the system refuses to wait.
    ///
    /// # Panics
    /// Never: what segments are without a trial was checked when it was opened.
    pub fn run(mut self) -> Result<RelayResult, Error> {
        let priority = PriorityGuard::fifo_where_allowed();
        if !self.ports.is_empty() {
            stay_on_one_processor();
        }
        let time = self.time;
        self.wires.began_ns = time.now_ns();
        let mut trial = self.standing().expect("checked when it was opened");
        loop {
            let EmulatedTrial { at_ns, segments: of } = &trial;
            let begun =
                |((segment, bus), ports)| RunningSegment::new(ports, bus, segment, *at_ns, &time);
            let pairs = of.iter().map(|(segment, bus)| (segment, bus)).zip(&self.ports);
            let mut segments: Vec<RunningSegment<'_>> = pairs.map(begun).collect();
            match self.forward(&mut segments)? {
                SegmentChange::Begins(next) => {
                    for (segment, ports) in segments.into_iter().zip(&mut self.ports) {
                        segment.leave(ports);
                    }
                    trial = next;
                }
                SegmentChange::Ended(ended) => {
                    return self.result(ended, segments, priority.priority());
                }
            }
        }
    }

    fn result(
        mut self,
        ended: RelayEnd,
        segments: Vec<RunningSegment<'_>>,
        priority: ThreadPriority,
    ) -> Result<RelayResult, Error> {
        self.wires.count_rings()?;
        let waiting = &self.waiting;
        let segments = segments.into_iter().zip(&mut self.ports);
        let segments = segments.map(|(segment, ports)| segment.finish(ports, &self.time));
        let segments = segments.collect::<Result<Vec<_>, _>>()?;
        let captures = self.ports.iter_mut().filter_map(|ports| ports.capture.take());
        captures.map(MediumCapture::end).for_each(|ending| ending.wait());
        Ok(RelayResult {
            ended,
            over_ns: self.time.now_ns() - self.wires.began_ns,
            slept_ns: waiting.slept_ns,
            sleeps: waiting.sleeps,
            forced_sleeps: waiting.forced_sleeps,
            margin_ns: waiting.margin.ns(0),
            real_time: priority == ThreadPriority::Fifo,
            clock_stepped_ns: self.clock_stepped_ns,
            directions: self.wires.results(),
            segments,
        })
    }

    /// Forward frames until segments are to be others, or the relay ends.
    fn forward(&mut self, segments: &mut Vec<RunningSegment<'_>>) -> Result<SegmentChange, Error> {
        let time = self.time;
        let rest = Pacer::default();
        let mut next_trial: Option<EmulatedTrial> = None;
        let mut round_ns = 0;
        let mut awake_since_ns = time.now_ns();
        loop {
            let now_ns = time.now_ns();
            if let Some(trial) = next_trial.take_if(|trial| trial.at_ns <= now_ns) {
                return Ok(SegmentChange::Begins(trial));
            }
            if now_ns - awake_since_ns > rest.longest_spin_ns {
                time.sleep_until(now_ns + rest.forced_sleep_ns);
                awake_since_ns = time.now_ns();
                self.waiting.forced_sleeps += 1;
            }
            let mut is_all_taken = self.wires.take_arrivals(self.wall, &time);
            let mut due_ns = self.wires.send_due(&time);
            // What comes from its beginning on is the next trial's, even if that has passed since
            // the time was read.
            let next_trial_ns = next_trial.as_ref().map_or(u64::MAX, |trial| trial.at_ns);
            for (segment, ports) in segments.iter_mut().zip(&mut self.ports) {
                is_all_taken &= segment.advance(ports, self.wall, next_trial_ns, &time);
                segment.give_credit(ports);
                segment.deliver(ports, &time);
                due_ns = earliest(due_ns, segment.next_ns());
            }
            // After decisions, so that answers count them.
            if now_ns >= round_ns {
                round_ns = now_ns + ROUND_NS;
                if let Some(ended) = self.look_around()? {
                    return Ok(SegmentChange::Ended(ended));
                }
                match self.answer_requests(segments)? {
                    Some(trial) if trial.at_ns <= now_ns => {
                        return Ok(SegmentChange::Begins(trial));
                    }
                    Some(trial) => next_trial = Some(trial),
                    None => {}
                }
                for (segment, ports) in segments.iter_mut().zip(&self.ports) {
                    segment.give_credit_again(ports);
                }
            }
            due_ns = earliest(due_ns, next_trial.as_ref().map(|trial| trial.at_ns));
            let now_ns = time.now_ns();
            let awake_ns = now_ns - awake_since_ns;
            let pacer = Pacer { margin_ns: self.waiting.margin.ns(awake_ns), ..rest };
            match pacer.step(now_ns, due_ns.unwrap_or(now_ns + LONGEST_SLEEP_NS)) {
                PacerStep::Now => {}
                PacerStep::Spin => time.spin(),
                PacerStep::SleepUntil(_) if !is_all_taken => {}
                PacerStep::SleepUntil(wake_ns) => {
                    let is_soon = wake_ns - now_ns <= self.unheard_ns();
                    if self.sleep(now_ns, wake_ns, awake_ns, is_soon)? {
                        round_ns = 0;
                    }
                    awake_since_ns = time.now_ns();
                }
            }
        }
    }

    /// How long a frame that has come may stay unnoticed: until it is decided what happens at its
    /// time.
    fn unheard_ns(&self) -> u64 {
        let has_wires = !self.wires.names.is_empty();
        let lags = self.ports.iter().map(|ports| ports.lag_ns);
        lags.min().filter(|_| !has_wires).unwrap_or(0)
    }

    /// Sleep until a time or until something comes, or not until a frame does if `ignores_frames`;
    /// whether a signal or a request has come.
    fn sleep(
        &mut self,
        now_ns: u64,
        wake_ns: u64,
        awake_ns: u64,
        ignores_frames: bool,
    ) -> Result<bool, Error> {
        let poll_fd = |epoll| PollFd::new(epoll, PollFlags::POLLIN);
        let mut wake_sources = [
            poll_fd(self.wake_sources.others.0.as_fd()),
            poll_fd(self.wake_sources.frames.0.as_fd()),
        ];
        let limit = TimeSpec::from_duration(Duration::from_nanos(wake_ns - now_ns));
        let watched = if ignores_frames { 1 } else { wake_sources.len() };
        let woken = ppoll(&mut wake_sources[..watched], Some(limit), None);
        let woken_ns = self.time.now_ns();
        self.waiting.sleeps += 1;
        self.waiting.slept_ns += woken_ns - now_ns;
        self.waiting.margin.rest(awake_ns, woken_ns - now_ns);
        match woken {
            Ok(0) => {
                self.waiting.margin.learn(woken_ns.saturating_sub(wake_ns));
                Ok(false)
            }
            Ok(_) => Ok(wake_sources[0].any().unwrap_or(true)),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(Error::system("waiting for frames")(error)),
        }
    }

    /// Compare the clocks, and look for signals and interfaces that are gone.
    fn look_around(&mut self) -> Result<Option<RelayEnd>, Error> {
        let wall = WallClock::compared(&self.time);
        self.clock_stepped_ns = self.clock_stepped_ns.max(wall.stepped_ns(self.wall));
        self.wall = wall;
        if let Some(ended) = news(&self.signals, self.maker)? {
            return Ok(Some(ended));
        }
        // An interface complains when it goes down, and says nothing when it goes for good after
        // that.
        let mut sockets =
            self.wires.sockets.iter().chain(self.ports.iter().flat_map(|ports| &ports.sockets));
        Ok(sockets.any(ends::is_gone).then_some(RelayEnd::InterfaceGone))
    }

    /// Do what is requested; returns the trial that is to begin, if one is.
    fn answer_requests(
        &mut self,
        segments: &mut Vec<RunningSegment<'_>>,
    ) -> Result<Option<EmulatedTrial>, Error> {
        let Some(mut control) = self.control.take() else { return Ok(None) };
        let mut begins = None;
        match control.next() {
            None => {}
            Some(Err(error)) => control.refuse(&error),
            Some(Ok(ControlRequest::Count {})) => control.answer(&json!(self.counted(segments)?)),
            Some(Ok(ControlRequest::Begin { at_ns, segments: of })) => {
                match EmulatedTrial::new(at_ns, of, &self.ports) {
                    Err(error) => control.refuse(&error),
                    Ok(trial) => {
                        control.answer(&json!({}));
                        begins = Some(trial);
                    }
                }
            }
            Some(Ok(ControlRequest::End {})) => {
                let ended = segments.drain(..).zip(&mut self.ports);
                let ended = ended.map(|(segment, ports)| segment.finish(ports, &self.time));
                let ended = ended.collect::<Result<Vec<_>, _>>()?;
                control.answer(&json!({"segments": ended}));
                begins = self.standing().ok();
            }
            Some(Ok(ControlRequest::Capture(options))) => self.begin_capture(options, &mut control),
        }
        self.control = Some(control);
        Ok(begins)
    }

    /// Begin a capture, or refuse it.
    fn begin_capture(&mut self, options: capture::CaptureOptions, control: &mut ControlSocket) {
        let segments = self.ports.len();
        let Some(ports) = self.ports.get_mut(options.segment) else {
            let got = options.segment;
            control.refuse(&format!("segment: must be below {segments}, got {got}"));
            return;
        };
        if let Some(fault) = options.fault(ports.names.len()) {
            control.refuse(&fault);
            return;
        }
        if ports.capture.is_some() {
            control.refuse("the segment is being captured already");
            return;
        }
        let Some((file, client)) = control.take_client() else {
            control.refuse("no file was passed with the request");
            return;
        };
        // Its client learns of a refusal by the system from the end of the connection.
        ports.capture = MediumCapture::begin(options, file, client, self.time).ok();
    }

    /// Frames of each direction and segment so far.
    fn counted(&mut self, segments: &mut [RunningSegment<'_>]) -> Result<RelayCounts, Error> {
        self.wires.count_rings()?;
        let segments = segments.iter_mut().zip(&self.ports);
        let segments = segments.map(|(segment, ports)| segment.counted(ports, &self.time));
        let segments = segments.collect::<Result<Vec<_>, _>>()?;
        Ok(RelayCounts { directions: self.wires.reports(), segments })
    }
}

impl WakeSources {
    fn new(
        wires: &RunningWires,
        ports: &[SegmentPorts],
        signals: &SignalFd,
        control: Option<&ControlSocket>,
    ) -> nix::Result<Self> {
        let epoll = || Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC);
        let (frames, others) = (epoll()?, epoll()?);
        let comes = || EpollEvent::new(EpollFlags::EPOLLIN, 0);
        for socket in wires.sockets.iter().chain(ports.iter().flat_map(|ports| &ports.sockets)) {
            frames.add(socket, comes())?;
        }
        others.add(signals, comes())?;
        if let Some(control) = control {
            others.add(control, comes())?;
        }
        Ok(Self { frames, others })
    }
}

/// Stay on the last of several processors: a thread that moves finds cold caches, and pushes away
/// others wherever it comes.
fn stay_on_one_processor() {
    let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else { return };
    let mut processors = (0..CpuSet::count()).filter(|&at| allowed.is_set(at).unwrap_or(false));
    let (Some(_), Some(last)) = (processors.next(), processors.next_back()) else { return };
    let mut processors = CpuSet::new();
    // Where the system refuses, it moves as before.
    let _ = processors.set(last).and_then(|()| sched_setaffinity(Pid::from_raw(0), &processors));
}

fn earliest(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    [one, other].into_iter().flatten().min()
}

impl RunningWires {
    fn open(plan: &RelayPlan, began_ns: u64) -> Result<Self, Error> {
        let names: Vec<String> = plan.wires.iter().flat_map(|wire| wire.ends.clone()).collect();
        // By an end leaves what came in at the other.
        let leaving = plan.wires.iter().flat_map(|wire| wire.directions.iter().rev());
        let (mut sockets, mut rings) = (Vec::new(), Vec::new());
        for (name, direction) in names.iter().zip(leaving) {
            let (socket, index) = ends::open_socket(name)?;
            // Where the wire has no rate, that of the interface's queue holds.
            if direction.rate_bps.is_some() {
                ends::bypass_queue(&socket)?;
            }
            rings.push(CaptureRing::open(&socket, index, plan.longest_octets + 4)?);
            sockets.push(socket);
        }
        let directions =
            plan.wires.iter().flat_map(|wire| wire.directions.iter().zip(&wire.classes));
        let lanes = (0..)
            .zip(directions)
            .map(|(number, (&properties, classes))| WireDirection::new(properties, classes, number))
            .collect();
        let longest_octets = plan.longest_octets;
        Ok(Self { names, sockets, rings, lanes, longest_octets, began_ns })
    }

    /// Add what the rings have dropped since they were asked before.
    fn count_rings(&mut self) -> Result<(), Error> {
        for (socket, lane) in self.sockets.iter().zip(&mut self.lanes) {
            lane.account.dropped.ring += ends::dropped_since(socket)?;
        }
        Ok(())
    }

    /// Frames of each direction so far.
    fn reports(&self) -> Vec<DirectionReport> {
        let report = |(end, lane): (usize, &WireDirection)| lane.report(&self.names, end);
        self.lanes.iter().enumerate().map(report).collect()
    }

    /// Counts of a direction, with lateness.
    fn results(&self) -> Vec<DirectionResult> {
        let reports = self.lanes.iter().zip(self.reports());
        reports.map(|(lane, report)| lane.account.result(report)).collect()
    }

    /// Take what has come out of the rings; returns whether that was all.
    fn take_arrivals(&mut self, wall: WallClock, time: &impl Timeline) -> bool {
        let (began_ns, longest_octets) = (self.began_ns, self.longest_octets);
        let mut is_all_taken = true;
        for (ring, lane) in self.rings.iter_mut().zip(&mut self.lanes) {
            let mut now_ns = None;
            let frames_read = ring.take(BATCH, |arrived| {
                let now_ns = *now_ns.get_or_insert_with(|| time.now_ns());
                // A wall clock that has just been set may give stamps of the future.
                let stamped_ns = wall.monotonic_ns(arrived.stamped_wall_ns).min(now_ns);
                lane.account.noticed.record((now_ns - stamped_ns) * PS_PER_NS);
                lane.take(arrived, stamped_ns.saturating_sub(began_ns) * PS_PER_NS, longest_octets);
                ControlFlow::Continue(())
            });
            is_all_taken &= frames_read < BATCH;
        }
        is_all_taken
    }

    /// Send what is due, one frame of each lane; returns when the next is.
    fn send_due(&mut self, time: &impl Timeline) -> Option<u64> {
        let mut next_ps = None::<u64>;
        for (end, lane) in self.lanes.iter_mut().enumerate() {
            let Some(due_ps) = lane.next_ps() else { continue };
            let now_ps = (time.now_ns() - self.began_ns) * PS_PER_NS;
            if due_ps <= now_ps {
                lane.decide(now_ps);
                lane.send_due(&self.sockets[end ^ 1], now_ps);
            }
            next_ps = earliest(next_ps, lane.next_ps());
        }
        // To the nanosecond after it, so that nothing is early.
        next_ps.map(|next_ps| self.began_ns + next_ps.div_ceil(PS_PER_NS))
    }
}

/// Why the relay is to end, if it is. The signal of the maker's end comes when the thread that made
/// the relay ends, too.
fn news(signals: &SignalFd, maker: Option<i32>) -> Result<Option<RelayEnd>, Error> {
    while let Some(signal) = signals.read_signal().map_err(Error::system("reading signals"))? {
        let is_news_of_the_maker =
            maker.is_some() && signal.ssi_signo.cast_signed() == Signal::SIGHUP as i32;
        if !is_news_of_the_maker {
            return Ok(Some(RelayEnd::Signalled));
        }
    }
    Ok(maker.filter(|&maker| getppid().as_raw() != maker).map(|_| RelayEnd::MakerGone))
}
