//! All tests of the crate that use its public interface, as one program.

#[path = "common/quiet.rs"]
mod quiet;
automod::dir!("tests");
