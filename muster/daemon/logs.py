"""Logs: one JSON object per line, or coloured text on a terminal.

A traceback is logged without the values of local variables, which structlog adds by default: those of a request or of a
review hold tokens.
"""

import logging
import sys
from typing import Literal

import structlog


def configure(form: Literal["auto", "json", "pretty"], level: str) -> None:
    """Set logging up for the whole process. Logs go to stderr."""
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
