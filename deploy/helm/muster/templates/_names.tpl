{{- define "muster.fullname" -}}
{{ .Values.name }}
{{- end }}

{{- define "muster.serviceAccount" -}}
{{ .Values.serviceAccount.name | default .Values.name }}
{{- end }}

{{- define "muster.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ $tag }}{{ end }}
{{- end }}

{{- define "muster.lease" -}}
{{ .Values.settings.leaseName | default .Values.name }}
{{- end }}

{{- define "muster.leaseNamespace" -}}
{{ .Values.settings.leaseNamespace | default .Release.Namespace }}
{{- end }}

{{/* The labels that select the pods: they can never change. */}}
{{- define "muster.selector" -}}
app.kubernetes.io/name: {{ .Values.name }}
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
{{ .Values.priorityClassName | default (ternary .Values.name "" .Values.priorityClass.create) }}
{{- end }}

{{/* "true" if an object is wanted whose kind the Prometheus operator defines: (list $ .Values.x.create) */}}
{{- define "muster.monitoring" -}}
{{- $root := index . 0 }}{{ $create := index . 1 -}}
{{- if or (eq $create "always") (and (eq $create "auto") ($root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
true
{{- end }}
{{- end }}
