//! Medium access control as state machines: no time and no medium of their own.

pub mod csma_cd;
