"""A run whose coordinator is asked again and again, and what is then found of a hang."""

from dataclasses import replace
from typing import Any

from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.view.progress import StepReport
from muster.state.vocabulary.record import ConditionType
from tests.builders import plan, sure
from tests.state.story import Story

FREE = (False, "NotStuck")
LOOK = 3.0
ALL = (0, 1, 2, 3)


class AskedStory(Story):
    """A decision follows an answer where the view asks for one."""

    def hear(self, **fields: Any) -> bool:
        """The coordinator answers as before but for these fields; return True if a decision followed."""
        assert self.view.probe is not None
        if asked := self.view.observe_probe(replace(self.view.probe.answer, at=self.now, **fields), self.kept.epoch):
            self.look()
        return asked

    def change_leader(self) -> None:
        """Another daemon has heard the coordinator, and nothing of a hang."""
        before = self.take_over()
        self.view.observe_probe(replace(sure(before.probe).answer, at=self.now), self.kept.epoch)
        self.look()

    @property
    def stuck(self) -> tuple[bool | None, str]:
        return self.condition(ConditionType.STUCK)

    @property
    def sentence(self) -> str:
        """The message of the condition Stuck."""
        return sure(self.kept.condition(ConditionType.STUCK)).message

    def findings(self) -> tuple[Finding, ...]:
        return diagnose(Context.at(self.plan, self.kept, self.view, self.now))


class Reporting(AskedStory):
    """A gang of four that reports its steps; a look of the probe every 3 s."""

    speed = 1.0
    """Steps a second."""
    decides = False
    """A decision follows each look, also where the view asks for none."""

    def __init__(self, **overrides: Any) -> None:
        super().__init__(plan(**overrides))
        self.steps, self.at = dict.fromkeys(ALL, 0), dict.fromkeys(ALL, 1000.0)
        self.decisions = 0
        self.assemble()

    def run(self, seconds: float, *, stopped: tuple[int, ...] = ()) -> None:
        """Time passes; every rank that is not stopped makes steps."""
        for _ in range(int(seconds / LOOK)):
            self.now += LOOK
            for rank in {*ALL} - {*stopped}:
                self.steps[rank] += int(LOOK * self.speed)
                self.at[rank] += LOOK
            reports = (StepReport(rank, step, step + 1, self.at[rank], 1.0) for rank, step in self.steps.items())
            asked = self.hear(reports=tuple(reports))
            self.decisions += asked
            if self.decides and not asked:
                self.look()
