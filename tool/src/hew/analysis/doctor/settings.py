# SPDX-License-Identifier: MIT
"""Whether the settings in a process's environment were honoured, or can be at all."""

import math
import re
from collections.abc import Iterator

from hew.model.finding import Finding, Level
from hew.model.known_allocators import CONF, GLIBC, KNOWN
from hew.model.process import Code, ProcessFacts, Setting

TOPIC = "settings"
ARENA_LIMIT = re.compile(r"(?:^|:)glibc\.malloc\.arena_max=(0x[0-9a-fA-F]+|\d+)")
WHOLE = re.compile(r"^\s*(0x[0-9a-fA-F]+|\d+)")


def setting_findings(facts: ProcessFacts) -> Iterator[Finding]:
    """Each variable that some allocator reads, and the link /etc/malloc.conf."""
    if facts.environment is None:
        kept = "environ" in facts.unreadable
        why = "it is another user's" if kept else "the program has written over it, a title of its own for instance"
        more = "run this as the user of the process, or as root; " if kept else ""
        yield Finding(
            TOPIC,
            Level.NOTE,
            "the environment of the process cannot be read",
            f"it is not known whether its settings were honoured: {why}",
            more + "hew doctor -- COMMAND knows what it gave",
        )
    for setting in facts.settings:
        yield _judged(facts, setting)
    link, code = facts.system.conf_link, facts.provider.code if facts.provider else None
    if link is not None and code is not None:
        read = code.variable == CONF
        yield Finding(
            TOPIC,
            Level.FACT if read else Level.NOTE,
            f"the link /etc/malloc.conf says {link}",
            f"{code.title} reads it before {CONF}" if read else f"{code.title} does not read it",
            "" if read else "it changes nothing for this process",
            {"link": link, "read": read},
        )


def _judged(facts: ProcessFacts, setting: Setting) -> Finding:
    """One variable."""
    shown = f"{setting.variable}={setting.value}"
    evidence: dict[str, object] = {"variable": setting.variable, "value": setting.value}
    code = facts.provider.code if facts.provider else None
    owner = next(known.name for known in KNOWN if known.variables.fullmatch(setting.variable))
    reader = _reader(facts, setting.variable)
    if reader is None:
        evidence["read"] = False
        why, then = _why_unread(facts, code, setting.variable, owner), _instead(facts, code, setting.variable)
        return Finding(TOPIC, Level.WARNING, f"{shown} is not read", why, then, evidence)
    evidence |= {"read": True, "unknown": list(setting.unknown)}
    if reader.kind == GLIBC:
        return _of_glibc(facts, setting, shown, evidence)
    if setting.unknown:
        return Finding(
            TOPIC,
            Level.WARNING,
            f"{shown}: {reader.title} knows no setting {' or '.join(setting.unknown)}",
            "a name that it does not know is left out, with a line on stderr at its start; the rest applies",
            "look the name up for this version (docs/options.md has hew's); confirm_conf:true shows what was taken",
            evidence,
        )
    return Finding(TOPIC, Level.FACT, f"{shown} is read by {reader.title}", "", "", evidence)


def _reader(facts: ProcessFacts, variable: str) -> Code | None:
    """The allocator in the process that reads this variable."""
    codes = [code for code in (facts.program, *facts.others) if code is not None and code.kind is not None]
    if facts.provider is not None:
        codes.insert(0, facts.provider.code)
    for code in codes:
        known = next(one for one in KNOWN if one.name == code.kind)
        if known.reads_conf:
            if variable in code.variables:
                return code
        elif known.variables.fullmatch(variable) and (code.kind != GLIBC or _is_provider(facts, code)):
            return code
    return None


def _is_provider(facts: ProcessFacts, code: Code) -> bool:
    return facts.provider is not None and facts.provider.code.path == code.path


def _why_unread(facts: ProcessFacts, code: Code | None, variable: str, owner: str) -> str:
    if code is None:
        return f"it is for {owner}, and no malloc was found in the process"
    prefixed = [one for one in (facts.program, *facts.others) if one and one.variable not in {None, CONF}]
    if prefixed and variable.endswith(CONF):
        return f"{prefixed[0].title} in {prefixed[0].path} was built with a prefix and reads {prefixed[0].variable}"
    if code.variable and variable.endswith(CONF):
        return f"{code.title} reads {code.variable}"
    return f"it is for {owner}, and malloc is {code.title} here"


def _instead(facts: ProcessFacts, code: Code | None, variable: str) -> str:
    other = next(
        (one.variable for one in (facts.program, *facts.others) if one and one.variable not in {None, variable}), None
    )
    if variable.endswith(CONF) and other:
        return f"set {other} to the same text"
    if code is not None and code.variable:
        return f"take it away; {code.variable} is where this malloc's settings go"
    return "take it away, or run the program under the allocator that it is for"


def _of_glibc(facts: ProcessFacts, setting: Setting, shown: str, evidence: dict[str, object]) -> Finding:
    """glibc takes malformed values as 0 or ignores them, without a message."""
    if facts.secure:
        why = "the program gained privileges (setuid or capabilities): glibc ignores its tunables then"
        return Finding(TOPIC, Level.WARNING, f"{shown} is not read", why, "set it in the program: mallopt()", evidence)
    limit = arena_limit(setting)
    arenas = {region.arena for region in facts.regions}
    if limit and len(arenas) > limit - 1 and None not in arenas:
        evidence["arenas"] = len(arenas) + 1
        what, why = f"{shown}, but there are {len(arenas) + 1} arenas", "the program itself has changed the limit"
        return Finding(TOPIC, Level.WARNING, what, why, "look for mallopt(M_ARENA_MAX) in it", evidence)
    if setting.variable != "GLIBC_TUNABLES" and not WHOLE.match(setting.value):
        why = "glibc takes it as 0 or leaves it out, in silence"
        return Finding(
            TOPIC, Level.WARNING, f"{shown} is no number", why, "give a whole number, sizes in bytes", evidence
        )
    return Finding(TOPIC, Level.FACT, f"{shown} is read by glibc", "", "", evidence)


def arena_limit(setting: Setting) -> int | None:
    """The most arenas that a setting of glibc allows."""
    patterns = {"MALLOC_ARENA_MAX": WHOLE, "GLIBC_TUNABLES": ARENA_LIMIT}
    pattern = patterns.get(setting.variable)
    found = pattern.search(setting.value) if pattern else None
    if found is None:
        return None
    return int(found[1], 16 if found[1].startswith("0x") else 10)


def fitting_arenas(facts: ProcessFacts) -> int:
    """The MALLOC_ARENA_MAX to try: an arena for each CPU whose time the process may use, and never one for all."""
    usable = min(facts.limits.cpus_allowed, facts.limits.cpus_of_group or facts.limits.cpus_allowed)
    return max(2, math.ceil(usable))
