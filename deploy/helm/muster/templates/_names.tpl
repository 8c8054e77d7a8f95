{{/* The name of every object: `musterd`, whatever the release is called, unless the values override it. */}}
{{- define "muster.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if not .Values.nameOverride -}}
musterd
{{- else if contains .Values.nameOverride .Release.Name -}}
{{ .Release.Name | replace "." "-" | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Values.nameOverride | replace "." "-" | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "muster.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "muster.fullname" .) }}
{{- end }}

{{- define "muster.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ $tag }}{{ end }}
{{- end }}

{{- define "muster.lease" -}}
{{ .Values.settings.leaseName | default (include "muster.fullname" .) }}
{{- end }}

{{- define "muster.leaseNamespace" -}}
{{ .Values.settings.leaseNamespace | default .Release.Namespace }}
{{- end }}

{{/* The labels that select the pods: they can never change. Of two releases in one namespace the full names differ. */}}
{{- define "muster.selector" -}}
app.kubernetes.io/name: {{ include "muster.fullname" . }}
{{- end }}

{{- define "muster.podLabels" -}}
{{ include "muster.selector" . }}
app.kubernetes.io/part-of: muster
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* The labels of every object, but not of the pods: another release of the chart alone must not restart musterd. */}}
{{- define "muster.labels" -}}
{{ include "muster.podLabels" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "muster.priorityClassName" -}}
{{ .Values.priorityClassName | default (ternary (include "muster.fullname" .) "" .Values.priorityClass.create) }}
{{- end }}

{{/* How the Deployment replaces its pods: as the values ask, or so that it can and may. */}}
{{- define "muster.strategy" -}}
{{- if .Values.strategy -}}
{{ toYaml .Values.strategy }}
{{- else if not .Values.settings.leaderElect -}}
type: Recreate {{- /* without a Lease an old and a new daemon must not run at the same time */}}
{{- else if or .Values.hostNetwork (eq .Values.antiAffinity "required") -}}
rollingUpdate: {maxSurge: 0, maxUnavailable: 1} {{- /* no node needs room for a third pod */}}
{{- end -}}
{{- end }}

{{/* "true" if an object is wanted whose kind the Prometheus operator defines: (list $ .Values.x.create) */}}
{{- define "muster.monitoring" -}}
{{- $root := index . 0 }}{{ $create := index . 1 -}}
{{- if or (eq $create "always") (and (eq $create "auto") ($root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
true
{{- end }}
{{- end }}
