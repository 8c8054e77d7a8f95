"""What a caller may ask for with a write or a delete."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """`strictness` is fieldValidation: Strict, Warn or Ignore. Warnings found on the way are added to `warnings`."""

    dry_run: bool = False
    manager: str = "unknown"
    strictness: str = "Ignore"
    force: bool = False
    subresource: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """`grace` in seconds, None for the object's own. `propagation`: Background, Foreground or Orphan."""

    grace: int | None = None
    propagation: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False
