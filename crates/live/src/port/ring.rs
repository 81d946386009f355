//! Memory that is shared with the kernel.

use crate::Error;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// A mapping, unmapped when dropped.
///
/// It is used only through pointers into it, for what the kernel may do to it at the same time is
/// nothing that a reference to all of it could bear.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    octets: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread, and has one owner.
#[expect(unsafe_code, reason = "a pointer is not Send by itself")]
unsafe impl Send for Region {}

impl Region {
    /// Memory of a socket's ring, or of no socket with `None`.
    ///
    /// # Errors
    /// If the system refuses.
    ///
    /// # Panics
    /// Never: mappings are not at 0.
    #[expect(unsafe_code, reason = "mapping memory")]
    pub fn mapped(socket: Option<(RawFd, i64)>, octets: usize) -> Result<Self, Error> {
        let (fd, offset, kind) = match socket {
            Some((fd, offset)) => (fd, offset, libc::MAP_SHARED),
            None => (-1, 0, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS),
        };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                octets,
                protection,
                kind | libc::MAP_POPULATE,
                fd,
                offset,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(Error::last("mapping memory"));
        }
        Ok(Self { start: NonNull::new(start.cast()).expect("mappings are not at 0"), octets })
    }

    /// A pointer to a `T` at `at`.
    ///
    /// # Panics
    /// If it would not lie within the region, or be misaligned: the kernel's offsets are wrong
    /// then.
    #[inline]
    #[expect(unsafe_code, reason = "arithmetic of pointers")]
    pub(super) fn at<T>(&self, at: usize) -> *mut T {
        assert!(at <= self.octets && size_of::<T>() <= self.octets - at, "beyond shared memory");
        // SAFETY: within the mapping, as just checked.
        let pointer = unsafe { self.start.as_ptr().add(at) }.cast::<T>();
        assert!(pointer.is_aligned(), "misaligned in shared memory");
        pointer
    }

    /// A word that the kernel writes too.
    ///
    /// # Panics
    /// If it would not lie within the region, or be misaligned.
    #[must_use]
    #[inline]
    #[expect(unsafe_code, reason = "a reference into shared memory")]
    pub fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: within the mapping and aligned, as `at` checks; alive as long as `self`; only
        // ever used atomically.
        unsafe { AtomicU32::from_ptr(self.at(at)) }
    }

    /// Copy of a plain structure of the kernel's that it does not write at the moment.
    ///
    /// # Panics
    /// If it would not lie within the region, or be misaligned.
    #[must_use]
    #[inline]
    #[expect(unsafe_code, reason = "reading shared memory")]
    pub fn read<T: Copy>(&self, at: usize) -> T {
        // SAFETY: within the mapping and aligned, as `at` checks; the structures of the kernel hold
        // integers, for which all octets are values.
        unsafe { self.at::<T>(at).read_volatile() }
    }

    /// Write a plain structure that the kernel does not read at the moment.
    #[inline]
    #[expect(unsafe_code, reason = "writing shared memory")]
    pub(super) fn write<T: Copy>(&self, at: usize, value: T) {
        // SAFETY: within the mapping and aligned, as `at` checks.
        unsafe { self.at::<T>(at).write_volatile(value) }
    }

    /// Octets that the kernel does not write at the moment.
    ///
    /// # Panics
    /// If they would not lie within the region.
    #[must_use]
    #[inline]
    #[expect(unsafe_code, reason = "a slice of shared memory")]
    pub fn octets(&self, at: usize, octets: usize) -> &[u8] {
        assert!(at <= self.octets && octets <= self.octets - at, "beyond shared memory");
        // SAFETY: within the mapping, as just checked; ours until we give the slot back.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), octets) }
    }

    /// Octets that are not in use, to write to.
    #[inline]
    #[expect(unsafe_code, reason = "a slice of shared memory")]
    pub(super) fn octets_mut(&mut self, at: usize, octets: usize) -> &mut [u8] {
        assert!(at <= self.octets && octets <= self.octets - at, "beyond shared memory");
        // SAFETY: within the mapping, as just checked; ours until we give the slot to the kernel;
        // `&mut self` keeps other slices away.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), octets) }
    }
}

impl Drop for Region {
    #[expect(unsafe_code, reason = "unmapping memory")]
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; every slice into it borrowed `self` and is gone.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.octets) };
    }
}
