{{/* What the schema cannot say: values that do not fit each other. */}}
{{- define "muster.checks" -}}
{{- $settings := .Values.settings }}
{{- if and (not $settings.leaderElect) (gt (int .Values.replicas) 1) }}
{{- fail (printf "replicas is %d and settings.leaderElect is false: without a Lease two daemons would act at the same time. Set replicas to 1, or settings.leaderElect to true" (int .Values.replicas)) }}
{{- end }}
{{- if eq (int $settings.httpPort) (int $settings.healthPort) }}
{{- fail (printf "settings.httpPort and settings.healthPort are both %d: the kubelet's probes need a port of their own" (int $settings.httpPort)) }}
{{- end }}
{{- $stop := $settings.shutdownTimeout | default 20 }}
{{- if ge (float64 $stop) (float64 .Values.terminationGracePeriodSeconds) }}
{{- fail (printf "terminationGracePeriodSeconds (%v) must be longer than settings.shutdownTimeout (%v): the kubelet would kill musterd before it has ended" .Values.terminationGracePeriodSeconds $stop) }}
{{- end }}
{{- end }}
