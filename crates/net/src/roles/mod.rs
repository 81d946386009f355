//! What a station does in a measurement. Every role ends at a time, and soon after its stop flag is
//! set.

mod requester;
mod requests;
mod responder;
mod sender;
mod sink;
mod talker;

pub use requester::{
    RequestBatch, RequestPlan, RequesterClock, RequesterCounts, StationResponses, request,
};
pub use requests::RequestTraffic;
pub use responder::{ResponderCounts, ResponsePlan, respond};
pub use sender::{SendPlan, SenderCounts, VoiceSenderCounts, VoiceSenderWindow, send};
pub use sink::{
    SenderClockRelation, SinkCounts, SinkPlan, StreamBatch, StreamCounts, StreamWindow,
    VoiceCounts, VoiceWindow, sink,
};
pub use talker::{VoicePlan, talk};

use crate::port::ReceiveWait;
pub use ethermeter_trial::roles::ReceiveMode;

/// The longest wait after which the stop flag is looked at again.
const LONGEST_WAIT: ReceiveWait = ReceiveWait::Milliseconds(20);

impl From<ReceiveMode> for ReceiveWait {
    fn from(mode: ReceiveMode) -> Self {
        match mode {
            ReceiveMode::Spinning => Self::No,
            ReceiveMode::Sleeping | ReceiveMode::Collecting => LONGEST_WAIT,
        }
    }
}
