//! A port whose frames wait for an emulated medium: it has at most some of them ahead.
//!
//! Credit only holds back. What a note says can at worst let a sender go on as far as its grant and
//! its policer allow.

use super::packet::{bind, interface_index, raw_socket};
use super::system::wait_readable;
use super::{NetworkPort, PortCounters, ReceiveWait, ReceivedPayload, StationAddress};
use crate::port::tcp_info::TcpInfo;
use crate::wire::credit::{CreditNote, NOTE_FRAME_OCTETS};
use crate::{Error, Timeline};
use ethermeter_ethernet::Carrier;
use ethermeter_ethernet::frame::LOCAL_EXPERIMENTAL_2;
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::io::Read;
use std::time::Duration;

/// Frames that a sender has ahead at first. Each that leaves makes room for one more, so that
/// several senders which begin at once do not fill their cards at once.
const FIRST_WINDOW: u64 = 32;

/// How long a sender waits for a note before it looks whether it is to stop.
const WAIT_MS: u16 = 10;

/// Where notes come from.
pub trait CreditNotes {
    /// The next note that has come, waiting for up to some milliseconds if there is none.
    ///
    /// # Errors
    /// If none will ever come any more.
    fn next(&mut self, wait_ms: u16) -> Result<Option<CreditNote>, Error>;
}

/// Notes that come to an interface.
pub struct InterfaceNotes(Socket);

impl InterfaceNotes {
    /// Listen on an interface.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn on(interface: &str) -> Result<Self, Error> {
        let socket = raw_socket()?;
        socket.set_nonblocking(true).map_err(Error::system("listening for credit"))?;
        bind(&socket, interface_index(interface)?, LOCAL_EXPERIMENTAL_2)?;
        Ok(Self(socket))
    }
}

impl CreditNotes for InterfaceNotes {
    fn next(&mut self, wait_ms: u16) -> Result<Option<CreditNote>, Error> {
        let mut frame = [0; NOTE_FRAME_OCTETS];
        for wait_ms in [0, wait_ms] {
            if wait_ms > 0 {
                wait_readable(&self.0, Duration::from_millis(wait_ms.into()));
            }
            while let Ok(octets) = self.0.read(&mut frame) {
                if let Some(note) = CreditNote::read(&frame[..octets]) {
                    return Ok(Some(note));
                }
            }
        }
        Ok(None)
    }
}

/// How a sender waited for credit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CreditCounts {
    /// Times that it had to wait.
    pub waits: u64,
    /// How long in all.
    pub waited_ns: u64,
}

/// A port that has at most a window of frames between its call and the end of their transmission.
///
/// `F` gives the frames of a payload: a datagram may need several.
pub struct CreditedPort<'a, P, N, T, F> {
    port: &'a mut P,
    notes: N,
    time: &'a T,
    frames_of: F,
    window: u64,
    sent: u64,
    /// Frames of each payload of a batch.
    batch: Vec<u64>,
    last: Option<CreditNote>,
    /// Frames of the host in its card that are not of this sender, as far as they are known.
    others: u64,
    /// How it waited so far.
    pub counts: CreditCounts,
}

impl<'a, P: NetworkPort, N: CreditNotes, T: Timeline, F: Fn(usize) -> u64>
    CreditedPort<'a, P, N, T, F>
{
    /// A port that has at most `window` frames ahead, or those of one payload.
    #[must_use]
    pub fn new(port: &'a mut P, notes: N, frames_of: F, window: u32, time: &'a T) -> Self {
        let window = u64::from(window).max(frames_of(port.longest_payload()));
        Self {
            batch: vec![0; port.batch()],
            port,
            notes,
            time,
            frames_of,
            window,
            sent: 0,
            last: None,
            others: 0,
            counts: CreditCounts::default(),
        }
    }

    /// Frames that have not left the card, at most.
    fn ahead(&self) -> u64 {
        let finished = self.last.map_or(0, |note| note.finished);
        self.sent.saturating_sub(finished.saturating_sub(self.others))
    }

    /// Frames that it may have ahead.
    fn window(&self) -> u64 {
        let finished = self.last.map_or(0, |note| note.finished);
        self.window.min(FIRST_WINDOW + finished)
    }

    fn learn(&mut self, note: CreditNote) {
        if self
            .last
            .is_some_and(|last| (note.began_ns, note.finished) < (last.began_ns, last.finished))
        {
            return; // an older one
        }
        if self.last.is_none_or(|last| note.began_ns > last.began_ns) {
            self.others = 0;
        }
        // What this sender has sent may not have arrived yet: the largest difference is the best.
        self.others = self.others.max(note.arrived.saturating_sub(self.sent));
        self.last = Some(note);
    }

    /// Read the notes that have come, and wait for one while there is no room. For how many
    /// payloads there is.
    fn room(&mut self) -> Result<u64, Error> {
        while let Some(note) = self.notes.next(0)? {
            self.learn(note);
        }
        let frames = (self.frames_of)(self.port.longest_payload());
        if self.ahead() + frames > self.window() {
            let from_ns = self.time.now_ns();
            self.counts.waits += 1;
            if let Some(note) = self.notes.next(WAIT_MS)? {
                self.learn(note);
            }
            self.counts.waited_ns += self.time.now_ns() - from_ns;
            return Ok(0); // so that its caller knows that it had to wait
        }
        Ok(self.window().saturating_sub(self.ahead()) / frames)
    }
}

