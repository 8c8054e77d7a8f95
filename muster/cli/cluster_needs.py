"""Finds what a manifest needs and the cluster lacks: kinds, queues, priority classes.

Objects are looked up by name with the rights of the caller. Where it may not look, the finding reports that. No right
shows which other kinds musterd runs; only an object of the kind does.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from muster.api.errors import Forbidden, NotFound
from muster.api.names import QUEUE_LABEL
from muster.api.values.printable import printable
from muster.cli.doctor.server import APPLY_CRD, Asker
from muster.cli.manifests import Manifest
from muster.kinds.manifests.load import LoadedObject
from muster.kinds.registry import RUN_KINDS
from muster.kube.resources import custom
from muster.kube.unstructured import mapping, text
from muster.reconcilers.render.workload import API_VERSION as KUEUE_VERSION
from muster.reconcilers.render.workload import KUEUE
from muster.state.vocabulary.subject import EXPERIMENT

SCHEDULING: Final = "scheduling.k8s.io/v1"
WORKLOAD_PRIORITY: Final = f"{KUEUE}/priority-class"


async def lacking(manifest: Manifest, asker: Asker, namespace: str) -> AsyncIterator[str]:
    """Yield a sentence for each thing that is missing or unreadable. Raises ``ApiError`` without a server."""
    plan = manifest.plan(name=manifest.stable_name(), namespace=namespace)
    subject = plan.subject
    if subject.plural not in (await asker.served(subject.api_version) or ()):
        install = APPLY_CRD if subject == EXPERIMENT else RUN_KINDS[subject.kind].install
        yield f"the cluster has no kind {subject.kind}: {install}"
    if subject != EXPERIMENT:
        yield (
            f"whether musterd runs {subject.kind} objects cannot be seen from here: "
            f"its setting run-kinds must have {subject.plural}"
        )
    labels, wanted = _labels(manifest), dict[str, str]()
    if (queue := labels.get(QUEUE_LABEL)) and "workloads" not in (await asker.served(KUEUE_VERSION) or ()):
        yield f"the label {QUEUE_LABEL} needs Kueue 0.15 or later, and the cluster has no {KUEUE_VERSION}: install it"
    elif queue:
        wanted[custom(KUEUE_VERSION, namespace, "localqueues", queue)] = f"LocalQueue {queue} in namespace {namespace}"
        if name := labels.get(WORKLOAD_PRIORITY):
            wanted[custom(KUEUE_VERSION, None, "workloadpriorityclasses", name)] = f"WorkloadPriorityClass {name}"
    names = {text(mapping(mapping(group.template).get("spec")), "priorityClassName") for group in plan.groups}
    for name in sorted(names - {""}):
        wanted[custom(SCHEDULING, None, "priorityclasses", name)] = f"PriorityClass {name}"
    for path, what in wanted.items():
        try:
            await asker.get(path)
        except NotFound:
            yield printable(f"there is no {what}: create it, or name another")
        except Forbidden:
            yield printable(f"you may not read {what}, so it was not looked up")


def _labels(manifest: Manifest) -> Mapping[str, Any]:
    loaded = manifest.loaded
    if isinstance(loaded, LoadedObject):
        return mapping(mapping(loaded.document.get("metadata")).get("labels"))
    return loaded.labels
