//! A process that fills buffers for a transmitter, and the two queues between them (Boggs, Mogul,
//! Kent 1988, figure 3).
//!
//! ```text
//!      ┌── transmitted queue (free buffers) ◄── service: the interrupt routine ──┐
//!      ▼                                                                         │
//!  process fills one ──► output queue (filled buffers, the one being sent first) ──► transmitter
//! ```
//!
//! The process waits while the transmitted queue is empty. What it fills ahead of the transmitter
//! follows from when buffers were freed, so that it is drawn when the transmitter takes it.

use crate::random::Stream;
use crate::times::Times;
use crate::window::Window;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Most buffers of a generator.
pub const MOST_BUFFERS: u32 = 100_000;

/// A process that fills buffers for the transmitter and waits when all are full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// Buffers in the ring between the process and the transmitter.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1, "maximum" = MOST_BUFFERS)))]
    pub buffers: u32,
    /// Time to fill one buffer.
    pub time: Times,
}

/// Times of the buffers of a generator within the measured window, summed over the buffers. Their
/// sum is the window times the number of buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratorTimes {
    /// In the output queue: filled and not yet freed.
    pub output_ps: u128,
    /// In the transmitted queue: free.
    pub transmitted_ps: u128,
    /// Being filled by the process.
    pub filling_ps: u64,
}

/// The buffers of a generator.
#[derive(Clone, Debug)]
pub(crate) struct Buffers {
    generator: Generator,
    chance: Stream,
    window: Window,
    last_filled_ps: u64,
    /// When the buffers were freed that are not filled again.
    freed_ps: VecDeque<u64>,
    /// When the buffer was filled that the transmitter has.
    sent_ps: Option<u64>,
    output_ps: u128,
    filling_ps: u64,
}

impl Buffers {
    pub(crate) fn new(generator: Generator, chance: Stream, window: Window) -> Self {
        let freed_ps = VecDeque::with_capacity(generator.buffers as usize);
        let last_filled_ps = window.begin_ps;
        Self {
            generator,
            chance,
            window,
            last_filled_ps,
            freed_ps,
            sent_ps: None,
            output_ps: 0,
            filling_ps: 0,
        }
    }

    /// The interrupt routine frees the buffer that the transmitter had.
    pub(crate) fn free(&mut self, freed_ps: u64) {
        self.freed_ps.push_back(freed_ps);
        if let Some(filled_ps) = self.sent_ps.take() {
            self.output_ps += u128::from(self.inside(filled_ps, freed_ps));
        }
    }

    /// The transmitter takes the next buffer: when that is filled.
    pub(crate) fn take(&mut self) -> u64 {
        let buffer_ps = if self.freed_ps.len() >= self.generator.buffers as usize {
            self.freed_ps.pop_front().expect("as many as there are buffers")
        } else {
            0
        };
        let filled_ps = self.fill(buffer_ps);
        self.sent_ps = (filled_ps < self.window.stop_ps).then_some(filled_ps);
        filled_ps
    }

    /// Fill a buffer that was freed at `buffer_ps`; when that is done.
    fn fill(&mut self, buffer_ps: u64) -> u64 {
        let from_ps = buffer_ps.max(self.last_filled_ps);
        let filled_ps = from_ps + self.generator.time.draw(&mut self.chance);
        // The process ends with the traffic.
        self.filling_ps += self.inside(from_ps, filled_ps.min(self.window.stop_ps));
        self.last_filled_ps = filled_ps;
        filled_ps
    }

    /// As much of the time from one instant to another as lies within the measured window.
    fn inside(&self, from_ps: u64, to_ps: u64) -> u64 {
        let Window { measure_from_ps, measure_to_ps, .. } = self.window;
        let within = |at_ps: u64| at_ps.clamp(measure_from_ps, measure_to_ps);
        within(to_ps).saturating_sub(within(from_ps))
    }

