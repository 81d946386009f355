//! Print the JSON Schema of what agents, relays and peers return, or with the argument `test` that of a
//! test between agents.

use ethermeter_agent::TestDescription;
use ethermeter_agent::result::{HostAnswer, TestResult};
use ethermeter_peer::iperf3::client::Iperf3Measurement;
use ethermeter_peer::stamp::sender::StampMeasurement;
use ethermeter_relay::run::{RelayCounts, RelayResult};

fn main() {
    let mut schemas = schemars::SchemaGenerator::default();
    if std::env::args().nth(1).as_deref() == Some("test") {
        schemas.subschema_for::<TestDescription>();
    } else {
        schemas.subschema_for::<TestResult>();
        schemas.subschema_for::<HostAnswer>();
        schemas.subschema_for::<RelayCounts>();
        schemas.subschema_for::<RelayResult>();
        schemas.subschema_for::<Iperf3Measurement>();
        schemas.subschema_for::<StampMeasurement>();
    }
    let definitions = serde_json::json!({"$defs": schemas.take_definitions(true)});
    println!("{definitions:#}");
}
