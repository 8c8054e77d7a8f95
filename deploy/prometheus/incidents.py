"""The alerts about incidents: one for each, and one for each run that an incident explains, which no receiver gets.

The second keeps back the alerts of its run (``alertmanager.yaml``). It is an alert of its own, so that no label of
another alert changes when an incident begins or ends: that would end it and page anew.
"""

from deploy.prometheus.row import OF_REASON, Alert, Severity

EXPLAINED = "MusterRunExplained"

INCIDENTS = (
    Alert(
        "MusterIncident",
        "max by (kind, subject, cause, scope, audience) (muster_incident_runs) > 0",
        Severity.CRITICAL,
        "{{ $labels.kind }} {{ $labels.subject }}: {{ $labels.cause }} keeps {{ $value }} runs"
        " (scope {{ $labels.scope }}).",
        "At least three runs are stuck for one cause with one subject. The page of musterd lists them first, with the"
        " accelerators that they hold.",
        placed=False,
        audience=OF_REASON,
    ),
    Alert(
        EXPLAINED,
        "max by (namespace, experiment) (muster_experiment_explained) == 1",
        Severity.INFO,
        "{{ $labels.namespace }}/{{ $labels.experiment }}: an incident explains why it is stuck.",
        "The alert MusterIncident stands for those of this run, which are kept back. It is for Alertmanager, and"
        " no receiver gets it.",
    ),
)
