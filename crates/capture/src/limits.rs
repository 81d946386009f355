//! What a connection waited for: every moment between its first packet and its last belongs to one
//! cause.
//!
//! The instants at which an end sends something new (payload, SYN or FIN) divide the time. Each
//! interval between two of them is explained by what the end that sends next could know then. An
//! acknowledgement captured at some moment reaches the sender, and what the sender then sends
//! reaches the capture point, no sooner than the *away* time of that end later: from the capture
//! point to it and back, the least that was seen. So the rules hold wherever the capture was made,
//! as long as queues are not between the sender and the capture point.
//!
//! ```text
//! what ended the piece, x being who sent                                                      cause
//! a segment that is sent again, or any until what was under way then is acknowledged          Loss
//! an answer to what the other end sent: up to the away time of x                              RoundTrip
//!                                       the rest                                              TurnAround
//! before the last news there was less room in the window than the segment needs, or than a
//! segment has (RFC 9293, section 3.8.6.2.1: silly windows are not used)
//!     and the window was below three quarters of the largest, or the acknowledgement arrived a
//!     quarter of a round trip and a millisecond late: data waited to be read                  ReceiverApplication
//!     otherwise: the buffer is small                                                          ReceiverWindow
//! x sent a short segment as soon as the acknowledgement of the one before it came, which took 20 ms
//! longer than a round trip: Nagle's algorithm (RFC 9293, section 3.7.4) waited for a delayed
//! acknowledgement (RFC 9293, section 3.8.6.3)                                                 DelayedAck
//! x sent within a millisecond of an acknowledgement for which it had waited longer than that
//! it then took, had room in the window, data under way, and filled its last segment
//!     whose round trip was more than twice the least                                          Queue
//!     otherwise, by the course of its flight (see `course`)                                   CongestionWindow, SendBuffer
//!                                                                                             or Window, which is either
//! x's last segment was not full, or all was acknowledged and more than a millisecond went by,
//! or it paused for eight times as long as it usually takes to the next segment; but not if it
//! took as long as the time before the last segment, which was full: x had nothing to send     SenderApplication
//! none of these: x had more, room and data under way, and waited for no news: its host, its
//! interface or its pacing was not faster, or a queue before the capture point held it back    SenderPace
//! SYN, and what follows the last of these moments                                             Opening
//!     unless the window is zero at the end, and x probes it or has data outstanding           ReceiverApplication
//! ```
//!
//! Each piece belongs to its x, the end that waited.

use crate::ahead::prefetch;
use crate::cause::{CAUSES, WaitCause};
use crate::course::{FlightCourse, FlightRounds};
use std::collections::VecDeque;

/// News of acknowledgements that may be on its way to a sender; of more, the oldest are taken as
/// arrived.
const MOST_NEWS: usize = 1024;
/// A sender that answers an acknowledgement does so within this time.
const REACTION_NS: u64 = 1_000_000;
/// What an end may take longer to answer a SYN, or data, than to go on at an acknowledgement.
const HANDSHAKE_NS: u64 = 100_000;
/// A round trip that is this many times the least has waited in a queue.
const QUEUED: u64 = 2;
/// A sender that has data sends its segments one after the other; one that pauses for so many times
/// the usual gap has none.
const PAUSED: u64 = 8;
/// Two gaps are even if they differ by at most this part.
const EVEN: u64 = 8;
/// A sender that has nothing under way for so long starts its congestion window again (the least
/// retransmission timeout of Linux).
const PAUSE_NS: u64 = 200_000_000;
/// An acknowledgement that is late by this part of a round trip waited for the receiving
/// application, if the window was used up: Linux acknowledges at once only what leaves the window
/// as large as it was.
const LATE: u64 = 4;
/// An acknowledgement that takes so much longer than a round trip was delayed: by 40 ms or more,
/// with the timers of the common systems.
const DELAYED_NS: u64 = 20_000_000;
/// Segments from which on a receiver acknowledges at once (RFC 9293, section 3.8.6.3).
const AT_ONCE: u64 = 2;
/// A window below this share of the largest, in quarters, is one that unread data has made smaller.
const OPEN_QUARTERS: u64 = 3;

/// Something new that an end sent.
#[derive(Clone, Copy, Debug)]
pub struct NewData {
    /// Number after its last octet.
    pub end: u64,
    /// Octets of payload.
    pub payload: u32,
    /// It opens the connection.
    pub is_syn: bool,
    /// It was sent before.
    pub is_resent: bool,
    /// Octets of this end's full segments.
    pub segment: u32,
    /// From the capture point to this end and back, at the least.
    pub away_ns: u64,
    /// From this end's data to its acknowledgement, at the least.
    pub least_ns: u64,
}

