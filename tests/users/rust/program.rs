// SPDX-License-Identifier: MIT
//! A program with jemalloc as its global allocator: threads that pass collections to each other, strings that grow,
//! over-aligned layouts, zeroed memory, and the control calls that programs make around them.

use std::alloc::{GlobalAlloc, Layout};
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc;
use std::thread;
use tikv_jemalloc_ctl::{epoch, stats, thread as of_thread};
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[repr(align(4096))]
struct Page([u8; 4096]);

fn words(seed: u64) -> HashMap<String, Vec<u64>> {
    let mut map = HashMap::new();
    for i in 0..2000u64 {
        let key = format!("{:x}-{}", seed.wrapping_mul(i | 1), "k".repeat((i % 50) as usize));
        map.entry(key).or_insert_with(Vec::new).extend(0..i % 100);
    }
    map
}

fn pass_between_threads() -> usize {
    let (sender, receiver) = mpsc::channel();
    let makers: Vec<_> = (0..4)
        .map(|seed| {
            let sender = sender.clone();
            thread::spawn(move || (0..20).for_each(|round| sender.send(words(seed * 1000 + round)).unwrap()))
        })
        .collect();
    drop(sender);
    let total = receiver.iter().map(|map| map.values().map(Vec::len).sum::<usize>()).sum();
    makers.into_iter().for_each(|maker| maker.join().unwrap());
    total
}

fn layouts() {
    for power in 0..16 {
        for size in [1usize, 7, 100, 5000, 70_000, 3 << 20] {
            let layout = Layout::from_size_align(size, 1 << power).unwrap();
            unsafe {
                let first = ALLOCATOR.alloc_zeroed(layout);
                assert!(!first.is_null() && first as usize % layout.align() == 0);
                assert!(std::slice::from_raw_parts(first, size).iter().all(|byte| *byte == 0));
                first.write_bytes(0xa7, size);
                let second = ALLOCATOR.realloc(first, layout, size * 2);
                assert!(second as usize % layout.align() == 0 && *second.add(size - 1) == 0xa7);
                ALLOCATOR.dealloc(second, Layout::from_size_align(size * 2, 1 << power).unwrap());
            }
        }
    }
    let pages: Vec<Box<Page>> = (0..100).map(|i| Box::new(Page([i as u8; 4096]))).collect();
    assert!(pages.iter().enumerate().all(|(i, page)| page.0[4095] == i as u8));
}

fn control() {
    let before = of_thread::allocatedp::read().unwrap().get();
    let boxed = std::hint::black_box(Box::new([1u8; 100]));
    let after = of_thread::allocatedp::read().unwrap().get();
    assert!(after >= before + 100, "{before} {after}");
    drop(boxed);
    epoch::advance().unwrap();
    let small = stats::allocated::read().unwrap();
    let kept: Vec<u8> = std::hint::black_box(vec![1; 32 << 20]);
    assert_eq!(stats::allocated::read().unwrap(), small);
    epoch::advance().unwrap();
    assert!(stats::allocated::read().unwrap() >= small + kept.len());
    assert!(stats::resident::read().unwrap() >= stats::active::read().unwrap());
    assert!(stats::active::read().unwrap() >= stats::allocated::read().unwrap());
}

fn main() {
    control();
    layouts();
    let tree: BTreeMap<u64, String> = (0..100_000).map(|i| (i * 7919 % 100_003, i.to_string())).collect();
    assert_eq!(tree.len(), 100_000);
    assert_eq!(pass_between_threads(), 4 * 20 * 99 * 1000);
    println!("program: all is well");
}
