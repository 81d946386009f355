//! Random service times of stages.

use super::compiled::{CompiledNetwork, Timing};
use crate::time::Span;
use ethermeter_traffic::{Purpose, Stream};
use ethermeter_trial::nodes::Random;

/// What stages draw, each from a stream of its own, in the order in which frames come to it.
#[derive(Debug)]
pub(super) struct Chances(Vec<(Random, Stream)>);

impl Chances {
    pub fn new(compiled: &CompiledNetwork) -> Self {
        let of = |(number, random): (u32, &Random)| {
            (random.clone(), Stream::new(compiled.seed, number, Purpose::Stage))
        };
        Self((0..).zip(&compiled.randoms).map(of).collect())
    }

    /// By how much the service of the next frame takes longer.
    #[inline]
    pub fn draw(&mut self, timing: &Timing) -> Span {
        match timing.random {
            None => Span::ZERO,
            Some(number) => self.draw_of(number as usize),
        }
    }

    #[inline(never)]
    fn draw_of(&mut self, number: usize) -> Span {
        let (random, chance) = &mut self.0[number];
        let has_time = random.one_in == 1 || chance.below(random.one_in.into()) == 0;
        if has_time { Span::from_ps(random.time.draw(chance)) } else { Span::ZERO }
    }
}