/// What an acknowledgement announces to an end.
#[derive(Clone, Copy, Debug)]
pub struct Announcement {
    /// When it was captured.
    pub at_ns: i64,
    /// Number up to which all has arrived.
    pub acknowledged: u64,
    /// Number up to which it may send; the largest there is where the window's scale is unknown.
    pub edge: u64,
    /// Since the data that it acknowledges, where that is certain.
    pub delay_ns: Option<u64>,
}

/// Time that an end spent on a cause: in all, in how many pieces, and the longest of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseTime {
    /// Sum of the times.
    pub ns: u64,
    /// How many.
    pub count: u64,
    /// The longest.
    pub most_ns: u64,
}

impl CauseTime {
    fn add(&mut self, ns: u64) {
        self.ns = self.ns.saturating_add(ns);
        self.count += 1;
        self.most_ns = self.most_ns.max(ns);
    }
}

/// Segments that waited for the delayed acknowledgement of the segment before: the sizes of both,
/// as most had them (Boyer and Moore 1991), and how long those acknowledgements were delayed in
/// all.
#[derive(Clone, Copy, Debug, Default)]
struct DelayedSegments {
    sizes: Option<(u32, u32)>,
    votes: u64,
    delayed_ns: u64,
}

impl DelayedSegments {
    fn vote(&mut self, sizes: (u32, u32)) {
        if self.votes == 0 {
            self.sizes = Some(sizes);
        }
        if self.sizes == Some(sizes) {
            self.votes += 1;
        } else {
            self.votes -= 1;
        }
    }
}

/// What an end knows as a sender.
#[derive(Clone, Debug, Default)]
struct SenderView {
    spent: [CauseTime; CAUSES],
    held: DelayedSegments,
    /// It probes a window of zero.
    is_probing: bool,
    news: VecDeque<Announcement>,
    /// News have reached it; before, neither its window nor what arrived is known.
    is_informed: bool,
    /// Latest announced acknowledgement and window edge, whether it has arrived or not.
    announced: (u64, u64),
    acknowledged: u64,
    edge: u64,
    highest: u64,
    last_payload: u32,
    largest: u32,
    /// Until this number is acknowledged, losses are made good.
    recover: u64,
    /// Times that this began: losses within a round trip count once.
    episodes: u64,
    /// The largest window that was announced with its scale known.
    largest_window: u64,
    course: FlightCourse,
    /// Time from the segment before the last to the last, if no other end's was between; else 0.
    gap_ns: u64,
    /// Mean time from segment to segment where nothing was waited for, later ones weighing more; 0
    /// before the first.
    usual_ns: u64,
}

/// The last news that reached a sender while it waited, and what it knew before.
#[derive(Clone, Copy, Debug)]
struct Trigger {
    at_ns: i64,
    room_before: u64,
    window_before: u64,
    flight_before: u64,
    delay_ns: Option<u64>,
}

/// Where the time of a connection went.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    last: Option<(i64, usize, bool)>,
    views: [SenderView; 2],
}

impl Limits {
    /// Announce news to end `x`.
    pub fn announce(&mut self, x: usize, news: Announcement) {
        let view = &mut self.views[x];
        // Older news arrived late and contains nothing new.
        let announced = (news.acknowledged, news.edge);
        if announced != view.announced && announced.0 >= view.announced.0 {
            view.announced = announced;
            if view.news.len() == MOST_NEWS
                && let Some(oldest) = view.news.pop_front()
            {
                view.take(&oldest);
            }
            view.news.push_back(news);
        }
    }

    /// End `x` asks whether a window of zero has opened.
    pub fn probe(&mut self, x: usize) {
        self.views[x].is_probing = true;
    }

