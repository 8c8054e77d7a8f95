{{/* Every right that is granted here is used. What is written behind its resources is its reason in docs/platform.md. */}}
{{- define "muster.experimentRights" -}}
- apiGroups: [muster.dev]
  resources: [experiments] # what is wanted; no spec is ever changed. `delete`: finished ones, by `ttlAfterFinished` or the retention
  verbs: [get, list, watch, delete]
- apiGroups: [muster.dev]
  resources: [experiments/status] # what Muster knows of it
  verbs: [update]
- apiGroups: [muster.dev]
  resources: [experiments/finalizers] # its pods name it as their owner, where OwnerReferencesPermissionEnforcement is on
  verbs: [update]
{{- $groups := fromYaml (include "muster.groupsOfRunKinds" .) }}
{{- range $kind := splitList "," (include "muster.runKinds" .) }}
{{- if ne $kind "none" }}
- apiGroups: [{{ get $groups $kind }}]
  resources: [{{ $kind }}] # run like an Experiment, by `settings.runKinds`. `delete`: finished ones, by `ttlSecondsAfterFinished`
  verbs: [get, list, watch, delete]
- apiGroups: [{{ get $groups $kind }}]
  resources: [{{ $kind }}/status] # its own conditions and counts
  verbs: [update]
- apiGroups: [{{ get $groups $kind }}]
  resources: [{{ $kind }}/finalizers] # its pods name it as their owner
  verbs: [update]
{{- end }}
{{- end }}
- apiGroups: [""]
  resources: [pods] # the gang. `patch` ends programs whose pods and logs stay (activeDeadlineSeconds)
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services] # the names of the members
  verbs: [get, list, watch, create]
- apiGroups: [""]
  resources: [persistentvolumeclaims] # `sharedVolume`, `volumeClaimPolicies`; the garbage collector removes them
  verbs: [get, create]
- apiGroups: [""]
  resources: [events] # the story, for `kubectl describe`
  verbs: [create]
{{- if .Values.watch.events }}
- apiGroups: [""]
  resources: [events] # why a pod has no volumes or no network, or is not made; without it the sentence names what is lacking
  verbs: [list]
{{- end }}
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
  resources: [{{ get $names $kind | default $kind }}] # runs of other controllers{{ if $ends }}. `patch`, `delete`: where an annotation of the object asks for a deadline{{ end }}
  verbs: [get, list, watch{{ if $ends }}, patch, delete{{ end }}]
{{- end }}
{{- end }}
{{- end }}

{{/* Of the namespaces that musterd looks after, with kueue.enabled. */}}
{{- define "muster.queueRights" -}}
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads] # the place of an experiment in its queue
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads/status] # gives quota back; Kueue's own roles let no one write it
  verbs: [patch]
{{- end }}

{{/* Objects of the cluster, with settings.nodeLabels. Only their metadata is asked for. */}}
{{- define "muster.nodeRights" -}}
- apiGroups: [""]
  resources: [nodes] # the labels of racks, pools and zones, for incidents; nothing but metadata is read
  verbs: [list, watch]
{{- end }}

{{/* Objects of the cluster, with kueue.enabled. */}}
{{- define "muster.flavorRights" -}}
- apiGroups: [kueue.x-k8s.io]
  resources: [resourceflavors, workloadpriorityclasses] # where a flavor puts pods, and the priority in the queue
  verbs: [get]
{{- end }}

{{- define "muster.reviewRights" -}}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews] # whose token a reader of the page or of the metrics sends
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews] # what that reader may see
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
