"""The Experiment is deleted while its pods are being made."""

from tests.simulation.scenario import At, End, Scenario

SCENARIO = Scenario("deleted-at-start", End(""), sizes=(4, 16), people=(At(1.0195, delete=True),))
