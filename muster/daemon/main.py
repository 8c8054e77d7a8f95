"""``musterd``: the daemon as a process."""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from random import SystemRandom
from typing import Any, Literal
from urllib.parse import urlsplit

import structlog
from pydantic import ValidationError

import muster
from muster import extras
from muster.api.errors import ApiError, MusterError
from muster.daemon.app import Daemon
from muster.daemon.settings import Settings, from_command_line
from muster.daemon.web.bundles import Bundles
from muster.daemon.web.certificate import ServerCertificate, authority_in
from muster.daemon.web.connections import Listener
from muster.daemon.web.forwarding import Leader
from muster.daemon.web.health import HealthServer
from muster.daemon.web.live import Streams
from muster.daemon.web.pages import Pages
from muster.daemon.web.progress import StatusServer
from muster.daemon.web.readers import Anyone, TokenAuthenticator
from muster.daemon.web.reviews import PodTokens, Reviews
from muster.daemon.web.server import HttpServer
from muster.kube.authentication.credentials import is_loopback
from muster.kube.authentication.kubeconfig import SERVICE_ACCOUNT
from muster.kube.connection import Connection
from muster.watchers import nodes

log = structlog.get_logger()

UNUSABLE = 2
"""Exit code for an unusable configuration."""


def main() -> None:
    """Run musterd with the settings of the command line, the environment and the file."""
    try:
        settings = from_command_line()
    except ValidationError as error:
        for problem in error.errors():
            where = ".".join(str(part) for part in problem["loc"]) or "settings"
            sys.stderr.write(f"musterd: {where}: {problem['msg']}; `musterd --help` lists every setting\n")
        sys.exit(UNUSABLE)
    except MusterError as error:
        sys.stderr.write(f"musterd: {error}\n")
        sys.exit(UNUSABLE)
    configure_logs(settings.log_format, settings.log_level)
    sys.exit(_runner(settings)(serve(settings)))


async def serve(settings: Settings) -> int:
    """Run until SIGTERM or SIGINT. Return 0 after a clean end, 1 if a part failed, 2 for an unusable configuration."""
    try:
        connection = await Connection.from_settings(settings.kubeconfig, settings.context or None)
    except ApiError as error:
        log.critical("cannot connect", error=str(error))
        return UNUSABLE
    try:
        return await _serve(settings, connection)
    finally:
        await connection.aclose()


async def _serve(settings: Settings, connection: Connection) -> int:
    if settings.otlp_endpoint and (missing := extras.problem("tracing")):
        log.critical("cannot send traces", error=missing)
        return UNUSABLE
    try:
        certificate = certificate_of(settings)
    except OSError as error:
        log.critical("cannot use the certificate; see --http-tls-cert and --http-tls-key", error=str(error))
        return UNUSABLE
    instance = f"{socket.gethostname()}-{os.getpid()}"
    traces = None
    if settings.otlp_endpoint:
        from muster.metrics.traces import TraceExport

        traces = TraceExport(settings.otlp_endpoint, version=muster.__version__, instance=instance)
    daemon = Daemon(
        connection,
        settings.model_copy(update={"lease_namespace": settings.lease_namespace or own_namespace(SERVICE_ACCOUNT)}),
        clock=time.time,
        monotonic=uninterrupted,
        random=SystemRandom(),
        instance=instance,
        version=muster.__version__,
        cpu=time.thread_time,
        settle=settle_memory,
        traced=traces.transition if traces else None,
    )
    connection.retried = daemon.retried
    connection.metadata_alone = (nodes.PATH,)
    trusted = settings.http_authentication == "auto" and is_loopback(settings.http_host)
    http = HttpServer(
        daemon.instruments.registry,
        daemon.health,
        Pages(
            daemon,
            daemon.health.role,
            time.time,
            settings.runbook_url,
            accelerators=daemon.accelerators,
            tracking=lambda: daemon.incidents.tracking,
            known_nodes=daemon.nodes.listing,
            complete=lambda: daemon.informers.synced,
            shard=settings.shard,
        ),
        settings.http_host,
        settings.http_port,
        authenticator=Anyone() if trusted else TokenAuthenticator(Reviews(daemon.unfenced, uninterrupted)),
        streams=Streams(daemon.changes),
        names={name.strip().lower() for name in settings.http_names.split(",")} - {""},
        tls=certificate.context if certificate else None,
        bundles=Bundles(connection.credentials.with_token),
        leader=Leader(lambda: daemon.leader_page, certificate),
    )
    listeners: dict[str, Listener] = {"http": http}
    if settings.progress_port is not None:
        try:
            listeners["progress"] = status_server_of(settings, settings.progress_port, daemon)
        except (OSError, ValueError) as error:
            log.critical("cannot serve the progress endpoint; see --progress-tls-cert, -key and -ca", error=str(error))
            return UNUSABLE
    if settings.health_port is not None:
        listeners["health"] = HealthServer(daemon.health, settings.health_host, settings.health_port)
    ports = await _listen(listeners)
    if ports is None:
        return UNUSABLE
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.stop)
    scheme = "https" if certificate else "http"
    log.info("musterd runs", http=f"{scheme}://{settings.http_host}:{ports[0]}", namespace=settings.namespace or "all")
    try:
        clean = await daemon.run()
    finally:
        for listener in listeners.values():
            await listener.stop()
        if traces:
            await traces.aclose()
    log.info("musterd has ended", clean=clean)
    return 0 if clean else 1


