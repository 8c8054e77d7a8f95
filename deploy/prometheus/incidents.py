"""The alerts about incidents: one for each, and one for each run that an incident explains, which no receiver gets.

The second keeps back the alerts of its run (``alertmanager.yaml``). It is an alert of its own, so that no label of
another alert changes when an incident begins or ends: that would end it and page anew.
"""

from deploy.prometheus.held import HELD, KEEPS_ALL_BACK, held
from deploy.prometheus.reasons import or_held
from deploy.prometheus.row import OF_REASON, Alert, Severity

EXPLAINED = "MusterRunExplained"

_ITS = "kind, subject, cause, scope, audience"

INCIDENTS = (
    Alert(
        "MusterIncident",
        f"""max by ({_ITS}) (muster_incident_runs) > 0
or
  max by ({_ITS}) (last_over_time(muster_incident_runs[{HELD}]))
and on ({_ITS})
  {held("MusterIncident", _ITS)}""",
        Severity.CRITICAL,
        "{{ $labels.kind }} {{ $labels.subject }}: {{ $labels.cause }} keeps {{ $value }} runs"
        " (scope {{ $labels.scope }}).",
        "At least three runs are stuck for one cause with one subject. The page of musterd lists them first, with the"
        " accelerators that they hold.",
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
        "The alert MusterIncident stands for those of this run, which are kept back. It is for Alertmanager, and"
        " no receiver gets it.",
        keep=KEEPS_ALL_BACK,
    ),
)
