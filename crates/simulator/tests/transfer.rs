//! Transfers over TCP against hand calculations, known bounds and laws, and each implementation
//! against the other.

use crate::common::network::link;
use crate::common::transfer::{
    classic, host, of, pair, phases, plain, run, stream, transfer, trial, with, BARE, FAST, FULL,
    GAP, MSS,
};
use crate::common::{simulate, MS, S, US};
use crate::common::network::Traced;
use ethermeter_trial::counts::LOSSES;
use serde_json::{json, Value};

#[test]
fn one_segment_takes_its_frame_and_is_acknowledged_when_the_timer_is_out() {
    let outcome = pair(3 * US, &stream(1000), &classic(8760), &phases(0, S));
    let found = of(&outcome.flows[0]);
    // 1000 octets and 58 of headers, 8 of preamble.
    assert_eq!(found.whole_ps, Some(1066 * FAST + 3 * US));
    assert_eq!((found.octets, found.ends[0].segments, found.ends[0].retransmitted), (1000, 1, 0));
    assert_eq!((found.ends[1].segments, found.ends[1].acknowledgements), (0, 1));
    // From the begin of its frame to that of its acknowledgement: 1058 octets, both ways, 200 ms,
    // and a preamble.
    let delay = &found.ends[0].acknowledgement_delay;
    assert_eq!((delay.count, delay.sum_ps), (1, u128::from(6 * US + 200 * MS + (1058 + 8) * FAST)));
    assert_eq!((outcome.flows[0].messages, outcome.flows[0].octets), (1, 1058));
}

#[test]
fn a_window_limits_the_rate_to_one_window_a_round_trip() {
    let round_trip = (FULL + BARE) * FAST + 2 * 10 * MS;
    for segments in [1u64, 4, 6] {
        let window = phases(20 * round_trip, 120 * round_trip);
        let outcome = pair(10 * MS, &json!({"stream": {}}), &plain(segments * MSS), &window);
        let found = of(&outcome.flows[0]);
        assert_eq!(found.octets, 100 * segments * MSS);
        assert_eq!(found.ends[0].acknowledgement_delay.count, 100 * segments);
        // Five round trips in each of the twenty batches.
        let batches = outcome.flows[0].batches.iter();
        assert!(batches.clone().all(|batch| batch.moved_octets == 5 * segments * MSS));
        assert!(batches.clone().all(|batch| batch.acknowledged == 5 * segments));
    }
}

#[test]
fn a_window_that_is_wide_enough_leaves_the_wire_no_pause() {
    // A frame every 1538 octets of time, without end.
    let frame = (FULL + GAP) * FAST;
    let outcome = pair(
        10 * US,
        &json!({"stream": {}}),
        &plain(40 * MSS),
        &phases(1000 * frame, 2000 * frame),
    );
    let found = of(&outcome.flows[0]);
    assert_eq!(found.octets, 1000 * MSS);
    let port = &outcome.ports[0];
    assert_eq!((port.frames, found.ends[0].retransmitted), (1000, 0));
}

#[test]
fn a_send_buffer_limits_as_a_window_does() {
    let round_trip = (FULL + BARE) * FAST + 2 * 10 * MS;
    let mut tcp = plain(60_000);
    tcp["send_buffer_octets"] = json!(3 * MSS);
    let outcome =
        pair(10 * MS, &json!({"stream": {}}), &tcp, &phases(20 * round_trip, 120 * round_trip));
    assert_eq!(of(&outcome.flows[0]).octets, 300 * MSS);
}

#[test]
fn slow_start_doubles_the_window_every_round_trip() {
    let round_trip = (FULL + BARE) * FAST + 2 * 50 * MS;
    let outcome =
        pair(50 * MS, &json!({"stream": {}}), &plain(64 * MSS), &phases(0, 8 * round_trip));
    let windows = &of(&outcome.flows[0]).ends[0].windows;
    for trips in 0..=5u32 {
        // All of a flight is acknowledged well before the next one's first is.
        let at = u64::from(trips) * round_trip + 20 * MS;
        let window = windows.iter().take_while(|(from, _)| *from <= at).last().expect("a window").1;
        assert_eq!(window, MSS << trips, "after {trips} round trips");
    }
}

