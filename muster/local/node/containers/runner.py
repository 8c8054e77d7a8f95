"""Runs one container from its first start to its last end: waits, runs it with its probes, and restarts it.

A command in a container that runs is started here, too.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from muster.kube.cancellation import cancel_and_wait
from muster.kube.workqueue import Backoff
from muster.local.node import objects
from muster.local.node.containers import states
from muster.local.node.containers.probes import watch_container
from muster.local.node.containers.process_spec import (
    PULL_RETRY,
    image_missing,
    limit_memory,
    prepare,
    pull_back_off,
    pull_error,
)
from muster.local.node.containers.states import LONGEST, ContainerRecord, RestartDelays, restarts
from muster.local.node.context import LOG, PodContext
from muster.local.node.isolation.sandbox import ProcessSpec, RunningProcess, SandboxError
from muster.local.node.logs import LogPipe, LogWriter, termination_message
from muster.local.node.objects import SECOND, Object
from muster.local.node.sources.environment import ConfigError

DRAIN_SECONDS = 0.5
"""Seconds to wait for output after the container has ended, from a process that left its session."""

ERROR_SECONDS = 1.0
"""Seconds that ErrImagePull is shown before the back-off starts."""

COMMAND_SECONDS = 3600.0
"""Seconds after which a command is killed."""
CHUNK = 65_536


class ContainerRunner:
    """Runs one container of a pod by its restart policy. Its probes call it."""

    def __init__(self, context: PodContext, container: Object, record: ContainerRecord, policy: str) -> None:
        self.record = record
        self.started = asyncio.Event()
        self._context = context
        self._container = container
        self._policy = policy
        self._spec: ProcessSpec | None = None
        self._process: RunningProcess | None = None
        self._killer: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Run until the container has ended and is not restarted."""
        context, record = self._context, self.record
        delays = RestartDelays(context.node.back_off)
        while (spec := await self._prepared()) is not None:
            began = context.node.clock()
            await self._once(spec)
            code = record.exit_code
            context.changed()
            if context.stopping.is_set() or code is None or not restarts(self._policy, code):
                return
            delay = delays.after((context.node.clock() - began) / SECOND)
            record.last = record.state
            if delay:
                pod = context.placement.pod
                who = f"{objects.name(pod)}_{objects.namespace(pod)}({objects.uid(pod)})"
                text = f"back-off {delay:g}s restarting failed container={record.name} pod={who}"
                record.state = states.waiting("CrashLoopBackOff", text)
                context.changed()
            if await context.pause(delay):
                return
            record.restarts += 1

    async def terminate(self, grace: float) -> None:
        """Run the preStop hook, then send SIGTERM. Does not wait for the end."""
        process = self._process
        if process is None:
            return
        hook: Object = (self._container.get("lifecycle") or {}).get("preStop") or {}
        if command := (hook.get("exec") or {}).get("command"):
            try:
                async with asyncio.timeout(grace):
                    await self.execute([str(part) for part in command], grace)
            except (SandboxError, TimeoutError) as error:
                LOG.info("preStop hook failed", error=str(error))
        await self._signal(process, signal.SIGTERM)

    @property
    def running(self) -> bool:
        """Return True if its process runs."""
        return self._process is not None

    async def execute(self, command: list[str], timeout: float, output: int | None = None) -> int:
        """Run a command in the container. Raises TimeoutError.

        The exit code; 126 if the command cannot be started, 1 if the container does not run.

        It writes to the descriptor `output`, which stays the caller's; None drops what it writes.
        """
        spec, sandbox, process = self._spec, self._context.sandbox, self._process
        if spec is None or sandbox is None or process is None:
            return 1
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            joined = replace(spec, argv=command, mounts=(), limits={}, join=process.number)
            asked = await sandbox.start(joined, null if output is None else output)
        except SandboxError:
            return 126
        finally:
            os.close(null)
        try:
            async with asyncio.timeout(timeout):
                return states.exit_of(await asyncio.shield(asked.status))[0]
        finally:
            if not asked.status.done():
                await self._signal(asked, signal.SIGKILL)

    def on_ready(self, ready: bool) -> None:
        """Note a changed result of the readiness probe."""
        if self.record.ready != ready:
            self.record.ready = ready
            self._context.changed()

    def on_started(self) -> None:
        """Note the success of the startup probe."""
        self.record.started = True
        self.started.set()
        self._context.changed()

    def on_failed(self, kind: str) -> None:
        """End the container, whose startup or liveness probe has reached its failure threshold."""
        LOG.info("probe failed, ending the container", probe=kind, container=self.record.name)
        self._killer = asyncio.create_task(self._end_for_probe(), name=f"kill-{self.record.name}")

    async def _end_for_probe(self) -> None:
        process = self._process
        if process is None:
            return
        grace = objects.grace(self._context.placement.pod)
        await self._signal(process, signal.SIGTERM)
        await asyncio.wait({process.status}, timeout=grace)
        await self._signal(process, signal.SIGKILL)

    async def _signal(self, process: RunningProcess, number: int) -> None:
        if self._context.sandbox is not None and not self._context.sandbox.closed.is_set():
            await self._context.sandbox.signal(process, number)

    async def _prepared(self) -> ProcessSpec | None:
        """Return the process to start, when its image and all references exist; None if the pod stops first."""
        context, record = self._context, self.record
        image, pulls = str(self._container.get("image") or ""), Backoff(PULL_RETRY, LONGEST)
        while not context.stopping.is_set():
            if image_missing(image):
                self._wait(*pull_error(image))
                if await context.pause(ERROR_SECONDS):
                    break
                self._wait(*pull_back_off(image))
                await context.pause(pulls.delay())
                continue
            try:
                return await prepare(context, self._container)
            except ConfigError as error:
                self._wait(error.reason, str(error))
                await context.pause(context.node.retry)
        record.ready = False
        return None

    def _wait(self, reason: str, message: str) -> None:
        state = states.waiting(reason, message)
        if self.record.state != state:
            self.record.state = state
            self._context.changed()

    async def _once(self, spec: ProcessSpec) -> None:
        """Run the container once, from its start to the end of its output."""
        context, record = self._context, self.record
        group, limits = limit_memory(context, self._container, record.restarts)
        self._spec = replace(spec, limits=limits, cgroups=[group.procs] if group else [])
        writer = context.node.logs.writer(context.folder / "logs", record.name, record.restarts)
        read, write = os.pipe2(os.O_CLOEXEC)
        pipe = await _connect(read, writer)
        began = context.node.clock()
        record.container_id = ""
        try:
            try:
                assert context.sandbox is not None
                process = await context.sandbox.start(self._spec, write)
            except SandboxError as error:
                self._ended(states.START_FAILED, 0, began, "StartError", str(error))
                return
            finally:
                os.close(write)
            self._process = process
            record.container_id = f"process://{process.pid}"
            record.state = states.running(began)
            context.changed()
            if context.stopping.is_set():
                await self.terminate(0)
            code, number = states.exit_of(await self._attended(process))
            killed = group is not None and code != 0 and group.out_of_memory()
            reason = states.OUT_OF_MEMORY if killed else ("Completed" if code == 0 else "Error")
            if context.sandbox.unseen(process):
                self._ended(code, 0, began, states.UNKNOWN["reason"], states.UNKNOWN["message"])
                return
            await _drain(pipe)
            context.node.logs.finish(writer)
            falls_back = self._container.get("terminationMessagePolicy") == "FallbackToLogsOnError"
            message = await asyncio.to_thread(termination_message, writer.path) if code and falls_back else ""
            self._ended(code, number, began, reason, message)
        finally:
            self._process = None
            await _drain(pipe)
            context.node.logs.finish(writer)
            if group is not None:
                group.remove()

    async def _attended(self, process: RunningProcess) -> int:
        """Return the wait status of a process, whose probes run meanwhile."""
        probing = asyncio.create_task(
            watch_container(self._container, self._context.placement.address, self), name=f"probes-{self.record.name}"
        )
        try:
            return await asyncio.shield(process.status)
        finally:
            for outcome in await cancel_and_wait(probing, self._killer):
                if isinstance(outcome, Exception):
                    LOG.warning("probe task failed", error=repr(outcome))
            self._killer = None

    def _ended(self, code: int, number: int, began: int, reason: str, message: str = "") -> None:
        record = self.record
        record.ready = record.started = False
        record.state = states.terminated(
            code,
            started=began,
            finished=self._context.node.clock(),
            container_id=record.container_id,
            reason=reason,
            signal=number,
            message=message,
        )


