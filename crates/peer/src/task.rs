//! A measurement with a peer as one line of JSON, its result likewise.

use crate::Error;
use crate::iperf3::client::Iperf3Test;
use crate::stamp::sender::StampSession;
use ethermeter_net::Timeline;
use serde::Deserialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// A measurement with a peer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum PeerTask {
    Stamp(StampSession),
    Iperf3(Iperf3Test),
}

/// Perform a measurement; a key is for STAMP's authenticated mode.
///
/// # Errors
/// If the task is not valid, the peer does not answer, refuses or breaks the protocol, the system
/// refuses, or `stop` is set.
pub fn perform(
    line: &str,
    key: Option<&[u8]>,
    time: &(impl Timeline + Sync),
    stop: &AtomicBool,
) -> Result<String, Error> {
    let result = match serde_json::from_str(line)? {
        PeerTask::Stamp(session) => {
            serde_json::to_string(&session.perform(key, time, || stop.load(Ordering::Relaxed))?)
        }
        PeerTask::Iperf3(test) => serde_json::to_string(&test.perform(time, stop)?),
    };
    Ok(result?)
}
