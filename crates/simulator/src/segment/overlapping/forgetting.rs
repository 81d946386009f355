//! Transmissions that are over everywhere are forgotten, and what they did to deferrals is kept.

use super::{NONE, Next, Overlapping, Sent, finished};
use crate::identity::{PositionId, StationId};
use crate::segment::compiled::{CompiledSegment, small};
use crate::segment::counters::Record;
use crate::time::{Instant, Span};

impl Overlapping {
    /// Forget transmissions that are over everywhere, so that contentions can overlap for long.
    pub(super) fn prune<R: Record>(&mut self, compiled: &CompiledSegment, counters: &mut R) {
        let now = match self.next(compiled) {
            Next::Start { at, .. } => at,
            Next::End { index } => self.sent[index].end,
            Next::Calm => return,
        };
        // Who starts from now on may have decided a turnaround time ago.
        let now = now - compiled.turnaround;
        self.mark_overlapped(compiled);
        self.cut(compiled, now);
        // No station that is still to start decided before now, so nothing that was forgotten is
        // missed.
        for station in StationId::first(self.ready.len()) {
            if self.is_over(station) {
                self.ready[station] = self.ready[station].max(now);
                self.decided[station] = None;
            }
        }
        self.forget(compiled);
        self.rejoin(compiled);
        for position in PositionId::first(compiled.place_count) {
            self.find_first_ready(position);
        }
        self.hear_everywhere(compiled);
        let unfinished = self.sent.iter().map(|s| s.start).min().unwrap_or(Instant::NEVER);
        self.report(counters, unfinished);
    }

    /// Move every position's cut to before whatever may still change or come from `now` on, and the
    /// bases with it.
    pub(super) fn cut(&mut self, compiled: &CompiledSegment, now: Instant) {
        for position in PositionId::first(compiled.place_count) {
            // A sender hears itself at once, its neighbours at the same position later.
            let begin = |s: &Sent| {
                let is_own = s.position == position;
                s.start + if is_own { Span::ZERO } else { compiled.delay(s.position, position) }
            };
            let under_way = self.sent.iter().filter(|s| !s.over).map(begin);
            let cut = under_way.min().unwrap_or(now).min(now).max(self.cuts[position]);
            for index in 0..self.senders.len() {
                let station = self.senders[index];
                if compiled.positions[station] == position {
                    self.cut_own(compiled, station, cut);
                }
            }
            self.scratch.copy_from(&self.bases[position]);
            self.hear_into_scratch(
                compiled,
                (position, None),
                self.cuts[position]..cut,
                Instant::PAST,
            );
            self.scratch.forget_before(cut, compiled.gaps[position]);
            std::mem::swap(&mut self.scratch, &mut self.bases[position]);
            self.cuts[position] = cut;
        }
    }

    /// Move the base of a sender to `cut`, or give it one, if its last transmission is over and
    /// began before.
    pub(super) fn cut_own(&mut self, compiled: &CompiledSegment, station: StationId, cut: Instant) {
        if !self.has_base[station] {
            let own = self.sent[self.latest[station] as usize];
            if !own.over || own.start >= cut {
                return;
            }
        }
        self.hear_own(compiled, station, cut);
        self.scratch.forget_before(cut, compiled.gap_of(station));
        std::mem::swap(&mut self.scratch, &mut self.own_bases[station]);
        self.has_base[station] = true;
    }

    /// Forget transmissions whose gaps are over before the cut at every position.
    ///
    /// Waits need not be over: bases have them, and the last transmission that is heard at a
    /// position is never forgotten while contentions overlap, since one that is under way or to
    /// come is heard there after the cut.
    pub(super) fn forget(&mut self, compiled: &CompiledSegment) {
        let mut index = 0;
        let mut moved = vec![NONE; self.sent.len()];
        let mut kept = Vec::with_capacity(self.sent.len());
        for (old, sent) in self.sent.iter().enumerate() {
            let delays = compiled.delays_from(sent.position);
            let needed_by_own =
                self.latest[sent.station] == small(old) && !self.has_base[sent.station];
            let gone = |(&delay, &cut): (&Span, &Instant)| sent.end + delay + compiled.gap < cut;
            if !sent.over || needed_by_own || !delays.iter().zip(&self.cuts).all(gone) {
                moved[old] = small(index);
                index += 1;
                kept.push(*sent);
            } else {
                self.finished.push(finished(sent));
            }
        }
        self.sent = kept;
        for latest in self.latest.iter_mut().filter(|l| **l != NONE) {
            *latest = moved[*latest as usize];
        }
    }

    /// Who has nothing to remember that its neighbours have not is one of them again, once no
    /// station hears its last transmission.
    pub(super) fn rejoin(&mut self, compiled: &CompiledSegment) {
        let (is_sender, has_base) = (&mut self.is_sender, &mut self.has_base);
        let (latest, bases, own_bases) = (&self.latest, &self.bases, &self.own_bases);
        self.senders.retain(|&station| {
            let base = &bases[compiled.positions[station]];
            let alike = has_base[station] && latest[station] == NONE && own_bases[station] == *base;
            if alike {
                (is_sender[station], has_base[station]) = (false, false);
            }
            !alike
        });
    }
}
