{{/* Made by `python -m deploy.helm` from the declarations in muster/kinds. Do not edit. */}}
{{- define "muster.groupsOfRunKinds" -}}
jaxjobs: kubeflow.org
jobsets: jobset.x-k8s.io
{{- end }}

{{- define "muster.groupsOfWatchedKinds" -}}
rayjobs: ray.io
trainjobs: trainer.kubeflow.org
jaxjobs: kubeflow.org
jobsets: jobset.x-k8s.io
mpijobs: kubeflow.org
pytorchjobs: kubeflow.org
rayclusters: ray.io
jobs: batch
{{- end }}

{{- define "muster.madeForWatchedKinds" -}}
trainjobs: jobsets
{{- end }}
