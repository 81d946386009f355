//! All tests of the crate that use its public interface, as one program: the generic code of the
//! simulator is compiled for them once.

mod common;
automod::dir!("tests");
