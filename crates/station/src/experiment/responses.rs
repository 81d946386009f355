//! Lengths and times of responses, in the form of a plan.

use super::endpoint::LocalEndpoint;
use crate::refusal::{ConsentRule, Refusal};
use ethermeter_live::roles::ResponseTraffic;
use ethermeter_live::wire::shortest_frame;
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;
use serde::Deserialize;

/// The responses of a station, in the form of a plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponsesText {
    #[serde(default)]
    frames: Option<Lengths>,
    #[serde(default = "at_once")]
    think: Times,
}

fn at_once() -> Times {
    Times::Constant { ps: 0 }
}

/// Read how a station answers: `frames` (as long as requests without) and `think` (at once
/// without), as in the plan of a simulated station.
///
/// # Errors
/// By [`ConsentRule::Description`].
pub fn read_responses(text: &str, seed: u64, station: u32) -> Result<ResponseTraffic, Refusal> {
    let fault = |what: String| {
        Refusal::new(ConsentRule::Description, what, "frames and think as in a plan")
    };
    let ResponsesText { frames, think } =
        serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
    match frames.as_ref().and_then(Lengths::fault).or_else(|| think.fault()) {
        Some(what) => Err(fault(what)),
        None => Ok(ResponseTraffic { frames, think, seed, station }),
    }
}

/// Octets of the longest of frames that carry a mark each, at an endpoint.
///
/// # Errors
/// By [`ConsentRule::Description`], if one has no room for a mark or is not of whole octets, or
/// they are a coder's.
pub fn longest_frame_octets(endpoint: &LocalEndpoint, frames: &Lengths) -> Result<u32, Refusal> {
    let all = match frames {
        Lengths::Fixed { bits } => std::slice::from_ref(bits),
        Lengths::Mix { bits, .. } => bits,
        Lengths::Samples { .. } => {
            return Err(Refusal::new(
                ConsentRule::Description,
                "samples of a coder",
                "requests and answers of fixed or mixed lengths",
            ));
        }
    };
    let longest =
        all.iter().map(|bits| u32::try_from(bits / 8).unwrap_or(u32::MAX)).max().unwrap_or(0);
    let shortest = shortest_frame(endpoint.carrier()).bits().0;
    match all.iter().find(|&&bits| bits % 8 != 0 || bits < shortest) {
        Some(bits) => {
            let allowed =
                format!("whole octets, {shortest} bits at least: each frame carries a mark");
            Err(Refusal::new(ConsentRule::Description, format!("a frame of {bits} bits"), allowed))
        }
        None => Ok(longest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_as_long_as_the_request_and_at_once() {
        let answers = read_responses("{}", 3, 4).expect("answers");
        assert_eq!(
            answers,
            ResponseTraffic { frames: None, think: Times::Constant { ps: 0 }, seed: 3, station: 4 }
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (text, expected) in [
            (r#"{"thinks": 1}"#, "thinks"),
            (r#"{"think": {"kind": "uniform", "low_ps": 5, "high_ps": 3}}"#, "ordered times"),
            (r#"{"frames": {"kind": "mix", "bits": [800], "weights": []}}"#, "weights"),
        ] {
            let refused = read_responses(text, 1, 1).expect_err("refused").to_string();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
