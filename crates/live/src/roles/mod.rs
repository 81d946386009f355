//! What a station does in a measurement. Every role ends at a time, and soon after its stop flag is
//! set.

mod attention;
mod requester;
mod requests;
mod responder;
mod sender;
mod sink;
mod talker;

pub use attention::Attention;
pub use requester::{
    request, RequestBatch, RequestPlan, RequesterClock, RequesterCounts, StationResponses,
};
pub use requests::Requests;
pub use responder::{respond, ResponderCounts, ResponsePlan, Responses};
pub use sender::{send, SendPlan, SenderCounts, TalkCounts, TalkWindow};
pub use sink::{
    sink, SendersClock, SinkCounts, SinkPlan, SpeechCounts, SpeechWindow, StreamBatch,
    StreamCounts, StreamWindow,
};
pub use talker::{talk, TalkPlan};
