# SPDX-License-Identifier: MIT
"""`hew run`: what reaches the command and what comes back from it."""

import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PATIENCE, HewRunner, build, environment, wait_until
from hew.sources.control import connect, find_socket

SHOW = "import os; print(os.environ.get('{}', '(unset)'))"


def show(name: str) -> list[str]:
    return [sys.executable, "-c", SHOW.format(name)]


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_the_exit_status_passes_through(hew: HewRunner, library: Path, status: int) -> None:
    assert hew("run", "--lib", str(library), "--", "sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGPIPE])
def test_death_by_a_signal_passes_through(hew: HewRunner, library: Path, number: signal.Signals) -> None:
    assert hew("run", "--lib", str(library), "--", "sh", "-c", f"kill -{number.value} $$").returncode == -number


def test_input_and_output_pass_through(hew: HewRunner, library: Path) -> None:
    done = hew("run", "--lib", str(library), "--", "sh", "-c", "cat; echo oops >&2", stdin="words\n")
    assert (done.stdout, done.stderr) == ("words\n", "oops\n")


def test_the_command_becomes_our_process_and_keeps_the_terminal(library: Path) -> None:
    main, other = pty.openpty()
    code = "import os, sys; print(os.getpid(), sys.stdin.isatty(), sys.stdout.isatty())"
    started = subprocess.Popen(
        [sys.executable, "-m", "hew", "run", "--lib", str(library), "--", sys.executable, "-c", code],
        stdin=other,
        stdout=other,
        stderr=other,
    )
    os.close(other)
    assert started.wait(PATIENCE) == 0
    said = os.read(main, 1000).decode()
    os.close(main)
    assert said.split() == [str(started.pid), "True", "True"]


def test_no_signal_arrives_ignored_that_python_ignores(hew: HewRunner, library: Path) -> None:
    done = hew("run", "--lib", str(library), "--", "grep", "SigIgn", "/proc/self/status")
    assert int(done.stdout.split()[1], 16) & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)) == 0


def test_the_library_is_really_in_the_process(hew: HewRunner, library: Path) -> None:
    assert str(library) in hew("run", "--lib", str(library), "cat", "/proc/self/maps").stdout


def test_the_preload_goes_before_an_existing_one(hew: HewRunner, library: Path, compiler: str, tmp_path: Path) -> None:
    first = build(compiler, tmp_path / "libfirst.so", "int first;\n", "-shared", "-fPIC")
    done = hew("run", "--lib", str(library), "--", *show("LD_PRELOAD"), LD_PRELOAD=f"{first} {library}")
    assert done.stdout.strip() == f"{library}:{first}"


def test_settings_go_behind_those_of_the_environment(hew: HewRunner, library: Path) -> None:
    words = ["run", "--lib", str(library), "--conf", "narenas:2", "--", *show("HEW_CONF")]
    assert hew(*words).stdout.strip() == "control:auto,narenas:2"
    assert hew(*words, HEW_CONF="dirty_decay_ms:0").stdout.strip() == "control:auto,dirty_decay_ms:0,narenas:2"


def test_a_socket_that_malloc_conf_places_stays_there(hew: HewRunner, library: Path) -> None:
    words = ["run", "--lib", str(library), "--", *show("HEW_CONF")]
    assert hew(*words, MALLOC_CONF="control:/a/place").stdout.strip() == "(unset)"


def test_what_only_hew_knows_is_not_said_to_a_jemalloc_in_the_program(hew: HewRunner, library: Path) -> None:
    words = ["run", "--lib", str(library), "--conf", "control:auto", "--", *show("MALLOC_CONF")]
    assert hew(*words).stdout.strip() == "(unset)"
    assert hew(*words, MALLOC_CONF="narenas:2").stdout.strip() == "narenas:2"


def test_redis_with_its_own_jemalloc_has_a_socket_under_hew_run(hew_library: Path, tmp_path: Path) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not here: apt-get install redis-server")
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    clean = environment({"LD_PRELOAD": None, "MALLOC_CONF": None, "HEW_CONF": None, "XDG_RUNTIME_DIR": str(runtime)})
    words = [
        "redis-server",
        "--port",
        "0",
        "--unixsocket",
        str(tmp_path / "redis"),
        "--save",
        "",
        "--dir",
        str(tmp_path),
    ]
    with (tmp_path / "errors").open("w+") as errors:
        run = [sys.executable, "-m", "hew", "run", "--lib", str(hew_library), "--", *words]
        server = subprocess.Popen(run, env=clean, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            wait_until(lambda: find_socket(server.pid), "redis has no control socket")
            with connect(server.pid) as control:
                assert control.get("version")
        finally:
            server.kill()
            server.wait()
        errors.seek(0)
        assert "jemalloc" not in errors.read()


def test_the_environment_is_otherwise_the_callers(library: Path) -> None:
    plain = environment(
        {"LC_ALL": None, "LC_CTYPE": None, "LANG": None, "LD_PRELOAD": None, "MALLOC_CONF": None, "HEW_CONF": None}
        | {"HEW_LIBRARY": str(library)}
    )
    done = subprocess.run([sys.executable, "-m", "hew", "run", "env", "-0"], env=plain, capture_output=True, check=True)
    seen = dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)
    assert seen == plain | {"LD_PRELOAD": str(library), "HEW_CONF": "control:auto"}


def test_options_of_the_command_need_no_separator(hew: HewRunner, library: Path) -> None:
    assert hew("run", "--lib", str(library), "sh", "-c", "echo $0 $1", "--conf", "x").stdout == "--conf x\n"


@pytest.mark.parametrize(("command", "status"), [("no-such-command-here", 127), ("/etc/passwd", 126), ("/etc", 126)])
def test_a_command_that_cannot_run_is_one_line_and_the_shells_status(
    hew: HewRunner, library: Path, command: str, status: int
) -> None:
    done = hew("run", "--lib", str(library), "--", command)
    assert done.returncode == status
    assert done.stderr.count("\n") == 1
    assert command in done.stderr


def test_a_script_with_a_missing_interpreter_is_one_line(hew: HewRunner, library: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = hew("run", "--lib", str(library), "--", str(script))
    assert (done.returncode, done.stderr.count("\n")) == (127, 1)


def test_an_absent_library_is_one_line(hew: HewRunner, tmp_path: Path) -> None:
    done = hew("run", "--", "true", HEW_LIBRARY=str(tmp_path / "gone.so"))
    assert done.returncode == 1
    assert done.stderr == f"hew run: HEW_LIBRARY names {tmp_path}/gone.so, which is not a file\n"


def test_a_static_program_runs_with_a_warning(hew: HewRunner, compiler: str, library: Path, tmp_path: Path) -> None:
    static = build(compiler, tmp_path / "static", "int main(void) { return 7; }\n", "-static")
    done = hew("run", "--lib", str(library), "--", str(static))
    assert done.returncode == 7
    assert done.stderr.count("\n") == 1
    assert "statically linked" in done.stderr


def test_the_real_library_runs_a_real_program(hew: HewRunner, hew_library: Path) -> None:
    code = "print(sum(len(bytes(size)) for size in range(20000)))"
    done = hew("run", "--", sys.executable, "-c", code, PYTHONMALLOC="malloc")
    assert (done.returncode, done.stdout, done.stderr) == (0, "199990000\n", "")
