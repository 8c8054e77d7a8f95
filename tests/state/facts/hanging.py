"""A run whose coordinator is asked again and again, and what is then found of a hang."""

from dataclasses import replace
from typing import Any

from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.vocabulary.record import ConditionType
from tests.builders import sure
from tests.state.story import Story

FREE = (False, "NotStuck")


class AskedStory(Story):
    """A decision follows an answer where the view asks for one."""

    def hear(self, **fields: Any) -> bool:
        """The coordinator answers as before but for these fields; return True if a decision followed."""
        before = sure(self.view.probe).answer
        if asked := self.view.observe_probe(replace(before, at=self.now, **fields), self.kept.epoch):
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
