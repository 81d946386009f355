//! The loop of a relay: take what has come, send what is due, sleep to shortly before the next,
//! spin to it.

use crate::account::Account;
use crate::classed::{priority_of, Classed, Turn};
use crate::direction::{Direction, Fate};
use crate::ends::{self, Arrived, Ring};
use crate::margin::Margin;
use crate::plan::Plan;
use crate::transit::Transit;
use ethermeter_ethernet::frame::FCS;
use ethermeter_ethernet::Octets;
use ethermeter_live::pacing::{Pacer, Priority, PriorityGuard, Step};
use ethermeter_live::time::{WallClock, PS_PER_NS};
use ethermeter_live::{Error, HostTime, Timeline};
use nix::errno::Errno;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::unistd::getppid;
use serde::Serialize;
use serde_json::{json, Value};
use socket2::Socket;
use std::os::fd::AsFd;
use std::time::Duration;

/// Why a relay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// A signal ended it.
    Told,
    /// The process that made it is no more.
    MakerGone,
    /// An interface of it is no more.
    InterfaceGone,
}

/// The signal at which a relay says what it has counted so far.
const ASKS: Signal = Signal::SIGUSR1;
/// Frames taken out of a ring before others get their turn: sending is what must not wait.
const BATCH: usize = 16;
/// The clocks are compared, and signals looked for, this often.
const ROUND_NS: u64 = 100_000_000;
/// Nothing comes and nothing is due: the longest sleep.
const LONGEST_SLEEP_NS: u64 = ROUND_NS;

/// One direction with all that belongs to it; that of number i comes in at end i and leaves by end
/// i with the last bit turned.
struct Lane {
    queue: Queue,
    transit: Transit,
    account: Account,
}

/// What waits for a wire.
enum Queue {
    /// First come, first served.
    Single(Direction),
    /// By traffic class.
    Classed(Box<Classed>),
}

/// Wires at work.
pub struct Relay {
    names: Vec<String>,
    sockets: Vec<Socket>,
    rings: Vec<Ring>,
    lanes: Vec<Lane>,
    longest_octets: u32,
    maker: Option<i32>,
    signals: SignalFd,
}

fn system(doing: &'static str) -> impl FnOnce(Errno) -> Error {
    move |error| Error::System { doing, source: error.into() }
}

impl Relay {
    /// Open the interfaces; frames are held from now on. Signals that end it, or ask it, are kept
    /// back from the calling thread for good.
    ///
    /// # Errors
    /// If the system refuses, or the maker is gone already.
    pub fn open(plan: &Plan) -> Result<Self, Error> {
        let mut heard = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, ASKS] {
            heard.add(signal);
        }
        heard.thread_block().map_err(system("keeping signals back"))?;
        let signals = SignalFd::with_flags(&heard, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map_err(system("waiting for signals"))?;
        if plan.maker.is_some() {
            nix::sys::prctl::set_pdeathsig(Signal::SIGHUP)
                .map_err(system("asking for news of the maker's end"))?;
        }
        let names: Vec<String> = plan.wires.iter().flat_map(|wire| wire.ends.clone()).collect();
        let (mut sockets, mut rings) = (Vec::new(), Vec::new());
        for name in &names {
            let (socket, index) = ends::open_socket(name)?;
            rings.push(Ring::open(&socket, index, plan.longest_octets + 4)?);
            sockets.push(socket);
        }
        let lanes = (0..)
            .zip(plan.wires.iter().flat_map(|wire| wire.directions.iter().zip(&wire.classes)))
            .map(|(number, (&properties, classes))| Lane {
                queue: if classes.is_empty() {
                    Queue::Single(Direction::new(properties, number))
                } else {
                    Queue::Classed(Box::new(Classed::new(properties, classes, number)))
                },
                transit: Transit::default(),
                account: Account::default(),
            })
            .collect();
        let longest_octets = plan.longest_octets;
        Ok(Self { names, sockets, rings, lanes, longest_octets, maker: plan.maker, signals })
    }

