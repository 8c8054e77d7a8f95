"""The alerts about incidents, about each run that an incident explains, and about suspect nodes.

An incident has one alert, whose labels stay the same while it lasts: its cause and the namespaces of its runs change,
and are in the summary. Severity and patience are those of the kind of subject
(``muster.state.facts.incidents.subjects``).

The alert of a run keeps back its other alerts (``alertmanager.yaml``), and no receiver gets it. It is an alert of its
own, so that no label of another alert changes when an incident begins or ends: that would end it and page again.
"""

from deploy.prometheus.held import HELD, KEEPS_ALL_BACK, held
from deploy.prometheus.reasons import or_held
from deploy.prometheus.row import OF_REASON, Alert, Severity
from muster.state.facts.incidents.subjects import LASTING, PATIENT

EXPLAINED = "MusterRunExplained"
LASTS = "MusterIncidentLasts"

_OF_IT = "{@cluster=%q,shard=%q,kind=%q,subject=%q,audience=%q}"
_LABELS = "$labels.@cluster $labels.shard $labels.kind $labels.subject $labels.audience"
_CAUSES = (
    f'{{{{ range query (printf "sort_desc(max by (cause, scope) (muster_incident_runs{_OF_IT}))" {_LABELS}) }}}}'
    " ({{ .Labels.cause }}, scope {{ .Labels.scope }}){{ end }}."
)
_SUMMARY = f"{{{{ $labels.kind }}}} {{{{ $labels.subject }}}} blocks {{{{ $value }}}} runs{_CAUSES}"
_ITS = "kind, subject, audience"


def _incidents(alert: str, matches: str) -> str:
    """Return the runs of incidents whose kind of subject is patient (``=~``), or not (``!~``). 0: one that is calm."""
    runs = f'muster_incident_runs{{kind{matches}"{"|".join(PATIENT)}"}}'
    return f"""max by ({_ITS}) ({runs}) >= 0
or
  max by ({_ITS}) (last_over_time({runs}[{HELD}]))
and on ({_ITS})
  {held(alert, _ITS)}"""


INCIDENTS = (
    Alert(
        "MusterIncident",
        _incidents("MusterIncident", "!~"),
        Severity.CRITICAL,
        _SUMMARY,
        "At least three runs are stuck for one subject that only the platform can fix. The page of musterd lists them"
        " first, with the accelerators that they hold.",
        placed=False,
        audience=OF_REASON,
        keep=KEEPS_ALL_BACK,
    ),
    Alert(
        LASTS,
        _incidents(LASTS, "=~"),
        Severity.WARNING,
        _SUMMARY,
        "At least three runs have waited for one subject: a queue, a device, a taint, a quota, an image or something"
        " else that their manifests name. An autoscaler, or the next run that ends, may help them by itself.",
        hold=f"{LASTING / 60:.0f}m",
        placed=False,
        audience=OF_REASON,
        keep=KEEPS_ALL_BACK,
    ),
    Alert(
        EXPLAINED,
        "max by (namespace, experiment) (muster_experiment_explained) == 1\n"
        + or_held(EXPLAINED, "namespace, experiment"),
        Severity.INFO,
        "{{ $labels.namespace }}/{{ $labels.experiment }}: an incident explains why it is stuck.",
        "The alert of its incident, MusterIncident or MusterIncidentLasts, replaces those of this run, which are"
        " inhibited. It is for Alertmanager, and no receiver gets it.",
        keep=KEEPS_ALL_BACK,
    ),
    Alert(
        "MusterNodeSuspect",
        "max by (node) (muster_node_suspect_runs) > 0",
        Severity.WARNING,
        "node {{ $labels.node }} failed {{ $value }} runs, more than nodes like it.",
        "At least three runs failed on it at three moments of the last 12 to 24 hours, three times as many as were to"
        " be expected there. They are of several namespaces, or Kubernetes itself marked the node as away. The"
        " command muster nodes and the page of musterd have the proof. Nothing is done because of it.",
        hold="10m",
        placed=False,
    ),
)
