# SPDX-License-Identifier: MIT
"""A bar on stderr while the schedule runs; nothing when stderr is not a terminal, nothing left behind at the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from hew.model.run import Step


@contextmanager
def progress(total: int) -> Iterator[Callable[[Step, bool], None]]:
    """Gives the function to tell of each step, before (False) and after (True)."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=total)

        def told(step: Step, done: bool) -> None:
            phase = "warm-up" if step.is_warmup else f"round {step.round}"
            bar.update(task, description=f"{phase}: {step.allocator}", advance=1 if done else 0)

        yield told
