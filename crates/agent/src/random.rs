//! Unguessable numbers.

use ring::rand::{SecureRandom, SystemRandom};

/// A random number of the operating system's generator.
///
/// # Panics
/// If the system has none: consent depends on it.
pub(crate) fn random() -> u64 {
    let mut octets = [0; 8];
    SystemRandom::new().fill(&mut octets).expect("random octets from the operating system");
    u64::from_ne_bytes(octets)
}
