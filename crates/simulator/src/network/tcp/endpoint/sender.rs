//! The TCP sender of an end: which data it sends, and when.

use super::{Endpoint, State, Usage};
use crate::time::Instant;
use ethermeter_ethernet::units::Octets;

impl Endpoint {
    /// Octets that were sent and not acknowledged.
    pub(super) fn outstanding(&self) -> Octets {
        self.next - self.unacknowledged
    }

    /// Octets that are still in the network, as far as acknowledgements tell (RFC 6675 § 4,
    /// `pipe`).
    pub(super) fn pipe(&self) -> Octets {
        let is_counted = self.state != State::Open || self.tcp.limited_transmit;
        let gone =
            if is_counted { self.board.gone() + self.duplicate_octets } else { Octets::ZERO };
        self.outstanding().saturating_sub(gone)
    }

    /// Send what may be sent: what was lost, then what is new.
    pub(super) fn push(&mut self, now: Instant) {
        if self.outstanding() == Octets::ZERO {
            self.resume(now);
        }
        let mut pipe = self.pipe();
        let mut has_sent = false;
        while let Some((from, octets)) = self.board.next_lost() {
            if pipe + octets > self.window.octets && !std::mem::take(&mut self.is_urgent) {
                break;
            }
            self.is_urgent = false;
            if from == self.unacknowledged {
                self.timer.start(now);
            }
            self.counts.retransmitted += self.counted(now);
            self.board.repeat(now, self.tcp.sack);
            self.transmit(now, from, octets);
            pipe += octets;
            has_sent = true;
        }
        if !self.board.has_lost() {
            loop {
                let waiting = self.writable().saturating_sub(self.next);
                let room = self.window.octets.saturating_sub(pipe);
                let octets =
                    waiting.min(self.edge.saturating_sub(self.next)).min(room).min(self.most);
                if octets == Octets::ZERO || !self.is_worth_sending(octets) {
                    break;
                }
                self.send_new(now, octets);
                pipe += octets;
                has_sent = true;
            }
        }
        let is_limit = pipe + self.most > self.window.octets;
        if has_sent || is_limit {
            self.note_usage(is_limit);
        }
        if self.timer.expires.is_none()
            && (self.outstanding() > Octets::ZERO || self.writable() > self.next)
        {
            // With nothing under way it asks whether the window has opened.
            self.timer.start(now);
        }
    }

    /// Nothing was under way for a while.
    pub(super) fn resume(&mut self, now: Instant) {
        let initial = self.most * u64::from(self.tcp.initial_segments);
        if now - self.last_sent > self.timer.timeout && self.window.octets > initial {
            // RFC 5681 § 4.1: after a pause it is not known what the network can take at once.
            self.window.octets = initial;
            self.windows.note(now, initial);
        }
    }

    pub(super) fn note_usage(&mut self, is_limit: bool) {
        let (usage, flight) = (&mut self.usage, self.next - self.unacknowledged);
        if is_limit
            || self.unacknowledged >= usage.until
            || (!usage.is_limit && flight > usage.most_flight)
        {
            *usage = Usage { is_limit, most_flight: flight, until: self.next };
        }
    }

    /// RFC 1122 § 4.2.3.4, with Nagle's rule (RFC 896) or without.
    pub(super) fn is_worth_sending(&self, octets: Octets) -> bool {
        let is_last = self.next + octets == self.queued;
        let is_quiet = self.next == self.unacknowledged;
        octets == self.most
            || (is_last && (is_quiet || !self.tcp.nagle))
            || octets * 2 >= self.window_octets()
    }

    pub(super) fn send_new(&mut self, now: Instant, octets: Octets) {
        if self.outstanding() == Octets::ZERO {
            self.timer.start(now);
            self.window.rest(now - self.last_sent);
        }
        self.board.send(self.next + octets, now);
        self.transmit(now, self.next, octets);
        self.next += octets;
    }

    pub(super) fn transmit(&mut self, now: Instant, from: Octets, octets: Octets) {
        self.counts.segments += self.counted(now);
        self.reduction.out += octets;
        self.last_sent = now;
        if self.received > Octets::ZERO {
            self.quick = 0; // who answers acknowledges with its answers
        }
        self.put_out(from, octets);
    }

    /// The window is shut, or nearly: ask whether it still is (RFC 1122 § 4.2.2.17).
    pub(super) fn probe(&mut self, now: Instant) {
        let room = self.edge.saturating_sub(self.unacknowledged).max(Octets(1));
        let octets = room.min(self.writable() - self.unacknowledged).min(self.most);
        if octets == Octets::ZERO {
            return;
        }
        if self.outstanding() > Octets::ZERO {
            self.counts.retransmitted += self.counted(now);
        }
        self.probing = true;
        self.next = self.unacknowledged;
        self.board.clear(self.next);
        self.send_new(now, octets);
    }
}
