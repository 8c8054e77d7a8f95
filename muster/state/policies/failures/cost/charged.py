"""Who is charged for the end of a gang whose members gave up waiting: by the row of the cause that kept it.

A restart for a cause of the *user* (a program that never calls the coordinator, an image that does not exist) uses one
unit of ``restartPolicy.backoffLimit``. One for a cause of the *platform* (no node, a queue, a node that is cut off, a
process that is frozen) is a disruption: it costs nothing of the budget, and disruptions in a row wait longer each time,
are called stuck, and end the experiment after ``maxDisruptions`` (``failures.cost.disruptions``).

Causes without a charge end a member by themselves (a crash, an eviction), or follow from another one.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from muster.state.facts.causes.cause import Charge, MissingCause
from muster.state.facts.causes.table import CAUSES

COORDINATOR_LOST: Final = "CoordinatorLost"
NODE_NOT_READY: Final = "NodeNotReady"

CHARGES: Final[Mapping[MissingCause, Charge]] = MappingProxyType({each: each.charge for each in CAUSES if each.charge})

TO_THE_PLATFORM: Final = tuple(dict.fromkeys(each.reason for each in CHARGES.values() if each.platform))
TO_THE_USER: Final = tuple(dict.fromkeys(each.reason for each in CHARGES.values() if not each.platform))
