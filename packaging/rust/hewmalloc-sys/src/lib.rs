// SPDX-License-Identifier: MIT
//! hew's C functions. Types and contracts are those of `c/hew.h`.
//!
//! Without the feature `override` the library stands beside libc's malloc: [`malloc`], [`mallocx`] and their kin are
//! linked by names that begin with `hewmalloc_`.
#![no_std]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_int, c_void};

/// `MALLOCX_ZERO`: the memory reads as zeros.
pub const MALLOCX_ZERO: c_int = 0x40;

/// An arena: pages and objects apart from those of other arenas. `{0}` is the calling thread's own.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hew_arena_id {
    pub number: u32,
}

/// A cache of freed objects. `{0}` is the calling thread's own.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hew_cache_id {
    pub number: u32,
}

/// Straight from the arena, and straight back.
pub const HEW_NO_CACHE: hew_cache_id = hew_cache_id { number: 1 };

/// How an object is wanted. All zeros: as malloc does it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hew_request {
    pub alignment: usize,
    pub zero: bool,
    pub arena: hew_arena_id,
    pub cache: hew_cache_id,
}

/// The memory of the process, in bytes where nothing else is said.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hew_figures {
    pub allocated: usize,
    pub cached: usize,
    pub active: usize,
    pub dirty: usize,
    pub muzzy: usize,
    pub retained: usize,
    pub mapped: usize,
    pub metadata: usize,
    pub resident: usize,
    /// Pages.
    pub purged: u64,
    pub arenas: u32,
    pub threads: u32,
}

/// Bytes that the calling thread has ever allocated and freed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hew_thread_figures {
    pub allocated: u64,
    pub freed: u64,
}

macro_rules! named {
    ($($(#[$about:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        extern "C" {
            $(
                $(#[$about])*
                #[cfg_attr(not(feature = "override"), link_name = concat!("hewmalloc_", stringify!($name)))]
                pub fn $name($($argument: $type),*) $(-> $result)?;
            )*
        }
    };
}

named! {
    fn malloc(size: usize) -> *mut c_void;
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn realloc(object: *mut c_void, size: usize) -> *mut c_void;
    fn free(object: *mut c_void);
    fn malloc_usable_size(object: *const c_void) -> usize;
    /// `flags`: the base-2 logarithm of the alignment, `MALLOCX_ZERO`.
    fn mallocx(size: usize, flags: c_int) -> *mut c_void;
    fn rallocx(object: *mut c_void, size: usize, flags: c_int) -> *mut c_void;
    fn xallocx(object: *mut c_void, size: usize, extra: usize, flags: c_int) -> usize;
    fn sallocx(object: *const c_void, flags: c_int) -> usize;
    /// `size` and `flags` are those of the allocation; other ones end the process.
    fn sdallocx(object: *mut c_void, size: usize, flags: c_int);
    fn nallocx(size: usize, flags: c_int) -> usize;
    fn mallctl(name: *const c_char, old: *mut c_void, old_size: *mut usize, new: *mut c_void, new_size: usize) -> c_int;
    fn malloc_stats_print(
        write: Option<unsafe extern "C" fn(*mut c_void, *const c_char)>,
        context: *mut c_void,
        options: *const c_char
    );
}

extern "C" {
    pub fn hew_version() -> *const c_char;
    pub fn hew_alloc(size: usize, request: *const hew_request) -> *mut c_void;
    pub fn hew_resize(object: *mut c_void, size: usize, request: *const hew_request)
        -> *mut c_void;
    pub fn hew_free(object: *mut c_void, request: *const hew_request);
    pub fn hew_free_sized(object: *mut c_void, size: usize, request: *const hew_request);
    pub fn hew_usable_size(object: *const c_void) -> usize;
    pub fn hew_size_for(size: usize, request: *const hew_request) -> usize;
    pub fn hew_make_arena(arena: *mut hew_arena_id, hooks: *mut c_void) -> c_int;
    pub fn hew_reset_arena(arena: hew_arena_id) -> c_int;
    pub fn hew_destroy_arena(arena: hew_arena_id) -> c_int;
    pub fn hew_use_arena(arena: hew_arena_id) -> c_int;
    pub fn hew_purge(arena: hew_arena_id) -> c_int;
    pub fn hew_set_decay(arena: hew_arena_id, dirty_ms: i64, muzzy_ms: i64) -> c_int;
    pub fn hew_flush_cache(cache: hew_cache_id) -> c_int;
    pub fn hew_read_figures(figures: *mut hew_figures, size: usize);
    pub fn hew_read_thread() -> hew_thread_figures;
    pub fn hew_read_number(name: *const c_char, number: *mut i64) -> c_int;
    pub fn hew_write_number(name: *const c_char, number: i64) -> c_int;
    pub fn hew_read_text(name: *const c_char, text: *mut *const c_char) -> c_int;
    pub fn hew_write_text(name: *const c_char, text: *const c_char) -> c_int;
    pub fn hew_do(name: *const c_char) -> c_int;
}
