//! All tests of the crate that use its public interface, as one program.

#![expect(clippy::disallowed_methods, reason = "agents run in real time, for which tests wait")]

mod common;
automod::dir!("tests");
