# SPDX-License-Identifier: MIT
"""The program misuses its memory: a guarded object has met a mistake.

Speaks when `stats.guard.reported` is not 0, which needs `hardening:sample` and a program that goes on
after SIGSEGV, or a hook that receives the messages. One mistake is enough: a guarded object is never
reported wrongly. No setting helps.
"""

from hew.model.advice import Advice, Case, Evidence
from hew.model.figures import Unit

NAME = "misuse"


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    if snapshot is None or not snapshot.guard.reported:
        return None
    guard = snapshot.guard
    return Advice(
        rule=NAME,
        title="the program uses memory that it has freed, or that is not its own",
        subject=snapshot.subject,
        evidence=(
            Evidence("distinct mistakes", guard.reported or 0, Unit.COUNT, "stats.guard.reported"),
            *(
                Evidence(kind, count, Unit.COUNT, f"stats.guard.{kind.replace(' ', '_')}")
                for kind, count in guard.found.items()
                if count
            ),
            Evidence("guarded objects", guard.guarded or 0, Unit.COUNT, "stats.guard.guarded"),
        ),
        settings=(),
        cpu="none",
        memory="none",
        risk="none: this is for looking, not for setting",
        verify="the report again, after the program was changed: stats.guard.reported should stay 0",
        otherwise="the program reads or changes other data; attackers may use that",
        change="correct what the reports on its standard error name: each has the stacks of allocation and free",
    )
