# SPDX-License-Identifier: MIT
"""Values as people read them, wherever a sentence or a table needs one."""

from hew.model.figures import Unit

BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def quantity(value: float, unit: Unit) -> str:
    """A value with its unit, three significant digits."""
    match unit:
        case Unit.SECONDS:
            scale, name = next((pair for pair in TIMES if value >= pair[0]), TIMES[-1] if value else TIMES[0])
            return f"{three_digits(value / scale)} {name}"
        case Unit.BYTES:
            step = 0
            while value >= 1024 and step < len(BINARY) - 1:
                value, step = value / 1024, step + 1
            return f"{three_digits(value)} {BINARY[step]}"
        case Unit.BYTE_SECONDS:
            return f"{quantity(value, Unit.BYTES)}·s"
        case Unit.SHARE:
            return f"{value:.0%}" if value >= 0.0995 else f"{value:.1%}"
        case Unit.CORES:
            return three_digits(value)
        case _:
            return f"{value:,.0f}{'/s' if unit is Unit.PER_SECOND else ''}"


def three_digits(value: float) -> str:
    """At least three significant digits, never an exponent."""
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def size(value: float) -> str:
    """Bytes."""
    return quantity(value, Unit.BYTES)
