"""Events in which controllers report why they make no pods, and kubelets why a pod has no volumes or no network.

They are read by one short list for each object, and never by a watch.

Only Warnings are asked for, by the name of their object. An Event of another kind of object with that name, of a
deleted one, or of Muster itself is left out. The kept text is bounded, and free of secrets of the object and of text
that looks like a credential.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from muster.api.names import MANAGER
from muster.api.values.printable import clean, word
from muster.api.values.secrets import NO_SECRETS, Secrets, without_secrets
from muster.kinds.planning.parts import Part
from muster.kube.resources import core
from muster.kube.transport import Transport
from muster.kube.unstructured import Json, items, mapping, moment, text
from muster.state.view.own import Remark

PAGE: Final = 100
"""Events of one list. The API server keeps them for an hour, and controllers count repeats in one Event."""
LARGEST: Final = 2**20
"""Most bytes of an answer that is read: an Event has a message of 1,024 characters at most."""
SECONDS: Final = 5.0
"""Seconds within which a list is answered."""
POD: Final = "pod"
SUMMARY: Final = "Unable to attach or mount volumes: "
"""The beginning of a kubelet's message every two minutes, beside the reason (kubernetes: pkg/kubelet/volumemanager)."""
LONGEST: Final = 512
"""Most characters of a message that are kept."""


async def read_remark(
    transport: Transport, namespace: str, parts: Sequence[Part], *, since: float, secrets: Secrets = NO_SECRETS
) -> Remark | None:
    """Return the newest Warning about one of these, from ``since`` on; None without any. Raises ``ApiError``."""
    path, found = core(namespace, "events"), list[Json]()
    for name in dict.fromkeys(part.name for part in parts):
        params = {"fieldSelector": f"involvedObject.name={name},type=Warning", "limit": str(PAGE)}
        answer = await transport.request("GET", path, params=params, timeout=SECONDS)
        found += _items(answer.body)
    return newest(found, parts, since=since, secrets=secrets)


def newest(
    events: Iterable[Json], parts: Sequence[Part], *, since: float, secrets: Secrets = NO_SECRETS
) -> Remark | None:
    """Return the newest Warning about one of these. In the same second, the one about the innermost counts.

    A kubelet's summary of missing volumes counts only if no other Warning exists.
    """
    order = {(part.kind, part.name): number for number, part in enumerate(parts)}
    best: tuple[bool, float, int, Json] | None = None
    for event in events:
        about = mapping(event.get("involvedObject"))
        number = order.get((text(about, "kind").lower(), text(about, "name")))
        if number is None or text(event, "type") != "Warning" or not text(event, "reason"):
            continue
        uid, at = parts[number].uid, _last_at(event)
        if (uid and text(about, "uid") not in ("", uid)) or _source(event) == MANAGER or 0.0 < at < int(since):
            continue
        worth = not text(event, "message").startswith(SUMMARY), at, number
        if best is None or worth > best[:3]:
            best = *worth, event
    if best is None:
        return None
    _, at, number, event = best
    return _remark(event, own=number == 0 and parts[0].kind != POD, at=at, secrets=secrets)


def _remark(event: Mapping[str, Any], *, own: bool, at: float, secrets: Secrets) -> Remark:
    about = mapping(event.get("involvedObject"))
    words = without_secrets(text(event, "message")[: 2 * LONGEST], secrets)
    return Remark(
        reason=word(text(event, "reason")),
        message=clean(words, LONGEST),
        at=at,
        source=word(_source(event)),
        about="" if own else f"{word(text(about, 'kind'))} {word(text(about, 'name'))}",
    )


def _source(event: Mapping[str, Any]) -> str:
    return text(mapping(event.get("source")), "component") or text(event, "reportingComponent")


def _last_at(event: Mapping[str, Any]) -> float:
    series, metadata = mapping(event.get("series")), mapping(event.get("metadata"))
    times = (series.get("lastObservedTime"), *(event.get(name) for name in ("lastTimestamp", "eventTime")))
    found = (moment(each) for each in (*times, event.get("firstTimestamp"), metadata.get("creationTimestamp")))
    return next((at for at in found if at is not None), 0.0)


def _items(body: bytes) -> list[Json]:
    if len(body) > LARGEST:
        return []
    try:
        return items(mapping(msgspec.json.decode(body)).get("items"))[:PAGE]
    except (msgspec.DecodeError, ValueError, RecursionError):
        return []
