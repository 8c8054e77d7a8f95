"""Operator ``mpi``, outside of the tree: a launcher that starts the ranks of MPI on workers that serve it.

Every member knows the hosts of all, in rank order. ``mpirun`` ends when one of its ranks is lost, so the members are
one program.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import Field

from muster.api.manifest.groups import Group, one_job
from muster.api.manifest.operators import ManifestOperator, Program, Resources
from muster.api.manifest.types.collective import Worker
from muster.api.values.fields import Shape
from muster.kinds.declaration import Operator, size_of
from muster.state.vocabulary.pod import Env, Source
from muster.state.vocabulary.rules import SuccessRule

STARTER: Final = """\
# An mpi experiment: a launcher that starts the program on all workers by ssh.
kind: AIchorManifest
apiVersion: 0.2.3
spec:
  operator: mpi
  image: registry.example.com/team/solve:1.0
  command: '[ "$MUSTER_RANK" != 0 ] && exec /usr/sbin/sshd -De; exec mpirun --host "$MPI_HOSTS" /solve'
  types:
    launcher:
      resources: {cpus: 1, ramRatio: 2}
    worker:
      count: 2
      resources: {cpus: 4, ramRatio: 2}
"""
LAUNCHER: Final[Resources] = {"cpus": 0.5, "memory": 1.0}


class MpiTypes(Shape):
    """Types of the mpi operator; rank 0 is the launcher."""

    launcher: Worker = Field(description="The member that runs mpirun.")
    worker: Worker = Field(description="The members that serve the launcher.")

    def groups(self) -> Iterator[Group]:
        """The groups, in rank order."""
        for name, given in (("launcher", self.launcher), ("worker", self.worker)):
            yield one_job(name, given.count, given, depends_on=given.depends_on)


def _program(count: int, resources: Resources) -> Mapping[str, Any]:
    return {"launcher": {"resources": LAUNCHER}, "worker": {"count": count, "resources": resources}}


def _env(_group: Group, groups: tuple[Group, ...]) -> tuple[Env, ...]:
    return (Env("MPI_HOSTS", Source.MEMBER_HOSTS), Env("MPI_SIZE", Source.LITERAL, str(size_of(groups))))


DECLARED: Final = (
    ManifestOperator(
        name="mpi",
        types=lambda: MpiTypes,
        starter=lambda: STARTER,
        collective=True,
        respelled=("launcher",),
        success="an mpi experiment succeeds with its launcher",
        program=Program(about="N workers and a launcher", types=_program, beside=LAUNCHER),
    ),
    Operator("mpi", _env, lambda _groups: None, success=SuccessRule(groups=("launcher",))),
)