    /// End `x` sends something, captured at `now_ns`; returns whether it begins to make losses
    /// good.
    pub fn send(&mut self, x: usize, now_ns: i64, sent: &NewData) -> bool {
        if let Some((last_ns, previous, is_syn)) = self.last {
            let gap_ns = u64::try_from(now_ns.saturating_sub(last_ns)).unwrap_or(0);
            self.explain(x, now_ns, (last_ns, gap_ns), sent, previous == x, is_syn);
        }
        let view = &mut self.views[x];
        view.is_probing = false;
        let mut ended = None;
        let mut begins = false;
        if sent.is_resent {
            if view.acknowledged >= view.recover {
                begins = true;
                view.episodes += 1;
                ended = Some(view.course.interrupt(true));
            }
            view.recover = view.highest.max(sent.end);
        }
        view.highest = view.highest.max(sent.end);
        if view.is_informed && !sent.is_syn {
            let is_recovering = view.acknowledged < view.recover;
            ended = view
                .course
                .send(view.acknowledged, view.highest, (sent.payload, sent.segment), is_recovering)
                .or(ended);
        }
        view.last_payload = sent.payload;
        view.largest = view.largest.max(sent.payload);
        if let Some((cause, ns)) = ended {
            self.spend(x, cause, ns);
        }
        self.last = Some((now_ns.max(self.last.map_or(now_ns, |last| last.0)), x, sent.is_syn));
        begins
    }

    fn explain(
        &mut self,
        x: usize,
        now_ns: i64,
        (last_ns, gap_ns): (i64, u64),
        sent: &NewData,
        is_own: bool,
        after_syn: bool,
    ) {
        let view = &mut self.views[x];
        let is_recovering = view.acknowledged < view.recover;
        let (flight, room) = (view.flight(), view.room());
        let trigger = view.learn(now_ns, last_ns, sent.away_ns.saturating_sub(HANDSHAKE_NS));
        let need = u64::from(sent.payload.min(sent.segment)).max(1);
        let is_short =
            view.last_payload == 0 || !view.last_payload.is_multiple_of(sent.segment.max(1));
        // A host that hands its interface many segments at once may wait until there is room for as
        // many.
        let least_room = need.max(u64::from(view.largest.min(sent.payload)));
        // Full segments that follow each other evenly leave a queue, whether or not the one before
        // was acknowledged: capture behind a slow interface.
        let is_even = is_own && !is_short && gap_ns.abs_diff(view.gap_ns) <= view.gap_ns / EVEN;
        view.gap_ns = if is_own { gap_ns } else { 0 };
        let is_idle = view.flight() == 0 && gap_ns > REACTION_NS && !is_even;
        let is_paused = !is_even
            && gap_ns > REACTION_NS
            && view.usual_ns > 0
            && gap_ns / PAUSED > view.usual_ns;
        let rest = if is_short || is_idle || is_paused {
            WaitCause::SenderApplication
        } else {
            WaitCause::SenderPace
        };
        let since =
            |at_ns: i64| u64::try_from(at_ns.saturating_sub(last_ns)).unwrap_or(0).min(gap_ns);
        let round_trip_ns = sent.least_ns.saturating_add(sent.away_ns);
        let twice = QUEUED.saturating_mul(round_trip_ns);
        // Who waits for an acknowledgement waits longer for it than it then takes.
        let awaited = trigger.filter(|trigger| {
            let wait_ns = since(trigger.at_ns);
            trigger.room_before >= least_room
                && gap_ns - wait_ns <= REACTION_NS.min(wait_ns)
                && !is_short
                && trigger.flight_before > 0
                && (is_own || flight > 0)
        });
        let is_queued = awaited
            .and_then(|trigger| trigger.delay_ns)
            .is_some_and(|ns| ns.saturating_add(sent.away_ns) > twice);
        let is_bulk = !(sent.is_resent || is_recovering || sent.is_syn || after_syn);
        view.course.spend(
            gap_ns,
            is_bulk && awaited.is_some(),
            is_bulk && awaited.is_some() && !is_queued,
        );
        let paused = (is_idle && gap_ns > PAUSE_NS).then(|| view.course.interrupt(false));
        if let Some((cause, ns)) = paused {
            self.spend(x, cause, ns);
        }
        let view = &self.views[x];
        if sent.is_resent || is_recovering {
            self.spend(x, WaitCause::Loss, gap_ns);
            return;
        }
        if sent.is_syn || after_syn {
            // What the handshake takes after its second segment is for the end that goes on to wait
            // for.
            let opening = if sent.is_syn { gap_ns } else { gap_ns.min(sent.away_ns) };
            self.spend(x, WaitCause::Opening, opening);
            self.spend(x, WaitCause::SenderApplication, gap_ns - opening);
            return;
        }
        if let Some(trigger) = trigger {
            let wait_ns = since(trigger.at_ns);
            let is_prompt = gap_ns - wait_ns <= REACTION_NS;
            if trigger.room_before < least_room {
                let late_ns =
                    round_trip_ns.saturating_add(round_trip_ns / LATE).saturating_add(REACTION_NS);
                let is_late =
                    trigger.delay_ns.is_some_and(|ns| ns.saturating_add(sent.away_ns) > late_ns);
                let cause = if is_late {
                    WaitCause::ReceiverApplication
                } else {
                    view.cause_of_window(trigger.window_before)
                };
                self.spend(x, cause, if is_prompt { gap_ns } else { wait_ns });
                self.spend(x, rest, if is_prompt { 0 } else { gap_ns - wait_ns });
                return;
            }
            let is_held = is_own && is_prompt && self.views[x].hold(&trigger, sent, round_trip_ns);
            if is_held {
                self.spend(x, WaitCause::DelayedAck, gap_ns);
                return;
            }
            if awaited.is_some() {
                // The course determines the cause of the other time when the block has ended.
                self.spend(x, WaitCause::Queue, if is_queued { gap_ns } else { 0 });
                return;
            }
        } else if is_own && room < need {
            self.spend(x, view.cause_of_window(view.window()), gap_ns);
            return;
        }
        if is_own {
            if rest == WaitCause::SenderPace {
                let view = &mut self.views[x];
                let mean_ns = view.usual_ns - view.usual_ns / 8 + gap_ns / 8;
                view.usual_ns = if view.usual_ns == 0 { gap_ns } else { mean_ns.max(1) };
            }
            self.spend(x, rest, gap_ns);
        } else {
            let travel_ns = gap_ns.min(sent.away_ns);
            self.spend(x, WaitCause::RoundTrip, travel_ns);
            self.spend(x, WaitCause::TurnAround, gap_ns - travel_ns);
        }
    }

