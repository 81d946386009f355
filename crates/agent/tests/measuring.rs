//! Tests between real agents over the loopback interface.

use crate::common::{
    credentials, exchange, flow, make_certificates, measure, paced, saturated,
    silence_after_a_kill, test, wait_for, Agent, Measuring, Scratch, LIMIT,
};
use ethermeter_agent::coordinator::TestStage;
use ethermeter_agent::result::TestOutcome;
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::{HostTime, Timeline};
use crate::common::quiet::in_quiet_window;
use serde_json::{json, Value};
use std::time::Duration;

/// A lease lasts 0.7 s, of the second in which agents fall silent.
const TOLERATED_STALL: Duration = Duration::from_millis(200);

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn check_stream(flow: &Value) {
    let (sent, received) = (number(&flow["sent"]), number(&flow["received"]));
    let losses = &flow["losses"];
    assert_eq!(number(&losses["missing"]), sent - received);
    let stream = &flow["receiving"]["counted"]["streams"][0];
    let buckets = stream["measured"]["delay"]["buckets"].as_array().expect("a histogram");
    let total: u64 = buckets.iter().map(|bucket| number(&bucket[2])).sum();
    assert_eq!(
        total + number(&stream["measured"]["before_sent"]),
        number(&stream["measured"]["frames"])
    );
    // Without a number of batches there is one.
    let [batch] = &stream["measured"]["batches"].as_array().expect("batches")[..] else {
        panic!("{stream}")
    };
    assert_eq!(batch["frames"], stream["measured"]["frames"]);
    assert_eq!(batch["payload_octets"], stream["measured"]["payload_octets"]);
    assert_eq!(batch["delays"], json!(total));
}

fn check_all_kinds(result: &Value) {
    assert_eq!(result["outcome"], "complete", "{result}");
    let flows = &result["flows"];
    check_stream(&flows["paced"]);
    check_stream(&flows["full"]);
    // One a millisecond from a phase within the first on, for half a second.
    assert_eq!(number(&flows["paced"]["sent"]), 500);
    assert_eq!(number(&flows["paced"]["sending"]["counted"]["pacing"]["frames"]), 500);
    // 50 Mb/s for half a second and a burst of 2 ms, in frames of 4096 bits; and the last batch of
    // 64 frames, taken up before the end.
    let sent = number(&flows["full"]["sent"]);
    assert!(sent > 64 && (sent - 64) * 4096 <= 50_000 * 502, "{sent}");
    assert_eq!(flows["full"]["cautions"], json!(["consent-limited"]));
    let (asked, echoed) =
        (&flows["ask"]["sending"]["counted"], &flows["ask"]["receiving"]["counted"]);
    assert_eq!(number(&asked["requests"]), number(&asked["answered"]) + number(&asked["lost"]));
    assert!(
        number(&asked["answered"]) > 0 && number(&asked["answered"]) <= number(&echoed["answered"])
    );
    for name in ["a", "b"] {
        let host = result["agents"][name]["result"]["host"].as_array().expect("samples");
        let at: Vec<&str> = host.iter().filter_map(|sample| sample["at"].as_str()).collect();
        assert_eq!(at, ["begin", "measure_from", "measure_to", "end"]);
        assert!(
            number(&host[3]["host"]["context_switches"])
                > number(&host[0]["host"]["context_switches"])
        );
        check_series(&result["agents"][name]["result"]);
        // One clock: what the coordinator takes for the difference is within its uncertainty.
        let clock = &result["agents"][name]["clock"];
        let offset_ns = clock["offset_ns"].as_i64().expect("a difference");
        assert!(offset_ns.unsigned_abs() <= number(&clock["uncertainty_ns"]), "{clock}");
    }
}

