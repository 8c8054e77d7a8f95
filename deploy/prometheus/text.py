"""The rules as text: a plain rule file with the default thresholds, and the chart's template of the same rules.

Both come from the same rows by the same function. They differ in the form of a value: the default itself, or the Go
template that reads the chart's value. In the chart, the templates of Prometheus are quoted, so that helm prints them as
they are.
"""

import re
from collections.abc import Iterable, Iterator

import yaml

from deploy.prometheus.clusters import kept, of_shard
from deploy.prometheus.recordings import BEFORE_OWNERS, with_owners
from deploy.prometheus.row import GIVEN, KNOWN, Alert, Group, Recording, fill
from deploy.prometheus.values import INTERVAL
from muster.api.schema.crd import BlockDumper
from muster.metrics.runbooks import PLACES, PUBLISHED

_TEMPLATE = re.compile(r"\{\{.*?\}\}")
_AT = re.compile(r"@\w+")
_WHERE = "{{ with $labels.@cluster }}{{ . }}: {{ end }}{{ with $labels.shard }}shard {{ . }}: {{ end }}"
"""Begins each summary: the cluster and the shard, where the alert has them."""
_KNOWN = (
    '{{- range $values.clusters }} or absent(muster_build_info{{ $and }}job="{{ $job }}",'
    '{{ $cluster }}="{{ . }}"}){{- end }}'
)

_END = "{{- end }}"

GENERATED_BY = "Written by `python -m deploy.prometheus` from the rows in deploy/prometheus; do not edit."


