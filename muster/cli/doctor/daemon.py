"""musterd: its pods, who leads, and whether it reaches the coordinators.

A daemon in the cluster is found by its pods, the one of ``muster local up`` by the note of that cluster. How musterd
reaches pods cannot be tried from another machine: what counts is its own way. What it says of coordinators that run
is the evidence.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass

import aiohttp

from muster.api.errors import Forbidden, NotFound
from muster.api.values.humanize import age
from muster.api.values.printable import printable
from muster.cli.doctor.findings import Finding, State
from muster.cli.doctor.server import PATIENCE, SHOWN, Asker
from muster.client import Snapshot
from muster.kube.paths import core, custom
from muster.kube.unstructured import Json, items, mapping, moment, text, whole

AREA = "musterd"
NAMESPACE = "muster-system"
"""Where deploy/ installs it; the only place that is looked at where pods of all namespaces may not be listed."""
LABELS = ("app.kubernetes.io/part-of=muster", "app.kubernetes.io/name=musterd")
"""Of the chart's pods whatever their name, and of the pods of deploy/musterd.yaml."""
INSTALL = "install musterd: docs/guide.md, section 3"
UNSEEN = 30.0
"""Seconds after which an experiment should have been processed."""


@dataclass(frozen=True, slots=True)
class Daemons:
    """The pods of musterd. ``pods`` is None where they may not be listed."""

    pods: Sequence[Json] | None
    namespace: str = NAMESPACE

    def argument(self, flag: str, default: str) -> str:
        """The value of a flag of musterd's containers (``--flag=value``)."""
        for pod in self.pods or ():
            for container in items(mapping(pod.get("spec")).get("containers")):
                arguments = container.get("args")
                for argument in arguments if isinstance(arguments, list) else ():
                    name, _, value = str(argument).partition("=")
                    if name == flag and value:
                        return value
        return default


async def find(asker: Asker) -> Daemons:
    """The pods of musterd, in all namespaces or, without that right, in the usual one. Raises ``ApiError``."""
    for label in LABELS:
        for namespace in (None, NAMESPACE):
            try:
                found = await asker.list(core(namespace, "pods"), label)
            except Forbidden:
                if namespace is not None:
                    return Daemons(None)
                continue
            if found:
                return Daemons(found, text(mapping(found[0].get("metadata")), "namespace"))
            break
    return Daemons(())


def pods(daemons: Daemons, every: Sequence[Snapshot], now: float) -> Iterator[Finding]:
    """Musterd is there and ready."""
    unseen = [s for s in every if not s.phase and s.created is not None and now - s.created > UNSEEN]
    if daemons.pods is None:
        what = f"you may not list its pods (namespace {NAMESPACE})"
        if any(seen.phase for seen in every) and not unseen:
            yield Finding(AREA, "daemon", "ok", f"{what}; experiments have a status, so one has run")
        elif not unseen:
            remedy = "ask the platform team, or submit an experiment: it gets a phase within seconds"
            yield Finding(AREA, "daemon", "warning", f"{what}, so whether it runs is not known", remedy)
    elif not daemons.pods:
        seen = any(each.phase for each in every)
        what = "no pod of musterd is in this cluster" + ("; experiments have a status, so one has run" if seen else "")
        remedy = f"{INSTALL}; one that runs outside the cluster is not seen here"
        yield Finding(AREA, "daemon", "warning" if seen else "failed", what, remedy)
    else:
        yield _readiness(daemons)
    if unseen:
        first = max(unseen, key=lambda seen: now - (seen.created or now))
        where = printable(f"{first.namespace}/{first.name}")
        more = f", nor {len(unseen) - 1} more" if len(unseen) > 1 else ""
        what = f"{where} was created {age(now - (first.created or now))} ago and has not been processed{more}"
        remedy = f"{INSTALL}, or read the log of musterd: does it look after that namespace?"
        yield Finding(AREA, "daemon", "failed", what, remedy)


def _readiness(daemons: Daemons) -> Finding:
    named = {text(mapping(pod.get("metadata")), "name"): pod for pod in daemons.pods or ()}
    ready = [name for name, pod in named.items() if _ready(pod)]
    what = f"{len(ready)} of {len(named)} pods are ready in namespace {printable(daemons.namespace)}"
    if len(ready) == len(named):
        return Finding(AREA, "daemon", "ok", what)
    first = next(name for name in named if name not in ready)
    why = next((text(c, "reason") for c in _conditions(named[first]) if c.get("type") == "Ready"), "")
    remedy = f"kubectl describe pod -n {daemons.namespace} {first}; /readyz on its port `health` names what is missing"
    state: State = "warning" if ready else "failed"
    return Finding(AREA, "daemon", state, printable(f"{what}; {first}: {why}", SHOWN), printable(remedy))


