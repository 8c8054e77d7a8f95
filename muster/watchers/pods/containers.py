"""The containers of a pod: why they wait, whether they ran, and how the member ended.

Container ``main`` is the member's own, and its exit is the member's result: a sidecar that runs longer, is killed
later, or fails beside it changes nothing. A failure of ``main`` counts at once; it does not wait for the pod's phase,
which follows only when every container has ended.

Two kinds of container never count when they fail: an init container that the kubelet starts again, and a native sidecar
(a restartable init container, KEP-753), which the kubelet kills when the regular containers have ended.
"""

import re
from collections.abc import Iterable, Iterator
from sys import intern
from typing import Final

import msgspec

from muster.api.names import CONTAINER
from muster.api.values.printable import MESSAGE, clean, word
from muster.api.values.secrets import NO_SECRETS, Secrets
from muster.api.values.secrets import secrets_of as secrets_in
from muster.api.values.termination_message import words
from muster.api.values.timestamps import seconds_of
from muster.state.vocabulary.pod import PATIENT, Exit, PodPhase
from muster.watchers.pods.document import ContainerStatus, Spec, Status, Terminated

NOT_PULLED: Final = frozenset(("ErrImagePull", "ImagePullBackOff"))
PULL_BACK_OFF: Final = "ImagePullBackOff"
"""The reason that is used for both."""
LONGEST_PULL: Final = 4096
_BACK_OFF: Final = re.compile(r'Back-off pulling image "([^"\s]{1,300})"(?:: (?:ErrImagePull: )?(.+))?\Z', re.DOTALL)
_RPC: Final = re.compile(r"rpc error: code = \w{1,40} desc = ")
_PULL: Final = re.compile(r'failed to pull (?:and unpack )?image "([^"\s]{1,300})": ')
_RESOLVE: Final = re.compile(r'failed to resolve reference "[^"\s]{1,300}": ')


def pull_problem(message: str | None, image: str | None) -> str:
    """Return ``image "registry/typo:1": not found``, or the message itself if the kubelet reports only a wait.

    The text is the same in both states between which a kubelet alternates. A container waits in ErrImagePull during a
    try, and in ImagePullBackOff between two tries, whose message repeats that of the try (kubernetes:
    pkg/kubelet/images/image_manager.go). containerd's own repeats the image up to three times.
    """
    text = (message or "")[:LONGEST_PULL]
    if waits := _BACK_OFF.match(text):
        image, text = waits[1], waits[2] or ""
    text = _RPC.sub("", text, count=1)
    if found := _PULL.match(text):
        image, text = found[1], text[found.end() :]
    text = _RESOLVE.sub("", text, count=1)
    if not text.strip():
        return clean(message, MESSAGE)
    if not image:
        return clean(text, MESSAGE)
    return clean(f'image "{image[:300]}": {text.removeprefix(f"{image}: ")}', MESSAGE)


def secrets_of(spec: Spec | None) -> Secrets:
    """Return the secrets of all containers of the pod: looked up only if a container has a message."""
    if spec is None:
        return NO_SECRETS
    own = msgspec.json.decode(spec.containers)
    inits = [
        {"env": msgspec.json.decode(each.env), "envFrom": msgspec.json.decode(each.envFrom)}
        for each in spec.initContainers or ()
    ]
    return secrets_in({"containers": own, "initContainers": inits})


_RETRIED = frozenset(("Always", "OnFailure"))
"""Restart policies of an init container that the kubelet starts again after a failure; Always makes it a sidecar."""

PROGRAMS = frozenset((CONTAINER, "jax", "node", "pytorch", "tensorflow", "xgboost"))
"""Names that Muster and Kubeflow give to the container of the program."""
BESIDE = frozenset(
    (
        *("cloud-sql-proxy", "fluent-bit", "gke-gcsfuse-sidecar", "istio-proxy", "linkerd-proxy"),
        *("metrics-logger-and-collector", "vault-agent"),
    )
)
"""Names of containers that others add to a pod: proxies of service meshes, agents, the metrics collector of Katib."""
_HELPS = frozenset(
    (
        "collector",
        "envoy",
        "exporter",
        "filebeat",
        "fluent",
        "fluentbit",
        "fluentd",
        "logger",
        "otel",
        "proxy",
        "sidecar",
    )
)
"""Words in the names of containers that serve a program."""
_INT32 = 2**31 - 1
UNHEALTHY = "Unhealthy"
MOST_RESOURCES = 16
MOST_DEVICES = 64
"""Most resources of a container, and devices of each, that are read."""
MOST_OF_NAME = 100
"""Most characters of a name."""


class Survey(msgspec.Struct, frozen=True, gc=False):
    """The states of a pod's containers, collected in one pass."""

    started: bool = False
    """True if the main container runs or ran (any regular container, in a pod without ``main``)."""
    waiting: bool = False
    """True if some container waits."""
    ended: bool = False
    """True if some container ended, now or before it was restarted."""
    since: str | None = None
    """The start of the main container that runs (in a pod without ``main``: of the first one)."""


