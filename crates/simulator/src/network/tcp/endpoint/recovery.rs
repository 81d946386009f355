//! What an end does with acknowledgements, and where they say or time says that data are lost.

use super::{Endpoint, Reduction, State, TcpSegment};
use crate::network::tcp::scoreboard::{DUPLICATES, News};
use crate::time::Instant;
use ethermeter_ethernet::units::Octets;
use ethermeter_trial::transfer::Recovery;

impl Endpoint {
    /// What a segment says of the data sent.
    pub(super) fn hear(&mut self, now: Instant, segment: &TcpSegment, is_duplicate: bool) {
        let mut news = News::default();
        let has_advanced = segment.acknowledges > self.unacknowledged;
        if self.tcp.sack {
            self.board.select(segment.acknowledges, &segment.blocks, &mut news);
        }
        if has_advanced {
            self.advance(segment.acknowledges, &mut news);
        }
        if let Some((first, last)) = news.sent {
            self.timer.measure(now - first);
            self.window.measure(now, now - last, self.unacknowledged, self.next);
        }
        let is_reached = self.recover.is_some_and(|recover| self.unacknowledged >= recover);
        let ends_at_once = !self.tcp.sack && self.tcp.recovery == Recovery::Reno;
        let is_over = match self.state {
            State::Open => false,
            State::Recovery => is_reached || (has_advanced && ends_at_once),
            State::Loss => is_reached,
        };
        if is_over {
            self.be_open();
        }
        if is_duplicate && !self.tcp.sack && self.state != State::Loss {
            news.delivered += self.add_duplicate();
        }
        let lost = self.find_lost(has_advanced);
        if self.state == State::Open && self.board.has_lost() {
            self.recover_from_loss(now);
        }
        if self.state == State::Recovery {
            if has_advanced && lost > Octets::ZERO && !self.tcp.sack {
                self.is_urgent = true; // RFC 6582 § 3.2: the first segment that a partial acknowledgement leaves
            }
            if self.tcp.prr {
                self.reduce(news.delivered, has_advanced && lost == Octets::ZERO);
            }
        } else if has_advanced && self.is_window_used() {
            self.window.grow(now, news.delivered);
        }
        self.windows.note(now, self.window.octets);
        if has_advanced {
            self.timer.stop();
            if self.outstanding() > Octets::ZERO {
                self.timer.start(now);
            }
        }
    }

    /// More was acknowledged.
    pub(super) fn advance(&mut self, upto: Octets, news: &mut News) {
        let more = upto - self.unacknowledged;
        self.unacknowledged = upto;
        self.next = self.next.max(upto);
        self.has_advanced = true;
        self.board.advance(upto, news);
        if self.duplicate_octets > Octets::ZERO {
            // A segment has filled the gap, and the others are those that duplicates told of.
            news.delivered = more.saturating_sub(self.duplicate_octets).max(more.min(self.most));
            self.duplicate_octets =
                self.duplicate_octets.saturating_sub(more.saturating_sub(self.most));
        }
        self.duplicates = 0;
        if self.state == State::Open {
            self.duplicate_octets = Octets::ZERO;
        }
    }

    /// A duplicate acknowledgement: a segment has come, which one is not said. Its octets.
    pub(super) fn add_duplicate(&mut self) -> Octets {
        self.duplicates += 1;
        let before = self.duplicate_octets;
        self.duplicate_octets =
            (before + self.most).min(self.outstanding().saturating_sub(self.most)).max(before);
        self.duplicate_octets - before
    }

    /// Find out what was lost. Octets that were not known to be.
    pub(super) fn find_lost(&mut self, has_advanced: bool) -> Octets {
        if self.tcp.sack {
            return self.board.judge(self.state == State::Recovery);
        }
        let is_found = match self.state {
            State::Open => {
                self.duplicates >= DUPLICATES
                    && self.recover.is_none_or(|recover| self.unacknowledged > recover)
            }
            State::Recovery => has_advanced,
            State::Loss => false,
        };
        if is_found { self.board.lose_first() } else { Octets::ZERO }
    }

    /// What the congestion control reduces: what is under way, but for what limited transmit has
    /// added.
    pub(super) fn flight(&self) -> Octets {
        self.outstanding().min(self.window.octets)
    }

    pub(super) fn recover_from_loss(&mut self, now: Instant) {
        let flight = self.flight();
        self.window.reduce(flight);
        self.reduction = Reduction { flight, ..Reduction::default() };
        if !self.tcp.prr {
            self.window.octets = self.window.threshold;
        }
        (self.state, self.recover, self.is_urgent) = (State::Recovery, Some(self.next), true);
        self.counts.fast_retransmissions += self.counted(now);
    }

    /// Set the window to what may be sent after so many octets were delivered.
    pub(super) fn reduce(&mut self, delivered: Octets, is_good: bool) {
        if delivered == Octets::ZERO && !self.is_urgent {
            return;
        }
        let (pipe, threshold, reduction) =
            (self.pipe(), self.window.threshold, &mut self.reduction);
        reduction.delivered += delivered;
        let mut octets = if pipe > threshold {
            let due = u128::from(threshold.0) * u128::from(reduction.delivered.0)
                / u128::from(reduction.flight.0.max(1));
            let due = u64::try_from(due).expect("no more than was delivered");
            Octets(due.next_multiple_of(self.most.0)).saturating_sub(reduction.out)
        } else {
            let owed = reduction.delivered.saturating_sub(reduction.out).max(delivered);
            (owed + if is_good { self.most } else { Octets::ZERO }).min(threshold - pipe)
        };
        if self.reduction.out == Octets::ZERO {
            octets = octets.max(self.most);
        }
        self.window.octets = pipe + octets;
    }

    /// Recovery, or loss, is over.
    pub(super) fn be_open(&mut self) {
        if self.state == State::Recovery {
            let burst = self.outstanding().max(self.most) + self.most;
            let is_bounded =
                !self.tcp.prr && !self.tcp.sack && self.tcp.recovery == Recovery::NewReno;
            // RFC 6582 § 3.2, step 3; Linux takes the threshold.
            self.window.octets =
                if is_bounded { self.window.threshold.min(burst) } else { self.window.threshold };
        }
        (self.state, self.duplicate_octets, self.is_urgent) = (State::Open, Octets::ZERO, false);
    }

    pub(super) fn is_window_used(&self) -> bool {
        self.usage.is_limit
            || (self.window.is_slow_start() && self.window.octets < self.usage.most_flight * 2)
    }

    pub(super) fn time_out(&mut self, now: Instant) {
        self.timer.back_off();
        if self.probing || self.outstanding() == Octets::ZERO {
            return self.probe(now);
        }
        self.counts.timeouts += self.counted(now);
        // Within a recovery the threshold is that of this loss already, and a second timeout tells
        // of no other.
        let is_another = match self.state {
            State::Open => true,
            State::Recovery => false,
            State::Loss => self.has_advanced,
        };
        if is_another {
            self.window.reduce(self.flight());
        }
        self.window.forget();
        (self.state, self.recover, self.has_advanced) = (State::Loss, Some(self.next), false);
        (self.duplicates, self.duplicate_octets, self.is_urgent) = (0, Octets::ZERO, true);
        self.board.lose_all();
        self.window.octets = self.pipe() + self.most;
        self.windows.note(now, self.window.octets);
        self.push(now);
    }
}
