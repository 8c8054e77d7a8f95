"""Quantities are exact and printed in Kubernetes' canonical form."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.values.quantities import QuantityError, cpu, exact, format_quantity, gigabytes, parse_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", "4"),
        ("500m", "0.5"),
        ("16Gi", str(16 * 2**30)),
        ("1.5Gi", str(3 * 2**29)),
        ("100M", "100000000"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1E", "1000000000000000000"),
        ("12e-3", "0.012"),
        ("+1k", "1000"),
        ("-2", "-2"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1n", "0.000000001"),
    ],
)
def test_every_notation_is_read(text: str, value: str) -> None:
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    ["", "Gi", "1.2.3", "1Q", "1 Gi", "0x10", "1e", "1e+-3", "1e999999999", "0.1n", "9e18M", "٣", "1_000", "--1"],
)
def test_an_invalid_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="is not a Kubernetes quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("4000", "4k"),
        ("1Gi", "1073741824"),
        ("512", "512"),
        ("0", "0"),
        ("0Gi", "0"),
        ("0.5Ki", "512"),
        ("64G", "64G"),
        ("2.5G", "2500M"),
    ],
)
def test_the_canonical_form_is_printed(text: str, canonical: str) -> None:
    assert format_quantity(parse_quantity(text)) == canonical


@given(
    st.text(max_size=60)
    | st.text("0123456789.eE+-numkKMGTPi", max_size=12)
    | st.from_regex(r"-?[0-9]{1,7}[numkKMGTPE]?i?")
)
def test_any_text_is_a_quantity_or_a_quantity_error(text: str) -> None:
    try:
        quantity = parse_quantity(text)
    except QuantityError:
        return
    assert parse_quantity(format_quantity(quantity)) == quantity


def test_cpus_and_gigabytes_are_converted_in_decimal() -> None:
    assert cpu(16) == "16"
    assert cpu(0.1) == "100m"
    assert cpu(exact(0.1) * 3) == "300m"  # not 301m: 0.1 is one tenth
    assert cpu(0.0001) == "1m"
    assert gigabytes(16) == "16G"
    assert gigabytes(2.5) == "2500M"
    assert gigabytes(exact(0.5) * exact(1.1)) == "550M"
