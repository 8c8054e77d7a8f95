"""Pieces of the summaries of alerts about an experiment: templates of Prometheus."""

ONE = "{{ $labels.namespace }}/{{ $labels.experiment }}"
REASON = "{{ $labels.reason }}"
_OF_IT = "{@cluster=%q,namespace=%q,experiment=%q}"


def _query(promql: str, then: str) -> str:
    """A template that queries the alert's experiment and prints something of what was found."""
    labels = "$labels.@cluster $labels.namespace $labels.experiment"
    return f'{{{{ range query (printf "{promql}" {labels}) }}}}{then}{{{{ end }}}}'


MISSING = _query(f"max by (experiment) (muster_experiment_ranks_missing{_OF_IT})", "{{ .Value }} missing, ")
FIRST = _query(f"max by (experiment) (muster_experiment_first_missing_rank{_OF_IT})", "first rank {{ .Value }}, ")
CAUSES = _query(
    f"sort_desc(max by (cause) (muster_experiment_ranks_missing_by_cause{_OF_IT}) > 0)",
    "{{ .Value }} {{ .Labels.cause }}, ",
)
WHY = _query(f"max by (reason) (muster_experiment_stuck_reason{_OF_IT}) == 1", "{{ .Labels.reason }}, ")
WHERE = _query(f"max by (message) (muster_experiment_hang_info{_OF_IT})", ": {{ .Labels.message }}")
