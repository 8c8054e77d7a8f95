"""musterd itself: what must page, and what an upgrade or a takeover looks like."""

from tests.deploy.prometheus.case import BEGINS, ENDS, Case

_A = 'job="musterd",instance="a"'
_B = 'job="musterd",instance="b"'
_JOB = {"job": "musterd"}
_UP = "muster_build_info{%s}"
_LEADS = 'muster_leader{%s,identity="%s"}'
_STALENESS = f'muster_watch_staleness_seconds{{{_A},resource="pods"}}'
_RIGHT = f'muster_rights_missing{{{_A},verb="create",resource="pods"}}'
_UNREPORTED = f'muster_experiments_unreported{{{_A},reason="cap"}}'
_ERRORS = f'muster_internal_errors_total{{{_A},place="step"}}'

DAEMON = (
    Case(
        "MusterDaemonDown",
        "no musterd runs, or none can be scraped",
        {_UP % _A: "1x11 stale", _UP % _B: "1x11 stale"},
        fires_after=60,
        labels=_JOB,
        summary="No musterd of job musterd is scraped.",
    ),
    Case("MusterDaemonDown", "one of two ends for good", {_UP % _A: "1x11 stale"}, also=("MusterReplicaMissing",)),
    Case(
        "MusterDaemonDown",
        "both are down for 50 s",
        {_UP % _A: "1x11 stale", _UP % _B: "1x11 stale _x9 1x1000"},
        also=("MusterReplicaMissing",),
    ),
    Case(
        "MusterScrapesFail",
        "both run for 25 s and are down for 50 s, in turns",
        {_UP % each: ("1x4 " + "_x10 1x4 " * 40) for each in (_A, _B)}
        | {f"up{{{each}}}": "1x4 " + "0x9 1x4 " * 40 for each in (_A, _B)},
        fires_after=60,
        at_once=False,
        labels=_JOB,
        summary="Of the scrapes of musterd, job musterd, 40% have succeeded.",
        also=("MusterReplicaMissing",),
    ),
    Case(
        "MusterScrapesFail",
        "a rolling upgrade: each one is down for a minute",
        {f"up{{{_A}}}": "1x11 0x11 1x1000", f"up{{{_B}}}": "1x23 0x11 1x1000"},
    ),
    Case(
        "MusterReplicaMissing",
        "one of two ends for good",
        {_UP % _B: "1x11 stale", f"up{{{_B}}}": "1x11 stale"},
        fires_after=900,
        labels=_JOB,
        summary="Of 2 musterd of job musterd 1 can be scraped.",
    ),
    Case(
        "MusterReplicaMissing",
        "one of two is away for 14 minutes, as its node is replaced",
        {_UP % _B: "1x11 stale _x167 1x1000", f"up{{{_B}}}": "1x11 stale _x167 1x1000"},
    ),
    Case(
        "MusterLeaderChanges",
        "two replicas end in turns, each a minute after it began to lead",
        {
            f'muster_leader{{job="musterd",instance="{"ab"[n % 2]}",identity="{n}"}}': f"_x{12 * n} 1x11 stale"
            for n in range(20)
        },
        fires_after=180,
        labels=_JOB,
        summary="5 processes of musterd, job musterd, have led within 30m.",
        without=("muster_leader",),
    ),
    Case(
        "MusterLeaderChanges",
        "an upgrade: the leader is replaced, and the one that took over is",
        {
            _LEADS % (_A, "a"): "1x11 stale",
            _LEADS % (_B, "b"): "0x11 1x11 stale",
            _LEADS % (_A, "c"): "_x14 0x9 1x1000",
        },
        without=("muster_leader",),
    ),
    Case(
        "MusterNoLeader",
        "the leader ends and the other one cannot get the Lease",
        {_LEADS % (_A, "a"): "1x11 stale"},
        fires_after=60,
        labels=_JOB,
        summary="No musterd of job musterd leads.",
    ),
    Case(
        "MusterNoLeader",
        "a takeover that lasts 20 s",
        {_LEADS % (_A, "a"): ENDS, _LEADS % (_B, "b"): "0x15 1x1000"},
    ),
    Case("MusterNoLeader", "a single musterd without an election", {}, without=("muster_leader",)),
    Case(
        "MusterWatchStale",
        "the API server does not answer any more",
        {_STALENESS: "1x11 1+5x1000"},
        fires_after=150,
        labels={"job": "musterd", "instance": "a", "resource": "pods"},
        summary="The watch of pods has heard nothing for 2m 31s (a).",
    ),
    Case(
        "MusterWatchStale",
        "only the standby's watch is old",
        {f'muster_watch_staleness_seconds{{{_B},resource="pods"}}': "1x11 1+5x1000"},
        also=("MusterStandbyStale",),
    ),
    Case(
        "MusterWatchStale",
        "a single musterd without an election",
        {_STALENESS: "1x11 1+5x1000"},
        fires_after=150,
        labels={"job": "musterd", "instance": "a", "resource": "pods"},
        summary="The watch of pods has heard nothing for 2m 31s (a).",
        without=("muster_leader",),
    ),
    Case(
        "MusterWatchStale",
        "the watch of nodes, from which nothing is decided",
        {f'muster_watch_staleness_seconds{{{_A},resource="nodes"}}': "1x11 1+5x1000"},
    ),
    Case(
        "MusterStandbyStale",
        "only the standby's watch is old",
        {f'muster_watch_staleness_seconds{{{_B},resource="pods"}}': "1x11 1+5x1000"},
        fires_after=420,
        labels={"job": "musterd", "instance": "b", "resource": "pods"},
        summary="The watch of pods has heard nothing for 7m 1s (b).",
    ),
    Case("MusterStandbyStale", "a leader's watch is old", {_STALENESS: "1x11 1+5x1000"}, also=("MusterWatchStale",)),
    Case("MusterWatchStale", "a watch that is silent is opened anew after 90 s", {_STALENESS: "1+5x18 1+5x18 1+5x18"}),
    Case(
        "MusterRightsMissing",
        "a ClusterRole lost a verb",
        {_RIGHT: BEGINS},
        fires_after=60,
        labels={"job": "musterd", "verb": "create", "resource": "pods"},
        summary="The API server does not let musterd create pods.",
    ),
    Case("MusterRightsMissing", "a right is granted 50 s late", {_RIGHT: "0x11 1x9 0x1000"}),
    Case(
        "MusterScrapeCapReached",
        "more experiments than a scrape has room for",
        {_UNREPORTED: "0x11 120x1000"},
        fires_after=300,
        labels=_JOB,
        summary="120 experiments have no series of their own.",
    ),
    Case("MusterScrapeCapReached", "old experiments are pruned after 4 minutes", {_UNREPORTED: "0x11 120x47 0x1000"}),
    Case(
        "MusterInternalErrors",
        "an exception in a step",
        {_ERRORS: BEGINS},
        fires_after=0,
        labels={"job": "musterd", "place": "step"},
        summary="musterd had an unexpected exception in step.",
    ),
    Case("MusterInternalErrors", "the last exception was before the last restart", {_ERRORS: "3x1000"}),
)
