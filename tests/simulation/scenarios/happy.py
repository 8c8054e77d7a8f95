"""Everybody comes, works and succeeds."""

from tests.simulation.scenario import End, Scenario

SCENARIO = Scenario("happy", End("Succeeded", "AllMembersSucceeded"), core=True)
