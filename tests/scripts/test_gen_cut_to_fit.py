# SPDX-License-Identifier: MIT
"""Recordings of docs/cut-to-fit.md: the program's own, with enough in them."""

import sys
from pathlib import Path

import gen_cut_to_fit
import pytest
from fitted_programs import Program, command

from hew.model.errors import HewError
from hew.model.run import ServerPlan
from hew.sources.library import find_part
from hew.sources.trace.recorder import LIBRARY

ENVIRONMENT = {"PYTHONMALLOC": "malloc"}
SERVER = """
import os, pathlib, socket, sys
kept = [bytes(n % 500) for n in range(20000)]
pathlib.Path(sys.argv[2]).write_text(os.environ["LD_PRELOAD"])
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        server.accept()[0].close()
"""
CLIENT = """
import os, pathlib, socket, sys
pathlib.Path(sys.argv[2]).write_text(os.environ["LD_PRELOAD"])
socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
"""


@pytest.fixture(autouse=True)
def _built() -> None:
    try:
        find_part(LIBRARY)
    except HewError as error:
        pytest.skip(str(error))


def test_of_a_server_and_its_clients_the_server_is_recorded(tmp_path: Path) -> None:
    server, ready, client = (
        (sys.executable, "-c", text, "{port}", str(tmp_path / name))
        for name, text in (("server", SERVER), ("ready", CLIENT), ("client", CLIENT))
    )
    plan = ServerPlan(server, ready, client, 60.0)
    gen_cut_to_fit.record(Program("a server", "", plan, ENVIRONMENT), tmp_path / "trace")
    preloaded = {name: LIBRARY in (tmp_path / name).read_text() for name in ("server", "ready", "client")}
    assert preloaded == {"server": True, "ready": False, "client": False}
    assert gen_cut_to_fit.in_simulation(tmp_path / "trace")["operations"] > 20_000


def test_a_recording_with_hardly_anything_in_it_is_an_error_and_does_not_stay(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"gen_cut_to_fit: nothing: \d+ operations were recorded, fewer than 10,000"):
        gen_cut_to_fit.record(Program("nothing", "", command("ls", "/")), tmp_path / "trace")
    assert list(tmp_path.iterdir()) == []
