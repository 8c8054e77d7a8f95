"""Which extra of the distribution ``musterd`` brings which modules, and what to say where one is missing.

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
"""The modules that each extra brings and that its code cannot do without. pyroute2 (extra ``local``) is absent: where
it is not installed, the local cluster runs without network namespaces and says so."""


def problem(extra: str) -> str | None:
    """Which modules of the extra are missing and how to install them, in one line; None if nothing is missing."""
    missing = [module for module in MODULES[extra] if not _installed(module)]
    if not missing:
        return None
    return f"not installed: {', '.join(missing)}; run: pip install '{pip_argument(extra)}'"


def pip_argument(extra: str = "") -> str:
    """What pip is asked for to get this distribution, with the extra, from where it was installed (PEP 610)."""
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
