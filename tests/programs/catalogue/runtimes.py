# SPDX-License-Identifier: MIT
"""Interpreters and virtual machines."""

from __future__ import annotations

import normalise
import preparing
from model import Place, Program, Step


def compile_java(place: Place) -> None:
    preparing.run(place, "javac", "-d", "{inputs}", "{workloads}/Threads.java")


PYTHON_TESTS = (
    "test_ast",
    "test_bytes",
    "test_collections",
    "test_compile",
    "test_copy",
    "test_ctypes",
    "test_dict",
    "test_fork1",
    "test_gc",
    "test_json",
    "test_list",
    "test_memoryview",
    "test_re",
    "test_set",
    "test_thread",
    "test_threading",
    "test_unicode",
    "test_zlib",
)

PROGRAMS = [
    Program(
        name="python3",
        what="dictionaries, strings, JSON, regular expressions, threads, a forked pool, `PYTHONMALLOC=malloc`",
        packages={"python3": "python3"},
        version=("{python}", "--version"),
        quick=True,
        sizes={"rounds": ("2", "8")},
        environment={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"},
        steps=(Step(("{python}", "{workloads}/work.py", "{rounds}")),),
    ),
    Program(
        name="python-tests",
        what=f"{len(PYTHON_TESTS)} modules of Python's own test suite, `PYTHONMALLOC=malloc`",
        packages={"python3": "python3", "/usr/lib/python3.*/test/test_zlib.py": "libpython3.11-testsuite"},
        version=("{python}", "--version"),
        environment={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"},
        steps=(Step(("{python}", "-m", "test", "-w", *PYTHON_TESTS), normalise=normalise.regrtest_results),),
        timeout=580,
    ),
    Program(
        name="jvm",
        what="100 threads deflate, inflate, and fill direct buffers",
        packages={"javac": "openjdk-17-jdk-headless", "java": "openjdk-17-jre-headless"},
        version=("java", "-version"),
        sizes={"rounds": ("5", "20")},
        prepare=compile_java,
        steps=(
            Step(
                (
                    "java",
                    "-Xms128m",
                    "-Xmx128m",
                    "-XX:+UseSerialGC",
                    "-XX:MaxDirectMemorySize=512m",
                    "-cp",
                    "{inputs}",
                    "Threads",
                    "{rounds}",
                )
            ),
        ),
        note="the Java heap (128 MiB) is not malloc's; zlib, direct buffers and the JIT compiler are",
    ),
    Program(
        name="node",
        what="buffers, zlib, crypto and worker threads",
        packages={"node": "nodejs"},
        version=("node", "--version"),
        sizes={"rounds": ("20", "120")},
        steps=(Step(("node", "{workloads}/work.js", "{rounds}")),),
        note="V8's heap is not malloc's; buffers, zlib, OpenSSL and the parser's zones are",
    ),
    Program(
        name="perl",
        what="hashes of lists, sorting, substitutions, closures, a forked child",
        packages={"perl": "perl"},
        version=("perl", "-e", "print $^V"),
        quick=True,
        sizes={"rounds": ("3", "12")},
        environment={"PERL_HASH_SEED": "0"},
        steps=(Step(("perl", "{workloads}/work.pl", "{rounds}")),),
    ),
    Program(
        name="ruby",
        what="hashes, strings, regular expressions, JSON, threads, a forked child",
        packages={"ruby": "ruby"},
        version=("ruby", "--version"),
        sizes={"rounds": ("3", "12")},
        steps=(Step(("ruby", "{workloads}/work.rb", "{rounds}")),),
    ),
    Program(
        name="php",
        what="arrays, strings, regular expressions, JSON, objects, `USE_ZEND_ALLOC=0`",
        packages={"php": "php-cli"},
        version=("php", "--version"),
        sizes={"rounds": ("3", "12")},
        environment={"USE_ZEND_ALLOC": "0"},
        steps=(Step(("php", "-n", "{workloads}/work.php", "{rounds}")),),
    ),
    Program(
        name="guile",
        what="hash tables, strings, ports, bignums and sorts",
        packages={"guile": "guile-3.0"},
        version=("guile", "--version"),
        sizes={"rounds": ("3", "12")},
        environment={"GUILE_AUTO_COMPILE": "0"},
        steps=(Step(("guile", "{workloads}/work.scm", "{rounds}")),),
        note="Scheme objects are the Boehm collector's; bignums and ports are malloc's",
    ),
    Program(
        name="tcl",
        what="dictionaries, lists, strings and regular expressions",
        packages={"tclsh": "tcl"},
        version=("/bin/sh", "-c", "echo 'puts $tcl_patchLevel' | tclsh"),
        probe=("tclsh", "{workloads}/work.tcl", "1"),
        sizes={"rounds": ("4", "16")},
        steps=(Step(("tclsh", "{workloads}/work.tcl", "{rounds}")),),
    ),
]