#[test]
fn delayed_acknowledgements_slow_it_down_to_half_as_much_again() {
    // Each acknowledgement of two segments opens the window by one: 2, 3, 4 (one segment waits for
    // the timer), 6, 9.
    let tcp = with(
        classic(64 * MSS),
        &json!({"initial_segments": 2, "acknowledge": {"segments": 2, "ps": 30 * MS}}),
    );
    let round_trip = (FULL + BARE) * FAST + 2 * 50 * MS;
    let outcome = pair(50 * MS, &json!({"stream": {}}), &tcp, &phases(0, 3 * round_trip));
    let windows = &of(&outcome.flows[0]).ends[0].windows;
    let octets: Vec<u64> = windows.iter().map(|point| point.1 / MSS).collect();
    assert_eq!(octets[..3], [2, 3, 4]);
    assert!(
        windows[1].0 < round_trip + MS
            && windows[2].0 > 2 * round_trip
            && windows[2].0 < 2 * round_trip + MS
    );
}

#[test]
fn every_second_segment_is_acknowledged_and_an_odd_one_by_the_timer() {
    let tcp = with(classic(64 * MSS), &json!({"initial_segments": 64}));
    for (segments, expected) in [(10u64, 5), (11, 6)] {
        let outcome = pair(US, &stream(segments * MSS), &tcp, &phases(0, S));
        let found = of(&outcome.flows[0]);
        assert_eq!((found.ends[0].segments, found.ends[1].acknowledgements), (segments, expected));
        assert_eq!(found.whole_ps, Some(((segments - 1) * (FULL + GAP) + FULL) * FAST + US));
    }
}

#[test]
fn acknowledgements_pass_the_stages_of_both_hosts() {
    // A processor that sends and receives: 10 us for every frame, whichever way.
    let cpu = json!({"name": "cpu", "resource": "cpu", "fixed_ps": 10 * US});
    let busy =
        |name: &str| json!({"name": name, "kind": {"host": {"send": [cpu], "receive": [cpu]}}});
    let outcome = run(&trial(
        &[busy("a"), busy("b")],
        &[link("a", "b", 800, 0)],
        &[transfer("a", "b", &json!({"stream": {}}), &plain(40 * MSS))],
        &phases(10 * MS, 20 * MS),
    ));
    // Each segment costs each of them two frames: one every 20 us, 500 in 10 ms, but for those that
    // the window's ends cut.
    let found = of(&outcome.flows[0]).octets / MSS;
    assert!((499..=501).contains(&found), "{found}");
}

#[test]
fn a_reader_holds_the_sender_back_to_its_own_rate() {
    // 1 us an octet: 1 MB/s, far below the link's 12.5. The window must shut and open without
    // losing time.
    let mut tcp = plain(4 * MSS);
    tcp["read_ps_per_octet"] = json!(US);
    let outcome = pair(10 * US, &json!({"stream": {}}), &tcp, &phases(S, 2 * S));
    let found = of(&outcome.flows[0]);
    // One segment more or less at each end.
    assert!(found.octets.abs_diff(1_000_000) <= MSS, "{}", found.octets);
    assert_eq!(
        (found.ends[0].retransmitted, outcome.flows[0].balance.lost),
        (0, [0; LOSSES.len()])
    );
}

#[test]
fn a_window_that_opens_by_less_than_a_segment_is_not_filled() {
    // 5.9 segments: five are sent, for the rest is not worth a frame while they are under way (RFC
    // 1122 § 4.2.3.4).
    let round_trip = (FULL + BARE) * FAST + 2 * 10 * MS;
    let outcome = pair(
        10 * MS,
        &json!({"stream": {}}),
        &plain(6 * MSS - 100),
        &phases(20 * round_trip, 120 * round_trip),
    );
    let found = of(&outcome.flows[0]);
    assert_eq!((found.octets, found.ends[0].segments), (500 * MSS, 500));
}

fn file(direction: &str, octets: u64, block: u64, ahead: u32) -> Value {
    json!({"file": {"direction": direction, "octets": octets, "block_octets": block, "request_octets": 60, "answer_octets": 40,
        "client": {"kind": "constant", "ps": 70 * US}, "server": {"kind": "constant", "ps": 50 * US}, "ahead": ahead}})
}

