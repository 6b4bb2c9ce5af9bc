# SPDX-License-Identifier: MIT
"""What `hew tune` found: for the terminal and for programs."""

import json
from pathlib import Path

from rich.console import Console

from hew.model.tuned import Tuned
from hew.views.tuning import show_tuning, tuning_document
from hew.views.verification import settings_of, show_verification, verification_document

FORMAT = "hew-tune/1"
NOTHING = "nothing better: what it has is as good as what it could learn"
COSTLY = "not kept: it is faster, and takes more memory than it may; --memory PERCENT is what it may spend"
UNCONFIRMED = "nothing better: fresh runs do not confirm what it learned"


def show_tuned(tuned: Tuned, saved: Path | None, console: Console) -> None:
    """The run's steps, what they are worth, and the setting."""
    show_tuning(tuned.tuning, console)
    if tuned.result is None or tuned.outcome is None:
        console.print(NOTHING)
        return
    show_verification(tuned.result, console)
    console.print()
    if not tuned.better:
        console.print(COSTLY if tuned.faster else UNCONFIRMED, soft_wrap=True)
        return
    console.print(f"keep it: {settings_of(tuned.outcome)}", soft_wrap=True, markup=False)
    if saved is not None:
        console.print(f"saved in {saved}", soft_wrap=True, markup=False)


def tuned_json(tuned: Tuned) -> str:
    """One document, in base units."""
    document = {
        "format": FORMAT,
        "tuning": tuning_document(tuned.tuning),
        "learned": {one.name: one.value for one in tuned.settings},
        "verification": verification_document(tuned.result) if tuned.result is not None else None,
        "better": tuned.better,
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
