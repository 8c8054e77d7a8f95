"""The probe reads the reports of ranks: one harmless call, at a bounded pace, whatever the values are."""

import pytest

from muster.state.view.progress import StepReport
from muster.state.view.turns import finished
from muster.watchers.probes.jax.probe import JaxProbe
from muster.watchers.probes.jax.rpc import Malformed, bytes_field
from muster.watchers.probes.jax.task_list import most_tasks, read_entries
from muster.watchers.probes.reports import IDLE, MOST_REST, ReportReader
from tests.fakes.coordinator import FakeCoordinator

VALUE = b'{"step":1840,"calls":1841,"at":512.25,"longest":2.5,"scalars":{"loss":2.31}}'
REPORT = StepReport(0, 1840, 1841, 512.25, 2.5, (("loss", 2.31),))


class JaxReader(ReportReader):
    """The reader of the answer of jax's store, as the probe has it."""

    def __init__(self, expected: int) -> None:
        super().__init__(expected, most_tasks(expected))
        self._entries = most_tasks(expected)

    def of(self, body: bytes) -> tuple[StepReport, ...]:
        return finished(self.read_in_turns(read_entries(body, 2, self._entries)))


def body(**values: bytes) -> bytes:
    entries = {f"muster/progress/{key.removeprefix('r')}": value for key, value in values.items()}
    return bytes_field(1, b"muster/progress") + b"".join(
        bytes_field(2, bytes_field(1, key.encode()) + bytes_field(2, value)) for key, value in entries.items()
    )


def test_a_report_is_read_with_an_announced_pause() -> None:
    assert JaxReader(4).of(body(r0=VALUE)) == (REPORT,)
    paused = VALUE.replace(b'"longest"', b'"pause":600.0,"longest"')
    assert JaxReader(4).of(body(r0=paused)) == (REPORT._replace(pause=600.0),)


def test_a_process_that_torchrun_has_not_started_again_is_not_counted_with_the_others_of_its_pod() -> None:
    after = VALUE.replace(b'"step":1840,"calls":1841', b'"restarts":2,"step":40,"calls":3')
    (seen,) = finished(
        ReportReader(4, 4).read_in_turns(
            {
                f"muster/progress/0{process}": value
                for process, value in {
                    "": after.replace(b"40", b"41"),
                    ".1": VALUE.replace(b"1840", b"7"),
                    ".2": after,
                }.items()
            }
        )
    )
    assert (seen.step, seen.calls, seen.spent.restarts) == (40, 6, 2)


def test_reports_come_by_rank() -> None:
    assert [report.rank for report in JaxReader(12).of(body(r10=VALUE, r9=VALUE, r2=VALUE))] == [2, 9, 10]


def test_a_value_that_has_not_changed_is_not_decoded_again() -> None:
    reader = JaxReader(4)
    first = reader.of(body(r0=VALUE, r1=VALUE))
    second = reader.of(body(r0=VALUE, r1=VALUE.replace(b"1840", b"1841")))
    assert second[0] is first[0]
    assert second[1].step == 1841


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"7",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"step":-1}',
        b'{"step":1.5}',
        b'{"step":"1840"}',
        b'{"step":9007199254740992}',
        b'{"step":1e400}',
        b'{"step":1,"at":-1}',
        b'{"step":1,"longest":1e999}',
        b'{"step":1,"calls":-3}',
        b'{"step":1,"scalars":{"loss":NaN}}',
        b'{"step":1,"scalars":[1]}',
        b"[" * 1000,
        *(b'{"step":1,"restarts":%b}' % number for number in (b"-1", b"10000", b'"2"', b"1.5", b"true")),
        b'{"step":1,"scalars":{"' + b"x" * 1024 + b'":1}}',
    ],
)
def test_a_value_that_is_no_report_is_left_out_and_the_others_count(value: bytes) -> None:
    assert JaxReader(4).of(body(r0=VALUE, r1=value)) == (REPORT,)


@pytest.mark.parametrize("key", ["", "x", "-1", "0/1", "1" * 40, "9999999", "\u0663", "r1.", "r1.x", "r1.1.1", "r.1"])
def test_a_key_that_is_no_rank_or_process_is_left_out(key: str) -> None:
    assert JaxReader(4).of(body(r0=VALUE, **{key: VALUE})) == (REPORT,)


def test_names_of_scalars_are_made_printable_and_few() -> None:
    many = b'{"step":1,"scalars":{"\\u001b[31m":1,' + b",".join(b'"s%d":0' % number for number in range(30)) + b"}}"
    (report,) = JaxReader(4).of(body(r0=many))
    assert len(report.scalars) == 8
    assert "\x1b" not in report.scalars[0][0]


