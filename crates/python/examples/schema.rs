//! Print the JSON Schema of what agents, relays and peers return, with the argument `test` that of a
//! test between agents, or with `relay` that of the plan and the requests of a relay.

use ethermeter_agent::TestDescription;
use ethermeter_agent::result::{HostAnswer, TestResult};
use ethermeter_peer::iperf3::client::Iperf3Measurement;
use ethermeter_peer::stamp::sender::StampMeasurement;
use ethermeter_relay::capture::CaptureCounts;
use ethermeter_relay::run::{RelayCounts, RelayResult};
use ethermeter_relay::{ControlRequest, RelayPlan};

fn main() {
    let mut schemas = schemars::SchemaGenerator::default();
    match std::env::args().nth(1).as_deref() {
        Some("test") => {
            schemas.subschema_for::<TestDescription>();
        }
        Some("relay") => {
            schemas.subschema_for::<RelayPlan>();
            schemas.subschema_for::<ControlRequest>();
        }
        _ => {
            schemas.subschema_for::<TestResult>();
            schemas.subschema_for::<HostAnswer>();
            schemas.subschema_for::<RelayCounts>();
            schemas.subschema_for::<RelayResult>();
            schemas.subschema_for::<CaptureCounts>();
            schemas.subschema_for::<Iperf3Measurement>();
            schemas.subschema_for::<StampMeasurement>();
        }
    }
    let definitions = serde_json::json!({"$defs": schemas.take_definitions(true)});
    println!("{definitions:#}");
}
