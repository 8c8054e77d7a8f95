"""The native engine: Muster itself creates and deletes the pods of an experiment.

The engine decides nothing. It carries out the actions of a decision after the record of that decision is persisted, and
returns what it learnt. Every action may be carried out twice.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import assert_never

from muster.api.errors import ApiError, Conflict, MusterError, NotFound
from muster.api.names import LABEL_UID
from muster.kube.fair_share import FairShare
from muster.kube.transport import Transport
from muster.reconcilers.native.claims import ensure_claims
from muster.reconcilers.native.confirm import confirm_end, confirm_launch, confirm_loss
from muster.reconcilers.native.delete import collect_pods, delete_pods, stop_pods
from muster.reconcilers.native.live_pods import may_run
from muster.reconcilers.queue import carry_out_for_queue, let_go
from muster.reconcilers.refs import path_of
from muster.reconcilers.render.environment import NO_RESTARTS, Endpoint, Restarts
from muster.reconcilers.render.objects import Unrenderable, render_service, to_json
from muster.reconcilers.render.pod import PodTemplate, identity, placed
from muster.reconcilers.requests.batch import Batch, Calls, create_or_find, delete_options
from muster.reconcilers.requests.refusals import refusal_or_raise
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import (
    Action,
    ConfirmEnd,
    ConfirmLaunch,
    ConfirmLoss,
    CreatePods,
    DeletePods,
    DeleteSubject,
    EndRun,
    EnsureClaims,
    EnsureService,
    QueueAction,
    StopPods,
)
from muster.state.vocabulary.group import Member
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Record, restarts_of
from muster.state.vocabulary.refusals import REJECTED, of_kind
from muster.state.vocabulary.workload import Workload

STRICT = {"fieldValidation": "Strict"}
"""Parameters that make the API server reject unknown fields, which it drops otherwise. Only for pods with a template:
Muster does not check the deeper parts of one, and the check costs the API server time."""


async def create_pods(
    calls: Calls,
    action: CreatePods,
    plan: Plan,
    batch: Batch[Member],
    restarts: Restarts = NO_RESTARTS,
    endpoint: Endpoint | None = None,
) -> Outcome:
    """Create the members' pods of one epoch, until ``batch`` is stopped. A repeated action creates no second pod."""
    wanted = {member.group for member in action.members}
    templates = {
        group.name: PodTemplate(plan, group, action.epoch, restarts, action.avoid, endpoint)
        for group in plan.groups
        if group.name in wanted
    }
    strict = {g.name: STRICT if g.template else None for g in plan.groups}
    attempts = dict(action.attempts)

    async def create(member: Member) -> int | Refusal:
        attempt = attempts.get(member.rank, 0)
        name = plan.pod_name(member, action.epoch, attempt)
        labels = identity(plan, member, action.epoch, attempt)
        body = templates[member.group].render(member, attempt)
        return await create_or_find(calls, plan, "Pod", name, body, labels, strict[member.group])

    await batch.run(f"create pods of {plan.namespace}/{plan.name}", action.members, create, calls.create_slots(plan))
    return batch.outcome()


