# SPDX-License-Identifier: MIT
"""Compilers and build tools: what they write must be the same to the byte, and what they built must run."""

from __future__ import annotations

import shutil

import preparing
from generate import sources
from model import Place, Program, Step
from normalise import nothing


def cpp_source(place: Place) -> None:
    sources.write_cpp(place.inputs / "large.cpp", int(place.sizes["units"]))


def rust_workspace(place: Place) -> None:
    sources.write_rust(place.inputs / "whole", crates=4, modules=int(place.sizes["modules"]))


def java_package(place: Place) -> None:
    sources.write_java(place.inputs, int(place.sizes["units"]))


def typescript(place: Place) -> None:
    sources.write_typescript(place.inputs / "package", int(place.sizes["units"]))


def objects(place: Place) -> None:
    sources.write_objects(place.inputs / "objects", int(place.sizes["objects"]))
    preparing.run(place, "/bin/sh", "-c", "cd {inputs}/objects && gcc -g -O0 -ffunction-sections -c *.c && rm *.c")


def go_module(place: Place) -> None:
    """The module, and a build cache that already holds the standard library."""
    shutil.copytree(place.workloads / "go", place.inputs / "go")
    preparing.run(place, "go", "build", "-o", "{inputs}/warm", "{inputs}/go/main.go")


CPP_COMPILER = "-std=c++17", "-O2", "-fno-ident"

PROGRAMS = [
    Program(
        name="gcc",
        what="`g++ -O2` of one large C++ file full of templates, link, run the result",
        packages={"g++": "g++"},
        version=("g++", "--version"),
        quick=True,
        sizes={"units": ("2", "5")},
        prepare=cpp_source,
        steps=(
            Step(("g++", *CPP_COMPILER, "-c", "{inputs}/large.cpp", "-o", "large.o"), artifacts=("large.o",)),
            Step(("g++", "large.o", "-o", "large"), artifacts=("large",)),
            Step(("./large",)),
        ),
        note="peak is cc1plus",
    ),
    Program(
        name="clang",
        what="`clang++ -O2` of the same file, link, run the result",
        packages={"clang++": "clang", "g++": "g++"},
        version=("clang++", "--version"),
        sizes={"units": ("2", "5")},
        prepare=cpp_source,
        steps=(
            Step(("clang++", *CPP_COMPILER, "-c", "{inputs}/large.cpp", "-o", "large.o"), artifacts=("large.o",)),
            Step(("clang++", "large.o", "-o", "large"), artifacts=("large",)),
            Step(("./large",)),
        ),
    ),
    Program(
        name="rust",
        what="`cargo build --release` of a workspace of 5 crates, run the result",
        packages={"/usr/bin/cargo": "cargo", "/usr/bin/rustc": "rustc"},
        version=("/usr/bin/rustc", "--version"),
        sizes={"modules": ("1", "2")},
        environment={"CARGO_HOME": "{run}/cargo", "RUSTC": "/usr/bin/rustc"},
        prepare=rust_workspace,
        steps=(
            Step(("cp", "-r", "{inputs}/whole", "whole"), timed=False),
            Step(
                ("/usr/bin/cargo", "build", "--release", "--offline", "--quiet", "--manifest-path", "whole/Cargo.toml")
            ),
            Step(("whole/target/release/whole",)),
        ),
        note="Debian's rustc: the one from rustup carries a jemalloc of its own, which no preload replaces",
    ),
    Program(
        name="go",
        what="`go build` of a cgo program, which then passes memory between 64 goroutines and C",
        packages={"go": "golang-go", "gcc": "gcc"},
        version=("{inputs}/warm", "version"),
        environment={
            "GOCACHE": "{inputs}/cache",
            "GOFLAGS": "-trimpath",
            "GO111MODULE": "off",
            "CGO_ENABLED": "1",
            "GOTOOLCHAIN": "local",
        },
        prepare=go_module,
        steps=(
            Step(("go", "build", "-o", "{run}/program", "{inputs}/go/main.go"), artifacts=("program",)),
            Step(("./program", "run")),
        ),
        note="the Go heap is not malloc's; the C side is",
    ),
    Program(
        name="javac",
        what="`javac` of a generated package with generics, records and lambdas",
        packages={"javac": "openjdk-17-jdk-headless"},
        version=("javac", "-version"),
        sizes={"units": ("40", "120")},
        prepare=java_package,
        steps=(
            Step(
                ("javac", "-J-Xms256m", "-J-Xmx256m", "-J-XX:+UseSerialGC", "-d", "classes", "@{inputs}/files"),
                normalise=nothing,
                artifacts=("classes",),
            ),
        ),
        note="the Java heap (256 MiB) is not malloc's; class data and the JIT compiler are",
    ),
    Program(
        name="tsc",
        what="`tsc --strict` of a generated package with generics, unions and mapped types, declarations included",
        packages={"tsc": "node-typescript", "node": "nodejs"},
        version=("tsc", "--version"),
        probe=("node", "--version"),
        sizes={"units": ("15", "120")},
        prepare=typescript,
        steps=(Step(("tsc", "-p", "{inputs}/package", "--outDir", "{run}/out"), artifacts=("out",)),),
        note="V8's heap is not malloc's; its zones are",
    ),
    Program(
        name="lld",
        what="`ld.lld` of objects with thousands of sections: identical code folded, garbage collected, gdb's index",
        packages={"ld.lld": "lld", "gcc": "gcc"},
        version=("ld.lld", "--version"),
        sizes={"objects": ("6", "24")},
        prepare=objects,
        steps=tuple(
            Step(
                (
                    "/bin/sh",
                    "-c",
                    f"exec ld.lld --threads=2 {how} -o linked.{number} -e start_0 {{inputs}}/objects/*.o",
                ),
                artifacts=(f"linked.{number}",),
            )
            for number, how in enumerate(("--gc-sections --icf=all", "-r", "--gdb-index -O2", "--icf=safe --build-id"))
        ),
    ),
]
