{{/* What the schema cannot say: values that do not fit each other. */}}
{{- define "muster.checks" -}}
{{- $settings := .Values.settings }}
{{- $bounds := include "muster.bounds" . | fromYaml }}
{{- if and (not $settings.leaderElect) (gt (int .Values.replicas) 1) }}
{{- fail (printf "replicas is %d and settings.leaderElect is false: without a Lease two daemons would act at the same time. Set replicas to 1, or settings.leaderElect to true" (int .Values.replicas)) }}
{{- end }}
{{- if and .Values.strategy (not $settings.leaderElect) (ne (toString .Values.strategy.type) "Recreate") }}
{{- fail "strategy.type must be Recreate while settings.leaderElect is false: without a Lease an old and a new daemon would act at the same time" }}
{{- end }}
{{- if eq (int $settings.httpPort) (int $settings.healthPort) }}
{{- fail (printf "settings.httpPort and settings.healthPort are both %d: the kubelet's probes need a port of their own" (int $settings.httpPort)) }}
{{- end }}
{{- if and .Values.progress.secretName (has (int .Values.progress.port) (list (int $settings.httpPort) (int $settings.healthPort))) }}
{{- fail (printf "progress.port is %d, which is settings.httpPort or settings.healthPort: members may reach a port of their own only" (int .Values.progress.port)) }}
{{- end }}
{{- if and .Values.progress.secretName (not .Values.rbac.reviews) }}
{{- fail "progress.secretName needs rbac.reviews: musterd asks the API server whose token a member sends" }}
{{- end }}
{{- $lease := $settings.leaseDuration | default $bounds.default.lease_duration }}
{{- $renew := $settings.renewDeadline | default $bounds.default.renew_deadline }}
{{- $retry := $settings.retryPeriod | default $bounds.default.retry_period }}
{{- if le (float64 $lease) (float64 $renew) }}
{{- fail (printf "settings.leaseDuration (%v) must be longer than settings.renewDeadline (%v): the difference is what keeps two daemons from leading at once" $lease $renew) }}
{{- end }}
{{- if lt (float64 $renew) (mulf 2 $retry) }}
{{- fail (printf "settings.renewDeadline (%v) must be at least twice settings.retryPeriod (%v), or one slow answer costs the leadership" $renew $retry) }}
{{- end }}
{{- $owners := compact (splitList ", " (include "muster.owners" .)) }}
{{- if gt (len $owners) (int $bounds.owners) }}
{{- fail (printf "settings.ownerLabels has %d labels, and at most %d are read" (len $owners) (int $bounds.owners)) }}
{{- end }}
{{- if lt (len (uniq $owners)) (len $owners) }}
{{- fail (printf "settings.ownerLabels: two labels have one name in metrics: %s" (join ", " $owners)) }}
{{- end }}
{{- $namespaces := list }}
{{- range $entry := ternary (list) (splitList "," ($settings.retention | default "")) (empty $settings.retention) }}
{{- $parts := splitList "=" $entry }}
{{- $namespaces = append $namespaces (ternary "" (trim (first $parts)) (eq (len $parts) 1)) }}
{{- if ne (trim (last $parts)) "keep" }}
{{- $seconds := include "muster.seconds" (last $parts) | float64 }}
{{- if or (lt $seconds $bounds.retention.least) (gt $seconds $bounds.retention.most) }}
{{- fail (printf "settings.retention: %q: %s" (trim $entry) $bounds.retention.shown) }}
{{- end }}
{{- end }}
{{- end }}
{{- if gt (len $namespaces) (int $bounds.retention.entries) }}
{{- fail (printf "settings.retention has %d entries, and at most %d are read" (len $namespaces) (int $bounds.retention.entries)) }}
{{- end }}
{{- if lt (len (uniq $namespaces)) (len $namespaces) }}
{{- fail "settings.retention: a namespace, or the time of all others, is given twice" }}
{{- end }}
{{- $own := include "muster.podLabels" . | fromYaml }}
{{- range $label := concat (keys .Values.podLabels) (keys .Values.commonLabels) | uniq | sortAlpha }}
{{- if hasKey $own $label }}
{{- fail (printf "podLabels and commonLabels cannot set %s: it is a label of the chart" $label) }}
{{- end }}
{{- end }}
{{- with .Values.serviceMonitor.scrapeTimeout }}
{{- if gt (include "muster.seconds" . | float64) (include "muster.seconds" $.Values.serviceMonitor.interval | float64) }}
{{- fail (printf "serviceMonitor.scrapeTimeout (%s) must not be longer than serviceMonitor.interval (%s): the Prometheus operator leaves such a ServiceMonitor out" . $.Values.serviceMonitor.interval) }}
{{- end }}
{{- end }}
{{- $stop := $settings.shutdownTimeout | default $bounds.default.shutdown_timeout }}
{{- if ge (float64 $stop) (float64 .Values.terminationGracePeriodSeconds) }}
{{- fail (printf "terminationGracePeriodSeconds (%v) must be longer than settings.shutdownTimeout (%v): the kubelet would kill musterd before it has ended" .Values.terminationGracePeriodSeconds $stop) }}
{{- end }}
{{- end }}

{{/* Seconds of a duration as Prometheus writes it: 1m30s is 90. */}}
{{- define "muster.seconds" -}}
{{- $of := dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 "d" 86400.0 "w" 604800.0 "y" 31536000.0 }}
{{- $sum := 0.0 }}
{{- range regexFindAll "[0-9]+(ms|[smhdwy])" . -1 }}
{{- $sum = addf $sum (mulf (regexFind "[0-9]+" . | float64) (get $of (regexFind "[a-z]+" .))) }}
{{- end }}
{{- $sum }}
{{- end }}
{{/* The names of the labels of owners in metrics (muster.api.values.owners), separated by commas. */}}
{{- define "muster.owners" -}}
{{- $names := list -}}
{{- range compact (splitList "," (.Values.settings.ownerLabels | default "")) -}}
{{- $names = append $names (printf "label_%s" (regexReplaceAll "[^A-Za-z0-9_]" (first (splitList "=" .)) "_")) -}}
{{- end -}}
{{- join ", " $names -}}
{{- end }}
