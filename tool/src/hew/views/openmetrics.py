# SPDX-License-Identifier: MIT
"""Families of samples as text: OpenMetrics 1.0, and the older format of Prometheus (0.0.4)."""

from collections.abc import Callable, Iterable, Iterator

from hew.model.metric import Family, Kind, Sample

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN = "text/plain; version=0.0.4; charset=utf-8"
ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


def openmetrics(families: Iterable[Family]) -> str:
    """The whole document, with its end."""
    return "".join((*_lines(families, _open_head), "# EOF\n"))


def plain(families: Iterable[Family]) -> str:
    """The same in Prometheus' text format, for clients that do not accept OpenMetrics."""
    return "".join(_lines(families, _plain_head))


def preferred(accept: str) -> str:
    """The type of content that an Accept header asks for: OpenMetrics only where it is named, and not liked less."""
    liked = {OPENMETRICS: 0.0, PLAIN: 0.0}
    for entry in accept.lower().split(","):
        words = [word.strip() for word in entry.split(";")]
        weight = _weight(words[1:])
        if words[0] == "application/openmetrics-text" and "version=0.0.1" not in words:
            liked[OPENMETRICS] = max(liked[OPENMETRICS], weight)
        elif words[0] == "text/plain":
            liked[PLAIN] = max(liked[PLAIN], weight)
    return OPENMETRICS if liked[OPENMETRICS] and liked[OPENMETRICS] >= liked[PLAIN] else PLAIN


def _weight(words: Iterable[str]) -> float:
    for word in words:
        if word.startswith("q="):
            try:
                return float(word[2:])
            except ValueError:
                return 0.0
    return 1.0


def _lines(families: Iterable[Family], head: Callable[[Family], str]) -> Iterator[str]:
    for family in families:
        yield head(family)
        series = family.metric.series
        for sample in family.samples:
            yield f"{series}{_labels(sample)} {number(sample.value)}\n"


def _open_head(family: Family) -> str:
    metric = family.metric
    unit = f"# UNIT {metric.name} {metric.unit}\n" if metric.unit else ""
    return f"# TYPE {metric.name} {metric.kind.value}\n{unit}# HELP {metric.name} {metric.help.translate(ESCAPES)}\n"


def _plain_head(family: Family) -> str:
    metric = family.metric
    kind = Kind.GAUGE if metric.kind is Kind.INFO else metric.kind
    return f"# HELP {metric.series} {metric.help}\n# TYPE {metric.series} {kind.value}\n"


def _labels(sample: Sample) -> str:
    if not sample.labels:
        return ""
    pairs = ",".join(f'{name}="{printable(value).translate(ESCAPES)}"' for name, value in sample.labels)
    return f"{{{pairs}}}"


def printable(text: str) -> str:
    """A name that others chose; what is no text (but newlines) is written as in Python, so that two names stay two."""
    return "".join(one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode() for one in text)


def one_line(text: str) -> str:
    """The same for a line on a terminal, which a newline would make two."""
    return printable(text).replace("\n", "\\n")


def number(value: float) -> str:
    """As both formats write it."""
    if isinstance(value, int):
        return str(value)
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1 << 53 else repr(value)
