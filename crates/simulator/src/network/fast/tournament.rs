//! Which lane is first.

use crate::time::{Instant, Span};

/// Who is first: a tournament tree over the times of lanes; of equals, the lane with the lower
/// number.
#[derive(Debug)]
pub(super) struct Tournament {
    leaves: usize,
    /// Time and lane of the winner of each subtree, in pairs that meet: the root is 1, node k and
    /// k + 1 meet in k / 2, and leaves are from `leaves` on.
    pairs: Vec<[(Instant, u32); 2]>,
}

impl Tournament {
    pub fn new(lanes: usize) -> Self {
        let leaves = lanes.next_power_of_two().max(2);
        let mut pairs = vec![[(Instant::NEVER, 0); 2]; leaves];
        for (lane, leaf) in pairs[leaves / 2..].as_flattened_mut().iter_mut().enumerate() {
            leaf.1 = u32::try_from(lane).expect("few lanes");
        }
        Self { leaves, pairs }
    }

    #[inline]
    pub fn first(&self) -> (Instant, u32) {
        self.pairs[0][1]
    }

    /// A lane's time is over; it is set before the first lane is looked up.
    #[inline]
    pub fn park(&mut self, lane: u32) {
        let at = self.leaves + lane as usize;
        self.pairs[at / 2][at % 2].0 = Instant::NEVER;
    }

    #[inline]
    pub fn is_parked(&self, lane: u32) -> bool {
        self.time_of(lane) == Instant::NEVER
    }

    /// The time of a lane.
    #[inline]
    pub fn time_of(&self, lane: u32) -> Instant {
        let at = self.leaves + lane as usize;
        self.pairs[at / 2][at % 2].0
    }

    #[inline]
    pub fn set(&mut self, lane: u32, time: Instant) {
        let mut at = self.leaves + lane as usize;
        let mut winner = (time, lane);
        while at > 1 {
            let side = at % 2;
            at /= 2;
            let pair = &mut self.pairs[at];
            pair[side] = winner;
            let other = pair[side ^ 1];
            // The other one wins if it is earlier, or as early and to the left. Who does is as good
            // as random, and a wrong guess costs more than a level.
            let limit = if side == 1 { winner.0 + Span::PICOSECOND } else { winner.0 };
            winner = if other.0 < limit { other } else { winner };
        }
        self.pairs[0][1] = winner;
    }
}
