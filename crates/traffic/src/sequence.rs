//! The fate of the numbered frames of a stream, counted on arrival in bounded memory.
//!
//! A sender numbers its frames 0, 1, 2, …. Every arrival is exactly one of
//!
//! - *in order*: its number is at least the next expected one, which is one more than the highest
//!   so far (RFC 4737, section 3.3);
//! - *reordered*: its number is below the next expected one, and it has not come before (RFC 4737,
//!   section 3.3, with duplicates set apart);
//! - *duplicate*: its number has come before;
//! - *late*: its number lies so far below the next expected one that it is unknown whether it
//!   came before;
//! - *foreign*: its number lies below the first that is counted.
//!
//! A number is *received* when it arrived in order or reordered, else *missing*, so `sent =
//! received + missing` whatever happens. A late frame does not make a missing number received: what
//! is truly missing lies between `missing - late` and `missing`. A *gap* is a longest run of
//! missing numbers (a loss period of RFC 3357, section 5).

use serde::{Deserialize, Serialize};

/// The class of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// The next expected number or a higher one.
    InOrder,
    /// A lower number than expected, for the first time.
    Reordered,
    /// A number received before.
    Duplicate,
    /// Too far below the next expected number to know.
    Late,
    /// Below the first number that is counted.
    Foreign,
}

/// The fate of the frames of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// Numbers that were sent, from the first that is counted.
    pub sent: u64,
    /// Numbers that arrived, each counted once, late ones not.
    pub received: u64,
    /// Numbers that did not: `sent - received`.
    pub missing: u64,
    /// Received numbers that arrived after a higher one.
    pub reordered: u64,
    /// Arrivals beyond the first of their number.
    pub duplicate: u64,
    /// Arrivals too far behind to be distinguished from duplicates.
    pub late: u64,
    /// Arrivals with numbers below the first that is counted.
    pub foreign: u64,
    /// Runs of missing numbers.
    pub gaps: u64,
    /// Missing numbers of the longest run.
    pub longest_gap: u64,
    /// How far below the highest number so far a reordered one arrived, at most.
    pub farthest_reordered: u64,
}

/// Runs of missing numbers, as numbers are settled in their order.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    count: u64,
    longest: u64,
    running: u64,
}

impl Gaps {
    fn missing(&mut self, numbers: u64) {
        self.count += u64::from(self.running == 0 && numbers > 0);
        self.running += numbers;
        self.longest = self.longest.max(self.running);
    }

    fn received(&mut self) {
        self.running = 0;
    }
}

/// The counter of one stream's arrivals.
///
/// It remembers one bit for each of the last `memory` numbers below the next expected one. The
/// numbers before them are settled.
#[derive(Clone, Debug)]
pub struct Sequence {
    seen: Box<[u64]>,
    first: u64,
    settled: u64, // every number below is settled
    next: u64,    // the next expected number
    gaps: Gaps,
    account: Account,
}

const WORD: u64 = u64::BITS as u64;

impl Sequence {
    /// Greatest sequence number plus one.
    pub const NUMBERS: u64 = 1 << 63;

    /// Count numbers from `first` on and remember the last `memory` of them; that is rounded up to
    /// a multiple of 64.
    #[must_use]
    pub fn new(first: u64, memory: usize) -> Self {
        let words = memory.div_ceil(u64::BITS as usize).max(1);
        let seen = vec![0; words].into_boxed_slice();
        Self {
            seen,
            first,
            settled: first,
            next: first,
            gaps: Gaps::default(),
            account: Account::default(),
        }
    }

