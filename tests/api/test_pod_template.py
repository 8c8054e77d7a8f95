"""What a pod template may set, and that everything Muster owns is refused where it is written."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.load import experiment_object, load_manifest
from muster.api.manifest.problems import ManifestError, SpecError
from muster.api.manifest.template.container import MainContainer
from muster.api.manifest.template.pod import Metadata, PodSpec
from muster.api.values.fields import Shape

HEAD = """\
apiVersion: muster.dev/v1alpha1
kind: Experiment
metadata: {name: e}
spec:
  operator: %s
  image: train:1
  command: python main.py
  types:
    worker: {count: 2, resources: {ramRatio: 2}}
"""
FIRST = HEAD.count("\n") + 1
"""Line of ``template:`` in a text of ``written``."""


def written(template: str, operator: str = "jax") -> str:
    """An Experiment with this template, one level deep."""
    lines = [f"  {line}\n" if line else "\n" for line in ("template:\n" + template).split("\n")]
    return HEAD % operator + "".join(lines)


def complaint(template: str, operator: str = "jax") -> str:
    with pytest.raises(ManifestError) as raised:
        load_manifest(written(template, operator), filename="e.yaml")
    return str(raised.value)


def whole(template: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """An Experiment as the API server holds it."""
    return {
        "metadata": {"uid": "u", "name": "e", "namespace": "n", "generation": 1, "resourceVersion": "1"},
        "spec": {
            "operator": "jax",
            "image": "train:1",
            "command": "python main.py",
            "types": {"worker": {"resources": {"ramRatio": 2}}},
            "template": template,
        }
        | spec,
    }


FULL = """\
  metadata:
    labels: {team: vision, example.org/cost-centre: "17"}
    annotations: {example.org/note: 'any text: "even quoted"'}
  spec:
    serviceAccountName: trainer
    automountServiceAccountToken: true
    imagePullSecrets: [{name: registry}]
    priorityClassName: high
    schedulerName: volcano
    runtimeClassName: nvidia
    nodeSelector: {pool: gpu}
    affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}
    tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}, {operator: Exists, tolerationSeconds: 5}]
    topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
    securityContext: {runAsUser: 1000, fsGroup: 1000, supplementalGroups: [1, 2]}
    dnsConfig: {options: [{name: ndots, value: "1"}]}
    hostAliases: [{ip: 10.0.0.1, hostnames: [store]}]
    hostNetwork: true
    hostIPC: false
    hostPID: true
    hostUsers: false
    shareProcessNamespace: true
    enableServiceLinks: true
    preemptionPolicy: Never
    dnsPolicy: Default
    os: {name: linux}
    readinessGates: [{conditionType: example.org/reachable}]
    resourceClaims: [{name: dra, resourceClaimTemplateName: gpu}]
    schedulingGroup: {podGroupName: train}
    volumes:
      - {name: scratch, emptyDir: {}}
      - {name: token, secret: {secretName: token, optional: true}}
      - {name: me, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
    initContainers:
      - {name: fetch, image: "curl:1", command: [sh, -c, fetch], volumeMounts: [{name: scratch, mountPath: /data}]}
      - {name: proxy, image: "proxy:1", restartPolicy: Always}
    containers:
      - name: main
        workingDir: /work
        env:
          - {name: RANK_OF_MINE, value: $(JAXOPERATOR_PROCESS_ID)}
          - {name: WANDB_API_KEY, valueFrom: {secretKeyRef: {name: wandb, key: token}}}
        envFrom: [{configMapRef: {name: defaults}}, {prefix: S_, secretRef: {name: s, optional: true}}]
        ports: [{name: metrics, containerPort: 9090}]
        volumeMounts: [{name: scratch, mountPath: /scratch, subPath: a, readOnly: true}]
        resources: {limits: {ephemeral-storage: 10Gi, nvidia.com/mig-1g.5gb: 1}, claims: [{name: dra}]}
        lifecycle: {postStart: {exec: {command: [true]}}}
        livenessProbe: {tcpSocket: {port: 1}}
        readinessProbe: {httpGet: {port: 1}}
        startupProbe: {exec: {command: [true]}}
        imagePullPolicy: Always
        resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]
        volumeDevices: [{name: scratch, devicePath: /dev/a}]
        stdin: true
        stdinOnce: true
        tty: true
        securityContext: {capabilities: {add: [IPC_LOCK]}, runAsNonRoot: true}
        terminationMessagePath: /dev/last-words
        terminationMessagePolicy: FallbackToLogsOnError
      - {name: log, image: "vector:1", args: [--quiet], resources: {requests: {cpu: 100m}}}
