"""JobSets, as Muster runs them, and warnings about those that are valid and do not do what their author expects."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from muster.api.manifest.error_text import Loc, position
from muster.api.manifest.problems import Problem, path
from muster.api.manifest.yaml.reader import Node, plain
from muster.kinds.declaration.run_kind import RunKind
from muster.kinds.jobset import plan, status
from muster.kinds.jobset.checks import parse_jobset
from muster.state.vocabulary.subject import JOBSET

_AUTOMATIC: Final = re.compile(r"jax\.distributed\.initialize\(\s*\)")
"""JAX finds its cluster by itself (jax: _src/clusters/k8s_cluster.py): the Job of its own pod, and nothing else."""


def traps_of(node: Node, file: str) -> tuple[Problem, ...]:
    """The traps of a JobSet, each with its place."""
    document = plain(node)
    spec = _mapping(document.get("spec") if isinstance(document, Mapping) else None)
    return tuple(Problem(file, *position(node, loc), path(loc), *said) for loc, *said in _found(spec))


def _found(spec: Mapping[str, Any]) -> Iterator[tuple[Loc, str, str]]:
    jobs = [_mapping(each) for each in _list(spec.get("replicatedJobs"))]
    where: Loc = ("spec", "replicatedJobs")
    if not jobs:
        yield ("spec",), "a JobSet without replicated jobs never completes", "write replicatedJobs"
    replicas = [each.get("replicas", 1) for each in jobs]
    several = sum(each for each in replicas if isinstance(each, int)) > 1
    for number, job in enumerate(jobs):
        pod = _mapping(_mapping(_mapping(_mapping(job.get("template")).get("spec")).get("template")).get("spec"))
        place: Loc = (*where, number, "template", "spec", "template", "spec")
        priority = pod.get("priority")
        if isinstance(priority, int) and priority < 0:
            message = "JobSet writes a negative priority into a label, which makes its pods invalid"
            yield (*place, "priority"), message, "set priorityClassName"
        for count, container in enumerate(map(_mapping, _list(pod.get("containers")))):
            words = [*_list(container.get("command")), *_list(container.get("args"))]
            if not any(isinstance(word, str) and _AUTOMATIC.search(word) for word in words):
                continue
            hint = "pass coordinator_address, num_processes and process_id, or run it as a JAXJob or Experiment"
            at = (*place, "containers", count)
            if several:
                yield at, "jax.distributed.initialize() without arguments makes a cluster of each Job", hint
            if _mapping(spec.get("network")).get("subdomain"):
                yield (
                    at,
                    "jax.distributed.initialize() without arguments looks in the domain of the JobSet's name",
                    hint,
                )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


DECLARED: Final = (
    RunKind(
        JOBSET,
        ("spec", "managedBy"),
        parse_jobset,
        plan.plan_of,
        status.status_of,
        plan.with_sizes,
        install="install the CRD of JobSet v0.10 or later (its controller need not run)",
        by_phase=True,
        traps=traps_of,
        ended=status.ENDED,
        refused=status.refused,
    ),
)
