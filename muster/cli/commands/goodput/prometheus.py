"""A Prometheus that scrapes musterd, or what answers in its place: the options that name it, and its HTTP API."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar
from urllib.parse import urlsplit

import aiohttp
import click
import msgspec

from muster.api.errors import MusterError
from muster.api.values.printable import printable
from muster.cli import musterd_page
from muster.cli.options import read_token

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """Options that name a Prometheus, and what it takes to reach it. ``url`` is empty without one."""

    url: str
    token_file: Path | None = None
    ca_file: Path | None = None


def prometheus_options(
    what: str, variable: str | None = None
) -> Callable[[Callable[Concatenate[Source, P], T]], Callable[..., T]]:
    """Give a command ``--prometheus``, with ``what`` as its help, as its first argument."""

    def decorate(command: Callable[Concatenate[Source, P], T]) -> Callable[..., T]:
        path = click.Path(path_type=Path)

        @click.option("--prometheus", default="", metavar="URL", envvar=variable, show_envvar=True, help=what)
        @click.option("--token-file", type=path, default=None, help="A bearer token, for --prometheus.")
        @click.option("--ca-file", type=path, default=None, help="Its authority's certificate, for --prometheus.")
        @wraps(command)
        def run(*args: Any, prometheus: str, token_file: Path | None, ca_file: Path | None, **kwargs: Any) -> T:
            if (token_file or ca_file) and not prometheus:
                raise click.UsageError("--token-file and --ca-file go with --prometheus")
            return command(Source(prometheus, token_file, ca_file), *args, **kwargs)

        return run

    return decorate


PATIENCE: Final = 130.0
"""Seconds for a query; Prometheus gives one up after 120 s."""
SHOWN: Final = 300
"""Characters of what is answered instead of values."""
ADVICE: Final = {
    401: "give a token with --token-file",
    403: "give a token with --token-file that may read it",
    404: "give the address before /api/v1/query",
}
"""Advice, by the status of an answer."""


class Sample(msgspec.Struct, frozen=True):
    """One series of an answer: its labels, and a time with a number written as text."""

    metric: dict[str, str]
    value: tuple[float, str]


class _Result(msgspec.Struct, frozen=True):
    result: list[Sample]


class _Answer(msgspec.Struct, frozen=True):
    """An answer of /api/v1/query. Thanos has warnings where it reached only a part of its stores."""

    status: str
    data: _Result | None = None
    error: str = ""
    warnings: list[str] = []


class Prometheus:
    """A Prometheus that can be asked while it is entered. ``warnings`` are those of its answers, each once."""

    def __init__(self, source: Source) -> None:
        """Raises ``MusterError`` where an option cannot be used."""
        host = musterd_page.shown(source.url, source.token_file, "--prometheus", "http://HOST:9090")
        self.place = f"{host}{printable(urlsplit(source.url).path)}"
        self.warnings: dict[str, None] = {}
        self._url = f"{source.url.rstrip('/')}/api/v1/query"
        token = read_token(source.token_file)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            trusted = source.ca_file.read_text("ascii") if source.ca_file else None
            self._trust = ssl.create_default_context(cadata=trusted)
        except (ssl.SSLError, UnicodeDecodeError) as error:
            raise MusterError(f"{source.ca_file}: holds no certificate in PEM form") from error

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        connector = aiohttp.TCPConnector(ssl=self._trust)
        self._session = aiohttp.ClientSession(
            timeout=timeout, headers=self._headers, connector=connector, trust_env=True
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, promql: str, at: float) -> list[tuple[Mapping[str, str], float]]:
        """Return the labels and the value of each series at that second; a value that is no number is left out.

        Each error names the address without its password, the expression and what to do.
        """
        try:
            form = {"query": promql, "time": f"{at:.3f}"}
            async with self._session.post(self._url, data=form, allow_redirects=False) as response:
                status, body = response.status, await musterd_page.bounded(response)
            if len(body) > musterd_page.LARGEST:
                raise self._error(f"answers with more than {musterd_page.LARGEST >> 20} MiB", promql, "ask for less")
            if status not in (200, 400, 422, 503):
                raise self._error(
                    f"answers with status {status}",
                    promql,
                    ADVICE.get(status, "ask its administrator, or a shorter time"),
                )
            answer = msgspec.json.decode(body, type=_Answer)
            if answer.data is None:
                refused = f"refuses the query: {printable(answer.error, SHOWN)}"
                raise self._error(refused, promql, "ask for a shorter time, or have its limits raised")
            self.warnings |= dict.fromkeys(printable(each, SHOWN) for each in answer.warnings)
            values = ((each.metric, float(each.value[1])) for each in answer.data.result)
            return [(labels, value) for labels, value in values if isfinite(value)]
        except (aiohttp.ClientError, TimeoutError) as error:
            why = printable(str(error) or "not in time", SHOWN)
            advice = "check the address, or kubectl port-forward to it"
            if isinstance(error, aiohttp.ClientConnectorCertificateError):
                advice = "give the certificate of its authority with --ca-file"
            raise self._error(f"does not answer: {why}", promql, advice) from error
        except (msgspec.DecodeError, ValueError) as error:
            why = f"what answers is no Prometheus: {printable(str(error), SHOWN)}"
            raise self._error(why, promql, ADVICE[404], who="") from error

    def _error(self, what: str, promql: str, advice: str, who: str = "Prometheus ") -> MusterError:
        return MusterError(f"{self.place}: {who}{what}; {advice} (asked: {promql})")


def quoted(value: str) -> str:
    """Return a text of PromQL."""
    return msgspec.json.encode(value).decode()