    /// Forward frames until a signal comes, the maker is gone or an interface is; returns what
    /// happened as JSON. At SIGUSR1 `say` is given the frames of each direction so far, as JSON,
    /// while all frames wait.
    ///
    /// # Errors
    /// If the system refuses to wait.
    pub fn run(mut self, say: &mut dyn FnMut(&Value)) -> Result<Value, Error> {
        let priority = PriorityGuard::fifo_where_allowed();
        let began_ns = HostTime.now_ns();
        let mut forwarding = Forwarding {
            names: &self.names,
            sockets: &self.sockets,
            rings: &mut self.rings,
            lanes: &mut self.lanes,
            longest_octets: self.longest_octets,
            began_ns,
            wall: WallClock::compared(),
            clock_stepped_ns: 0,
            waiting: Waiting::default(),
        };
        let ended = forwarding.run(&self.signals, self.maker, say)?;
        let (waiting, clock_stepped_ns) = (forwarding.waiting, forwarding.clock_stepped_ns);
        forwarding.count_rings()?;
        let over_ns = HostTime.now_ns() - began_ns;
        let mut result = self.result(ended, &waiting, priority.priority(), over_ns);
        result["clock_stepped_ns"] = json!(clock_stepped_ns);
        Ok(result)
    }

    fn result(&self, ended: Ended, waiting: &Waiting, priority: Priority, over_ns: u64) -> Value {
        let directions: Vec<Value> = self
            .lanes
            .iter()
            .enumerate()
            .map(|(end, lane)| lane.account.with_lateness(lane.counted(&self.names, end)))
            .collect();
        json!({
            "ended": ended,
            "over_ns": over_ns,
            "slept_ns": waiting.slept_ns,
            "sleeps": waiting.sleeps,
            "forced_sleeps": waiting.forced_sleeps,
            "margin_ns": waiting.margin.ns(0),
            "real_time": priority == Priority::Fifo,
            "directions": directions,
        })
    }
}

/// How it was waited.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    margin: Margin,
    slept_ns: u64,
    sleeps: u64,
    forced_sleeps: u64,
}

/// A relay at work. Times of lanes are picoseconds since it began.
struct Forwarding<'a> {
    names: &'a [String],
    sockets: &'a [Socket],
    rings: &'a mut [Ring],
    lanes: &'a mut [Lane],
    longest_octets: u32,
    began_ns: u64,
    wall: WallClock,
    /// The largest step of the wall clock between two comparisons.
    clock_stepped_ns: u64,
    waiting: Waiting,
}

