//! The receiving half of an end: what it does with data that come.

use super::{Endpoint, TcpSegment};
use crate::network::tcp::scoreboard::Blocks;
use crate::time::{Instant, Span};
use ethermeter_ethernet::units::Octets;

impl Endpoint {
    /// Take data in. Whether any of them are new.
    pub(super) fn take(&mut self, now: Instant, segment: &TcpSegment) -> bool {
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
        let had_gap = !self.blocks.is_empty();
        if had_gap {
            let reached = self.blocks.iter().take_while(|block| block.0 <= end).count();
            self.received = self.blocks[..reached].last().map_or(end, |last| end.max(last.1));
            self.blocks.drain(..reached);
        }
        self.segments += 1;
        // RFC 5681 § 4.2: at once what fills a gap.
        if had_gap || self.quick > 0 || self.segments >= self.tcp.acknowledge.segments {
            self.must_acknowledge = true;
            self.quick = self.quick.saturating_sub(1);
        } else if self.acknowledge_at.is_none() {
            self.acknowledge_at = Some(now + Span::from_ps(self.tcp.acknowledge.ps));
        }
        let before = self.reading.back().map_or(self.taken, |(_, upto)| *upto);
        self.reads_until = self.reads_until.max(now)
            + Span::from_ps(self.tcp.read_ps_per_octet) * (self.received - before);
        if self.reads_until == now {
            self.taken = self.received;
        } else {
            self.reading.push_back((self.reads_until, self.received));
        }
        true
    }

    pub(super) fn acknowledge(&mut self, now: Instant) {
        self.counts.acknowledgements += self.counted(now);
        self.put_out(self.next, Octets::ZERO);
    }

    /// Keep what arrived beyond a gap, which may overlap other blocks. Whether any of it is new.
    pub(super) fn keep(&mut self, from: Octets, end: Octets) -> bool {
        let (block, is_new) = insert(&mut self.blocks, from, end);
        let others =
            self.recent.into_iter().filter(|other| other.1 <= block.0 || other.0 >= block.1);
        let mut recent = [(Octets::ZERO, Octets::ZERO); 3];
        recent
            .iter_mut()
            .zip(std::iter::once(block).chain(others))
            .for_each(|(slot, range)| *slot = range);
        self.recent = recent;
        is_new
    }

    /// What to tell of the data beyond a gap.
    pub(super) fn blocks(&self) -> Blocks {
        let mut blocks = Blocks::default();
        if !self.tcp.sack || self.blocks.is_empty() {
            return blocks;
        }
        let after = |octet: Octets| {
            u32::try_from((octet - self.received).0).expect("windows are below 2^30 octets")
        };
        let beyond = self.recent.iter().filter(|block| block.0 > self.received);
        blocks
            .iter_mut()
            .zip(beyond)
            .for_each(|(block, &(begin, end))| *block = (after(begin), after(end)));
        blocks
    }

    /// The application has read: say so if the window opens by two segments or half of it, as in
    /// 4.4BSD.
    pub(super) fn widen(&mut self, now: Instant) {
        let opened = self.taken + self.window_octets() - self.promised;
        if opened >= (self.most * 2).min(Octets(self.tcp.window_octets.div_ceil(2))) {
            self.acknowledge(now);
        }
    }
}

/// Put a block among others, which it may overlap or touch. Returns the block that it is now part of,
/// and whether any of it is new.
fn insert(
    blocks: &mut Vec<(Octets, Octets)>,
    from: Octets,
    end: Octets,
) -> ((Octets, Octets), bool) {
    let first = blocks.partition_point(|block| block.1 < from);
    let after = first + blocks[first..].partition_point(|block| block.0 <= end);
    match blocks.get(first).filter(|_| first < after).copied() {
        None => {
            blocks.insert(first, (from, end));
            ((from, end), true)
        }
        Some(block) if block.0 <= from && end <= block.1 => (block, false),
        Some(block) => {
            let joined = (block.0.min(from), blocks[after - 1].1.max(end));
            blocks[first] = joined;
            blocks.drain(first + 1..after);
            (joined, true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Octets, insert};

    #[test]
    fn pieces_that_touch_are_one() {
        let mut blocks = Vec::new();
        for ((from, end), (begins, ends), is_new) in [
            ((10, 20), (10, 20), true),
            ((30, 40), (30, 40), true),
            ((12, 20), (10, 20), false),
            ((20, 30), (10, 40), true),
        ] {
            let block = (Octets(begins), Octets(ends));
            assert_eq!(insert(&mut blocks, Octets(from), Octets(end)), (block, is_new));
        }
        assert_eq!(blocks, [(Octets(10), Octets(40))]);
    }
}
