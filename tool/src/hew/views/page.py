# SPDX-License-Identifier: MIT
"""The comparison as one HTML page: everything inline, nothing fetched, light and dark by the reader's setting."""

from collections.abc import Sequence
from html import escape
from importlib import resources

from hew.model.allocator import Allocator
from hew.model.figures import Figure, Unit
from hew.model.quantity import quantity
from hew.model.report import AllocatorResult, Choice, Machine, Report, Setup, Verdict
from hew.views.charts import CSS_CLASS, memory_lines, ratio_bars
from hew.views.text import command_line, failure_line, interval, judgement, remarks, times

SUBJECT = "hew"
PALETTE = tuple(f"--c{number}" for number in range(10))
OWN_COLORS = {"glibc": "--glibc", SUBJECT: "--hew"}
MARKS = {Verdict.BETTER: "✓ ", Verdict.WORSE: "✗ "}  # an arrow would point the other way than the figure

METHOD = """
<p>Every round runs the command once under each allocator; each round starts one allocator later, so that a slow drift
of the machine meets all of them alike. The ratio is the median over the rounds of an allocator's figure divided by
glibc's in the same round. The interval is a {confidence} bootstrap interval over the rounds. “No difference” means that
it contains 1, or that the ratio is within half a percent of 1 (“shown” is added when the interval is wide, so that a
difference may hide in it); below six rounds no verdict is given. With many
comparisons on one page, one in twenty can look like a difference by chance.</p>
"""
COMMAND_METHOD = """
<p>Wall time is from the start of the program to its end. CPU time is user and system time of the command and its
children. Peak RSS is that of the largest process of the command. Page faults are minor and major ones together.</p>
"""
SERVER_METHOD = """
<p>The server runs under each allocator, the client always as it is. RSS is read from the largest process of the server
when the client has ended, peak RSS is its high-water mark, CPU time is what the server used while the client ran.
Latencies are those that the client reports.</p>
"""


def to_page(report: Report, chosen: Choice) -> str:
    """The whole page, which begins with what to choose."""
    colors = allocator_colors([result.allocator for result in report.results])
    sections = [
        _head(report),
        f'<p class="choice">{escape(chosen.advice)}</p>',
        "".join(f'<p class="soft">{escape(axis)}</p>' for axis in chosen.axes),
        _tiles(report),
        _problems(report),
        _memory(report, colors),
        _summary(report, colors),
        _ratios(report, colors),
        _details(report, colors),
    ]
    name = command_line(report.setup.server or report.setup.command)
    return html_page(f"hew compare: {name}", sections, "hew compare")


def html_page(title: str, sections: Sequence[str], made_by: str) -> str:
    """The frame that every page of ours has."""
    style = resources.files("hew.views").joinpath("page.css").read_text(encoding="utf-8")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, sections))
        + f"\n<footer>Made by {made_by}. This page fetches nothing.</footer>\n</main>\n</body>\n</html>\n"
    )


def allocator_colors(allocators: Sequence[Allocator]) -> dict[str, str]:
    """A CSS variable for each allocator; glibc and hew have their own."""
    free = iter(PALETTE * 4)
    return {one.name: OWN_COLORS.get(one.name) or next(free) for one in allocators}


def circumstances(machine: Machine, started: str, *before: str) -> str:
    """A line of small print: when and where it was measured, after what is said `before`."""
    facts = [
        *before,
        started.replace("T", " ").replace("+00:00", " UTC"),
        f"{machine.cpu}, {machine.cpus_usable} CPUs, {quantity(machine.memory_bytes, Unit.BYTES)}",
        machine.kernel,
        machine.libc,
        f"load {machine.load_average:.2f} at the start",
    ]
    return f'<p class="soft small">{" · ".join(escape(fact) for fact in facts if fact)}</p>'


def _head(report: Report) -> str:
    setup = report.setup
    rounds = f"{setup.runs} rounds after {setup.warmup} of warm-up"
    return (
        f"<header><h1><b>hew</b> compare</h1>{_command(setup)}"
        f"{circumstances(setup.machine, setup.started, rounds)}</header>"
    )


def _command(setup: Setup) -> str:
    client = f"<code>{escape(command_line(setup.command))}</code>"
    if not setup.server:
        return f'<div class="command">{client}</div>'
    server = f"<code>{escape(command_line(setup.server))}</code>"
    return (
        f'<div class="command"><span class="role">server, under each allocator</span>{server}'
        f'<span class="role">client</span>{client}</div>'
    )


def _tiles(report: Report) -> str:
    """hew's own figures in large, when it took part."""
    subject = next((one for one in report.results if one.allocator.name == SUBJECT and one.ratios), None)
    if subject is None:
        return ""
    tiles = []
    for figure in report.figures[:4]:
        ratio = subject.ratios.get(figure.key)
        if ratio is None:
            continue
        plain = "" if ratio.verdict in MARKS else " plain"
        tiles.append(
            f'<div class="card tile"><div class="label">{escape(figure.label)}</div>'
            f'<div class="value {CSS_CLASS[ratio.verdict]}{plain}">{escape(judgement(ratio, figure))}</div>'
            f'<div class="small soft">{quantity(subject.medians[figure.key], figure.unit)}, '
            f"glibc {quantity(report.baseline.medians[figure.key], figure.unit)}</div></div>"
        )
    return f'<section><h2>hew against glibc</h2><div class="tiles">{"".join(tiles)}</div></section>'


