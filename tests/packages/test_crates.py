# SPDX-License-Identifier: MIT
"""The Rust crates as a registry would have them: their tests, a program and ripgrep on them; cargo has a home apart."""

import os
import shutil
import tarfile
from pathlib import Path

import pytest
from packaged import need, run_command

pytestmark = pytest.mark.timeout(3600)
PROGRAM = """
#[global_allocator]
static GLOBAL: hewmalloc::Hew = hewmalloc::Hew;
hewmalloc::built_in_settings!("dirty_decay_ms:1234");

fn main() {
    let threads: Vec<_> = (0..4).map(|seed| std::thread::spawn(move || {
        (0..100_000).map(|number| (number * seed).to_string()).map(|text| text.len()).sum::<usize>()
    })).collect();
    let bytes: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let held = vec![1u8; 1 << 20];
    assert!(hewmalloc::stats().allocated >= held.len());
    println!("hew {} {bytes} {}", hewmalloc::version(), hewmalloc::settings::DIRTY_DECAY_MS.read().unwrap());
}
"""
MANIFEST = """
[package]
name = "program"
version = "0.0.0"
edition = "2021"

[dependencies]
hewmalloc = { path = "HEWMALLOC" }

[patch.crates-io]
hewmalloc-sys = { path = "SYS" }
"""
SEARCHER = """
[package]
name = "fetcher"
version = "0.0.0"
edition = "2021"

[lib]
path = "lib.rs"

[dependencies]
ripgrep = "=14.1.1"
"""


@pytest.fixture(scope="module")
def crates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both crates as a registry would unpack them."""
    need("cargo", "cc")
    import build_crates  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("crates")
    assert build_crates.main(["--output", str(folder), "--no-verify"]) == 0
    for file in folder.glob("*.crate"):
        with tarfile.open(file) as archive:
            archive.extractall(folder / "unpacked", filter="data")
    shutil.rmtree(folder / "workspace")
    return folder / "unpacked"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for cargo that has nothing but this machine's settings."""
    home = tmp_path_factory.mktemp("cargo-home")
    users = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for name in ("config.toml", "config"):
        if (users / name).is_file():
            shutil.copy(users / name, home)
    return home


def place(crates: Path, name: str) -> Path:
    return next(crates.glob(f"{name}-[0-9]*"))


def patched(text: str, crates: Path) -> str:
    return text.replace("HEWMALLOC", str(place(crates, "hewmalloc"))).replace(
        "SYS", str(place(crates, "hewmalloc-sys"))
    )


@pytest.mark.parametrize("features", ["heap", "heap,override"])
def test_their_tests_pass(features: str, crates: Path, home: Path) -> None:
    crate = place(crates, "hewmalloc")
    patch = f'patch.crates-io.hewmalloc-sys.path="{place(crates, "hewmalloc-sys")}"'
    words = ["cargo", "test", "--config", patch, "--features", features]
    said = run_command(*words, folder=crate, CARGO_HOME=str(home), CARGO_TARGET_DIR=str(crates / "target"))
    assert said.count("test result: ok") >= 3
    assert "FAILED" not in said


def test_a_program_runs_on_them_and_goes_back_by_one_line(crates: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/main.rs").write_text(PROGRAM)
    (tmp_path / "Cargo.toml").write_text(patched(MANIFEST, crates))
    assert run_command("cargo", "run", "-q", folder=tmp_path, CARGO_HOME=str(home)).startswith("hew ")
    assert "1234" in run_command(tmp_path / "target/debug/program")
    assert "9999" in run_command(tmp_path / "target/debug/program", HEW_CONF="dirty_decay_ms:9999")
    assert "libhew" not in run_command("ldd", tmp_path / "target/debug/program")
    (tmp_path / "src/main.rs").write_text("fn main() {}")
    run_command("cargo", "remove", "hewmalloc", folder=tmp_path, CARGO_HOME=str(home))
    run_command("cargo", "run", "-q", folder=tmp_path, CARGO_HOME=str(home))
    assert "hew_alloc" not in run_command("nm", tmp_path / "target/debug/program")


def test_ripgrep_runs_on_them(crates: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "lib.rs").touch()
    (tmp_path / "Cargo.toml").write_text(SEARCHER)
    run_command("cargo", "vendor", "-q", "vendor", folder=tmp_path, CARGO_HOME=str(home))
    searcher = tmp_path / "ripgrep"
    shutil.copytree(tmp_path / "vendor/ripgrep", searcher)
    (searcher / ".cargo-checksum.json").unlink()
    main = searcher / "crates/core/main.rs"
    main.write_text(main.read_text() + "\n#[global_allocator]\nstatic GLOBAL: hewmalloc::Hew = hewmalloc::Hew;\n")
    manifest = (searcher / "Cargo.toml").read_text()
    patch = patched('\n[patch.crates-io.hewmalloc-sys]\npath = "SYS"\n', crates)
    uses = patched('[dependencies.hewmalloc]\npath = "HEWMALLOC"\n', crates)
    (searcher / "Cargo.toml").write_text(f"{manifest}\n{uses}{patch}")
    run_command("cargo", "build", "-q", folder=searcher, CARGO_HOME=str(home))
    program = searcher / "target/debug/rg"
    assert "hew.c" in run_command(program, "-l", "hew", place(crates, "hewmalloc-sys") / "c")
    assert "-ghew" in run_command(program, "nothing of the kind|amalgam", place(crates, "hewmalloc-sys"),
                                  MALLOC_CONF="stats_print:true")  # fmt: skip


def test_they_build_for_aarch64(crates: Path, tmp_path: Path) -> None:
    """The C half, which is what differs; Rust's own library for aarch64 is on few machines."""
    need("aarch64-linux-gnu-gcc", "qemu-aarch64")
    source = place(crates, "hewmalloc-sys") / "c"
    flags = ["-std=c17", "-O2", "-fPIC", "-fno-strict-aliasing", "-fexceptions", "-DHEW_NAMES=hewmalloc_"]
    run_command("aarch64-linux-gnu-gcc", *flags, "-c", source / "hew.c", "-o", tmp_path / "hew.o")
    (tmp_path / "main.c").write_text(
        "#include <hew.h>\n#include <stdio.h>\nint main(void) { puts(hew_version()); return hew_alloc(9, 0) == 0; }\n"
    )
    files = (tmp_path / "main.c", tmp_path / "hew.o", "-pthread", "-o", tmp_path / "main")
    run_command("aarch64-linux-gnu-gcc", "-static", f"-I{source}", *files)
    run_command("qemu-aarch64", tmp_path / "main")