impl Forwarding<'_> {
    fn run(
        &mut self,
        signals: &SignalFd,
        maker: Option<i32>,
        say: &mut dyn FnMut(&Value),
    ) -> Result<Ended, Error> {
        let sockets = self.sockets;
        let mut doors: Vec<PollFd<'_>> =
            sockets.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        doors.push(PollFd::new(signals.as_fd(), PollFlags::POLLIN));
        let rest = Pacer::default();
        let mut round_ns = 0;
        let mut awake_since_ns = HostTime.now_ns();
        loop {
            let now_ns = HostTime.now_ns();
            if now_ns >= round_ns {
                round_ns = now_ns + ROUND_NS;
                let wall = WallClock::compared();
                self.clock_stepped_ns = self.clock_stepped_ns.max(wall.stepped_ns(self.wall));
                self.wall = wall;
                let news = news(signals, maker)?;
                if let Some(ended) = news.ended {
                    return Ok(ended);
                }
                if news.is_asked {
                    say(&self.counted()?);
                }
                // An interface complains when it goes down, and says nothing when it goes for good
                // after that.
                if sockets.iter().any(ends::is_gone) {
                    return Ok(Ended::InterfaceGone);
                }
            }
            if now_ns - awake_since_ns > rest.longest_spin_ns {
                HostTime.sleep_until(now_ns + rest.forced_sleep_ns);
                awake_since_ns = HostTime.now_ns();
                self.waiting.forced_sleeps += 1;
            }
            let is_all_taken = self.take_arrivals();
            let due_ns = self.send_due();
            let now_ns = HostTime.now_ns();
            let awake_ns = now_ns - awake_since_ns;
            let pacer = Pacer { margin_ns: self.waiting.margin.ns(awake_ns), ..rest };
            match pacer.step(now_ns, due_ns.unwrap_or(now_ns + LONGEST_SLEEP_NS)) {
                Step::Now => {}
                Step::Spin => HostTime.spin(),
                Step::SleepUntil(_) if !is_all_taken => {}
                Step::SleepUntil(wake_ns) => {
                    let woken = ppoll(
                        &mut doors,
                        Some(TimeSpec::from_duration(Duration::from_nanos(wake_ns - now_ns))),
                        None,
                    );
                    awake_since_ns = HostTime.now_ns();
                    self.waiting.sleeps += 1;
                    self.waiting.slept_ns += awake_since_ns - now_ns;
                    self.waiting.margin.rest(awake_ns, awake_since_ns - now_ns);
                    match woken {
                        Ok(0) => self.waiting.margin.learn(awake_since_ns.saturating_sub(wake_ns)),
                        // A signal, or an interface that went down: what waits for that is at the
                        // beginning of a round.
                        Ok(_)
                            if doors.iter().any(is_unusual)
                                || doors[sockets.len()].any().unwrap_or(true) =>
                        {
                            round_ns = 0;
                        }
                        Ok(_) | Err(Errno::EINTR) => {}
                        Err(error) => return Err(system("waiting for frames")(error)),
                    }
                }
            }
        }
    }

    /// Add what the rings have dropped since they were asked before.
    fn count_rings(&mut self) -> Result<(), Error> {
        for (socket, lane) in self.sockets.iter().zip(self.lanes.iter_mut()) {
            lane.account.dropped.ring += ends::dropped_since(socket)?;
        }
        Ok(())
    }

    /// Frames of each direction so far.
    fn counted(&mut self) -> Result<Value, Error> {
        self.count_rings()?;
        let of = |(end, lane): (usize, &Lane)| lane.counted(self.names, end);
        let directions: Vec<Value> = self.lanes.iter().enumerate().map(of).collect();
        Ok(json!({"directions": directions}))
    }

    /// Take what has come out of the rings; returns whether that was all.
    fn take_arrivals(&mut self) -> bool {
        let (wall, began_ns, longest_octets) = (self.wall, self.began_ns, self.longest_octets);
        let mut is_all_taken = true;
        for (ring, lane) in self.rings.iter_mut().zip(self.lanes.iter_mut()) {
            let mut now_ns = None;
            let taken = ring.take(BATCH, |arrived| {
                let now_ns = *now_ns.get_or_insert_with(|| HostTime.now_ns());
                // A wall clock that has just been set may give stamps of the future.
                let stamped_ns = wall.monotonic_ns(arrived.stamped_wall_ns).min(now_ns);
                lane.account.noticed.record((now_ns - stamped_ns) * PS_PER_NS);
                lane.take(arrived, stamped_ns.saturating_sub(began_ns) * PS_PER_NS, longest_octets);
            });
            is_all_taken &= taken < BATCH;
        }
        is_all_taken
    }

    /// Send what is due, one frame of each lane; returns when the next is.
    fn send_due(&mut self) -> Option<u64> {
        let mut next_ps = None::<u64>;
        for (end, lane) in self.lanes.iter_mut().enumerate() {
            let Some(due_ps) = lane.next_ps() else { continue };
            let now_ps = (HostTime.now_ns() - self.began_ns) * PS_PER_NS;
            if due_ps <= now_ps {
                lane.decide(now_ps);
                if let Some(due_ps) = lane.transit.next_ps().filter(|&due_ps| due_ps <= now_ps) {
                    lane.send(&self.sockets[end ^ 1], now_ps - due_ps);
                }
            }
            let Some(due_ps) = lane.next_ps() else { continue };
            next_ps = Some(next_ps.map_or(due_ps, |next_ps| next_ps.min(due_ps)));
        }
        // To the nanosecond after it, so that nothing is early.
        next_ps.map(|next_ps| self.began_ns + next_ps.div_ceil(PS_PER_NS))
    }
}

/// Whether there is more to say of a door than that something has come.
fn is_unusual(door: &PollFd<'_>) -> bool {
    door.revents().is_none_or(|events| !events.difference(PollFlags::POLLIN).is_empty())
}

