"""Families of hostile objects. Each gets its random numbers and the world, and appends what it sends to ``sent``."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any, TypeVar

from muster.api.errors import ApiError, error_of
from muster.kube.leaderelection.lease import Leases
from muster.kube.transport import Answer, error_from_answer
from muster.state.view.roll import CoordinatorState, RollAnswer
from muster.state.view.turns import finished
from muster.watchers.probes.jax.probe import JaxProbe
from muster.watchers.probes.jax.rpc import Generation, Malformed, bytes_field, fixed64_field, integer_field
from muster.watchers.probes.jax.task_list import RollReader, read_entries, read_entry, read_mismatch
from tests.fuzz.mutation import damage, mutate, to_bytes
from tests.fuzz.samples import SPECS, STATUS, VICTIM, bookmark, experiment, lease, member, refusal, service, troubled
from tests.fuzz.values import hostile
from tests.fuzz.world import LONGEST_ERROR, NEIGHBOUR, NOW, World, check_words, line_of, require

T = TypeVar("T")
Family = Callable[[Random, World, list[Any]], None]


def framed(rng: Random, kind: str, body: bytes) -> bytes:
    """An object as a watch line, mostly with the API server's order of keys."""
    if rng.random() < 0.9:
        return b'{"type":"' + kind.encode() + b'","object":' + body + b"}"
    return b'{"object":' + body + b', "type": "' + kind.encode() + b'"}'


def send(rng: Random, world: World, sent: list[Any], kind: str, tree: Any, event: str = "") -> None:
    """Send an object by watch, sometimes with damaged bytes."""
    line = framed(rng, event or rng.choice(("ADDED", "MODIFIED", "MODIFIED", "DELETED")), to_bytes(rng, tree))
    if rng.random() < 0.1:
        line = damage(rng, line)
    sent.append(line)
    world.take(kind, line)


@cache
def _line(spec: int, begun: bool) -> bytes:
    tree = experiment(VICTIM, "victim", SPECS[spec], 0, STATUS if begun else None)
    tree["metadata"]["resourceVersion"] = "VERSION"
    return line_of("ADDED", tree)


def settle(rng: Random, world: World, status: Any = None) -> None:
    """A valid victim."""
    line = _line(rng.randrange(5), status is not None)
    world.take("experiment", line.replace(b"VERSION", b"%d" % world.next_version()))


def specs(rng: Random, world: World, sent: list[Any]) -> None:
    """An Experiment with a mutated spec or metadata; sometimes a valid one before it."""
    if rng.random() < 0.3:
        settle(rng, world)
    tree = experiment(VICTIM, "victim", rng.choice(SPECS), world.next_version(), rng.choice((None, None, STATUS)))
    tree["metadata"]["generation"] = world.version
    part = rng.choice(("spec", "spec", "spec", "metadata"))
    tree[part] = mutate(rng, tree[part])
    send(rng, world, sent, "experiment", tree, "MODIFIED")


def statuses(rng: Random, world: World, sent: list[Any]) -> None:
    """An Experiment with a hostile status, and some pods of it."""
    if rng.random() < 0.3:
        settle(rng, world, STATUS if rng.random() < 0.5 else None)
    status = mutate(rng, STATUS) if rng.random() < 0.95 else hostile(rng)
    tree = experiment(VICTIM, "victim", rng.choice(SPECS[:5]), world.next_version(), status)
    tree["spec"]["suspend"] = rng.random() < 0.1
    tree["metadata"]["generation"] = world.version
    send(rng, world, sent, "experiment", tree, "MODIFIED")
    for rank in range(rng.randrange(5)):
        kind = rng.choice((member, member, troubled))
        world.take("pod", framed(rng, "ADDED", to_bytes(Random(0), kind(VICTIM, rank, world.next_version()))))


def pod_events(rng: Random, world: World, sent: list[Any]) -> None:
    """Pods of a victim, each in some mutated states."""
    if rng.random() < 0.9:
        settle(rng, world, STATUS if rng.random() < 0.5 else None)
    owner = rng.choice((VICTIM, VICTIM, VICTIM, "uid-nobody"))
    for _ in range(rng.randrange(1, 4)):
        rank, epoch = rng.randrange(4), rng.randrange(3)
        tree = rng.choice((member, troubled))(owner, rank, world.next_version(), epoch)
        send(rng, world, sent, "pod", mutate(rng, tree))
    if rng.random() < 0.3:
        answer = RollAnswer(at=NOW, coordinator=rng.choice(list(CoordinatorState)))
        for entry in world.victims():
            entry.view.observe_probe(answer, rng.randrange(2))


def service_events(rng: Random, world: World, sent: list[Any]) -> None:
    """Services of a victim."""
    settle(rng, world)
    for _ in range(2):
        send(rng, world, sent, "service", mutate(rng, service(VICTIM, world.next_version())))


def lines(rng: Random, world: World, sent: list[Any]) -> None:
    """Malformed lines: bookmarks, errors, halves, noise."""
    settle(rng, world)
    for _ in range(3):
        word = rng.choice(("BOOKMARK", "ERROR", "ADDED", "MODIFIED", "DELETED", "", "added", "\\ud800", "X" * 300))
        tree = rng.choice((bookmark(world.next_version()), refusal(), hostile(rng)))
        line = framed(rng, word, to_bytes(rng, mutate(rng, tree)))
        line = rng.choice((line, line, damage(rng, line), rng.randbytes(rng.randrange(60)), b"[" * 50_000))
        sent.append(line)
        world.take(rng.choice(("pod", "experiment", "service")), line)


