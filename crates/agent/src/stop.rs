//! Waiting for a request to stop.

use std::time::Duration;

/// Ready when `should_stop`, called every 50 ms, returns true.
pub(crate) async fn requested(mut should_stop: impl FnMut() -> bool) {
    while !should_stop() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
