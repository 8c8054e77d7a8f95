"""The coordinator and the roll: what must page, and which healthy starts must not."""

from tests.deploy.prometheus.case import BEGINS, ONE, Case, reason

_LABELS = {"namespace": "vision", "experiment": "llama"}
_REFUSED = f'muster_experiment_coordinator_state{{{ONE},state="refused"}}'
_ONE_MISSING = "vision/llama: the roll is not complete: 1 missing, first rank 5"
_ENFORCED = 'namespace="muster-system",experiment="llama"'
_HOSTILE = r'''namespace="vision",experiment="a\"}) or vector(7) # {{ 7 }}"'''


def _missing(count: str, first: str, **causes: str) -> dict[str, str]:
    return {
        f"muster_experiment_ranks_missing{{{ONE}}}": count,
        f"muster_experiment_first_missing_rank{{{ONE}}}": first,
        **{
            f'muster_experiment_ranks_missing_by_cause{{{ONE},cause="{cause}"}}': values
            for cause, values in causes.items()
        },
    }


def _phase(assembling: str, running: str) -> dict[str, str]:
    return {
        f'muster_experiment_phase{{{ONE},phase="Assembling"}}': assembling,
        f'muster_experiment_phase{{{ONE},phase="Running"}}': running,
    }


ASSEMBLY = (
    Case(
        "MusterCoordinatorStuck",
        "a coordinator that served is frozen, or its node is cut off",
        {**reason("CoordinatorUnreachable"), f"muster_experiment_coordinator_up{{{ONE}}}": "1x11 0x1000"},
        fires_after=0,
        labels={**_LABELS, "reason": "CoordinatorUnreachable"},
        summary="vision/llama: the coordinator stopped responding (CoordinatorUnreachable).",
    ),
    Case(
        "MusterCoordinatorStuck",
        "the alert goes on when another musterd leads",
        {
            f'muster_experiment_stuck_reason{{{ONE},reason="CoordinatorUnreachable",instance="a"}}': "0x11 1x1 stale",
            f'muster_experiment_stuck_reason{{{ONE},reason="CoordinatorUnreachable",instance="b"}}': "_x13 1x1000",
        },
        fires_after=30,
        at_once=False,
        labels={**_LABELS, "reason": "CoordinatorUnreachable"},
        summary="vision/llama: the coordinator stopped responding (CoordinatorUnreachable).",
    ),
    Case(
        "MusterCoordinatorStuck",
        "the alert goes on while no musterd leads for 20 s",
        {
            f'muster_experiment_stuck_reason{{{ONE},reason="CoordinatorUnreachable",instance="a"}}': "0x11 1x11 stale",
            f'muster_experiment_stuck_reason{{{ONE},reason="CoordinatorUnreachable",instance="b"}}': "_x28 1x1000",
        },
        fires_after=75,
        at_once=False,
        labels={**_LABELS, "reason": "CoordinatorUnreachable"},
        summary="vision/llama: the coordinator stopped responding (CoordinatorUnreachable).",
    ),
    Case(
        "MusterCoordinatorStuck",
        "it has closed its port, and the end of its container is reported 10 s later",
        {**reason("CoordinatorUnreachable", "0x11 1x1 0x1000"), _REFUSED: "0x11 1x1 0x1000"},
    ),
    Case(
        "MusterCoordinatorStuck",
        "it has closed its port, and its container runs on",
        {**reason("CoordinatorUnreachable"), _REFUSED: BEGINS},
        fires_after=15,
        labels={**_LABELS, "reason": "CoordinatorUnreachable"},
        summary="vision/llama: the coordinator stopped responding (CoordinatorUnreachable).",
    ),
    Case(
        "MusterCoordinatorStuck",
        "a slow start: the coordinator is probed for 4 minutes before it serves",
        {
            **_phase("1x48 0x1000", "0x48 1x1000"),
            **reason("CoordinatorNotServing", "0x12 1x36 0x1000"),
            f"muster_experiment_coordinator_up{{{ONE}}}": "0x48 1x1000",
        },
    ),
    Case(
        "MusterCoordinatorStuck",
        "a rank is missing, and the coordinator serves",
        reason("RanksMissing"),
        also=("MusterRankMissing",),
    ),
    Case(
        "MusterCoordinatorNotServing",
        "the coordinator's program hangs before it opens its port",
        reason("CoordinatorNotServing"),
        fires_after=240,
        labels={**_LABELS, "reason": "CoordinatorNotServing"},
        summary="vision/llama: the coordinator has never answered at its port (CoordinatorNotServing).",
    ),
    Case(
        "MusterCoordinatorNotServing",
        "the coordinator's program takes 4 minutes to open its port",
        reason("CoordinatorNotServing", "0x11 1x36 0x1000"),
    ),
    Case(
        "MusterRankMissing",
        "three ranks never arrive: two wait for their image, one crashed",
        {
            **reason("RanksMissing"),
            **_missing("0x11 3x1000", "_x12 5x1000", ImagePull="0x11 2x1000", Crashed=BEGINS, Lost="0x1000"),
        },
        fires_after=120,
        labels=_LABELS,
        summary="vision/llama: the roll is not complete: 3 missing, first rank 5, 2 ImagePull, 1 Crashed, "
        "reason RanksMissing, the others wait.",
    ),
    Case(
        "MusterRankMissing",
        "of three scrapes of the leader one succeeds",
        {**reason("RanksMissing", "_x12 " + "1 _ _ " * 100), **_missing("0x11 1x1000", "_x12 5x1000")},
        fires_after=120,
        labels=_LABELS,
        summary=f"{_ONE_MISSING}, reason RanksMissing, the others wait.",
    ),
    Case(
        "MusterRankMissing",
        "the reason alternates every 90 s: a rank is missing, and the coordinator gives it up",
        {
            **reason("RanksMissing", "0x11 " + "1x17 0x17 " * 10),
            f'muster_experiment_stuck_reason{{{ONE},reason="RankFailed"}}': "0x11 " + "0x17 1x17 " * 10,
            **_missing("0x11 1x1000", "_x12 5x1000"),
        },
        fires_after=120,
        labels=_LABELS,
        summary=f"{_ONE_MISSING}, reason RankFailed, the others wait.",
    ),
    Case(
        "MusterRankMissing",
        "the coordinator waits for another number of processes",
        reason("ProcessCountMismatch"),
        fires_after=120,
        labels=_LABELS,
        summary="vision/llama: the roll is not complete: 0 missing, reason ProcessCountMismatch, the others wait.",
    ),
    Case(
        "MusterRankMissing",
        "a name that would end the queries of the summary, if it were not quoted",
        {
            **reason("RanksMissing", one=_HOSTILE),
            f"muster_experiment_ranks_missing{{{_HOSTILE}}}": "2x1000",
            f"muster_experiment_first_missing_rank{{{_HOSTILE}}}": "1x1000",
        },
        fires_after=120,
        labels={"namespace": "vision", "experiment": 'a"}) or vector(7) # {{ 7 }}'},
        summary='vision/a"}) or vector(7) # {{ 7 }}: the roll is not complete: 2 missing, first rank 1, '
        "reason RanksMissing, the others wait.",
    ),
    Case(
        "MusterRankMissing",
        "ranks arrive one by one with pauses of 90 s, and each pause counts as Stuck",
        {
            **reason("RanksMissing", "0x11 1x17 0x1 1x17 0x1 1x17 0x1000"),
            **_missing("3x29 2x18 1x18 0x1000", "1x29 2x18 3x18 _x1"),
        },
    ),
    Case(
        "MusterRankMissing",
        "ranks arrive one by one with pauses of four minutes, three of them as Stuck: their runs need a longer `for`",
        {
            **reason("RanksMissing", "0x11 1x35 0x11 1x35 0x11 1x35 0x1000"),
            **_missing("3x47 2x47 1x47 0x1000", "1x47 2x47 3x47 _x1"),
        },
        fires_after=120,
        labels=_LABELS,
        summary="vision/llama: the roll is not complete: 3 missing, first rank 1, "
        "reason RanksMissing, the others wait.",
    ),
    Case(
        "MusterRankMissing",
        "the label namespace is enforced: two experiments of one name are one alert, of the namespace of musterd",
        {
            **reason("RanksMissing", "0x23 1x1000", one=_ENFORCED),
            f'muster_experiment_stuck_reason{{{_ENFORCED},reason="RankFailed"}}': "0x11 1x11 0x1000",
        },
        fires_after=120,
        labels={**_LABELS, "namespace": "muster-system"},
        summary="muster-system/llama: the roll is not complete: reason RanksMissing, the others wait.",
    ),
    Case(
        "MusterAssemblyOverdue",
        "a gang without a coordinator that can be asked assembles and assembles",
        _phase(BEGINS, "1x11 0x1000"),
        fires_after=900,
        labels=_LABELS,
        summary="vision/llama: the gang is not complete in time.",
    ),
    Case(
        "MusterAssemblyOverdue",
        "the clock assembly runs out, with the action Alert",
        reason("AssemblyDeadlineExceeded"),
        fires_after=0,
        labels=_LABELS,
        summary="vision/llama: the gang is not complete in time.",
    ),
    Case(
        "MusterAssemblyOverdue",
        "a run of the same name is deleted after a minute and made anew 13 minutes later, with scrapes 60 s apart",
        {
            **_phase("_x11 1 _x11 1 _x154 stale _ 1 " + "_x11 1 " * 20, "0x11 stale"),
            f"muster_experiment_wall_seconds_total{{{ONE}}}": "_x11 5 _x11 65 _x154 stale _ 5 " + "_x11 65 " * 20,
        },
        watched=1300,
    ),
    Case(
        "MusterAssemblyOverdue",
        "two slow starts of 14 minutes with a restart between them",
        _phase("0x11 1x168 0x6 1x168 0x1000", "1x11 0x168 0x6 0x168 1x1000"),
    ),
    Case(
        "MusterAssemblyOverdue",
        "a restart between two slow starts, and another musterd leads from the second one on",
        {
            f'muster_experiment_phase{{{ONE},phase="Assembling",instance="a"}}': "0x11 1x60 0x60 stale",
            f'muster_experiment_phase{{{ONE},phase="Assembling",instance="b"}}': "_x133 1x168 0x1000",
        },
        without=("muster_experiment_phase",),
    ),
    Case(
        "MusterAssemblyOverdue",
        "another musterd leads while a gang assembles and assembles",
        {
            f'muster_experiment_phase{{{ONE},phase="Assembling",instance="a"}}': "0x11 1x60 stale",
            f'muster_experiment_phase{{{ONE},phase="Assembling",instance="b"}}': "_x73 1x1000",
        },
        fires_after=900,
        labels=_LABELS,
        summary="vision/llama: the gang is not complete in time.",
        without=("muster_experiment_phase",),
    ),
)
