//! Frames under way, in the order in which they leave.

use std::collections::VecDeque;

/// Frames with their times, end to end in one ring of octets: it grows to what a wire holds and
/// stays there.
#[derive(Debug, Default)]
pub struct Transit {
    octets: VecDeque<u8>,
    frames: VecDeque<(u64, usize)>,
}

impl Transit {
    /// Add a frame of these pieces that leaves at `at_ps`, after all the others.
    pub fn push(&mut self, at_ps: u64, chunks: &[&[u8]]) {
        let before = self.octets.len();
        for chunk in chunks {
            self.octets.extend(*chunk);
        }
        self.frames.push_back((at_ps, self.octets.len() - before));
    }

    /// When the next leaves.
    #[inline]
    #[must_use]
    pub fn next_ps(&self) -> Option<u64> {
        self.frames.front().map(|&(at_ps, _)| at_ps)
    }

    /// The next one, in two pieces, the second of which may be empty.
    #[must_use]
    pub fn next_frame(&self) -> Option<(&[u8], &[u8])> {
        let &(_, octets) = self.frames.front()?;
        let (first, second) = self.octets.as_slices();
        let of_first = octets.min(first.len());
        Some((&first[..of_first], &second[..octets - of_first]))
    }

    /// Take the next one away.
    pub fn pop(&mut self) {
        if let Some((_, octets)) = self.frames.pop_front() {
            self.octets.drain(..octets);
        }
    }

    /// How many are under way.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.frames.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in(steps in proptest::collection::vec(proptest::option::of(1..200u8), 1..300)) {
            let mut transit = Transit::default();
            let mut expected = VecDeque::new();
            for (at_ps, step) in (0u64..).zip(steps) {
                if let Some(octets) = step {
                    let frame: Vec<u8> = (0..octets).collect();
                    let (head, tail) = frame.split_at(frame.len() / 3);
                    transit.push(at_ps, &[head, &[], tail]);
                    expected.push_back((at_ps, frame));
                } else if let Some((at_ps, frame)) = expected.pop_front() {
                    prop_assert_eq!(transit.next_ps(), Some(at_ps));
                    let (first, second) = transit.next_frame().expect("one more");
                    prop_assert_eq!([first, second].concat(), frame);
                    transit.pop();
                }
                prop_assert_eq!(transit.frames(), expected.len());
            }
        }
    }
}
