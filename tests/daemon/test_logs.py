"""The content of a log line of musterd, and the texts that it must not have."""

import json
from collections.abc import Iterator
from typing import Literal

import pytest
import structlog

from muster.daemon.main import configure_logs

TOKEN = "eyJhbGciOi"
EVENT = "a request could not be answered"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def review(token: str) -> None:
    asked = {"spec": {"token": token}}
    raise RuntimeError(f"no answer to {len(asked)} review")


@pytest.mark.parametrize("form", ["json", "pretty"])
def test_a_traceback_is_logged_without_the_values_of_its_variables(
    form: Literal["json", "pretty"], capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs(form, "info")
    try:
        review(TOKEN)
    except RuntimeError:
        structlog.get_logger().exception(EVENT)
    logged = capsys.readouterr().err
    assert TOKEN not in logged
    for words in (EVENT, "RuntimeError", "no answer to 1 review", "review", "test_logs.py"):
        assert words in logged
    if form == "json":
        assert json.loads(logged)["event"] == EVENT