/// What processors did meanwhile, every 100 ms, and what it cost to look.
fn check_series(result: &Value) {
    let series = &result["host_series"];
    let at_ns = series["at_ns"].as_array().expect("times");
    let samples = number(&series["cost"]["samples"]);
    // 750 ms, and one at the beginning; on a busy machine some are missed, never more taken.
    assert!((2..=9).contains(&at_ns.len()) && at_ns.len() as u64 == samples, "{series}");
    assert_eq!(number(&series["cost"]["failed"]), 0);
    // Less than a fiftieth of one processor, of the time of the thread alone: whatever else runs
    // does not count.
    assert!(number(&series["cost"]["processor_ns"]) < samples * 2_000_000, "{}", series["cost"]);
    let columns = series["columns"].as_object().expect("columns");
    for (name, column) in columns {
        let column = column.as_array().expect("a column");
        let of_processors = column.iter().filter_map(Value::as_array);
        for column in of_processors.chain(column[0].is_u64().then_some(column)) {
            assert_eq!(column.len(), at_ns.len(), "{name}");
            let counts: Vec<u64> = column.iter().map(number).collect();
            assert!(name == "memory_available_octets" || counts.is_sorted(), "{name}: {counts:?}");
        }
    }
    assert!(
        columns["context_switches"][at_ns.len() - 1].as_u64()
            > columns["context_switches"][0].as_u64()
    );
    let provenance = &result["provenance"];
    assert!(
        provenance["interfaces"]["lo"]["mtu"].is_u64() && number(&provenance["processors"]) > 0,
        "{provenance}"
    );
}

#[test]
fn saturated_paced_and_answered_flows_run_between_two_agents() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let flows = [flow("paced", &paced()), flow("full", &saturated()), flow("ask", &exchange())];
    let measured = measure("kinds", &test(&[&a, &b], 500, &flows), &[]);
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    check_all_kinds(&measured.result);
}

#[test]
fn the_same_runs_with_certificates_and_not_without() {
    let scratch = Scratch::new("tls");
    let (ours, others) = (scratch.0.join("ours"), scratch.0.join("others"));
    make_certificates(&ours);
    make_certificates(&others);
    let spawn = || Agent::spawn(&credentials(&ours, "127.0.0.1"));
    let (a, b) = (spawn(), spawn());
    let flows = [flow("paced", &paced()), flow("full", &saturated()), flow("ask", &exchange())];
    let description = test(&[&a, &b], 500, &flows);
    let strangers = [
        ("nobody", vec![]),
        ("another authority's", credentials(&others, "coordinator")),
        ("an agent's", credentials(&ours, "127.0.0.1")),
    ];
    for (who, options) in strangers {
        let measured = measure("stranger", &description, &options);
        assert_eq!(measured.code, Some(2), "{who}: {}", measured.result);
        assert!(measured.printed.contains("agent a at 127.0.0.1"), "{who}: {}", measured.printed);
    }
    let measured = measure("coordinator", &description, &credentials(&ours, "coordinator"));
    assert_eq!(measured.code, Some(0), "{}", measured.printed);
    check_all_kinds(&measured.result);
}

#[test]
fn an_agent_that_is_killed_ends_the_test_and_the_others_data_are_kept() {
    let (a, mut b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let measuring =
        Measuring::begin("lost", &test(&[&a, &b], 30_000, &[flow("paced", &paced())]), &[]);
    wait_for("roles of both", LIMIT, || a.has_roles() && b.has_roles());
    std::thread::sleep(Duration::from_secs(1));
    b.kill();
    let measured = measuring.finish();
    assert_eq!(measured.code, Some(1), "{}", measured.printed);
    let result = &measured.result;
    assert_eq!(
        (result["outcome"].as_str(), result["lost"]["agent"].as_str()),
        (Some("agent-lost"), Some("b"))
    );
    let sending = &result["flows"]["paced"]["sending"]["counted"];
    assert!(number(&sending["frames"]) > 0, "{result}");
    assert!(
        result["flows"]["paced"]["receiving"].is_null()
            && result["agents"]["b"]["result"].is_null()
    );
    assert!(!a.has_roles());
}

#[test]
fn an_interrupt_stops_all_and_keeps_what_was_counted() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let description = test(&[&a, &b], 30_000, &[flow("paced", &paced())]);
    let measuring = Measuring::begin("interrupt", &description, &[]);
    wait_for("roles of both", LIMIT, || a.has_roles() && b.has_roles());
    std::thread::sleep(Duration::from_secs(1));
    crate::common::send_signal(measuring.child.id(), "INT");
    let measured = measuring.finish();
    assert_eq!(
        (measured.code, measured.result["outcome"].as_str()),
        (Some(1), Some("stopped")),
        "{}",
        measured.printed
    );
    assert!(number(&measured.result["flows"]["paced"]["received"]) > 0);
    assert!(!a.has_roles() && !b.has_roles());
    let short = test(&[&a, &b], 100, &[flow("paced", &paced())]);
    assert_eq!(measure("after-interrupt", &short, &[]).code, Some(0), "the agents are free again");
}

