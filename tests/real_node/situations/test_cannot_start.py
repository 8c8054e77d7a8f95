"""What keeps a member from starting, in the words of a real kubelet: images, configuration, volumes, commands."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.real.core import with_core
from tests.real.namespace import SLOW, Object
from tests.real_node.addresses import HOST, PRIVATE_REGISTRY, REGISTRY, SLOW_REGISTRY
from tests.real_node.registry import pull_secret
from tests.real_node.site import Site
from tests.real_node.slow_registry import slow_registry

pytestmark = pytest.mark.timeout(400)


def main(**container: Any) -> Object:
    """A template that changes the member's container."""
    return {"template": {"spec": {"containers": [{"name": "main", **container}]}}}


def volume(**source: Any) -> Object:
    """A template with a volume at /data."""
    mounts = [{"name": "data", "mountPath": "/data"}]
    volumes = [{"name": "data", **source}]
    return {"template": {"spec": {"volumes": volumes, "containers": [{"name": "main", "volumeMounts": mounts}]}}}


def spec(**pod: Any) -> Object:
    """A template that changes the pod."""
    return {"template": {"spec": pod}}


def from_object(kind: str, name: str, key: str) -> Object:
    """A variable of the member's container from a key of a Secret or ConfigMap."""
    return main(env=[{"name": "VALUE", "valueFrom": {kind: {"name": name, "key": key}}}])


def beside(name: str, image: Callable[[Site], str], command: str, **more: Any) -> Callable[[Site], Object]:
    """A template with one more init container, which is a sidecar with `restartPolicy: Always`."""
    return lambda here: spec(
        initContainers=[{"name": name, "image": image(here), "command": ["sh", "-c", command], **more}]
    )


def base(here: Site) -> str:
    return here.nodes.images["base"]


def private(here: Site, secret: str = "") -> Object:
    """The image of the registry that wants a pull secret, with the one of that name."""
    secrets = spec(imagePullSecrets=[{"name": secret}]) if secret else {}
    return {"image": base(here).replace(REGISTRY, PRIVATE_REGISTRY), **secrets}


@dataclass(frozen=True, slots=True)
class Fault:
    """One row: what is wrong, what Muster says, and how the condition Stuck calls it."""

    happens: str
    change: Object | Callable[[Site], Object]
    says: str
    """Of the sentence (phase, reason, message) of a run whose members wait."""
    stuck: str = ""
    """The reason of the condition Stuck; empty where the run fails by itself."""
    command: str = "sleep 600"
    before: tuple[Object, ...] = field(default=())
    """Objects that are there first."""

    def changed(self, here: Site) -> Object:
        return self.change(here) if callable(self.change) else self.change


CONFIG: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "present"}, "data": {"other": "1"}}
FAULTS = {
    "tag": Fault("the image's tag does not exist", {"image": f"{REGISTRY}/base:no-such-tag"},
        r"ranks 0-1: the image \S+base:no-such-tag cannot be pulled .*not found", "ImagePullBackOff"),
    "repository": Fault("the image does not exist", {"image": f"{REGISTRY}/no-such-image:1"},
        r"no-such-image:1.*not found", "ImagePullBackOff"),
    "registry": Fault("the registry's name does not exist", {"image": "registry.invalid:5000/base:1"},
        r"registry\.invalid.*(no such host|server misbehaving|connection refused|lookup)", "ImagePullBackOff"),
    "closed": Fault("the registry is not there: connection refused", {"image": f"{HOST}:5999/base:1"},
        r":5999.*connection refused", "ImagePullBackOff"),
    "secretless": Fault("the registry wants a pull secret, and the pod has none", private,
        r"(401|no basic auth|authorization failed)", "ImagePullBackOff"),
    "wrong secret": Fault("the pull secret has a wrong password", lambda here: private(here, "pull"),
        r"(401|no basic auth|authorization failed)", "ImagePullBackOff", before=(pull_secret("pull", "guessed"),)),
    "name": Fault("the image's name is none", {"image": "Base:1:2"}, r"InvalidImageName", "InvalidImageName"),
    "never": Fault("imagePullPolicy Never, and the image is not on the node",
        {"image": f"{REGISTRY}/never:1", **main(imagePullPolicy="Never")}, r"ErrImageNeverPull", "ErrImageNeverPull"),
    "secret": Fault("a Secret of a variable is missing", from_object("secretKeyRef", "absent", "key"),
        r'CreateContainerConfigError .*secret "absent" not found', "CreateContainerConfigError"),
    "config": Fault("a ConfigMap of a variable is missing", from_object("configMapKeyRef", "absent", "key"),
        r'CreateContainerConfigError .*configmap "absent" not found', "CreateContainerConfigError"),
    "key": Fault("a ConfigMap has not the key of a variable", from_object("configMapKeyRef", "present", "key"),
        r"CreateContainerConfigError .*couldn't find key key in ConfigMap", "CreateContainerConfigError",
        before=(CONFIG,)),
    "root": Fault("runAsNonRoot, and the image's user is root", spec(securityContext={"runAsNonRoot": True}),
        r"CreateContainerConfigError .*(runAsNonRoot|non-root)", "CreateContainerConfigError"),
    "seccomp": Fault("a seccomp profile that is not on the node",
        main(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "absent.json"}}),
        r"CreateContainerError .*(absent\.json|seccomp)", "CreateContainerError"),
    "directory": Fault("a mounted Secret is missing", volume(secret={"secretName": "absent"}),
        r"^Pending SandboxNotReady 0/2 programs have started; ranks 0-1: no volumes or no network yet",
        "SandboxNotReady"),
    "map": Fault("a mounted ConfigMap is missing", volume(configMap={"name": "absent"}),
        r"^Pending SandboxNotReady 0/2 programs have started; ranks 0-1: no volumes or no network yet",
        "SandboxNotReady"),
    "host": Fault("a directory of the node is missing",
        volume(hostPath={"path": "/no/such/directory", "type": "Directory"}),
        r"^Pending SandboxNotReady 0/2 programs have started; ranks 0-1: no volumes or no network yet",
        "SandboxNotReady"),
    "claim": Fault("a PersistentVolumeClaim is missing", volume(persistentVolumeClaim={"claimName": "absent"}),
        r'Unschedulable.*persistentvolumeclaim "absent" not found', "Unschedulable"),
    "memory": Fault("more memory than any node has",
        {"types": {"worker": {"completions": 2, "parallelisms": 2, "resources": {"cpus": 0.05, "ramRatio": 90000}}}},
        r"Unschedulable.*Insufficient memory", "Unschedulable"),
    "init": Fault("an init container's image does not exist", beside("fetch", lambda _: f"{REGISTRY}/absent:1", "true"),
        r"ranks 0-1: the image \S+absent:1 cannot be pulled", "ImagePullBackOff"),
}  # fmt: skip


