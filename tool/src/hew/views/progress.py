# SPDX-License-Identifier: MIT
"""A bar on stderr while runs go on; nothing when stderr is not a terminal, nothing left behind at the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hew.model.run import Step


@contextmanager
def bar(total: int) -> Iterator[Callable[[str, int], None]]:
    """Yields a function that shows the present step, and the number of finished steps."""
    from rich import progress as parts  # noqa: PLC0415 - what a command without a bar need not wait for
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True)
    shown = parts.Progress(
        parts.TextColumn("{task.description}", markup=False),
        parts.BarColumn(),
        parts.MofNCompleteColumn(),
        parts.TimeElapsedColumn(),
        parts.TextColumn("left"),
        parts.TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with shown:
        task = shown.add_task("", total=total)
        yield lambda said, done: shown.update(task, description=said, advance=done)


@contextmanager
def progress(total: int) -> Iterator[Callable[[Step, bool], None]]:
    """Gives the function to tell of each step of a schedule, before (False) and after (True)."""
    with bar(total) as tell:

        def told(step: Step, done: bool) -> None:
            phase = "warm-up" if step.is_warmup else f"round {step.round}"
            tell(f"{phase}: {step.allocator}", int(done))

        yield told
