//! What a sender has under way, segment by segment: what the receiver has reported, what is lost,
//! what was sent again.
//!
//! ```text
//! under way ──► selectively acknowledged
//!     │  ▲  └─► acknowledged
//!     ▼  │ sent again
//!    lost
//! ```
//!
//! A segment is lost when one that was sent after it has come, and three segments were selectively
//! acknowledged or a recovery is going on (RFC 6675 § 4 and, for those sent again, RFC 8985 § 6.2,
//! with no time for reordering: no network of this simulator reorders the frames of a flow).

use crate::time::Instant;
use ethermeter_ethernet::units::Octets;
use std::collections::VecDeque;

/// Blocks of data that arrived out of order (RFC 2018), as octets after the cumulative
/// acknowledgement; empty ones are not sent.
pub(super) type Blocks = [(u32, u32); 3];

/// RFC 5681 § 3.2 and RFC 6675 § 2: `DupThresh`.
pub(super) const DUPLICATES: u32 = 3;

/// A segment under way; it begins where the one before it ends.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: Octets,
    at: Instant,
    /// Its place among all transmissions, the last one counts.
    order: u64,
    is_acknowledged: bool,
    is_lost: bool,
    is_repeated: bool,
}

/// What an acknowledgement has brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Octets that nothing had acknowledged before.
    pub delivered: Octets,
    /// Times of transmission of the first and the last segment of these, if each of them was sent
    /// only once.
    pub sent: Option<(Instant, Instant)>,
    is_ambiguous: bool,
}

/// Segments under way.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    begin: Octets,
    transmissions: u64,
    /// The latest transmission that has come.
    latest: u64,
    /// Octets that were selectively acknowledged, and segments.
    acknowledged: Octets,
    acknowledged_segments: u32,
    /// Octets that are lost and not sent again yet.
    lost: Octets,
    /// All segments before this one have been looked at for loss.
    judged: usize,
    /// No segment before this one is lost and not sent again.
    first_lost: usize,
    /// Segments sent again, as (order, end), in that order; only with selective acknowledgements.
    repeated: VecDeque<(u64, Octets)>,
    before: [(Octets, Octets); 3],
}

impl Scoreboard {
    /// Octets that are neither selectively acknowledged nor lost are in the network.
    pub fn gone(&self) -> Octets {
        self.acknowledged + self.lost
    }

    pub fn has_lost(&self) -> bool {
        self.lost > Octets::ZERO
    }

    /// A new segment up to `end` is sent.
    pub fn send(&mut self, end: Octets, at: Instant) {
        self.transmissions += 1;
        self.segments.push_back(Sent {
            end,
            at,
            order: self.transmissions,
            is_acknowledged: false,
            is_lost: false,
            is_repeated: false,
        });
    }

    /// The first segment to be sent again: where it begins and its octets.
    pub fn next_lost(&mut self) -> Option<(Octets, Octets)> {
        if self.lost == Octets::ZERO {
            return None;
        }
        while !self.segments[self.first_lost].is_lost {
            self.first_lost += 1;
        }
        Some(self.span(self.first_lost))
    }

    /// The segment of `next_lost` is sent again.
    pub fn repeat(&mut self, at: Instant, is_selective: bool) {
        let (_, octets) = self.span(self.first_lost);
        self.transmissions += 1;
        let segment = &mut self.segments[self.first_lost];
        (segment.at, segment.order, segment.is_lost, segment.is_repeated) =
            (at, self.transmissions, false, true);
        self.lost -= octets;
        if is_selective {
            self.repeated.push_back((self.transmissions, segment.end));
        }
    }

    fn span(&self, index: usize) -> (Octets, Octets) {
        let begin = index.checked_sub(1).map_or(self.begin, |before| self.segments[before].end);
        (begin, self.segments[index].end - begin)
    }

