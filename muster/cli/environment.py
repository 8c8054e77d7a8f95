"""Environment and room of the pods of ``muster run``: the caller's, and a share of this machine's free resources.

A pod on a cluster gets its image's environment. ``muster run`` has no image, and the caller's shell takes its place:
the active virtual environment, PYTHONPATH, XLA_FLAGS, JAX_PLATFORMS, CUDA_VISIBLE_DEVICES, HOME, credentials. Over it
come, in this order, ``--env-file``, ``--env``, and the variables that Kubernetes and the operator set in every pod.
"""

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from dotenv.parser import parse_stream

from muster.api.errors import MusterError
from muster.api.manifest.changes import Share
from muster.api.manifest.problems import ManifestError, Problem
from muster.cli.options import Parsed
from muster.client import Client
from muster.kube.unstructured import mapping
from muster.local.node import objects
from muster.local.node.objects import NODES, PODS
from muster.local.node.registration import machine_capacity
from muster.local.node.scheduling import fit
from muster.local.node.scheduling.fit import Gang
from muster.local.node.scheduling.scheduler import Holder, Ledger, sentence
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.subject import title

_PROXIES = frozenset(("http_proxy", "https_proxy", "all_proxy", "grpc_proxy"))
_NO_PROXY = ("no_proxy", "NO_PROXY")


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """The variables, and which of the caller's are not as they were, by what changed them."""

    variables: Mapping[str, str]
    changed: Mapping[str, Collection[str]]

    def program(self, name: str) -> str | None:
        """Return the file that a pod runs for ``name``; None where there is none."""
        return shutil.which(name, path=self.variables.get("PATH"))

    def python(self, words: Sequence[str]) -> str | None:
        """Return the Python that a pod runs for these words: the one they name, else the active one."""
        named = bool(words) and Path(words[0]).name.startswith("python")
        return self.program(words[0] if named else "python3")

    def remarks(self, directory: Path) -> Iterator[str]:
        """Yield what a person should know about it, in lines."""
        python = self.program("python3")
        where = f"python3 is {python}" if python else "there is no python3 on PATH"
        yield f"pods get this shell's environment and begin in {directory}; {where}"
        if changed := [f"{', '.join(sorted(names))} ({how})" for how, names in self.changed.items() if names]:
            yield f"changed in it: {'; '.join(changed)}"


def run_environment(inherited: Mapping[str, str], given: Mapping[str, str], plan: Plan) -> RunEnvironment:
    """Return the environment for the pods of ``plan``."""
    variables = {**inherited, **given}
    direct = _NO_PROXY if any(name.lower() in _PROXIES for name in variables) else ()
    for name in direct:  # no proxy can reach the pods
        variables[name] = ",".join(part for part in (variables.get(name), plan.name, f".{plan.name}") if part)
    declared = {env.name for group in plan.groups for env in group.env} | {"HOSTNAME"}
    changed = {
        "set by --env": given.keys() - declared,
        "set by Muster": declared & variables.keys(),  # every pod gets its own value
        "extended by the names of the pods": direct,
    }
    return RunEnvironment(variables, changed)


def assignment(value: str) -> tuple[str, str]:
    """Return name and value of ``NAME=VALUE``. Raises ``ValueError``."""
    name, equals, text = value.partition("=")
    if not name or not equals:
        raise ValueError(f"{value!r} is not of the form NAME=VALUE")
    return name, text


ASSIGNMENT: Final = Parsed("name=value", assignment)


def read_env_files(files: Sequence[Path]) -> dict[str, str]:
    """Return the variables in files of lines NAME=VALUE, later ones over earlier ones. Raises ``ManifestError``.

    Comments, quotes and a leading ``export`` are understood; ``$NAME`` stays as it is.
    """
    found: dict[str, str] = {}
    for path in files:
        try:
            with path.open(encoding="utf-8") as stream:
                bindings = list(parse_stream(stream))
        except (OSError, UnicodeDecodeError) as error:
            why = (error.strerror or "") if isinstance(error, OSError) else "it is not UTF-8"
            raise ManifestError([Problem(str(path), 0, 0, "", f"cannot be read: {why}")]) from error
        problems = [
            Problem(str(path), binding.original.line, 1, "", "not of the form NAME=VALUE")
            for binding in bindings
            if binding.error or (binding.key is not None and (binding.value is None or "\0" in binding.value))
        ]
        if problems:
            raise ManifestError(problems)
        found |= {binding.key: binding.value for binding in bindings if binding.key and binding.value is not None}
    return found