_NO_CONTAINERS = Survey()


def survey(status: Status) -> Survey:
    """Collect the states; most pods then need neither ``waiting_of`` nor ``first_exit``."""
    if not status.containerStatuses and not status.initContainerStatuses:
        return _NO_CONTAINERS
    main: bool | None = None
    started = waiting = ended = False
    since: str | None = None
    for container in status.containerStatuses or ():
        state, last = container.state, container.lastState
        ran = last is not None and last.terminated is not None
        ended = ended or ran
        if state is not None:
            if state.running is not None:
                ran = True
                if since is None or container.name == CONTAINER:
                    since = state.running.startedAt
            elif state.terminated is not None:
                ran = ended = True
            elif state.waiting is not None:
                waiting = True
        started = started or ran
        if container.name == CONTAINER:
            main = ran
    for container in status.initContainerStatuses or ():
        if container.state is not None:
            waiting = waiting or container.state.waiting is not None
            ended = ended or container.state.terminated is not None
    return Survey(started if main is None else main, waiting, ended, since)


def waiting_of(status: Status) -> tuple[str, str]:
    """Return reason and message of the container that the others wait for; empty if none waits."""
    found = ("", "")
    for container in (*(status.initContainerStatuses or ()), *(status.containerStatuses or ())):
        waiting = container.state.waiting if container.state is not None else None
        if waiting is None:
            continue
        reason = waiting.reason or ""
        if reason in NOT_PULLED:
            return PULL_BACK_OFF, pull_problem(waiting.message, container.image)
        if reason not in PATIENT:
            return word(reason), clean(waiting.message, MESSAGE)
        if not found[0]:
            found = word(reason), clean(waiting.message, MESSAGE)
    return found


def holder_of(spec: Spec | None, status: Status, *, started: bool) -> str:
    """Return the container that blocks the member without being its own: ``init container fetch``, ``sidecar proxy``.

    Before the program runs it is the current init container; beside it, a container that does not keep running.
    """
    sidecars = {each.name for each in (spec.initContainers if spec else None) or () if each.restartPolicy == "Always"}
    for container in status.initContainerStatuses or ():
        state = container.state
        if state is None or (state.terminated is not None and _code(state.terminated) == 0):
            continue
        if state.waiting is not None and (state.waiting.reason or "") in PATIENT:
            return ""
        kind = "sidecar" if container.name in sidecars else "init container"
        if kind == "sidecar" and state.running is not None:
            continue
        if not started or state.waiting is not None:
            return intern(f"{kind} {word(container.name)}")
    if not started:
        return ""
    regular = status.containerStatuses or []
    own = CONTAINER if any(each.name == CONTAINER for each in regular) else regular[0].name if regular else ""
    for container in regular:
        waiting = container.state.waiting if container.state is not None else None
        if waiting is not None and container.name != own and (waiting.reason or "") not in PATIENT:
            return intern(f"sidecar {word(container.name)}")
    return ""


def outlived_by(status: Status) -> str:
    """Return the container that keeps the pod after its program has ended with 0; empty without one.

    Only names show which regular container is the program: one of the names that frameworks give it, else the one
    beside helpers with known names (proxies, agents, collectors). For other names the result is empty.
    """
    ended, runs = set[str](), list[str]()
    for container in status.containerStatuses or ():
        state, name = container.state, container.name or ""
        if state is not None and state.running is not None:
            runs.append(name)
        elif state is None or state.terminated is None or _code(state.terminated) != 0:
            return ""
        else:
            ended.add(name)
    if not ended or not runs or not PROGRAMS.isdisjoint(runs):
        return ""
    known = not PROGRAMS.isdisjoint(ended) or (all(map(_helps, runs)) and not any(map(_helps, ended)))
    return intern(word(min(runs))) if known else ""


def _helps(name: str) -> bool:
    return name in BESIDE or not _HELPS.isdisjoint(name[:63].lower().split("-"))


def restarted_in_place(spec: Spec | None) -> bool:
    """Return True if the kubelet restarts containers of the pod, so that the end of one is not that of the member."""
    return spec is not None and spec.restartPolicy in _RETRIED


def unhealthy_of(status: Status) -> str:
    """Return ``nvidia.com/gpu GPU-8f2a``: a device that its plugin reports as Unhealthy, and the number of others.

    Unknown does not count: a plugin that is started again reports it for a moment (KEP-4680).
    """
    if not status.containerStatuses:
        return ""
    found: dict[str, None] = {}
    for container in status.containerStatuses:
        if container.allocatedResourcesStatus is None:
            continue
        for resource in container.allocatedResourcesStatus[:MOST_RESOURCES]:
            for device in (resource.resources or ())[:MOST_DEVICES]:
                if device.health == UNHEALTHY:
                    name = clean(resource.name, MOST_OF_NAME)
                    found[f"{name} {clean(device.resourceID, MOST_OF_NAME)}"] = None
    if not found:
        return ""
    first = min(found)
    return intern(f"{first} and {len(found) - 1} more" if len(found) > 1 else first)


