# SPDX-License-Identifier: MIT
"""A fleet on the terminal: the ranking, costs and advice, and the effect of a rollout."""

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from hew.model.figures import Unit
from hew.model.fleet import FleetState, Group, Kind, LimitDay, Rollout, ServiceState
from hew.model.quantity import quantity, size, three_digits
from hew.views.advice_text import show_advice
from hew.views.openmetrics import one_line
from hew.views.table import STYLES, plain_table, show_note
from hew.views.text import interval, judgement, times

LAST = 253402300799.0  # the end of the year 9999
SURE = 3  # days from which on a step and a rhythm are told from growth
MOST_HOSTS = 8  # named in a line


def moment(at: float) -> str:
    """A time, as people read it."""
    return datetime.fromtimestamp(min(max(at, 0.0), LAST), UTC).strftime("%Y-%m-%d %H:%M UTC")


def show_fleet(state: FleetState, rows: int, console: Console) -> None:
    """The table of all services, then each that has something to get back, or to look at."""
    hosts, processes = sum(one.hosts for one in state.services), sum(one.processes for one in state.services)
    console.print(
        f"{len(state.services)} services, {processes:,.0f} processes (a host and service: {hosts:,}), from "
        f"{moment(state.begin)} to {moment(state.end)}, by {escape(one_line(state.source))}",
        style="dim",
        soft_wrap=True,
    )
    console.print()
    table = plain_table("service", "processes", "hosts", "CPU", "RSS", "cores back", "memory back", "in cores")
    for one in state.services[:rows]:
        table.add_row(*_row(one))
    console.print(table)
    if len(state.services) > rows:
        console.print(f"and {len(state.services) - rows} more: --rows", style="dim")
    console.print(f"in cores: {state.gib_per_core:g} GiB count as one (--gib-per-core)", style="dim")
    for one in state.services[:rows]:
        if one.costs or one.advice or one.mixed or one.limit:
            _show_service(one, console)
    if not any(one.costs or one.advice or one.mixed or one.limit for one in state.services):
        console.print()
        console.print("nothing to get back that is worth a change")
    for note in state.notes:
        show_note(note, console)


def _row(one: ServiceState) -> list[Text]:
    cores = three_digits(one.cores) if one.cores is not None else "–"
    return [
        Text(one_line(one.name) or "(no name)", style="bold" if one.costs else ""),
        Text(f"{one.processes:,.0f}"),
        Text(f"{one.hosts:,}"),
        Text(cores),
        Text(size(one.resident) if one.resident is not None else "–"),
        Text(three_digits(one.cores_back) if one.cores_back else "–"),
        Text(size(one.bytes_back) if one.bytes_back else "–"),
        Text(three_digits(one.score) if one.score else "–"),
    ]


def _show_service(one: ServiceState, console: Console) -> None:
    console.print()
    console.rule(Text(one_line(one.name) or "(no name)", style="bold"), align="left", characters="─")
    for cost in one.costs:
        amount = size(cost.bytes) if cost.bytes else f"{three_digits(cost.cores)} cores"
        console.print(f"  {cost.kind.value}: [bold]{amount}[/]  [dim]{escape(cost.about)}[/]", soft_wrap=True)
    for line in _beside(one):
        console.print(f"  {escape(line)}", soft_wrap=True)
    show_advice(one.advice, (), console)
    worst = next((cost for cost in one.costs if cost.worst[0] and cost.worst[1].isdecimal()), None)
    if worst is not None:
        host, pid = (one_line(text) for text in worst.worst)
        where = "which uses most pages" if worst.kind is Kind.FRAGMENTATION else "where it is most"
        more = "more of it" if one.advice else "the setting for it"
        console.print(f"  on {escape(host)}, {where}, [green]hew advise {escape(pid)}[/] tells {more}", soft_wrap=True)


def _beside(one: ServiceState) -> Iterator[str]:
    for mixed in one.mixed:
        usual = _setting(mixed.usual)
        names = [f"{one_line(host)} ({_setting(value)})" for host, value in mixed.others[:MOST_HOSTS]]
        more = f" and {len(mixed.others) - MOST_HOSTS} more" if len(mixed.others) > MOST_HOSTS else ""
        count = len(mixed.others)
        yield f"{mixed.setting} is {usual}, but not on {count} host{'s' if count > 1 else ''}: {', '.join(names)}{more}"
    if one.limit is not None:
        yield limit_line(one.limit)


def _setting(value: float) -> str:
    return "-1" if value == float("inf") else quantity(value, Unit.COUNT)


def limit_line(day: LimitDay) -> str:
    """When a limit is met."""
    host = one_line(day.host)
    used = f"{size(day.used)} of its limit of {size(day.limit)}"
    if not day.a_day:
        return f"near its limit: {host} uses {used}"
    until = moment(day.latest) if day.latest is not None else "never, maybe"
    short = "" if day.days >= SURE else f" (from {day.days:.1f} days: a rhythm of days, or a step, may look like it)"
    return (
        f"meets its limit on {moment(day.at)} (95 %: {moment(day.earliest)} to {until}): {host} uses {used} and "
        f"grows by {size(day.a_day)} a day{short}"
    )


def show_rollout(rollout: Rollout, console: Console) -> None:
    """Prints figures before and after, and the hosts without the setting."""
    console.print(f"[bold]{escape(one_line(rollout.service))}[/] {escape(rollout.setting)}", soft_wrap=True)
    for name, span in (("before", rollout.before), ("after", rollout.after)):
        console.print(f"{name}: {moment(span.begin)} to {moment(span.end)}", style="dim", soft_wrap=True)
    for group in rollout.groups:
        console.print()
        _show_group(rollout, group, console)
    if rollout.setting:
        console.print()
        _show_missing(rollout, console)
    for note in rollout.notes:
        show_note(note, console)


def _show_group(rollout: Rollout, group: Group, console: Console) -> None:
    console.print(f"[bold]{group.title}[/] ({group.hosts:,})")
    table = plain_table("", "before", "after", "ratio", "interval")
    table.add_column("", no_wrap=True)
    for figure in rollout.figures:
        if figure.key not in group.before:
            continue
        row = [
            Text(f"  {figure.label}"),
            *(Text(quantity(values[figure.key], figure.unit)) for values in (group.before, group.after)),
        ]
        ratio = group.ratios.get(figure.key)
        if ratio is not None:
            said = Text(judgement(ratio, figure), style=STYLES[ratio.verdict])
            row += [Text(times(ratio.value)), Text(interval(ratio), style="dim"), said]
        table.add_row(*row)
    console.print(table)


def _show_missing(rollout: Rollout, console: Console) -> None:
    if not rollout.missing:
        console.print(f"every host has {escape(rollout.setting)}")
        return
    count = len(rollout.missing)
    hosts = "1 host has" if count == 1 else f"{count:,} hosts have"
    console.print(f"{hosts} not picked up {escape(rollout.setting)}:")
    for host, value in rollout.missing[: MOST_HOSTS * 4]:
        console.print(f"  {escape(one_line(host))}  {escape(value)}", soft_wrap=True)
    if len(rollout.missing) > MOST_HOSTS * 4:
        console.print(f"  and {len(rollout.missing) - MOST_HOSTS * 4:,} more (--json names all)")
