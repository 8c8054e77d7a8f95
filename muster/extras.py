"""The modules that each extra of the distribution ``musterd`` brings, and the message for a missing one.

The core (``muster.api``, ``muster.client``, ``muster.jax``) needs no extra. The commands do; they call ``problem``
before they import anything else, so that a missing extra is one line and not a traceback.
"""

from importlib.util import find_spec

DISTRIBUTION = "musterd"

_CLI = ("click", "dotenv", "h2", "rich", "structlog")
_DAEMON = ("h2", "markdown_it", "prometheus_client", "pydantic_settings", "structlog")

MODULES = {
    "cli": _CLI,
    "daemon": _DAEMON,
    "local": (*dict.fromkeys((*_CLI, *_DAEMON)), "trustme"),
    "tracing": ("opentelemetry.exporter.otlp.proto.http", "opentelemetry.sdk", "opentelemetry.trace"),
}
"""The modules that each extra brings and that its code needs. pyroute2 (extra ``local``) is absent: without it the
local cluster runs without network namespaces and reports that."""


def problem(extra: str) -> str | None:
    """Return the missing modules of the extra and how to install them, in one line; None if nothing is missing."""
    missing = [module for module in MODULES[extra] if not _installed(module)]
    if not missing:
        return None
    return f"not installed: {', '.join(missing)}; run: pip install '{pip_argument(extra)}'"


def pip_argument(extra: str = "") -> str:
    """Return pip's argument for this distribution with the extra, from where it was installed (PEP 610)."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    name = f"{DISTRIBUTION}[{extra}]" if extra else DISTRIBUTION
    try:
        origin = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return name
    url = str(origin.get("url", ""))
    if vcs := origin.get("vcs_info"):
        return f"{name} @ {vcs.get('vcs')}+{url}"
    return f"{name} @ {url}" if url else name


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a parent package
        return False