#[test]
fn agents_fall_silent_within_a_second_when_the_coordinator_is_killed() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let description =
        test(&[&a, &b], 30_000, &[flow("full", &saturated()), flow("ask", &exchange())]);
    let short = test(&[&a, &b], 100, &[flow("paced", &paced())]);
    let silence = in_quiet_window(TOLERATED_STALL, || {
        let silence = silence_after_a_kill("orphans", &description, [&a, &b]);
        assert_eq!(
            measure("after-orphans", &short, &[]).code,
            Some(0),
            "the agents are free again"
        );
        silence
    });
    if let Some(silence) = silence {
        assert!(silence <= Duration::from_secs(1), "{silence:?}");
    }
}

#[test]
fn an_agent_that_is_asked_to_end_ends_its_roles() {
    let (mut a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let measuring =
        Measuring::begin("ended", &test(&[&a, &b], 30_000, &[flow("full", &saturated())]), &[]);
    wait_for("roles of both", LIMIT, || a.has_roles() && b.has_roles());
    a.signal("TERM");
    assert_eq!(a.wait(), Some(0));
    assert_eq!(measuring.finish().result["outcome"], "agent-lost");
}

#[test]
fn an_operators_ceilings_are_named_when_they_refuse() {
    let scratch = Scratch::new("ceilings");
    let cases = [
        (
            "rate_bps = 1_000_000",
            "rule rate-bits: 50000000 bit/s is refused, allowed: 1 to 1000000 bit/s",
        ),
        ("rate_frames_per_s = 10", "rule rate-frames"),
        ("duration_s = 0", "rule duration"),
        ("tests_at_once = 0", "rule tests-at-once"),
        ("roles = 0", "rule roles"),
        (
            "addresses = [\"192.0.2.0/24\"]",
            "rule address: 127.0.0.1 is refused, allowed: 192.0.2.0/24",
        ),
        ("interfaces = [\"eth7\"]", "rule interface: lo is refused, allowed: eth7"),
    ];
    for (ceiling, expected) in cases {
        let file = scratch.write("ceilings.toml", ceiling).display().to_string();
        let limited = Agent::spawn(&["--ceilings".into(), file]);
        let free = Agent::spawn(&[]);
        // As a receiver and as a sender.
        for (agents, who) in [([&free, &limited], "b"), ([&limited, &free], "a")] {
            let measured = measure("ceiling", &test(&agents, 100, &[flow("paced", &paced())]), &[]);
            assert_eq!(measured.code, Some(2), "{ceiling}: {}", measured.result);
            let is_named =
                measured.printed.contains(expected) && measured.printed.contains(&format!("agent {who}"));
            assert!(is_named, "{ceiling}: {}", measured.printed);
        }
    }
}

#[test]
fn twenty_tests_in_a_row_leave_nothing_behind() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let flows = [flow("paced", &paced()), flow("full", &saturated()), flow("ask", &exchange())];
    let description = test(&[&a, &b], 100, &flows);
    let run = || {
        let measured = measure("row", &description, &[]);
        assert_eq!(measured.code, Some(0), "{}", measured.printed);
    };
    let state = |agent: &Agent| {
        // The connection's end and idle threads of the runtime may come a little later than the
        // result.
        wait_for("threads that end", LIMIT, || agent.threads().len() <= 3);
        (agent.threads().len(), agent.descriptors())
    };
    run();
    run();
    let before = [&a, &b].map(|agent| (state(agent), agent.resident_octets()));
    for _ in 0..20 {
        run();
    }
    for (agent, (state_before, octets_before)) in [&a, &b].into_iter().zip(before) {
        assert_eq!(state(agent), state_before);
        // One test's ports, histograms and result together take more than this; twenty that leaked
        // would take twenty times as much.
        let grown = agent.resident_octets().saturating_sub(octets_before);
        assert!(grown < 8 << 20, "{grown} octets more");
    }
}

