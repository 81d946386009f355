//! Memory that will be needed, asked for before it is.
//!
//! Packets of many connections find the memory of each cold: what a processor waits for it is more
//! than what it does with it. What is asked for ahead of time, for many packets at once, comes side
//! by side. (Reading it instead would do half as well: a processor goes on past few reads that have
//! not come, but past as many of these as it likes.)

/// Ask for the memory of a value. That changes nothing but when it is there.
#[cfg(target_arch = "x86_64")]
pub(crate) fn ask_for<T>(value: &T) {
    use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
    /// Octets that come at a time.
    const LINE: usize = 64;
    let begin = std::ptr::from_ref(value).cast::<i8>();
    // The last octet's line too, wherever in a line the value begins.
    for at in (0..size_of::<T>()).step_by(LINE).chain([size_of::<T>().saturating_sub(1)]) {
        #[expect(unsafe_code, reason = "a hint that no safe wrapper gives")]
        // SAFETY: every x86-64 has the instruction; it is a hint, which faults at no address, and
        // these are of a value that is there.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(begin.wrapping_add(at));
        }
    }
}

/// Ask for the memory of a value: there is no stable way on this processor.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ask_for<T>(_: &T) {}
