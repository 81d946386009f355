//! What was wrong with a packet on its link.

/// Errors of the link in the flags of a packet: bits 16 to 31 (draft-ietf-opsawg-pcapng-03,
/// section 4.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkErrors(u32);

/// Bits of the flags that are errors of the link.
const MASK: u32 = 0xffff_0000;

impl LinkErrors {
    /// The check sequence was wrong.
    pub const CHECK: Self = Self(1 << 24);
    /// The packet was too short.
    pub const SHORT: Self = Self(1 << 26);

    /// The errors in the flags of a packet.
    #[must_use]
    pub fn of(flags: u32) -> Self {
        Self(flags & MASK)
    }

    /// The errors as flags.
    #[must_use]
    pub fn flags(self) -> u32 {
        self.0
    }

    /// The errors of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is one, so that no receiver took the packet.
    #[must_use]
    pub fn is_any(self) -> bool {
        self.0 != 0
    }
}