#[test]
fn hosts_say_what_they_are_and_silent_ones_are_named() {
    let scratch = Scratch::new("hosts");
    let ceilings = scratch.write("ceilings.toml", "duration_s = 7").display().to_string();
    let agent = Agent::spawn(&["--ceilings".into(), ceilings]);
    let at = agent.at.to_string();
    let answered = crate::common::run(&["hosts", &at]);
    let hosts: Value = serde_json::from_slice(&answered.stdout).expect("JSON");
    assert_eq!(answered.status.code(), Some(0));
    assert_eq!(
        (hosts[0]["ceilings"]["duration_s"].as_u64(), hosts[0]["control"].as_str()),
        (Some(7), Some(at.as_str()))
    );
    let addresses = hosts[0]["interfaces"]["lo"].as_array().expect("the loopback interface");
    assert!(addresses.contains(&json!("127.0.0.1")), "{addresses:?}");
    let activity = &hosts[0]["activity"];
    assert!(activity["window_ns"].as_u64().is_some_and(|window_ns| window_ns >= 1_000_000_000));
    let share = activity["processor_share"].as_f64().expect("a share");
    assert!((0.0..=1.0).contains(&share), "{activity}");
    assert_eq!(activity["tests"].as_u64(), Some(0));
    assert!(activity["traffic_bps"]["lo"].as_f64().is_some(), "{activity}");
    drop(agent);
    let silent = crate::common::run(&["hosts", &at]);
    let hosts: Value = serde_json::from_slice(&silent.stdout).expect("JSON");
    assert_eq!(silent.status.code(), Some(1));
    assert!(hosts[0]["error"].as_str().is_some_and(|error| error.contains(&at)), "{hosts}");
}

#[test]
fn agents_get_a_later_beginning_where_the_first_was_told_late() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let description = test(&[&a, &b], 100, &[flow("paced", &paced())]).to_string();
    let beginnings = std::cell::RefCell::new(Vec::new());
    let tell = async |stage| {
        let TestStage::Running { begin_ns } = stage else { return };
        beginnings.borrow_mut().push(begin_ns);
        if beginnings.borrow().len() == 1 {
            let late_ns = begin_ns.saturating_sub(HostTime.now_ns());
            tokio::time::sleep(std::time::Duration::from_nanos(late_ns)).await;
        }
    };
    let run = ethermeter_agent::coordinator::run_blocking(&description, None, || false, tell);
    assert_eq!(run.expect("agents that answer").outcome, TestOutcome::Complete);
    let beginnings = beginnings.into_inner();
    assert!(beginnings.len() > 1 && beginnings.is_sorted(), "{beginnings:?}");
}

#[test]
fn callers_without_a_runtime_can_measure_and_stop() {
    let (a, b) = (Agent::spawn(&[]), Agent::spawn(&[]));
    let run = |transmit_ms, stop_after: u32| {
        let description = test(&[&a, &b], transmit_ms, &[flow("paced", &paced())]).to_string();
        let asked = std::cell::Cell::new(0);
        let stages = std::cell::RefCell::new(Vec::new());
        // It is running by the third stage.
        let should_stop = || {
            asked.set(asked.get() + u32::from(stages.borrow().len() == 3));
            asked.get() > stop_after
        };
        let tell = async |stage| stages.borrow_mut().push(stage);
        let before_ns = HostTime.now_ns();
        let result =
            ethermeter_agent::coordinator::run_blocking(&description, None, should_stop, tell);
        let [TestStage::Connecting, TestStage::Arranging, TestStage::Running { begin_ns }, TestStage::Collecting] =
            stages.into_inner()[..]
        else {
            panic!("four stages")
        };
        assert!(before_ns < begin_ns, "{before_ns} {begin_ns}");
        result.expect("agents that answer").outcome
    };
    assert_eq!(run(100, u32::MAX), TestOutcome::Complete);
    assert_eq!(run(30_000, 20), TestOutcome::Stopped);
}
