"""The Event with the reason why a controller makes no pods, and the kept part of its text."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from muster.api.values.secrets import NO_SECRETS, Secrets
from muster.kinds.planning.parts import Part
from muster.kube.transport import Answer
from muster.state.view.own import Remark
from muster.watchers import remarks
from muster.watchers.remarks import newest, read_remark

JOBSET, JOB = Part("jobset", "llm", "u1"), Part("job", "llm-w-0")
AT = 1_767_225_600.0  # 2026-01-01


def event(message: str = "quota", *, second: Any = 0, kind: str = "JobSet", name: str = "llm", **more: Any) -> Any:
    about = {"kind": kind, "name": name, "uid": more.pop("uid", "u1" if kind == "JobSet" else "u2")}
    times = {"lastTimestamp": f"2026-01-01T00:00:{second:02}Z"}
    source = {"source": {"component": more.pop("source", "controller")}}
    return {
        "type": "Warning",
        "reason": "Failed",
        "message": message,
        "involvedObject": about,
        **times,
        **source,
        **more,
    }


def found(*events: Any, since: float = 0.0, secrets: Secrets = NO_SECRETS) -> Remark | None:
    return newest(events, (JOBSET, JOB), since=since, secrets=secrets)


def test_the_newest_event_counts_and_of_those_of_one_second_the_one_about_the_inner_object() -> None:
    older, outer, inner = event("a"), event("b", second=9), event("c", second=9, kind="Job", name="llm-w-0")
    assert found(older, inner, outer) == Remark("Failed", "c", AT + 9, "controller", "Job llm-w-0")
    assert found(older, outer) == Remark("Failed", "b", AT + 9, "controller")


@pytest.mark.parametrize(
    "other",
    [
        event(type="Normal"),
        event(reason=""),
        event(source="muster"),
        event(uid="another"),
        event(kind="Pod"),
        event(name="llm-2"),
        {"involvedObject": "llm"},
        {},
    ],
)
def test_an_event_about_something_else_or_of_muster_itself_is_no_reason(other: Any) -> None:
    assert found(other) is None


def test_an_event_from_before_the_object_was_created_is_about_another_one() -> None:
    job = event(kind="Job", name="llm-w-0")
    assert found(job, since=AT + 1) is None
    assert found(job, since=AT + 0.9) is not None, "events have whole seconds"


@pytest.mark.parametrize("field", ["eventTime", "firstTimestamp"])
def test_an_event_without_its_last_time_has_another_one(field: str) -> None:
    one = event(lastTimestamp=None, **{field: "2026-01-01T00:00:05.5Z"})
    assert (remark := found(one)) is not None
    assert remark.at == AT + (5.5)


def test_hostile_text_is_one_bounded_line_without_secrets() -> None:
    own = Secrets(("my-own-secret-value",))
    remark = found(event("a\nb\x1b[31m token=abcdefgh12345 my-own-secret-value " + "x" * 5000), secrets=own)
    assert remark is not None
    assert len(remark.message) == remarks.LONGEST
    assert remark.message.isprintable()
    assert "abcdefgh12345" not in remark.message
    assert "my-own-secret" not in remark.message


class Server:
    """A server that answers each list with ``body``."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.asked: list[Mapping[str, str]] = []

    async def request(self, _method: str, _path: str, *, params: Mapping[str, str], timeout: float) -> Answer:
        assert timeout == remarks.SECONDS
        self.asked.append(params)
        return Answer(200, self.body)


def read(body: bytes) -> tuple[Remark | None, list[Mapping[str, str]]]:
    server = Server(body)
    remark = asyncio.run(read_remark(server, "team", (JOBSET, Part("podgroup", "llm"), JOB), since=0.0))  # type: ignore[arg-type]
    return remark, server.asked


def test_each_name_is_asked_for_once_with_one_page_of_warnings() -> None:
    remark, asked = read(json.dumps({"items": [event("why")]}).encode())
    assert remark is not None
    assert remark.message == "why"
    assert [each["fieldSelector"] for each in asked] == [
        "involvedObject.name=llm,type=Warning",
        "involvedObject.name=llm-w-0,type=Warning",
    ]
    assert all(each["limit"] == "100" for each in asked)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"items": 1}', b'{"items": [1, null]}', b"[" * 100_000, b" " * 2**20 + b"{}"]
)
def test_an_answer_that_is_no_list_of_events_gives_no_reason(body: bytes) -> None:
    assert read(body)[0] is None
