"""The objects on disk: one SQLite table, written on every change and read once, at the start.

WAL mode with synchronous=NORMAL loses nothing when the process is killed. A power failure may lose the last writes;
the file then holds a consistent earlier state.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from muster.api.errors import MusterError
from muster.local.apiserver.errors import ApiError

_COUNTER = "counter"
_PUT = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?)"


class Unusable(MusterError, ValueError):
    """The file cannot be read as the cluster's database."""


class Database:
    """Maps a key to a version and JSON bytes, in a file or, if `path` is None, in memory.

    `failed` is called with the reason when a write fails: a cluster whose disk is full must not continue.
    """

    def __init__(self, path: Path | None, failed: Callable[[str], None] = lambda _why: None) -> None:
        self._closed = False
        self._path = path
        self._failed = failed
        self._connection = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=0.5)
        try:
            # One server per file: two would assign the same versions, each from its own counter.
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS objects"
                " (key TEXT PRIMARY KEY, version INTEGER NOT NULL, data BLOB NOT NULL)"
            )
        except sqlite3.DatabaseError as failure:
            self._connection.close()
            raise self._unusable(failure) from failure

    def load(self) -> tuple[int, list[tuple[str, int, bytes]]]:
        """Return the highest version ever assigned, and every object as (key, version, data)."""
        newest = 0
        rows: list[tuple[str, int, bytes]] = []
        try:
            for key, version, data in self._connection.execute("SELECT key, version, data FROM objects"):
                newest = max(newest, version)
                if key != _COUNTER:
                    rows.append((key, version, bytes(data)))
        except (sqlite3.DatabaseError, TypeError) as failure:
            raise self._unusable(failure) from failure
        return newest, rows

    def put(self, key: str, version: int, data: bytes) -> None:
        """Write an object."""
        with self._writing() as connection:
            connection.execute(_PUT, (key, version, data))

    def drop(self, key: str, version: int) -> None:
        """Remove an object, and store the version of the removal."""
        with self._writing() as connection:
            connection.execute("DELETE FROM objects WHERE key = ?", (key,))
            connection.execute(_PUT, (_COUNTER, version, b"{}"))

    def close(self) -> None:
        """Close the file; SQLite merges the write-ahead log into it."""
        self._closed = True
        self._connection.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write in one transaction. Report a write that fails; the request gets status 500 with the reason."""
        if self._closed:
            raise RuntimeError("the API server has been stopped; nothing can be written")
        try:
            with self._connection:
                yield self._connection
        except sqlite3.Error as failure:
            why = f"{self._path} cannot be written: {failure}"
            self._failed(why)
            raise ApiError(500, "InternalError", why) from failure

    def _unusable(self, failure: Exception) -> Unusable:
        return Unusable(
            f"{self._path} cannot be used as the cluster's database ({failure}); "
            "stop the local cluster that uses it, name another file, or move this one away"
        )
