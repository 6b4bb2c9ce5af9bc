# SPDX-License-Identifier: MIT
"""Analysers and solvers."""

from __future__ import annotations

import preparing
from generate import problems, sources
from model import Place, Program, Step
from normalise import only


def cpp_source(place: Place) -> None:
    sources.write_cpp(place.inputs / "large.cpp", int(place.sizes["units"]))


def cpp_binary(place: Place) -> None:
    cpp_source(place)
    preparing.run(place, "g++", "-std=c++17", "-g", "-O1", "-o", "{inputs}/large", "{inputs}/large.cpp")


def smt(place: Place) -> None:
    problems.write_smt(place.inputs / "problem.smt2", int(place.sizes["variables"]))


def cnf(place: Place) -> None:
    problems.write_cnf(place.inputs / "problem.cnf", int(place.sizes["variables"]))


def linear(place: Place) -> None:
    problems.write_lp(place.inputs / "problem.lp", int(place.sizes["places"]))


ANALYSERS = [
    Program(
        name="clang-tidy",
        what="the analyser and the checks for bugs and modern C++ over one large file",
        packages={"clang-tidy": "clang-tidy", "g++": "g++"},
        version=("clang-tidy", "--version"),
        sizes={"units": ("1", "3")},
        prepare=cpp_source,
        steps=(
            Step(
                ("clang-tidy", "--quiet", "--checks=-*,bugprone-*,clang-analyzer-*,modernize-*,performance-*")
                + ("{inputs}/large.cpp", "--", "-std=c++17"),
            ),
        ),
        timeout=580,
    ),
    Program(
        name="gdb",
        what="reads all symbols of a large binary, lists functions and types, walks a backtrace",
        packages={"gdb": "gdb", "g++": "g++"},
        version=("gdb", "--version"),
        sizes={"units": ("1", "4")},
        prepare=cpp_binary,
        environment={"PYTHONHASHSEED": "0"},
        steps=(
            Step(
                (
                    "gdb",
                    "-batch",
                    "-nx",
                    "-readnow",
                    "-iex",
                    "set debuginfod enabled off",
                    "-ex",
                    "maint expand-symtabs",
                )
                + ("-ex", "info functions unit_0", "-ex", "info types Record", "-ex", "ptype unit_0::Value")
                + ("-ex", "info line main", "-ex", "info scope unit_0::work", "{inputs}/large"),
            ),
        ),
    ),
]

SOLVERS = [
    Program(
        name="cvc5",
        what="linear integer arithmetic with uninterpreted functions and bit-vectors, generated",
        packages={"cvc5": "cvc5"},
        version=("cvc5", "--version"),
        sizes={"variables": ("22", "30")},
        prepare=smt,
        steps=(Step(("cvc5", "--incremental", "--seed=1", "{inputs}/problem.smt2")),),
    ),
    Program(
        name="minisat",
        what="a random 3-SAT formula near the threshold",
        packages={"minisat": "minisat"},
        version=("dpkg-query", "-W", "-f", "${Version}", "minisat"),
        probe=("minisat", "--help"),
        sizes={"variables": ("200", "245")},
        prepare=cnf,
        steps=(
            Step(
                ("/bin/sh", "{workloads}/minisat.sh", "{inputs}/problem.cnf", "{run}/answer"),
                artifacts=("answer",),
            ),
        ),
    ),
    Program(
        name="glpsol",
        what="a transport problem as a linear and as an integer program",
        packages={"glpsol": "glpk-utils"},
        version=("glpsol", "--version"),
        sizes={"places": ("100", "130")},
        prepare=linear,
        steps=(
            Step(
                ("glpsol", "--lp", "{inputs}/problem.lp", "--nomip", "-o", "relaxed"),
                normalise=only("^obj|OPTIMAL"),
                artifacts=("relaxed",),
            ),
            Step(
                ("glpsol", "--lp", "{inputs}/problem.lp", "--cuts", "--mipgap", "0.01", "-o", "whole"),
                normalise=only("^obj|OPTIMAL"),
                artifacts=("whole",),
            ),
        ),
    ),
]
