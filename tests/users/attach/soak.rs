// SPDX-License-Identifier: MIT
//! Threads that allocate without a pause on jemalloc (`_rjem_` in the program itself) and look at every byte before they
//! free; a thread that looks at the clock; threads that are born and die. Each line from standard input makes it say for how
//! long that thread stood still at most since the one before, and how often for more than 20 ms; the second one ends it.
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Instant;

#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

static OVER: AtomicBool = AtomicBool::new(false);
static ROUNDS: AtomicU64 = AtomicU64::new(0);
static LONGEST: AtomicU64 = AtomicU64::new(0);
static LONG: AtomicU64 = AtomicU64::new(0);

fn churn(seed: u64) {
    let mut state = seed;
    let mut held: Vec<Vec<u8>> = vec![Vec::new(); 256];
    while !OVER.load(Ordering::Relaxed) {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let place = (state >> 56) as usize;
        let size = 1 + (state >> 33) as usize % if state >> 20 & 63 == 0 { 200_000 } else { 2_000 };
        assert!(held[place].iter().all(|byte| *byte == place as u8), "an object changed");
        held[place] = vec![place as u8; size];
        ROUNDS.fetch_add(1, Ordering::Relaxed);
    }
}

fn passing() {
    let (send, receive) = mpsc::channel::<Vec<u64>>();
    let taker = std::thread::spawn(move || receive.into_iter().map(|list| assert!(list.iter().all(|one| *one == 7))).count());
    while !OVER.load(Ordering::Relaxed) {
        let child = std::thread::spawn(|| vec![7u64; 1000]);
        send.send(child.join().unwrap()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    drop(send);
    assert!(taker.join().unwrap() > 0);
}

fn clock() {
    let mut last = Instant::now();
    while !OVER.load(Ordering::Relaxed) {
        let now = Instant::now();
        let gap = (now - last).as_micros() as u64;
        LONGEST.fetch_max(gap, Ordering::Relaxed);
        LONG.fetch_add((gap > 20_000) as u64, Ordering::Relaxed);
        last = now;
    }
}

fn gaps(began: Instant) -> String {
    let (longest, long) = (LONGEST.swap(0, Ordering::Relaxed) as f64, LONG.swap(0, Ordering::Relaxed) as f64);
    let a_minute = long * 60.0 / began.elapsed().as_secs_f64();
    format!("stood still for {:.1} ms at most, for more than 20 ms {:.1} times a minute", longest / 1000.0, a_minute)
}

fn main() {
    let count: u64 = std::env::args().nth(1).map_or(6, |word| word.parse().unwrap());
    let mut threads: Vec<_> = (0..count).map(|seed| std::thread::spawn(move || churn(seed))).collect();
    threads.push(std::thread::spawn(passing));
    threads.push(std::thread::spawn(clock));
    println!("ready");
    let began = Instant::now();
    let _ = std::io::stdin().read(&mut [0]);
    println!("{}", gaps(began));
    let began = Instant::now();
    let _ = std::io::stdin().read(&mut [0]);
    let seen = gaps(began);
    OVER.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("{} rounds; {}", ROUNDS.load(Ordering::Relaxed), seen);
}
