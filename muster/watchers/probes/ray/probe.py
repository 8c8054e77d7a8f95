"""The prober of one Ray head.

The list of nodes decides: the dashboard reads it from the GCS at each request, so an answer shows that both work. If it
fails, the health checks of dashboard and head agent show which of the two failed. A TCP connection proves little: the
port of a frozen GCS accepts them (measured with Ray 2.60; docs/operators/kuberay.md). It counts only if neither
dashboard nor agent listens, as in an image without ``ray[default]``.

A node that outlives the GCS it joined shows as a running, ready pod for up to a minute, and is in no list. Its own
agent reports that (503, WrongClusterID), and is asked if the daemon suspects it (``suspects``).

Nodes are known by address. The submitter is no Ray node: it has arrived once the dashboard knows its job.
"""

import asyncio
from collections.abc import Callable
from urllib.parse import quote

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState, RankError, RankState, RollAnswer, Work, of_rank
from muster.watchers.probes.bounded.connection import Address, in_turns, loop_time
from muster.watchers.probes.bounded.http import Asker, Reply
from muster.watchers.probes.ray.answers import (
    AGENT_HEALTH,
    GCS_HEALTH,
    JOBS,
    MAX_NODES,
    NODES,
    VERSION,
    WRONG_CLUSTER,
    Node,
    TaskCounter,
    Unreadable,
    nodes_in_turns,
    read_job,
    read_session,
)
from muster.watchers.probes.ray.demands import Demands

MAX_TEXT = 1_000
MAX_ERRORS = 16
"""Most nodes whose end is quoted."""
MAX_SUSPECTS = 16
"""Most agents that are asked in one look."""
NOT_JOINED = "the dashboard answers, and the head has not joined its own cluster yet"
BASE_BYTES, BYTES_PER_NODE = 1 << 20, 640
"""The size of the longest list that is read: a node takes about 500 bytes, and Ray keeps 1,000 dead ones."""
_NO_TOKEN = frozenset({401, 403})
UNAUTHORIZED = "Ray wants a token that the pod template does not hold (RAY_AUTH_TOKEN); who has joined is unknown"


