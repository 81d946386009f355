//! The receiving half of an end: what it does with data that come.

use super::{Endpoint, Segment};
use crate::network::transfer::scoreboard::Blocks;

impl Endpoint {
    /// Take data in. Whether any of them are new.
    pub(super) fn take(&mut self, now: u64, segment: &Segment) -> bool {
        let (from, end) = (segment.from, segment.from + segment.octets);
        if end <= self.received || end > self.promised {
            self.must_acknowledge = true; // it was received before, or there is no room for it
            return false;
        }
        if from > self.received {
            self.must_acknowledge = true;
            return self.keep(from, end);
        }
        self.received = end;
        let had_gap = !self.pieces.is_empty();
        if had_gap {
            let reached = self.pieces.iter().take_while(|piece| piece.0 <= end).count();
            self.received = self.pieces[..reached].last().map_or(end, |last| end.max(last.1));
            self.pieces.drain(..reached);
        }
        self.segments += 1;
        // RFC 5681 § 4.2: at once what fills a gap.
        if had_gap || self.quick > 0 || self.segments >= self.tcp.acknowledge.segments {
            self.must_acknowledge = true;
            self.quick = self.quick.saturating_sub(1);
        } else if self.acknowledge_at.is_none() {
            self.acknowledge_at = Some(now + self.tcp.acknowledge.ps);
        }
        let before = self.reading.back().map_or(self.taken, |(_, upto)| *upto);
        self.reads_until =
            self.reads_until.max(now) + (self.received - before) * self.tcp.read_ps_per_octet;
        if self.reads_until == now {
            self.taken = self.received;
        } else {
            self.reading.push_back((self.reads_until, self.received));
        }
        true
    }

    pub(super) fn acknowledge(&mut self, now: u64) {
        self.counts.acknowledgements += self.counted(now);
        self.put_out(self.next, 0);
    }

    /// Keep what arrived beyond a gap, which may overlap other pieces. Whether any of it is new.
    pub(super) fn keep(&mut self, from: u64, end: u64) -> bool {
        let (piece, is_new) = insert(&mut self.pieces, from, end);
        let others =
            self.recent.into_iter().filter(|other| other.1 <= piece.0 || other.0 >= piece.1);
        let mut recent = [(0, 0); 3];
        recent
            .iter_mut()
            .zip(std::iter::once(piece).chain(others))
            .for_each(|(place, of)| *place = of);
        self.recent = recent;
        is_new
    }

    /// What to tell of the data beyond a gap.
    pub(super) fn blocks(&self) -> Blocks {
        let mut blocks = Blocks::default();
        if !self.tcp.sack || self.pieces.is_empty() {
            return blocks;
        }
        let after = |octet: u64| {
            u32::try_from(octet - self.received).expect("windows are below 2^30 octets")
        };
        let pieces = self.recent.iter().filter(|piece| piece.0 > self.received);
        blocks
            .iter_mut()
            .zip(pieces)
            .for_each(|(block, piece)| *block = (after(piece.0), after(piece.1)));
        blocks
    }

    /// The application has read: say so if the window opens by two segments or half of it, as in
    /// 4.4BSD.
    pub(super) fn widen(&mut self, now: u64) {
        let opened = self.taken + self.tcp.window_octets - self.promised;
        if opened >= (2 * self.most).min(self.tcp.window_octets.div_ceil(2)) {
            self.acknowledge(now);
        }
    }
}

/// Put a piece among others, which it may overlap or touch. The piece that it is now part of, and
/// whether any of it is new.
fn insert(pieces: &mut Vec<(u64, u64)>, from: u64, end: u64) -> ((u64, u64), bool) {
    let first = pieces.partition_point(|piece| piece.1 < from);
    let after = first + pieces[first..].partition_point(|piece| piece.0 <= end);
    match pieces.get(first).filter(|_| first < after).copied() {
        None => {
            pieces.insert(first, (from, end));
            ((from, end), true)
        }
        Some(piece) if piece.0 <= from && end <= piece.1 => (piece, false),
        Some(piece) => {
            let joined = (piece.0.min(from), pieces[after - 1].1.max(end));
            pieces[first] = joined;
            pieces.drain(first + 1..after);
            (joined, true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::insert;

    #[test]
    fn pieces_that_touch_are_one() {
        let mut pieces = Vec::new();
        assert_eq!(insert(&mut pieces, 10, 20), ((10, 20), true));
        assert_eq!(insert(&mut pieces, 30, 40), ((30, 40), true));
        assert_eq!(insert(&mut pieces, 12, 20), ((10, 20), false));
        assert_eq!(insert(&mut pieces, 20, 30), ((10, 40), true));
        assert_eq!(pieces, [(10, 40)]);
    }
}
