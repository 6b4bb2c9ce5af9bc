// SPDX-License-Identifier: MIT
//! A heap of its own holds collections, from several threads, and goes with all its memory.
#![cfg(feature = "heap")]
use allocator_api2::vec::Vec;
use hewmalloc::Heap;

#[test]
fn collections_live_in_a_heap_of_their_own() {
    let heap = Heap::new().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let heap = &heap;
            scope.spawn(move || {
                let mut numbers = Vec::new_in(heap);
                numbers.extend((0..100_000).map(|number| number * thread));
                assert_eq!(numbers.iter().sum::<u64>(), thread * 99_999 * 50_000);
            });
        }
    });
    heap.purge().unwrap();
}
