"""``muster goodput``: the bars add up, and what is not known is said."""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.goodput import Bucket, whole_seconds
from muster.cli.commands.goodput.account import COLUMNS, Account, bar, percent, together
from muster.cli.commands.goodput.goodput import last_weeks, selector
from tests.cli.conftest import Answering, Call, serving, stderr_of
from tests.client.localserver import MANIFEST, LocalServer

SUMS = {"countedTime": "2026-01-01T00:00:00.000000Z", "bucket": "", "productive": 80_000, "takenBack": 20_000}
SUMS |= {"scheduling": 10_000, "stuck": 10_000, "lost": 20_000}
STEPS = {"step": 5, "time": "2026-01-01T00:00:00.000000Z"}


def submit(call: Call, name: str) -> None:
    assert call("submit", "-", "--name", name, input=MANIFEST).exit_code == 0


def test_a_bar_for_each_bucket_that_has_time(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, phase="Running", goodput=SUMS)
    result = call("goodput", mine)
    head, *bars = result.stdout.splitlines()
    assert head == "default/mine  Running  goodput 60.0 % of 100s"
    assert [line.split()[:3] for line in bars] == [
        ["productive", "60s", "60.0"],
        ["scheduling", "10s", "10.0"],
        ["stuck", "10s", "10.0"],
        ["lost", "20s", "20.0"],
    ]
    assert [line.count("█") for line in bars] == [24, 4, 4, 8]
    assert "\x1b" not in result.stdout
    assert "no program has reported a step" in result.stderr
    server.status(mine, phase="Running", goodput=SUMS, steps=STEPS)
    assert call("goodput", mine).stderr == ""
    (item,) = json.loads(call("goodput", mine, "-o", "json").stdout)["items"]
    assert (item["goodput"], item["acceleratorGoodput"]) == (0.6, None)
    assert set(item["seconds"]) == {each.value for each in Bucket}
    assert "\x1b[32m█" in "".join(Account("one", {Bucket.PRODUCTIVE: 1000}, {}).lines()), "for a terminal"


def test_what_steps_took_beyond_the_usual_one_is_named_and_stays_productive(
    call: Call, server: LocalServer, mine: str
) -> None:
    places = ((0, 0), (20, 5_000), (40, 10_000), (41, 50_250), (80, 60_000))
    marks = [{"step": step, "milliseconds": ms} for step, ms in places]
    server.status(mine, phase="Running", goodput=SUMS | {"marks": marks}, steps=STEPS)
    lines = call("goodput", mine).stdout.splitlines()
    assert lines[1].split()[:2] == ["productive", "60s"]
    assert lines[-1] == "  of the productive time 40s went beyond the usual step of 0.25 s"
    (item,) = json.loads(call("goodput", mine, "-o", "json").stdout)["items"]
    assert (item["usualStepSeconds"], item["beyondUsualStepsSeconds"]) == (0.25, 40.0)
    assert sum(item["seconds"].values()) == item["wallSeconds"] == 100
    server.status(mine, phase="Running", goodput=SUMS | {"marks": marks[:4]}, steps=STEPS)
    assert "usual" not in call("goodput", mine).stdout


def test_several_are_added_up_and_weighted_by_the_accelerators_that_they_hold(
    call: Call, server: LocalServer, mine: str
) -> None:
    submit(call, "large")
    submit(call, "new")
    server.status(mine, phase="Running", goodput=SUMS, steps=STEPS)
    hung = SUMS | {"productive": 20_000, "stuck": 70_000, "lost": 20_000}
    held = [{"resource": "nvidia.com/gpu", "count": 8}, {"resource": "rdma/a", "count": 8}]
    server.status("large", phase="Running", goodput=hung, devices=held, size=2)
    result = call("goodput", "--all")
    head, productive = result.stdout.splitlines()[:2]
    assert head == "namespace default  goodput 30.0 % of 3m20s  0.0 % by accelerators  2 experiments"
    assert productive.split()[:6] == ["productive", "60s", "30.0", "%", "0.0", "%"]
    assert result.stderr.startswith("1 of 2 experiments report no steps: ")
    (item,) = json.loads(call("goodput", "-A", "--by", "operator", "-o", "json").stdout)["items"]
    assert (item["title"], item["experiments"], item["holdingAccelerators"]) == ("jax", 2, 1)
    assert item["acceleratorSeconds"]["stuck"] == 8 * 70


def test_what_is_not_counted_yet_is_reported(call: Call, server: LocalServer, mine: str) -> None:
    assert "musterd has counted nothing of it yet" in stderr_of(call, 1, "goodput", mine)
    assert "nothing is counted" in stderr_of(call, 0, "goodput", "--all")