def _problems(report: Report) -> str:
    failed = [
        f"<p><b>{escape(failure_line(result, one))}</b></p>"
        + (f"<pre>{escape(one.failure.stderr_tail)}</pre>" if one.failure.stderr_tail else "")
        for result in report.results
        for one in result.failures
    ]
    differing = [
        f"<p><b>{escape(result.allocator.name)}: its output differs from glibc’s</b></p>"
        for result in report.results
        if result.output_differs
    ]
    if not failed and not differing:
        return ""
    return f'<section><h2>Problems</h2><div class="card problems wide">{"".join(failed + differing)}</div></section>'


def _summary(report: Report, colors: dict[str, str]) -> str:
    """A row for each allocator, hew behind glibc; on a narrow screen a row is a block, so no column is cut off."""
    head = "".join(f"<th>{escape(figure.label)}</th>" for figure in report.figures)
    ordered = sorted(report.results, key=lambda one: (not one.allocator.is_baseline, one.allocator.name != SUBJECT))
    rows = "".join(
        f'<tr><th scope="row">{_swatch(one, colors)}</th>'
        + "".join(_cell(one, figure) for figure in report.figures)
        + "</tr>"
        for one in ordered
    )
    return (
        '<section><h2>Every allocator</h2><p class="soft">Medians, and what can be said of them against glibc.</p>'
        f'<div class="card scroll"><table class="blocks"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _cell(result: AllocatorResult, figure: Figure) -> str:
    label = f'data-label="{escape(figure.label)}"'
    if figure.key not in result.medians:
        return f'<td {label} class="worse">{"failed" if result.failures else "–"}</td>'
    median = quantity(result.medians[figure.key], figure.unit)
    ratio = result.ratios.get(figure.key)
    if ratio is None:
        baseline = "baseline" if result.allocator.is_baseline else ""
        return f'<td {label}>{median}<small class="soft">{baseline}</small></td>'
    words = MARKS.get(ratio.verdict, "") + judgement(ratio, figure)
    return (
        f'<td {label} title="{times(ratio.value)} ({interval(ratio)})">{median}'
        f'<small class="{CSS_CLASS[ratio.verdict]}">{escape(words)}</small></td>'
    )


def _ratios(report: Report, colors: dict[str, str]) -> str:
    cards = "".join(
        f'<div class="card"><h3>{escape(figure.label)} <span class="soft small">'
        f"{'more' if figure.more_is_better else 'less'} is better</span></h3>"
        f"{ratio_bars(figure, report.results, colors)}</div>"
        for figure in report.figures
        if any(figure.key in one.ratios for one in report.results)
    )
    if not cards:
        return ""
    return (
        '<section><h2>Ratio to glibc</h2><p class="soft">Bars are medians, whiskers the '
        f"{report.confidence:.0%} interval, dots the single rounds; an arrowhead means that it goes on."
        f'</p><div class="charts">{cards}</div></section>'
    )


def _memory(report: Report, colors: dict[str, str]) -> str:
    chart = memory_lines(report.results, colors)
    if chart is None:
        return ""
    whose = "server" if report.setup.server else "command"
    return (
        f'<section><h2>Memory over time</h2><p class="soft">Resident memory of the {whose}’s largest process in a '
        f'typical run, read about every 20 ms.</p><div class="card wide">{chart}</div></section>'
    )


def _details(report: Report, colors: dict[str, str]) -> str:
    libraries = "".join(
        f'<tr><td>{_swatch(one, colors)}</td><td class="text"><code class="small">'
        f"{escape(str(one.allocator.library or 'what the command has by itself'))}</code></td>"
        f"<td>{one.good_runs}</td></tr>"
        for one in report.results
    )
    notes = "".join(f"<li>{escape(remark)}</li>" for remark in remarks(report))
    method = METHOD.format(confidence=f"{report.confidence:.0%}")
    return (
        "<section><h2>How it was measured</h2>"
        + method
        + (SERVER_METHOD if report.setup.server else COMMAND_METHOD)
        + '<div class="card scroll wide"><table><thead><tr><th>allocator</th>'
        '<th style="text-align:left">preloaded library</th>'
        f"<th>good runs</th></tr></thead><tbody>{libraries}</tbody></table></div>"
        + (f"<ul>{notes}</ul>" if notes else "")
        + _every_run(report, colors)
        + "</section>"
    )


def _every_run(report: Report, colors: dict[str, str]) -> str:
    tables = "".join(
        f'<h3 style="margin-top:18px">{escape(figure.label)}</h3><div class="scroll"><table class="small"><tbody>'
        + "".join(
            f"<tr><td>{_swatch(one, colors)}</td>{_values(one.values.get(figure.key, ()), figure)}</tr>"
            for one in report.results
        )
        + "</tbody></table></div>"
        for figure in report.figures
    )
    return f'<details class="card"><summary>Every run</summary>{tables}</details>'


def _values(values: Sequence[float], figure: Figure) -> str:
    return "".join(f"<td>{quantity(value, figure.unit)}</td>" for value in values)


def _swatch(result: AllocatorResult, colors: dict[str, str]) -> str:
    name = result.allocator.name
    return f'<span class="swatch" style="background:var({colors[name]})"></span>{escape(name)}'
