# SPDX-License-Identifier: MIT
"""`hew doctor`: which allocator a process uses, whether its settings took effect, and what limits it."""

import click

from hew.analysis.doctor import examine
from hew.commands.options import told
from hew.sources.environment import caller_environment
from hew.sources.inside import with_inside
from hew.sources.patient import look_at_command
from hew.sources.process_facts import read_process
from hew.views.doctor import show_findings, to_json
from hew.views.table import results_console


@click.command("doctor", context_settings={"allow_interspersed_args": False})
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--after",
    type=click.FloatRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="Seconds a COMMAND runs before it is looked at.",
)
@click.argument("words", metavar="PID | -- COMMAND [ARGUMENT]...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(as_json: bool, after: float, words: tuple[str, ...]) -> None:
    """Say which malloc a process really uses, and what is wrong with how it was set up.

    A COMMAND is started, looked at while it runs (its largest process, when it starts others), and ended.
    """
    with told("hew doctor", programs=True):
        if len(words) == 1 and words[0].isdigit():
            facts = with_inside(read_process(int(words[0])))
        else:
            facts = look_at_command(words, caller_environment(), after)
        findings = examine(facts)
        if as_json:
            click.echo(to_json(facts, findings))
        else:
            show_findings(facts, findings, results_console())
