"""Finds missing parts of a pod template once the templates of the experiment and of its types are merged.

An extra container may be written in one of them and changed in the other, so only the result shows if it has an image,
and if a mount has a volume. Each problem names the place where the container or the mount is written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from muster.api.manifest.problems import Refused, nearest
from muster.api.manifest.template.values import is_reserved_volume
from muster.api.names import CONTAINER

Loc = tuple[str | int, ...]
_LISTS: Final = ("containers", "initContainers")


@dataclass(frozen=True, slots=True)
class Written:
    """A template at its place in the spec, and the merged templates that it becomes a part of."""

    loc: Loc
    template: Mapping[str, Any]
    merged: tuple[Mapping[str, Any], ...]


def missing(written: Iterable[Written]) -> list[Refused]:
    """Return everything that is missing, in the order of the templates."""
    return [found for each in written for kind in _LISTS for found in _of_list(each, kind)]


def _of_list(written: Written, kind: str) -> Iterator[Refused]:
    for number, container in enumerate(_named(written.template, kind)):
        loc = (*written.loc, "spec", kind, number)
        name = container["name"]
        if name != CONTAINER and not all(_has_image(merged, kind, name) for merged in written.merged):
            yield Refused(loc, f"container {name} has no image", "write image")
        for place, mount in enumerate(container.get("volumeMounts", ())):
            volume = mount["name"]
            known = [_volumes(merged) for merged in written.merged]
            if not is_reserved_volume(volume) and not all(volume in names for names in known):
                close = nearest(volume, {name for names in known for name in names})
                hint = f"did you mean {close}?" if close else "add it to spec.volumes of the template"
                yield Refused((*loc, "volumeMounts", place, "name"), f"there is no volume {volume}", hint)


def _named(template: Mapping[str, Any], kind: str) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = template.get("spec", {}).get(kind, ())
    return found


def _has_image(template: Mapping[str, Any], kind: str, name: str) -> bool:
    return any(container.get("image") for container in _named(template, kind) if container["name"] == name)


def _volumes(template: Mapping[str, Any]) -> set[str]:
    return {volume["name"] for volume in _named(template, "volumes")}
