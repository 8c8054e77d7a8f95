"""Errors of requests are one printable line, whoever wrote their texts."""

import pytest

from muster.api.errors import ApiError, Forbidden, Unreachable, error_of

EVIL = "\x1b[2J\x1b]0;owned\x07\u202e\x9b31m\nnext\ud800"


@pytest.mark.parametrize(
    "error",
    [
        ApiError(EVIL, reason=EVIL, request=f"GET /{EVIL}"),
        Unreachable(EVIL, reason="Broken", request=EVIL),
        Forbidden(EVIL, status=403, reason=EVIL),
        error_of(500, EVIL, EVIL, request=EVIL),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_text_of_an_error_drives_a_terminal_or_a_log(error: ApiError) -> None:
    assert str(error).isprintable()
    assert all(str(each).isprintable() for each in (*error.args, error.message, error.reason, error.request))
    assert "owned" in error.message
