"""Bugs in objects of other kinds: their record, their own status, the rules of their Jobs, and a kind that goes."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from muster.daemon.experiments import reading
from muster.daemon.steps import status_writer
from muster.daemon.steps.controller import Controller
from muster.kinds.jobset import status as jobset_status
from muster.kinds.planning.run_object import with_record, without_record
from muster.kinds.registry import RUN_KINDS
from muster.metrics.instruments import Instruments
from muster.state.policies import restart
from muster.state.policies.failures.repair import Repairs
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.rules import FailureRule
from muster.state.vocabulary.subject import JOBSET
from muster.watchers import run_kinds as watching
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap

Status = Mapping[str, Any]


def hunt(family: str, scenario: str, most: int = 20) -> Hunt:
    """Plans of a JobSet object."""
    return Hunt(family, scenario, operator="jobset-object", most=most)


def saying(change: Any) -> Swaps:
    """The status of a JobSet is ``change(status, record, before)``."""
    kind = RUN_KINDS[JOBSET.kind]

    def status_of(plan: Plan, record: Record, view: View, before: Status) -> dict[str, Any]:
        made: dict[str, Any] = change(kind.status_of(plan, record, view, before), record, before)
        return made

    return [
        swap(status_writer, "RUN_KINDS", {**RUN_KINDS, JOBSET.kind: dataclasses.replace(kind, status_of=status_of)})
    ]


@bug(hunt("clean", "jobset-restarts"), hunt("clean", "jobset-gives-up"), shown_by="the record is lost")
@instead_of(status_writer, "with_record")
def record_left_out_at_the_end(_: Any, status: Status, record: Record) -> Status:
    """The status of a finished object has no record any more."""
    return status if record.finished else with_record(status, record)


@bug(hunt("clean", "jobset-suspended"), shown_by="its own status says restarts")
def suspension_counted_as_a_restart() -> Swaps:
    """A JobSet's restarts are its epochs, and so count resumptions."""
    return saying(lambda status, record, before: {**status, "restarts": record.epoch})


@bug(hunt("clean", "jobset-gives-up"), shown_by="follows")
@instead_of(jobset_status, "_judge")
def completed_and_failed(judge: Any, context: Any, counts: Any, conditions: Any, before: Status) -> None:
    """A JobSet that has failed is called completed as well."""
    judge(context, counts, conditions, before)
    if context.record.phase is Phase.FAILED:
        conditions.turn("Completed", True, *jobset_status.COMPLETED)


@bug(hunt("clean", "jobset-in-order"), hunt("clean", "jobset-restarts"), shown_by="the time of")
def every_condition_dated_anew() -> Swaps:
    """Each write of the status moves the time of every condition."""

    def anew(status: dict[str, Any], record: Record, before: Status) -> Status:
        at = f"{record.updated_at:.0f}"
        found = [{**each, "lastTransitionTime": at} for each in status.get("conditions", ())]
        return {**status, "conditions": found} if found else status

    return saying(anew)


@bug(hunt("clean", "jobset-runs"), hunt("crash", "jobset-runs"), shown_by="changes nothing")
@instead_of(reading, "without_record")
def empty_list_taken_for_a_difference(_: Any, status: object) -> dict[str, Any]:
    """A status without conditions is read as one with an empty list, and written again and again."""
    return {"conditions": [], **without_record(status)}


@bug(hunt("clean", "jobset-pod-replaced-twice"), shown_by="is replaced after")
def pod_of_a_job_replaced_at_once() -> Swaps:
    """A failed pod of a Job waits as the gang does, and not as long as the Job controller lets it."""
    return [swap(Repairs, "_wait", lambda self, rule, job: None)]


@bug(hunt("clean", "jobset-ignores-its-maximum"))
@instead_of(restart, "_end_epoch")
def every_restart_counts(ended: Any, context: Any, rule: FailureRule, cause: Any) -> Any:
    """A restart that ignores the maximum is counted against it."""
    return ended(context, dataclasses.replace(rule, counted=True), cause)


@bug(hunt("clean", "jobset-beside-others"), shown_by="another controller manages")
def every_object_is_ours() -> Swaps:
    """An object that names another manager is run as well."""
    return [swap(watching, "_ours", lambda kind, record: True)]


@bug(hunt("clean", "jobset-ends-unserved"))
def not_found_is_gone_for_good() -> Swaps:
    """A status write that finds no object is the last one, though the kind may be served again."""
    return [swap(Controller, "_await_kind", lambda self, plan, decision: None)]


@bug(hunt("clean", "jobset-ignores-its-maximum"), shown_by="gang restarts are counted")
@instead_of(Instruments, "transition")
def free_restarts_uncounted(
    transition: Any, self: Instruments, plan: Any, old: Record | None, new: Record, namespace: str = ""
) -> None:
    """The counter of gang restarts misses those that are charged to no account."""
    if old is not None and (new.restarts, new.disruptions) == (old.restarts, old.disruptions):
        return
    transition(self, plan, old, new, namespace)


@bug(hunt("crash", "jobset-gives-up", most=40), hunt("error", "jobset-gives-up", most=40))
@instead_of(restart, "_end_epoch")
def budget_of_the_run(ended: Any, context: Any, rule: FailureRule, cause: Any) -> Any:
    """The restarts that a JobSet has used are counted from its last run only: it never gives up."""
    return ended(context.with_record(replace(context.record, restarts=0)), rule, cause)
