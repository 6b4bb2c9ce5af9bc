# SPDX-License-Identifier: MIT
"""Heap profiles that are pushed: what public definitions make of the requests, and what becomes of them."""

import base64
import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest

from conftest import PATIENCE, HewRunner, environment, wait_until
from fake_engine import FakeStore, running
from hew.model.profile import Frame, Kind, Location, Mapping, Profile, Sample
from hew.sources.profile.read import read_bytes
from hew.views.profile.otlp import to_otlp
from hew.views.profile.profile_proto import to_pprof
from hew.views.profile.pushed import to_parca, to_pyroscope
from test_serve_site import on_hew

TEXT, BYTES, TRUTH = (
    getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{one}") for one in ("STRING", "BYTES", "BOOL")
)
Shapes = dict[str, list[tuple[str, Any]]]
# Fields in the order of their numbers; a list is a repeated message.
LABEL: list[tuple[str, Any]] = [("name", TEXT), ("value", TEXT)]
PYROSCOPE: Shapes = {
    "LabelPair": LABEL,
    "RawSample": [("raw_profile", BYTES), ("ID", TEXT)],
    "RawProfileSeries": [("labels", ["LabelPair"]), ("samples", ["RawSample"])],
    "PushRequest": [("series", ["RawProfileSeries"])],
}
PARCA: Shapes = {
    "Label": LABEL,
    "LabelSet": [("labels", ["Label"])],
    "RawSample": [("raw_profile", BYTES)],
    "RawProfileSeries": [("labels", "LabelSet"), ("samples", ["RawSample"])],
    "WriteRawRequest": [("tenant", TEXT), ("series", ["RawProfileSeries"]), ("normalized", TRUTH)],
}


def message(shapes: Shapes, package: str) -> Any:
    """The class of the last shape."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in shapes.items():
        shape = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, 1):
            one = shape.field.add(name=field, number=number, label=kinds.LABEL_OPTIONAL)
            if isinstance(kind, int):
                one.type = kind  # type: ignore[assignment]
                continue
            one.type = kinds.TYPE_MESSAGE
            one.label = kinds.LABEL_REPEATED if isinstance(kind, list) else kinds.LABEL_OPTIONAL
            one.type_name = f".{package}.{kind[0] if isinstance(kind, list) else kind}"
    pool: Any = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{list(shapes)[-1]}"))


PUSH_REQUEST, WRITE_RAW = message(PYROSCOPE, "push.v1"), message(PARCA, "parca.profilestore.v1alpha1")


def made() -> Profile:
    places = (
        Location(0x1001, 0, (Frame("inner", "a.c", 7, inlined=True), Frame("outer", "b.c", 9))),
        Location(0x1002, 0, (Frame("main\udcff", "b.c", 1),)),
        Location(0x9999, None, (Frame("0x9999"),)),
    )
    samples = (Sample([0, 1], (4, 400, 2, 200)), Sample([1], (1, 50, 0, 0)), Sample([2, 1], (0, 0, 1, 77)))
    return Profile("made", samples, places, (Mapping(0x1000, 0x2000, 64, "/bin/made", "ab12"),), True, 4096, 1234)


def series(body: bytes, kind: Any) -> tuple[dict[str, str], list[Any]]:
    """The labels and samples of a request's one series; strictly: what the interface does not know is an error."""
    request = json_format.Parse(body, kind())
    (one,) = request.series
    pairs = one.labels if kind is PUSH_REQUEST else one.labels.labels
    return {pair.name: pair.value for pair in pairs}, list(one.samples)


@pytest.mark.parametrize("kind", [PUSH_REQUEST, WRITE_RAW])
def test_the_public_interfaces_take_the_requests(kind: Any) -> None:
    labels, packed = {"service_name": "redis", "pid": "7"}, to_pprof(made())
    body = to_pyroscope(labels, packed, str(uuid.UUID(int=5))) if kind is PUSH_REQUEST else to_parca(labels, packed)
    found, (sample,) = series(body, kind)
    assert found == {**labels, "__name__": "memory"}
    assert sample.raw_profile == packed
    if kind is PUSH_REQUEST:
        assert uuid.UUID(sample.ID).int == 5


def test_opentelemetry_reads_each_kind_with_its_stacks() -> None:
    request = ExportProfilesServiceRequest.FromString(to_otlp(made(), {"service.name": "a\nb\udcff"}, b"x" * 16))
    (resource,) = request.resource_profiles
    assert [(one.key, one.value.string_value) for one in resource.resource.attributes] == [
        ("service.name", "a\nb\\udcff")
    ]
    tables = request.dictionary
    text = tables.string_table
    assert text[0] == ""
    for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.link_table):
        assert table[0] == type(table[0])()  # 0 is nothing
    assert tables.stack_table[0].location_indices == []
    (scope,) = resource.scope_profiles
    found = {}
    for one in scope.profiles:
        assert (one.time_unix_nano, one.period, len(one.profile_id)) == (1234, 4096, 16)
        assert [text[number] for number in (one.period_type.type_strindex, one.period_type.unit_strindex)] == [
            "space",
            "bytes",
        ]
        rows = {}
        for sample in one.samples:
            places = [tables.location_table[at] for at in tables.stack_table[sample.stack_index].location_indices]
            lines = [line for place in places for line in place.lines]
            names = [(text[tables.function_table[line.function_index].name_strindex], line.line) for line in lines]
            rows[tuple(names)] = list(sample.values)
        found[text[one.sample_type.type_strindex], text[one.sample_type.unit_strindex]] = rows
    main = ("main\\udcff", 1)
    assert found["inuse_space", "bytes"] == {
        (("inner", 7), ("outer", 9), main): [200],
        (("0x9999", 0), main): [77],
    }
    assert found["alloc_objects", "count"] == {(("inner", 7), ("outer", 9), main): [4], (main,): [1]}
    assert len({one.profile_id for one in scope.profiles}) == 4
    mapping = tables.mapping_table[tables.location_table[1].mapping_index]
    assert (mapping.memory_start, mapping.memory_limit, mapping.file_offset) == (0x1000, 0x2000, 64)
    attribute = tables.attribute_table[mapping.attribute_indices[0]]
    assert (text[attribute.key_strindex], attribute.value.string_value) == (
        "process.executable.build_id.gnu",
        "ab12",
    )


