//! Parameters of a test and results of a server, as JSON.

use crate::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Transport of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TestProtocol {
    /// A stream of octets.
    Tcp,
    /// Datagrams.
    Udp,
}

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TestDirection {
    /// From this host to the server.
    Up,
    /// From the server to this host.
    Down,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub struct TestParameters {
    /// Transport.
    pub protocol: TestProtocol,
    /// Direction.
    pub direction: TestDirection,
    /// Parallel streams.
    pub streams: u32,
    /// Time, in whole seconds, rounded up; the server gives up some seconds later.
    pub seconds: u64,
    /// Octets of a datagram, or of what is written to a stream at once.
    pub octets: usize,
    /// Bits per second of each stream; 0: as fast as possible.
    pub rate_bps: u64,
}

impl TestParameters {
    /// JSON text of the parameters.
    #[must_use]
    pub fn text(&self) -> String {
        let mut parameters = json!({
            "omit": 0,
            "time": self.seconds,
            "num": 0,
            "blockcount": 0,
            "parallel": self.streams,
            "len": self.octets,
            "pacing_timer": 1000,
            "client_version": "3.12",
        });
        let (name, value) = match self.protocol {
            TestProtocol::Tcp => ("tcp", true),
            TestProtocol::Udp => ("udp", true),
        };
        parameters[name] = Value::Bool(value);
        if self.direction == TestDirection::Down {
            parameters["reverse"] = Value::Bool(true);
        }
        if self.protocol == TestProtocol::Udp {
            parameters["udp_counters_64bit"] = 1.into();
        }
        if self.rate_bps > 0 {
            parameters["bandwidth"] = self.rate_bps.into();
        }
        parameters.to_string()
    }
}

/// Number of a stream in results: 1, 3, 4, 5, ….
#[must_use]
pub const fn stream_number(index: u32) -> u32 {
    if index == 0 { 1 } else { index + 2 }
}

/// Results of one stream at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct StreamResult {
    /// Number of the stream.
    pub id: u32,
    /// Octets of payload that this end sent or received.
    pub bytes: f64,
    /// Segments that a sender sent again; where that is unknown, -1, which version 3.12 writes as
    /// 2^64 - 1.
    pub retransmits: f64,
    /// Jitter of arrivals (RFC 3550), in seconds.
    pub jitter: f64,
    /// Datagrams that a receiver missed.
    pub errors: f64,
    /// Datagrams that a sender sent, or highest number that a receiver saw.
    pub packets: f64,
    /// When data began and ended, in seconds.
    #[serde(default)]
    pub start_time: f64,
    /// See there; 0 from servers that do not report it.
    #[serde(default)]
    pub end_time: f64,
}

/// Results of one end.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct EndResults {
    /// Processor time over time, in percent of one processor.
    pub cpu_util_total: f64,
    /// Of it in programs.
    #[serde(default)]
    pub cpu_util_user: f64,
    /// Of it in the kernel.
    #[serde(default)]
    pub cpu_util_system: f64,
    /// Whether a sender knows what it sent again: 1, 0, or -1 of a receiver, written likewise.
    pub sender_has_retransmits: f64,
    /// Congestion control of TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// By stream.
    pub streams: Vec<StreamResult>,
}

impl EndResults {
    /// Segments that a sender sent again, if it knows.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below 2^53
    pub fn sent_again(&self) -> Option<u64> {
        let counts = self.streams.iter().map(|stream| stream.retransmits);
        let is_known = (0.5..1.5).contains(&self.sender_has_retransmits)
            && counts.clone().all(|count| (0.0..MOST_COUNT).contains(&count));
        is_known.then(|| counts.sum::<f64>() as u64)
    }
}

/// Above it, 2^53, numbers of JSON are not exact.
const MOST_COUNT: f64 = 9e15;
/// Longest time of a stream in results.
const LONGEST_S: f64 = 86_400.0;

