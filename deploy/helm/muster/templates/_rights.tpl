{{/* Every right that is granted here is used. */}}
{{- define "muster.experimentRights" -}}
- apiGroups: [muster.dev]
  resources: [experiments] # delete: finished ones, where spec.ttlAfterFinished says so
  verbs: [get, list, watch, delete]
- apiGroups: [muster.dev]
  resources: [experiments/status]
  verbs: [update]
- apiGroups: [muster.dev]
  resources: [experiments/finalizers] # blockOwnerDeletion on pods, where OwnerReferencesPermissionEnforcement is on
  verbs: [update]
{{- $groups := fromYaml (include "muster.groupsOfRunKinds" .) }}
{{- range $kind := splitList "," (include "muster.runKinds" .) }}
{{- if ne $kind "none" }}
- apiGroups: [{{ get $groups $kind }}]
  resources: [{{ $kind }}] # delete: ttlSecondsAfterFinished
  verbs: [get, list, watch, delete]
- apiGroups: [{{ get $groups $kind }}]
  resources: [{{ $kind }}/status]
  verbs: [update]
- apiGroups: [{{ get $groups $kind }}]
  resources: [{{ $kind }}/finalizers]
  verbs: [update]
{{- end }}
{{- end }}
- apiGroups: [""]
  resources: [pods] # patch: stops pods whose logs are kept (activeDeadlineSeconds)
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create]
- apiGroups: [""]
  resources: [persistentvolumeclaims] # sharedVolume, volumeClaimPolicies; the garbage collector removes them
  verbs: [get, create]
- apiGroups: [""]
  resources: [events]{{ if .Values.watch.events }} # list: why a pod has no volumes or no network, or is not made{{ end }}
  verbs: [create{{ if .Values.watch.events }}, list{{ end }}]
{{- end }}

{{/* The kinds that musterd runs beside Experiments, separated by commas, by the value or its older name. */}}
{{- define "muster.runKinds" -}}
{{- .Values.settings.runKinds | default "jobsets" -}}
{{- end }}

{{/* The kinds that musterd watches over, by the value or its older name; empty: none. */}}
{{- define "muster.watchKinds" -}}
{{- .Values.watch.kinds -}}
{{- end }}

{{/* Of the namespaces that musterd looks after, with watch.kinds. Pods are read with the rights for experiments. */}}
{{- define "muster.watchRights" -}}
{{- $groups := fromYaml (include "muster.groupsOfWatchedKinds" .) }}
{{- $names := fromYaml (include "muster.otherNamesOfWatchedKinds" .) }}
{{- $kinds := splitList "," (include "muster.watchKinds" .) }}
{{- if has "all" $kinds }}{{ $kinds = keys $groups | sortAlpha }}{{ end }}
{{- $asked := $kinds }}
{{- range $kind, $made := fromYaml (include "muster.madeForWatchedKinds" .) }}
{{- if has $kind $kinds }}{{ $kinds = append $kinds $made | uniq }}{{ end }}
{{- end }}
{{- range $kind := $kinds }}
{{- $ends := and $.Values.watch.deadlines (has $kind $asked) }}
{{- with get $groups $kind }}
- apiGroups: [{{ . }}]
  resources: [{{ get $names $kind | default $kind }}]{{ if $ends }} # patch, delete: where an annotation of the object asks for a deadline{{ end }}
  verbs: [get, list, watch{{ if $ends }}, patch, delete{{ end }}]
{{- end }}
{{- end }}
{{- end }}

{{/* Of the namespaces that musterd looks after, with kueue.enabled. */}}
{{- define "muster.queueRights" -}}
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads/status] # gives quota back; Kueue's own roles let no one write it
  verbs: [patch]
{{- end }}

{{/* Objects of the cluster, with settings.nodeLabels. Only their metadata is asked for. */}}
{{- define "muster.nodeRights" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
{{- end }}

{{/* Objects of the cluster, with kueue.enabled. */}}
{{- define "muster.flavorRights" -}}
- apiGroups: [kueue.x-k8s.io]
  resources: [resourceflavors, workloadpriorityclasses]
  verbs: [get]
{{- end }}

{{- define "muster.reviewRights" -}}
- apiGroups: [authentication.k8s.io] # whose token a reader of the page or of the metrics sends
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io] # what that reader may see
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}

{{/* A binding of a role to musterd's service account: (list $ kind-of-role name-of-role) */}}
{{- define "muster.bound" -}}
{{- $root := index . 0 -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ index . 1 }}
  name: {{ index . 2 }}
subjects:
  - kind: ServiceAccount
    name: {{ include "muster.serviceAccount" $root }}
    namespace: {{ $root.Release.Namespace }}
{{- end }}
