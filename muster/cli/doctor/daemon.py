"""musterd: its pods, who leads, and whether it reaches the coordinators.

A daemon in the cluster is found by its pods, the one of ``muster local up`` by the note of that cluster. How musterd
reaches pods cannot be tried from another machine: what counts is its own way. Its answers about coordinators that run
are the evidence.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from itertools import groupby

import aiohttp

from muster.api.errors import ApiError, Forbidden, NotFound
from muster.api.values.durations import age
from muster.api.values.printable import printable
from muster.cli.doctor.server import PATIENCE, SHOWN, Asker, Check, State
from muster.client import Snapshot
from muster.client.member import member_of
from muster.kube.resources import core, custom
from muster.kube.unstructured import Json, items, mapping, moment, text, whole

AREA = "musterd"
LEADS = frozenset({"daemon", "leader"})
"""Checks that hold while a daemon leads."""
NAMESPACE = "muster-system"
"""Namespace in which deploy/ installs it; the only one that is searched if pods of all namespaces may not be listed."""
OUTSIDE = "default"
"""Namespace of the Lease of a musterd outside of the cluster, unless its settings name another one."""
LABELS = ("app.kubernetes.io/part-of=muster", "app.kubernetes.io/name=musterd")
"""Labels of the chart's pods with any name, and of the pods of deploy/musterd.yaml."""
INSTALL = "install musterd: docs/platform.md"
UNREADY = 503
"""HTTP status of /readyz while something is missing; its text names it."""
UNSEEN = 30.0
"""Seconds after which an experiment should have been processed."""


@dataclass(frozen=True, slots=True)
class Release:
    """The pods of one release of musterd. ``pods`` is None where they may not be listed."""

    pods: Sequence[Json] | None
    namespace: str = NAMESPACE
    name: str = ""
    """Name of the Helm release; empty where the pods have none."""

    @property
    def where(self) -> str:
        """The release, for people."""
        return f"{self.namespace}/{self.name}" if self.name else self.namespace

    def looks_after(self, namespace: str) -> bool:
        """Return True if its flags let it look after the runs of that namespace."""
        return self.argument("--namespace", namespace) == namespace

    def argument(self, flag: str, default: str) -> str:
        """Return the value of a flag of musterd's containers (``--flag=value``)."""
        for pod in self.pods or ():
            for container in items(mapping(pod.get("spec")).get("containers")):
                arguments = container.get("args")
                for argument in arguments if isinstance(arguments, list) else ():
                    name, _, value = str(argument).partition("=")
                    if name == flag and value:
                        return value
        return default


async def find(asker: Asker) -> Sequence[Release]:
    """Return the releases of musterd, or one without pods where none is found.

    Their pods are those of all namespaces or, without that right, of the usual one. Raises ``ApiError``.
    """
    for label in LABELS:
        for namespace in (None, NAMESPACE):
            try:
                found = await asker.list(core(namespace, "pods"), label)
            except Forbidden:
                if namespace is not None:
                    return (Release(None),)
                continue
            if found:
                return [Release(list(its), *release) for release, its in groupby(sorted(found, key=_release), _release)]
            break
    return (Release(()),)


def _release(pod: Json) -> tuple[str, str]:
    """Return the namespace and the name of the Helm release of a pod."""
    metadata = mapping(pod.get("metadata"))
    return text(metadata, "namespace"), text(mapping(metadata.get("labels")), "app.kubernetes.io/instance")


@dataclass(frozen=True, slots=True)
class Lease:
    """The Lease of the leader. ``age`` is in seconds since it was renewed, by the API server's clock."""

    where: str
    there: bool = False
    readable: bool = True
    holder: str = ""
    age: float | None = None
    duration: int = 15

    @property
    def held(self) -> bool:
        """Return True if a daemon holds it now."""
        return bool(self.holder) and self.age is not None and self.age <= self.duration


async def read_lease(asker: Asker, release: Release) -> Lease:
    """Return the Lease that musterd's flags name. Raises ``ApiError``."""
    name = release.argument("--lease-name", "musterd")
    namespace = release.argument("--lease-namespace", release.namespace)
    found = await _lease_in(asker, namespace, name)
    if found.there or release.pods:
        return found
    outside = await _lease_in(asker, OUTSIDE, name)
    return outside if outside.there else found


