"""Images that are treated as missing."""

from __future__ import annotations

import pytest

from muster.local.node.containers.images import missing


@pytest.mark.parametrize(
    ("image", "is_missing"),
    [
        ("missing/jax:1", True),
        ("registry.example.com/missing:latest", True),
        ("muster.local/missing", True),
        ("muster.local/python:3", False),
        ("registry.example.com/not-missing:1", False),
        ("", False),
    ],
)
def test_some_image_names_are_treated_as_missing(image: str, is_missing: bool) -> None:
    assert missing(image) is is_missing
