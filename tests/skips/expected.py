"""Which skips are expected, and on which machine.

A skip is expected if a row has its reason, and the machine lacks what the row names. What CI installs itself, such as
frameworks, helm and Prometheus, has rows only for machines on which it cannot; none for an index that does not answer.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from muster.local.node.isolation.levels import Isolation, refusal


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides about skips."""

    programs: Collection[str]
    variables: Mapping[str, str]
    root: bool = True
    namespaces: bool = True
    """The kernel lets us make those of pods."""
    linux: bool = True


PROGRAMS = ("apt-get", "buildah", "debootstrap", "dpkg-deb", "go", "kubectl")
CONTROLLERS = ("JOBSET_CONTROLLER", "RAY_OPERATOR", "TRAINER_CONTROLLER")
"""Variables that name the binary of a controller of another project."""


def this_machine() -> Machine:
    """Ask this machine."""
    return Machine(
        programs={each for each in PROGRAMS if shutil.which(each)},
        variables=dict(os.environ),
        root=os.geteuid() == 0,
        namespaces=refusal(Isolation.MNT) is None and (os.geteuid() != 0 or refusal(Isolation.NETNS) is None),
        linux=sys.platform == "linux",
    )


@dataclass(frozen=True, slots=True)
class Expected:
    """A row: a pattern of the reason, and whether a machine lacks what it is about."""

    reason: str
    lacks: Callable[[Machine], bool]


def program(*names: str) -> Callable[[Machine], bool]:
    """The machine has not all of these programs."""
    return lambda machine: not set(names) <= set(machine.programs)


def variable(name: str) -> Callable[[Machine], bool]:
    """The environment does not name what only a person can have."""
    return lambda machine: not machine.variables.get(name)


def left_out(name: str) -> Callable[[Machine], bool]:
    """Who runs CI has set the variable to nothing."""
    return lambda machine: machine.variables.get(name) == ""


EXPECTED = (
    Expected(r"kubectl is not|no kubectl", program("kubectl")),
    Expected(r"is not built: make tools ALL=1 builds it", lambda _: True),
    Expected(r"^there is no Go here", program("go")),
    Expected(r"is not installed, and without apt-get and dpkg-deb", program("apt-get", "dpkg-deb")),
    Expected(r"current torch|transformers", left_out("CI_TORCH")),
    Expected(r"only root can make", lambda machine: not machine.root),
    Expected(r"^no netns on this machine", lambda machine: not (machine.root and machine.namespaces)),
    Expected(r"^no (mnt|pid namespace) on this machine", lambda machine: not machine.namespaces),
    Expected(r"in a mount namespace only", lambda machine: not machine.namespaces),
    Expected(r"^the image cannot be built here", lambda m: program("buildah", "debootstrap")(m) or not m.root),
    Expected(r"^PROMETHEUS_OPERATOR_CRDS names no", variable("PROMETHEUS_OPERATOR_CRDS")),
    *(Expected(rf"^{each} names no", variable(each)) for each in CONTROLLERS),
    Expected(r"^prctl is Linux$", lambda machine: not machine.linux),
    Expected(r"^a drawing$", lambda _: True),
)


def expected(reason: str, machine: Machine) -> bool:
    """Whether a skip for that reason is expected on that machine."""
    return any(re.search(row.reason, reason) and row.lacks(machine) for row in EXPECTED)