    /// What buffers did, if the transmitter does nothing more.
    pub(crate) fn finish(mut self) -> GeneratorTimes {
        let Window { stop_ps, measure_from_ps, measure_to_ps, .. } = self.window;
        let mut waiting = 0;
        if let Some(filled_ps) = self.sent_ps {
            self.output_ps += u128::from(self.inside(filled_ps, measure_to_ps));
            waiting += 1;
        }
        // What the process has filled meanwhile, and the transmitter has not taken.
        while self.last_filled_ps < measure_to_ps.min(stop_ps) {
            let buffer_ps = if self.freed_ps.len() + waiting >= self.generator.buffers as usize {
                let Some(freed_ps) = self.freed_ps.pop_front() else { break };
                freed_ps
            } else {
                0
            };
            let filled_ps = self.fill(buffer_ps);
            if filled_ps < stop_ps {
                self.output_ps += u128::from(self.inside(filled_ps, measure_to_ps));
            }
            waiting += 1;
        }
        let window_ps = u128::from(measure_to_ps - measure_from_ps);
        let all_ps = window_ps * u128::from(self.generator.buffers);
        let (output_ps, filling_ps) = (self.output_ps, self.filling_ps);
        let transmitted_ps = all_ps - output_ps - u128::from(filling_ps);
        GeneratorTimes { output_ps, transmitted_ps, filling_ps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const US: u64 = 1_000_000;

    fn buffers(buffers: u32, time_us: u64, from_us: u64, to_us: u64) -> Buffers {
        let generator = Generator { buffers, time: Times::Constant { ps: time_us * US } };
        let window = Window {
            begin_ps: 0,
            stop_ps: 1000 * US,
            measure_from_ps: from_us * US,
            measure_to_ps: to_us * US,
        };
        Buffers::new(generator, Stream::new(1, 0, Purpose::Generation), window)
    }

    /// Send what the buffers hold, each for `sent_us` from when it is filled and the transmitter is
    /// free, until that begins at `until_us` or later.
    fn sent_by(mut buffers: Buffers, sent_us: u64, until_us: u64) -> GeneratorTimes {
        let mut ready_ps = buffers.take();
        while ready_ps < until_us * US {
            let ended_ps = ready_ps + sent_us * US;
            buffers.free(ended_ps);
            ready_ps = buffers.take().max(ended_ps);
        }
        buffers.finish()
    }

    #[test]
    fn two_buffers_of_a_slow_transmitter_by_hand() {
        // Filled at 10 and 20; the first is sent from 10 to 110 and filled again from 110 to 120,
        // the second is sent from 110 to 210 and filled again from 210 to 220, …
        // In 0 to 200: output 10–110, 20–200 (until 210) and 120–200; filling 3 times 10.
        let times = sent_by(buffers(2, 10, 0, 200), 100, 200);
        let output_ps = u128::from((100 + 180 + 80) * US);
        assert_eq!((times.output_ps, times.filling_ps), (output_ps, 30 * US));
        assert_eq!(times.transmitted_ps, u128::from((2 * 200 - 360 - 30) * US));
    }

    #[test]
    fn what_is_filled_ahead_of_a_transmitter_that_stands_still_is_counted() {
        // Filled at 10, 20 and 30, of which the transmitter has the first; then no buffer is free.
        let mut stuck = buffers(3, 10, 0, 100);
        stuck.take();
        let times = stuck.finish();
        assert_eq!((times.output_ps, times.filling_ps), (u128::from(240 * US), 30 * US));
        assert_eq!(times.transmitted_ps, u128::from((300 - 240 - 30) * US));
    }

    #[test]
    fn the_slower_of_both_decides_which_queue_is_full() {
        // Boggs, Mogul, Kent 1988, section 3.3, with the study's 15 buffers.
        let mean = |times: u128| times / u128::from(800 * US);
        let slow_sender = sent_by(buffers(15, 10, 200, 1000), 50, 1000);
        assert_eq!(mean(slow_sender.output_ps), 14); // 14.8: one is refilled 10 of 50 us
        assert_eq!(slow_sender.filling_ps, 16 * 10 * US);
        assert_eq!(slow_sender.transmitted_ps, 0);
        let slow_process = sent_by(buffers(15, 50, 200, 1000), 10, 1000);
        assert_eq!(slow_process.filling_ps, 800 * US, "it runs all the time");
        assert_eq!(slow_process.output_ps, u128::from(16 * 10 * US));
    }

    #[test]
    fn the_process_ends_with_the_traffic() {
        // Filled at 900; the next one would be at 1050, after the stop at 1000.
        let times = sent_by(buffers(2, 150, 800, 1200), 10, 1200);
        assert_eq!(times.output_ps, u128::from(10 * US));
        assert_eq!(times.filling_ps, 200 * US);
    }
}
