# SPDX-License-Identifier: MIT
"""Tables and matrices: Arrow, DuckDB, Octave, gradient boosting."""

from __future__ import annotations

from generate import tables
from model import Place, Program, Step


def csv(place: Place) -> None:
    tables.write_csv(place.inputs / "table.csv", int(place.sizes["rows"]))


def boosting(place: Place) -> None:
    tables.write_libsvm(place.inputs / "train", int(place.sizes["rows"]))


PROGRAMS = [
    Program(
        name="arrow",
        what="pyarrow on the system's malloc: CSV, filters, joins, groups, Parquet in four codecs, and back",
        packages={"python3": "python3"},
        wheels=("pyarrow==21.0.0",),
        version=("{venv}/bin/python", "-c", "import pyarrow; print(pyarrow.__version__)"),
        sizes={"rows": ("60000", "400000")},
        environment={"ARROW_DEFAULT_MEMORY_POOL": "system", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "2"},
        prepare=csv,
        steps=(Step(("{venv}/bin/python", "{workloads}/arrow.py", "{inputs}/table.csv")),),
    ),
    Program(
        name="duckdb",
        what="joins, windows, groups and sorts of a CSV in memory and on disk, 2 threads",
        packages={"python3": "python3"},
        wheels=("duckdb==1.4.1",),
        version=("{venv}/bin/python", "-c", "import duckdb; print(duckdb.__version__)"),
        sizes={"rows": ("60000", "400000")},
        environment={"PYTHONHASHSEED": "0"},
        prepare=csv,
        steps=(Step(("{venv}/bin/python", "{workloads}/duck.py", "{inputs}/table.csv")),),
        note="the wheel brings a jemalloc of its own for its buffers; what is left is the C++ side's",
    ),
    Program(
        name="octave",
        what="matrices, strings, cells, structures and a sort, without its window",
        packages={"octave-cli": "octave"},
        version=("octave-cli", "--version"),
        sizes={"rounds": ("1", "5")},
        environment={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        steps=(Step(("octave-cli", "--norc", "--no-history", "--no-window-system", "{workloads}/work.m", "{rounds}")),),
    ),
    Program(
        name="xgboost",
        what="gradient boosting on generated rows: train, save, predict; 2 threads",
        packages={"xgboost": "xgboost"},
        version=("dpkg-query", "-W", "-f", "${Version}", "xgboost"),
        probe=("xgboost",),
        sizes={"rows": ("3000", "20000"), "trees": ("20", "60")},
        environment={"OMP_NUM_THREADS": "2"},
        prepare=boosting,
        steps=(
            Step(
                ("xgboost", "{workloads}/boosting.conf", "data={inputs}/train", "num_round={trees}")
                + ("model_out={run}/model.json",),
                artifacts=("model.json",),
            ),
            Step(
                ("xgboost", "{workloads}/boosting.conf", "task=pred", "model_in={run}/model.json")
                + ("test:data={inputs}/train", "name_pred={run}/predicted"),
                artifacts=("predicted",),
            ),
        ),
    ),
]
