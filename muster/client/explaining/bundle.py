"""The bundle of a run: what is sent to someone who has no access to the cluster.

What goes in is on a list: no object is copied. Of a pod these are its place, states, conditions, images and the names
of its environment; no value, no command, no argument, no annotation, label, volume or Secret. Programs may print what
they were given, so values that the pods' objects show are replaced in every text, too.

The archive is the same for the same input: names are sorted, no file has an owner or an absolute path, and every file
has the same time. Sizes are bounded: a text that is cut is marked. What looks like a credential in a text is replaced,
as a second guard.
"""

import gzip
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import msgspec

import muster
from muster.api.names import API_VERSION
from muster.api.values.printable import WORD, printable
from muster.api.values.secrets import REMOVED, Secrets, secrets_within, without_credentials, without_secrets
from muster.api.values.timestamps import whole_time
from muster.client.explaining.explanation import Explanation
from muster.client.explaining.lines import explained
from muster.client.snapshot import Snapshot
from muster.kube.unstructured import Json, items, mapping, text
from muster.rollcall.document import TEXT

MOST_BYTES: Final = 2**20
"""Bytes of one file."""
LONGEST_NAME: Final = 100
CUT: Final = "\n(cut here: the file was longer)\n"

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


def as_json(value: object) -> str:
    """Return the data without credentials, as JSON for people, with sorted keys. Controls in texts are escaped."""
    return json.dumps(_mapped(value, without_credentials), indent=1, sort_keys=True) + "\n"


def _mapped(value: object, change: Callable[[str], object]) -> object:
    """Return JSON data with each of its texts changed, in order."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {str(key): _mapped(each, change) for key, each in value.items()}
    return [_mapped(each, change) for each in value] if isinstance(value, list | tuple) else value


def archive(folder: str, files: Mapping[str, str], at: float) -> bytes:
    """Return a ``tar.gz`` of these files below ``folder``; ``at`` is their time in wall seconds.

    Names may have folders (``epochs/1.json``); each part is made safe: it has no other characters than letters, digits
    and ``._-``, and does not begin with a dot.
    """
    packed, seconds = io.BytesIO(), max(0, min(int(at), 2**33 - 1))
    top = _safe(folder)
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name in sorted(files):
            body = _bounded(files[name])
            entry = tarfile.TarInfo("/".join([top, *map(_safe, name.split("/"))]))
            entry.size, entry.mtime, entry.mode = len(body), seconds, 0o644
            tar.addfile(entry, io.BytesIO(body))
    return packed.getvalue()


def _bounded(text: str) -> bytes:
    body = text.encode("utf-8", "replace")
    if len(body) <= MOST_BYTES:
        return body
    return body[:MOST_BYTES].decode("utf-8", "ignore").encode() + CUT.encode()


def _safe(part: str) -> str:
    return _UNSAFE.sub("_", part)[:LONGEST_NAME].lstrip(".") or "_"


MOST_PODS: Final = 1_024
SHORTEST: Final = 8
"""Characters of a value that is replaced in texts: shorter ones are numbers and words of every text."""
DEEPEST: Final = 24
BETWEEN: Final = "\0"
"""Separator of texts that are searched together. No value that is replaced has it."""
HOLDERS: Final = frozenset({"annotations", "command", "args", "env", "volumeAttributes"})
"""Fields whose texts are never shown, wherever they are in an object."""
OWN: Final = "muster.dev/"
"""Prefix of the keys of Muster's own annotations: one of them is the code of spec.assist."""
_PLAIN: Final = re.compile(r"[\w./-]{1,255}\.(?:py|sh|ya?ml|json|toml|txt)|--[a-z][a-z-]{1,40}")
"""A file name or a bare option: stacks and log lines are full of them, and they are no secrets."""
MOST_VALUES: Final = 4_096
LONGEST_VALUE: Final = 8_192


def bundle(found: Explanation, now: float) -> bytes:
    """Return the archive. ``now`` in wall seconds. The same explanation at the same time gives the same bytes."""
    seen, roll = found.experiment, found.roll_call(now)
    ordered = sorted(found.pods, key=lambda pod: text(mapping(pod.get("metadata")), "name"))
    held, rest = ordered[:MOST_PODS], len(ordered[MOST_PODS:])
    given, secrets = _given(seen, held), secrets_within([seen.raw, *held])

    def put(value: object) -> str:
        return as_json(_without(msgspec.to_builtins(value), given, secrets))

    lines = "\n".join(map(printable, explained(found, now).split("\n")))
    status = seen.status.to_object()
    story, evidence = status.pop("story", []), status.pop("evidence", [])
    files = {
        "README.txt": _readme(seen, now, rest),
        "explain.txt": without_secrets(_replaced(lines, given), secrets),
        "status.json": put(status),
        "story.json": put(story),
        "findings.json": put([] if roll is None else [msgspec.to_builtins(each) for each in roll.findings]),
        "events.json": put([asdict(each) for each in found.events]),
        "pods.json": put([*map(pod_of, held), *([{"leftOut": rest}] if rest else [])]),
        "last-lines.json": put([asdict(each) for each in found.last_lines]),
        "unreadable.json": put(found.unreadable),
        "versions.json": put({"muster": muster.__version__, "api": API_VERSION, "operator": seen.operator}),
    }
    files |= {f"epochs/{row['epoch']}.json": put(row) for row in evidence}
    return archive(f"{seen.namespace}-{seen.name}", files, seen.status.updated_at or seen.created or 0.0)