    /// All before `upto` is acknowledged.
    pub fn advance(&mut self, upto: Octets, news: &mut News) {
        while let Some(&first) = self.segments.front() {
            let octets = first.end.min(upto) - self.begin;
            if octets == Octets::ZERO {
                break;
            }
            self.begin += octets;
            if first.is_acknowledged {
                self.acknowledged -= octets;
            } else {
                self.lost -= if first.is_lost { octets } else { Octets::ZERO };
                news.delivered += octets;
            }
            if first.end > upto {
                break;
            }
            if first.is_acknowledged {
                self.acknowledged_segments -= 1;
            } else {
                self.came(&first, news);
            }
            self.segments.pop_front();
            self.judged = self.judged.saturating_sub(1);
            self.first_lost = self.first_lost.saturating_sub(1);
        }
        self.begin = self.begin.max(upto);
    }

    /// The receiver has these blocks, after `acknowledged`.
    pub fn select(&mut self, acknowledged: Octets, blocks: &Blocks, news: &mut News) {
        let blocks = blocks.map(|(from, end)| {
            (acknowledged + Octets(from.into()), acknowledged + Octets(end.into()))
        });
        for (from, end) in blocks.into_iter().filter(|(from, end)| from < end) {
            // What was reported of a block before need not be looked at again.
            let known =
                self.before.iter().filter(|before| before.0 == from).map(|before| before.1).max();
            let from = known.map_or(from, |known| known.min(end)).max(self.begin);
            let mut index = self.segments.partition_point(|segment| segment.end <= from);
            while self.segments.get(index).is_some_and(|segment| segment.end <= end) {
                let (begin, octets) = self.span(index);
                let segment = self.segments[index];
                if begin >= from && !segment.is_acknowledged {
                    self.lost -= if segment.is_lost { octets } else { Octets::ZERO };
                    self.acknowledged += octets;
                    self.acknowledged_segments += 1;
                    news.delivered += octets;
                    self.came(&segment, news);
                    (self.segments[index].is_acknowledged, self.segments[index].is_lost) =
                        (true, false);
                }
                index += 1;
            }
        }
        self.before = blocks;
    }

    fn came(&mut self, segment: &Sent, news: &mut News) {
        self.latest = self.latest.max(segment.order);
        if segment.is_repeated || news.is_ambiguous {
            // Karn: which of the transmissions has come is not known.
            (news.is_ambiguous, news.sent) = (true, None);
        } else {
            let first = news.sent.map_or(segment.at, |sent| sent.0);
            news.sent = Some((first, segment.at));
        }
    }

    /// Find what is lost by what was selectively acknowledged. Octets that were not known to be.
    pub fn judge(&mut self, is_recovering: bool) -> Octets {
        if !is_recovering && self.acknowledged_segments < DUPLICATES {
            return Octets::ZERO;
        }
        let before = self.lost;
        while self.segments.get(self.judged).is_some_and(|segment| segment.order < self.latest) {
            if !self.segments[self.judged].is_acknowledged {
                self.lose(self.judged);
            }
            self.judged += 1;
        }
        while let Some(&(order, end)) =
            self.repeated.front().filter(|(order, _)| *order < self.latest)
        {
            self.repeated.pop_front();
            let index = self.segments.partition_point(|segment| segment.end < end);
            if self
                .segments
                .get(index)
                .is_some_and(|segment| segment.order == order && !segment.is_acknowledged)
            {
                self.lose(index);
            }
        }
        self.lost - before
    }

    /// The first segment is lost. Octets that were not known to be.
    pub fn lose_first(&mut self) -> Octets {
        let before = self.lost;
        if !self.segments.is_empty() {
            self.lose(0);
        }
        self.lost - before
    }

    fn lose(&mut self, index: usize) {
        if !self.segments[index].is_lost {
            self.segments[index].is_lost = true;
            self.lost += self.span(index).1;
            self.first_lost = self.first_lost.min(index);
        }
    }

