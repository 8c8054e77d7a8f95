"""Cases of alerts that are written as data: a file of YAML has the cases of each alert under its name.

The fields of a case are those of ``Case``. In the names of series ``$run`` means the labels of the experiment,
``$a`` and ``$b`` those of the two daemons; ``stuck REASON`` means the two series of an experiment that is
stuck for that reason. ``(1 _ _)x100`` is a hundred times what is in the parentheses.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.prometheus.case import ONE, Case, reason

SHORT = {"$run": ONE, "$a": 'job="musterd",instance="a"', "$b": 'job="musterd",instance="b"'}
REPEATED = re.compile(r"\(([^)]*)\)x(\d+)")


def written(name: str) -> tuple[Case, ...]:
    """The cases of the file of that name."""
    text = Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8")
    return tuple(_case(alert, row) for alert, rows in yaml.safe_load(text).items() for row in rows)


def _case(alert: str, row: dict[str, Any]) -> Case:
    series = dict(each for pair in row.pop("series").items() for each in _series(*pair))
    lists: dict[str, Any] = {name: tuple(row[name]) for name in ("also", "without") if name in row}
    return Case(alert, series=series, **{**row, **lists})


def _series(name: str, values: str) -> Iterator[tuple[str, str]]:
    values = REPEATED.sub(lambda found: " ".join([found[1]] * int(found[2])), values)
    if name.startswith("stuck "):
        yield from reason(name.removeprefix("stuck "), values).items()
        return
    for short, labels in SHORT.items():
        name = name.replace(f"{{{short}", f"{{{labels}")
    yield name, values
