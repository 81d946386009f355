//! Transmissions that are over everywhere are forgotten, and what they did to deferrals is kept.

use super::{Overlapping, Starts};
use crate::identity::PositionId;
use crate::segment::compiled::CompiledSegment;
use crate::segment::counters::Record;
use crate::segment::starts::key_before;
use crate::time::{Instant, Span};

impl Overlapping {
    /// Forget bursts that are over everywhere, so that contentions can overlap for long. Nothing
    /// happens any more before `now`.
    pub(super) fn prune<S: Starts, R: Record>(
        &mut self,
        starts: &mut S,
        compiled: &CompiledSegment,
        now: Instant,
        counters: &mut R,
    ) {
        // Who starts from now on may have decided a turnaround time ago.
        self.cut(compiled, now - compiled.turnaround);
        self.forget(compiled);
        self.rejoin(starts, compiled);
        self.hear_everywhere(compiled);
        self.decide(compiled, 0);
        let unfinished =
            self.bursts.iter().map(|burst| burst.start).min().unwrap_or(Instant::NEVER);
        self.report(counters, unfinished);
    }

    /// Move every position's cut to before whatever may still change or come from `now` on, and let
    /// all hear for good what begins before.
    fn cut(&mut self, compiled: &CompiledSegment, now: Instant) {
        for (position, cut) in PositionId::first(compiled.place_count).zip(&mut self.cuts) {
            // A sender hears itself at once, its neighbours at the same position later.
            let begin = |of: PositionId| {
                if of == position { Span::ZERO } else { compiled.delay(of, position) }
            };
            let under_way = self.bursts.iter().filter(|burst| !burst.is_over);
            let first = under_way.map(|burst| burst.start + begin(burst.position)).min();
            *cut = first.unwrap_or(now).min(now).max(*cut);
        }
        for listener in &mut self.listeners {
            let at = listener.position;
            listener.hear_until(self.cuts[at], &self.signals[at], compiled.gaps[at]);
        }
    }

    /// Forget bursts whose gaps are over before the cut at every position.
    ///
    /// Waits need not be over: deferrals have them, and the last burst that is heard at a position
    /// is never forgotten while contentions overlap, since one that is under way or to come is heard
    /// there after the cut.
    fn forget(&mut self, compiled: &CompiledSegment) {
        let mut kept = 0;
        let mut moved = Vec::with_capacity(self.bursts.len());
        for index in 0..self.bursts.len() {
            let burst = &self.bursts[index];
            let delays = compiled.delays_from(burst.position);
            let gone = |(&delay, &cut): (&Span, &Instant)| burst.end + delay + compiled.gap < cut;
            if burst.is_over && delays.iter().zip(&self.cuts).all(gone) {
                moved.push(None);
            } else {
                moved.push(Some(kept));
                self.bursts.swap(kept, index);
                kept += 1;
            }
        }
        self.forget_from(kept);
        for listener in &mut self.listeners {
            listener.own = listener.own.and_then(|own| moved[own]);
            listener.before = listener.before.iter().filter_map(|&burst| moved[burst]).collect();
        }
    }

    /// Who has nothing to remember that its neighbours have not is one of them again, once no
    /// station hears its last transmission.
    fn rejoin<S: Starts>(&mut self, starts: &mut S, compiled: &CompiledSegment) {
        let mut is_used = vec![false; self.listeners.len()];
        self.waiting.iter().for_each(|waiting| is_used[waiting.listener] = true);
        let places = compiled.place_count;
        let mut kept = places;
        let mut moved: Vec<_> = (0..places).map(Some).collect();
        for index in places..self.listeners.len() {
            let (here, there) = self.listeners.split_at_mut(kept);
            let this = &there[index - kept];
            let here = &mut here[this.position.index()];
            let alike = this.own.is_none()
                && this.before.is_empty()
                && (this.cut, this.deferral) == (here.cut, here.deferral);
            if alike {
                here.first_ready = here.first_ready.min(this.first_ready);
            }
            let stays = is_used[index] && !alike;
            moved.push(stays.then_some(kept));
            if stays {
                self.listeners.swap(kept, index);
                kept += 1;
            }
        }
        self.listeners.truncate(kept);
        let Self { waiting, own, end, .. } = self;
        own.clear();
        waiting.retain_mut(|waiting| {
            let listener = moved[waiting.listener];
            if listener.is_none() {
                let start = waiting.ready + compiled.turnaround;
                own.push((waiting.station, key_before(*end, waiting.station, start)));
            }
            waiting.listener = listener.unwrap_or_default();
            listener.is_some()
        });
        if !self.own.is_empty() {
            starts.defer(&[], &self.own);
        }
    }
}
