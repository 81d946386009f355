//! Prefetching of memory.
//!
//! Packets of many connections find the memory of each cold, and waiting for it takes longer than
//! the work on it. Prefetches for many packets at once overlap. (Plain reads would help half as
//! much: a processor continues past few outstanding reads, but past any number of prefetches.)

/// Prefetch the memory of a value.
#[cfg(target_arch = "x86_64")]
pub(crate) fn prefetch<T>(value: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    /// Octets of a cache line.
    const LINE: usize = 64;
    let begin = std::ptr::from_ref(value).cast::<i8>();
    // The line of the last octet, too, since a value may begin anywhere in a line.
    for at in (0..size_of::<T>()).step_by(LINE).chain([size_of::<T>().saturating_sub(1)]) {
        #[expect(unsafe_code, reason = "a hint that no safe wrapper gives")]
        // SAFETY: every x86-64 has the instruction; it is a hint, which faults at no address, and
        // these are of a value that is there.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(begin.wrapping_add(at));
        }
    }
}

/// Do nothing: this processor has no stable prefetch.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn prefetch<T>(_: &T) {}
