# SPDX-License-Identifier: MIT
"""`hew tune`: one run of a command, or of a server under load, that tunes itself; fresh runs measure what it found."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from hew.analysis.tuned import faster, lean, learned, outcome_of, saved_lines, tuned_ways
from hew.commands.asked import Asked, asked_for, run_options
from hew.commands.measuring import find_client
from hew.commands.options import told, writable
from hew.commands.verify import measured_ways, place_of
from hew.model.allocator import Request
from hew.model.errors import HewError
from hew.model.known_allocators import HEW, OWN_CONF
from hew.model.run import ServerPlan
from hew.model.tuned import Tuned
from hew.sources.code import read_code
from hew.sources.tuning import learn, learn_server
from hew.views.table import results_console
from hew.views.tune import show_tuned, tuned_json


class Percent(click.IntRange):
    """A whole number from 0 to 100, with or without its sign."""

    name = "percent"

    def __init__(self) -> None:
        super().__init__(min=0, max=100)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """`10` or `10%`."""
        digits = value.removesuffix("%") if isinstance(value, str) else str(value)
        if not (digits.isascii() and digits.isdigit() and int(digits[:4]) <= 100 and len(digits) <= 3):
            self.fail(f"{value!r} is not a whole number of percent from 0 to 100, as 10 or 10%", param, ctx)
        return int(digits)


def tune_options(command: Any) -> Any:
    """Those of a run, in this command's words."""
    alloc = "hew, or hew=PATH.  [default: hew]"
    return run_options(command, alloc, "Seconds one run may take.")


@click.command("tune", context_settings={"allow_interspersed_args": False})
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Write the setting with its evidence here, as a line that a shell can read.",
)
@click.option(
    "--memory",
    type=Percent(),
    default=0,
    show_default=True,
    help="Percent of the heap that threads' caches may borrow beyond what they may anyway (tuning_memory).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
@tune_options
@click.argument("words", metavar="-- COMMAND [ARGUMENT]...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(words: tuple[str, ...], save: Path | None, memory: int, as_json: bool, **options: Any) -> None:
    """Let COMMAND run once under hew with tuning:on, and measure what it learned.

    What stayed of its trials is a setting. The command is then run as it is and with that setting, interleaved, as hew
    advise --verify does. "Nothing better" is an answer: then nothing is saved. Threads try more room for their caches
    within milliseconds; to try twice the decay time takes six times what it is, a minute by default.

    With --server it is the server that tunes itself, and is measured, while COMMAND loads it; it is asked what it has
    learned before it is stopped:

    \b
      hew tune --save redis.env \\
               --server 'redis-server --port {port} --save ""' --ready 'redis-cli -p {port} ping' \\
               -- redis-benchmark -p {port} -t set -n 500000 -r 200000 -d 200
    """
    with told("hew tune", programs=True):
        asked = asked_for(words, {**options, "alloc": options["alloc"] or Request(HEW, None)})
        tuned = _tune(asked, memory)
        if save is not None and tuned.better:
            save.write_text("\n".join(saved_lines(tuned, datetime.now(UTC).date().isoformat())) + "\n")
        if as_json:
            click.echo(tuned_json(tuned))
        else:
            show_tuned(tuned, save, results_console())


def _tune(asked: Asked, memory: int) -> Tuned:
    """What a run has learned, and what that is worth."""
    place = place_of(asked)
    code = read_code(place.library) if place.library else None
    if code is None or code.kind != HEW:
        raise HewError("only hew tunes itself: leave --alloc away, or give hew=PATH")
    plan = asked.plan
    find_client(plan, place.environment)
    if isinstance(plan, ServerPlan):
        found = learn_server(plan, place, memory)
    else:
        found = learn(asked.words, place, memory, asked.timeout, asked.input_file)
    settings = learned(found)
    if not settings:
        return Tuned(found.tuning)
    # Its own variable: a jemalloc in the program would complain of hew's names, and what is there already wins over
    # MALLOC_CONF.
    ways = tuned_ways(settings, (code.variables or (OWN_CONF,))[-1], place.environment)
    result = measured_ways(asked, place, code.title, ways)
    outcome = outcome_of(result)
    return Tuned(found.tuning, settings, result, outcome, faster(outcome), lean(outcome, memory))
