"""Options of write and delete requests (meta/v1 CreateOptions, UpdateOptions, PatchOptions, DeleteOptions)."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a create, update or patch.

    `strictness` is fieldValidation: Strict, Warn or Ignore. With Warn, unknown fields are added to `warnings`.
    """

    dry_run: bool = False
    strictness: str = "Ignore"
    subresource: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of a delete; `uid` and `version` are its preconditions.

    `grace` is in seconds, None for the object's own. `propagation` Orphan keeps the dependents; any other
    deletes them after the object.
    """

    grace: int | None = None
    propagation: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False
