"""What the containers of a pod tell: why they wait, whether they ran, which of them failed first.

The first container to fail is the cause of what follows; its siblings, killed or cut off, are consequences. Two kinds
of container do not count when they fail: an init container that the pod's restart policy will simply run again, and a
sidecar (a restartable init container, KEP-753), which the kubelet restarts while the pod lives and kills when it ends.
"""

from collections.abc import Iterator

import msgspec

from muster.api.names import CONTAINER
from muster.api.values.printable import MESSAGE, clean, word
from muster.api.values.timestamps import seconds_of
from muster.state.pod import Exit, PodPhase
from muster.watchers.pods.document import ContainerStatus, Spec, Status, Terminated

_PATIENT = frozenset(("ContainerCreating", "PodInitializing", ""))
"""Reasons for waiting that pass by themselves."""

_INT32 = 2**31 - 1


class Survey(msgspec.Struct, frozen=True, gc=False):
    """What the containers of a pod are at, taken in one pass."""

    started: bool = False
    """The main container runs or ran (any regular container, in a pod that has no ``main``)."""
    waiting: bool = False
    """Some container waits."""
    ended: bool = False
    """Some container ended, now or before it was restarted."""


_NOBODY = Survey()


def survey(status: Status) -> Survey:
    """A first look, so that the rest is asked only of pods that have it to tell."""
    if not status.containerStatuses and not status.initContainerStatuses:
        return _NOBODY
    main: bool | None = None
    started = waiting = ended = False
    for container in status.containerStatuses or ():
        state, last = container.state, container.lastState
        ran = last is not None and last.terminated is not None
        ended = ended or ran
        if state is not None:
            if state.running is not None:
                ran = True
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
    return Survey(started if main is None else main, waiting, ended)


def waiting_of(status: Status) -> tuple[str, str]:
    """Reason and message of the container that holds the others up; empty if none waits."""
    found = ("", "")
    for container in (*(status.initContainerStatuses or ()), *(status.containerStatuses or ())):
        waiting = container.state.waiting if container.state is not None else None
        if waiting is None:
            continue
        reason = waiting.reason or ""
        if reason not in _PATIENT:
            return word(reason), clean(waiting.message, MESSAGE)
        if not found[0]:
            found = word(reason), clean(waiting.message, MESSAGE)
    return found


def first_exit(spec: Spec | None, status: Status, phase: PodPhase) -> Exit | None:
    """How the first container to fail ended, or else the last regular one to end; None while none has ended.

    In a pod that succeeded no failure counts: the API server has judged already.
    """
    failures: list[tuple[float, int, str, Terminated]] = []
    successes: list[tuple[float, int, str, Terminated]] = []
    for order, (container, ended) in enumerate(_ends(spec, status)):
        finished = seconds_of(ended.finishedAt)
        preferred = order if container.name != CONTAINER else -1
        if _code(ended) != 0:
            failures.append((finished or float("inf"), preferred, container.name or "", ended))
        else:
            successes.append((finished, -preferred, container.name or "", ended))
    if failures and phase is not PodPhase.SUCCEEDED:
        return _exit(*min(failures, key=lambda end: end[:2])[2:])
    if successes:
        return _exit(*max(successes, key=lambda end: end[:2])[2:])
    return None


def _ends(spec: Spec | None, status: Status) -> Iterator[tuple[ContainerStatus, Terminated]]:
    """The ends that count. A restarted container (lastState) counts only if it had failed."""
    for container in status.containerStatuses or ():
        last = container.lastState.terminated if container.lastState is not None else None
        if last is not None and _code(last) != 0:
            yield container, last
        if container.state is not None and container.state.terminated is not None:
            yield container, container.state.terminated
    if spec is None or spec.restartPolicy != "Never" or not status.initContainerStatuses:
        return
    sidecars = {init.name for init in spec.initContainers or () if init.restartPolicy == "Always"}
    for container in status.initContainerStatuses:
        ended = container.state.terminated if container.state is not None else None
        if ended is not None and _code(ended) != 0 and container.name not in sidecars:
            yield container, ended


def _exit(container: str, ended: Terminated) -> Exit:
    return Exit(
        container=word(container),
        code=_code(ended),
        signal=_bounded(ended.signal),
        reason=word(ended.reason),
        message=clean(ended.message, MESSAGE),
        finished_at=seconds_of(ended.finishedAt),
    )


def _code(ended: Terminated) -> int:
    return _bounded(ended.exitCode)


def _bounded(number: int | None) -> int:
    return max(-_INT32, min(number, _INT32)) if number is not None else 0