@pytest.mark.parametrize("fault", with_core(FAULTS, "tag", "secret", "init"))
async def test_a_member_that_cannot_start_is_reported_in_the_kubelets_words(here: Site, fault: str) -> None:
    what = FAULTS[fault]
    if what.before:
        await here.apply(*what.before)
    here.row.happens(what.happens)
    await here.submit("run", what.command, **what.changed(here))
    await here.is_stuck("run", what.stuck, what.says, 2 * SLOW)
    said, took = here.row.said, here.row.seconds
    now = {"after": "1s", "action": "Restart"}
    await here.change("run", clocks={"pending": now, "starting": now})
    seen = await here.until("run", lambda seen: seen.status.epoch > 0, SLOW)
    here.row.said, here.row.seconds = f"{said}; {'charged' if seen.status.restarts else 'not charged'} by a clock", took
    assert seen.status.restarts, "the owner asked for that restart"


async def test_a_registry_that_is_slow_is_no_fault(here: Site) -> None:
    image = {"image": base(here).replace(REGISTRY, SLOW_REGISTRY)}
    async with slow_registry() as answers:
        here.row.happens("the registry does not answer for a while: the image is being pulled")
        await here.submit("run", **image)
        await here.says("run", "^Pending Pending starting 2 members", SLOW)
        said, took = here.row.said, here.row.seconds
        await here.never("run", lambda seen: seen.holds("Stuck"), 30)
        assert "ranks 0-1: the container is being created" in await here.muster("explain", "run")
        answers.set()
        await here.phase("run", "Running")
    here.row.said, here.row.seconds = f"{said}; explain: the container is being created; then: Running", took


async def test_a_sidecar_that_fails_is_named(here: Site) -> None:
    here.row.happens("a native sidecar ends with 3 again and again")
    await here.submit("run", **beside("metrics", base, "exit 3", restartPolicy="Always")(here))
    await here.says("run", r"0/2 members are ready; .*metrics", SLOW)


async def test_an_init_container_that_never_ends_is_named(here: Site) -> None:
    here.row.happens("an init container never ends")
    await here.submit("run", **beside("fetch", base, "sleep 3600")(here))
    named = "init container fetch has not ended"
    await here.says("run", rf"^Pending InitContainerRuns 0/2 programs have started; ranks 0-1: {named}", SLOW)
    assert named in await here.muster("explain", "run")


ENDS = {
    "shell": Fault("the image has no shell: the runtime cannot start the command",
        lambda here: {"image": here.nodes.images["pause"]},
        r"^Failed .* ended with exit code 128, StartError on node node-\d+: .*/bin/sh: no such file"),
    "command": Fault("a command that the shell does not find ends with 127", {},
        r"^Failed .* ended with exit code 127 on node .*not found", command="no-such-program"),
    "permission": Fault("a command that is no program ends with 126", {},
        r"^Failed .* ended with exit code 126 on node .*Permission denied", command="/etc/hostname"),
    "init fails": Fault("an init container ends with 3", beside("fetch", base, "exit 3"),
        r"^Failed .*rank \d .* ended with exit code 3 in container fetch on node"),
    "hook": Fault("a postStart hook fails",
        main(lifecycle={"postStart": {"exec": {"command": ["sh", "-c", "exit 9"]}}}),
        r"^(Restarting|Failed) .*(PostStartHookError|137)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", with_core(ENDS, "shell", "hook"))
async def test_a_start_that_fails_is_charged_to_the_experiment(here: Site, fault: str) -> None:
    what = ENDS[fault]
    here.row.happens(what.happens)
    await here.submit("run", what.command, restartPolicy={"backoffLimit": 0}, **what.changed(here))
    await here.says("run", what.says, SLOW)
    seen = await here.phase("run", "Failed")
    here.row.said += f"; {seen.reason}"
