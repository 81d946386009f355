//! What has ended on a medium, counted while it goes on: what it keeps does not grow with time.

use super::access::{Access, Counters};
use super::event::Event;
use super::hosts::Hosts;
use super::line::{Kind, Signal};
use super::signals::{FrameNumber, Symbol};
use super::{MOST_KEPT, Medium, Node};
use crate::identity::StationId;
use crate::mac::transmitter::{Attempt, Ending};
use crate::time::{Instant, Span};
use ethermeter_trial::counts::PlcaCounts;

impl<A: Access, H: Hosts> Medium<'_, A, H> {
    /// Take the next event. Whether there was one.
    pub fn step(&mut self) -> bool {
        if self.is_closing() && self.next_at().is_some() && self.close() {
            return true;
        }
        let Some((now, event)) = self.next() else { return false };
        self.advance(now, event);
        true
    }

    /// Take an event, and sum up what has ended from time to time.
    pub(crate) fn advance(&mut self, now: Instant, event: Event<A::Timer>) {
        self.handle(now, event);
        if self.attempts.len() + self.logical.len() + self.signals.len() >= self.sum_up_at {
            self.sum_up_until(now);
        }
    }

    /// Count what had no events at a station until `now`.
    pub(crate) fn catch_up(&mut self, now: Instant, is_included: bool, station: StationId) {
        self.nodes[station].access.catch_up(station, now, is_included, &mut self.counters);
    }

    /// Sum up what has ended and been heard by all nodes at `now`, as far as nothing that began
    /// earlier is still under way.
    pub fn sum_up_until(&mut self, now: Instant) {
        let is_sending = |node: &&Node<A>| node.symbol != Symbol::Silence;
        let under_way = self.nodes.iter().filter(is_sending).map(|node| node.since).min();
        let phy = &self.compiled.phy;
        let heard =
            now - self.compiled.max_delay - phy.transmit - phy.carrier_on.max(phy.carrier_off);
        let begun = under_way.unwrap_or(now);
        self.signals.sort_unstable();
        let ended = self.signals.partition_point(|signal| signal.start < begun);
        self.attempts.sort_by_key(|(a, _)| (a.start, a.station));
        let is_over = |(a, _): &(Attempt, FrameNumber)| a.start < begun && a.end < heard;
        let over = self.attempts.iter().take_while(|attempt| is_over(attempt)).count();
        self.record(ended, over);
        // Numbers rise with the time at which frames begin.
        let on_line =
            |node: &Node<A>| node.under_way.and_then(|frame| frame.on_line).map(|(n, _)| n);
        let kept = self.attempts.iter().map(|&(_, number)| number);
        let kept = kept.chain(self.nodes.iter().filter_map(on_line));
        let kept = kept.map(|number| number.since(self.first_kept)).min();
        let gone = kept.unwrap_or(self.damaged.len());
        self.damaged.drain(..gone);
        self.first_kept = self.first_kept.after(gone);
        self.sum_up_at = MOST_KEPT + self.attempts.len() + self.signals.len();
    }

    /// Sum up everything. Nothing that begins later may have begun before its end.
    pub(crate) fn sum_up(&mut self) {
        self.signals.sort_unstable();
        self.attempts.sort_by_key(|(a, _)| (a.start, a.station));
        self.record(self.signals.len(), self.attempts.len());
        self.first_kept = self.first_kept.after(self.damaged.len());
        self.damaged.clear();
        self.sum_up_at = MOST_KEPT;
    }

    /// Record the first signals and attempts, and all logical collisions.
    fn record(&mut self, signals: usize, attempts: usize) {
        for signal in self.signals.drain(..signals) {
            self.line.record(signal);
        }
        for (mut attempt, number) in self.attempts.drain(..attempts) {
            let is_delivered = attempt.ending == Ending::Delivered;
            attempt.damaged = is_delivered && self.damaged[number.since(self.first_kept)];
            self.hosts.record(&attempt);
        }
        for attempt in self.logical.drain(..) {
            self.hosts.record_logical(&attempt);
        }
    }

    pub(crate) fn note_signal(&mut self, now: Instant, station: StationId, symbol: Symbol) {
        let start = self.nodes[station].since;
        let mut note = |start, end, kind| self.signals.push(Signal { start, end, kind });
        match symbol {
            Symbol::Silence => {}
            Symbol::Beacon => note(start, now, Kind::Beacon),
            Symbol::Commit => note(start, now, Kind::Commit),
            Symbol::End => note(start, now, Kind::Preamble),
            Symbol::Data(_) => {
                let is_delivered =
                    self.attempts.last().is_some_and(|(a, _)| a.ending == Ending::Delivered);
                if is_delivered {
                    let frame = (start + self.compiled.preamble).min(now);
                    note(start, frame, Kind::Preamble);
                    note(frame, now, Kind::Frame);
                } else {
                    note(start, now, Kind::Collision);
                }
            }
        }
    }

    /// Let the nodes hear what is still on its way to them, for the damage that it does.
    fn hear_out(&mut self) {
        while let Some((now, event)) = self.queue.take() {
            if now > self.closing.at {
                self.damage_overlaps();
            }
            if let Event::Hear { station, from, symbol } = event {
                self.take_in(station, from, symbol);
                self.overlap(now, station);
            }
        }
        self.damage_overlaps();
    }

    /// Its hosts, channel time as of [`ethermeter_trial::counts::MediumCounts`], and what was
    /// counted of cycles and opportunities.
    pub fn finish(mut self) -> (H, [u64; 5], Option<PlcaCounts>) {
        for station in StationId::first(self.nodes.len()) {
            self.catch_up(self.end, false, station);
            let symbol = self.nodes[station].symbol;
            self.note_signal(self.end, station, symbol);
        }
        self.hear_out();
        self.sum_up();
        let (medium, plca) = self.line.finish();
        (self.hosts, medium.map(Span::ps), self.counters.finish(plca))
    }
}
