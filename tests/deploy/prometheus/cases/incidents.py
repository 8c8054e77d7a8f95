"""One cause with one subject keeps many runs."""

from tests.deploy.prometheus.case import AFTER, BEGINS, ONE, Case

_LABELS = {"kind": "node", "subject": "n7", "cause": "NodeNotReady", "scope": "cluster", "audience": "platform"}
_SERIES = "muster_incident_runs{" + ",".join(f'{name}="{value}"' for name, value in _LABELS.items()) + "}"
_RUN = {"namespace": "vision", "experiment": "llama"}

INCIDENTS = (
    Case(
        "MusterIncident",
        "a node dies under three runs",
        {_SERIES: "_x12 3x1000"},
        0,
        _LABELS,
        "node n7: NodeNotReady keeps 3 runs (scope cluster).",
    ),
    Case("MusterIncident", "incidents are hidden and none is shown", {"muster_incidents_hidden": AFTER}),
    Case(
        "MusterRunExplained",
        "an incident explains a run",
        {f"muster_experiment_explained{{{ONE}}}": BEGINS},
        0,
        _RUN,
        "vision/llama: an incident explains why it is stuck.",
    ),
    Case("MusterRunExplained", "a run is stuck by itself", {f"muster_experiment_explained{{{ONE}}}": "0x1000"}),
)
