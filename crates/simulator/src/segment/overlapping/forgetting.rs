//! Transmissions that are over everywhere are forgotten, and what they did to deferrals is kept.

use super::{NONE, Next, Overlapping, finished};
use crate::segment::compiled::{CompiledSegment, NEVER, small};
use crate::segment::counters::Record;

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
        for station in 0..self.ready.len() {
            if self.is_over(small(station)) {
                self.ready[station] = self.ready[station].max(now);
            }
        }
        self.forget(compiled);
        self.rejoin(compiled);
        for position in 0..compiled.place_count {
            self.find_first_ready(position);
        }
        self.hear_everywhere(compiled);
        let unfinished = self.sent.iter().map(|s| s.start).min().unwrap_or(NEVER);
        self.report(counters, unfinished);
    }

    /// Move every position's cut to before whatever may still change or come from `now` on, and the
    /// bases with it.
    pub(super) fn cut(&mut self, compiled: &CompiledSegment, now: i64) {
        for position in 0..small(compiled.place_count) {
            let under_way = self
                .sent
                .iter()
                .filter(|s| !s.over)
                .map(|s| s.start + compiled.delay(s.position, position));
            let cut = under_way.min().unwrap_or(now).min(now).max(self.cuts[position as usize]);
            for index in 0..self.senders.len() {
                let station = self.senders[index];
                if compiled.positions[station as usize] == position {
                    self.cut_own(compiled, station, cut);
                }
            }
            self.scratch.copy_from(&self.bases[position as usize]);
            self.hear_into_scratch(
                compiled,
                (position, NONE),
                self.cuts[position as usize]..cut,
                i64::MIN,
            );
            self.scratch.forget_before(cut, compiled.gaps[position as usize]);
            std::mem::swap(&mut self.scratch, &mut self.bases[position as usize]);
            self.cuts[position as usize] = cut;
        }
    }

    /// Move the base of a sender to `cut`, or give it one, if its last transmission is over and
    /// began before.
    pub(super) fn cut_own(&mut self, compiled: &CompiledSegment, station: u32, cut: i64) {
        let index = station as usize;
        if !self.has_base[index] {
            let own = self.sent[self.latest[index] as usize];
            if !own.over || own.start >= cut {
                return;
            }
        }
        self.hear_own(compiled, station, cut);
        self.scratch.forget_before(cut, compiled.gaps[compiled.positions[index] as usize]);
        std::mem::swap(&mut self.scratch, &mut self.own_bases[index]);
        self.has_base[index] = true;
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
            let needed_by_own = self.latest[sent.station as usize] == small(old)
                && !self.has_base[sent.station as usize];
            let gone = |(&delay, &cut): (&i64, &i64)| sent.end + delay + compiled.gap < cut;
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
            let (index, position) =
                (station as usize, compiled.positions[station as usize] as usize);
            let alike =
                has_base[index] && latest[index] == NONE && own_bases[index] == bases[position];
            if alike {
                (is_sender[index], has_base[index]) = (false, false);
            }
            !alike
        });
    }
}
