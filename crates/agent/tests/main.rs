//! All tests of the crate that use its public interface, as one program.

mod common;
#[path = "../../live/tests/common/quiet.rs"]
mod quiet;
automod::dir!("tests");
