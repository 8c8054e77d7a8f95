{{/* Made by `python -m deploy.helm` from what musterd checks. Do not edit. */}}
{{- define "muster.bounds" -}}
{
  "default": {
    "lease_duration": 15.0,
    "renew_deadline": 10.0,
    "retry_period": 2.0,
    "shutdown_timeout": 20.0
  },
  "owners": 8,
  "retention": {
    "entries": 1024,
    "least": 60,
    "most": 316224000,
    "shown": "from 1m to 522w 6d"
  }
}
{{- end }}
