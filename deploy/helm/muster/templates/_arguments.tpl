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
{{- if .Values.service.create }}
- --http-names={{ include "muster.hostNames" . }}
{{- else if .Values.settings.httpNames }}
- --http-names={{ .Values.settings.httpNames }}
{{- end }}
{{- if ne (include "muster.lease" .) "musterd" }}
- --lease-name={{ include "muster.lease" . }}
{{- end }}
{{- end }}

{{/* The name of the Service of the progress endpoint, which its certificate has. */}}
{{- define "muster.progressHost" -}}
{{ include "muster.fullname" . }}-progress.{{ .Release.Namespace }}.svc
{{- end }}

{{/* Where the runbooks are that the alerts lead to: a site of yours, or musterd's own. */}}
{{- define "muster.runbooks" -}}
{{- $own := printf "%s://%s.%s.svc:%v" (ternary "https" "http" (not (empty .Values.tls.secretName))) .Values.name .Release.Namespace .Values.service.port -}}
{{- with .Values.ingress.host }}{{ $own = printf "%s://%s" (ternary "https" "http" (not (empty $.Values.ingress.tlsSecretName))) . }}{{ end -}}
{{ .Values.prometheusRule.runbookUrl | default (printf "%s/runbooks" $own) }}
{{- end }}

{{/* The Host names under which the Service is reached, and those of the settings. */}}
{{- define "muster.hostNames" -}}
{{- $service := printf "%s.%s" .Values.name .Release.Namespace -}}
{{- $names := list .Values.name $service (printf "%s.svc" $service) (printf "%s.svc.cluster.local" $service) -}}
{{- with .Values.ingress.host }}{{ $names = append $names . }}{{ end -}}
{{- with .Values.settings.httpNames }}{{ $names = append $names . }}{{ end -}}
{{ join "," $names }}
{{- end }}
