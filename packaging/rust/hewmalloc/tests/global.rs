// SPDX-License-Identifier: MIT
//! The program's allocator is hew: sizes, alignments, zeros, threads, statistics and settings.
use hewmalloc::settings::{Setting, ARENAS, DIRTY_DECAY_MS, ENVIRONMENT};
use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};

#[global_allocator]
static GLOBAL: hewmalloc::Hew = hewmalloc::Hew;

hewmalloc::built_in_settings!("dirty_decay_ms:4321");

#[test]
fn objects_have_their_alignment_and_keep_their_bytes() {
    for shift in 0..13 {
        for size in [1, 7, 8, 9, 16, 17, 24, 100, 4096, 20_000, 300_000] {
            let layout = Layout::from_size_align(size, 1 << shift).unwrap();
            let larger = Layout::from_size_align(size * 2, 1 << shift).unwrap();
            unsafe {
                let object = alloc_zeroed(layout);
                assert_eq!(object as usize % layout.align(), 0);
                assert!((0..size).all(|at| *object.add(at) == 0));
                object.write_bytes(7, size);
                let object = realloc(object, layout, size * 2);
                assert_eq!(object as usize % layout.align(), 0);
                assert!((0..size).all(|at| *object.add(at) == 7));
                let object = realloc(object, larger, 1);
                dealloc(object, Layout::from_size_align(1, 1 << shift).unwrap());
                dealloc(alloc(layout), layout);
            }
        }
    }
}

#[test]
fn the_statistics_see_what_the_program_holds() {
    let (before, thread) = (hewmalloc::stats(), hewmalloc::thread_stats());
    let held = vec![1u8; 64 << 20];
    let after = hewmalloc::stats();
    assert!(after.allocated >= before.allocated + held.len() - (1 << 20));
    assert!(after.resident >= held.len());
    assert!(hewmalloc::thread_stats().allocated >= thread.allocated + held.len() as u64);
    drop(held);
    hewmalloc::purge().unwrap();
    assert!(hewmalloc::stats().purged_pages >= (32 << 20) / 4096);
}

#[test]
fn settings_are_read_and_written_by_type() {
    assert_eq!(hewmalloc::version(), env!("CARGO_PKG_VERSION"));
    assert_eq!(
        Setting::<i64>::named(c"opt.dirty_decay_ms").read(),
        Ok(4321)
    );
    DIRTY_DECAY_MS.write(1000).unwrap();
    assert_eq!(DIRTY_DECAY_MS.read(), Ok(1000));
    assert!(ARENAS.read().unwrap() >= 1);
    let given = std::env::var("MALLOC_CONF").unwrap_or_default();
    assert_eq!(
        ENVIRONMENT
            .read()
            .map(|text| text.to_str().unwrap().to_owned())
            .unwrap_or_default(),
        given
    );
    assert_eq!(
        Setting::<i64>::named(c"no.such.name")
            .read()
            .unwrap_err()
            .to_string(),
        "hew: no such name"
    );
}

#[test]
fn objects_of_one_thread_are_freed_by_another() {
    let (sender, receiver) = std::sync::mpsc::channel::<Vec<String>>();
    let other = std::thread::spawn(move || receiver.iter().map(|lines| lines.len()).sum::<usize>());
    for round in 0..100 {
        sender
            .send((0..100).map(|line| format!("{round} {line}")).collect())
            .unwrap();
    }
    drop(sender);
    assert_eq!(other.join().unwrap(), 10_000);
}
