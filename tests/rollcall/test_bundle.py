"""An archive is the same for the same input, whatever its names and texts are."""

import io
import tarfile

import pytest

from muster.client.explaining.bundle import CUT, MOST_BYTES, archive


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


def test_sizes_are_bounded_and_the_cut_is_reported() -> None:
    with tarfile.open(fileobj=io.BytesIO(archive("x", {"000": "ü" * MOST_BYTES}, 1e300))) as tar:
        entries = tar.getmembers()
        assert entries[0].size <= MOST_BYTES + len(CUT)
        assert tar.extractfile(entries[0]).read().decode().endswith(CUT)  # type: ignore[union-attr]
