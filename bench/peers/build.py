#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the peers of peers.toml as build/peers/lib<name>.so, and see that each is really in use when preloaded.  Those
that are there for their checks lie in build/peers/checking, where the benchmarks do not look.

    python3 bench/peers/build.py [NAME ...]           all of them, or these
    python3 bench/peers/build.py --probe LIBRARY ...  only see whether these libraries are in use

A peer that is there and was made from the same row is left alone.  One that cannot be built does not stop the others;
the exit status is then 1.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build/peers"
PROBE_LIMIT = 60


class PeerError(Exception):
    """Why a peer cannot be had, in one line."""


@dataclass(frozen=True)
class Peer:
    """One row of peers.toml."""

    name: str
    version: str
    crate: str = ""
    checking: bool = False
    wheel: str = ""
    member: str = ""
    features: list[str] = field(default_factory=list)
    archive: str = ""
    exports: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)

    @property
    def library(self) -> Path:
        return BUILD / ("checking" if self.checking else "") / f"lib{self.name}.so"

    @property
    def stamp(self) -> str:
        """Changes with anything that the library is made from."""
        return hashlib.sha256(repr(self).encode() + Path(__file__).read_bytes()).hexdigest()


def read_peers() -> list[Peer]:
    rows = tomllib.loads((HERE / "peers.toml").read_text())
    return [Peer(name=name, **row) for name, row in rows.items()]


def run(words: list[str], folder: Path, log: Path) -> str:
    """The command's standard output; what it says otherwise goes to the log."""
    with log.open("a") as errors:
        print("$", *words, file=errors, flush=True)
        done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True, check=False)
    if done.returncode != 0:
        raise PeerError(f"{words[0]} failed: see {log}")
    return done.stdout


def write_crate(peer: Peer) -> Path:
    """A crate that is nothing but the dependency, at its exact version."""
    folder = BUILD / "crates" / peer.name
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src/lib.rs").write_text("")
    features = ", ".join(f'"{one}"' for one in peer.features)
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "peer"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies.{peer.crate}]\n'
        f'version = "={peer.version}"\ndefault-features = false\nfeatures = [{features}]\n\n[workspace]\n'
    )
    return folder


def built_archive(peer: Peer, folder: Path, log: Path) -> list[str]:
    """What to link: the static library that cargo built, whole."""
    lines = run(["cargo", "build", "--release", "--message-format=json"], folder, log).splitlines()
    outputs = [Path(one["out_dir"]) for one in map(json.loads, lines) if one["reason"] == "build-script-executed"]
    found = [(output, path) for output in outputs for path in output.rglob(peer.archive)]
    if not found:
        raise PeerError(f"cargo has made no {peer.archive}: see {log}")
    output, archive = found[0]
    if peer.exports:
        includes = [f"-I{output / one}" for one in peer.includes]
        return [*peer.flags, *includes, *(str(output / one) for one in peer.exports), str(archive)]
    return ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"]


def crate_sources(peer: Peer, folder: Path, log: Path) -> list[str]:
    """What to compile and link: files of the crate, where cargo has unpacked it."""
    wanted = run(["cargo", "metadata", "--format-version=1"], folder, log)
    manifests = [one["manifest_path"] for one in json.loads(wanted)["packages"] if one["name"] == peer.crate]
    home = Path(manifests[0]).parent
    includes = [f"-I{home / one}" for one in peer.includes]
    return [*peer.flags, *includes, *(str(home / one) for one in peer.sources)]


def unpack(peer: Peer) -> None:
    """The shared library that a wheel carries."""
    folder = BUILD / "wheels" / peer.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    run([*words, f"{peer.wheel}=={peer.version}"], folder, folder / "build.log")
    (wheel,) = folder.glob("*.whl")
    fresh = folder / "fresh.so"
    with zipfile.ZipFile(wheel) as members:
        fresh.write_bytes(members.read(peer.member))
    fresh.replace(peer.library)


def build(peer: Peer) -> None:
    """Makes the shared library, whole or not at all."""
    if peer.wheel:
        unpack(peer)
        return
    if shutil.which("cargo") is None:
        raise PeerError("cargo is not here (package cargo)")
    folder = write_crate(peer)
    log = folder / "build.log"
    log.unlink(missing_ok=True)
    peer.library.parent.mkdir(parents=True, exist_ok=True)
    parts = built_archive(peer, folder, log) if peer.archive else crate_sources(peer, folder, log)
    fresh = folder / "fresh.so"
    compiled = [*peer.sources, *peer.exports]
    run(["g++" if any(one.endswith(".cc") for one in compiled) else "gcc", "-shared", "-fPIC", "-pthread",
         "-o", str(fresh), *parts, "-ldl", "-lm"], folder, log)  # fmt: skip
    fresh.replace(peer.library)
    shutil.rmtree(folder / "target", ignore_errors=True)


def made_probe() -> Path:
    program, source = BUILD / "probe", HERE / "probe.c"
    if not program.is_file() or program.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        words = ["gcc", "-O1", "-fno-builtin", "-pthread", "-o", str(program), str(source), "-ldl"]
        run(words, BUILD, BUILD / "probe.log")
    return program


def probe(library: Path) -> None:
    """Complains unless the library is the allocator of a program that preloads it."""
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    words = [str(made_probe()), str(library)]
    try:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=PROBE_LIMIT, check=False)
    except subprocess.TimeoutExpired as error:
        raise PeerError("the probe hangs") from error
    if done.returncode != 0:
        raise PeerError(done.stderr.strip() or f"the probe ended with status {done.returncode}")


def bring(peer: Peer) -> str:
    """Builds and probes one peer, and says what was done."""
    stamp = peer.library.with_suffix(".stamp")
    if peer.library.is_file() and stamp.is_file() and stamp.read_text() == peer.stamp:
        return "is there"
    build(peer)
    try:
        probe(peer.library)
    except PeerError:
        peer.library.unlink()
        raise
    stamp.write_text(peer.stamp)
    return "built, in use under the probe"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probe", action="store_true", help="the names are libraries: only probe them")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(arguments)
    known = {peer.name: peer for peer in read_peers()}
    unknown = [] if options.probe else [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"{unknown[0]} is not one of {', '.join(known)}")
    status = 0
    made_probe()
    for name in options.names or known:
        try:
            if options.probe:
                probe(Path(name).absolute())
                said = "in use under the probe"
            else:
                said = bring(known[name])
            print(f"{name}: {said}", flush=True)
        except PeerError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