def restarts_of(status: Status) -> int:
    """Return how often containers of the pod were started again (kubernetes: pkg/controller/job, getRestartCount)."""
    return sum(max(0, _bounded(each.restartCount)) for each in _all_of(status))


def _all_of(status: Status) -> tuple[ContainerStatus, ...]:
    return (*(status.containerStatuses or ()), *(status.initContainerStatuses or ()))


def last_exit_of(spec: Spec | None, status: Status) -> Exit | None:
    """Return the last end of a container that was started again, or will be once more; None if none is reported."""
    ends = (
        (each, state.terminated)
        for each in _all_of(status)
        if _bounded(each.restartCount) > 0
        for state in (each.lastState, each.state)
        if state is not None and state.terminated is not None
    )
    return _last(spec, ends)


def exit_by_phase(spec: Spec | None, status: Status, phase: PodPhase) -> Exit | None:
    """Return how a member ended whose pod is judged by its phase, as the Job controller does; None before its end.

    No container is the member's own: the pod has failed when any of them has, and not before all have ended.
    """
    if phase is PodPhase.SUCCEEDED:
        return _last(spec, _regular_ends(status, phase))
    return _first_failure(spec, status, phase, others=True) if phase is PodPhase.FAILED else None


def first_exit(spec: Spec | None, status: Status, phase: PodPhase) -> Exit | None:
    """Return how the member ended; None before its end.

    Container ``main`` decides as soon as it has ended. Before that, an init container that is not retried decides when
    it fails, and the other containers only when the pod itself has failed: the first of them to fail. A pod without
    ``main`` is judged by the first regular container to fail, and has succeeded when its phase is Succeeded.
    """
    main = next((each for each in status.containerStatuses or () if each.name == CONTAINER), None)
    if main is not None and (ended := next(_ends_of(main, phase), None)):
        return _exit(spec, main, ended)
    if phase is PodPhase.SUCCEEDED:
        return _last(spec, _regular_ends(status, phase))
    return _first_failure(spec, status, phase, others=main is None or phase is PodPhase.FAILED)


def _first_failure(spec: Spec | None, status: Status, phase: PodPhase, *, others: bool) -> Exit | None:
    failures = [end for end in _ends(spec, status, phase, others=others) if _code(end[1]) != 0]
    first = min(failures, key=lambda end: seconds_of(end[1].finishedAt) or float("inf"), default=None)
    return _exit(spec, *first) if first else None


def _last(spec: Spec | None, ends: Iterable[tuple[ContainerStatus, Terminated]]) -> Exit | None:
    """Return the last of these ends; of two in one second the one that is listed first."""
    last = max(ends, key=lambda end: seconds_of(end[1].finishedAt), default=None)
    return _exit(spec, *last) if last else None


def _ends(
    spec: Spec | None, status: Status, phase: PodPhase, *, others: bool
) -> Iterator[tuple[ContainerStatus, Terminated]]:
    """Yield the ends that count: of regular containers (``others``), and of init containers that are not retried."""
    if others:
        yield from _regular_ends(status, phase)
    if spec is None or spec.restartPolicy != "Never" or not status.initContainerStatuses:
        return
    retried = {init.name for init in spec.initContainers or () if init.restartPolicy in _RETRIED}
    for container in status.initContainerStatuses:
        if container.name not in retried and container.state is not None and container.state.terminated is not None:
            yield container, container.state.terminated


def _regular_ends(status: Status, phase: PodPhase) -> Iterator[tuple[ContainerStatus, Terminated]]:
    for container in status.containerStatuses or ():
        for ended in _ends_of(container, phase):
            yield container, ended


def _ends_of(container: ContainerStatus, phase: PodPhase) -> Iterator[Terminated]:
    """Yield the ends of one container. A failure before a restart (lastState) counts unless the pod succeeded."""
    last = container.lastState.terminated if container.lastState is not None else None
    if last is not None and _code(last) != 0 and phase is not PodPhase.SUCCEEDED:
        yield last
    if container.state is not None and container.state.terminated is not None:
        yield container.state.terminated


def _exit(spec: Spec | None, container: ContainerStatus, ended: Terminated) -> Exit:
    last = words(ended.message, ended.reason, secrets_of(spec) if ended.message else NO_SECRETS)
    return Exit(
        container=word(container.name),
        code=_code(ended),
        signal=_bounded(ended.signal),
        reason=word(ended.reason),
        message=last.text,
        finished_at=seconds_of(ended.finishedAt),
        started_at=seconds_of(ended.startedAt),
        explains=last.explains,
        last_line=last.last_line,
        raised_at=last.raised_at,
        child=last.child,
    )


def _code(ended: Terminated) -> int:
    return _bounded(ended.exitCode)


def _bounded(number: int | None) -> int:
    return max(-_INT32, min(number, _INT32)) if number is not None else 0
