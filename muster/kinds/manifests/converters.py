"""The kinds of other controllers that are converted, as they are declared."""

from typing import Final

from muster.api.declared import declared
from muster.kinds.convert.draft import Converter

CONVERTERS: Final[dict[str, Converter]] = {each.kind: each for each in declared("convert", Converter)}
"""By kind."""