impl Lane {
    fn take(&mut self, arrived: &Arrived<'_>, arrived_ps: u64, longest_octets: u32) {
        self.account.came += 1;
        let dropped = &mut self.account.dropped;
        let frame = Octets(arrived.octets as u64 + FCS.0);
        if frame.0 > u64::from(longest_octets) + arrived.tag.map_or(0, |tag| tag.len() as u64) {
            dropped.too_long += 1;
            return;
        }
        if !arrived.is_finished {
            dropped.unfinished += 1;
            return;
        }
        let tag = arrived.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
        let pieces = [arrived.head, tag, arrived.rest, arrived.padding];
        match &mut self.queue {
            Queue::Single(direction) => match direction.offer(arrived_ps, frame) {
                Fate::Leaves { at_ps } => self.transit.push(at_ps, &pieces),
                Fate::Lost => dropped.lost += 1,
                Fate::NoRoom => dropped.queue += 1,
            },
            Queue::Classed(classed) => {
                let until_ps = arrived_ps.saturating_sub(1);
                advance(classed, &mut self.transit, &mut dropped.lost, until_ps);
                let priority = priority_of(arrived.tag, arrived.rest);
                let (has_room, overtaken_ps) = classed.offer(arrived_ps, priority, &pieces, frame);
                dropped.queue += u64::from(!has_room);
                if overtaken_ps > 0 {
                    self.account.lateness.record(overtaken_ps);
                }
            }
        }
    }

    /// Make the decisions that can wait no longer.
    fn decide(&mut self, now_ps: u64) {
        let Queue::Classed(classed) = &mut self.queue else { return };
        let until_ps = now_ps.saturating_sub(classed.slack_ps());
        advance(classed, &mut self.transit, &mut self.account.dropped.lost, until_ps);
    }

    /// When something is to be done next: a frame sent, or a decision made.
    fn next_ps(&self) -> Option<u64> {
        let decision_ps = match &self.queue {
            Queue::Single(_) => None,
            Queue::Classed(classed) => classed.wake_ps(),
        };
        [self.transit.next_ps(), decision_ps].into_iter().flatten().min()
    }

    /// What was counted so far of the direction that comes in at an end, as JSON.
    fn counted(&self, names: &[String], end: usize) -> Value {
        let (waiting, classes) = match &self.queue {
            Queue::Single(_) => (0, Vec::new()),
            Queue::Classed(classed) => (classed.waiting(), classed.counts()),
        };
        let under_way = self.transit.frames() + waiting;
        self.account.counted(&names[end], &names[end ^ 1], under_way, &classes)
    }

    fn send(&mut self, socket: &Socket, late_ps: u64) {
        let Some(frame) = self.transit.next_frame() else { return };
        if ends::send(socket, frame) {
            self.account.left += 1;
            self.account.octets += (frame.0.len() + frame.1.len()) as u64 + FCS.0;
            self.account.lateness.record(late_ps);
        } else {
            self.account.dropped.refused += 1;
        }
        self.transit.pop();
    }
}

/// Make the decisions of a queue up to a time.
fn advance(classed: &mut Classed, transit: &mut Transit, lost: &mut u64, until_ps: u64) {
    classed.advance(until_ps, |turn, first, second| match turn {
        Turn::Leaves(at_ps) => transit.push(at_ps, &[first, second]),
        Turn::Lost => *lost += 1,
    });
}

/// What signals and the maker's end say.
#[derive(Clone, Copy, Debug)]
struct News {
    ended: Option<Ended>,
    is_asked: bool,
}

/// Hear what is new. The signal of the maker's end comes when the thread that made the relay ends,
/// too.
fn news(signals: &SignalFd, maker: Option<i32>) -> Result<News, Error> {
    let mut is_asked = false;
    while let Some(signal) = signals.read_signal().map_err(system("reading signals"))? {
        let number = signal.ssi_signo.cast_signed();
        let is_news_of_the_maker = maker.is_some() && number == Signal::SIGHUP as i32;
        if number == ASKS as i32 {
            is_asked = true;
        } else if !is_news_of_the_maker {
            return Ok(News { ended: Some(Ended::Told), is_asked });
        }
    }
    let ended = maker.filter(|&maker| getppid().as_raw() != maker).map(|_| Ended::MakerGone);
    Ok(News { ended, is_asked })
}
