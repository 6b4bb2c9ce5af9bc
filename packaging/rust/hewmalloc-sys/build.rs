// SPDX-License-Identifier: MIT
//! Compiles c/hew.c, which is the whole library.

use std::env;

fn main() {
    let target = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    assert!(
        target == "linux",
        "hewmalloc runs on Linux only, not on {target}"
    );
    println!("cargo:rerun-if-changed=c/hew.c");
    println!("cargo:rerun-if-changed=c/hew.h");

    let mut build = cc::Build::new();
    build
        .file("c/hew.c")
        .include("c")
        .std("c17")
        .warnings(false)
        // An allocator that is not optimized makes every debug build slow.
        .opt_level(if env::var("PROFILE").as_deref() == Ok("debug") {
            1
        } else {
            2
        })
        .flag_if_supported("-fno-strict-aliasing")
        .flag_if_supported("-fexceptions");
    if env::var_os("CARGO_FEATURE_OVERRIDE").is_none() {
        build.define("HEW_NAMES", "hewmalloc_");
    }
    build.compile("hew");
    println!(
        "cargo:include={}",
        env::current_dir().unwrap().join("c").display()
    );
}
