#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The test suites of the crates tikv-jemallocator, -ctl and -sys, and a program of our own, linked to LIBRARY.

The crates' sources come through cargo.  JEMALLOC_OVERRIDE is the crates' own switch for another library; without
LIBRARY they build the jemalloc that they bring, which checks this script.  A LIBRARY ending in .a is linked statically.
--prefixed: the library's names begin with _rjem_, the crates' default.  --background-threads: the crates' feature for a
library that starts its thread unasked; one of the tests asks for just that.  --work keeps what was built.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
CRATES = ["tikv-jemallocator", "tikv-jemalloc-ctl", "tikv-jemalloc-sys"]
VERSION = "0.7.0"
MANIFEST = """[package]
name = "compat-program"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "program"
path = "src/main.rs"

[dependencies]
tikv-jemallocator = "={0}"
tikv-jemalloc-ctl = {{ version = "={0}", features = ["stats", "use_std"] }}
tikv-jemalloc-sys = {{ version = "0.7", features = ["stats"] }}

[profile.test]
debug = 0
"""
# What cargo leaves out of published manifests: the crates test each other.
TEST_DEPENDENCIES = {
    "tikv-jemallocator": '\n[dev-dependencies.tikv-jemalloc-ctl]\nversion = "0.7"\n',
    "tikv-jemalloc-ctl": "",
    "tikv-jemalloc-sys": "",
}


def prepare(work: Path) -> None:
    """A workspace of our program and of the crates as members, so that `cargo test` runs their tests."""
    (work / "src").mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "rust/program.rs", work / "src/main.rs")
    if (work / "crates").exists():
        return
    (work / "Cargo.toml").write_text(MANIFEST.format(VERSION))
    vendored = work / "vendor"
    subprocess.run(["cargo", "vendor", "--quiet", "vendor"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    for crate in CRATES:
        shutil.copytree(vendored / crate, work / "crates" / crate)
        (work / "crates" / crate / ".cargo-checksum.json").unlink()
        with (work / "crates" / crate / "Cargo.toml").open("a") as manifest:
            manifest.write(TEST_DEPENDENCIES[crate])
    shutil.rmtree(vendored)
    members = ", ".join(f'"crates/{crate}"' for crate in CRATES)
    patches = "".join(f'{crate} = {{ path = "crates/{crate}" }}\n' for crate in CRATES)
    with (work / "Cargo.toml").open("a") as manifest:
        manifest.write(f"\n[workspace]\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}")


def commands(prefixed: bool, threads: bool) -> list[list[str]]:
    """Every suite by itself: cargo runs all test programs of one even when an earlier one fails."""
    unprefixed = [] if prefixed else ["unprefixed_malloc_on_supported_platforms"]
    rows = []
    for crate in CRATES:
        features = ["stats", "profiling"] + (unprefixed if crate != "tikv-jemalloc-ctl" else ["use_std"])
        if threads and crate == "tikv-jemallocator":
            features.append("background_threads")
        if crate == "tikv-jemalloc-ctl" and not prefixed:
            features.append("tikv-jemalloc-sys/unprefixed_malloc_on_supported_platforms")
        rows.append(["cargo", "test", "--no-fail-fast", "-p", crate, "--features", ",".join(features)])
    run = ["cargo", "run", "--release", "-p", "compat-program"]
    if not prefixed:
        run += ["--features", "tikv-jemalloc-sys/unprefixed_malloc_on_supported_platforms"]
    return [*rows, run]


def environment_for(library: Path | None, work: Path) -> dict[str, str]:
    """The library under a folder of its own: cargo is told a path, the loader a folder."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(work / "target"), "RUST_BACKTRACE": "1"}
    environment["RUST_TEST_THREADS"] = "1"  # one of them compares statistics that another refreshes
    environment.pop("JEMALLOC_OVERRIDE", None)
    if library is None:
        return environment
    folder = work / "lib"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    name = "libjemalloc.a" if library.suffix == ".a" else "libjemalloc.so"
    shutil.copy(library, folder / name)
    if library.suffix != ".a":
        for alias in (library.name, "libjemalloc.so.2"):
            (folder / alias).unlink(missing_ok=True)
            (folder / alias).symlink_to(name)
    return {**environment, "JEMALLOC_OVERRIDE": str(folder / name), "LD_LIBRARY_PATH": str(folder)}


def run(library: Path | None, rows: list[list[str]], work: Path) -> bool:
    prepare(work)
    environment = environment_for(library, work)
    # The program that is linked to a library must not be taken for up to date when its contents are others.
    shutil.rmtree(work / "target", ignore_errors=True)
    good = True
    for command in rows:
        print("+", " ".join(command), flush=True)
        result = subprocess.run(command, cwd=work, env=environment, timeout=1200, check=False)
        good = good and result.returncode == 0
        print(f"{'ok' if result.returncode == 0 else 'NOT OK'}: {' '.join(command[1:5])}", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", type=Path)
    parser.add_argument("--prefixed", action="store_true")
    parser.add_argument("--background-threads", action="store_true")
    parser.add_argument("--work", type=Path)
    arguments = parser.parse_args()
    if shutil.which("cargo") is None:
        print("rust: cargo is not installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="compat-") as temporary:
        work = arguments.work or Path(temporary)
        rows = commands(arguments.prefixed, arguments.background_threads)
        good = run(arguments.library, rows, work.resolve())
    print("rust: passed" if good else "rust: FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
