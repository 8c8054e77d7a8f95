"""Pods that a label selector chooses, as one run: of any controller, and without a label of Muster's."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from muster.api.values.printable import word
from muster.kinds.declaration.watched_kind import Place, PodFacts, PodSource, WatchedKind
from muster.kinds.planning.watched_plan import OPERATOR, PORT, annotations_of, metadata_of
from muster.kinds.pods import LABELLED_PODS, SIZE, within
from muster.state.vocabulary.plan import Plan


def chosen_pods(selector: str, operator: str = "", port: int = 0, ranks: int = 0) -> WatchedKind:
    """Return the kind of the chosen pods, with their operator, the coordinator's port and the number of ranks.

    An empty or zero argument is read from the annotations of the pods, as for labelled pods.
    """
    said = {OPERATOR: operator, PORT: str(port or ""), SIZE: str(ranks or "")}
    source = PodSource("pods", selector, partial(_place, word(selector)))
    return replace(LABELLED_PODS, pods=(source,), plan_of=partial(_plan, {k: v for k, v in said.items() if v}))


def _place(name: str, pod: PodFacts) -> Place:
    return Place(f"pods/{name}", *within(pod))


def _plan(said: Mapping[str, str], obj: Mapping[str, Any]) -> Plan:
    annotations = {**annotations_of(obj), **said}
    plan = LABELLED_PODS.plan_of({**obj, "metadata": {**metadata_of(obj), "annotations": annotations}})
    return replace(plan, watching=replace(plan.watching, chosen=True))