"""


def test_a_full_template_is_kept_as_it_is_written() -> None:
    text = written(FULL)
    loaded = load_manifest(text, filename="e.yaml")
    assert loaded.warnings == ()
    template = yaml.safe_load(text)["spec"]["template"]
    assert loaded.spec.template == template
    posted = experiment_object(loaded, name="e", namespace="n")
    assert posted["spec"]["template"] == template
    assert parse_experiment(whole(template)).spec.template == template


def test_every_field_that_muster_does_not_own_may_be_set() -> None:
    template = yaml.safe_load(written(FULL))["spec"]["template"]
    for shape, part in (
        (Metadata, template["metadata"]),
        (PodSpec, template["spec"]),
        (MainContainer, template["spec"]["containers"][0]),
    ):
        names = {field.alias or name for name, field in shape.model_fields.items()}
        assert names - {*part} == {*refused_fields(shape)}, shape


def test_a_type_has_a_template_of_its_own() -> None:
    text = (HEAD % "jax").replace("ramRatio: 2}", "ramRatio: 2}, template: {spec: {schedulerName: volcano}}")
    (group,) = load_manifest(text).spec.groups
    assert group.template == {"spec": {"schedulerName": "volcano"}}


OWNED = [
    ("metadata: {name: x}", "metadata.name", "Muster names the pods, remove it"),
    ("metadata: {namespace: x}", "metadata.namespace", "members run in the experiment's namespace"),
    ("metadata: {ownerReferences: []}", "metadata.ownerReferences", "the Experiment owns its pods"),
    ("metadata: {finalizers: [a]}", "metadata.finalizers", "a finalizer would keep a gang restart waiting"),
    ("metadata: {labels: {muster.dev/rank: '0'}}", "metadata.labels['muster.dev/rank']", "begin with muster.dev/"),
    (
        "metadata: {labels: {app.kubernetes.io/managed-by: x}}",
        "metadata.labels['app.kubernetes.io/managed-by']",
        "Muster sets this key",
    ),
    ("metadata: {annotations: {a.muster.dev/b: x}}", "metadata.annotations['a.muster.dev/b']", "Muster sets this key"),
    ("spec: {hostname: a}", "spec.hostname", "a host name of its own"),
    ("spec: {subdomain: a}", "spec.subdomain", "a host name of its own"),
    ("spec: {setHostnameAsFQDN: true}", "spec.setHostnameAsFQDN", "a host name of its own"),
    ("spec: {restartPolicy: Always}", "spec.restartPolicy", "set spec.restartPolicy"),
    ("spec: {nodeName: a}", "spec.nodeName", "use nodeSelector or affinity"),
    ("spec: {schedulingGates: []}", "spec.schedulingGates", "Muster decides when a member may start"),
    ("spec: {activeDeadlineSeconds: 1}", "spec.activeDeadlineSeconds", "set spec.timeout"),
    (
        "spec: {terminationGracePeriodSeconds: 1}",
        "spec.terminationGracePeriodSeconds",
        "set spec.gracefulTermination.terminationGracePeriodSeconds",
    ),
    ("spec: {resources: {}}", "spec.resources", "set resources of the type"),
    ("spec: {volumes: [{name: shm, emptyDir: {}}]}", "spec.volumes[0].name", "a volume that Muster adds"),
    ("spec: {volumes: [{name: claim-0, emptyDir: {}}]}", "spec.volumes[0].name", "a volume that Muster adds"),
    ("spec: {initContainers: [{name: main}]}", "spec.initContainers[0].name", "the member's own container"),
    ("spec: {containers: [{name: log, restartPolicy: Always}]}", "spec.containers[0].restartPolicy", "init container"),
]


MAIN = [
    ("image: x", "image", "set spec.image"),
    ("command: [x]", "command", "set spec.command"),
    ("args: [x]", "args", "write the arguments into spec.command"),
    ("restartPolicy: Never", "restartPolicy", "set spec.restartPolicy"),
    ("lifecycle: {preStop: {}}", "lifecycle.preStop", "set spec.gracefulTermination.shutdownCommand"),
    ("volumeMounts: [{name: a, mountPath: /dev/shm/}]", "volumeMounts[0].mountPath", "set shmSizeGB in the type's"),
    ("resources: {limits: {cpu: 4}}", "resources.limits.cpu", "set cpus in the type's resources"),
    ("resources: {requests: {memory: 1Gi}}", "resources.requests.memory", "set ramRatio or memory in the type's"),
    ("resources: {limits: {nvidia.com/gpu: 4}}", "resources.limits['nvidia.com/gpu']", "accelerators.gpu.count"),
    ("resources: {limits: {rdma/a: 4}}", "resources.limits['rdma/a']", "set rdma.devices in the type's resources"),
    ("env: [{name: MUSTER_RANK}]", "env[0].name", "Muster sets MUSTER_RANK in every member, choose another name"),
    ("env: [{name: JAX_COORDINATOR_ADDRESS}]", "env[0].name", "its value may refer to $(JAX_COORDINATOR_ADDRESS)"),
]


@pytest.mark.parametrize(("template", "field", "says"), OWNED, ids=lambda value: str(value)[:40])
def test_what_muster_owns_is_refused_where_it_stands(template: str, field: str, says: str) -> None:
    found = complaint(f"  {template}")
    assert found.startswith(f"e.yaml:{FIRST + 1}:")
    assert f" spec.template.{field}: " in found
    assert says in found


@pytest.mark.parametrize(("fields", "field", "says"), MAIN)
def test_what_the_manifest_states_of_main_is_refused(fields: str, field: str, says: str) -> None:
    found = complaint(f"  spec:\n    containers:\n      - name: main\n        {fields}")
    assert found.startswith(f"e.yaml:{FIRST + 4}:")
    assert f" spec.template.spec.containers[0].{field}: " in found
    assert says in found


@pytest.mark.parametrize(
    ("operator", "name", "taken"),
    [
        ("pytorch", "RANK", True),
        ("jax", "RANK", False),
        ("xgboost", "MASTER_ADDR", True),
        ("jobset", "JOB_INDEX", True),
        ("pytorch", "JOB_INDEX", False),
    ],
)
def test_the_injected_variables_are_those_of_the_operator(operator: str, name: str, taken: bool) -> None:
    template = f"  spec: {{containers: [{{name: main, env: [{{name: {name}, value: x}}]}}]}}"
    if taken:
        assert f"Muster sets {name}" in complaint(template, operator)
    else:
        load_manifest(written(template, operator))


def test_an_extra_container_has_an_image_a_command_and_variables_of_its_own() -> None:
    text = "  spec: {containers: [{name: log, image: x, command: [y], env: [{name: JAX_COORDINATOR_ADDRESS}]}]}"
    load_manifest(written(text))


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("  spec: {afinity: {}}", "spec.template.spec.afinity: unknown field, did you mean affinity?"),
        ("  spec: {containers: [{name: main, volumeMount: []}]}", "unknown field, did you mean volumeMounts?"),
        ("  spec: {volumes: [{name: a, emptydir: {}}]}", "unknown field, did you mean emptyDir?"),
        ("  spec: {volumes: [{name: a}]}", "volume a has no source, write one, for instance emptyDir: {}"),
        ("  spec: {volumes: [{name: a, nfs: {}, emptyDir: {}}]}", "volume a has more than one source"),
        ("  spec: {volumes: [{name: a, nfs: {}}, {name: a, nfs: {}}]}", "'a' is listed twice"),
        ("  spec: {containers: [{env: []}]}", "containers[0].name: a required field is missing"),
        ("  spec: {containers: [{name: main, env: [{name: A, value: 8}]}]}", 'put it in quotes: "8"'),
        ("  spec: {containers: [{name: main, env: [{name: A}, {name: A}]}]}", "'A' is listed twice"),
        ("  spec: {containers: [{name: main, env: [{name: A, value: x, valueFrom: {a: b}}]}]}", "A has two sources"),
        ("  spec: {containers: [{name: main, envFrom: [{prefix: A}]}]}", "write configMapRef or secretRef"),
        ("  spec: {containers: [{name: main, volumeMounts: [{name: a}]}]}", "mountPath: a required field is missing"),
        ("  spec: {hostNetwork: yes}", "hostNetwork: true or false is expected, not the text 'yes'"),
        ("  spec: {tolerations: {}}", "spec.tolerations: a list is expected, not a mapping"),
        ("  spec: {affinity: []}", "spec.affinity: a mapping is expected, not a list"),
        ("  metadata: {labels: {a: 1}}", "metadata.labels.a: text is expected, not 1"),
        ("  metadata: {labels: {-a: x}}", "a Kubernetes label key"),
        ("  spec: [1]", "spec.template.spec: a mapping is expected, not a list"),
        ("  1", "spec.template: a mapping is expected, not 1"),
        ("  kind: Pod", "spec.template.kind: unknown field, known here: metadata, spec"),
    ],
)
def test_mistakes_are_named(template: str, says: str) -> None:
    assert says in complaint(template)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("  spec: {containers: [{name: log}]}", "spec.template.spec.containers[0]: container log has no image"),
        ("  spec: {initContainers: [{name: a, image: x}, {name: b}]}", "initContainers[1]: container b has no image"),
        (
            "  spec: {containers: [{name: main, volumeMounts: [{name: a, mountPath: /a}]}]}",
            "spec.template.spec.containers[0].volumeMounts[0].name: there is no volume a, add it to spec.volumes",
        ),
        (
            (
                "  spec:\n    volumes: [{name: scratch, emptyDir: {}}]\n    containers:\n"
                "      - {name: log, image: x, volumeMounts: [{name: scrach, mountPath: /a}]}"
            ),
            "there is no volume scrach, did you mean scratch?",
        ),
    ],
)
def test_what_the_merged_template_lacks_is_named(template: str, says: str) -> None:
    found = complaint(template)
    assert says in found
    assert found.startswith("e.yaml:")


def test_the_two_templates_complete_each_other() -> None:
    log = {"name": "log", "volumeMounts": [{"name": "scratch", "mountPath": "/a"}]}
    group = {"spec": {"containers": [log], "volumes": [{"name": "scratch", "emptyDir": {}}]}}
    types = {"worker": {"resources": {"ramRatio": 2}, "template": group}}
    parse_experiment(whole({"spec": {"containers": [{"name": "log", "image": "x"}]}}, types=types))
    with pytest.raises(SpecError, match=r"spec\.types\.worker\.template\.spec\.containers\[0\]: container log has no"):
        parse_experiment(whole({}, types=types))


def test_a_missing_part_is_named_in_the_types_of_every_operator() -> None:
    template = {"spec": {"containers": [{"name": "log"}]}}
    size = {"resources": {"ramRatio": 2}}
    ray = {"Head": size, "Workers": [{"name": "a", **size}, {"name": "b", **size, "template": template}]}
    with pytest.raises(SpecError, match=r"spec\.types\.Workers\[1\]\.template\.spec\.containers\[0\]: "):
        parse_experiment(whole({}, operator="kuberay", types=ray))
    jobs = {"a": size, "b": {**size, "template": template}}
    with pytest.raises(SpecError, match=r"spec\.types\.b\.template\.spec\.containers\[0\]: "):
        parse_experiment(whole({}, operator="jobset", types=jobs))


def test_the_volumes_that_muster_adds_may_be_mounted() -> None:
    mounts = "volumeMounts: [{name: shm, mountPath: /shm}, {name: claim-0, mountPath: /data}]"
    load_manifest(written(f"  spec: {{containers: [{{name: log, image: x, {mounts}}}]}}"))


@pytest.mark.parametrize("place", ["spec", "type"])
def test_an_aichor_manifest_has_no_template(place: str) -> None:
    worker = "{resources: {ramRatio: 2}, template: {}}" if place == "type" else "{resources: {ramRatio: 2}}"
    text = f"spec:\n  operator: jax\n  image: a\n  command: b\n  types:\n    worker: {worker}\n"
    with pytest.raises(ManifestError) as raised:
        load_manifest(text + ("  template: {}\n" if place == "spec" else ""), filename="m.yaml")
    assert "kind: Experiment, apiVersion: muster.dev/v1alpha1" in str(raised.value)
    assert str(raised.value).startswith("m.yaml:7:3:" if place == "spec" else "m.yaml:6:")


def test_an_object_of_the_api_server_is_checked_the_same() -> None:
    with pytest.raises(SpecError, match=r"spec\.template\.spec\.hostname: Muster gives every member a host name"):
        parse_experiment(whole({"spec": {"hostname": "x"}}))
    types = {"worker": {"resources": {"ramRatio": 2}, "template": {"metadata": {"labels": {"muster.dev/epoch": "7"}}}}}
    with pytest.raises(SpecError, match=r"spec\.types\.worker\.template\.metadata\.labels\['muster\.dev/epoch'\]"):
        parse_experiment(whole({}, types=types))


def test_every_owned_field_is_refused_whatever_its_value() -> None:
    """A field whose only meaning is a refusal has no value that passes."""
    for shape, path in ((Metadata, ("metadata",)), (PodSpec, ("spec",)), (MainContainer, None)):
        for name in refused_fields(shape):
            value: Any
            for value in ("x", {}, [], None, False):
                inner = {name: value}
                template = {path[0]: inner} if path else {"spec": {"containers": [{"name": "main", **inner}]}}
                with pytest.raises(SpecError):
                    parse_experiment(whole(template))


def refused_fields(shape: type[Shape]) -> list[str]:
    found = [field.alias or name for name, field in shape.model_fields.items() if field.annotation is Any]
    assert found
    return found


def test_the_example_of_the_page_is_in_order() -> None:
    page = (Path(__file__).parents[2] / "docs" / "pod-template.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0]
    assert load_manifest(example, filename="page.yaml").warnings == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "metadata": JSON,
        "spec": JSON
        | st.dictionaries(st.sampled_from([field.alias or name for name, field in PodSpec.model_fields.items()]), JSON),
    },
)


@given(JSON | PARTS)
def test_any_json_is_a_template_or_a_spec_error(template: Any) -> None:
    try:
        kept = parse_experiment(whole(template)).spec.template
    except SpecError:
        return
    assert kept == template
