"""The client: everything a program or the command line does with experiments, on any cluster.

    async with Client() as client:
        seen = await client.submit(Path("manifest.yaml"))
        seen = await client.wait(seen.name)
        print(seen.outcome)

It is asynchronous; ``muster.client.blocking`` has the same methods for plain code.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncGenerator, Callable, Collection, MutableSequence, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from muster.api.errors import ApiError, Conflict
from muster.api.names import ANNOTATION_CANCELLED, ANNOTATION_RESTART
from muster.client.errors import OnlyWatched
from muster.client.explaining.explanation import Explanation, explain
from muster.client.logs.gang_log import AT_ONCE, FollowedLog, GangLog, LogChoice, Noted, newest
from muster.client.logs.last_lines import LastLine, read_last_lines
from muster.client.logs.pod_log import LogLine, LogStart
from muster.client.member import Member, MemberChange, member_of, members_of, read_members
from muster.client.snapshot import EventSummary, ExperimentChange, Snapshot, events_of, known_kind, snapshot_of
from muster.client.subjects import collection_path, object_path, ours, parse, refuse_to_ask, refuse_watched, subject_of
from muster.client.waiting import Until, wait
from muster.kube.listwatch.informer import changes
from muster.kube.resources import ResourceClient, core
from muster.kube.transport import Transport
from muster.kube.unstructured import Json
from muster.state.vocabulary.subject import EXPERIMENT

if TYPE_CHECKING:  # the manifest's models take longer to import than a request takes
    from muster.api.manifest.load import Loaded
    from muster.kinds.manifests.load import LoadedObject
    from muster.kube.connection import Connection

ATTEMPTS = 8
"""Number of times that a write is tried again after a conflict."""
SHOWN_ONCE = "`muster get` shows it once, and musterd's page follows it"


class Client:
    """A client of the cluster that ``kubeconfig`` and ``context`` name.

    Without a path it reads what kubectl reads: KUBECONFIG, ``~/.kube/config``, or the pod's service account.

    Open it with ``async with``. ``namespace`` arguments default to that of the client, which defaults to that of the
    context. ``retrying`` is called with each interruption of a watch and the seconds until the next attempt.
    ``impersonate`` is the user as whom every request is sent. Every method raises ``muster.api.errors.ApiError``.
    """

    def __init__(
        self,
        kubeconfig: Path | None = None,
        context: str | None = None,
        *,
        transport: Transport | None = None,
        namespace: str = "",
        retrying: Callable[[ApiError, float], None] | None = None,
        rng: random.Random | None = None,
        impersonate: str = "",
    ) -> None:
        self._kubeconfig = kubeconfig
        self._context = context
        self._impersonate = impersonate
        self._connection: Connection | None = None
        self._resources = ResourceClient(transport) if transport is not None else None
        self._retrying = retrying
        self._rng = rng or random.SystemRandom()
        self._namespace = namespace
        self.namespace = namespace or "default"

    async def __aenter__(self) -> Client:
        if self._resources is None:
            from muster.client.cluster_choice import connect  # aiohttp: a program that opens no connection needs none

            self._connection = await connect(self._kubeconfig, self._context, self._impersonate)
            self._resources = ResourceClient(self._connection)
            self.namespace = self._namespace or self._connection.namespace
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:
            await self._connection.aclose()

    @property
    def transport(self) -> Transport:
        """Return the open connection."""
        return self.resources.transport

    @property
    def place(self) -> str:
        """Return the address of the cluster and where it came from; empty for a transport of the caller's."""
        return "" if self._connection is None else self._connection.credentials.place

    @property
    def resources(self) -> ResourceClient:
        """Return the verbs of the API on the open connection, for other kinds of objects."""
        if self._resources is None:
            raise RuntimeError("the client is not open: write `async with Client() as client:`")
        return self._resources

    async def submit(
        self,
        manifest: Path | str | Loaded | LoadedObject,
        *,
        name: str | None = None,
        namespace: str | None = None,
        filename: str = "",
    ) -> Snapshot:
        """Create an experiment from a file (Path), a text (str) or a manifest that is loaded already.

        An Experiment document has its own name; an AIchor manifest gets one from its name, file or operator, and five
        characters. Raises ``ManifestError`` for a manifest that cannot be used, ``AlreadyExists`` if the name is
        taken.
        """
        from muster.client.submitting import submit

        return await submit(
            self.resources,
            manifest,
            name=name,
            namespace=namespace,
            default=self.namespace,
            filename=filename,
            rng=self._rng,
        )

    async def get(self, name: str, *, namespace: str | None = None) -> Snapshot:
        """Return one experiment, or an object of another kind. Raises ``NoSuchExperiment``.

        The status of one that another controller runs is computed from its pods, see ``Snapshot.watched``.
        """
        space, subject = namespace or self.namespace, parse(name)[0]
        if subject == EXPERIMENT:
            with known_kind(name, space):
                return snapshot_of(await self.resources.get(object_path(space, name)))
        from muster.client import watching

        return await watching.get(self.resources, subject, space, name)

    async def list(
        self, *, namespace: str | None = None, everywhere: bool = False, kind: str = ""
    ) -> Sequence[Snapshot]:
        """Return the experiments of one namespace, or of all that may be read; or the objects of another ``kind``."""
        space, subject = None if everywhere else namespace or self.namespace, subject_of(kind)
        if subject == EXPERIMENT:
            with known_kind():
                return [snapshot_of(obj) for obj in await self.resources.list(collection_path(space))]
        from muster.client import watching

        return await watching.list_all(self.resources, subject, space)

    async def list_stuck(
        self, *, namespace: str | None = None, everywhere: bool = False, unknown: MutableSequence[str] | None = None
    ) -> Sequence[Snapshot]:
        """Return the runs of other controllers whose Event of musterd is Stuck. Events are kept for an hour by default.

        What may not be read, Events or objects of a kind, is left out: a sentence about each is appended to
        ``unknown``.
        """
        from muster.client import watching

        space = None if everywhere else namespace or self.namespace
        return await watching.list_stuck(self.resources, space, [] if unknown is None else unknown)

    async def watch(
        self, name: str | None = None, *, namespace: str | None = None, everywhere: bool = False
    ) -> AsyncGenerator[ExperimentChange, None]:
        """Yield what exists (as ADDED), then every change.

        The watch never ends by itself; a watch that breaks is opened again.
        """
        refuse_watched(name or "", SHOWN_ONCE)
        subject, own = parse(name or "")
        path = collection_path(None if everywhere else namespace or self.namespace, subject)
        params = {"fieldSelector": f"metadata.name={own}"} if own else {}
        with known_kind((name or "").removesuffix(own)):
            stream = changes(self.resources.transport, path, params, retrying=self._retrying)
            async with contextlib.aclosing(stream):
                async for change in stream:
                    if own or ours(change.object):
                        yield ExperimentChange(change.kind, snapshot_of(change.object))

    async def wait(
        self, name: str, until: str | Until = "Finished", *, timeout: float | None = None, namespace: str | None = None
    ) -> Snapshot:
        """Return the experiment as soon as ``until`` holds, at the latest when it has finished.

        See ``outcome`` (and ``until.met``) for how. Raises ``WaitTimeout`` after ``timeout`` seconds, ``Vanished`` if
        it is deleted meanwhile (unless ``until`` is its deletion), and ``NoSuchExperiment``.
        """
        goal = Until.parse(until) if isinstance(until, str) else until
        seen = await self.get(name, namespace=namespace)
        if seen.watched is not None and not seen.finished:
            raise OnlyWatched(f"{name} is run by another controller: wait for its own conditions with kubectl wait")
        return await wait(self, seen, goal, timeout)

    async def members(self, name: str, *, namespace: str | None = None) -> Sequence[Member]:
        """Return the members of the latest epoch that have a pod, by rank. Raises ``NoSuchExperiment``."""
        return await self._members(await self.get(name, namespace=namespace))

    async def watch_members(self, name: str, *, namespace: str | None = None) -> AsyncGenerator[MemberChange, None]:
        """Yield the members that have a pod (as ADDED), of every epoch, then every change; it never ends by itself.

        They are those of the experiment that has the name now. Raises ``NoSuchExperiment``.
        """
        seen = await self.get(name, namespace=namespace)
        stream = changes(self.transport, core(seen.namespace, "pods"), members_of(seen.uid))
        async with contextlib.aclosing(stream):
            async for change in stream:
                yield MemberChange(change.kind, member_of(change.object))

    async def last_lines(self, name: str, *, namespace: str | None = None) -> Sequence[LastLine]:
        """Return the last log line of each rank of the latest epoch, with its time; after the end, the last before."""
        experiment = await self.get(name, namespace=namespace)
        return await read_last_lines(self.resources, experiment, await self._members(experiment))

    async def events(self, name: str, *, namespace: str | None = None) -> Sequence[EventSummary]:
        """Return the Kubernetes Events about one experiment, oldest first; they are kept for about an hour.

        They are those of the experiment that has the name now. Raises ``NoSuchExperiment``.
        """
        return await events_of(self.resources, await self.get(name, namespace=namespace))

    async def explain(
        self, name: str, *, last_lines: bool = False, epoch: int | None = None, namespace: str | None = None
    ) -> Explanation:
        """Return what an experiment waits for, its members and its Events.

        With ``last_lines`` also what each rank logged last. Pods, Events and logs that may not be read are left out,
        and named in ``unreadable``. With ``epoch`` the members are those of that epoch whose pods are kept.
        """
        seen = await self.get(name, namespace=namespace)
        return await explain(self.resources, seen, last_lines=last_lines, epoch=epoch)

    async def logs(
        self,
        name: str,
        ranks: Collection[int] = (),
        *,
        follow: bool = False,
        previous: bool = False,
        epoch: int | None = None,
        tail: int | None = None,
        since: float | datetime | None = None,
        at_once: int = AT_ONCE,
        namespace: str | None = None,
        noted: Noted = lambda _note: None,
    ) -> AsyncGenerator[LogLine, None]:
        """Yield the log of the gang or of some ranks, by time; see ``logs.gang_log``.

        ``since`` is a moment, or the last so many seconds. ``noted`` is called with ranks that are not read, and why.
        Raises ``NoSuchExperiment``, ``NoSuchRank`` where nothing is logged yet, and ``LogsGone``.
        """
        if follow and (previous or epoch is not None):
            raise ValueError("an epoch that has ended cannot be followed: leave follow, or previous and epoch, out")
        seen = await self.get(name, namespace=namespace)
        if follow and seen.watched is not None:
            raise OnlyWatched(f"{name} is run by another controller: leave --follow out, or follow it with kubectl")
        log = GangLog(
            self.resources, seen, LogChoice(frozenset(ranks), epoch, LogStart(tail, since), max(1, at_once)), noted
        )
        lines = FollowedLog(log).lines() if follow else log.previous() if previous else log.read()
        async with contextlib.aclosing(lines) as stream:
            async for line in stream:
                yield line

    async def cancel(self, name: str, *, by: str = "", namespace: str | None = None) -> Snapshot:
        """Cancel an experiment: it fails as cancelled, its pods get their grace period. It can be repeated.

        ``by`` names who asks, and when: the experiment's message will have it.
        """
        metadata = {"annotations": {ANNOTATION_CANCELLED: by}} if by else {}
        return await self._ask(name, {"metadata": metadata, "spec": {"cancel": True}}, namespace, "cancelled")

    async def restart(self, name: str, *, by: str, namespace: str | None = None) -> Snapshot:
        """Ask for a restart of the gang, which is charged to no budget; an experiment that has ended stays as it is.

        ``by`` names who asks, and when. Another text is another request: with the same one it can be repeated.
        """
        return await self._ask(name, {"metadata": {"annotations": {ANNOTATION_RESTART: by}}}, namespace, "restarted")

    async def rerun(self, name: str, *, namespace: str | None = None) -> Snapshot:
        """Submit the spec of an experiment once more, under a new name; the experiment and its logs stay."""
        from muster.client.submitting import again

        refuse_to_ask(name, "submitted again")
        seen = await self.get(name, namespace=namespace)
        manifest, new = again(seen, self._rng)
        return await self.submit(manifest, name=new, namespace=seen.namespace)

    async def _ask(self, name: str, wish: Json, namespace: str | None, verb: str) -> Snapshot:
        """Merge a wish into an experiment that has not finished; with it, it is ``verb``."""
        space = namespace or self.namespace
        refuse_to_ask(name, verb)
        for _ in range(ATTEMPTS):
            seen = await self.get(name, namespace=space)
            if seen.finished:
                return seen
            patch = {**wish, "metadata": {**wish["metadata"], "resourceVersion": seen.version, "uid": seen.uid}}
            try:
                with known_kind(name, space):
                    return snapshot_of(await self.resources.merge(object_path(space, name), patch))
            except Conflict as error:
                conflict = error
        raise conflict

    async def delete(
        self, name: str, *, uid: str | None = None, namespace: str | None = None, dry_run: bool = False
    ) -> None:
        """Delete an experiment, and with it its pods and their logs.

        With ``uid`` only if the experiment still has it: one that was created again under the name stays, and
        ``Conflict`` is raised. ``dry_run`` asks the API server whether it would, and changes nothing. Raises
        ``NoSuchExperiment``.
        """
        space = namespace or self.namespace
        options = ({"preconditions": {"uid": uid}} if uid else {}) | ({"dryRun": ["All"]} if dry_run else {})
        refuse_watched(name, "delete it with kubectl")
        with known_kind(name, space):
            await self.resources.delete(object_path(space, name), options or None)

    async def _members(self, experiment: Snapshot) -> Sequence[Member]:
        if experiment.watched is not None:
            return list(experiment.watched.with_pods().members)
        return list(newest(await read_members(self.resources, experiment.namespace, experiment.uid)).values())