PARTS = st.dictionaries(st.sampled_from(Bucket), st.integers(0, 2**50))


@given(st.lists(PARTS, min_size=1, max_size=5))
def test_the_sums_of_several_lose_nothing(parts: list[dict[Bucket, float]]) -> None:
    whole = together("all", [Account("one", part, part) for part in parts])
    assert whole.wall == sum(sum(part.values()) for part in parts)
    if whole.wall:
        assert whole.goodput == whole.weighted_goodput


@given(PARTS)
def test_the_seconds_of_the_rows_add_up_to_the_rounded_sum(part: dict[Bucket, float]) -> None:
    seconds = whole_seconds(part)
    assert sum(seconds.values()) == round(sum(part.values()) / 1000)
    assert all(abs(seconds[bucket] - part[bucket] / 1000) < 1 for bucket in part)


@given(st.floats(0, 1))
def test_only_all_is_drawn_and_called_all(part: float) -> None:
    assert (percent(part) == "100.0 %") == (part == 1)
    assert (percent(part) == "0.0 %") == (part == 0)
    assert 1 <= len(bar(part)) <= COLUMNS


def test_weeks_begin_on_monday_and_the_last_one_ends_now() -> None:
    now = datetime(2026, 11, 26, 12, tzinfo=UTC).timestamp()
    (first, ends), (second, last) = last_weeks(now, 2)
    assert (first, second) == (datetime(2026, 11, 16, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC))
    assert (ends, last) == (second.timestamp(), now)


def test_a_name_is_quoted_in_a_query() -> None:
    assert selector({"namespace": "", "experiment": 'a"} or up{b="\\'}) == '{experiment="a\\"} or up{b=\\"\\\\"}'


@dataclass(slots=True)
class FakePrometheus:
    """``reply`` gives status and body for a query. The queries are kept, with the header Authorization of each."""

    reply: Callable[[str], tuple[int, str]]
    url: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list)


def vector(*series: tuple[Mapping[str, str], float], warnings: tuple[str, ...] = ()) -> tuple[int, str]:
    """An answer with these series, as Prometheus writes it."""
    result = [{"metric": labels, "value": [1796031360.5, str(value)]} for labels, value in series]
    answer = {"status": "success", "data": {"resultType": "vector", "result": result}}
    return 200, json.dumps(answer | ({"warnings": warnings} if warnings else {}))


@contextmanager
def fake_prometheus(fake: FakePrometheus, tls: ssl.SSLContext | None = None) -> Iterator[FakePrometheus]:
    """Serve it on loopback."""

    class Prometheus(Answering):
        def do_POST(self) -> None:
            query = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["query"][0]
            fake.asked.append((query, self.headers["Authorization"]))
            self.answer(*fake.reply(query), Location="https://login.example.com/")

    with serving(Prometheus, tls) as url:
        fake.url = f"{url}/"
        yield fake


def sums(query: str) -> tuple[int, str]:
    """70 s that were productive, of which 10 were taken back, and 40 that were not."""
    if "badput" in query:
        return vector(({"source": "stuck"}, 20), ({"source": "lost"}, 20))
    return vector(({}, 10 if "taken_back" in query else 70))


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    with fake_prometheus(FakePrometheus(sums)) as fake:
        yield fake


def test_weeks_are_read_from_prometheus_without_a_cluster(call: Call, prometheus: FakePrometheus) -> None:
    result = call("goodput", "mine", "-n", "ml", "--prometheus", prometheus.url, "--weeks", "2")
    heads = [line for line in result.stdout.splitlines() if line.startswith("week of ")]
    assert len(heads) == 2, result.stderr
    assert heads[0].endswith("  goodput 60.0 % of 100s")
    queries = [query for query, _ in prometheus.asked]
    assert len(queries) == 6
    assert all('{namespace="ml",experiment="mine"}[' in query for query in queries)
    assert any("[604800s]" in query for query in queries)
    call("goodput", "-A", "--prometheus", prometheus.url, "--weeks", "1")
    assert "muster_experiment_productive_seconds_total{}[" in "".join(query for query, _ in prometheus.asked[6:])


def test_a_prometheus_that_is_not_there_is_an_error_without_its_password(call: Call) -> None:
    error = stderr_of(call, 1, "goodput", "-A", "--prometheus", "http://ann:secret@127.0.0.1:1")
    assert "Prometheus does not answer" in error
    assert "secret" not in error


def test_a_prometheus_that_has_only_a_part_is_quoted(call: Call, prometheus: FakePrometheus) -> None:
    prometheus.reply = lambda _: vector(warnings=("a store is away",))
    assert "muster: a store is away\n" in call("goodput", "-A", "--prometheus", prometheus.url).stderr
