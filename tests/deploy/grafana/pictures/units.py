"""Values as people read them, by the units of Grafana that the dashboards use."""

from math import isfinite

_TIMES = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"), (1.0, "s"))


def written(value: float, unit: str, decimals: int | None = None) -> str:
    """A value with its unit."""
    if not isfinite(value):
        return "-"
    match unit:
        case "percentunit":
            return f"{value * 100:.{decimals or 0}f}%"
        case "s":
            return _seconds(value, decimals)
        case "dtdurations":
            return _duration(value)
        case "bytes":
            return f"{value / 2**20:.0f} MiB"
        case "reqps":
            return f"{_short(value, decimals)} req/s"
        case "ops":
            return f"{_short(value, decimals)} ops/s"
    return _short(value, decimals)


def _short(value: float, decimals: int | None) -> str:
    if decimals is not None or value == int(value):
        return f"{value:.{decimals or 0}f}"
    return f"{value:.3g}"


def _seconds(value: float, decimals: int | None) -> str:
    if value and abs(value) < 1:
        return f"{value * 1000:.3g} ms"
    return f"{_short(value, decimals)} s" if abs(value) < 120 else _duration(value)


def _duration(value: float) -> str:
    """The two greatest parts of a duration."""
    left = abs(value)
    parts: list[str] = []
    for size, name in _TIMES:
        count, left = divmod(left, size)
        if count or (name == "s" and not parts):
            parts.append(f"{count:.0f}{name}")
    return ("-" if value < 0 else "") + " ".join(parts[:2])
