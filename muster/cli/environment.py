"""The environment that ``muster run`` gives to its pods: the caller's own, with what must differ and what is asked for.

A pod on a cluster gets its image's environment. ``muster run`` has no image, and the caller's shell takes its place:
the active virtual environment, PYTHONPATH, XLA_FLAGS, JAX_PLATFORMS, CUDA_VISIBLE_DEVICES, HOME, credentials. Over it
come, in this order, ``--env-file``, ``--env``, and the variables that Kubernetes and the operator set in every pod.
"""

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dotenv.parser import parse_stream

from muster.api.manifest.problems import ManifestError, Problem
from muster.cli.options import Parsed
from muster.state.vocabulary.plan import Plan

_PROXIES = frozenset(("http_proxy", "https_proxy", "all_proxy", "grpc_proxy"))
_NO_PROXY = ("no_proxy", "NO_PROXY")


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """The variables, and which of the caller's are not as they were."""

    variables: Mapping[str, str]
    given: Collection[str]
    """Set by ``--env`` or ``--env-file``."""
    replaced: Collection[str]
    """The caller has them, and every pod gets its own value."""
    direct: Collection[str]
    """Got the names of the pods, which no proxy can reach."""

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
        changes = (
            ("set by --env", self.given),
            ("set by Muster", self.replaced),
            ("extended by the names of the pods", self.direct),
        )
        if changed := [f"{', '.join(sorted(names))} ({how})" for how, names in changes if names]:
            yield f"changed in it: {'; '.join(changed)}"


def run_environment(inherited: Mapping[str, str], given: Mapping[str, str], plan: Plan) -> RunEnvironment:
    """Return the environment for the pods of ``plan``."""
    variables = {**inherited, **given}
    direct = set()
    if any(name.lower() in _PROXIES for name in variables):
        for name in _NO_PROXY:
            variables[name] = ",".join(part for part in (variables.get(name), plan.name, f".{plan.name}") if part)
            direct.add(name)
    declared = {env.name for group in plan.groups for env in group.env} | {"HOSTNAME"}
    return RunEnvironment(variables, given.keys() - declared, declared & variables.keys(), direct)


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