def configure_logs(form: Literal["auto", "json", "pretty"], level: str) -> None:
    """Set logging up for the whole process: one JSON object per line, or coloured text on a terminal, on stderr.

    A traceback is logged without the values of local variables, which structlog adds by default: those of a request or
    of a review hold tokens.
    """
    pretty = form == "pretty" or (form == "auto" and sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendering: list[structlog.typing.Processor] = (
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if pretty
        else [
            structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(),
        ]
    )
    structlog.configure(
        processors=shared + rendering,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def certificate_of(settings: Settings) -> ServerCertificate | None:
    """Return the certificate of the metrics and page server, or None for plain http. Raises ``OSError``."""
    if settings.http_tls_cert is None or settings.http_tls_key is None:
        return None
    return ServerCertificate(settings.http_tls_cert, settings.http_tls_key)


def status_server_of(settings: Settings, port: int, daemon: Daemon) -> StatusServer:
    """Return the progress endpoint. Raises ``OSError`` and ``ValueError`` for files that cannot be used."""
    pair, ca = settings.progress_certificate, settings.progress_ca
    if pair is None or ca is None:
        raise ValueError("a certificate and its authority are needed")
    trust = ssl.create_default_context(cadata=authority_in(ca))
    return StatusServer(
        daemon,
        PodTokens(daemon.unfenced, uninterrupted),
        settings.progress_host,
        port,
        tls=ServerCertificate(*pair).context,
        trust=trust,
        named=urlsplit(settings.progress_url).hostname or "",
        key=pair[1].read_bytes,
        observe=daemon.instruments.posted,
    )


async def _listen(listeners: Mapping[str, Listener]) -> list[int] | None:
    """Start all listeners. Return their ports, or None, with all of them stopped, if an address cannot be bound."""
    ports = []
    for name, listener in listeners.items():
        try:
            ports.append(await listener.start())
        except OSError as error:
            log.critical(f"cannot listen; choose another --{name}-host or --{name}-port", error=str(error))
            for each in listeners.values():
                await each.stop()
            return None
    return ports


def uninterrupted() -> float:
    """Return monotonic seconds that also count while the machine is suspended (clock_gettime(2), CLOCK_BOOTTIME).

    A leader on a virtual machine that was frozen must know that its time is over.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def own_namespace(service_account: Path) -> str:
    """Return the namespace of the pod of this process; ``default`` outside a cluster."""
    try:
        return (service_account / "namespace").read_text(encoding="utf-8").strip() or "default"
    except (OSError, UnicodeDecodeError):
        return "default"


def settle_memory() -> None:
    """Exempt the objects of the first lists from garbage collection, and collect less often.

    Pods come and go as flat records without cycles; walking over all of them would only stop the loop.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _runner(settings: Settings) -> Callable[[Coroutine[Any, Any, int]], int]:
    """Return uvloop's runner if it is installed and wanted, else asyncio's."""
    if settings.uvloop:
        with contextlib.suppress(ImportError):
            import uvloop

            return uvloop.run
    return asyncio.run


if __name__ == "__main__":
    main()
