"""The rules as text: a plain rule file with the default thresholds, and the chart's template of the same rules.

Both come from the same rows by the same function. They differ in the form of a value: the default itself, or the Go
template that reads the chart's value. In the chart, the templates of Prometheus are quoted, so that helm prints them as
they are.
"""

import re
from collections.abc import Iterator
from typing import Protocol

import yaml

from deploy.prometheus.clusters import ALONE, AMONG, kept, of_shard
from deploy.prometheus.recordings import BEFORE_OWNERS, with_owners
from deploy.prometheus.row import (
    CLUSTER,
    GIVEN,
    JOB,
    KNOWN,
    OBJECTIVE,
    REPLICAS,
    WEIGHT,
    WHOSE,
    Alert,
    Group,
    Recording,
    fill,
)
from deploy.prometheus.values import INTERVAL
from muster.metrics.runbooks import PLACES, PUBLISHED

_TEMPLATE = re.compile(r"\{\{.*?\}\}")
_AT = re.compile(r"@\w+")
_WHERE = "{{ with $labels.@cluster }}{{ . }}: {{ end }}{{ with $labels.shard }}shard {{ . }}: {{ end }}"
"""Begins each summary: the cluster and the shard, where the alert has them."""
_KNOWN = (
    '{{- range $values.clusters }} or absent(muster_build_info{{ $and }}job="{{ $job }}",'
    '{{ $cluster }}="{{ . }}"}){{- end }}'
)

_IF_OWNED, _END = "{{- if $owners }}", "{{- end }}"

GENERATED_BY = "Written by `python -m deploy.prometheus` from the rows in deploy/prometheus; do not edit."


class Target(Protocol):
    """Target for which the rules are written."""

    interval: str
    runbooks: str

    def value(self, alert: Alert | None, name: str) -> str:
        """Return the text of a threshold, of ``severity``, ``audience`` and ``for``, or of what is given."""
        ...

    def literal(self, text: str) -> str:
        """Return text with templates of Prometheus in it."""
        ...

    def owned(self, expr: str) -> str:
        """Return the expression about a run, with the labels of its owners."""
        ...

    def rule(self, alert: Alert, lines: list[str]) -> Iterator[str]:
        """Return the lines of an alert's rule, with the lines that the target adds."""
        ...

    def recording(self, rule: Recording, lines: list[str]) -> Iterator[str]:
        """Return the lines of a recording."""
        ...

    def group(self, group: Group, lines: list[str]) -> Iterator[str]:
        """Return the lines of a group."""
        ...


class Plain:
    """A rule file for Prometheus. ``owners`` are the labels of owners, as they are named in metrics."""

    interval = INTERVAL

    def __init__(self, owners: tuple[str, ...] = (), runbooks: str = PUBLISHED) -> None:
        self._owners = ", ".join(owners)
        self.runbooks = runbooks

    def value(self, alert: Alert | None, name: str) -> str:
        """Return the default."""
        if alert is None or name in GIVEN:
            return GIVEN[name]
        own = {"severity": alert.severity.value, "for": alert.hold}
        own |= {"audience": alert.audience.value} if alert.audience else {}
        own |= {threshold.name: str(threshold.value) for threshold in alert.thresholds}
        return own[name]

    def literal(self, text: str) -> str:
        """Return the text as it is."""
        return text

    def owned(self, expr: str) -> str:
        """Return the expression with the labels, if there are any."""
        return f"{BEFORE_OWNERS}\n{expr}\n{_join(self, self._owners)}" if self._owners else expr

    def rule(self, alert: Alert, lines: list[str]) -> Iterator[str]:  # noqa: ARG002 - the protocol's
        """Yield the lines as they are."""
        yield from lines

    def recording(self, rule: Recording, lines: list[str]) -> Iterator[str]:
        """Yield the lines as they are; none of what nothing is joined with."""
        if self._owners or not rule.owners:
            yield from lines

    def group(self, group: Group, lines: list[str]) -> Iterator[str]:  # noqa: ARG002 - the protocol's
        """Yield the lines as they are."""
        yield from lines

    def filled(self, alert: Alert, text: str) -> str:
        """Return a text of the alert with its thresholds in it."""
        return fill(text, lambda name: self.value(alert, name))


