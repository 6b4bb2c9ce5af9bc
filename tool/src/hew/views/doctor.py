# SPDX-License-Identifier: MIT
"""The doctor's findings for the terminal and for programs (doctor.schema.json describes those)."""

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from hew.model.finding import Finding, Level
from hew.model.process import Code, ProcessFacts

FORMAT = "hew-doctor/1"
MARKS = {Level.FACT: "[dim]•[/]", Level.NOTE: "[yellow]![/]", Level.WARNING: "[red]✗[/]"}


def show_findings(facts: ProcessFacts, findings: Sequence[Finding], console: Console) -> None:
    """Print them, what asks for something first."""
    words = shlex.join(facts.words)
    console.print(f"[bold]{facts.pid} {safe(facts.name)}[/]  [dim]{safe(words)}[/]", soft_wrap=True)
    for level in (Level.WARNING, Level.NOTE, Level.FACT):
        for finding in findings:
            if finding.level is level:
                _show(finding, console)
    asking = sum(finding.level is not Level.FACT for finding in findings)
    if not asking:
        console.print("[green]nothing to change was found[/]")
    more = (
        "even by root here: a container without CAP_SYS_PTRACE forbids it"
        if os.geteuid() == 0
        else "run this as the process's user, or as root, to see more"
    )
    for what in facts.unreadable:
        console.print(f"[dim]{what} may not be read: {more}[/]")


def safe(text: str) -> str:
    """A process's own text, without characters that control the terminal."""
    return escape("".join(one if one.isprintable() else repr(one)[1:-1] for one in text))


def _show(finding: Finding, console: Console) -> None:
    console.print(f"{MARKS[finding.level]} {safe(finding.what)}", soft_wrap=True)
    if finding.why:
        console.print(f"    {safe(finding.why)}", soft_wrap=True, style="dim" if finding.level is Level.FACT else None)
    if finding.next:
        console.print(
            f"    → {safe(finding.next)}", soft_wrap=True, style="dim" if finding.level is Level.FACT else None
        )


def to_json(facts: ProcessFacts, findings: Sequence[Finding]) -> str:
    """One document, sizes in bytes."""
    return json.dumps(to_document(facts, findings), indent=2, ensure_ascii=False)


def to_document(facts: ProcessFacts, findings: Sequence[Finding]) -> dict[str, Any]:
    """The document as plain lists and dictionaries. The environment stays out of it: it may hold secrets."""
    codes = [code for code in (facts.program, *facts.others) if code is not None and (code.kind or code.runtime)]
    return {
        "format": FORMAT,
        "pid": facts.pid,
        "name": facts.name,
        "command": list(facts.words),
        "threads": facts.threads,
        "allocators": [_code(code, facts) for code in codes],
        "memory": asdict(facts.memory),
        "limits": asdict(facts.limits),
        "system": asdict(facts.system),
        "inside": asdict(facts.inside) if facts.inside else None,
        "findings": [asdict(finding) for finding in findings],
        "unreadable": list(facts.unreadable),
    }


def _code(code: Code, facts: ProcessFacts) -> dict[str, Any]:
    """One allocator or run time; it serves when this process's malloc is its own, not when it could be."""
    kept = ("kind", "version", "prefix", "variable", "runtime")
    serves = facts.provider is not None and facts.provider.code.path == code.path
    return {"path": str(code.path), "serves": serves} | {name: getattr(code, name) for name in kept}
