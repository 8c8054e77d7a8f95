"""Bugs in what is believed: forged pods, sidecars, half of a list, and what nobody has written down."""

from typing import Any

from msgspec.structs import replace

from muster.daemon.experiments.index import ExperimentIndex
from muster.kube.listwatch.decoder import ObjectList, Projection
from muster.state.policies import completion
from muster.state.view.membership import Membership
from muster.state.vocabulary.pod import Pod, PodPhase
from muster.watchers.pods import decode
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap


@bug(Hunt("clean", "forged-rank"), Hunt("clean", "forged-success"))
def every_pod_admitted() -> Swaps:
    """A pod of the experiment's namespace that names it as owner is a member, whatever its name and rank."""
    return [swap(Membership, "_admits", lambda self, pod: self._plan is not None)]


@bug(Hunt("clean", "forged-failure"), Hunt("clean", "forged-success"))
def any_namespace() -> Swaps:
    """A pod counts by its owner's uid alone, in whatever namespace it is."""
    change = ExperimentIndex.pod_changed

    def at_home(self: ExperimentIndex, old: Pod | None, new: Pod | None) -> None:
        change(self, old and _in_team(old), new and _in_team(new))

    return [
        swap(ExperimentIndex, "pod_changed", at_home),
        swap(Membership, "_admits", lambda self, pod: self._plan is not None),
    ]


def _in_team(pod: Pod) -> Pod:
    return replace(pod, namespace="team")


@bug(Hunt("clean", "sidecar-runs-on"))
@instead_of(decode, "first_exit")
def pod_phase_decides(first_exit: Any, spec: Any, status: Any, phase: PodPhase) -> Any:
    """A member has ended when all containers of its pod have."""
    return first_exit(spec, status, phase) if phase in (PodPhase.SUCCEEDED, PodPhase.FAILED) else None


@bug(Hunt("clean", "finished-pod-collected"), Hunt("crash", "finished-pod-collected"))
def done_in_memory() -> Swaps:
    """Which ranks are done is not written: only this daemon knows."""
    return [
        swap(completion, "completed", lambda context: context.record.completed),
        swap(completion, "save_at", lambda context: None),
    ]


@bug(Hunt("drop", "member-fails"), Hunt("relist", "member-fails"))
@instead_of(Projection, "page")
def first_page_only(page: Any, self: Projection[Any, Any], body: bytes) -> ObjectList[Any]:
    """A list ends after its first page."""
    return replace(page(self, body), proceed="")


@bug(Hunt("clean", "deleted"), Hunt("clean", "same-name"))
@instead_of(ExperimentIndex, "_forget")
def entry_leaked(forget: Any, self: ExperimentIndex, gone: Any) -> None:
    """The entry of an Experiment that is gone is kept."""
    entry = self.entries.get(gone.uid)
    forget(self, gone)
    if entry is not None:
        self.entries[gone.uid] = entry