    /// All that is not selectively acknowledged is lost.
    pub fn lose_all(&mut self) {
        for index in 0..self.segments.len() {
            if !self.segments[index].is_acknowledged {
                self.lose(index);
            }
        }
        self.judged = self.segments.len();
        self.repeated.clear();
    }

    /// Nothing is under way any more; the next octet sent will be `from`.
    pub fn clear(&mut self, from: Octets) {
        *self = Self {
            begin: from,
            transmissions: self.transmissions,
            latest: self.latest,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> Instant {
        Instant::from_ps(ps)
    }

    /// Ten segments of 100 octets, sent a picosecond apart.
    fn ten() -> Scoreboard {
        let mut board = Scoreboard::default();
        (1..=10).for_each(|number| board.send(Octets(100 * number), at(number)));
        board
    }

    fn select(board: &mut Scoreboard, blocks: Blocks) -> News {
        let mut news = News::default();
        board.select(Octets::ZERO, &blocks, &mut news);
        news
    }

    #[test]
    fn what_was_sent_before_three_reported_segments_is_lost() {
        let mut board = ten();
        assert_eq!(select(&mut board, [(100, 300), (0, 0), (0, 0)]).delivered, Octets(200));
        assert_eq!((board.judge(false), board.gone()), (Octets(0), Octets(200)));
        let news = select(&mut board, [(400, 500), (100, 300), (0, 0)]);
        assert_eq!((news.delivered, news.sent), (Octets(100), Some((at(5), at(5)))));
        // The first and the fourth.
        assert_eq!((board.judge(false), board.gone()), (Octets(200), Octets(500)));
        assert_eq!(board.next_lost(), Some((Octets(0), Octets(100))));
        board.repeat(at(20), true);
        assert_eq!(board.next_lost(), Some((Octets(300), Octets(100))));
        board.repeat(at(21), true);
        assert_eq!((board.next_lost(), board.gone()), (None, Octets(300)));
    }

    #[test]
    fn a_segment_sent_again_is_lost_again_when_a_later_transmission_has_come() {
        let mut board = ten();
        select(&mut board, [(100, 500), (0, 0), (0, 0)]);
        board.judge(false);
        board.next_lost();
        board.repeat(at(20), true);
        // The sixth was sent before it.
        select(&mut board, [(100, 600), (0, 0), (0, 0)]);
        assert_eq!(board.judge(true), Octets(0));
        board.send(Octets(1100), at(21));
        select(&mut board, [(1000, 1100), (100, 600), (0, 0)]);
        // The seventh to the tenth, and the first again.
        assert_eq!(
            (board.judge(true), board.next_lost()),
            (Octets(500), Some((Octets(0), Octets(100))))
        );
    }

    #[test]
    fn an_acknowledgement_counts_what_is_new_and_measures_no_segment_that_was_sent_twice() {
        let mut board = ten();
        select(&mut board, [(100, 500), (0, 0), (0, 0)]);
        board.judge(false);
        board.next_lost();
        board.repeat(at(20), true);
        let mut news = News::default();
        board.advance(Octets(600), &mut news);
        assert_eq!((news.delivered, news.sent, board.gone()), (Octets(200), None, Octets(0)));
        let mut news = News::default();
        board.advance(Octets(850), &mut news);
        assert_eq!((news.delivered, news.sent), (Octets(250), Some((at(7), at(8)))));
        let mut news = News::default();
        board.advance(Octets(1000), &mut news);
        assert_eq!((news.delivered, news.sent), (Octets(150), Some((at(9), at(10)))));
    }

    #[test]
    fn after_a_timeout_all_is_lost_but_what_was_reported() {
        let mut board = ten();
        select(&mut board, [(200, 400), (0, 0), (0, 0)]);
        board.lose_all();
        assert_eq!(board.gone(), Octets(1000));
        let mut found = Vec::new();
        while let Some((from, _)) = board.next_lost() {
            found.push(from.0);
            board.repeat(at(30), true);
        }
        assert_eq!(found, [0, 100, 400, 500, 600, 700, 800, 900]);
    }
}