def pages(rng: Random, world: World, sent: list[Any]) -> None:
    """A list that contains hostile objects and those of the neighbour."""
    kind = rng.choice(("pod", "experiment", "service"))
    items = [*world.trees[kind], *(_listed(rng, world, kind) if rng.random() < 0.8 else hostile(rng) for _ in range(3))]
    rng.shuffle(items)
    body = to_bytes(rng, {"kind": "List", "metadata": {"resourceVersion": str(world.next_version())}, "items": items})
    if rng.random() < 0.2:  # a body that is not a list must be refused as a whole
        body = damage(rng, body)
        if NEIGHBOUR.encode() not in body or rng.random() < 0.5:
            body = damage(rng, body[: len(body) // 2])
        sent.append(body)
        try:
            page = world.decode(kind, body)
        except ApiError as error:
            check_words(str(error), LONGEST_ERROR)
            return
        require(all(page.objects), "an object without uid")
        return
    sent.append(body)
    world.relist(kind, body)


def _listed(rng: Random, world: World, kind: str) -> Any:
    """A mutated object of that kind."""
    version = world.next_version()
    if kind == "pod":
        return mutate(rng, troubled(VICTIM, rng.randrange(4), version))
    if kind == "service":
        return mutate(rng, service(VICTIM, version))
    return mutate(rng, experiment(VICTIM, "victim", SPECS[0], version, STATUS))


def refusals(rng: Random, world: World, sent: list[Any]) -> None:
    """Error bodies of the API server."""
    body = to_bytes(rng, mutate(rng, refusal()))
    if rng.random() < 0.3:
        body = damage(rng, body)
    code = rng.choice((400, 401, 403, 404, 409, 410, 422, 429, 500, 504, 0, 999))
    header = str(hostile(rng))
    sent.append((code, header, body))
    error = error_from_answer(code, {"Retry-After": header}, body, "GET /x")
    check_words(str(error), LONGEST_ERROR)
    require(error.retry_after is None or 0 <= error.retry_after <= 3_600, f"Retry-After {error.retry_after}")


def task(rng: Random, rank: int, generation: Generation) -> bytes:
    """One task of a coordinator's list, mostly valid."""
    number = rng.choice((rank, rank, rank, rng.randrange(-2, 1 << 20), 1 << 63))
    state = rng.choice((1, 2, 3, 4, rng.randrange(300)))
    named = integer_field(1, number)
    if generation is not Generation.V2:
        named = bytes_field(1, bytes_field(1, b"jax_worker") + integer_field(2, number))
    parts = [named, integer_field(2, state), fixed64_field(6, rng.getrandbits(64))]
    if state == 4 or rng.random() < 0.1:
        text = rng.choice((b"heartbeat timeout", rng.randbytes(40), b"\xff" * 9_000, "🔥".encode() * 3_000))
        parts += [integer_field(3, rng.choice((13, 14, -1, 1 << 40))), bytes_field(4, text)]
    rng.shuffle(parts)
    return b"".join(parts)


def answers(rng: Random, world: World, sent: list[Any]) -> None:
    """Bytes that a coordinator sends, as probe results of a victim."""
    settle(rng, world, STATUS)
    for rank in range(4):
        world.take("pod", framed(rng, "ADDED", to_bytes(Random(0), member(VICTIM, rank, world.next_version()))))
    probe = JaxProbe("10.0.0.7:1234", clock=lambda: NOW, expected=4)
    for _ in range(2):
        generation = rng.choice(list(Generation))
        ranks = range(rng.choice((0, 1, 4, 5, 70)))
        body = b"".join(bytes_field(1, task(rng, rank, generation)) for rank in ranks) + integer_field(
            2, rng.getrandbits(64)
        )
        if rng.random() < 0.6:
            body = damage(rng, body)
        sent.append((generation, body))
        try:
            reader = RollReader(rng.choice((None, 7)))
            answer = probe._answer(finished(reader.read_in_turns(body, generation)), generation, reader, 0.1)  # noqa: SLF001 - the step that reads hostile bytes
        except Malformed as error:
            check_words(str(error), LONGEST_ERROR)
            continue
        check_words(answer.detail, LONGEST_ERROR)
        for failed in answer.errors:
            check_words(failed.text, LONGEST_ERROR)
        for entry in world.victims():
            entry.view.observe_probe(answer, 1)
        with suppress(Malformed):
            read_entries(body, rng.choice((1, 2)))
        with suppress(Malformed):
            read_entry(body)
        read_mismatch(body.decode("utf-8", "replace"), body)


def leases(rng: Random, world: World, sent: list[Any]) -> None:
    """A Lease that another client wrote."""
    body = to_bytes(rng, mutate(rng, lease()))
    if rng.random() < 0.3:
        body = damage(rng, body)
    sent.append(body)
    held = Leases(_Answering(body), "muster", "musterd", lambda: NOW)
    try:
        seen = at_once(held.read())
        at_once(held.hold(seen, "daemon-a", 15.0))
        assert seen is not None
        at_once(held.release(seen))
    except ApiError as error:
        check_words(str(error), LONGEST_ERROR)
        return
    require(0 <= seen.duration < 2**31, f"a Lease of {seen.duration} s")


class _Answering:
    """A transport that answers every request with the same bytes."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def request(self, method: str, path: str, **_: Any) -> Answer:
        return Answer(200, self._body)

    def lines(self, *_: Any, **__: Any) -> Any:
        raise error_of(500, "", "this transport has no watches")


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("the coroutine waits")


FAMILIES: dict[str, tuple[Family, int]] = {
    "pods": (pod_events, 36),
    "specs": (specs, 18),
    "statuses": (statuses, 18),
    "answers": (answers, 8),
    "lines": (lines, 6),
    "pages": (pages, 5),
    "services": (service_events, 3),
    "refusals": (refusals, 3),
    "leases": (leases, 3),
}
"""Each family, with its share of the cases in per cent."""