class RayProbe:
    """The probe that asks the head at `address` ("ip:port" of its GCS) which nodes have joined.

    `dashboard` and `agent` are the ports to ask, `expected` is the number of members, `job` the name of the submitter's
    job and `submitter` its rank. `deadline` bounds each request, in seconds; a snapshot takes at most twice that.
    ``ask`` is another way to the head than over the network. Raises ValueError for an invalid address.
    """

    def __init__(
        self,
        address: str,
        *,
        dashboard: int,
        agent: int,
        clock: Callable[[], float],
        expected: int,
        job: str = "",
        submitter: int = -1,
        token: str = "",
        deadline: float = 2.0,
        ask: Asker | None = None,
    ) -> None:
        parsed = Address.parse(address)
        self._most = BASE_BYTES + BYTES_PER_NODE * min(expected, MAX_NODES)
        self._ask = ask or Asker(parsed.host, token=token, deadline=deadline)
        self._gcs, self._dashboard, self._agent = parsed.port, dashboard, agent
        self._clock, self._expected = clock, expected
        self._job_path, self._job_name, self._submitter = JOBS + quote(job, safe=""), job, submitter
        self._session: int | None = None
        self._joined = False
        self._job: Work | None = None
        self._tasks = TaskCounter(self._ask, dashboard, loop_time)
        self._demands = Demands(self._ask, dashboard, loop_time)
        self.suspects: tuple[str, ...] = ()
        """IPs of members whose agents are asked whether their nodes belong to an earlier GCS."""

    async def snapshot(self) -> RollAnswer:
        """Ask the head once. Raises nothing, whatever the network or the head does."""
        started = loop_time()
        nodes, version, job, stale = await asyncio.gather(
            self._ask.get(self._dashboard, NODES, most=self._most),
            self._ask.get(self._dashboard, VERSION),
            self._ask_job(),
            self._stale_nodes(),
        )
        latency = loop_time() - started
        if nodes.status in _NO_TOKEN:
            return await self._without_token(latency)
        if nodes.state is CoordinatorState.REFUSED and (lacks := await self._without_dashboard(nodes)):
            return self._without_roll(latency, f"{lacks}; who has joined is unknown", lacks)
        if not nodes.good:
            return self._silence(await self._explain(nodes), loop_time() - started)
        try:
            found, total = await in_turns(nodes_in_turns(nodes.body))
        except Unreadable as error:
            return self._silence(Reply(0, state=CoordinatorState.OTHER_PROTOCOL, detail=str(error)), latency)
        self._follow(version, job)
        if not any(node.head and node.alive for node in found):
            return self._silence(Reply(0, state=CoordinatorState.REFUSED, detail=NOT_JOINED), latency)
        if self._job is not None and self._job.status == "RUNNING":
            await self._tasks.look()
            await self._demands.look()
        else:
            self._demands.forget()
        return self._roll(_with_stale(found, stale), total, latency)

    async def close(self) -> None:
        """Do nothing: no connection is open between two snapshots."""

    async def _ask_job(self) -> Reply | None:
        return await self._ask.get(self._dashboard, self._job_path) if self._job_name else None

    async def _stale_nodes(self) -> list[Node]:
        """Return the suspects whose agents report another GCS than the one that answers now."""
        suspects = self.suspects[:MAX_SUSPECTS]
        replies = await asyncio.gather(*(self._ask.get(self._agent, AGENT_HEALTH, host=ip) for ip in suspects))
        return [
            Node(ip, False, False, "", WRONG_CLUSTER.decode(), stale=True)
            for ip, reply in zip(suspects, replies, strict=True)
            if reply.status == 503 and WRONG_CLUSTER in reply.body
        ]

    def _follow(self, version: Reply, job: Reply | None) -> None:
        """Take in session and job. If the part of the dashboard that knows them hangs, its last answer counts."""
        try:
            session = read_session(version.body) if version.good else None
            if session is not None and session != self._session:
                self._session, self._job = session, None
                self._tasks.forget()
                self._demands.forget()
            if job is None:
                return
            if job.good:
                self._job = read_job(job.body, self._job_name)
            elif job.status == 404:
                self._job = None
        except Unreadable:
            return

    def _roll(self, nodes: list[Node], total: int, latency: float) -> RollAnswer:
        identities = [node.ip for node in nodes]
        states = [_state_of(node) for node in nodes]
        if self._job is not None and self._submitter >= 0:
            identities.append(of_rank(self._submitter))
            states.append(RankState.LEFT if self._job.ended else RankState.CONNECTED)
        dead = [(index, node.why) for index, node in enumerate(nodes) if not node.alive and not node.stale]
        cut = total > MAX_NODES
        return RollAnswer(
            at=self._clock(),
            coordinator=CoordinatorState.SERVING,
            latency=latency,
            detail=self._sentence(nodes),
            expected=self._expected,
            states=tuple(states),
            identities=tuple(identities),
            partial=f"the dashboard lists {MAX_NODES} of {total} nodes" if cut else "",
            errors=tuple(RankError(index, 0, why) for index, why in dead[:MAX_ERRORS]),
            work=self._job,
            unmet=self._demands.sentence,
            incarnation=self._session,
            protocol="ray",
        )

    def _sentence(self, nodes: list[Node]) -> str:
        alive = sum(node.alive for node in nodes)
        joined = f"{alive} Ray {'node is' if alive == 1 else 'nodes are'} alive"
        if self._job is None:
            return joined
        return "; ".join(filter(None, (joined, self._job.sentence, self._tasks.sentence)))[:MAX_TEXT]

    async def _without_dashboard(self, nodes: Reply) -> str:
        """Return the gap if the GCS serves while the dashboard's port is closed; empty without proof that it serves.

        The dashboard gives up if one of its parts does not start in time, and Ray continues without it.
        """
        agent = await self._ask.get(self._agent, AGENT_HEALTH)
        if agent.good:
            return printable(f"Ray's GCS serves, but its dashboard does not ({nodes.detail})", MAX_TEXT)
        if not agent.status and await self._ask.accepts(self._gcs):
            what = f"Ray's GCS accepts connections at port {self._gcs}, its dashboard does not serve ({nodes.detail})"
            return printable(what, MAX_TEXT)
        return ""

    async def _without_token(self, latency: float) -> RollAnswer:
        """Return the answer if the list of nodes needs a token; the head's agent shows without one that it joined."""
        if not self._joined:
            agent = await self._ask.get(self._agent, AGENT_HEALTH)
            if agent.status == 503 or agent.state is CoordinatorState.REFUSED:
                return self._silence(Reply(0, state=CoordinatorState.REFUSED, detail=NOT_JOINED), latency)
            self._joined = True
        return self._without_roll(latency, UNAUTHORIZED)

    def _without_roll(self, latency: float, partial: str, lacks: str = "") -> RollAnswer:
        """Return the answer of a head that serves without a roll; ``partial`` has the reason."""
        return RollAnswer(
            at=self._clock(),
            coordinator=CoordinatorState.SERVING,
            latency=latency,
            states=(RankState.CONNECTED,),
            partial=partial,
            lacks=lacks,
            protocol="ray",
        )

    async def _explain(self, nodes: Reply) -> Reply:
        """Return why there is no list of nodes."""
        if nodes.state is CoordinatorState.REFUSED or nodes.state is CoordinatorState.OTHER_PROTOCOL:
            return nodes
        gcs, agent = await asyncio.gather(
            self._ask.get(self._dashboard, GCS_HEALTH), self._ask.get(self._agent, AGENT_HEALTH)
        )
        if agent.good:
            what = "the GCS is healthy, but the dashboard does not list the nodes"
        elif gcs.status == 503 or agent.status == 503:
            what = f"the GCS does not answer: {printable(bytes(gcs.body or agent.body), 200)}"
            return Reply(0, state=CoordinatorState.SILENT, detail=what)
        elif nodes.status:
            return Reply(0, state=CoordinatorState.OTHER_PROTOCOL, detail=f"the list of nodes: HTTP {nodes.status}")
        else:
            what = nodes.detail
        return Reply(0, state=CoordinatorState.TIMEOUT if nodes.status else nodes.state, detail=what)

    def _silence(self, reply: Reply, latency: float) -> RollAnswer:
        return RollAnswer(
            at=self._clock(), coordinator=reply.state, latency=latency, detail=printable(reply.detail, MAX_TEXT)
        )


def _state_of(node: Node) -> RankState:
    if node.stale:
        return RankState.STALE
    return RankState.CONNECTED if node.alive else RankState.FAILED


def _with_stale(nodes: list[Node], stale: list[Node]) -> list[Node]:
    """Return the nodes, and stale ones that have not joined since; a dead entry of their address is an earlier node."""
    living = {node.ip for node in nodes if node.alive}
    found = {node.ip: node for node in stale if node.ip not in living}
    return [*(node for node in nodes if node.ip not in found), *found.values()]