class NativeEngine:
    """The engine that carries out actions over ``transport``: creates in slots of ``creates``, others in ``others``.

    ``clock`` gives wall seconds since 1970.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        creates: FairShare,
        others: FairShare,
        clock: Callable[[], float],
        endpoint: Callable[[], Endpoint | None] = lambda: None,
    ) -> None:
        """``endpoint`` gives the progress endpoint as members reach it; None if there is none."""
        self._endpoint = endpoint
        self._calls = Calls(transport, creates=creates, others=others, now=clock)
        self._creating: dict[str, Callable[[], None]] = {}
        """The function that stops the creates in progress, by uid of the experiment."""

    async def carry_out(
        self, action: Action, plan: Plan, record: Record, written: int = 0, version: int = 0
    ) -> Outcome:
        """Carry out one action. ``record`` is the persisted one; ``written`` its resourceVersion if that is new.

        ``version`` is the object's resourceVersion at the decision.

        A refusal of the API server is in the outcome. Raises ``ApiError`` if only the next attempt can show one (the
        connection broke, another write came first); if a part was done, the error is in the outcome instead. Raises
        ``MusterError`` for a launch of an epoch that is not the persisted one. When the call is cancelled, its requests
        are too.
        """
        try:
            return await self._carry_out(action, plan, record, written, version)
        except Unrenderable as error:
            return Outcome(refusal=Refusal(of_kind(error.kind, REJECTED), str(error), final=True))
        except ApiError as error:  # of a read: every write has its own handler
            return Outcome(refusal=refusal_or_raise(error, plan))

    def creating(self, uid: str) -> bool:
        """Return True if objects of that experiment are being created."""
        return uid in self._creating

    def stop_creating(self, uid: str) -> None:
        """Begin no further create for that experiment: it was cancelled, suspended or deleted meanwhile."""
        if uid in self._creating:
            self._creating[uid]()

    async def collect(self, plan: Plan, vanished: tuple[Pod, ...] = ()) -> None:
        """Delete the pods of a deleted Experiment, and those that ``vanished``. Raises ``ApiError``."""
        outcome = await collect_pods(self._calls, plan, vanished)
        if outcome.error is not None:
            raise outcome.error

    async def ended(self, vanished: Iterable[Pod]) -> list[Pod]:
        """Return those of the pods, which no watch shows any longer, that have ended. Raises ``ApiError``."""
        return [pod for pod in vanished if not await may_run(self._calls, pod)]

    async def release(self, workload: Workload) -> None:
        """Remove Muster's finalizer from a Workload whose Experiment is gone. Raises ``ApiError``."""
        await let_go(self._calls, workload)

    async def _carry_out(self, action: Action, plan: Plan, record: Record, written: int, version: int) -> Outcome:
        if isinstance(action, QueueAction):
            async with self._calls.slots(plan):
                return await carry_out_for_queue(self._calls, action, plan)
        match action:
            case ConfirmLaunch() | CreatePods() if action.epoch != record.epoch:
                raise MusterError(
                    f"experiment {plan.namespace}/{plan.name}: epoch {action.epoch} cannot be launched while its "
                    f"record is of epoch {record.epoch}; persist the record first"
                )
            case ConfirmLaunch():
                async with self._calls.slots(plan):
                    return await confirm_launch(self._calls, action, plan, record, written)
            case ConfirmLoss():
                async with self._calls.slots(plan):
                    return await confirm_loss(self._calls, action, plan, record)
            case ConfirmEnd():
                async with self._calls.slots(plan):
                    return await confirm_end(self._calls, action, plan)
            case EnsureClaims(epoch):
                return await self._create_one(
                    plan, lambda: ensure_claims(self._calls, plan, epoch, made=record.volume_at is not None)
                )
            case EnsureService():
                return await self._create_one(plan, lambda: ensure_service(self._calls, plan))
            case CreatePods():
                batch = Batch[Member]()
                with self._stopped_by(plan, batch.stop):
                    target = placed(plan, action.placement)
                    return await create_pods(self._calls, action, target, batch, _restarts_of(record), self._endpoint())
            case DeletePods():
                return await delete_pods(self._calls, action, plan)
            case StopPods():
                return await stop_pods(self._calls, action, plan)
            case DeleteSubject():
                return await delete_subject(self._calls, plan, written or version)
            case EndRun():
                raise MusterError(f"{plan.namespace}/{plan.title}: only watched runs are ended by their object")
            case _:
                assert_never(action)

    async def _create_one(self, plan: Plan, create: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Create an object of the experiment in one slot, unless it is no longer wanted."""
        slots = self._calls.create_slots(plan)
        with self._stopped_by(plan, slots.withdraw):
            if not await slots.acquire():
                return Outcome(unwanted=True)
        try:
            return await create()
        finally:
            slots.release()

    @contextmanager
    def _stopped_by(self, plan: Plan, stop: Callable[[], None]) -> Iterator[None]:
        self._creating[plan.uid] = stop
        try:
            yield
        finally:
            del self._creating[plan.uid]


def _restarts_of(record: Record) -> Restarts:
    jobs = {job: row.restarts for job, row in restarts_of(record.job_restarts).items()}
    return Restarts(record.gang_restarts, jobs)


async def delete_subject(calls: Calls, plan: Plan, version: int) -> Outcome:
    """Delete the object of a finished experiment; the garbage collector and ``collect_pods`` delete what it owned.

    The request carries the uid and the resourceVersion of the decision, so an object that was edited meanwhile, or
    created again under the same name, is left alone. Raises ``ApiError`` if a retry may help: ``Conflict`` if it has
    changed since.
    """
    async with calls.slots(plan):
        try:
            await calls.do("DELETE", path_of(plan), body=delete_options(plan.uid, None, str(version)))
        except NotFound:
            return Outcome(removed=True)
        except Conflict:
            raise
        except ApiError as error:
            return Outcome(
                refusal=replace(refusal_or_raise(error, plan, "delete", plan.subject.kind, plan.name), final=False)
            )
    return Outcome(removed=True)


async def ensure_service(calls: Calls, plan: Plan) -> Outcome:
    """Create the headless Service unless the Experiment owns one already. Raises ``ApiError`` if a retry may help."""
    body = to_json(render_service(plan), f"the Service of experiment {plan.namespace}/{plan.name}")
    found = await create_or_find(calls, plan, "Service", plan.domain, body, {LABEL_UID: plan.uid})
    return Outcome(refusal=found) if isinstance(found, Refusal) else Outcome(service=True)