class Chart:
    """A template of the chart, in which ``.`` is the alert's block of values."""

    interval = "{{ $values.interval }}"
    runbooks = "{{ $runbooks }}"

    def value(self, alert: Alert | None, name: str) -> str:  # noqa: ARG002 - the protocol's
        """Return the Go template that reads it."""
        given = {JOB: "{{ $job }}", REPLICAS: "{{ $replicas }}", CLUSTER: "{{ $cluster }}", KNOWN: _KNOWN}
        given |= {ALONE: "{{ $only }}", AMONG: "{{ $and }}"}
        given |= {OBJECTIVE: "{{ $objective }}", WEIGHT: "{{ $weight }}", WHOSE: "{{ $whose }}"}
        return given.get(name, f"{{{{ .{name} }}}}")

    def literal(self, text: str) -> str:
        """Return the text with each template of Prometheus as a raw string of Go, which ends before a placeholder."""
        return _TEMPLATE.sub(lambda found: "{{`" + _AT.sub(r"`}}\g<0>{{`", found[0]) + "`}}", text)

    def owned(self, expr: str) -> str:
        """Return the expression with the labels, if the values have some."""
        return "\n".join((_IF_OWNED, BEFORE_OWNERS, _END, expr, _IF_OWNED, _join(self, "{{ $owners }}"), _END))

    def recording(self, rule: Recording, lines: list[str]) -> Iterator[str]:
        """Yield the lines, if the values have labels of owners where it needs some."""
        yield from (_IF_OWNED, *lines, _END) if rule.owners else lines

    def group(self, group: Group, lines: list[str]) -> Iterator[str]:
        """Yield the lines, if the values switch the group on."""
        yield from (f"{{{{- if $values.{group.option}.enabled }}}}", *lines, _END) if group.option else lines

    def rule(self, alert: Alert, lines: list[str]) -> Iterator[str]:
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
        yield "{{- end }}"
        yield "{{- end }}"


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


def _lines(groups: tuple[Group, ...], target: Target) -> Iterator[str]:
    yield "groups:"
    for group in groups:
        yield from target.group(group, list(_group(group, target)))


def _group(group: Group, target: Target) -> Iterator[str]:
    yield f"- name: {group.name}"
    yield f"  interval: {group.interval or target.interval}"
    yield "  rules:"
    for rule in group.rules:
        if isinstance(rule, Recording):
            expr = fill(_selected(rule.expr), lambda name: target.value(None, name))
            yield from target.recording(rule, list(_item({"record": rule.name, "expr": expr})))
        else:
            yield from target.rule(rule, list(_item(_fields(rule, rule.keep or group.keep, target))))


def _selected(expr: str) -> str:
    """Return the query with the labels of cluster and shard, and a place for the selector of the shard."""
    return of_shard(kept(expr, "@cluster"))


def _join(target: Target, names: str) -> str:
    return fill(_selected(with_owners(names)), lambda name: target.value(None, name))


def labels_of(alert: Alert) -> tuple[str, ...]:
    """Return the labels that its rule adds, by which a route can choose; others are those of its series."""
    return ("severity", "audience") if alert.audience else ("severity",)


def _fields(alert: Alert, keep: str, target: Target) -> dict[str, object]:
    def filled(text: str) -> str:
        return fill(target.literal(text), lambda name: target.value(alert, name))

    expr = filled(_selected(alert.expr))
    return {
        "alert": alert.name,
        "expr": target.owned(expr) if alert.about_run else expr,
        "for": target.value(alert, "for"),
        **({"keep_firing_for": keep} if keep else {}),
        "labels": {name: target.value(alert, name) for name in labels_of(alert)},
        "annotations": {
            "summary": filled(_WHERE + alert.summary),
            "description": filled(alert.description),
            "runbook_url": f"{target.runbooks}/{PLACES[alert.name]}",
        },
    }


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _item(fields: dict[str, object]) -> Iterator[str]:
    """Yield the fields as one item of a list, two columns in."""
    text = yaml.dump(fields, Dumper=_Dumper, sort_keys=False, width=10_000)
    for number, line in enumerate(text.splitlines()):
        yield f"  {'  ' if number else '- '}{line}"
