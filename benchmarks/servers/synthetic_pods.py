"""Pods as in big clusters: 7 to 8 KB of JSON, a third of it managedFields. The daemon keeps a few of the fields."""

import json
from typing import Any


def pod(number: int, version: int) -> dict[str, Any]:
    """Return a running member with the volumes, environment and tolerations that admission adds."""
    job, index = divmod(number, 64)
    name = f"pretrain-{job}-worker-0-{index}-x7k2p"
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": f"team-{job % 20}",
            "uid": f"{number:08x}-94a1-4f5e-8c2b-{job:012x}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-20T10:00:00Z",
            "labels": {
                "app.kubernetes.io/managed-by": "muster",
                "muster.dev/experiment": f"pretrain-{job}",
                "muster.dev/experiment-uid": f"{job:08x}-1111-4f5e-8c2b-000000000000",
                "muster.dev/group": "worker",
                "muster.dev/job-index": "0",
                "muster.dev/pod-index": str(index),
                "muster.dev/rank": str(index),
                "muster.dev/epoch": "2",
                "topology.example/rack": f"r{index}",
            },
            "annotations": {"cni.example/networks": '[{"name":"k8s-pod-network","ips":["10.4.2.9"],"dns":{}}]'},
            "ownerReferences": [
                {
                    "apiVersion": "muster.dev/v1alpha1",
                    "kind": "Experiment",
                    "name": f"pretrain-{job}",
                    "uid": f"{job:08x}-1111-4f5e-8c2b-000000000000",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [_managed("muster", 14), _managed("kubelet", 12), _managed("kube-scheduler", 2)],
        },
        "spec": {
            "volumes": [
                {
                    "name": f"kube-api-access-{index}",
                    "projected": {
                        "sources": [
                            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                        ],
                        "defaultMode": 420,
                    },
                },
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}},
            ],
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/team/pretrain@sha256:" + "ab" * 32,
                    "command": ["python3", "-u", "train.py", "--config", "configs/large.yaml"],
                    "env": [{"name": f"SETTING_{n}", "value": f"value-of-setting-{n}"} for n in range(20)],
                    "resources": {"limits": {"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": "8"}},
                    "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "nodeName": f"gpu-{number % 2000}.cluster.example",
            "hostname": f"worker-0-{index}-x7k2p",
            "subdomain": f"pretrain-{job}",
            "schedulerName": "default-scheduler",
            "tolerations": [
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
                for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
            ],
            "priority": 1000,
            "enableServiceLinks": False,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-11-20T10:00:07Z"}
                for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "hostIP": "10.0.3.17",
            "hostIPs": [{"ip": "10.0.3.17"}],
            "podIP": f"10.4.{number >> 8 & 255}.{number & 255}",
            "podIPs": [{"ip": f"10.4.{number >> 8 & 255}.{number & 255}"}],
            "startTime": "2026-11-20T10:00:02Z",
            "containerStatuses": [
                {
                    "name": "main",
                    "state": {"running": {"startedAt": "2026-11-20T10:00:06Z"}},
                    "lastState": {},
                    "ready": True,
                    "restartCount": 0,
                    "image": "registry.example/team/pretrain:large",
                    "imageID": "registry.example/team/pretrain@sha256:" + "ab" * 32,
                    "containerID": "containerd://" + f"{number:064x}",
                    "started": True,
                }
            ],
            "qosClass": "Guaranteed",
        },
    }


def line(number: int, version: int, kind: str = "MODIFIED") -> bytes:
    """Return the pod as a watch line, without the newline."""
    return b'{"type":"%s","object":%s}' % (kind.encode(), encoded(number, version))


def encoded(number: int, version: int) -> bytes:
    """Return the pod as the API server writes it, without spaces."""
    return json.dumps(pod(number, version), separators=(",", ":")).encode()


def _managed(manager: str, fields: int) -> dict[str, Any]:
    owned: dict[str, Any] = {
        f'k:{{"name":"SETTING_{n}"}}': {".": {}, "f:name": {}, "f:value": {}, "f:valueFrom": {}} for n in range(fields)
    }
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-11-20T10:00:07Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:containers": {'k:{"name":"main"}': owned}}},
    }