async def _connect(read: int, writer: LogWriter) -> tuple[asyncio.ReadTransport, LogPipe]:
    transport, protocol = await asyncio.get_running_loop().connect_read_pipe(
        lambda: LogPipe(writer), os.fdopen(read, "rb", buffering=0)
    )
    return transport, protocol


async def _drain(pipe: tuple[asyncio.ReadTransport, LogPipe]) -> None:
    """Read the rest of the output, for at most DRAIN_SECONDS."""
    transport, protocol = pipe
    try:
        await asyncio.wait_for(protocol.ended.wait(), DRAIN_SECONDS)
    except TimeoutError:
        transport.close()


async def run_command(
    runner: ContainerRunner, command: Sequence[str], write: Callable[[bytes], Awaitable[None]]
) -> int | None:
    """Run a command and hand its output on as it comes. The exit code; None where the container does not run."""
    if not runner.running:
        return None
    read, end = os.pipe2(os.O_CLOEXEC)
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb", buffering=0)
    )

    async def copy() -> None:
        while data := await reader.read(CHUNK):
            await write(data)

    copying = asyncio.create_task(copy(), name="command-output")
    try:
        try:
            code = await runner.execute(list(command), COMMAND_SECONDS, end)
        finally:
            os.close(end)
        # A process that the command has left behind may keep the output open.
        await asyncio.wait({copying}, timeout=DRAIN_SECONDS)
        return code
    finally:
        await cancel_and_wait(copying)
        transport.close()
