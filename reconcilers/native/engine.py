"""The native engine: Muster itself creates and deletes the pods of an experiment.

The engine decides nothing. It is called after the record that goes with an action is persisted, carries the action
out, and brings facts back; every action may be carried out twice.
"""

from collections.abc import Callable
from typing import assert_never

from muster.api.errors import MusterError
from muster.kube.transport import Transport
from muster.reconcilers.native.batch import Calls
from muster.reconcilers.native.confirm import confirm_launch, confirm_loss
from muster.reconcilers.native.create import create_pods
from muster.reconcilers.native.delete import delete_pods
from muster.reconcilers.native.service import ensure_service
from muster.reconcilers.result import Outcome
from muster.state.actions import Action, ConfirmLaunch, ConfirmLoss, CreatePods, DeletePods, EnsureService
from muster.state.plan import Plan
from muster.state.record import Record


class NativeEngine:
    """Carries actions out over ``transport`` with at most ``concurrency`` requests at a time, over all experiments.

    ``clock`` gives wall seconds since 1970.
    """

    def __init__(self, transport: Transport, *, concurrency: int = 32, clock: Callable[[], float]) -> None:
        self._calls = Calls(transport, concurrency=concurrency, now=clock)

    async def carry_out(self, action: Action, plan: Plan, record: Record) -> Outcome:
        """Carry one action out. ``record`` is the one just persisted.

        Raises ``ApiError`` when the API server could not be reached or was busy, or has it in the outcome where a part
        was done: come back later, with back-off (and after ``retry_after``, where it is set). Raises ``MusterError``
        for a launch of another epoch than the persisted one: the caller has not persisted its decision.
        When the call is cancelled nothing of it goes on.
        """
        match action:
            case ConfirmLaunch() | CreatePods() if action.epoch != record.epoch:
                raise MusterError(
                    f"experiment {plan.namespace}/{plan.name}: epoch {action.epoch} cannot be launched while its "
                    f"record is of epoch {record.epoch}; persist the record first"
                )
            case ConfirmLaunch():
                return await confirm_launch(self._calls, action, plan)
            case ConfirmLoss():
                return await confirm_loss(self._calls, action, plan)
            case EnsureService():
                return await ensure_service(self._calls, plan)
            case CreatePods():
                return await create_pods(self._calls, action, plan)
            case DeletePods():
                return await delete_pods(self._calls, action, plan)
            case _:
                assert_never(action)
