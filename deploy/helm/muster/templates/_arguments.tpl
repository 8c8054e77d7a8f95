{{/* The flags of musterd: each key of `settings` that has a value, in kebab case. */}}
{{- define "muster.arguments" -}}
{{- range $key, $value := omit .Values.settings "httpNames" "leaseName" "runKinds" }}
{{- $flag := kebabcase $key }}
{{- if kindIs "bool" $value }}
- --{{ if not $value }}no-{{ end }}{{ $flag }}
{{- else if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- --{{ $flag }}={{ $value }}
{{- end }}
{{- end }}
{{- if .Values.kueue.enabled }}
- --kueue
{{- end }}
{{- if .Values.tls.secretName }}
- --http-tls-cert=/etc/musterd/tls/tls.crt
- --http-tls-key=/etc/musterd/tls/tls.key
{{- end }}
{{- if .Values.progress.secretName }}
- --progress-port={{ .Values.progress.port }}
- --progress-url=https://{{ include "muster.progressHost" . }}:{{ .Values.progress.port }}
- --progress-tls-cert=/etc/musterd/progress/tls.crt
- --progress-tls-key=/etc/musterd/progress/tls.key
- --progress-ca=/etc/musterd/progress/ca.crt
{{- end }}
{{- with .Values.settings.runKinds }}
- --run-kinds={{ . }}
{{- end }}
{{- with include "muster.watchKinds" . }}
- --watch-kinds={{ . }}
{{- end }}
{{- with .Values.prometheusRule.runbookUrl }}
- --runbook-url={{ . }}
{{- end }}
{{- with include "muster.hostNames" . }}
- --http-names={{ . }}
{{- end }}
{{- if ne (include "muster.lease" .) "musterd" }}
- --lease-name={{ include "muster.lease" . }}
{{- end }}
{{- end }}

{{/* The name of the Service of the progress endpoint, which its certificate has. */}}
{{- define "muster.progressHost" -}}
{{ include "muster.fullname" . }}-progress.{{ .Release.Namespace }}.svc
{{- end }}

{{/* Where people reach the page: from outside where the values have a way, else by the Service, within the cluster. */}}
{{- define "muster.address" -}}
{{- if .Values.externalUrl -}}
{{ .Values.externalUrl | trimSuffix "/" }}
{{- else if .Values.ingress.host -}}
{{ ternary "https" "http" (not (empty .Values.ingress.tls)) }}://{{ .Values.ingress.host }}
{{- else -}}
{{ ternary "https" "http" (not (empty .Values.tls.secretName)) }}://{{ include "muster.fullname" . }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}
{{- end -}}
{{- end }}

{{/* Where the runbooks are that the alerts lead to: a site of yours, or musterd's own. */}}
{{- define "muster.runbooks" -}}
{{ .Values.prometheusRule.runbookUrl | default (printf "%s/runbooks" (include "muster.address" .)) }}
{{- end }}

{{/* The Host names under which the page is reached: of the Service, from outside, and those of the settings. */}}
{{- define "muster.hostNames" -}}
{{- $names := list -}}
{{- if .Values.service.create }}
{{- $name := include "muster.fullname" . -}}
{{- $service := printf "%s.%s" $name .Release.Namespace -}}
{{- $names = list $name $service (printf "%s.svc" $service) (printf "%s.svc.cluster.local" $service) -}}
{{- end }}
{{- with .Values.ingress.host }}{{ $names = append $names . }}{{ end -}}
{{- with .Values.externalUrl }}{{ $names = append $names (get (urlParse .) "hostname") }}{{ end -}}
{{- with .Values.settings.httpNames }}{{ $names = append $names . }}{{ end -}}
{{ join "," (uniq $names) }}
{{- end }}
