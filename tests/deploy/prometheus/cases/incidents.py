"""One subject keeps many runs."""

from tests.deploy.prometheus.case import AFTER, BEGINS, ONE, Case

_LABELS = {"kind": "node", "subject": "n7", "cause": "NodeNotReady", "scope": "cluster", "audience": "platform"}
_SHOWN = {name: value for name, value in _LABELS.items() if name not in ("cause", "scope")}


def _series(**other: str) -> str:
    return "muster_incident_runs{" + ",".join(f'{name}="{value}"' for name, value in (_LABELS | other).items()) + "}"


_FULL = {"kind": "device", "subject": "nvidia.com/gpu", "cause": "Unschedulable"}
_RUN = {"namespace": "vision", "experiment": "llama"}

INCIDENTS = (
    Case(
        "MusterIncident",
        "a node dies under three runs",
        {_series(): "_x12 3x1000"},
        0,
        _SHOWN,
        "node n7 keeps 3 runs (NodeNotReady, scope cluster).",
    ),
    Case(
        "MusterIncident",
        "the cause changes while the node is away",
        {_series(): "_x12 3x10 _x1000", _series(cause="NodeLost"): "_x23 3x1000"},
        0,
        _SHOWN,
        "node n7 keeps 3 runs (NodeNotReady, scope cluster).",
    ),
    Case(
        "MusterIncidentLasts",
        "a device lacks for ten minutes",
        {_series(**_FULL): "_x12 30x1000"},
        600,
        _SHOWN | {"kind": "device", "subject": "nvidia.com/gpu"},
        "device nvidia.com/gpu keeps 30 runs (Unschedulable, scope cluster).",
    ),
    Case("MusterIncidentLasts", "an autoscaler brings nodes", {_series(**_FULL): "_x12 30x20 _x1000"}),
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