ALONE: Final = Decimal("0.9")
"""The part of this machine that the members of an experiment get together; its cluster needs the rest."""
BESIDE: Final = Decimal("0.5")
"""The part of what is free on a kept cluster."""
LEAST: Final = Share(cpus=0.05, memory=0.25)
"""Share that a member gets at least beside others: with less memory it would be killed as it starts."""
_GB: Final = 10**9


@dataclass(frozen=True, slots=True)
class Room:
    """The resources of one machine, and what is held of them; ``part`` of what is free is for this run.

    Alone on the machine a run gets nearly all of it. On a cluster that is kept, several run side by side: one that
    states nothing gets half of what is free, so that the next one has a place, too.
    """

    ledger: Ledger
    part: Decimal

    @classmethod
    def of_this_machine(cls) -> "Room":
        """Return the room of the whole machine, for a cluster of one's own."""
        return cls(Ledger(fit.amounts(machine_capacity())), ALONE)

    def share(self, members: int, reserved: Share | None = None) -> Share:
        """Return what each of so many members gets of what is free; ``reserved`` is for others of the same gang."""
        least = LEAST if self.ledger.held else Share(0.001, 0.001)
        cpus = self._free("cpu") * self.part - Decimal(str(reserved.cpus if reserved else 0))
        memory = self._free("memory") * self.part / _GB - Decimal(str(reserved.memory if reserved else 0))
        return Share(
            cpus=max(least.cpus, int(cpus * 1000 / max(members, 1)) / 1000),
            memory=max(least.memory, int(memory * 1000 / max(members, 1)) / 1000),
        )

    def refuse(self, plan: Plan, who: str, *, cut: bool) -> None:
        """Raise ``MusterError`` if the gang of the plan does not fit as a whole.

        ``cut``: ``--ignore-resources`` helps.
        """
        lacks = self.ledger.lacks(Gang.of_plan(plan).missing(()))
        if not lacks:
            return
        steps = []
        if all(lack.need <= lack.most for lack in lacks):
            steps = [_waiting(holder, plan.namespace) for holder in lacks[0].held if holder.kind != "Pod"][:1]
        if cut:
            steps.append("--ignore-resources cuts them" if not steps else "--ignore-resources")
        raise MusterError("; ".join(filter(None, (sentence(who, lacks, plan.namespace), ", or ".join(steps)))))

    def note(self, namespace: str) -> str:
        """Return what holds a part of this machine; empty if nothing does."""
        words = []
        for holder, amounts in sorted(self.ledger.held.items()):
            cpus, memory = amounts.get("cpu", Decimal(0)), amounts.get("memory", Decimal(0)) / _GB
            words.append(f"{holder.title(namespace)} holds {float(cpus):.3g} CPU and {float(memory):.3g} GB")
        return ", ".join(words)

    def _free(self, name: str) -> Decimal:
        most, used = self.ledger.capacity.get(name, Decimal(0)), self.ledger.used.get(name, Decimal(0))
        return max(Decimal(0), most - used)


async def read_room(client: Client) -> Room:
    """Return the machine of a kept cluster. Raises ``ApiError``."""
    nodes = await client.resources.list(NODES)
    capacity = fit.add(fit.amounts(mapping(objects.status(node).get("allocatable"))) for node in nodes)
    pods = await client.resources.list(PODS)
    return Room(Ledger(capacity, (pod for pod in pods if objects.node_name(pod) and not objects.finished(pod))), BESIDE)


def _waiting(holder: Holder, namespace: str) -> str:
    place = "" if holder.namespace == namespace else f" -n {holder.namespace}"
    return f"wait for it: muster wait {title(holder.kind, holder.name)}{place}"
