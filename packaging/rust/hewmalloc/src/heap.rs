// SPDX-License-Identifier: MIT
//! Memory apart from the rest of the program's.

use crate::{checked, sys, Error};
use allocator_api2::alloc::{AllocError, Allocator};
use core::alloc::Layout;
use core::ptr::NonNull;

/// A heap of its own: no page of it holds objects of other heaps, and all of it goes at once when the heap is dropped.
///
/// `&Heap` is an allocator for the collections of `allocator-api2`, so nothing outlives the heap. Any thread may use it;
/// there is no thread cache in between, and each call takes a lock.
#[derive(Debug)]
pub struct Heap {
    arena: sys::hew_arena_id,
}

impl Heap {
    /// A new, empty heap.
    pub fn new() -> Result<Self, Error> {
        let mut arena = sys::hew_arena_id::default();
        // SAFETY: a place for the number; no hooks.
        checked(unsafe { sys::hew_make_arena(&mut arena, core::ptr::null_mut()) })?;
        Ok(Heap { arena })
    }

    /// Returns the heap's unused pages to the system now.
    pub fn purge(&self) -> Result<(), Error> {
        // SAFETY: the arena is there as long as the heap is.
        checked(unsafe { sys::hew_purge(self.arena) })
    }

    fn request(&self, layout: Layout, zero: bool) -> sys::hew_request {
        sys::hew_request {
            alignment: layout.align(),
            zero,
            arena: self.arena,
            cache: sys::HEW_NO_CACHE,
        }
    }

    fn object(&self, layout: Layout, zero: bool) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            // SAFETY: an alignment is not 0.
            let nothing = unsafe { NonNull::new_unchecked(layout.align() as *mut u8) };
            return Ok(NonNull::slice_from_raw_parts(nothing, 0));
        }
        // SAFETY: the request lives through the call.
        let object = unsafe { sys::hew_alloc(layout.size(), &self.request(layout, zero)) };
        let object = NonNull::new(object.cast::<u8>()).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(object, layout.size()))
    }
}

// SAFETY: objects stay where they are until they are freed, and the reference keeps the heap.
unsafe impl Allocator for &Heap {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        self.object(layout, false)
    }

    fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        self.object(layout, true)
    }

    unsafe fn deallocate(&self, object: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            sys::hew_free_sized(
                object.as_ptr().cast(),
                layout.size(),
                &self.request(layout, false),
            );
        }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: no reference to the heap is left, so its objects are no longer used.
        unsafe { sys::hew_destroy_arena(self.arena) };
    }
}
