//! All tests of the crate that use its public interface, as one program.

automod::dir!("tests");
