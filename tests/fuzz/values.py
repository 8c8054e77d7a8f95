"""Hostile values: what a field may hold if its author is careless, newer than Muster, or an attacker."""

from random import Random
from typing import Any

NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2, 7, 63, 64, 134, 137, 255, 999_999_999, 10**9, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**53 + 1,
    2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30, -(10**30), 0.0, -0.0, 0.5, 1.5, 1e-9, 1e16, 1e308, -1e308,
)  # fmt: skip

TIMES = (
    "2026-11-20T10:00:00Z", "2026-11-20T10:00:00.123456Z", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999999Z", "10000-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z", "2026-11-20T25:00:00Z", "2026-11-20T10:00:60Z", "2026-11-20T10:00:00+99:99",
    "2026-11-20T10:00:00-23:59", "2026-11-20 10:00:00", "2026-W47-5T10:00:00Z", "yesterday",
)  # fmt: skip

WORDS = (
    "", " ", "0", "1", "-1", "+1", "3", "007", "00000000001", "1e9", "0x10", "1_000", "999999999", "1000000000",
    "99999999999999999999", "NaN", "true", "True", "False", "Unknown", "null", "None", "..", "/", "a/b",
    "\u0663", "\u00b2", "x" * 63, "x" * 64, "x" * 253, "x" * 254, "X" * 2_000, "\u00e9" * 600, "\U0001f525" * 1_500,
    "\x00", "a\x00b", "\x1b[31mred", "line\nbreak\r\ttab", "\u202eevil", "\u2028", "\ufeff", "\ud800", "x\udfffy",
    "$(HOSTNAME)", "{{.}}", "%s%n", "'; drop", "main", "Running", "Pending", "Failed", "Succeeded", "Evicted",
    "OutOfcpu", "Always", "Never", "Experiment", "muster.dev/v1alpha1", "JobSet", "jobset.x-k8s.io/v1alpha2", "Ready",
    "PodScheduled", "DisruptionTarget", "Stuck", "Restarting", "Suspended", "AllAtOnce", "Restart", "3/4", "3/4/5",
    "-1/4", "\u0661/\u0664", "1w2d", "1000000w", "-5s", "5", "10.0.0.7", "fd00::1", "fe80::1%eth0", "256.1.1.1",
    "[::1]", "evil.example.org", "10.0.0.7:80", "::",
)  # fmt: skip

HUGE = ("y" * 70_000, "1" * 5_000, "\U0001f525" * 20_000)
"""Chosen rarely, because encoding them takes time."""


def word(rng: Random) -> str:
    """A text."""
    return rng.choice(HUGE) if rng.random() < 0.01 else rng.choice(WORDS)


def deep(levels: int, *, mapping: bool) -> Any:
    """A value nested that deep."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value} if mapping else [value]
    return value


def hostile(rng: Random) -> Any:
    """Any value."""
    match rng.randrange(12):
        case 0:
            return None
        case 1:
            return rng.random() < 0.5
        case 2 | 3:
            return rng.choice(NUMBERS)
        case 4:
            return rng.choice(TIMES)
        case 5:
            return rng.choice(([], {}, [[]], [None], [{}], {"": ""}, {"a": {}}))
        case 6:
            return deep(rng.choice((3, 3, 3, 3, 3, 40, 300)), mapping=rng.random() < 0.5)
        case 7:
            return [rng.choice(WORDS) for _ in range(rng.choice((1, 3, 3, 3, 3, 70)))]
        case 8:
            return "".join(
                chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) for _ in range(rng.randrange(9))
            )
        case _:
            return word(rng)


def like(rng: Random, value: Any) -> Any:
    """A hostile value of the expected type, so that it passes the first check."""
    if isinstance(value, bool):
        return rng.random() < 0.5
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, -value, rng.randrange(10), rng.choice(NUMBERS)))
    if isinstance(value, float):
        return rng.choice(NUMBERS)
    if isinstance(value, str):
        if len(value) >= 20 and value[4:5] == "-":
            return rng.choice(TIMES)
        return rng.choice((word(rng), value + word(rng), value[: rng.randrange(len(value) + 1)]))
    return hostile(rng)
