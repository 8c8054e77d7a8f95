{{/* What the schema cannot say: values that do not fit each other. */}}
{{- define "muster.checks" -}}
{{- $settings := .Values.settings }}
{{- if and (not $settings.leaderElect) (gt (int .Values.replicas) 1) }}
{{- fail (printf "replicas is %d and settings.leaderElect is false: without a Lease two daemons would act at the same time. Set replicas to 1, or settings.leaderElect to true" (int .Values.replicas)) }}
{{- end }}
{{- if eq (int $settings.httpPort) (int $settings.healthPort) }}
{{- fail (printf "settings.httpPort and settings.healthPort are both %d: the kubelet's probes need a port of their own" (int $settings.httpPort)) }}
{{- end }}
{{- $lease := $settings.leaseDuration | default 15 }}
{{- $renew := $settings.renewDeadline | default 10 }}
{{- $retry := $settings.retryPeriod | default 2 }}
{{- if le (float64 $lease) (float64 $renew) }}
{{- fail (printf "settings.leaseDuration (%v) must be longer than settings.renewDeadline (%v): the difference is what keeps two daemons from leading at once" $lease $renew) }}
{{- end }}
{{- if lt (float64 $renew) (mulf 2 $retry) }}
{{- fail (printf "settings.renewDeadline (%v) must be at least twice settings.retryPeriod (%v), or one slow answer costs the leadership" $renew $retry) }}
{{- end }}
{{- $stop := $settings.shutdownTimeout | default 20 }}
{{- if ge (float64 $stop) (float64 .Values.terminationGracePeriodSeconds) }}
{{- fail (printf "terminationGracePeriodSeconds (%v) must be longer than settings.shutdownTimeout (%v): the kubelet would kill musterd before it has ended" .Values.terminationGracePeriodSeconds $stop) }}
{{- end }}
{{- end }}
