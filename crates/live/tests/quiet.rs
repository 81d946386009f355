//! Measurements in quiet windows: which counts, and what is told without one.

#[path = "common/quiet.rs"]
mod quiet;

use quiet::in_quiet_window;
use std::time::{Duration, Instant};

#[test]
fn the_first_window_in_which_stalls_are_tolerated_counts_whatever_was_measured() {
    let mut calls = 0;
    let measured = in_quiet_window(Duration::MAX, || {
        calls += 1;
        calls
    });
    assert_eq!((measured, calls), (Some(1), 1));
}

/// Keep all processors busy, with more threads than there are: then some wait for one.
fn stall() {
    let until = Instant::now() + Duration::from_millis(200);
    std::thread::scope(|scope| {
        for _ in 0..16 * std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| while Instant::now() < until {});
        }
    });
}

#[test]
fn without_a_quiet_window_there_is_no_result_and_that_is_told() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("inconclusive-{}", std::process::id()));
    // The only test of this program that reads or sets it.
    std::env::set_var("ETHERMETER_INCONCLUSIVE", &path);
    let mut calls = 0;
    let measured = in_quiet_window(Duration::ZERO, || {
        calls += 1;
        stall();
    });
    assert_eq!((measured, calls), (None, 3));
    let told = std::fs::read_to_string(&path).expect("a file");
    std::fs::remove_file(&path).expect("a file");
    assert!(
        told.starts_with(
            "inconclusive: without_a_quiet_window_there_is_no_result_and_that_is_told: stalls"
        ),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1);
}

#[test]
#[should_panic(expected = "3 frames received, 2 sent")]
fn a_law_that_is_broken_fails_at_once_and_ends_the_witnesses() {
    in_quiet_window(Duration::ZERO, || panic!("3 frames received, 2 sent"));
}
