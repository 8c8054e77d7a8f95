"""The choice of an isolation."""

from __future__ import annotations

from muster.local.node import Isolation, choose_isolation


def test_the_best_working_isolation_is_chosen_with_the_reasons_against_better_ones() -> None:
    refused = {Isolation.NETNS: "needs root", Isolation.MNT: "no user namespaces"}
    choice = choose_isolation(refused.get)
    assert choice.isolation is Isolation.NSS
    assert str(choice) == "nss (no netns: needs root; no mnt: no user namespaces)"


def test_rewrite_always_works() -> None:
    choice = choose_isolation(lambda isolation: None if isolation is Isolation.REWRITE else "no")
    assert choice.isolation is Isolation.REWRITE