def test_a_store_with_too_many_entries_is_refused() -> None:
    with pytest.raises(Malformed):
        JaxReader(4).of(body(**{f"r{number}": b"" for number in range(1000)}))


def value(step: int, calls: int = 1, at: float = 0.0, processes: int = 3) -> bytes:
    return f'{{"step":{step},"calls":{calls},"at":{at},"processes":{processes}}}'.encode()


def test_processes_of_one_pod_are_one_report_of_the_step_that_all_have_reached() -> None:
    reader = JaxReader(2)
    (pod,) = reader.of(body(**{"r1": value(12, 13, 5.0), "r1.1": value(9, 10, 4.0), "r1.2": value(12, 13, 6.0)}))
    assert (pod.rank, pod.step, pod.calls, pod.at) == (1, 9, 36, 6.0)
    (later,) = reader.of(body(**{"r1": value(13, 14, 7.0), "r1.1": value(9, 10, 4.0), "r1.2": value(12, 13, 6.0)}))
    assert later != pod, "one of its processes gets on"


def test_the_times_of_the_processes_of_one_pod_are_always_those_of_the_first() -> None:
    reader = JaxReader(2)
    first, second = (b'{"step":%d,"calls":9,"at":9.0,"first":1,"begun":%d.0}' % each for each in ((9, 1), (8, 2)))
    (pod,) = reader.of(body(**{"r1": first, "r1.1": second}))
    assert (pod.step, pod.spent.begun) == (8, 1.0)


@pytest.mark.parametrize(
    ("processes", "stored", "took", "rest"),
    [
        pytest.param(4, {}, 0.001, IDLE, id="a store without reports is asked rarely"),
        pytest.param(512, {"r0": VALUE}, 0.001, 0.5, id="one with reports at each look"),
        pytest.param(2_000, {"r0": VALUE}, 0.001, 10.0, id="in a large gang as often as the ranks write"),
        pytest.param(4, {"r0": VALUE}, 0.02, 10.02, id="process 0 works for at most 0.2 % of its time"),
        pytest.param(
            4, {"r0": VALUE}, 0.3, 0.3 + MOST_REST, id="a late answer does not put the next look off for long"
        ),
        pytest.param(4, {"r0": VALUE}, 5.0, 55.0, id="a very late one for ten times its duration"),
    ],
)
def test_the_next_look_follows_from_what_the_store_has_and_how_long_it_took(
    processes: int, stored: dict[str, bytes], took: float, rest: float
) -> None:
    reader = JaxReader(processes)
    reader.of(body(**stored))
    reader.took(100.0, 100.0 + took)
    assert not reader.due(100.0 + rest - 0.1)
    assert reader.due(100.0 + rest + 0.01)


def test_a_store_with_reports_is_asked_with_the_next_look_where_that_is_the_last() -> None:
    reader = JaxReader(4)
    reader.of(body(r0=VALUE))
    reader.took(100.0, 100.02)
    reader.read_now()
    assert reader.due(100.1)


@pytest.mark.parametrize("protocol", ["v2", "v1-watch", "v1-job", "v1-task0"])
async def test_a_snapshot_of_a_complete_roll_brings_the_reports(protocol: str) -> None:
    async with FakeCoordinator(2, protocol, store={"muster/progress/0": VALUE, "muster/other": b""}) as fake:
        probe = JaxProbe(fake.address, clock=lambda: 0.0, expected=2)
        fake.arrive(0, 1)
        first = await probe.snapshot()
        assert first.reports == (REPORT,)
        assert first.coordinator.serving
        assert (await probe.snapshot()).reports is None  # a second has not passed: the ranks have nothing new
        await probe.close()
    assert fake.forbidden_calls == []
    assert sum(call.method.endswith("GetKeyValueDir") for call in fake.calls) in (1, 2)  # a v1 call is noted twice


@pytest.mark.parametrize("protocol", ["v2", "v1-watch", "v1-job", "v1-task0"])
async def test_the_store_is_not_asked_before_the_rendezvous_has_passed(protocol: str) -> None:
    async with FakeCoordinator(2, protocol, store={"muster/progress/0": VALUE}) as fake:
        probe = JaxProbe(fake.address, clock=lambda: 0.0, expected=2)
        fake.arrive(0)
        assert (await probe.snapshot()).reports is None
        await probe.close()
    assert not any(call.method.endswith("GetKeyValueDir") for call in fake.calls)


async def test_a_store_that_cannot_be_read_costs_no_roll() -> None:
    async with FakeCoordinator(2, store={f"muster/progress/{rank}": VALUE for rank in range(5000)}) as fake:
        probe = JaxProbe(fake.address, clock=lambda: 0.0, expected=2)
        fake.arrive(0, 1)
        answer = await probe.snapshot()
        await probe.close()
    assert answer.passed
    assert answer.reports is None