class Plain:
    """A rule file for Prometheus. ``owners`` are the labels of owners, as they are named in metrics."""

    interval = INTERVAL

    def __init__(self, owners: tuple[str, ...] = (), runbooks: str = PUBLISHED) -> None:
        self.owners = ", ".join(owners)
        self.runbooks = runbooks

    def value(self, alert: Alert | None, name: str) -> str:
        """Return the text of a threshold, of ``severity``, ``audience`` and ``for``, or of what is given."""
        if alert is None or name in GIVEN:
            return GIVEN[name]
        own = {"severity": alert.severity.value, "for": alert.hold}
        own |= {"audience": alert.audience.value} if alert.audience else {}
        own |= {threshold.name: str(threshold.value) for threshold in alert.thresholds}
        return own[name]

    def literal(self, text: str) -> str:
        """Return text with templates of Prometheus in it."""
        return text

    def filled(self, alert: Alert | None, text: str) -> str:
        """Return a text of the alert with its thresholds in it."""
        return fill(self.literal(text), lambda name: self.value(alert, name))

    def selected(self, alert: Alert | None, expr: str) -> str:
        """Return a query with the labels of cluster and shard, and the selector of the shard."""
        return fill(of_shard(kept(expr, "@cluster")), lambda name: self.value(alert, name))

    def owned(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines that are for labels of owners only."""
        if self.owners:
            yield from lines

    def rule(self, _alert: Alert, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines of an alert's rule."""
        yield from lines

    def group(self, _group: Group, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines of a group."""
        yield from lines


class Chart(Plain):
    """A template of the chart, in which ``.`` is the alert's block of values."""

    interval = "{{ $values.interval }}"

    def __init__(self) -> None:
        super().__init__(("{{ $owners }}",), "{{ $runbooks }}")

    def value(self, _alert: Alert | None, name: str) -> str:
        """Return the Go template that reads it."""
        return _KNOWN if name == KNOWN else f"{{{{ {'$' if name in GIVEN else '.'}{name} }}}}"

    def literal(self, text: str) -> str:
        """Return the text with each template of Prometheus as a raw string of Go, which ends before a placeholder."""
        return _TEMPLATE.sub(lambda found: "{{`" + _AT.sub(r"`}}\g<0>{{`", found[0]) + "`}}", text)

    def owned(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines, if the values have labels of owners."""
        yield from ("{{- if $owners }}", *lines, _END)

    def group(self, group: Group, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines, if the values switch the group on."""
        yield from (f"{{{{- if $values.{group.option}.enabled }}}}", *lines, _END) if group.option else lines

    def rule(self, alert: Alert, lines: Iterable[str]) -> Iterator[str]:
        """Yield the rule if it is enabled, with the labels that the values add."""
        yield f"{{{{- with $values.alerts.{alert.name} }}}}"
        yield "{{- if .enabled }}"
        for line in lines:
            yield line
            if line == "    labels:":
                yield "      {{- with .labels }}"
                yield "      {{- toYaml . | nindent 6 }}"
                yield "      {{- end }}"
                if not alert.placed:
                    yield "      namespace: '{{ $namespace }}'"
        yield _END
        yield _END


def plain(groups: tuple[Group, ...], owners: tuple[str, ...] = (), runbooks: str = PUBLISHED) -> str:
    """Return the rule file, with these labels of owners on the alerts about runs, and the runbooks at that address."""
    return "\n".join([f"# {GENERATED_BY}", *_lines(groups, Plain(owners, runbooks))]) + "\n"


def chart(groups: tuple[Group, ...]) -> str:
    """Return the template file of the chart: it defines ``muster.rules``."""
    head = (
        f"{{{{- /* {GENERATED_BY} */ -}}}}",
        '{{- define "muster.rules" -}}',
        "{{- $values := .Values.prometheusRule -}}",
        '{{- $job := $values.job | default (include "muster.fullname" .) -}}',
        "{{- $cluster := $values.clusterLabel -}}",
        "{{- $objective := toString $values.slo.objective -}}",
        '{{- if hasSuffix "%" $objective -}}',
        '{{- $objective = divf (trimSuffix "%" $objective) 100 | toString -}}',
        "{{- end -}}",
        '{{- $weighed := eq $values.slo.weight "accelerators" -}}',
        '{{- $weight := ternary "_accelerators" "" $weighed -}}',
        '{{- $whose := ternary "accelerators" "runs" $weighed -}}',
        "{{- $replicas := .Values.replicas -}}",
        '{{- $and := "{" -}}{{- $only := "" -}}',
        "{{- with .Values.settings.shard -}}",
        """{{- $and = printf `{shard="%s",` . -}}{{- $only = printf `{shard="%s"}` . -}}""",
        "{{- end -}}",
        '{{- $runbooks := include "muster.runbooks" . -}}',
        "{{- $namespace := .Release.Namespace -}}",
        '{{- $owners := include "muster.owners" . -}}',
    )
    return "\n".join([*head, *_lines(groups, Chart()), "{{- end }}"]) + "\n"


def _lines(groups: tuple[Group, ...], target: Plain) -> Iterator[str]:
    yield "groups:"
    for group in groups:
        yield from target.group(group, _group(group, target))


def _group(group: Group, target: Plain) -> Iterator[str]:
    yield f"- name: {group.name}"
    yield f"  interval: {group.interval or target.interval}"
    yield "  rules:"
    for rule in group.rules:
        if isinstance(rule, Recording):
            lines = _item({"record": rule.name, "expr": target.selected(None, rule.expr)})
            yield from target.owned(lines) if rule.owners else lines
        else:
            yield from target.rule(rule, _item(_fields(rule, rule.keep or group.keep, target)))


def labels_of(alert: Alert) -> tuple[str, ...]:
    """Return the labels that its rule adds, by which a route can choose; others are those of its series."""
    return ("severity", "audience") if alert.audience else ("severity",)


def _fields(alert: Alert, keep: str, target: Plain) -> dict[str, object]:
    expr = target.selected(alert, alert.expr)
    if alert.about_run:
        join = target.selected(None, with_owners(target.owners))
        expr = "\n".join((*target.owned([BEFORE_OWNERS]), expr, *target.owned([join])))
    return {
        "alert": alert.name,
        "expr": expr,
        "for": target.value(alert, "for"),
        **({"keep_firing_for": keep} if keep else {}),
        "labels": {name: target.value(alert, name) for name in labels_of(alert)},
        "annotations": {
            "summary": target.filled(alert, _WHERE + alert.summary),
            "description": target.filled(alert, alert.description),
            "runbook_url": f"{target.runbooks}/{PLACES[alert.name]}",
        },
    }


def _item(fields: dict[str, object]) -> Iterator[str]:
    """Yield the fields as one item of a list, two columns in."""
    text = yaml.dump(fields, Dumper=BlockDumper, sort_keys=False, width=10_000)
    for number, line in enumerate(text.splitlines()):
        yield f"  {'  ' if number else '- '}{line}"
