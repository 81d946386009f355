//! When stations at a position defer, by the signals that they hear.

use crate::mac::csma_cd::Gap;
use crate::time::Instant;

/// A time in which stations defer: from carrier until the gap after it, and the wait if they have
/// one, is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deferral {
    pub from: Instant,
    pub carrier_off: Instant,
    pub own: bool,
}

/// The deferrals that follow from signals given in the order of their arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Deferrals {
    pub list: Vec<Deferral>,
}

impl Deferrals {
    pub fn begin_own(&mut self, start: Instant, end: Instant) {
        self.list.clear();
        self.list.push(Deferral { from: start, carrier_off: end, own: true });
    }

    /// Hear a signal from `on` to `off`.
    pub fn hear(&mut self, on: Instant, off: Instant, gap: Gap) {
        let Some(last) = self.list.last_mut() else {
            self.list.push(Deferral { from: on, carrier_off: off, own: false });
            return;
        };
        let over = last.carrier_off + gap.length;
        let is_watched = !last.own || gap.is_watched_after_own;
        if on <= last.carrier_off || (on < last.carrier_off + gap.part1 && is_watched) {
            last.carrier_off = last.carrier_off.max(off);
        } else if on >= over {
            self.list.push(Deferral { from: on, carrier_off: off, own: false });
        } else if off >= over {
            // Not watched when it arrived, but still there when the gap is over.
            self.list.push(Deferral { from: over, carrier_off: off, own: false });
        }
    }

    /// Forget what no signal that begins at `cut` or later, and no station that is ready then or
    /// later, can tell from never having been.
    pub fn forget_before(&mut self, cut: Instant, gap: Gap) {
        // Without a gap, what begins to be heard with the end of a signal still joins it.
        self.list.retain(|deferral| deferral.carrier_off + gap.length >= cut);
        for deferral in self.list.iter_mut().filter(|deferral| deferral.from < cut) {
            deferral.from = Instant::PAST;
            // Before it no station is ready; so an own transmission differs from others' only in
            // that its gap is not watched.
            deferral.own &= !gap.is_watched_after_own;
        }
    }

    pub fn copy_from(&mut self, other: &Self) {
        self.list.clear();
        self.list.extend_from_slice(&other.list);
    }

    /// When a station that is ready at `ready` decides to start, as far as is known.
    pub fn decision(&self, ready: Instant, gap: Gap) -> Instant {
        for deferral in &self.list {
            if ready <= deferral.from && !deferral.own {
                return ready;
            }
            if ready <= deferral.carrier_off + gap.length {
                return deferral.carrier_off + gap.length;
            }
        }
        ready
    }
}
