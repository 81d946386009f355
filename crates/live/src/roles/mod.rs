//! What a station does in a measurement. Every role ends at a time, and soon after its stop flag is
//! set.

mod requester;
mod requests;
mod responder;
mod sender;
mod sink;
mod talker;

pub use requester::{request, RequestBatch, RequestPlan, RequesterCounts, StationResponses};
pub use requests::Requests;
pub use responder::{respond, ResponderCounts, ResponsePlan, Responses};
pub use sender::{send, SendPlan, Sent};
pub use sink::{sink, SendersClock, SinkPlan, SpeechCounts, StreamBatch, StreamCounts, Sunk};
pub use talker::{talk, TalkPlan, Talked};

use crate::port::Wait;

/// How a role waits for what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// It asks again and again: fastest, and takes a whole processor.
    Spinning,
    /// It sleeps until something comes.
    Sleeping,
    /// It sleeps for a while, then takes what has come meanwhile: cheapest for all, since nobody
    /// needs to be woken for each frame. Times of arrival are then right only if the kernel stamps
    /// them. Roles that answer sleep instead.
    Collecting,
}

impl Attention {
    /// The longest wait after which the stop flag is looked at again.
    const LONGEST_WAIT: Wait = Wait::Milliseconds(20);

    const fn wait(self) -> Wait {
        match self {
            Self::Spinning => Wait::No,
            Self::Sleeping | Self::Collecting => Self::LONGEST_WAIT,
        }
    }
}
