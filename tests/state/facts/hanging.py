"""A run whose coordinator is asked again and again, and what is then found of a hang."""

from dataclasses import replace
from typing import Any

from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.vocabulary.record import ConditionType
from tests.state.story import Story

FREE = (False, "NotStuck")


class AskedStory(Story):
    """A decision follows an answer where the view asks for one."""

    def hear(self, **fields: Any) -> bool:
        """The coordinator answers as before but for these fields; return True if a decision followed."""
        assert self.view.probe is not None
        if asked := self.view.observe_probe(replace(self.view.probe.answer, at=self.now, **fields), self.kept.epoch):
            self.look()
        return asked

    @property
    def stuck(self) -> tuple[bool | None, str]:
        return self.condition(ConditionType.STUCK)

    @property
    def sentence(self) -> str:
        """The message of the condition Stuck."""
        found = self.kept.condition(ConditionType.STUCK)
        assert found is not None
        return found.message

    def findings(self) -> tuple[Finding, ...]:
        return diagnose(Context.at(self.plan, self.kept, self.view, self.now))
