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
leaderworkersets: leaderworkerset.x-k8s.io
mpijobs: kubeflow.org
pytorchjobs: kubeflow.org
rayclusters: ray.io
vcjobs: batch.volcano.sh
jobs: batch
{{- end }}

{{- define "muster.otherNamesOfWatchedKinds" -}}
vcjobs: jobs
{{- end }}

{{- define "muster.madeForWatchedKinds" -}}
trainjobs: jobsets
{{- end }}
