{{- /* Written by `python -m deploy.prometheus` from the rows in deploy/prometheus; do not edit. */ -}}
{{- define "muster.rules" -}}
{{- $values := .Values.prometheusRule -}}
{{- $job := $values.job | default (include "muster.fullname" .) -}}
{{- $cluster := $values.clusterLabel -}}
{{- $objective := toString $values.slo.objective -}}
{{- if hasSuffix "%" $objective -}}
{{- $objective = divf (trimSuffix "%" $objective) 100 | toString -}}
{{- end -}}
{{- $weighed := eq $values.slo.weight "accelerators" -}}
{{- $weight := ternary "_accelerators" "" $weighed -}}
{{- $whose := ternary "accelerators" "runs" $weighed -}}
{{- $replicas := .Values.replicas -}}
{{- $and := "{" -}}{{- $only := "" -}}
{{- with .Values.settings.shard -}}
{{- $and = printf `{shard="%s",` . -}}{{- $only = printf `{shard="%s"}` . -}}
{{- end -}}
{{- $runbooks := include "muster.runbooks" . -}}
{{- $namespace := .Release.Namespace -}}
{{- $owners := include "muster.owners" . -}}
groups:
- name: muster-recordings
  interval: 30s
  rules:
  - record: experiment:muster_gang_restarts:max
    expr: max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_gang_restarts_total{{ $only }})
  - record: experiment:muster_failures:max
    expr: sum by ({{ $cluster }}, shard, namespace, experiment) (max by ({{ $cluster }}, shard, namespace, experiment, reason) (muster_experiment_restarts_total{{ $and }}reason!~"PreemptionByScheduler|EvictionByEvictionAPI|DeletionByTaintManager|DeletionByPodGC|TerminationByKubelet|NodeLost|PodDeleted|PodAltered|Refused|NodeNotReady|DriverFails|NodeDiskFull|Unschedulable|CoordinatorLost|Queued|NetworkFails|VolumeFails|RanksNotStarted|Preempted|FlavorMigration|PodsReadyTimeout|AdmissionCheck|ClusterQueueStopped|LocalQueueStopped|NodeFailures|EvictedOnManagerCluster|WorkloadSliceReplaced|Deactivated|QueueUnavailable|WorkloadOutdated|NotAdmitted|WorkloadDeleted|WorkloadFinished|AdmissionLost|Requested"})) or max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_gang_restarts_total{{ $only }}) * 0
  - record: experiment:muster_disruptions:max
    expr: max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_disruptions_total{{ $only }}) or max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_gang_restarts_total{{ $only }}) * 0
  - record: experiment:muster_wall_seconds:max
    expr: max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_wall_seconds_total{{ $only }})
  - record: experiment:muster_productive_seconds:max
    expr: max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_productive_seconds_total{{ $only }})
  - record: experiment:muster_taken_back_seconds:max
    expr: max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_taken_back_seconds_total{{ $only }}) or max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_productive_seconds_total{{ $only }}) * 0
  - record: experiment:muster_goodput:ratio
    expr: (experiment:muster_productive_seconds:max{{ $only }} - experiment:muster_taken_back_seconds:max{{ $only }}) / (experiment:muster_wall_seconds:max{{ $only }} > 0)
  - record: experiment:muster_goodput:ratio_rate1h
    expr: clamp_min(rate(experiment:muster_productive_seconds:max{{ $only }}[1h]) - rate(experiment:muster_taken_back_seconds:max{{ $only }}[1h]), 0) / (rate(experiment:muster_wall_seconds:max{{ $only }}[1h]) > 0)
  - record: namespace:muster_seconds:rate5m
    expr: sum by ({{ $cluster }}, shard, namespace, bucket) (max by ({{ $cluster }}, shard, job, instance, namespace, operator, bucket) (rate(muster_namespace_seconds_total{{ $only }}[5m])))
  - record: namespace:muster_accelerator_seconds:rate5m
    expr: sum by ({{ $cluster }}, shard, namespace, bucket) (max by ({{ $cluster }}, shard, job, instance, namespace, operator, resource, bucket) (rate(muster_namespace_accelerator_seconds_total{{ $only }}[5m])))
  - record: namespace:muster_wall_seconds:rate5m
    expr: sum by ({{ $cluster }}, shard, namespace) (namespace:muster_seconds:rate5m{{ $and }}bucket!="taken_back"}) - (sum by ({{ $cluster }}, shard, namespace) (namespace:muster_seconds:rate5m{{ $and }}bucket="taken_back"}))
  - record: namespace:muster_goodput:ratio_rate1h
    expr: clamp_min(sum by ({{ $cluster }}, shard, namespace) (sum_over_time(namespace:muster_seconds:rate5m{{ $and }}bucket="productive"}[1h])) - sum by ({{ $cluster }}, shard, namespace) (sum_over_time(namespace:muster_seconds:rate5m{{ $and }}bucket="taken_back"}[1h])), 0) / (sum by ({{ $cluster }}, shard, namespace) (sum_over_time(namespace:muster_wall_seconds:rate5m{{ $only }}[1h])) > 0)
  - record: namespace:muster_ranks_missing:sum
    expr: sum by ({{ $cluster }}, shard, namespace) (max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_ranks_missing{{ $only }})) or max by ({{ $cluster }}, shard, namespace) (muster_namespace_experiments_stuck{{ $only }}) * 0
  - record: namespace:muster_experiments_stuck:sum
    expr: max by ({{ $cluster }}, shard, namespace) (muster_namespace_experiments_stuck{{ $only }})
  - record: operator:muster_time_to_assembled_seconds:p95_rate1h
    expr: histogram_quantile(0.95, sum by ({{ $cluster }}, shard, operator, le) (rate(muster_time_to_assembled_seconds_bucket{{ $only }}[1h])))
  - record: operator:muster_restart_downtime_seconds:p95_rate1h
    expr: histogram_quantile(0.95, sum by ({{ $cluster }}, shard, operator, le) (rate(muster_restart_downtime_seconds_bucket{{ $only }}[1h])))