async def _lease_in(asker: Asker, namespace: str, name: str) -> Lease:
    where = printable(f"{namespace}/{name}")
    try:
        spec = mapping((await asker.get(custom("coordination.k8s.io/v1", namespace, "leases", name))).get("spec"))
    except NotFound:
        return Lease(where)
    except Forbidden:
        return Lease(where, readable=False)
    renewed = moment(spec.get("renewTime"))
    return Lease(
        where,
        there=True,
        holder=printable(text(spec, "holderIdentity"), SHOWN),
        age=None if renewed is None else max(0.0, asker.now - renewed),
        duration=whole(spec, "leaseDurationSeconds", 15),
    )


def unprocessed(every: Sequence[Snapshot], now: float) -> Check | None:
    """Check that a daemon has processed every experiment; None where one has. ``now`` is the API server's clock."""
    ours = (s for s in every if not s.phase and not s.managed_by)
    unseen = [s for s in ours if s.created is not None and now - s.created > UNSEEN]
    if not unseen:
        return None
    first = max(unseen, key=lambda seen: now - (seen.created or now))
    where = printable(f"{first.namespace}/{first.name}")
    more = f", nor {len(unseen) - 1} more" if len(unseen) > 1 else ""
    what = f"{where} was created {age(now - (first.created or now))} ago and has not been processed{more}"
    remedy = f"{INSTALL}, or read the log of musterd: does it look after that namespace?"
    return Check(AREA, "daemon", "failed", what, remedy)


def nobody_for(releases: Sequence[Release], namespace: str) -> Check:
    """Return the finding that no release looks after that namespace."""
    others = ", ".join(sorted({each.argument("--namespace", "") for each in releases}))
    what = f"no musterd looks after the namespace {namespace}: they look after {others}"
    remedy = "choose another with -n, or install a release for this one (docs/platform.md)"
    return Check(AREA, "namespace", "warning", printable(what, SHOWN), remedy)


async def ready(asker: Asker, release: Release, lease: Lease, *, processed: bool) -> Check:
    """Check that its pods are ready. ``processed``: an experiment has a status."""
    if release.pods:
        return await _readiness(asker, release.pods, release.namespace)
    hidden = release.pods is None
    what = f"you may not list its pods (namespace {NAMESPACE})" if hidden else "no pod of musterd is in this cluster"
    if lease.held:
        return Check(AREA, "daemon", "ok", f"{what}; {lease.holder} leads")
    ran = f"{what}; experiments have a status, so one has run"
    if hidden and processed:
        return Check(AREA, "daemon", "ok", ran)
    if hidden:
        remedy = "ask the platform team, or submit an experiment: it gets a phase within seconds"
        return Check(AREA, "daemon", "warning", f"{what}, so whether it runs is not known", remedy)
    remedy = f"{INSTALL}; one that runs outside the cluster is not seen here"
    return Check(AREA, "daemon", "warning" if processed else "failed", ran if processed else what, remedy)


async def _readiness(asker: Asker, found: Sequence[Json], namespace: str) -> Check:
    named = {text(mapping(pod.get("metadata")), "name"): pod for pod in found}
    ready = [name for name, pod in named.items() if member_of(pod).ready]
    what = f"{len(ready)} of {len(named)} pods are ready in namespace {printable(namespace)}"
    if len(ready) == len(named):
        return Check(AREA, "daemon", "ok", what)
    first = next(name for name in named if name not in ready)
    why = await _unready_because(asker, namespace, first, named[first])
    remedy = printable(f"kubectl logs -n {namespace} {first}; kubectl describe pod -n {namespace} {first}")
    state: State = "warning" if ready else "failed"
    return Check(AREA, "daemon", state, printable(f"{what}; {first}: {why}", SHOWN), remedy)


async def _unready_because(asker: Asker, namespace: str, name: str, pod: Json) -> str:
    """Return what /readyz answers through the API server, if the caller may ask; else the pod's condition."""
    ports = {
        text(port, "name"): whole(port, "containerPort")
        for container in items(mapping(pod.get("spec")).get("containers"))
        for port in items(container.get("ports"))
    }
    port = ports.get("health") or ports.get("http")
    if port and mapping(pod.get("status")).get("phase") == "Running":
        try:
            await asker.answer("GET", f"{core(namespace, 'pods', f'{name}:{port}')}/proxy/readyz")
        except ApiError as error:
            if error.status == UNREADY:
                return error.message
    conditions = items(mapping(pod.get("status")).get("conditions"))
    return next((text(each, "reason") for each in conditions if each.get("type") == "Ready"), "")


