"""Images that are treated as missing."""

import re
from pathlib import Path

import pytest

from muster.local.node.containers.process_spec import image_missing, repository

DOCS = Path(__file__).parents[4] / "docs"


@pytest.mark.parametrize(
    ("image", "is_missing"),
    [
        ("missing/jax:1", True),
        ("registry.example.com/missing:latest", True),
        ("muster.local/missing", True),
        ("muster.local/python:3", False),
        ("registry.example.com/not-missing:1", False),
        ("registry.example.com/missing-image", False),
        ("registry.example.com/missing/python:3", False),
        ("missing-image:1", False),
        ("", False),
    ],
)
def test_some_image_names_are_treated_as_missing(image: str, is_missing: bool) -> None:
    assert image_missing(image) is is_missing


def test_the_page_names_what_is_treated_as_missing() -> None:
    page = (DOCS / "local-cluster.md").read_text()
    (sentence,) = re.findall(r"images called\s(.*?)\sfail to\s", page, re.IGNORECASE | re.DOTALL)
    names = [name.replace("NAME", "team/train") for name in re.findall("`([^`]+)`", sentence)]
    assert len(names) == 3
    assert all(image_missing(f"{name}{tag}") for name in names for tag in ("", ":1"))


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("musterd", "musterd"),
        ("musterd:0.1.0", "musterd"),
        ("registry.example.com:5000/team/musterd:1@sha256:0", "registry.example.com:5000/team/musterd"),
        ("registry.example.com:5000/musterd", "registry.example.com:5000/musterd"),
    ],
)
def test_the_repository_of_an_image_is_its_name_without_tag_and_digest(image: str, name: str) -> None:
    assert repository(image) == name
