//! Which lane is first.

use crate::time::Instant;

/// Who is first: a tournament tree over the times of lanes; of equals, the lane with the lower
/// number.
#[derive(Debug)]
pub(super) struct Tournament {
    leaves: usize,
    /// Time and lane of the winner of each subtree; leaves from `leaves` on.
    nodes: Vec<(Instant, u32)>,
}

impl Tournament {
    pub fn new(lanes: usize) -> Self {
        let leaves = lanes.next_power_of_two().max(2);
        let mut nodes = vec![(Instant::NEVER, 0); 2 * leaves];
        for (lane, node) in nodes[leaves..].iter_mut().enumerate() {
            node.1 = u32::try_from(lane).expect("few lanes");
        }
        Self { leaves, nodes }
    }

    #[inline]
    pub fn first(&self) -> (Instant, u32) {
        self.nodes[1]
    }

    /// A lane's time is over; it is set before the first lane is looked up.
    #[inline]
    pub fn park(&mut self, lane: u32) {
        self.nodes[self.leaves + lane as usize].0 = Instant::NEVER;
    }

    #[inline]
    pub fn is_parked(&self, lane: u32) -> bool {
        self.time_of(lane) == Instant::NEVER
    }

    /// The time of a lane.
    #[inline]
    pub fn time_of(&self, lane: u32) -> Instant {
        self.nodes[self.leaves + lane as usize].0
    }

    #[inline]
    pub fn set(&mut self, lane: u32, time: Instant) {
        let mut at = self.leaves + lane as usize;
        let mut winner = (time, lane);
        self.nodes[at] = winner;
        while at > 1 {
            // The winner of the other half wins if it is earlier, or as early and to the left.
            let other = self.nodes[at ^ 1];
            let beaten = other.0 < winner.0 || (other.0 == winner.0 && at & 1 == 1);
            winner = if beaten { other } else { winner };
            at >>= 1;
            self.nodes[at] = winner;
        }
    }
}