impl<P: NetworkPort, N: CreditNotes, T: Timeline, O: Fn(usize) -> u64> NetworkPort
    for CreditedPort<'_, P, N, T, O>
{
    fn carrier(&self) -> Carrier {
        self.port.carrier()
    }

    fn longest_payload(&self) -> usize {
        self.port.longest_payload()
    }

    fn batch(&self) -> usize {
        self.port.batch()
    }

    fn aim(&mut self, at: StationAddress) -> Result<(), Error> {
        self.port.aim(at)
    }

    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        let room = usize::try_from(self.room()?).unwrap_or(usize::MAX);
        let room = room.min(count).min(self.batch.len());
        if room == 0 {
            return Ok(0);
        }
        let (frames_of, batch) = (&self.frames_of, &mut self.batch);
        let sent = self.port.send(room, |index, octets| {
            let payload_octets = fill(index, octets);
            batch[index] = frames_of(payload_octets);
            payload_octets
        })?;
        self.sent += batch[..sent].iter().sum::<u64>();
        Ok(sent)
    }

    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        wait: ReceiveWait,
        take: F,
    ) -> Result<usize, Error> {
        self.port.receive(wait, take)
    }

    fn is_clear(&mut self) -> Result<bool, Error> {
        while let Some(note) = self.notes.next(0)? {
            self.learn(note);
        }
        Ok(self.ahead() == 0 && self.port.is_clear()?)
    }

    fn tcp(&self) -> Result<Option<TcpInfo>, Error> {
        self.port.tcp()
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.port.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
    use crate::HostTime;
    use crate::port::memory;
    use std::collections::VecDeque;

    /// Notes by hand.
    impl CreditNotes for VecDeque<CreditNote> {
        fn next(&mut self, _: u16) -> Result<Option<CreditNote>, Error> {
            Ok(self.pop_front())
        }
    }

    fn note(began_ns: u64, arrived: u64, finished: u64) -> CreditNote {
        CreditNote { began_ns, arrived, finished }
    }

    /// Payloads taken of ten offered, after each of some batches of notes.
    fn sent_per_batch(window: u32, batches: &[&[CreditNote]]) -> Vec<usize> {
        taken_of(1, window, batches)
    }

    /// Octets of payloads of several frames.
    fn taken_of(frames: u64, window: u32, batches: &[&[CreditNote]]) -> Vec<usize> {
        let (mut one, _other) = memory::connected(|_| memory::FrameFate::Pass, 1000);
        let mut port = CreditedPort::new(&mut one, VecDeque::new(), |_| frames, window, &HostTime);
        let mut send = |notes: &[CreditNote]| {
            port.notes.extend(notes);
            port.send(10, |_, octets| octets.len().min(46)).expect("a port")
        };
        batches.iter().map(|notes| send(notes)).collect()
    }

    #[test]
    fn a_sender_has_no_more_than_its_window_ahead() {
        assert_eq!(sent_per_batch(4, &[&[], &[], &[note(1, 4, 3)], &[]]), [4, 0, 3, 0]);
    }

    #[test]
    fn a_payload_of_several_frames_takes_as_much_of_the_window() {
        assert_eq!(taken_of(4, 10, &[&[], &[note(1, 8, 1)], &[note(1, 8, 2)]]), [2, 0, 1]);
        assert_eq!(taken_of(4, 1, &[&[], &[note(1, 4, 4)]]), [1, 1]);
    }

    #[test]
    fn a_note_that_is_lost_is_made_good_by_the_next_and_an_older_one_is_ignored() {
        assert_eq!(sent_per_batch(4, &[&[], &[note(1, 4, 4)], &[note(1, 4, 2)]]), [4, 4, 0]);
    }

    #[test]
    fn frames_of_others_give_no_credit() {
        // Two frames of others have left: what is left of this sender's four has not.
        assert_eq!(sent_per_batch(4, &[&[], &[note(1, 6, 2)], &[note(1, 6, 6)]]), [4, 0, 4]);
    }

    #[test]
    fn a_medium_that_begins_anew_counts_from_nothing() {
        assert_eq!(sent_per_batch(4, &[&[note(1, 100, 100)], &[note(2, 4, 1)]]), [4, 1]);
    }
}
