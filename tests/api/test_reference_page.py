"""The reference page is made from the models."""

from pathlib import Path

import msgspec
import pytest

from muster.api.status import ExperimentStatus
from muster.api.wire.structs import shape_of
from tests.manifest_reference import manifest_reference, status_reference

PAGE = Path(__file__).parents[2] / "docs" / "manifest-reference.md"


@pytest.mark.drift
def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == manifest_reference(), "run: python -m tests.manifest_reference > docs/manifest-reference.md"


def test_every_field_of_the_status_is_described_where_the_page_leads() -> None:
    page = status_reference()
    assert fields_with(ExperimentStatus, "status")
    for path, description in fields_with(ExperimentStatus, "status"):
        assert description
        assert f"- `{path}` (" in page
        assert f"): {description}\n" in page


def fields_with(struct: type[msgspec.Struct], path: str) -> list[tuple[str, str]]:
    """Path and description of every field of a struct and of the structs in it."""
    found = []
    for field in shape_of(struct).fields:
        here = f"{path}.{field.key}"
        found.append((here, field.wire.description))
        if field.items is not None:
            found += fields_with(field.items, f"{here}[]" if field.wire.most else here)
    return found
