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


class Unusable(MusterError, ValueError):
    """The file cannot be read as the cluster's database."""


class Database:
    """Maps a key to a version and JSON bytes. If `path` is None, nothing is stored.

    `failed` is called with the reason when a write fails: a cluster whose disk is full must not continue.
    """

    def __init__(self, path: Path | None, failed: Callable[[str], None] = lambda _why: None) -> None:
        self._closed = False
        self._path = path
        self._failed = failed
        self._connection: sqlite3.Connection | None = None
        if path is None:
            return
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.5)
        try:
            # One server per file: two would assign the same versions, each from its own counter.
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS objects"
                " (key TEXT PRIMARY KEY, version INTEGER NOT NULL, data BLOB NOT NULL)"
            )
        except sqlite3.DatabaseError as failure:
            connection.close()
            raise _unusable(path, failure) from failure
        self._connection = connection

    def load(self) -> tuple[int, list[tuple[str, int, bytes]]]:
        """Return the highest version ever assigned, and every object as (key, version, data)."""
        if self._connection is None:
            return 0, []
        newest = 0
        rows: list[tuple[str, int, bytes]] = []
        try:
            for key, version, data in self._connection.execute("SELECT key, version, data FROM objects"):
                newest = max(newest, version)
                if key != _COUNTER:
                    rows.append((key, version, bytes(data)))
        except (sqlite3.DatabaseError, TypeError) as failure:
            raise _unusable(self._path, failure) from failure
        return newest, rows

    def put(self, key: str, version: int, data: bytes) -> None:
        """Write an object."""
        self._refuse_if_closed()
        if self._connection is not None:
            with self._writing():
                self._connection.execute("INSERT OR REPLACE INTO objects VALUES (?, ?, ?)", (key, version, data))

    def drop(self, key: str, version: int) -> None:
        """Remove an object, and store the version of the removal."""
        self._refuse_if_closed()
        if self._connection is not None:
            with self._writing(), self._transaction() as connection:
                connection.execute("DELETE FROM objects WHERE key = ?", (key,))
                connection.execute("INSERT OR REPLACE INTO objects VALUES (?, ?, ?)", (_COUNTER, version, b"{}"))

    def close(self) -> None:
        """Close the file; SQLite merges the write-ahead log into it."""
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise RuntimeError("the API server has been stopped; nothing can be written")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Report a write that fails; the request gets status 500 with the reason."""
        try:
            yield
        except sqlite3.Error as failure:
            why = f"{self._path} cannot be written: {failure}"
            self._failed(why)
            raise ApiError(500, "InternalError", why) from failure

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        assert connection is not None
        connection.execute("BEGIN")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _unusable(path: Path | None, failure: Exception) -> Unusable:
    return Unusable(
        f"{path} cannot be used as the cluster's database ({failure}); "
        "stop the local cluster that uses it, name another file, or move this one away"
    )
