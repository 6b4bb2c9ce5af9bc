# SPDX-License-Identifier: MIT
"""Everything that can be known of one process from outside, and which malloc it really uses.

The loader has written malloc's address into slots of the program and its libraries: read there, it is proof. Where that
may not be read, or nothing has called yet, the answer is the loader's order: the program, what was preloaded, then the
libraries in the order in which they need each other.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hew.model.errors import HewError
from hew.model.known_allocators import GLIBC, KNOWN
from hew.model.process import Area, Code, ProcessFacts, Provider, Setting
from hew.sources.code import conf_owner, knows_setting, read_code
from hew.sources.environment import preload_entries
from hew.sources.mapped_files import DELETED, file_of
from hew.sources.process_limits import read_limits, read_system
from hew.sources.process_memory import heap_regions, parse_areas, read_areas, read_memory, read_words
from hew.sources.processes import PROC, command_line, name_of, read_text, stat_fields

SECURE = 23  # AT_SECURE of the auxiliary vector
GLIBC_TUNABLE = "glibc.malloc."


def read_process(pid: int, started_with: Mapping[str, str] | None = None, figures: bool = True) -> ProcessFacts:
    """The facts of a live process. Raises HewError when there is none, or when we may not examine it.

    `started_with` is its environment, if we know it: a program that overwrites its arguments with a title may lose it.
    Without `figures` the kernel need not walk the page tables of a process that has much to do.
    """
    if not stat_fields(pid):
        raise HewError(f"there is no process {pid}")
    areas, with_figures = read_areas(pid) if figures else (parse_areas(read_text(f"{PROC}/{pid}/maps")), False)
    if not areas:
        if not command_line(pid):
            raise HewError(f"process {pid} is a thread of the kernel, or has just ended")
        raise HewError(f"the memory map of process {pid} may not be read: run this as its user, or as root")
    environment = _environment(pid) or started_with
    program = read_code(Path(f"{PROC}/{pid}/exe"), _shown(pid))
    others = _libraries(pid, areas, program)
    provider = _provider(pid, areas, program, others, environment or {})
    unreadable = [what for what, missing in (("smaps", not with_figures), ("environ", _kept(pid))) if missing]
    return ProcessFacts(
        pid=pid,
        name=name_of(pid),
        words=tuple(word for word in command_line(pid).split("\0") if word),
        threads=_threads(pid),
        secure=_secure(pid),
        environment=environment,
        program=program,
        others=others,
        provider=provider,
        missing_preloads=tuple(_missing_preloads(areas, environment or {})),
        settings=tuple(_settings(pid, areas, environment or {}, provider)),
        memory=read_memory(pid, areas, with_figures),
        areas=len(areas),
        limits=read_limits(pid),
        system=read_system(pid),
        regions=tuple(heap_regions(pid, areas)) if provider and provider.code.kind == GLIBC else (),
        unreadable=tuple(unreadable),
    )


def read_provider(pid: int) -> Provider | None:
    """Which malloc a live process uses, by its map without the figures: those make the kernel walk its page tables.
    Raises HewError when that may not be read."""
    areas = parse_areas(read_text(f"{PROC}/{pid}/maps"))
    if not areas:
        raise HewError(f"the memory map of process {pid} may not be read")
    program = read_code(Path(f"{PROC}/{pid}/exe"), _shown(pid))
    return _provider(pid, areas, program, _libraries(pid, areas, program), _environment(pid) or {})


def _environment(pid: int) -> dict[str, str] | None:
    """The environment that the process was started with, or None when it may not be read or was overwritten."""
    try:
        text = Path(f"{PROC}/{pid}/environ").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return None
    pairs = (entry.partition("=") for entry in text.split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs} or None


def _kept(pid: int) -> bool:
    """Whether the environment is kept from us; a title written over it is another matter."""
    try:
        Path(f"{PROC}/{pid}/environ").open("rb").close()
    except OSError:
        return True
    return False


def _shown(pid: int) -> Path:
    try:
        return Path(f"{PROC}/{pid}/exe").readlink()
    except OSError:
        return Path(f"{PROC}/{pid}/exe")


def _threads(pid: int) -> int:
    fields = stat_fields(pid)
    return int(fields[17]) if len(fields) > 17 else 1


def _secure(pid: int) -> bool:
    """Whether the loader ran in the mode in which it ignores preloads and tunables (setuid and the like)."""
    try:
        vector = Path(f"{PROC}/{pid}/auxv").read_bytes()
    except OSError:
        return False
    words = [int.from_bytes(vector[at : at + 8], "little") for at in range(0, len(vector) - 7, 8)]
    return dict(zip(words[::2], words[1::2], strict=False)).get(SECURE, 0) != 0


def _files(areas: Iterable[Area]) -> dict[str, Area]:
    """The first area of each file of which some part is code."""
    first: dict[str, Area] = {}
    code = set()
    for area in areas:
        if area.path.startswith("/"):
            first.setdefault(area.path, area)
            if "x" in area.rights:
                code.add(area.path)
    return {path: area for path, area in first.items() if path in code}


def _libraries(pid: int, areas: Sequence[Area], program: Code | None) -> tuple[Code, ...]:
    """What else the process has mapped, with the addresses of the slots in this process."""
    found = []
    for path, area in _files(areas).items():
        if program is not None and path == str(program.path):
            continue
        code = read_code(file_of(pid, area), Path(path))
        if code is not None:
            found.append(replace(code, base=area.start - code.base))
    return tuple(found)


def _provider(
    pid: int, areas: Sequence[Area], program: Code | None, others: Sequence[Code], environment: Mapping[str, str]
) -> Provider | None:
    """Which of them serves malloc."""
    preloaded = {str(path) for entry in preload_entries(environment) for path in _as_mapped(areas, entry)}
    ordered = [*([program] if program else []), *_in_order(program, others, preloaded)]
    by_path = {str(code.path): code for code in ordered}
    for path in _slot_targets(pid, areas, program, others):
        code = by_path.get(path)
        if code is not None and code.serves:
            return Provider(code, "slot", path in preloaded)
    code = next((one for one in ordered if one.serves), None)
    return Provider(code, "order", str(code.path) in preloaded) if code else None


def _in_order(program: Code | None, others: Sequence[Code], preloaded: set[str]) -> list[Code]:
    """The libraries in the loader's order: preloaded ones, then breadth first; those that came later at the end."""
    by_name = {code.path.name.removesuffix(DELETED): code for code in others}
    found = [code for code in others if str(code.path) in preloaded]
    queue = [program, *found] if program else list(found)
    for code in queue:
        for name in code.needed:
            needed = by_name.get(name) or next((one for key, one in by_name.items() if key.startswith(name)), None)
            if needed is not None and needed not in found:
                found.append(needed)
                queue.append(needed)
    return found + [code for code in others if code not in found]


