# SPDX-License-Identifier: MIT
"""What the process itself says: which settings are in force, its arenas, its purger."""

from collections.abc import Iterator
from dataclasses import asdict

from hew.analysis.limit import NEAR, beyond
from hew.model.control import Value
from hew.model.finding import Finding, Level
from hew.model.known_allocators import HEW
from hew.model.process import Inside, ProcessFacts
from hew.model.quantity import size
from hew.model.statistics import MemoryLimit

TOPIC = "inside"


def inside_findings(facts: ProcessFacts) -> Iterator[Finding]:
    """Nothing for a process that cannot be asked, but how it could be."""
    inside = facts.inside
    if inside is None:
        if facts.silence:
            what, then = "its control socket did not answer", "hew ctl tries again"
            yield Finding(TOPIC, Level.NOTE, what, facts.silence, then, {"error": facts.silence})
        elif facts.provider is not None and facts.provider.code.kind == HEW:
            what = "the process has no control socket: the settings in force are not known"
            yield Finding(TOPIC, Level.FACT, what, "", "start it with HEW_CONF=control:auto, as hew run does", {})
        return
    yield from _settings(facts, inside)
    yield _arenas(inside)
    if inside.limit.bytes:
        yield _limit(inside.limit, facts.pid)
    if inside.now.get("background_thread") is False:
        yield Finding(
            TOPIC,
            Level.NOTE,
            "no background thread runs",
            "unused pages go back only while the program allocates or frees: an idle process keeps them",
            f"hew ctl {facts.pid} background_thread true",
            {"background_thread": False},
        )


def _settings(facts: ProcessFacts, inside: Inside) -> Iterator[Finding]:
    """What MALLOC_CONF asks for against what holds."""
    asked = facts.conf
    held = {name: value for name, value in inside.settings.items() if name in asked}
    for name, value in held.items():
        if _differs(asked[name], value):
            yield Finding(
                TOPIC,
                Level.NOTE,
                f"{name} began as {shown(value)}, not {asked[name]} as asked for",
                "a value out of range is moved into it, a refused one leaves the default, and a later source wins",
                "confirm_conf:true shows at the start what was taken from where",
                {"name": name, "asked": asked[name], "in_force": value},
            )
    for name, value in inside.now.items():
        began = inside.settings.get(name)
        if began is not None and began != value:
            what = f"{name} is {shown(value)} now; it began as {shown(began)}"
            yield Finding(TOPIC, Level.FACT, what, "", "", {"name": name, "began": began, "now": value})
    as_asked = {name: value for name, value in held.items() if not _differs(asked[name], value)}
    if as_asked:
        listed = ", ".join(f"{name}:{shown(value)}" for name, value in as_asked.items())
        yield Finding(TOPIC, Level.FACT, f"taken as asked for: {listed}", "", "", {"settings": as_asked})


def _differs(asked: str, value: Value) -> bool:
    """Whether a plain value is another than the text says; texts that need reading are not judged."""
    if isinstance(value, bool):
        return asked in {"true", "false"} and (asked == "true") is not value
    if isinstance(value, int):
        return asked.removeprefix("-").isdigit() and int(asked) != value
    return False


def shown(value: Value) -> str:
    """As MALLOC_CONF has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _limit(limit: MemoryLimit, pid: int) -> Finding:
    """The limit that hew keeps. What is near it, and why, `hew advise` tells."""
    most, held = limit.bytes or 0, limit.held or 0
    near = held >= NEAR * most
    source = "the control group's limit" if limit.source == "cgroup" else f"{limit.source}:{most}"
    what = f"hew keeps to {source}: {size(held)} of {size(most)} held, looked at {limit.looks or 0} times"
    gave = f"returned {size(limit.returned or 0)} in {limit.relieved} times" if limit.relieved else "returned nothing"
    return Finding(
        TOPIC,
        Level.NOTE if near else Level.FACT,
        f"{what}, {gave} for it",
        beyond(limit.source) if near else "",
        f"hew advise {pid} tells what holds the memory" if near else "",
        asdict(limit),
    )


def _arenas(inside: Inside) -> Finding:
    most = inside.settings.get("narenas")
    what = f"{inside.arenas} arena{'' if inside.arenas == 1 else 's'} in use, {shown(most)} automatic at most"
    return Finding(
        TOPIC,
        Level.FACT,
        f"{what}; threads that have allocated: {inside.threads}",
        "",
        "",
        {"arenas": inside.arenas, "narenas": most, "threads": inside.threads},
    )