def leader(release: Release, lease: Lease) -> Check:
    """Check which daemon leads, and how old its Lease is."""
    check, where = "leader", lease.where
    if not lease.readable:
        return Check(AREA, check, "ok", f"you may not read the Lease {where}; nothing of yours depends on it")
    if not lease.there:
        if release.pods is not None and len(release.pods) > 1:
            remedy = "start them with --leader-elect, or run one: two daemons without a Lease both act"
            return Check(AREA, check, "failed", f"{len(release.pods)} daemons run, and no Lease {where}", remedy)
        return Check(AREA, check, "ok", f"no Lease {where}: a single daemon without --leader-elect needs none")
    if not lease.holder or lease.age is None:
        remedy = "look at the pods of musterd: one takes it within seconds when it is ready"
        return Check(AREA, check, "failed", f"no daemon holds the Lease {where}", remedy)
    if not lease.held:
        what = f"the Lease {where} of {lease.holder} was renewed {age(lease.age)} ago; it lasts {lease.duration} s"
        remedy = "no daemon leads, or the clock of its node is wrong: read the log of musterd"
        return Check(AREA, check, "failed", what, remedy)
    return Check(AREA, check, "ok", f"{lease.holder} renewed the Lease {where} {age(lease.age)} ago")


def pod_network(every: Sequence[Snapshot], *, led: bool = True) -> Check:
    """Check that musterd reaches pods, by its answers about the coordinators of running experiments.

    An experiment's status is out of date if no daemon leads.
    """
    check = "pod network"
    if not led:
        what = "no daemon leads, so the experiments' statuses are out of date"
        return Check(AREA, check, "warning", what, "start musterd, then muster doctor again")
    running = [seen for seen in every if not seen.finished and seen.status.coordinator]
    stuck = [s for s in running if s.stuck and s.stuck.reason in ("CoordinatorNotServing", "CoordinatorUnreachable")]
    served = [s for s in running if s.status.roll is not None and s.holds("CoordinatorReady")]
    if stuck and not served:
        first = stuck[0]
        what = printable(f"{first.namespace}/{first.name}: {first.stuck.message if first.stuck else ''}", SHOWN)
        run = f"{printable(first.name)} -n {printable(first.namespace)}"
        remedy = (
            f"it was reached before, so look at its process first: `muster explain {run}` names the rank"
            if first.stuck and first.stuck.reason == "CoordinatorUnreachable"
            else f"either the program does not get as far as its coordinator (muster logs {run} --rank 0), or musterd "
            "cannot reach pods: it must run in the cluster's network, and no NetworkPolicy may keep it from port 1234"
        )
        return Check(AREA, check, "warning", what, remedy)
    if served:
        first = served[0]
        where = printable(f"{first.namespace}/{first.name}")
        more = f" and of {len(served) - 1} more" if len(served) > 1 else ""
        return Check(AREA, check, "ok", f"musterd reaches the coordinator of {where}{more}")
    what = "no experiment runs whose coordinator musterd could reach, so nothing is known"
    remedy = "musterd must reach pods by their IP; run a jax experiment (muster init), then muster doctor again"
    return Check(AREA, check, "warning", what, remedy)


async def local_daemon(url: str, log: str) -> AsyncGenerator[Check, None]:
    """Check the daemon of ``muster local up``, asked directly."""
    remedy = f"read {log}; muster local down and muster local up start both again"
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE)) as session:
            async with session.get(f"{url}/readyz") as answer:
                words = printable(await answer.text(), SHOWN).strip()
                ready = answer.status == 200
            if ready:
                yield Check(AREA, "daemon", "ok", f"ready at {url}")
            else:
                yield Check(AREA, "daemon", "failed", f"not ready at {url}: {words}", remedy)
            yield Check(AREA, "leader", "ok", "a single daemon, which needs no Lease")
            async with session.get(f"{url}/metrics") as answer:
                series = sum(row.startswith("muster_") for row in (await answer.text()).splitlines())
                if answer.status == 200 and series:
                    yield Check(AREA, "metrics", "ok", f"{series} series at {url}/metrics")
                else:
                    yield Check(AREA, "metrics", "failed", f"{url}/metrics answers {answer.status}", remedy)
    except (aiohttp.ClientError, TimeoutError) as error:
        what = printable(f"{url} does not answer: {error or type(error).__name__}", SHOWN)
        yield Check(AREA, "daemon", "failed", what, remedy)