def _conditions(pod: Json) -> list[Json]:
    return items(mapping(pod.get("status")).get("conditions"))


def _ready(pod: Json) -> bool:
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in _conditions(pod))


async def leader(asker: Asker, daemons: Daemons) -> Finding:
    """Which daemon leads, and how old its Lease is."""
    check = "leader"
    name = daemons.argument("--lease-name", "musterd")
    namespace = daemons.argument("--lease-namespace", daemons.namespace)
    where = printable(f"{namespace}/{name}")
    try:
        lease = mapping((await asker.get(custom("coordination.k8s.io/v1", namespace, "leases", name))).get("spec"))
    except NotFound:
        if daemons.pods is not None and len(daemons.pods) > 1:
            remedy = "start them with --leader-elect, or run one: two daemons without a Lease both act"
            return Finding(AREA, check, "failed", f"{len(daemons.pods)} daemons run, and no Lease {where}", remedy)
        return Finding(AREA, check, "ok", f"no Lease {where}: a single daemon without --leader-elect needs none")
    except Forbidden:
        return Finding(AREA, check, "ok", f"you may not read the Lease {where}; nothing of yours depends on it")
    holder, renewed = printable(text(lease, "holderIdentity"), SHOWN), moment(lease.get("renewTime"))
    if not holder or renewed is None:
        remedy = "look at the pods of musterd: one takes it within seconds when it is ready"
        return Finding(AREA, check, "failed", f"nobody holds the Lease {where}", remedy)
    old, duration = max(0.0, asker.now - renewed), whole(lease, "leaseDurationSeconds", 15)
    if old > duration:
        what = f"the Lease {where} of {holder} was renewed {age(old)} ago; it lasts {duration} s"
        return Finding(
            AREA, check, "failed", what, "no daemon leads: read the log of musterd, and its rights on leases"
        )
    return Finding(AREA, check, "ok", f"{holder} renewed the Lease {where} {age(old)} ago")


def pod_network(every: Sequence[Snapshot]) -> Finding:
    """Whether musterd reaches pods, by what it says of the coordinators of running experiments."""
    check = "pod network"
    running = [seen for seen in every if not seen.finished and seen.status.coordinator]
    stuck = [s for s in running if _stuck(s) in ("CoordinatorNotServing", "CoordinatorUnreachable")]
    served = [s for s in running if s.status.roll is not None and s.holds("CoordinatorReady")]
    if stuck and not served:
        first = stuck[0]
        found = first.condition("Stuck")
        what = printable(f"{first.namespace}/{first.name}: {found.message if found else ''}", SHOWN)
        remedy = (
            "either the program does not get as far as its coordinator (muster logs NAME --rank 0), or musterd cannot "
            "reach pods: it must run in the cluster's network, and no NetworkPolicy may keep it from port 1234"
        )
        return Finding(AREA, check, "warning", what, remedy)
    if served:
        first = served[0]
        where = printable(f"{first.namespace}/{first.name}")
        more = f" and of {len(served) - 1} more" if len(served) > 1 else ""
        return Finding(AREA, check, "ok", f"musterd reaches the coordinator of {where}{more}")
    what = "no experiment runs whose coordinator musterd could reach, so nothing is known"
    remedy = "musterd must reach pods by their IP; run a jax experiment (muster init), then muster doctor again"
    return Finding(AREA, check, "warning", what, remedy)


def _stuck(seen: Snapshot) -> str:
    found = seen.condition("Stuck")
    return found.reason if found is not None and found.status else ""


async def local_daemon(url: str, log: str) -> AsyncGenerator[Finding, None]:
    """The daemon of ``muster local up``, asked directly."""
    remedy = f"read {log}; muster local down and muster local up start both again"
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE)) as session:
            async with session.get(f"{url}/readyz") as answer:
                words = printable(await answer.text(), SHOWN).strip()
                ready = answer.status == 200
            if ready:
                yield Finding(AREA, "daemon", "ok", f"ready at {url}")
            else:
                yield Finding(AREA, "daemon", "failed", f"not ready at {url}: {words}", remedy)
            yield Finding(AREA, "leader", "ok", "a single daemon, which needs no Lease")
            async with session.get(f"{url}/metrics") as answer:
                rows = (await answer.text()).splitlines()
                series = sum(row.startswith("muster_") for row in rows)
                if answer.status == 200 and series:
                    yield Finding(AREA, "metrics", "ok", f"{series} series at {url}/metrics")
                else:
                    yield Finding(AREA, "metrics", "failed", f"{url}/metrics answers {answer.status}", remedy)
    except (aiohttp.ClientError, TimeoutError) as error:
        what = printable(f"{url} does not answer: {error or type(error).__name__}", SHOWN)
        yield Finding(AREA, "daemon", "failed", what, remedy)