#[test]
fn a_block_costs_its_request_its_answer_and_both_turn_arounds() {
    let way = |octets: u64| (octets + 58 + 8) * FAST + 3 * US;
    let blocks = 7;
    for (direction, there, back) in [("read", 60, 1040), ("write", 1060, 40)] {
        let outcome =
            pair(3 * US, &file(direction, blocks * 1000, 1000, 1), &classic(8760), &phases(0, S));
        let flow = &outcome.flows[0];
        let operation = way(there) + 50 * US + way(back);
        assert_eq!(
            (flow.completed, flow.round_trip.sum_ps),
            (blocks, u128::from(blocks * operation))
        );
        assert_eq!(of(flow).whole_ps, Some(blocks * operation + (blocks - 1) * 70 * US));
        assert_eq!(of(flow).octets, blocks * 1000);
        // Answers carry the acknowledgements of requests, requests those of answers: only the last
        // waits for the timer.
        assert_eq!((of(flow).ends[0].acknowledgements, of(flow).ends[1].acknowledgements), (1, 0));
    }
}

#[test]
fn a_last_block_is_as_long_as_what_is_left() {
    let outcome =
        pair(US, &file("read", 2500, 1000, 1), &json!({"window_octets": 8760}), &phases(0, S));
    let found = &outcome.flows[0];
    assert_eq!((found.completed, of(found).octets), (3, 2500));
    assert!(of(found).whole_ps.is_some());
}

#[test]
fn requests_ahead_hide_the_way_but_not_the_slower_worker() {
    // Both turn-arounds are constant; the client's 70 us are longer than anything else.
    let outcome = pair(
        US,
        &file("read", 1 << 40, 500, 8),
        &json!({"window_octets": 60_000}),
        &phases(100 * MS, 800 * MS),
    );
    assert!(outcome.flows[0].completed.abs_diff(10_000) <= 1, "{}", outcome.flows[0].completed);
}

#[test]
fn nagle_and_a_delayed_acknowledgement_wait_for_each_other() {
    // Request and block are a segment and 600 octets, which wait for the segment's acknowledgement,
    // which waits for the timer.
    let job = file("write", 2000, 2000, 1);
    let took = |nagle: bool| {
        let outcome = pair(US, &job, &with(classic(8760), &json!({"nagle": nagle})), &phases(0, S));
        of(&outcome.flows[0]).whole_ps.expect("all of it")
    };
    let answer = (40 + 66) * FAST + US;
    let rest = (600 + 66) * FAST + US;
    assert_eq!(
        took(true),
        FULL * FAST + US + 200 * MS + BARE * FAST + US + rest + 50 * US + answer
    );
    assert_eq!(took(false), (FULL + GAP) * FAST + rest + 50 * US + answer);
}

// Losses

/// A switch with room for `room` frames towards a link ten times slower.
fn narrow(room: u64, delay_ps: u64, flow: &Value, phases: &Value) -> Traced {
    let switch =
        json!({"name": "s", "kind": {"switch": {"learning": "known", "queue_frames": room}}});
    let links = [link("a", "s", FAST, 0), link("b", "s", 10 * FAST, delay_ps)];
    run(&trial(&[host("a"), host("b"), switch], &links, std::slice::from_ref(flow), phases))
}

/// Every congestion control with every kind of recovery.
fn every_kind(window_octets: u64) -> Vec<Value> {
    let mut all = vec![classic(window_octets)];
    for congestion in ["reno", "cubic"] {
        for (sack, recovery) in [(true, "new-reno"), (false, "new-reno"), (false, "reno")] {
            for prr in [true, false] {
                all.push(json!({"window_octets": window_octets, "congestion": congestion, "sack": sack, "recovery": recovery, "prr": prr}));
            }
        }
    }
    all
}

#[test]
fn what_a_queue_drops_is_sent_again_and_all_of_it_comes() {
    for tcp in every_kind(60_000) {
        let octets = 1_000_003;
        let outcome =
            narrow(8, 5 * MS, &transfer("a", "b", &stream(octets), &tcp), &phases(0, 60 * S));
        let flow = &outcome.flows[0];
        let found = of(flow);
        assert!(flow.balance.lost[0] > 0);
        assert_eq!((found.octets, flow.balance.in_flight), (octets, 0));
        assert!(found.whole_ps.is_some());
        // What was lost was sent again, and as much arrived as was requested.
        assert!(found.ends[0].retransmitted >= flow.balance.lost[0]);
        assert!(found.ends[0].fast_retransmissions > 0);
        assert_eq!(flow.messages + found.ends[0].retransmitted, found.ends[0].segments);
    }
}