def pod_of(pod: Json) -> dict[str, Any]:
    """Return the part of a pod that a bundle has."""
    meta, spec, status = (mapping(pod.get(key)) for key in ("metadata", "spec", "status"))
    containers = [*items(spec.get("initContainers")), *items(spec.get("containers"))]
    states = [*items(status.get("initContainerStatuses")), *items(status.get("containerStatuses"))]
    return {
        "name": _word(meta, "name"),
        "uid": _word(meta, "uid"),
        "created": _word(meta, "creationTimestamp"),
        "deleting": _word(meta, "deletionTimestamp"),
        "node": _word(spec, "nodeName"),
        "phase": _word(status, "phase"),
        "reason": _word(status, "reason"),
        "message": _text(status, "message"),
        "started": _word(status, "startTime"),
        "conditions": [
            {name: _text(each, name) for name in ("type", "status", "reason", "message", "lastTransitionTime")}
            for each in items(status.get("conditions"))
        ],
        "containers": [_container(each) for each in containers],
        "states": [_state(each) for each in states],
    }


def _container(container: Json) -> dict[str, Any]:
    return {
        "name": _word(container, "name"),
        "image": _word(container, "image"),
        "environment": sorted(_word(each, "name") for each in items(container.get("env"))),
        "commandWords": len(_words(container, "command")),
        "argumentWords": len(_words(container, "args")),
        "requests": {
            printable(str(name), WORD): printable(str(amount), WORD)
            for name, amount in mapping(mapping(container.get("resources")).get("requests")).items()
        },
    }


def _state(status: Json) -> dict[str, Any]:
    """Return the kubelet's state of a container, now and before."""
    state: dict[str, Any] = {"name": _word(status, "name"), "image": _word(status, "imageID")}
    state["restarts"] = status.get("restartCount") if isinstance(status.get("restartCount"), int) else 0
    for key in ("state", "lastState"):
        for kind, each in list(mapping(status.get(key)).items())[:1]:
            inner = mapping(each)
            fields = ("reason", "message", "startedAt", "finishedAt")
            state[key] = {"kind": printable(str(kind), WORD)} | {name: _text(inner, name) for name in fields}
            state[key] |= {name: inner[name] for name in ("exitCode", "signal") if isinstance(inner.get(name), int)}
    return state


def _given(seen: Snapshot, pods: Sequence[Json]) -> list[str]:
    """Return values that the objects show and that a program may print: the longest first."""
    kept = {seen.name, seen.namespace, seen.uid, seen.operator, seen.status.coordinator, seen.status.dashboard}
    values: set[str] = set()
    for holder in (seen.raw, *pods):
        values |= set(_hidden(holder))
        meta, spec = mapping(holder.get("metadata")), mapping(holder.get("spec"))
        kept |= {text(meta, "name"), text(meta, "uid"), text(spec, "nodeName")}
    names = BETWEEN.join(kept)
    shown = [
        each
        for each in values
        if len(each) >= SHORTEST and BETWEEN not in each and not _PLAIN.fullmatch(each) and each not in names
    ]
    return sorted(shown, key=lambda value: (-len(value), value))[:MOST_VALUES]


def _hidden(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the texts of environment, commands, arguments and annotations anywhere in an object, and their words."""
    if depth > DEEPEST:
        return
    if isinstance(value, Mapping):
        for name, each in value.items():
            if name in HOLDERS or (name == "value" and "name" in value):
                yield from _texts(each, depth)
            else:
                yield from _hidden(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _hidden(each, depth + 1)


def _texts(value: object, depth: int) -> Iterator[str]:
    """Yield the texts in a value, their words, and the part behind the ``=`` of each; of a variable only its value."""
    if depth > DEEPEST:
        return
    if isinstance(value, str):
        words = value[:LONGEST_VALUE]
        for each in (words, *words.split()):
            yield each
            yield each.partition("=")[2]
    elif isinstance(value, Mapping):
        variable = "name" in value
        for name, each in value.items():
            if (not variable or name == "value") and not str(name).startswith(OWN):
                yield from _texts(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, depth + 1)


def _replaced(words: str, given: Sequence[str]) -> str:
    for value in given:
        words = words.replace(value, REMOVED)
    return words


def _without(value: object, given: Sequence[str], secrets: Secrets) -> object:
    """Return JSON data whose texts have lost these values and secrets; its keys are Muster's own.

    The values are looked for in all texts at once: 4,096 values in 20,000 texts one by one take 20 s.
    """
    texts: list[str] = []
    _mapped(value, lambda each: texts.append(each.replace(BETWEEN, "\N{REPLACEMENT CHARACTER}")))
    replaced = iter(_replaced(BETWEEN.join(texts), given).split(BETWEEN))
    return _mapped(value, lambda _: without_secrets(next(replaced), secrets))


def _readme(seen: Snapshot, now: float, rest: int) -> str:
    more = f"Pods left out of pods.json: {rest:,}; it has the first {MOST_PODS:,} by name.\n" if rest else ""
    return (
        f"A bundle of {seen.namespace}/{seen.name}, made by "
        f"muster {muster.__version__} at {whole_time(now)}.\n\n"
        "explain.txt is where to begin; its times of day are in UTC. epochs/N.json is what was known of epoch N when\n"
        "it was ended without success.\n"
        "Left out: values of the environment, commands, arguments, annotations, labels, volumes, Secrets, the spec.\n"
        f"{REMOVED} replaces such a value, or what looks like a credential, in a text. Log lines and sentences are\n"
        f"words of programs: read them before you send this on.\n{more}"
    )


def _word(holder: Json, key: str) -> str:
    return printable(text(holder, key), WORD)


def _text(holder: Json, key: str) -> str:
    return printable(text(holder, key), TEXT)


def _words(holder: Json, key: str) -> list[object]:
    found = holder.get(key)
    return found if isinstance(found, list) else []
