// SPDX-License-Identifier: MIT
#![doc = include_str!("../README.md")]
#![no_std]
#![warn(missing_docs)]

#[cfg(feature = "heap")]
mod heap;
pub mod settings;

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_int, CStr};
use core::fmt;

#[cfg(feature = "heap")]
pub use heap::Heap;
pub use hewmalloc_sys as sys;

/// hew as the allocator of the program. Frees carry their size, which hew checks; zeroed memory that comes fresh from
/// the system is not written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hew;

/// What malloc gives without asking: an alignment of 16, or 8 for objects of 8 bytes.
const fn is_usual(alignment: usize, size: usize) -> bool {
    alignment <= 16 && alignment <= size
}

/// The alignment as `mallocx` takes it.
const fn aligned(alignment: usize) -> c_int {
    alignment.trailing_zeros() as c_int
}

// SAFETY: hew's functions have malloc's contract, and the layout says what they ask.
unsafe impl GlobalAlloc for Hew {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_usual(layout.align(), layout.size()) {
            sys::malloc(layout.size()).cast()
        } else {
            sys::mallocx(layout.size(), aligned(layout.align())).cast()
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_usual(layout.align(), layout.size()) {
            sys::calloc(1, layout.size()).cast()
        } else {
            sys::mallocx(layout.size(), aligned(layout.align()) | sys::MALLOCX_ZERO).cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        let usual = is_usual(layout.align(), layout.size());
        sys::sdallocx(
            object.cast(),
            layout.size(),
            if usual { 0 } else { aligned(layout.align()) },
        );
    }

    #[inline]
    unsafe fn realloc(&self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_usual(layout.align(), size) {
            sys::realloc(object.cast(), size).cast()
        } else {
            sys::rallocx(object.cast(), size, aligned(layout.align())).cast()
        }
    }
}

/// Why hew refused a call: an error number of `errno.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub c_int);

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => to.write_str("hew: not to be read or written"),
            2 => to.write_str("hew: no such name"),
            11 => to.write_str("hew: out of memory"),
            14 => to.write_str("hew: not possible now"),
            22 => to.write_str("hew: a value that cannot be"),
            number => write!(to, "hew: error {number}"),
        }
    }
}

/// `core::error::Error` needs Rust 1.81; this crate does not.
pub(crate) fn checked(number: c_int) -> Result<(), Error> {
    match number {
        0 => Ok(()),
        number => Err(Error(number)),
    }
}

/// The memory of the process, in bytes unless something else is said, as of one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// In objects of the program or a cache.
    pub allocated: usize,
    /// Of these, in caches.
    pub cached: usize,
    /// Pages that hold objects.
    pub active: usize,
    /// Pages that are free and still there.
    pub dirty: usize,
    /// Pages that are free and that the system may take.
    pub muzzy: usize,
    /// Address space without pages.
    pub retained: usize,
    /// Address space in use.
    pub mapped: usize,
    /// hew's own data.
    pub metadata: usize,
    /// The most that can be in physical memory.
    pub resident: usize,
    /// How many pages have ever gone back to the system.
    pub purged_pages: u64,
    /// Arenas.
    pub arenas: u32,
    /// Threads that have a cache.
    pub threads: u32,
}

/// The memory of the process now. Takes microseconds; any thread, any time.
pub fn stats() -> Stats {
    let mut now = sys::hew_figures::default();
    // SAFETY: the size says how much may be written.
    unsafe { sys::hew_read_figures(&mut now, core::mem::size_of_val(&now)) };
    Stats {
        allocated: now.allocated,
        cached: now.cached,
        active: now.active,
        dirty: now.dirty,
        muzzy: now.muzzy,
        retained: now.retained,
        mapped: now.mapped,
        metadata: now.metadata,
        resident: now.resident,
        purged_pages: now.purged,
        arenas: now.arenas,
        threads: now.threads,
    }
}

/// Bytes that the calling thread has ever allocated and freed, in usable sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStats {
    /// Bytes allocated.
    pub allocated: u64,
    /// Bytes freed.
    pub freed: u64,
}

/// What the calling thread has allocated and freed.
pub fn thread_stats() -> ThreadStats {
    // SAFETY: no arguments, and it may be called at any time.
    let now = unsafe { sys::hew_read_thread() };
    ThreadStats {
        allocated: now.allocated,
        freed: now.freed,
    }
}

/// The version of hew in this program.
pub fn version() -> &'static str {
    // SAFETY: a static text that ends with 0.
    unsafe { CStr::from_ptr(sys::hew_version()) }
        .to_str()
        .unwrap_or("")
}

/// Returns all unused pages to the system now.
pub fn purge() -> Result<(), Error> {
    // SAFETY: an arena's number by value.
    checked(unsafe { sys::hew_purge(sys::hew_arena_id::default()) })
}

/// Builds settings into the program, such as `"narenas:4,dirty_decay_ms:1000"`. Once, beside `main`; the environment
/// is stronger.
#[cfg(not(feature = "override"))]
#[macro_export]
macro_rules! built_in_settings {
    ($text:literal) => {
        #[doc(hidden)]
        #[export_name = "hewmalloc_malloc_conf"]
        pub static HEWMALLOC_SETTINGS: &$crate::settings::BuiltIn<{ $text.len() + 1 }> =
            &$crate::settings::BuiltIn::new(concat!($text, "\0"));
    };
}

/// Builds settings into the program, such as `"narenas:4,dirty_decay_ms:1000"`. Once, beside `main`; the environment
/// is stronger.
#[cfg(feature = "override")]
#[macro_export]
macro_rules! built_in_settings {
    ($text:literal) => {
        #[doc(hidden)]
        #[export_name = "malloc_conf"]
        pub static HEWMALLOC_SETTINGS: &$crate::settings::BuiltIn<{ $text.len() + 1 }> =
            &$crate::settings::BuiltIn::new(concat!($text, "\0"));
    };
}