def total(body: bytes) -> int:
    """The live bytes of a pushed profile, with names in it."""
    sample = json.loads(body)["series"][0]["samples"][0]
    profile = read_bytes(base64.b64decode(sample["rawProfile"]), "pushed")
    assert any("Py" in frame.name for place in profile.locations for frame in place.frames)
    assert profile.nanoseconds > 1_700_000_000 * 10**9
    assert not profile.accumulated
    return profile.total(Kind.INUSE_SPACE)


def exporter(folder: Path, *words: str) -> "subprocess.Popen[str]":
    """hew export at work."""
    return subprocess.Popen(
        [sys.executable, "-m", "hew", "export", "--queue", str(folder), *words],
        env=environment({"LD_PRELOAD": None, "HEW_CONF": None}),
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(one: "subprocess.Popen[str]") -> str:
    """Ask it to end; what it has said."""
    one.terminate()
    return one.communicate(timeout=PATIENCE)[1]


def test_profiles_reach_all_stores_and_wait_while_one_is_down(hew_library: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-token-of-some-length")
    conf = ",prof:true,lg_prof_sample:10,prof_accum:true"
    with (
        running(FakeStore()) as pyroscope,
        running(FakeStore()) as parca,
        running(FakeStore()) as otlp,
        on_hew(hew_library, tmp_path, conf) as child,
        on_hew(hew_library, tmp_path) as plain,
    ):
        pyroscope.moods.extend([503, "close", "take and close"])
        words = (
            "--pyroscope",
            pyroscope.url,
            "--parca",
            f"{parca.url}/",
            "--otlp-profiles",
            otlp.url,
            "--profiles-every",
            "1",
        )
        about = ("--profiles-token-file", str(tmp_path / "token"), "--profiles-tenant", "us", "--label", "env=test")
        one = exporter(tmp_path / "queue", *words, *about)
        stores: tuple[FakeStore, ...] = (pyroscope, parca, otlp)
        enough: Callable[[], bool] = lambda: all(len(store.bodies) >= 4 for store in stores)  # noqa: E731
        wait_until(lambda: enough() or one.poll() is not None)
        said = ended(one)
        assert enough(), said
        assert "Pyroscope: the engine takes nothing, profiles wait on disk" in said
        assert "Pyroscope: the engine takes profiles again" in said
        paths = {store.requests[0][1] for store in stores}
        assert paths == {"/push.v1.PusherService/Push", "/api/profiles/writeraw", "/v1development/profiles"}
        headers = pyroscope.requests[0][0]
        assert headers["authorization"] == "Bearer a-token-of-some-length"
        assert headers["x-scope-orgid"] == "us"
        for store, kind in ((pyroscope, PUSH_REQUEST), (parca, WRITE_RAW)):
            for body in store.bodies:
                labels, _ = series(body, kind)
                assert labels["env"] == "test"
                assert labels["service_name"]
                assert labels["pid"] != str(plain.pid)
            own = [body for body in store.bodies if series(body, kind)[0]["pid"] == str(child.pid)]
            assert total(own[0]) > 19_000_000
        # What was taken by a store that then hung up is sent again under the same number.
        numbers = [series(body, PUSH_REQUEST)[1][0].ID for body in pyroscope.bodies]
        assert numbers[0] == numbers[1]
        assert len(set(numbers[1:])) == len(numbers) - 1
        request = ExportProfilesServiceRequest.FromString(otlp.bodies[0])
        assert len(request.resource_profiles[0].scope_profiles[0].profiles) == 2


def test_what_waits_is_sent_by_the_next_exporter(hew_library: Path, tmp_path: Path) -> None:
    with running(FakeStore()) as store, on_hew(hew_library, tmp_path, ",prof:true,lg_prof_sample:10"):
        words = ("--parca", store.url, "--profiles-every", "1")
        store.moods.extend([503] * 1000)
        one = exporter(tmp_path / "queue", *words)
        folder = tmp_path / "queue" / "profiles" / "parca"
        wait_until(lambda: len(list(folder.glob("*.batch"))) >= 2 or one.poll() is not None)
        ended(one)
        waiting = len(list(folder.glob("*.batch")))
        assert waiting >= 2
        assert store.bodies == []
        store.moods.clear()
        two = exporter(tmp_path / "queue", *words)
        wait_until(lambda: len(store.bodies) >= waiting or two.poll() is not None)
        said = ended(two)
        assert len(store.bodies) >= waiting, said


def test_bad_addresses_and_nothing_to_do_are_said_in_a_line(hew: HewRunner, tmp_path: Path) -> None:
    for words, sentence in (
        (("--pyroscope", "ftp://x"), "--pyroscope wants http://HOST:PORT/PATH or https://..."),
        (("--parca", "http://u:p@x"), "--parca: no password in the address"),
        ((), "--pyroscope, --parca"),
        (("--once", "--parca", "http://x"), "give --once, or"),
    ):
        done = hew("export", "--queue", str(tmp_path), *words)
        assert done.returncode in {1, 2}
        assert sentence in " ".join(done.stderr.split()), done.stderr
