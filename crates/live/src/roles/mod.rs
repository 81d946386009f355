//! What a station does in a measurement. Every role ends at a time, and soon after its stop flag is
//! set.

mod attention;
mod requester;
mod requests;
mod responder;
mod sender;
mod sink;
mod talker;

pub use attention::ReceiveMode;
pub use requester::{
    RequestBatch, RequestPlan, RequesterClock, RequesterCounts, StationResponses, request,
};
pub use requests::RequestTraffic;
pub use responder::{ResponderCounts, ResponsePlan, ResponseTraffic, respond};
pub use sender::{SendPlan, SenderCounts, VoiceSenderCounts, VoiceSenderWindow, send};
pub use sink::{
    SenderClockRelation, SinkCounts, SinkPlan, StreamBatch, StreamCounts, StreamWindow,
    VoiceCounts, VoiceWindow, sink,
};
pub use talker::{VoicePlan, talk};