def _slot_targets(pid: int, areas: Sequence[Area], program: Code | None, others: Sequence[Code]) -> Iterable[str]:
    """The files that the slots for malloc point into. One that still points into its own is not yet resolved."""
    codes = list(others)
    if program is not None:
        start = next((area.start for area in areas if area.path == str(program.path)), None)
        if start is not None:
            codes.insert(0, replace(program, base=start - program.base))
    for code in codes:
        for slot in code.slots:
            words = read_words(pid, code.base + slot, 1)
            target = next((one.path for one in areas if words and one.start <= words[0] < one.end), None)
            if target and target != str(code.path):
                yield target


def _as_mapped(areas: Sequence[Area], entry: str) -> list[str]:
    """The mapped files that an entry of LD_PRELOAD stands for: by its real path, or by its name."""
    mapped = _files(areas)
    real = str(Path(entry).resolve())
    if "/" in entry:
        return [path for path in mapped if path in {entry, real} or path.removesuffix(DELETED) in {entry, real}]
    return [path for path in mapped if Path(path).name == entry or Path(path).name.startswith(f"{entry}.")]


def _missing_preloads(areas: Sequence[Area], environment: Mapping[str, str]) -> list[str]:
    """What LD_PRELOAD names and the process has not."""
    return [entry for entry in preload_entries(environment) if not _as_mapped(areas, entry)]


def _settings(
    pid: int, areas: Sequence[Area], environment: Mapping[str, str], provider: Provider | None
) -> list[Setting]:
    """The variables that some allocator reads, with the names in them that the one in use does not know."""
    file = None
    if provider is not None:
        exe = _shown(pid) == provider.code.path
        area = next((one for one in areas if one.path == str(provider.code.path)), None)
        file = Path(f"{PROC}/{pid}/exe") if exe or area is None else file_of(pid, area)
    found = []
    for variable, value in sorted(environment.items()):
        owner = next((known for known in KNOWN if known.variables.fullmatch(variable)), None)
        if owner is None or (variable == "GLIBC_TUNABLES" and GLIBC_TUNABLE not in value):
            continue
        unknown: tuple[str, ...] = ()
        if provider and file and conf_owner(provider.code) and variable in provider.code.variables:
            unknown = tuple(name for name in names_of(value) if not knows_setting(file, name))
        found.append(Setting(variable, value, unknown))
    return found


def names_of(conf: str) -> list[str]:
    """The names in a text of settings, as jemalloc cuts it."""
    return re.findall(r"(?:^|,)\s*([^:,]+)", conf)
