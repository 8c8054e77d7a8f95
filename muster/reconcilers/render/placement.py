"""Where a queue's flavors put the pods: node selectors and tolerations in the plan of one launch.

They are merged over what the manifest asks for. Kueue assigns no flavor that contradicts the node selector of the
podSet, so a label of both differs only where the flavor was changed since.
"""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from muster.api.manifest.template.merge import merge
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.workload import PodSetPlacement


def placed(plan: Plan, placement: Sequence[PodSetPlacement]) -> Plan:
    """The plan with what the flavors ask of its pods; the same plan where they ask nothing."""
    by_group = {each.group: each for each in placement if each.node_selector or each.tolerations}
    if not by_group:
        return plan
    return replace(
        plan,
        groups=tuple(
            _placed(group, by_group[group.name]) if group.name in by_group else group for group in plan.groups
        ),
    )


def _placed(group: Group, where: PodSetPlacement) -> Group:
    spec: dict[str, object] = {}
    if where.node_selector:
        spec["nodeSelector"] = dict(where.node_selector)
    if where.tolerations:
        spec["tolerations"] = [msgspec.to_builtins(each) for each in where.tolerations]
    return replace(group, template=merge(group.template, {"spec": spec}))
