//! Answer requests.

use super::Attention;
use crate::port::{Address, Arrival, Port};
use crate::time::Timeline;
use crate::wire::{Kind, Mark, Turn};
use crate::{Error, Face};
use std::sync::atomic::{AtomicBool, Ordering};

/// What is to be answered.
pub struct EchoPlan<'a> {
    /// The experiment; others are not answered.
    pub experiment: u16,
    /// The stream; any of the experiment without.
    pub stream: Option<u16>,
    /// Who may be answered: without this, a forged request would turn the answer against a stranger.
    pub may_answer: &'a (dyn Fn(Address) -> bool + Sync),
    /// Octets of an answer's payload; as long as its request without.
    pub payload_octets: Option<usize>,
    /// When it ends, in the host's time.
    pub until_ns: u64,
    /// After so many answers it ends too.
    pub most_answers: u64,
    /// How it waits.
    pub attention: Attention,
}

/// What was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echoed {
    /// Answers that the kernel took.
    pub answered: u64,
    /// Answers that it did not take; nobody asks it again.
    pub untaken: u64,
    /// Requests of stations that may not be answered.
    pub not_allowed: u64,
    /// Frames that are no requests of the experiment.
    pub strange: u64,
}

/// A request that waits for its answer, between reading and sending.
#[derive(Clone, Copy)]
struct Waiting {
    mark: Mark,
    octets: usize,
    from: Address,
    received_ns: u64,
}

/// Answer until the time is over, the answers are, `stop` is set, or the connection is closed.
///
/// # Errors
/// If receiving or sending is impossible.
pub fn echo<P: Port, T: Timeline>(
    port: &mut P,
    time: &T,
    face: Face,
    plan: &EchoPlan<'_>,
    stop: &AtomicBool,
) -> Result<Echoed, Error> {
    let mut echoed = Echoed::default();
    let mut waiting = Vec::with_capacity(port.batch());
    while echoed.answered < plan.most_answers && !stop.load(Ordering::Relaxed) && time.now_ns() < plan.until_ns {
        waiting.clear();
        let received = port.receive(plan.attention.wait(), |arrival| match request(arrival, plan, time) {
            Some(request) if (plan.may_answer)(request.from) => waiting.push(request),
            Some(_) => echoed.not_allowed += 1,
            None => echoed.strange += 1,
        });
        match received {
            Err(Error::Closed) => break,
            received => received?,
        };
        for request in &waiting {
            answer(port, time, face, request, &mut echoed)?;
        }
    }
    Ok(echoed)
}

#[inline]
fn request<T: Timeline>(arrival: &Arrival<'_>, plan: &EchoPlan<'_>, time: &T) -> Option<Waiting> {
    let mark = Mark::read(arrival.payload).ok()?;
    let is_ours = mark.experiment == plan.experiment && plan.stream.is_none_or(|stream| stream == mark.stream);
    (mark.kind == Kind::Request && is_ours).then(|| Waiting {
        mark,
        octets: plan.payload_octets.unwrap_or(arrival.payload.len()),
        from: arrival.from,
        received_ns: arrival.stamped_ns.unwrap_or_else(|| time.now_ns()),
    })
}

#[inline]
fn answer<P: Port, T: Timeline>(
    port: &mut P,
    time: &T,
    face: Face,
    request: &Waiting,
    echoed: &mut Echoed,
) -> Result<(), Error> {
    port.aim(request.from)?;
    let taken = port.send(1, |_, room| {
        let octets = request.octets.min(room.len());
        Mark { kind: Kind::Response, ..request.mark }.emit(room);
        Turn { received_ns: face.shows(request.received_ns), answered_ns: face.shows(time.now_ns()) }
            .emit(&mut room[..octets]);
        octets
    })?;
    echoed.answered += taken as u64;
    echoed.untaken += 1 - taken as u64;
    Ok(())
}
