//! Print the JSON Schema of a trial.

fn main() {
    let schema = schemars::schema_for!(ethermeter_trial::Trial);
    println!("{}", serde_json::to_string_pretty(&schema).expect("a schema is JSON"));
}
