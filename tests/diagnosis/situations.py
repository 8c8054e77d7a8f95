"""The table of situations, each with the cause and the ranks that must be named."""

from tests.diagnosis.runs import RUNS
from tests.diagnosis.starts import STARTS

SITUATIONS = (*STARTS, *RUNS)
"""The order is that of the life of a gang."""
