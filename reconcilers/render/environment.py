"""The environment of a member: the injected variables, in the order in which ``$(NAME)`` can refer to earlier ones.

The command of a member, so that the shell gets what the researcher wrote.

AIchor's ``spec.command`` is one shell line (its manifests use ``&&``, pipes and ``$VARIABLES``), so it is handed to
``/bin/sh -c``: the one shell that every image with a shell has. Splitting the line ourselves
would need a second, subtly different shell.

Before a container starts, the kubelet rewrites its command (kubernetes:
third_party/forked/golang/expansion/expand.go): ``$(NAME)`` becomes the value of a variable of the container and stays
as it is where there is no such variable; ``$$`` becomes ``$``; and a ``$`` before a character beyond ASCII breaks
that character. The first is documented and useful (``--coordinator $(JAXOPERATOR_COORDINATOR_ADDRESS)`` works as it
does on AIchor) and is kept. The other two would silently turn ``echo $$ > pid`` into ``echo $ > pid``; a doubled
``$`` undoes them.
"""

import re
from dataclasses import dataclass
from typing import assert_never

import msgspec

from muster.state.plan import Group, Plan
from muster.state.pod_spec import Env, Source

Cell = str | msgspec.Raw
"""A member-specific text, or the slot in a template where it will stand."""


@dataclass(frozen=True, slots=True)
class Place:
    """All that differs between the pods of one group and epoch."""

    name: Cell
    hostname: Cell
    job: Cell
    pod: Cell
    rank: Cell
    global_job: Cell
    """The job's index among the jobs of all groups."""


def environment(plan: Plan, group: Group, epoch: int, place: Place) -> list[dict[str, object]]:
    """core/v1 EnvVars, each name once.

    Of a repeated name the last one stays, at its own place: Kubernetes would let it win as well, and a
    doubled name is rejected by server-side apply.
    """
    wanted: dict[str, Env] = {}
    for env in group.env:
        wanted.pop(env.name, None)
        wanted[env.name] = env
    return [_variable(env, plan, epoch, place) for env in wanted.values()]


def _variable(env: Env, plan: Plan, epoch: int, place: Place) -> dict[str, object]:
    value: Cell
    match env.source:
        case Source.LITERAL:
            value = env.value
        case Source.RANK:
            value = place.rank
        case Source.EPOCH:
            value = str(epoch)
        case Source.JOB_INDEX:
            value = place.job
        case Source.POD_INDEX:
            value = place.pod
        case Source.JOB_GLOBAL_INDEX:
            value = place.global_job
        case Source.COORDINATOR_HOST:
            value = plan.coordinator_host(epoch)
        case Source.POD_IP:
            return {"name": env.name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}
        case _:
            assert_never(env.source)
    return {"name": env.name, "value": value}


# The kubelet looks for the first ")" after "$(" and leaves what is between alone, so nothing in there may be doubled.
_REWRITTEN = re.compile(r"(\$\([^)]*\))|\$(\$|(?=[^\x00-\x7f]))")


def shell(line: str) -> list[str]:
    """The container command that runs ``line`` as it was written, but for ``$(NAME)`` of injected variables."""
    return ["/bin/sh", "-c", _REWRITTEN.sub(lambda found: found[1] or "$$" + 2 * found[2], line)]
