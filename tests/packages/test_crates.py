# SPDX-License-Identifier: MIT
"""The Rust crates as a registry would have them: their tests, and four programs; cargo has a home apart."""

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
# cargo has no command that only fetches a program's sources: they come as what this depends on.
FETCHER = """
[package]
name = "fetcher"
version = "0.0.0"
edition = "2021"

[lib]
path = "lib.rs"

[dependencies]
NAME = "=VERSION"
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


def real_program(name: str, version: str, main: str, tools: tuple[Path, Path], folder: Path) -> Path:
    """The folder that a program from the registry was built in, on our crates: three lines in two of its files."""
    crates, home = tools
    (folder / "lib.rs").touch()
    (folder / "Cargo.toml").write_text(FETCHER.replace("NAME", name).replace("VERSION", version))
    run_command("cargo", "vendor", "-q", "vendor", folder=folder, CARGO_HOME=str(home))
    program = folder / name
    shutil.copytree(folder / "vendor" / name, program)
    (program / ".cargo-checksum.json").unlink()
    source = program / main
    source.write_text(source.read_text() + "\n#[global_allocator]\nstatic GLOBAL: hewmalloc::Hew = hewmalloc::Hew;\n")
    manifest = (program / "Cargo.toml").read_text()
    patch = patched('\n[patch.crates-io.hewmalloc-sys]\npath = "SYS"\n', crates)
    uses = patched('[dependencies.hewmalloc]\npath = "HEWMALLOC"\n', crates)
    (program / "Cargo.toml").write_text(f"{manifest}\n{uses}{patch}")
    words = ("build", "-q", "--no-default-features")  # fd's own choice of an allocator is one of its features
    run_command("cargo", *words, folder=program, CARGO_HOME=str(home))
    return program / "target/debug"


STATISTICS = "stats_print:true"


def test_ripgrep_runs_on_them(crates: Path, home: Path, tmp_path: Path) -> None:
    program = real_program("ripgrep", "14.1.1", "crates/core/main.rs", (crates, home), tmp_path) / "rg"
    assert "hew.c" in run_command(program, "-l", "hew", place(crates, "hewmalloc-sys") / "c")
    said = run_command(program, "nothing of the kind|amalgam", place(crates, "hewmalloc-sys"), MALLOC_CONF=STATISTICS)
    assert "-ghew" in said


def test_fd_runs_on_them(crates: Path, home: Path, tmp_path: Path) -> None:
    program = real_program("fd-find", "10.2.0", "src/main.rs", (crates, home), tmp_path) / "fd"
    said = run_command(program, "--threads", "4", "^hew[.]c$", crates, MALLOC_CONF=STATISTICS)
    assert str(place(crates, "hewmalloc-sys") / "c/hew.c") in said
    assert "-ghew" in said


def test_sd_runs_on_them(crates: Path, home: Path, tmp_path: Path) -> None:
    program = real_program("sd", "1.0.0", "src/main.rs", (crates, home), tmp_path) / "sd"
    files = [tmp_path / f"{number}.txt" for number in range(20)]
    for file in files:
        file.write_text("malloc and free\n" * 1000)
    assert "-ghew" in run_command(program, "m(all)oc", "h$1", *files, MALLOC_CONF=STATISTICS)
    assert {file.read_text() for file in files} == {"hall and free\n" * 1000}


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
