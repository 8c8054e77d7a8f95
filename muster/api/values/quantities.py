"""Kubernetes quantities, exactly: ``500m``, ``16Gi``, ``4``, ``1e3``.

Values are ``decimal.Decimal`` and are rounded only where a docstring mentions it. The printed form is Kubernetes'
canonical one (k8s.io/apimachinery, pkg/api/resource/quantity.go) in powers of ten: no fraction, and the largest suffix
that allows it.

AIchor states memory in "GB" (``memory: 64`` is 64 GB, and ``cpus`` x ``ramRatio`` is a number of GB). No public page
defines a GB as 10^9 or 2^30 bytes. Muster uses 10^9 bytes, Kubernetes' ``G``: it is what GB means in the SI, and the
smaller of the two, so that an experiment which fits its node under AIchor fits it under Muster.
"""

from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from typing import Final

DECIMAL_SUFFIXES: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
"""Powers of ten."""

BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
"""Powers of two."""

MAX_LENGTH: Final = 48
MAX_VALUE: Final = Decimal(2**63 - 1)
"""Kubernetes keeps quantities below this magnitude."""

_NANO: Final = Decimal("1e-9")
_EXACT: Final = Context(prec=120)
_NUMBER: Final = frozenset("0123456789.")


class QuantityError(ValueError):
    """A text is not a Kubernetes quantity."""

    def __init__(self, text: str, what: str) -> None:
        shown = repr(text if len(text) <= MAX_LENGTH else text[:MAX_LENGTH] + "…")
        super().__init__(f"{shown} is not a Kubernetes quantity: {what}")


def parse_quantity(text: str) -> Decimal:
    """Return the exact amount in ``text``. Raises ``QuantityError``, also if finer than 10^-9 or over 2^63 - 1."""
    if len(text) > MAX_LENGTH:
        raise QuantityError(text, f"longer than {MAX_LENGTH} characters")
    start = 1 if text[:1] in ("+", "-") else 0
    end = start
    while end < len(text) and text[end] in _NUMBER:
        end += 1
    number, suffix = text[:end], text[end:]
    if not any(character != "." for character in number[start:]):
        raise QuantityError(text, "a number is expected first, as in 500m, 4 or 16Gi")
    try:
        mantissa = Decimal(number)
    except InvalidOperation:
        raise QuantityError(text, "the number has more than one point") from None
    if suffix in DECIMAL_SUFFIXES:
        value = mantissa.scaleb(DECIMAL_SUFFIXES[suffix], _EXACT)
    elif suffix in BINARY_SUFFIXES:
        value = _EXACT.multiply(mantissa, Decimal(2 ** BINARY_SUFFIXES[suffix]))
    else:
        value = mantissa.scaleb(_exponent(text, suffix), _EXACT)
    if abs(value) > MAX_VALUE:
        raise QuantityError(text, "beyond 2^63 - 1")
    if value != value.quantize(_NANO, context=_EXACT):
        raise QuantityError(text, "finer than one nano (10^-9)")
    return value


def _exponent(text: str, suffix: str) -> int:
    digits = suffix[1:].lstrip("+-")
    if suffix[:1] in ("e", "E") and digits.isascii() and digits.isdigit() and len(suffix) - len(digits) <= 2:
        power = int(digits)
        if power <= 99:
            return -power if "-" in suffix else power
    known = ", ".join([*(s for s in DECIMAL_SUFFIXES if s), *BINARY_SUFFIXES])
    raise QuantityError(text, f"unknown suffix {suffix!r}; one of {known}")


def format_quantity(value: Decimal) -> str:
    """Return the canonical form: an integer with the largest suffix that fits. ``value`` is a multiple of 10^-9."""
    nanos = int(value.quantize(_NANO, context=_EXACT).scaleb(9, _EXACT))
    if nanos == 0:
        return "0"
    for candidate, tens in reversed(DECIMAL_SUFFIXES.items()):
        unit = 10 ** (tens + 9)
        if nanos % unit == 0:
            return f"{nanos // unit}{candidate}"
    raise AssertionError(value)


def exact(number: float) -> Decimal:
    """Return the decimal as written: ``0.1`` is one tenth, not the nearest binary fraction."""
    return Decimal(repr(number))


def cpu(cpus: float | Decimal) -> str:
    """Return CPUs as a quantity, rounded up to the thousandth, Kubernetes' smallest unit: ``0.5`` is ``500m``."""
    value = cpus if isinstance(cpus, Decimal) else exact(cpus)
    return format_quantity(value.quantize(Decimal("0.001"), rounding=ROUND_CEILING, context=_EXACT))


def gigabytes(amount: float | Decimal) -> str:
    """Return GB (10^9 bytes) as a quantity, rounded up to the byte: ``16`` is ``16G``, ``2.5`` is ``2500M``."""
    value = amount if isinstance(amount, Decimal) else exact(amount)
    return format_quantity(value.scaleb(9, _EXACT).quantize(Decimal(1), rounding=ROUND_CEILING, context=_EXACT))
