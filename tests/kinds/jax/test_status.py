"""The own status of a JAXJob follows its life in the words of Kubeflow's operator."""

from dataclasses import replace
from typing import Any

from muster.kinds.jax import run as jaxjob
from muster.kinds.jax.run import BACKOFF, DEADLINE, status_of
from muster.state.vocabulary.record import Phase
from tests.builders import edited
from tests.kinds.jax.test_plan import obj
from tests.state.story import Story


class Job:
    """A JAXJob of two workers, and its status as it was written last."""

    def __init__(self, **policy: Any) -> None:
        self.story = Story(jaxjob.plan_of(obj(**policy)))
        self.status: dict[str, Any] = {}

    def look(self, after: float = 0.0) -> dict[str, str]:
        """The conditions after a decision: the status of each type, in their order."""
        self.story.look(after)
        return self.conditions

    @property
    def conditions(self) -> dict[str, str]:
        """The conditions of a status that is written now."""
        self.status = status_of(self.story.plan, self.story.kept, self.story.view, self.status)
        return {each["type"]: each["status"] for each in self.status["conditions"]}

    @property
    def counts(self) -> tuple[int, int, int]:
        worker = self.status["replicaStatuses"]["Worker"]
        return worker["active"], worker["succeeded"], worker["failed"]

    def message(self, kind: str) -> str:
        return next(str(each["message"]) for each in self.status["conditions"] if each["type"] == kind)


def test_a_job_runs_from_created_to_succeeded() -> None:
    job = Job()
    job.story.launch()
    assert list(job.look()) == ["Created"]
    assert job.message("Created").startswith("JAXJob team/train is created: ")
    job.story.assemble()
    assert job.look() == {"Created": "True", "Running": "True"}
    assert (job.counts, "completionTime" in job.status) == ((2, 0, 0), False)
    for rank in (0, 1):
        job.story.end(rank)
    assert job.look(1) == {"Created": "True", "Running": "False", "Succeeded": "True"}
    assert (job.counts, "completionTime" in job.status) == ((0, 2, 0), True)
    for rank in (0, 1):
        job.story.gone(rank)
    assert job.look()["Succeeded"] == "True"
    assert job.counts == (0, 2, 0), "those of the end stay"


def test_pods_that_are_pending_are_not_counted_as_active() -> None:
    """One worker that runs is enough for Running."""
    job = Job()
    job.story.launch()
    assert (list(job.look()), job.counts) == (["Created"], (0, 0, 0))
    job.story.start(1)
    assert job.look() == {"Created": "True", "Running": "True"}
    assert job.counts == (1, 0, 0)


def test_a_job_is_restarting_until_a_worker_runs_again() -> None:
    job = Job(backoffLimit=1)
    job.story.assemble()
    job.look()
    job.story.end(1, 1)
    assert job.look(1) == {"Created": "True", "Restarting": "True"}
    for rank in (0, 1):
        job.story.gone(rank, 0)
    job.look(30)
    job.story.launch()
    assert list(job.look()) == ["Created", "Restarting"]
    job.story.assemble()
    assert job.look() == {"Created": "True", "Running": "True"}


def test_the_end_names_the_limit_that_was_reached() -> None:
    job = Job(backoffLimit=0)
    job.story.assemble()
    job.look()
    job.story.end(1, 1)
    assert job.look(1) == {"Created": "True", "Running": "False", "Failed": "True"}
    assert BACKOFF in job.message("Failed")
    late = Job(activeDeadlineSeconds=10)
    late.story.assemble()
    late.look(11)
    assert late.story.kept.phase is Phase.FAILED
    assert DEADLINE in late.message("Failed")


def test_a_suspended_job_says_so_and_its_resumption_too() -> None:
    job = Job()
    job.story.assemble()
    job.look()
    running = job.story.plan
    job.story.plan = edited(running, suspend=True, generation=4)
    assert job.look(1) == {"Created": "True", "Running": "False", "Suspended": "True"}
    for rank in (0, 1):
        job.story.gone(rank, 0)
    job.story.plan = replace(running, generation=5)
    assert job.look(1)["Suspended"] == "False"


def test_a_condition_that_has_not_changed_keeps_its_times() -> None:
    job = Job()
    job.story.assemble()
    job.look()
    before = job.status["conditions"]
    job.story.look(30)
    assert job.conditions == {"Created": "True", "Running": "True"}
    assert job.status["conditions"] == before
