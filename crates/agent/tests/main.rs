//! All tests of the crate that use its public interface, as one program.

mod common;
automod::dir!("tests");
