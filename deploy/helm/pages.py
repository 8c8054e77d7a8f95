"""values.yaml and the table of docs/chart.md, from the schema and the defaults."""

import json
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

import yaml

from deploy.helm.schema import Schema, defaults, schema

WIDTH = 120
HEAD = "# Made by `python -m deploy.helm` from deploy/helm/values.py. Do not edit."
BEGIN = f"<!-- {HEAD.removeprefix('# ')} -->"
END = "<!-- end of the table -->"


def values_file() -> str:
    """Return values.yaml: each value with its description above it, as helm-docs reads them."""
    return "\n".join([HEAD, *_lines(schema(), defaults(), "", set())]) + "\n"


def _lines(node: Schema, values: dict[str, Any], indent: str, written: set[str]) -> Iterator[str]:
    """Yield the lines of a mapping. Lines that this mapping has already are not repeated."""
    for name, value in values.items():
        child = node["properties"][name]
        if not indent:
            yield ""
            written = set()
        if child["description"] not in written:
            for number, line in enumerate(wrap(child["description"], WIDTH - len(indent) - 5)):
                yield f"{indent}# {'-- ' if number == 0 else ''}{line}"
            written.add(child["description"])
        if "properties" in child:
            yield f"{indent}{name}:"
            yield from _lines(child, value, indent + "  ", written)
        elif isinstance(value, dict | list) and value:
            yield f"{indent}{name}:"
            text = yaml.safe_dump(value, sort_keys=False, default_flow_style=False)
            yield from (f"{indent}  {line}" for line in text.splitlines())
        else:
            yield f"{indent}{name}: {json.dumps(value)}"


ELSEWHERE = (
    "- `settings.<setting>` (`null`): a setting of [musterd](cli.md#musterd); null leaves it to the program",
    "- `prometheusRule.alerts.<alert>`: [what can be set of each alert](runbooks/README.md#what-can-be-set)",
)
"""Values that another page lists."""


def table() -> str:
    """Return a line per value, for docs/chart.md; values that another page lists are one line."""
    rows = [*ELSEWHERE]
    for path, node, value in _leaves(schema(), defaults(), ""):
        if ".alerts." in path or (path.startswith("settings.") and value is None):
            continue
        bounds = _bounds(node)
        default = f" (`{json.dumps(value)}`)" if value or value in (0, False) else ""
        rows.append(f"- `{path}`{default}: {node['description']}{f' ({bounds})' if bounds else ''}")
    return "\n".join(rows)


def _leaves(node: Schema, values: dict[str, Any], prefix: str) -> Iterator[tuple[str, Schema, Any]]:
    for name, value in values.items():
        child, path = node["properties"][name], f"{prefix}{name}"
        if "properties" in child and not prefix.endswith(".alerts."):
            yield from _leaves(child, value, f"{path}.")
        else:
            yield path, child, value


def _bounds(node: Schema) -> str:
    if "enum" in node:
        return "one of " + ", ".join(str(each) for each in node["enum"] if each is not None)
    least, most = node.get("minimum"), node.get("maximum")
    if least is not None and most is not None:
        return f"{least} to {most}"
    if least is not None:
        return f"at least {least}"
    if most is not None:
        return f"at most {most:g}"
    return ""


def with_table(page: str, begin: str, made: str) -> str:
    """Return a page with its table of now."""
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(END)
    return f"{before}{begin}\n\n{made}\n\n{END}{after}"
