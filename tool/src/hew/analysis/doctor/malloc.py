# SPDX-License-Identifier: MIT
"""Which malloc a process really uses, and what of its memory that malloc does not serve."""

from collections.abc import Iterator

from hew.model.finding import Finding, Level
from hew.model.known_allocators import BY_NAME, GLIBC, HEW, MUSL
from hew.model.process import Code, ProcessFacts, Provider

TOPIC = "malloc"
FOUND = {
    "slot": "the address that the loader has written for malloc lies in it",
    "order": "by the order in which the loader searches",
}
RUNTIMES = {
    "Go": (
        "Go's heap is its own: malloc serves only C code that the program calls",
        "for Go's own memory set GOMEMLIMIT or GOGC; an allocator's settings reach cgo alone",
    ),
    "JVM": (
        "objects of Java live in the JVM's heap: malloc serves its compiler, class data, direct buffers, threads",
        "compare RSS with -Xmx; what is above it shows -XX:NativeMemoryTracking=summary and jcmd PID VM.native_memory",
    ),
    "Python": (
        "objects of up to 512 bytes live in Python's own pools, 256 KiB or 1 MiB each, not in malloc's",
        "PYTHONMALLOC=malloc gives them all to malloc; measure it: that is slower under most allocators",
    ),
    "Node": (
        "objects of JavaScript live in V8's heap: malloc serves buffers, native modules and Node itself",
        "process.memoryUsage() tells V8's heap from the rest; --max-old-space-size limits V8's",
    ),
    "Ruby": (
        "objects live in Ruby's own heap pages; malloc serves what they hold beyond 40 bytes (640 from Ruby 3.2 on)",
        "GC.stat and ObjectSpace.memsize_of_all tell Ruby's part; malloc's settings reach the rest",
    ),
    "PHP": (
        "what a request allocates lives in PHP's own chunks of 2 MiB; malloc serves what outlives requests",
        "USE_ZEND_ALLOC=0 gives all to malloc, to measure; memory_limit bounds PHP's part",
    ),
}


def malloc_findings(facts: ProcessFacts) -> Iterator[Finding]:
    """The malloc in use, others in the process, what a preload cannot reach."""
    if facts.provider is None:
        yield _nobody(facts)
    else:
        yield _in_use(facts, facts.provider)
    yield from _embedded(facts)
    yield from _unreached(facts)
    for code in (facts.program, *facts.others):
        runtime = code.runtime if code else None
        if code and runtime:
            why, then = RUNTIMES[runtime.split()[0]]
            yield Finding(
                TOPIC, Level.NOTE, f"{code.path} is the run time of {runtime}", why, then, {"runtime": runtime}
            )


def is_go(program: Code | None) -> bool:
    """A Go program; without C code it has no malloc at all, and that is as it should be."""
    return program is not None and bool(program.runtime) and str(program.runtime).startswith("Go")


def _nobody(facts: ProcessFacts) -> Finding:
    program = facts.program
    if is_go(program):
        return Finding(TOPIC, Level.FACT, "there is no malloc in this process: it is a Go program without C code")
    what = "no malloc was found in this process"
    if program is not None and not program.needed:
        what += ": the program is linked statically and carries no names"
    then = "look at how it was built; a program with its symbols (not stripped) tells more"
    return Finding(TOPIC, Level.NOTE, what, "its allocator is not known, so no setting can be judged", then)


def _in_use(facts: ProcessFacts, provider: Provider) -> Finding:
    code = provider.code
    program = facts.program
    own = program is not None and code.path == program.path
    static = own and not code.interpreter
    if static:
        how = "linked statically into the program"
    elif own:
        how = "linked into the program itself"
    elif provider.preloaded:
        how = "preloaded"
    elif code.kind not in {GLIBC, MUSL} and not _is_needed(facts, code):
        how = "preloaded, or loaded by the program as it runs (nothing in the process is linked with it)"
    else:
        how = "the C library's own" if code.kind in {GLIBC, MUSL} else "a library that the program is linked with"
    proof = FOUND[provider.found_by] if not own else "the program defines malloc"
    evidence = {
        "allocator": code.kind,
        "version": code.version or None,
        "path": str(code.path),
        "static": static,
        "preloaded": provider.preloaded,
        "found_by": "program" if own else provider.found_by,
    }
    if static:
        why = "a preload cannot reach a static program: hew run and LD_PRELOAD change nothing here"
        then = "to change its malloc link it anew, with libhew.a before the C library, or dynamically"
        level = Level.FACT if code.kind == HEW else Level.NOTE
        return Finding(TOPIC, level, f"malloc is {code.title}, {how}: {code.path}", why, then, evidence)
    why, then = _consequence(code)
    return Finding(TOPIC, Level.FACT, f"malloc is {code.title}, {how}: {code.path} ({proof})", why, then, evidence)


