"""A story: a plan, and what happens to it, step by step. The decisions are real; the world is this file."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import msgspec

from muster.state.decide.machine import Decision, decide
from muster.state.view.engine_facts import LiveRead
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.view.view import View
from muster.state.vocabulary.actions import (
    Action,
    ConfirmEnd,
    ConfirmLaunch,
    ConfirmLoss,
    CreatePods,
    DeletePods,
    DeleteSubject,
    EnsureClaims,
    EnsureService,
    StopPods,
)
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Cause, ConditionType, Phase, Record
from tests.builders import NOW, answer, pod, sure


def created(actions: Sequence[Action]) -> list[int]:
    """The ranks whose pods are created. Nothing else may be asked for."""
    (create,) = actions
    assert isinstance(create, CreatePods)
    return [member.rank for member in create.members]


def creations(actions: Sequence[Action]) -> list[int]:
    """The ranks whose pods are created, whatever else is asked for."""
    return [member.rank for each in actions if isinstance(each, CreatePods) for member in each.members]


class Story:
    """Every step looks twice: the second look must find nothing left to write (decisions are level-triggered)."""

    def __init__(self, plan: Plan, *, now: float = NOW) -> None:
        self.plan = plan
        self.view = View()
        self.record: Record | None = None
        self.now = now
        self.version = 0
        self.unheard: Callable[[], object] = lambda: None
        """What a look past the cache brings to light."""
        self.answered = True
        """The API server answers what a decision asks for before the next look."""
        self.writes = 0
        self.told: list[str] = []
        self.pods: dict[tuple[int, int], Pod] = {}
        """By epoch and rank: pods of attempt 0."""
        self.again: dict[tuple[int, int, int], Pod] = {}
        """By epoch, rank and attempt: pods of later attempts."""
        self.last: Decision | None = None

    @property
    def kept(self) -> Record:
        return sure(self.record)

    @property
    def cause(self) -> Cause:
        return sure(self.kept.cause)

    @property
    def wake_at(self) -> float:
        """When the last decision wants the next look."""
        return sure(sure(self.last).wake_at)

    def look(self, after: float = 0.0) -> tuple[Action, ...]:
        """Time passes, then one decision; its actions."""
        self.now += after
        decision = decide(self.plan, self.record, self.view, self.now)
        if decision.read_first:
            assert (decision.write, decision.actions, decision.story) == (False, (), ())
            self.unheard()
            self.view.engine.live_read = LiveRead(self.now, self.version)
            decision = decide(self.plan, self.record, self.view, self.now)
            assert not decision.read_first
        if decision.write:
            self.writes += 1
            if decision.paid:
                self.view.writes.spend(self.now)
            self.record = decision.record
            self.told += [line.reason for line in decision.story]
            if decision.wake_at == self.now:  # attempts begin with the record: what follows is decided once it is there
                assert decision.actions == ()
                return self.look()
            self.view.remember(self.plan, self.record, self.now)
            seen = deepcopy(self.view)
            again = decide(self.plan, self.record, self.view, self.now)
            assert self.view == seen  # policies only read it
            assert not again.write, (decision.record, again.record)
            assert again.actions == decision.actions
        else:
            assert decision.story == ()
        self.view.engine.answered = self.answered
        self.last = decision
        return decision.actions

    def obey(self, after: float = 0.0) -> tuple[Action, ...]:
        """Time passes, and what the next decision asks for is done; its actions."""
        actions = self.look(after)
        for action in actions:
            self.do(action)
        return actions

    def launch(self) -> Self:
        """Do what the decisions ask until every pod is there, not yet scheduled."""
        for _ in range(20):
            if not self.obey():
                return self
        raise AssertionError("the launch does not come to an end")

    def create(self, *but: int) -> None:
        """Do what the decisions ask until pods are there, of all ranks but those: no decision has seen theirs."""
        while not self.pods:
            self.obey()
        for rank in but:
            self.gone(rank)

    def do(self, action: Action) -> None:
        """The world obeys at once; deleted pods are gone unless they ignore it."""
        match action:
            case ConfirmLaunch(epoch, attempts):
                self.view.engine.confirmed = epoch
                self.view.engine.confirmed_attempts |= {(epoch, *each) for each in attempts}
            case ConfirmLoss(epoch, _, attempts) if attempts:
                self.view.engine.lost_attempts.update(((epoch, *each), None) for each in attempts)
            case ConfirmLoss(epoch):
                self.view.engine.lost = epoch
            case ConfirmEnd(_, unseen, search):
                self.view.engine.found(unseen, ())
                self.view.engine.searched = self.view.engine.searched or search
            case EnsureService():
                self.view.engine.service = True
            case EnsureClaims(epoch):
                self.view.engine.claims = epoch
            case CreatePods(epoch, members, attempts=attempts):
                for member in members:
                    attempt = dict(attempts).get(member.rank, 0)
                    self.set(
                        member.rank, epoch, attempt=attempt, name=self.plan.pod_name(member, epoch, attempt),
                        group=member.group, job=member.job, index=member.pod, phase=PodPhase.PENDING, ready=False,
                        scheduled=False, started=False, node="", ip="",
                    )  # fmt: skip
            case StopPods(pods, _):
                self.view.mark_stopping(pods)
                for each in pods:
                    self.end(each.rank, 143, reason="Error")
            case DeleteSubject():
                self.view.engine.removed = True
            case DeletePods(pods, _, _):
                for each in pods:
                    self.gone(each.rank, each.epoch, each.attempt)

    def set(self, rank: int, epoch: int | None = None, **changes: Any) -> Pod:
        """A pod changes (or comes)."""
        epoch = self.kept.epoch if epoch is None else epoch
        attempt = changes.setdefault("attempt", self.kept.attempt_of(rank) if epoch == self.kept.epoch else 0)
        old = self.again.get((epoch, rank, attempt)) if attempt else self.pods.get((epoch, rank))
        self.version += 1
        changes["resource_version"] = self.version
        new = msgspec.structs.replace(old, **changes) if old else pod(rank, epoch=epoch, **changes)
        self.view.change(old, new)
        if attempt:
            self.again[epoch, rank, attempt] = new
        else:
            self.pods[epoch, rank] = new
        return new

    def gone(self, rank: int, epoch: int | None = None, attempt: int | None = None) -> None:
        """A pod is removed."""
        attempt = self.kept.attempt_of(rank) if attempt is None else attempt
        epoch = self.kept.epoch if epoch is None else epoch
        old = self.again.pop((epoch, rank, attempt)) if attempt else self.pods.pop((epoch, rank))
        self.view.change(old, None)

    def schedule(self, *ranks: int) -> None:
        for rank in ranks or range(self.plan.size):
            self.set(rank, scheduled=True, node=f"node-{rank}")

    def start(self, *ranks: int) -> None:
        self.schedule(*ranks)
        for rank in ranks or range(self.plan.size):
            self.set(rank, phase=PodPhase.RUNNING, started=True, ready=True, ip=f"10.0.0.{rank + 1}")

    def end(self, rank: int, code: int = 0, *, at: float | None = None, signal: int = 0, reason: str = "") -> None:
        """A member's container ends."""
        phase = PodPhase.FAILED if code else PodPhase.SUCCEEDED
        word = reason or ("Error" if code else "Completed")
        ended = Exit("main", code, signal, word, "", self.now if at is None else at)
        self.set(rank, phase=phase, ready=False, exit=ended)

    def observe_probe(self, *arrived: int, passed: bool = False, **overrides: Any) -> RollAnswer:
        """The coordinator says who has arrived."""
        come = RankState.CONNECTED if passed else RankState.ARRIVED
        ranks = [come if rank in arrived else RankState.MISSING for rank in range(self.plan.size)]
        said = replace(answer(*ranks, at=self.now), **overrides)
        self.view.observe_probe(said, self.kept.epoch)
        return said

    def silence(self, state: CoordinatorState = CoordinatorState.REFUSED) -> None:
        """The coordinator does not answer."""
        self.view.observe_probe(RollAnswer(at=self.now, coordinator=state), self.kept.epoch)

    def bring_up(self) -> Self:
        """From nothing until the programs run, which is seen."""
        self.launch().start()
        self.look(1)
        return self

    def assemble(self) -> Self:
        """From nothing to Running."""
        self.bring_up().observe_probe(*range(self.plan.size), passed=True)
        self.look(1)
        assert self.kept.phase is Phase.RUNNING, self.kept.message
        return self

    def take_over(self) -> View:
        """Another daemon leads: it knows what it lists, and heard nothing. What the one before it knew."""
        before, self.view = self.view, View()
        for each in (*self.pods.values(), *self.again.values()):
            self.view.change(None, each)
        self.view.engine.service, self.view.engine.confirmed = True, before.engine.confirmed
        return before

    def condition(self, kind: ConditionType) -> tuple[bool | None, str]:
        found = sure(self.kept.condition(kind))
        return found.status, found.reason
