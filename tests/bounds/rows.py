"""Each look at what tenants wrote: its worst input at size n, and how large that may be.

``make`` prepares the input and returns the look, which is done in turns where it returns a generator
(``state.view.turns``). ``most`` is the largest n that is let in; there, and at twice as much, no turn costs more than
``HOLD``.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from muster.api.collectives import MAX_GROUPS, MAX_SHARES
from muster.api.values.secrets import MOST as MOST_VALUES
from muster.api.values.secrets import MOST_NAMES, MOST_PREFIXES, secrets_of, without_credentials, without_secrets
from muster.api.values.termination_message import words
from muster.daemon.experiments.sent import PostRefused, read_status
from muster.state.facts.diagnosis.hangs import of_places
from muster.state.facts.incidents.grouping import Places, assigned, groups
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.tracking import Tracking, following
from muster.state.facts.nodes.history import ALL_FAILURES, FAILURES, NAMESPACES, NODES, PERIOD, Failure, History
from muster.state.facts.nodes.suspects import suspects
from muster.state.view.places import PlaceReport, places_in_turns
from muster.state.view.progress import StepReport, progress_in_turns, steps_progress
from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount, Share, arrivals_in_turns
from muster.state.view.recorder.collectives import Collectives, collectives_in_turns
from muster.state.view.recorder.judgement import judged_in_turns
from muster.state.view.recorder.ras import Communicator, RasAnswer, RasRank, ras_in_turns
from muster.state.view.turns import Turns, finished
from muster.watchers.probes.bounded.connection import MOST_PARTS, parts_of
from muster.watchers.probes.jax.places import stack_of
from muster.watchers.probes.jax.rpc import Generation, bytes_field, fixed64_field, integer_field
from muster.watchers.probes.jax.task_list import RollReader, entries_in_turns
from muster.watchers.probes.nccl import decoded_in_turns as ras_decoded
from muster.watchers.probes.ray.answers import MOST_OBJECTS, nodes_in_turns, read_tasks
from muster.watchers.probes.ray.demands import _decoder as demands_decoder
from muster.watchers.probes.ray.demands import sentence_in_turns as demands_sentence
from muster.watchers.probes.reports import ReportReader
from muster.watchers.probes.torch.collectives import SLICE, decoded
from tests.fakes.ras import communicator, rank_of, status
from tests.state.facts.incidents.fleet import follow

Look = Callable[[], object]
HOLD = 20.0
"""Milliseconds for which one look may hold the event loop."""


@dataclass(frozen=True, slots=True)
class Row:
    """One look. ``covers`` are the modules whose work it is, below ``muster``."""

    name: str
    covers: tuple[str, ...]
    most: int
    make: Callable[[int], Look]


def _forged(n: int, *, silent: bool = False, share: bool = False, of: int = 8, late: int = 2) -> Look:
    """Processes that claim groups of their own, or the same. One of ``late`` is late or silent; the others wait.

    A look goes to its end through 128 processes of a group, with each eighth of them late.
    """

    def reports(beat: int) -> list[CollectiveReport]:
        known: dict[GroupCount, GroupCount] = {}
        found = []
        for rank in range(n):
            waits = rank % late > 0
            counts = [
                GroupCount(
                    f"{rank // of if share else rank}.{k}", "", "gloo", n, f"0-{n - 1}", 9 if waits else 8, "x", waits
                )
                for k in range(MAX_GROUPS)
            ]
            own = tuple(known.setdefault(each, each) for each in counts)
            beats = 1 if silent and not waits else beat
            found.append(CollectiveReport(rank, rank, 1, beats, 1, 1.0, 900.0, own))
        return found

    seen, now = None, 1000.0
    for beat in range(1, 9):
        now += 100.0
        seen = finished(collectives_in_turns(reports(beat), 0, now, seen))
    last = reports(9)

    def look() -> Turns[Collectives | None]:
        after = yield from collectives_in_turns(last, 0, now + 100.0, seen)
        return (yield from judged_in_turns(after, seen)) if after is not None else None

    return look


def _arrivals(n: int) -> Look:
    def reports(entered: int) -> list[CollectiveReport]:
        return [
            CollectiveReport(
                rank,
                rank,
                1,
                entered,
                entered,
                1.0,
                0.0,
                shares=tuple(
                    Share(f"{k}", "", "gloo", n, f"0-{n - 1}", entered, entered, entered if rank else 0, 0)
                    for k in range(MAX_SHARES)
                ),
            )
            for rank in range(n)
        ]

    seen = finished(arrivals_in_turns(reports(100), 0, 1000.0, None))
    last = reports(1000)
    return lambda: arrivals_in_turns(last, 0, 5000.0, seen)


def _ras(n: int) -> Look:
    def answer(count: int) -> RasAnswer:
        ranks = tuple(RasRank(rank, f"10.{rank >> 8}.{rank & 255}.1", 1, 0, (count, 0, 0, count)) for rank in range(n))
        return RasAnswer((Communicator("a b", "a", ranks, clear=True),))

    rank_of_ip = {f"10.{rank >> 8}.{rank & 255}.1": rank for rank in range(n)}
    seen = finished(ras_in_turns(answer(20), 0, 1000.0, rank_of_ip, None))
    last = answer(21)
    return lambda: ras_in_turns(last, 0, 1006.0, rank_of_ip, seen)


def _places(n: int) -> Look:
    def reports(at: float) -> list[PlaceReport]:
        return [PlaceReport(rank, at, 0.0, 1.0, 9, f"f{rank}", "t.py", rank, f"{rank}") for rank in range(n)]

    seen = finished(places_in_turns(reports(10.0), {}, 0, 1000.0, None, n))
    last = reports(100.0)

    def look() -> Turns[object]:
        found = yield from places_in_turns(last, {}, 0, 1090.0, seen, n)
        return of_places(found) if found is not None else ""

    return look


def _steps(n: int) -> Look:
    def reports(step: int) -> list[StepReport]:
        return [StepReport(rank, step if rank % 2 else 1, step, float(step), 1.0) for rank in range(n)]

    seen = None
    for step in range(2, 6):
        seen = steps_progress(reports(step), 0, 1000.0 + step, seen)
    last = reports(9)
    return lambda: progress_in_turns(last, 0, 1020.0, seen)


def _task(rank: int) -> bytes:
    return bytes_field(
        1, integer_field(1, rank) + integer_field(2, 4) + fixed64_field(6, rank) + bytes_field(4, b"x" * 40)
    )


def _task_list(n: int) -> Look:
    body = b"".join(map(_task, range(n)))
    return lambda: RollReader(most=n).read_in_turns(body, Generation.V2)


def _entries(n: int) -> Look:
    body = b"".join(
        bytes_field(
            2, bytes_field(1, b"muster/progress/%d" % rank) + bytes_field(2, b'{"step": 1, "scalars": {"a": 1}}')
        )
        for rank in range(n)
    )

    def look() -> Turns[object]:
        entries = yield from entries_in_turns(body, 2, n)
        return (yield from ReportReader(n, n).read_in_turns(entries))

    return look


def _collectives(n: int) -> Look:
    group = ["0", "default_pg", "gloo", 4, "0-3,5,7,9", 6, "all_reduce", 1]
    said = {"rank": 1, "beat": 1, "moves": 1, "groups": [group] * MAX_GROUPS}
    value = json.dumps(said).encode()
    return lambda: [decoded("/muster/collectives/1", value) for _ in range(n)]


def _ras_answer(n: int) -> Look:
    body = json.dumps(
        status(communicator([rank_of(rank, f"10.{rank >> 8}.{rank & 255}.1", {"AllReduce": 1}) for rank in range(n)]))
    ).encode()
    return lambda: ras_decoded(body)


def _ray_nodes(n: int) -> Look:
    nodes = [
        {"node_ip": f"10.{k >> 8}.{k & 255}.1", "state": "ALIVE", "labels": {"ray.io/node-group": "w"}}
        for k in range(n)
    ]
    body = json.dumps({"data": {"result": {"result": nodes, "total": n}}}).encode()
    return lambda: nodes_in_turns(body)


def _ray_tasks(n: int) -> Look:
    summary = {f"f{k}": {"state_counts": {f"S{k}": 1}} for k in range(n)}
    body = json.dumps(
        {"data": {"result": {"result": {"node_id_to_summary": {"cluster": {"summary": summary}}}}}}
    ).encode()
    return lambda: read_tasks(body)


def _ray_demands(n: int) -> Look:
    demand = [[{"CPU": 1.0, f"custom{k}": 1.0}, 1] for k in range(n)]
    report = {"usage": {}, "resourceDemand": demand, "nodeTypes": [[{"CPU": 1.0}, 1]]}
    body = json.dumps({"data": {"clusterStatus": {"time": 1.0, "loadMetricsReport": report}}}).encode()

    def look() -> Turns[object]:
        found = demands_decoder.decode(body).data.cluster_status
        return (yield from demands_sentence(found)) if found is not None else ""

    return look


def _many_parts(n: int) -> Look:
    """The worst that is let in: an object for each part, all of them kept."""
    bodies = (
        b'{"data":{"clusterStatus":{"loadMetricsReport":{"resourceDemand":[%s]}}}}' % b",".join([b"[{},0]"] * (n // 4)),
        b'{"data":{"clusterStatus":{"autoscalerReport":{"pendingNodes":[%s]}}}}' % b",".join([b"[]"] * (n // 2)),
    )

    def look() -> Turns[None]:
        for body in bodies:
            if parts_of(body) <= MOST_PARTS:
                demands_decoder.decode(body)
            yield

    return look


def _many_nodes(n: int) -> Look:
    body = b'{"data":{"result":{"total":1,"result":[%s]}}}' % b",".join([b'{"node_ip":"","state":""}'] * (n - 3))
    return lambda: nodes_in_turns(body)


def _signs(n: int) -> list[Sign]:
    """Each run has eight signs, on subjects that it shares with its neighbours; one namespace of three for each."""
    return [
        Sign(
            Run(f"ns-{run % 3}", f"run-{run}"), "NodeNotReady", "node", f"n{(run + k) // 4}", 1, 1000.0 + run, node=True
        )
        for run in range(n // 8)
        for k in range(8)
    ]


def _grouping(n: int) -> Look:
    signs = _signs(n)
    return lambda: list(assigned(groups(signs, Places()), ()))


def _tracking(n: int) -> Look:
    signs = _signs(n)
    seen = follow(follow(Tracking(), signs, 2000.0, Places()), signs, 2020.0, Places())
    return lambda: following(seen, signs, 2025.0, Places(), ())


def _history(n: int) -> History:
    """That many runs of three namespaces that failed on as few nodes as hold them, which bear work of many more."""
    found, now = History(), 20_000 * PERIOD + 40_000.0
    for number in range(n):
        node, at = f"node-{number // FAILURES}", int(now - number % FAILURES * 900)
        found.failed(node, Failure(at, f"t{number % 3}", f"run-{number}", "u.0", "Error", False, at), now)
    for number in range(n // 2):
        found.served(f"t{number % NAMESPACES}", {f"node-{number % NODES}": 1.0}, now)
    return found


def _suspects(n: int) -> Look:
    known = _history(n)
    return lambda: suspects(known, 20_000 * PERIOD + 40_000.0)


def _stored_nodes(n: int) -> Look:
    known = _history(n)
    return lambda: known.stored()


def _last_words(n: int) -> Look:
    text = 'Traceback:\n  File "a.py", line 1, in f\n' * (n // 40) + "ValueError: token=" + "x" * 20
    return lambda: words(text)


def _stack(n: int) -> Look:
    value = json.dumps([["f", "/a.py", 1]] * n).encode()
    return lambda: stack_of(value)


def _status(n: int) -> Look:
    metrics = [{"name": f"m{k}", "value": "1.5"} for k in range(n)]
    body = json.dumps({"trainerStatus": {"progressPercentage": 1, "metrics": metrics}}).encode()

    def look() -> None:
        with suppress(PostRefused):
            read_status(body, 0)

    return look


def _credentials(n: int, words: str = "password=") -> Look:
    text = words * (n // len(words))
    return lambda: without_credentials(text)


def _secrets_by_value(n: int) -> Look:
    env = [{"name": f"A{each}_TOKEN", "value": "ab1" * 1_300 + str(each)} for each in range(MOST_VALUES)]
    secrets, text = secrets_of({"containers": [{"env": env}]}), "%61b1" * (n // 5)
    return lambda: without_secrets(text, secrets)


def _secrets_by_name(n: int) -> Look:
    env = [{"name": f"A{each}", "valueFrom": {"secretKeyRef": {}}} for each in range(MOST_NAMES)]
    sources = [{"prefix": f"A{each}_", "secretRef": {}} for each in range(MOST_PREFIXES)]
    secrets, text = secrets_of({"containers": [{"env": env, "envFrom": sources}]}), "x " + "A7=A7: " * (n // 7)
    return lambda: without_secrets(text, secrets)


PROBES, VIEW = "watchers.probes", "state.view"
RECORDER, PLACES = f"{VIEW}.recorder", f"{VIEW}.places"
COLLECTIVES = (f"{RECORDER}.collectives", f"{RECORDER}.judgement")

ROWS = (
    Row("collectives: the same groups", COLLECTIVES, 4096, partial(_forged, share=True)),
    Row("collectives: few groups", COLLECTIVES, 4096, partial(_forged, share=True, of=128, late=8)),
    Row("collectives: groups of each", COLLECTIVES, 4096, _forged),
    Row("collectives: half are silent", COLLECTIVES, 4096, partial(_forged, silent=True, share=True)),
    Row("collectives: values of a turn", (f"{PROBES}.torch.collectives",), SLICE, _collectives),
    Row("who comes last", (f"{RECORDER}.arrivals",), 4096, _arrivals),
    Row("NCCL's RAS: its answer", (f"{PROBES}.nccl",), 3500, _ras_answer),
    Row("NCCL's RAS: over looks", (f"{RECORDER}.ras",), 3500, _ras),
    Row("places: over looks", (PLACES,), 4096, _places),
    Row("places: a stack", (f"{PROBES}.jax.places",), 64, _stack),
    Row("steps: over looks", (f"{VIEW}.progress",), 4096, _steps),
    Row("steps: values of a store", (f"{PROBES}.reports", f"{PROBES}.torch.probe"), 4096, _entries),
    Row("jax: list of tasks", (f"{PROBES}.jax.task_list", f"{PROBES}.jax.rpc"), 16_384, _task_list),
    Row("ray: nodes", (f"{PROBES}.ray.answers",), 4096, _ray_nodes),
    Row("ray: tasks", (f"{PROBES}.ray.answers",), 4096, _ray_tasks),
    Row("ray: demands", (f"{PROBES}.ray.demands",), 4096, _ray_demands),
    Row("ray: demands without end", (f"{PROBES}.bounded.connection",), MOST_PARTS - 16, _many_parts),
    Row("ray: nodes without end", (f"{PROBES}.ray.answers",), MOST_OBJECTS, _many_nodes),
    Row("nodes: suspects", ("state.facts.nodes.suspects",), ALL_FAILURES, _suspects),
    Row("nodes: what is stored", ("state.facts.nodes.history",), ALL_FAILURES, _stored_nodes),
    Row("incidents: grouping", ("state.facts.incidents.grouping",), 4000, _grouping),
    Row("incidents: tracking", ("state.facts.incidents.tracking",), 4000, _tracking),
    Row("last words of a container", ("api.values.termination_message",), 4096, _last_words),
    Row("credentials in a text", ("api.values.secrets",), 4096, _credentials),
    Row(
        "credentials in sentences",
        ("api.values.secrets",),
        4096,
        partial(_credentials, words="password Abcdefgh0123 "),
    ),
    Row("secrets by value", ("api.values.secrets",), 4096, _secrets_by_value),
    Row("secrets by name", ("api.values.secrets",), 4096, _secrets_by_name),
    Row("a status that was sent", ("daemon.experiments.sent",), 256, _status),
)

ELSEWHERE = {
    f"{PROBES}.bounded.channel": "it counts frames of a grant, with a turn for others after 64 of them; test_floods.py",
    f"{PROBES}.bounded.grpc": "one answer of a grant; test_floods.py",
    f"{PROBES}.bounded.http": "it reads lines and chunks of a grant; test_floods.py",
    f"{PROBES}.jax.port_check": "one frame",
    f"{PROBES}.jax.probe": "it asks; its answers are read by task_list, reports and places",
    f"{PROBES}.ray.probe": "it asks; its answers are read by answers, demands and tasks",
    f"{PROBES}.stated": "one byte, one head or one small message",
    f"{PROBES}.torch.store": "one number, or values whose size is granted",
}
"""Modules of the probes without a row, and why."""