    fn spend(&mut self, x: usize, cause: WaitCause, ns: u64) {
        if ns > 0 {
            self.views[x].spent[cause as usize].add(ns);
        }
    }

    /// Time spent on each cause, in the order of [`WaitCause::ALL`], of a connection that lasted
    /// from `first_ns` to `last_ns`: it is their sum.
    #[must_use]
    pub fn spent_ns(&self, first_ns: i64, last_ns: i64) -> [u64; CAUSES] {
        let mut spent = [0u64; CAUSES];
        for x in 0..self.views.len() {
            for (sum, by_end) in spent.iter_mut().zip(self.spent(x, last_ns)) {
                *sum = sum.saturating_add(by_end.ns);
            }
        }
        let all = u64::try_from(last_ns.saturating_sub(first_ns)).unwrap_or(0);
        let explained: u64 = spent.iter().fold(0, |sum, ns| sum.saturating_add(*ns));
        spent[WaitCause::Opening as usize] += all.saturating_sub(explained);
        spent
    }

    /// Time that end `x` spent on each cause up to `last_ns`, in the order of [`WaitCause::ALL`];
    /// what neither end waited for is left out.
    #[must_use]
    pub fn spent(&self, x: usize, last_ns: i64) -> [CauseTime; CAUSES] {
        let view = &self.views[x];
        let mut spent = view.spent;
        let (cause, ns) = view.course.open_block();
        let stalled = self.stalled(last_ns).filter(|(end, _)| *end == x);
        let stalled_ns = stalled.map_or(0, |(_, ns)| ns);
        for (cause, ns) in [(cause, ns), (WaitCause::ReceiverApplication, stalled_ns)] {
            if ns > 0 {
                spent[cause as usize].add(ns);
            }
        }
        spent
    }

    /// The end that waits at `last_ns` for a window of zero to open, and how long it has since the
    /// last that was sent: it probes the window, or has data outstanding.
    fn stalled(&self, last_ns: i64) -> Option<(usize, u64)> {
        let (sent_ns, ..) = self.last?;
        let since_ns = |x: usize, must_probe: bool| {
            let view = &self.views[x];
            let (acknowledged, edge, since_ns) = match view.news.back() {
                Some(news) => (news.acknowledged, news.edge, news.at_ns.max(sent_ns)),
                None if view.is_informed => (view.acknowledged, view.edge, sent_ns),
                None => return None,
            };
            let has_more = view.is_probing || (!must_probe && view.highest > acknowledged);
            (has_more && edge <= acknowledged).then_some((x, since_ns))
        };
        let mut ends = [(0, true), (1, true), (0, false), (1, false)].into_iter();
        let (x, since_ns) = ends.find_map(|(x, must_probe)| since_ns(x, must_probe))?;
        Some((x, u64::try_from(last_ns.saturating_sub(since_ns)).unwrap_or(0)))
    }

