//! A network in memory, for tests: two ports and what happens to frames between them.

use super::{NetworkPort, PortCounters, ReceiveWait, ReceivedPayload, StationAddress};
use crate::Error;
use crate::wire::MacAddress;
use ethermeter_ethernet::Carrier;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFate {
    /// It arrives.
    Pass,
    /// It is lost.
    Drop,
    /// It arrives twice.
    Twice,
    /// It arrives after this many of the frames that follow it.
    After(usize),
}

/// Decides by the index of a frame, counted from 0 in each direction.
pub type FateRule = fn(u64) -> FrameFate;

#[derive(Debug, Default)]
struct MemoryDirection {
    arriving: VecDeque<Vec<u8>>,
    held: Vec<(usize, Vec<u8>)>,
    sent: u64,
}

impl MemoryDirection {
    fn pass(&mut self, frame: &[u8], rule: FateRule) {
        let index = self.sent;
        self.sent += 1;
        match rule(index) {
            FrameFate::Pass => self.arriving.push_back(frame.to_vec()),
            FrameFate::Drop => {}
            FrameFate::Twice => self.arriving.extend([frame.to_vec(), frame.to_vec()]),
            FrameFate::After(frames) => {
                // One more, since this frame itself is about to be counted.
                self.held.push((frames + 1, frame.to_vec()));
            }
        }
        for (left, _) in &mut self.held {
            *left -= 1;
        }
        let (due, held) =
            std::mem::take(&mut self.held).into_iter().partition(|(left, _)| *left == 0);
        self.held = held;
        self.arriving.extend(due.into_iter().map(|(_, frame)| frame));
    }
}

/// One end of a network in memory.
#[derive(Debug)]
pub struct MemoryPort {
    outward: Arc<Mutex<MemoryDirection>>,
    inward: Arc<Mutex<MemoryDirection>>,
    other: StationAddress,
    rule: FateRule,
    room: usize,
    buffer: Vec<u8>,
    counters: PortCounters,
}

const LONGEST: usize = 1500;
const BATCH: usize = 32;

/// Two ports; `rule` decides about frames in both directions, and each takes `room` frames before
/// it is full.
#[must_use]
pub fn connected(rule: FateRule, room: usize) -> (MemoryPort, MemoryPort) {
    let (there, back) = <(Arc<Mutex<MemoryDirection>>, Arc<Mutex<MemoryDirection>>)>::default();
    let port = |outward: &Arc<_>, inward: &Arc<_>, other| MemoryPort {
        outward: Arc::clone(outward),
        inward: Arc::clone(inward),
        other: StationAddress::Mac(MacAddress([2, 0, 0, 0, 0, other])),
        rule,
        room,
        buffer: vec![0; LONGEST],
        counters: PortCounters::default(),
    };
    (port(&there, &back, 2), port(&back, &there, 1))
}

impl NetworkPort for MemoryPort {
    fn carrier(&self) -> Carrier {
        Carrier::Raw
    }

    fn longest_payload(&self) -> usize {
        LONGEST
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn aim(&mut self, _at: StationAddress) -> Result<(), Error> {
        Ok(())
    }

    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        let mut direction = self.outward.lock().unwrap_or_else(PoisonError::into_inner);
        for index in 0..count.min(BATCH) {
            let octets = fill(index, &mut self.buffer);
            if direction.arriving.len() >= self.room {
                self.counters.found_full += 1;
                return Ok(index);
            }
            direction.pass(&self.buffer[..octets], self.rule);
            self.counters.taken += 1;
        }
        Ok(count.min(BATCH))
    }

    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        wait: ReceiveWait,
        mut take: F,
    ) -> Result<usize, Error> {
        let frames = std::mem::take(
            &mut self.inward.lock().unwrap_or_else(PoisonError::into_inner).arriving,
        );
        for frame in &frames {
            take(&ReceivedPayload {
                payload: frame,
                from: self.other,
                stamped_ns: None,
                hop_limit: None,
            });
        }
        if frames.is_empty() && wait != ReceiveWait::No {
            std::thread::yield_now();
        }
        self.counters.handed_on += frames.len() as u64;
        Ok(frames.len())
    }

    fn is_clear(&mut self) -> Result<bool, Error> {
        Ok(self.outward.lock().unwrap_or_else(PoisonError::into_inner).arriving.is_empty())
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        Ok(self.counters)
    }
}