    /// Numbers that are remembered.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.seen.len() as u64 * WORD
    }

    /// The next expected number.
    #[must_use]
    pub fn next_expected(&self) -> u64 {
        self.next
    }

    /// Count the arrival of `number`.
    ///
    /// # Panics
    /// If `number` is not below [`Sequence::NUMBERS`]; numbers on the wire have 48 bits.
    #[inline]
    pub fn arrive(&mut self, number: u64) -> Arrived {
        assert!(number < Self::NUMBERS, "a sequence number out of range");
        if number >= self.next {
            self.settle_before((number + 1).saturating_sub(self.memory()));
            self.mark(number);
            self.next = number + 1;
            self.account.received += 1;
            return Arrived::InOrder;
        }
        if number < self.first {
            self.account.foreign += 1;
            return Arrived::Foreign;
        }
        if number < self.settled {
            self.account.late += 1;
            return Arrived::Late;
        }
        if self.is_marked(number) {
            self.account.duplicate += 1;
            return Arrived::Duplicate;
        }
        self.mark(number);
        self.account.received += 1;
        self.account.reordered += 1;
        self.account.farthest_reordered =
            self.account.farthest_reordered.max(self.next - 1 - number);
        Arrived::Reordered
    }

    /// The fate of the numbers from the first on to before `end`, or to the highest that arrived
    /// if that is more.
    ///
    /// `end` is the number of frames that the sender reports; without it, frames lost after the
    /// last arrival are unknown and not counted.
    #[must_use]
    pub fn account(&self, end: Option<u64>) -> Account {
        let end = end.unwrap_or(0).max(self.next);
        let mut gaps = self.gaps;
        for number in self.settled..self.next {
            if self.is_marked(number) {
                gaps.received();
            } else {
                gaps.missing(1);
            }
        }
        gaps.missing(end - self.next);
        let sent = end - self.first;
        Account {
            sent,
            missing: sent - self.account.received,
            gaps: gaps.count,
            longest_gap: gaps.longest,
            ..self.account
        }
    }

    /// Word and bit of `number`.
    #[allow(clippy::cast_possible_truncation)] // the remainder is below the number of words
    fn position(&self, number: u64) -> (usize, u32) {
        ((number / WORD) as usize % self.seen.len(), (number % WORD) as u32)
    }

    fn is_marked(&self, number: u64) -> bool {
        let (word, bit) = self.position(number);
        self.seen[word] >> bit & 1 == 1
    }

    fn mark(&mut self, number: u64) {
        let (word, bit) = self.position(number);
        self.seen[word] |= 1 << bit;
    }

    /// Forget the numbers before `limit`, which are then settled. A number not below `next` never
    /// arrived.
    #[inline]
    fn settle_before(&mut self, limit: u64) {
        while self.settled < limit.min(self.next) {
            let (word, bit) = self.position(self.settled);
            let numbers = (WORD - u64::from(bit)).min(limit.min(self.next) - self.settled);
            let bits = self.seen[word] >> bit;
            if bits == 0 {
                self.gaps.missing(numbers);
                self.settled += numbers;
            } else if bits & 1 == 1 {
                self.seen[word] &= !(1 << bit);
                self.gaps.received();
                self.settled += 1;
            } else {
                let absent = u64::from(bits.trailing_zeros()).min(numbers);
                self.gaps.missing(absent);
                self.settled += absent;
            }
        }
        if self.settled < limit {
            self.gaps.missing(limit - self.settled);
            self.settled = limit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The same definitions with a set of everything that ever arrived.
    fn account_of_sets(first: u64, memory: u64, arrivals: &[u64], end: Option<u64>) -> Account {
        let mut came = BTreeSet::new();
        let mut next = first;
        let mut account = Account::default();
        for &number in arrivals {
            if number < first {
                account.foreign += 1;
            } else if number < next.saturating_sub(memory) {
                account.late += 1;
            } else if !came.insert(number) {
                account.duplicate += 1;
            } else if number < next {
                account.reordered += 1;
                account.farthest_reordered = account.farthest_reordered.max(next - 1 - number);
            }
            next = next.max(number + 1);
        }
        let end = end.unwrap_or(0).max(next);
        account.sent = end - first;
        account.received = came.len() as u64;
        account.missing = account.sent - account.received;
        let mut before = first; // one more than the last number that arrived
        for number in came.into_iter().chain([end]) {
            account.gaps += u64::from(number > before);
            account.longest_gap = account.longest_gap.max(number - before);
            before = number + 1;
        }
        account
    }

    /// Mostly ascending numbers with losses, repetitions, small and large displacements, and jumps.
    fn arrivals() -> impl Strategy<Value = Vec<u64>> {
        let step = prop_oneof![
            20 => Just(1i64),
            4 => 2..5i64,
            4 => -5..=0i64,
            2 => -200..200i64,
            1 => -1000..1000i64,
            1 => 0..100_000i64,
        ];
        proptest::collection::vec(step, 0..400).prop_map(|steps| {
            let mut number = 0u64;
            steps
                .into_iter()
                .map(|step| {
                    number = number.saturating_add_signed(step);
                    number
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn every_count_is_that_of_a_set_of_all_numbers(
            arrivals in arrivals(),
            first in 0..50u64,
            memory in 1..400usize,
            end in proptest::option::of(0..1000u64),
        ) {
            let mut sequence = Sequence::new(first, memory);
            for &number in &arrivals {
                sequence.arrive(number);
            }
            let account = sequence.account(end);
            prop_assert_eq!(account, account_of_sets(first, sequence.memory(), &arrivals, end));
            prop_assert_eq!(account.sent, account.received + account.missing);
            let arrived = account.received + account.duplicate + account.late + account.foreign;
            prop_assert_eq!(arrived, arrivals.len() as u64);
        }

        #[test]
        fn any_numbers_are_counted_without_panic(numbers in proptest::collection::vec(0..Sequence::NUMBERS, 0..50)) {
            let mut sequence = Sequence::new(0, 1000);
            for &number in &numbers {
                sequence.arrive(number);
            }
            let account = sequence.account(None);
            prop_assert_eq!(account.received + account.duplicate + account.late, numbers.len() as u64);
        }
    }

    #[test]
    fn each_arrival_has_one_class() {
        use Arrived::{Duplicate, Foreign, InOrder, Late, Reordered};
        let mut sequence = Sequence::new(1, 64);
        let arrived = [1, 2, 4, 3, 3, 0, 200, 4].map(|number| sequence.arrive(number));
        assert_eq!(
            arrived,
            [InOrder, InOrder, InOrder, Reordered, Duplicate, Foreign, InOrder, Late]
        );
    }

    #[test]
    fn frames_lost_at_the_end_are_missing_only_if_the_sender_says_so() {
        let mut sequence = Sequence::new(0, 64);
        (0..10).for_each(|number| assert_eq!(sequence.arrive(number), Arrived::InOrder));
        assert_eq!(sequence.account(None).missing, 0);
        let account = sequence.account(Some(13));
        assert_eq!(
            (account.sent, account.missing, account.gaps, account.longest_gap),
            (13, 3, 1, 3)
        );
    }
}