    /// Sizes of two segments of end `x` of which the second waited for the delayed acknowledgement
    /// of the first, as most had them, and the sum of those delays beyond a round trip.
    #[must_use]
    pub fn held(&self, x: usize) -> Option<((u32, u32), u64)> {
        let held = &self.views[x].held;
        held.sizes.map(|sizes| (sizes, held.delayed_ns))
    }

    /// Octets that end `x` has outstanding as it knows; nothing before its first news.
    #[must_use]
    pub fn flight(&self, x: usize) -> u64 {
        if self.views[x].is_informed { self.views[x].flight() } else { 0 }
    }

    /// Times that end `x` began to make losses good: several losses within a round trip count once.
    #[must_use]
    pub fn loss_episodes(&self, x: usize) -> u64 {
        self.views[x].episodes
    }

    /// Round trips in which end `x` waited for acknowledgements.
    #[must_use]
    pub fn rounds(&self, x: usize) -> FlightRounds {
        self.views[x].course.rounds()
    }

    /// Prefetch the view of end `x`.
    pub(crate) fn ask_for_news(&self, x: usize) {
        let news = &self.views[x].news;
        [news.front(), news.back()].into_iter().flatten().for_each(prefetch);
    }

    /// Octets of memory beyond the value itself.
    #[must_use]
    pub fn held_octets(&self) -> usize {
        self.views.iter().map(|view| view.news.capacity() * size_of::<Announcement>()).sum()
    }
}

impl SenderView {
    fn flight(&self) -> u64 {
        if self.is_informed {
            self.highest.saturating_sub(self.acknowledged)
        } else {
            u64::from(self.highest > 0)
        }
    }

    fn room(&self) -> u64 {
        if self.is_informed { self.edge.saturating_sub(self.highest) } else { u64::MAX }
    }

    /// The window as this sender knows it.
    fn window(&self) -> u64 {
        self.edge.saturating_sub(self.acknowledged)
    }

    /// Whether the receiver's buffer is small, or full of what its application has not read;
    /// `window` is what was announced.
    fn cause_of_window(&self, window: u64) -> WaitCause {
        if window == 0
            || window.saturating_mul(4) < self.largest_window.saturating_mul(OPEN_QUARTERS)
        {
            WaitCause::ReceiverApplication
        } else {
            WaitCause::ReceiverWindow
        }
    }

    /// Whether a segment was held back until a delayed acknowledgement came, which is noted: it is
    /// not full, nothing else is outstanding any more, and less was than a receiver acknowledges at
    /// once.
    fn hold(&mut self, trigger: &Trigger, sent: &NewData, round_trip_ns: u64) -> bool {
        let at_once = AT_ONCE.saturating_mul(sent.segment.into());
        let delayed_ns = trigger
            .delay_ns
            .map_or(0, |ns| ns.saturating_add(sent.away_ns).saturating_sub(round_trip_ns));
        let is_held = sent.payload < sent.segment
            && (1..at_once).contains(&trigger.flight_before)
            && self.flight() == 0
            && delayed_ns > DELAYED_NS;
        if is_held {
            self.held.vote((self.last_payload, sent.payload));
            self.held.delayed_ns = self.held.delayed_ns.saturating_add(delayed_ns);
        }
        is_held
    }

    fn take(&mut self, news: &Announcement) {
        if news.edge != u64::MAX {
            self.largest_window =
                self.largest_window.max(news.edge.saturating_sub(news.acknowledged));
        }
        (self.acknowledged, self.edge, self.is_informed) = (news.acknowledged, news.edge, true);
    }

    /// Take in what has arrived by `now_ns`; the last that followed `last_ns` may be what it
    /// waited for.
    fn learn(&mut self, now_ns: i64, last_ns: i64, away_ns: u64) -> Option<Trigger> {
        let mut trigger = None;
        while let Some(news) = self.news.front().copied() {
            let at_ns = news.at_ns.saturating_add_unsigned(away_ns);
            if at_ns > now_ns {
                break;
            }
            self.news.pop_front();
            if at_ns >= last_ns {
                let (room_before, window_before, flight_before) =
                    (self.room(), self.window(), self.flight());
                trigger = Some(Trigger {
                    at_ns,
                    room_before,
                    window_before,
                    flight_before,
                    delay_ns: news.delay_ns,
                });
            }
            self.take(&news);
        }
        trigger
    }
}
