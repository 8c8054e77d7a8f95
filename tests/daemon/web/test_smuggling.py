"""Requests that two readers of HTTP could understand in two ways: one is answered at most, and nothing behind it."""

import pytest

from tests.daemon.web.test_server import raw

HOST = b"Host: localhost\r\n"
BEHIND = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
LENGTH = str(len(BEHIND)).encode()

AMBIGUOUS = {
    "length and chunks": b"Content-Length: " + LENGTH + b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"Content-Length: 0\r\nContent-Length: " + LENGTH + b"\r\n\r\n",
    "a list of lengths": b"Content-Length: 0, " + LENGTH + b"\r\n\r\n",
    "a signed length": b"Content-Length: +" + LENGTH + b"\r\n\r\n",
    "a space before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "another coding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked twice": b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "a folded line": b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a bare line feed in a value": b"X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a nul in a value": b"X: a\x00b\r\n\r\n",
    "a body of that length": b"Content-Length: " + LENGTH + b"\r\n\r\n",
    "chunks": b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
}
"""The text after the Host header, up to the second request."""


@pytest.mark.parametrize("name", AMBIGUOUS)
async def test_a_request_hidden_behind_another_is_not_answered(server: str, name: str) -> None:
    answered = await raw(server, b"GET / HTTP/1.1\r\n" + HOST + AMBIGUOUS[name] + BEHIND)
    assert b"muster_build_info" not in answered
    assert answered.count(b"HTTP/1.1 ") <= 1
    assert answered.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 ", b"HTTP/1.1 413 ")) or not answered


@pytest.mark.parametrize(
    "hosts",
    [b"", b"Host: evil.example\r\n" + HOST, HOST + HOST, b"Host: localhost, evil.example\r\n", b"Host:\r\n"],
    ids=["none", "two", "the same twice", "a list", "empty"],
)
async def test_a_request_names_one_host(server: str, hosts: bytes) -> None:
    answered = await raw(server, b"GET / HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
    assert answered.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 "))


@pytest.mark.parametrize("target", [b"//evil.example/", b"/../../etc/passwd", b"/%2e%2e/page.js"])
async def test_the_target_of_a_request_names_a_path_of_this_server_only(server: str, target: bytes) -> None:
    answered = await raw(server, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    head, _, body = answered.partition(b"\r\n\r\n")
    assert b"root:" not in body
    assert head.split(b" ")[1] in (b"200", b"400", b"404", b"421")
    assert b"Location:" not in head


@pytest.mark.parametrize("target", [b"http://evil.example/", b"http://localhost/metrics", b"*", b"evil.example:80"])
async def test_a_target_that_is_no_path_is_refused_whatever_the_host_header(server: str, target: bytes) -> None:
    answered = await raw(server, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    assert answered.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 "))


async def test_no_answer_may_be_kept_by_a_cache_or_read_by_another_site(server: str) -> None:
    for path in (b"/", b"/metrics", b"/experiments.json", b"/page.js", b"/livez", b"/nothing", b"/events/nothing"):
        answered = await raw(server, b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        head = answered.partition(b"\r\n\r\n")[0].decode()
        assert "Cache-Control: no-store" in head, path
        assert "Cross-Origin-Resource-Policy: same-origin" in head
        assert "Referrer-Policy: no-referrer" in head
        assert "X-Content-Type-Options: nosniff" in head
        assert "Access-Control-Allow-Origin" not in head
        assert "Set-Cookie" not in head
