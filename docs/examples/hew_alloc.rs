// SPDX-License-Identifier: MIT
//! hew as the global allocator of a Rust program, by its sized calls.  docs/rust.md says how to link it.
//!
//! Frees carry the size, so hew does not look it up; with check level 1 and more it compares the two.
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_void};

#[link(name = "hew")]
extern "C" {
    fn mallocx(size: usize, flags: c_int) -> *mut c_void;
    fn rallocx(object: *mut c_void, size: usize, flags: c_int) -> *mut c_void;
    fn sdallocx(object: *mut c_void, size: usize, flags: c_int);
}

const ZERO: c_int = 0x40; // MALLOCX_ZERO

/// The alignment as a flag: its logarithm.
fn aligned(layout: Layout) -> c_int {
    layout.align().trailing_zeros() as c_int
}

pub struct Hew;

// SAFETY: the calls have malloc's contract; GlobalAlloc never asks for 0 bytes.
unsafe impl GlobalAlloc for Hew {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { mallocx(layout.size(), aligned(layout)).cast() }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { mallocx(layout.size(), aligned(layout) | ZERO).cast() }
    }

    unsafe fn realloc(&self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe { rallocx(object.cast(), size, aligned(layout)).cast() }
    }

    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        unsafe { sdallocx(object.cast(), layout.size(), aligned(layout)) }
    }
}

#[global_allocator]
static GLOBAL: Hew = Hew;

fn main() {
    let lines: Vec<String> = (0..1000).map(|number| format!("line {number}")).collect();
    println!("{} bytes", lines.iter().map(String::len).sum::<usize>());
}
