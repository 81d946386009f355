//! What a model of agents needs: numbers of a schedule, and a port that notes what leaves it.

use super::made_time::MadeTime;
use ethermeter_ethernet::{Carrier, Octets};
use ethermeter_net::port::{
    NetworkPort, PortCounters, ReceiveWait, ReceivedPayload, StationAddress,
};
use ethermeter_net::{Error, Timeline};
use std::cell::RefCell;

/// Numbers of a schedule (xorshift64*, Vigna 2016).
pub(super) struct Draws(pub u64);

impl Draws {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(((self.next() >> 32) * bound as u64) >> 32).expect("below the bound")
    }

    pub(super) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// One of the entries; `None` of an empty list.
    pub(super) fn any<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        (!of.is_empty()).then(|| &of[self.below(of.len())])
    }
}

/// What left a port at once: when, to whom, how many frames, and of how many octets each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub at_ns: u64,
    pub target: StationAddress,
    pub frames: u64,
    pub octets: u64,
}

/// A port that takes every frame, and notes it.
pub(super) struct NotingPort<'a> {
    pub time: &'a MadeTime,
    pub target: Option<StationAddress>,
    pub noted: &'a RefCell<Vec<Departure>>,
}

impl NetworkPort for NotingPort<'_> {
    fn carrier(&self) -> Carrier {
        Carrier::UdpOverIpv4
    }

    fn longest_payload(&self) -> usize {
        1472
    }

    fn batch(&self) -> usize {
        64
    }

    fn aim(&mut self, at: StationAddress) -> Result<(), Error> {
        self.target = Some(at);
        Ok(())
    }

    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        let mut payload = [0; 1472];
        let mut longest = 0;
        for index in 0..count {
            longest = longest.max(fill(index, &mut payload));
        }
        let octets = self.carrier().frame_of(Octets(longest as u64)).0;
        let target = self.target.expect("a port that is aimed");
        let frames = count as u64;
        self.noted.borrow_mut().push(Departure {
            at_ns: self.time.now_ns(),
            target,
            frames,
            octets,
        });
        Ok(count)
    }

    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        _: ReceiveWait,
        _: F,
    ) -> Result<usize, Error> {
        Ok(0)
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        Ok(PortCounters::default())
    }
}
