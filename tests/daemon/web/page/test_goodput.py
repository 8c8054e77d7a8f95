"""Where the time went, as the page draws it."""

import re

from muster.api.goodput import Bucket
from muster.daemon.web.page.experiment import goodput
from muster.rollcall.document import TimeReport
from muster.rollcall.make import detail
from muster.state.facts.context import Context
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, plan, record, view
from tests.state.summary.test_goodput import Timed

ROW = re.compile(
    r'<th scope="row">([^<]*)</th>.*?width="(\d+)%" height="100%" class="fill (\w+)".*?class="number">([^<]*)<'
)


def rows(basis: str = "steps", **seconds: int) -> list[tuple[str, ...]]:
    return ROW.findall(str(goodput(TimeReport(basis=basis, seconds=seconds)).html))


def test_a_bucket_with_time_is_a_bar_as_long_as_its_part() -> None:
    assert rows(productive=600, checkpoint_save=59, stuck=341) == [
        ("productive", "60", "ok", "10m"),
        ("checkpoint save", "6", "warn", "50s"),
        ("stuck", "34", "bad", "5m"),
    ]


def test_a_second_more_is_no_other_picture() -> None:
    assert rows(productive=6001, stuck=3) == rows(productive=6002, stuck=3)


def test_what_is_not_known_without_steps_is_said() -> None:
    words = "lost work, pauses and the startup of programs are not known"
    assert words in str(goodput(TimeReport(basis="phase", seconds={"productive": 5})).html)
    assert words not in str(goodput(TimeReport(basis="steps", seconds={"productive": 5})).html)


def test_the_document_has_the_sums_until_now() -> None:
    story = Timed()
    story.assemble()
    story.look(100)
    found = detail(Context.at(story.plan, story.kept, story.view, story.now), {}).time
    ways = {each.value: 1 for each in (Bucket.SCHEDULING, Bucket.ASSEMBLY)}
    assert found == TimeReport(basis="phase", seconds={**ways, Bucket.PRODUCTIVE.value: 100})
    assert detail(Context.at(plan(), record(phase=Phase.RUNNING), view(), NOW), {}).time is None
