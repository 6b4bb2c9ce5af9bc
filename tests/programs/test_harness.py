# SPDX-License-Identifier: MIT
"""The harness itself: a sound library passes, and every way of being wrong is noticed and named.

python3 -m unittest discover -s tests/programs
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import ClassVar

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import allocators  # noqa: E402
import count  # noqa: E402
import crash  # noqa: E402
import execute  # noqa: E402
import normalise  # noqa: E402
import packages  # noqa: E402
import run  # noqa: E402
from catalogue import KINDS, PROGRAMS, TELLING  # noqa: E402
from model import Allocator, Program, Server, Step, Verdict  # noqa: E402
from samples import Memory, mean_of, read_samples  # noqa: E402
from trial import Bench, Trial  # noqa: E402


class HarnessTest(unittest.TestCase):
    """Each test gives one victim program to one library."""

    directory: ClassVar[tempfile.TemporaryDirectory[str]]
    root: ClassVar[Path]
    launcher: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        cls.directory = tempfile.TemporaryDirectory(prefix="hew-harness-")
        cls.root = Path(cls.directory.name)
        cls.root.chmod(0o755)
        cls.launcher = execute.build_launcher(cls.root)
        cls.compile("victim.c", "victim", "-O0")
        cls.compile("victim.c", "still", "-O0", "-static")
        crash.allow_cores()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.directory.cleanup()

    @classmethod
    def compile(cls, source: str, output: str, *flags: str) -> str:
        path = cls.root / output
        command = [os.environ.get("CC", "cc"), "-fno-builtin", *flags, "-o", str(path), str(HERE / "broken" / source)]
        subprocess.run(command, check=True)
        return str(path)

    @classmethod
    def library(cls, fault: str) -> str:
        return cls.compile("allocator.c", f"lib{fault.lower()}.so", "-O1", "-shared", "-fPIC", f"-DFAULT={fault}")

    def verdict(
        self, library: str, program: str = "victim", *words: str, server: Server | None = None, timeout: float = 60
    ) -> Verdict:
        entry = self.entry(program, *words, server=server, timeout=timeout)
        return Trial(entry, Bench(self.root, self.launcher, library, runs=1, full=False)).judge()

    def entry(self, program: str, *words: str, server: Server | None = None, timeout: float = 60) -> Program:
        path = str(self.root / program)
        return Program(
            name="trial",
            what="",
            packages={},
            version=(path, "version"),
            steps=(Step((path, *words)),),
            server=server,
            timeout=timeout,
        )

    def test_sound_library_passes_with_its_time_and_peak_measured(self) -> None:
        verdict = self.verdict(self.library("SOUND"))
        self.assertEqual(verdict.state, "passed", verdict.reason)
        self.assertEqual(verdict.version, "1.0")
        self.assertGreater(min(verdict.seconds), 0.3)
        self.assertLess(max(verdict.cpu_seconds), min(verdict.seconds))
        self.assertGreater(min(verdict.peak_kb), 500)
        self.assertLess(max(verdict.peak_kb), 8000, "the peak of the harness leaked into that of the program")

    def test_crash_fails_and_names_the_signal(self) -> None:
        verdict = self.verdict(self.library("CRASHES"))
        self.assertEqual(verdict.state, "failed")
        self.assertIn("status -11", verdict.reason)
        self.assertIn("LD_PRELOAD=", verdict.reason)

    def test_hang_fails_within_the_timeout(self) -> None:
        verdict = self.verdict(self.library("HANGS"), timeout=5)
        self.assertEqual(verdict.state, "failed")
        self.assertIn("hung", verdict.reason)

    def test_different_output_fails_and_shows_the_line(self) -> None:
        verdict = self.verdict(self.library("DIRTIES"))
        self.assertEqual(verdict.state, "failed")
        self.assertIn("differs from glibc: output of victim", verdict.reason)
        self.assertIn("expected: sum", verdict.evidence)

    def test_complaint_of_the_allocator_fails(self) -> None:
        verdict = self.verdict(self.library("COMPLAINS"))
        self.assertEqual(verdict.state, "failed")
        self.assertIn("something is wrong", verdict.evidence)

    def test_library_that_lacks_calloc_fails(self) -> None:
        verdict = self.verdict(self.compile("partial.c", "libpartial.so", "-O1", "-shared", "-fPIC"))
        self.assertEqual(verdict.state, "failed")
        self.assertIn("allocation functions from elsewhere: calloc, realloc from libc.so.6", verdict.reason)

    def test_static_program_fails_because_no_preload_reaches_it(self) -> None:
        verdict = self.verdict(self.library("SOUND"), "still")
        self.assertEqual(verdict.state, "failed")
        self.assertIn("static", verdict.reason)

    def test_output_that_varies_under_glibc_is_not_blamed_on_the_library(self) -> None:
        verdict = self.verdict(self.library("SOUND"), "victim", "moody", str(self.root / "count"))
        self.assertEqual(verdict.state, "failed")
        self.assertIn("two runs under glibc differ", verdict.reason)

    def test_a_peer_that_crashes_is_named_and_judges_nothing(self) -> None:
        entry = self.entry("victim")
        peers = (Allocator("bad", self.library("CRASHES")), Allocator("good", self.library("SOUND")))
        bench = Bench(self.root, self.launcher, self.library("SOUND"), runs=2, full=False, peers=peers)
        verdict = Trial(entry, bench).judge()
        self.assertEqual(verdict.state, "passed", verdict.reason)
        self.assertEqual(verdict.peers, {"bad": "victim ended with status -11"})
        found = {label: len(runs) for label, runs in verdict.runs.items()}
        self.assertEqual(found, {"glibc": 2, "hew": 2, "bad": 1, "good": 2})

    def test_sampled_rounds_have_memory_of_all_processes_and_timed_ones_do_not(self) -> None:
        entry = Program(
            name="trial",
            what="",
            packages={},
            version=(str(self.root / "victim"), "version"),
            steps=(Step(("/bin/sh", "-c", f"{self.root}/victim & sleep 0.3 & sleep 0.3; wait")),),
        )
        bench = Bench(self.root, self.launcher, self.library("SOUND"), runs=1, full=False, sampled=1)
        verdict = Trial(entry, bench).judge()
        self.assertEqual(verdict.state, "passed", verdict.reason)
        sampled, timed = verdict.runs["glibc"]
        self.assertGreater(sampled.mean_kb, 0)
        self.assertGreaterEqual(sampled.peak_kb, sampled.mean_kb)
        self.assertEqual(timed.mean_kb, 0)
        self.assertGreater(timed.faults, 100)
        self.assertGreater(timed.peak_kb, 500)

    def test_server_that_ends_before_it_is_ready_fails(self) -> None:
        verdict = self.verdict(self.library("SOUND"), server=Server(("/bin/false",)))
        self.assertEqual(verdict.state, "failed")
        self.assertIn("before it was ready", verdict.reason)

    def test_missing_command_is_a_skip_that_names_the_package(self) -> None:
        program = Program(
            name="none", what="", packages={"no-such-command": "no-such-package"}, version=("true",), steps=()
        )
        verdict = run.judge(program, Bench(self.root, self.launcher, "", 1, False), keep=False)
        self.assertEqual(verdict.state, "skipped")
        self.assertIn("no-such-command (package no-such-package)", verdict.reason)

    def test_present_finds_commands_and_file_patterns(self) -> None:
        self.assertTrue(packages.present("sh"))
        self.assertTrue(packages.present("/bin/s?"))
        self.assertFalse(packages.present("/bin/no-such-*"))


class FiguresTest(unittest.TestCase):
    """What is made of launch.c's samples and of callgrind's files."""

    def test_the_mean_is_by_time_and_the_peak_the_highest(self) -> None:
        memory = Memory(((0.0, 100), (1.0, 300), (4.0, 50)))
        self.assertEqual(memory.mean_kb, (100 * 1 + 300 * 3) / 4)
        self.assertEqual((memory.peak_kb, memory.last_kb), (300, 50))
        self.assertEqual(memory.between(0.5, 2.0).samples, ((1.0, 300),))

    def test_the_mean_over_commands_is_by_their_time(self) -> None:
        parts = [Memory(((0.0, 100), (1.0, 0))), Memory(((5.0, 200), (8.0, 0)))]
        self.assertEqual(mean_of(parts), (100 * 1 + 200 * 3) / 4)
        self.assertEqual(mean_of([]), 0.0)

    def test_a_sample_that_is_cut_off_is_left_out(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "samples"
            path.write_text("1.5 100 2\n2.5 20", encoding="ascii")
            self.assertEqual(read_samples(path).samples, ((1.5, 100),))
            self.assertEqual(read_samples(Path(folder) / "none").samples, ())

    def test_the_report_of_the_launcher_is_read(self) -> None:
        line = "seconds 1.5 user 1.0 system 0.25 kilobytes 900 faults 70 calls -1 status 256"
        taken = execute.Taken.of_line(line)
        self.assertEqual(taken, execute.Taken(1.5, 1.0, 0.25, 900, 70, -1, 256))
        self.assertIsNone(execute.Taken.of_line("pid 5"))

    def test_instructions_are_those_of_an_object_without_what_it_calls(self) -> None:
        text = (
            "events: Ir\n\nob=(1) /lib/libc.so\nfl=(1) a.c\nfn=(1) main\n10 5\n+1 7\n"
            "cob=(2) /tmp/lib.so\ncfi=(2) b.c\ncfn=(2) malloc\ncalls=3 20\n* 900\n+2 1\n"
            "ob=(2)\nfl=(2)\nfn=(2)\n20 30\n\ntotals: 43\n"
        )
        self.assertEqual(count.costs(text.splitlines(keepends=True)), {"/lib/libc.so": 13, "/tmp/lib.so": 30})


class CatalogueTest(unittest.TestCase):
    """The list of programs."""

    def test_names_are_unique_and_the_telling_ones_are_there(self) -> None:
        names = [program.name for program in PROGRAMS]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(set(TELLING), set(names))
        self.assertEqual((len(KINDS), len(TELLING)), (10, 12))

    def test_only_programs_that_name_wheels_run_in_their_environment(self) -> None:
        for program in PROGRAMS:
            words = [word for step in program.steps for word in step.argv]
            self.assertEqual(bool(program.wheels), any("{venv}" in word for word in words), program.name)

    def test_allocators_are_named_after_their_files(self) -> None:
        self.assertTrue(all(path.is_file() for path in allocators.peers().values()))


class NormaliserTest(unittest.TestCase):
    """Normalisers drop what may differ and nothing else."""

    def test_regrtest_keeps_tests_and_totals_without_times(self) -> None:
        text = (
            "0:00:01 load avg: 2.0 [1/2] test_ast\n0:00:09 load avg: 2.1 [2/2] test_re -- test_ast passed in 42.7 sec\n"
            "test test_re failed -- Traceback\n1 test OK.\n1 test failed:\nTotal duration: 9 sec\n"
            "Tests result: FAILURE\n"
        )
        self.assertEqual(
            normalise.regrtest_results(text),
            "ran test_ast test_re\nfailed test_re\n1 test OK.\n1 test failed:\nTests result: FAILURE",
        )

    def test_wrk_cost_is_seconds_per_thousand_requests(self) -> None:
        self.assertAlmostEqual(normalise.wrk_cost("Requests/sec:   4000.00\n"), 0.25)

    def test_wrk_complaints_keep_errors(self) -> None:
        text = "  100 requests in 1.00s, 9MB read\n  Non-2xx or 3xx responses: 4\n"
        self.assertEqual(normalise.wrk_complaints(text), "requests answered\nNon-2xx or 3xx responses: 4")


if __name__ == "__main__":
    unittest.main()
