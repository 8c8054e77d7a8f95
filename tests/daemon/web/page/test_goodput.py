"""The time by bucket, as the page draws it."""

import re

from muster.api.goodput import Bucket, whole_seconds
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


def rows(counting: str = "", **seconds: int) -> list[tuple[str, ...]]:
    return ROW.findall(str(goodput(TimeReport(basis="steps", seconds=seconds, counting=counting)).html))


def test_a_bucket_with_time_is_a_bar_as_long_as_its_part() -> None:
    assert rows(productive=600, checkpoint_save=59, stuck=341) == [
        ("productive", "60", "ok", "10m"),
        ("checkpoint save", "6", "warn", "59s"),
        ("stuck", "34", "bad", "5m41s"),
    ]


def test_a_second_more_is_no_other_picture() -> None:
    assert rows("productive", productive=6001, stuck=3) == rows("productive", productive=6002, stuck=3)


def test_the_time_of_a_bucket_that_does_not_grow_is_whole() -> None:
    shown = {name: time for name, _, _, time in rows("productive", productive=28, assembly=15, stuck=7)}
    assert shown == {"productive": "over 20s", "assembly": "15s", "stuck": "7s"}


def test_the_rows_add_up_and_only_the_one_that_counts_changes_with_a_second() -> None:
    sums = {Bucket.PRODUCTIVE: 61_400, Bucket.ASSEMBLY: 14_600, Bucket.STARTUP: 20_600, Bucket.STUCK: 400}
    seen = [whole_seconds({**sums, Bucket.PRODUCTIVE: 61_400 + more}, "productive") for more in range(0, 3000, 70)]
    for more, found in zip(range(0, 3000, 70), seen, strict=True):
        assert sum(found.values()) == round((sum(sums.values()) + more) / 1000)
        assert (found[Bucket.ASSEMBLY], found[Bucket.STARTUP], found[Bucket.STUCK]) == (15, 21, 0)
    over = whole_seconds(sums)
    assert (sum(over.values()), over[Bucket.ASSEMBLY]) == (97, 15)


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
    assert found == TimeReport(basis="phase", seconds={**ways, Bucket.PRODUCTIVE.value: 100}, counting="productive")
    assert detail(Context.at(plan(), record(phase=Phase.RUNNING), view(), NOW)).time is None
