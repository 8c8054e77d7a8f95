"""An archive is the same for the same input, whatever its names and texts are."""

import io
import tarfile
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from muster.rollcall.bundle import (
    _CREDENTIALS,
    CUT,
    MOST_BYTES,
    MOST_FILES,
    REMOVED,
    archive,
    as_json,
    without_credentials,
)

LONGEST_VALUE = 4096


def test_the_same_files_give_the_same_bytes_in_any_order() -> None:
    files = {"b.json": "2", "a.json": "1"}
    assert archive("x", files, 7.9) == archive("x", dict(reversed(files.items())), 7.9)
    with tarfile.open(fileobj=io.BytesIO(archive("x", files, 7.9))) as tar:
        assert [(each.name, each.mtime, each.uid, each.uname, each.mode) for each in tar] == [
            ("x/a.json", 7, 0, "", 0o644),
            ("x/b.json", 7, 0, "", 0o644),
        ]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "a\x00b\n", "x" * 500, "", "ü/./~"])
def test_no_name_leaves_the_folder(name: str) -> None:
    for packed in (archive("x", {name: ""}, 0.0), archive(name, {"a": ""}, -1.0)):
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            (entry,) = tar
        assert not entry.name.startswith("/")
        assert all(part and not part.startswith(".") for part in entry.name.split("/"))
        assert entry.name.isprintable()


def test_sizes_are_bounded_and_the_cut_is_said() -> None:
    many = {f"{number:03}": "" for number in range(MOST_FILES + 5)} | {"000": "ü" * MOST_BYTES}
    with tarfile.open(fileobj=io.BytesIO(archive("x", many, 1e300))) as tar:
        entries = tar.getmembers()
        assert len(entries) == MOST_FILES
        assert entries[0].size <= MOST_BYTES + len(CUT)
        assert tar.extractfile(entries[0]).read().decode().endswith(CUT)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("loss 0.3 at step 7", "loss 0.3 at step 7"),
        ("token=abcd1234 step 3", f"token={REMOVED} step 3"),
        ('{"api_key": "abcd1234"}', f'{{"api_key": "{REMOVED}"}}'),
        ("s3://bucket/path", "s3://bucket/path"),
        ("redis://me:pass@host/0", f"redis://{REMOVED}@host/0"),
        ("Authorization: Bearer abcd1234efgh", f"Authorization: {REMOVED}"),
        ("--token abcdefgh", "--token abcdefgh"),
    ],
)
def test_what_looks_like_a_credential_is_removed(said: str, left: str) -> None:
    assert without_credentials(said) == left


def test_a_long_text_without_a_credential_is_kept() -> None:
    for text in ("token" * 20_000, "a" * 100_000, "x://" + "a" * 100_000, "eyJ" + "a" * 100_000):
        assert without_credentials(text) == text


def test_the_search_for_credentials_repeats_nothing_without_end_and_no_repeat_within_a_repeat() -> None:
    """So the work for a text of any shape is at most its length times the longest value."""

    def deepest(parsed: Any) -> int:
        """How many repeats are within each other."""
        if isinstance(parsed, tuple) and len(parsed) == 3 and isinstance(parsed[1], int) and parsed[1] > 1:
            assert parsed[1] <= LONGEST_VALUE
            return 1 + deepest(parsed[2])
        inner = parsed if isinstance(parsed, tuple | list | parser.SubPattern) else ()
        return max(map(deepest, inner), default=0)

    assert deepest(parser.parse(_CREDENTIALS.pattern)) == 1


def test_credentials_in_nested_data_are_removed() -> None:
    assert "hunter22" not in as_json({"a": [{"b": "password=hunter22"}]})
