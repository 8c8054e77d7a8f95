"""A measured figure with its budget and its peer, and the figures as a table and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a measurement. ``peer`` is another tool, measured for the same work in the same run."""

    name: str
    value: float
    unit: str
    budget: float | None = None
    peer: str = ""
    peer_value: float | None = None

    @property
    def ok(self) -> bool:
        """Return True if the value keeps any budget."""
        return self.budget is None or self.value <= self.budget


_HEADS = ("name", "value", "unit", "budget", "ok", "peer", "peer value", "ratio")
_NUMBERS = frozenset({"value", "budget", "peer value", "ratio"})


def table(results: Sequence[Result]) -> str:
    """Return one line per result under one line of heads; numbers to the right, text to the left."""
    rows = [_HEADS, *(_cells(result) for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if head in _NUMBERS else cell.ljust(width)
            for head, cell, width in zip(_HEADS, row, widths, strict=True)
        ).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def write(results: Sequence[Result], path: Path) -> None:
    """Write the results as a JSON list of objects with the fields of ``Result``, and ``ok``."""
    encoded = msgspec.json.encode([{**asdict(result), "ok": result.ok} for result in results])
    path.write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")


def _cells(result: Result) -> tuple[str, ...]:
    """Return the cells of a row; the ratio is the peer's figure divided by ours."""
    ratio = f"{result.peer_value / result.value:.1f}x" if result.peer_value is not None and result.value else ""
    return (
        result.name,
        _number(result.value),
        result.unit,
        _number(result.budget),
        "ok" if result.ok else "OVER",
        result.peer,
        _number(result.peer_value),
        ratio,
    )


def _number(value: float | None) -> str:
    """Return three significant digits and no exponent."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.3g}"