#[test]
fn a_lost_last_segment_waits_for_the_retransmission_timer() {
    // Three segments at once and room for one: nobody is left to tell of the others, so the first
    // timeout, a second, has to pass.
    let tcp = classic(60_000);
    let outcome = narrow(1, 0, &transfer("a", "b", &stream(3 * MSS), &tcp), &phases(0, 60 * S));
    let found = of(&outcome.flows[0]);
    assert!(found.ends[0].timeouts >= 1 && found.whole_ps.expect("all of it") > S);
    assert_eq!(found.octets, 3 * MSS);
}

#[test]
fn several_losses_of_one_window_take_the_older_recovery_a_timeout_and_the_newer_none() {
    // RFC 6582 § 1: it is what it is for.
    let timeouts = |recovery: &str| {
        let tcp = with(
            classic(40 * MSS),
            &json!({"recovery": recovery, "acknowledge": {"segments": 1, "ps": 1}, "initial_segments": 2}),
        );
        let outcome = narrow(
            12,
            5 * MS,
            &transfer("a", "b", &json!({"stream": {}}), &tcp),
            &phases(0, 5 * S),
        );
        let flow = &outcome.flows[0];
        assert!(flow.balance.lost[0] > 2);
        of(flow).ends[0].timeouts
    };
    assert_eq!(timeouts("new-reno"), 0);
    assert!(timeouts("reno") > 0);
}

#[test]
#[allow(clippy::cast_precision_loss)]
fn losses_keep_the_rate_within_the_bound_of_mathis() {
    // Mathis, Semke, Mahdavi, Ott (1997): rate < MSS / round trip * C / sqrt(p), C = sqrt(3/2) with
    // every segment acknowledged. Their p is of loss events that come evenly; here at least one
    // segment an event is lost, so p is no smaller than theirs and the bound no wider.
    let tcp = json!({"window_octets": 1 << 20, "congestion": "reno", "acknowledge": {"segments": 1, "ps": 1}});
    let outcome = narrow(
        20,
        20 * MS,
        &transfer("a", "b", &json!({"stream": {}}), &tcp),
        &phases(10 * S, 110 * S),
    );
    let flow = &outcome.flows[0];
    let found = of(flow);
    let events = found.ends[0].fast_retransmissions as f64 / found.ends[0].segments as f64;
    // The queue is full when it drops and half empty after: the round trip lies between those with
    // and without it.
    let empty_s = 0.040 + 1526.0 * 8.8e-7 + 72.0 * 8.8e-7;
    let rate = found.octets as f64 / 100.0;
    assert!(found.ends[0].fast_retransmissions > 10);
    assert!(rate < 1460.0 / empty_s * (1.5 / events).sqrt(), "{rate}");
    // The slow link carries 1460 octets in 1538 octets of 10 Mb/s. What was read in the window may
    // have waited for a gap before it: what the queue and the way of a round trip hold.
    assert!(rate * 100.0 <= 100.0 * 1.25e6 * 1460.0 / 1538.0 + 64.0 * 1460.0, "{rate}");
}

#[test]
#[allow(clippy::cast_precision_loss)]
fn a_bulk_transfer_keeps_a_slow_link_busy_without_a_timeout() {
    // 10 Mb/s and a round trip of 40 ms: 33 frames. Reno halves 33 + queue, so a queue of 30 is
    // enough for the link never to be idle once slow start is over; Linux without selective
    // acknowledgements gets 9.7 Mb/s of frames there (docs/reference/transfers.md).
    for tcp in every_kind(1 << 20)
        .into_iter()
        .filter(|tcp| tcp["sack"] == true || tcp["recovery"] == "new-reno")
    {
        for room in [20, 30, 60] {
            let outcome = narrow(
                room,
                20 * MS,
                &transfer("a", "b", &json!({"stream": {}}), &tcp),
                &phases(10 * S, 30 * S),
            );
            let flow = &outcome.flows[0];
            let rate_bps = 8.0 * of(flow).octets as f64 / 20.0;
            let link_bps = 1e7 * 1460.0 / 1538.0;
            let least = if room == 20 { 0.9 } else { 0.98 };
            assert!(rate_bps > least * link_bps, "{rate_bps} with room for {room}: {tcp}");
            assert_eq!(of(flow).ends[0].timeouts, 0, "with room for {room}: {tcp}");
        }
    }
}

