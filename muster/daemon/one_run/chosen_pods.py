"""A run as its reader states it: the selector of its pods, its operator, its coordinator's port, its size."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from muster.api.values.printable import word
from muster.kinds.declaration.watched_kind import Place, PodSource, WatchedKind
from muster.kinds.planning.watched_plan import OPERATOR, PORT, annotations_of, metadata_of
from muster.kinds.pods import LABELLED_PODS, SIZE, within
from muster.state.vocabulary.plan import Plan


def chosen_pods(selector: str) -> WatchedKind:
    """Return the kind of the pods that the selector chooses as one run: of any controller, without Muster's label."""
    name = word(selector)
    source = PodSource("pods", selector, lambda pod: Place(f"pods/{name}", *within(pod)))
    return replace(LABELLED_PODS, pods=(source,), plan_of=_chosen)


def stated(kind: WatchedKind, operator: str, port: int, ranks: int) -> WatchedKind:
    """Return the kind with an operator, a coordinator's port and a number of ranks.

    They go before the annotations of its objects, which count where an argument is empty or zero.
    """
    found = {OPERATOR: operator, PORT: str(port or ""), SIZE: str(ranks or "")}
    return replace(kind, plan_of=partial(_stated, kind.plan_of, {name: text for name, text in found.items() if text}))


def _chosen(obj: Mapping[str, Any]) -> Plan:
    plan = LABELLED_PODS.plan_of(obj)
    return replace(plan, watching=replace(plan.watching, chosen=True))


def _stated(plan_of: Callable[[Mapping[str, Any]], Plan], found: Mapping[str, str], obj: Mapping[str, Any]) -> Plan:
    annotations = {**annotations_of(obj), **found}
    return plan_of({**obj, "metadata": {**metadata_of(obj), "annotations": annotations}})
