//! Medium access control as state machines without a clock and without a medium.
//!
//! A MAC is a variant of [`Mac`], its [`constants`], and a machine that implements [`access::Access`]; the
//! reference simulator of segments runs it (docs/how-to/add-a-mac.md, "A new MAC"). The MACs of
//! theories are simulated by [`crate::idealised`] and have no machine.

pub mod access;
pub mod backoff;
pub mod csma_cd;
pub mod jam;
pub mod transmitter;

use access::Access;
use csma_cd::{CsmaCd, Gap};
use ethermeter_trial::medium::{self, Mac};

/// The machine of a station on a segment, which owes `gap`.
///
/// # Panics
/// If the MAC is idealised, or PLCA, which stands above machines of CSMA/CD ([`crate::plca`]).
#[must_use]
pub fn machine(mac: &Mac, gap: Gap) -> Box<dyn Access> {
    match mac {
        Mac::CsmaCd(_) => Box::new(CsmaCd::new(gap)),
        _ => unreachable!("a MAC without a machine of its own"),
    }
}

/// Constants of a MAC that has none. The slot is the unit of backoff, so it is not 0.
const LEAST: medium::CsmaCd = medium::CsmaCd {
    slot_bits: 1,
    gap_bits: 0,
    gap_part1_bits: 0,
    preamble_bits: 0,
    jam_bits: 0,
    turnaround_ps: 0,
};

/// The constants that a segment with this MAC is compiled with.
#[must_use]
pub fn constants(mac: &Mac) -> medium::CsmaCd {
    match mac {
        Mac::CsmaCd(constants) => *constants,
        Mac::Plca(plca) => plca.csma_cd,
        _ => LEAST,
    }
}

/// Name of a MAC in a trial.
#[must_use]
pub fn name(mac: &Mac) -> &'static str {
    match mac {
        Mac::CsmaCd(_) => "csma_cd",
        Mac::Plca(_) => "plca",
        Mac::Slotted(_) => "slotted",
        Mac::Adaptive(_) => "adaptive",
        Mac::Unslotted(_) => "unslotted",
        Mac::Polling(_) => "polling",
    }
}
