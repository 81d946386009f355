//! The door: a task as one line of JSON, its result likewise.

use crate::stages::{HostStage, StageSampling, try_out};
use crate::transfer::{TransferReceiver, TransferSender, receive, send};
use ethermeter_net::{Error, Timeline};
use serde::{Deserialize, Serialize};

/// What a host can be asked to do.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum HostTask {
    Try { stage: HostStage, sampling: StageSampling },
    Receive(TransferReceiver),
    Send(TransferSender),
}

/// Do a task to its end, which is bounded.
///
/// # Errors
/// If it makes no sense, a number is out of range, or the system refuses.
pub fn perform(line: &str, time: &(impl Timeline + Sync)) -> Result<String, Error> {
    let task = serde_json::from_str(line)
        .map_err(|error| Error::refused("task", error, "a task of a host"))?;
    Ok(match task {
        HostTask::Try { stage, sampling } => written(&try_out(&stage, sampling, time)?),
        HostTask::Receive(receiving) => written(&receive(&receiving, time)?),
        HostTask::Send(sender) => written(&send(&sender, time)?),
    })
}

fn written(result: &impl Serialize) -> String {
    serde_json::to_string(result).expect("results are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    #[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
    use ethermeter_net::HostTime;

    #[test]
    fn a_task_is_read_and_answered_as_json() {
        let answer = perform(
            r#"{"try": {"stage": {"stage": "copy", "octets": 4096}, "sampling": {"samples": 1, "sample_ns": 1000}}}"#,
            &HostTime,
        );
        assert!(answer.expect("a task").starts_with(r#"{"bits_per_s":["#));
    }

    #[test]
    fn what_is_no_task_is_refused() {
        for line in [
            "",
            "{}",
            r#"{"fly": {}}"#,
            r#"{"try": {"stage": {"stage": "copy"}, "sampling": {"samples": 1, "sample_ns": 1000}}}"#,
        ] {
            assert!(
                matches!(perform(line, &HostTime), Err(Error::Refused { what: "task", .. })),
                "{line}"
            );
        }
    }
}
