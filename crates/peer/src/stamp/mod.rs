//! STAMP (RFC 8762) with its optional extensions (RFC 8972), and TWAMP Light (RFC 5357, appendix
//! I).
//!
//! - [`packet`]: test packets of both modes, as octets and back.
//! - [`tlv`]: the TLVs after a test packet.
//! - [`reflector`]: what a reflector answers, without a socket or a clock.
//! - `port`: one datagram a call, with stamps and hop limits.
//! - [`service`]: a reflector at a port.
//! - [`sender`]: a session of test packets, and what came back.

pub mod packet;
mod port;
pub mod reflector;
pub mod sender;
pub mod service;
pub mod tlv;

use crate::Error;
use ring::hmac;

/// UDP port of reflectors (RFC 8762, section 4.1).
pub const PORT: u16 = 862;
/// Octets of an HMAC in packets: HMAC-SHA-256 truncated to 128 bits (RFC 8762, section 4.4).
pub const HMAC_OCTETS: usize = 16;
/// Octets of the longest test packet that is sent or answered: a UDP datagram in one frame.
pub const LONGEST: usize = 1472;

/// A key for HMAC-SHA-256.
pub struct StampKey(hmac::Key);

impl StampKey {
    /// A key of 1 to 64 octets; a longer one would be hashed first (RFC 2104).
    ///
    /// # Errors
    /// If the length is another one.
    pub fn new(octets: &[u8]) -> Result<Self, Error> {
        if !(1..=64).contains(&octets.len()) {
            return Err(Error::range("key", format!("{} octets", octets.len()), "1 to 64 octets"));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, octets)))
    }

    /// Write the HMAC of some octets, in parts, to `room`.
    fn sign(&self, parts: &[&[u8]], room: &mut [u8]) {
        room[..HMAC_OCTETS].copy_from_slice(&self.computed(parts));
    }

    /// Whether an HMAC is that of some octets; takes the same time for every wrong one.
    fn verifies(&self, parts: &[&[u8]], given: &[u8]) -> bool {
        let computed = self.computed(parts);
        given.len() == HMAC_OCTETS
            && given.iter().zip(computed).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }

    fn computed(&self, parts: &[&[u8]]) -> [u8; HMAC_OCTETS] {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(part);
        }
        let tag = context.sign();
        tag.as_ref()[..HMAC_OCTETS].try_into().expect("a tag of SHA-256 has 32 octets")
    }
}
