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
    RequestBatch, RequestPlan, RequesterClock, RequesterCounts, StationResponses, request,
};
pub use requests::Requests;
pub use responder::{ResponderCounts, ResponsePlan, Responses, respond};
pub use sender::{SendPlan, SenderCounts, TalkCounts, TalkWindow, send};
pub use sink::{
    SendersClock, SinkCounts, SinkPlan, SpeechCounts, SpeechWindow, StreamBatch, StreamCounts,
    StreamWindow, sink,
};
pub use talker::{TalkPlan, talk};
