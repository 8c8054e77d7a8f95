"""The choice of an isolation."""

from muster.local.node import Isolation, choose_isolation


def test_the_best_working_isolation_is_chosen_with_the_reasons_against_better_ones() -> None:
    refused = {Isolation.NETNS: "needs root", Isolation.MNT: "no user namespaces"}
    choice = choose_isolation(refused.get)
    assert choice.isolation is Isolation.REWRITE
    assert str(choice) == "rewrite (no netns: needs root; no mnt: no user namespaces)"
