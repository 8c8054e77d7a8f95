"""Scrapes a minute apart that fail, upgrades meanwhile, and samples that come late: no false page, and none lost."""

import re
from collections.abc import Mapping
from typing import Any

from tests.deploy.prometheus.case import DAEMON, EXPERIMENT, ONE, Case, reason

_LABELS = {"namespace": "vision", "experiment": "llama"}
_MISSING = "vision/llama: the roll is not complete: reason RanksMissing, the others wait."
_NO_COUNT = ("muster_experiment_ranks_missing",)
_REASON = f'muster_experiment_stuck_reason{{{ONE},reason="RanksMissing",instance="%s"}}'


def _minutes(*values: str, late: int = 0) -> str:
    """One sample a minute; the first is that many samples of 5 s late."""
    return (f"_x{late} " if late else "") + " _x11 ".join(values)


def _daemon(instance: str, scrapes: tuple[str, ...], leads: tuple[str, ...], late: int = 0) -> dict[str, str]:
    """A musterd that is scraped once a minute: ``stale`` is a scrape that fails."""
    labels = f'job="musterd",instance="{instance}"'
    values = {
        f"up{{{labels}}}": ["0" if each == "stale" else each for each in scrapes],
        f"muster_build_info{{{labels}}}": scrapes,
        f'muster_leader{{{labels},identity="{instance}"}}': leads,
    }
    return {name: _minutes(*each, late=late) for name, each in values.items()}


_ONE_FAILS = (*("1",) * 5, "stale", *("1",) * 30)
_STANDS_BY = tuple("0" if each == "1" else each for each in _ONE_FAILS)

_UPGRADE = {
    **_daemon("a", _ONE_FAILS[:6], _ONE_FAILS[:6]),
    **_daemon("b", (*("1",) * 6, "stale"), (*("0",) * 5, "1", "stale"), late=6),
    **_daemon("c", ("1",) * 30, ("0", *("1",) * 29), late=69),
    **_daemon("d", ("1",) * 30, ("0",) * 30, late=80),
}
"""The leader ends before its scrape at 300 s, and the one that took over before its scrape at 390 s. Two new ones are
scraped from 345 s and 400 s on; the first of them leads at 405 s."""


def _stalled(before: int, samples: int) -> dict[str, str]:
    """All base series without these samples, as a ruler sees them behind a remote write that stalls."""
    values = {name: int(re.findall(r"\d+", text)[0]) for name, text in {**DAEMON, **EXPERIMENT}.items()}
    return {name: f"{value}x{before} _x{samples} {value}x1000" for name, value in values.items()}


def _missing(situation: str, series: Mapping[str, str], after: int, summary: str = _MISSING, **more: Any) -> Case:
    """A rank is missing; the alert goes on, or fires at that second."""
    given = {"at_once": False, "without": _NO_COUNT, **more}
    return Case("MusterRankMissing", situation, series, after, _LABELS, summary, **given)


SLOW_SCRAPES = (
    Case("MusterDaemonDown", "scrapes are a minute apart, and one of each musterd fails",
         {**_daemon("a", _ONE_FAILS, _ONE_FAILS), **_daemon("b", _ONE_FAILS, _STANDS_BY)}),
    Case("MusterNoLeader", "scrapes are a minute apart, and one of the leader fails",
         {**_daemon("a", _ONE_FAILS, _ONE_FAILS), **_daemon("b", ("1",) * 36, ("0",) * 36)}),
    _missing("scrapes are a minute apart, and the second of a missing rank fails: the time of the alert begins anew",
             reason("RanksMissing", _minutes("0", "1", "stale", *("1",) * 30)), 240, at_once=True),
    _missing("scrapes are a minute apart, and one fails after the alert has fired: it goes on",
             reason("RanksMissing", _minutes("0", *("1",) * 4, "stale", *("1",) * 30)), 295),
    Case("MusterNoLeader", "scrapes are a minute apart, and both replicas are replaced within two minutes", _UPGRADE),
    _missing("scrapes are a minute apart, and both replicas are replaced after the alert has fired: it goes on",
             {**_UPGRADE, _REASON % "a": _minutes("0", *("1",) * 4, "stale"),
              _REASON % "b": _minutes("1", "stale", late=66), _REASON % "c": _minutes(*("1",) * 30, late=81)},
             340, _MISSING.replace("reason RanksMissing, ", "")),
    Case("MusterDaemonDown", "a remote write stalls for six minutes, and no sample comes meanwhile", _stalled(11, 71)),
    _missing("a remote write stalls for three minutes after the alert has fired: it goes on",
             {**_stalled(41, 36), **reason("RanksMissing", "0x11 1x29 _x36 1x1000")}, 325, without=()),
)  # fmt: skip