#[test]
fn a_sender_told_of_several_losses_repairs_them_in_a_round_trip() {
    // Slow start overshoots a queue of 60 and loses about as many frames; one a round trip would
    // take two seconds and more.
    let took = |sack: bool| {
        let tcp = json!({"window_octets": 1 << 20, "congestion": "reno", "sack": sack});
        let outcome =
            narrow(60, 20 * MS, &transfer("a", "b", &stream(800 * MSS), &tcp), &phases(0, 60 * S));
        assert!(outcome.flows[0].balance.lost[0] > 50);
        of(&outcome.flows[0]).whole_ps.expect("all of it")
    };
    assert!(took(true) + 2 * S < took(false));
}

#[test]
fn hystart_spares_the_overshoot_of_slow_start() {
    let lost = |hystart: bool| {
        let tcp = json!({"window_octets": 1 << 20, "hystart": hystart});
        let outcome =
            narrow(60, 20 * MS, &transfer("a", "b", &stream(800 * MSS), &tcp), &phases(0, 60 * S));
        outcome.flows[0].balance.lost[0]
    };
    assert!(lost(false) > 50);
    assert!(5 * lost(true) < lost(false), "{}", lost(true));
}

#[test]
fn the_example_of_the_formats_reads_its_file() {
    let text = include_str!("../../../docs/reference/network-trials.md");
    let begin = text.find("{\"name\": \"copy\"").expect("an example");
    let end = begin + text[begin..].find("```").expect("its end");
    let flow: Value = serde_json::from_str(&text[begin..end]).expect("JSON");
    let links = [link("client", "server", FAST, 0)];
    let outcome =
        run(&trial(&[host("client"), host("server")], &links, &[flow], &phases(0, 60 * S)));
    assert_eq!(of(&outcome.flows[0]).octets, 36_000_000);
    assert!(of(&outcome.flows[0]).whole_ps.is_some());
}

// What is refused

/// What makes a flow wrong.
type Change<'c> = &'c dyn Fn(&mut Value);

#[test]
fn every_fault_of_a_transfer_names_its_key_and_what_was_allowed() {
    let refusal = |change: Change| {
        let mut flow = transfer("a", "b", &stream(1000), &json!({"window_octets": 8760}));
        change(&mut flow);
        let links = [link("a", "b", FAST, 0)];
        simulate(&trial(&[host("a"), host("b")], &links, &[flow], &phases(0, MS)))
            .expect_err("a contradiction")
            .to_string()
    };
    let cases: [(Change, &str); 9] = [
        (
            &|flow| flow["transfer"]["tcp"]["timeout_margin_ps"] = json!(1u64 << 63),
            "flows[0].transfer.tcp.timeout_margin_ps: must be from 0",
        ),
        (
            &|flow| {
                flow["transfer"]["tcp"]["acknowledge"] =
                    json!({"segments": 2, "ps": 1, "quick": 2_000_000});
            },
            "flows[0].transfer.tcp.acknowledge.quick: must be from 0 to 1000000, got 2000000",
        ),
        (
            &|flow| flow["frames"] = json!({"kind": "fixed", "bits": 512}),
            "flows[0].frames: must not",
        ),
        (&|flow| flow["transfer"] = Value::Null, "flows[0].frames: must be given"),
        (
            &|flow| flow["transfer"]["tcp"]["mtu_octets"] = json!(40),
            "flows[0].transfer.tcp.mtu_octets: must be from 68",
        ),
        (
            &|flow| flow["transfer"]["tcp"]["window_octets"] = json!(1000),
            "flows[0].transfer.tcp.window_octets: must be",
        ),
        (
            &|flow| flow["transfer"]["job"] = stream(0),
            "flows[0].transfer.job.stream.octets: must be from 1",
        ),
        (
            &|flow| flow["transfer"]["job"] = file("read", 10, 0, 1),
            "flows[0].transfer.job.file.block_octets: must be",
        ),
        (
            &|flow| flow["transfer"]["tcp"]["initial_segments"] = json!(0),
            "flows[0].transfer.tcp.initial_segments: must be",
        ),
    ];
    for (change, expected) in cases {
        let message = refusal(change);
        assert!(message.starts_with(expected), "{message}");
    }
}