- name: muster-experiments
  interval: {{ $values.interval }}
  rules:
{{- if $owners }}
  - record: experiment:muster_owners:info
    expr: |-
      topk by ({{ $cluster }}, shard, namespace, experiment) (1, 2 * muster_experiment_info{{ $only }} or last_over_time(muster_experiment_info{{ $only }}[5m])) ^ 0
      or
        experiment:muster_owners:info{{ $only }} unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
{{- end }}
{{- with $values.alerts.MusterIncident }}
{{- if .enabled }}
  - alert: MusterIncident
    expr: |-
      max by ({{ $cluster }}, shard, kind, subject, audience) (muster_incident_runs{{ $and }}kind!~"image|quota|priority class|queue|device|taint|config"}) >= 0
      or
        max by ({{ $cluster }}, shard, kind, subject, audience) (last_over_time(muster_incident_runs{{ $and }}kind!~"image|quota|priority class|queue|device|taint|config"}[15m]))
      and on ({{ $cluster }}, shard, kind, subject, audience)
        max by ({{ $cluster }}, shard, kind, subject, audience) (ALERTS{{ $and }}alertname="MusterIncident",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
    for: '{{ .for }}'
    keep_firing_for: 3m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      namespace: '{{ $namespace }}'
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.kind }}`}} {{`{{ $labels.subject }}`}} blocks {{`{{ $value }}`}} runs{{`{{ range query (printf "sort_desc(max by (cause, scope) (muster_incident_runs{`}}{{ $cluster }}{{`=%q,shard=%q,kind=%q,subject=%q,audience=%q}))" $labels.`}}{{ $cluster }}{{` $labels.shard $labels.kind $labels.subject $labels.audience) }}`}} ({{`{{ .Labels.cause }}`}}, scope {{`{{ .Labels.scope }}`}}){{`{{ end }}`}}.'
      description: At least three runs are stuck for one subject that only the platform can fix. The page of musterd lists them first, with the accelerators that they hold.
      runbook_url: '{{ $runbooks }}/shared-causes.md#musterincident'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterIncidentLasts }}
{{- if .enabled }}
  - alert: MusterIncidentLasts
    expr: |-
      max by ({{ $cluster }}, shard, kind, subject, audience) (muster_incident_runs{{ $and }}kind=~"image|quota|priority class|queue|device|taint|config"}) >= 0
      or
        max by ({{ $cluster }}, shard, kind, subject, audience) (last_over_time(muster_incident_runs{{ $and }}kind=~"image|quota|priority class|queue|device|taint|config"}[15m]))
      and on ({{ $cluster }}, shard, kind, subject, audience)
        max by ({{ $cluster }}, shard, kind, subject, audience) (ALERTS{{ $and }}alertname="MusterIncidentLasts",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
    for: '{{ .for }}'
    keep_firing_for: 3m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      namespace: '{{ $namespace }}'
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.kind }}`}} {{`{{ $labels.subject }}`}} blocks {{`{{ $value }}`}} runs{{`{{ range query (printf "sort_desc(max by (cause, scope) (muster_incident_runs{`}}{{ $cluster }}{{`=%q,shard=%q,kind=%q,subject=%q,audience=%q}))" $labels.`}}{{ $cluster }}{{` $labels.shard $labels.kind $labels.subject $labels.audience) }}`}} ({{`{{ .Labels.cause }}`}}, scope {{`{{ .Labels.scope }}`}}){{`{{ end }}`}}.'
      description: 'At least three runs have waited for one subject: a queue, a device, a taint, a quota, an image or something else that their manifests name. An autoscaler, or the next run that ends, may help them by itself.'
      runbook_url: '{{ $runbooks }}/shared-causes.md#musterincidentlasts'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterRunExplained }}
{{- if .enabled }}
  - alert: MusterRunExplained
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_explained{{ $only }}) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment) (ALERTS{{ $and }}alertname="MusterRunExplained",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 3m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: an incident explains why it is stuck.'
      description: The alert of its incident, MusterIncident or MusterIncidentLasts, replaces those of this run, which are inhibited. It is for Alertmanager, and no receiver gets it.
      runbook_url: '{{ $runbooks }}/shared-causes.md#musterrunexplained'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterNodeSuspect }}
{{- if .enabled }}
  - alert: MusterNodeSuspect
    expr: max by ({{ $cluster }}, shard, node) (muster_node_suspect_runs{{ $only }}) > 0
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      namespace: '{{ $namespace }}'
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}node {{`{{ $labels.node }}`}} failed {{`{{ $value }}`}} runs, more than nodes like it.'
      description: At least three runs failed on it at three moments of the last 12 to 24 hours, three times as many as were to be expected there. They are of several namespaces, or Kubernetes itself marked the node as away. The command muster nodes and the page of musterd have the proof. Nothing is done because of it.
      runbook_url: '{{ $runbooks }}/shared-causes.md#musternodesuspect'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterCoordinatorStuck }}
{{- if .enabled }}
  - alert: MusterCoordinatorStuck
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"CoordinatorUnreachable"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"CoordinatorUnreachable"}[30s])) == 1
      unless on ({{ $cluster }}, shard, namespace, experiment)
        (
          max by ({{ $cluster }}, shard, namespace, experiment) (last_over_time(muster_experiment_coordinator_state{{ $and }}state="refused"}[30s])) == 1
        unless
          (
            max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_coordinator_state{{ $and }}state="refused"}) == 1
          and
            max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_coordinator_state{{ $and }}state="refused"} offset {{ .closing }}) == 1
          )
        )
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterCoordinatorStuck",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 90s
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: the coordinator stopped responding ({{`{{ $labels.reason }}`}}).'
      description: Its process is frozen or cut off, or has closed its port for longer than {{ .closing }}, while its pod runs. No rank can join or continue, and nothing restarts the gang until the other ranks end.
      runbook_url: '{{ $runbooks }}/coordinator.md#mustercoordinatorstuck'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterCoordinatorNotServing }}
{{- if .enabled }}
  - alert: MusterCoordinatorNotServing
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"CoordinatorNotServing|DashboardNotServing"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"CoordinatorNotServing|DashboardNotServing"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterCoordinatorNotServing",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: the coordinator has never answered at its port ({{`{{ $labels.reason }}`}}).'
      description: The program of the coordinator runs, and no other rank can join it.
      runbook_url: '{{ $runbooks }}/coordinator.md#mustercoordinatornotserving'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterRankMissing }}
{{- if .enabled }}
  - alert: MusterRankMissing
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_stuck_reason{{ $and }}reason=~"RanksMissing|RankFailed|ProcessCountMismatch"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"RanksMissing|RankFailed|ProcessCountMismatch"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment) (ALERTS{{ $and }}alertname="MusterRankMissing",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 2m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: the roll is not complete: {{`{{ range query (printf "max by (experiment) (muster_experiment_ranks_missing{`}}{{ $cluster }}{{`=%q,shard=%q,namespace=%q,experiment=%q}) > 0" $labels.`}}{{ $cluster }}{{` $labels.shard $labels.namespace $labels.experiment) }}`}}{{`{{ .Value }}`}} missing, {{`{{ end }}`}}{{`{{ range query (printf "max by (experiment) (muster_experiment_first_missing_rank{`}}{{ $cluster }}{{`=%q,shard=%q,namespace=%q,experiment=%q})" $labels.`}}{{ $cluster }}{{` $labels.shard $labels.namespace $labels.experiment) }}`}}first rank {{`{{ .Value }}`}}, {{`{{ end }}`}}{{`{{ range query (printf "sort_desc(max by (cause) (muster_experiment_ranks_missing_by_cause{`}}{{ $cluster }}{{`=%q,shard=%q,namespace=%q,experiment=%q}) > 0)" $labels.`}}{{ $cluster }}{{` $labels.shard $labels.namespace $labels.experiment) }}`}}{{`{{ .Value }}`}} {{`{{ .Labels.cause }}`}}, {{`{{ end }}`}}{{`{{ range query (printf "max by (reason) (muster_experiment_stuck_reason{`}}{{ $cluster }}{{`=%q,shard=%q,namespace=%q,experiment=%q}) == 1" $labels.`}}{{ $cluster }}{{` $labels.shard $labels.namespace $labels.experiment) }}`}}reason {{`{{ .Labels.reason }}`}}, {{`{{ end }}`}}the others wait.'
      description: The ranks that have arrived hold their machines and wait for the others.
      runbook_url: '{{ $runbooks }}/ranks.md#musterrankmissing'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterAssemblyOverdue }}
{{- if .enabled }}
  - alert: MusterAssemblyOverdue
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment) (max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"StartingDeadlineExceeded|AssemblyDeadlineExceeded"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"StartingDeadlineExceeded|AssemblyDeadlineExceeded"}[30s])) == 1)
      or
        max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_phase{{ $and }}phase="Assembling"}) == 1
      and
        max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_wall_seconds_total{{ $only }}) > {{ .seconds }}
      and
        max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_phase{{ $and }}phase="Assembling"} offset {{ .seconds }}s) == 1
      and
        min by ({{ $cluster }}, shard, namespace, experiment) (min_over_time(muster_experiment_phase{{ $and }}phase="Assembling"}[{{ .seconds }}s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment) (ALERTS{{ $and }}alertname="MusterAssemblyOverdue",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: the gang is not complete in time.'
      description: A clock of the experiment (starting, assembly) has run out, or it has been Assembling for {{ .seconds }} s.
      runbook_url: '{{ $runbooks }}/ranks.md#musterassemblyoverdue'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterImageNotPulled }}
{{- if .enabled }}
  - alert: MusterImageNotPulled
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"ImagePullBackOff|ErrImagePull|ErrImageNeverPull|InvalidImageName|ImageInspectError|RegistryUnavailable|SignatureValidationFailed"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"ImagePullBackOff|ErrImagePull|ErrImageNeverPull|InvalidImageName|ImageInspectError|RegistryUnavailable|SignatureValidationFailed"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterImageNotPulled",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: an image cannot be pulled ({{`{{ $labels.reason }}`}}).'
      description: The kubelet keeps trying. No program of that member runs until the image is pulled.
      runbook_url: '{{ $runbooks }}/refusals.md#musterimagenotpulled'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterUnschedulable }}
{{- if .enabled }}
  - alert: MusterUnschedulable
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"Unschedulable|SchedulerError|PendingDeadlineExceeded"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"Unschedulable|SchedulerError|PendingDeadlineExceeded"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterUnschedulable",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: no node fits all members ({{`{{ $labels.reason }}`}}).'
      description: Members that have a node hold it while the others wait for theirs.
      runbook_url: '{{ $runbooks }}/refusals.md#musterunschedulable'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterCreateRefused }}
{{- if .enabled }}
  - alert: MusterCreateRefused
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"WebhookDenied|WebhookFailed|PolicyDenied|PodSecurityViolated|QuotaExceeded|LimitRangeViolated|PriorityClassMissing|ServiceAccountMissing|RuntimeClassMissing|RightsMissing|NamespaceGone|CredentialsRejected|NameTaken|OtherController|ApiServerBusy|ApiServerSilent|ApiServerErrors|(Pod|Service|PersistentVolumeClaim)s?(Rejected|Altered|Forbidden|Refused)"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"WebhookDenied|WebhookFailed|PolicyDenied|PodSecurityViolated|QuotaExceeded|LimitRangeViolated|PriorityClassMissing|ServiceAccountMissing|RuntimeClassMissing|RightsMissing|NamespaceGone|CredentialsRejected|NameTaken|OtherController|ApiServerBusy|ApiServerSilent|ApiServerErrors|(Pod|Service|PersistentVolumeClaim)s?(Rejected|Altered|Forbidden|Refused)"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterCreateRefused",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: the API server refuses what the experiment needs ({{`{{ $labels.reason }}`}}).'
      description: Quota, admission, rights or the API server itself prevents it. Muster tries again every 5 to 30 s.
      runbook_url: '{{ $runbooks }}/refusals.md#mustercreaterefused'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterExperimentStuck }}
{{- if .enabled }}
  - alert: MusterExperimentStuck
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason!~"CoordinatorUnreachable|CoordinatorNotServing|DashboardNotServing|RanksMissing|RankFailed|ProcessCountMismatch|Hung|CollectiveStuck|StartingDeadlineExceeded|AssemblyDeadlineExceeded|ImagePullBackOff|ErrImagePull|ErrImageNeverPull|InvalidImageName|ImageInspectError|RegistryUnavailable|SignatureValidationFailed|Unschedulable|SchedulerError|PendingDeadlineExceeded|WebhookDenied|WebhookFailed|PolicyDenied|PodSecurityViolated|QuotaExceeded|LimitRangeViolated|PriorityClassMissing|ServiceAccountMissing|RuntimeClassMissing|RightsMissing|NamespaceGone|CredentialsRejected|NameTaken|OtherController|ApiServerBusy|ApiServerSilent|ApiServerErrors|(Pod|Service|PersistentVolumeClaim)s?(Rejected|Altered|Forbidden|Refused)|DisruptionLoop|SameFailureAgain|CoordinatorGone|MemberFailed|RestartedInPlace|PodsMissing|StatusIsFalse|FailureReported"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason!~"CoordinatorUnreachable|CoordinatorNotServing|DashboardNotServing|RanksMissing|RankFailed|ProcessCountMismatch|Hung|CollectiveStuck|StartingDeadlineExceeded|AssemblyDeadlineExceeded|ImagePullBackOff|ErrImagePull|ErrImageNeverPull|InvalidImageName|ImageInspectError|RegistryUnavailable|SignatureValidationFailed|Unschedulable|SchedulerError|PendingDeadlineExceeded|WebhookDenied|WebhookFailed|PolicyDenied|PodSecurityViolated|QuotaExceeded|LimitRangeViolated|PriorityClassMissing|ServiceAccountMissing|RuntimeClassMissing|RightsMissing|NamespaceGone|CredentialsRejected|NameTaken|OtherController|ApiServerBusy|ApiServerSilent|ApiServerErrors|(Pod|Service|PersistentVolumeClaim)s?(Rejected|Altered|Forbidden|Refused)|DisruptionLoop|SameFailureAgain|CoordinatorGone|MemberFailed|RestartedInPlace|PodsMissing|StatusIsFalse|FailureReported"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterExperimentStuck",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: the experiment is stuck ({{`{{ $labels.reason }}`}}).'
      description: The message of its condition Stuck has the cause.
      runbook_url: '{{ $runbooks }}/ranks.md#musterexperimentstuck'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterHung }}
{{- if .enabled }}
  - alert: MusterHung
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"Hung|CollectiveStuck"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"Hung|CollectiveStuck"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (max_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"Hung|CollectiveStuck"}[3m])) == 1
      and on ({{ $cluster }}, shard, namespace, experiment)
        max by ({{ $cluster }}, shard, namespace, experiment) (avg_over_time(muster_experiment_stuck{{ $only }}[30m])) > 0.7
      and on ({{ $cluster }}, shard, namespace, experiment)
        max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_stuck{{ $only }} offset 20m) >= 0
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterHung",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 90s
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: no rank makes progress ({{`{{ $labels.reason }}`}}){{`{{ range query (printf "max by (message) (muster_experiment_hang_info{`}}{{ $cluster }}{{`=%q,shard=%q,namespace=%q,experiment=%q})" $labels.`}}{{ $cluster }}{{` $labels.shard $labels.namespace $labels.experiment) }}`}}: {{`{{ .Labels.message }}`}}{{`{{ end }}`}}.'
      description: 'The whole gang holds its machines and does nothing. The summary has the message of its condition Stuck: the last step, the rank that is behind, and the one that is elsewhere than most, with its function and line, as far as they are known. A few steps between two hangs do not end it. `muster explain` and the page have the innermost calls of that rank.'
      runbook_url: '{{ $runbooks }}/ranks.md#musterhung'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterDisruptionLoop }}
{{- if .enabled }}
  - alert: MusterDisruptionLoop
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"DisruptionLoop"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"DisruptionLoop"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterDisruptionLoop",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: the platform ends one epoch after another ({{`{{ $labels.reason }}`}}).'
      description: 'At least three disruptions in a row (preemption, eviction, node loss) came before the gang had run for 5 minutes. They use no restart budget: only spec.restartPolicy.maxDisruptions ends this.'
      runbook_url: '{{ $runbooks }}/restarts.md#musterdisruptionloop'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterRestartStorm }}
{{- if .enabled }}
  - alert: MusterRestartStorm
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      increase(experiment:muster_failures:max{{ $only }}[{{ .window }}]) >= {{ .restarts }} and experiment:muster_failures:max{{ $only }} >= {{ .restarts }}
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: {{`{{ $value | printf "%.0f" }}`}} restarts after failures in {{ .window }}.'
      description: The program, or a member of it that runs again alone, fails again and again. What the platform did is not counted.
      runbook_url: '{{ $runbooks }}/restarts.md#musterrestartstorm'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterSameFailureAgain }}
{{- if .enabled }}
  - alert: MusterSameFailureAgain
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"SameFailureAgain"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"SameFailureAgain"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterSameFailureAgain",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: the gang fails in the same way again and gets no further ({{`{{ $labels.reason }}`}}).'
      description: 'It is restarted as before: nothing is charged for the verdict. The message of its condition Stuck has the exception, where it was raised, and what the nodes of the failures point to.'
      runbook_url: '{{ $runbooks }}/restarts.md#mustersamefailureagain'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterSameFailureEnded }}
{{- if .enabled }}
  - alert: MusterSameFailureEnded
    expr: sum by ({{ $cluster }}, shard, verdict) (max by ({{ $cluster }}, shard, job, namespace, instance, verdict) (increase(muster_restart_verdicts_total{{ $and }}verdict="SameFailureAgain",enforced="true"}[{{ .window }}]))) > 0
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      namespace: '{{ $namespace }}'
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}Experiments that ended within {{ .window }} because their gang failed in the same way again: {{`{{ $value | printf "%.0f" }}`}}.'
      description: 'Their spec asks for it (sameFailureAction: Fail). They have given their machines back before the budget of restarts was used up, and run again only when their owner creates them again.'
      runbook_url: '{{ $runbooks }}/restarts.md#mustersamefailureended'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterDeadlineNear }}
{{- if .enabled }}
  - alert: MusterDeadlineNear
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_clock_remaining_seconds{{ $and }}clock="total"} > 0) < {{ .seconds }}
      and
        max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_clock_remaining_seconds{{ $and }}clock="total"})
      /
        max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_clock_limit_seconds{{ $and }}clock="total"})
      < {{ .share }}
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: {{`{{ $value | humanizeDuration }}`}} are left until its deadline.'
      description: When the clock total runs out, an experiment fails. A watched run is ended only if its annotation muster.dev/on-deadline asks for that.
      runbook_url: '{{ $runbooks }}/deadlines.md#musterdeadlinenear'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterCoordinatorGone }}
{{- if .enabled }}
  - alert: MusterCoordinatorGone
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"CoordinatorGone"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"CoordinatorGone"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterCoordinatorGone",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 90s
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: the pod of the coordinator is gone or not at work ({{`{{ $labels.reason }}`}}).'
      description: Its own controller has not brought it back for a minute. Members of a Ray cluster run on in no cluster.
      runbook_url: '{{ $runbooks }}/controllers.md#mustercoordinatorgone'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterMemberNotReplaced }}
{{- if .enabled }}
  - alert: MusterMemberNotReplaced
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"MemberFailed|RestartedInPlace"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"MemberFailed|RestartedInPlace"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterMemberNotReplaced",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: a member has failed, and its controller does not bring it back ({{`{{ $labels.reason }}`}}).'
      description: It has not been replaced for a minute, or was started again in its pod and has not been ready for two.
      runbook_url: '{{ $runbooks }}/controllers.md#mustermembernotreplaced'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterPodsMissing }}
{{- if .enabled }}
  - alert: MusterPodsMissing
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"PodsMissing"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"PodsMissing"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterPodsMissing",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: its controller has not made all of its pods ({{`{{ $labels.reason }}`}}).'
      description: A controller that is down, a quota, or an admission webhook. Of a Ray worker group fewer pods exist than its replicas.
      runbook_url: '{{ $runbooks }}/controllers.md#musterpodsmissing'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterStatusIsFalse }}
{{- if .enabled }}
  - alert: MusterStatusIsFalse
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (muster_experiment_stuck_reason{{ $and }}reason=~"StatusIsFalse|FailureReported"} or last_over_time(muster_experiment_stuck_reason{{ $and }}reason=~"StatusIsFalse|FailureReported"}[30s])) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, reason, audience) (ALERTS{{ $and }}alertname="MusterStatusIsFalse",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: the status that its controller shows is not what has happened ({{`{{ $labels.reason }}`}}).'
      description: The program has ended or failed, and the object still reports that it runs. What waits for it waits forever.
      runbook_url: '{{ $runbooks }}/controllers.md#musterstatusisfalse'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterObservedRunStuck }}
{{- if .enabled }}
  - alert: MusterObservedRunStuck
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      (max by ({{ $cluster }}, shard, namespace, experiment, audience) (muster_experiment_stuck_reason{{ $only }}) == 1)
      * on ({{ $cluster }}, shard, namespace, experiment) group_left ()
      (max by ({{ $cluster }}, shard, namespace, experiment) (-(muster_experiment_stuck_since_timestamp_seconds{{ $only }} - on ({{ $cluster }}, shard) group_left () min by ({{ $cluster }}, shard) (muster_clock_timestamp_seconds{{ $only }}))) > {{ .seconds }})
      and on ({{ $cluster }}, shard, namespace, experiment)
        max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_info{{ $and }}engine="observe"}) == 1
      unless on ({{ $cluster }}, shard, namespace, experiment)
        max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_clock_remaining_seconds{{ $only }} > 0
          and on ({{ $cluster }}, shard, namespace, experiment, clock) muster_experiment_clock_action{{ $and }}action!="Alert"} == 1)
      unless on ({{ $cluster }}, shard, namespace, experiment)
        max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_stuck_reason{{ $and }}reason=~"CoordinatorUnreachable|RanksMissing|RankFailed|ProcessCountMismatch|Hung|CollectiveStuck|CoordinatorGone"}) == 1
      or
        max by ({{ $cluster }}, shard, namespace, experiment, audience) (last_over_time(muster_experiment_stuck_reason{{ $only }}[15m]))
      * on ({{ $cluster }}, shard, namespace, experiment) group_left ()
        max by ({{ $cluster }}, shard, namespace, experiment) (-(last_over_time(muster_experiment_stuck_since_timestamp_seconds{{ $only }}[15m]) - on ({{ $cluster }}, shard) group_left () max by ({{ $cluster }}, shard) (last_over_time(muster_clock_timestamp_seconds{{ $only }}[15m]))))
      and on ({{ $cluster }}, shard, namespace, experiment, audience)
        max by ({{ $cluster }}, shard, namespace, experiment, audience) (ALERTS{{ $and }}alertname="MusterObservedRunStuck",alertstate="firing"}) unless on ({{ $cluster }}, shard) ((max by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}) == 1) or (group by ({{ $cluster }}, shard, job) (muster_build_info{{ $only }}) unless on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (muster_leader{{ $only }}))) and on ({{ $cluster }}, shard) group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $only }}[15m]))
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: stuck for {{`{{ $value | humanizeDuration }}`}}, and nothing will end it: {{`{{ range query (printf "max by (reason) (muster_experiment_stuck_reason{`}}{{ $cluster }}{{`=%q,shard=%q,namespace=%q,experiment=%q}) == 1" $labels.`}}{{ $cluster }}{{` $labels.shard $labels.namespace $labels.experiment) }}`}}reason {{`{{ .Labels.reason }}`}}, {{`{{ end }}`}}its controller does not act.'
      description: 'Muster only watches over it, and no clock will end it: it holds its machines until a person acts. Where its reason has a critical alert of its own, that one calls the person.'
      runbook_url: '{{ $runbooks }}/controllers.md#musterobservedrunstuck'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterDeadlinePassed }}
{{- if .enabled }}
  - alert: MusterDeadlinePassed
    expr: |-
      {{- if $owners }}
      (
      {{- end }}
      max by ({{ $cluster }}, shard, namespace, experiment, clock) (-muster_experiment_clock_remaining_seconds{{ $only }}) > {{ .seconds }}
      unless on ({{ $cluster }}, shard, namespace, experiment, clock)
        max by ({{ $cluster }}, shard, namespace, experiment, clock) (muster_experiment_clock_action{{ $and }}action="Alert"}) == 1
      unless on ({{ $cluster }}, shard, namespace, experiment)
        max by ({{ $cluster }}, shard, namespace, experiment) (muster_experiment_stuck_reason{{ $and }}reason!~".*DeadlineExceeded"}) == 1
      {{- if $owners }}
      ) * on ({{ $cluster }}, shard, namespace, experiment) group_left ({{ $owners }})
        experiment:muster_owners:info{{ $only }}
      {{- end }}
    for: '{{ .for }}'
    keep_firing_for: 1m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}/{{`{{ $labels.experiment }}`}}: its clock {{`{{ $labels.clock }}`}} ran out {{`{{ $value | humanizeDuration }}`}} ago, and it still runs.'
      description: 'What was to follow has been asked for and has not happened: its own controller does not suspend it, a finalizer holds it, or musterd cannot write.'
      runbook_url: '{{ $runbooks }}/deadlines.md#musterdeadlinepassed'
{{- end }}
{{- end }}
- name: muster-daemon
  interval: {{ $values.interval }}
  rules:
{{- with $values.alerts.MusterDaemonDown }}
{{- if .enabled }}
  - alert: MusterDaemonDown
    expr: |-
      absent(muster_build_info{{ $and }}job="{{ $job }}"}){{- range $values.clusters }} or absent(muster_build_info{{ $and }}job="{{ $job }}",{{ $cluster }}="{{ . }}"}){{- end }}
      or
        group by ({{ $cluster }}, shard, job) (last_over_time(muster_build_info{{ $and }}job="{{ $job }}"}[{{ .seen }}]))
      unless
        group by ({{ $cluster }}, shard, job) (muster_build_info{{ $and }}job="{{ $job }}"})
    for: '{{ .for }}'
    keep_firing_for: 3m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      namespace: '{{ $namespace }}'
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}No musterd of job {{`{{ $labels.job }}`}} is scraped.'
      description: No alert about a run can begin. If none runs, no experiment is started, restarted or ended, and gangs that run continue; if only the scrape fails (a token, a policy, the name of the job), they are looked after.
      runbook_url: '{{ $runbooks }}/musterd-away.md#musterdaemondown'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterScrapesFail }}
{{- if .enabled }}
  - alert: MusterScrapesFail
    expr: avg by ({{ $cluster }}, shard, job) (avg_over_time(up{{ $and }}job="{{ $job }}"}[{{ .window }}])) < {{ .share }}
    for: '{{ .for }}'
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      namespace: '{{ $namespace }}'
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}Of the scrapes of musterd, job {{`{{ $labels.job }}`}}, {{`{{ $value | humanizePercentage }}`}} have succeeded.'
      description: musterd ends and starts again and again, or answers too late. Alerts come late, and while none runs no experiment is started, restarted or ended.
      runbook_url: '{{ $runbooks }}/musterd-away.md#musterscrapesfail'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterReplicaMissing }}
{{- if .enabled }}
  - alert: MusterReplicaMissing
    expr: count by ({{ $cluster }}, shard, job) (group by ({{ $cluster }}, shard, job, instance) (muster_build_info{{ $and }}job="{{ $job }}"})) < {{ $replicas }}
    for: '{{ .for }}'
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      namespace: '{{ $namespace }}'
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}Of {{ $replicas }} musterd of job {{`{{ $labels.job }}`}} {{`{{ $value }}`}} can be scraped.'
      description: Nothing is lost as long as the other one leads; when that one ends, none takes over.
      runbook_url: '{{ $runbooks }}/musterd-away.md#musterreplicamissing'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterLeaderChanges }}
{{- if .enabled }}
  - alert: MusterLeaderChanges
    expr: count by ({{ $cluster }}, shard, job, namespace) (max by ({{ $cluster }}, shard, job, namespace, instance, identity) (max_over_time(muster_leader{{ $only }}[{{ .window }}])) == 1) > {{ .leaders }}
    for: '{{ .for }}'
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $value }}`}} processes of musterd, job {{`{{ $labels.job }}`}}, have led within {{ .window }}.'
      description: The leader ends or loses its Lease again and again. Each takeover takes up to 20 s, in which no experiment is started, restarted or ended.
      runbook_url: '{{ $runbooks }}/musterd-away.md#musterleaderchanges'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterNoLeader }}
{{- if .enabled }}
  - alert: MusterNoLeader
    expr: |-
      max by ({{ $cluster }}, shard, job, namespace) (muster_leader{{ $only }}) == 0
      unless on ({{ $cluster }}, shard, job)
        max by ({{ $cluster }}, shard, job) (muster_leader_seen{{ $only }}) == 1
    for: '{{ .for }}'
    keep_firing_for: 3m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}No musterd of job {{`{{ $labels.job }}`}} leads.'
      description: Each one is a standby and sees no other one renew the Lease, so no experiment is started, restarted or ended. A takeover takes up to 20 s.
      runbook_url: '{{ $runbooks }}/musterd-away.md#musternoleader'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterWatchStale }}
{{- if .enabled }}
  - alert: MusterWatchStale
    expr: max by ({{ $cluster }}, shard, job, namespace, instance, resource) (muster_watch_staleness_seconds{{ $and }}resource!="nodes"}) > {{ .seconds }} unless on ({{ $cluster }}, shard, job, instance) max by ({{ $cluster }}, shard, job, instance) (muster_leader{{ $only }}) == 0
    for: '{{ .for }}'
    keep_firing_for: 3m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}The watch of {{`{{ $labels.resource }}`}} has heard nothing for {{`{{ $value | humanizeDuration }}`}} ({{`{{ $labels.instance }}`}}).'
      description: The cache from which this musterd decides is this old. A watch that is silent for 90 s is opened again, so the API server does not answer.
      runbook_url: '{{ $runbooks }}/musterd-view.md#musterwatchstale'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterStandbyStale }}
{{- if .enabled }}
  - alert: MusterStandbyStale
    expr: max by ({{ $cluster }}, shard, job, namespace, instance, resource) (muster_watch_staleness_seconds{{ $and }}resource!="nodes"}) > {{ .seconds }} and on ({{ $cluster }}, shard, job, instance) max by ({{ $cluster }}, shard, job, instance) (muster_leader{{ $only }}) == 0
    for: '{{ .for }}'
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}The watch of {{`{{ $labels.resource }}`}} has heard nothing for {{`{{ $value | humanizeDuration }}`}} ({{`{{ $labels.instance }}`}}).'
      description: This musterd is a standby. When it leads, it lists everything again before it decides, which needs an answer of the API server.
      runbook_url: '{{ $runbooks }}/musterd-view.md#musterstandbystale'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterRightsMissing }}
{{- if .enabled }}
  - alert: MusterRightsMissing
    expr: max by ({{ $cluster }}, shard, job, namespace, verb, resource) (muster_rights_missing{{ $only }}) == 1
    for: '{{ .for }}'
    keep_firing_for: 3m
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}The API server does not let musterd {{`{{ $labels.verb }}`}} {{`{{ $labels.resource }}`}}.'
      description: A right of deploy/musterd.yaml is not granted, or the credentials of musterd are not accepted.
      runbook_url: '{{ $runbooks }}/musterd-view.md#musterrightsmissing'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterScrapeCapReached }}
{{- if .enabled }}
  - alert: MusterScrapeCapReached
    expr: max by ({{ $cluster }}, shard, job, namespace) (muster_experiments_unreported{{ $and }}reason="cap"}) > 0
    for: '{{ .for }}'
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $value }}`}} experiments have no series of their own.'
      description: The scrape is full. Those that are stuck are left out last; for those left out no alert can fire.
      runbook_url: '{{ $runbooks }}/musterd-view.md#musterscrapecapreached'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterInternalErrors }}
{{- if .enabled }}
  - alert: MusterInternalErrors
    expr: max by ({{ $cluster }}, shard, job, namespace, place) (increase(muster_internal_errors_total{{ $only }}[{{ .window }}])) > 0
    for: '{{ .for }}'
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}musterd had an unexpected exception in {{`{{ $labels.place }}`}}.'
      description: It is a bug of Muster. The experiment that caused it is tried again after growing pauses; others continue.
      runbook_url: '{{ $runbooks }}/musterd-view.md#musterinternalerrors'
{{- end }}
{{- end }}
{{- if $values.slo.enabled }}
- name: muster-slo
  interval: 30s
  rules:
  - record: namespace:muster_wasted_seconds:rate5m
    expr: sum by ({{ $cluster }}, shard, namespace) (namespace:muster_seconds:rate5m{{ $and }}bucket=~"lost|recovery|stuck"})
  - record: namespace:muster_wasted_accelerator_seconds:rate5m
    expr: sum by ({{ $cluster }}, shard, namespace) (namespace:muster_accelerator_seconds:rate5m{{ $and }}bucket=~"lost|recovery|stuck"})
  - record: namespace:muster_wall_accelerator_seconds:rate5m
    expr: sum by ({{ $cluster }}, shard, namespace) (namespace:muster_accelerator_seconds:rate5m{{ $and }}bucket!="taken_back"}) - (sum by ({{ $cluster }}, shard, namespace) (namespace:muster_accelerator_seconds:rate5m{{ $and }}bucket="taken_back"}))
  - record: namespace:muster_wasted:ratio_rate5m
    expr: sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[5m]) / (sum_over_time(namespace:muster_wall_seconds:rate5m{{ $only }}[5m]) > 0)
  - record: namespace:muster_wasted:ratio_rate30m
    expr: sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[30m]) / (sum_over_time(namespace:muster_wall_seconds:rate5m{{ $only }}[30m]) > 0)
  - record: namespace:muster_wasted:ratio_rate1h
    expr: sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[1h]) / (sum_over_time(namespace:muster_wall_seconds:rate5m{{ $only }}[1h]) > 0)
  - record: namespace:muster_wasted:ratio_rate2h
    expr: sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[2h]) / (sum_over_time(namespace:muster_wall_seconds:rate5m{{ $only }}[2h]) > 0)
  - record: namespace:muster_wasted:ratio_rate6h
    expr: sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[6h]) / (sum_over_time(namespace:muster_wall_seconds:rate5m{{ $only }}[6h]) > 0)
  - record: namespace:muster_wasted:ratio_rate1d
    expr: sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[1d]) / (sum_over_time(namespace:muster_wall_seconds:rate5m{{ $only }}[1d]) > 0)
  - record: namespace:muster_wasted:ratio_rate3d
    expr: sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[3d]) / (sum_over_time(namespace:muster_wall_seconds:rate5m{{ $only }}[3d]) > 0)
  - record: namespace:muster_wasted_accelerators:ratio_rate5m
    expr: sum_over_time(namespace:muster_wasted_accelerator_seconds:rate5m{{ $only }}[5m]) / (sum_over_time(namespace:muster_wall_accelerator_seconds:rate5m{{ $only }}[5m]) > 0)
  - record: namespace:muster_wasted_accelerators:ratio_rate30m
    expr: sum_over_time(namespace:muster_wasted_accelerator_seconds:rate5m{{ $only }}[30m]) / (sum_over_time(namespace:muster_wall_accelerator_seconds:rate5m{{ $only }}[30m]) > 0)
  - record: namespace:muster_wasted_accelerators:ratio_rate1h
    expr: sum_over_time(namespace:muster_wasted_accelerator_seconds:rate5m{{ $only }}[1h]) / (sum_over_time(namespace:muster_wall_accelerator_seconds:rate5m{{ $only }}[1h]) > 0)
  - record: namespace:muster_wasted_accelerators:ratio_rate2h
    expr: sum_over_time(namespace:muster_wasted_accelerator_seconds:rate5m{{ $only }}[2h]) / (sum_over_time(namespace:muster_wall_accelerator_seconds:rate5m{{ $only }}[2h]) > 0)
  - record: namespace:muster_wasted_accelerators:ratio_rate6h
    expr: sum_over_time(namespace:muster_wasted_accelerator_seconds:rate5m{{ $only }}[6h]) / (sum_over_time(namespace:muster_wall_accelerator_seconds:rate5m{{ $only }}[6h]) > 0)
  - record: namespace:muster_wasted_accelerators:ratio_rate1d
    expr: sum_over_time(namespace:muster_wasted_accelerator_seconds:rate5m{{ $only }}[1d]) / (sum_over_time(namespace:muster_wall_accelerator_seconds:rate5m{{ $only }}[1d]) > 0)
  - record: namespace:muster_wasted_accelerators:ratio_rate3d
    expr: sum_over_time(namespace:muster_wasted_accelerator_seconds:rate5m{{ $only }}[3d]) / (sum_over_time(namespace:muster_wall_accelerator_seconds:rate5m{{ $only }}[3d]) > 0)
{{- with $values.alerts.MusterGoodputBurnsFast }}
{{- if .enabled }}
  - alert: MusterGoodputBurnsFast
    expr: |-
      (namespace:muster_wasted{{ $weight }}:ratio_rate1h{{ $only }} > 14.4 * (1 - {{ $objective }}) and namespace:muster_wasted{{ $weight }}:ratio_rate5m{{ $only }} > 14.4 * (1 - {{ $objective }}) and sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[1h:1m]) > 60 * 14.4 * (1 - {{ $objective }}))
      or
      (namespace:muster_wasted{{ $weight }}:ratio_rate6h{{ $only }} > 6 * (1 - {{ $objective }}) and namespace:muster_wasted{{ $weight }}:ratio_rate30m{{ $only }} > 6 * (1 - {{ $objective }}) and sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[6h:1m]) > 360 * 6 * (1 - {{ $objective }}))
    for: '{{ .for }}'
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}: {{`{{ $value | humanizePercentage }}`}} of the time of its {{ $whose }} is wasted.'
      description: Runs of the namespace are stuck, recover or lose work, so much that the objective of a month is used up within two to five days.
      runbook_url: '{{ $runbooks }}/wasted-time.md#mustergoodputburnsfast'
{{- end }}
{{- end }}
{{- with $values.alerts.MusterGoodputBurnsSlowly }}
{{- if .enabled }}
  - alert: MusterGoodputBurnsSlowly
    expr: |-
      (namespace:muster_wasted{{ $weight }}:ratio_rate1d{{ $only }} > 3 * (1 - {{ $objective }}) and namespace:muster_wasted{{ $weight }}:ratio_rate2h{{ $only }} > 3 * (1 - {{ $objective }}) and sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[1d:1m]) > 1440 * 3 * (1 - {{ $objective }}))
      or
      (namespace:muster_wasted{{ $weight }}:ratio_rate3d{{ $only }} > 1 * (1 - {{ $objective }}) and namespace:muster_wasted{{ $weight }}:ratio_rate6h{{ $only }} > 1 * (1 - {{ $objective }}) and sum_over_time(namespace:muster_wasted_seconds:rate5m{{ $only }}[3d:1m]) > 4320 * 1 * (1 - {{ $objective }}))
    for: '{{ .for }}'
    labels:
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      severity: '{{ .severity }}'
      audience: '{{ .audience }}'
    annotations:
      summary: '{{`{{ with $labels.`}}{{ $cluster }}{{` }}`}}{{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ with $labels.shard }}`}}shard {{`{{ . }}`}}: {{`{{ end }}`}}{{`{{ $labels.namespace }}`}}: {{`{{ $value | humanizePercentage }}`}} of the time of its {{ $whose }} is wasted.'
      description: Runs of the namespace are stuck, recover or lose work, so much that the objective of a month is missed if it continues.
      runbook_url: '{{ $runbooks }}/wasted-time.md#mustergoodputburnsslowly'
{{- end }}
{{- end }}
{{- end }}
{{- end }}
