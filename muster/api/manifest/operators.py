"""The manifest of each operator: the light half of its declaration, read before anything is planned.

The models of an operator's types are imported when a manifest names it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from muster.api.declared import declared

if TYPE_CHECKING:
    from pydantic import BaseModel


Resources = Mapping[str, float]
"""``cpus`` and ``memory`` (GB)."""
ONE_PROCESS: Final[Mapping[str, str]] = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
"""Variables that ``torchrun`` sets for a program with one process on each node."""
TORCHRUN: Final = "with the variables of torchrun"


def equal_workers(count: int, resources: Resources) -> Mapping[str, Any]:
    """Return ``spec.types`` of ``count`` workers and nothing else."""
    return {"worker": {"count": count, "resources": resources}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The experiment that ``muster run -n N -- PROGRAM`` makes for an operator."""

    name: str = ""
    """Value of ``--operator``; empty: the operator's own name."""
    about: str = ""
    """Text about it in the help."""
    types: Callable[[int, Resources], Mapping[str, Any]] = equal_workers
    """``spec.types`` for N workers, each with these resources."""
    variables: Callable[[int], Mapping[str, str]] = lambda _workers: {}
    """The variables of ``torchrun`` for N workers that the operator does not set itself."""
    beside: Resources | None = None
    """Resources that the operator needs beside the workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestOperator:
    """An operator, as far as a manifest, its schema and its pages have to know it."""

    name: str
    types: Callable[[], "type[BaseModel]"]
    """The model of ``spec.types``. It has a method ``groups``."""
    starter: Callable[[], str]
    """The manifest that ``muster init`` writes."""
    collective: bool = False
    """True if its members are one program, which cannot continue without one of them."""
    staged: bool = False
    """True if its types may run one after another, and do not meet."""
    each: Callable[[], "type[BaseModel]"] | None = None
    """The model of one type, where types have names of the author's choice."""
    program: Program | None = None
    """None where ``muster run`` needs a manifest for it."""
    respelled: tuple[str, ...] = ()
    """Types that older manifests wrote with other capitals. With ``master`` among them, these had one beside the
    workers, which held rank 0."""
    fields: tuple[str, ...] = ()
    """Optional fields of ``spec`` that no other operator has."""
    debugger: str = "vscode"
    """Which of the fields of ``spec.debug`` it has."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Advice for fields that its types do not have, by the name of the field."""
    success: str = ""
    """Condition of an experiment's success, if ``spec.successPolicy`` cannot express it."""
    first_group: str = ""
    """Reason why no other member continues without the first group, if members can be run again by themselves."""


class InMembers(ABC):
    """The base of the other half of the declaration: what runs in the members."""

    __slots__ = ()
    name: str

    @property
    @abstractmethod
    def injected(self) -> frozenset[str]:
        """Return the variables that it sets in a member, beside those that every member has."""


@cache
def operators() -> Mapping[str, ManifestOperator]:
    """Return the operators by their names, in the order of these."""
    return {each.name: each for each in sorted(declared("manifest", ManifestOperator), key=lambda each: each.name)}


def only_for(having: Iterable[str]) -> str:
    """Return the words for a rule of these operators: a part of a sentence."""
    named = [*having]
    others = [name for name in operators() if name not in named]
    if len(others) == 1 and len(named) > 1:
        return f"for every operator but {others[0]}"
    return f"only for operator{'s' if len(named) > 1 else ''} {joined(named)}"


def joined(words: Sequence[str]) -> str:
    """Return the words as a sentence has them: a, b and c."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def injected_env(operator: str) -> frozenset[str]:
    """Return the variables that the operator, and so no pod template, sets; none for an unknown operator."""
    return next((each.injected for each in declared("operator", InMembers) if each.name == operator), frozenset())


def model_in(module: str, name: str) -> Callable[[], "type[BaseModel]"]:
    """Return the reader of a model in ``muster.api.manifest.types``, which is imported when it is asked for."""
    return lambda: getattr(import_module(f"muster.api.manifest.types.{module}"), name)


def starter_in(package: str) -> Callable[[], str]:
    """Return the reader of ``starter.yaml`` in the folder of a framework."""
    return lambda: files(package).joinpath("starter.yaml").read_text(encoding="utf-8")