impl EndResults {
    /// Read a server's results for so many streams.
    ///
    /// # Errors
    /// If it is not JSON of results, if streams are missing, or if a number cannot be right.
    pub fn read(text: &[u8], streams: u32) -> Result<Self, Error> {
        let wrong = |why: String| Error::Peer(format!("results of the server: {why}"));
        let results: Self =
            serde_json::from_slice(text).map_err(|error| wrong(error.to_string()))?;
        let numbers: Vec<u32> = results.streams.iter().map(|stream| stream.id).collect();
        if numbers != (0..streams).map(stream_number).collect::<Vec<_>>() {
            return Err(wrong(format!("{} streams, expected {streams}", numbers.len())));
        }
        for stream in &results.streams {
            let counts = [stream.bytes, stream.errors, stream.packets];
            let times = [stream.jitter, stream.start_time, stream.end_time];
            let are_right = counts.iter().all(|count| (0.0..MOST_COUNT).contains(count))
                && times.iter().all(|time| (0.0..LONGEST_S).contains(time))
                && stream.start_time <= stream.end_time;
            if !are_right {
                return Err(wrong(format!("stream {}: numbers out of range", stream.id)));
            }
        }
        if !(0.0..1e6).contains(&results.cpu_util_total) {
            return Err(wrong("cpu_util_total out of range".into()));
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_keys_of_iperf3() {
        let parameters = TestParameters {
            protocol: TestProtocol::Udp,
            direction: TestDirection::Down,
            streams: 2,
            seconds: 3,
            octets: 1448,
            rate_bps: 5_000_000,
        };
        let written: Value = serde_json::from_str(&parameters.text()).expect("JSON");
        for (key, value) in [
            ("udp", Value::Bool(true)),
            ("reverse", Value::Bool(true)),
            ("udp_counters_64bit", 1.into()),
            ("bandwidth", 5_000_000.into()),
            ("len", 1448.into()),
            ("time", 3.into()),
            ("parallel", 2.into()),
        ] {
            assert_eq!(written[key], value, "{key}");
        }
        assert_eq!(written.get("tcp"), None);
    }

    #[test]
    fn streams_are_numbered_as_iperf3_does() {
        assert_eq!([0, 1, 2, 3].map(stream_number), [1, 3, 4, 5]);
    }

    #[test]
    fn a_receiver_knows_nothing_of_retransmissions() {
        let text = r#"{"cpu_util_total": 2.2, "sender_has_retransmits": HAS, "streams": [{"id": 1,
            "bytes": 69, "retransmits": AGAIN, "jitter": 0, "errors": 0, "packets": 0}]}"#;
        for (has, again, expected) in [
            ("18446744073709551615", "18446744073709551615", None),
            ("-1", "-1", None),
            ("1", "7", Some(7)),
        ] {
            let text = text.replace("HAS", has).replace("AGAIN", again);
            let results = EndResults::read(text.as_bytes(), 1).expect("results");
            assert_eq!(results.sent_again(), expected);
        }
    }

    #[test]
    fn results_that_cannot_be_right_are_refused() {
        let with = |stream: &str| {
            let text = format!(
                r#"{{"cpu_util_total": 1.5, "sender_has_retransmits": -1, "streams": [{stream}]}}"#
            );
            EndResults::read(text.as_bytes(), 1)
        };
        let right = r#"{"id": 1, "bytes": 5, "retransmits": -1, "jitter": 0.1, "errors": 0, "packets": 3, "start_time": 0, "end_time": 2.5}"#;
        assert_eq!(with(right).expect("results").streams[0].id, 1);
        for (from, to) in [
            (r#""id": 1"#, r#""id": 2"#),
            (r#""bytes": 5"#, r#""bytes": -5"#),
            (r#""bytes": 5"#, r#""bytes": 1e300"#),
            (r#""packets": 3"#, r#""packets": "3""#),
            (r#""end_time": 2.5"#, r#""end_time": 1e9"#),
            (r#""start_time": 0"#, r#""start_time": 3"#),
            (r#""jitter": 0.1"#, r#""jitter": null"#),
        ] {
            assert!(with(&right.replace(from, to)).is_err(), "{to}");
        }
        assert!(with("").is_err());
        assert!(EndResults::read(b"\xff\x00", 1).is_err());
    }
}