def goes_before(facts: ProcessFacts, code: Code) -> bool:
    """Whether the malloc in use is there to replace that one: the program is linked with it, and with the other not."""
    return facts.provider is not None and _is_needed(facts, code) and not _is_needed(facts, facts.provider.code)


def _is_needed(facts: ProcessFacts, code: Code) -> bool:
    """Whether the program or a library of the process says that it is linked with this one."""
    name = code.path.name.removesuffix(" (deleted)")
    needed = {one for user in (facts.program, *facts.others) if user is not None for one in user.needed}
    return any(name == one or name.startswith(f"{one}.") or one.startswith(name) for one in needed)


def _consequence(code: Code) -> tuple[str, str]:
    known = BY_NAME.get(code.kind or "")
    if known is not None and known.reads_conf:
        return f"it takes its settings from {code.variable}, and can print statistics", (
            f"{code.variable}=stats_print:true makes it write them at its end; hew stats and hew advise read them"
        )
    if code.kind == GLIBC:
        return "each thread may get an arena of 64 MiB, and freed memory seldom goes back", (
            "hew compare -- COMMAND shows what other allocators would change, in time and in memory"
        )
    if code.kind == MUSL:
        return "musl's malloc has one lock for all threads, and no settings", (
            "many threads that allocate at a time need another malloc; LD_PRELOAD takes one built for musl"
        )
    return (
        "it has settings of its own and no statistics that hew reads",
        "hew compare -- COMMAND measures it beside others",
    )


def _embedded(facts: ProcessFacts) -> Iterator[Finding]:
    """Allocators in the process that are not its malloc."""
    provider = facts.provider.code.path if facts.provider else None
    for code in (facts.program, *facts.others):
        if code is None or code.kind is None or code.path == provider or code.kind in {GLIBC, MUSL}:
            continue
        evidence = {
            "allocator": code.kind,
            "version": code.version or None,
            "path": str(code.path),
            "prefix": code.prefix,
        }
        if code.serves and goes_before(facts, code):
            first = f"{facts.provider.code.title} goes before it" if facts.provider else ""
            why = "so it is with a preload (LD_PRELOAD, hew run): this one is not used"
            said = f"{code.title} is linked with the program, and {first}: {code.path}"
            yield Finding(TOPIC, Level.FACT, said, why, "", evidence)
        elif code.serves:
            yield Finding(
                TOPIC,
                Level.NOTE,
                f"{code.title} is in the process, too, but malloc is not its own: {code.path}",
                "the loader found another malloc first; this one is not used, or only by calls of its other names",
                "take one of the two away; of LD_PRELOAD the first counts",
                evidence,
            )
        else:
            yield _prefixed(code, evidence)


def _prefixed(code: Code, evidence: dict[str, str | None]) -> Finding:
    names = f"under names that begin with {code.prefix}" if code.prefix else "under other names than malloc"
    settings = f"; its settings come from {code.variable}" if code.variable else ""
    then = "build it without the prefix (Rust: unprefixed_malloc_on_supported_platforms), or with hew instead"
    return Finding(
        TOPIC,
        Level.WARNING if code.kind != HEW else Level.NOTE,
        f"{code.title} is built into {code.path} {names}",
        f"what is allocated by those names stays there: a preload replaces malloc alone{settings}",
        then if code.kind != HEW else "",
        evidence,
    )


def _unreached(facts: ProcessFacts) -> Iterator[Finding]:
    """Preloads that did not come about, and halves of a process that use another malloc."""
    static = facts.program is not None and not facts.program.interpreter
    for entry in facts.missing_preloads:
        reason = "the program is linked statically" if static else "the loader could not take it, or was not allowed to"
        if facts.secure:
            reason = "the program gained privileges (setuid or capabilities), so the loader ignores it"
        yield Finding(
            TOPIC,
            Level.WARNING,
            f"LD_PRELOAD names {entry}, which is not in the process",
            f"the preload had no effect: {reason}",
            "look at the first lines of its stderr, the path, and the library's architecture",
            {"preload": entry, "secure": facts.secure},
        )
    for code in (facts.program, *facts.others):
        if code is not None and code.hidden and code.kind not in {GLIBC, MUSL}:
            yield Finding(
                TOPIC,
                Level.NOTE,
                f"{code.path} has a malloc that it does not export",
                "it uses that one itself, while the libraries use another: a free by the wrong side ends the program",
                "link with -rdynamic, or --export-dynamic-symbol for malloc, free, realloc and so on",
                {"path": str(code.path)},
            )
        if code is not None and code.path.name.endswith(" (deleted)"):
            yield Finding(
                TOPIC,
                Level.NOTE,
                f"{code.path}: the file has been replaced since the process began",
                "it runs the old version",
                "restart it to take up the new one",
                {"path": str(code.path)},
            )
